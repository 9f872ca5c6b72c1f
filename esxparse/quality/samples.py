"""Whole samples of a capture, as rows of its profile: repeated samples, and outliers among their neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Final

import numpy as np
import polars as pl

from esxparse.quality import data

BUSIEST: Final = ("vcpu", "group_cpu", "physical_cpu")
"""The tables that identify samples: they have the most numbers that change with each measurement."""
NOISY: Final = frozenset({"% of one core", "% of time", "% of nominal", "ms", "1/s", "MiB/s", "Mibit/s"})
"""Units of quantities that change in each sample."""
LEAST: Final = 3
"""Fewest samples for comparisons."""
_TIMES: Final = 3.0
"""A number is unlike its neighbours if it is three times as large or as small as both."""
_SINCE_BOOT: Final = 5.0
"""The first number covers a longer time if it is five times as large as any later one."""
_NUMBERS: Final = 20
"""Fewest numbers for judging a sample."""


def rows(frames: Mapping[str, pl.DataFrame], widths: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Yield the rows on samples; `widths`: instances of each sample by table, 0 if they differ."""
    fit = [name for name in BUSIEST if widths.get(name) and frames[name].height >= LEAST * widths[name]]
    if not fit:
        return
    unknown = np.logical_and.reduce([_unmeasured(name, frames[name], widths[name]) for name in fit])
    matrices = [matrix[~unknown] for name in fit for matrix in _matrices(name, frames[name], widths[name])]
    if not matrices or len(matrices[0]) < LEAST:
        return
    times = frames[fit[0]].get_column("time").gather_every(widths[fit[0]]).filter(pl.Series(~unknown))
    for name, unit, extreme in (
        ("repeated", "count", _repeated(matrices)),
        ("unlike_pct", "%", _unlike(matrices)),
        ("first_pct", "%", _first(matrices)),
        ("empty", "count", _empty(matrices)),
    ):
        if extreme:
            worst, place = extreme
            found = {"rows": len(times), "max": worst, "max_time": times[place] if worst else None}
            yield {"kind": "sample", "name": name, "of": "", "unit": unit, **found}


def _noisy(table: str, frame: pl.DataFrame) -> list[str]:
    return [
        name
        for name, kind in frame.schema.items()
        if kind.is_numeric() and data.unit_of("esxtop", table, name) in NOISY
    ]


def _unmeasured(table: str, frame: pl.DataFrame, width: int) -> Any:
    """Return for each sample whether it has no number at all: the first one, if counters only count up."""
    nothing = np.ones(frame.height // width, dtype=np.bool_)
    for name in _noisy(table, frame):
        nothing &= frame.get_column(name).is_null().to_numpy().reshape(-1, width).all(axis=1)
        if not nothing.any():
            break
    return nothing


def _matrices(table: str, frame: pl.DataFrame, width: int) -> Iterator[Any]:
    """Yield each noisy counter, as a matrix of samples and instances."""
    for name in _noisy(table, frame):
        column = frame.get_column(name).cast(pl.Float64).fill_null(0.0)
        finite = isfinite(column.sum())
        numbers = (column.to_numpy() if finite else np.nan_to_num(column.to_numpy())).reshape(-1, width)
        # Most instances of a large host are all zeros, which do not identify a sample.
        busy = numbers.any(axis=0)
        if busy.any():
            yield numbers[:, busy]


def _repeated(matrices: list[Any]) -> tuple[float, int] | None:
    """Return the number of samples that repeat earlier ones, and the place of the last.

    Only numbers with decimals count, as whole numbers repeat by chance. If samples have few of them, sequences of
    several samples are compared. A randomly weighted sum of hundredths is the fingerprint; it uses whole numbers, so
    it is exact.
    """
    samples = len(matrices[0])
    prints, numbers = np.zeros(samples, dtype=np.int64), np.zeros(samples, dtype=np.int64)
    for place, matrix in enumerate(matrices):
        exact = (matrix >= 1.0) & (matrix != np.floor(matrix))
        weights = np.random.default_rng(place).integers(1, 1 << 40, matrix.shape[1])
        prints += (np.rint(100 * matrix).astype(np.int64) * exact) @ weights
        numbers += np.count_nonzero(exact, axis=1)
    length = max(1, int(np.ceil(_NUMBERS / max(1.0, float(np.median(numbers))))))
    if length > samples // 4 and length > 1:
        return None
    blocks = np.lib.stride_tricks.sliding_window_view(prints, length) @ np.random.default_rng(0).integers(
        1, 1 << 20, length
    )
    judged = np.flatnonzero(np.convolve(numbers, np.ones(length, dtype=np.int64), "valid") >= _NUMBERS)
    _, first = np.unique(blocks[judged], return_index=True)
    again = np.setdiff1d(judged, judged[first])
    return float(len(again)), int(again[-1]) if len(again) else 0


def _unlike(matrices: list[Any]) -> tuple[float, int] | None:
    """Return the largest share of a sample's numbers unlike both neighbours, which agree, and its place."""
    unlike, judged = (np.zeros(len(matrices[0]) - 2, dtype=np.int64) for _ in range(2))
    for matrix in matrices:
        least, most = np.minimum(matrix[:-2], matrix[2:]), np.maximum(matrix[:-2], matrix[2:])
        agree = (least >= 1.0) & (most < 2 * least)
        strange = agree & ((matrix[1:-1] > _TIMES * most) | (matrix[1:-1] < least / _TIMES))
        unlike, judged = unlike + np.count_nonzero(strange, axis=1), judged + np.count_nonzero(agree, axis=1)
    share = np.where(judged >= _NUMBERS, 100.0 * unlike / np.maximum(judged, 1), 0.0)
    return (float(share.max()), int(share.argmax()) + 1) if (judged >= _NUMBERS).any() else None


def _first(matrices: list[Any]) -> tuple[float, int] | None:
    """Return the share of numbers whose first value is far above all later ones."""
    if len(matrices[0]) <= LEAST:
        return None
    later = [matrix[1:].max(axis=0) for matrix in matrices]
    busy = sum(np.count_nonzero(most >= 1.0) for most in later)
    far = sum(
        np.count_nonzero((most >= 1.0) & (matrix[0] > _SINCE_BOOT * most))
        for matrix, most in zip(matrices, later, strict=True)
    )
    return (100.0 * far / busy, 0) if busy >= _NUMBERS else None


def _empty(matrices: list[Any]) -> tuple[float, int] | None:
    """Return the number of samples with only zeros while others have numbers, and the place of the first."""
    nothing = ~np.logical_or.reduce([matrix.any(axis=1) for matrix in matrices])
    return float(nothing.sum()), int(nothing.argmax())
