"""Lines and JSON objects of whole numbers to columns: the compiled reader if it is installed, else its twin."""

from __future__ import annotations

from esxparse.formats.fio.integers_twin import Column

try:
    from esxparse._native import number_of_lines, read_integers, take_bins

    COMPILED = True
except ImportError:
    from esxparse.formats.fio.integers_twin import number_of_lines, read_integers, take_bins

    COMPILED = False

__all__ = ["COMPILED", "Column", "number_of_lines", "read_integers", "take_bins"]
