"""Counters of hardware events: `perf stat` text of 2.6.32 and 3.6, and `vmkperf poll` of ESXi 5.

Evidence: builtin-stat.c of perf 2.6.33 and 3.6; of 2.6.32, whose `# 0.000 M/sec` stands beside every count even where
no clock was counted, output printed in an article; a poll of 24 PCPUs as printed in an article of 2012.
Assumptions: 2.6.32 prints a share of branches as a rate; vmkperf's line of names ends in a blank too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite, sqrt
from typing import Literal

from esxparse_simulator.limits import need
from esxparse_simulator.measured import draws

VERSIONS = ("2.6.32", "3.6")
_CLOCKS = ("task-clock", "cpu-clock")
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


@dataclass(frozen=True, slots=True)
class Event:
    """An event by its name in perf, with a count for each repetition (`unit` msec: milliseconds).

    A count is what perf prints, estimated to the whole time; `running_pct` is the part of it the event had a counter.
    """

    name: str
    counts: tuple[float, ...]
    unit: str = ""
    running_pct: float = 100.0
    state: Literal["counted", "not counted", "not supported"] = "counted"


@dataclass(frozen=True, slots=True)
class Run:
    """A recording of a command: how long each repetition took (s), and what was counted."""

    command: str
    elapsed_s: tuple[float, ...]
    events: tuple[Event, ...]

    def total(self, name: str) -> float:
        """The mean count of an event; 0 where it was not counted."""
        return next((_mean(one.counts) for one in self.events if one.name == name and one.state == "counted"), 0.0)


def perf_text(run: Run, version: str = "3.6") -> str:
    """The document that perf prints for people."""
    need(version in VERSIONS, f"perf {version!r} is not written here: take one of {', '.join(VERSIONS)}")
    _check(run)
    repeated, old = len(run.elapsed_s) > 1, version == "2.6.32"
    runs = f" ({len(run.elapsed_s)} runs)" if repeated else ""
    lines = ["", f" Performance counter stats for '{run.command}'{runs}:", ""]
    lines += [_first(event, run) if old else _third(event, run) for event in run.events]
    elapsed, off = _mean(run.elapsed_s), _error_pct(run.elapsed_s)
    if old:
        lines += ["", f" {elapsed:14.9f}  seconds time elapsed" + (f"   ( +- {off:7.3f}% )" if repeated else "")]
    else:
        noise = f"{'':40}  ( +-{off:6.2f}% )" if repeated else ""
        lines += ["", f" {elapsed:17.9f} seconds time elapsed{noise}"]
    return "\n".join([*lines, "", ""])


def _check(run: Run) -> None:
    took = run.elapsed_s and all(one > 0.0 for one in run.elapsed_s)
    need(took, f"{run.command!r} took no time: give the seconds of each repetition, above 0")
    differ = len(run.elapsed_s) == 1 or len(set(run.elapsed_s)) > 1
    need(differ, f"{run.command!r} took {run.elapsed_s[0]:g} s every time: repetitions differ")
    need(run.events, f"{run.command!r}: perf stat needs an event to count: give one")
    for event in run.events:
        where, wanted = f"{run.command!r}: {event.name}", len(run.elapsed_s)
        fits = len(event.counts) == wanted or event.state != "counted"
        need(fits, f"{where} has {len(event.counts)} counts for {wanted} repetitions: give one for each")
        counted = all(isfinite(count) and count >= 0.0 for count in event.counts)
        need(counted, f"{where} counts below zero or no number: give numbers from 0")
        ran = 0.0 <= event.running_pct <= 100.0 and (event.running_pct > 0.0 or event.state != "counted")
        need(ran, f"{where} ran {event.running_pct:g} % of the time: give more than 0, 100 at most")


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values) if values else 0.0


def _error_pct(values: Sequence[float]) -> float:
    """The standard error of the mean in percent of the mean."""
    count, middle = len(values), _mean(values)
    if count == 1 or not middle:
        return 0.0
    return 100.0 * sqrt(fsum((value - middle) * (value - middle) for value in values) / (count - 1) / count) / middle


def _ratio(count: float, total: float) -> float:
    return count / total if total else 0.0


def _first(event: Event, run: Run) -> str:
    """One event as 2.6.32 prints it."""
    name = f"{event.name}-msecs" if event.name in _CLOCKS else event.name
    if event.state != "counted":
        return f" {'<not counted>':>14}  {name:<24}"
    count = _mean(event.counts)
    if event.name in _CLOCKS:
        line = f" {count:14.6f}  {name:<24}"
        if event.name == "task-clock":
            line += f" # {count * 1e6 / (_mean(run.elapsed_s) * 1e9):10.3f} CPUs "
    elif event.name == "instructions":
        line = f" {count:14.0f}  {name:<24} # {_ratio(count, run.total('cycles')):10.3f} IPC  "
    else:
        rate = 1000.0 * _ratio(count, run.total("task-clock") * 1e6)
        line = f" {count:14.0f}  {name:<24} # {rate:10.3f} M/sec"
    if len(run.elapsed_s) > 1:
        line += f"   ( +- {_error_pct(event.counts):7.3f}% )"
    return line + (f"  (scaled from {event.running_pct:.2f}%)" if event.running_pct < 100.0 else "")


def _third(event: Event, run: Run) -> str:
    """One event as 3.6 prints it."""
    if event.state != "counted":
        return f"{f'<{event.state}>':>18} {event.name:<24}"
    count = _mean(event.counts)
    if event.name in _CLOCKS:
        line = f"{count:18.6f} {event.name:<25}"
        share = f" # {count * 1e6 / (_mean(run.elapsed_s) * 1e9):8.3f} CPUs utilized          "
        line += share if event.name == "task-clock" else f"{'':35}"
    else:
        line = f"{f'{count:,.0f}':>18} {event.name:<25}{_beside(event.name, count, run)}"
    off = _error_pct(event.counts)
    line += f"  ( +-{off:6.2f}% )" if off else ""
    return line + (f" [{event.running_pct:5.2f}%]" if event.running_pct < 100.0 else "")


def _beside(name: str, count: float, run: Run) -> str:  # noqa: PLR0911  a return for each kind of event
    cycles, clock = run.total("cycles"), run.total("task-clock") * 1e6
    if name == "instructions":
        stalled = max(run.total(one) for one in _IDLE)
        more = f"\n{'':45}#   {stalled / count:5.2f}  stalled cycles per insn" if stalled and count else ""
        return f" #   {_ratio(count, cycles):5.2f}  insns per cycle        {more}"
    if name in _PARTS and (total := run.total(_PARTS[name][0])):
        return " #  " + _PARTS[name][1] % (100.0 * count / total)
    if name == "cache-misses" and (total := run.total("cache-references")):
        return f" # {100.0 * count / total:8.3f} % of all cache refs    "
    if name in _IDLE:
        return " #  " + _IDLE[name] % (100.0 * _ratio(count, cycles))
    if name == "cycles":
        return f" # {_ratio(count, clock):8.3f} GHz                    "
    if not clock:
        return f"{'':35}"
    millions = 1000.0 * count / clock
    if millions < 1e-3:
        return f" # {millions * 1000.0:8.3f} K/sec                  "
    return f" # {millions:8.3f} M/sec                  "


@dataclass(frozen=True, slots=True)
class Poll:
    """What vmkperf polls: the name the event was started under, how many PCPUs, every how many seconds, how often."""

    event: str
    pcpus: int
    interval_s: int = 1
    count: int = 1


def poll_lines(poll: Poll, polls: Iterable[Sequence[float]]) -> Iterator[bytes]:
    """What `vmkperf poll` prints: events per second of each PCPU, a line for each poll."""
    numbers = f"vmkperf poll of {poll.pcpus} PCPUs every {poll.interval_s} s: give 1 or more of both"
    need(poll.pcpus > 0 and poll.interval_s > 0, numbers)
    one_word = poll.event and not any(sign.isspace() for sign in poll.event)
    need(one_word, f"{poll.event!r} is not the name of an event for vmkperf: give one word")
    yield f"~ # vmkperf poll {poll.event} -i {poll.interval_s} -n {poll.count}\n".encode()
    yield f"{poll.event} per second per cpu\n{'-' * 22}\n".encode()
    yield "".join(f"pcpu{number} " for number in range(poll.pcpus)).encode() + b"\n"
    for one in polls:
        yield "".join(f"{rate:.2f} " for rate in one).encode() + b"\n"


def poll_rates(
    poll: Poll, busy: Mapping[int, float], background: float, spread: float, background_spread: float, seed: int
) -> list[tuple[float, ...]]:
    """Rates for each poll: `busy` PCPUs have the mean rate they are given, the others `background` on average.

    Rates wander by their spread (a part of the mean) to either side; means hold to the two decimals that are printed.
    """
    need(
        poll.count > 0
        and all(0.0 <= one < 0.5 for one in (spread, background_spread))
        and set(busy) <= {*range(poll.pcpus)},
        f"{poll.count} polls of PCPUs {sorted(busy)} of {poll.pcpus} with spread {spread:g}: "
        "give 1 poll or more, PCPUs that are there, a spread from 0 to below 0.5",
    )
    counted = all(isfinite(rate) and rate >= 0.0 for rate in (background, *busy.values()))
    need(counted, f"mean rates of {poll.event}: a number is below 0 or none: events are counted from 0")
    drawn = draws(seed, f"vmkperf {poll.event}", poll.pcpus * poll.count).reshape(poll.pcpus, poll.count)
    columns = []
    for pcpu, own in enumerate(drawn.tolist()):
        middle, part = fsum(own) / poll.count, spread if pcpu in busy else background_spread
        columns.append([busy.get(pcpu, background) * (1.0 + 2.0 * part * (draw - middle)) for draw in own])
    return list(zip(*columns, strict=True))
