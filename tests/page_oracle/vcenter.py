"""What the report on counters of a vCenter must show, from the file of govc or the directory of a collection."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from page_oracle.arithmetic import highest, mean, several
from page_oracle.compare import Expected, Parts, Rows
from page_oracle.host_charts import over_time

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST = 20
NOUNS = {"ClusterComputeResource": "cluster", "HostSystem": "host", "VirtualMachine": "VM", "Datastore": "datastore"}
Series = dict[tuple[str, str, str, str], dict[int, float]]
"""Values by kind and name of the object, counter and instance; by time in ms."""


def expected(path: Path) -> Expected:
    """The page of `vcenter_counters`."""
    series = dict(_series(path))
    rows = json.loads((path / "inventory.json").read_text(encoding="utf-8")) if path.is_dir() else {}
    vms = {row["vm"]: row for row in rows.get("inventory_vm", [])}
    datastores = {row["instance"]: row["datastore"] for row in rows.get("inventory_datastore", [])}
    ready = {name: _per_vcpu(series, name, "ready", vms) for kind, name in _objects(series) if kind == "VirtualMachine"}
    found = Expected(tiles=_tiles(series, ready, vms))
    found.texts = [_answer(ready)]
    found.tables = [_waits(series, ready, vms), _hosts(series), _latencies(series, datastores)]
    if vms:
        found.tables += [_limits(vms), _tasks(path), _events(path)]
    times = sorted({time for each in ready.values() for time in each})
    lines = {name: [each.get(time) for time in times] for name, each in ready.items()}
    found.charts = [over_time("Ready per vCPU over time", times, lines, "contention_pct", "VMs")]
    every = {time for each in series.values() for time in each}
    begin, end = (f"{datetime.fromtimestamp(one / 1000, UTC):%Y-%m-%d %H:%M:%S}" for one in (min(every), max(every)))
    server = "vc.lab, " if path.is_dir() else ""
    found.may = [(f"{server}{begin} to {end} UTC",), (str(path),)]
    return found


def _members(path: Path) -> list[dict]:
    if path.is_dir():
        text = gzip.decompress((path / "counters.jsonl.gz").read_bytes()).decode()
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(path.read_text(encoding="utf-8"))["sample"]


def _series(path: Path) -> Iterator[tuple[tuple[str, str, str, str], dict[int, float]]]:
    for member in _members(path):
        entity = member["entity"]
        name = entity.get("name", f"{entity['type']}-{entity['value']}")
        times = [1000 * round(datetime.fromisoformat(one["timestamp"]).timestamp()) for one in member["sampleInfo"]]
        for one in member["value"]:
            factor = 100 if one["unit"] == "percent" else 1
            pairs = zip(times, one["value"] or [], strict=False)
            values = {time: value / factor for time, value in sorted(pairs) if value is not None and value >= 0}
            if values:
                yield (entity["type"], name, one["name"], one["instance"]), values


def _objects(series: Series) -> list[tuple[str, str]]:
    return list(dict.fromkeys((kind, name) for kind, name, _, _ in series))


def _vcpus(series: Series, name: str, vms: dict) -> int:
    """As the inventory has them; else the instances, which add up in these files."""
    listed = vms.get(name, {}).get("vcpus")
    return listed or len({instance for _, of, _, instance in series if of == name and instance.isdecimal()})


def _per_vcpu(series: Series, name: str, wait: str, vms: dict) -> dict[int, float]:
    values = series.get(("VirtualMachine", name, f"cpu.{wait}.summation", ""), {})
    return {time: value / 20_000 * 100 / _vcpus(series, name, vms) for time, value in values.items()}


def _tiles(series: Series, ready: dict, vms: dict) -> dict:
    counts = Counter(kind for kind, _ in _objects(series))
    words = ", ".join(several(counts[kind], noun) for kind, noun in NOUNS.items() if counts[kind])
    worst = max(ready, key=lambda name: max(ready[name].values()))
    tiles: dict = {
        "Objects measured": ((float(sum(counts.values())),), (words,)),
        "Highest ready": ((max(ready[worst].values()), " %"), (f"of the time of a vCPU, {worst}",)),
    }
    if vms:
        counts_of = [row["snapshots"] for row in vms.values()]
        tiles["Snapshots"] = ((float(sum(counts_of)),), (f"on {several(sum(map(bool, counts_of)), 'VM')}",))
    return tiles


def _answer(ready: dict) -> Parts:
    """All vCPUs are known in these files."""
    means = {name: mean(values.values()) for name, values in ready.items()}
    longest = max(means, key=means.__getitem__)
    over = float(sum(value > 5 for value in means.values()))
    many = several(len(means), "VM")
    between = f" of {many} waited more than 5 % of a vCPU's time on average; {longest} waited longest, "
    return over, between, means[longest], " %."


def _stats(series: Series, kind: str, name: str, counter: str, head: str, unit: str) -> dict:
    values = series.get((kind, name, counter, ""), {}).values()
    return {f"{head}, mean {unit}": mean(values), f"{head}, highest {unit}": highest(values)}


def _waits(series: Series, ready: dict, vms: dict) -> Rows:
    rows = {}
    for name in sorted(ready, key=lambda name: (-max(ready[name].values()), name))[:MOST]:
        rows[(name,)] = {
            "vCPUs": float(_vcpus(series, name, vms)),
            "Ready, mean % of a vCPU": mean(ready[name].values()),
            "Ready, highest % of a vCPU": highest(ready[name].values()),
            "Co-stop, highest % of a vCPU": highest(_per_vcpu(series, name, "costop", vms).values()),
            **_stats(series, "VirtualMachine", name, "cpu.usage.average", "CPU use", "%"),
        }
    return Rows("Waits and CPU use of VMs, highest ready first", ("VM",), rows)


def _hosts(series: Series) -> Rows:
    rows = {}
    for kind, name in _objects(series):
        if kind == "HostSystem":
            memory = _stats(series, kind, name, "mem.usage.average", "Memory use", "%")
            watts = _stats(series, kind, name, "power.power.average", "Power", "W")
            use = _stats(series, kind, name, "cpu.usage.average", "CPU use", "%")
            rows[(name,)] = {**use, **{head: value for head, value in (memory | watts).items() if "mean" in head}}
    order = sorted(rows, key=lambda key: -rows[key]["CPU use, mean %"])
    return Rows("Use of hosts, the busiest first", ("Host",), {key: rows[key] for key in order})


def _latencies(series: Series, datastores: dict) -> Rows:
    rows: dict = defaultdict(dict)
    for (_, name, counter, instance), values in series.items():
        group, _, kind = counter.partition(".")
        if kind in {"totalReadLatency.average", "totalWriteLatency.average"}:
            head = "Reads" if "Read" in kind else "Writes"
            means = {f"{head}, mean ms": mean(values.values()), f"{head}, highest ms": highest(values.values())}
            rows[name, group, datastores.get(instance, instance)] |= means
    order = sorted(rows, key=lambda key: (-_worst(rows[key]), key[0], key[2]))
    heads = [f"{head}, {how} ms" for head in ("Reads", "Writes") for how in ("mean", "highest")]
    whole = {key: {head: rows[key].get(head) for head in heads} for key in order if _worst(rows[key])}
    return Rows("Latency, highest first", ("Object", "Kind", "Disk or datastore"), whole)


def _worst(row: dict) -> float:
    return max(value for head, value in row.items() if "highest" in head)


def _limits(vms: dict) -> Rows:
    marked = [
        row for row in vms.values() if row["snapshots"] or row.get("cpu_limit_mhz") or row.get("memory_limit_mib")
    ]
    rows = {}
    for row in sorted(marked, key=lambda row: (-row["snapshots"], row["vm"])):
        oldest = row.get("oldest_snapshot")
        rows[(row["vm"],)] = {
            "Snapshots": float(row["snapshots"]),
            "Oldest snapshot (UTC)": (oldest[:16].replace("T", " "),) if oldest else None,
            "CPU limit MHz": row.get("cpu_limit_mhz"),
            "Memory limit MiB": row.get("memory_limit_mib"),
            "Memory MiB": row["memory_mib"],
        }
    return Rows("VMs with a snapshot or a limit", ("VM",), rows)


def _tasks(path: Path) -> Rows:
    tasks = json.loads((path / "tasks.json").read_text(encoding="utf-8"))["tasks"]
    rows = {}
    for one in sorted(tasks, key=lambda one: one["startTime"], reverse=True)[:MOST]:
        begin, end = (datetime.fromisoformat(one[name]) for name in ("startTime", "completeTime"))
        began = one["startTime"][:19].replace("T", " ")
        rows[began, one["name"]] = {
            "Object": (one["entityName"],),
            "By": (one["reason"]["userName"],),
            "Took s": (end - begin).total_seconds(),
            "State": (one["state"],),
        }
    return Rows("Tasks, the latest first", ("Began (UTC)", "Task"), rows)


def _events(path: Path) -> Rows:
    lines = (path / "events.json").read_text(encoding="utf-8").splitlines()
    counts = Counter(json.loads(line)["type"] for line in lines)
    order = sorted(counts, key=lambda kind: (-counts[kind], kind))
    return Rows("Events by type", ("Event",), {(kind,): {"Number": float(counts[kind])} for kind in order[:MOST]})
