"""Disk: the source of each device's latency, its course over time, and the load behind it.

All builders take the derived tables `device` and `nfs`, or `metrics.storage.summary` of them. A mean of latencies is
weighted by good I/Os everywhere.
"""

from __future__ import annotations

from typing import Final

import altair as alt
import polars as pl

from esxparse.charts import marks
from esxparse.charts.captions import past_in_samples
from esxparse.charts.marks import Levels
from esxparse.charts.reduce import MAX_RANKED, kept, leaders, over_time, rounded, with_labels
from esxparse.charts.theme import colour
from esxparse.metrics.frames import completed

_PARTS: Final = {"davg_ms": "DAVG", "kavg_ms": "KAVG", "unsplit_ms": "GAVG, not split"}
_PART_HUES: Final = {"davg_ms": "blue", "kavg_ms": "orange", "unsplit_ms": "rest"}


def latency_split(summary: pl.LazyFrame | None, levels: Levels | None = None) -> alt.LayerChart | None:
    """Draw mean latency of each device as DAVG + KAVG = GAVG, weighted by good I/Os; tick at the highest sample.

    Devices without the two parts (NFS volumes) get one bar of GAVG in a colour of its own.

    `summary`: `storage.summary`: `instance, gavg_ms, davg_ms, kavg_ms, max_gavg_ms, mean_iops`. `levels`: threshold of
    GAVG, ms.
    """
    if summary is None:
        return None
    split = pl.col("davg_ms").is_not_null() & pl.col("kavg_ms").is_not_null()
    table = (
        with_labels(summary.filter(pl.col("gavg_ms").is_not_null(), pl.col("mean_iops") > 0), "instance")
        .with_columns(unsplit_ms=pl.when(~split).then("gavg_ms"))
        .sort("gavg_ms", "instance", descending=[True, False])
        .collect()
    )
    if table.is_empty():
        return None
    total = table.height
    table = table.head(MAX_RANKED)
    there = [name for name in _PARTS if table[name].null_count() < table.height]
    long = (
        table.unpivot(
            there,
            index=["label", "instance", "gavg_ms", "max_gavg_ms", "mean_iops"],
            variable_name="part",
            value_name="ms",
        )
        .drop_nulls("ms")
        .with_columns(place=pl.col("part").replace_strict({name: place for place, name in enumerate(_PARTS)}))
        .with_columns(part=pl.col("part").replace_strict(_PARTS))
    )
    # KAVG is a difference of two rounded averages and can come out a hair below zero.
    long = long.with_columns(pl.col("ms").clip(lower_bound=0))
    top = marks.top_of([*table["gavg_ms"], *table["max_gavg_ms"]], levels)
    scale = alt.Scale(domain=[0, top], nice=False)
    title = "milliseconds per command"
    tips = [
        alt.Tooltip("instance:N", title="Device"),
        alt.Tooltip("part:N", title="Part"),
        marks.number_tip("ms", "mean, ms"),
        marks.number_tip("gavg_ms", "GAVG mean, ms"),
        marks.number_tip("max_gavg_ms", "GAVG highest, ms"),
        marks.number_tip("mean_iops", "mean commands/s"),
    ]
    labels = table["label"].to_list()
    bars = (
        alt.Chart(rounded(long))
        .mark_bar(height=alt.RelativeBandSize(0.62))
        .encode(
            marks.label_y(labels),
            alt.X("ms:Q", title=title, stack="zero", scale=scale),
            # The words of the thresholds are between the legend and the bars.
            color=marks.kinds_colour("part", {_PARTS[name]: _PART_HUES[name] for name in there}, alt.Legend(offset=32)),
            order=alt.Order("place:Q"),
            tooltip=tips,
        )
    )
    ticks = (
        alt.Chart(rounded(table.select("label", "instance", "max_gavg_ms")))
        .mark_tick(color=colour("ink"), thickness=2, height=alt.RelativeBandSize(0.62))
        .encode(
            marks.label_y(labels),
            alt.X("max_gavg_ms:Q", title=title, scale=scale),
            tooltip=[alt.Tooltip("instance:N", title="Device"), marks.number_tip("max_gavg_ms", "GAVG highest, ms")],
        )
    )
    left_out = f"{MAX_RANKED} of {total} devices" if total > MAX_RANKED else ""
    past = past_in_samples(table, "gavg_ms", "max_gavg_ms", levels)
    bars_are = "bar: mean over reads and writes, tick: highest sample"
    heading = marks.heading("Mean latency of each device, ms", bars_are, past, left_out)
    return marks.layered(
        [bars, ticks, *marks.rules(levels, top, "ms", axis="x")],
        heading,
        "Devices ranked by mean latency, split into device and VMkernel, milliseconds.",
        marks.bars_height(len(labels)),
    )


def latency_over_time(latency: pl.LazyFrame | None, levels: Levels | None = None) -> alt.LayerChart | None:
    """Draw GAVG of the slowest devices over time.

    Args:
        latency: The table `device`: `time, instance, good_iops, gavg_ms`. Samples without good I/Os have no latency.
        levels: Threshold of GAVG, ms.
    """
    if latency is None:
        return None
    busy = completed(latency, "gavg_ms", "good_iops").with_columns(
        gavg_ms=pl.when(pl.col("good_iops") > 0).then("gavg_ms")
    )
    title = "Mean guest latency (GAVG) over time, ms"
    return _devices(busy, "gavg_ms", title, "ms", axis="ms per command", levels=levels, weight="good_iops")


def iops(latency: pl.LazyFrame | None) -> alt.LayerChart | None:
    """Draw commands per second of the busiest devices over time.

    `latency`: the table `device`: `time, instance, iops`.
    """
    return _devices(latency, "iops", "Commands over time", "commands/s", order="mean")


def throughput(latency: pl.LazyFrame | None) -> alt.LayerChart | None:
    """Draw reads and writes together of the busiest devices over time.

    `latency`: the table `device`: `time, instance, mib_per_s`.
    """
    axis = "MiB/s, reads and writes"
    return _devices(latency, "mib_per_s", "Throughput over time", "MiB/s", axis=axis, order="mean")


def queued(latency: pl.LazyFrame | None, levels: Levels | None = None) -> alt.LayerChart | None:
    """Draw commands queued in the VMkernel over time; None if no command ever was.

    `latency`: the table `device`: `time, instance, queued`. `levels`: threshold, commands.
    """
    title = "Commands queued in the VMkernel"
    return _devices(latency, "queued", title, "commands", levels=levels, order="max", nonzero=True)


def _devices(
    latency: pl.LazyFrame | None,
    value: str,
    title: str,
    unit: str,
    *,
    axis: str = "",
    levels: Levels | None = None,
    weight: str | None = None,
    order: str = "p95",
    nonzero: bool = False,
) -> alt.LayerChart | None:
    if latency is None:
        return None
    labelled = with_labels(completed(latency, value), "instance")
    chosen = leaders(labelled, "label", value, order=order, nonzero=nonzero)
    if not chosen.chosen:
        return None
    reduced = over_time(kept(labelled, chosen, "devices", "instance"), [value], ["label", "full"], weight=weight)
    by = {"p95": "95th percentile", "mean": "mean", "max": "highest sample"}[order]
    look = marks.Look(
        title=marks.heading(title, chosen.caption("devices", by), reduced.caption),
        description=f"{title.removesuffix(f', {unit}')}, by device, {unit}.",
        axis=axis,
        noun="Device",
        unit=unit,
        levels=levels,
        palette=marks.same_colours(chosen),
    )
    return marks.over_time(reduced, value, chosen.chosen, look, rest=chosen.rest("devices"))
