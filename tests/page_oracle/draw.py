"""Recordings drawn at random by a seed, as their tools write them: for formats that the simulator does not draw."""

from __future__ import annotations

import json
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
