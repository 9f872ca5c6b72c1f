"""The columns of `runs`: what each is, from which file, and by which formula. The documentation is checked against it.

Means are over the samples of the measured span. What esxtop calls MBytes (2**20 bytes) is converted where a name says
`mb` (10**6) and kept where it says `mib`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import polars as pl


class Column(NamedTuple):
    """A column of `runs`."""

    needs: str
    """Role of the file it comes from; empty for what every run has."""
    means: str
    source: str
    """Where the formula is written down."""
    type: Any = pl.Float64


_TIME = pl.Datetime("us", "UTC")
_I = pl.Int64
_S = pl.String
_LOAD = "workload"

FACTS: Final[dict[str, Column]] = {
    "host_name": Column("", "name of the host", "esxtop, else [host] name", _S),
    "esxi_release": Column(
        "", "release of ESXi, as well as the capture tells it", "[host] release, else formats.esxtop.release", _S
    ),
    "cpus": Column("", "PCPUs that esxtop shows: hyper-threads where there are any", "files, else [host]", _I),
    "cores": Column("", "cores of the host", "hardware, else [host]", _I),
    "sockets": Column("", "sockets of the host", "hardware, else [host]", _I),
    "numa_nodes": Column("", "NUMA nodes of the host", "hardware, else [host]", _I),
    "mhz": Column("", "nominal frequency of the CPUs", "hardware, the P-states of a capture, else [host]"),
    "memory_mib": Column("", "memory of the host, 2**20 bytes", "esxtop, hardware, else [host]"),
    "load_hosts": Column(
        "", "hosts alike that share the load; the capture and the meter are of one", "[host], else studies.scope", _I
    ),
}

SPAN: Final[dict[str, Column]] = {
    "start": Column("", "begin of the measured span, UTC", "metrics.steady.measured_span", _TIME),
    "end": Column("", "end of the measured span, UTC", "metrics.steady.measured_span", _TIME),
    "measured_s": Column("", "length of the measured span", "end - start"),
    "samples": Column("esxtop", "samples of the capture in it", "count", _I),
}

CAPTURE: Final[dict[str, Column]] = {
    "host_used_pct": Column("esxtop", "PCPU USED, mean over PCPUs and samples (may pass 100)", "metrics.host_cpu.pcpu"),
    "host_util_pct": Column("esxtop", "PCPU UTIL, mean over PCPUs and samples", "metrics.host_cpu.pcpu"),
    "host_core_util_pct": Column("esxtop", "CORE UTIL, mean over PCPUs and samples", "metrics.host_cpu.pcpu"),
    "host_util_p95_pct": Column("esxtop", "95th percentile over samples of PCPU UTIL", "metrics.host_cpu.pcpu"),
    "host_util_max_pct": Column("esxtop", "largest sample of PCPU UTIL", "metrics.host_cpu.pcpu"),
    "pcpu_util_spread_pct": Column(
        "esxtop", "busiest less idlest PCPU, mean over samples", "metrics.host_cpu.imbalance"
    ),
    "vms_running": Column("esxtop", "VMs in the capture", "metrics.inventory.vms", _I),
    "vcpus_running": Column("esxtop", "vCPUs of these VMs", "metrics.inventory.vms", _I),
    "vcpus_per_cpu": Column("esxtop", "vCPUs / PCPUs", "vcpus_running / cpus"),
    "vcpus_per_core": Column("esxtop", "vCPUs / cores", "vcpus_running / cores"),
    "ready_pct": Column("esxtop", "%RDY per vCPU, all VMs (the limit's part inside)", "metrics.scheduling.per_vcpu"),
    "contention_pct": Column("esxtop", "%RDY - %MLMTD per vCPU, all VMs", "metrics.scheduling.per_vcpu"),
    "max_limited_pct": Column("esxtop", "%MLMTD per vCPU, all VMs", "metrics.scheduling.per_vcpu"),
    "costop_pct": Column("esxtop", "%CSTP per vCPU, all VMs", "metrics.scheduling.per_vcpu"),
    "swap_wait_pct": Column("esxtop", "%SWPWT per vCPU, all VMs", "metrics.scheduling.per_vcpu"),
    "overlap_pct": Column("esxtop", "%OVRLP per vCPU, all VMs", "metrics.scheduling.per_vcpu"),
    "worst_vm_ready_pct": Column("esxtop", "ready_pct of the VM with most of it", "metrics.scheduling.per_vcpu"),
    "worst_vm_costop_pct": Column("esxtop", "costop_pct of the VM with most of it", "metrics.scheduling.per_vcpu"),
    "ready_from": Column(
        "esxtop", "whose waits these are: vCPU worlds, group (with helper worlds)", "metrics.scheduling", _S
    ),
    "numa_local_pct": Column("esxtop", "local of all memory of VMs, N%L weighted by memory", "metrics.memory.vms"),
    "memory_free_mib": Column("esxtop", "free memory of the host", "metrics.memory.host"),
    "balloon_mib": Column("esxtop", "taken back from guests by balloons", "metrics.memory.host"),
    "swap_in_mib_per_s": Column("esxtop", "read from the VMkernel's swap", "metrics.memory.host"),
    "swap_out_mib_per_s": Column("esxtop", "written to the VMkernel's swap", "metrics.memory.host"),
    "host_iops": Column("esxtop", "commands of the devices and NFS volumes that serve I/O", "metrics.host.io"),
    "host_read_mb_per_s": Column("esxtop", "read by the host, 10**6 bytes", "metrics.host.io"),
    "host_write_mb_per_s": Column("esxtop", "written by the host, 10**6 bytes", "metrics.host.io"),
    "left_out_iops": Column("esxtop", "commands of devices that do little but fail or be polled", "metrics.host.io"),
    "left_out_devices": Column("esxtop", "these devices, each with the reason", "metrics.storage.left_out", _S),
    "gavg_ms": Column("esxtop", "guest latency, weighted by good reads and writes", "metrics.storage.latency"),
    "davg_ms": Column("esxtop", "device latency, weighted likewise", "metrics.storage.latency"),
    "kavg_ms": Column("esxtop", "VMkernel latency, weighted likewise", "metrics.storage.latency"),
    "qavg_ms": Column("esxtop", "queue latency (part of KAVG), weighted likewise", "metrics.storage.latency"),
    "gavg_read_ms": Column("esxtop", "guest latency of reads, weighted by good reads", "metrics.workload.host_side"),
    "gavg_write_ms": Column("esxtop", "guest latency of writes, weighted by good writes", "metrics.workload.host_side"),
    "tx_mbit_per_s": Column("esxtop", "sent by all uplinks, 10**6 bits", "metrics.network.ports"),
    "rx_mbit_per_s": Column("esxtop", "received by all uplinks, 10**6 bits", "metrics.network.ports"),
    "tx_packets_per_s": Column("esxtop", "packets sent by all uplinks", "metrics.network.ports"),
    "rx_packets_per_s": Column("esxtop", "packets received by all uplinks", "metrics.network.ports"),
    "dropped_packets_per_s": Column("esxtop", "packets dropped at ports of VMs", "metrics.network.ports"),
    "steady_of": Column("esxtop", "what steadiness was looked at: host_iops or host_util_pct", "studies.capture", _S),
    "steady": Column("esxtop", "verdict: steady, drifts up, varies ...", "metrics.steady.steadiness", _S),
    "drift_pct": Column("esxtop", "slope x span / mean", "metrics.steady.steadiness"),
    "outlier_samples": Column(
        "esxtop", "samples that stand out; they stay in all means", "metrics.steady.outliers", _I
    ),
}

WORKLOAD: Final[dict[str, Column]] = {
    "iops": Column(_LOAD, "I/Os per second, all directions", "metrics.workload.results"),
    "read_iops": Column(_LOAD, "reads per second", "metrics.workload.results"),
    "write_iops": Column(_LOAD, "writes per second", "metrics.workload.results"),
    "mb_per_s": Column(_LOAD, "throughput, 10**6 bytes", "metrics.workload.results"),
    "read_mb_per_s": Column(_LOAD, "read, 10**6 bytes", "metrics.workload.results"),
    "write_mb_per_s": Column(_LOAD, "written, 10**6 bytes", "metrics.workload.results"),
    "latency_mean_ms": Column(_LOAD, "mean latency, weighted by I/Os", "metrics.workload.results"),
    "read_latency_mean_ms": Column(_LOAD, "of reads", "metrics.workload.results"),
    "write_latency_mean_ms": Column(_LOAD, "of writes", "metrics.workload.results"),
    "latency_max_ms": Column(_LOAD, "largest latency of one I/O", "metrics.workload.results"),
    "median_read_latency_ms": Column(
        _LOAD, "median of the workers' (fio: jobs') mean read latencies", "metrics.workers.median_read_latency"
    ),
    "read_p95_ms": Column(_LOAD, "95th percentile of reads; null for several tests", "metrics.workload.results"),
    "read_p99_ms": Column(_LOAD, "99th percentile of reads; null for several tests", "metrics.workload.results"),
    "write_p95_ms": Column(_LOAD, "95th percentile of writes; null for several tests", "metrics.workload.results"),
    "write_p99_ms": Column(_LOAD, "99th percentile of writes; null for several tests", "metrics.workload.results"),
    "block_size_bytes": Column(_LOAD, "size of the I/Os, where all have one", "metrics.workload.results", _I),
    "outstanding": Column(_LOAD, "I/Os under way, as configured", "metrics.workload.results", _I),
    "outstanding_by_law": Column(_LOAD, "IOPS x latency / 1000", "metrics.storage_laws.check_outstanding"),
    "io_errors": Column(_LOAD, "I/Os that failed", "metrics.workload.results", _I),
    "throughput_from": Column("", "whose iops and mb_per_s these are: fio ... esxtop", "studies.runs", _S),
}

POWER: Final[dict[str, Column]] = {
    "watts": Column("power", "mean power: the meter's, else the capture's", "metrics.power_join, energy, power"),
    "watts_from": Column("power", "redfish ... or esxtop", "studies.results", _S),
    "energy_joules": Column("power", "energy over the part of the span that has power", "metrics.energy.energy"),
    "joules_per_io": Column("power", "watts x load_hosts / IOPS", "metrics.energy.watts_per_unit"),
}

EVENTS: Final[dict[str, Column]] = {
    "tlb_miss_load_per_s": Column("events", "TLB misses of loads", "metrics.hardware_events.totals"),
    "tlb_miss_store_per_s": Column("events", "TLB misses of stores", "metrics.hardware_events.totals"),
    "tlb_miss_instruction_per_s": Column("events", "TLB misses of instructions", "metrics.hardware_events.totals"),
    "tlb_misses_load": Column("perf", "TLB misses of loads, count", "metrics.hardware_events.totals"),
    "instructions_per_cycle": Column("perf", "instructions / cycles", "metrics.hardware_events.totals"),
    "elapsed_s": Column("perf", "what the command took; mean over repetitions", "formats.perf_stat"),
}

DISKS: Final[dict[str, Column]] = {
    "vscsi_read_pct": Column("vscsistats", "reads of all commands", "metrics.io_profile.read_share"),
    "vscsi_sequential_pct": Column(
        "vscsistats", "commands that follow on another", "metrics.io_profile.sequential_share"
    ),
}

WIRE: Final[dict[str, Column]] = {
    **{
        f"wire_{way}_{name}": Column("packets", text.format(way), source)
        for way in ("read", "write")
        for name, text, source in (
            ("per_s", "{}s asked for per second, NFS and iSCSI", "studies.wire"),
            ("p50_ms", "median response time of {}s, seen on the wire", "metrics.alignment.latency"),
            ("p95_ms", "95th percentile of the response time of {}s", "metrics.alignment.latency"),
            ("size_bytes", "mean size of {}s", "studies.wire"),
            ("misaligned_pct", "{}s whose offset is no multiple of 4096 bytes", "metrics.alignment.shares"),
        )
    },
    "wire_unanswered": Column("packets", "reads and writes without a reply", "metrics.alignment.latency", _I),
    "tcp_retransmissions": Column("packets", "packets sent again, whole trace", "formats.packets", _I),
    "tcp_retransmissions_pct": Column("packets", "share of all packets, whole trace", "formats.packets"),
}

VMX: Final[dict[str, Column]] = {
    "vmx_vms": Column("vmx", "VMs whose configuration was given", "count", _I),
    "vmx_vcpus": Column("vmx", "vCPUs of these VMs", "formats.topology.vmx", _I),
    "vmx_memory_mib": Column("vmx", "memory of these VMs, 2**20 bytes", "formats.topology.vmx"),
    "vmx_cores_per_socket": Column("vmx", "cores per socket, where all have one", "formats.topology.vmx", _I),
    "vmx_hardware": Column("vmx", "virtual hardware version, where all have one", "formats.topology.vmx", _I),
    "node_cores": Column("vmx", "cores of the host's smallest NUMA node", "metrics.numa.node_size", _I),
    "node_memory_mib": Column("vmx", "memory of the host's smallest NUMA node", "metrics.numa.node_size"),
    "vmx_fits_node": Column("vmx", "whether each VM fits one node", "metrics.numa.node_fit", pl.Boolean),
    "vmx_wide_vms": Column("vmx", "VMs with more vCPUs than a node has cores", "metrics.numa.node_fit", _I),
    "vmx_nodes_needed": Column("vmx", "nodes that the widest VM needs", "metrics.numa.node_fit", _I),
    "vmx_node_headroom_mib": Column("vmx", "memory of a node less that of the largest VM", "metrics.numa.node_fit"),
    "vmx_vnuma_vms": Column("vmx", "VMs whose guest sees NUMA nodes", "metrics.numa.vnuma", _I),
    "vmx_vnuma_nodes": Column("vmx", "most nodes that a guest sees", "metrics.numa.vnuma", _I),
}

_COSTS = {
    "mhz": "CPU use of the host: pct / 100 x cpus x mhz",
    "mhz_per_mbps": "MHz x load_hosts / MBps (10**6 bytes): the talk's CPU cost",
    "mhz_per_iops": "MHz x load_hosts / IOPS",
    "cycles_per_io": "MHz x load_hosts x 10**6 / IOPS",
    "cycles_per_byte": "MHz x load_hosts / (bytes per second / 10**6)",
}


def _cost(prefix: str, of_one: str, words: str, needs: str) -> dict[str, Column]:
    costs = _COSTS | {f"pct_of_{of_one}_per_1k_iops": f"percent of one {of_one} per 1,000 IOPS"}
    return {
        f"{prefix}_{name}": Column(needs, f"{text}, {words}", "metrics.cpu_cost.cost") for name, text in costs.items()
    }


COSTS: Final[dict[str, Column]] = {
    **_cost("used", "core", "by used (frequency-aware; two busy hyper-threads count half each)", "esxtop"),
    **_cost("util", "pcpu", "by util (time)", "esxtop"),
    "idle_used_pct": Column("idle", "PCPU USED of the host without load", "metrics.host_cpu.pcpu"),
    "idle_util_pct": Column("idle", "PCPU UTIL of the host without load", "metrics.host_cpu.pcpu"),
    **_cost("used_above_idle", "core", "by used, idle subtracted", "idle"),
    **_cost("util_above_idle", "pcpu", "by util, idle subtracted", "idle"),
}

LAST: Final[dict[str, Column]] = {
    "recording": Column(
        "", "first run of the recording that it is of: repetitions have their own", "studies.repeated", _I
    ),
    "files": Column("", "role=file of each file", "manifest", _S),
    "gap": Column("", "what this run lacks, and why; null where nothing does", "studies.runs", _S),
}

FIRST: Final[dict[str, Column]] = {
    "run": Column("", "number of the run, from 1, in the order of the manifest", "manifest", _I),
    "repetition": Column("", "number of the repetition among runs with the same labels", "manifest", _I),
    "is_baseline": Column("", "whether the run is of the baseline; null without one", "manifest", pl.Boolean),
}

METRICS: Final = {**WORKLOAD, **COSTS, **CAPTURE, **POWER, **EVENTS, **DISKS, **WIRE, **VMX}
COLUMNS: Final = {**FIRST, **SPAN, **FACTS, **METRICS, **LAST}
"""All columns that `runs` may have beside labels, figures of the manifest, events and benchmark results."""

HEADLINES: Final = (
    "iops",
    "mb_per_s",
    "latency_mean_ms",
    "median_read_latency_ms",
    "read_p99_ms",
    "host_used_pct",
    "host_util_pct",
    "used_mhz_per_mbps",
    "used_pct_of_core_per_1k_iops",
    "ready_pct",
    "costop_pct",
    "watts",
    "tlb_miss_load_per_s",
)
"""Columns that a table for readers shows unless told otherwise, those that have a number."""
