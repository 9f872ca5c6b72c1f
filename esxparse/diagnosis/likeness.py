"""Series that moved like another one, over all counters."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from esxparse.diagnosis.changes import every
from esxparse.errors import EsxparseError
from esxparse.reading import Capture, as_recording
from esxparse.recording import counted

_LAGS: Final = 6
"""Samples by which a series may lead or follow."""
_FEWEST: Final = 8


def similar(
    rec: Capture, series: tuple[str, str, str], window: tuple[datetime, datetime] | None = None
) -> pl.DataFrame:
    """Return all series by how much they moved like a given one.

    `series`: table, column and instance, as a row of `changes(rec).series` has them; the table may be a derived one,
    which is then looked at as well. `window`: the time to look at.

    Returns: every other series that moves, the most alike first: table, counter, instance; correlation f64, Pearson's,
    at the lag with the largest, of at most 6 samples; lag_s f64, above 0 if it follows the series.

    Raises EsxparseError: There is no such series or it never moves, or the window has fewer than 20 samples.
    """
    rec = as_recording(rec)
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
    correlations = whole.names.with_columns(correlation=correlation.astype(np.float64), lag_s=(best - _LAGS) * step)
    others = correlations.with_row_index("_row").filter(pl.col("_row") != mine[0], pl.col("correlation").is_not_nan())
    return others.drop("_row").sort(pl.col("correlation").abs(), descending=True, maintain_order=True)


def _standard(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each row less its mean, over its standard deviation; NaN if it never moves."""
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = np.nanmean(values, axis=1, keepdims=True)
        spread = np.nanstd(values, axis=1, keepdims=True)
        return np.where(spread > 0, (values - middle) / spread, np.nan).astype(np.float32)
