"""Samples among the lines of a capture, and notes on the other lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from esxparse.errors import EsxparseError
from esxparse.formats.esxtop import times
from esxparse.formats.esxtop.grammar import is_whole
from esxparse.formats.esxtop.notes import Met, another_capture, end_of_file
from esxparse.formats.esxtop.notes import times as said_times
from esxparse.formats.esxtop.scan import Flags, Integers, Numbers
from esxparse.formats.esxtop.segments import Segment
from esxparse.formats.opening import EVERYTHING, DateOrder, Window
from esxparse.formats.window import inside
from esxparse.recording import Note

if TYPE_CHECKING:
    import polars as pl

_HOUR = 3600.0
_LONGEST_INTERVAL = 900.0  # longest interval between samples, in seconds, at which a step of an hour is unusual
_SLACK = 60.0  # seconds that a step of an hour may deviate, unless the interval is shorter
_LONG = 1.75  # intervals between two samples from which a sample is missing
_FEWEST_STEPS = 4  # fewest steps that show an interval, and for each gap
_UNSURE = (
    "rows are kept in file order and no time is shifted; as the file states a single bias, times "
    "from there on may be off by an hour"
)


@dataclass(frozen=True)
class Samples:
    """The rows that are samples."""

    keep: Integers  # places among the rows of the body
    times: pl.Series
    lines: Integers  # of the file, from 1
    first_rows: frozenset[int] = frozenset()  # rows of the body whose disks esxtop had not measured yet
    swapped: frozenset[int] = frozenset()  # lines whose day and month a spreadsheet swapped

    @property
    def unmeasured(self) -> Integers:
        """Places, among the samples, of those with unmeasured disks."""
        return np.flatnonzero(np.isin(self.keep, sorted(self.first_rows)))

    def within(self, window: Window) -> Samples:
        """Return the samples in the window, at least one."""
        if window == EVERYTHING:
            return self
        kept = inside(self.times, window)
        if not len(kept):
            whole = Window(self.times.min(), self.times.max())  # type: ignore[arg-type]
            msg = f"no sample in the requested window ({window}): the capture runs {whole} UTC"
            raise EsxparseError(msg)
        return replace(self, keep=self.keep[kept], times=self.times[kept], lines=self.lines[kept])


@dataclass(frozen=True)
class Survey:
    """Findings that need all rows of a capture, by line."""

    strangers: Mapping[int, int] = field(default_factory=dict)
    """The first cell whose number is written unlike its counter's."""
    swapped: frozenset[int] = frozenset()
    """The rows whose day and month a spreadsheet swapped."""


def _line_notes(found: Segment, whole: Flags, torn: Integers, rows: int) -> list[Note]:
    """Return notes on the lines that are not samples; `rows` is the number of rows before another capture."""
    body, cells = found.body, len(found.header.owners) + 1
    end = found.other.start if found.other else np.inf
    short = [(line, cells) for line, cells, start in body.short if start < end]
    empty = np.array([line for line, cells in short if not cells], dtype=np.int64)
    notes = Met.of(empty + found.first_line).blank()
    known = np.zeros(len(whole), dtype=np.bool_)
    known[[*found.again, *torn]] = True
    bad = np.flatnonzero(~(whole | known)[:rows])
    # The header does not count the empty cells after trailing commas either.
    own = body.cells[bad] - np.minimum(body.commas[bad], found.header.commas)
    wrong = list(zip(body.line[bad].tolist(), own.tolist(), strict=True))
    wrong = sorted([*wrong, *((line, cells) for line, cells in short if cells)])
    # The end of the file can only cut a last line without a line end.
    if body.last_byte != b"\n" and rows == len(body.cells) and wrong and wrong[-1][0] == body.lines - 1:
        line, left = wrong.pop()
        notes.append(end_of_file(line + found.first_line, left, cells, body.nul_tail))
    lines = [line + found.first_line for line, _ in wrong]
    return notes + Met(len(wrong), lines, [there for _, there in wrong]).wrong_count(cells)


def _prefix_notes(found: Segment) -> list[Note]:
    """Return the note on text before rows and headers of a capture, on their lines."""
    end = found.other.start if found.other else np.inf
    prefixes = [(line, text) for line, at, text in found.body.prefixes if at < end]
    met = Met.of(np.array([line for line, _ in prefixes], dtype=np.int64) + found.first_line)
    met.text = prefixes[0][1].decode(errors="replace") if prefixes else ""
    return met.prefixed()


def _unmeasured(found: Segment) -> frozenset[int]:
    """Return the rows directly after a header, blank lines ignored, with unmeasured disks."""
    body = found.body
    blank = np.array([line for line, cells, _ in body.short if not cells], dtype=np.int64)
    headers = [(row, int(body.line[row])) for row in found.again]
    if not found.header.continued:
        headers.append((-1, -1))
    rows = set()
    for row, line in headers:
        if row + 1 in body.without_rates:
            # A row glued to the header is on the header's line.
            between = max(int(body.line[row + 1]) - line - 1, 0)
            if between == np.count_nonzero((blank > line) & (blank < body.line[row + 1])):
                rows.add(row + 1)
    return frozenset(rows)


def _hours(steps: Numbers, lines: Integers, again: Integers, bias: int) -> tuple[Flags, ...]:
    """Return which steps (seconds) go an hour back and which an hour ahead, apart from the usual interval."""
    none = np.zeros(len(steps), dtype=np.bool_)
    ahead = steps[steps > 0]
    interval = times.median(ahead) if len(ahead) else 0.0
    if not 0 < interval <= _LONGEST_INTERVAL:
        return none, none
    slack = min(interval, _SLACK)
    # After a restart of esxtop, or in an appended file, the clock need not have been set.
    starts = np.searchsorted(again, lines)
    through = np.diff(starts) == 0
    back = through & (steps < 0) & (np.abs(steps + _HOUR - interval) <= slack)
    # A host on UTC never sets its clock ahead: samples are missing.
    forth = through & (np.abs(steps - _HOUR - interval) <= slack) if bias else none
    return back, forth


def _time_notes(clock: pl.Series, lines: Integers, again: Integers, bias: int) -> list[Note]:
    steps = clock.diff().dt.total_microseconds().to_numpy()[1:] / 1e6
    set_back, set_ahead = _hours(steps, lines, again, bias)
    after = lines[1:]
    back, ahead, backward, same = map(
        Met.of, (after[set_back], after[set_ahead], after[(steps < 0) & ~set_back], after[steps == 0])
    )
    have = "1 row has the time of the row before it" if same.count == 1 else None
    return [
        *back.note(f"the clock was set back by an hour at {back}, as at the end of daylight saving: {_UNSURE}"),
        *ahead.note(
            f"the clock was set ahead by an hour at {ahead}, as at the start of daylight saving, or samples are "
            f"missing: {_UNSURE}"
        ),
        *backward.note(f"time goes backward {said_times(backward.count)}: rows kept in file order"),
        *_gap_notes(steps, after, set_ahead),
        *same.note(f"{have or f'{same.count:,} rows have the time of the row before them'}: kept"),
    ]


def _gap_notes(steps: Numbers, after: Integers, forth: Flags) -> list[Note]:
    """Return the note on missing samples: if bytes were lost with them, two halves may look like one row."""
    ahead = steps[steps > 0]
    if len(ahead) < _FEWEST_STEPS:
        return []
    interval = times.median(ahead)
    gaps = (steps > _LONG * interval) & ~forth
    if gaps.sum() * _FEWEST_STEPS > len(ahead):
        return []
    met = Met.of(after[gaps])
    return met.note(
        f"more than one interval of {interval:g} s passes before {met}: samples are missing there, and if the file "
        "lost bytes with them, the row before may mix numbers of two samples"
    )


def judge(found: Segment, order: DateOrder | None) -> tuple[Samples, list[Note]]:
    """Separate the samples of a capture from unusable lines, with a note for each kind.

    Unless `order` is set, time stamps with the day first are refused and swapped ones are swapped back.
    """
    body, again = found.body, list(found.again)
    # Rows after another header have other columns: under these names their numbers would be wrong.
    rows = found.other.row if found.other else len(body.cells)
    whole = np.asarray(is_whole(body.cells, body.commas, len(found.header.owners) + 1, found.header.commas))
    whole[[*again, *range(rows, len(whole))]] = False
    with_nuls = np.array([b"\0" in text for text in body.odd.words], dtype=np.bool_)
    nuls = {n for n, s in enumerate(body.stamps) if b"\0" in s}
    if with_nuls.any():
        nuls |= set(body.odd.sample[with_nuls[body.odd.word]].tolist())
    torn = np.array(sorted(row for row in nuls if whole[row]), dtype=np.int64)
    whole[torn] = False
    headers = [row for row in torn.tolist() if times.is_of_header(body.stamps[row])]
    torn = np.setdiff1d(torn, headers)
    again_lines = body.line[again] + found.first_line
    notes = [*Met.of(body.line[torn] + found.first_line).torn(), *Met.of(again_lines).started_again()]
    if (other := found.other) is not None:
        command = f"open it with segment={found.number + 1}"
        difference = other.difference(found.header)
        notes.append(another_capture(other.line + found.first_line, difference, found.rows_after, command))
    notes += _prefix_notes(found)
    notes += _line_notes(found, whole, np.append(torn, headers).astype(np.int64), rows)

    keep = np.flatnonzero(whole)
    texts = [times.stamp_text(times.month_first(body.stamps[row], order)) for row in keep.tolist()]
    clock = times.parse(texts, found.header.bias)
    timeless = clock.is_null().to_numpy()
    headers += [row for row in keep[timeless].tolist() if times.is_of_header(body.stamps[row])]
    notes += Met.of(body.line[sorted(headers)] + found.first_line).damaged_headers()
    no_header = ~np.isin(keep, headers)
    keep, clock, timeless = keep[no_header], clock.filter(no_header), timeless[no_header]
    texts = [text for text, is_row in zip(texts, no_header, strict=True) if is_row]
    swapped: frozenset[int] = frozenset()
    if not order and (timeless.any() or times.may_be_swapped(clock)):
        numbers = (body.line[keep] + found.first_line).tolist()
        is_swapped, swap_notes = times.judge(texts, numbers)
        notes += swap_notes
        swapped = frozenset(line for line, swap in zip(numbers, is_swapped, strict=True) if swap)
        if swapped:
            stamps = zip(texts, is_swapped, strict=True)
            mended = [times.with_month_first(text) if swap else text for text, swap in stamps]
            clock = times.parse(mended, found.header.bias)
    if timeless.any():
        met = Met.of(body.line[keep[timeless]] + found.first_line)
        met.text = times.stamp_text(body.stamps[int(keep[timeless][0])])
        notes += met.timeless()
        keep, clock = keep[~timeless], clock.filter(~clock.is_null())
    lines = body.line[keep] + found.first_line
    notes += _time_notes(clock, lines, again_lines, found.header.bias)
    return Samples(keep, clock, lines, _unmeasured(found), swapped), notes
