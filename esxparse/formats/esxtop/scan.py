"""Bytes to numbers: the compiled scanner where the install has it, else its plain Python twin."""

from __future__ import annotations

try:
    from esxparse._native import count_lines, scan

    COMPILED = True
except ImportError:
    from esxparse.formats.esxtop.scan_twin import count_lines, scan

    COMPILED = False

__all__ = ["COMPILED", "count_lines", "scan"]
