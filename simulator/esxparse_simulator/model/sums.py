"""Sums and ratios of arrays as the model takes them: the same on every machine, and zero where there is nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Index = NDArray[np.intp]


def added(values: Numbers | NDArray[np.bool_], into: Index, count: int) -> Numbers:
    """Values added up into `count` sums, in their order; `into` says which.

    >>> added(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 0]), 3).tolist()
    [5.0, 0.0, 2.0]
    """
    # of no values at all, bincount makes whole numbers
    return cast("Numbers", np.bincount(into, values, count)) if len(into) else np.zeros(count)


def added_rows(values: Numbers, into: Index, count: int) -> Numbers:
    """What `added` gives for each row of a matrix, all at once: [rows, count].

    >>> added_rows(np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]]), np.array([0, 2, 0]), 3).tolist()
    [[5.0, 0.0, 2.0], [1.0, 0.0, 1.0]]
    """
    rows = len(values)
    bins = into + count * np.arange(rows)[:, np.newaxis]
    return added(values.ravel(), bins.ravel(), rows * count).reshape(rows, count)


def index(values: Iterable[int]) -> Index:
    """Whole numbers as an array of places."""
    return np.fromiter(values, dtype=np.intp)


def divided(value: Numbers, by: Numbers) -> Numbers:
    """The ratio, zero where `by` is.

    >>> divided(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    return np.divide(value, by, out=np.zeros(np.shape(value)), where=by > 0.0)
