"""One series before and after a change, on one scale, by minutes since each side began."""

from __future__ import annotations

from typing import Final

import altair as alt
import polars as pl

from esxparse.charts import marks, reduce
from esxparse.charts.theme import colour

BEFORE: Final = "before"
AFTER: Final = "after"
_COLOURS: Final = {BEFORE: "rest", AFTER: "blue"}
_MINUTE_S: Final = 60


def pair(before: pl.DataFrame, after: pl.DataFrame, title: str, unit: str, note: str = "") -> alt.LayerChart | None:
    """Draw both sides as lines over their bands of lowest to highest sample.

    `before`, `after`: `time`, `value`, as `Comparison.series` returns them. `note`: second line of the title, such as a
    change of the load. Returns None if a side has no value.
    """
    sides = {BEFORE: before.drop_nulls(), AFTER: after.drop_nulls()}
    if any(one.is_empty() for one in sides.values()):
        return None
    reduced = [_reduced(frame, label) for label, frame in sides.items()]
    data = pl.concat(reduced)
    top = marks.top_of(data["value_max"].to_list(), None)
    low = min(0.0, *data["value_min"].to_list())
    y = alt.Scale(domain=[low, top], nice=False)
    hue = marks.series_colour([BEFORE, AFTER], [colour(name) for name in _COLOURS.values()])
    x = alt.X("minutes:Q", title="Minutes since the start of each side", axis=alt.Axis(tickCount=6))
    base = alt.Chart(reduce.rounded(data)).encode(x, color=hue)
    tips = [
        alt.Tooltip("label:N", title="side"),
        marks.number_tip("minutes", "minutes", 1),
        marks.number_tip("value", f"mean, {unit}"),
    ]
    high = alt.Y("value_max:Q", title=unit, scale=y)
    layers = [
        base.mark_area(opacity=0.16).encode(high, alt.Y2("value_min:Q")),
        base.mark_line().encode(alt.Y("value:Q", title=unit, scale=y), tooltip=tips),
    ]
    description = f"{title}. {note}".strip()
    return marks.layered(layers, marks.heading(title, note), description)


def _reduced(frame: pl.DataFrame, label: str) -> pl.DataFrame:
    """Return a side as mean, lowest and highest value of each stretch of time, by minutes since its start."""
    found = reduce.over_time(frame.lazy(), ["value"]).frame
    # Several captures follow one another; time between them is not drawn.
    minutes = (pl.col("time") - pl.col("time").min()).dt.total_seconds() / _MINUTE_S
    return found.select(
        label=pl.lit(label), minutes=minutes, value="value", value_min="value_min", value_max="value_max"
    )
