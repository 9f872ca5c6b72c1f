"""Redfish documents with power readings: HPE iLO 4 to 7, Dell iDRAC, Lenovo XCC, OpenBMC, plain DMTF.

The reader accepts `Power` (v1.0 to v1.7, with the `Hp` and `Hpe` OEM blocks), `PowerMeter`, `FastPowerMeter`,
`SlowPowerMeter`, `PowerSubsystem`, `PowerSupplyMetrics`, `EnvironmentMetrics`, `Sensor`, `MetricReport`. A file has one
document or many, with HTTP headers or lines of `date` between them, or the output of `esxparse collect power`: one JSON
object a line with `time`, `uri` and `document`.

Samples of a history are placed by their own `Time`; no order is assumed (old iLO 4 firmware prints the
newest first, later firmware the newest last). Samples whose time is `N/A` or before 2000 go to `power_undated`. If two
samples or more have a time, `interval_s` is the usual distance between them; else 10 s (FastPowerMeter) and 300 s
(PowerMeter) are assumed. Another assumption: `Time` is the end of the span that a sample averages.

Redfish writes times with the year first (DSP0266). Other dates have one order for each clock: a number above 12 shows
it, or another time nearby. If nothing does, the month comes first, with a warning; option `date_order` sets the order.

Source: DMTF DSP0268 (property guide), HPE "iLO RESTful API" resource definitions (HpePowerMeter, HpePowerMetricsExt).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.objects import GIVEN_UP, Effort, Places, mappings
from esxparse.formats.kit.tables import Row, frames, schemas
from esxparse.formats.opening import DateOrder
from esxparse.formats.power.log_dates import line_clock, with_year_first
from esxparse.formats.power.readings import Reading, Stamp, facts, number, stamp, tables
from esxparse.formats.power.resources import Found, resource, uri_of
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording, counted

if TYPE_CHECKING:
    import polars as pl

FORMAT = "redfish"

_BEGIN = re.compile(r"\{|\[(?=\s*[{\]])")
_CONTENT = re.compile(r"\S")
_CHUNK = re.compile(r"[0-9a-fA-F]{1,8}")
_HEADER = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9-]{1,40}):\s(?P<value>.*)")
_HTTP = re.compile(r"HTTP/\d(?:\.\d)?\s+\d{3}.*")
_KEY = re.compile(r'"(?P<name>\w+)"\s*:\s*"\s*$')
_TIMES = frozenset({"time", "bmc_time", "Time", "ReadingTime", "Timestamp"})
"""Keys of times that are read."""
_TOO_DEEP = "nested too deeply"


@dataclass(frozen=True)
class Document:
    """One JSON object, its place, and the time before it."""

    content: dict[str, Any]
    line: int
    stamp: Stamp | None = None


def _next_document(text: str, starts: Sequence[int], broken: int) -> int:
    """Return where the next document may begin, on a line of its own after a broken one; else the end of the text.

    An opening right after that of the broken document is part of it, not a new document.
    """
    content = _CONTENT.search(text, broken + 1)
    after = content.end() if content else len(text)
    for line in range(bisect_left(starts, after), len(starts)):
        if _BEGIN.match(text, starts[line]):
            return starts[line]
    return len(text)


def _between(piece: str, line: int, noise: list[int]) -> Stamp | None:
    """Return the last time in the text between two documents; unknown lines go to `noise`."""
    found = None
    headers = False
    for place, raw in enumerate(piece.split("\n"), line):
        if not (text := raw.strip().strip(",")):
            headers = False
            continue
        if _HTTP.fullmatch(text):
            headers = True
        elif (header := _HEADER.fullmatch(text)) and (headers or header["name"].lower() == "date"):
            if header["name"].lower() == "date":
                found = stamp(header["value"]) or found
        elif moment := stamp(text):
            found = moment
        elif not _CHUNK.fullmatch(text) and text != "]":
            noise.append(place)
    return found


def _broken(why: str, place: tuple[int, int], lines: int) -> Note:
    return Note(f"not valid JSON: {why}", *place, severity="warning", unused=lines)


def documents(text: str) -> tuple[list[Document], Notes]:
    """Return every JSON object of a text, and notes on odd text between them.

    A broken document is left out, with a note on its place, and reading continues at the next document that begins a
    line.
    """
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    places = Places(text)
    found: list[Document] = []
    problems = Notes()
    noise: list[int] = []
    effort = Effort(text)
    at = 0
    while begin := _BEGIN.search(text, at):
        if effort.spent:
            problems.warn(GIVEN_UP, *places.of(begin.start()))
            at = len(text)
            break
        moment = _between(text[at : begin.start()], places.line(at), noise)
        line = places.line(begin.start())
        try:
            value, at = effort.decode(begin.start(), decoder)
        except RecursionError:
            at = _next_document(text, places.starts, begin.start())
            problems.append(_broken(_TOO_DEEP, (line, 1), places.line(at) - line))
        except ValueError as error:
            place = places.of(error.pos) if isinstance(error, json.JSONDecodeError) else (line, 1)
            why = error.msg if isinstance(error, json.JSONDecodeError) else str(error).partition(";")[0]
            at = _next_document(text, places.starts, begin.start())
            problems.append(_broken(why, place, places.line(at) - line))
        else:
            every = [value] if isinstance(value, dict) else mappings(value)
            found += [Document(one, line, moment) for one in every]
    _between(text[at:], places.line(at), noise)
    if noise:
        message = f"{counted(len(noise), 'line')} between documents left out: neither JSON nor a time"
        problems.append(Note(message, noise[0], severity="warning", unused=len(noise)))
    return found, problems


COLLECTOR = "esxparse collect power"


_SCHEMAS = schemas(__file__)


def _is_poll(content: dict[str, Any]) -> bool:
    return "time" in content and ("document" in content or "error" in content) and "@odata.id" not in content


def _poll(document: Document, found: Found, gaps: list[dict[str, Any]]) -> None:
    """Process one line of a collector: a document with the time of its request, or the reason for a failure."""
    content = document.content
    moment = stamp(content.get("time"))
    uri = content.get("uri") or content.get("url")
    if "document" not in content:
        if moment:
            gaps.append({"time": moment.time, "uri": uri, "error": str(content.get("error"))})
        return
    inner = content["document"]
    if not isinstance(inner, dict):
        found.say("a line whose document is not a JSON object", document.line, bad=True)
        return
    answered = stamp(content.get("bmc_time"))
    clock = answered.time if answered and answered.set else None
    extra = {"round_trip_s": number(content.get("round_trip_s")), "bmc_time": clock}
    if moment is None:
        found.say("lines without a readable time", document.line, bad=True)
    _fetched(inner, str(uri or uri_of(inner)), moment.time if moment else None, document.line, found, extra)


def _fetched(
    content: dict[str, Any], source: str, time: datetime | None, line: int, found: Found, extra: dict[str, Any]
) -> None:
    """Add the readings of a document; readings without a time of their own get the time of the request."""
    before = len(found.readings)
    resource(content, source.partition("#")[0].rstrip("/"), found, line)
    for row in found.readings[before:]:
        if not row.pop("own_time", False):
            row["time"] = row.get("time") or time
            row.update(extra)


def _host(content: dict[str, Any]) -> str | None:
    """Return the BMC in a collector's first line."""
    try:
        return urlsplit(str(content.get("url") or "")).hostname
    except ValueError:
        return None


def _distinct(rows: list[Row]) -> list[Row]:
    """Return the last row of each sensor."""
    return list({(row["source"], row["sensor"]): row for row in rows}.values())


def _others(found: Found, gaps: list[Row]) -> dict[str, pl.LazyFrame]:
    has_watts = any(
        value is not None for row in found.summary for name, value in row.items() if name.startswith("watts")
    )
    dated = all(row["time"] is not None for row in found.metrics)
    of_metrics = {name: kind for name, kind in _SCHEMAS["metrics"].items() if dated or name != "time"}
    return frames(
        {
            "power_summary": (_distinct(found.summary) if has_watts else [], _SCHEMAS["power_summary"]),
            "capacity": (_distinct(found.capacity), _SCHEMAS["capacity"]),
            "metrics": (found.metrics, of_metrics),
            "gaps": (gaps, _SCHEMAS["gaps"]),
        }
    )


def _nothing(problems: Sequence[Note], found: Found) -> DamagedError:
    if problems and not found.odd and not found.bad:
        return DamagedError(f"{problems[0]}; fetch the document again")
    said = next(iter(found.bad), None) or next(iter(found.odd), None) or "no document of it is a resource of Redfish"
    return DamagedError(f"it has no power reading: {said}")


def _gathered(stream: Sequence[Document], found: Found, gaps: list[Row]) -> list[str]:
    """Return the BMCs in collectors' lines; the documents' content goes to `found` and `gaps`."""
    host: str | None = None
    hosts: dict[str | None, list[Reading]] = {}
    for document in stream:
        content = document.content
        before = len(found.readings)
        if "collector" in content:
            host = _host(content)
        elif _is_poll(content):
            _poll(document, found, gaps)
        else:
            moment = document.stamp if document.stamp and document.stamp.set else None
            if moment and moment.assumed:
                found.say(moment.assumed, document.line)
            _fetched(content, uri_of(content), moment.time if moment else None, document.line, found, {})
        hosts.setdefault(host, []).extend(found.readings[before:])
    names = [name for name in hosts if name]
    for name in names if len(names) > 1 else ():
        for row in hosts[name]:
            row["sensor"] = f"{name} {row['sensor']}"
    return names


def _clock_of(before: str) -> str | None:
    """Return the clock of a date: of the collector, of lines between documents, or of a BMC by the key of its time."""
    key = _KEY.search(before)
    return key["name"] if key and key["name"] in _TIMES else None if key else line_clock(before)


def read(source: Source, date_order: DateOrder | None = None) -> Recording:
    """Read one Redfish document, several one after another, or the lines of a collector.

    Args:
        source: The file.
        date_order: Order of day, month and year in times that are not in Redfish's own form.
    """
    text = source.text()
    lines, order_notes = with_year_first(text.text.split("\n"), _clock_of, date_order)
    stream, problems = documents("\n".join(lines))
    found = Found()
    gaps: list[dict[str, Any]] = []
    hosts = _gathered(stream, found, gaps)
    power, notes = tables(found.readings, _SCHEMAS["power"])
    others = _others(found, gaps)
    if not power and not others:
        raise _nothing(problems, found)
    if not power:
        notes.warn("it has no power reading")
    if gaps:
        times = f"{gaps[0]['time']:%Y-%m-%dT%H:%M:%S} to {gaps[-1]['time']:%Y-%m-%dT%H:%M:%S}"
        notes.say(f"{len(gaps):,} polls failed ({times} UTC): see table gaps")
    meta = facts([row for row in found.readings if row.get("watts") is not None])
    if hosts:
        meta["host"] = ", ".join(hosts)
    every = [*text.notes, *order_notes, *problems, *found.bad.notes("warning"), *found.odd.notes(), *notes]
    return Recording(FORMAT, source.name, {**power, **others}, meta, tuple(every))
