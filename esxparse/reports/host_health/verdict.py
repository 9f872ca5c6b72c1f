"""Which thresholds a capture passes, by which object, for how long.

The judgement of a whole object rests on its 95th percentile: a limit passed in one sample of a hundred is told as
`peaks`, not as a warning. Samples with less going on than the threshold's floor are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import polars as pl

from esxparse.charts.reduce import with_labels
from esxparse.diagnosis.views import VIEWS
from esxparse.reports.blocks import NOTHING, Block, Column, note, table

if TYPE_CHECKING:
    from esxparse.diagnosis.thresholds import Threshold

_AREAS: Final = {"cpu": "CPU", "memory": "Memory", "disk": "Disk", "network": "Network", "power": "Power"}
_PLURALS: Final = {
    "vcpu": "VMs",
    "vm": "VMs",
    "device": "devices",
    "port": "ports",
    "pcpu": "physical CPUs",
    "host": "host",
}

_ORDER: Final = {"critical": 0, "warning": 1, "peaks": 2, "ok": 3}

_SCHEMA: Final = {
    "verdict": pl.String,
    "id": pl.String,
    "screen": pl.String,
    "object": pl.String,
    "kind": pl.String,
    "objects": pl.Int64,
    "of": pl.Int64,
    "p95": pl.Float64,
    "extreme": pl.Float64,
    "over_pct": pl.Float64,
    "warn": pl.Float64,
    "critical": pl.Float64,
    "unit": pl.String,
    "source": pl.String,
}


def judge(limits: Mapping[str, Threshold], measures: Mapping[str, pl.LazyFrame | None]) -> pl.DataFrame:
    """The verdict on every threshold that the capture has the counters for, worst first.

    Args:
        limits: Thresholds by id, from `thresholds.load`.
        measures: Frames by the view of a threshold, such as "scheduling.per_vcpu", or by its table, from
            `views.measures`. Thresholds whose frame is missing or None are left out; `not_judged` lists them.

    Returns:
        One row per threshold:

        verdict   critical or warning: the 95th percentile of some object passes; peaks: single samples do; ok
        id, screen, unit, warn, critical, source   of the threshold
        object    the worst object, short name
        kind      what an object is: vcpu, vm, device, port, pcpu, host
        objects   how many objects pass `warn` by their 95th percentile, or in single samples where none does
        of        how many objects were judged
        p95       95th percentile of the worst object (5th where small values are bad)
        extreme   its worst sample
        over_pct  % of its samples that pass `warn`
    """
    rows = []
    for limit in limits.values():
        frame = measures.get(limit.view)
        if frame is None or limit.value not in frame.collect_schema().names():
            continue
        row = _judge_one(limit, frame)
        if row is not None:
            rows.append(row)
    found = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return found.sort(pl.col("verdict").replace_strict(_ORDER, return_dtype=pl.Int64), maintain_order=True)


def not_judged(
    limits: Mapping[str, Threshold], measures: Mapping[str, pl.LazyFrame | None], found: pl.DataFrame
) -> Block:
    """The thresholds of the profile that were not judged, each with its reason; nothing where all were.

    `limits`: as for `judge`. `measures`: as for `judge`. `found`: from `judge`.
    """
    judged = set(found["id"])
    rows = [
        {"id": limit.id, "screen": limit.screen, "of": limit.metric or limit.column, "why": _why(limit, measures)}
        for limit in limits.values()
        if limit.id not in judged
    ]
    if not rows:
        return NOTHING
    columns = [
        Column("id", "Threshold", mono=True),
        Column("screen", "Measure", fit="short"),
        Column("of", "Judges", mono=True),
        Column("why", "Reason"),
    ]
    return table(pl.DataFrame(rows), columns, f"Thresholds not judged: {len(rows)} of {len(limits)}")


def _why(limit: Threshold, measures: Mapping[str, pl.LazyFrame | None]) -> str:
    frame = measures.get(limit.view)
    if frame is None:
        return f"the capture lacks table {limit.table} or columns of it"
    if limit.value not in frame.collect_schema().names():
        return f"{limit.view} has no column {limit.value}"
    if frame.select(pl.col(limit.value).is_not_null().any()).collect().item():
        return f"always below {limit.floor:g} {limit.floor_unit}" if limit.floor is not None else "no named objects"
    return "the capture has no values for it"


def overview(found: pl.DataFrame, profile: str) -> Block:
    """The thresholds passed, as a table; one sentence where none is.

    `found`: from `judge`. `profile`: name of the thresholds' profile, for the caption.
    """
    kinds = pl.col("kind").replace(_PLURALS)
    passed = found.filter(pl.col("verdict") != "ok").with_columns(
        area=pl.col("id").str.split(".").list.first().replace(_AREAS),
        over=pl.col("objects").cast(pl.String) + " of " + pl.col("of").cast(pl.String) + " " + kinds,
    )
    fine = found.height - passed.height
    if found.is_empty():
        return note("This capture has none of the counters that the thresholds apply to.", "warning")
    if passed.is_empty():
        return note(f"No threshold exceeded: {fine} checked (profile {profile}).", "ok")
    return table(
        passed,
        [
            Column("verdict", "Verdict", level=True),
            Column("area", "Area", fit="short"),
            Column("screen", "Measure", fit="short"),
            Column("object", "Worst", fit="name"),
            Column("over", "Over the limit", fit="short"),
            Column("p95", "95th percentile"),
            Column("extreme", "Worst sample"),
            Column("over_pct", "Samples over", "%", digits=0),
            Column("warn", "Warning from", digits=None),
            Column("critical", "Critical from", digits=None),
            Column("unit", "Unit", fit="short"),
        ],
        f"Thresholds exceeded: {passed.height} of {found.height} (profile {profile})",
    )


def sources(found: pl.DataFrame, profile: str) -> Block:
    """Where the limits come from, for the end of a report.

    `found`: from `judge`. `profile`: name of the thresholds' profile, for the caption.
    """
    return table(
        found.sort("id"),
        [
            Column("id", "Threshold", mono=True),
            Column("screen", "Measure", fit="short"),
            Column("warn", "Warning from", digits=None),
            Column("critical", "Critical from", digits=None),
            Column("unit", "Unit", fit="short"),
            Column("source", "Source"),
        ],
        f"Thresholds of profile {profile} and their sources",
    )


def _judge_one(limit: Threshold, frame: pl.LazyFrame) -> tuple[object, ...] | None:
    there = frame.collect_schema().names()
    view = VIEWS.get(limit.view)
    name, key = (view.object, view.key) if view else ("instance" if "instance" in there else "", None)
    if not name:
        frame, name = frame.with_columns(host=pl.lit("the host")), "host"
    value = limit.value
    counted = frame.filter(pl.col(value).is_not_null(), pl.col(name).is_not_null())
    if limit.floor is not None:
        activity = _activity(limit, there)
        if activity is not None:
            counted = counted.filter(activity >= limit.floor)
    below = limit.direction == "below"
    column = pl.col(value)
    passes = column < limit.warn if below else (column >= limit.warn) & (column != 0)
    each = (
        with_labels(counted, name, key)
        .group_by("label")
        .agg(
            p95=column.quantile(0.05 if below else 0.95, "linear"),
            extreme=column.min() if below else column.max(),
            over_pct=passes.mean() * 100,
        )
        .sort(["p95", "extreme", "label"], descending=[not below, not below, False])
        .collect()
    )
    if each.is_empty():
        return None
    worst = each.row(0, named=True)
    verdict: str = limit.judge(worst["p95"])
    over = sum(limit.judge(p95) != "ok" for p95 in each["p95"])
    if verdict == "ok":
        peaking = each.filter(pl.col("over_pct") > 0)
        if not peaking.is_empty():
            worst = peaking.sort(["extreme", "label"], descending=[not below, False]).row(0, named=True)
            verdict, over = "peaks", peaking.height
    return (
        verdict,
        limit.id,
        limit.screen,
        worst["label"],
        limit.per,
        over,
        each.height,
        worst["p95"],
        worst["extreme"],
        worst["over_pct"],
        limit.warn,
        limit.critical,
        limit.unit,
        " ".join(limit.source.split()),
    )


def _activity(limit: Threshold, there: list[str]) -> pl.Expr | None:
    """What went on in a sample, in the threshold's `floor_unit`; None where the frame does not say."""
    unit = limit.floor_unit or ""
    if unit.startswith("commands") and "good_iops" in there:
        return pl.col("good_iops")
    if unit.startswith("packets"):
        way = "rx" if "rx" in limit.id else "tx"
        if {f"{way}_packets", f"{way}_dropped_per_s"} <= set(there):
            return pl.col(f"{way}_packets") + pl.col(f"{way}_dropped_per_s").fill_null(0)
    if unit.startswith("MiB") and {"numa_local_mib", "numa_remote_mib"} <= set(there):
        return pl.col("numa_local_mib") + pl.col("numa_remote_mib")
    return None
