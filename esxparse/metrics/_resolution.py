"""What was printed is known to half a unit of its last digit: 9.40 may have been 9.395 as well as 9.405.

How many decimals a column was printed with, the column itself betrays: no value has more. A mean of values that differ
has as many as a number can hold, and is known as well as its scatter tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST: Final = 10
"""Decimals beyond which a number was computed, and not printed."""
_SAME: Final = 1e-12
"""Relative difference that arithmetic leaves: the mean of five times 9.4 is 9.400000000000002."""


def half_unit(values: NDArray[Any]) -> float:
    """Half a unit of the last decimal that these values have; 0 where they have more than can be printed.

    Whole numbers are known to 0.5: trailing zeros of 9400 may be digits as well as none.

    >>> half_unit(np.array([9.4, 9.39])), half_unit(np.array([9400.0])), half_unit(np.array([1 / 3]))
    (0.005, 0.5, 0.0)
    """
    numbers = values[np.isfinite(values)]
    near = _SAME * np.abs(numbers)

    def fit(decimals: int) -> bool:
        return bool((np.abs(numbers - np.round(numbers, decimals)) <= near).all())

    if not fit(_MOST):
        return 0.0
    return 0.5 * 10.0 ** -next(filter(fit, range(_MOST + 1)))


def half_unit_of(values: pl.Expr) -> pl.Expr:
    """`half_unit` of the values of an expression, as an aggregate of them.

    >>> pl.DataFrame({"a": [9.4, 9.39, None]}).select(half_unit_of(pl.col("a"))).item()
    0.005
    """
    # In one call: as an expression it takes a column for each number of decimals.
    return values.cast(pl.Float64).map_batches(
        lambda numbers: half_unit(numbers.drop_nulls().to_numpy()), return_dtype=pl.Float64, returns_scalar=True
    )
