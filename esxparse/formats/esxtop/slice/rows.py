"""The rows of a slice: the samples to keep, line after line, and their kept cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from esxparse.errors import EsxparseError
from esxparse.formats.esxtop import grammar, times
from esxparse.formats.esxtop.header import Header
from esxparse.formats.esxtop.notes import Met, end_of_file, no_rows
from esxparse.formats.esxtop.rows import Survey
from esxparse.formats.esxtop.scan import Integers, scan
from esxparse.formats.esxtop.scan_twin import decimal
from esxparse.formats.kit.orders import HOW
from esxparse.formats.opening import EVERYTHING, DateOrder, Window
from esxparse.recording import Note, counted

_QUOTE = ord('"')


def _commas(line: bytes) -> int:
    return len(line) - len(line.rstrip(b","))


@dataclass
class Rows:
    """A judge of lines, one after another, that remembers odd ones."""

    header: Header
    kept: Integers  # cells, including the time stamp
    window: Window
    line: int  # number of the last line taken
    order: DateOrder | None
    survey: Survey
    stamps: list[str] = field(default_factory=list)  # time stamps whose order will be judged, and their lines
    stamp_lines: list[int] = field(default_factory=list)
    samples: int = 0
    first: datetime | None = None
    last: datetime | None = None
    origin: datetime | None = None
    period: int | None = None
    notes: list[Note] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.expected = len(self.header.owners) + 1
        self.again, self.blank, self.wrong, self.torn = (Met() for _ in range(4))
        self.headers, self.timeless, self.cut, self.seams, self.prefixed = (Met() for _ in range(5))
        cells = np.arange(-1, self.expected - 1)
        self.places, self.steps, self.spare = cells, cells * 0, np.empty(self.expected - 1)

    def take(self, line: bytes, *, at_the_end: bool) -> bytes | None:
        """Return the kept part of a line (no line end in it); None if it is not a sample, or not kept."""
        if len(line) < self.expected - 1:
            self._damaged(line, len(grammar.bounds(line)[0]) if line else 0, at_the_end=at_the_end and bool(line))
            return None
        stamp = times.stamp_text(line)
        line = times.month_first(line, "dmy" if self.line in self.survey.swapped else self.order)
        time = times.time_of(times.stamp_text(line), self.header.bias)
        if time is not None:
            self._remember(stamp)
            if self._outside(time) or (self.period is not None and self._period(time) == self.period):
                return None
        starts, ends = grammar.bounds(line)
        if not self._is_sample(line, len(starts), time, at_the_end=at_the_end) or time is None:
            return None
        self.period = self._period(time)
        self.origin = self.origin or time
        self.samples += 1
        self._cut(line, starts, ends, bare_end=at_the_end and line[-1:] not in b'\r",')
        self._spoil(line, starts, ends)
        return self._kept(line, starts, ends)

    def _outside(self, time: datetime) -> bool:
        self.first = min(self.first or time, time)
        self.last = max(self.last or time, time)
        start, end = self.window.start, self.window.end
        return bool((start and time < start) or (end and time > end))

    def _period(self, time: datetime) -> int | None:
        return (time - (self.origin or time)) // self.window.every if self.window.every else None

    def _remember(self, stamp: str) -> None:
        if not self.order:
            self.stamps.append(stamp)
            self.stamp_lines.append(self.line)

    def judge_dates(self) -> None:
        """Add the notes on the order of dates.

        Raises:
            EsxparseError: The dates are swapped, but the rows are already written.
        """
        is_swapped, notes = times.judge(self.stamps, self.stamp_lines)
        if any(is_swapped) and not self.survey.swapped:
            msg = (
                "a spreadsheet took days up to 12 for months in some dates, and a stream cannot be read twice: unpack "
                f"the capture, and slice the file; if the dates are right, set date_order= {HOW}"
            )
            raise EsxparseError(msg)
        self.notes += notes

    def _is_sample(self, line: bytes, cells: int, time: datetime | None, *, at_the_end: bool) -> bool:
        """Return whether a line can be used, and count the reason if not."""
        if not grammar.is_whole(cells, _commas(line), self.expected, self.header.commas):
            self._damaged(line, cells, at_the_end=at_the_end)
        elif time is None and times.is_of_header(line):
            self.headers.add(self.line)
        elif time is None:
            self._remember(times.stamp_text(line))
            self.timeless.add(self.line, text=times.stamp_text(line))
        elif b"\0" in line:
            # Even if only other columns are kept: the NUL may have replaced a line end.
            self.torn.add(self.line)
        else:
            return True
        return False

    def _damaged(self, line: bytes, cells: int, *, at_the_end: bool) -> None:
        if at_the_end:
            nuls = 0 if line.strip(b"\0") else len(line)
            self.notes.append(end_of_file(self.line, cells, self.expected, nuls))
        elif line:
            self.wrong.add(self.line, cells=cells - min(_commas(line), self.header.commas))
        else:
            self.blank.add(self.line)

    def _cut(self, line: bytes, starts: Integers, ends: Integers, *, bare_end: bool) -> None:
        """Empty the last cell if it may be half a number: not closed, or bare at the end of the file."""
        place = self.expected - 1
        text = line[starts[place] : ends[place]]
        if self.kept[-1] == place and (text.startswith(b'"') or (bare_end and not math.isnan(decimal(text)))):
            starts[place] = ends[place] = len(line)
            self.cut.add(self.line)

    def _spoil(self, line: bytes, starts: Integers, ends: Integers) -> None:
        """Empty the cells from the first one that no tool prints to the row's end."""
        found = np.frombuffer(scan(line, self.places, self.steps, self.spare, 0, True)[1], dtype=np.int64)
        last = self.expected - 1
        kinds = [(cell, grammar.kind_of(line[start:end])) for _, cell, start, end in found.reshape(-1, 4).tolist()]
        torn = [cell for cell, kind in kinds if kind == "torn" or (kind == "cut" and cell < last)]
        first = min(torn, default=self.expected)
        first = min(first, self.survey.strangers.get(self.line, first))
        if first < self.expected:
            starts[first:] = ends[first:] = len(line)
            self.seams.add(self.line, cells=first)

    def _kept(self, line: bytes, starts: Integers, ends: Integers) -> bytes:
        """Return the kept cells of a line, all quoted; neighbours in esxtop's own form are copied together."""
        data = np.frombuffer(line, dtype=np.uint8)
        first, last = starts[self.kept], ends[self.kept]
        closed = data[np.minimum(last[:-1], len(data) - 1)] == _QUOTE
        joined = (np.diff(self.kept) == 1) & (first[1:] - last[:-1] == 3) & closed  # noqa: PLR2004  `","`
        begins = first[np.concatenate([[True], ~joined])]
        stops = last[np.concatenate([~joined, [True]])]
        texts = [line[begin:stop] for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True)]
        for bare in np.flatnonzero((begins == 0) | (data[begins - 1] != _QUOTE)).tolist():
            texts[bare] = texts[bare].strip(b" \t")
        return b'"' + b'","'.join(texts) + b'"\n'

    def all_notes(self) -> list[Note]:
        """Return notes on all lines taken."""
        spoilt = (
            f"{counted(self.seams.count, 'row')} with a cell that no tool prints, as where bytes were lost between two "
            f"samples: empty from there to the end of the row ({self.seams})"
        )
        cut = f"{counted(self.cut.count, 'cell')} not closed, perhaps cut in the middle of a number: left empty"
        return [
            *self.again.started_again(),
            *self.prefixed.prefixed(),
            *self.blank.blank(),
            *self.wrong.wrong_count(self.expected),
            *self.torn.torn(),
            *self.headers.damaged_headers(),
            *self.timeless.timeless(),
            *self.seams.note(spoilt, self.seams.cells[0] + 1 if self.seams.cells else None),
            *self.cut.note(cut, self.expected),
            *self.notes,
        ]

    def nothing(self) -> EsxparseError:
        """Return the error for a slice without samples."""
        if self.first is not None and self.window != EVERYTHING:
            whole = Window(self.first, self.last)
            return EsxparseError(f"no sample in the requested window ({self.window}): the capture runs {whole} UTC")
        return no_rows(self.expected - 1, self.all_notes())
