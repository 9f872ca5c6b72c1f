"""The title of a chart of many runs: the values that differ most, so that it says what is seen."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from esxparse.charts.names import shorten, with_value
from esxparse.recording import figure

_NAME: Final = 30
"""Columns that the name of a series may take."""
_NEAR: Final = 0.9
"""Of places where series differ by nearly as much as anywhere, the last is named."""


def of_values(points: pl.DataFrame, name: str, unit: str, place: str) -> str:
    """Return the title of values over places: the two series that differ most at a place, or both ends of one series.

    `points`: `place, label, value`. `name`, `unit`: of the values. `place`: title of the axis of places. The title is
    empty if no two series have a place in common.

    >>> points = pl.DataFrame({"place": [1, 1, 8, 8], "label": ["a", "b"] * 2, "value": [5.0, 5.0, 90.0, 40.0]})
    >>> of_values(points, "IOPS", "1/s", "VMs")
    'IOPS at 8 VMs: 90 1/s (a) against 40 (b)'
    >>> of_values(points.filter(label="a"), "IOPS", "1/s", "VMs")
    'IOPS: 5 1/s at 1 VM, 90 at 8 VMs'
    """
    points, unit = _placed(points), "" if name.startswith(unit) else unit
    if points.is_empty():
        return ""
    if points["label"].n_unique() > 1:
        both = points.filter(pl.len().over("place") > 1)
        if both.is_empty():
            return ""
        value = pl.col("value")
        # Where the lowest is 0 or less, no ratio tells how far apart they are.
        apart = pl.when(value.min() > 0).then(value.max() / value.min()).otherwise(value.max() - value.min())
        where = both.group_by("place", maintain_order=True).agg(apart.alias("apart"))
        far = where.filter(pl.col("apart") >= _NEAR * pl.col("apart").max())
        there = both.filter(pl.col("place") == far["place"][-1]).sort("value", descending=True, maintain_order=True)
        high, low = there.row(0, named=True), there.row(-1, named=True)
        both_ends = f"{_amount(high, unit)} ({_named(high)}) against {figure(low['value'])} ({_named(low)})"
        return f"{name}{_at(high['place'], place)}: {both_ends}"
    numeric = points["place"].dtype.is_numeric()
    ends = points.sort("place" if numeric else "value", descending=not numeric, maintain_order=True)
    first, last = ends.row(0, named=True), ends.row(-1, named=True)
    told, number = f"{name}: {_amount(first, unit)}", figure(last["value"])
    if first == last:
        return told
    if numeric:
        return f"{told}{_at(first['place'], place)}, {number}{_at(last['place'], place)}"
    return f"{told} ({shorten(first['place'], _NAME)}) against {number} ({shorten(last['place'], _NAME)})"


def of_changes(points: pl.DataFrame, name: str, level: float, place: str) -> str:
    """Return the title of ratios or changes: the one that is farthest from the level, of those shown to differ.

    `points`: `place, label, value, low, high`; the last two are null for a single run. `level`: no change.
    """
    points = _placed(points)
    within = (pl.col("low") <= level) & (pl.col("high") >= level)
    shown = points.filter(~within.fill_null(value=False))
    if shown.is_empty():
        return f"{name}: no difference shown"
    most = shown.sort((pl.col("value") - level).abs(), maintain_order=True).row(-1, named=True)
    who = f" {_named(most)}" if points["label"].n_unique() > 1 else ""
    number = f"{most['value']:+.3g} %" if level == 0 else figure(most["value"])
    return f"{name}{_at(most['place'], place)}:{who} {number}"


def _placed(points: pl.DataFrame) -> pl.DataFrame:
    """Return the points, those without a name at the place "none"; numbers of places that are missing are left out."""
    place = pl.col("place")
    if points["place"].dtype.is_numeric():
        return points.filter(place.is_not_null())
    return points.with_columns(place.fill_null("none"))


def _amount(row: dict[str, Any], unit: str) -> str:
    number = figure(row["value"])
    one = number == "1" and unit.isalpha() and unit.islower()
    return f"{number} {unit.removesuffix('s') if one else unit}".rstrip()


def _named(row: dict[str, Any]) -> str:
    return shorten(row["label"], _NAME)


def _at(place: Any, title: str) -> str:
    """Return the words for a place: at 8 VMs, at size 4 KiB; a name behind a comma."""
    try:
        number = f"{float(place):g}"
    except ValueError:
        return f", {shorten(place, _NAME)}"
    word, _, unit = title.partition(" [")
    return f" at {with_value(word, unit.removesuffix(']'), number, single=number == '1')}"
