"""What `perf stat` prints beside an event: rates and ratios worked out of the counts, as each release does.

Evidence: `perf_stat__print_shadow_stats` (tools/perf/util/stat-shadow.c), `abs_printout` (builtin-stat.c) of 3.6, the
perf 6.1 program, and captures of 5.4 and 5.13. Assumptions: of 6.8, the format of `of all cache refs`; that a metric
looks for its other event with the same PMU and modifiers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from esxparse_simulator.writers.perf_stat_counts import CLOCKS, Event, Version, mean

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Metric", "metrics"]

_NAME = re.compile(r"(?:(?P<pmu>[\w-]+)/)?(?P<base>[^/:]+)(?:/(?P<inside>[a-zA-Z]*))?(?::(?P<modifiers>[a-zA-Z]+))?")
_SAME = {"cpu-cycles": "cycles", "branch-instructions": "branches", "branches-misses": "branch-misses"}
_PARTS = {
    "branch-misses": ("branches", "of all branches"),
    "L1-dcache-load-misses": ("L1-dcache-loads", "of all L1-dcache {}"),
    "L1-icache-load-misses": ("L1-icache-loads", "of all L1-icache {}"),
    "dTLB-load-misses": ("dTLB-loads", "of all dTLB cache {}"),
    "iTLB-load-misses": ("iTLB-loads", "of all iTLB cache {}"),
    "LLC-load-misses": ("LLC-loads", "of all LL-cache {}"),
}
_STALLED = {
    "stalled-cycles-frontend": "frontend cycles idle",
    "stalled-cycles-backend": "backend cycles idle",
}
_THOUSAND = 1000.0


class Metric(NamedTuple):
    """A metric; without a `form` perf prints blanks for it, and its JSON the zero that it has."""

    value: float
    form: str | None
    unit: str | None
    new_line: bool = False


class _Name(NamedTuple):
    base: str
    where: tuple[str, str]


def _named(event: Event) -> _Name:
    found = _NAME.fullmatch(event.name)
    if found is None:
        return _Name(event.name, ("", ""))
    base = found["base"]
    return _Name(_SAME.get(base, base), (found["pmu"] or "", (found["modifiers"] or found["inside"] or "").lower()))


def _total(name: str, like: _Name, events: Sequence[Event]) -> float:
    """The count of another event with the same PMU and modifiers; 0 where there is none."""
    wanted = _Name(name, like.where)
    return next((mean(one.counts) for one in events if one.state == "counted" and _named(one) == wanted), 0.0)


def _clock_ns(events: Sequence[Event]) -> float:
    clocks = [
        mean(one.counts) * 1e6
        for one in events
        if one.state == "counted" and one.unit == "msec" and _named(one).base in CLOCKS
    ]
    return mean(clocks)


def metrics(  # noqa: PLR0911  a return for each kind of event
    event: Event, events: Sequence[Event], wall_ns: float, version: Version
) -> list[Metric]:
    """What stands beside `event`; `wall_ns` is the time that passed, or the nominal interval of `-I`."""
    name = _named(event)
    count = mean(event.counts)
    if event.unit == "msec" and name.base in CLOCKS:
        return [Metric(count * 1e6 / wall_ns, "%8.3f", "CPUs utilized")]
    if name.base == "instructions":
        return _instructions(count, name, events)
    if (part := _PARTS.get(name.base)) and (total := _total(part[0], name, events)):
        whole = "hits" if version == "5.4" else "accesses"
        return [Metric(100.0 * count / total, "%7.2f%%", part[1].format(whole))]
    if name.base == "cache-misses" and (total := _total("cache-references", name, events)):
        form = "%7.2f%%" if version == "6.8" else "%8.3f %%"
        return [Metric(100.0 * count / total, form, "of all cache refs")]
    if idle := _STALLED.get(name.base):
        cycles = _total("cycles", name, events)
        return [Metric(100.0 * count / cycles if cycles else 0.0, "%7.2f%%", idle)]
    nanoseconds = _clock_ns(events)
    if name.base == "cycles":
        if nanoseconds:
            return [Metric(count / nanoseconds, "%8.3f", "GHz")]
        return [Metric(0.0, None, "GHz" if version == "6.8" else "Ghz")]
    return [_rate(count, nanoseconds, version)] if nanoseconds else [Metric(0.0, None, None)]


def _instructions(count: float, name: _Name, events: Sequence[Event]) -> list[Metric]:
    cycles = _total("cycles", name, events)
    found = [Metric(count / cycles, "%7.2f ", "insn per cycle") if cycles else Metric(0.0, None, "insn per cycle")]
    stalled = max(_total(one, name, events) for one in _STALLED)
    if stalled and count:
        found.append(Metric(stalled / count, "%7.2f ", "stalled cycles per insn", new_line=True))
    return found


def _rate(count: float, nanoseconds: float, version: Version) -> Metric:
    if version == "5.4":
        millions = _THOUSAND * count / nanoseconds
        if millions < 1 / _THOUSAND:
            return Metric(millions * _THOUSAND, "%8.3f", "K/sec")
        return Metric(millions, "%8.3f", "M/sec")
    rate = 1e9 * count / nanoseconds
    for unit in ("/sec", "K/sec", "M/sec"):
        if rate <= _THOUSAND:
            return Metric(rate, "%8.3f", unit)
        rate /= _THOUSAND
    return Metric(rate, "%8.3f", "G/sec")
