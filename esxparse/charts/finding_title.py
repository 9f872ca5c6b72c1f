"""The title of a chart of many runs: the values that differ most."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from esxparse.charts.names import shorten, with_value
from esxparse.recording import figure

_NAME: Final = 40
"""Columns that the name of a series may fill."""
_NEAR: Final = 0.9
"""If series differ nearly as much at several places, the title has the last."""


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
    between = _between_series if points["label"].n_unique() > 1 else _between_ends
    return between(points, name, unit, place)


def _between_series(points: pl.DataFrame, name: str, unit: str, place: str) -> str:
    """Return the highest and lowest series at the place at which they are farthest apart."""
    both = points.filter(pl.len().over("place") > 1)
    if both.is_empty():
        return ""
    value = pl.col("value")
    # If the lowest is 0 or less, a ratio has no meaning: compare differences.
    apart = pl.when(value.min() > 0).then(value.max() / value.min()).otherwise(value.max() - value.min())
    where = both.group_by("place", maintain_order=True).agg(apart.alias("apart"))
    far = where.filter(pl.col("apart") >= _NEAR * pl.col("apart").max())
    there = both.filter(pl.col("place") == far["place"][-1]).sort("value", descending=True, maintain_order=True)
    high, low = there.row(0, named=True), there.row(-1, named=True)
    highest, least = f"{name}{_at(high['place'], place)}: {_amount(high, unit)}", figure(low["value"])
    if figure(high["value"]) == least:
        return f"{highest} for {'both' if there.height == 2 else 'all'}"  # noqa: PLR2004
    return f"{highest} ({_series_name(high)}) against {least} ({_series_name(low)})"


def _between_ends(points: pl.DataFrame, name: str, unit: str, place: str) -> str:
    """Return the first and last value of a sweep, or the highest and lowest of names."""
    numeric = points["place"].dtype.is_numeric()
    ends = points.sort("place" if numeric else "value", descending=not numeric, maintain_order=True)
    first, last = ends.row(0, named=True), ends.row(-1, named=True)
    seen, number = f"{name}: {_amount(first, unit)}", figure(last["value"])
    if first == last:
        return seen
    if numeric:
        return f"{seen}{_at(first['place'], place)}, {number}{_at(last['place'], place)}"
    return f"{seen} ({shorten(first['place'], _NAME)}) against {number} ({shorten(last['place'], _NAME)})"


def of_changes(points: pl.DataFrame, name: str, unit: str, level: float, place: str) -> str:
    """Return the title of ratios or changes: the one that is farthest from the level, of those shown to differ.

    `points`: `place, label, value, low, high`; the last two are null for a single run. `unit`: of the values, without
    one for ratios. `level`: no change.

    >>> points = pl.DataFrame({"place": [4, 8], "label": "a", "value": [99.9, 90.0], "low": None, "high": None})
    >>> of_changes(points, "Efficiency", "% of a straight line", 100.0, "hosts")
    'Efficiency at 8 hosts: 90 % of a straight line'
    """
    points = _placed(points)
    within = (pl.col("low") <= level) & (pl.col("high") >= level)
    significant = points.filter(~within.fill_null(value=False))
    if significant.is_empty():
        return f"{name}: no difference shown"
    most = significant.sort((pl.col("value") - level).abs(), maintain_order=True).row(-1, named=True)
    series = f" ({_series_name(most)})" if points["label"].n_unique() > 1 else ""
    amount = f"{most['value']:+.3g} %" if level == 0 else _amount(most, "" if name.endswith(unit) else unit)
    return f"{name}{_at(most['place'], place)}: {amount}{series}"


def _placed(points: pl.DataFrame) -> pl.DataFrame:
    """Return the points, with the place "none" if it has no name; points without a numeric place are left out."""
    place = pl.col("place")
    if points["place"].dtype.is_numeric():
        return points.filter(place.is_not_null())
    return points.with_columns(place.fill_null("none"))


def _amount(row: dict[str, Any], unit: str) -> str:
    number = figure(row["value"])
    one = number == "1" and unit.isalpha() and unit.islower()
    return f"{number} {unit.removesuffix('s') if one else unit}".rstrip()


def _series_name(row: dict[str, Any]) -> str:
    return shorten(row["label"], _NAME)


def _at(place: Any, title: str) -> str:
    """Return the words for a place: at 8 VMs, at size 4 KiB; a name behind a comma."""
    try:
        value = float(place)
        number = f"{value:,.0f}" if value.is_integer() else f"{value:g}"
    except ValueError:
        return f", {shorten(place, _NAME)}"
    word, _, unit = title.partition(" [")
    return f" at {with_value(word, unit.removesuffix(']'), number, single=number == '1')}"
