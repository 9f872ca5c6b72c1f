"""What the report on one host must show, from the cells of its capture of esxtop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from page_oracle import limits
from page_oracle.arithmetic import highest, lowest, mean, median, p95, several, span, weighted
from page_oracle.compare import Expected, Rows
from page_oracle.host import DEVICE, Column, Host
from page_oracle.host_charts import disk_charts, finding_charts, heat_charts, host_charts, port_charts, vm_charts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
LATENCIES = {"GAVG ms": "Guest", "DAVG ms": "Driver", "KAVG ms": "Kernel", "QAVG ms": "Queue"}
FLOOR = 100.0
"""Packets per second below which a share of dropped ones is no peak."""


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
    maps, said = heat_charts(host, rules)
    found.may += said
    found.charts = [
        *finding_charts(host),
        *host_charts(host),
        *maps,
        *vm_charts(host, rules),
        *disk_charts(host, rules),
        *port_charts(host, rules),
    ]
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


def keyed(pattern: str, key: tuple[str, ...], rows: Sequence[dict], *, ordered: bool = True) -> Rows:
    """A table whose rows are told apart by their key."""
    return Rows(pattern, key, {tuple(row[head] for head in key): row for row in rows}, ordered=ordered)
