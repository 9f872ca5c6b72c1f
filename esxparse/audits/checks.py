"""Items of the audit that a single setting cannot decide: each function judges one from all evidence."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

import polars as pl

from esxparse.audits.evidence import Evidence, Fact, Machine
from esxparse.derived import of_recording
from esxparse.errors import MissingTableError
from esxparse.metrics import numa, over_time
from esxparse.recording import Recording, figure

Status = Literal["met", "not met", "unknown"]

_VPMC_RELEASE: Final = (5, 1)
_WIDE_RELEASE: Final = (4, 1)
_INTEL_FAMILY: Final = 6
_NEHALEM: Final = 26
"""The lowest model number of Nehalem; later generations have higher ones, except for those below."""
_OLDER: Final = frozenset({28, 29})
"""Atom Bonnell, and Dunnington, a Core 2: higher numbers than Nehalem, without its counters (general knowledge)."""
_LAST_OLD_FAMILY: Final = 15
"""Intel's NetBurst."""
_GREYHOUND: Final = 0x10
_HOST_TOPOLOGY: Final = (6, 5)
"""Since this release cores per socket do not shape the nodes of a guest (vSphere Resource Management)."""
_HEAVY_IOPS: Final = 1000.0
"""Mean I/Os per second of all VMs below which no VM counts as heavy; our choice, like the next two limits."""
_ONE_VM_SHARE: Final = 0.8
_FAST_TIMER_PER_S: Final = 900.0


class Verdict(NamedTuple):
    """Whether an item is met, and why."""

    status: Status
    evidence: str


def _unknown(what: str) -> Verdict:
    return Verdict("unknown", what)


def _judged(met: bool, evidence: object) -> Verdict:
    return Verdict("met" if met else "not met", str(evidence))


def release_of(found: Evidence) -> tuple[tuple[int, int], Fact] | None:
    """Return the lowest release that the host can be; None if nothing bounds it from below."""
    fact = found.hardware.get("release")
    number = re.search(r"(\d+)\.(\d+)", fact.value) if fact else None
    if fact is None or number is None or re.search(r"earlier|before|up to", fact.value):
        return None
    return (int(number[1]), int(number[2])), fact


def release_has_vpmc(found: Evidence, _: Machine | None) -> Verdict:
    """Judge whether the release is ESXi 5.1 or later."""
    release = release_of(found)
    if release is None:
        return _unknown("no release: give `esxcli system version get`")
    return _judged(release[0] >= _VPMC_RELEASE, release[1])


def cpu_has_vpmc(found: Evidence, _: Machine | None) -> Verdict:
    """Judge whether the CPU is Intel Nehalem, AMD family 10h, or later."""
    facts = [found.hardware.get(name) for name in ("vendor", "family", "model_number")]
    vendor, family, model = (fact.value if fact else None for fact in facts)
    if vendor is None or family is None or model is None:
        return _unknown("no CPU family and model: give `esxcli hardware cpu list`")
    evidence = "; ".join(map(str, facts))
    if "Intel" in vendor:
        newer = int(family) == _INTEL_FAMILY and int(model) >= _NEHALEM and int(model) not in _OLDER
        return _judged(newer or int(family) > _LAST_OLD_FAMILY, evidence)
    if "AMD" in vendor:
        return _judged(int(family) >= _GREYHOUND, evidence)
    return _unknown(f"unknown vendor: {evidence}")


def without_evc(found: Evidence, _: Machine | None) -> Verdict:
    """Judge whether EVC is off."""
    if found.evc is None:
        return _unknown("no EVC mode: give `vim-cmd hostsvc/hostsummary`")
    return _judged(found.evc.value == "none", found.evc)


def _node(found: Evidence) -> tuple[int, float] | None:
    """Return cores and MiB of a node, if nodes are alike."""
    cores, nodes = found.hardware_number("cores"), found.hardware_number("numa_nodes")
    memory = found.hardware_number("memory_bytes")
    if not cores or not nodes or not memory:
        return None
    return int(cores // nodes), memory / nodes / (1 << 20)


_NO_NODES: Final = "no cores, nodes or memory of the host: give `esxcli hardware cpu global get` and `memory get`"


def _fit(found: Evidence, machine: Machine) -> tuple[numa.NodeFit, str] | None:
    """Return how a VM fits the nodes, with the numbers in words."""
    node = _node(found)
    vcpus, memory = machine.meta.get("numvcpus"), machine.meta.get("memsize_mib")
    if node is None or not vcpus or not memory:
        return None
    words = f"{vcpus} vCPUs and {memory:,} MiB ({machine.source}); a node has {node[0]} cores and {node[1]:,.0f} MiB"
    return numa.node_fit(vcpus, memory, *node), words


def fits_nodes(found: Evidence, machine: Machine | None) -> Verdict:
    """Judge whether a VM fits in one node, or the release splits wide VMs."""
    fit = _fit(found, machine) if machine else None
    if fit is None:
        return _unknown(_NO_NODES)
    one, words = fit
    if not one.wide:
        return _judged(one.fits, words)
    release = release_of(found)
    if release is None:
        return _unknown(f"{words}; no release: give `esxcli system version get`")
    return _judged(release[0] >= _WIDE_RELEASE, f"{words}; wide: {one.nodes} nodes; {release[1]}")


def sees_nodes(found: Evidence, machine: Machine | None) -> Verdict:
    """Judge whether a VM that is wider than a node has virtual NUMA."""
    fit = _fit(found, machine) if machine else None
    if machine is None or fit is None:
        return _unknown(_NO_NODES)
    one, words = fit
    if not one.wide:
        return Verdict("met", f"{words}: not wide")
    if not machine.whole:
        return _unknown(f"{words}; the settings of virtual NUMA are not known: give its whole .vmx")
    release, node, hardware = release_of(found), _node(found), _number(machine, "virtualhw.version")
    if release is None or node is None or hardware is None:
        return _unknown("no release or hardware version: give `esxcli system version get` and the whole .vmx")
    seen = numa.vnuma(
        machine.meta["numvcpus"],
        hardware,
        f"{release[0][0]}.{release[0][1]}",
        cores_per_node=node[0],
        cores_per_socket=machine.meta.get("cores_per_socket") or 1,
        max_per_virtual_node=_number(machine, "numa.vcpu.maxpervirtualnode"),
        vcpu_min=_number(machine, "numa.vcpu.min"),
        follow_cores_per_socket=_is_on(machine, "numa.vcpu.followcorespersocket"),
        cpu_hot_add=_is_on(machine, "vcpu.hotadd"),
    )
    return _judged(seen.exposed and seen.nodes >= one.nodes, f"{words}; the guest sees {seen.nodes}: {seen.why}")


def sockets_fit_nodes(found: Evidence, machine: Machine | None) -> Verdict:
    """Judge whether a virtual socket has at most the cores of a node."""
    node = _node(found)
    per_socket = machine.meta.get("cores_per_socket") if machine else None
    if machine is None or node is None or per_socket is None:
        return _unknown(_NO_NODES)
    fact = machine.settings.get("cpuid.corespersocket", "cpuid.coresPerSocket is not set (1)")
    release = release_of(found)
    if release and release[0] >= _HOST_TOPOLOGY and not _is_on(machine, "numa.vcpu.followcorespersocket"):
        return Verdict("met", f"{fact}; since 6.5 sockets do not shape nodes: {release[1]}")
    return _judged(per_socket <= node[0], f"{fact}; a node has {node[0]} cores")


def _number(machine: Machine, key: str) -> int | None:
    fact = machine.settings.get(key)
    return int(fact.value) if fact and fact.value.isdecimal() and int(fact.value) > 0 else None


def _is_on(machine: Machine, key: str) -> bool:
    fact = machine.settings.get(key)
    return fact is not None and fact.value.lower() in {"true", "1"}


def latency_is_reserved(found: Evidence, machine: Machine | None) -> Verdict:
    """Judge whether a VM of high latency sensitivity has all its CPU and memory reserved."""
    if machine is None:
        return _unknown("no .vmx")
    fact = machine.settings.get("sched.cpu.latencysensitivity")
    if fact is None and not machine.whole:
        return _unknown(f"sched.cpu.latencySensitivity is not in what was read of {machine.source}")
    if fact is None or fact.value.lower() != "high":
        return Verdict("met", str(fact or f"sched.cpu.latencySensitivity is not set in {machine.source} (normal)"))
    mhz, vcpus, memory = found.hardware_number("mhz"), machine.meta.get("numvcpus"), machine.meta.get("memsize_mib")
    if not mhz or not vcpus or not memory:
        return _unknown(f"{fact}; no MHz of the host: give `esxcli hardware cpu list`")
    reserved = _number(machine, "sched.cpu.min") or 0, _number(machine, "sched.mem.min") or 0
    whole_memory = reserved[1] >= memory or _is_on(machine, "sched.mem.pin")
    words = f"{reserved[0]:,} of {vcpus * mhz:,.0f} MHz and {reserved[1]:,} of {memory:,} MiB reserved"
    # The reservation is entered by hand, from a rounded frequency.
    return _judged(reserved[0] >= 0.99 * vcpus * mhz and whole_memory, f"{fact}; {words}")


def _over_time(rec: Recording | None, columns: tuple[str, ...], value: pl.Expr) -> list[tuple[str, float]]:
    """Return the mean of a value of each VM over time, the highest first; empty without a capture that has it."""
    if rec is None:
        return []
    try:
        rows = of_recording.table(rec, "vm", columns)
    except MissingTableError:
        return []
    found = (
        over_time.with_covered(rows)
        .group_by("instance")
        .agg(value=over_time.mean(value))
        .filter(pl.col("value").is_not_null())
        .sort("value", descending=True)
        .collect()
    )
    return [(str(name), float(number)) for name, number in found.select("instance", "value").rows()]


_NO_CAPTURE: Final = "no esxtop capture with this counter"


def io_vm_is_pinned(found: Evidence, _: Machine | None) -> Verdict:
    """Judge whether the only VM with heavy I/O has an affinity."""
    if found.hardware_number("numa_nodes") == 1:
        return Verdict("met", f"{found.hardware['numa_nodes']}: no node to pin to")
    loads = _over_time(found.capture, ("vdisk_iops",), pl.col("vdisk_iops"))
    if not loads:
        return _unknown(_NO_CAPTURE)
    total = sum(load for _, load in loads)
    name, most = loads[0]
    words = f"{name} does {figure(most)} of {figure(total)} I/Os per second"
    if total < _HEAVY_IOPS or most < _ONE_VM_SHARE * total:
        return Verdict("met", f"{words}: not one VM alone does heavy I/O")
    machine = next((one for one in found.machines if one.name == name), None)
    if machine is None or "numa_nodes" not in found.hardware:
        return _unknown(f"{words}; give its .vmx and `esxcli hardware memory get`")
    pinned = [machine.settings.get(key) for key in ("sched.cpu.affinity", "sched.mem.affinity")]
    met = all(fact is not None and fact.value.lower() != "all" for fact in pinned)
    return _judged(met, "; ".join([words, *(str(fact) for fact in pinned if fact)]))


def nothing_withheld(found: Evidence, _: Machine | None) -> Verdict:
    """Judge whether %MLMTD is 0."""
    waits = _over_time(found.capture, ("max_limited_pct",), pl.col("max_limited_pct"))
    if not waits:
        return _unknown(_NO_CAPTURE)
    name, most = waits[0]
    return _judged(most <= 0, f"{name}: {figure(most)} % of the time of each vCPU")


def timers_are_slow(found: Evidence, _: Machine | None) -> Verdict:
    """Judge the timers per second of each vCPU."""
    rates = _over_time(found.capture, ("timers_per_s", "vcpus"), pl.col("timers_per_s") / pl.col("vcpus"))
    if not rates:
        return _unknown(_NO_CAPTURE)
    name, most = rates[0]
    return _judged(most < _FAST_TIMER_PER_S, f"{name}: {figure(most)} timers a second and vCPU")


def several_mounts(found: Evidence, _: Machine | None) -> Verdict:
    """Judge whether more than one NFS volume is mounted."""
    if found.volumes is None:
        return _unknown("no list of volumes: give `esxcli storage nfs list`")
    return _judged(len(found.volumes) > 1, "; ".join(map(str, found.volumes)) or "no volume is mounted")


def heap_is_unknown(_: Evidence, machine: Machine | None) -> Verdict:
    """Return unknown: nothing outside the guest shows its heap."""
    return _unknown(
        f"the heap is set in the guest of {machine.name if machine else 'the VM'}: see what its installer did"
    )


CHECKS: Final[dict[str, Callable[[Evidence, Machine | None], Verdict]]] = {
    one.__name__: one
    for one in (
        release_has_vpmc,
        cpu_has_vpmc,
        without_evc,
        fits_nodes,
        sees_nodes,
        sockets_fit_nodes,
        io_vm_is_pinned,
        latency_is_reserved,
        nothing_withheld,
        several_mounts,
        timers_are_slow,
        heap_is_unknown,
    )
}
"""By their names in items.toml."""
