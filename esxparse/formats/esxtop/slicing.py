r"""A part of a capture, written as a smaller capture: the columns and samples asked for, their text as it stands.

Which columns are wanted is found from the header alone; then lines pass through one at a time, so that memory does not
grow with the file. Of a row only the places of its quotes are looked at, all at once; numbers are not parsed. What the
reader leaves out of a capture is left out here by the same rules, and broken cells (the bare A/MPERF of ESXi 6.5, cells
saved without quotes) are written as esxtop writes all others, so that whatever reads captures reads the slice.
"""

from __future__ import annotations

import io
import math
import os
import re
import stat
import tempfile
from bisect import bisect_left
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from esxparse.errors import DamagedError, EsxparseError, UnknownFormatError, UnreadableError
from esxparse.formats.esxtop import header, instances, layout, resaved, times
from esxparse.formats.esxtop.scan_twin import bare_cell, decimal, quoted_cell
from esxparse.formats.esxtop.selection import Selection, select
from esxparse.formats.source import problem, resolve
from esxparse.formats.window import EVERYTHING, Window, window
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date

    import polars as pl
    from numpy.typing import NDArray

    from esxparse.formats.esxtop.header import Header
    from esxparse.formats.esxtop.layout import Layout

    Integers = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Capture = str | os.PathLike[str] | BinaryIO
    Progress = Callable[[int, int, str], None]

_HEADER_WITHIN = 1 << 20
_BUFFER = 2 << 20
_STAMP = 48
"""Bytes of a line's beginning that may hold its time stamp, as in the reader."""
_SHOWN, _LENGTH = 5, 80
"""Names or lines in a message, and characters of a text."""
_STEP = 16 << 20
"""Bytes between two calls of `progress`."""
_QUOTE, _COMMA = b'",'

_FIRST_CELL = re.compile(r'"?(\(PDH-CSV [^)]*\) ?\(.*?\)\(-?\d{1,9}\))')
_USUAL_STAMP = re.compile(
    rb'(")?(\d\d?)/(\d\d?)/((?:19|20|21)\d\d) (\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(?(1)"|(?:,|$))'
)
"""What nearly every row begins with; any other text is left to `times.parse`, which takes its time."""


@dataclass(frozen=True)
class Sliced:
    """What was written."""

    columns: int
    """Columns, the time stamp's included."""
    samples: int
    notes: tuple[Note, ...]
    """What was odd in the capture, and what was done about it; lines and columns are those of the capture."""


# --- The header ------------------------------------------------------------------------------------------------------


def _text(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace")


def _hosts(text: str, parsed: Header) -> list[str]:
    """Host of each cell: files that other programs glued together name several."""
    if len(parsed.hosts) < 2:  # noqa: PLR2004  one host is every cell's
        return [*parsed.hosts, ""][:1] * len(parsed.owners)
    hosts, at = [], 0
    for place in range(len(parsed.owners)):
        found = text.find(f"\\{parsed.path(place)}", at)
        hosts.append(text[text.rfind("\\\\", at, found) + 2 : found] if found >= 0 else parsed.hosts[0])
        at = max(at, found + 1)
    return hosts


def _header_line(text: str, parsed: Header, kept: Integers) -> bytes:
    first = _FIRST_CELL.match(text)
    hosts = _hosts(text, parsed)
    cells = [first[1] if first else text, *(rf"\\{hosts[place]}\{parsed.path(place)}" for place in kept.tolist())]
    return ('"' + '","'.join(cells) + '"').encode()


def _reads_as(line: bytes, laid_out: Layout, parts: Mapping[str, pl.DataFrame], kept: Integers) -> list[Note]:
    """Notes on names that the slice's reader will take for others, as the columns that told are not kept."""
    parsed = header.parse(line, 1)
    mine = layout.build(parsed.owners, parsed.counters)

    def names(of: Layout, cells: Integers) -> list[tuple[str, str | None, str]]:
        columns = zip(of.table[cells].tolist(), of.lane[cells].tolist(), of.column[cells].tolist(), strict=True)
        return [(of.tables[t].name, of.tables[t].instances[lane], of.tables[t].columns[c]) for t, lane, c in columns]

    before, after = names(laid_out, kept), names(mine, np.arange(len(parsed.owners)))
    notes = []
    if before != after:
        was, now = next(pair for pair in zip([*before, None], [*after, None], strict=False) if pair[0] != pair[1])
        notes.append(Note(f"the slice will be read with other names: {was} as {now}", severity="warning"))
    known = {shape.name: shape.instances for shape in mine.tables}
    for table, texts in known.items():
        if table not in parts:
            continue
        now_parts = instances.parts(table, texts, known)
        was_parts = now_parts.select("instance").join(parts[table], on="instance", how="left", nulls_equal=True)
        if not was_parts.equals(now_parts):
            message = f"some instances of {table} will be parsed in another way: keep group_cpu with them"
            notes.append(Note(message, severity="warning"))
    return notes


# --- Cells of a row --------------------------------------------------------------------------------------------------


def _bounds(line: bytes) -> tuple[Integers, Integers]:
    """Starts and ends of the texts of all cells of a line, by the rules of the scanner (`scan_twin`).

    >>> starts, ends = _bounds(b'"1.00",    73.1"8.93",')
    >>> list(zip(starts.tolist(), ends.tolist()))
    [(1, 5), (7, 15), (16, 20), (22, 22)]
    """
    data = np.frombuffer(line, dtype=np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    if not len(quotes):
        commas = np.flatnonzero(data == _COMMA)
        return np.concatenate([[0], commas + 1]), np.concatenate([commas, [len(line)]])
    # Where a quote, a comma and a quote follow each other; as a cell's end and the next one's beginning, from a
    # beginning on every second one of them is met.
    joint = np.zeros(len(quotes), dtype=np.bool_)
    joint[:-1] = (np.diff(quotes) == 2) & (data[quotes[:-1] + 1] == _COMMA)  # noqa: PLR2004  a comma between
    breaks: dict[int, list[int]] = {}
    starts: list[Integers | list[int]] = []
    ends: list[Integers | list[int]] = []
    at, opening, last = 0, 0, False
    while not last:
        if line[at : at + 1] == b'"':
            if opening >= len(quotes) or quotes[opening] != at:
                opening = int(np.searchsorted(quotes, at))
            parity = (opening + 1) % 2
            if parity not in breaks:
                breaks[parity] = (np.flatnonzero(~joint[parity::2]) * 2 + parity).tolist()
            candidates = breaks[parity]
            place = bisect_left(candidates, opening + 1)
            stop = candidates[place] if place < len(candidates) else len(quotes)
            starts.append(quotes[opening : stop - 1 : 2] + 1)
            ends.append(quotes[opening + 1 : stop - 1 : 2])
            start, end, at, last = quoted_cell(line, int(quotes[stop - 1]))
            # Where the next cell is quoted, or a bare number glued to one that is.
            opening = stop + 1
        else:
            start, end, at, last = bare_cell(line, at)
        starts.append([start])
        ends.append([end])
    return np.concatenate(starts), np.concatenate(ends)


def _row(line: bytes, starts: Integers, ends: Integers, kept: Integers, contiguous: Flags) -> bytes:
    """The kept cells of a line, all quoted; neighbours that stand as esxtop writes them are copied together."""
    data = np.frombuffer(line, dtype=np.uint8)
    first, last = starts[kept], ends[kept]
    joined = contiguous & (first[1:] - last[:-1] == 3) & (data[last[:-1]] == _QUOTE)  # noqa: PLR2004  `","`
    begins = first[np.concatenate([[True], ~joined])]
    stops = last[np.concatenate([~joined, [True]])]
    texts = [line[begin:stop] for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True)]
    for bare in np.flatnonzero((begins == 0) | (data[begins - 1] != _QUOTE)).tolist():
        texts[bare] = texts[bare].strip(b" \t")
    return b'"' + b'","'.join(texts) + b'"\n'


def _may_be_cut(text: bytes, *, at_the_end: bool) -> bool:
    """Whether the last cell of a row may be half a number: not closed, or bare where the file ends."""
    if text.startswith(b'"'):
        return True
    return at_the_end and not math.isnan(decimal(text))


# --- Lines -----------------------------------------------------------------------------------------------------------


def _time(line: bytes, bias: timedelta) -> datetime | None:
    """Time of a row in UTC; None where its first cell is no time stamp."""
    usual = _USUAL_STAMP.match(line)
    if usual:
        month, day, year, hour, minute, second = (int(part or 0) for part in usual.groups()[1:7])
        micros = int((usual[8] or b"").ljust(6, b"0"))
        try:
            return datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC) + bias
        except ValueError:
            pass
    parsed: datetime | None = times.parse([times.stamp_text(line[:_STAMP])], bias // timedelta(minutes=1))[0]
    return parsed


@dataclass
class _Met:
    """Lines of one kind."""

    count: int = 0
    lines: list[int] = field(default_factory=list)
    """The first of them."""
    cells: set[int] = field(default_factory=set)
    text: str = ""

    def add(self, line: int, *, cells: int = 0, text: str = "") -> None:
        self.count += 1
        self.text = self.text or text
        if len(self.lines) <= _SHOWN:
            self.lines.append(line)
            self.cells.add(cells)

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.lines[:_SHOWN])) + (" ..." if self.count > _SHOWN else "")
        return f"line{'s' if self.count > 1 else ''} {shown}"


class _Rows:
    """Tells, line after line, which are samples to be kept, and remembers what was odd."""

    def __init__(self, parsed: Header, kept: Integers, window: Window, line: int) -> None:
        self.expected = len(parsed.owners) + 1
        self.trailing_comma = parsed.trailing_comma
        self.bias = timedelta(minutes=parsed.bias)
        self.kept = np.concatenate([[0], kept + 1])
        self.contiguous = np.diff(self.kept) == 1
        self.window = window
        self.line = line
        self.samples = 0
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.origin: datetime | None = None
        self.period: int | None = None
        self.again, self.blank, self.wrong, self.timeless, self.cut = (_Met() for _ in range(5))
        self.notes: list[Note] = []

    def _whole(self, cells: int, line: bytes) -> bool:
        blank_end = line.endswith(b",")
        exact = cells == self.expected and not (self.trailing_comma and blank_end)
        return exact or (cells == self.expected + 1 and blank_end)

    def _outside(self, time: datetime) -> bool:
        self.first = min(self.first or time, time)
        self.last = max(self.last or time, time)
        start, end = self.window.start, self.window.end
        return bool((start and time < start) or (end and time > end))

    def _period(self, time: datetime) -> int | None:
        return (time - (self.origin or time)) // self.window.every if self.window.every else None

    def _damaged(self, line: bytes, cells: int, *, at_the_end: bool) -> None:
        if at_the_end:
            message = f"the last row is cut after {cells:,} of {self.expected:,} cells: left out"
            self.notes.append(Note(message, line=self.line, column=cells, severity="warning"))
        elif line:
            self.wrong.add(self.line, cells=cells)
        else:
            self.blank.add(self.line)

    def is_header(self, line: bytes) -> bool:
        """Whether a header stands in this line, by itself or glued to a row that was cut."""
        return header.MARK in line and len(line) >= self.expected - 1

    def pass_over_header(self) -> None:
        """Notes that the same header stands again."""
        self.line += 1
        self.again.add(self.line)

    def end(self, left: int) -> None:
        """Notes that this many lines from the next on are another capture's, whose cells stand otherwise."""
        message = f"another capture with other columns begins here, its {left} lines are kept apart"
        note = Note(f"{message}: slice it with segment=", line=self.line + 1, column=1, severity="warning")
        self.notes.append(note)

    def take(self, line: bytes, *, at_the_end: bool) -> bytes | None:
        """The kept part of a line (no line end in it); None where it is no sample, or not one to be kept."""
        self.line += 1
        if len(line) < self.expected - 1:
            self._damaged(line, len(_bounds(line)[0]) if line else 0, at_the_end=at_the_end and bool(line))
            return None
        time = _time(line, self.bias)
        period = None
        if time is not None:
            if self._outside(time):
                return None
            period = self._period(time)
            if period is not None and period == self.period:
                return None
        starts, ends = _bounds(line)
        if not self._whole(len(starts), line):
            self._damaged(line, len(starts), at_the_end=at_the_end)
            return None
        if time is None:
            self.timeless.add(self.line, text=times.stamp_text(line[:_STAMP]))
            return None
        self.origin, self.period = self.origin or time, period
        self.samples += 1
        place = self.expected - 1
        if self.kept[-1] == place:
            start, end = starts[place], ends[place]
            bare_end = at_the_end and line[-1:] not in b'\r",'
            if _may_be_cut(line[start:end], at_the_end=bare_end):
                starts[place] = ends[place] = len(line)
                self.cut.add(self.line)
        return _row(line, starts, ends, self.kept, self.contiguous)

    def all_notes(self) -> list[Note]:
        """Notes on all lines taken."""
        notes = []
        if self.again.count:
            message = f"the header stands again {self.again.count} times: esxtop was started again, its rows are joined"
            notes.append(Note(f"{message} ({self.again})", line=self.again.lines[0], column=1))
        if self.blank.count:
            message = f"{self.blank.count} blank lines: passed over ({self.blank})"
            notes.append(Note(message, line=self.blank.lines[0]))
        if self.wrong.count:
            cells = ", ".join(f"{count:,}" for count in sorted(self.wrong.cells))
            message = f"{self.wrong.count} rows have {cells} cells where the header has {self.expected:,}: left out"
            notes.append(Note(f"{message} ({self.wrong})", line=self.wrong.lines[0], severity="warning"))
        if self.timeless.count:
            message = f"{self.timeless.count} rows with a time stamp that is none, such as {self.timeless.text!r}"
            message = f"{message}: left out ({self.timeless})"
            notes.append(Note(message, line=self.timeless.lines[0], column=1, severity="warning"))
        if self.cut.count:
            message = f"{self.cut.count} cells that are not closed, cut perhaps in the middle of a number: left empty"
            notes.append(Note(message, line=self.cut.lines[0], column=self.expected, severity="warning"))
        return [*notes, *self.notes]

    def nothing(self) -> EsxparseError:
        """Why there is no sample."""
        if self.first is not None and self.window != EVERYTHING:
            whole = Window(self.first, self.last)
            return EsxparseError(f"no sample in the window asked for ({self.window}): the capture goes {whole} UTC")
        columns = f"a header with {self.expected - 1:,} columns"
        why = next((note for note in self.all_notes() if note.severity == "warning"), None)
        if why is None:
            return DamagedError(f"{columns} and no rows: the capture was stopped before its first sample")
        return DamagedError(f"{columns} and no row that can be used ({why})")


# --- Files -----------------------------------------------------------------------------------------------------------


class _Source:
    """Lines of a capture from its header on, from a file or a stream that cannot go back."""

    def __init__(self, file: BinaryIO, name: str, dates: resaved.Dates) -> None:
        self.file = file
        self.name = name
        self.done = 0
        """Bytes read."""
        self.notes: list[Note] = []
        head = self._read(_HEADER_WITHIN)
        if not head:
            msg = "it is empty: nothing was captured, or the copy failed"
            raise DamagedError(msg)
        if resaved.is_resaved(head):
            mended = resaved.canonical(head + self._read(-1), dates)
            head, self.notes = mended.content, list(mended.notes)
        mark = head.find(header.MARK)
        if mark < 0:
            where = f"{header.MARK.decode()} is not in its first {_HEADER_WITHIN:,} bytes"
            msg = f"{name} is no esxtop capture: {where} (it begins with {head[:40]!r})"
            raise UnknownFormatError(msg)
        start = mark - 1 if head[mark - 1 : mark] == b'"' else mark
        before = " ".join(head[:start].removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").split())
        if before:
            shown = before if len(before) <= _LENGTH else f"{before[:_LENGTH]}..."
            self.notes.append(Note(f"text before the header: left out ({shown!r})", line=1, column=1))
        self.number = head.count(b"\n", 0, start) + 1
        """Line of the header."""
        self.rest = io.BytesIO(head[start:])
        self.header = self.line().rstrip(b"\r\n")

    def _read(self, size: int) -> bytes:
        try:
            return self.file.read(size)
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> UnreadableError:
        return UnreadableError(f"{self.name} cannot be read: {error.strerror or error}")

    def line(self) -> bytes:
        """The next line with its line end; none at the end."""
        line = self.rest.readline()
        if not line.endswith(b"\n"):
            try:
                line += self.file.readline()
            except OSError as error:
                raise self._unreadable(error) from error
        self.done += len(line)
        return line

    def skip(self, segments: int) -> None:
        """Goes on to the header of a later one of several captures that were glued together."""
        for passed in range(segments):
            cells = len(header.parse(self.header, self.number).owners)
            while line := self.line():
                self.number += 1
                text = line.rstrip(b"\r\n")
                if header.MARK in text and len(text) >= cells and text != self.header:
                    mark = text.find(header.MARK)
                    self.header = text[mark - (text[mark - 1 : mark] == b'"') :]
                    break
            else:
                captures = f"the file holds {passed + 1} captures with columns of their own"
                msg = f"there is no segment {segments + 1}: {captures}"
                raise EsxparseError(msg)


@contextmanager
def _opened(capture: Capture) -> Iterator[tuple[BinaryIO, str, str]]:
    """The capture as a stream, its name, and the file it is in ("" for a stream); a note tells where it is cut."""
    if not isinstance(capture, (str, os.PathLike)):
        yield capture, str(getattr(capture, "name", "the stream")), ""
        return
    source = resolve(capture)
    with source.open() as raw, io.BufferedReader(cast("io.RawIOBase", raw), _BUFFER) as file:
        yield cast("BinaryIO", file), source.name, source.where


def _cut_short(file: BinaryIO) -> list[Note]:
    cut = problem(cast("BinaryIO", getattr(file, "raw", file)))
    return [Note(f"{cut}: what came before is read", severity="warning")] if cut else []


def _is_same(source: BinaryIO, there: os.stat_result) -> bool:
    """Whether what is written to is the capture itself, which would be lost."""
    try:
        mine = os.fstat(source.fileno())
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mine.st_mode) and os.path.samestat(mine, there)


def _size(source: BinaryIO) -> int:
    """Bytes of a file; 0 where it is none."""
    try:
        return os.fstat(source.fileno()).st_size
    except (OSError, ValueError):
        return 0


@contextmanager
def _beside(target: Path, mode: int) -> Iterator[BinaryIO]:
    """A file that takes the target's place when it is whole, and is gone where it does not get so far."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}-", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb", buffering=_BUFFER) as file:
            yield file
        # mkstemp makes files that only their owner can read; a slice is made to be passed on.
        Path(name).chmod(mode)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def _destination(output: Capture, source: BinaryIO, where: str) -> Iterator[BinaryIO]:
    same = "the slice would be written over the capture it is cut from: give it another name"
    if not isinstance(output, (str, os.PathLike)):
        try:
            there: os.stat_result | None = os.fstat(output.fileno())
        except (OSError, ValueError):
            there = None
        if there and _is_same(source, there):
            raise EsxparseError(same)
        yield output
        output.flush()
        return
    try:
        target = Path(output).resolve()
        there = target.stat() if target.exists() else None
        # What is compressed is read from a file that the stream does not tell.
        packed = there is not None and Path(where).is_file() and Path(where).samefile(target)
        if there and (packed or _is_same(source, there)):
            raise EsxparseError(same)
        special = there is not None and not stat.S_ISREG(there.st_mode)
        mode = stat.S_IMODE(there.st_mode) if there else 0o644
        # A device or a pipe is written to; it must not be replaced by a file.
        with target.open("wb") if special else _beside(target, mode) as file:
            yield file
    except OSError as error:
        msg = f"cannot write {output}: {error.strerror or error}"
        raise EsxparseError(msg) from error


def _copy(source: _Source, rows: _Rows, out: BinaryIO, progress: Progress | None) -> None:
    """Writes the kept part of each line."""
    total, shown = _size(source.file), 0
    while line := source.line():
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if rows.is_header(text):
            if text == source.header:
                rows.pass_over_header()
                continue
            left = 1
            while source.line():
                left += 1
            rows.end(left)
            return
        taken = rows.take(text, at_the_end=not line.endswith(b"\n"))
        if taken is not None:
            out.write(taken)
        if progress and source.done - shown >= _STEP:
            shown = source.done
            progress(shown, max(total, shown), f"{rows.samples:,} samples")


@dataclass(frozen=True)
class _Wanted:
    """Which part of the file is asked for."""

    selection: Selection
    window: Window
    segment: int
    dates: resaved.Dates


def _slice(source: _Source, output: Capture, where: str, wanted: _Wanted, progress: Progress | None) -> Sliced:
    source.skip(wanted.segment - 1)
    parsed = header.parse(source.header, source.number)
    laid_out = layout.build(parsed.owners, parsed.counters)
    known = {shape.name: shape.instances for shape in laid_out.tables}
    parts = {shape.name: instances.parts(shape.name, shape.instances, known) for shape in laid_out.tables}
    kept, notes = select(laid_out, parts, wanted.selection)
    line = _header_line(_text(source.header), parsed, kept)
    notes = [*source.notes, *parsed.notes, *notes, *_reads_as(line, laid_out, parts, kept)]
    rows = _Rows(parsed, kept, wanted.window, source.number)
    with _destination(output, source.file, where) as out:
        out.write(line + b"\n")
        _copy(source, rows, out, progress)
        if not rows.samples:
            raise rows.nothing()
    return Sliced(len(kept) + 1, rows.samples, (*notes, *rows.all_notes(), *_cut_short(source.file)))


def slice_capture(
    path: Capture,
    output: Capture,
    *,
    start: str | datetime | None = None,
    end: str | datetime | None = None,
    every: str | timedelta | None = None,
    tables: Sequence[str] = (),
    vms: Sequence[str] = (),
    instances: Sequence[str] = (),
    counters: Sequence[str] = (),
    keep_host: bool = False,
    segment: int = 1,
    date_order: resaved.DateOrder | None = None,
    date: date | None = None,
    progress: Progress | None = None,
) -> Sliced:
    r"""Writes a part of an esxtop capture as a smaller capture, which `esxparse.open` reads as that part.

    A column is kept where each of `tables`, `vms`, `instances` and `counters` that is given has a value it meets; all
    are kept where none is given. The file is read once, a line at a time (one that a spreadsheet saved, as a whole, to
    be brought back to what esxtop writes). Cells keep their text, their order and their clock; rows that the reader
    leaves out are left out, and said in the notes.

    Args:
        path: A capture: a file, plain or compressed, `bundle:member`, a URL or `-`, as `esxparse.open` takes it; or a
            stream of bytes, which needs no seeking.
        output: A file, put in place when it is whole and left as it was on any error; or a stream of bytes.
        start: Leave out samples before this time: a datetime, or text such as `2026-03-11T09:02` (UTC).
        end: Leave out samples after this time.
        every: Keep the first sample of each period of this length (`30s`, `5m`, `1h`), counted from the first sample
            kept; the others are left out, nothing is averaged.
        tables: Tables or objects: `vcpu`, `Group Cpu`.
        vms: Names of VMs. Kept are a VM's groups, its worlds, virtual disks and ports, and what its worlds do on each
            device; all VMs of that name.
        instances: Regular expressions, searched for in the text between the parentheses.
        counters: Names on the screen (`%RDY`), in a capture (`% Ready`) or of columns (`pct_ready`), in every table
            that has them. Of two columns of one name the second is never kept without the first.
        keep_host: Keep the tables about the host as a whole too, `HOST_TABLES`, whatever else is asked for.
        segment: Which capture, from 1, where several with columns of their own were glued together.
        date_order: Order of day, month and year in a capture that a spreadsheet saved, where the file does not tell.
        date: The day of a capture whose time stamps were saved without one.
        progress: Called now and then with bytes done, bytes in all, and a word on it.

    Raises:
        UnreadableError: The capture cannot be opened or read.
        UnknownFormatError: It is no esxtop capture.
        DamagedError: It holds nothing that can be used.
        EsxparseError: A name is not in the capture, nothing is left, there is no such segment, a bound is no time,
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
    if segment < 1:
        msg = f"segment {segment} is none: they are counted from 1"
        raise EsxparseError(msg)
    wanted = _Wanted(chosen, window(start, end, every), segment, resaved.Dates(date_order, date))
    with _opened(path) as (file, name, where):
        try:
            return _slice(_Source(file, name, wanted.dates), output, where, wanted, progress)
        except DamagedError as error:
            msg = f"{name}: {error}"
            raise DamagedError(msg) from error
