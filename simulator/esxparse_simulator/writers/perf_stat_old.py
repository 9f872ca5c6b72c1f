"""perf stat text of 2.6.32 and 3.6, as Debian 6 and the guests of the vSphere 5 days had it.

Evidence: builtin-stat.c of 2.6.33 and 3.6; of 2.6.32, whose `# 0.000 M/sec` stands beside every count even where no
clock was counted, output printed in an article. Assumption: that 2.6.32 prints a share of branches as a rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esxparse_simulator.writers.perf_stat_counts import CLOCKS, Event, Run, Version, mean, relative_error_pct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["old_lines"]

_PARTS = {
    "branch-misses": ("branches", "%6.2f%% of all branches        "),
    "L1-dcache-load-misses": ("L1-dcache-loads", "%6.2f%% of all L1-dcache hits  "),
    "L1-icache-load-misses": ("L1-icache-loads", "%6.2f%% of all L1-icache hits  "),
    "dTLB-load-misses": ("dTLB-loads", "%6.2f%% of all dTLB cache hits "),
    "iTLB-load-misses": ("iTLB-loads", "%6.2f%% of all iTLB cache hits "),
    "LLC-load-misses": ("LLC-loads", "%6.2f%% of all LL-cache hits   "),
}
_IDLE = {
    "stalled-cycles-frontend": "%6.2f%% frontend cycles idle   ",
    "stalled-cycles-backend": "%6.2f%% backend  cycles idle   ",
}
_SMALL = 0.001


def _total(run: Run, name: str) -> float:
    return next((mean(one.counts) for one in run.events if one.name == name and one.state == "counted"), 0.0)


def _clock_ns(run: Run) -> float:
    return _total(run, "task-clock") * 1e6


def _ratio(count: float, total: float) -> float:
    return count / total if total else 0.0


def old_lines(run: Run, version: Version, grouped: Callable[[float, int], str]) -> Iterator[str]:
    """The lines of a document of a release before 3.9; `grouped` writes a count as the locale has it."""
    repeated = len(run.elapsed_s) > 1
    runs = f" ({len(run.elapsed_s)} runs)" if repeated else ""
    yield ""
    yield f" Performance counter stats for '{run.command}'{runs}:"
    yield ""
    for event in run.events:
        yield from (_first(event, run) if version == "2.6.32" else _third(event, run, grouped)).split("\n")
    yield ""
    elapsed = mean(run.elapsed_s)
    off = relative_error_pct(run.elapsed_s)
    if version == "2.6.32":
        yield f" {elapsed:14.9f}  seconds time elapsed" + (f"   ( +- {off:7.3f}% )" if repeated else "")
    else:
        noise = f"  ( +-{off:6.2f}% )" if off else ""
        yield f" {elapsed:17.9f} seconds time elapsed" + (f"{'':40}{noise}" if repeated else "")
    yield from ("", "")


def _first(event: Event, run: Run) -> str:
    """One event as 2.6.32 prints it."""
    name = f"{event.name}-msecs" if event.name in CLOCKS else event.name
    if event.state != "counted":
        return f" {'<not counted>':>14}  {name:<24}"
    count = mean(event.counts)
    if event.name in CLOCKS:
        line = f" {count:14.6f}  {name:<24}"
        if event.name == "task-clock":
            line += f" # {count * 1e6 / (mean(run.elapsed_s) * 1e9):10.3f} CPUs "
    elif event.name == "instructions":
        line = f" {count:14.0f}  {name:<24} # {_ratio(count, _total(run, 'cycles')):10.3f} IPC  "
    else:
        line = f" {count:14.0f}  {name:<24} # {1000.0 * _ratio(count, _clock_ns(run)):10.3f} M/sec"
    if len(run.elapsed_s) > 1:
        line += f"   ( +- {relative_error_pct(event.counts):7.3f}% )"
    return line + (f"  (scaled from {event.running_pct:.2f}%)" if event.running_pct < 100.0 else "")  # noqa: PLR2004


def _third(event: Event, run: Run, grouped: Callable[[float, int], str]) -> str:
    """One event as 3.6 prints it."""
    if event.state != "counted":
        return f"{f'<{event.state}>':>18} {event.name:<24}"
    count = mean(event.counts)
    if event.name in CLOCKS:
        line = f"{count:18.6f} {event.name:<25}"
        share = f" # {count * 1e6 / (mean(run.elapsed_s) * 1e9):8.3f} CPUs utilized          "
        line += share if event.name == "task-clock" else f"{'':35}"
    else:
        line = f"{grouped(count, 0):>18} {event.name:<25}{_beside(event.name, count, run)}"
    off = relative_error_pct(event.counts)
    line += f"  ( +-{off:6.2f}% )" if off else ""
    return line + (f" [{event.running_pct:5.2f}%]" if event.running_pct < 100.0 else "")  # noqa: PLR2004


def _beside(name: str, count: float, run: Run) -> str:  # noqa: PLR0911  a return for each kind of event
    cycles, clock = _total(run, "cycles"), _clock_ns(run)
    if name == "instructions":
        stalled = max(_total(run, one) for one in _IDLE)
        more = f"\n{'':45}#   {stalled / count:5.2f}  stalled cycles per insn" if stalled and count else ""
        return f" #   {_ratio(count, cycles):5.2f}  insns per cycle        {more}"
    if name in _PARTS and (total := _total(run, _PARTS[name][0])):
        return " #  " + _PARTS[name][1] % (100.0 * count / total)
    if name == "cache-misses" and (total := _total(run, "cache-references")):
        return f" # {100.0 * count / total:8.3f} % of all cache refs    "
    if name in _IDLE:
        return " #  " + _IDLE[name] % (100.0 * _ratio(count, cycles))
    if name == "cycles":
        return f" # {_ratio(count, clock):8.3f} GHz                    "
    if not clock:
        return f"{'':35}"
    millions = 1000.0 * count / clock
    small = millions < _SMALL
    return f" # {millions * 1000.0 if small else millions:8.3f} {'K' if small else 'M'}/sec                  "
