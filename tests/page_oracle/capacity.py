"""What the report on sizes of VMs and dense mode must show, from the cells of a capture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from page_oracle.arithmetic import highest, mean, plus, quantile, span
from page_oracle.compare import ABSENT, Expected, Rows
from page_oracle.host import Column, Host
from page_oracle.host_page import moment

if TYPE_CHECKING:
    from pathlib import Path

CHECK_MS, BUSY_PCT, ROOM, GIB = 60_000, 50.0, 1.2, 1024
LEAST_SAVED_GIB, FULL = 2, 0.9


def expected(path: Path) -> Expected:
    """The page of `capacity`."""
    host = Host(path)
    vms = {name: _vm(host, group, worlds) for group, (name, worlds) in host.vms.items()}
    found = Expected()
    found.texts = [(f"{moment(host, 0)} to {moment(host, -1)} (", span((host.ms[-1] - host.ms[0]) / 1000), ")")]
    fewer = [one for one in vms.values() if one["Suggested vCPUs"] != ABSENT]
    less = [one for one in vms.values() if one["Suggested memory GiB"] != ABSENT]
    freed = math.fsum(one["vCPUs"] - one["Suggested vCPUs"] for one in fewer)
    freed_gib = math.fsum(one["Memory GiB"] - one["Suggested memory GiB"] for one in less)
    every, vcpus, memory = float(len(vms)), float(len(fewer)), float(len(less))
    seen = [_states(host, group, worlds) for group, (_, worlds) in host.vms.items()]
    full, reclaimed = (float(sum(one[place] for one in seen)) for place in (0, 1))
    found.texts.append(
        (
            *("Sizes of VMs: ", vcpus, " of ", every, " VMs could do with fewer vCPUs"),
            *((" (", freed, " less)") if fewer else ()),
            *(", ", memory, " with less memory"),
            *((" (", freed_gib, " GiB less)") if less else ()),
            *(("; ", full, " asked for nearly all their vCPUs") if full else ()),
            *(("; ", reclaimed, " had memory reclaimed") if reclaimed else ()),
            ".",
        )
    )
    rows = {
        (name,): {head: (ABSENT,) if one == ABSENT else one for head, one in vm.items()} for name, vm in vms.items()
    }
    found.tables = [Rows("VMs, those with a suggestion first", ("VM",), rows, ordered=False)]
    bars = {(name,): {"wanted_p99": vm["Wanted, p99 vCPUs"], "vcpus": vm["vCPUs"]} for name, vm in vms.items()}
    found.charts = [
        Rows("vCPUs wanted and given", ("full",), bars, some=True, ordered=False),
        Rows("Load at each check.*", ("label", "time"), _checks(host, vms), ordered=False),
        Rows("Load at each check.*", ("at",), {(100.0,): {}}),
    ]
    return found


def _vm(host: Host, group: str, worlds: list[str]) -> dict[str, float | str]:
    """A row of the table of sizes."""
    run, ready, costop = (
        plus(*(host.column("Vcpu", counter, world) for world in worlds)) for counter in ("% Run", "% Ready", "% CoStop")
    )
    wanted = [one / 100 for one in plus(run, ready, costop)]
    size, touched, active = (
        host.column("Group Memory", f"{name} MBytes", group)
        for name in ("Memory Size", "Memory Granted Size", "Touched")
    )
    memory = size[-1]
    most, working = highest(touched), quantile(active, 0.99)
    vcpus = _even(max(ROOM * quantile(wanted, 0.99), len(worlds) / 2, 2))
    needed = math.ceil(max(ROOM * max(most, working), memory / 2) / GIB)
    _, reclaimed = _states(host, group, worlds)
    return {
        "vCPUs": float(len(worlds)),
        "Suggested vCPUs": float(vcpus) if vcpus < len(worlds) else ABSENT,
        "Ran, mean vCPUs": mean(run) / 100,
        "Ran, p99 vCPUs": quantile(run, 0.99) / 100,
        "Wanted, p99 vCPUs": quantile(wanted, 0.99),
        "Co-stop %": mean(costop) / len(worlds),
        "Memory GiB": memory / GIB,
        "Suggested memory GiB": float(needed) if not reclaimed and memory / GIB - needed >= LEAST_SAVED_GIB else ABSENT,
        "Touched GiB": most / GIB,
        "Active, p99 GiB": working / GIB,
    }


def _states(host: Host, group: str, worlds: list[str]) -> tuple[bool, bool]:
    """Whether a VM asks for 90 % of its vCPUs at the p95, and whether the host reclaimed its memory."""
    counters = ("% Run", "% Ready", "% CoStop")
    wanted = plus(*(host.column("Vcpu", counter, world) for counter in counters for world in worlds))
    balloon, swapped = (host.column("Group Memory", f"{name} MBytes", group) for name in ("Memctl", "Swapped"))
    full = quantile(wanted, 0.95) / 100 >= FULL * len(worlds)
    return full, highest(balloon) >= 1 or highest(swapped) >= 1


def _even(number: float) -> int:
    return 2 * math.ceil(number / 2)


def _checks(host: Host, vms: dict) -> dict[tuple, dict[str, float]]:
    """The load since the check before, as a share of each threshold."""
    pcpus, vcpus = len(host.pcpus), math.fsum(vm["vCPUs"] for vm in vms.values())
    columns = [host.column("Physical Cpu", "% Util Time", one) for one in host.pcpus]
    util: Column = [mean(row) for row in zip(*columns, strict=True)]
    found = {}
    for number in range(1, (host.ms[-1] - host.ms[0]) // CHECK_MS + 1):
        end, first = host.ms[0] + number * CHECK_MS, number == 1
        since = [
            one for time, one in zip(host.ms, util, strict=True) if time <= end and (time > end - CHECK_MS or first)
        ]
        shares = {
            "PCPU utilisation, of 50 %": 100 * mean(since) / BUSY_PCT,
            "vCPUs, of 2 x PCPUs": 100 * vcpus / (2 * pcpus),
            "VMs, of PCPUs": 100 * len(vms) / pcpus,
        }
        found |= {(label, end): {"value": one, "value_min": one, "value_max": one} for label, one in shares.items()}
    return found
