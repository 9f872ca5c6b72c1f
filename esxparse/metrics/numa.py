"""NUMA: whether a VM fits one node or is wide, whether its guest sees nodes, and its share of local memory.

A VM fits if it has at most as many vCPUs as a node has cores, and less memory than a node has. With more vCPUs it is
wide. Before 4.1 the NUMA scheduler leaves a wide VM alone (no home node, memory from all nodes in turn). Since 4.1 it
is split into clients, each with a home node. Since 5.0 (hardware version 8, more than 8 vCPUs) the guest sees the
nodes.

Source: v(e)Xpertise, "Summarizing NUMA Scheduling", called the article here; VMware, vSphere Resource Management, 5.0
to 8.0, "Using Virtual NUMA" and "Virtual NUMA Controls", called the guide; CPU hot add: VMware KB 2040375. The article
wants fewer vCPUs than cores; an equal number fits too (general knowledge) and gives the VM a node of its own.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import polars as pl

from esxparse.errors import EsxparseError

from .frames import column, finite, names

LOCAL_PCT: Final = 80.0
"""N%L below this is poor (Epping, esxtop thresholds)."""
VNUMA_VCPUS: Final = 9
"""vCPUs from which a guest sees nodes by default (guide, `numa.vcpu.min`)."""
VNUMA_HARDWARE: Final = 8
_WIDE_VMS: Final = (4, 1)
_VNUMA: Final = (5, 0)
_HOST_TOPOLOGY: Final = (6, 5)
"""Since this release cores per socket no longer shape the nodes of a guest (guide)."""


class NodeFit(NamedTuple):
    """The fit of a VM on the nodes of a host."""

    fits: bool
    """vCPUs and memory fit in one node."""
    vcpus_fit: bool
    memory_fits: bool
    wide: bool
    """More vCPUs than a node has cores."""
    nodes: int
    """Fewest nodes for its vCPUs."""
    memory_headroom_mib: float
    """Memory of a node minus the VM's, MiB; if negative, part of the VM's memory is remote."""


class VirtualNuma(NamedTuple):
    """The NUMA topology that a guest sees."""

    exposed: bool
    nodes: int
    """Nodes that the guest sees; 1 if the topology is not exposed."""
    vcpus_per_node: int
    """vCPUs of the largest node."""
    why: str


def _at_least_1(**values: float) -> None:
    for what, value in values.items():
        if not value >= 1:
            raise EsxparseError(f"{what} must be 1 or more, not {value!r}")


def _release(text: str) -> tuple[int, int]:
    """Return major and minor number of a release: `5.1`, `ESXi 6.7 or later`, `vSphere 4`."""
    found = re.search(r"(\d+)(?:\.(\d+))?", text)
    if found is None:
        raise EsxparseError(f"release {text!r} has no number: write it as 5.0 or 6.7")
    return int(found[1]), int(found[2] or 0)


def node_fit(vcpus: int, memory_mib: float, cores_per_node: int, node_memory_mib: float) -> NodeFit:
    """Check whether a VM fits one node: vCPUs <= cores of a node, and memory < memory of a node.

    Nodes may differ in memory (talk "NFS & iSCSI ... ESX 3.5", slide "Pre-Deployment Best Practices (2 of 4)"): pass
    the smallest (`node_size`). Cores, not hyper-threads.

    Raises EsxparseError: A number is less than 1.

    >>> node_fit(6, 8192, cores_per_node=4, node_memory_mib=49152)
    NodeFit(fits=False, vcpus_fit=False, memory_fits=True, wide=True, nodes=2, memory_headroom_mib=40960)
    """
    _at_least_1(vcpus=vcpus, memory_mib=memory_mib, cores_per_node=cores_per_node, node_memory_mib=node_memory_mib)
    vcpus_fit, memory_fits = vcpus <= cores_per_node, memory_mib < node_memory_mib
    return NodeFit(
        fits=vcpus_fit and memory_fits,
        vcpus_fit=vcpus_fit,
        memory_fits=memory_fits,
        wide=not vcpus_fit,
        nodes=-(-vcpus // cores_per_node),
        memory_headroom_mib=node_memory_mib - memory_mib,
    )


def node_fits(vms: pl.LazyFrame, cores_per_node: int, node_memory_mib: float) -> pl.LazyFrame:
    """Add the results of `node_fit` to each VM.

    Needs `vcpus` and `memory_mib`. Keeps all columns and adds, null if a number is missing: `fits`, `vcpus_fit`,
    `memory_fits`, `wide`, `nodes`, `memory_headroom_mib`.

    Raises EsxparseError: The node has less than one core or MiB.

    >>> vms = pl.LazyFrame({"vm": ["web", "db"], "vcpus": [4, 12], "memory_mib": [4096.0, 65536.0]})
    >>> node_fits(vms, cores_per_node=6, node_memory_mib=49152).select("vm", "fits", "wide", "nodes").collect().rows()
    [('web', True, False, 1), ('db', False, True, 2)]
    """
    vms = finite(vms)
    _at_least_1(cores_per_node=cores_per_node, node_memory_mib=node_memory_mib)
    there = names(vms)
    vcpus, memory = column(there, "vcpus"), column(there, "memory_mib")
    return vms.with_columns(
        ((vcpus <= cores_per_node) & (memory < node_memory_mib)).alias("fits"),
        (vcpus <= cores_per_node).alias("vcpus_fit"),
        (memory < node_memory_mib).alias("memory_fits"),
        (vcpus > cores_per_node).alias("wide"),
        (vcpus / cores_per_node).ceil().cast(pl.Int64).alias("nodes"),
        (node_memory_mib - memory).alias("memory_headroom_mib"),
    )


def node_size(nodes: pl.LazyFrame, threads_per_core: int = 1) -> pl.LazyFrame:
    """Return the size of the host's smallest node, for `node_fit`.

    Needs `cpus` and `size_mib` (MiB) of the table `nodes` of `numactl --hardware`; nodes without CPUs are left out.
    Returns one row:

    nodes             i64  nodes with CPUs
    cores_per_node    i64  fewest CPUs of a node / threads per core
    node_memory_mib   f64  least memory of a node

    Raises EsxparseError: Less than one thread per core.

    >>> nodes = pl.LazyFrame({"cpus": [[0, 1, 2, 3], [4, 5, 6, 7]], "size_mib": [24576, 24320]})
    >>> node_size(nodes, threads_per_core=2).collect().row(0)
    (2, 2, 24320.0)
    """
    nodes = finite(nodes)
    _at_least_1(threads_per_core=threads_per_core)
    return nodes.filter(pl.col("cpus").list.len() > 0).select(
        pl.len().cast(pl.Int64).alias("nodes"),
        (pl.col("cpus").list.len().min().cast(pl.Int64) // threads_per_core).alias("cores_per_node"),
        pl.col("size_mib").min().cast(pl.Float64).alias("node_memory_mib"),
    )


def _fewest_vcpus(max_per_virtual_node: int | None, vcpu_min: int | None) -> tuple[int, bool]:
    """Return the fewest vCPUs with which a guest sees nodes, and whether only the article supports that number."""
    if vcpu_min is not None:
        return vcpu_min, False
    if max_per_virtual_node is not None and 2 * max_per_virtual_node + 1 < VNUMA_VCPUS:
        return 2 * max_per_virtual_node + 1, True
    return VNUMA_VCPUS, False


def vnuma(
    vcpus: int,
    hardware: int,
    release: str,
    *,
    cores_per_node: int,
    cores_per_socket: int = 1,
    max_per_virtual_node: int | None = None,
    vcpu_min: int | None = None,
    follow_cores_per_socket: bool = False,
    cpu_hot_add: bool = False,
) -> VirtualNuma:
    """Predict whether the guest of a VM will see NUMA nodes, and how many.

    A guest sees nodes from release 5.0 and hardware version 8 on, without CPU hot add, and with enough vCPUs. Enough
    is `numa.vcpu.min` (9). If `numa.vcpu.maxPerVirtualNode` is below 4, more than twice that number is enough, by the
    article, which has a default of 4. The guide has a default of 8 and mentions only `numa.vcpu.min`. `why` shows when
    an answer relies on the article.
    The size of a node is `numa.vcpu.maxPerVirtualNode` if set. Before 6.5 (or with `numa.vcpu.followcorespersocket`)
    it is `cpuid.coresPerSocket` if above 1. Otherwise the vCPUs are split evenly over as many nodes as `cores_per_node`
    of the host requires (guide). With a single node a guest does not see NUMA.

    Args:
        vcpus: `numvcpus`.
        hardware: `virtualHW.version`.
        release: Release of ESXi.
        cores_per_node: Cores per node of the host on which the VM was first powered on.
        cores_per_socket: `cpuid.coresPerSocket`.
        max_per_virtual_node: `numa.vcpu.maxPerVirtualNode`, if set.
        vcpu_min: `numa.vcpu.min`, if set.
        follow_cores_per_socket: `numa.vcpu.followcorespersocket`.
        cpu_hot_add: `vcpu.hotadd`.

    Raises EsxparseError: A number is less than 1, or the release text has no number.

    >>> vnuma(12, 8, "5.0", cores_per_node=6, cores_per_socket=6)[:3]
    (True, 2, 6)
    >>> vnuma(4, 8, "5.0", cores_per_node=6, cores_per_socket=2)
    VirtualNuma(exposed=False, nodes=1, vcpus_per_node=4, why='4 vCPUs, and it takes 9')
    """
    _at_least_1(vcpus=vcpus, hardware=hardware, cores_per_node=cores_per_node, cores_per_socket=cores_per_socket)
    limits = {"max_per_virtual_node": max_per_virtual_node, "vcpu_min": vcpu_min}
    _at_least_1(**{what: value for what, value in limits.items() if value is not None})
    number = _release(release)
    fewest, by_article = _fewest_vcpus(max_per_virtual_node, vcpu_min)
    hidden = ""
    if number < _VNUMA:
        hidden = f"release {release} exposes no NUMA; it takes 5.0"
    elif hardware < VNUMA_HARDWARE:
        hidden = f"hardware version {hardware}, and it takes {VNUMA_HARDWARE}"
    elif cpu_hot_add:
        hidden = "CPU hot add is on, which disables virtual NUMA"
    elif vcpus < fewest:
        hidden = f"{vcpus} vCPUs, and it takes {fewest}"
    if hidden:
        return VirtualNuma(exposed=False, nodes=1, vcpus_per_node=vcpus, why=hidden)
    by_socket = cores_per_socket > 1 and (number < _HOST_TOPOLOGY or follow_cores_per_socket)
    if max_per_virtual_node is not None:
        size, of = max_per_virtual_node, "numa.vcpu.maxPerVirtualNode"
    elif by_socket:
        size, of = cores_per_socket, "cpuid.coresPerSocket"
    else:
        size, of = cores_per_node, "cores of the host's nodes, evenly"
    nodes = -(-vcpus // size)
    if of.endswith("evenly"):
        size = -(-vcpus // nodes)
    disputed = "; that so few vCPUs are enough is the article's word, not the guide's" if by_article else ""
    if nodes == 1:
        return VirtualNuma(exposed=False, nodes=1, vcpus_per_node=vcpus, why=f"one node holds it all ({of}){disputed}")
    return VirtualNuma(exposed=True, nodes=nodes, vcpus_per_node=min(size, vcpus), why=f"nodes by {of}{disputed}")


def advice(release: str, fit: NodeFit, seen: VirtualNuma | None = None) -> tuple[str, ...]:
    """Return the article's recommendations for a VM, by release; none if it fits.

    Memory latency matters to VMs that use much memory; for others the recommendations may be irrelevant (article).

    Raises EsxparseError: The release has no number.

    >>> fit = node_fit(6, 8192, cores_per_node=4, node_memory_mib=49152)
    >>> advice("4.0", fit)
    ('give it at most as many vCPUs as a node has cores: it has no home node, and memory from all nodes',)
    """
    number = _release(release)
    lines = []
    if fit.wide and number < _WIDE_VMS:
        lines.append(
            "give it at most as many vCPUs as a node has cores: it has no home node, and memory from all nodes"
        )
    elif fit.wide and (seen is None or not seen.exposed):
        lines.append(
            f"it is split over {fit.nodes} nodes that its guest does not see: fewer vCPUs, or from 5.0 on a virtual "
            "NUMA topology, keep processes near their memory"
        )
    elif fit.wide and seen is not None and seen.nodes < fit.nodes:
        lines.append(
            f"its guest sees {seen.nodes} nodes and the host needs {fit.nodes}: leave cores per socket at the default, "
            "or set it to at most the cores of a node"
        )
    if not fit.memory_fits and not fit.wide:
        lines.append("give it less memory than a node has: a part of it is remote whatever the scheduler does")
    return tuple(lines)


def locality(vms: pl.LazyFrame, below_pct: float = LOCAL_PCT) -> pl.LazyFrame:
    """Sum up the share of local memory of each VM over time.

    N%L = local / (local + remote) x 100. Needs `vm`, `numa_local_mib`, `numa_remote_mib` (MiB), the columns of
    `memory.vms`. Samples without local and remote memory, as on a host with one node, do not count. Returns one row
    per VM, sorted:

    vm
    samples          i64  that counted
    local_pct        f64  sum of local / sum of all x 100: weighted by memory; null without samples
    min_local_pct    f64  of the worst sample
    max_remote_mib   f64
    below_samples    i64  samples below `below_pct`

    Source: VMware, "Interpreting esxtop Statistics": N%L, NLMEM, NRMEM. 80 %: Epping, esxtop thresholds.

    >>> vms = pl.LazyFrame({"vm": ["db"] * 2, "numa_local_mib": [900.0, 500.0], "numa_remote_mib": [100.0, 500.0]})
    >>> locality(vms).collect().row(0)
    ('db', 2, 70.0, 50.0, 500.0, 1)
    """
    vms = finite(vms)
    there = names(vms)
    local, remote = column(there, "numa_local_mib"), column(there, "numa_remote_mib")
    counted = (local + remote) > 0
    pct = pl.when(counted).then(local / (local + remote) * 100)
    both = (local + remote).filter(counted).sum()
    return (
        vms.group_by("vm")
        .agg(
            samples=counted.sum().cast(pl.Int64),
            local_pct=pl.when(both > 0).then(local.filter(counted).sum() / both * 100),
            min_local_pct=pct.min(),
            max_remote_mib=remote.filter(counted).max(),
            below_samples=(pct < below_pct).sum().cast(pl.Int64),
        )
        .sort("vm")
    )
