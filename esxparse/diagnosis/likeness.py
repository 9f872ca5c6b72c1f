"""What moved like a series, and what two recordings differ in: over all counters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from esxparse.counters.series import lasting_name
from esxparse.diagnosis.changes import Every, every
from esxparse.errors import EsxparseError
from esxparse.metrics.interval import needs_scipy
from esxparse.recording import Recording, counted

_SIDES: Final = ("", "_after")
_LAGS: Final = 6
"""Samples by which a series may lead or follow."""
_FEWEST: Final = 8


def similar(
    rec: Recording, series: tuple[str, str, str], window: tuple[datetime, datetime] | None = None
) -> pl.DataFrame:
    """Tell what else moved like a series.

    `series`: table, column and instance, as a row of `changes(rec).series` has them; the table may be a derived one,
    which is then looked at as well. `window`: the time looked at.

    Returns: every other series that moves, the most alike first: table, counter, instance; correlation f64, Pearson's,
    at the lag where it is largest, of at most 6 samples; lag_s f64, above 0 where it follows the series.

    Raises EsxparseError: There is no such series or it never moves, or the window has fewer than 20 samples.
    """
    whole, _ = every(rec, [series[0]] if series[0] in rec.derived else ())
    inside = np.ones(len(whole.times), dtype=bool)
    if window is not None:
        inside = whole.times.is_between(*window).to_numpy()
    if inside.sum() < _FEWEST + 2 * _LAGS:
        has = counted(inside.sum(), "sample")
        msg = f"the window has {has} of {rec.source}: give one of {_FEWEST + 2 * _LAGS} or more"
        raise EsxparseError(msg)
    mine = whole.names.select(pl.concat_list("table", "counter", "instance") == list(series)).to_series().arg_true()
    if not len(mine):
        msg = f"{rec.source} has no series {series} that moves: see changes(rec).series for their names"
        raise EsxparseError(msg)
    values = np.nan_to_num(_standard(whole.values[:, inside]))
    samples = values.shape[1] - 2 * _LAGS
    own = _standard(values[int(mine[0]), _LAGS : _LAGS + samples][None, :])[0] / samples
    lags = range(-_LAGS, _LAGS + 1)
    each = np.stack([_standard(values[:, _LAGS + lag : _LAGS + lag + samples]) @ own for lag in lags])
    best = np.nanargmax(np.abs(np.nan_to_num(each)), axis=0)
    correlation = np.take_along_axis(each, best[None, :], 0)[0]
    step = float(np.median(np.diff(whole.times.dt.epoch("us").to_numpy()))) / 1e6
    told = whole.names.with_columns(correlation=correlation.astype(np.float64), lag_s=(best - _LAGS) * step)
    others = told.with_row_index("_row").filter(pl.col("_row") != mine[0], pl.col("correlation").is_not_nan())
    return others.drop("_row").sort(pl.col("correlation").abs(), descending=True, maintain_order=True)


def _standard(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row less its mean, over its standard deviation; NaN where it never moves."""
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = np.nanmean(values, axis=1, keepdims=True)
        spread = np.nanstd(values, axis=1, keepdims=True)
        return np.where(spread > 0, (values - middle) / spread, np.nan).astype(np.float32)


def compare(before: Recording, after: Recording, confidence: float = 0.95, derived: Sequence[str] = ()) -> pl.DataFrame:
    """Tell what got more or less from one recording to another, counter by counter.

    Series of one name are compared, whatever their worlds, groups and ports are numbered. Samples of a host are like
    their neighbours: each series counts as n (1 - r) / (1 + r) samples, r the correlation from one to the next.
    `derived`: names of derived tables to compare as well.

    Returns: one row per series of both, the surest change first: table, counter, instance; before, after f64, means;
    change f64, after - before; change_pct f64, of `before`; change_low, change_high f64, Welch's interval; p f64, after
    Benjamini and Hochberg over all series; differs bool, p below 1 - confidence.

    Raises EsxparseError: A recording has fewer than 12 samples, or scipy is not there.

    Source: B. L. Welch 1947; Y. Benjamini and Y. Hochberg 1995; the count of samples, general knowledge of AR(1).
    """
    needs_scipy()
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415  (an extra, and slow to import)

    sides = [_means(every(rec, derived, still=True)[0], rec) for rec in (before, after)]
    both = sides[0].join(sides[1], on=["table", "counter", "instance"], suffix="_after", maintain_order="left")
    square = [both[f"variance{side}"].to_numpy() / both[f"count{side}"].to_numpy() for side in _SIDES]
    change = (both["mean_after"] - both["mean"]).to_numpy()
    error = np.sqrt(square[0] + square[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = [one**2 / (both[f"count{side}"].to_numpy() - 1) for one, side in zip(square, _SIDES, strict=True)]
        freedom = np.maximum((square[0] + square[1]) ** 2 / (parts[0] + parts[1]), 1)
        chance = np.where(error > 0, 2 * stdtr(freedom, -np.abs(change) / error), np.where(change == 0, 1.0, 0.0))
    reach = stdtrit(freedom, (1 + confidence) / 2) * error
    order = np.argsort(chance, kind="stable")
    ranked = chance[order] * len(chance) / np.arange(1, len(chance) + 1)
    adjusted = np.empty_like(chance)
    adjusted[order] = np.minimum(np.minimum.accumulate(ranked[::-1])[::-1], 1)
    told = both.select("table", "counter", "instance", before="mean", after="mean_after").with_columns(
        change=change,
        change_pct=pl.when(pl.col("before") != 0).then(100 * pl.Series(change) / pl.col("before").abs()),
        change_low=change - reach,
        change_high=change + reach,
        p=adjusted,
        differs=adjusted < 1 - confidence,
    )
    return told[np.lexsort((-np.abs(change) / np.maximum(error, 1e-12), adjusted))]


def _means(whole: Every, rec: Recording) -> pl.DataFrame:
    """Mean, variance and the samples that each series counts as, under names that outlive a restart."""
    values = whole.values.astype(np.float64)
    off = values - np.nanmean(values, axis=1, keepdims=True)
    flat = np.nan_to_num(off)
    squares = np.maximum((flat**2).sum(axis=1), 1e-30)
    alike = np.clip((flat[:, 1:] * flat[:, :-1]).sum(axis=1) / squares, 0, 0.99)
    known = (~np.isnan(values)).sum(axis=1)
    frame = whole.names.with_columns(
        mean=np.nanmean(values, axis=1),
        variance=np.nanvar(values, axis=1, ddof=1),
        count=np.maximum(known * (1 - alike) / (1 + alike), 2.0),
    )
    return _renamed(frame, rec).unique(["table", "counter", "instance"], keep="none", maintain_order=True)


def _renamed(frame: pl.DataFrame, rec: Recording) -> pl.DataFrame:
    """Instances by their names, without the numbers that a restart changes."""
    named = [
        rec[table].select("instance", table=pl.lit(table), plain=plain).unique().collect()
        for table in frame["table"].unique(maintain_order=True)
        if table in rec and (plain := lasting_name(rec[table].collect_schema())) is not None
    ]
    if not named:
        return frame
    new = frame.join(pl.concat(named), on=["table", "instance"], how="left", maintain_order="left")
    return new.with_columns(instance=pl.coalesce("plain", "instance")).drop("plain")
