"""Recordings drawn at random by a seed, as their tools write them: for formats that the simulator does not draw."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = {
    "cycles": 3e9, "instructions": 2e9, "branch-misses": 4e6, "LLC-load-misses": 2e6, "dTLB-load-misses": 6e5,
    "iTLB-load-misses": 3e4, "page-faults": 900, "context-switches": 70,
}  # fmt: skip
"""Usual counts of a second and CPU."""
VMS = {"db": 2, "web": 1, "mail": 4}
"""VMs and their vCPUs."""
STARTED = "# started on Mon Mar  2 08:15:30 2026\n\n"


def perf_intervals(path: Path, seed: str) -> Path:
    """`perf stat -j -I 1000 -A`: events on each CPU, some of which shared a counter or were not counted at times."""
    random = Random(f"{path.stem} {seed}")  # noqa: S311  test data
    cpus, intervals = random.randint(2, 6), random.randint(5, 20)
    events = random.sample(sorted(EVENTS), 6)
    events += [event for event in ("instructions", "task-clock") if event not in events]
    lines, end = [], 0.0
    for _ in range(intervals):
        end = round(end + random.uniform(0.98, 1.02), 9)
        for event in events:
            for cpu in range(cpus):
                count, share = (
                    random.lognormvariate(0, 1) * EVENTS.get(event, 900.0),
                    random.choice((100.0, 100.0, 62.5)),
                )
                # Only a clock has decimals.
                unit, count = ("msec", count) if event == "task-clock" else ("", round(count))
                value = f"{count:.6f}" if random.random() < 0.95 else "<not counted>"
                lines.append({"interval": end, "cpu": str(cpu), "counter-value": value, "unit": unit, "event": event,
                              "event-runtime": int(end * 1e9), "pcnt-running": share})  # fmt: skip
    path.write_text(STARTED + "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def perf_text(path: Path, seed: str) -> Path:
    """`perf stat` of one command: its counts, the share of the time of each, and how long it took."""
    random = Random(f"{path.stem} {seed}")  # noqa: S311  test data
    seconds = random.uniform(20, 400)
    lines = [f"{1000 * seconds:>18,.2f} msec task-clock                       #    1.000 CPUs utilized          "]
    for event, usual in EVENTS.items():
        count, share = random.lognormvariate(0, 1) * usual * seconds, random.choice(("", "  (66.61%)", "  (83.31%)"))
        text = "<not supported>" if random.random() < 0.1 and event != "instructions" else f"{count:,.0f}"
        lines.append(f"{text:>18}      {event:<32} {share}")
    begin, end = f"\n Performance counter stats for './{path.stem}':\n", f"\n {seconds:>17.9f} seconds time elapsed\n\n"
    path.write_text("\n".join([STARTED.rstrip(), begin, *lines, end]), encoding="utf-8")
    return path


def waits(folder: Path, seed: str) -> list[Path]:
    """Captures of esxtop of five hosts on days of two weeks: ready time of vCPUs, and what a limit withheld of it."""
    random = Random(f"waits {seed}")  # noqa: S311  test data
    files = []
    for host in ("esx-01", "esx-02", "esx-03", "esx-04", "esx-05"):
        vms = {f"{name}-{host}": random.choice((1, 10)) for name in random.sample(sorted(VMS), 2)}
        worlds = [
            f"Vcpu({group}:{vm}:{10 * group + vcpu}:vmx-vcpu-{vcpu}:{vm})"
            for group, vm in enumerate(vms, 7)
            for vcpu in range(VMS[vm.partition("-")[0]])
        ]
        counters = [(world, counter) for world in worlds for counter in ("% Ready", "% Max Limited")]
        header = ["(PDH-CSV 4.0) (UTC)(0)", *(f"\\\\{host}\\{world}\\{counter}" for world, counter in counters)]
        for day in sorted(random.sample(range(2, 16), 5)):
            lines = [header]
            for minute in range(12):
                ready = [random.expovariate(1 / vms[world.split(":")[1]]) for world in worlds]
                cells = [f"{one:.2f}" for wait in ready for one in (wait, wait * random.choice((0, 0, 0.5)))]
                lines.append([f"03/{day:02}/2026 08:{minute:02}:00", *cells])
            files.append(folder / f"{host}-{day:02}.csv")
            text = "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines)
            files[-1].write_text(f"{text}\n", encoding="utf-8")
    return files


def collection(path: Path, seed: str) -> Path:
    """A directory of `esxparse collect vcenter`: VMs, hosts, a datastore, tasks, events, snapshots and limits."""
    random = Random(f"{path.name} {seed}")  # noqa: S311  test data
    start, samples = datetime(2026, 3, 2, 8, 15, tzinfo=UTC), random.randint(20, 60)

    def stamp(seconds: float) -> str:
        return (start + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def member(kind: str, number: int, name: str, step: int, series: dict[str, tuple[str, str, float]]) -> dict:
        # Newest first, as the simulator of govmomi answers.
        times = [{"timestamp": stamp(20 * samples - step * at), "interval": step} for at in range(20 * samples // step)]
        value = []
        for counter, (unit, instance, usual) in series.items():
            values = [round(usual * random.lognormvariate(0, 0.4)) for _ in times]
            values[random.randrange(len(values))] = -1
            # Some series are shorter than their times.
            kept = values[: random.randint(len(values) // 2, len(values))]
            value.append({"name": counter, "unit": unit, "instance": instance, "value": kept})
        return {
            "entity": {"type": kind, "value": f"{kind[:2].lower()}-{number}", "name": name},
            "sampleInfo": times,
            "value": value,
        }

    members, rows = [], []
    for number, (name, vcpus) in enumerate(VMS.items(), 1):
        series = {
            "cpu.ready.summation": ("millisecond", "", 300.0 * vcpus),
            "cpu.costop.summation": ("millisecond", "", 20.0 * vcpus),
            "cpu.usage.average": ("percent", "", 3500.0),
            "virtualDisk.totalReadLatency.average": ("millisecond", "scsi0:0", 4.0 * number),
            "virtualDisk.totalWriteLatency.average": ("millisecond", "scsi0:0", 3.0 * number),
        }
        members.append(member("VirtualMachine", number, name, 20, series))
        snapshots = random.choice((0, 1, 3))
        row = {"vm": name, "vm_id": f"vi-{number}", "vcpus": vcpus, "memory_mib": 4096 * number, "snapshots": snapshots}
        row |= {"oldest_snapshot": stamp(-86_400.0 * number)} if snapshots else {}
        rows.append(row | ({"cpu_limit_mhz": 1000 * number} if number > 1 else {}))
    for number in (1, 2):
        series = {
            "cpu.usage.average": ("percent", "", 4000.0 * number),
            "mem.usage.average": ("percent", "", 5000.0),
            "power.power.average": ("watt", "", 250.0),
            "datastore.totalWriteLatency.average": ("millisecond", "5f3a-01", 9.0 * number),
        }
        members.append(member("HostSystem", number, f"esx-0{number}", 20, series))
    datastore = {"datastore.totalReadLatency.average": ("millisecond", "", 6.0)}
    members.append(member("Datastore", 1, "gold", 100, datastore))
    tasks, events = [], []
    for number in range(6):
        vm, begin = random.choice(sorted(VMS)), 60.0 * number + random.random()
        reason = {"userName": "LAB\\kim"}
        name = random.choice(("Power On virtual machine", "Migrate virtual machine"))
        times = {
            "queueTime": stamp(begin - 0.5),
            "startTime": stamp(begin),
            "completeTime": stamp(begin + 40 * random.random()),
        }
        tasks.append({"name": name, "entityName": vm, "state": "success", "reason": reason, **times})
        events.append(
            {"type": random.choice(("VmPoweredOnEvent", "VmMigratedEvent")), "createdTime": stamp(begin), "message": vm}
        )
    first = {"collector": "esxparse collect vcenter", "server": "vc.lab"}
    lines = {
        "events.json": events,
        "collected.jsonl": [first],
        "inventory.json": [
            {"inventory_vm": rows, "inventory_datastore": [{"datastore": "gold", "instance": "5f3a-01"}]}
        ],
        "tasks.json": [{"tasks": tasks}],
    }
    path.mkdir()
    for file, several in lines.items():
        (path / file).write_text("".join(f"{json.dumps(one)}\n" for one in several), encoding="utf-8")
    text = "".join(f"{json.dumps(one)}\n" for one in members)
    (path / "counters.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return path
