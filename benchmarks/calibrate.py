"""Fits how sure a finding is: slope and shift of `engine`, and what to add to `rare` of each case.

    python benchmarks/calibrate.py --seeds 10000-10399 --keep DIR

Confidence is the logistic of slope x odds + shift. Both, and a shift of each case drawn towards 0, are fitted to
whether findings of hosts drawn at random (`score.py`) are right. Seeds from 90,000 on are for the score alone.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from score import drawn, seeds

from esxparse.diagnosis import engine

_DRAWN_TO_0 = 2.0
_STEPS = 4000


def fitted(odds: Sequence[float], right: Sequence[bool], case: Sequence[str]) -> tuple[float, float, dict[str, float]]:
    """Slope, shift, and the shift of each case, in log odds."""
    x, y = np.array(odds), np.array(right, dtype=float)
    names, of = np.unique(case, return_inverse=True)
    slope, shift, own = 1.0, -1.0, np.zeros(len(names))
    for _ in range(_STEPS):
        off = 1 / (1 + np.exp(-(slope * x + shift + own[of]))) - y
        slope, shift = slope - 0.5 * float(np.mean(off * x)), shift - 0.5 * float(np.mean(off))
        own -= 0.02 * (np.bincount(of, off, len(names)) + _DRAWN_TO_0 * own)
    return slope, shift, dict(zip(names.tolist(), own.tolist(), strict=True))


def main() -> None:
    """Prints what was fitted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=seeds, default=seeds("10000-10399"))
    parser.add_argument("--keep", type=Path, help="where captures are kept between runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        hosts = list(drawn(options.seeds, options.keep or Path(scratch)))
    found = [(one.trouble, one.confidence, host.right(one)) for host in hosts for one in host.told]
    # The log odds of the evidence that a confidence comes of.
    odds = [(math.log(sure / (1 - sure)) - engine.SHIFT) / engine.SLOPE for _, sure, _ in found]
    slope, shift, own = fitted(odds, [right for _, _, right in found], [trouble for trouble, _, _ in found])
    print(f"{len(found)} findings of {len(hosts)} hosts: slope {slope:.2f}, shift {shift:.2f}")
    for trouble, more in own.items():
        mine = [right for name, _, right in found if name == trouble]
        print(f"{trouble:28} {sum(mine):3} of {len(mine):3} right; rare {more / slope:+.1f}")


if __name__ == "__main__":
    main()
