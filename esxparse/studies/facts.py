"""Facts of the host and its VMs: from files if they have them, else from the manifest; differences are reported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.formats.kit.numbers import whole
from esxparse.formats.kit.tables import known
from esxparse.metrics import host, numa
from esxparse.recording import Recording
from esxparse.studies.columns import FACTS

_TOLERANCE: Final = 0.01
"""Tolerance between two frequencies or sizes: 2394.3 MHz is sold as 2400, and firmware keeps some memory."""
_ROUNDED: Final = ("mhz", "memory_mib")
_WHOLE_MIB: Final = 2**20


def of_capture(rec: Recording) -> dict[str, Any]:
    """Return host facts from an esxtop capture."""
    meta = rec.meta
    found = {"host_name": meta.get("host"), "esxi_release": meta.get("release"), "cpus": meta.get("pcpus")}
    found["mhz"] = host.nominal_mhz(rec.tables)
    if "memory" in rec and "machine_mbytes" in rec["memory"].collect_schema().names():
        found["memory_mib"] = rec["memory"].select(pl.col("machine_mbytes").max()).collect().item()
    return known(found)


def of_hardware(rec: Recording) -> dict[str, Any]:
    """Return host facts from a hardware file: esxcli, lscpu, /proc/cpuinfo, numactl."""
    memory = rec.meta.get("memory_bytes")
    found = {name: rec.meta.get(name) for name in ("cores", "sockets", "numa_nodes", "mhz")}
    return known({"cpus": rec.meta.get("threads"), **found, "memory_mib": memory / _WHOLE_MIB if memory else None})


def together(by_source: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[dict[str, Any], list[str]]:
    """Return one value for each fact, from the first source that has it, and the values that contradict it.

    >>> together([("hardware", {"mhz": 2394.3}), ("esxtop", {"cpus": 32}), ("the manifest", {"cpus": 16, "mhz": 2400})])
    ({'mhz': 2394.3, 'cpus': 32}, ['cpus is 32 by esxtop and 16 by the manifest: 32 is used'])
    """
    facts: dict[str, Any] = {}
    by: dict[str, str] = {}
    against = []
    for source, found in by_source:
        for name in FACTS:
            if name not in found:
                continue
            value = found[name]
            if name not in facts:
                facts[name], by[name] = value, source
            elif name == "esxi_release":
                # A capture only suggests its release by its columns; the person who made it knows.
                if not _fits(value, facts[name]):
                    against.append(f"{name} is {facts[name]} by {by[name]} and {value} by {source}: {value} is used")
                facts[name], by[name] = value, source
            elif not _same(name, facts[name], value):
                first = _value_text(facts[name])
                against.append(f"{name} is {first} by {by[name]} and {_value_text(value)} by {source}: {first} is used")
    return facts, against


def _fits(release: str, guess: str) -> bool:
    """Return whether a release is consistent with the capture.

    >>> _fits("5.0", "6.0 or 5.x"), _fits("8.0", "6.7 or later"), _fits("6.0", "6.5")
    (True, True, False)
    """
    numbers = [(int(one[1]), one[2] or "x") for one in re.finditer(r"(\d+)(?:\.(\d+|x))?", guess)]
    found = re.search(r"(\d+)(?:\.(\d+))?", release)
    if found is None or not numbers:
        return True
    major, minor = int(found[1]), found[2] or "0"
    if any(major == one and other in {minor, "x"} for one, other in numbers):
        return True
    edge = (numbers[0][0], int(numbers[0][1].replace("x", "0")))
    if "later" in guess:
        return (major, int(minor)) >= edge
    return "earlier" in guess and major < edge[0]


def _same(name: str, first: Any, second: Any) -> bool:
    if name in _ROUNDED:
        return bool(abs(first - second) <= _TOLERANCE * max(first, second))
    if name == "host_name":
        # esx-07 and esx-07.lab.example are the same host.
        return str(first).split(".")[0].casefold() == str(second).split(".")[0].casefold()
    return bool(first == second)


def _value_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def configured(
    vms: Sequence[Recording], facts: Mapping[str, Any], hardware: Sequence[Recording]
) -> tuple[dict[str, Any], list[str]]:
    """Return the configuration of a run's VMs, and whether each fits a NUMA node of the host, with notes.

    `vms`: one recording of a .vmx for each VM. `facts`: of the host, under the names of their columns. `hardware`:
    files on the host, of which `numactl --hardware` has the best data on nodes.
    """
    for rec in vms:
        for name, key in (("numvcpus", "numvcpus"), ("memsize_mib", "memSize")):
            if rec.meta.get(name) is None:
                raise EsxparseError(f"{rec.source} has no {key}: copy the complete .vmx again")
    found: dict[str, Any] = {
        "vmx_vms": len(vms),
        "vmx_vcpus": sum(rec.meta["numvcpus"] for rec in vms),
        "vmx_memory_mib": float(sum(rec.meta["memsize_mib"] for rec in vms)),
        "vmx_cores_per_socket": _one(rec.meta.get("cores_per_socket") for rec in vms),
        "vmx_hardware": _one(whole(rec.meta.get("hardware")) for rec in vms),
    }
    cores, memory = node(facts, hardware)
    if cores is None or memory is None:
        lacking = "cannot tell whether its VMs fit a NUMA node: give numa_nodes, cores and memory_mib in [host]"
        return found, [lacking]
    fits = [numa.node_fit(rec.meta["numvcpus"], rec.meta["memsize_mib"], cores, memory) for rec in vms]
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
    told_of = [one for one in seen if one is not None]
    if len(told_of) == len(vms):
        found |= {
            "vmx_vnuma_vms": sum(one.exposed for one in told_of),
            "vmx_vnuma_nodes": max(one.nodes for one in told_of),
        }
    advice = [
        f"{rec.meta.get('name') or rec.source}: {line}"
        for rec, fit, one in zip(vms, fits, seen, strict=True)
        for line in numa.advice(release, fit, one)
    ]
    return found | ({"vmx_advice": "; ".join(advice)} if advice else {}), advice


def _one(values: Any) -> Any:
    different = set(values)
    return different.pop() if len(different) == 1 else None


def node(facts: Mapping[str, Any], hardware: Sequence[Recording]) -> tuple[int | None, float | None]:
    """Return cores and memory (MiB) of the host's smallest node: by numactl, else an even share of the host's.

    Cores are not hyper-threads: numactl's CPUs are divided by the threads per core, if known.
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
    """Return the NUMA topology that the guest of a VM sees; None if its hardware version is unknown."""
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
        # The host records the node size used to split the VM at its first power-on, and keeps using it.
        cores_per_node=whole(settings.get("numa.autosize.vcpu.maxpervirtualnode")) or cores_per_node,
        cores_per_socket=vm.meta.get("cores_per_socket") or 1,
        max_per_virtual_node=whole(settings.get("numa.vcpu.maxpervirtualnode")) or None,
        vcpu_min=whole(settings.get("numa.vcpu.min")) or None,
        follow_cores_per_socket=on("numa.vcpu.followcorespersocket"),
        cpu_hot_add=on("vcpu.hotadd"),
    )
