"""Sums and ratios of arrays as the model takes them, the same on every machine; index arrays made once for a layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from esxparse_simulator.model.layout import Index, Layout
    from esxparse_simulator.model.sample import Numbers


def added(values: Numbers | NDArray[np.bool_], into: Index, count: int) -> Numbers:
    """Values added up into `count` sums, in their order; `into` says which.

    >>> added(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 0]), 3).tolist()
    [5.0, 0.0, 2.0]
    """
    # of no values at all, bincount makes whole numbers
    return np.bincount(into, weights=values, minlength=count).astype(np.float64, copy=False)


def added_rows(values: Numbers, into: Index, count: int) -> Numbers:
    """What `added` gives for each row of a matrix, all at once: [rows, count].

    >>> added_rows(np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]]), np.array([0, 2, 0]), 3).tolist()
    [[5.0, 0.0, 2.0], [1.0, 0.0, 1.0]]
    """
    rows = len(values)
    bins = into + count * np.arange(rows)[:, np.newaxis]
    return added(values.ravel(), bins.ravel(), rows * count).reshape(rows, count)


def divided(value: Numbers, by: Numbers) -> Numbers:
    """The ratio, zero where `by` is.

    >>> divided(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    return np.divide(value, by, out=np.zeros(np.shape(value)), where=by > 0.0)


def over_vcpus(layout: Layout, values: Numbers) -> Numbers:
    """The mean over each VM's vCPUs of what is along the worlds; along the VMs, zero for one without vCPUs."""
    mine, count = layout.world_vm[layout.vcpus], len(layout.vms)
    return added(values[layout.vcpus], mine, count) / np.maximum(1, np.bincount(mine, minlength=count))


T = TypeVar("T")


class OncePerLayout(Generic[T]):
    """`make(layout)`, kept for as long as it is asked for with the same layout.

    A layout is compared by identity: it is made once for a capture. Captures that take turns only make it again.
    """

    def __init__(self, make: Callable[[Layout], T]) -> None:
        """Keep nothing yet."""
        self._make = make
        self._kept: tuple[Layout, T] | None = None

    def __call__(self, layout: Layout) -> T:
        """What `make` gives for this layout."""
        kept = self._kept
        if kept is None or kept[0] is not layout:
            kept = self._kept = (layout, self._make(layout))
        return kept[1]
