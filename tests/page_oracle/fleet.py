"""What the report on a fleet must show: waits from the cells of its captures, troubles from the judgements in the lake.

The report reads what diagnosis said of each capture (`judged/*.json`); whether that is right is not asked here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from page_oracle import limits
from page_oracle.arithmetic import highest, median, p95, quantile, several, span
from page_oracle.compare import ABSENT, Expected, Rows
from page_oracle.host import Host
from page_oracle.host_charts import heat_map, who_was_highest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

EDGES = (0, 0.5, 1, 2, 5, 10, 20, 50, 100)
LINES = {"median VM": 0.5, "worst tenth from here": 0.9, "worst hundredth from here": 0.99}
MOST, NAMED, HALF, LIKELY = 6, 4, 0.5, 0.8
"""Troubles in the verdict, hosts that are named, and the share of rules below which no host is well."""
FEWEST_ROWS, DAY = 4, 86_400_000
MANY = 10
"""Number of hosts from which a share is shown as a percentage."""
OUTSIDE = {"storage", "network", "clock", "power"}
SETTINGS = {"power.c_states", "power.p_states", "storage.misaligned", "storage.misaligned_nfs", "storage.iops_limit"}
LOCAL = re.compile(r"(mpx\.)?vmhba\d")
WORDS = ("likely", "possible", "weak")
LEVELS = ("critical", "warning", "ok", "unknown")
CHECKS = ("fail", "not judged", "warn", "pass")
VM = tuple
"""Host and name."""


@dataclass
class Capture:
    """A capture in the lake: its cells, and its stored diagnosis and checks."""

    host: str
    cells: Host
    judged: dict
    release: str
    waits: dict[str, list[tuple[date, float]]] = field(default_factory=dict)

    @property
    def findings(self) -> list[dict]:
        return [one | {"host": self.host} for one in self.judged["findings"] if one["severity"] != "info"]


def expected(*paths: Path) -> Expected:
    """The page of `fleet`: captures, and last the lake that they were added to."""
    *files, lake = paths
    captures = sorted((_capture(path, lake) for path in files), key=lambda one: (one.host, one.cells.times[0]))
    rule = limits.read()["cpu.ready"]
    waits: dict[VM, list[tuple[date, float]]] = {}
    for one in captures:
        for vm, values in one.waits.items():
            waits.setdefault((one.host, vm), []).extend(values)
    ready = {vm: [wait for _, wait in values] for vm, values in waits.items()}
    order = sorted(ready, key=lambda vm: (-p95(ready[vm]), -max(ready[vm]), vm))
    days = sorted({day for values in waits.values() for day, _ in values})
    found = Expected(tiles=_tiles(captures, ready, rule, lake))
    levels = _levels(captures, ready)
    found.tables = [_hosts(captures, ready, levels), _vms(ready, order, levels)]
    found.tables += [_weeks(waits, days[-1]), *_shared(captures)]
    found.charts = [_spread(ready), _by_day(waits, days)]
    found.texts = [*_verdict(captures), _title(captures), _when(captures)]
    cells = _hosts_by_day(waits)
    peaks = {host: max(wait for (of, _), wait in cells.items() if of == host) for host, _ in cells}
    if len(peaks) >= FEWEST_ROWS:
        found.charts += heat_map("Ready time of all hosts", cells, DAY)
        found.may.append(("Ready time of all hosts: ", *who_was_highest(peaks, rule["warn"], "%")))
    value, compared = "%RDY - %MLMTD, % of one core", "few days against many are no fair comparison"
    found.may += [
        (f"Ready of each VM's vCPUs, {value}; warning from ", rule["warn"], ", critical from ", rule["critical"]),
        (f"Hosts, the worst first; ready: 95th percentile of {value}",),
        (f"Ready of VMs, 95th percentile of {value}; the last week ends with {days[-1]}; {compared}",),
    ]
    return found


def _capture(path: Path, lake: Path) -> Capture:
    cells = Host(path)
    host = re.match(r'"\(PDH-CSV[^,]*","?\\\\([^\\]+)', path.read_text(encoding="utf-8"))[1]
    for file in (lake / "catalogue").glob("*.json"):
        entry = json.loads(file.read_text(encoding="utf-8"))
        if entry["source"] == str(path):
            judged = json.loads((lake / "judged" / file.name).read_text(encoding="utf-8"))
            made = Capture(host, cells, judged, entry["meta"].get("release") or "")
    dates = [time.date() for time in cells.times]
    for name, worlds in cells.vms.values():
        for world in worlds:
            ready, limited = (cells.column("Vcpu", counter, world) for counter in ("% Ready", "% Max Limited"))
            for day, wait, less in zip(dates, ready, limited, strict=True):
                if wait is not None:
                    made.waits.setdefault(name, []).append((day, max(wait - (less or 0.0), 0.0)))
    return made


def _names(captures: Iterable[Capture]) -> list[str]:
    return list(dict.fromkeys(one.host for one in captures))


def _when(captures: Sequence[Capture]) -> tuple:
    first, last = min(one.cells.times[0] for one in captures), max(one.cells.times[-1] for one in captures)
    return (float(len(captures)), f" captures, {first:%Y-%m-%d %H:%M:%S} UTC to {last:%Y-%m-%d %H:%M:%S} UTC")


def _tiles(captures: Sequence[Capture], ready: dict[VM, list[float]], rule: dict, lake: Path) -> dict:
    seconds = sum((one.cells.ms[-1] - one.cells.ms[0]) / 1000 for one in captures)
    size = sum(file.stat().st_size for file in lake.rglob("*.parquet")) / 1e6
    waiting = sum(level < LEVELS.index("ok") for level in _waits(captures, ready).values())
    state = Counter(one.judged["quality"]["status"] for one in captures)
    return {
        "Hosts": ((float(len(_names(captures))),), (float(len(captures)), " captures")),
        "Recorded": ((span(seconds),), ("of all hosts together, ", size, " MB of Parquet")),
        "VMs": ((float(len(ready)),), ("host and VM",)),
        f"VMs that wait {rule['warn']:g} % and more": ((float(waiting),), _share(waiting, len(ready))),
        "Captures that failed checks": (
            (float(state["fail"]),),
            (float(state["warn"]), " warned, ", float(state["pass"]), " passed"),
        ),
    }


def _share(some: int, of: int) -> tuple:
    """What share of all some are; of few, how many these are."""
    return (100 * some / of, " % of all") if of >= MANY else ("of all ", float(of))


def _troubles(captures: Iterable[Capture]) -> list[dict]:
    return [finding for one in captures for finding in one.findings]


def _judged(captures: Iterable[Capture]) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in captures:
        found[one.host] = max(found.get(one.host, 0.0), one.judged["judged"] / one.judged["of"])
    return found


def _verdict(captures: Sequence[Capture]) -> list[tuple]:
    """The headline, the troubles of the most hosts, and how many there is no room for."""
    troubles = _troubles(captures)
    bad = {one["host"] for one in troubles if one["severity"] == "critical"}
    failed = {one.host for one in captures if one.judged["quality"]["status"] == "fail"}
    few = sum(share < HALF for share in _judged(captures).values())
    parts: list = [float(len(bad)), " of ", float(len(_names(captures))), " hosts with critical troubles"]
    parts += [f"; captures of {several(len(failed), 'host')} failed their checks"] if failed else []
    parts += ["; ", float(few), " judged by less than half of the rules"] if few else []
    of: dict[str, list[dict]] = {}
    for one in sorted(troubles, key=lambda one: (one["severity"] != "critical", one["host"], one["start"] or "")):
        of.setdefault(one["trouble"], []).append(one)

    def hosts(name: str, *severities: str) -> list[str]:
        return list(dict.fromkeys(one["host"] for one in of[name] if one["severity"] in severities))

    def place(name: str) -> tuple:
        sure = WORDS.index(_likelihood(of[name][0]["confidence"]))
        return -len(hosts(name, "critical")), -len(hosts(name, "critical", "warning")), sure, name

    order = sorted(of, key=place)
    made: list[tuple] = [tuple(parts)]
    for name in order[:MOST]:
        first, on = of[name][0], hosts(name, "critical", "warning")
        level = "critical" if hosts(name, "critical") else "warning"
        where = on[0] if len(on) == 1 else f"{_some(on)}. On {on[0]}"
        day = f" ({first['start'][:10]})" if first["start"] else ""
        sure = f"{first['verdict']} {_likelihood(first['confidence'])}"
        made.append(
            (
                f"{level} ",
                float(len(on)),
                f" {'host' if len(on) == 1 else 'hosts'}{first['title']} on {where}{day}: {sure}Next {first['next']}",
            )
        )
    if more := order[MOST:]:
        titles = "; ".join(of[name][0]["title"] for name in more)
        made.append((float(len(more)), f" more, on hosts below: {titles}."))
    return made


def _title(captures: Sequence[Capture]) -> tuple:
    bad = {one["host"] for one in _troubles(captures) if one["severity"] == "critical"}
    hosts = several(len(_names(captures)), "host")
    if bad:
        return (f"Fleet: critical troubles on {len(bad)} of {hosts}",)
    few = any(share < HALF for share in _judged(captures).values())
    return (f"Fleet: {hosts}",) if few else (f"Fleet: no critical trouble found on {hosts}",)


def _likelihood(confidence: float) -> str:
    return WORDS[(confidence < LIKELY) + (confidence < HALF)]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")


def _waits(captures: Sequence[Capture], ready: dict[VM, list[float]]) -> dict[VM, int]:
    """How bad the ready time of each VM is, as its captures were judged: a place in LEVELS."""
    levels = dict.fromkeys(ready, 2)
    for one in captures:
        for passed in one.judged["symptoms"]:
            if passed["rule"] == "cpu.ready":
                vm = one.host, passed["name"]
                levels[vm] = min(levels[vm], LEVELS.index(passed["severity"]))
    return levels


def _levels(captures: Sequence[Capture], ready: dict[VM, list[float]]) -> dict[VM, int]:
    """How bad each VM is, by its ready time and by its own troubles: a place in LEVELS."""
    levels = _waits(captures, ready)
    for one in _troubles(captures):
        vm = one["host"], one["entity"]["name"]
        if one["entity"]["kind"] == "vm" and vm in levels:
            levels[vm] = min(levels[vm], 0 if one["severity"] == "critical" else 1)
    return levels


def _hosts(captures: Sequence[Capture], ready: dict[VM, list[float]], levels: dict[VM, int]) -> Rows:
    rows, judged = {}, _judged(captures)
    for host in _names(captures):
        own = [one for one in captures if one.host == host]
        worst: dict[tuple, str] = {}
        for one in _troubles(own):
            key = one["trouble"], *one["entity"].values()
            worst[key] = min(worst.get(key, "warning"), one["severity"])
        count = Counter(worst.values())
        vms = {vm: p95(values) for (of, vm), values in ready.items() if of == host}
        name = min(vms, key=lambda vm: (-vms[vm], -max(ready[host, vm]), vm), default=None)
        check = min((one.judged["quality"]["status"] for one in own), key=CHECKS.index)
        unsaid = check in {"not judged", "fail"} or judged[host] < HALF
        of_vms = min((level for (of, _), level in levels.items() if of == host), default=2)
        level = min(0 if count["critical"] else 1 if count["warning"] else 2, of_vms)
        level = 3 if level == 2 and unsaid else level
        rows[host] = (
            level,
            {
                "Worst": (LEVELS[level],),
                "Critical troubles": float(count["critical"]),
                "Troubles that warn": float(count["warning"]),
                "Ready of the worst VM %": vms[name] if name else None,
                "Worst VM": (name or ABSENT,),
                "VMs": float(len(vms)) if vms else None,
                "Rules judged %": 100 * judged[host],
                "Check": (check,),
                "Release": (own[-1].release or ABSENT,),
            },
        )
    order = sorted(
        rows,
        key=lambda host: (
            rows[host][0],
            *(-rows[host][1][head] for head in ("Critical troubles", "Troubles that warn", "Ready of the worst VM %")),
            host,
        ),
    )
    return Rows("Hosts, the worst first", ("Host",), {(host,): rows[host][1] for host in order})


def _vms(ready: dict[VM, list[float]], order: Sequence[VM], levels: dict[VM, int]) -> Rows:
    rows = {
        vm: {
            "Level": (LEVELS[levels[vm]],),
            "95th percentile %": p95(ready[vm]),
            "Median %": median(ready[vm]),
            "Highest %": highest(ready[vm]),
            "Samples of vCPUs": float(len(ready[vm])),
        }
        for vm in order
    }
    return Rows("Ready of each VM's vCPUs", ("Host", "VM"), rows)


def _weeks(waits: dict[VM, list[tuple[date, float]]], last: date) -> Rows:
    """The seven days that end with the last of the fleet, and the seven before."""
    rows = {}
    for vm, values in waits.items():
        parts = [[(day, wait) for day, wait in values if (last - day).days // 7 == week] for week in (1, 0)]
        if all(parts):
            before, after = (p95(wait for _, wait in part) for part in parts)
            rows[vm] = {
                "Seven days before %": before,
                "Days with samples": float(len({day for day, _ in parts[0]})),
                "Last seven days %": after,
                "Days with samples (2)": float(len({day for day, _ in parts[1]})),
                "Change points": after - before,
            }
    order = sorted(rows, key=lambda vm: (-abs(rows[vm]["Change points"]), vm))
    return Rows("Ready of VMs, 95th percentile", ("Host", "VM"), {vm: rows[vm] for vm in order})


def _spread(ready: dict[VM, list[float]]) -> Rows:
    bins = {f"{low:g} to {high:g}": (low, high) for low, high in pairwise(EDGES)} | {
        f"{EDGES[-1]:g} and more": (100, 1e9)
    }
    shares = [p95(values) for values in ready.values()]
    bars = {(name,): {"vms": sum(low <= one < high for one in shares)} for name, (low, high) in bins.items()}
    return Rows("Ready time of the fleet's VMs", ("bin",), bars, ordered=False)


def _by_day(waits: dict[VM, list[tuple[date, float]]], days: Sequence[date]) -> Rows:
    points = {}
    for day in days if len(days) > 1 else ():
        each = [p95(own) for values in waits.values() if (own := [wait for of, wait in values if of == day])]
        points |= {(f"{day}T00:00:00", label): {"pct": quantile(each, share)} for label, share in LINES.items()}
    return Rows("Ready time day by day", ("date", "label"), points, ordered=False)


def _hosts_by_day(waits: dict[VM, list[tuple[date, float]]]) -> dict[tuple, float]:
    """The worst VM of each host, by host and day in ms."""
    cells: dict[tuple, float] = {}
    for (host, _), values in waits.items():
        for day in {day for day, _ in values}:
            at = host, int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
            cells[at] = max(cells.get(at, 0.0), p95(wait for of, wait in values if of == day))
    return cells


def _shared(captures: Sequence[Capture]) -> list[Rows]:
    troubles = _troubles(captures)
    objects: dict[str, set[str]] = {}
    for one in troubles:
        if one["entity"]["kind"] in {"device", "nfs"} and not LOCAL.match(one["entity"]["name"]):
            objects.setdefault(one["entity"]["name"], set()).add(one["host"])
    rows = {(name,): {"Hosts": float(len(hosts))} for name, hosts in objects.items() if len(hosts) > 1}
    return [
        Rows("The same device or volume", ("Device or volume",), rows, ordered=False),
        Rows("On several hosts at one time", ("Trouble", "From (UTC)"), _together(troubles), ordered=False),
        _releases(captures),
    ]


def _together(troubles: Sequence[dict]) -> dict[tuple, dict]:
    """Troubles with causes outside a host whose spells overlap, on several hosts."""
    rows = {}
    for trouble in {one["trouble"] for one in troubles} - SETTINGS:
        if trouble.partition(".")[0] not in OUTSIDE:
            continue
        spells: list[tuple[datetime, datetime, set[str]]] = []
        own = [one for one in troubles if one["trouble"] == trouble and one["start"]]
        for one in sorted(own, key=lambda one: one["start"]):
            start, end = (datetime.fromisoformat(one[name]).astimezone(UTC) for name in ("start", "end"))
            if spells and start <= spells[-1][1]:
                spells[-1] = spells[-1][0], max(spells[-1][1], end), spells[-1][2] | {one["host"]}
            else:
                spells.append((start, end, {one["host"]}))
        for start, _, hosts in spells:
            if len(hosts) > 1:
                rows[own[0]["title"], f"{start:%Y-%m-%d %H:%M:%S}"] = {"Hosts": float(len(hosts))}
    return rows


def _releases(captures: Sequence[Capture]) -> Rows:
    rows = {}
    for release in {one.release for one in captures}:
        own = [one for one in captures if one.release == release]
        bad = {one["host"] for one in _troubles(own) if one["severity"] == "critical"}
        waits: dict[VM, list[float]] = {}
        for one in own:
            for vm, values in one.waits.items():
                waits.setdefault((one.host, vm), []).extend(wait for _, wait in values)
        rows[release or "unknown",] = {
            "Hosts diagnosed": float(len(_names(own))),
            "With critical troubles": float(len(bad)),
            "Share %": 100 * len(bad) / len(_names(own)) if len(_names(own)) >= MANY else None,
            "Ready of the median VM %": median(map(p95, waits.values())),
        }
    return Rows("By release", ("Release",), rows, ordered=False)
