"""Hypothesis strategies that save a capture as other programs do: what is in it stays, as far as a dress keeps it."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import zipfile
from dataclasses import dataclass, replace

import strategies
from hypothesis import strategies as st

_BOMS = {"utf-8": "", "utf-8-sig": "", "utf-16-le": "\ufeff", "utf-16-be": "\ufeff"}
_DATES = {
    "mdy": ["%m/%d/%Y", "%-m/%-d/%Y", "%m-%d-%Y"],
    "dmy": ["%d/%m/%Y", "%-d/%-m/%Y", "%d.%m.%Y", "%-d.%-m.%Y", "%d-%m-%Y"],
    "ymd": ["%Y-%m-%d", "%Y/%m/%d", "%Y-%-m-%-d"],
}
_CLOCKS = ["%H:%M:%S", "%-H:%M:%S", "%I:%M:%S %p", "%-I:%M:%S %p"]
_MINUTES = ["%H:%M", "%-H:%M", "%I:%M %p"]


@dataclass(frozen=True)
class Dress:
    """How a program saves a capture; as it stands, the way esxtop writes it."""

    encoding: str = "utf-8"
    line_end: str = "\n"
    quoted: bool = True
    """Whether quotes stand where esxtop has them, and dates as well; if not, only where they are needed."""
    separator: str = ","
    """Between semicolons, commas stand in decimals."""
    order: str = "mdy"
    date: str = "%m/%d/%Y"
    clock: str = "%H:%M:%S"
    bias: int = 0
    packing: str = ""

    @property
    def to_the_minute(self) -> bool:
        return "%S" not in self.clock


@st.composite
def _dates(draw: st.DrawFn, clocks: list[str]) -> dict[str, object]:
    order = draw(st.sampled_from(sorted(_DATES)))
    date, clock = draw(st.sampled_from(_DATES[order])), draw(st.sampled_from(clocks))
    return {"quoted": False, "order": order, "date": date, "clock": clock}


_encodings = st.sampled_from(sorted(_BOMS))
_ends = st.sampled_from(["\n", "\r\n"])
_separators = st.sampled_from([",", ";"])
_biases = st.sampled_from(sorted(strategies.ZONES))
_packings = st.sampled_from(["", "gzip", "gzip of two members", "zip"])

DRESSES = {
    "UTF-16": st.builds(Dress, encoding=st.sampled_from(["utf-16-le", "utf-16-be"]), line_end=_ends),
    "UTF-8 with a mark": st.builds(Dress, encoding=st.just("utf-8-sig")),
    "CRLF": st.builds(Dress, line_end=st.just("\r\n")),
    "no quotes": st.builds(Dress, quoted=st.just(False)),
    "semicolons": st.builds(Dress, quoted=st.just(False), separator=st.just(";")),
    "dates": _dates(_CLOCKS).map(lambda dates: Dress(**dates)),
    "minutes": _dates(_MINUTES).map(lambda dates: Dress(**dates)),
    "zone": st.builds(Dress, bias=_biases, line_end=st.just("\r\n")),
    "packed": st.builds(Dress, packing=_packings),
    "quoted, all at once": st.builds(Dress, _encodings, _ends, bias=_biases, packing=_packings),
    "re-saved, all at once": st.builds(
        lambda dates, **others: Dress(**dates, **others),
        _dates(_CLOCKS + _MINUTES),
        encoding=_encodings,
        line_end=_ends,
        separator=_separators,
        bias=_biases,
        packing=_packings,
    ),
}
"""Ways to save a capture, by name."""


@dataclass(frozen=True)
class Saved:
    """A capture, and what another program made of it."""

    plain: strategies.Capture
    """What esxtop wrote, on UTC."""
    dress: Dress
    content: bytes

    @property
    def ambiguous(self) -> bool:
        """Whether the file does not show which is day and which is month."""
        days = [(sample.stamp.day, sample.stamp.month) for sample in _local(self.plain, self.dress).samples]
        told = self.dress.quoted or self.dress.order == "ymd" or "." in self.dress.date
        return not told and all(day <= 12 for day, _ in days) and any(day != month for day, month in days)


def _local(capture: strategies.Capture, dress: Dress) -> strategies.Capture:
    """The capture on the clock of the dress's zone."""
    shift = dt.timedelta(minutes=dress.bias)
    samples = tuple(replace(sample, stamp=sample.stamp - shift) for sample in capture.samples)
    return replace(capture, samples=samples, bias=dress.bias, line_end=dress.line_end)


def _text(capture: strategies.Capture, dress: Dress) -> str:
    local = _local(capture, dress)
    if dress.quoted:
        return local.content().decode()
    out = io.StringIO()
    writer = csv.writer(out, delimiter=dress.separator, lineterminator=dress.line_end)
    blank_end = [""] * capture.trailing_comma
    writer.writerow([*local.names(), *blank_end])
    for sample in local.samples:
        texts = [_written(column, cell, dress) for column, cell in zip(capture.columns, sample.cells, strict=True)]
        writer.writerow([sample.stamp.strftime(f"{dress.date} {dress.clock}"), *texts, *blank_end])
    return out.getvalue()


def _written(column: strategies.Column, cell: strategies.Cell, dress: Dress) -> str:
    # Nodes are whole numbers, or lists of them: there is no point in them to be changed.
    if dress.separator == ";" and cell.number is not None and column.counter != strategies.LIST_COUNTER:
        return cell.text.replace(".", ",")
    return cell.text


def _packed(content: bytes, packing: str) -> bytes:
    if packing == "zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
            bundle.writestr("logs/night.csv", content)
        return out.getvalue()
    if packing == "gzip of two members":
        half = len(content) // 2
        return gzip.compress(content[:half]) + gzip.compress(content[half:])
    return gzip.compress(content) if packing else content


def save(captures: list[strategies.Capture], dress: Dress) -> bytes:
    """The bytes of captures one after the other, saved so."""
    text = _BOMS[dress.encoding] + "".join(_text(capture, dress) for capture in captures)
    return _packed(text.encode(dress.encoding), dress.packing)


@st.composite
def plain(draw: st.DrawFn, dress: Dress) -> strategies.Capture:
    """A capture as esxtop writes it, on any day, that the dress can keep."""
    # The bare cells of ESXi 6.5 stand between quotes or not at all: a spreadsheet takes two of them for one.
    capture = draw(strategies.captures(glued=None if dress.quoted else False))
    first = draw(st.datetimes(dt.datetime(2008, 1, 2), dt.datetime(2030, 12, 30))).replace(microsecond=0)  # noqa: DTZ001
    if draw(st.booleans()):
        first = first.replace(day=draw(st.integers(1, 12)))
    begin = capture.samples[0].stamp
    samples = tuple(replace(sample, stamp=first + (sample.stamp - begin)) for sample in capture.samples)
    return replace(capture, samples=samples, bias=0, bare=False, line_end="\n")


@st.composite
def saved(draw: st.DrawFn, dresses: st.SearchStrategy[Dress]) -> Saved:
    """A capture that a program saved in one of these ways."""
    dress = draw(dresses)
    capture = draw(plain(dress))
    return Saved(capture, dress, save([capture], dress))
