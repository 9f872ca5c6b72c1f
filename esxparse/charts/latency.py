"""How latencies spread: percentiles, distributions, and the histograms of vscsiStats."""

from __future__ import annotations

import math
from typing import Final

import altair as alt
import polars as pl

from esxparse.charts import marks
from esxparse.charts.reduce import rounded
from esxparse.charts.theme import colour
from esxparse.charts.workload import DIRECTIONS, highest

_MOST_BINS: Final = 60
_MOST_OUTLINES: Final = 5
_NINES: Final = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
_NANOSECONDS: Final = 6  # decimals of a millisecond: persistent memory answers in two microseconds


def _nines(percentile: float) -> float:
    """Return the position of a percentile on an axis on which each nine takes the same room."""
    return -math.log10(max(1 - percentile / 100, 1e-6))


def percentiles(table: pl.LazyFrame) -> alt.LayerChart | None:
    """Draw the latency at each percentile: how bad the rare I/Os are. Each further nine takes the same room.

    `table`: `label` (of the line), `percentile`, `latency_ms`.
    """
    points = (
        table.filter(pl.col("percentile") > 0, pl.col("percentile") < 100, pl.col("latency_ms") > 0)  # noqa: PLR2004
        .with_columns(at=pl.col("percentile").map_elements(_nines, return_dtype=pl.Float64))
        .sort("label", "percentile")
        .collect()
    )
    if points.is_empty():
        return None
    labels, every = highest(points, "latency_ms")
    ticks = {_nines(one): f"{one:g} %" for one in _NINES if _nines(one) <= points["at"].max()}  # type: ignore[operator]
    names = " : ".join(f"abs(datum.value - {at}) < 1e-4 ? '{words}'" for at, words in ticks.items())
    base = alt.Chart(rounded(points.filter(pl.col("label").is_in(labels)), _NANOSECONDS)).encode(
        alt.X(
            "at:Q",
            title="Share of I/Os completed within this latency",
            axis=alt.Axis(values=list(ticks), labelExpr=f"{names} : ''", grid=True),
        ),
        alt.Y("latency_ms:Q", title="Latency, ms (log scale)", scale=alt.Scale(type="log"), axis=alt.Axis(tickCount=5)),
        color=marks.series_colour(labels),
    )
    tips = [
        alt.Tooltip("label:N", title="Test"),
        alt.Tooltip("percentile:Q", title="Percentile"),
        marks.number_tip("latency_ms", "ms", 4),
    ]
    left_out = f"the {len(labels)} of {every} with the highest" if every > len(labels) else ""
    layers = [base.mark_line(), base.mark_point(filled=True, size=40).encode(tooltip=tips)]
    heading = marks.heading("Latency percentiles, ms", left_out)
    return marks.layered(layers, heading, "Latency at each percentile, by test, milliseconds.", 260)


def distribution(bins: pl.LazyFrame, title: str = "Latency distribution, % of the I/Os") -> alt.LayerChart | None:
    """Draw how the I/Os spread over latencies: the share in each bin, as bars of one test or outlines of several.

    Finer bins are merged to ten per power of ten.

    `bins`: `label`, `from_ms`, `to_ms` (null: open end), `share_pct`. `title`: heading.
    """
    table = bins.filter(pl.col("share_pct") > 0).sort("label", "from_ms").collect()
    if table.is_empty():
        return None
    every = table["label"].unique(maintain_order=True).to_list()
    labels = every[:_MOST_OUTLINES]
    drawn = _decade_bins(table.filter(pl.col("label").is_in(labels)))
    scale = alt.Scale(type="log", domain=drawn.select(pl.col("low").min(), pl.col("high").max()).row(0), nice=False)
    x_title = "Latency, ms (log scale)"
    tips = [
        alt.Tooltip("label:N", title="Test"),
        marks.number_tip("low", "from, ms", 4),
        marks.number_tip("high", "to, ms", 4),
        marks.number_tip("share_pct", "% of the I/Os"),
    ]
    base = alt.Chart(rounded(drawn.select("label", "low", "high", "share_pct", "zero"), _NANOSECONDS))
    y = alt.Y("share_pct:Q", title="% of the I/Os", stack=None)
    x = alt.X("low:Q", title=x_title, scale=scale, axis=alt.Axis(tickCount=6, format="~g"))
    layers: list[alt.Chart]
    if len(labels) == 1:
        layers = [base.mark_rect(color=colour("blue")).encode(x, y, alt.X2("high:Q"), alt.Y2("zero:Q"), tooltip=tips)]
    else:
        hue = marks.series_colour(labels)
        outline = _with_gaps(drawn)
        layers = [
            alt.Chart(rounded(outline, _NANOSECONDS)).mark_line(interpolate="step-after").encode(x, y, color=hue),
            base.mark_point(filled=True, size=25, opacity=0.01).encode(x, y, color=hue, tooltip=tips),
        ]
    left_out = f"{len(labels)} of {len(every)} tests" if len(every) > len(labels) else ""
    return marks.layered(layers, marks.heading(title, left_out), f"{title}: share of I/Os by latency.", 240)


def _decade_bins(table: pl.DataFrame) -> pl.DataFrame:
    """Return label, low, high, share_pct, zero: bins with ends above 0, at least a tenth of a power of ten wide."""
    least = float(table.filter(pl.col("to_ms") > 0)["to_ms"].min() or 1e-3) / 2  # type: ignore[arg-type]
    ends = table.with_columns(low=pl.max_horizontal(pl.col("from_ms").fill_null(0), pl.lit(least))).with_columns(
        high=pl.coalesce("to_ms", pl.col("low") * 2)
    )
    if table["from_ms"].n_unique() > _MOST_BINS:
        tenth = (pl.col("low").log10() * 10 + 1e-9).floor()
        ends = ends.group_by("label", tenth.alias("tenth"), maintain_order=True).agg(pl.col("share_pct").sum())
        ends = ends.with_columns(low=10 ** (pl.col("tenth") / 10), high=10 ** ((pl.col("tenth") + 1) / 10))
    return ends.select("label", pl.col("low", "high").round_sig_figs(6), pl.col("share_pct"), zero=0.0)


def _with_gaps(bins: pl.DataFrame) -> pl.DataFrame:
    """Return the bins, with an empty bin in each gap between two bins."""
    following = pl.col("low").shift(-1).over("label")
    ends = bins.filter(following.is_null() | (following > pl.col("high") * 1.001)).select(
        "label", low="high", share_pct=0.0
    )
    begins = bins.group_by("label").agg(low=pl.col("low").min()).select("label", "low", share_pct=0.0)
    return pl.concat([begins, bins.select("label", "low", "share_pct"), ends]).sort("label", "low", maintain_order=True)


def histogram(table: pl.LazyFrame, title: str, unit: str) -> alt.LayerChart | None:
    """Draw a histogram of vscsiStats: commands in each bin, reads and writes apart.

    `table`: rows of one histogram of `histograms`: `direction` (read, write), `from`, `to`, `count`. `title`: heading.
    `unit`: unit of the bins.
    """
    limit = pl.coalesce("to", "from")
    words = (
        pl.when(pl.col("to").is_null())
        .then(pl.format("> {}", pl.col("from").cast(pl.Int64)))
        .otherwise(pl.format("≤ {}", pl.col("to").cast(pl.Int64)))
    )
    drawn = (
        table.filter(pl.col("direction").is_in(["read", "write"]))
        .group_by("direction", "from", "to")
        .agg(pl.col("count").sum())
        .with_columns(at=limit, bin=words, open=pl.col("to").is_null())
        .sort("at", "open", "direction")
        .collect()
    )
    if drawn.is_empty() or not drawn["count"].sum():
        return None
    bins = drawn["bin"].unique(maintain_order=True).to_list()
    bars = (
        alt.Chart(drawn.select("bin", "direction", "count"))
        .mark_bar()
        .encode(
            alt.X("bin:N", title=unit, sort=None, scale=alt.Scale(domain=bins), axis=alt.Axis(labelAngle=-45)),
            alt.Y("count:Q", title="commands", stack="zero"),
            color=marks.kinds_colour("direction", {one: DIRECTIONS[one] for one in ("read", "write")}),
            tooltip=[
                alt.Tooltip("bin:N", title=unit),
                alt.Tooltip("direction:N", title="Direction"),
                marks.number_tip("count", "commands", 0),
            ],
        )
    )
    return marks.layered([bars], marks.heading(title), f"{title}: commands by {unit}.")
