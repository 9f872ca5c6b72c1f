"""What the report on one host must show, from the cells of its capture of esxtop."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from absolute.capture import MIB, WORLD_OF_VCPU, Capture
from page_oracle import limits
from page_oracle.arithmetic import drawn, highest, lowest, mean, median, p95, plus, several, span, weighted
from page_oracle.compare import Expected, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Column = list
WAITS = {
    "Ready per vCPU": ("contention", "cpu.ready", "%"),
    "Co-stop per vCPU": ("% CoStop", "cpu.costop", "%"),
    "Limited per vCPU": ("% Max Limited", "cpu.max_limited", "%"),
    "Swap wait per vCPU": ("% Swap Wait", "cpu.swap_wait", "%"),
}
"""Title of a ranking: wait, rule, unit."""
MEMORY = {
    "Size MiB": ("Memory Size MBytes", highest),
    "Granted, mean MiB": ("Memory Granted Size MBytes", mean),
    "Consumed, mean MiB": ("Memory Consumed Size MBytes", mean),
    "Touched, mean MiB": ("Touched MBytes", mean),
    "Overhead, mean MiB": ("Overhead MBytes", mean),
    "Balloon, highest MiB": ("Memctl MBytes", highest),
    "Swapped, highest MiB": ("Swapped MBytes", highest),
    "Compressed, highest MiB": ("Used Compressed Memory MBytes", highest),
    "Swap in, highest MiB/s": ("Swap Read MBytes/sec", highest),
    "Swap out, highest MiB/s": ("Swap Written MBytes/sec", highest),
}
RECLAIMED = {
    "Ballooned": "Memctl Current MBytes",
    "Swapped": "Swap Used MBytes",
    "Compressed": "Total Compressed MBytes",
}
HOLDERS = {"VMs and other": "NonKernel MBytes", "VMkernel": "Kernel MBytes", "Free": "Free MBytes"}
SWAPPING = {"Swap in": "Swap MBytes Read/sec", "Swap out": "Swap MBytes Write/sec"}
LATENCIES = {"GAVG ms": "Guest", "DAVG ms": "Driver", "KAVG ms": "Kernel", "QAVG ms": "Queue"}
DEVICE, VOLUME = "Physical Disk SCSI Device", "Physical Disk NFS Volume"
FLOOR = 100.0
"""Packets per second below which a share of dropped ones is no peak."""


class Host(Capture):
    """A capture with its VMs, devices and ports."""

    def column(self, of: str, counter: str, instance: str = "") -> Column:
        """All samples of a cell; nothing where it is empty or the counter is not there."""
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
    """Rates and latencies of a device or volume; its first sample has none where all its rates are 0."""

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
        """Of reads and writes; nothing where no command was measured or none succeeded."""
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


def expected(path: Path, profile: str = "standard") -> Expected:
    """The page of `host_health`."""
    host = Host(path)
    rules = limits.read(profile)
    found = Expected(tiles=tiles(host))
    found.texts = [(f"{moment(host, 0)} to {moment(host, -1)} (", span((host.ms[-1] - host.ms[0]) / 1000), ")")]
    found.tables = [
        vm_cpu(host),
        vm_memory(host),
        devices(host),
        left_out(host),
        ports(host),
        limits.sources(rules),
        limits.exceeded(rules, judged(host), len(host.times)),
    ]
    found.charts = [*host_charts(host), *vm_charts(host, rules), *disk_charts(host, rules), *port_charts(host, rules)]
    return found


def moment(host: Host, at: int) -> str:
    return f"{host.times[at]:%Y-%m-%d %H:%M:%S} UTC"


def tiles(host: Host) -> dict:
    seconds = (host.ms[-1] - host.ms[0]) / 1000
    steps = [(after - before) / 1000 for before, after in zip(host.ms, host.ms[1:], strict=False)]
    vcpus, pcpus = sum(len(worlds) for _, worlds in host.vms.values()), len(host.pcpus)
    cells = 1 + sum(map(len, host.places.values()))
    made: dict = {
        "Time covered": ((span(seconds),), (several(len(host.times), "sample"),)),
        "Interval": ((median(steps), " s"), ("median between samples",)),
        "VMs": ((float(len(host.vms)),), (several(vcpus, "vCPU"),)),
        "Physical CPUs": ((float(pcpus),), ("hardware threads, as esxtop counts them",)),
        "Counters": ((float(cells),), ("columns, ", float(len(host.objects)), " objects")),
    }
    if vcpus and pcpus:
        made["vCPUs per PCPU"] = ((vcpus / pcpus,), (float(vcpus), " : ", float(pcpus)))
    return made


def vm_cpu(host: Host) -> Rows:
    rows = []
    for group, (name, worlds) in host.vms.items():
        ready = host.wait(group, "contention")
        rows.append({
            "VM": name,
            "vCPUs": len(worlds),
            "Used, mean %": mean(host.column("Group Cpu", "% Used", group)) / len(worlds),
            "Run, mean %": mean(host.column("Group Cpu", "% Run", group)) / len(worlds),
            "Ready, p95 %": p95(ready),
            "Ready, highest %": highest(ready),
            "Co-stop, p95 %": p95(host.wait(group, "% CoStop")),
            "Limited, p95 %": p95(host.wait(group, "% Max Limited")),
            "Swap wait, p95 %": p95(host.wait(group, "% Swap Wait")),
        })  # fmt: skip
    rows.sort(key=lambda row: (-row["Ready, p95 %"], row["VM"]))
    return keyed("VMs, per vCPU", ("VM",), rows)


def vm_memory(host: Host) -> Rows:
    rows = []
    for group, (name, _) in host.vms.items():
        row = {head: statistic(host.column("Group Memory", of, group)) for head, (of, statistic) in MEMORY.items()}
        near, far, share = (
            host.column("Group Memory", of, group)
            for of in ("Numa Local Memory MBytes", "Numa Remote Memory MBytes", "Numa % Local")
        )
        counted = [None if a is not None and a + b == 0 else c for a, b, c in zip(near, far, share, strict=True)]
        rows.append({"VM": name, **row, "NUMA local, lowest %": lowest(counted)})
    rows.sort(key=lambda row: (-row["Consumed, mean MiB"], row["VM"]))
    return keyed("VMs by consumed memory", ("VM",), rows)


def devices(host: Host) -> Rows:
    rows = []
    for disk in host.disks.values():
        if not disk.serves:
            continue
        guest = disk.latency("Guest")
        busy = [ms for ms, rate in zip(guest, disk.good, strict=True) if ms is not None and rate]
        failed = mean(disk.failed)
        rows.append({
            "Device": disk.name,
            "Commands, mean 1/s": mean(disk.iops),
            "Commands, highest 1/s": highest(disk.iops),
            "Throughput, mean MiB/s": mean(disk.mib),
            **{head: weighted(disk.latency(part), disk.good) for head, part in LATENCIES.items()},
            "GAVG, p95 ms": p95(busy),
            "GAVG, highest ms": highest(busy),
            "Failed, mean 1/s": failed or None,
            "Queued, highest": highest(disk.queued),
        })  # fmt: skip
    rows.sort(key=lambda row: (row["GAVG ms"] is None, -(row["GAVG ms"] or 0), row["Device"]))
    return keyed("Devices and NFS volumes", ("Device",), rows)


def left_out(host: Host) -> Rows:
    rows = [
        {
            "Device": disk.name,
            "Commands, mean 1/s": mean(disk.iops),
            "Failed, mean 1/s": mean(disk.failed),
            "GAVG of all commands ms": weighted(disk.rate("Average Guest MilliSec/Command"), disk.iops),
            "Queued, highest": highest(disk.queued),
        }
        for disk in host.disks.values()
        if not disk.serves
    ]
    return keyed("Left out above", ("Device",), rows, ordered=False)


def ports(host: Host) -> Rows:
    rows = []
    for port in host.ports:
        row: dict = {"Port of": port.client, "Switch": port.switch, "Link Mbit/s": port.link or None}
        shares, loads, packets = [], 0.0, 0.0
        for way, word, again in (("Transmitted", "Sent", ""), ("Received", "Received", " (2)")):
            mbits, (share, offered) = port.mbits(way), port.drops(way)
            row[f"{word}, mean Mbit/s"], row[f"{word}, highest Mbit/s"] = mean(mbits), highest(mbits)
            row[f"{word}, dropped %"] = weighted(share, offered)
            enough = [one for one, count in zip(share, offered, strict=True) if count is not None and count >= FLOOR]
            row[f"highest sample %{again}"] = highest(enough)
            shares.append(row[f"{word}, dropped %"])
            loads += mean(mbits) or 0.0
            packets += sum(offered and filter(None, offered)) + (highest(mbits) or 0.0)
        if packets:
            rows.append((highest(shares), loads, row))
    rows.sort(key=lambda one: (one[0] is None, -(one[0] or 0.0), -one[1], one[2]["Port of"]))
    return keyed("Ports, most dropped packets first", ("Port of", "Switch"), [row for _, _, row in rows])


def judged(host: Host) -> dict[str, dict[str, Column]]:
    """Series of each object that rules judge, by rule: those that are a counter or a mean over vCPUs."""
    busy = {name: disk for name, disk in host.disks.items() if disk.of == DEVICE}
    return {
        "cpu.ready": host.waits("contention"),
        "cpu.costop": host.waits("% CoStop"),
        "cpu.max_limited": host.waits("% Max Limited"),
        "cpu.swap_wait": host.waits("% Swap Wait"),
        "disk.queued": {name: disk.queued for name, disk in busy.items()},
    }


def host_charts(host: Host) -> list[Rows]:
    cpu = {
        "Used": host.column("Physical Cpu", "% Processor Time", "_Total"),
        "Util": host.column("Physical Cpu", "% Util Time", "_Total"),
        "Core util": host.column("Physical Cpu", "% Core Util Time", "_Total"),
    }
    each = {int(one): host.column("Physical Cpu", "% Util Time", one) for one in host.pcpus}
    cells = min(90, max(6000 // max(len(each), 1), 24))
    watts = host.column("Power", "Power Usage Now Watts")
    held = {name: [None if one is None else one / 1024 for one in host.column("Memory", of)] for name, of in HOLDERS.items()}
    known = {
        r"Host CPU, used and util": ("label", drawn(host.ms, cpu, "pct")),
        r"Each physical CPU, util": ("pcpu", drawn(host.ms, each, "util_pct", buckets=cells)),
        r"Memory reclaimed from VMs": ("label", drawn(host.ms, _memory(host, RECLAIMED), "value")),
        r"Swapping now": ("label", drawn(host.ms, _memory(host, SWAPPING), "value")),
        r"Host memory": ("label", drawn(host.ms, held, "value")),
        r"Power drawn by the host": ("label", drawn(host.ms, {"Host": watts}, "watts")),
    }
    floor = (highest(host.column("Memory", "Kernel MinFree MBytes")) or 0.0) / 1024
    most = highest(plus(*held.values()))
    util = dict(zip(host.ms, zip(watts, cpu["Util"], strict=True), strict=True))
    return [
        *(Rows(title, (name, "time"), points, some=True, ordered=False) for title, (name, points) in known.items()),
        *clocks_and_states(host),
        Rows("Host memory", ("text",), {(f"free memory target: {floor:.1f} GiB",): {"at": most - floor}}),
        Rows(
            "Power against util",
            ("time",),
            {(at,): {"watts": one, "util_pct": load} for at, (one, load) in util.items()},
            some=len(util) > 600,
        ),
    ]


def clocks_and_states(host: Host) -> list[Rows]:
    """How fast the CPUs ran while not halted, and how deeply they slept."""
    clocks = [host.column("PCPU Power State", "% of aperf/mperf", f"PCPU {one}") for one in host.pcpus]
    known = {
        "Clock": _band(host, clocks, "Physical CPUs", "pct_of_aperf_per_mperf"),
        "C-states": drawn(host.ms, _c_states(host), "pct"),
    }
    return [Rows(title, ("label", "time"), points, some=True, ordered=False) for title, points in known.items()]


def _memory(host: Host, names: dict[str, str]) -> dict[str, Column]:
    return {label: host.column("Memory", counter) for label, counter in names.items()}


def _c_states(host: Host) -> dict[str, Column]:
    found = {}
    for counter in sorted(counter for of, counter in host.places if of == "PCPU Power State" and "C-State" in counter):
        columns = [host.column("PCPU Power State", counter, f"PCPU {one}") for one in host.pcpus]
        found[counter.rpartition(" ")[2]] = [mean(row) for row in zip(*columns, strict=True)]
    return found


def _band(host: Host, columns: Sequence[Column], label: str, value: str) -> dict:
    """Mean, lowest and highest over several things at once, of those that ran."""
    rows = [[one for one in row if one] for row in zip(*columns, strict=True)]
    return {
        (label, at): {value: mean(row), f"{value}_min": lowest(row), f"{value}_max": highest(row)}
        for at, row in zip(host.ms, rows, strict=True)
    }


def ranking(title: str, series: dict[str, Column], key: str = "full") -> Rows:
    """Bars: mean, 95th percentile and highest sample."""
    rows = {
        (name,): {"mean": mean(column), "p95": p95(column), "max": highest(column)}
        for name, column in series.items()
        if highest(column)
    }
    return Rows(re.escape(title), (key,), rows, some=True, ordered=False)


def vm_charts(host: Host, rules: dict) -> list[Rows]:
    made = []
    for title, (counter, rule, unit) in WAITS.items():
        made += [ranking(title, host.waits(counter)), limits.lines(rules[rule], unit, re.escape(title) + ".*")]
    made.append(over_time("Ready per vCPU over time", host.ms, host.waits("contention"), "contention_pct", "VMs"))
    cores = {
        name: [None if one is None else one / 100 for one in host.column("Group Cpu", "% Used", group)]
        for group, (name, _) in host.vms.items()
    }
    return [*made, ranking("CPU used by VM", cores)]


def over_time(
    title: str,
    ms: Sequence[int],
    series: dict[str, Column],
    value: str,
    nouns: str,
    most: int = 8,
    statistic=p95,
    weights: dict[str, Column] | None = None,
) -> Rows:
    """Lines of the highest by a statistic; the others are one, with their mean and range."""
    known = {name: column for name, column in series.items() if any(one is not None for one in column)}
    ranked = sorted(known, key=lambda name: (-statistic(known[name]), name))
    chosen, others = ranked[:most], ranked[most:]
    points = drawn(ms, {name: known[name] for name in chosen}, value, weights)
    if others:
        name = f"{len(others)} other {nouns if len(others) > 1 else nouns[:-1]}"
        pooled = [time for time in ms for _ in others]
        mixed = [known[one][at] for at in range(len(ms)) for one in others]
        points |= drawn(pooled, {name: mixed}, value)
    return Rows(re.escape(title), ("full", "time"), points, some=True, ordered=False)


def disk_charts(host: Host, rules: dict) -> list[Rows]:
    disks = host.disks
    guest = {name: disk.latency("Guest") for name, disk in disks.items()}
    busy = {
        name: [ms if rate else None for ms, rate in zip(guest[name], disk.good, strict=True)]
        for name, disk in disks.items()
    }
    split, ticks = {}, {}
    for name, disk in disks.items():
        if not disk.serves or not mean(disk.iops) or weighted(guest[name], disk.good) is None:
            continue
        parts = {head: weighted(disk.latency(part), disk.good) for head, part in LATENCIES.items()}
        whole = {
            "gavg_ms": parts["GAVG ms"],
            "max_gavg_ms": highest(busy[name]),
            "mean_iops": mean(disk.iops),
        }
        ticks[name,] = {"max_gavg_ms": whole["max_gavg_ms"]}
        if parts["DAVG ms"] is None:
            split[name, "GAVG, not split"] = {**whole, "ms": parts["GAVG ms"]}
        else:
            split[name, "DAVG"] = {**whole, "ms": parts["DAVG ms"]}
            split[name, "KAVG"] = {**whole, "ms": parts["KAVG ms"]}
    every = ".*" if len(disks) > 8 else ""
    good = {name: disk.good for name, disk in disks.items()}
    lines = (
        ("Guest latency (GAVG) over time", busy, "gavg_ms", p95, good),
        ("Commands over time", {name: disk.iops for name, disk in disks.items()}, "iops", mean, None),
        ("Throughput over time", {name: disk.mib for name, disk in disks.items()}, "mib_per_s", mean, None),
        ("Commands queued in the VMkernel", {name: disk.queued for name, disk in disks.items()}, "queued", highest, None),
    )
    del every
    return [
        Rows("Latency of each device", ("device", "part"), split, ordered=False),
        Rows("Latency of each device", ("device",), ticks, ordered=False),
        limits.lines(rules["disk.gavg"], "ms", "Latency of each device|Guest latency.*"),
        limits.lines(rules["disk.queued"], "commands", "Commands queued.*"),
        *(
            over_time(title, host.ms, series, value, "devices", statistic=statistic, weights=weights)
            for title, series, value, statistic, weights in lines
        ),
    ]


def port_charts(host: Host, rules: dict) -> list[Rows]:
    made = []
    for kind, title, nouns in (("uplink", "Uplink traffic over time", "uplinks"), ("vm", "VM port traffic over time", "VM ports")):
        own = {port.client: port for port in host.ports if port.kind == kind}
        both = {
            name: [highest(pair) for pair in zip(port.mbits("Transmitted"), port.mbits("Received"), strict=True)]
            for name, port in own.items()
        }
        rank = over_time(title, host.ms, both, "mbits", nouns, most=6)
        points = {}
        for way, word in (("Transmitted", "transmitted"), ("Received", "received")):
            chosen = {name for name, _ in rank.values}
            ways = {name: port.mbits(way) for name, port in own.items()}
            others = [name for name in own if name not in chosen]
            found = drawn(host.ms, {name: ways[name] for name in own if name in chosen}, "mbits")
            for rest in chosen - own.keys():
                mixed = [ways[one][at] for at in range(len(host.ms)) for one in others]
                found |= drawn([time for time in host.ms for _ in others], {rest: mixed}, "mbits")
            points |= {(name, word, at): numbers for (name, at), numbers in found.items()}
        made.append(Rows(re.escape(title), ("full", "direction", "time"), points, some=True, ordered=False))
    for way, title, rule in (
        ("Transmitted", "Sent packets dropped", "network.drop_tx"),
        ("Received", "Received packets dropped", "network.drop_rx"),
    ):
        rows = {}
        for port in host.ports:
            share, offered = port.drops(way)
            enough = [one for one, count in zip(share, offered, strict=True) if count is not None and count >= FLOOR]
            if highest([weighted(share, offered), highest(enough)]):
                rows[port.client,] = {"dropped": weighted(share, offered), "max": highest(enough)}
        made += [Rows(title, ("full",), rows, some=True, ordered=False), limits.lines(rules[rule], "%", title)]
    return made


def keyed(pattern: str, key: tuple[str, ...], rows: Sequence[dict], *, ordered: bool = True) -> Rows:
    """A table whose rows are told apart by their key."""
    return Rows(pattern, key, {tuple(row[head] for head in key): row for row in rows}, ordered=ordered)


__all__ = ["WORLD_OF_VCPU", "Host", "expected"]
