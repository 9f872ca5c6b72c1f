"""The version of the package, where every module can import it."""

from __future__ import annotations

__version__ = "0.1.0"
