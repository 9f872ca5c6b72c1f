"""Lines of CSV and JSON put together: which run each is of, which event a further metric is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from esxparse.formats.perf_stat.rows import COUNTED, METRICS, RUNS, Parsed, Row, pmu, state, unit_and_name
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Sequence

_Key = tuple[str | None, str | None, str | None]


class Line(NamedTuple):
    """What one line of CSV or JSON says."""

    elapsed_s: float | None = None
    aggregate: str | None = None
    cpus: int | None = None
    event: str | None = None
    counter: str | None = None
    value: float | None = None
    unit: str | None = None
    cgroup: str | None = None
    stddev_pct: float | None = None
    runtime_ms: float | None = None
    counted_pct: float | None = None
    metrics: tuple[tuple[float | None, str, str | None], ...] = ()
    """Value, unit, threshold."""
    group: str | None = None
    summary: bool = False


def assemble(lines: Sequence[tuple[int, Line]], heads: Sequence[tuple[int, Row]]) -> Parsed:
    """The tables of lines; `heads` are command lines and start times, and where they stand."""
    events: list[Row] = []
    metrics: list[Row] = []
    notes: list[Note] = []
    firsts: list[int] = []
    group: str | None = None
    group_pct: float | None = None
    last: Line | None = None
    last_place = 0
    first_key: _Key | None = None
    starts = [place for place, head in heads if "started_local" in head]
    for place, line in lines:
        begun = any(last_place < start < place for start in starts)
        if not firsts or begun or _begins(line, last, first_key):
            firsts.append(place)
            first_key = None
        run = len(firsts)
        if line.event is not None:
            first_key = first_key or _key(line)
            last, group = line, None
            events.append(_event(line, run))
            if events[-1]["state"] == _NOT_READABLE:
                notes.append(Note(f"{line.counter!r} is no count", line=place, severity="warning"))
        elif line.group:
            group, group_pct = line.group, line.counted_pct
        last_place = place
        for number, metric in enumerate(line.metrics):
            of = None if group or not events or events[-1]["run"] != run else events[-1]
            metrics.append(_metric(line, metric, run, group, of))
            if metrics[-1]["counted_pct"] is None and group:
                metrics[-1]["counted_pct"] = group_pct
            if of is not None and line.event is not None and number == 0:
                of.update({name: metrics[-1][name] for name in ("metric_value", "metric_unit", "metric_name")})
    return Parsed(events, metrics, _runs(firsts, heads, events), (), tuple(notes))


_NOT_READABLE = "not readable"


def _key(line: Line) -> _Key:
    return line.aggregate, line.event, line.cgroup


def _begins(line: Line, last: Line | None, first: _Key | None) -> bool:
    """Whether a line begins a run: time goes back, a summary comes, or the first event comes again."""
    if line.event is None or last is None:
        return False
    if line.elapsed_s is not None:
        return last.elapsed_s is None or line.elapsed_s < last.elapsed_s
    if last.elapsed_s is not None or line.summary != last.summary:
        return True
    # The same event twice in a row is one asked for twice.
    return _key(line) == first and _key(line) != _key(last)


def _event(line: Line, run: int) -> Row:
    not_counted = state(line.counter or "")
    return {
        "run": run,
        "elapsed_s": line.elapsed_s,
        "aggregate": line.aggregate,
        "cpus": line.cpus,
        "event": line.event,
        "pmu": pmu(line.event or ""),
        "cgroup": line.cgroup,
        "value": line.value,
        "state": not_counted or (_NOT_READABLE if line.value is None else COUNTED),
        "unit": line.unit,
        "runtime_ms": line.runtime_ms,
        "counted_pct": line.counted_pct,
        "stddev_pct": line.stddev_pct,
    }


def _metric(
    line: Line, metric: tuple[float | None, str, str | None], run: int, group: str | None, of: Row | None
) -> Row:
    value, text, threshold = metric
    unit, name = unit_and_name(text)
    return dict.fromkeys(METRICS) | {
        "run": run,
        "elapsed_s": line.elapsed_s,
        "aggregate": line.aggregate,
        "event": of["event"] if of else None,
        "metric_group": group,
        "metric_name": name,
        "metric_value": value,
        "metric_unit": unit,
        "threshold": threshold,
        "counted_pct": line.counted_pct if line.counted_pct is not None or of is None else of["counted_pct"],
    }


def _runs(firsts: Sequence[int], heads: Sequence[tuple[int, Row]], events: Sequence[Row]) -> list[Row]:
    runs = []
    ends: dict[int, float] = {}
    for event in events:
        if event["elapsed_s"] is not None:
            ends[event["run"]] = max(event["elapsed_s"], ends.get(event["run"], 0.0))
    for run, first in enumerate(firsts, start=1):
        before = firsts[run - 2] if run > 1 else 0
        about: Row = dict.fromkeys(RUNS) | {"run": run, "elapsed_s": ends.get(run)}
        for place, head in heads:
            if before <= place < first:
                about |= head
        runs.append(about)
    return runs
