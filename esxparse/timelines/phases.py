"""Arithmetic on events: phases with durations and waits, run by run."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from esxparse.formats.events import Event
from esxparse.schema import schema

PHASES: Final = schema(
    "run str, number i64, step target status source str, start end until time, duration_s wait_s total_s f64"
)
"""Columns of `phases`."""


def phases(events: Iterable[Event], split: timedelta | None = None) -> pl.DataFrame:
    """Give one row per event in order of time, with how long it took and how long nothing followed.

    Events with a name in `run` belong to that run. `split`: a longer time without any event begins a new run.

    run         str  of the event, or "1", "2" and so on
    number      i64  within the run, from 1
    step, target, status, source  str
    start, end  time  end is null if only one time is known
    until       time  start of the next event of the run; null for the last
    duration_s  f64  from start to end, s
    wait_s      f64  from the last end so far (or start) to the start of the next event, s; 0 if they overlap
    total_s     f64  from the start of the run to its last end, s, the same in all rows of the run
    """
    runs: dict[str, list[Event]] = {}
    number, last = 1, None
    for event in sorted(events, key=lambda one: one.start):
        if split is not None and last is not None and event.start - last > split:
            number += 1
        last = max(filter(None, (last, event.end or event.start)))
        runs.setdefault(event.run or str(number), []).append(event)
    rows = [row for name, mine in runs.items() for row in _of_run(name, mine)]
    return pl.DataFrame(rows, schema=PHASES)


def _of_run(name: str, events: list[Event]) -> list[dict[str, Any]]:
    last = max(one.end or one.start for one in events)
    total = (last - events[0].start).total_seconds()
    rows = []
    reached = events[0].start
    for place, one in enumerate(events):
        reached = max(reached, one.end or one.start)
        until = events[place + 1].start if place + 1 < len(events) else None
        rows.append(
            {
                "run": name,
                "number": place + 1,
                "step": one.step,
                "target": one.target,
                "status": one.status,
                "source": one.source,
                "start": one.start,
                "end": one.end,
                "until": until,
                "duration_s": _seconds(one.start, one.end),
                "wait_s": None if until is None else max(0.0, (until - reached).total_seconds()),
                "total_s": total,
            }
        )
    return rows


def _seconds(start: datetime, end: datetime | None) -> float | None:
    return None if end is None else (end - start).total_seconds()
