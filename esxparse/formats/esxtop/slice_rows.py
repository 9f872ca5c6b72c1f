"""The rows of a slice: line after line, which are samples to be kept, and what was odd about the others."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from esxparse.errors import EsxparseError
from esxparse.formats.esxtop import header, line_notes, stamp_order, times
from esxparse.formats.esxtop.line_notes import Met
from esxparse.formats.esxtop.odd import kind_of
from esxparse.formats.esxtop.scan import scan
from esxparse.formats.esxtop.slice_cells import bounds, may_be_cut, row
from esxparse.formats.window import EVERYTHING, Window
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from esxparse.formats.esxtop.header import Header
    from esxparse.formats.opening import DateOrder

    Integers = NDArray[np.int64]

_USUAL_STAMP = re.compile(rb'(")?(\d\d)/(\d\d)/((?:19|20|21)\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?(?(1)")(?:,|$)')
"""What nearly every row begins with; any other text is left to `times.parse`, which takes its time."""


def time_of(line: bytes, bias: timedelta) -> datetime | None:
    """Time of a row in UTC; None where its first cell is no time stamp."""
    usual = _USUAL_STAMP.match(line)
    if usual:
        month, day, year, hour, minute, second = (int(part) for part in usual.groups()[1:7])
        micros = int((usual[8] or b"").ljust(6, b"0"))
        try:
            return datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC) + bias
        except ValueError:
            pass
    parsed: datetime | None = times.parse([times.stamp_text(line[: header.STAMP_BYTES])], bias // timedelta(minutes=1))[
        0
    ]
    return parsed


def _commas(line: bytes) -> int:
    return len(line) - len(line.rstrip(b","))


class Rows:
    """Tells, line after line, which are samples to be kept, and remembers what was odd."""

    def __init__(
        self,
        parsed: Header,
        kept: Integers,
        window: Window,
        line: int,
        order: DateOrder | None,
        strangers: Mapping[int, int],
    ) -> None:
        self.expected = len(parsed.owners) + 1
        self.commas = parsed.commas
        self.bias = timedelta(minutes=parsed.bias)
        self.kept = np.concatenate([[0], kept + 1])
        self.contiguous = np.diff(self.kept) == 1
        self.window = window
        self.line = line
        self.order = order
        self.doubt = stamp_order.Doubt()
        self.strangers = strangers
        """Line to its first number that is not written as its counter is, as far as is known."""
        self.samples = 0
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.origin: datetime | None = None
        self.period: int | None = None
        self.again, self.blank, self.wrong, self.torn, self.timeless, self.cut, self.seams = (Met() for _ in range(7))
        cells = np.arange(-1, self.expected - 1)
        self.places, self.steps, self.spare = cells, cells * 0, np.empty(self.expected - 1)
        self.notes: list[Note] = []

    def _whole(self, cells: int, line: bytes) -> bool:
        beyond, commas = cells - self.expected, _commas(line)
        if not beyond:
            return not (self.commas and commas)
        empty = beyond == commas or (beyond == 1 <= commas and self.commas <= 1)
        return 0 < beyond <= max(1, self.commas) and empty

    def _outside(self, time: datetime) -> bool:
        self.first = min(self.first or time, time)
        self.last = max(self.last or time, time)
        start, end = self.window.start, self.window.end
        return bool((start and time < start) or (end and time > end))

    def _period(self, time: datetime) -> int | None:
        return (time - (self.origin or time)) // self.window.every if self.window.every else None

    def _left_out(self, time: datetime) -> bool:
        """Whether a sample of that time is not asked for."""
        if self._outside(time):
            return True
        period = self._period(time)
        return period is not None and period == self.period

    def _damaged(self, line: bytes, cells: int, *, at_the_end: bool) -> None:
        if at_the_end and not line.strip(b"\0"):
            self.notes.append(line_notes.nul_tail(self.line, len(line)))
        elif at_the_end:
            self.notes.append(line_notes.cut_row(self.line, cells, self.expected))
        elif line:
            self.wrong.add(self.line, cells=cells - min(_commas(line), self.commas))
        else:
            self.blank.add(self.line)

    def is_header(self, line: bytes) -> bool:
        """Whether a header stands in this line, by itself or glued to a row that was cut."""
        return header.stands_in(line, self.expected - 1)

    def pass_over_header(self, *, glued: bool) -> None:
        """Notes that the same header stands again."""
        self.line += not glued
        self.again.add(self.line)

    def end(self, left: int, *, glued: bool) -> None:
        """Notes that this many lines from the next on are another capture's, whose cells stand otherwise."""
        self.notes.append(line_notes.another_capture(self.line + (not glued), left, "slice it"))

    def _is_sample(self, line: bytes, cells: int, time: datetime | None, *, at_the_end: bool) -> bool:
        """Whether a line can be used; remembers why not."""
        if not self._whole(cells, line):
            self._damaged(line, cells, at_the_end=at_the_end)
        elif time is None:
            self._doubt(line, None)
            self.timeless.add(self.line, text=times.stamp_text(line[: header.STAMP_BYTES]))
        elif b"\0" in line:
            # Even where only other columns are kept: a line end may be gone with what stood there.
            self.torn.add(self.line)
        else:
            return True
        return False

    def _spoil(self, line: bytes, starts: Integers, ends: Integers) -> None:
        """Leaves the cells from the first that no tool prints to the row's end empty."""
        found = np.frombuffer(scan(line, self.places, self.steps, self.spare, 0, True)[1], dtype=np.int64)
        last = self.expected - 1
        kinds = [(cell, kind_of(line[start:end])) for _, cell, start, end in found.reshape(-1, 4).tolist()]
        torn = [cell for cell, kind in kinds if kind == "torn" or (kind == "cut" and cell < last)]
        first = min(torn, default=self.expected)
        first = min(first, self.strangers.get(self.line, first))
        if first < self.expected:
            starts[first:] = ends[first:] = len(line)
            self.seams.add(self.line, cells=first)

    def take(self, line: bytes, *, at_the_end: bool, glued: bool = False) -> bytes | None:
        """The kept part of a line (no line end in it); None where it is no sample, or not one to be kept.

        `glued` says that it is on the line of the one before it.
        """
        self.line += not glued
        if len(line) < self.expected - 1:
            self._damaged(line, len(bounds(line)[0]) if line else 0, at_the_end=at_the_end and bool(line))
            return None
        line = stamp_order.line_month_first(line, self.order)
        time = time_of(line, self.bias)
        if time is not None:
            self._doubt(line, time)
        if time is not None and self._left_out(time):
            return None
        starts, ends = bounds(line)
        if not self._is_sample(line, len(starts), time, at_the_end=at_the_end) or time is None:
            return None
        self.period = self._period(time)
        self.origin = self.origin or time
        self.samples += 1
        place = self.expected - 1
        if self.kept[-1] == place:
            start, end = starts[place], ends[place]
            bare_end = at_the_end and line[-1:] not in b'\r",'
            if may_be_cut(line[start:end], at_the_end=bare_end):
                starts[place] = ends[place] = len(line)
                self.cut.add(self.line)
        self._spoil(line, starts, ends)
        return row(line, starts, ends, self.kept, self.contiguous)

    def _doubt(self, line: bytes, time: datetime | None) -> None:
        """Looks at the time stamp of a whole row, where nobody said whether the day comes first in it."""
        if not self.order and (self.doubt.possible or time is None):
            swapped = time_of(stamp_order.line_month_first(line, "dmy"), self.bias)
            self.doubt.add(times.stamp_text(line[: header.STAMP_BYTES]) if time is None else "", time, swapped)

    def all_notes(self) -> list[Note]:
        """Notes on all lines taken."""
        found = [
            (self.again, line_notes.started_again),
            (self.blank, line_notes.blank),
            (self.wrong, lambda met: line_notes.wrong_count(met, self.expected)),
            (self.torn, line_notes.torn),
            (self.timeless, line_notes.timeless),
        ]
        notes = [note(met) for met, note in found if met.count]
        if self.seams.count:
            notes.append(line_notes.seams(self.seams))
        if self.cut.count:
            cells = line_notes.counted(self.cut.count, "cell")
            message = f"{cells} not closed, cut perhaps in the middle of a number: left empty"
            notes.append(Note(message, line=self.cut.lines[0], column=self.expected, severity="warning"))
        return [*notes, *self.notes]

    def nothing(self) -> EsxparseError:
        """Why there is no sample."""
        if self.first is not None and self.window != EVERYTHING:
            whole = Window(self.first, self.last)
            return EsxparseError(f"no sample in the window asked for ({self.window}): the capture goes {whole} UTC")
        return line_notes.no_rows(self.expected - 1, self.all_notes())
