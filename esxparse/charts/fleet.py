"""How the waits of VMs are spread over a fleet, and from day to day."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import altair as alt
import polars as pl

from esxparse.charts import marks
from esxparse.charts.theme import colour, colours

_EDGES: Final = (0, 0.5, 1, 2, 5, 10, 20, 50, 100)
"""% of one core; rules warn at 5 and 10."""
_EDGE: Final = 20
"""Pixels from the end of an axis within which a label is moved inwards: half of one."""
_FEW_DAYS: Final = 14
_TICKS: Final = 8
_POINTS_TO: Final = 60
"""Most days for which points are drawn; beyond, they run together."""
_MONTHS_FROM: Final = 240
"""Days above which ticks are months: a day without its year could belong to two years."""
_APART: Final = 3
"""Days without samples across which no line is drawn: a weekend has two."""
_LINES: Final = {"median_pct": "median VM", "p90_pct": "worst tenth from here", "p99_pct": "worst hundredth from here"}


def ready_spread(ready: pl.DataFrame) -> alt.LayerChart | None:
    """Draw how many VMs have how much ready time.

    `ready`: `metrics.fleet.ready`: a row per VM with `p95_pct`.
    """
    if ready.is_empty():
        return None
    bins = [f"{low:g} to {high:g}" for low, high in pairwise(_EDGES)] + [f"{_EDGES[-1]:g} and more"]
    place = pl.sum_horizontal(pl.col("p95_pct") >= edge for edge in _EDGES[1:])
    counts = dict(ready.group_by(place=place).len().iter_rows())
    data = pl.DataFrame({"bin": bins, "vms": [counts.get(at, 0) for at in range(len(bins))]})
    # Each bar covers a different range, so every bar needs its label.
    axis = alt.Axis(labelAngle=-45, labelOverlap=False)
    bars = (
        alt.Chart(data)
        .mark_bar(color=colour("rest"))
        .encode(
            alt.X("bin:N", title="ready, 95th percentile, % of one core", sort=None, axis=axis),
            alt.Y("vms:Q", title="VMs", axis=alt.Axis(tickMinStep=1)),
            tooltip=[alt.Tooltip("bin:N", title="% of one core"), marks.number_tip("vms", "VMs", 0)],
        )
    )
    words = bars.mark_text(dy=-7, color=colour("ink")).encode(text=alt.Text("vms:Q", format=","))
    title = marks.heading("Ready time of the fleet's VMs", "each VM once, by the 95th percentile of its vCPUs' samples")
    return marks.layered([bars, words], title, "VMs by the 95th percentile of their ready time, % of one core.")


def ready_by_day(days: pl.DataFrame) -> alt.LayerChart | None:
    """Draw the same from day to day: the median, and the start of the worst tenth and hundredth.

    `days`: `metrics.fleet.ready_by_day`. None if there is one day only.
    """
    if days.height <= 1:
        return None
    long = days.unpivot(list(_LINES), index="date", value_name="pct")
    data = _pieces(long.with_columns(label=pl.col("variable").replace_strict(_LINES)))
    first, last = days["date"].min(), days["date"].max()
    span = (last - first).days  # type: ignore[operator, union-attr]
    # A tick a day if there is room; otherwise Vega chooses weeks, months or years.
    axis = alt.Axis(
        format="%b %Y" if span > _MONTHS_FROM else "%d %b",
        tickCount="day" if span <= _FEW_DAYS else _TICKS,
        labelOverlap=True,
        labelFlush=_EDGE,
    )
    base = alt.Chart(data).encode(
        alt.X("date:T", title=None, axis=axis),
        alt.Y("pct:Q", title="ready, % of one core"),
        marks.series_colour(list(_LINES.values()), colours(len(_LINES))),
        detail="piece:N",
        tooltip=[
            alt.Tooltip("label:N", title="VMs"),
            alt.Tooltip("date:T", title="Day (UTC)", format="%Y-%m-%d"),
            marks.number_tip("pct", "% of one core"),
        ],
    )
    apart = f"lines end where {_APART} days or more have no samples" if data["piece"].max() else ""
    title = marks.heading("Ready time day by day", "each VM once a day, by its 95th percentile", apart)
    dots = base.mark_point(filled=True, size=40)
    lines = [base.mark_line(), dots if span <= _POINTS_TO else dots.transform_filter(alt.datum.alone)]
    return marks.layered(lines, title, "Ready time of the fleet's VMs by day, % of one core.")


def _pieces(days: pl.DataFrame) -> pl.DataFrame:
    """Return `date`, `label`, `pct`, `piece` (the day's stretch between gaps), `alone` (the only day of it)."""
    gap = pl.col("date").diff().dt.total_days() > _APART
    piece = gap.fill_null(value=False).cast(pl.Int64).cum_sum().over("label", order_by="date")
    pieces = days.select("date", "label", "pct").with_columns(piece=piece)
    return pieces.with_columns(alone=pl.len().over("label", "piece") == 1)
