"""Metrics: pure functions from the tables of a recording to performance figures.

Every function takes polars LazyFrames and returns a LazyFrame; nothing is read or computed until the caller collects.
If a capture does not have a counter, its column is absent from the input and null in the result. Modules are public
unless their name begins with `_`. The first line of each module describes its subject. A module loads when first used.

>>> from esxparse import metrics
>>> [name for name in dir(metrics) if name.startswith("host")]
['host', 'host_cpu']
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    if name in __dir__():
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))
