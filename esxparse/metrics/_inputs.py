"""Checks of numbers that people enter, as functions of numbers and of tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from esxparse.errors import EsxparseError

from .frames import finite


class Bound(NamedTuple):
    """The smallest valid value of a number."""

    least: float = 0.0
    above: bool = False
    """The number has to be greater than `least`, not equal to it."""
    hint: str = ""

    def refusal(self, what: str, value: float) -> EsxparseError:
        """Return the error for a number outside the bound."""
        wanted = f"above {self.least:g}" if self.above else f"of {self.least:g} or more"
        hint = f": {self.hint}" if self.hint else ""
        return EsxparseError(f"{what} must be a number {wanted}, not {value!r}{hint}")


AT_LEAST_0 = Bound()
ABOVE_0 = Bound(above=True)


def check(what: str, value: float, bound: Bound = AT_LEAST_0) -> None:
    """Raise EsxparseError for a number that is not finite or outside its bound."""
    if not (math.isfinite(value) and (value > bound.least if bound.above else value >= bound.least)):
        raise bound.refusal(what, value)


def checked(table: pl.LazyFrame, bounds: Mapping[str, Bound]) -> pl.LazyFrame:
    """Return the table with null for NaN and infinity; collecting it checks the bounds.

    A number below its bound raises EsxparseError. Missing columns are skipped. `above` is not applied: tables return
    null for a division by 0.

    >>> checked(pl.LazyFrame({"vms": [3, -15]}), {"vms": Bound()}).collect()
    Traceback (most recent call last):
    ...
    esxparse.errors.EsxparseError: row 2: vms must be a number of 0 or more, not -15: correct it, or leave the row out
    """

    def refuse(frame: pl.DataFrame) -> pl.DataFrame:
        for name in (one for one in bounds if one in frame.columns):
            least, _, hint = bounds[name]
            below = (frame[name].cast(pl.Float64) < least).arg_true()
            if len(below):
                bound = Bound(least, hint=hint or "correct it, or leave the row out")
                raise bound.refusal(f"row {below[0] + 1}: {name}", frame[name][below[0]])
        return frame

    return finite(table).map_batches(refuse)
