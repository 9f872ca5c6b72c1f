r"""A part of a capture, written as a smaller capture: the columns and samples asked for, their text as it stands.

Which columns are wanted is found from the header alone; then lines pass through one at a time, so that memory does not
grow with the file. Of a row only the places of its quotes are looked at, all at once; numbers are not parsed. What the
reader leaves out of a capture is left out here by the same rules, and broken cells (the bare A/MPERF of ESXi 6.5, cells
saved without quotes) are written as esxtop writes all others, so that whatever reads captures reads the slice.

`selection` chooses the columns, `header` names them, `lines` gives the lines, and `rows` what is kept of each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO, Unpack

import numpy as np

from esxparse.errors import DamagedError
from esxparse.formats import esxtop, memory
from esxparse.formats.esxtop import layout
from esxparse.formats.esxtop.grammar import BOM, MARK, glued_row, stands_in, with_quote
from esxparse.formats.esxtop.header import Header, parse
from esxparse.formats.esxtop.notes import another_capture
from esxparse.formats.esxtop.rows import Survey
from esxparse.formats.esxtop.segments import Other
from esxparse.formats.esxtop.slice.header import Headers, header_line, misread
from esxparse.formats.esxtop.slice.lines import Lines, cut_short, opened
from esxparse.formats.esxtop.slice.rows import Rows
from esxparse.formats.esxtop.slice.selection import Selection, select
from esxparse.formats.esxtop.times import Dates
from esxparse.formats.opening import Opening, Options, Window
from esxparse.formats.registry import refuse_foreign, refuse_quoted
from esxparse.recording import Note, Recording
from esxparse.target import refuse_inputs, target

Capture = str | os.PathLike[str] | BinaryIO
Progress = Callable[[int, int, str], None]

_BUFFER = 2 << 20
_STEP = 16 << 20  # bytes between two calls of `progress`


@dataclass(frozen=True)
class Sliced:
    """What was written."""

    columns: int
    """Columns, the time stamp's included."""
    samples: int
    notes: tuple[Note, ...]
    """Notes on the capture, with its lines and columns."""


def _status(stream: BinaryIO) -> os.stat_result | None:
    try:
        return os.fstat(stream.fileno())
    except (OSError, ValueError):
        return None


@contextmanager
def _destination(output: Capture, source: BinaryIO, where: str, *, replace: bool) -> Iterator[BinaryIO]:
    """What the slice is written to: a file that takes its place when it is whole, or a stream; never the capture."""
    # What is compressed is read from a file that the stream does not tell.
    inputs = [one for one in (where, _status(source)) if one]
    if isinstance(output, (str, os.PathLike)):
        with target(output, inputs, replace=replace).open(buffering=_BUFFER) as file:
            yield file
        return
    refuse_inputs(getattr(output, "name", "the output"), inputs, _status(output))
    yield output
    output.flush()


def _rows_in(line: bytes, cells: int) -> int:
    """How many rows, whole or not, are in a line: also those glued to a header, but not NULs at the end of a file."""
    text = line.rstrip(b"\r\n")
    if stands_in(text, cells):
        header = _header_in(text)
        # A header may have a wrong byte before its mark; a row has a comma.
        before = text[: len(text) - len(header)]
        return (b"," in before) + (glued_row(header) is not None)
    padding = text == line and not text.strip(b"\0")
    return bool(text.strip(BOM)) and not padding


def _header_in(line: bytes) -> bytes:
    """Return the header in a line, with what follows it."""
    return line[with_quote(line, line.find(MARK)) :]


def _other_capture(source: Lines, parsed: Header, rows: Rows, line: bytes, segment: int) -> Note:
    """Return the note on a header that differs, in a line, after which the file is read to its end."""
    header = _header_in(line)
    other = Other(0, 0, 0, header[: glued_row(header)])
    lines = chain([line], iter(source.line, b""))
    left = sum(_rows_in(text, rows.expected - 1) for text in lines)
    return another_capture(rows.line, other.difference(parsed), left, f"slice it with segment={segment + 1}")


def _copy(source: Lines, headers: Headers, rows: Rows, out: BinaryIO, segment: int, progress: Progress | None) -> None:
    """Write the kept part of each line, and the headers before them."""
    status, shown = _status(source.file), 0
    total = status.st_size if status else 0
    first = not headers.parsed.continued
    while line := source.line():
        text = line.rstrip(b"\r\n")
        rows.line += not source.on_one_line
        if source.prefix:
            rows.prefixed.add(rows.line, text=source.prefix.decode(errors="replace"))
        if stands_in(text, rows.expected - 1):
            if text == source.header:
                rows.again.add(rows.line)
                first = True
                continue
            # The cells of what follows stand otherwise.
            rows.notes.append(_other_capture(source, headers.parsed, rows, text, segment))
            return
        taken = rows.take(text, at_the_end=not (line.endswith(b"\n") or source.glued))
        if taken is not None:
            out.write(headers.before(text, rows.line, first=first))
            out.write(taken)
        first = first and not text
        if progress and source.done - shown >= _STEP:
            shown = source.done
            progress(shown, max(total, shown), f"{rows.samples:,} samples")


@dataclass(frozen=True)
class _Wanted:
    """The part of the file asked for."""

    selection: Selection
    window: Window
    segment: int
    survey: Survey


def _slice(
    source: Lines, output: Capture, where: str, wanted: _Wanted, progress: Progress | None, *, replace: bool
) -> Sliced:
    source.skip(wanted.segment - 1)
    parsed = parse(source.header, source.number)
    laid_out = layout.build(parsed.owners, parsed.counters)
    parts = laid_out.parts()
    kept, notes = select(laid_out, parts, wanted.selection)
    line = header_line(source.header, parsed, kept)
    notes = [*source.notes, *parsed.notes, *notes, *misread(line, laid_out, parts, kept)]
    headers = Headers(source.header, parsed, laid_out, kept)
    rows = Rows(parsed, np.append(0, kept + 1), wanted.window, source.number, source.order, wanted.survey)
    with _destination(output, source.file, where, replace=replace) as out:
        _copy(source, headers, rows, out, wanted.segment, progress)
        rows.judge_dates()
        if not rows.samples:
            raise rows.nothing()
    return Sliced(len(kept) + 1, rows.samples, (*notes, *headers.notes, *rows.all_notes(), *cut_short(source.file)))


def slice_capture(
    path: Capture,
    output: Capture,
    *,
    tables: Sequence[str] = (),
    vms: Sequence[str] = (),
    instances: Sequence[str] = (),
    counters: Sequence[str] = (),
    keep_host: bool = False,
    replace: bool = True,
    progress: Progress | None = None,
    **opening: Unpack[Options],
) -> Sliced:
    r"""Write a part of an esxtop capture as a smaller capture, which `esxparse.open` reads as that part.

    A column is kept where each of `tables`, `vms`, `instances` and `counters` that is given has a value it meets; all
    are kept where none is given. The file is read once, a line at a time (one that a spreadsheet saved, as a whole, to
    be brought back to what esxtop writes). Cells keep their text, their order and their clock; rows that the reader
    leaves out are left out, and said in the notes.

    Args:
        path: A capture: a file, plain or compressed, `bundle:member`, a URL or `-`, as `esxparse.open` takes it; or a
            stream of bytes, which needs no seeking.
        output: A file, put in place when it is whole and left as it was on any error; or a stream of bytes.
        tables: Tables or objects: `vcpu`, `Group Cpu`.
        vms: Names of VMs. Kept are a VM's groups, its worlds, virtual disks and ports, and what its worlds do on each
            device; all VMs of that name.
        instances: Regular expressions, searched for in the text between the parentheses.
        counters: Names on the screen (`%RDY`), in a capture (`% Ready`) or of columns (`pct_ready`), in every table
            that has them. Of two columns of one name the second is never kept without the first.
        keep_host: Keep the tables about the host as a whole too, `HOST_TABLES`, whatever else is asked for.
        replace: Whether a file that is there may be replaced; the capture itself never is.
        progress: Called now and then with bytes done, bytes in all, and a word on it.
        opening: Options of `esxparse.open`: `start`, `end`, `every` and the rest. Periods of `every` are counted from
            the first sample kept. Dates that were told (`date_order`, `date`) are written as esxtop writes them, and
            the slice opens without those options.

    Raises:
        UnreadableError: The capture cannot be opened or read.
        UnknownFormatError: It is not an esxtop capture.
        DamagedError: It holds nothing that can be used.
        EsxparseError: A name is not in the capture, nothing is left, there is no such segment, a bound is not a time,
            dates cannot be read without guessing, the output cannot be written or is the capture itself.

    >>> import io
    >>> header = r'"(PDH-CSV 4.0) (UTC)(0)","\\esx\Memory\Free MBytes","\\esx\Group Cpu(7:db)\% Ready"'
    >>> capture = io.BytesIO(f'{header}\n"03/02/2026 08:00:00","512","1.25"\n'.encode())
    >>> small = io.BytesIO()
    >>> slice_capture(capture, small, counters=["%RDY"]).columns
    2
    >>> print(small.getvalue().decode(), end="")
    "(PDH-CSV 4.0) (UTC)(0)","\\esx\Group Cpu(7:db)\% Ready"
    "03/02/2026 08:00:00","1.25"
    """
    chosen = Selection(tuple(tables), tuple(vms), tuple(instances), tuple(counters), keep_host)
    asked = Opening.of(opening)
    segment, dates = asked.segment or 1, Dates(asked.date_order, asked.date)
    with opened(path, asked) as (file, name, source):
        refuse_foreign(esxtop, asked, name)
        if source:
            refuse_quoted(Recording(esxtop.FORMAT, name, {}, {}), source, asked)
        # Of what can be read once, a row can be told by its own looks alone.
        known = esxtop.survey(source, segment, dates) if source else Survey()
        wanted = _Wanted(chosen, asked.window, segment, known)
        where = source.where if source else ""
        try:
            limit = source.memory_limit if source else asked.memory_limit or memory.DEFAULT
            lines = Lines(file, name, dates, limit, asked.decimal)
            return _slice(lines, output, where, wanted, progress, replace=replace)
        except DamagedError as error:
            msg = f"{name}: {error}"
            raise DamagedError(msg) from error
