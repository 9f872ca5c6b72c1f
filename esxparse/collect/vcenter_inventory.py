"""The inventory of a vCenter: clusters, hosts, VMs with their snapshots, and datastores with their devices."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from esxparse import toml
from esxparse.collect.lines import iso
from esxparse.collect.vsphere_session import Session, properties
from esxparse.errors import EsxparseError, did_you_mean
from esxparse.recording import counted

_PROPERTIES: Final[Mapping[str, Sequence[str]]] = toml.beside(__file__, "vcenter.toml")["properties"]
_MIB: Final = 1 << 20
_GIB: Final = 1 << 30

Row = dict[str, Any]


@dataclass(frozen=True)
class Thing:
    """An object of the inventory with its properties."""

    ref: Any
    kind: str
    id: str
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its name as clients show it; its identifier if the account may not read it."""
        return plain(self.values.get("name")) or self.id

    def get(self, path: str) -> Any:
        """Return a property; None if the server does not have it."""
        return self.values.get(path)


@dataclass(frozen=True)
class Inventory:
    """The objects that a collection is about."""

    clusters: list[Thing]
    hosts: list[Thing]
    vms: list[Thing]
    datastores: list[Thing]

    @property
    def things(self) -> list[Thing]:
        """All objects."""
        return [*self.clusters, *self.hosts, *self.vms, *self.datastores]


def plain(name: str | None) -> str:
    r"""Return a name without the escapes of the API, which writes `/`, `\` and `%` as `%2f`, `%5c` and `%25`.

    Source: vSphere API, ManagedEntity.name.

    >>> plain("web%2f01, 50%25")
    'web/01, 50%'
    """
    return re.sub("%(2f|5c|25)", lambda found: chr(int(found[1], 16)), name or "", flags=re.IGNORECASE)


def identity(ref: Any) -> tuple[str, str]:
    """Return kind and identifier of a reference: `("VirtualMachine", "vm-52")`."""
    return type(ref).__name__.rpartition(".")[2], str(ref._moId)  # noqa: SLF001  pyvmomi has no other way


def read(session: Session) -> Inventory:
    """Read the whole inventory."""
    found: dict[str, list[Thing]] = defaultdict(list)
    for one in session.call("reading the inventory", _things, renew=True):
        found[one.kind].append(one)
    kinds = ("ClusterComputeResource", "HostSystem", "VirtualMachine", "Datastore")
    clusters, hosts, vms, datastores = (sorted(found[kind], key=lambda one: one.name) for kind in kinds)
    return Inventory(clusters, hosts, [vm for vm in vms if not vm.get("config.template")], datastores)


def _things(content: Any) -> list[Thing]:
    return [Thing(ref, *identity(ref), values) for ref, values in properties(content, _PROPERTIES)]


def chosen(inventory: Inventory, cluster: str | None, host: str | None, vm: str | None) -> Inventory:
    """Return a cluster, a host or a VM, with the hosts, VMs and datastores that belong to it; without names, all.

    Raises EsxparseError: There is no such object.
    """
    if cluster is not None:
        clusters = _named(inventory.clusters, cluster, "cluster")
        ids = {identity(ref)[1] for one in clusters for ref in one.get("host") or ()}
        hosts = [one for one in inventory.hosts if one.id in ids]
        return _with_hosts(inventory, clusters, hosts)
    if host is not None:
        return _with_hosts(inventory, [], _named(inventory.hosts, host, "host"))
    if vm is not None:
        vms = _named(inventory.vms, vm, "VM")
        of_vms = {_of(one.get("runtime.host")) for one in vms}
        stores = {identity(ref)[1] for one in vms for ref in one.get("datastore") or ()}
        datastores = [one for one in inventory.datastores if one.id in stores]
        return Inventory([], [one for one in inventory.hosts if one.id in of_vms], vms, datastores)
    return inventory


def _with_hosts(inventory: Inventory, clusters: list[Thing], hosts: list[Thing]) -> Inventory:
    ids = {one.id for one in hosts}
    stores = {identity(ref)[1] for one in hosts for ref in one.get("datastore") or ()}
    vms = [one for one in inventory.vms if _of(one.get("runtime.host")) in ids]
    return Inventory(clusters, hosts, vms, [one for one in inventory.datastores if one.id in stores])


def _named(things: Sequence[Thing], name: str, kind: str) -> list[Thing]:
    if found := [one for one in things if one.name == name]:
        return found
    names = {one.name for one in things}
    if not names:
        raise EsxparseError(f"no {kind} {name!r}: the account sees no {kind} at all")
    known = "there is only" if len(names) == 1 else "there are"
    raise EsxparseError(f"no {kind} {name!r}; {did_you_mean(name, names)}{known} {counted(len(names), kind)}")


def _of(ref: Any) -> str | None:
    return None if ref is None else identity(ref)[1]


def tables(inventory: Inventory) -> dict[str, list[Row]]:
    """Return the rows of the tables `inventory_*`, as `esxparse/formats/vcenter/api.toml` declares them."""
    names = {one.id: one.name for one in inventory.things}
    cluster_of = {_of(ref): one.name for one in inventory.clusters for ref in one.get("host") or ()}
    snapshots = [row for vm in inventory.vms for row in _snapshots(vm)]
    return {
        "inventory_cluster": [_cluster(one) for one in inventory.clusters],
        "inventory_host": [_host(one, cluster_of.get(one.id)) for one in inventory.hosts],
        "inventory_vm": [_vm(one, names, cluster_of) for one in inventory.vms],
        "inventory_snapshot": snapshots,
        "inventory_datastore": [row for one in inventory.datastores for row in _datastore(one)],
    }


def _cluster(one: Thing) -> Row:
    return {
        "cluster": one.name,
        "cluster_id": one.id,
        "hosts": len(one.get("host") or ()),
        "drs": one.get("configuration.drsConfig.enabled"),
        "ha": one.get("configuration.dasConfig.enabled"),
    }


def _host(one: Thing, cluster: str | None) -> Row:
    hz, memory, booted = one.get("hardware.cpuInfo.hz"), one.get("hardware.memorySize"), one.get("runtime.bootTime")
    return {
        "host": one.name,
        "host_id": one.id,
        "cluster": cluster,
        "release": one.get("summary.config.product.fullName"),
        "version": one.get("summary.config.product.version"),
        "build": one.get("summary.config.product.build"),
        "vendor": one.get("summary.hardware.vendor"),
        "model": one.get("summary.hardware.model"),
        "cpu_model": one.get("summary.hardware.cpuModel"),
        "sockets": one.get("hardware.cpuInfo.numCpuPackages"),
        "cores": one.get("hardware.cpuInfo.numCpuCores"),
        "threads": one.get("hardware.cpuInfo.numCpuThreads"),
        "mhz": round(hz / 1e6) if hz else None,
        "memory_mib": round(memory / _MIB) if memory else None,
        "numa_nodes": one.get("hardware.numaInfo.numNodes"),
        "hyperthreading": one.get("config.hyperThread.active"),
        "power_policy": one.get("hardware.cpuPowerManagementInfo.currentPolicy"),
        "connection": one.get("runtime.connectionState"),
        "in_maintenance": one.get("runtime.inMaintenanceMode"),
        "booted": iso(booted) if booted else None,
    }


def _vm(one: Thing, names: Mapping[str, str], cluster_of: Mapping[str | None, str]) -> Row:
    host = _of(one.get("runtime.host"))
    snapshots = list(_snapshots(one))
    return {
        "vm": one.name,
        "vm_id": one.id,
        "host": names.get(host or ""),
        "host_id": host,
        "cluster": cluster_of.get(host),
        "power_state": one.get("runtime.powerState"),
        "guest": one.get("config.guestFullName"),
        "hardware": one.get("config.version"),
        "vcpus": one.get("config.hardware.numCPU"),
        "cores_per_socket": one.get("config.hardware.numCoresPerSocket"),
        "memory_mib": one.get("config.hardware.memoryMB"),
        **_allocation(one.get("config.cpuAllocation"), "cpu", "mhz"),
        **_allocation(one.get("config.memoryAllocation"), "memory", "mib"),
        "snapshots": len(snapshots),
        "oldest_snapshot": min((row["created"] for row in snapshots if row["created"]), default=None),
    }


def _allocation(found: Any, what: str, unit: str) -> Row:
    limit = getattr(found, "limit", None)
    shares = getattr(found, "shares", None)
    return {
        # -1 means that there is no limit.
        f"{what}_limit_{unit}": limit if limit is not None and limit >= 0 else None,
        f"{what}_reservation_{unit}": getattr(found, "reservation", None),
        f"{what}_shares": getattr(shares, "shares", None),
        f"{what}_shares_level": getattr(shares, "level", None),
    }


def _snapshots(vm: Thing) -> Iterator[Row]:
    """Yield the snapshots of a VM, each before those that depend on it."""
    open_ones = [(one, 1) for one in reversed(getattr(vm.get("snapshot"), "rootSnapshotList", None) or [])]
    while open_ones:
        one, depth = open_ones.pop()
        yield {
            "vm": vm.name,
            "vm_id": vm.id,
            "snapshot": one.name,
            "created": iso(one.createTime) if one.createTime else None,
            "depth": depth,
            "power_state": one.state,
            "quiesced": one.quiesced,
        }
        open_ones += [(below, depth + 1) for below in reversed(one.childSnapshotList or [])]


def _datastore(one: Thing) -> Iterator[Row]:
    """Yield a row for each device of a datastore, or one if it has none."""
    info, capacity, free = one.get("info"), one.get("summary.capacity"), one.get("summary.freeSpace")
    nas = getattr(info, "nas", None)
    remote = f"{nas.remoteHost}:{nas.remotePath}" if nas is not None else None
    row = {
        "datastore": one.name,
        "datastore_id": one.id,
        "instance": (one.get("summary.url") or "").rstrip("/").rpartition("/")[2] or None,
        "type": one.get("summary.type"),
        "capacity_gib": capacity / _GIB if capacity is not None else None,
        "free_gib": free / _GIB if free is not None else None,
        "remote": remote,
    }
    extents = getattr(getattr(info, "vmfs", None), "extent", None) or []
    yield from ({**row, "device": extent.diskName, "partition": extent.partition} for extent in extents)
    if not extents:
        yield {**row, "device": None, "partition": None}
