"""Facts about the slow runs of a study, as numbers, for the questions in steps.

value, good_value     the figure to compare, mean over the slow runs and over the runs they are compared with
lost_pct              how much slower, % of the fast runs
host_util_pct         PCPU UTIL of the slow runs
cost_ratio            CPU cycles of an I/O above idle / the same in fast runs with I/Os of the same size
latency_ms, good_latency_ms   mean response times
kavg_ms, kernel_share_pct     KAVG, and its share of the guest's latency, if the capture has the disk in question
guest_cpu_pct, vcpu_run_pct   CPU use that guests report, and running time of their vCPUs, % of one core per vCPU
guest_kib, wire_kib           mean sizes of requests: of the guest (vscsiStats, else the load), and on the wire
contexts, good_contexts       worlds of the host for each VMDK with I/O, if both have the same number of VMs
exclusive_pct                 vCPUs with PCPUs of their own, % of all
downtime_ms                   how long vMotions stopped VMs, mean
retransmitted_pct     packets sent again, % of all
wire_ms, wire_share_pct       median response time on the wire, and its share of the mean response time
off_size_pct, native_off_size_pct   requests that do not begin on a multiple of their own size
hit_pct, good_hit_pct         cache hits that a server or array reports
size_bytes, good_size_bytes, reads_pct   means
sizes, good_sizes     the sizes themselves in words, KiB: 256 and 512
ROLE_back_pct         share of the lost speed that an experiment gets back: 0 as slow, 100 not slow
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from esxparse.diagnosis.experiments import tables
from esxparse.diagnosis.experiments.contrasts import Contrast, Grid, Key

_COST: Final = "used_above_idle_cycles_per_io"
"""Including the idle host, each of few I/Os would seem expensive."""
_SEEN: Final = (0.5, 1.5)
"""A capture has the disk in question if its latency is between these multiples of the benchmark's latency."""
_SAME: Final = 0.1
_OTHER: Final = 80.0
_HALF: Final = 50.0
_FEW_SIZES: Final = 3


@dataclass(frozen=True)
class Experiment:
    """An experiment: the slow runs again with something changed."""

    role: str
    """A step, or "" for any other label."""
    change: Mapping[str, Any]
    after: float
    """The figure that runs are compared by."""
    back_pct: float
    """0: as slow as before; 100: as fast as the fast runs."""
    share_pct: float
    """How well it does against fast runs; against fast runs with the same change, if there are any."""

    @property
    def changed(self) -> str:
        """The change in words."""
        return ", ".join(f"{name} = {value}" for name, value in self.change.items())


def normal(value: Any) -> str:
    """Return a label's value, written like the words of roles."""
    return re.sub(r"[\W_]+", " ", str(value)).strip().casefold()


def role_changes(cells: Grid, declared: Mapping[str, Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the labels that make each role: labels from the study, else labels whose value is a word of the role."""
    found: dict[str, list[dict[str, Any]]] = {}
    for step in tables.steps():
        if step.id in declared:
            found[step.id] = [dict(declared[step.id])]
            continue
        for place, label in enumerate(cells.labels):
            for value in dict.fromkeys(key[place] for key in cells.rows):
                if value is not None and _possible_names(label, value) & set(step.words):
                    found.setdefault(step.id, []).append({label: value})
    return found


def _possible_names(label: str, value: Any) -> set[str]:
    """Return possible names of a label and its value: `cached` for `disk = "cached"` and for `cached = true`."""
    name = normal(label)
    if isinstance(value, bool):
        return {name, f"{name} on"} if value else {f"no {name}", f"{name} off"}
    return {normal(value), f"{name} {normal(value)}"}


def experiments(cells: Grid, seen: Contrast, changes: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Experiment]:
    """Return every experiment on the slow configurations: roles first, then all other labels, one at a time."""
    found = []
    special = {(name, value) for every in changes.values() for change in every for name, value in change.items()}
    for role, every in changes.items():
        mine = [one for change in every if (one := _experiment(cells, seen, role, change)) is not None]
        found += mine[:1]
    for place, label in enumerate(cells.labels):
        if label == seen.factor:
            continue
        for value in dict.fromkeys(key[place] for key in cells.rows):
            if (label, value) in special or _resized(cells, seen, {label: value}):
                continue
            if (one := _experiment(cells, seen, "", {label: value})) is not None:
                found.append(replace(one, role="other_way") if _turns(cells, seen, one) else one)
    return found


def _resized(cells: Grid, seen: Contrast, change: Mapping[str, Any]) -> bool:
    """Return whether a change makes other requests, which have a throughput of their own."""
    made = _made(cells, seen.bad, change)
    return cells.mean(seen.bad, "block_size_bytes") != cells.mean(made, "block_size_bytes")


def _turns(cells: Grid, seen: Contrast, one: Experiment) -> bool:
    """Return whether an experiment reads while the slow runs write, or the other way round."""
    shares = [cells.reads_pct(keys) for keys in (seen.bad, _made(cells, seen.bad, one.change))]
    return None not in shares and abs(shares[0] - shares[1]) >= _OTHER  # type: ignore[operator]


def _made(cells: Grid, keys: Sequence[Key], change: Mapping[str, Any]) -> list[Key]:
    return [made for key in keys if (made := cells.changed(key, change)) is not None]


def _experiment(cells: Grid, seen: Contrast, role: str, change: Mapping[str, Any]) -> Experiment | None:
    """Return the experiment of slow runs with labels changed, against a fast run with the same change if any."""
    there = [key for key in seen.bad if cells.changed(key, change) is not None]
    made = _made(cells, there, change)
    before, level = cells.ratio(there, [seen.good]), cells.ratio(made, [seen.good])
    if before is None or level is None or before >= 1:
        return None
    share, fast, beside = level, cells.changed(seen.good, change), role in tables.only_beside()
    fast = None if fast in made else fast
    if fast is None and beside:
        return None
    if fast is not None and (beside or (level - before) / (1 - before) > _SAME):
        share = cells.ratio(made, [fast]) or level
    back = min(max((share - before) / (1 - before), 0.0), 1.0)
    return Experiment(role, change, cells.mean(made) or 0.0, 100 * back, 100 * share)


def facts(cells: Grid, seen: Contrast, done: Sequence[Experiment]) -> dict[str, float | None]:
    """Return the numbers that the module docstring lists, None if the runs do not have them."""
    bad, good = seen.bad, (seen.good,)
    found: dict[str, float | None] = {"value": cells.mean(bad), "good_value": cells.mean(good)}
    ratio = cells.ratio(bad, good)
    found["lost_pct"] = None if ratio is None else 100 * (1 - ratio)
    for prefix, keys in (("", bad), ("good_", good)):
        found[f"{prefix}latency_ms"] = _first(cells, keys, ("latency_mean_ms", "gavg_ms"))
        found[f"{prefix}size_bytes"] = cells.mean(keys, "block_size_bytes")
        found[f"{prefix}sizes"] = _sizes(cells, keys)  # type: ignore[assignment]
        found[f"{prefix}hit_pct"] = _hits(cells, keys)
    found["host_util_pct"] = _first(cells, bad, ("host_util_pct", "host_used_pct"))
    found["reads_pct"] = reads = cells.reads_pct(bad)
    found["kavg_ms"] = found["kernel_share_pct"] = None
    gavg, measured = cells.mean(bad, "gavg_ms"), cells.mean(bad, "latency_mean_ms")
    if gavg and (measured is None or _SEEN[0] <= gavg / measured <= _SEEN[1]):
        found["kavg_ms"] = cells.mean(bad, "kavg_ms")
        found["kernel_share_pct"] = _over(found["kavg_ms"], gavg / 100)
    found["retransmitted_pct"] = cells.mean(bad, "tcp_retransmissions_pct")
    way = "read" if (reads or 0.0) >= _HALF else "write"
    traced = _having(cells, bad, f"wire_{way}_p50_ms")
    found["wire_ms"] = cells.mean(traced, f"wire_{way}_p50_ms")
    waited = _first(cells, traced, ("latency_mean_ms", "gavg_ms"))
    found["wire_share_pct"] = _over(found["wire_ms"], waited / 100 if waited else None)
    found["off_size_pct"] = cells.mean(bad, f"wire_{way}_off_size_pct")
    found |= _guest(cells, seen, way)
    native = [made for one in done if one.role == "native" for made in _made(cells, bad, one.change)]
    found["native_off_size_pct"] = cells.mean(native, f"wire_{way}_off_size_pct")
    found["cost_ratio"], found["cost_of"] = _cost(cells, seen, done)  # type: ignore[assignment]
    return found | {f"{one.role}_back_pct": one.back_pct for one in done if one.role}


def _guest(cells: Grid, seen: Contrast, way: str) -> dict[str, float | None]:
    """Return the guest's own figures beside the host's and the wire's."""
    bad, good = seen.bad, (seen.good,)
    # Two numbers are compared over the runs that have both. The load generator's size is the application's: the guest's
    # file system and driver may change it.
    sizes, wire = (f"vscsi_{way}_size_bytes", "block_size_bytes"), f"wire_{way}_size_bytes"
    traced = _having(cells, bad, wire)
    found = {"guest_kib": _over(_first(cells, traced, sizes), 1024), "wire_kib": _over(cells.mean(traced, wire), 1024)}
    both = _having(cells, bad, "guest_busy_pct", "vcpu_run_pct")
    found |= {"guest_cpu_pct": cells.mean(both, "guest_busy_pct"), "vcpu_run_pct": cells.mean(both, "vcpu_run_pct")}
    found["exclusive_pct"] = _over(cells.mean(bad, "exclusive_share"), 0.01)
    # More VMs have more worlds, with a filter or without.
    vms, good_vms = (cells.mean(keys, "vms_running") for keys in (bad, good))
    found["contexts"] = cells.mean(bad, "worlds_per_vmdk") if None not in {vms, good_vms} and vms == good_vms else None
    found["good_contexts"] = cells.mean(good, "worlds_per_vmdk")
    found["downtime_ms"] = _first(cells, bad, _columns(cells, bad, r"^vmotion_.*downtime_ms$"))
    return found


def _sizes(cells: Grid, keys: Sequence[Key]) -> str | None:
    """Return the I/O sizes of some configurations in words, KiB; of more than three the smallest and the largest."""
    found = sorted(size for key in keys if (size := cells.mean([key], "block_size_bytes")) is not None)
    words = list(dict.fromkeys(f"{size / 1024:.3g}" for size in found))
    if len(words) > _FEW_SIZES:
        return f"{words[0]} to {words[-1]}"
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) or None


def _cost(cells: Grid, seen: Contrast, done: Sequence[Experiment]) -> tuple[float | None, str]:
    """Return CPU per I/O / CPU per I/O of the same size in fast runs, else in an experiment that is not slow."""
    fast: list[tuple[str, Mapping[Key, Key | None]]] = [("the fast runs", dict.fromkeys(seen.bad, seen.good))]
    gone = [one for one in done if one.back_pct > _HALF]
    fast += [(one.changed, {key: cells.changed(key, one.change) for key in seen.bad}) for one in gone]
    for words, pairs in fast:
        ratios = []
        for key, other in pairs.items():
            if other is None or cells.mean([key], "block_size_bytes") != cells.mean([other], "block_size_bytes"):
                continue
            cost, reference = cells.mean([key], _COST), cells.mean([other], _COST)
            if cost is not None and reference is not None and reference > 0:
                ratios.append(cost / reference)
        if ratios:
            return sum(ratios) / len(ratios), words
    return None, ""


def _having(cells: Grid, keys: Sequence[Key], *columns: str) -> list[Key]:
    """Return the configurations that have numbers in all of these columns."""
    return [key for key in keys if all(cells.mean([key], name) is not None for name in columns)]


def _first(cells: Grid, keys: Sequence[Key], columns: Sequence[str]) -> float | None:
    return next((value for one in columns if (value := cells.mean(keys, one)) is not None), None)


def _hits(cells: Grid, keys: Sequence[Key]) -> float | None:
    return _first(cells, keys, _columns(cells, keys, r"hit(_ratio)?_pct$"))


def _columns(cells: Grid, keys: Sequence[Key], pattern: str) -> list[str]:
    """Return the columns of some configurations with names that match a pattern."""
    return sorted({name for key in keys for name in cells.rows[key].columns if re.search(pattern, name)})


def _over(value: float | None, by: float | None) -> float | None:
    return None if value is None or not by else value / by
