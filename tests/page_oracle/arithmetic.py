"""Statistics and the words of numbers, as plain as they can be written."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STEPS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""Lengths of the spans of time, in seconds, that charts bring samples to."""
WIDTH = 18
UNITS = {"kib": "KiB", "mib": "MiB", "pct": "%"}
WORDS = {"vms": "VMs", "vcpus": "vCPUs", "nics": "NICs"}
"""Labels that people write in capitals."""


def mean(numbers: Iterable[float | None]) -> float | None:
    known = [one for one in numbers if one is not None]
    return math.fsum(known) / len(known) if known else None


def highest(numbers: Iterable[float | None]) -> float | None:
    return max((one for one in numbers if one is not None), default=None)


def lowest(numbers: Iterable[float | None]) -> float | None:
    return min((one for one in numbers if one is not None), default=None)


def quantile(numbers: Iterable[float | None], share: float) -> float | None:
    """Linear between neighbours."""
    ordered = sorted(one for one in numbers if one is not None)
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = min(int(place), len(ordered) - 1)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def p95(numbers: Iterable[float | None]) -> float | None:
    return quantile(numbers, 0.95)


def median(numbers: Iterable[float | None]) -> float | None:
    return quantile(numbers, 0.5)


def weighted(numbers: Sequence[float | None], weights: Sequence[float | None]) -> float | None:
    pairs = [(one, by) for one, by in zip(numbers, weights, strict=True) if one is not None and by is not None]
    whole = math.fsum(by for _, by in pairs)
    return math.fsum(one * by for one, by in pairs) / whole if whole else None


def plus(*columns: Sequence[float | None]) -> list[float | None]:
    """Columns added up sample by sample; nothing if one lacks."""
    return [None if None in row else math.fsum(row) for row in zip(*columns, strict=True)]


def span(seconds: float) -> str:
    """9 min 50 s."""
    left, words = round(seconds), []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, left = divmod(left, size)
        words += [f"{count} {unit}"] if count else []
    return " ".join(words[:2]) or "0 s"


def value_words(name: str, value: object) -> str:
    """A value of a label as people say it: 4 VMs, size 64 KiB, depth 32."""
    if not isinstance(value, int | float):
        return str(value)
    stem, _, unit = name.rpartition("_")
    if unit in UNITS:
        return f"{stem} {value:g} {UNITS[unit]}"
    word = WORDS.get(name, name.replace("_", " "))
    if not word.endswith("s"):
        return f"{word} {value:g}"
    return f"{value:g} {word.removesuffix('s') if value == 1 else word}"


def several(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def short(name: str) -> str:
    """A name as charts label it: both ends of a long one."""
    return name if len(name) <= WIDTH else f"{name[:7]}\N{HORIZONTAL ELLIPSIS}{name[-10:]}"


def drawn(
    times: Sequence[int],
    series: dict[str, Sequence[float | None]],
    value: str,
    weights: dict[str, Sequence[float | None]] | None = None,
    buckets: int = 180,
) -> dict[tuple, dict[str, float | None]]:
    """Points of lines over time by name and time in ms: mean, lowest and highest of each span of time.

    Samples stay as they are if there are no more than `buckets`.
    """
    step = None
    if len(set(times)) > buckets:
        least = (max(times) - min(times)) / 1000 / (buckets - 1)
        step = 1000 * next(one for one in STEPS if one >= least)
    found: dict[tuple, list[tuple[float | None, float | None]]] = {}
    for name, column in series.items():
        by = weights[name] if weights else [1.0] * len(times)
        for time, number, weight in zip(times, column, by, strict=True):
            at = time // step * step if step else time
            found.setdefault((name, at), []).append((number, weight))
    made = {}
    for key, pairs in found.items():
        numbers = [number for number, _ in pairs]
        middle = weighted(numbers, [weight for _, weight in pairs])
        made[key] = {
            value: mean(numbers) if middle is None else middle,
            f"{value}_min": lowest(numbers),
            f"{value}_max": highest(numbers),
        }
    return made


def without_a_value(cells: Iterable[tuple], step: int) -> dict[tuple, dict]:
    """Stretches of rows between cells, by name, begin and end: up to half a step is the same row.

    `cells`: name and begin in ms. `step`: length of a cell in ms.
    """
    cells = set(cells)
    first, last = min(at for _, at in cells), max(at for _, at in cells)
    found: dict[tuple, dict] = {}
    for name in {name for name, _ in cells}:
        own = [first - step, *sorted(at for of, at in cells if of == name), last + step]
        for before, after in pairwise(own):
            if after - before > 1.5 * step:
                found[name, before + step, after] = {}
    return found


def student(freedom: float, share: float = 0.975) -> float:
    """The quantile of Student's t, by halving; its distribution by the incomplete beta function."""
    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        tail = _beta(freedom / 2, 0.5, freedom / (freedom + middle * middle)) / 2
        low, high = (middle, high) if 1 - tail < share else (low, middle)
    return (low + high) / 2


def _beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(1 - x))
    tiny, c, d = 1e-300, 1.0, 1 / (1 - (a + b) * x / (a + 1))
    whole = d
    for m in range(1, 500):
        for number in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + number * d or tiny), 1 + number / c or tiny
            whole *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return front * whole / a


def fieller(values: Sequence[float], baseline: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of mean(values) / mean(baseline); each mean may be off by half of the last decimal there is."""
    if min(len(values), len(baseline)) < 2:
        return None
    half = _half([*values, *baseline])
    ends = [_fieller(values, baseline, one * half, other * half) for one in (-1, 1) for other in (-1, 1)]
    if None in ends:
        return None
    return min(low for low, _ in ends), max(high for _, high in ends)


def _fieller(values: Sequence[float], baseline: Sequence[float], up: float, down: float) -> tuple[float, float] | None:
    y, x = mean(values) + up, mean(baseline) + down
    square, base = (_variance(one) / len(one) for one in (values, baseline))
    scaled = (y / x) ** 2 * base
    spread = square**2 / (len(values) - 1) + scaled**2 / (len(baseline) - 1)
    t2 = student((square + scaled) ** 2 / spread if spread else 1.0) ** 2
    divisor = x * x - t2 * base
    if divisor <= 0:
        return None
    root = math.sqrt(t2 * max(square * divisor + y * y * base, 0.0))
    return (y * x - root) / divisor, (y * x + root) / divisor


def _variance(numbers: Sequence[float]) -> float:
    middle = mean(numbers)
    return math.fsum((one - middle) ** 2 for one in numbers) / (len(numbers) - 1)


def _half(numbers: Sequence[float]) -> float:
    for decimals in range(10):
        if all(abs(one - round(one, decimals)) <= 1e-12 * abs(one) for one in numbers):
            return 0.5 * 10.0**-decimals
    return 0.0


def divided(own: Sequence[float], against: Sequence[float]) -> dict[str, float | None] | None:
    """Means, ratio and its interval; None if a side has no numbers."""
    if not own or not against:
        return None
    # There is no percentage of a baseline at or below 0.
    positive = mean(against) > 0
    ends = fieller(own, against) if positive else None
    return {
        "runs": len(own), "mean": mean(own), "base": mean(against),
        "ratio": mean(own) / mean(against) if positive else None,
        "low": ends[0] if ends else None, "high": ends[1] if ends else None,
    }  # fmt: skip


def p_value(own: Sequence[float], against: Sequence[float]) -> float:
    """Of Welch's t test, both means as near to each other as the digits printed allow."""
    half = _half([*own, *against])
    apart = mean(own) - mean(against)
    left = abs(apart) - 2 * half
    if left <= 1e-12 * max(abs(mean(own)), abs(mean(against))):
        return 1.0
    square, base = (_variance(one) / len(one) for one in (own, against))
    if not square + base:
        return 0.0
    near = math.copysign(half, apart)
    scaled = ((mean(own) - near) / (mean(against) + near)) ** 2 * base
    freedom = (square + scaled) ** 2 / (square**2 / (len(own) - 1) + scaled**2 / (len(against) - 1))
    return _beta(freedom / 2, 0.5, freedom / (freedom + left**2 / (square + base)))


def cutoff(p_values: Sequence[float]) -> float:
    """The largest p-value that is a difference (Benjamini and Hochberg, 5 %)."""
    places = [at for at, one in enumerate(sorted(p_values), 1) if one <= 0.05 * at / len(p_values)]
    return 0.05 * max(places, default=1) / max(len(p_values), 1)
