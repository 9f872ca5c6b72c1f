"""Memory: the content of the host's memory, and whether ESXi had to take some back.

All builders take the derived table `host`. esxtop's MB are MiB.
"""

from __future__ import annotations

from typing import Final

import altair as alt
import polars as pl

from esxparse.charts import marks
from esxparse.charts.marks import Levels
from esxparse.charts.reduce import columns_below, over_time
from esxparse.charts.theme import colour
from esxparse.metrics.frames import completed

_HOLDERS: Final = {"other_mib": "VMs and other", "vmkernel_mib": "VMkernel", "free_mib": "Free"}
_RECLAIMED: Final = {"balloon_mib": "Ballooned", "swap_used_mib": "Swapped", "compressed_mib": "Compressed"}
_SWAPPING: Final = {"swap_in_mib_per_s": "Swap in", "swap_out_mib_per_s": "Swap out"}
_MIB_PER_GIB: Final = 1024


def host(memory: pl.LazyFrame | None) -> alt.LayerChart | None:
    """Draw who holds the host's memory over time, with the least free memory ESXi wants to keep.

    `memory`: the table `host`: `time, other_mib, vmkernel_mib, free_mib, minfree_mib`.
    """
    long = _long(memory, _HOLDERS, scale=_MIB_PER_GIB)
    if long is None or memory is None:
        return None
    reduced = over_time(long, ["value"], ["label"])
    names = reduced.labels(_HOLDERS.values())
    palette = [colour({"VMs and other": "blue", "VMkernel": "orange", "Free": "grid"}[name]) for name in names]
    look = marks.Look(
        title=marks.heading("Host memory"),
        description="Host memory over time by holder, GiB.",
        noun="Held by",
        unit="GiB",
        palette=palette,
    )
    layers: list[alt.Chart | alt.LayerChart] = [marks.stacked_time(reduced, "value", names, look)]
    floor = completed(memory, "minfree_mib").select(pl.col("minfree_mib").max()).collect().item()
    if floor and "Free" in names:
        most = reduced.frame.group_by("time").agg(pl.col("value").sum()).select(pl.col("value").max()).item()
        layers += _floor_rule(most - floor / _MIB_PER_GIB, floor)
    return marks.layered(layers, look.title, look.description)


def reclaimed(memory: pl.LazyFrame | None, levels: Levels | None = None) -> alt.LayerChart | None:
    """Draw memory reclaimed from VMs by ballooning, swapping and compression; None if there was never any.

    `memory`: the table `host`: `time, balloon_mib, swap_used_mib, compressed_mib`. `levels`: threshold for each of
    them, MiB.
    """
    return _lines(memory, _RECLAIMED, "Memory reclaimed from VMs", "MiB", levels)


def swapping(memory: pl.LazyFrame | None, levels: Levels | None = None) -> alt.LayerChart | None:
    """Draw swap traffic over time; None if there was no swapping.

    `memory`: the table `host`: `time, swap_in_mib_per_s, swap_out_mib_per_s`. `levels`: threshold, MiB/s.
    """
    return _lines(memory, _SWAPPING, "Swapping now", "MiB/s", levels)


def _lines(
    memory: pl.LazyFrame | None, columns: dict[str, str], title: str, unit: str, levels: Levels | None
) -> alt.LayerChart | None:
    long = _long(memory, columns)
    if long is None or not long.select((pl.col("value") > 0).any()).collect().item():
        return None
    reduced = over_time(long, ["value"], ["label"])
    heading, description = marks.heading(title, reduced.caption), f"{title} over time, {unit}."
    look = marks.Look(title=heading, description=description, noun="How", unit=unit, levels=levels)
    return marks.over_time(reduced, "value", reduced.labels(columns.values()), look)


def _long(memory: pl.LazyFrame | None, columns: dict[str, str], scale: float = 1) -> pl.LazyFrame | None:
    if memory is None:
        return None
    long = columns_below(memory, columns, "value").with_columns(pl.col("value") / scale)
    return None if long.limit(1).collect().is_empty() else long


def _floor_rule(at: float, floor_mib: float) -> list[alt.Chart]:
    words = f"free memory target: {floor_mib / _MIB_PER_GIB:.1f} GiB"
    base = alt.Chart(pl.DataFrame({"at": [at], "text": [words]})).encode(alt.Y("at:Q"))
    rule = base.mark_rule(strokeDash=[6, 4], strokeWidth=1.3, color=colour("ink"))
    text = base.mark_text(align="right", baseline="top", dx=-4, dy=4, fontSize=11)
    return [rule, text.encode(alt.X(value="width"), text="text:N")]
