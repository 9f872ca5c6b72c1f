"""The planner of dense mode, with the thresholds of `metrics.consolidation`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from esxparse.metrics import consolidation
from esxparse.plans.captures import busiest, columns_of, mean, uplinks
from esxparse.plans.planner import Answer, Found
from esxparse.plans.values import Known
from esxparse.recording import Recording
from esxparse.schema import TIME

_WRONG: Final = {
    "network_is_bottleneck": "the network is the bottleneck",
    "little_network": "there is little network traffic",
    "needs_low_latency": "VMs need low latency",
}


def answer(known: Mapping[str, Any]) -> Answer:
    """Return the results of one host."""
    thresholds = {
        "enough_vms": known["vms"] >= known["pcpus"],
        "enough_vcpus": known["vcpus"] >= consolidation.VCPUS_PER_PCPU * known["pcpus"],
        "busy_enough": known["util"] >= consolidation.BUSY_PCT,
    }
    wrong = {
        "network_is_bottleneck": known["uplink"] >= known["network_bound"] if "uplink" in known else None,
        "little_network": known["packets"] < known["little"] if "packets" in known else None,
        "needs_low_latency": known["latency_sensitive"] == "yes" if "latency_sensitive" in known else None,
    }
    on = known["eligible"] > 0 if "eligible" in known else all(thresholds.values())
    results = {
        **thresholds,
        "on": on,
        "eligible_pct": known.get("eligible"),
        "longest_min": known.get("longest"),
        **wrong,
    }
    reasons = [word for name, word in _WRONG.items() if wrong[name]]
    unknown = [word for name, word in _WRONG.items() if wrong[name] is None]
    notes = [f"Not known: whether {', whether '.join(unknown)}."] if unknown else []
    if reasons:
        return Answer(results, "wrong for this workload", " and ".join(reasons), notes)
    if not on:
        return Answer(results, "would not come into effect", "not all three thresholds hold", notes)
    because = f"in effect {known['eligible']:.0f} % of the time" if "eligible" in known else ""
    if unknown:
        return Answer(results, "would come into effect, but whether it suits the workload is not known", because, notes)
    return Answer(results, "worth a trial with a response time measured beside it", because, notes)


def measure(rec: Recording, known: Mapping[str, Any]) -> Found:
    """Return the thresholds over time and the network traffic, from a capture.

    Raises EsxparseError: The capture has no VMs or PCPUs.
    """
    load = consolidation.host_load(*columns_of(rec))
    checks = consolidation.dense_mode(load, known["check"]).collect()
    spells = _spells(checks)
    origin = rec.source
    counts = load.select(pl.col("vms", "vcpus", "pcpus").max().cast(pl.Float64)).collect().row(0, named=True)
    found = {name: Known(value, f"{origin}: most at once") for name, value in counts.items() if value is not None}
    found["util"] = Known(mean(load.select("time", value="pcpu_util_pct")), f"{origin}: mean")
    share = consolidation.dense_mode_summary(checks.lazy()).collect()["eligible_pct"].item()
    if share is not None:
        found["eligible"] = Known(share, f"{origin}: {len(checks)} checks")
        found["longest"] = Known(spells["minutes"].max() or 0.0, origin)  # type: ignore[arg-type]
    found |= _network(rec)
    return Found({"": found}, {"When all thresholds held": spells})


def _network(rec: Recording) -> dict[str, Known]:
    """Return the load of the uplinks, without entries missing from the capture."""
    found = {}
    ports = uplinks(rec)
    if ports is not None:
        if "line_pct" in ports.collect_schema().names():
            loads = ports.group_by("time").agg(value=pl.col("line_pct").max()).sort("time")
            found["uplink"] = Known(busiest(loads), f"{rec.source}: p95 of the busiest uplink")
        sums = ports.group_by("time").agg(pl.col("tx_packets", "rx_packets").sum()).sort("time")
        both = sums.select("time", value=pl.max_horizontal("tx_packets", "rx_packets"))
        found["packets"] = Known(mean(both), f"{rec.source}: mean")
    return found


def _spells(checks: pl.DataFrame) -> pl.DataFrame:
    """Return the times in which all thresholds held: `from (UTC)`, `to (UTC)`, `minutes`; the last may go on."""
    starts = checks.filter(switched="on")["time"].to_list()
    ends = checks.filter(switched="off")["time"].to_list()
    if len(ends) < len(starts):
        ends.append(checks["time"][-1])
    rows = [(start, end, (end - start).total_seconds() / 60) for start, end in zip(starts, ends, strict=True)]
    return pl.DataFrame(rows, schema={"from (UTC)": TIME, "to (UTC)": TIME, "minutes": pl.Float64}, orient="row")
