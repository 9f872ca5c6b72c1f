"""The version of the package, in a module that every other one can import."""

from __future__ import annotations

__version__ = "0.1.0"
