"""Charts: a table in, an `altair.Chart` out; one module per topic.

Every builder takes a derived table (`rec["vm"]`), a frame of `esxparse.metrics`, or None, reduces it before drawing
(`reduce`), and returns None if there is nothing to draw: a chart without data would look like an answer. `theme.use()`
switches altair to the look of the reports.

Altair takes more than a second to import, so the modules are loaded on first use: `charts.cpu.host(...)`.
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
    return sorted(module.name for module in iter_modules(__path__))
