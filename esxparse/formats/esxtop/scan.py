"""Bytes to numbers: the compiled scanner if it is installed, else its twin in plain Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

try:
    from esxparse._native import count_lines, scan

    COMPILED = True
except ImportError:
    from esxparse.formats.esxtop.scan_twin import count_lines, scan

    COMPILED = False

__all__ = ["COMPILED", "Flags", "Integers", "Numbers", "count_lines", "scan"]

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
