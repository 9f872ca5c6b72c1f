"""Numbers that people give: impossible ones are refused, by functions of numbers and of tables alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from esxparse.errors import EsxparseError

from .frames import finite


class Bound(NamedTuple):
    """What a number has to be."""

    least: float = 0.0
    above: bool = False
    """The number has to be above `least`, not only as large."""
    hint: str = ""

    def refusal(self, what: str, value: float) -> EsxparseError:
        """The error for a number outside the bound."""
        wanted = f"above {self.least:g}" if self.above else f"of {self.least:g} or more"
        hint = f": {self.hint}" if self.hint else ""
        return EsxparseError(f"{what} must be a number {wanted}, not {value!r}{hint}")


AT_LEAST_0 = Bound()
ABOVE_0 = Bound(above=True)


def check(what: str, value: float, bound: Bound = AT_LEAST_0) -> None:
    """Refuse a number outside its bound, and one that is not finite."""
    if not (math.isfinite(value) and (value > bound.least if bound.above else value >= bound.least)):
        raise bound.refusal(what, value)


def checked(table: pl.LazyFrame, bounds: Mapping[str, Bound]) -> pl.LazyFrame:
    """Give the table with null for NaN and infinity; numbers below their bound are refused when it is collected.

    Columns that the table lacks are skipped. Tables give null for a 0 that is divided by, so `above` is not applied.

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
