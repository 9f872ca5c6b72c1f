"""Time and elapsed seconds of each sample: by the host's own count where it has one, else by the client's clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final

import polars as pl

from esxparse.formats.esxtop_api.grammar import SAMPLE
from esxparse.formats.esxtop_api.stored import Reply
from esxparse.formats.kit.notes import Notes
from esxparse.schema import TIME

_COUNTED: Final = ("LCPU", "LCPUID", "ElapsedTimeInUsec")
"""The object, its id, and the field that counts elapsed microseconds."""
_US: Final = 1e6
_APART: Final = 0.2
"""Part by which elapsed time may differ from the client's clock without a warning, and seconds that never count."""
_APART_S: Final = 2.0
_SET_APART: Final = timedelta(seconds=1)
"""Between samples of unknown time."""


@dataclass(frozen=True)
class Undated:
    """What dates replies without a time: the day of the first one, or else when their file was last written."""

    day: date | None
    file: Path

    def begin(self, length: timedelta, notes: Notes) -> datetime:
        """Return the time of the first of samples that span `length`, and note where it comes from."""
        what = "no reply has a time, so samples"
        if self.day is not None:
            begin = datetime.combine(self.day, time(), UTC)
            notes.say(f"{what} begin at {begin:%Y-%m-%d %H:%M:%S}, as the date was set")
            return begin
        if not self.file.is_file():
            notes.warn(f"{what} begin in 1970. Set date to the day of the first one")
            return datetime.fromtimestamp(0, UTC)
        end = datetime.fromtimestamp(self.file.stat().st_mtime, UTC)
        notes.warn(f"{what} end when the file was last written, {end:%Y-%m-%d %H:%M:%S}. Set date if it was copied")
        return end - length


@dataclass(frozen=True)
class Clock:
    """`times`: of each sample, UTC. `seconds`: since the sample before; null if unknown, or the host was restarted."""

    times: pl.Series
    seconds: pl.Series


def clock_of(replies: Sequence[Reply], objects: dict[str, pl.DataFrame], undated: Undated, notes: Notes) -> Clock:
    """Return the clock of the samples; `undated`: for replies without a time."""
    grown = _grown(objects, len(replies))
    known = [one.time for one in replies if one.time is not None]
    times = known if len(known) == len(replies) else _placed(grown, undated, notes)
    steps = [None, *((after - before).total_seconds() for before, after in pairwise(known))] if known else []
    if restarts := [place for place, one in enumerate(grown) if one is not None and one <= 0]:
        line = replies[restarts[0]].line
        notes.warn("the host's elapsed time fell: it was restarted, so this sample has no rates", line)
    if steps:
        _compare(grown, steps, replies, notes)
    if any(one is None for one in grown[1:]):
        missing = 1 + next(place for place, one in enumerate(grown[1:]) if one is None)
        what = "the client's clock is used" if steps else "there are no rates"
        notes.warn(f"no {_COUNTED[2]} of {_COUNTED[0]} since the sample before: {what}", replies[missing].line)
        grown = [one if one is not None else step for one, step in zip(grown, steps or grown, strict=True)]
    seconds = [one if one is not None and one > 0 else None for one in grown]
    return Clock(pl.Series("time", times, dtype=TIME), pl.Series("_seconds", seconds, dtype=pl.Float64))


def _grown(objects: dict[str, pl.DataFrame], samples: int) -> list[float | None]:
    """Return the seconds that the host counted between each sample and the one before; None if unknown."""
    name, number, elapsed = _COUNTED
    frame = objects.get(name)
    if frame is None or not {(number, pl.Int64()), (elapsed, pl.Int64())} <= set(frame.schema.items()):
        return [None] * samples
    first = frame.filter(pl.col(number) == pl.col(number).min()).unique(SAMPLE, keep="first", maintain_order=True)
    counted = dict(first.select(SAMPLE, elapsed).iter_rows())
    ends = [counted.get(sample) for sample in range(samples)]
    steps = (None if a is None or b is None else (b - a) / _US for a, b in pairwise(ends))
    return [None, *steps]


def _placed(grown: Sequence[float | None], undated: Undated, notes: Notes) -> list[datetime]:
    """Return times for samples without one, by the host's count of elapsed time."""
    steps = [timedelta(seconds=one) if one is not None and one > 0 else _SET_APART for one in grown[1:]]
    begin = undated.begin(sum(steps, timedelta()), notes)
    return [begin + span for span in accumulate(steps, initial=timedelta())]


def _compare(
    grown: Sequence[float | None], steps: Sequence[float | None], replies: Sequence[Reply], notes: Notes
) -> None:
    """Warn if the host counts other seconds than the client."""
    for one, step, reply in zip(grown, steps, replies, strict=True):
        if one is not None and one > 0 and step is not None and abs(one - step) > max(_APART_S, _APART * step):
            what = f"the host counted {one:.1f} s since the sample before, the client {step:.1f} s"
            notes.warn(f"{what}: rates are per second of the host", reply.line)
            return
