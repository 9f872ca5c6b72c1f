"""How many oversized VMs `ex.right_size` finds on random hosts, and how many of its suggestions are too small.

`python benchmarks/right_size.py [HOSTS] [JOBS]`: HOSTS (50) random hosts with at least 8 PCPUs, healthy or with
troubles. Of the VMs that no trouble changes, up to two get four times the vCPUs and do the same work. Up to one gets
three times the memory and uses no more of it. The capture has the drawn length of minutes. The simulator gives what
guests asked for, in that time and, every 20 s, in the hour that begins with it. Adds to RESULTS.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import sections

import esxparse as ex
import esxparse_simulator as simulate

if TYPE_CHECKING:
    from esxparse_simulator.host import Scenario

HOSTS, FEWEST_PCPUS = 50, 8
HOUR_S, HOUR_STEP_S = 3600.0, 20.0
OBJECTS = ("Vcpu", "Group Cpu", "Group Memory")
TIMES_VCPUS, FEWEST_VCPUS, TIMES_MEMORY = 4, 4, 3


def host_of(seed: int) -> Scenario:
    (run,) = simulate.random_experiment(seed).runs
    assert run.scenario is not None  # noqa: S101  a drawn host has one
    return run.scenario


def pcpus(scenario: Scenario) -> int:
    host = scenario.host
    return int(host.sockets * host.cores_per_socket * host.threads_per_core)


def planted(scenario: Scenario, seed: int) -> tuple[Scenario, set[str], set[str]]:
    """The host with oversized VMs, and the names of those with too many vCPUs and with too much memory."""
    dice = Random(seed)  # noqa: S311  a reproducible choice
    vms = {vm.name: vm for vm in scenario.vms}
    if len(vms) < len(scenario.vms):
        return scenario, set(), set()
    plain = [vm for vm in scenario.vms if not vm.phases and vm.cpu_limit_mhz is None]
    wider = {vm.name: max(FEWEST_VCPUS, TIMES_VCPUS * vm.vcpus) for vm in plain}
    fits = [name for name, many in sorted(wider.items()) if many <= pcpus(scenario)]
    wide = set(dice.sample(fits, min(len(fits), dice.randint(1, 2))))
    for name in wide:
        vm = vms[name]
        load = replace(vm.load, cpu=vm.load.cpu * vm.vcpus / wider[name])
        vms[name] = replace(vm, vcpus=wider[name], load=load)
    # A guest of at least 2 GiB, so that the difference is worth a suggestion.
    fits = sorted(vm.name for vm in plain if vm.memory_mb >= 2048)
    large = set(dice.sample(fits, min(len(fits), 1)))
    more = 0
    for name in large:
        more += (TIMES_MEMORY - 1) * vms[name].memory_mb
        vms[name] = replace(vms[name], memory_mb=TIMES_MEMORY * vms[name].memory_mb)
    host = replace(scenario.host, memory_mb=scenario.host.memory_mb + more)
    return replace(scenario, host=host, vms=tuple(vms.values())), wide, large


def asked(scenario: Scenario) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """What the guests asked for in each sample: vCPUs at once and MiB of memory, [samples, VMs]."""
    vcpus = np.array([vm.vcpus for vm in scenario.vms])
    loads = [(one.loads.cpu * vcpus / 100, one.loads.used_mb.copy()) for one in simulate.capture(scenario)]
    return np.array([cpu for cpu, _ in loads]), np.array([memory for _, memory in loads])


def judged(seed: int) -> Counter[str]:
    """One host: how many VMs were planted and found, and how the suggestions compare with what guests asked for."""
    scenario, wide, large = planted(host_of(seed), seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "host.csv"
        simulate.write_esxtop(path, simulate.capture(scenario), only=OBJECTS)
        frame = ex.right_size(path).frame
    cpu, memory = asked(scenario)
    hour = replace(scenario, samples=int(HOUR_S / HOUR_STEP_S), interval=HOUR_STEP_S)
    cpu_hour, memory_hour = asked(hour)
    rows = {row["vm"]: row for row in frame.to_dicts()}
    found: Counter[str] = Counter(hosts=1, vms=len(scenario.vms))
    for place, vm in enumerate(scenario.vms):
        # If two VMs share a name, the table distinguishes them, so they match no planted VM.
        row = rows.get(vm.name, {"cpu": "unknown", "vcpus_suggested": None, "size_suggested_mib": None})
        found["unknown"] += row["cpu"] == "unknown"
        need = {
            "p99": np.percentile(cpu[:, place], 99),
            "capture": cpu[:, place].max(),
            "hour": np.percentile(cpu_hour[:, place], 99),
        }
        suggested = row["vcpus_suggested"]
        found["wide"] += vm.name in wide
        found["wide found"] += vm.name in wide and suggested is not None
        found["cpu suggestions"] += suggested is not None
        for name, vcpus in need.items():
            found[f"cpu too small, {name}"] += suggested is not None and suggested < vcpus
        found["large"] += vm.name in large
        suggested = row["size_suggested_mib"]
        found["large found"] += vm.name in large and suggested is not None
        found["memory suggestions"] += suggested is not None
        for name, mib in {"capture": memory, "hour": memory_hour}.items():
            found[f"memory too small, {name}"] += suggested is not None and suggested < mib[:, place].max()
    return found


def main() -> None:
    hosts, jobs = (int(sys.argv[place]) if len(sys.argv) > place else usual for place, usual in ((1, HOSTS), (2, 1)))
    seeds = (seed for seed in range(1000, 10_000) if pcpus(host_of(seed)) >= FEWEST_PCPUS)
    chosen = [next(seeds) for _ in range(hosts)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        total: Counter[str] = sum(pool.map(judged, chosen), Counter())

    def share(part: str, whole: str) -> str:
        return f"{total[part]} of {total[whole]} ({100 * total[part] / max(1, total[whole]):.1f} %)"

    def of_all(time: str) -> tuple[str, str]:
        cpu, memory = (share(f"{what} too small, {time}", f"{what} suggestions") for what in ("cpu", "memory"))
        return cpu, memory

    judged_hosts = f"{total['hosts']} random hosts with {FEWEST_PCPUS} PCPUs or more and {total['vms']:,} VMs"
    plants = f"{TIMES_VCPUS} times the vCPUs for the same work, and up to one got {TIMES_MEMORY} times the memory"
    rows = {
        "oversized VMs found": (share("wide found", "wide"), share("large found", "large")),
        "suggestions, with those for other VMs": (total["cpu suggestions"], total["memory suggestions"]),
        "false: less than the p99 of what the guest asked for": (share("cpu too small, p99", "cpu suggestions"), ""),
        "false: less than it asked for in any sample": of_all("capture"),
        "false: less than the p99 of vCPUs, or the most memory, in the hour that begins with the capture": of_all(
            "hour"
        ),
    }
    lines = [
        "`python benchmarks/right_size.py`",
        "",
        f"{judged_hosts}, healthy or with troubles. Not judged: {total['unknown']}.",
        f"Up to two VMs of each host got {plants} for the same use.",
        "",
        "| | vCPUs | memory |",
        "|---|---|---|",
        *(f"| {name} | {cpu} | {memory} |" for name, (cpu, memory) in rows.items()),
        "",
        "Captures last minutes. A suggestion that is right for them may be wrong for the hour: this is the risk that",
        "each suggestion states. A simulated guest touches exactly the memory that it uses, so the figures for memory",
        "show that the arithmetic is right, and nothing about guests with caches.",
    ]
    sections.put("Right-sizing", lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
