"""perf stat output: text of 2.6.32 to 6.8, CSV (`-x`) of 5.4 to 6.8 and JSON lines (`-j`) of 6.1 and 6.8.

Each with repetitions (`-r`, `--table`) and, from 5.4 on, in intervals (`-I`). A version stands for those near it:
"5.4" for about 4.20 to 5.8, "6.1" for 6.0 to 6.1 and, but for whole percents in CSV, 5.13; "6.8" for 6.2 to 6.17.

Evidence: stat-display.c and builtin-stat.c of those releases, the perf 6.1 program, captures of 5.4, 5.13 and 6.x.
What differs: 5.4 pads names of events to 25, 6.1 to 32; the field for a metric is 35 wide, from 6.8 on 38; the share
of time in CSV and JSON is cut to whole percents from 6.1 on; `metric-value` is a JSON number in 6.1, a text in 6.8,
and "(null)" is the unit of no metric in both; the head of intervals comes again every 25 (6.8: 26) of them.
Assumptions: counts with a unit other than none and ns have two decimals; counters of a command were enabled as long as
its task-clock says, or else all the time.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.perf_stat_counts import (
    Event,
    Interval,
    Run,
    Version,
    check,
    enabled_ns,
    error_of_mean,
    mean,
    relative_error_pct,
)
from esxparse_simulator.writers.perf_stat_metrics import Metric, metrics
from esxparse_simulator.writers.perf_stat_old import old_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Event", "Form", "Interval", "Run", "Version", "csv", "interval_lines", "json_lines", "text"]

Form = Literal["text", "csv", "json"]

_OLD = ("2.6.32", "3.6")
_NAME_WIDTH = {"5.4": 25, "6.1": 32, "6.8": 32}
_METRIC_WIDTH = {"5.4": 35, "6.1": 35, "6.8": 38}
_HEAD_EVERY = {"5.4": 25, "6.1": 25, "6.8": 26}
_COUNT_WIDTH = 18
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MOST_DECIMALS = 9


def text(run: Run, version: Version = "6.1", *, grouping: str = ",", table: bool = False) -> str:
    """A document for people; `grouping` is what the locale puts between thousands, nothing for the C locale.

    Raises:
        EsxparseError: No perf could have counted this, or that release has no `--table`.
    """
    _known(version, "text")
    _check(run)
    lines: list[str] = []
    if run.started_local is not None:
        now = run.started_local
        day = f"{_DAYS[now.weekday()]} {_MONTHS[now.month - 1]} {now.day:2d} {now:%H:%M:%S} {now.year}"
        lines += [f"# started on {day}", ""]
    if version in _OLD:
        if table:
            msg = f"perf {version} has no --table: leave it out, or take version 5.4 or later"
            raise EsxparseError(msg)
        return "\n".join([*lines, *old_lines(run, version, lambda count, places: _grouped(count, places, grouping))])
    runs = f" ({len(run.elapsed_s)} runs)" if len(run.elapsed_s) > 1 else ""
    what = "system wide" if run.cpus else run.command
    lines += ["", f" Performance counter stats for '{what}'{runs}:", ""]
    wall = mean(run.elapsed_s)
    for event in run.events:
        lines += _text_event(event, run.events, wall, version, "", grouping)
    return "\n".join([*lines, "", *_ending(run, table=table), "", ""])


def csv(run: Run, version: Version = "6.1", separator: str = ",") -> str:
    """The lines of `-x`.

    Raises:
        EsxparseError: No perf could have counted this, or this release is not written as CSV.
    """
    _known(version, "csv")
    _check(run)
    frame = _frame(run, version)._replace(separator=separator)
    lines = [line for one in run.events for line in _csv_event(one, frame)]
    return "".join(f"{line}\n" for line in lines)


def json_lines(run: Run, version: Version = "6.1") -> str:
    """The lines of `-j`.

    Raises:
        EsxparseError: No perf could have counted this, or the release writes no JSON.
    """
    _known(version, "json")
    _check(run)
    lines = [line for one in run.events for line in _json_event(one, _frame(run, version))]
    return "".join(f"{line}\n" for line in lines)


def interval_lines(
    intervals: Iterable[Interval],
    interval_s: float,
    form: Form = "csv",
    version: Version = "6.1",
    *,
    separator: str = ",",
    grouping: str = ",",
    cpus: int | None = None,
) -> Iterator[bytes]:
    """What `-I` writes while it counts, one interval after another; `interval_s` is the interval asked for.

    Raises:
        EsxparseError: No perf could have counted this, or that release has no `-I` here.
    """
    _known(version, form)
    if version in _OLD or interval_s <= 0.0:
        msg = f"perf {version} in intervals of {interval_s:g} s: take 5.4 or later, and an interval above 0"
        raise EsxparseError(msg)
    before = 0.0
    for number, one in enumerate(intervals):
        check(one.events, 1, f"the interval up to {one.end_s:g} s")
        if one.end_s <= before:
            msg = f"the interval up to {one.end_s:g} s does not end after {before:g} s: sort them by time"
            raise EsxparseError(msg)
        frame = _Frame(one.events, interval_s, enabled_ns(one.events, one.end_s - before, cpus), version)
        before = one.end_s
        if form == "text" and number % _HEAD_EVERY[version] == 0:
            width = _unit_width(one.events)
            yield f"#{'time':>15} {'counts':>18} {'unit':>{width}} events\n".encode()
        for event in one.events:
            if form == "text":
                lines = _text_event(event, one.events, interval_s, version, f"{one.end_s:16.9f} ", grouping)
            elif form == "csv":
                end = f"{one.end_s:.9f}" if version == "6.8" else f"{one.end_s:16.9f}"
                lines = _csv_event(event, frame._replace(prefix=f"{end}{separator}", separator=separator))
            else:
                lines = _json_event(event, frame._replace(prefix=f'"interval" : {one.end_s:.9f}, '))
            yield "".join(f"{line}\n" for line in lines).encode()


def _frame(run: Run, version: Version) -> _Frame:
    wall = mean(run.elapsed_s)
    return _Frame(run.events, wall, enabled_ns(run.events, wall, run.cpus), version, len(run.elapsed_s) > 1)


def _known(version: Version, form: Form) -> None:
    if version not in get_args(Version):
        msg = f"perf {version!r} is not written here: take one of {', '.join(get_args(Version))}"
        raise EsxparseError(msg)
    since = {"text": "2.6.32", "csv": "5.4", "json": "6.1"}
    if form not in since:
        msg = f"{form!r} is no form of perf stat output: take text, csv or json"
        raise EsxparseError(msg)
    versions = get_args(Version)
    if versions.index(version) < versions.index(since[form]):
        msg = f"perf {version} is not written as {form} here: take {since[form]} or later"
        raise EsxparseError(msg)


def _check(run: Run) -> None:
    if not run.elapsed_s or not all(one > 0.0 for one in run.elapsed_s):
        msg = f"{run.command!r} took no time: give the seconds of each repetition, above 0"
        raise EsxparseError(msg)
    if len(run.elapsed_s) > 1 and all(one == other for one, other in pairwise(run.elapsed_s)):
        msg = f"{run.command!r} took {run.elapsed_s[0]:g} s every time: repetitions differ, and perf prints by how much"
        raise EsxparseError(msg)
    check(run.events, len(run.elapsed_s), repr(run.command))


def _grouped(count: float, places: int, grouping: str) -> str:
    return f"{count:,.{places}f}".replace(",", grouping)


def _places(event: Event) -> int:
    return 2 if event.unit not in {"", "ns"} else 0


def _unit_width(events: Sequence[Event]) -> int:
    return max(4, *(len(event.unit) for event in events))


def _text_event(
    event: Event, events: Sequence[Event], wall_s: float, version: Version, prefix: str, grouping: str
) -> list[str]:
    metric_width, name_width = _METRIC_WIDTH[version], _NAME_WIDTH[version]
    unit = f"{event.unit:<{_unit_width(events)}}"
    if event.state != "counted":
        # Releases before 6.2 go by another way here, which kept the old width.
        width = 32 if version == "6.8" else 25
        share = "  (0.00%)" if event.state == "not counted" and event.running_pct == 0.0 else ""
        return [f"{prefix}{f'<{event.state}>':>{_COUNT_WIDTH}} {unit} {event.name:<{width}}{'':{metric_width}}{share}"]
    count = _grouped(mean(event.counts), _places(event), grouping)
    lines = [f"{prefix}{count:>{_COUNT_WIDTH}} {unit} {event.name:<{name_width}}"]
    for metric in metrics(event, events, wall_s * 1e9, version):
        if metric.new_line:
            lines.append(f"{prefix}{'':49}")
        lines[-1] += _text_metric(metric, metric_width)
    off = relative_error_pct(event.counts)
    lines[-1] += f"  ( +-{off:6.2f}% )" if off else ""
    lines[-1] += f"  ({event.running_pct:.2f}%)" if event.running_pct < 100.0 else ""  # noqa: PLR2004  of the time
    return lines


def _text_metric(metric: Metric, width: int) -> str:
    if metric.form is None or metric.unit is None:
        return f"{'':{width}}"
    value = f" # {metric.form % metric.value}"
    return f"{value} {metric.unit:<{width - len(value) - 1}}"


def _running(event: Event, enabled: int, version: Version) -> tuple[int, str]:
    """Nanoseconds an event had a counter, and its share of the time as CSV and JSON have it."""
    if event.state != "counted":
        share = "0.00" if event.state == "not counted" and event.running_pct == 0.0 else "100.00"
        return 0, share
    running = min(enabled, ceil(enabled * event.running_pct / 100.0))
    if version == "5.4" or running == enabled:
        return running, f"{100.0 * running / enabled if enabled else 100.0:.2f}"
    return running, f"{100 * running // enabled}.00"


class _Frame(NamedTuple):
    """What the lines of one document or interval share."""

    events: Sequence[Event]
    wall_s: float
    enabled_ns: int
    version: Version
    repeated: bool = False
    prefix: str = ""
    separator: str = ","


def _csv_event(event: Event, frame: _Frame) -> list[str]:
    separator, version = frame.separator, frame.version
    counted = event.state == "counted"
    value = f"{mean(event.counts):.{_places(event)}f}" if counted else f"<{event.state}>"
    running, share = _running(event, frame.enabled_ns, version)
    noise = [f"{_noise(event):.2f}%"] if frame.repeated else []
    lines = [frame.prefix + separator.join([value, event.unit, event.name, *noise, str(running), share])]
    for metric in _beside(event, frame):
        if metric.new_line:
            lines.append(frame.prefix + separator * (4 if version == "6.8" else 3))
        if metric.form is None or metric.unit is None:
            lines[-1] += separator * 2
        else:
            shown = (metric.form % metric.value).strip().removesuffix("%").strip()
            lines[-1] += f"{separator}{shown}{separator}{metric.unit}"
    return lines


def _json_event(event: Event, frame: _Frame) -> list[str]:
    value = f"{mean(event.counts):f}" if event.state == "counted" else f"<{event.state}>"
    running, share = _running(event, frame.enabled_ns, frame.version)
    noise = f'"variance" : {_noise(event):.2f}, ' if frame.repeated else ""
    named = f'"counter-value" : "{value}", "unit" : "{event.unit}", "event" : "{event.name}", '
    lines = [f'{{{frame.prefix}{named}{noise}"event-runtime" : {running}, "pcnt-running" : {share}, ']
    for metric in _beside(event, frame):
        if metric.new_line:
            lines.append(f"{{{frame.prefix}")
        number = f'"{metric.value:f}"' if frame.version == "6.8" else f"{metric.value:f}"
        unit = "(null)" if metric.unit is None else metric.unit
        lines[-1] += f'"metric-value" : {number}, "metric-unit" : "{unit}"}}'
    return lines


def _noise(event: Event) -> float:
    return relative_error_pct(event.counts) if event.state == "counted" else 0.0


def _beside(event: Event, frame: _Frame) -> list[Metric]:
    if event.state != "counted":
        return [Metric(0.0, None, "")]
    return metrics(event, frame.events, frame.wall_s * 1e9, frame.version)


def _ending(run: Run, *, table: bool) -> list[str]:
    """How long it took."""
    elapsed = mean(run.elapsed_s)
    if len(run.elapsed_s) == 1:
        lines = [f" {elapsed:17.9f} seconds time elapsed"]
        if run.cpus is None and run.user_s is not None and run.sys_s is not None:
            lines += ["", f" {run.user_s:17.9f} seconds user", f" {run.sys_s:17.9f} seconds sys", ""]
        return lines
    deviation = error_of_mean(run.elapsed_s)
    places = 2
    # perf takes the logarithm: two digits more than the deviation has zeros behind the point.
    step = deviation
    while step < 1.0 and places < _MOST_DECIMALS + 2:
        step *= 10.0
        places += 1
    lines = []
    if table:
        shown = f" {elapsed:17.{places}f}"
        indent = " " * (len(shown) - len(shown.lstrip()))
        lines.append(f"{indent}# Table of individual measurements:")
        for one in run.elapsed_s:
            bars = "#" * (1 + abs(int(100.0 * (one - elapsed) / one) // 5))
            lines.append(f" {one:17.{places}f} ({one - elapsed:+.{places}f}) {bars}")
        lines += ["", f"{indent}# Final result:"]
    off = relative_error_pct(run.elapsed_s)
    noise = f"  ( +-{off:6.2f}% )" if off else ""
    return [*lines, f" {elapsed:17.{places}f} +- {deviation:.{places}f} seconds time elapsed{noise}"]
