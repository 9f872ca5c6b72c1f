"""Makes a larger host of a recorded one, by cloning its columns: two sockets, SAN disks with four paths, two uplinks.

The recording is a small host at home. Most published incidents are of larger ones: their objects get the columns that
the recording has for such an object, and levels of a host in ordinary use. ESXi 6.0 prints `Numa Node` on such hosts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .capture import Capture, Key
from .stretch import generator

NODES, CORES_PER_NODE = 2, 8
_PCPUS = NODES * CORES_PER_NODE * 2
_NODE_MB, _MINFREE = 131072.0, 2700.0
_SAN = {
    "naa.600a098038304437415d4b6a59684a52": ("L1", "vmhba2", "vmhba3"),
    "naa.600a098038304437415d4b6a59684a53": ("L2", "vmhba2", "vmhba3"),
}
_NFS = "nfs_ds01"
_NOT_VMS = ("system", "helper", "drivers", "hostd", "vpxa", "init", "vmsyslogd", "vobd")
_UPLINKS = ("vSwitch0:33554434:vmnic0", "vSwitch0:33554435:vmnic1")
_SPEED = 10000.0
_DEPTH = 64.0
_HOST_QUIET = (
    "Swap Used MBytes",
    "Swap Target MBytes",
    "Swap MBytes Read/sec",
    "Swap MBytes Write/sec",
    "Memctl Current MBytes",
    "Memctl Target MBytes",
    "Total Compressed MBytes",
    "Total Saved By Compression MBytes",
    "Kernel State",
)
_GUEST_QUIET = (
    "Memctl MBytes",
    "Memctl Target MBytes",
    "Swapped MBytes",
    "Swap Target MBytes",
    "Swap Read MBytes/sec",
    "Swap Written MBytes/sec",
    "Compressed Memory MBytes",
    "Used Compressed Memory MBytes",
    "Compression MBytes/sec",
    "Decompression MBytes/sec",
    "Llswap Read MBytes/sec",
    "Llswap Written MBytes/sec",
    "Numa Remote Memory MBytes",
    "Numa Rebalance Count Delta",
    "Shared Saved MBytes",
)


class _Guest(NamedTuple):
    """A VM of the larger host."""

    name: str
    vcpus: int
    gb: int
    run: float
    """Percent of one core per vCPU."""
    iops: float
    mbit: float
    place: int
    """Which disk: 0 or 1 on the SAN, 2 for the NFS volume."""


_GUESTS = (
    _Guest("app01", 4, 16, 22, 120, 40, 0),
    _Guest("app02", 4, 16, 18, 90, 30, 0),
    _Guest("db01", 8, 48, 30, 420, 60, 1),
    _Guest("db02", 4, 32, 16, 260, 20, 1),
    _Guest("web01", 2, 8, 14, 25, 90, 0),
    _Guest("web02", 2, 8, 12, 20, 80, 0),
    _Guest("mail01", 4, 24, 15, 150, 25, 0),
    _Guest("file01", 2, 12, 10, 110, 120, 2),
    _Guest("erp01", 12, 40, 9, 70, 15, 1),
    _Guest("mon01", 1, 4, 18, 15, 10, 2),
)


def widened(recorded: Capture) -> Capture:
    """Make a host of 2 x 8 cores with hyper-threads, 256 GB and ten VMs of a recording's columns."""
    made = Capture("esx-wide", recorded.times, {}, set())
    clone = _Clone(recorded, made)
    _host(clone)
    leaders = _guests(clone)
    _disks(clone, leaders)
    _ports(clone, leaders)
    return made


class _Clone:
    """Copies columns of one object to another."""

    def __init__(self, recorded: Capture, made: Capture) -> None:
        self.recorded, self.made = recorded, made
        self.by_object: dict[tuple[str, str], list[Key]] = {}
        for key in recorded.columns:
            self.by_object.setdefault((key.object, key.instance), []).append(key)

    def instances(self, kind: str) -> list[str]:
        return [instance for name, instance in self.by_object if name == kind]

    def copy(self, kind: str, old: str, new: str) -> None:
        """Copy all columns of an instance."""
        for key in self.by_object.get((kind, old), []):
            fresh = Key(kind, new, key.counter)
            self.made.columns[fresh] = self.recorded.columns[key]
            if key in self.recorded.whole:
                self.made.whole.add(fresh)

    def level(self, kind: str, instance: str, values: dict[str, float], *, varies: bool = False) -> None:
        """Set counters of an instance; what varies gets a little of its own in each sample."""
        for counter, value in values.items():
            key = Key(kind, instance, counter)
            noise = generator(0, key.header).uniform(0.9, 1.1, len(self.made.times)) if varies else 1.0
            self.made.columns[key] = np.full(len(self.made.times), value) * noise


def _host(clone: _Clone) -> None:
    for kind in ("Memory", "Physical Cpu Load", "VSAN"):
        clone.copy(kind, "", "")
    for instance in clone.instances("Power"):
        clone.copy("Power", instance, instance)
    clone.level("Power", "", {"Power Usage Now Watts": 236.0}, varies=True)
    machine = NODES * _NODE_MB
    granted = sum(one.gb for one in _GUESTS) * 1024 * 0.85
    kernel = 6200.0
    free = machine - kernel - granted
    quiet = dict.fromkeys(_HOST_QUIET, 0.0)
    sizes = {
        "Machine MBytes": machine,
        "Kernel Managed MBytes": machine - 900,
        "Kernel MinFree MBytes": _MINFREE,
        "Kernel MBytes": kernel,
        "NonKernel MBytes": granted,
        "Free MBytes": free,
        "Kernel Reserved MBytes": 8000.0,
        "Kernel Unreserved MBytes": machine - 9000,
        "Memctl Max MBytes": granted * 0.65,
        **{f"Memory Overcommit ({minutes} Minute Avg)": 0.0 for minutes in (1, 5, 15)},
    }
    clone.level("Memory", "", {**quiet, **sizes})
    for node in range(NODES):
        clone.level("Numa Node", str(node), {"Free MBytes": free / NODES, "% Processor Time": 17.0}, varies=True)
    for pcpu in range(_PCPUS):
        clone.copy("Physical Cpu", str(pcpu % 2), str(pcpu))
        busy = {"% Processor Time": 15.5, "% Util Time": 16.0, "% Core Util Time": 27.0}
        clone.level("Physical Cpu", str(pcpu), busy, varies=True)
        clone.copy("PCPU Power State", f"PCPU {pcpu % 2}", f"PCPU {pcpu}")
        steps = {f"%P-State P{step}": 0.0 for step in range(16)}
        clone.level("PCPU Power State", f"PCPU {pcpu}", {**steps, "%P-State P0": 97.0, "%P-State P1": 3.0})
    clone.level(
        "Physical Cpu", "_Total", {"% Processor Time": 15.5, "% Util Time": 16.0, "% Core Util Time": 27.0}, varies=True
    )
    for minutes in (1, 5, 15):
        clone.level("Physical Cpu Load", "", {f"Cpu Load ({minutes} Minute Avg)": 0.17}, varies=True)
    _interrupts(clone)
    _services(clone)


def _services(clone: _Clone) -> None:
    """Groups that are no VMs, with up to twelve worlds each, and an idle world for each PCPU."""
    for group in clone.instances("Group Cpu"):
        name = group.partition(":")[2].partition(".")[0]
        if name in _NOT_VMS:
            for kind in ("Group Cpu", "Group Memory"):
                clone.copy(kind, group, group)
            worlds = [one for one in clone.instances("Vcpu") if one.startswith(f"{group}:") and ":idle" not in one]
            for world in worlds[:12]:
                clone.copy("Vcpu", world, world)
    system = next(one for one in clone.instances("Group Cpu") if one.endswith(":system"))
    idle = next(one for one in clone.instances("Vcpu") if one.endswith(":idle0"))
    for pcpu in range(_PCPUS):
        clone.copy("Vcpu", idle, f"{system}:{65000 + pcpu}:idle{pcpu}")


def _interrupts(clone: _Clone) -> None:
    """The recording's four busiest interrupts, on every second PCPU."""
    kind = "Interrupt Cookie"
    rates = {one: clone.recorded.columns[Key(kind, one, "Interrupts/second")].mean() for one in clone.instances(kind)}
    busiest = sorted((one for one in rates if ":" not in one), key=lambda one: -rates[one])[:4]
    for cookie in busiest:
        clone.copy(kind, cookie, cookie)
        for pcpu in range(0, _PCPUS, 2):
            clone.copy(kind, f"{cookie}:CPU{pcpu // 2 % 2}", f"{cookie}:CPU{pcpu}")


def _guests(clone: _Clone) -> dict[str, str]:
    """The VMs' groups and worlds; returns the leading world of each."""
    template = next(
        one for one in clone.instances("Group Cpu") if Key("Group Cpu", one, "% VmWait") in clone.recorded.columns
    )
    worlds = [one for one in clone.instances("Vcpu") if one.startswith(f"{template}:")]
    old = template.partition(":")[2]
    lead = next(one for one in worlds if ":NetWorld-VM-" in one).rpartition("-")[2]
    leaders = {}
    for number, guest in enumerate(_GUESTS):
        gid, leader = 20000 + 37 * number, str(70000 + 100 * number)
        leaders[guest.name] = leader
        group = f"{gid}:{guest.name}"
        for kind in ("Group Cpu", "Group Memory"):
            clone.copy(kind, template, group)
        next_world = int(leader) + 1
        for world in worlds:
            name = world.split(":", 3)[3].replace(lead, leader)
            if not name.startswith("vmx-vcpu-"):
                name = name.replace(f":{old}", f":{guest.name}")
                clone.copy("Vcpu", world, f"{group}:{next_world}:{name}")
                next_world += 1
                continue
            for vcpu in range(guest.vcpus):
                instance = f"{group}:{next_world}:vmx-vcpu-{vcpu}:{guest.name}"
                clone.copy("Vcpu", world, instance)
                busy = {"% Run": guest.run, "% Ready": 0.4 + guest.run / 60, "% CPU Latency": 1.0 + guest.run / 40,
                        "% VmWait": 0.6, "% CoStop": 0.02 * (guest.vcpus > 1), "% System": 0.3}  # fmt: skip
                clone.level("Vcpu", instance, busy, varies=True)
                next_world += 1
        clone.level(
            "Group Cpu", group, {"Members": float(next_world - int(leader) - 1), "Timers/sec": 110.0 * guest.vcpus}
        )
        _memory(clone, group, guest, number)
    return leaders


def _memory(clone: _Clone, group: str, guest: _Guest, number: int) -> None:
    size = guest.gb * 1024.0
    quiet = dict.fromkeys(_GUEST_QUIET, 0.0)
    wide = guest.vcpus > CORES_PER_NODE
    sizes = {
        "Memory Size MBytes": size,
        "Memory Granted Size MBytes": 0.86 * size,
        "Memory Consumed Size MBytes": 0.85 * size,
        "Target Size MBytes": 0.9 * size,
        "Memctl Max MBytes": 0.65 * size,
        "Shared MBytes": 0.01 * size,
        "Zero MBytes": 0.01 * size,
        "Numa Local Memory MBytes": 0.85 * size,
        "Numa Home Nodes": 0.0 if wide else float(number % NODES),
        "Numa % Local": 100.0,
        "Overhead MBytes": 90.0 + size / 200,
        "Overhead Max MBytes": 120.0 + size / 180,
    }
    clone.level("Group Memory", group, {**quiet, **sizes})
    clone.level("Group Memory", group, {"Touched MBytes": 0.2 * size, "Touched Write MBytes": 0.08 * size}, varies=True)


def _disks(clone: _Clone, leaders: dict[str, str]) -> None:
    device, path, adapter, world = (
        _busiest(clone, kind)
        for kind in (
            "Physical Disk SCSI Device",
            "Physical Disk Path",
            "Physical Disk Adapter",
            "Physical Disk Per-Device-Per-World",
        )
    )
    for hba in ("vmhba2", "vmhba3"):
        clone.copy("Physical Disk Adapter", adapter, hba)
        clone.copy("Physical Disk", adapter, hba)
        clone.level("Physical Disk", hba, {"Adapter Q Depth": 2048.0})
    users: dict[str, list[_Guest]] = {
        name: [one for one in _GUESTS if one.place == place] for place, name in enumerate(_SAN)
    }
    for name, (lun, *hbas) in _SAN.items():
        clone.copy("Physical Disk SCSI Device", device, name)
        clone.level("Physical Disk SCSI Device", name, {"Device Q Depth": _DEPTH})
        paths = [f"{hba}:C0:T{target}:{lun}" for hba in hbas for target in (0, 1)]
        clone.made.paths[name] = paths
        total = sum(one.iops for one in users[name])
        for place, one in enumerate(paths):
            clone.copy("Physical Disk Path", path, one)
            clone.level("Physical Disk Path", one, {"Commands/sec": total / 2 * (place % 2 == 0)})
            clone.copy("Physical Disk", f"{path.partition(':')[0]}:{path}", f"{one.partition(':')[0]}:{one}")
        for guest in users[name]:
            instance = f"{name}-{leaders[guest.name]}"
            clone.copy("Physical Disk Per-Device-Per-World", world, instance)
            clone.level("Physical Disk Per-Device-Per-World", instance, {"Device Q Depth": _DEPTH, "Shares": 1000.0})
            clone.level("Physical Disk Per-Device-Per-World", instance, _io(guest, driver=0.8), varies=True)
    volume = {f"{name}/sec": 0.0 for name in ("Failed Commands", "Failed Reads", "Failed Writes")}
    on_nfs = [one for one in _GUESTS if one.place == len(_SAN)]
    for guest in on_nfs:
        clone.made.on_nfs[guest.name] = _NFS
        for counter, level in _io(guest, driver=1.6).items():
            if "/sec" in counter:
                volume[counter] = volume.get(counter, 0.0) + level
    slow = {f"Average Guest MilliSec/{one}": 1.6 for one in ("Command", "Read", "Write")}
    clone.level("Physical Disk NFS Volume", _NFS, {**volume, **slow}, varies=True)
    template = next(one for one in clone.instances("Virtual Disk") if ":scsi" in one)
    for guest in _GUESTS:
        for instance in (guest.name, f"{guest.name}:scsi0:0"):
            clone.copy("Virtual Disk", template, instance)
            mine = {counter: level for counter, level in _io(guest, driver=0.8).items() if "/sec" in counter}
            slow = {"Average MilliSec/Read": 0.95, "Average MilliSec/Write": 0.95}
            clone.level("Virtual Disk", instance, {**mine, **slow}, varies=True)


def _busiest(clone: _Clone, kind: str) -> str:
    return max(clone.instances(kind), key=lambda one: clone.recorded.columns[Key(kind, one, "Reads/sec")].mean())


def _io(guest: _Guest, *, driver: float) -> dict[str, float]:
    """Commands of a guest: two reads for each write, 16 KB each."""
    read, write, mb = guest.iops * 2 / 3, guest.iops / 3, 16 / 1024
    latency = {f"Average Driver MilliSec/{one}": driver for one in ("Command", "Read", "Write")}
    return {
        "Commands/sec": guest.iops,
        "Reads/sec": read,
        "Writes/sec": write,
        "MBytes Read/sec": read * mb,
        "MBytes Written/sec": write * mb,
        **latency,
        **{f"Average Kernel MilliSec/{one}": 0.01 for one in ("Command", "Read", "Write")},
    }


def _ports(clone: _Clone, leaders: dict[str, str]) -> None:
    uplink, vmk = (
        next(one for one in clone.instances("Network Port") if one.endswith(end)) for end in (":vmnic0", ":vmk0")
    )
    template = next(one for one in clone.instances("Network Port") if one.count(":") == 3)
    traffic = {_UPLINKS[0]: 0.0, _UPLINKS[1]: 0.0}
    for number, guest in enumerate(_GUESTS):
        port = f"vSwitch0:{33554440 + number}:{leaders[guest.name]}:{guest.name}"
        clone.copy("Network Port", template, port)
        clone.level("Network Port", port, _traffic(guest.mbit), varies=True)
        traffic[_UPLINKS[number % 2]] += guest.mbit
    for port, mbit in traffic.items():
        clone.copy("Network Port", uplink, port)
        state = {"Link Up?": 1.0, "Link Speed (Mb/s)": _SPEED, "Full Duplex?": 1.0}
        clone.level("Network Port", port, state)
        clone.level("Network Port", port, _traffic(mbit), varies=True)
    clone.copy("Network Port", vmk, "vSwitch0:33554436:vmk0")
    clone.copy("Network Port", vmk, "vSwitch0:33554437:vmk1")


def _traffic(mbit: float) -> dict[str, float]:
    packets = mbit * 2**20 / 8 / 900
    return {
        "MBits Transmitted/sec": mbit,
        "Packets Transmitted/sec": packets,
        "Average Packet Size  Transmitted (Bytes)": 900.0,
        "MBits Received/sec": mbit * 0.6,
        "Packets Received/sec": packets * 0.6,
        "Average Packet Size  Received (Bytes)": 900.0,
    }
