"""Charts of a study: a value over the varied label, or a column of any table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.errors import EsxparseError, did_you_mean
from esxparse.reports import page
from esxparse.reports.study.sentences import label_words
from esxparse.studies import plot
from esxparse.studies.columns import COLUMNS

if TYPE_CHECKING:
    import altair as alt

    from esxparse.reports.study.gather import Found

_FLAT: Final = 6
"""A chart gets its own scale if the shared one would use less than this fraction (one in six) of it."""


def curve(
    found: Found, values: str | Sequence[str], style: plot.Style = "plain", x: str | None = None
) -> list[alt.LayerChart]:
    """Return charts of columns of the runs over a label; columns with the same unit share a scale.

    Args:
        found: The study.
        values: Columns of the runs; columns without a number are left out.
        style: "plain", "linear" (with a straight line through the smallest x), "relative" (ratio to the baseline) or
            "change" (percent more than the baseline). Values without a baseline ratio are drawn plain.
        x: The label on the axis; by default the manifest's sweeps.

    Returns:
        The charts; none for a column with more than 12 panels, because the tables have its numbers.

    Raises EsxparseError: Runs never have a column of that name.
    """
    wanted = [values] if isinstance(values, str) else values
    known = {*found.runs.columns, *COLUMNS}
    for name in wanted:
        if name not in known:
            raise EsxparseError(f"runs have no column {name!r}. {did_you_mean(name, known, 'Did')}".rstrip())
    names = [name for name in wanted if found.has(name)]
    alone = {name for name in names if name in found.values and name not in found.compared}
    divided = style in {"relative", "change"}
    styles: dict[str, plot.Style] = {name: "plain" if divided and name in alone else style for name in names}
    section = found.study.report_section
    limits = {**section.rules, **section.tolerances}
    return _drawn(found, styles, [x] if x else None, limits)


def chart(
    found: Found,
    rows: pl.DataFrame | pl.LazyFrame,
    x: str,
    y: str,
    *,
    title: str,
    unit: str,
    place: str = "",
    low: str | None = None,
    high: str | None = None,
    linear: str | None = None,
    panel: str | None = None,
    runs: str | None = None,
    said: Sequence[str] = (),
    level: float | str | None = None,
    relative: bool = False,
) -> list[alt.LayerChart]:
    """Return charts of a column of any table, with a series for each combination of its varying labels.

    Args:
        found: The study.
        rows: The table; rows with a null `y` are left out.
        x: The column on the axis.
        y: The column to draw.
        title: The chart's title.
        unit: Unit of `y`.
        place: The axis title; by default the name of `x`.
        low: Column with the lower end of the error bar.
        high: Column with its upper end.
        linear: Column with a straight line, drawn dotted.
        panel: Column with a separate chart for each of its values.
        runs: Column with the number of runs behind a point.
        said: Words below the title; words about a dashed line only if it is drawn.
        level: Position of a dashed line: a number, or a column whose first value is used.
        relative: Whether values lie around the level, as ratios do, and need no 0.

    Returns:
        The charts; none without rows.
    """
    from esxparse.charts import study as builder  # noqa: PLC0415  altair takes more than a second

    frame = rows.lazy().collect()
    place = place or x
    varied = [name for name in found.labels_but(x, place) if name in frame.columns and frame[name].n_unique() > 1]
    if isinstance(level, str):
        level = next(iter(frame[level].drop_nulls()), None)
    label = pl.when(pl.col("label") != "").then("label").otherwise(pl.lit("all"))
    points = {"place": x, "value": y, "low": low, "high": high, "linear": linear, "panel": panel, "runs": runs}
    drawn = frame.select(
        *(pl.col(column).alias(name) for name, column in points.items() if column),
        label=label_words(frame, varied),
    ).with_columns(label)
    return builder.panels(drawn, title, unit, plot.axis_words(place), said, level, relative=relative)


def show_charts(found: Found, charts: Sequence[alt.LayerChart] = ()) -> None:
    """Display charts; by default a chart of each value."""
    page.show(
        *(charts or usual(found)),
        missing="Too many configurations for charts: the tables have the numbers.",
    )


def usual(found: Found) -> list[alt.LayerChart]:
    """Return a chart of each value: its ratio to the baseline, or the value over the sweep."""
    return _drawn(found, {name: _style(found, name) for name in found.values})


def levels(found: Found) -> list[alt.LayerChart]:
    """Return charts of the values themselves, if other charts show ratios to the baseline."""
    return _drawn(found, dict.fromkeys(found.compared, "plain"))


def _style(found: Found, value: str) -> plot.Style:
    if value in found.compared:
        return "relative"
    swept = any(plot.is_sweep(found.runs, name) for name in found.study.axis)
    straight = swept and not found.compared and found.name_and_unit(value).better == "higher"
    return "linear" if straight else "plain"


def _drawn(
    found: Found,
    styles: Mapping[str, plot.Style],
    axes: Sequence[str | None] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> list[alt.LayerChart]:
    """Return a chart for each value and axis: by default the manifest's sweeps."""
    swept = [name for name in found.study.axis if plot.is_sweep(found.runs, name)]
    ends = _shared(found, list(styles.items()))
    made: list[alt.LayerChart] = []
    for (value, style), x in product(styles.items(), axes or swept or [None]):
        limit = (limits or {}).get(value)
        limit = limit if isinstance(limit, int | float) else None
        with suppress(EsxparseError):  # too many panels: the tables have the numbers
            made += plot.charts(found.study, value, x, None, {}, style, ends=ends[value, style], limit=limit)
    return made


def _shared(found: Found, drawn: list[tuple[str, plot.Style]]) -> dict[tuple[str, plot.Style], tuple[float, float]]:
    """Return the axis ends of charts side by side: one scale per unit, unless that would flatten a chart."""
    reach = {one: plot.reach(found.study, *one) for one in drawn}
    made = {}
    for one, (low, high) in reach.items():
        unit = plot.unit_of(found.study, *one)
        alike = [reach[other] for other in drawn if unit and plot.unit_of(found.study, *other) == unit] or [(low, high)]
        least, most = min(a for a, _ in alike), max(b for _, b in alike)
        made[one] = (least, most) if most - least < _FLAT * (high - low) else (low, high)
    return made
