"""What machines are: `numactl --hardware` of 2.0.5, /proc/cpuinfo of Linux 2.6.32, the .vmx of a VM.

Evidence: numactl.c, arch/x86/kernel/cpu/proc.c, the output of a guest printed in an article; keys of a .vmx as articles
on NUMA, vPMC and MMU virtualization and VMware's documents print them, quoted as open-vm-tools does.
Assumptions: APIC numbers count threads, cores and sockets in fields of whole bits, as VMware's virtual ones do; the
order of the keys of a .vmx, and which of them are written at all.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from esxparse_simulator.limits import need
from esxparse_simulator.writers import TEXTS

_MOST_CPUS = 8192


class Place(NamedTuple):
    """Where a logical processor is; `core` counts within its socket."""

    cpu: int
    socket: int
    core: int
    thread: int
    node: int


@dataclass(frozen=True, slots=True)
class Topology:
    """`sockets` of `cores` each with `threads`, cut into NUMA `nodes` of as many cores each.

    `memory_mb` and `free_mb` are of each node (MB of 2**20 bytes); nothing is free where `free_mb` is left out. Second
    threads of cores are numbered after all first ones.
    """

    sockets: int
    cores: int
    threads: int = 1
    nodes: int = 1
    memory_mb: tuple[int, ...] = (4096,)
    free_mb: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuses what cannot be a machine."""
        what = f"{self.sockets} sockets x {self.cores} cores x {self.threads} threads on {self.nodes} nodes"
        there = min(self.sockets, self.cores, self.threads, self.nodes) > 0
        there = there and self.sockets * self.cores * self.threads <= _MOST_CPUS
        need(there, f"{what}: give 1 or more of each, {_MOST_CPUS} processors at most")
        even = self.sockets * self.cores % self.nodes == 0
        need(even, f"{what}: the cores cannot be shared out evenly: take a number of nodes that divides them")
        sized = len(self.memory_mb) == self.nodes and len(self.free_mb) in {0, self.nodes}
        need(sized, f"{what}: {len(self.memory_mb)} sizes and {len(self.free_mb)} free: give one for each node")
        free = all(0 <= left <= size for size, left in zip(self.memory_mb, self.free_mb, strict=False))
        need(free, f"{what}: a node has more memory free than it has: give 0 up to its size")

    def places(self) -> list[Place]:
        """Where each processor is, by number."""
        every = self.sockets * self.cores
        found = []
        for cpu in range(every * self.threads):
            core, node = cpu % every, cpu % every // (every // self.nodes)
            found.append(Place(cpu, core // self.cores, core % self.cores, cpu // every, node))
        return found


def numactl_text(machine: Topology) -> str:
    """What `numactl --hardware` prints."""
    nodes = range(machine.nodes)
    lines = [f"available: {machine.nodes} nodes (0-{machine.nodes - 1})"]
    free = machine.free_mb or (0,) * machine.nodes
    for node in nodes:
        lines.append(f"node {node} cpus:" + "".join(f" {one.cpu}" for one in machine.places() if one.node == node))
        lines += [f"node {node} size: {machine.memory_mb[node]} MB", f"node {node} free: {free[node]} MB"]
    lines += ["node distances:", "node " + "".join(f"{node:3d} " for node in nodes)]
    lines += [f"{node:3d}: " + "".join(f"{10 if node == to else 20:3d} " for to in nodes) for node in nodes]
    return "\n".join(lines) + "\n"


def cpuinfo_lines(machine: Topology) -> Iterator[bytes]:
    """/proc/cpuinfo of a Xeon of the days of vSphere 5 as its guests see it, one processor after another."""
    thread_bits, core_bits = (machine.threads - 1).bit_length(), (machine.cores - 1).bit_length()
    siblings = machine.cores * machine.threads
    for place in machine.places():
        text = f"processor\t: {place.cpu}\n{TEXTS['cpuinfo']['model']}"
        if siblings > 1:
            apic = place.socket << (core_bits + thread_bits) | place.core << thread_bits | place.thread
            text += f"physical id\t: {place.socket}\nsiblings\t: {siblings}\ncore id\t\t: {place.core}\n"
            text += f"cpu cores\t: {machine.cores}\napicid\t\t: {apic}\ninitial apicid\t: {apic}\n"
        yield (text + TEXTS["cpuinfo"]["rest"]).encode()


@dataclass(frozen=True, slots=True)
class VmFile:
    """A VM: its size, how it is shown to the guest, and what of it was set by hand.

    `max_per_virtual_node` is `numa.vcpu.maxPerVirtualNode`, `affinity` are PCPUs, `mmu` is `hardware` for nested paging
    and `software` for shadow page tables.
    """

    name: str
    vcpus: int = 1
    memory_mb: int = 4096
    cores_per_socket: int = 1
    hardware_version: int = 8
    guest_os: str = "debian6-64"
    max_per_virtual_node: int | None = None
    affinity: tuple[int, ...] = ()
    mmu: Literal["automatic", "hardware", "software"] | None = None
    vpmc: bool = False
    freeze_mode: Literal["guest", "vcpu", "hybrid"] | None = None


def vmx_text(vm: VmFile) -> str:
    """The .vmx file; what is 1 or not set is left out."""
    _check(vm)
    settings = {
        ".encoding": "UTF-8",
        "config.version": "8",
        "virtualHW.version": vm.hardware_version,
        "pciBridge0.present": "TRUE",
        "vmci0.present": "TRUE",
        "displayName": vm.name,
        "extendedConfigFile": f"{vm.name}.vmxf",
        "nvram": f"{vm.name}.nvram",
        "numvcpus": vm.vcpus if vm.vcpus > 1 else None,
        "cpuid.coresPerSocket": vm.cores_per_socket if vm.cores_per_socket > 1 else None,
        "memSize": vm.memory_mb,
        "scsi0.present": "TRUE",
        "scsi0.virtualDev": "pvscsi",
        "scsi0:0.present": "TRUE",
        "scsi0:0.deviceType": "scsi-hardDisk",
        "scsi0:0.fileName": f"{vm.name}.vmdk",
        "ethernet0.present": "TRUE",
        "ethernet0.virtualDev": "vmxnet3",
        "guestOS": vm.guest_os,
        "uuid.bios": _uuid(vm.name),
        "sched.cpu.affinity": ",".join(map(str, vm.affinity)) or None,
        "numa.vcpu.maxPerVirtualNode": vm.max_per_virtual_node,
        "monitor.virtual_mmu": vm.mmu,
        "vpmc.enable": "TRUE" if vm.vpmc else None,
        "vpmc.freezeMode": vm.freeze_mode,
    }
    return "".join(f'{key} = "{_escaped(str(value))}"\n' for key, value in settings.items() if value is not None)


def _check(vm: VmFile) -> None:
    what = f"VM {vm.name!r}"
    sized = vm.name and vm.vcpus > 0 and vm.memory_mb > 0
    need(sized, f"{what} of {vm.vcpus} vCPUs and {vm.memory_mb} MB: give a name, 1 vCPU or more, some memory")
    whole = vm.cores_per_socket > 0 and vm.vcpus % vm.cores_per_socket == 0
    sockets = (
        f"{what}: {vm.vcpus} vCPUs do not fill whole sockets of {vm.cores_per_socket}: take a number that divides them"
    )
    need(whole, sockets)
    there = 3 <= vm.hardware_version <= 21
    need(there, f"{what}: there is no hardware version {vm.hardware_version}: take 3 to 21")
    limit = vm.max_per_virtual_node
    need(limit is None or limit > 0, f"{what}: a virtual node of no vCPU: give 1 or more")


def _uuid(name: str) -> str:
    """A UUID in VMware's way of writing, the same for the same name."""
    digits = "".join(f"{zlib.crc32(f'{name} {part}'.encode()):08x}" for part in range(4))
    pairs = [digits[at : at + 2] for at in range(0, len(digits), 2)]
    return f"{' '.join(pairs[:8])}-{' '.join(pairs[8:])}"


def _escaped(value: str) -> str:
    """Quotes, bars and control signs as a bar and two digits."""
    return "".join(f"|{ord(sign):02X}" if sign in '"|' or ord(sign) < ord(" ") else sign for sign in value)
