"""A value of many runs over the varied setting: lines over a sweep, bars over names.

The builders take the points that `esxparse.studies.plot` prepares, one row per configuration:

    place             position on the axis of the sweep, a number or a text
    label             the series
    value, low, high  mean of the repetitions, and the ends of its error bar (null without one)
    runs              repetitions
    linear            a straight line through the smallest point, if the sweep is drawn against one

Error bars and the dashed line at the baseline follow the published studies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import altair as alt
import polars as pl

from esxparse.charts import finding_title, marks
from esxparse.charts.names import LABEL_WIDTH
from esxparse.charts.reduce import MAX_SERIES, SWEEP, drawable, rounded
from esxparse.charts.theme import colour
from esxparse.metrics import units

_WIDTH: Final = 560
"""Width of a chart in a notebook, pixels."""
_ABOVE: Final = 1.04
_FAR: Final = 3
"""A line above this many times the largest value is left out."""
_BESIDE: Final = 0.1
_APART: Final = 10
"""Pixels between two labels of an axis."""
_LONG: Final = 1e4
_ROOM: Final = 0.04
_TICKS: Final = 10
_NAME_WIDTH: Final = 150
"""Pixels for names beside bars; longer names are cut in the chart and whole in the tooltip."""
_EVEN: Final = 16
"""Sweeps over more than this factor, such as block sizes, have evenly spaced places."""


@dataclass(frozen=True)
class Words:
    """The words beside the marks of a chart."""

    title: str
    """Measure, tool and subject; the chart's own title has the result."""
    name: str
    """Name of the values."""
    value: str
    """Title of the axis of values, with its unit."""
    place: str
    """Title of the axis of the sweep."""
    subtitle: tuple[str, ...] = ()


def of(
    table: pl.DataFrame,
    y: str,
    x: str,
    by: str | None = None,
    *,
    title: str,
    unit: str = "",
    place: str = "",
    panel: str | None = None,
    low: str | None = None,
    high: str | None = None,
    linear: str | None = None,
    said: Sequence[str] = (),
    level: float | None = None,
    relative: bool = False,
) -> alt.LayerChart | alt.VConcatChart:
    """Draw a column of any table over another: lines over numbers, bars over names.

    `by`, `panel`: columns that identify series and panels. `unit`, `place`: titles of the axes, by default the columns'
    names. `low`, `high`: columns with the ends of error bars. `linear`: a column with a straight line, drawn dotted.
    `said`: words below the title. `level`: value of the dashed line. `relative`: whether values lie around the level,
    as ratios do, and need no 0.
    """
    columns = {"value": y, "place": x, "label": by, "panel": panel, "low": low, "high": high, "linear": linear}
    points = table.select(pl.col(column).alias(name) for name, column in columns.items() if column)
    points = points.with_columns(pl.col(name).cast(pl.String) for name in ("label", "panel") if name in points.columns)
    made = panels(points, title, unit or y, place or x, said, level, relative=relative, width=_WIDTH)
    return made[0] if len(made) == 1 else alt.vconcat(*made).resolve_scale(color="independent")


def panels(
    points: pl.DataFrame,
    title: str,
    unit: str,
    place: str,
    said: Sequence[str] = (),
    level: float | None = None,
    *,
    relative: bool = False,
    width: int | None = None,
) -> list[alt.LayerChart]:
    """Draw points, a chart for each of their panels, all with one scale.

    `points`: as above; `label`, `panel`, `runs` and error bars may be missing. The rest: as for `of` and `chart`.
    """
    lacking: dict[str, Any] = {"label": "all", "panel": "", "runs": 1}
    none = {name: pl.lit(None, pl.Float64) for name in ("low", "high") if name not in points.columns}
    points = points.filter(pl.col("value").is_not_null()).with_columns(
        **{name: pl.lit(one) for name, one in lacking.items() if name not in points.columns}, **none
    )
    if points.is_empty():
        return []
    if not (points["place"].dtype.is_numeric() and points["place"].n_unique() >= SWEEP):
        points = points.with_columns(pl.col("place").cast(pl.String))
    low, high = ends_around(points, level or 0.0) if relative else ends_from_0(points)
    if level is not None:
        low, high, level = with_level(low, high, level)
    subtitle = tuple(one for one in said if level is not None or not one.startswith("dashed"))
    names = points["label"].unique(maintain_order=True).to_list()
    return [
        chart(
            part,
            Words(
                f"{title}: {panel}" if panel else title, f"{title}, {panel}" if panel else title, unit, place, subtitle
            ),
            names,
            (low, high),
            width,
            level,
            dots=relative,
        )
        for (panel,), part in points.group_by("panel", maintain_order=True)
    ]


def ends_from_0(points: pl.DataFrame) -> tuple[float, float]:
    """Return the ends of an axis of values that includes 0."""
    seen = [one for name in ("value", "low", "high") for one in points[name].drop_nulls()]
    return min(0.0, *seen), max(0.0, *seen)


def ends_around(points: pl.DataFrame, level: float) -> tuple[float, float]:
    """Return the ends of an axis of values that lie near a level, from below the lowest."""
    seen = [one for name in ("value", "low", "high") for one in points[name].drop_nulls()]
    low, high = min(level, *seen), max(level, *seen)
    room = _BESIDE * (high - low) or _BESIDE * level
    return max(0.0, low - room), high + room


def with_level(low: float, high: float, level: float) -> tuple[float, float, float | None]:
    """Return the ends of an axis with room for a dashed line; without the line if it is far above all values."""
    return (low, high, None) if level > _FAR * high else (low, max(high, _ABOVE * level), level)


def chart(
    points: pl.DataFrame,
    words: Words,
    series: Sequence[str],
    ends: tuple[float, float],
    width: int | None,
    level: float | None,
    *,
    dots: bool = False,
) -> alt.LayerChart:
    """Draw lines over a sweep of numbers, bars over names.

    `points`: as above. `series`: all labels, in the order of the legend. `ends`: the ends of the axis of values, which
    panels share. `width`: pixels, or None for the width of the container. `level`: value of the dashed line, such as 1
    for ratios. `dots`: whether names get points instead of bars. Values are shown in the unit that fits the ends: 0.25
    ms as 250 µs.
    """
    factor, unit = units.fitting(words.value, *ends)
    scaled = [name for name in ("value", "low", "high", "linear") if name in points.columns]
    points, ends = points.with_columns(pl.col(scaled) * factor), (ends[0] * factor, ends[1] * factor)
    words, level = replace(words, value=unit), None if level is None else level * factor
    present = list(dict.fromkeys(one for one in series if one in set(points["label"])))[:MAX_SERIES]
    left_out = points["label"].n_unique() - len(present)
    more = f"the first {len(present)} of {len(present) + left_out} series" if left_out > 0 else ""
    points = points.filter(pl.col("label").is_in(present))
    data = rounded(points, digits=6)
    made = _lines if points["place"].dtype.is_numeric() else _dots if dots else _bars
    axis: dict[str, Any] = {
        "title": words.value,
        "scale": alt.Scale(domain=list(ends), nice=True, zero=False),
        # Along the bottom long numbers would reach over the edge; labels moved inwards come close to their neighbours.
        "axis": alt.Axis(
            labelFlush=made is not _lines,
            labelOverlap=True,
            labelSeparation=_APART,
            format=".4~s" if ends[1] >= _LONG else alt.Undefined,
            **_steps(data["value"]),
        ),
    }
    layers, height = made(_Drawing(data, words, list(series)[:MAX_SERIES], present, axis, level))
    if dots or level == 0:
        seen = finding_title.of_changes(points, words.name, unit, level or 0.0, words.place)
    else:
        seen = finding_title.of_values(points, words.name, unit, words.place)
    heading = marks.heading(*([seen] if seen else []), words.title, *words.subtitle, more)
    description = f"{words.title}: {words.value} by {words.place}."
    if width is None:
        return marks.layered(layers, heading, description, height)
    return alt.LayerChart(layer=layers, title=heading, width=width, height=height, description=description)


def _steps(values: pl.Series) -> dict[str, Any]:
    """Return axis settings without half steps for small counts, such as nodes."""
    few = bool((values == values.round()).all()) and 1 <= (values.max() or 0) <= _TICKS  # type: ignore[operator]
    return {"tickMinStep": 1} if few else {}


def _tips(words: Words) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="Series"),
        alt.Tooltip("place", type="nominal", title=words.place),
        alt.Tooltip("value:Q", title=words.value, format=",.4~g"),
        alt.Tooltip("low:Q", title="from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
        alt.Tooltip("runs:Q", title="repetitions"),
    ]


class _Drawing(NamedTuple):
    """The data and settings of lines, bars and points."""

    data: pl.DataFrame
    words: Words
    series: Sequence[str]
    """All labels; each has its colour."""
    present: Sequence[str]
    """Labels that have points."""
    axis: dict[str, Any]
    """Settings of the axis of values."""
    level: float | None


def _lines(drawing: _Drawing) -> tuple[list[Any], int]:
    data, words, series, present, axis, level = drawing
    places = sorted(data["place"].unique().to_list())
    even = len(places) > 3 and places[0] > 0 and places[-1] / places[0] > _EVEN  # noqa: PLR2004  of a power series
    straight = "linear" in data.columns
    x: alt.X
    if even:
        data = data.with_columns(place=pl.col("place").cast(pl.String))
        order = [str(one) for one in pl.Series(places).cast(pl.String)]
        x = alt.X("place:O", title=words.place, sort=order, axis=alt.Axis(labelAngle=0))
    else:
        # Room beside the outermost points, but not below 0: there is no such load.
        room = _ROOM * (places[-1] - places[0])
        low = 0.0 if straight else max(0.0, places[0] - room) if places[0] >= 0 else places[0] - room
        # Whole numbers, such as hosts, have no halves between them.
        ticks = alt.Axis(values=places) if len(places) <= _TICKS else alt.Undefined
        x = alt.X(
            "place:Q",
            title=words.place,
            scale=alt.Scale(domain=[low, places[-1] + room], nice=False, zero=False),
            axis=ticks,
        )
    y = alt.Y("value:Q", **axis)
    base = alt.Chart(data).encode(x, color=marks.series_colour(series, legend=present if len(present) > 1 else False))
    layers: list[Any] = []
    if straight and data["linear"].null_count() < data.height:
        # The line may leave the chart by a factor of a thousand.
        dotted = base.mark_line(strokeDash=[2, 4], strokeWidth=1.3, clip=True)
        layers.append(dotted.encode(alt.Y("linear:Q", title=words.value)))
    layers += _level(alt.Y("at:Q"), level)
    if spread := _spread(data):
        layers.append(spread.encode(x, alt.Y("low:Q", title=words.value), alt.Y2("high:Q"), base.encoding.color))
    layers.append(base.mark_line().encode(y))
    layers.append(base.mark_point(filled=True, size=55, opacity=1).encode(y, tooltip=_tips(words)))
    return layers, marks.HEIGHT


def _bars(drawing: _Drawing) -> tuple[list[Any], int]:
    x, base, spread, height = _ranked(drawing)
    bars = base.mark_bar().encode(x)
    return [bars, *spread, *_level(alt.X("at:Q"), drawing.level, "ink")], height


def _dots(drawing: _Drawing) -> tuple[list[Any], int]:
    """Draw points on their intervals: a bar from 0 would hide how far a ratio is from 1."""
    x, base, spread, height = _ranked(drawing)
    return [
        *_level(alt.X("at:Q"), drawing.level),
        *spread,
        base.mark_point(filled=True, size=80, opacity=1).encode(x),
    ], height


def _ranked(drawing: _Drawing) -> tuple[alt.X, alt.Chart, list[Any], int]:
    """Return the common parts of bars and points over names: a lane for each series of each name, and error bars."""
    data, words, series, present, axis, _ = drawing
    places = drawable(data["place"].unique(maintain_order=True).to_list())
    there = [one for one in series if one in set(data["label"])]
    lanes: Any = alt.YOffset("label:N", scale=alt.Scale(domain=drawable(there))) if len(present) > 1 else alt.Undefined
    place = marks.label_y(places, field="place").axis(labelLimit=_NAME_WIDTH)
    hue = marks.series_colour(series, legend=present if len(present) > 1 else False)
    if len(present) > 1 and max(map(len, present)) > LABEL_WIDTH:
        # Beside names of bars, two labels do not fit on a telephone.
        hue["legend"]["columns"] = 1
    base = alt.Chart(data).encode(
        place,
        yOffset=lanes,
        color=hue,
        tooltip=_tips(words),
    )
    ends: list[Any] = []
    if spread := _spread(data, color=colour("ink")):
        ends.append(spread.encode(alt.X("low:Q", title=words.value), alt.X2("high:Q"), place, yOffset=lanes))
    height = marks.bars_height(len(places)) if len(present) <= 1 else 18 * len(places) * len(there) + 60
    return alt.X("value:Q", **axis), base, ends, height


def _spread(data: pl.DataFrame, **settings: Any) -> Any:
    """Return error bars of the points that have them; a layer without any would give its scales no extent."""
    there = data.filter(pl.col("low").is_not_null())
    return None if there.is_empty() else alt.Chart(there).mark_rule(**settings)


def _level(place: alt.X | alt.Y, level: float | None, shade: str = "muted") -> list[Any]:
    """Return a dashed line, or nothing without a level."""
    if level is None:
        return []
    line = alt.Chart(pl.DataFrame({"at": [level]})).mark_rule(strokeDash=[4, 3], color=colour(shade))
    return [line.encode(place)]
