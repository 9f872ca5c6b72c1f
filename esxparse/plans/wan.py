"""The planner of remote access, with the formulas of `metrics.remote`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.metrics import remote
from esxparse.metrics.units import factor
from esxparse.plans.planner import Answer, Found
from esxparse.plans.values import Known
from esxparse.recording import Recording, counted

_PEAKS = "Mean rates were added up: bursts of several users may meet, and a single one can fill a small link."


def answer(known: Mapping[str, Any]) -> Answer:
    """Return the results of one activity."""
    rate = known["rate"]
    usable = known["link"] * known["share"] / 100
    fitting = remote.connections(usable, rate)
    results: dict[str, Any] = {"connections": fitting}
    verdict, because = "", f"{counted(fitting, 'connection')} at once"
    if "users" in known:
        needed = known["users"] * rate * factor("kb_per_s", "mbit_per_s") / known["share"] * 100
        results |= {"needed_mbit": needed, "fits": fitting >= known["users"]}
        verdict = "all fit" if fitting >= known["users"] else "not all fit"
    return Answer(results, verdict, because, (_PEAKS,))


def measure(rec: Recording, _known: Mapping[str, Any]) -> Found:
    """Return the mean rate of each activity, from results with times.

    Open them with `ex.open(path, time_column=..., value_column=...)`.

    Raises EsxparseError: The recording has no times, or other units than bytes or a rate.
    """
    table = rec.tables.get("benchmark_results")
    if table is None or "time" not in table.collect_schema().names():
        raise EsxparseError(f"{rec.source} has no results over time: set --time-column and --value-column")
    units = table.select("unit").unique().collect()["unit"].to_list()
    if len(units) != 1:
        raise EsxparseError(f"{rec.source} has results in several units ({', '.join(map(str, units))}): keep one")
    samples = table.select("time", activity="test", **{str(units[0]): "value"})
    rates = remote.by_activity(samples).filter(pl.col("mean_kb_per_s") > 0, pl.col("activity").is_not_null()).collect()
    return Found(
        {
            name: {"rate": Known(rate, f"{rec.source}: mean")}
            for name, rate in rates.select("activity", "mean_kb_per_s").rows()
        }
    )
