"""Metrics: pure functions from the tables of a recording to the numbers people ask for.

Every function takes polars LazyFrames and gives a LazyFrame; nothing is read or computed until the caller collects.
A counter that a capture lacks is an absent column there and a column of nulls here. Every module here is public but
those that begin with `_`, and says in its first line what it is about; it loads when it is first touched.

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
