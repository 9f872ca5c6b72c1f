"""The planner of power policies, with the formulas of `metrics.power_cost`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.metrics import energy, power_cost
from esxparse.metrics.scheduling import pct_to_ms
from esxparse.plans.captures import mean, series
from esxparse.plans.planner import Answer, Found
from esxparse.plans.values import Known
from esxparse.recording import Recording
from esxparse.studies import Study

_FROM_STUDY: Final = {"watts": "watts", "ready": "ready_pct", "costop": "costop_pct"}
"""Inputs, and the columns of a study that give them."""


def answer(known: Mapping[str, Any]) -> Answer:
    """Return the results of one policy."""
    hosts, watts, climate = known["hosts"], known["watts"], known["climate"]
    cost = power_cost.cost_per_year(hosts, watts, known["price"], climate)
    results: dict[str, Any] = {"kwh": power_cost.energy_kwh_per_year(hosts, watts, climate), "cost": cost}
    if "units" in known:
        results["per_unit"] = power_cost.watts_per_unit(hosts, watts, known["units"])
    if "ready" in known:
        results["ready_ms"] = pct_to_ms(known["ready"], known["interval"])
    if (met := _meets_targets(known)) is not None:
        results["meets_targets"] = met
    return Answer(results, "", f"{cost:,.0f} a year for {hosts:g} hosts of {watts:.0f} W")


def _meets_targets(known: Mapping[str, Any]) -> bool | None:
    """Return whether ready time and co-stop meet the targets; None if this is unknown."""
    targets = {"ready": power_cost.READY_TARGET_PCT, "costop": power_cost.COSTOP_TARGET_PCT}
    met = {
        name: bool(pl.select(power_cost.meets(pl.lit(known[name]), target)).item())
        for name, target in targets.items()
        if name in known
    }
    if not all(met.values()):
        return False
    return True if len(met) == len(targets) else None


def beside(case: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
    """Return the savings of a policy against the first, and the longer waits of its VMs."""
    saved = first["cost"] - case["cost"]
    results = {"saved": saved, "saved_pct": saved / first["cost"] * 100 if first["cost"] else None}
    if "ready_ms" in case and "ready_ms" in first:
        results["ready_more_ms"] = case["ready_ms"] - first["ready_ms"]
    return results


def measure(rec: Recording, _known: Mapping[str, Any]) -> Found:
    """Return the mean watts of power readings: over time if they have times.

    Raises EsxparseError: It has no power readings, or readings of several meters.
    """
    return Found({"": {"watts": _watts(rec)}})


def _watts(rec: Recording) -> Known:
    if rec.format == "esxtop":
        return Known(mean(series(rec, "host", "watts")), f"{rec.source}: mean of the host's own meter")
    if "power" not in rec.tables:
        raise EsxparseError(f"{rec.source} has no power readings: give readings of a BMC or a meter")
    readings = rec.tables["power"]
    columns = readings.collect_schema().names()
    if "kind" in columns:
        readings = readings.filter(pl.col("kind").is_null() | (pl.col("kind") == "system"))
    readings = readings.filter(pl.col("watts").is_not_null())
    sensors = readings.select("source", "sensor").unique().collect() if {"source", "sensor"} <= {*columns} else None
    if sensors is not None and len(sensors) > 1:
        names = ", ".join(sorted(sensors["sensor"].unique().to_list()))
        raise EsxparseError(
            f"{rec.source} has readings of several meters ({names}): give --watts, the power of one host"
        )
    if "time" in columns:
        measured = energy.energy(readings).collect()
        if len(measured) and measured["watts_mean"][0] is not None:
            hours = measured["covered_s"][0] / 3600
            return Known(measured["watts_mean"][0], f"{rec.source}: mean of {hours:.2g} h")
    watts = readings.select(pl.col("watts").mean()).collect().item()
    if watts is None:
        raise EsxparseError(f"{rec.source} has no power reading with a number: give --watts")
    return Known(watts, f"{rec.source}: mean of its readings")


def measure_study(found: Study, _known: Mapping[str, Any]) -> Found:
    """Return watts and waits of each policy, the baseline first: the mean of its runs.

    Raises EsxparseError: The study has no label `policy`.
    """
    if "policy" not in found.labels:
        raise EsxparseError(f"{found.path} has no label `policy`: its labels are {', '.join(found.labels)}")
    runs = found.runs.select("policy", *_FROM_STUDY.values()).collect()
    means = runs.group_by("policy", maintain_order=True).agg(pl.col(*_FROM_STUDY.values()).mean(), pl.len())
    means = means.sort(pl.col("policy") != found.baseline.get("policy"), maintain_order=True)
    values = {}
    for row in means.iter_rows(named=True):
        origin = f"{found.path.name}: mean of {row['len']} runs"
        known = {name: Known(row[column], origin) for name, column in _FROM_STUDY.items() if row[column] is not None}
        values[str(row["policy"])] = known
    return Found(values)
