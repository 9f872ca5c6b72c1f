"""Changes in a recording, over all its counters: which moved, when, how far, and which was first.

Rules play no part: this finds changes for which nobody has written a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from esxparse import sortable
from esxparse.counters.series import series_name
from esxparse.derived.panels import panel
from esxparse.derived.tables import described
from esxparse.errors import EsxparseError
from esxparse.formats.opening import moment
from esxparse.metrics import change_points
from esxparse.metrics.change_points import Matrix, Numbers
from esxparse.reading import Capture, as_recording
from esxparse.recording import Recording, as_html, counted, figure

Places = NDArray[np.int64]
Marks = NDArray[np.bool_]

_ROWS: Final = 12
"""Rows of a notebook's table."""
FEWEST: Final = 12
"""Below this number of samples, changes are not looked for."""
SURE: Final = 2.0
"""Kuiper's statistic from which a change of level counts as one."""
_AT_ONCE: Final = 2_000
"""Series worked on at a time: their arrays stay in the processor's cache."""
_NEAR: Final = 1
"""Samples by which the beginnings of one event may lie apart."""
_EDGE: Final = 3
"""Samples at either end of a capture in which no event is looked for."""
_EVENTS: Final = 5
_FEWEST_TOGETHER: Final = 2
_SHARE_TOGETHER: Final = 0.3
"""The share of the changed series that makes a moment common."""
_MORE_THAN_NEXT: Final = 1.5
"""How many times as many series must change at this moment as at the next best one."""


@dataclass(frozen=True)
class Changes:
    """The changes in a recording."""

    at: datetime | None
    """The time the series were compared at: the requested one, or when most of them changed. None if they have no
    common moment: each is then compared at its own onset."""
    series: pl.DataFrame
    """Every series that moves, the largest change first: table, counter (its column), instance; beyond f64, how far it
    went from `at` on, 1 as far as ever before or as is usual for its counter; before f64, median; after f64, median,
    or, for a shorter change, the level that a fifth of the samples reaches; onset datetime, when the part that differs
    most from the rest began, null if noise may explain it."""
    events: pl.DataFrame
    """Moments when several series changed together, the largest first: time, series i64, and first_table,
    first_counter, first_instance: the earliest of the 20 largest changes."""
    not_judged: pl.DataFrame
    """Series that could not be compared: table, reason, series i64."""

    def _repr_html_(self) -> str:
        when = "each at its own onset" if self.at is None else f"at {self.at:%Y-%m-%d %H:%M:%S} UTC"
        rows = [
            (
                as_html(_screen_name(one["table"], one["counter"])),
                as_html(one["instance"] or ""),
                *(figure(one[column]) for column in ("before", "after", "beyond")),
                f"{one['onset']:%H:%M:%S}" if one["onset"] else "",
            )
            for one in self.series.head(_ROWS).iter_rows(named=True)
        ]
        heads = ("counter", "object", "before", "after", "beyond", "onset")
        return f"<p><b>{self.series.height:,} series, largest change first, {when}</b></p>{sortable.table(heads, rows)}"


def _screen_name(name: str, column: str) -> str:
    """Return the counter's name on esxtop's screen, and its unit; the column if no catalogue has it."""
    known = described(name, column)
    return f"{known.screen or known.name}, {known.unit}" if known else f"{name}.{column}"


@dataclass(frozen=True)
class Every:
    """All numeric series of a recording on one time axis."""

    times: pl.Series
    names: pl.DataFrame
    """table, counter, instance of each row of `values`."""
    values: Matrix


def every(rec: Recording, derived: Sequence[str] = ()) -> tuple[Every, pl.DataFrame]:
    """Return all series of a recording that move, and the series left out.

    `derived`: names of derived tables to look at as well.

    Raises EsxparseError: There are fewer than 12 samples, or the recording has no such derived table.
    """
    timed = {name: table for name, table in rec.tables.items() if "time" in table.collect_schema().names()}
    timed |= {name: rec[name] for name in derived}
    frames = dict(zip(timed, pl.collect_all(list(timed.values())), strict=True))
    times = pl.concat([frame["time"] for frame in frames.values()]).unique().sort() if frames else pl.Series("time", [])
    if len(times) < FEWEST:
        msg = f"{rec.source} has {counted(len(times), 'sample')}: changes need {FEWEST} or more"
        raise EsxparseError(msg)
    names, values = [], []
    out = [(name, "no column time", len(rec[name].collect_schema())) for name in rec.tables if name not in timed]
    for table, frame in frames.items():
        numbers = [column for column, kind in frame.schema.items() if kind == pl.Float64]
        by_entity = frame.select("time", *numbers, entity=series_name(frame.schema).fill_null(""))
        # Several rows of one time: a spreadsheet dropped the seconds, or each row is an event.
        if by_entity.select("time", "entity").is_duplicated().any():
            by_entity = by_entity.group_by("time", "entity", maintain_order=True).mean()
        made = panel(table, [by_entity], times.to_list())
        resting = 0
        for counter, whole in made.values.items():
            rows = whole.T.astype(np.float32)
            with np.errstate(invalid="ignore"):
                moves = np.fmax.reduce(rows, axis=1) > np.fmin.reduce(rows, axis=1)
            resting += int((~moves).sum())
            values.append(rows[moves])
            instances = [made.names[place] for place in np.flatnonzero(moves)]
            names.append(
                pl.DataFrame({"instance": instances}, schema={"instance": pl.String}).select(
                    table=pl.lit(table), counter=pl.lit(counter), instance="instance"
                )
            )
        if resting:
            out.append((table, "never moves", resting))
    schema = {"table": pl.String, "reason": pl.String, "series": pl.Int64}
    return Every(times, pl.concat(names), np.vstack(values)), pl.DataFrame(out, schema=schema, orient="row")


def changes(rec: Capture, at: str | date | None = None, derived: Sequence[str] = ()) -> Changes:
    """Return the changes in a recording: which series, when, how far beyond their past, and which was first.

    It compares every column of numbers of every table with times, in any format.

    Args:
        rec: A recording, or its path.
        at: When the trouble began, in UTC: a datetime, a date, or text such as `2026-03-11T09:02`. By default the
            moment when most series changed together: three in ten of all that changed, and half as many again as at any
            other time.
        derived: Derived tables to look at as well, ["vm", "device"] for instance.

    Raises:
        EsxparseError: There are fewer than 12 samples, `at` is not a time or not within them, or a derived table is
            unknown.

    Source: see `esxparse.metrics.change_points`.
    """
    rec = as_recording(rec)
    whole, out = every(rec, derived)
    values, count = whole.values, len(whole.times)
    begin, end, statistic = _pieces(change_points.parts, values)
    # If the first of two levels is the shorter one, the change is its end.
    onset = np.where(begin > _EDGE, begin, end)
    sure = (statistic >= SURE) & (onset < count)
    gathered = _gathered(onset[sure], statistic[sure], count)
    begun = moment(at, "at")
    place = _common(gathered, onset, sure) if begun is None else _place(whole.times, begun, rec.source)
    went = _went(values, place, np.where(sure & (onset > _EDGE) & (onset < count - _EDGE), onset, count // 2))
    series = whole.names.with_columns(
        beyond=went.times(whole.names.select(pl.struct("table", "counter").rank("dense")).to_series().to_numpy()),
        before=went.before,
        after=went.after,
        onset=pl.when(pl.Series(sure)).then(whole.times.gather(np.minimum(onset, count - 1))),
    ).with_columns(pl.col("before", "after").fill_nan(None))
    order = np.argsort(-series["beyond"].to_numpy(), kind="stable")
    largest = order[: min(20, len(order))]
    events = [_event(one, onset, sure, largest, whole) for one in gathered]
    schema: dict[str, Any] = {"time": whole.times.dtype, "series": pl.Int64} | dict.fromkeys(_FIRST, pl.String)
    common = None if place is None else whole.times[place]
    return Changes(common, series[order], pl.DataFrame(events, schema=schema, orient="row"), out)


_FIRST: Final = ("first_table", "first_counter", "first_instance")


def _place(times: pl.Series, at: datetime, source: str) -> int:
    """Return the first sample at or after a time."""
    place = int((times < at).sum())
    if not _EDGE <= place <= len(times) - _EDGE:
        msg = f"{at:%Y-%m-%d %H:%M:%S} UTC is not within {source}: give a time from {times[_EDGE]} to {times[-_EDGE]}"
        raise EsxparseError(msg)
    return place


def _common(gathered: Sequence[int], onset: Places, sure: Marks) -> int | None:
    """Return the sample before most series change; None if no moment is common enough."""
    together = [int((sure & (np.abs(onset - place) <= _NEAR)).sum()) for place in gathered[:2]]
    if not together or together[0] < max(_FEWEST_TOGETHER, _SHARE_TOGETHER * sure.sum()):
        return None
    stands_out = len(together) == 1 or together[0] >= _MORE_THAN_NEXT * together[1]
    return gathered[0] - _NEAR if stands_out else None


def _went(values: Matrix, place: int | None, own: Places) -> change_points.Beyond:
    """Return how far each series went from a sample on: the same sample for all, or each series' own."""
    if place is not None:
        return change_points.Beyond(*_pieces(lambda rows: change_points.beyond(rows, place), values))
    parts = [
        change_points.beyond(values[one : one + _AT_ONCE], own[one : one + _AT_ONCE])
        for one in range(0, max(len(values), 1), _AT_ONCE)
    ]
    return change_points.Beyond(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def _gathered(onset: Places, weight: Numbers, count: int) -> list[int]:
    """Return samples at which series change together, the heaviest first; each counts for one event."""
    by_sample = np.bincount(onset, weights=weight, minlength=count)[:count]
    by_sample[:_EDGE] = by_sample[count - _EDGE :] = 0
    found = []
    for _ in range(_EVENTS):
        together = np.convolve(by_sample, np.ones(2 * _NEAR + 1), "same")
        if not together.any():
            break
        place = int(together.argmax())
        found.append(place)
        by_sample[max(place - 2 * _NEAR, 0) : place + 2 * _NEAR + 1] = 0
    return found


def _event(place: int, onset: Places, sure: Marks, largest: Places, whole: Every) -> tuple[object, ...]:
    near = sure & (np.abs(onset - place) <= _NEAR)
    nearby = [one for one in largest if near[one]]
    first = min(nearby, key=lambda one: onset[one], default=None)
    names = whole.names.row(int(first)) if first is not None else (None,) * len(_FIRST)
    return (whole.times[place], int(near.sum()), *names)


def _pieces(function: Callable[[Matrix], tuple[NDArray[Any], ...]], values: Matrix) -> list[NDArray[Any]]:
    """Apply a function to all series, some at a time, and join its results."""
    done = [function(values[one : one + _AT_ONCE]) for one in range(0, max(len(values), 1), _AT_ONCE)]
    return [np.concatenate(parts) for parts in zip(*done, strict=True)]
