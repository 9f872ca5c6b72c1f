"""Charts: a table in, an `altair.Chart` out.

One module per topic: `cpu`, `memory`, `storage`, `network`, `power`, and `workload` and `latency` for benchmarks. Every
builder takes a frame of `esxparse.metrics` (or None), reduces it before drawing (`reduce`), and gives None where there
is nothing to draw: a chart over no data would only look like an answer. `theme.use()` switches altair to the look of
the reports.

Altair takes more than a second to import, so the modules are loaded when first asked for: `charts.cpu.host(...)`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "cpu",
    "energy",
    "events",
    "latency",
    "marks",
    "memory",
    "network",
    "power",
    "reduce",
    "storage",
    "theme",
    "workload",
]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
