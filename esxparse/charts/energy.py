"""Power profiles: watts of every sensor over time, beside the load, against the load, and per unit of work.

The builders take frames of `esxparse.reports.power_profile.gather`. Lines end at gaps in the readings. Each builder
returns None if there is nothing to draw.
"""

from __future__ import annotations

from typing import Any, Final

import altair as alt
import polars as pl

from esxparse.charts import marks
from esxparse.charts.reduce import MAX_SERIES, over_time, pieces, rounded
from esxparse.charts.theme import colour
from esxparse.metrics import over_time as time_weighted
from esxparse.metrics.energy import fit, lengths
from esxparse.metrics.frames import column, names

KINDS: Final = {
    "system": "Power of the whole host",
    "enclosure": "Power of the chassis around the host",
    "supply": "Power of the power supplies",
    "part": "Power of parts of the host",
}
"""Kind of a sensor -> title of its chart. Kinds are never added up: they measure the same watts again."""

PARTS: Final = {"cpu_watts": "CPUs", "dimm_watts": "Memory", "gpu_watts": "GPUs", "fan_watts": "Fans"}
"""Column of a reading -> part of the host that draws this power."""

SURROUNDINGS: Final = {
    "inlet_celsius": ("Inlet temperature", "degrees Celsius", "°C"),
    "temperature_celsius": ("Temperature", "degrees Celsius", "°C"),
    "cpu_mhz": ("CPU frequency, reported by the BMC", "MHz", "MHz"),
    "cpu_util_pct": ("CPU utilisation, reported by the BMC", "%", "%"),
}
"""Column of a reading -> title, title of the axis, unit."""

IDLE_PCT: Final = 5.0
FULL_PCT: Final = 95.0
"""Load below which a host is idle, and above which it is fully loaded."""

_DOTS_BELOW: Final = 40
_ROOM: Final = 0.08
_FEWEST_FOR_A_LINE: Final = 10
_ENDS: Final = 0.05
"""Share of the samples that represents the lowest and the highest load."""


def _near(table: pl.DataFrame) -> alt.Scale:
    """Return a scale around the values, with room even if all values are the same."""
    low, high = float(table["low"].min() or 0.0), float(table["high"].max() or 0.0)  # type: ignore[arg-type]
    room = max((high - low) * _ROOM, abs(high) * _ROOM / 5, 0.5)
    return alt.Scale(domain=[low - room, high + room], nice=False)


def _lines(
    frame: pl.LazyFrame,
    *,
    title: str,
    about: str = "",
    y_title: str,
    noun: str,
    unit: str,
    order: list[str] | None = None,
    cap: float | None = None,
    zero: bool = True,
    since_start: bool = False,
) -> alt.LayerChart | None:
    """Draw lines of `value` of each `label` over `time`, over the band from `low` to `high`, broken at gaps."""
    timed = time_weighted.with_covered(frame, "label").filter(pl.col("value").is_not_null())
    reduced = over_time(timed, ["value", "low", "high"], ["label"])
    if reduced.frame.is_empty():
        return None
    table = reduced.frame.select("label", "time", "value", low="low_min", high="high_max")
    every = (
        order
        or timed.group_by("label")
        .agg(time_weighted.mean(pl.col("value")).alias("value"))
        .sort("value", "label", descending=[True, False])
        .collect()["label"]
        .to_list()
    )
    names = every[:MAX_SERIES]
    drawn = pieces(reduced._replace(frame=table.filter(pl.col("label").is_in(names))), ["label"], "value")
    band = bool((drawn["high"] > drawn["low"]).any())
    levels = marks.Limit(cap) if cap else None
    top = marks.top_of(drawn["high"].to_list(), levels)
    scale = alt.Scale(domain=[0, top], nice=False) if zero else _near(drawn)
    x = marks.time_x(drawn["time"])
    if since_start:
        x = x.title("Time since the first reading, h:min:s").axis(alt.Axis(format="%H:%M:%S", tickCount=6))
    base = alt.Chart(rounded(drawn)).encode(x, detail=["piece:N"] if "piece" in drawn.columns else alt.Undefined)
    y, hue = alt.Y("value:Q", title=y_title, scale=scale), marks.series_colour(names, legend=len(names) > 1)
    tips: list[Any] = [alt.Tooltip("label:N", title=noun)]
    tips += [] if since_start else [marks.time_tip(title="From (UTC)" if reduced.step_s else "Time (UTC)")]
    tips += [marks.number_tip("value", f"mean, {unit}" if reduced.step_s else unit)]
    layers: list[Any] = []
    if band:
        tips += [marks.number_tip("low", f"lowest, {unit}"), marks.number_tip("high", f"highest, {unit}")]
        area = base.mark_area(opacity=0.16).encode(alt.Y("high:Q", title=y_title, scale=scale), alt.Y2("low:Q"))
        layers.append(area.encode(color=hue))
    layers.append(base.mark_line().encode(y, color=hue))
    few = drawn.select(pl.len().over("label").max()).item() <= _DOTS_BELOW
    hover = alt.selection_point(on="pointerover", clear="pointerout", empty=False, fields=["label", "time"])
    seen = alt.when(hover).then(alt.value(1)).otherwise(alt.value(0.8 if few else 0))
    dots = base.mark_point(filled=True, size=26 if few else 70).encode(y, color=hue, tooltip=tips, opacity=seen)
    layers += [*marks.lonely(base, drawn, y, hue), dots.add_params(hover)]
    left_out = f"the {len(names)} of {len(every)} with the highest mean" if len(every) > len(names) else ""
    spread = reduced.caption if reduced.step_s else "band: lowest to highest within a reading's period" if band else ""
    gaps = "gaps break the lines" if "piece" in drawn.columns and (drawn["piece"] > 0).any() else ""
    alone = f"{noun.lower()}: {names[0]}" if len(names) == 1 else ""
    from_zero = "" if zero else "the axis does not start at 0"
    heading = marks.heading(title, alone, about, left_out, spread, gaps, from_zero)
    layers += marks.rules(levels, top, unit, words=("cap", "cap"))
    return marks.layered(layers, heading, f"{title} over time, {y_title}.")


def sensors(readings: pl.LazyFrame, kind: str, cap: float | None = None) -> alt.LayerChart | None:
    """Draw watts of each sensor of a kind over time, with the cap if there is one.

    `readings`: `time, label, kind, watts, watts_minimum, watts_maximum, interval_s`, and `since_start` (whether times
    are only distances from the first). `kind`: one of `KINDS`. `cap`: W allowed, if set.
    """
    rows = readings.filter(pl.col("kind") == kind, pl.col("watts").is_not_null(), pl.col("time").is_not_null())
    # A BMC's minimum and maximum belong to the reading if they cover its own period; often they cover 20 minutes.
    step = pl.col("time").sort().diff().dt.total_microseconds() / 1e6
    own = (pl.col("interval_s") <= 2 * step.filter(step > 0).median()).over("label").fill_null(value=False)
    value = pl.col("watts")
    frame = rows.select(
        "time",
        "label",
        "since_start",
        value=value,
        low=pl.when(own).then(pl.min_horizontal(value, "watts_minimum")).otherwise(value),
        high=pl.when(own).then(pl.max_horizontal(value, "watts_maximum")).otherwise(value),
    ).collect()
    return _lines(
        frame.lazy(),
        title=KINDS[kind],
        y_title="watts",
        noun="Sensor",
        unit="W",
        cap=cap,
        since_start=bool(frame["since_start"].any()),
    )


def parts(readings: pl.LazyFrame) -> alt.LayerChart | None:
    """Draw the power of CPUs, memory, GPUs and fans over time, from the sensor that has most of them.

    `readings`: `time, label` and any of `PARTS`.
    """
    there = [name for name in PARTS if name in readings.collect_schema().names()]
    long = (
        readings.filter(pl.col("time").is_not_null())
        .unpivot(there, index=["time", "label"], variable_name="of", value_name="value")
        .filter((pl.col("value") > 0).any().over("of", "label"), pl.col("value").is_not_null())
        .with_columns(sensor="label", label=pl.col("of").replace_strict(PARTS, return_dtype=pl.String))
        .collect()
    )
    if long.is_empty():
        return None
    sensor = long["sensor"].value_counts(sort=True)["sensor"][0]
    rows = long.filter(pl.col("sensor") == sensor).with_columns(low="value", high="value").lazy()
    about = f"of {sensor}; part of the host's power"
    return _lines(rows, title="Component", about=about, y_title="watts", noun="Part", unit="W")


def surroundings(readings: pl.LazyFrame, value: str) -> alt.LayerChart | None:
    """Draw a temperature, or the CPUs' frequency or utilisation, over time, as the meter reports it.

    `readings`: `time, label` and the column `value`. `value`: one of `SURROUNDINGS`.
    """
    if value not in readings.collect_schema().names():
        return None
    title, y_title, unit = SURROUNDINGS[value]
    column = pl.col(value)
    rows = readings.filter(pl.col("time").is_not_null()).select("time", "label", value=column, low=column, high=column)
    return _lines(rows, title=title, y_title=y_title, noun="Sensor", unit=unit, zero=unit == "%")


def _by_time(beside: pl.LazyFrame, names: dict[str, str], kept: pl.Expr) -> pl.DataFrame:
    """Return the means of several columns at each time, one below the other, for `_lines`."""
    return (
        beside.unpivot(list(names), index="time", value_name="value", variable_name="of")
        .filter(kept)
        .with_columns(label=pl.col("of").replace_strict(names))
        .group_by("time", "label", maintain_order=True)
        .agg(pl.col("value").mean())
        .with_columns(low="value", high="value")
        .collect()
    )


def beside_watts(beside: pl.LazyFrame, name: str) -> alt.LayerChart | None:
    """Draw the power beside the load: the meter's on the capture's samples, and esxtop's own.

    `beside`: `time, watts, watts_esxtop`. `name`: the source of `watts`.
    """
    names = {"watts": name, "watts_esxtop": "esxtop"}
    rows = _by_time(beside, names, pl.col("value") > 0)
    order = [one for one in dict.fromkeys(names.values()) if one in rows["label"].to_list()]
    return _lines(
        rows.lazy(),
        title="Power and load",
        y_title="watts",
        noun="Measured by",
        unit="W",
        order=order,
        zero=False,
    )


def beside_load(beside: pl.LazyFrame, load: str) -> alt.LayerChart | None:
    """Draw the load in the same stretch of time.

    `beside`: `time, util_pct, used_pct`. `load`: the load in words.
    """
    names = {"util_pct": "Util (not halted)", "used_pct": "Used (work, at nominal clock)"}
    rows = _by_time(beside.filter(pl.col("watts").is_not_null()), names, pl.col("value").is_not_null())
    order = [one for one in names.values() if one in rows["label"].to_list()]
    if len(order) == 1:
        rows, order = rows.with_columns(label=pl.lit(load)), [load]
    return _lines(
        rows.lazy(),
        title="Load",
        y_title="% of all CPUs",
        noun="Load",
        unit="%",
        order=order,
        zero=False,
    )


def _ends(points: pl.DataFrame) -> pl.DataFrame:
    """Return the mean power at the lowest and at the highest load, with a word for each; intervals by their length."""
    count = max(1, round(points.height * _ENDS))
    ordered = points.sort("util_pct")
    found = []
    for place, rows in (("low", ordered.head(count)), ("high", ordered.tail(count))):
        seconds = rows["interval_s"].to_numpy()
        util, watts = (time_weighted.average(rows[name].to_numpy(), seconds) for name in ("util_pct", "watts"))
        if place == "low":
            word = "idle" if util <= IDLE_PCT else "lowest load"
        else:
            word = "full load" if util >= FULL_PCT else "highest load"
        found.append(
            {"place": place, "util_pct": util, "watts": watts, "text": f"{word}: {watts:,.0f} W at {util:.0f} %"}
        )
    return pl.DataFrame(found)


def against_load(beside: pl.LazyFrame, load: str, *, clocks_apart: bool = False) -> alt.LayerChart | None:
    """Draw power against util, one point per interval, lowest and highest load marked: the server's power curve.

    `beside`: `time, util_pct, watts`, both means over the same intervals, and `interval_s`, their length. `load`: the
    load in words. `clocks_apart`: whether power and load seem to be of different times; then no line is drawn.
    """
    points = (
        beside.filter(pl.col("watts") > 0, pl.col("util_pct").is_not_null())
        .select("time", "util_pct", "watts", column(names(beside), "interval_s").alias("interval_s"))
        .sort("time")
        .collect()
    )
    if points.height < 2:  # noqa: PLR2004  one point is no curve
        return None
    points = points.with_columns(interval_s=lengths(points))
    every = -(-points.height // marks.MOST_POINTS)
    drawn = points.gather_every(every)
    x = alt.X("util_pct:Q", title=f"{load}, %", scale=alt.Scale(zero=False, padding=12))
    y = alt.Y("watts:Q", title="watts", scale=alt.Scale(zero=False, padding=16))
    tips = [marks.time_tip(), marks.number_tip("util_pct", "util, %"), marks.number_tip("watts", "W")]
    dots = alt.Chart(rounded(drawn)).mark_point(filled=True, size=36, opacity=0.5, color=colour("blue"))
    layers: list[Any] = [dots.encode(x, y, tooltip=tips)]
    note = f"every {every}th interval" if every > 1 else "one point per interval, power and load averaged over it"
    line = None if clocks_apart else fit(points)
    note += "; no line: the clocks seem to differ" if clocks_apart else ""
    if line is not None:
        slope, intercept, correlation = line
        low, high = float(points["util_pct"].min()), float(points["util_pct"].max())  # type: ignore[arg-type]
        ends = pl.DataFrame({"util_pct": [low, high], "watts": [intercept + slope * low, intercept + slope * high]})
        rule = alt.Chart(rounded(ends)).mark_line(color=colour("rest"), strokeDash=[5, 4]).encode(x, y)
        layers.append(rule)
        note += f"; line: {slope:+.2f} W per % util (correlation {correlation:.2f})"
    marked = _ends(points)
    if marked["util_pct"].n_unique() > 1:
        base = alt.Chart(rounded(marked)).encode(x, y)
        layers.append(base.mark_point(shape="diamond", filled=True, size=120, color=colour("ink"), opacity=1))
        for place, align, dx in (("low", "left", 9), ("high", "right", -9)):
            one = alt.Chart(rounded(marked.filter(pl.col("place") == place)))
            word: dict[str, Any] = {"align": align, "dx": dx, "dy": -9}
            rim = one.mark_text(**word, stroke=colour("page"), strokeWidth=3, strokeOpacity=0.8, strokeJoin="round")
            text = one.mark_text(**word, color=colour("ink"), fontWeight=600)
            layers += [layer.encode(x, y, text="text:N") for layer in (rim, text)]
    heading = marks.heading("Power against load", note)
    return marks.layered(layers, heading, "Power against CPU util, watts.", 280)


def cost_of_work(units: pl.LazyFrame, name: str, unit: str) -> alt.Chart | None:
    """Draw the watts of a unit of work against the load: they fall as more work shares the idle power.

    `units`: `time, util_pct, watts_per_unit`. `name`: the work in words. `unit`: its unit.
    """
    points = (
        units.filter(pl.col("watts_per_unit").is_not_null(), pl.col("util_pct").is_not_null())
        .select("time", "util_pct", "watts_per_unit")
        .sort("time")
        .collect()
    )
    if points.height < _FEWEST_FOR_A_LINE:
        return None
    return marks.against(
        points,
        "util_pct",
        "watts_per_unit",
        title=f"Watts per {name}",
        about="interval",
        description=f"Watts per {name} against CPU util.",
        hue="teal",
        words=("host util, %", unit, unit),
    )
