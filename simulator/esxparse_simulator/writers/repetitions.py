"""Repeated runs of a benchmark: so many values around a mean, whose own mean is exactly the one asked for."""

from __future__ import annotations

from math import fsum, isfinite
from typing import TYPE_CHECKING

from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from esxparse_simulator.model.noise import Noise

__all__ = ["needs", "repeated"]


def needs(name: str, value: float, *, above: float = 0.0) -> float:
    """The value, if it is a number above `above`.

    Raises:
        EsxparseError: It is not.
    """
    if not (isfinite(value) and value > above):
        msg = f"{name} must be a number above {above:g}, not {value!r}: change it"
        raise EsxparseError(msg)
    return value


def repeated(noise: Noise, label: str, mean: float, spread: float, repetitions: int) -> tuple[float, ...]:
    """`repetitions` values within about `spread` (relative, 0.01 is 1 %) of `mean`, which is the mean of them all.

    They are evenly drawn, then moved together so that their mean is the one asked for; one repetition is the mean.

    Raises:
        EsxparseError: The mean is not above 0, the spread not within 0..0.5, or there is no repetition.

    >>> from esxparse_simulator.model.noise import Noise
    >>> [round(value, 2) for value in repeated(Noise(1), "redis", 100.0, 0.0, 3)]
    [100.0, 100.0, 100.0]
    """
    needs(f"the mean of {label}", mean)
    if not 0.0 <= spread <= 0.5:  # noqa: PLR2004  beyond it values could come near zero
        msg = f"the spread of {label} is relative, 0 to 0.5, not {spread!r}: 0.01 is 1 %"
        raise EsxparseError(msg)
    if repetitions < 1:
        msg = f"{label} has {repetitions} repetitions: 1 or more are needed"
        raise EsxparseError(msg)
    drawn = [noise.uniform(label) * 2.0 - 1.0 for _ in range(repetitions)]
    middle = fsum(drawn) / repetitions
    return tuple(mean * (1.0 + spread * (value - middle)) for value in drawn)
