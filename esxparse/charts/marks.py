"""The pieces of every chart: time axis, series lines, ranked bars, threshold rules.

Names of VMs and devices reach a chart only as values of data and as domains of scales, never inside an expression or a
field name: all their characters are drawn as text.

Arguments of the builders: `value` is the column to draw, `names` the labels in order of the legend, `look` the words
and colours beside the marks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar, cast

import altair as alt
import polars as pl

from esxparse.charts.reduce import Leaders, Reduced, drawable, emptiest, pieces, rounded
from esxparse.charts.theme import SERIES, colour, colours

HEIGHT: Final = 220
"""Height of a chart over time, pixels."""

BAR_STEP: Final = 22
"""Height of one bar of a ranking with its gap, pixels."""

MOST_POINTS: Final = 600
"""Most points in a chart of one quantity against another."""

_HEADROOM: Final = 1.06

_SHOW_SECONDS_BELOW: Final = 180

_TEXT_HEIGHT: Final = 0.08
"""Share of a chart's height that a label takes."""
_TEXT_WIDTH: Final = 0.018
"""Share of a chart's width that a letter takes, on a telephone."""
_ENDS: Final[dict[str, Any]] = {"right": "width", "left": 0, "center": alt.ExprRef("width / 2")}

_NEAR_END: Final = 0.25
_NEAR_LINES: Final = 0.07


_Drawn = TypeVar("_Drawn", bound=alt.Chart | alt.LayerChart)


class Limit(NamedTuple):
    """A line drawn like a threshold: a cap, the speed of a link."""

    warn: float | None
    critical: float | None = None


class Levels(Protocol):
    """The parts of a threshold that a chart needs; `esxparse.diagnosis.rules.Rule` has them."""

    @property
    def warn(self) -> float | None:
        """From here on the value deserves a look."""

    @property
    def critical(self) -> float | None:
        """From here on the value hurts."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """The words beside the marks of a chart, and their look."""

    title: alt.TitleParams
    description: str
    """Words for readers who cannot see the chart."""
    noun: str
    """The kind of thing that a label identifies, for tooltips."""
    unit: str
    """For tooltips and limits."""
    axis: str = ""
    """Title of the value axis; the unit if empty."""
    levels: Levels | None = None
    """A threshold to draw."""
    words: tuple[str, str] = ("warn", "critical")
    """The names of its two limits."""
    palette: Sequence[str] | None = None
    """The colours of the names; by default the colours of series."""
    legend: bool | Sequence[str] = True


def heading(title: str, *parts: str) -> alt.TitleParams:
    """Return the title of a chart, with the non-empty `parts` as its subtitle."""
    subtitle = "; ".join(part for part in parts if part)
    if not subtitle:
        return alt.TitleParams(title)
    return alt.TitleParams(title, subtitle=[subtitle[:1].upper() + subtitle[1:]])


def time_x(times: pl.Series) -> alt.X:
    """Return the horizontal axis for `times`, in UTC whatever the reader's own time zone; its title has the date."""
    first, last = times.min(), times.max()
    if not isinstance(first, datetime) or not isinstance(last, datetime):
        raise TypeError(f"the column {times.name!r} holds no times")
    one_day = first.date() == last.date()
    dates = f"{first:%Y-%m-%d}" if one_day else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
    brief = (last - first).total_seconds() < _SHOW_SECONDS_BELOW
    form = "%H:%M:%S" if brief else "%H:%M" if one_day else "%m-%d %H:%M"
    return alt.X(
        "time:T",
        title=f"Time (UTC), {dates}",
        scale=alt.Scale(type="utc"),
        axis=alt.Axis(format=form, tickCount=6, labelSeparation=8),
    )


def time_tip(title: str = "Time (UTC)") -> alt.Tooltip:
    """Return a tooltip with the exact time of a point, in UTC."""
    return alt.Tooltip("time:T", timeUnit="utcyearmonthdatehoursminutesseconds", title=title)


def number_tip(field: str, title: str, digits: int = 2) -> alt.Tooltip:
    """Return a tooltip with the exact value of a point."""
    return alt.Tooltip(f"{field}:Q", title=title, format=f",.{digits}f")


def series_colour(
    names: Sequence[str], palette: Sequence[str] | None = None, *, legend: bool | Sequence[str] = True
) -> alt.Color:
    """Return colours for `names` in their order, with a legend of all, of the ones in `legend`, or none if False."""
    values = alt.Undefined if isinstance(legend, bool) else drawable(legend)
    return alt.Color(
        "label:N",
        title=None,
        scale=alt.Scale(domain=drawable(names), range=list(palette or colours(len(names)))),
        # Symbols would take on the faintness of a band.
        legend=alt.Legend(symbolOpacity=1, values=values) if legend else None,
    )


def kinds_colour(field: str, colours: Mapping[str, str], legend: alt.Legend | None = None) -> alt.Color:
    """Return colours for kinds of things, by the names of colours, with a legend."""
    scale = alt.Scale(domain=list(colours), range=[colour(name) for name in colours.values()])
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=legend or alt.Undefined)


def top_of(values: Sequence[float | None], levels: Levels | None) -> float:
    """Return the upper end of an axis that shows all `values`, the first threshold, and the second if it is near."""
    present = [value for value in values if value is not None]
    highest = max(present, default=0.0)
    marks = [highest]
    if levels is not None and levels.warn is not None:
        marks.append(levels.warn)
        if levels.critical is not None and highest > levels.warn:
            marks.append(levels.critical)
    return max(marks) * _HEADROOM or 1.0


def rules(
    levels: Levels | None,
    top: float,
    unit: str,
    axis: str = "y",
    words: tuple[str, str] = ("warn", "critical"),
    place: Callable[[float, str], str] | None = None,
) -> list[alt.Chart]:
    """Return dashed lines with labels at the thresholds below `top`, the upper end of the axis.

    `axis` is "y" for lines across a chart over time, "x" for lines down a ranking; `words` are the names of the two
    limits; `place` chooses a free place for the label above a line: "right", "left" or "center".
    """
    if levels is None:
        return []
    drawn: list[alt.Chart] = []
    limits = (("warn", levels.warn), ("critical", levels.critical))
    warn, critical = levels.warn, levels.critical
    # If two lines across a chart are close, one label serves both.
    near = axis == "y" and warn is not None and critical is not None and 0 < warn < critical <= top
    near = near and (critical or 0.0) - (warn or 0.0) < _NEAR_LINES * top
    for (level, value), word in zip(limits, words, strict=True):
        if value is None or not 0 < value <= top or (level == "critical" and value == levels.warn):
            continue
        # The axis has the words of a unit: a label has room for a sign.
        text = f"{word} {value:,g} {unit.partition(' of ')[0]}".strip()
        if near:
            text = "" if level == "warn" else f"{words[0]} {warn:,g}, {text}"
        base = alt.Chart(pl.DataFrame({"at": [float(value)], "text": [text]}))
        across = axis == "y"
        at = alt.Y("at:Q") if across else alt.X("at:Q")
        rule = base.mark_rule(strokeDash=[6, 4], strokeWidth=1.3, color=colour(level)).encode(at)
        side = (place(value, text) if place else "right") if across else _word_side(level, value / top)
        settings: dict[str, Any] = {
            "align": side,
            "baseline": "bottom",
            "dx": {"right": -3, "left": 3, "center": 0}[side],
            "dy": -3 if across else 0,
        }
        # In a ranking the words are on two lines: however close the limits are, neither covers the other.
        height = -3 if level == "warn" else -15
        other = alt.X(value=_ENDS[side]) if across else alt.Y(value=height)
        # A rim in the colour of the page keeps the words readable if lines run behind them.
        rim = base.mark_text(**settings, stroke=colour("page"), strokeWidth=3, strokeOpacity=0.7, strokeJoin="round")
        label = base.mark_text(**settings, color=colour(level))
        drawn += [rule, *(layer.encode(at, other, alt.Text("text:N")) for layer in (rim, label))]
    return drawn


def _word_side(level: str, position: float) -> Literal["left", "right"]:
    """Return the alignment of words at an upright line: away from the other threshold, if the chart has room."""
    if level == "warn":
        return "right" if position > _NEAR_END else "left"
    return "left" if position < 1 - _NEAR_END else "right"


def same_colours(leaders: Leaders) -> list[str]:
    """Return colours for `leaders.chosen` that an instance keeps from chart to chart."""
    palette = colours(len(SERIES))
    return [palette[place] for place in leaders.places]


def layered(
    layers: Sequence[alt.Chart | alt.LayerChart], title: alt.TitleParams, description: str, height: float = HEIGHT
) -> alt.LayerChart:
    """Layer charts as wide as `fluid` ones, in one call: altair copies all layers with each property."""
    return alt.LayerChart(layer=layers, title=title, **_place(description, height))


def fluid(chart: _Drawn, description: str, height: float = HEIGHT) -> _Drawn:
    """Return `chart` as wide as its container, with words for readers who cannot see it."""
    return cast("_Drawn", chart.properties(**_place(description, height)))


def _place(description: str, height: float) -> dict[str, Any]:
    return {
        "width": "container",
        "height": height,
        "autosize": alt.AutoSizeParams(type="fit-x", contains="padding"),
        "description": description,
    }


def over_time(
    reduced: Reduced,
    value: str,
    names: Sequence[str],
    look: Look,
    *,
    dash: str | None = None,
    rest: str = "",
) -> alt.LayerChart:
    """Draw lines of `value` over time, one for each of `names`, over their bands of lowest to highest sample.

    `reduced` has `label`, `time`, `value`, `value_min`, `value_max`, perhaps `full` (the unshortened name) and `dash`,
    a column that separates solid from dashed lines. `rest`: label of the many others, a grey line in its band.
    """
    unit, y_title = look.unit, look.axis or look.unit
    low, high = f"{value}_min", f"{value}_max"
    lines = ["label", *([dash] if dash is not None else [])]
    data = pieces(reduced, lines, value)
    top = top_of(data[high].to_list(), look.levels)
    detail = [f"{name}:N" for name in ("piece", dash) if name in data.columns]
    base = alt.Chart(rounded(data)).encode(time_x(data["time"]), detail=detail or alt.Undefined)
    scale = alt.Scale(domain=[0, top], nice=False)
    y = alt.Y(f"{value}:Q", title=y_title, scale=scale)
    hues = list(look.palette or colours(len(names)))
    more = [rest] if rest else []
    hue = series_colour([*names, *more], [*hues, colour("rest")][: len(hues) + len(more)], legend=look.legend)
    series: dict[str, Any] = {"color": hue}
    if dash is not None:
        series["strokeDash"] = alt.StrokeDash(
            f"{dash}:N", title=None, legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=1.7, orient="bottom")
        )
    # Not `nearest`: Vega-Lite 6.4 then reads the names in tooltips from the wrong place and shows "undefined".
    hover = alt.selection_point(on="pointerover", clear="pointerout", empty=False, fields=["label", "time"])
    name = "full" if "full" in data.columns else "label"
    tips = [alt.Tooltip(f"{name}:N", title=look.noun), time_tip(), number_tip(value, unit)]
    layers: list[Any] = []
    if reduced.step_s is not None or rest:
        when = time_tip() if reduced.step_s is None else time_tip(title="From (UTC)")
        tips = [*tips[:1], when, number_tip(value, f"mean, {unit}")]
        tips += [number_tip(low, f"lowest, {unit}"), number_tip(high, f"highest, {unit}")]
        # The thin line at the band's upper edge keeps a peak of one bucket visible.
        edge = alt.OverlayMarkDef(opacity=0.55, strokeWidth=0.9)
        many = base
        if reduced.step_s is None:
            many = alt.Chart(rounded(data.filter(label=rest))).encode(base.encoding.x)
        band = many.mark_area(opacity=0.16, line=edge).encode(alt.Y(f"{high}:Q", title=y_title, scale=scale))
        layers.append(band.encode(alt.Y2(f"{low}:Q"), color=hue, detail=detail))
    layers.append(base.mark_line().encode(y, **series))
    # Spelled out, so that altair does not search all its classes for the right one.
    seen = alt.OpacityValue(**alt.when(hover).then(alt.value(1)).otherwise(alt.value(0)))
    dots = base.mark_point(filled=True, size=70).encode(y, seen, color=hue, tooltip=tips)
    layers += [*lonely(base, data, y, hue), dots.add_params(hover)]

    def place(at: float, text: str) -> str:
        return emptiest(data, lines, value, (at, at + _TEXT_HEIGHT * top), min(0.5, _TEXT_WIDTH * len(text)))

    return layered(
        [*layers, *rules(look.levels, top, unit, words=look.words, place=place)], look.title, look.description
    )


def lonely(base: alt.Chart, data: pl.DataFrame, y: alt.Y, hue: alt.Color) -> list[alt.Chart]:
    """Draw dots for the rows of `data` that no line shows, between two gaps (`reduce.pieces`)."""
    if "alone" not in data.columns or not data["alone"].any():
        return []
    return [base.transform_filter(alt.datum.alone).mark_point(filled=True, size=16, opacity=1).encode(y, color=hue)]


def against(
    points: pl.DataFrame, x: str, y: str, *, title: str, about: str, description: str, hue: str, words: Sequence[str]
) -> alt.Chart:
    """Draw points of `y` against `x`, thinned if there are many; `words`: titles of both axes, unit of `y`."""
    every = -(-points.height // MOST_POINTS)
    seen = f"every {every}th {about}" if every > 1 else f"one point per {about}"
    chart: alt.Chart = (
        alt.Chart(rounded(points.gather_every(every)), title=heading(title, seen))
        .mark_point(filled=True, size=36, opacity=0.5, color=colour(hue))
        .encode(
            alt.X(f"{x}:Q", title=words[0], scale=alt.Scale(zero=False, padding=12)),
            alt.Y(f"{y}:Q", title=words[1], scale=alt.Scale(zero=False, padding=12)),
            tooltip=[time_tip(), number_tip(x, "util, %"), number_tip(y, words[2])],
        )
    )
    return fluid(chart, description)


def stacked_time(
    reduced: Reduced,
    value: str,
    names: Sequence[str],
    look: Look,
) -> alt.Chart | alt.LayerChart:
    """Draw areas of `value` over time, stacked in the order of `names`, from the bottom up.

    `reduced` has `label`, `time`, `value`. A sample between two gaps is a bar. The caller sets the heading.
    """
    order = pl.DataFrame({"label": list(names), "place": range(len(names))})
    ordered = reduced.frame.select("label", "time", value).join(order, on="label").sort("place", "time")
    data = pieces(reduced._replace(frame=ordered), ["label"], value)
    y = alt.Y(f"{value}:Q", title=look.axis or look.unit, stack="zero")
    base = alt.Chart(rounded(data)).encode(
        time_x(data["time"]),
        y,
        color=series_colour(names, palette=look.palette),
        order=alt.Order("place:Q"),
        tooltip=[alt.Tooltip("label:N", title=look.noun), time_tip(), number_tip(value, look.unit)],
    )
    drawn: alt.Chart | alt.LayerChart = base.mark_area(opacity=0.85)
    if "piece" in data.columns:
        # Otherwise Vega takes 0 for a piece in which only others have samples.
        drawn = drawn.encode(y.impute(None), detail=["piece:N"])
        if data["alone"].any():
            bars = base.transform_filter(alt.datum.alone).mark_bar(opacity=0.85, size=3)
            drawn = alt.LayerChart(layer=[drawn, bars])
    return drawn


def ranked(
    table: pl.DataFrame,
    value: str,
    look: Look,
    mark: str = "max",
    mark_title: str = "highest sample",
) -> alt.LayerChart:
    """Draw bars of `value`, longest first as `table` is sorted, with a tick at `mark`.

    They are grey: colours separate names, and here the axis already has them. A report colours the bars with findings.

    `table` has `label`, `full`, `value` and `mark` (such as the highest sample), one row per instance, in order.
    """
    labels = table["label"].to_list()
    top = top_of([*table[value].to_list(), *table[mark].to_list()], look.levels)
    base = alt.Chart(rounded(table)).encode(label_y(labels))
    scale = alt.Scale(domain=[0, top], nice=False)
    tips = [
        alt.Tooltip("full:N", title=look.noun),
        number_tip(value, f"{value}, {look.unit}"),
        number_tip(mark, f"{mark_title}, {look.unit}"),
    ]
    hue = series_colour(labels, [colour("rest")] * len(labels), legend=False)
    bars = base.mark_bar(height=alt.RelativeBandSize(0.62)).encode(
        alt.X(f"{value}:Q", title=look.axis, scale=scale), hue, tooltip=tips
    )
    tick = base.mark_tick(color=colour("ink"), thickness=2, height=alt.RelativeBandSize(0.62))
    ticks = tick.encode(alt.X(f"{mark}:Q", title=look.axis, scale=scale), tooltip=tips)
    layers = [bars, ticks, *rules(look.levels, top, look.unit, axis="x")]
    return layered(layers, look.title, look.description, bars_height(table.height))


def label_y(labels: Sequence[str], field: str = "label") -> alt.Y:
    """Return a vertical axis of names in the order given."""
    return alt.Y(f"{field}:N", title=None, sort=None, scale=alt.Scale(domain=drawable(labels)))


def bars_height(count: int) -> int:
    """Return the height in pixels of a ranking of `count` bars."""
    return max(count, 1) * BAR_STEP + 8
