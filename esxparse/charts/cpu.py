"""CPU: how busy the host is, which physical CPUs carry it, and which VMs wait.

All builders take derived tables: `rec["host"]`, `rec["pcpu"]` and `rec["vm"]`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

import altair as alt
import polars as pl

from esxparse.charts import marks
from esxparse.charts.captions import past_in_samples
from esxparse.charts.heat import class_colour, class_of, usual_step
from esxparse.charts.marks import Levels
from esxparse.charts.reduce import columns_below, kept, leaders, over_time, ranking, rounded, spoken, with_labels
from esxparse.metrics.frames import completed

_HOST_SERIES: Final = {"used_pct": "Used", "util_pct": "Util", "core_util_pct": "Core util"}
_HEAT_EDGES: Final = (10, 25, 50, 75, 90)
_HEAT_BUCKETS: Final = 90
_HEAT_CELLS: Final = 4800
"""Altair refuses to draw more than 5,000 rows."""


class Wait(NamedTuple):
    """A way in which a VM fails to run: its column, title and meaning."""

    column: str
    title: str
    meaning: str


WAITS: Final = {
    "ready": Wait("contention_pct", "Ready", "ready to run, no physical CPU free"),
    "costop": Wait("costop_pct", "Co-stop", "stopped until its sibling vCPUs catch up"),
    "limited": Wait("max_limited_pct", "Limited", "held back by a CPU limit"),
    "swap_wait": Wait("swap_wait_pct", "Swap wait", "waiting for memory to be read from swap"),
}
"""Columns of the table `vm`, each in % of the time of one vCPU."""
_SHOWN: Final = (*(one.column for one in WAITS.values()), "vcpus", "group_waits")


def host(host: pl.LazyFrame | None, levels: Levels | None = None) -> alt.LayerChart | None:
    """Draw the whole host over time: used, util and core util, mean of all physical CPUs.

    `host`: the table `host`: `time, used_pct, util_pct, core_util_pct`. `levels`: threshold of the host's use.
    """
    if host is None:
        return None
    reduced = over_time(columns_below(host, _HOST_SERIES, "pct"), ["pct"], ["label"])
    if reduced.frame.is_empty():
        return None
    look = marks.Look(
        title=marks.heading("Host CPU, used and util", reduced.caption),
        description="Used and util of all physical CPUs over time, percent.",
        axis="% of all physical CPUs",
        noun="Measure",
        unit="%",
        levels=levels,
    )
    return marks.over_time(reduced, "pct", reduced.labels(_HOST_SERIES.values()), look)


def pcpu_heat(pcpu: pl.LazyFrame | None, value: str = "util_pct") -> alt.Chart | None:
    """Draw every physical CPU over time, coloured by its busiest sample in each bucket: shows imbalance and pinning.

    `pcpu`: the table `pcpu`: `time, instance, util_pct`. `value`: column to colour by.
    """
    if pcpu is None:
        return None
    known = completed(pcpu, value).filter(pl.col(value).is_not_null())
    single = known.with_columns(pcpu=pl.col("instance").cast(pl.Int64))
    count = single.select(pl.col("pcpu").n_unique()).collect().item()
    buckets = min(_HEAT_BUCKETS, max(_HEAT_CELLS // max(count, 1), 1))
    reduced = over_time(single, [value], ["pcpu"], buckets=buckets)
    if reduced.frame.is_empty():
        return None
    step = reduced.step_s or usual_step(reduced.frame)
    cell_meaning = f"highest sample of {spoken(reduced.step_s)}" if reduced.step_s else "each sample"
    edges = [*_HEAT_EDGES]
    labels = [
        f"under {edges[0]} %",
        *(f"{low} to {high} %" for low, high in pairwise(edges)),
        f"{edges[-1]} % and more",
    ]
    high = f"{value}_max"
    cells = reduced.frame.with_columns(until=pl.col("time") + pl.duration(seconds=step)).drop(f"{value}_min")
    chart: alt.Chart = (
        alt.Chart(rounded(cells), title=marks.heading("Each physical CPU, util", cell_meaning))
        .transform_calculate(class_=class_of(high, edges, labels))
        .mark_rect()
        .encode(
            marks.time_x(cells["time"]),
            alt.X2("until:T"),
            alt.Y("pcpu:O", title="Physical CPU", sort=None, axis=alt.Axis(labelOverlap=True)),
            color=class_colour(labels),
            tooltip=[
                alt.Tooltip("pcpu:O", title="PCPU"),
                marks.time_tip(),
                marks.number_tip(value, "mean, %"),
                marks.number_tip(high, "highest, %"),
            ],
        )
    )
    height = min(max(count * 12, 120), 360)
    return marks.fluid(chart, f"Util of each of {count} physical CPUs over time, percent.", height)


def wait_ranked(vms: pl.LazyFrame | None, wait: str, levels: Levels | None = None) -> alt.LayerChart | None:
    """Rank VMs by one of `WAITS`, 95th percentile per vCPU, tick at the highest sample.

    `vms`: the table `vm`: `time, instance` and the waits. `wait`: a key of `WAITS`. `levels`: threshold, per vCPU.
    """
    if vms is None:
        return None
    vms = completed(vms, *_SHOWN)
    kind = _kind(vms, wait)
    table, left_out = ranking(with_labels(vms, "instance"), "instance", kind.column, "VMs")
    if table.is_empty():
        return None
    bars = "bar: 95th percentile, tick: highest sample"
    past = past_in_samples(table, "p95", "max", levels)
    look = marks.Look(
        title=marks.heading(f"{kind.title} per vCPU", kind.meaning, helpers(vms), bars, past, left_out),
        description=f"VMs ranked by {kind.title} per vCPU, percent.",
        axis="% of the time of one vCPU",
        noun="VM",
        unit="%",
        levels=levels,
    )
    return marks.ranked(table, "p95", look)


def wait_over_time(vms: pl.LazyFrame | None, wait: str, levels: Levels | None = None) -> alt.LayerChart | None:
    """Draw the VMs that lead `wait_ranked`, over time.

    `vms`: as for `wait_ranked`. `wait`: a key of `WAITS`. `levels`: threshold, per vCPU.
    """
    if vms is None:
        return None
    vms = completed(vms, *_SHOWN)
    kind = _kind(vms, wait)
    labelled = with_labels(vms, "instance")
    chosen = leaders(labelled, "label", kind.column)
    if not chosen.chosen:
        return None
    reduced = over_time(kept(labelled, chosen, "VMs", "instance"), [kind.column], ["label", "full"])
    most = chosen.caption("VMs", "95th percentile")
    look = marks.Look(
        title=marks.heading(f"{kind.title} per vCPU over time", most, helpers(vms), reduced.caption),
        description=f"{kind.title} per vCPU of the VMs with the most of it, over time, percent.",
        axis="% of the time of one vCPU",
        noun="VM",
        unit="%",
        levels=levels,
        palette=marks.same_colours(chosen),
    )
    return marks.over_time(reduced, kind.column, chosen.chosen, look, rest=chosen.rest("VMs"))


def used_ranked(vms: pl.LazyFrame | None) -> alt.LayerChart | None:
    """Rank VMs by the CPU they use, in physical cores: mean, tick at the highest sample.

    `vms`: the table `vm` with `used_pct` (per vCPU) and `vcpus`.
    """
    if vms is None:
        return None
    cores = completed(vms, "used_pct", "vcpus").with_columns(cores=pl.col("used_pct") * pl.col("vcpus") / 100)
    table, left_out = ranking(with_labels(cores, "instance"), "instance", "cores", "VMs", order="mean")
    if table.is_empty():
        return None
    look = marks.Look(
        title=marks.heading("CPU used by VM", "bar: mean, tick: highest sample", left_out),
        description="VMs ranked by CPU used, in physical cores.",
        axis="physical cores (1 core = 100 %)",
        noun="VM",
        unit="cores",
    )
    return marks.ranked(table, "mean", look)


def _kind(vms: pl.LazyFrame, wait: str) -> Wait:
    """Return the wait as this capture can show it: without %MLMTD, ready time includes it."""
    kind = WAITS[wait]
    if wait == "ready" and vms.select(pl.col(WAITS["limited"].column).is_null().all()).collect().item():
        return kind._replace(meaning="ready to run, no physical CPU free or a limit reached")
    return kind


def helpers(vms: pl.LazyFrame) -> str:
    """Return a note if waits are the group's sum over its vCPUs; empty if they come from the vCPUs themselves.

    `vms`: the table `vm`.
    """
    waiting = vms.filter(pl.col("vcpus").is_not_null())
    each = waiting.group_by("instance").agg((pl.col("group_waits") == 1).any().alias("grouped")).collect()
    grouped = int(each["grouped"].sum())
    if not grouped:
        return ""
    of = "" if grouped == each.height else f" of {grouped} of {each.height} VMs"
    return f"group's sum / vCPUs{of}, including waits of helper worlds"
