"""Storage workloads: IOPS, bandwidth and latency of each test, by block size and queue depth, and over time.

The builders take `esxparse.metrics.workload.results` and the series of fio. Each returns None if there is nothing to
draw: a sweep needs two points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import polars as pl

from esxparse.charts import marks
from esxparse.charts.names import LABEL_WIDTH, wrapped
from esxparse.charts.reduce import MAX_RANKED, MAX_SERIES, drawable, rounded, with_labels
from esxparse.charts.theme import HEAT, colour

VALUES: Final[dict[str, tuple[str, str, str, float]]] = {
    "iops": ("IOPS", "I/Os per second", "I/Os/s", 1.0),
    "bandwidth_bytes_per_s": ("Bandwidth", "MB per second (10⁶ bytes)", "MB/s", 1e-6),
    "latency_mean_ms": ("Mean latency", "milliseconds", "ms", 1.0),
}
"""Value -> name, title of its axis, unit, factor to the unit."""

_FAR: Final = 50
"""A test with more than this many times the next value would flatten all others."""
_FEW: Final = 4
"""At most one in this many tests may be far above the others."""
_ROOM: Final = 0.15
"""Share of an axis for the words at its end."""
_LARGE: Final = 10_000
_LINES: Final = 3
_HEAT_SHARES: Final = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
_HEAT_DARK: Final = 5
"""The step on which dark text is unreadable."""

LOGGED: Final = {
    "iops": ("iops", "IOPS"),
    "bandwidth": ("bandwidth_bytes_per_s", "Bandwidth"),
    "lat": ("latency_mean_ms", "Mean latency"),
    "clat": ("latency_mean_ms", "Mean completion latency"),
}
"""Metric of a log -> its value, and its name."""

DIRECTIONS: Final = {"read": "blue", "write": "orange", "trim": "teal", "all": "rest"}
"""Direction -> name of its colour."""


def size_words(size: int) -> str:
    """Return a block size in its usual unit.

    >>> size_words(4096), size_words(1048576), size_words(1000)
    ('4 KiB', '1 MiB', '1000 B')
    """
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def _titled(name: str, what: str, unit: str) -> str:
    """Return a title with its unit; IOPS needs none."""
    return f"{name} {what}" if name == "IOPS" else f"{name} {what}, {unit}"


def _kind() -> pl.Expr:
    return pl.concat_str([pl.col("pattern"), pl.col("direction")], separator=" ", ignore_nulls=True)


def _series(results: pl.LazyFrame, axis: str, parts: Sequence[pl.Expr]) -> pl.Expr:
    """Return the label of a series: with the setting of recordings, and the recording if it is a sweep of its own."""
    if "setting" in results.collect_schema():
        parts = [pl.col("setting"), *parts]
    if "recording" in results.collect_schema():
        places = results.group_by("recording").agg(pl.col(axis).drop_nulls().n_unique()).collect()
        if (places[axis] > 1).any() and places.height > 1:
            parts = [pl.col("recording"), *parts]
    return pl.concat_str(parts, separator=", ", ignore_nulls=True)


def _sweep(results: pl.LazyFrame, axis: str, value: str, series: Sequence[pl.Expr]) -> pl.DataFrame:
    """Return the best point (most IOPS) of each series at each place of the axis; empty if no series has two places."""
    factor = VALUES[value][3]
    return (
        results.filter(pl.col(axis).is_not_null(), pl.col(value).is_not_null())
        .with_columns(label=_series(results, axis, series))
        .sort("iops", descending=True)
        .group_by("label", axis, maintain_order=True)
        .agg(pl.col(value).first() * factor, pl.col("test").first(), depth=pl.col("outstanding").first(), of=pl.len())
        .filter(pl.col(axis).n_unique().over("label") > 1)
        .sort("label", axis)
        .collect()
    )


def highest(points: pl.DataFrame, value: str) -> tuple[list[str], int]:
    """Return the labels with the highest values, in the order of `points`, and the number of all labels."""
    most = points.group_by("label").agg(pl.col(value).max()).sort(value, descending=True)
    chosen = most["label"].head(MAX_SERIES).to_list()
    every = points["label"].unique(maintain_order=True).to_list()
    return [label for label in every if label in chosen], len(every)


def _sweep_chart(points: pl.DataFrame, axis: str, value: str, place_title: str) -> alt.LayerChart | None:
    if points.is_empty():
        return None
    name, y_title, unit, _ = VALUES[value]
    labels, every = highest(points, value)
    kept = points.filter(pl.col("label").is_in(labels))
    left_out = f"the {len(labels)} of {every} series with the highest values" if every > len(labels) else ""
    best = "for repeated tests, the run with the most IOPS" if (kept["of"] > 1).any() else ""
    order = drawable(kept.select(axis, "place").unique().sort(axis)["place"].to_list())
    tips = [
        alt.Tooltip("label:N", title="I/O"),
        alt.Tooltip("test:N", title="Test"),
        alt.Tooltip("place:N", title=place_title),
        alt.Tooltip("depth:Q", title="Outstanding I/Os"),
        marks.number_tip(value, f"{name}, {unit}"),
    ]
    base = alt.Chart(rounded(kept)).encode(
        alt.X("place:N", title=place_title, sort=None, scale=alt.Scale(domain=order), axis=alt.Axis(labelAngle=0)),
        alt.Y(f"{value}:Q", title=y_title, scale=alt.Scale(zero=True)),
        color=marks.series_colour(labels),
    )
    layers = [base.mark_line(), base.mark_point(filled=True, size=60).encode(tooltip=tips)]
    heading = marks.heading(_titled(name, f"by {place_title[:1].lower()}{place_title[1:]}", unit), best, left_out)
    return marks.layered(layers, heading, f"{name} of each kind of I/O by {place_title}, {unit}.")


def by_block_size(results: pl.LazyFrame, value: str) -> alt.LayerChart | None:
    """Draw a value at each block size, a line for each pattern and direction.

    `results`: `workload.results`. `value`: one of `VALUES`.
    """
    points = _sweep(results, "block_size_bytes", value, [_kind()])
    words = pl.col("block_size_bytes").map_elements(size_words, return_dtype=pl.String)
    return _sweep_chart(points.with_columns(place=words), "block_size_bytes", value, "Block size")


def by_outstanding(results: pl.LazyFrame, value: str) -> alt.LayerChart | None:
    """Draw a value at each number of outstanding I/Os, a line for each pattern, direction and block size.

    `results`: `workload.results`. `value`: one of `VALUES`.
    """
    size = pl.col("block_size_bytes").map_elements(size_words, return_dtype=pl.String)
    points = _sweep(results, "outstanding", value, [_kind(), size])
    place = pl.col("outstanding").cast(pl.String)
    return _sweep_chart(points.with_columns(place=place), "outstanding", value, "Outstanding I/Os")


def latency_against_iops(results: pl.LazyFrame) -> alt.LayerChart | None:
    """Draw mean latency against IOPS, the price of more I/Os; lines join points of a series by outstanding I/Os.

    `results`: `workload.results`.
    """
    size = pl.col("block_size_bytes").map_elements(size_words, return_dtype=pl.String)
    table = (
        results.filter(pl.col("outstanding").is_not_null(), pl.col("latency_mean_ms").is_not_null())
        .with_columns(label=_series(results, "outstanding", [_kind(), size]))
        .sort("iops", descending=True)
        .unique(["label", "outstanding"], keep="first", maintain_order=True)
        .filter(pl.len().over("label") > 1)
        .sort("label", "outstanding")
        .select("label", "test", "outstanding", "iops", "latency_mean_ms")
        .collect()
    )
    if table.is_empty():
        return None
    every = table["label"].unique(maintain_order=True).to_list()
    labels = every[:MAX_SERIES]
    left_out = f"{len(labels)} of {len(every)} series" if len(every) > len(labels) else ""
    tips = [
        alt.Tooltip("label:N", title="I/O"),
        alt.Tooltip("test:N", title="Test"),
        alt.Tooltip("outstanding:Q", title="Outstanding I/Os"),
        marks.number_tip("iops", "I/Os/s", 0),
        marks.number_tip("latency_mean_ms", "mean latency, ms", 3),
    ]
    base = alt.Chart(rounded(table.filter(pl.col("label").is_in(labels)))).encode(
        alt.X("iops:Q", title="I/Os per second"),
        alt.Y("latency_mean_ms:Q", title="Mean latency, milliseconds", scale=alt.Scale(zero=True)),
        color=marks.series_colour(labels),
    )
    layers = [
        base.mark_line().encode(order=alt.Order("outstanding:Q")),
        base.mark_point(filled=True, size=60).encode(tooltip=tips),
    ]
    heading = marks.heading(
        "Mean latency in ms against IOPS", "one point per number of outstanding I/Os, the best", left_out
    )
    return marks.layered(layers, heading, "Mean latency against I/Os per second of each kind of I/O.")


def heat(results: pl.LazyFrame) -> alt.LayerChart | None:
    """Draw IOPS by queue depth of a worker and number of workers: the point at which more of either stops paying.

    `results`: `workload.results`, each test under a name of its own.
    """
    depth = (pl.col("outstanding") // pl.col("workers")).alias("depth")
    table = (
        results.filter(pl.col("outstanding").is_not_null(), pl.col("workers").is_not_null())
        .with_columns(depth)
        # The directions of one test ran together; the directions of two tests did not.
        .group_by("depth", "workers", "test")
        .agg(pl.col("iops").sum())
        .group_by("depth", "workers")
        .agg(pl.col("iops").max())
        .sort("depth", "workers")
        .collect()
    )
    if table["depth"].n_unique() < 2 or table["workers"].n_unique() < 2:  # noqa: PLR2004  a sweep has two
        return None
    # Steps of one label each: a scale that runs on could not follow the reader's dark mode.
    most = float(table["iops"].max() or 1.0)  # type: ignore[arg-type]
    labels = [f"to {share:.0%} of the most" for share in _HEAT_SHARES]
    step = pl.sum_horizontal(pl.col("iops") > most * share for share in _HEAT_SHARES[:-1])
    table = table.with_columns(label=step.replace_strict(dict(enumerate(labels)), return_dtype=pl.String), step=step)
    base = alt.Chart(rounded(table)).encode(
        alt.X("depth:O", title="Queue depth of a worker", axis=alt.Axis(labelAngle=0)),
        alt.Y("workers:O", title="Workers", sort="descending"),
    )
    cells = base.mark_rect().encode(
        color=marks.series_colour(labels, palette=[shade.light for shade in HEAT]),
        tooltip=[
            alt.Tooltip("depth:O", title="Queue depth"),
            alt.Tooltip("workers:O", title="Workers"),
            marks.number_tip("iops", "I/Os/s", 0),
        ],
    )
    words = base.mark_text().encode(
        alt.Text("iops:Q", format=",.3~s"),
        color=alt.when(alt.datum.step == _HEAT_DARK)
        .then(alt.value(colour("page")))
        .otherwise(alt.value(colour("ink"))),
    )
    heading = marks.heading("IOPS by queue depth and workers", "the best test at each depth and number of workers")
    description = "Heat map of I/Os per second by queue depth and workers."
    return marks.layered([cells, words], heading, description, 44 * table["workers"].n_unique())


def tests(results: pl.LazyFrame, value: str) -> alt.LayerChart | None:
    """Draw a value of each test, longest bar first, reads and writes apart.

    `results`: `workload.results`, each test under a name of its own. `value`: one of `VALUES`.
    """
    name, x_title, unit, factor = VALUES[value]
    table = (
        with_labels(results.filter(pl.col(value).is_not_null()), "test", width=_LINES * LABEL_WIDTH)
        .with_columns(pl.col(value) * factor, pl.col("label").map_elements(wrapped, return_dtype=pl.String))
        .collect()
        .sort(pl.col(value).max().over("test"), descending=True, maintain_order=True)
    )
    if table.is_empty():
        return None
    every = table["label"].unique(maintain_order=True).to_list()
    labels = every[:MAX_RANKED]
    ranked = table.filter(pl.col("label").is_in(labels))
    directions = [one for one in DIRECTIONS if one in ranked["direction"].to_list()]
    beside = ranked.height > len(labels)
    end, beyond = _end(ranked, value)
    base = alt.Chart(rounded(ranked.select("label", "test", "direction", value))).encode(
        marks.label_y(labels).axis(labelExpr="split(datum.label, '\\n')"),
        alt.X(f"{value}:Q", title=x_title, stack=False, scale=alt.Scale(domain=[0, end], nice=False, clamp=True)),
        yOffset=alt.YOffset("direction:N", scale=alt.Scale(domain=directions)) if beside else alt.Undefined,
    )
    bars = base.mark_bar().encode(
        color=marks.kinds_colour("direction", {one: DIRECTIONS[one] for one in directions}),
        tooltip=[
            alt.Tooltip("test:N", title="Test"),
            alt.Tooltip("direction:N", title="Direction"),
            marks.number_tip(value, f"{name}, {unit}"),
        ],
    )
    # A bar that reaches the end of the axis has its value inside.
    near = alt.datum[value] > (1 - _ROOM) * end
    inside, outside = base.transform_filter(near), base.transform_filter(~near)
    text = alt.Text(f"{value}:Q", format=",.3~s" if end >= _LARGE else ",.3~r")
    words = [
        outside.mark_text(align="left", dx=4, color=colour("ink")).encode(text=text),
        inside.mark_text(align="right", dx=-4, color=colour("page")).encode(text=text),
    ]
    left_out = f"{MAX_RANKED} of {len(every)} tests" if len(every) > len(labels) else ""
    far = f"the axis ends before {', '.join(beyond)}" if beyond else ""
    heading = marks.heading(_titled(name, "of each test", unit), far, left_out)
    lines = max(label.count("\n") + 1 for label in labels)
    rows = max(1.0, 0.7 * len(directions) if beside else 1.0, 0.6 * lines)
    return marks.layered(
        [bars, *words], heading, f"Tests ranked by {name}, {unit}.", marks.bars_height(len(labels)) * rows
    )


def _end(results: pl.DataFrame, value: str) -> tuple[float, list[str]]:
    """Return the end of a ranking's axis, and the tests that reach beyond it: few that are far above all others.

    `results`: `test` and `value`, the highest test first.
    """
    peaks = results.group_by("test", maintain_order=True).agg(pl.col(value).max())
    tests, values = peaks["test"].to_list(), peaks[value].to_list()
    most = max(1, len(values) // _FEW) if len(values) > 2 else 0  # noqa: PLR2004  two flatten nothing
    far = next((at for at in range(1, most + 1) if values[at - 1] > _FAR * values[at] > 0), 0)
    return (values[far] * (1 + _ROOM) or 1.0), tests[:far]


def over_time(series: pl.LazyFrame, metric: str) -> alt.LayerChart | None:
    """Draw a metric of the jobs' logs over the run.

    Each line of a log counts alike: it is one I/O, or the mean of one interval of its log.

    `series`: `elapsed_s`, `job`, `direction`, `metric`, `value` of a fio recording (or `time` in its place). `metric`:
    one of `LOGGED`.
    """
    value, name = LOGGED[metric]
    _, y_title, unit, factor = VALUES[value]
    there = series.collect_schema().names()
    start = pl.col("time").min()
    elapsed = pl.col("elapsed_s") if "elapsed_s" in there else (pl.col("time") - start).dt.total_milliseconds() / 1000
    rows = (
        series.filter(pl.col("metric") == metric)
        .select(
            elapsed_s=elapsed,
            value=pl.col("value") * factor,
            label=pl.concat_str([pl.col("job"), pl.col("direction").cast(pl.String)], separator=" "),
        )
        .collect()
    )
    if rows.height < 2:  # noqa: PLR2004  a line needs two points
        return None
    step = max(float(rows["elapsed_s"].max() or 0) / 180, 1e-3)  # type: ignore[arg-type]
    reduced = (
        rows.with_columns(elapsed_s=(pl.col("elapsed_s") / step).floor() * step)
        .group_by("label", "elapsed_s")
        .agg(value=pl.col("value").mean(), low=pl.col("value").min(), high=pl.col("value").max())
        .sort("label", "elapsed_s")
    )
    every = reduced.group_by("label").agg(pl.col("value").mean()).sort("value", descending=True)["label"].to_list()
    labels = every[:MAX_SERIES]
    kept = reduced.filter(pl.col("label").is_in(labels))
    base = alt.Chart(rounded(kept)).encode(alt.X("elapsed_s:Q", title="Seconds since the start of each job"))
    hue = marks.series_colour(labels)
    tips: list[Any] = [
        alt.Tooltip("label:N", title="Job"),
        marks.number_tip("elapsed_s", "seconds", 1),
        marks.number_tip("value", f"mean, {unit}"),
        marks.number_tip("high", f"highest, {unit}"),
    ]
    band = base.mark_area(opacity=0.16).encode(alt.Y("high:Q", title=y_title), alt.Y2("low:Q"), color=hue)
    line = base.mark_line().encode(alt.Y("value:Q", title=y_title), color=hue)
    dots = base.mark_point(filled=True, size=50, opacity=0).encode(
        alt.Y("value:Q", title=y_title), color=hue, tooltip=tips
    )
    left_out = f"the {len(labels)} of {len(every)} with the highest mean" if len(every) > len(labels) else ""
    merged = reduced.height < rows.height
    spread = "line: mean, band: lowest to highest logged value" if merged else ""
    title = marks.heading(_titled(name, "over time", unit), spread, left_out)
    return marks.layered([band, line, dots], title, f"{name} of each job over time, {unit}.")
