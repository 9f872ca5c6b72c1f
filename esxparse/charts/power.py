"""Power: the host's draw, its use of the power, and how deeply its CPUs sleep.

`host` and `against_use` take the derived table `host`; `c_states` and `clock` the table `pcpu_power_state` as read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import polars as pl

from esxparse.charts import marks
from esxparse.charts.reduce import over_time
from esxparse.metrics import over_time as time_weighted
from esxparse.metrics.frames import completed

if TYPE_CHECKING:
    import altair as alt

_C_STATE: Final = re.compile(r"pct_c_state_c(\d+)")
_APERF: Final = "pct_of_aperf_per_mperf"


def host(host: pl.LazyFrame | None) -> alt.LayerChart | None:
    """Draw the host's power over time.

    `host`: the table `host`: `time, watts`.
    """
    if host is None:
        return None
    known = time_weighted.with_covered(completed(host, "watts"))
    drawn = known.filter(pl.col("watts") > 0).with_columns(label=pl.lit("Host"))
    reduced = over_time(drawn, ["watts"], ["label"])
    if reduced.frame.is_empty():
        return None
    look = marks.Look(
        title=marks.heading("Power drawn by the host", reduced.caption),
        description="Power drawn by the host over time, watts.",
        axis="watts",
        noun="Drawn by",
        unit="W",
        legend=False,
    )
    return marks.over_time(reduced, "watts", ["Host"], look)


def against_use(host: pl.LazyFrame | None) -> alt.Chart | None:
    """Draw power against the host's util, one point per sample: the power curve of this server.

    `host`: the table `host`: `time, watts, util_pct`.
    """
    if host is None:
        return None
    known = completed(host, "watts", "util_pct").filter(pl.col("watts") > 0, pl.col("util_pct").is_not_null())
    joined = known.select("time", "watts", "util_pct").sort("time").collect()
    if joined.is_empty():
        return None
    return marks.against(
        joined,
        "util_pct",
        "watts",
        title="Power against util",
        about="sample",
        description="Power drawn against CPU util, one point per sample.",
        hue="blue",
        words=("host util, % of all physical CPUs", "watts", "W"),
    )


def c_states(states: pl.LazyFrame | None) -> alt.Chart | alt.LayerChart | None:
    """Draw the share of time that physical CPUs spend in each C-state, mean of all of them.

    Args:
        states: Table `pcpu_power_state`: `time, pcpu, pct_c_state_c0, ...`. States never entered are left out.
    """
    if states is None:
        return None
    found = {name: int(m[1]) for name in states.collect_schema().names() if (m := _C_STATE.fullmatch(name))}
    if not found:
        return None
    names = {name: f"C{depth}" for name, depth in sorted(found.items(), key=lambda item: item[1])}
    long = (
        states.group_by("time")
        .agg(pl.col(list(names)).mean())
        .unpivot(list(names), index="time", variable_name="state", value_name="pct")
        .drop_nulls("pct")
        .with_columns(label=pl.col("state").replace_strict(names))
        .filter((pl.col("pct") > 0).any().over("label"))
    )
    reduced = over_time(long, ["pct"], ["label"])
    if reduced.frame.is_empty():
        return None
    labels = reduced.labels(names.values())
    look = marks.Look(
        title=marks.heading("C-states", "C0 is running, the rest is sleep; mean of all physical CPUs"),
        description="Share of time in each C-state over time, percent.",
        axis="% of time",
        noun="State",
        unit="%",
    )
    chart = marks.stacked_time(reduced, "pct", labels, look)
    return marks.fluid(chart.properties(title=look.title), look.description)


def clock(states: pl.LazyFrame | None) -> alt.LayerChart | None:
    """Draw how fast the physical CPUs ran while not halted, as % of their nominal clock (APERF/MPERF).

    `states`: table `pcpu_power_state`: `time, pct_of_aperf_per_mperf`.
    """
    if states is None or _APERF not in states.collect_schema().names():
        return None
    running = time_weighted.with_covered(states).filter(pl.col(_APERF) > 0)
    running = running.with_columns(label=pl.lit("Physical CPUs"))
    reduced = over_time(running, [_APERF], ["label"])
    if reduced.frame.is_empty():
        return None
    # Over all CPUs at once the band is worth showing even if each sample was kept.
    step = reduced.step_s or 0
    look = marks.Look(
        title=marks.heading("Clock", "% of nominal; above 100 is turbo; line: mean, band: slowest to fastest CPU"),
        description="Clock of the physical CPUs over time, percent of nominal.",
        axis="% of nominal clock",
        noun="Of",
        unit="%",
        legend=False,
    )
    return marks.over_time(reduced._replace(step_s=step), _APERF, ["Physical CPUs"], look)
