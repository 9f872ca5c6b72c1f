"""What the charts of the report on one host must show, from the cells of its capture of esxtop."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from page_oracle import limits
from page_oracle.arithmetic import drawn, highest, lowest, mean, p95, plus, weighted, without_a_value
from page_oracle.compare import Parts, Rows
from page_oracle.host import DEVICE, Column, Host

if TYPE_CHECKING:
    from collections.abc import Sequence

WAITS = {
    "Ready per vCPU": ("contention", "cpu.ready", "%"),
    "Co-stop per vCPU": ("% CoStop", "cpu.costop", "%"),
    "Limited per vCPU": ("% Max Limited", "cpu.max_limited", "%"),
    "Swap wait per vCPU": ("% Swap Wait", "cpu.swap_wait", "%"),
}
"""Title of a ranking: wait, rule, unit."""
RECLAIMED = {
    "Ballooned": "Memctl Current MBytes",
    "Swapped": "Swap Used MBytes",
    "Compressed": "Total Compressed MBytes",
}
HOLDERS = {"VMs and other": "NonKernel MBytes", "VMkernel": "Kernel MBytes", "Free": "Free MBytes"}
SWAPPING = {"Swap in": "Swap MBytes Read/sec", "Swap out": "Swap MBytes Write/sec"}
LATENCIES = {"GAVG ms": "Guest", "DAVG ms": "Driver", "KAVG ms": "Kernel", "QAVG ms": "Queue"}
HEAT_ROWS, FEWEST_ROWS, HEAT_CELLS = 40, 4, 1600
FLOOR = 100.0
"""Packets per second below which a share of dropped ones is no peak."""


def host_charts(host: Host) -> list[Rows]:
    cpu = {
        "Used": host.column("Physical Cpu", "% Processor Time", "_Total"),
        "Util": host.column("Physical Cpu", "% Util Time", "_Total"),
        "Core util": host.column("Physical Cpu", "% Core Util Time", "_Total"),
    }
    each = {int(one): host.column("Physical Cpu", "% Util Time", one) for one in host.pcpus}
    cells = min(90, max(6000 // max(len(each), 1), 24))
    watts = host.column("Power", "Power Usage Now Watts")
    held = {
        name: [None if one is None else one / 1024 for one in host.column("Memory", of)] for name, of in HOLDERS.items()
    }
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
            {(at,): {"watts": one, "util_pct": load} for at, (one, load) in util.items()} if highest(watts) else {},
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


def finding_charts(host: Host) -> list[Rows]:
    """The series that findings rest on; which of them are drawn, and when the trouble was, is the diagnosis's."""
    known = {
        "time withheld by a limit": host.waits("% Max Limited"),
        "time waiting for a CPU": host.waits("contention"),
        "co-stop": host.waits("% CoStop"),
        "balloon target": {
            name: host.column("Group Memory", "Memctl Target MBytes", group) for group, (name, _) in host.vms.items()
        },
        "device latency": {name: disk.latency("Driver") for name, disk in host.disks.items() if disk.of == DEVICE},
        "received packets dropped": {
            port.client: port.drops("Received")[0] for port in host.ports if port.kind == "vm"
        },
    }
    return [
        Rows(f".*: {re.escape(words)} .*", ("full", "time"), drawn(host.ms, series, "value"), some=True, partly=True)
        for words, series in known.items()
    ]


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


def heat_charts(host: Host, rules: dict) -> tuple[list[Rows], list[Parts]]:
    """Every VM over time, the highest sample of each span; and the titles that say who was highest."""
    used = {
        name: [None if one is None else one / len(worlds) for one in host.column("Group Cpu", "% Used", group)]
        for group, (name, worlds) in host.vms.items()
    }
    known = {
        "Ready time of all VMs": (host.waits("contention"), rules["cpu.ready"]["warn"], "%"),
        "Co-stop of all VMs": (host.waits("% CoStop"), rules["cpu.costop"]["warn"], "%"),
        "Highest disk latency of all VMs": (_disk_latencies(host), rules["vdisk.read"]["warn"], "ms"),
        "CPU use of all VMs": (used, None, "%"),
    }
    rows: list[Rows] = []
    said: list[Parts] = []
    for title, (series, warn, unit) in known.items():
        peaks = {name: highest(column) for name, column in series.items() if highest(column) is not None}
        if len(peaks) < FEWEST_ROWS:
            continue
        ranked = sorted(peaks, key=lambda name: (-peaks[name], name))[:HEAT_ROWS]
        bins = min(60, HEAT_CELLS // len(ranked))
        cells = drawn(host.ms, {name: series[name] for name in ranked}, "of", buckets=bins)
        points = {key: cell["of_max"] for key, cell in cells.items() if cell["of_max"] is not None}
        times = sorted({at for _, at in cells})
        step = min(after - before for before, after in pairwise(times))
        rows += heat_map(title, points, step)
        said.append((f"{title}: ", *who_was_highest(peaks, warn, unit)))
        length = (step / 60_000, " min; ") if step % 60_000 == 0 else (step / 1000, " s; ")
        said.append(("Cell: highest sample of ", *length, ...))
    return rows, said


def heat_map(title: str, points: dict[tuple, float], step: int) -> list[Rows]:
    """Cells by name and begin, ms, and the stretches without a value."""
    cells = {key: {"high": high} for key, high in points.items()}
    pattern = f"{re.escape(title)}: .*"
    return [
        Rows(pattern, ("label", "time", "end"), without_a_value(points, step), some=True, ordered=False),
        Rows(pattern, ("label", "time"), cells, some=True, ordered=False),
    ]


def who_was_highest(peaks: dict[str, float], warn: float | None, unit: str) -> Parts:
    """Who reached a limit, and the highest of all."""
    worst = min(peaks, key=lambda name: (-peaks[name], name))
    most = f"highest {worst} (", peaks[worst], f" {unit})"
    if warn is None:
        return most
    past = sum(peak >= warn for peak in peaks.values())
    if not past:
        return "none reached ", warn, f" {unit}"
    return float(past), " of ", float(len(peaks)), " reached ", warn, f" {unit}, ", *most


def _disk_latencies(host: Host) -> dict[str, Column]:
    """By VM the higher of read and write latency of its slowest disk; nothing if none had I/O."""
    found: dict[str, list[Column]] = {}
    for instance in host.objects.get("Virtual Disk", ()):
        if match := re.fullmatch(r"(.*):(?:scsi|sata|nvme|ide)\d+:\d+", instance):
            columns = [host.column("Virtual Disk", f"Average MilliSec/{way}", instance) for way in ("Read", "Write")]
            found.setdefault(match[1], []).extend(columns)
    return {name: [highest(row) or None for row in zip(*columns, strict=True)] for name, columns in found.items()}


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
    good = {name: disk.good for name, disk in disks.items()}
    lines = (
        ("Mean guest latency (GAVG) over time, ms", busy, "gavg_ms", p95, good),
        ("Commands over time", {name: disk.iops for name, disk in disks.items()}, "iops", mean, None),
        ("Throughput over time", {name: disk.mib for name, disk in disks.items()}, "mib_per_s", mean, None),
        (
            "Commands queued in the VMkernel",
            {name: disk.queued for name, disk in disks.items()},
            "queued",
            highest,
            None,
        ),
    )
    return [
        Rows("Mean latency of each device, ms", ("instance", "part"), split, ordered=False),
        Rows("Mean latency of each device, ms", ("instance",), ticks, ordered=False),
        limits.lines(rules["disk.gavg"], "ms", "Mean latency of each device, ms|Mean guest latency.*"),
        limits.lines(rules["disk.queued"], "commands", "Commands queued.*"),
        *(
            over_time(title, host.ms, series, value, "devices", statistic=statistic, weights=weights)
            for title, series, value, statistic, weights in lines
        ),
    ]


def port_charts(host: Host, rules: dict) -> list[Rows]:
    made = []
    for kind, title, nouns in (
        ("uplink", "Uplink traffic over time", "uplinks"),
        ("vm", "VM port traffic over time", "VM ports"),
    ):
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
