r"""A part of a capture, written as a smaller capture: the requested columns and samples, with their text unchanged.

The header alone decides which columns are kept. Lines then pass through one at a time, so memory does not grow with the
file. Each row is split at its quotes, all at once, and its numbers are not parsed. The slice skips the same lines as
the reader. It repairs broken cells (the bare A/MPERF of ESXi 6.5, cells saved without quotes) to esxtop's usual form,
so that any program that reads captures reads the slice.

`selection` chooses the columns, `header` writes their names, `lines` reads the lines, and `rows` cuts each of them.
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
    """The written slice."""

    columns: int
    """Columns, including the time stamp."""
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
    """Yield the destination of the slice: a file that is put in place when complete, or a stream; never the capture."""
    # A compressed capture is read from a file that the stream does not show.
    inputs = [one for one in (where, _status(source)) if one]
    if isinstance(output, (str, os.PathLike)):
        with target(output, inputs, replace=replace).open(buffering=_BUFFER) as file:
            yield file
        return
    refuse_inputs(getattr(output, "name", "the output"), inputs, _status(output))
    yield output
    output.flush()


def _rows_in(line: bytes, cells: int) -> int:
    """Return the number of rows, whole or not, in a line: also rows glued to a header, but not NULs at the end."""
    text = line.rstrip(b"\r\n")
    if stands_in(text, cells):
        header = _header_in(text)
        # A header may have a wrong byte before its mark; a row has a comma.
        before = text[: len(text) - len(header)]
        return (b"," in before) + (glued_row(header) is not None)
    padding = text == line and not text.strip(b"\0")
    return bool(text.strip(BOM)) and not padding


def _header_in(line: bytes) -> bytes:
    """Return the header in a line, with the text after it."""
    return line[with_quote(line, line.find(MARK)) :]


def _other_capture(source: Lines, parsed: Header, rows: Rows, line: bytes, segment: int) -> Note:
    """Return the note on a header that differs, after reading the file to its end."""
    header = _header_in(line)
    other = Other(0, 0, 0, header[: glued_row(header)])
    lines = chain([line], iter(source.line, b""))
    left = sum(_rows_in(text, rows.expected - 1) for text in lines)
    return another_capture(rows.line, other.difference(parsed), left, f"slice it with segment={segment + 1}")


def _copy(source: Lines, headers: Headers, rows: Rows, out: BinaryIO, segment: int, progress: Progress | None) -> None:
    """Write the kept part of each line, and the headers before them."""
    status, reported = _status(source.file), 0
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
            # The following cells have other columns.
            rows.notes.append(_other_capture(source, headers.parsed, rows, text, segment))
            return
        taken = rows.take(text, at_the_end=not (line.endswith(b"\n") or source.glued))
        if taken is not None:
            out.write(headers.before(text, rows.line, first=first))
            out.write(taken)
        first = first and not text
        if progress and source.done - reported >= _STEP:
            reported = source.done
            progress(reported, max(total, reported), f"{rows.samples:,} samples")


@dataclass(frozen=True)
class _Wanted:
    """The requested part of the file."""

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

    Each of `tables`, `vms`, `instances` and `counters` that is given limits the columns; without any, all are kept.
    The file is read once, a line at a time. A file that a spreadsheet saved is read whole, to restore esxtop's form.
    Cells keep their text, order and clock. Rows that the reader skips are skipped, with notes.

    Args:
        path: A capture: a file, plain or compressed, `bundle:member`, a URL or `-`, as `esxparse.open` takes it; or a
            stream of bytes, which needs no seeking.
        output: A file, put in place when it is whole and left as it was on any error; or a stream of bytes.
        tables: Tables or objects: `vcpu`, `Group Cpu`.
        vms: Names of VMs. A VM's groups, worlds, virtual disks and ports are kept, and the activity of its worlds on
            each device. If several VMs have the name, all are kept.
        instances: Regular expressions, searched for in the text between the parentheses.
        counters: Names on the screen (`%RDY`), in a capture (`% Ready`) or of columns (`pct_ready`), in every table
            that has them. Of two columns with one name, the second is never kept without the first.
        keep_host: Also keep the tables about the whole host, `HOST_TABLES`, whatever else is selected.
        replace: Whether an existing file may be replaced; the capture itself never is.
        progress: Called now and then with bytes done, bytes in all, and a word on it.
        opening: Options of `esxparse.open`: `start`, `end`, `every` and the rest. Periods of `every` are counted from
            the first sample kept. Dates read with `date_order` or `date` are written as esxtop writes them, and the
            slice opens without those options.

    Raises:
        UnreadableError: The capture cannot be opened or read.
        UnknownFormatError: It is not an esxtop capture.
        DamagedError: It has no usable data.
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
    options = Opening.of(opening)
    segment, dates = options.segment or 1, Dates(options.date_order, options.date)
    with opened(path, options) as (file, name, source):
        refuse_foreign(esxtop, options, name)
        if source:
            refuse_quoted(Recording(esxtop.FORMAT, name, {}, {}), source, options)
        # If the input can be read only once, each row must be judged on its own.
        known = esxtop.survey(source, segment, dates) if source else Survey()
        wanted = _Wanted(chosen, options.window, segment, known)
        where = source.where if source else ""
        try:
            limit = source.memory_limit if source else options.memory_limit or memory.DEFAULT
            lines = Lines(file, name, dates, limit, options.decimal)
            return _slice(lines, output, where, wanted, progress, replace=replace)
        except DamagedError as error:
            msg = f"{name}: {error}"
            raise DamagedError(msg) from error
