"""Draws that are the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any

import numpy as np


class Dice:
    """Draws, one after another, by a seed."""

    def __init__(self, seed: int) -> None:
        """Nothing drawn yet."""
        self._uniform = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 16]))).random

    def between(self, least: float, most: float) -> float:
        """A number, evenly spread."""
        return least + (most - least) * float(self._uniform())

    def near(self, least: float, most: float) -> float:
        """A number, nearer the least."""
        part = float(self._uniform())
        return round(least + (most - least) * part * part, 3)

    def chance(self, part: float) -> bool:
        """True for `part` of the draws."""
        return float(self._uniform()) < part

    def one(self, of: Sequence[Any]) -> Any:
        """One of these; tables with a `weight` by it."""
        weights = [each.get("weight", 1) if isinstance(each, dict) else 1 for each in of]
        left = self.between(0.0, fsum(weights))
        for each, weight in zip(of, weights, strict=True):
            left -= weight
            if left < 0.0:
                return each
        return of[-1]
