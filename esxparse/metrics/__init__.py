"""Metrics: pure functions from the tables of a recording to the numbers people ask for.

Every function takes polars LazyFrames and gives a LazyFrame; nothing is read or computed until the caller collects.
A counter that a capture lacks is an absent column there and a column of nulls here.

inventory   which VMs there are, how many vCPUs each has, what kind of world a world is
scheduling  ready, co-stop and the rest of a VM per vCPU; milliseconds of vCenter charts against percent
host_cpu    physical CPUs: used against util, and how evenly they are loaded
ranking     the top n of anything by mean, 95th percentile or maximum
storage     device latency split into its parts, weighted by commands
network     switch ports: traffic and drops, weighted by packets
memory      the host's memory and that of each VM
power       what the host draws

The submodules load when first touched: `import esxparse.metrics` alone costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from . import host_cpu, inventory, memory, network, power, ranking, scheduling, storage

__all__ = ["host_cpu", "inventory", "memory", "network", "power", "ranking", "scheduling", "storage"]


def __getattr__(name: str) -> ModuleType:
    """Import a submodule the first time it is asked for."""
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    """Name the submodules, loaded or not."""
    return sorted({*globals(), *__all__})
