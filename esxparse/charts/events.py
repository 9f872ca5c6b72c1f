"""Hardware events: rates over intervals, CPUs beside each other, TLB misses per instruction, two recordings compared.

The builders take frames of `esxparse.reports.hardware_events.gather`. Each returns None, or no chart, if there is
nothing to draw. Events differ by many powers of ten: events of similar size share a chart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import polars as pl

from esxparse.charts import marks
from esxparse.charts.reduce import MAX_RANKED, MAX_SERIES, drawable, rounded, with_labels
from esxparse.charts.theme import colour
from esxparse.metrics.frames import weighted_mean
from esxparse.recording import figure, first_few

MAX_PANELS: Final = 8
"""Most charts of rates over time."""

_TOGETHER: Final = 12.0
"""Events whose mean rates differ by no more than this factor share a chart."""

_BUCKETS: Final = 180
_FEW_TICKS: Final = alt.Axis(tickCount=8)
_SOLID: Final = alt.Legend(symbolOpacity=1)
_LOG_FROM: Final = 20.0
_LABEL_WIDTH: Final = 24
_DOTS_BELOW: Final = 40


def panels(means: Sequence[tuple[str, float]]) -> list[list[str]]:
    """Return events in groups of similar size, the highest first.

    >>> panels([("cycles", 4e9), ("instructions", 2e9), ("misses", 1e5), ("faults", 9e4)])
    [['cycles', 'instructions'], ['misses', 'faults']]
    """
    groups: list[list[str]] = []
    top = 0.0
    for event, mean in sorted(means, key=lambda one: (-one[1], one[0])):
        if groups and mean * _TOGETHER >= top and len(groups[-1]) < MAX_SERIES:
            groups[-1].append(event)
            continue
        groups.append([event])
        top = mean
    return groups


def _size_words(value: float) -> tuple[float, str]:
    for power, word in ((9, "billions"), (6, "millions"), (3, "thousands")):
        if value >= 10**power:
            return 10.0**power, word
    return 1.0, ""


def over_time(rates: pl.LazyFrame, subject: str = "") -> list[alt.LayerChart]:
    """Draw rates of events over the intervals of a recording, in charts of events of similar size.

    `rates`: `x, event, unit` (of the count; null for plain counts), `per_s`, and `by_poll`: whether `x` is the number
    of a poll, and not seconds. `subject`: name of the recording, if there are several. Means weight each interval by
    its length.
    """
    table = _with_lengths(rates.collect()).filter(pl.col("per_s").is_not_null().sum().over("event") > 1)
    by_poll = bool(table["by_poll"].any())
    moving = table.filter((pl.col("per_s").max() > 0).over("event"))
    groups: list[tuple[str | None, list[str]]] = []
    for unit, rows in sorted(moving.group_by("unit"), key=lambda pair: str(pair[0][0] or "")):
        means = rows.group_by("event", maintain_order=True).agg(_mean(pl.col("per_s"))).rows()
        groups += [(unit[0], names) for names in panels(means)]
    beyond = [name for _, names in groups[MAX_PANELS:] for name in names]
    left_out = f"not drawn: {', '.join(beyond)}" if beyond else ""
    drawn = groups[:MAX_PANELS]
    return [
        _panel(
            panel := moving.filter(pl.col("event").is_in(names)),
            names,
            unit,
            [
                f"recording: {subject}" if subject else "",
                left_out if place == len(drawn) else "",
                "gaps: not counted on every CPU" if panel["per_s"].null_count() else "",
            ],
            by_poll=by_poll,
        )
        for place, (unit, names) in enumerate(drawn, 1)
    ]


def _with_lengths(rates: pl.DataFrame) -> pl.DataFrame:
    """Add `_length`: seconds since the end of the previous interval; 1 for polls, which are equally long."""
    ends = rates.select(pl.col("x").unique().sort())
    since = ends.with_columns(_length=pl.col("x").diff().fill_null(pl.col("x")))
    joined = rates.join(since, on="x", how="left", maintain_order="left")
    return joined.with_columns(_length=pl.when("by_poll").then(1.0).otherwise("_length"))


def _mean(value: pl.Expr) -> pl.Expr:
    return weighted_mean(value, pl.col("_length"))


def _panel(
    table: pl.DataFrame, names: list[str], unit: str | None, about: list[str], *, by_poll: bool
) -> alt.LayerChart:
    labels = dict(
        with_labels(table.select("event").unique(maintain_order=True).lazy(), "event", width=_LABEL_WIDTH)
        .collect()
        .rows()
    )
    divisor, size = _size_words(float(table["per_s"].max() or 0))  # type: ignore[arg-type]
    rate_unit = f"{unit} per second" if unit else "events per second"
    y_title = f"{size} of {rate_unit}" if size else rate_unit
    step = max(table.select(pl.col("x").max() - pl.col("x").min()).item() / _BUCKETS, 1e-9)
    many = table["x"].n_unique() > _BUCKETS
    place = (pl.col("x") / step).floor() * step if many else pl.col("x")
    value = pl.col("per_s") / divisor
    points = (
        table.with_columns(x=place)
        .group_by("event", "x")
        .agg(value=_mean(value), low=value.min(), high=value.max())
        .with_columns(label=pl.col("event").replace_strict(labels))
        .sort("label", "x")
    )
    top = float(points["high"].max() or 1) * 1.06  # type: ignore[arg-type]
    hue = marks.series_colour([labels[name] for name in names], legend=len(names) > 1)
    x_title = "Poll" if by_poll else "Seconds since the start"
    base = alt.Chart(rounded(points, 4)).encode(
        alt.X("x:Q", title=x_title, scale=alt.Scale(nice=False, padding=6), axis=_FEW_TICKS), color=hue
    )
    scale = alt.Scale(domain=[0, top], nice=False)
    y = alt.Y("value:Q", title=y_title, scale=scale)
    tips: list[Any] = [
        alt.Tooltip("event:N", title="Event"),
        marks.number_tip("x", x_title, 0 if by_poll else 2),
        marks.number_tip("value", y_title, 3),
    ]
    layers: list[Any] = []
    if many:
        tips.append(marks.number_tip("high", "highest", 3))
        layers.append(base.mark_area(opacity=0.16).encode(alt.Y("high:Q", title=y_title, scale=scale), alt.Y2("low:Q")))
    few = points["x"].n_unique() <= _DOTS_BELOW
    dots = base.mark_point(filled=True, size=30, opacity=0.9 if few else 0).encode(y, tooltip=tips)
    layers += [base.mark_line().encode(y), dots]
    title = first_few(names, 1)
    spread = "line: mean, band: lowest to highest interval" if many else ""
    heading = marks.heading(title, *about, spread)
    return marks.layered(layers, heading, f"Rates of {', '.join(names)} over time, {y_title}.", 180)


def spread(counts: pl.LazyFrame, event: str, subject: str = "") -> alt.LayerChart | None:
    """Draw one event on every CPU (or other unit of aggregation), the highest first, with the median of all.

    `counts`: `event, aggregate, value, unit`. `event`: which. `subject`: name of the recording, if there are several.
    """
    table = counts.filter(pl.col("event") == event, pl.col("value").is_not_null()).collect()
    if table.height < 2 or not (table["value"] > 0).any():  # noqa: PLR2004  one is not different from any
        return None
    median = float(table["value"].median() or 0)  # type: ignore[arg-type]
    divisor, size = _size_words(float(table["value"].max() or 0))  # type: ignore[arg-type]
    ranked = (
        with_labels(table.lazy(), "aggregate")
        .with_columns(full="aggregate", value=pl.col("value") / divisor, median=pl.lit(median / divisor))
        .sort(["value", "label"], descending=[True, False])
        .collect()
    )
    highest = ranked.head(MAX_RANKED)
    unit = f"{size} of {table['unit'][0]}" if size else str(table["unit"][0])
    left_out = f"the highest {MAX_RANKED} of {ranked.height}" if ranked.height > MAX_RANKED else ""
    median_note = f"tick: median of all {ranked.height}, {figure(median)}"
    heading = marks.heading(event, f"recording: {subject}" if subject else "", left_out, median_note)
    look = marks.Look(title=heading, description=f"{event} on each CPU, {unit}.", axis=unit, noun="On", unit=unit)
    return marks.ranked(highest, "value", look, "median", "median")


def per_instruction(table: pl.DataFrame) -> alt.LayerChart | None:
    """Draw TLB misses per 1,000 instructions, a bar for each event and recording.

    `table`: `event, subject, per_1k`.
    """
    rows = table.filter(pl.col("per_1k").is_not_null())
    if rows.is_empty():
        return None
    labelled = (
        with_labels(rows.lazy(), "event", width=_LABEL_WIDTH)
        .collect()
        .sort(pl.col("per_1k").max().over("event"), descending=True, maintain_order=True)
    )
    labels = labelled["label"].unique(maintain_order=True).to_list()[:MAX_RANKED]
    subjects = labelled["subject"].unique(maintain_order=True).to_list()[:MAX_SERIES]
    drawn = labelled.filter(pl.col("label").is_in(labels), pl.col("subject").is_in(subjects))
    subjects = drawable(subjects)
    several = len(subjects) > 1
    hue = alt.Color(
        "subject:N",
        title=None,
        scale=alt.Scale(domain=subjects, range=[colour("blue")] if not several else alt.Undefined),
        legend=_SOLID if several else None,
    )
    bars = (
        alt.Chart(rounded(drawn.select("label", "event", "subject", "per_1k"), 5))
        .mark_bar()
        .encode(
            marks.label_y(labels),
            alt.X("per_1k:Q", title="misses per 1,000 instructions", axis=_FEW_TICKS),
            yOffset=alt.YOffset("subject:N", scale=alt.Scale(domain=subjects)) if several else alt.Undefined,
            color=hue,
            tooltip=[
                alt.Tooltip("event:N", title="Event"),
                alt.Tooltip("subject:N", title="Recording"),
                marks.number_tip("per_1k", "per 1,000 instructions", 4),
            ],
        )
    )
    heading = marks.heading("TLB misses per 1,000 instructions", "each event as counted; nothing is summed")
    height = marks.bars_height(len(labels)) * (max(1.0, 0.7 * len(subjects)) if several else 1.0)
    return marks.layered([bars], heading, "TLB misses per 1,000 instructions.", height)


def ratios(compared: pl.LazyFrame, first: str, second: str) -> alt.LayerChart | None:
    """Draw the events of two recordings: ratio of counts and of rates, furthest from 1 first.

    `compared`: `hardware_events.compare`. `first`: name of the first recording. `second`: name of the second.
    """
    kinds = {"value_ratio": "of counts", "rate_ratio": "of rates"}
    long = (
        compared.unpivot(list(kinds), index="event", variable_name="of", value_name="ratio")
        .filter(pl.col("ratio") > 0)
        .with_columns(kind=pl.col("of").replace_strict(kinds))
        .sort("of", "event", descending=[True, False])
        .collect()
    )
    if long.is_empty():
        return None
    far = (
        long.group_by("event")
        .agg(away=pl.col("ratio").log().abs().max(), ratio=pl.col("ratio").max())
        .sort(["away", "event"], descending=[True, False])
    )
    chosen = far.head(MAX_RANKED).sort(["ratio", "event"], descending=[True, False])["event"].to_list()
    labelled = with_labels(long.filter(pl.col("event").is_in(chosen)).lazy(), "event", width=_LABEL_WIDTH).collect()
    label_of = dict(labelled.select("event", "label").unique(maintain_order=True).rows())
    labels = [label_of[event] for event in chosen]
    low = min(1.0, float(labelled["ratio"].min() or 1))  # type: ignore[arg-type]
    high = max(1.0, float(labelled["ratio"].max() or 1))  # type: ignore[arg-type]
    logarithmic = high / low > _LOG_FROM
    room = 1.15 if logarithmic else 1 + 0.06 * math.log2(max(high / low, 2))
    kind: Any = "log" if logarithmic else "linear"
    scale = alt.Scale(type=kind, domain=[low / room if logarithmic else min(low * 0.92, 0.9), high * room], nice=False)
    x = alt.X("ratio:Q", title=f"{first} / {second}", scale=scale, axis=_FEW_TICKS)
    rows = rounded(labelled, 4)
    hue = marks.kinds_colour("kind", dict(zip(kinds.values(), ("blue", "orange"), strict=True)), _SOLID)
    tips = [
        alt.Tooltip("event:N", title="Event"),
        alt.Tooltip("kind:N", title="Ratio"),
        marks.number_tip("ratio", "times as many", 3),
    ]
    shape = alt.Shape("kind:N", title=None, scale=alt.Scale(domain=list(kinds.values()), range=["circle", "diamond"]))
    dots = alt.Chart(rows).mark_point(filled=True, size=90, opacity=0.9)
    one = (
        alt.Chart(pl.DataFrame({"at": [1.0]}))
        .mark_rule(color=colour("rest"), strokeDash=[5, 4])
        .encode(alt.X("at:Q", scale=scale))
    )
    left_out = f"the {len(labels)} of {far.height} events furthest from 1" if far.height > len(labels) else ""
    heading = marks.heading(f"{first} against {second}", "ratio of event counts; dashed: equal", left_out)
    layers = [one, dots.encode(marks.label_y(labels), x, color=hue, shape=shape, tooltip=tips)]
    description = f"Ratio of events of {first} to {second}."
    return marks.layered(layers, heading, description, marks.bars_height(len(labels)) + 8)
