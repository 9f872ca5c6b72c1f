"""The planner of consolidation.

    more VMs at the limit of CPU = (limit - CPU) / ((CPU - idle) / VMs)      from one measurement: a straight line
    CPU left in MHz              = (limit - CPU) / 100 x PCPUs x MHz

Response and ready time do not grow in a straight line: the number of VMs they allow needs a measured curve, which a
study has (`metrics.consolidation.largest_loads`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from esxparse.errors import EsxparseError
from esxparse.metrics import consolidation, cpu_cost, host
from esxparse.plans.captures import busiest, columns_of, series
from esxparse.plans.planner import Answer, Found
from esxparse.plans.values import Known
from esxparse.recording import Recording
from esxparse.studies import Study

if TYPE_CHECKING:
    import polars as pl

_HERTZ: Final = 1e6
_ROUNDING: Final = 1e-9
"""Room for rounding errors of a division."""
_LABEL: Final = "vms"
_WORDS: Final = {"cpu": "CPU", "p95": "response time", "ready": "ready time"}


def answer(known: Mapping[str, Any]) -> Answer:
    """Return the results of one host.

    Raises EsxparseError: More CPU is in use without VMs than with them.
    """
    more = {name: _more(known, name) for name in _WORDS}
    rooms = {name: value for name, value in more.items() if value is not None}
    fewest = min(rooms, key=lambda name: rooms[name])
    results: dict[str, Any] = {
        **{f"more_at_{name}": value for name, value in rooms.items()},
        "more": rooms[fewest],
        "binding": _WORDS[fewest],
        "unknown": ", ".join(word for name, word in _WORDS.items() if more[name] is None) or None,
        **_traffic(known),
    }
    room = rooms[fewest]
    because = f"{room:,} more until {_WORDS[fewest]} reaches its limit"
    if room < 0:
        because = f"{-room:,} too many for the limit of {_WORDS[fewest]}"
    return Answer(results, "room for more VMs" if room > 0 else "no more VMs", because, _notes(known, results))


def _more(known: Mapping[str, Any], name: str) -> int | None:
    """Return how many more VMs fit until a limit is reached; None if nothing is known."""
    vms = int(known["vms"])
    if f"vms_at_{name}" in known:
        return int(known[f"vms_at_{name}"]) - vms
    if name not in known:
        return None
    now, limit = known[name], known[f"{name}_limit"]
    if name != "cpu":
        # One measurement does not show how it grows, only that the limit is passed.
        return 0 if now >= limit else None
    idle = known["idle"]
    if idle >= now:
        raise EsxparseError(f"consolidation: idle is {idle:g}: give less than cpu, {now:g} %")
    more: float = (limit - now) / ((now - idle) / vms)
    return math.floor(more + _ROUNDING)


def _traffic(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the traffic that the remaining CPU can carry; empty if the CPU in use is not known."""
    if "cpu" not in known:
        return {}
    left = known["cpu_limit"] - known["cpu"]
    results: dict[str, Any] = {"headroom_pct": left}
    if "cpus" not in known or "mhz" not in known:
        return results
    free = max(cpu_cost.busy_mhz(left, known["cpus"], known["mhz"]), 0.0)
    results["headroom_mhz"] = free
    wanted = []
    if "cycles_per_io" in known:
        per_io = known["cycles_per_io"] / _HERTZ
        results["more_iops"] = free / per_io
        wanted.append(known.get("wanted_iops", 0) * per_io)
    if "mhz_per_mbit" in known:
        results["more_mbit"] = free / known["mhz_per_mbit"]
        wanted.append(known.get("wanted_mbit", 0) * known["mhz_per_mbit"])
    if sum(wanted) > 0:
        results["wanted_pct"] = sum(wanted) / cpu_cost.busy_mhz(100, known["cpus"], known["mhz"]) * 100
        results["traffic_fits"] = sum(wanted) <= free
    return results


def _notes(known: Mapping[str, Any], results: Mapping[str, Any]) -> tuple[str, ...]:
    notes = []
    if "vms_at_cpu" not in known:
        notes.append("CPU was continued in a straight line: every further VM is taken for the mean of today's.")
    if results["unknown"]:
        notes.append(
            f"How {results['unknown']} will grow is not known from one measurement: measure several numbers of VMs and "
            "give the study."
        )
    for cost, wanted in (("cycles_per_io", "wanted_iops"), ("mhz_per_mbit", "wanted_mbit")):
        if wanted in known and cost not in known:
            notes.append(f"{wanted} was not judged: it needs {cost}.")
    if any(cost in known for cost in ("cycles_per_io", "mhz_per_mbit")) and "headroom_mhz" not in results:
        notes.append("The traffic that the CPUs carry was not computed: it needs cpu, cpus and mhz.")
    return tuple(notes)


def measure(rec: Recording, _known: Mapping[str, Any]) -> Found:
    """Return the present state of a host, from a capture.

    Raises EsxparseError: The capture has no VMs or no PCPUs.
    """
    origin = rec.source
    load = consolidation.host_load(*columns_of(rec)).collect()
    most = load["vms"].max()
    if not isinstance(most, int) or not most:
        raise EsxparseError(f"{origin} has no VMs: give a capture of the host at work")
    found = {"vms": Known(float(most), f"{origin}: most at once")}
    found["cpu"] = Known(busiest(load.lazy().select("time", value="pcpu_util_pct")), f"{origin}: p95")
    found["cpus"] = Known(float(load["pcpus"].max() or 0), origin)  # type: ignore[arg-type]
    if mhz := host.nominal_mhz(rec.tables):
        found["mhz"] = Known(mhz, origin)
    # Without time that limits withhold: more VMs do not change it.
    worst = series(rec, "vm", "contention_pct", highest=True)
    found["ready"] = Known(busiest(worst), f"{origin}: p95 of the worst VM, limits left out")
    return Found({"": found})


def measure_study(found: Study, known: Mapping[str, Any]) -> Found:
    """Return the largest number of VMs within each limit, for each sweep of a study.

    Raises EsxparseError: The study has no label `vms`, or no single column of response times.
    """
    if _LABEL not in found.labels:
        raise EsxparseError(f"{found.path} has no label `vms`: its labels are {', '.join(found.labels)}")
    runs = found.runs.collect()
    limits = {
        "cpu": ("host_util_pct", known["cpu_limit"]),
        "ready": ("ready_pct", known["ready_limit"]),
        "p95": (_percentile(found, runs, known.get("p95_column")), known["p95_limit"]),
    }
    used = {
        name: (column, limit)
        for name, (column, limit) in limits.items()
        if column is not None and runs[column].null_count() < len(runs)
    }
    by = [label for label in found.labels if label not in {_LABEL, "repetition"}]
    loads = consolidation.largest_loads(runs.lazy(), _LABEL, {one[0]: one[1] for one in used.values()}, by).collect()
    names = {column: name for name, (column, _) in used.items()}
    values: dict[str, dict[str, Known]] = {}
    for row in loads.iter_rows(named=True):
        case = ", ".join(f"{row[label]}" for label in by)
        largest = row["largest_load"]
        if largest is None and row["first_beyond"] is not None:
            # Even the fewest VMs in the study were too many.
            largest = max(row["first_beyond"] - 1, 0.0)
        if largest is not None:
            origin = f"{found.path.name}: {row['tolerance']} at {row['limit']:g}, {row['status']}"
            values.setdefault(case, {})[f"vms_at_{names[row['tolerance']]}"] = Known(largest, origin)
    return Found(values, {"Largest numbers of VMs": loads})


def _percentile(found: Study, runs: pl.DataFrame, requested: Any) -> str | None:
    """Return the column of response times, if the study has one."""
    columns = [name for name in runs.columns if name.endswith("p95_ms") and runs[name].null_count() < len(runs)]
    if requested is not None:
        columns = [name for name in columns if name == requested]
        if not columns:
            raise EsxparseError(f"{found.path} has no column {requested} ending in p95_ms")
    if len(columns) > 1:
        raise EsxparseError(f"{found.path} has several response times: give p95_column, one of {', '.join(columns)}")
    return columns[0] if columns else None
