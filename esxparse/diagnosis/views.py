"""What a threshold can judge: every view a profile may name in `metric`, and how it is made of a capture.

One map: a profile that names a view which is not in it is refused when it is read, and a report judges every view in
it, so that no threshold is passed over in silence. A view that is added here can be used at once.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from esxparse.metrics import host, host_cpu, inventory, memory, network, power, scheduling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Tables = Mapping[str, pl.LazyFrame]


class View(NamedTuple):
    """A frame of metrics, one row per sample and object."""

    make: Callable[[Tables, str | None], pl.LazyFrame | None]
    """Makes it of the tables of a capture and its release; None where the capture lacks a table it needs."""
    object: str = ""
    """Column with the name of the object; empty where there is one, the host."""
    key: str | None = None
    """Column that tells objects of one name apart."""


def _per_vcpu(tables: Tables, _: str | None) -> pl.LazyFrame | None:
    if not {"vcpu", "group_cpu"} <= set(tables):
        return None
    return scheduling.per_vcpu(tables["group_cpu"], inventory.vms(tables["vcpu"]), tables["vcpu"])


def _each_vcpu(tables: Tables, _: str | None) -> pl.LazyFrame | None:
    if "vcpu" not in tables:
        return None
    return scheduling.each_vcpu(tables["vcpu"]).with_columns(vm=pl.concat_str("vm", "vcpu", separator=", vCPU "))


def _vm_memory(tables: Tables, _: str | None) -> pl.LazyFrame | None:
    if not {"vcpu", "group_memory"} <= set(tables):
        return None
    return memory.vms(tables["group_memory"], inventory.vms(tables["vcpu"]))


def _host_memory(tables: Tables, release: str | None) -> pl.LazyFrame | None:
    return memory.host(tables["memory"], release) if "memory" in tables else None


def _disks(tables: Tables, _: str | None) -> pl.LazyFrame | None:
    return host.disks(tables)


def _ports(tables: Tables, _: str | None) -> pl.LazyFrame | None:
    return network.ports(tables["network_port"]) if "network_port" in tables else None


def _pcpus(tables: Tables, _: str | None) -> pl.LazyFrame | None:
    if "physical_cpu" not in tables:
        return None
    return host_cpu.pcpu(tables["physical_cpu"]).with_columns(pl.format("PCPU {}", "pcpu").alias("pcpu"))


def _imbalance(tables: Tables, _: str | None) -> pl.LazyFrame | None:
    return host_cpu.imbalance(host_cpu.pcpu(tables["physical_cpu"])) if "physical_cpu" in tables else None


def _host_cpu(tables: Tables, _: str | None) -> pl.LazyFrame | None:
    return host.cpu(tables)


def _host_io(tables: Tables, _: str | None) -> pl.LazyFrame | None:
    return None if (disks := host.disks(tables)) is None else host.io(disks)


def _power(tables: Tables, _: str | None) -> pl.LazyFrame | None:
    return power.host(tables["power"]) if "power" in tables else None


VIEWS: Final[Mapping[str, View]] = MappingProxyType(
    {
        "scheduling.per_vcpu": View(_per_vcpu, "vm", "group_id"),
        "scheduling.each_vcpu": View(_each_vcpu, "vm", "world_id"),
        "memory.vms": View(_vm_memory, "vm", "group_id"),
        "memory.host": View(_host_memory),
        "storage.latency": View(_disks, "device"),
        "network.ports": View(_ports, "client", "port_id"),
        "host_cpu.pcpu": View(_pcpus, "pcpu"),
        "host_cpu.imbalance": View(_imbalance),
        "host.cpu": View(_host_cpu),
        "host.io": View(_host_io),
        "power.host": View(_power),
    }
)
"""Name of a view, as `metric` gives it before the colon, to what it is."""


def measures(names: Iterable[str], tables: Tables, release: str | None = None) -> dict[str, pl.LazyFrame | None]:
    """The frames that thresholds judge, by the name of their view, or of their table where they name no view.

    Args:
        names: Names of views and tables (`Threshold.view`).
        tables: Those of an esxtop capture.
        release: Of ESXi, as the capture tells it.

    Returns:
        None for those that the capture cannot give.
    """
    return {
        name: VIEWS[name].make(tables, release) if name in VIEWS else tables.get(name) for name in dict.fromkeys(names)
    }
