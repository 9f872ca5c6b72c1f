"""The meaning of values: their intervals, hundredths of a percent, and CPU times as percent of a vCPU."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import polars as pl

from esxparse.formats.kit.notes import Notes
from esxparse.recording import counted

Row = dict[str, Any]

_INTERVALS = {20.0: "real-time", 300.0: "past day", 1800.0: "past week", 7200.0: "past month", 86400.0: "past year"}
_NEAR = 0.1
_HUNDREDTHS = 100.0
_MS_PER_PCT = 10.0
"""Milliseconds of a second that are a percent of it."""
_HOST = "HostSystem"
_OBJECT: Final = ["entity", "entity_id"]
_SHOWN: Final = 5


def complete(rows: Sequence[Row]) -> Notes:
    """Fill in missing intervals, convert hundredths to percent, and return notes on both."""
    notes = Notes()
    if any(row["interval_s"] is None for row in rows):
        step = _step(rows)
        for row in rows:
            row["interval_s"] = step if row["interval_s"] is None else row["interval_s"]
        if step is None:
            notes.warn("one time only, and no interval: CPU times are not converted to percent")
        else:
            which = f" ({_INTERVALS[step]})" if step in _INTERVALS else ", not a vCenter interval"
            notes.say(f"interval {step:g} s{which}: the usual step between times")
    if _in_hundredths(rows):
        for row in rows:
            row["value"] = row["value"] / _HUNDREDTHS if row["unit"] == "%" else row["value"]
        notes.say("percentages are hundredths, as the API gives them: divided by 100")
    return notes


def _step(rows: Sequence[Row]) -> float | None:
    """Return the usual step between times of one object, rounded to an interval of vCenter if one is near."""
    steps: Counter[float] = Counter()
    times = defaultdict(set)
    for row in rows:
        times[row["entity"]].add(row["time"])
    for each in times.values():
        steps.update((after - before).total_seconds() for before, after in pairwise(sorted(each)))
    if not steps:
        return None
    usual = steps.most_common(1)[0][0]
    return next((known for known in _INTERVALS if abs(usual - known) <= _NEAR * known), usual)


def _in_hundredths(rows: Sequence[Row]) -> bool:
    """Return whether percentages are fixed point numbers, shown by ready time in both units or the unit's name."""
    shares = [row for row in rows if row["unit"] == "%"]
    ready = {_key(row): row for row in rows if row["counter"].lower() == "cpu.ready.summation" and row["interval_s"]}
    both = [
        (row["value"], ready[_key(row)]["value"] / ready[_key(row)]["interval_s"] / _MS_PER_PCT)
        for row in shares
        if row["counter"].lower() == "cpu.readiness.average" and _key(row) in ready
    ]
    if sum(pct for _, pct in both):
        ratio = sum(share for share, _ in both) / sum(pct for _, pct in both)
        return bool(ratio > _HUNDREDTHS / _MS_PER_PCT)
    named = bool(shares) and all((row["said"] or "").lower() == "percent" for row in shares)
    return named and all(row["value"] == int(row["value"]) for row in shares)


def _key(row: Row) -> tuple[Any, ...]:
    return row["time"], row["entity"], row["instance"]


def waits(samples: pl.DataFrame) -> tuple[pl.DataFrame, Notes]:
    """Return table `cpu_waits`, and a note on objects whose number of vCPUs is unknown.

    `samples` has the columns of table `samples` and `vcpus` (i64): the number of an object's vCPUs, null if unknown.
    """
    counter = pl.col("counter").str.to_lowercase()
    is_time = (pl.col("unit") == "ms") & counter.str.starts_with("cpu.") & counter.str.ends_with(".summation")
    times = samples.filter(is_time).with_columns(
        of_vcpu=pl.col("instance").str.contains(r"^\d+$"),
        is_host=pl.col("entity_id").fill_null("").str.starts_with(_HOST),
    )
    counted_vcpus = pl.when(~pl.col("is_host")).then("counted")
    pct = pl.when(pl.col("interval_s") > 0).then(pl.col("value") / (pl.col("interval_s") * _MS_PER_PCT))
    found = (
        times.join(_vcpus(times), on=_OBJECT, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(vcpus=pl.coalesce(pl.when(pl.col("vcpus") > 0).then("vcpus"), counted_vcpus), pct=pct)
        .with_columns(
            ms="value", pct_per_vcpu=pl.when("of_vcpu").then("pct").otherwise(pl.col("pct") / pl.col("vcpus"))
        )
    )
    unknown = found.filter(~pl.col("of_vcpu") & ~pl.col("is_host") & pl.col("vcpus").is_null())
    named = unknown.select(pl.coalesce("entity", "entity_id", pl.lit("an object without a name"))).to_series()
    notes = Notes()
    if names := sorted(named.unique()):
        many = counted(len(names), "object")
        first = ", ".join(names[:_SHOWN])
        notes.say(f"number of vCPUs not known of {many} ({first}): pct is the sum over them, pct_per_vcpu is null")
    return found, notes


def _vcpus(times: pl.DataFrame) -> pl.DataFrame:
    """Return `counted`, the vCPUs of each object with all its instances: they add up to the object's total."""
    key = [*_OBJECT, "time", "counter", "interval_s"]
    parts = times.filter("of_vcpu").group_by(key).agg(sum=pl.col("value").sum(), parts=pl.col("instance").n_unique())
    totals = times.filter(pl.col("instance") == "").group_by(key).agg(total=pl.col("value").last())
    # Each is rounded to whole milliseconds, or to less in charts.
    fits = (pl.col("total") > 0) & ((pl.col("sum") - pl.col("total")).abs() <= pl.col("parts"))
    each = totals.join(parts, on=key, nulls_equal=True).filter(fits)
    counts = each.group_by(_OBJECT).agg(
        counted=pl.col("parts").max().cast(pl.Int64), several=pl.col("parts").n_unique()
    )
    return counts.filter(pl.col("several") == 1).drop("several")
