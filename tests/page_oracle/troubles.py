"""What the report from symptom to verdict must show, from the cells of a capture of esxtop.

Which findings there are and why is the diagnosis's; limits passed, medians before and after a change, and what charts
draw are of the capture.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from statistics import pstdev
from typing import TYPE_CHECKING

from page_oracle import limits
from page_oracle.arithmetic import drawn, highest, lowest, median, quantile, several, span
from page_oracle.compare import ABSENT, Expected, Rows
from page_oracle.host import DEVICE, Column, Host
from page_oracle.host_page import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

MEMORY = {
    "balloon_mib": "Memctl MBytes",
    "balloon_target_mib": "Memctl Target MBytes",
    "swapped_mib": "Swapped MBytes",
    "swap_in_mib_per_s": "Swap Read MBytes/sec",
    "swap_out_mib_per_s": "Swap Written MBytes/sec",
    "compressed_mib": "Used Compressed Memory MBytes",
    "zip_mib_per_s": "Compressed MBytes/sec",
    "unzip_mib_per_s": "Decompressed MBytes/sec",
}
WAITS = {
    "contention_pct": "contention",
    "costop_pct": "% CoStop",
    "max_limited_pct": "% Max Limited",
    "swap_wait_pct": "% Swap Wait",
    "ready_pct": "% Ready",
}
HOST = {"swap_in_mib_per_s": "Swap MBytes Read/sec", "swap_out_mib_per_s": "Swap MBytes Write/sec"}
DEVICES = {"davg_ms": "Driver", "gavg_ms": "Guest", "kavg_ms": "Kernel", "qavg_ms": "Queue"}
SERIES = [
    *(("vm", value) for value in (*WAITS, *MEMORY, "worst_costop_pct", "lat_c_pct", "rx_packets")),
    *(("vm", value) for value in ("drop_rx_pct",)),
    *(("device", value) for value in (*DEVICES, "queued", "read_mib_per_s")),
    *(("host", value) for value in HOST),
]
SOON = 24
"""Samples in which a short change may show."""
DISKS = ("Physical Disk", "Virtual Disk")
CASES = limits.FOLDER / "cases"
AREAS = {
    "capture": "Capture",
    "clock": "Capture",
    "cpu": "CPU",
    "guest": "CPU",
    "harmless": "Harmless",
    "memory": "Memory",
    "network": "Network",
    "numa": "Memory",
    "power": "Power",
    "storage": "Storage",
}
"""First words of troubles, and the areas that people look for them in."""


def expected(path: Path, profile: str = "standard") -> Expected:
    """The page of `troubleshooting`."""
    host, rules = Host(path), limits.read(profile)
    seconds = (host.ms[-1] - host.ms[0]) / 1000
    cases = [tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(CASES.glob("*.toml"))]
    found = Expected()
    every = float(len(rules) + len(cases))
    found.tiles = {
        "Judged": ((..., " of ", every), ("cases and limits; the others lack counters",)),
        "Covered": ((span(seconds),), (several(len(host.times), "sample"),)),
    }
    found.texts = [(f"{moment(host, 0)} to {moment(host, -1)} (", span(seconds), ")")]
    found.tables = [
        Rows("Limits passed", ("Measure", "Object", "Limit"), Symptoms(host, rules), ordered=False),
        Rows(
            "Counters that changed most", ("Table", "Counter", "Of"), partial(medians, host), ordered=False, partly=True
        ),
        Rows("Troubles that were looked for", ("Area",), _areas(cases), ordered=False),
    ]
    found.charts = [*_charts(host), *_limits(rules)]
    return found


def _areas(cases: Sequence[dict]) -> dict[tuple, dict]:
    count = Counter(AREAS[trouble.partition(".")[0]] for trouble in {case["trouble"] for case in cases})
    # Bursts of a guest's I/O are looked for in its storage.
    count["CPU"] -= 1
    count["Storage"] += 1
    return {(area,): {"Of": float(many)} for area, many in count.items()}


def series(host: Host, kind: str, value: str) -> dict[str, Column]:
    """What rules judge, by object: those that are a counter, or a mean or highest over vCPUs."""
    of_kind: Callable = {"vm": _of_vms, "device": _of_devices}.get(kind, _of_host)
    return of_kind(host, value) if (kind, value) in SERIES else {}


def _of_vms(host: Host, value: str) -> dict[str, Column]:
    if value in WAITS:
        return host.waits(WAITS[value])
    if value in MEMORY:
        return {name: host.column("Group Memory", MEMORY[value], group) for group, (name, _) in host.vms.items()}
    if value == "worst_costop_pct":
        return {name: _worst(host, "% CoStop", worlds) for name, worlds in host.vms.values()}
    if value == "lat_c_pct":
        # The row of a VM adds up its worlds, helpers included.
        latency = {group: host.column("Group Cpu", "% CPU Latency", group) for group in host.vms}
        return {
            name: [None if one is None else one / len(worlds) for one in latency[group]]
            for group, (name, worlds) in host.vms.items()
        }
    ports = {port.client: port for port in host.ports if port.kind == "vm"}
    if value == "rx_packets":
        return {name: host.column("Network Port", "Packets Received/sec", one.instance) for name, one in ports.items()}
    return {name: one.drops("Received")[0] for name, one in ports.items()}


def _of_devices(host: Host, value: str) -> dict[str, Column]:
    devices = {name: disk for name, disk in host.disks.items() if disk.of == DEVICE}
    if value in DEVICES:
        return {name: disk.latency(DEVICES[value]) for name, disk in devices.items()}
    return {name: disk.queued if value == "queued" else disk.rate("MBytes Read/sec") for name, disk in devices.items()}


def _of_host(host: Host, value: str) -> dict[str, Column]:
    return {"the host": host.column("Memory", HOST[value])}


def _worst(host: Host, counter: str, worlds: Sequence[str]) -> Column:
    return [highest(row) for row in zip(*(host.column("Vcpu", counter, world) for world in worlds), strict=True)]


class Symptoms(Mapping):
    """Limits that were passed for long enough, by measure, object and limit; of other series only the limit."""

    def __init__(self, host: Host, rules: Mapping[str, dict]) -> None:
        self.host = host
        self.rules = {(rule["screen"], f"{rule['warn']:,g}"): rule for rule in rules.values()}
        self.known = {}
        derived = [(key, rule) for key, rule in self.rules.items() if "floor" not in rule or rule["kind"] == "device"]
        for (screen, limit), rule in derived:
            for name, column in series(host, rule["kind"], rule["value"]).items():
                judged = self._busy(rule, name, column)
                spells = limits.spells(rule, judged, rule["warn"])
                if spells:
                    self.known[screen, name, limit] = self._row(rule, column, spells, limits.level(rule, judged))

    def _busy(self, rule: dict, name: str, column: Column) -> Column:
        """Without samples of little activity, unless many of them in a row are beyond the limit."""
        if "floor" not in rule:
            return column
        disk = self.host.disks[name]
        activity = {"iops": disk.iops, "good_iops": disk.good}[rule["floor_of"]]
        idle = [one is None or one < rule["floor"] for one in activity]
        for start, stop in limits.runs([one is not None and limits.passes(rule, one, rule["warn"]) for one in column]):
            if stop - start >= rule.get("below_floor", len(column) + 1):
                idle[start:stop] = [False] * (stop - start)
        return [None if left else one for one, left in zip(column, idle, strict=True)]

    def _row(self, rule: dict, column: Column, spells: Sequence[tuple[int, int]], level: int) -> dict:
        worst = lowest if rule["direction"] == "below" else highest
        times, days = self.host.times, {time.date() for time in (self.host.times[0], self.host.times[-1])}
        form = "%H:%M:%S" if len(days) == 1 else "%m-%d %H:%M:%S"
        return {
            "Severity": ("critical" if level > 1 else "warning",),
            "Since (UTC)": (f"{times[spells[0][0]]:{form}}",),
            "Spells": float(len(spells)),
            "Of the capture %": sum(round(100 * (stop - start) / len(times), 1) for start, stop in spells),
            "Worst sample": worst(one for start, stop in spells for one in column[start:stop]),
            "Unit": (rule["unit"],),
        }

    def __getitem__(self, key: tuple[str, str, str]) -> dict:
        screen, _, limit = key
        rule = self.rules[screen, limit]
        return self.known.get(key) or {"Unit": (rule["unit"],)}

    def __iter__(self) -> Iterator[tuple]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)


def medians(host: Host, caption: str) -> dict[tuple, dict]:
    """Medians of a counter before and after the time that the caption says, by table, counter and instance."""
    clock = re.search(r"\d\d:\d\d:\d\d", caption)
    if clock is None:
        # Each series has its own time, which the table says and the oracle does not look for.
        return {}
    at = next(at for at, time in enumerate(host.times) if clock and f"{time:%H:%M:%S}" == clock[0])
    found = {}
    for (of, counter), places in host.places.items():
        for name in places:
            column = host.disks[name].rate(counter) if of == DEVICE else host.column(of, counter, name)
            if of.startswith(DISKS) and not any(column[:1]):
                column = [None, *column[1:]]
            row = {"Before": median(column[:at]), "After": _level_after(column[:at], column[at:])}
            for key in {name, name.partition(":")[2]} if name[:1].isdigit() else {name}:
                found[_snake(of), _snake(counter), key or ABSENT] = row
    return found


def _level_after(before: Column, after: Column) -> float | None:
    """The median after; of a change beyond anything before that is shorter, the level that a fifth of it reaches."""
    level, middle = median(before), median(after)
    known = [one for one in before if one is not None]
    parts = [part for part in ([one for one in each if one is not None] for each in (after, after[:SOON])) if part]
    if level is None or middle is None:
        return middle
    passed = max(quantile([abs(one - level) for one in part], 0.8) for part in parts)
    usual = max(*(abs(one - level) for one in known), pstdev(known), 0.02 * max(abs(level), 1))
    if passed <= usual or abs(middle - level) >= passed / 2:
        return middle
    return max((quantile(part, share) for part in parts for share in (0.2, 0.8)), key=lambda one: abs(one - level))


def _snake(text: str) -> str:
    words = text.replace("%", "pct ").replace("/", " per ")
    return re.sub(r"\W+", "_", words).strip("_").lower()


def _words() -> dict[tuple[str, str], str]:
    """What the catalogue of derived tables calls each column."""
    path = limits.FOLDER.parent / "derived" / "columns.csv"
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {
        (table, row["column"]): row["name"]
        for row in rows
        for table in (("device", "nfs", "adapter", "path") if row["table"] == "io" else (row["table"],))
    }


def _charts(host: Host) -> list[Rows]:
    """The series that findings rest on, by their words; which of them are drawn is the diagnosis's."""
    words = _words()
    known: dict[str, dict[str, Column]] = {}
    for kind, value in SERIES:
        known.setdefault(words[kind, value], {}).update(series(host, kind, value))
    return [
        Rows(
            f".*: {re.escape(said)} [-\\d].*",
            ("full", "time"),
            drawn(host.ms, columns, "value"),
            some=True,
            partly=True,
        )
        for said, columns in known.items()
        if any(one is not None for column in columns.values() for one in column)
    ]


def _limits(rules: Mapping[str, dict]) -> list[Rows]:
    """Dashed lines of the limits on a series, by its words."""
    words = _words()
    made = []
    for rule in rules.values():
        if (rule["kind"], rule["value"]) in words:
            said = words[rule["kind"], rule["value"]]
            unit = rule["unit"].partition(" of ")[0]
            made.append(limits.lines(rule, unit, f".*: {re.escape(said)} [-\\d].*"))
    return made
