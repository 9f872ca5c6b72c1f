"""Shared code of the three perf stat readers: rows, the parts of event and metric names, and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import polars as pl

from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import scaled
from esxparse.formats.kit.tables import frames, schemas
from esxparse.formats.perf_stat.numbers import Read, is_nan, number
from esxparse.recording import Note, Severity, counted

_Key = tuple[str | None, str | None, str | None]


class Fields(NamedTuple):
    """The fields of a line of CSV or text, with numbers as text."""

    elapsed: str | None = None
    aggregate: str | None = None
    cpus: str | None = None
    value: str | None = None
    unit: str | None = None
    event: str | None = None
    cgroup: str | None = None
    stddev: str | None = None
    runtime: str | None = None
    share: str | None = None
    metrics: tuple[tuple[str, str], ...] = ()
    """Value and unit."""
    group: str | None = None
    summary: bool = False


class Line(NamedTuple):
    """The content of one line."""

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


def line_of(fields: Fields, number_of: Read) -> Line:
    """Return the content of a line, with its numbers read; `number_of`: see `numbers.reader`."""

    def read(text: str | None) -> float | None:
        return number_of(text and text.rstrip("%"))

    same: Row = {name: getattr(fields, name) for name in ("aggregate", "event", "cgroup", "group", "summary")}
    return Line(
        **same,
        elapsed_s=number(fields.elapsed.replace(",", "."), ".") if fields.elapsed else None,
        cpus=int(fields.cpus) if fields.cpus else None,
        counter=fields.value,
        value=None if fields.value is None or state(fields.value) else read(fields.value),
        unit=fields.unit or None,
        stddev_pct=read(fields.stddev),
        runtime_ms=scaled(read(fields.runtime), 1e-6),
        counted_pct=read(fields.share),
        metrics=tuple((None if is_nan(value) else read(value), unit, None) for value, unit in fields.metrics),
    )


def assemble(lines: Sequence[tuple[int, Line]], heads: Sequence[tuple[int, Row]]) -> Parsed:
    """Return the tables of lines; `heads` are command lines and start times with their places."""
    firsts: list[int] = []
    numbered: list[tuple[int, int, Line]] = []
    last: Line | None = None
    last_place = 0
    first_key: _Key | None = None
    starts = [place for place, head in heads if "started_local" in head]
    for place, line in lines:
        begun = any(last_place < start < place for start in starts)
        if not firsts or begun or _begins(line, last, first_key):
            firsts.append(place)
            first_key = None
        if line.event is not None:
            first_key = first_key or _key(line)
            last = line
        last_place = place
        numbered.append((len(firsts), place, line))
    found = collected(numbered)
    return replace(found, runs=_runs(firsts, heads, found.events))


def collected(lines: Iterable[tuple[int, int, Line]]) -> Parsed:
    """Return events and metrics of lines, each with the number of its run and its place in the file."""
    events: list[Row] = []
    metrics: list[Row] = []
    notes = Notes()
    group: str | None = None
    group_pct: float | None = None
    for run, place, line in lines:
        if line.event is not None:
            group = None
            events.append(_event(line, run))
            if events[-1]["state"] == NOT_READABLE:
                notes.warn(f"{line.counter!r} is not a count", place)
        elif line.group:
            group, group_pct = line.group, line.counted_pct
        of = None if group or not events or events[-1]["run"] != run else events[-1]
        for place_of, metric in enumerate(line.metrics):
            metrics.append(_metric(line, metric, run, group, of))
            if metrics[-1]["counted_pct"] is None and group:
                metrics[-1]["counted_pct"] = group_pct
            if of is not None and line.event is not None and place_of == 0:
                of.update({name: metrics[-1][name] for name in ("metric_value", "metric_unit", "metric_name")})
        if of is not None and line.metrics and line.event is None:
            _share(of, metrics, line)
    return Parsed(events, metrics, notes=tuple(notes))


def _share(event: Row, metrics: Sequence[Row], line: Line) -> None:
    """Apply the end of an event's last line to the event and all its metrics."""
    for name, value in (("counted_pct", line.counted_pct), ("stddev_pct", line.stddev_pct)):
        event[name] = value if event[name] is None else event[name]
    for row in metrics[-_METRICS_OF_ONE:]:
        if row["event"] == event["event"] and row["counted_pct"] is None:
            row["counted_pct"] = event["counted_pct"]


_METRICS_OF_ONE = 4


NOT_READABLE = "not readable"


def _key(line: Line) -> _Key:
    return line.aggregate, line.event, line.cgroup


def _begins(line: Line, last: Line | None, first: _Key | None) -> bool:
    """Return whether a line begins a run: time goes back, a summary comes, or the first event comes again."""
    if line.event is None or last is None:
        return False
    if line.elapsed_s is not None:
        return last.elapsed_s is None or line.elapsed_s < last.elapsed_s
    if last.elapsed_s is not None or line.summary != last.summary:
        return True
    # The same event twice in a row was requested twice.
    return _key(line) == first and _key(line) != _key(last)


def _event(line: Line, run: int) -> Row:
    """Return the row of an event."""
    not_counted = state(line.counter or "")
    counter_state = not_counted or (NOT_READABLE if line.value is None else COUNTED)
    unit = line.unit
    if unit is None and not not_counted and line.event and _CLOCKS.fullmatch(line.event):
        # Without a unit, some releases print them in ms, with decimals; others (6.17) in ns, without decimals.
        unit = "msec" if _MILLISECONDS.fullmatch(line.counter or "") else "ns"
    return {**line._asdict(), "run": run, "pmu": pmu(line.event or ""), "state": counter_state, "unit": unit}


def _metric(
    line: Line, metric: tuple[float | None, str, str | None], run: int, group: str | None, of: Row | None
) -> Row:
    value, text, threshold = metric
    unit, name = unit_and_name(text)
    return dict.fromkeys(METRICS) | {
        "run": run,
        **{name: row[name] for row in [of or line._asdict()] for name in ("elapsed_s", "aggregate")},
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


Row = dict[str, Any]
Schema = dict[str, type[pl.DataType] | pl.DataType]

COUNTED = "counted"

EVENTS, METRICS, RUNS, REPETITIONS = schemas(__file__).values()

_PMU = re.compile(r".*\[([\w-]+)\]$|([\w-]+)/")
_CLOCKS = re.compile(r"(?:task-clock|cpu-clock|duration_time|user_time|system_time)(?::\w+)?")
_MILLISECONDS = re.compile(r".*[.,](?:\d\d|\d{6})")
_STATE = re.compile(r"<\s*not[ _]?(counted|supported)\s*>", re.IGNORECASE)
_UNIT_AND_NAME = re.compile(r"(\S+)\s{2,}(\S.*)|(%)\s+(\w+)")
_NAME_ALONE = re.compile(r"[a-z]\w*_\w*", re.IGNORECASE)
_COMMAND = re.compile(r"^(?:\S*[$#>%]\s++)?((?:sudo\s++)?(?:\S*/)?perf\s++stat\s++\S(?:.*\S)?)\s*+$")
_LISTED = 3


@dataclass(frozen=True)
class Parsed:
    """A reader's results, as rows of each table."""

    events: Sequence[Row] = ()
    metrics: Sequence[Row] = ()
    runs: Sequence[Row] = ()
    repetitions: Sequence[Row] = ()
    notes: tuple[Note, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)


def pmu(event: str) -> str | None:
    """Return the PMU of an event, which is before it or (`--no-merge`) after it.

    >>> pmu("cpu_core/cycles:u/"), pmu("cpa_cycles [hisi_sicl0_cpa0]"), pmu("cycles:u")
    ('cpu_core', 'hisi_sicl0_cpa0', None)
    """
    found = _PMU.match(event)
    return found[1] or found[2] if found else None


def state(count: str) -> str | None:
    """Return perf's word in place of a missing count.

    >>> state("<not supported>"), state("12")
    ('not supported', None)
    """
    found = _STATE.fullmatch(count.strip())
    return f"not {found[1].lower()}" if found else None


def unit_and_name(text: str) -> tuple[str | None, str | None]:
    """Return unit and name of a metric, from the text after its number.

    >>> unit_and_name("insn per cycle"), unit_and_name("%  tma_retiring"), unit_and_name("frontend_cycles_idle")
    (('insn per cycle', None), ('%', 'tma_retiring'), (None, 'frontend_cycles_idle'))
    """
    text = text.strip()
    if text in {"", "(null)"}:
        return None, None
    if both := _UNIT_AND_NAME.fullmatch(text):
        return both[1] or both[3], both[2] or both[4]
    return (None, text) if _NAME_ALONE.fullmatch(text) else (text, None)


def command(line: str) -> str | None:
    """Return the command line of perf stat, if a line is one: people keep it above the output.

    >>> command("# perf stat -a sleep 1"), command("Performance counter stats for 'sleep 1':")
    ('perf stat -a sleep 1', None)
    """
    found = _COMMAND.match(line.strip())
    return found[1] if found else None


def left_out(lines: Iterable[tuple[int, str]], what: str, severity: Severity) -> tuple[Note, ...]:
    """Return one note for all lines of a kind."""
    if not (found := list(lines)):
        return ()
    excerpts = ", ".join(repr(text.strip()[:60]) for _, text in found[:_LISTED])
    many = f"{counted(len(found), 'line')} {what}: {excerpts}{' ...' if len(found) > _LISTED else ''}"
    return (Note(many, found[0][0], severity=severity, unused=len(found)),)


def interval_meta(events: Sequence[Row]) -> Row:
    """Return `samples` and `interval` of a recording with `-I`."""
    ends = sorted({(row["run"], row["elapsed_s"]) for row in events if row["elapsed_s"] is not None})
    if not ends:
        return {}
    steps = sorted(second[1] - first[1] for first, second in pairwise(ends) if first[0] == second[0])
    interval = steps[len(steps) // 2] if steps else ends[0][1]
    return {"samples": len(ends), "interval": round(interval, 1 if interval > 1 else 3)}


def lazy(parsed: Parsed) -> dict[str, pl.LazyFrame]:
    """Return the tables that have rows."""
    tables = {"events": (parsed.events, EVENTS), "metrics": (parsed.metrics, METRICS), "runs": (parsed.runs, RUNS)}
    return frames({**tables, "repetitions": (parsed.repetitions, REPETITIONS)})
