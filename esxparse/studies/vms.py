"""The row of a run, as far as the configuration of its VMs tells it: .vmx files, and how the VMs lie on NUMA nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.formats.kit.numbers import whole
from esxparse.metrics import numa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from esxparse.recording import Recording


def configured(
    vms: Sequence[Recording], facts: Mapping[str, Any], hardware: Sequence[Recording]
) -> tuple[dict[str, Any], list[str]]:
    """What the VMs of a run are given, and whether each fits a NUMA node of the host; and what is to be said of it.

    Args:
        vms: One recording of a .vmx for each VM.
        facts: Of the host, under the names of their columns.
        hardware: Files on the host, of which `numactl --hardware` knows the nodes best.

    Raises:
        EsxparseError: A file does not tell the vCPUs or the memory of its VM.
    """
    for rec in vms:
        for name, key in (("numvcpus", "numvcpus"), ("memsize_mb", "memSize")):
            if rec.meta.get(name) is None:
                msg = f"{rec.source} tells no {key}: copy the .vmx again, whole"
                raise EsxparseError(msg)
    found: dict[str, Any] = {
        "vmx_vms": len(vms),
        "vmx_vcpus": sum(rec.meta["numvcpus"] for rec in vms),
        "vmx_memory_mib": float(sum(rec.meta["memsize_mb"] for rec in vms)),
        "vmx_cores_per_socket": _one(rec.meta.get("cores_per_socket") for rec in vms),
        "vmx_hardware": _one(whole(rec.meta.get("hardware")) for rec in vms),
    }
    cores, memory = node(facts, hardware)
    if cores is None or memory is None:
        lacking = "whether its VMs fit a NUMA node is not known: give numa_nodes, cores and memory_mib in [host]"
        return found, [lacking]
    fits = [numa.node_fit(rec.meta["numvcpus"], rec.meta["memsize_mb"], cores, memory) for rec in vms]
    found |= {
        "node_cores": cores,
        "node_memory_mib": memory,
        "vmx_fits_node": all(fit.fits for fit in fits),
        "vmx_wide_vms": sum(fit.wide for fit in fits),
        "vmx_nodes_needed": max(fit.nodes for fit in fits),
        "vmx_node_headroom_mib": min(fit.memory_headroom_mib for fit in fits),
    }
    release = facts.get("esxi_release")
    if release is None:
        return found, []
    seen = [virtual_numa(rec, release, cores) for rec in vms]
    known = [one for one in seen if one is not None]
    if len(known) == len(vms):
        found |= {
            "vmx_vnuma_vms": sum(one.exposed for one in known),
            "vmx_vnuma_nodes": max(one.nodes for one in known),
        }
    told = [
        f"{rec.meta.get('name') or rec.source}: {line}"
        for rec, fit, one in zip(vms, fits, seen, strict=True)
        for line in numa.advice(release, fit, one)
    ]
    return found, told


def _one(values: Any) -> Any:
    """The value that all have."""
    different = set(values)
    return different.pop() if len(different) == 1 else None


def node(facts: Mapping[str, Any], hardware: Sequence[Recording]) -> tuple[int | None, float | None]:
    """Cores and memory (MiB) of the host's smallest node: by numactl, else an even share of the host's.

    Cores are not hyper-threads: numactl's CPUs are divided by those of a core, where both are known.
    """
    cpus, cores, nodes, memory = (facts.get(name) for name in ("cpus", "cores", "numa_nodes", "memory_mib"))
    by_numactl = next((rec for rec in hardware if rec.format == "numactl"), None)
    if by_numactl is not None and cores:
        per_core = max(1, (by_numactl.meta.get("threads") or cpus or cores) // cores)
        _, fewest, least = numa.node_size(by_numactl["nodes"], per_core).collect().row(0)
        return fewest or None, least
    if not cores or not nodes:
        return None, None
    return max(1, cores // nodes), memory / nodes if memory else None


def virtual_numa(vm: Recording, release: str, cores_per_node: int) -> numa.VirtualNuma | None:
    """What the guest of a VM sees; None where its hardware version is not known."""
    hardware = whole(vm.meta.get("hardware"))
    if not hardware:
        return None
    lower = pl.col("key").str.to_lowercase()
    settings = dict(vm["settings"].select(lower, "value").collect().iter_rows())

    def on(key: str) -> bool:
        return settings.get(key, "").strip().lower() in {"true", "1", "yes"}

    return numa.vnuma(
        vm.meta["numvcpus"],
        hardware,
        release,
        # The host writes down by which size of a node it split the VM when it was first powered on, and keeps to it.
        cores_per_node=whole(settings.get("numa.autosize.vcpu.maxpervirtualnode")) or cores_per_node,
        cores_per_socket=vm.meta.get("cores_per_socket") or 1,
        max_per_virtual_node=whole(settings.get("numa.vcpu.maxpervirtualnode")) or None,
        vcpu_min=whole(settings.get("numa.vcpu.min")) or None,
        follow_cores_per_socket=on("numa.vcpu.followcorespersocket"),
        cpu_hot_add=on("vcpu.hotadd"),
    )
