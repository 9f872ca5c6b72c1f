"""Makes a long capture of a short one: each cell varies around its own level, and neighbours in time are alike.

Noise is AR(1): x[t] = rho * x[t-1] + sqrt(1 - rho^2) * e[t], with rho between 0.5 and 0.9. What is constant in the
recording (a size, a limit, a link's speed, a counter at 0) stays constant.
"""

from __future__ import annotations

import zlib

import numpy as np

from .capture import Capture, Cells, Key, spaced

SAMPLES = 120
SECONDS = 5.0
_LEAST, _MOST = 0.03, 0.35
"""Least and most standard deviation of a cell, as a share of its level."""
_LEAST_SIZE = 0.0005
"""The least for memory, whose sizes hardly move."""
_LOW, _HIGH = 0.5, 0.9
_UNMEASURED = ("Physical Disk", "Virtual Disk")
"""Objects whose first sample is 0 throughout: esxtop has not measured them yet (formats.md)."""


def generator(seed: int, *names: str) -> np.random.Generator:
    """A random generator of its own for each name."""
    return np.random.default_rng([seed, *(zlib.crc32(name.encode()) for name in names)])


def autocorrelated(samples: int, random: np.random.Generator) -> Cells:
    """Noise with mean 0, standard deviation 1 and a lag-1 correlation between 0.5 and 0.9."""
    rho = random.uniform(_LOW, _HIGH)
    shocks = random.standard_normal(samples)
    found = np.empty(samples)
    found[0] = shocks[0]
    for now in range(1, samples):
        found[now] = rho * found[now - 1] + np.sqrt(1 - rho * rho) * shocks[now]
    return found


def wobble(samples: int, share: float, random: np.random.Generator) -> Cells:
    """Factors around 1 with this standard deviation, never below 0."""
    return np.clip(1 + share * autocorrelated(samples, random), 0.0, None)


def stretched(recorded: Capture, seed: int, samples: int = SAMPLES) -> Capture:
    """Make a capture of so many samples, five seconds apart, from one of any length."""
    made = Capture(
        recorded.host,
        spaced(recorded.times[0], samples, SECONDS),
        {},
        set(recorded.whole),
        recorded.paths,
        recorded.on_nfs,
    )
    factors: dict[str, Cells] = {}
    for key, cells in recorded.columns.items():
        seen = cells[1:] if key.object.startswith(_UNMEASURED) and len(cells) > 1 else cells
        level = float(seen.mean())
        if np.all(seen == seen[0]):
            made.columns[key] = np.full(samples, float(seen[0]))
            continue
        family = _family(key)
        if family not in factors:
            least = _LEAST_SIZE if key.object.endswith("Memory") else _LEAST
            share = min(max(float(seen.std()) / max(abs(level), 1e-9), least), _MOST)
            factors[family] = wobble(samples, share, generator(seed, family))
        made.columns[key] = level * factors[family]
    return made


def _family(key: Key) -> str:
    """Columns that vary together, so that sizes (bytes per command, bits per packet) stay as recorded."""
    if "MilliSec" in key.counter:
        return f"{key.object}({key.instance}) latency"
    if key.object.startswith(("Physical Disk", "Virtual Disk", "Network Port")):
        return f"{key.object}({key.instance})"
    return key.header
