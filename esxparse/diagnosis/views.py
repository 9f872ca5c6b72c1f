"""What a threshold can judge: every view a profile may name in `metric`, and how it is made of a capture.

One map: a profile that names a view which is not in it is refused when it is read, and a report judges every view in
it, so that no threshold is passed over in silence. A view that is added here can be used at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from esxparse.metrics import host, host_cpu, inventory, memory, network, power, scheduling

if TYPE_CHECKING:
    Tables = Mapping[str, pl.LazyFrame]


class View(NamedTuple):
    """A frame of metrics, one row per sample and object."""

    make: Callable[[Tables, str | None], pl.LazyFrame | None]
    """Makes it of the tables of a capture and its release."""
    needs: tuple[str, ...] = ()
    """Tables that a capture must have for it; None comes out without them."""
    object: str = ""
    """Column with the name of the object; empty where there is one, the host."""
    key: str | None = None
    """Column that tells objects of one name apart."""


def _per_vcpu(tables: Tables, _: str | None) -> pl.LazyFrame:
    return scheduling.per_vcpu(tables["group_cpu"], inventory.vms(tables["vcpu"]), tables["vcpu"])


def _each_vcpu(tables: Tables, _: str | None) -> pl.LazyFrame:
    return scheduling.each_vcpu(tables["vcpu"]).with_columns(vm=pl.concat_str("vm", "vcpu", separator=", vCPU "))


def _pcpus(tables: Tables, _: str | None) -> pl.LazyFrame:
    return host_cpu.pcpu(tables["physical_cpu"]).with_columns(pl.format("PCPU {}", "pcpu").alias("pcpu"))


def _host_io(tables: Tables, _: str | None) -> pl.LazyFrame | None:
    return None if (disks := host.disks(tables)) is None else host.io(disks)


VIEWS: Final[Mapping[str, View]] = MappingProxyType(
    {
        "scheduling.per_vcpu": View(_per_vcpu, ("vcpu", "group_cpu"), "vm", "group_id"),
        "scheduling.each_vcpu": View(_each_vcpu, ("vcpu",), "vm", "world_id"),
        "memory.vms": View(
            lambda tables, _: memory.vms(tables["group_memory"], inventory.vms(tables["vcpu"])),
            ("vcpu", "group_memory"),
            "vm",
            "group_id",
        ),
        "memory.host": View(lambda tables, release: memory.host(tables["memory"], release), ("memory",)),
        "storage.latency": View(lambda tables, _: host.disks(tables), (), "device"),
        "network.ports": View(
            lambda tables, _: network.ports(tables["network_port"]), ("network_port",), "client", "port_id"
        ),
        "host_cpu.pcpu": View(_pcpus, ("physical_cpu",), "pcpu"),
        "host_cpu.imbalance": View(
            lambda tables, _: host_cpu.imbalance(host_cpu.pcpu(tables["physical_cpu"])), ("physical_cpu",)
        ),
        "host.cpu": View(lambda tables, _: host.cpu(tables)),
        "host.io": View(_host_io),
        "power.host": View(lambda tables, _: power.host(tables["power"]), ("power",)),
    }
)
"""Name of a view, as `metric` gives it before the colon, to what it is. A metric becomes one by a line."""


def measures(names: Iterable[str], tables: Tables, release: str | None = None) -> dict[str, pl.LazyFrame | None]:
    """The frames that thresholds judge, by the name of their view, or of their table where they name no view.

    `names`: names of views and tables (`Threshold.view`). `tables`: those of an esxtop capture. `release`: of ESXi, as
    the capture tells it.

    Returns:
        None for those that the capture cannot give.
    """

    def made(name: str) -> pl.LazyFrame | None:
        if name not in VIEWS:
            return tables.get(name)
        return VIEWS[name].make(tables, release) if set(VIEWS[name].needs) <= set(tables) else None

    return {name: made(name) for name in dict.fromkeys(names)}
