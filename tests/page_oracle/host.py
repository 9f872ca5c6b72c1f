"""A host as its capture of esxtop has it: VMs, devices, ports, and their columns."""

from __future__ import annotations

import re
from functools import cached_property

from absolute.capture import MIB, Capture

from page_oracle.arithmetic import highest, plus

Column = list
DEVICE, VOLUME = "Physical Disk SCSI Device", "Physical Disk NFS Volume"


class Host(Capture):
    """A capture with its VMs, devices and ports."""

    def column(self, of: str, counter: str, instance: str = "") -> Column:
        """All samples of a cell; nothing if it is empty or the counter is not there."""
        place = self.places.get((of, counter), {}).get(instance)
        cells = ["" if place is None else line[place] for line in self.lines]
        return [float(cell) if cell else None for cell in cells]

    def has(self, of: str, counter: str) -> bool:
        return (of, counter) in self.places

    @cached_property
    def ms(self) -> list[int]:
        return [round(time.timestamp() * 1000) for time in self.times]

    @cached_property
    def pcpus(self) -> list[str]:
        return sorted((one for one in self.objects.get("Physical Cpu", ()) if one.isdigit()), key=int)

    @cached_property
    def vms(self) -> dict[str, tuple[str, list[str]]]:
        """By the instance of a VM's group its name and the worlds of its vCPUs."""
        found: dict[str, tuple[str, list[str]]] = {}
        for world in sorted(self.objects.get("Vcpu", ())):
            if match := re.fullmatch(r"(\d+):(.*):\d+:vmx-vcpu-(\d+):.*", world):
                found.setdefault(f"{match[1]}:{match[2]}", (match[2], []))[1].append(world)
        return found

    def wait(self, group: str, counter: str) -> Column:
        """A wait of a VM: the mean over the worlds of its vCPUs."""
        _, worlds = self.vms[group]
        if counter == "contention":
            pairs = zip(self.wait(group, "% Ready"), self.wait(group, "% Max Limited"), strict=True)
            return [None if None in pair else max(pair[0] - pair[1], 0.0) for pair in pairs]
        whole = plus(*(self.column("Vcpu", counter, world) for world in worlds))
        return [None if one is None else one / len(worlds) for one in whole]

    def waits(self, counter: str) -> dict[str, Column]:
        return {self.vms[group][0]: self.wait(group, counter) for group in self.vms}

    @cached_property
    def disks(self) -> dict[str, Disk]:
        names = [(of, name) for of in (DEVICE, VOLUME) for name in sorted(self.objects.get(of, ()))]
        return {name: Disk(self, of, name) for of, name in names}

    @cached_property
    def ports(self) -> list[Port]:
        return [Port(self, name) for name in sorted(self.objects.get("Network Port", ()))]


class Disk:
    """Rates and latencies of a device or volume; its first sample has none if all its rates are 0."""

    def __init__(self, host: Host, of: str, name: str) -> None:
        self.name, self.of, self.host = name, of, host
        every = [host.column(of, counter, one) for one in host.objects[of] for counter in ("Commands/sec",)]
        self.from_second = not any(column[0] for column in every)
        self.iops = self.rate("Commands/sec")
        self.mib = plus(self.rate("MBytes Read/sec"), self.rate("MBytes Written/sec"))
        failed = self.rate("Failed Commands/sec")
        others = [self._others(at) for at in range(len(self.iops))]
        self.failed = failed
        self.good = [
            None if total is None else max(total - other - max((fail or 0.0) - other, 0.0), 0.0)
            for total, other, fail in zip(self.iops, others, failed, strict=True)
        ]
        self.queued = host.column(of, "Queued Commands", name)

    def rate(self, counter: str) -> Column:
        column = self.host.column(self.of, counter, self.name)
        return [None, *column[1:]] if self.from_second else column

    def _others(self, at: int) -> float:
        """Commands that neither read nor write."""
        rates = [self.rate(counter)[at] for counter in ("Commands/sec", "Reads/sec", "Writes/sec")]
        if None in rates:
            return 0.0
        others = rates[0] - rates[1] - rates[2]
        return others if others > 0.015 + 1e-9 else 0.0

    def latency(self, part: str) -> Column:
        """Of reads and writes; nothing if no command was measured or none succeeded."""
        every = [self.rate(f"Average {part} MilliSec/{kind}") for kind in ("Command", "Read", "Write")]
        guest = self.rate("Average Guest MilliSec/Command")
        reads, writes = self.rate("Reads/sec"), self.rate("Writes/sec")
        found: Column = []
        for at, (both, of_read, of_write) in enumerate(zip(*every, strict=True)):
            iops = self.iops[at] or 0.0
            if both is None or (iops == 0 and not guest[at]) or (iops > 0 and not self.good[at]):
                found.append(None)
            elif self._others(at) and reads[at] + writes[at] > 0 and None not in (of_read, of_write):
                found.append((of_read * reads[at] + of_write * writes[at]) / (reads[at] + writes[at]))
            else:
                found.append(both)
        return found

    @cached_property
    def serves(self) -> bool:
        """Whether a tenth of its commands or more are reads and writes that succeed."""
        return sum(one or 0 for one in self.good) >= 0.1 * sum(one or 0 for one in self.iops)


class Port:
    """Traffic and drops of a port; Mbit are 10**6 bits."""

    def __init__(self, host: Host, instance: str) -> None:
        self.host, self.instance = host, instance
        self.switch, self.number, *rest = instance.split(":", 3)
        self.world = len(rest) > 1 and rest[0].isdigit()
        self.client = rest[1] if self.world else ":".join(rest)
        self.kind = (
            "vm" if self.world else "uplink" if re.fullmatch(r"vmnic\d+", self.client)
            else "vmkernel" if re.fullmatch(r"vmk\d+", self.client) else "other"
        )  # fmt: skip
        self.link = highest(self._column("Link Speed (Mb/s)")) if self.kind == "uplink" else None

    def _column(self, counter: str) -> Column:
        return self.host.column("Network Port", counter, self.instance)

    def mbits(self, way: str) -> Column:
        return [None if one is None else one * MIB for one in self._column(f"MBits {way}/sec")]

    def drops(self, way: str) -> tuple[Column, Column]:
        """Shares of packets that were dropped, and packets offered."""
        share = self._column(f"% {'Outbound' if way == 'Transmitted' else 'Received'} Packets Dropped")
        passed = self._column(f"Packets {way}/sec")
        pairs = zip(passed, share, strict=True)
        return share, [None if None in pair or pair[1] >= 100 else pair[0] / (1 - pair[1] / 100) for pair in pairs]
