"""Hosts of any size, for benchmarks and for trying what reads captures: many VMs of four kinds, all of them healthy."""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from esxparse_simulator.esxtop.columns import blocks
from esxparse_simulator.esxtop.groups import groups_of
from esxparse_simulator.esxtop.releases import release_of
from esxparse_simulator.experiment import Experiment, FileSpec, Run
from esxparse_simulator.host import Scenario
from esxparse_simulator.limits import check_number, need
from esxparse_simulator.model.layout import Layout
from esxparse_simulator.scenario import parse_scenario

_VMS_PER_LUN = 10
_VMS_PER_UPLINK = 40
_FEWEST_COLUMNS = 2_000


def large_host(columns: int = 100_000, *, seed: int = 1, samples: int = 60, interval: float = 5.0) -> Scenario:
    """A host whose capture of all counters has about `columns` columns (at least those, at most one VM more).

    Raises:
        ScenarioError: Fewer columns than a host without VMs has; a seed, samples or an interval that cannot be.
    """
    for name, value in (("seed", seed), ("samples", samples), ("interval", interval)):
        check_number(name, value, "large host")
    few = f"{columns} columns are too few for a host. Ask for {_FEWEST_COLUMNS:,} or more."
    need(columns >= _FEWEST_COLUMNS, few)

    def host(vms: int) -> Scenario:
        return _host(vms, {"seed": seed, "samples": samples, "interval": interval})

    most = 2
    while column_count(host(most)) < columns:
        most *= 2
    return host(bisect_left(range(most), columns, lo=max(2, most // 2), key=lambda vms: column_count(host(vms))))


def large_experiment(columns: int, *, seed: int = 1, samples: int = 60, interval: float = 5.0) -> Experiment:
    """One capture of `large_host`, `large-host.csv`."""
    scenario = large_host(columns, seed=seed, samples=samples, interval=interval)
    file = FileSpec("esxtop", "large-host.csv", {})
    run = Run({}, scenario.start, scenario.seed, scenario, (file,), ())
    return Experiment("large-host", scenario.title, (run,))


def column_count(scenario: Scenario, *, release: str = "6.7", all_counters: bool = True) -> int:
    """How many columns a capture of the scenario has, the time among them."""
    layout, how = Layout(scenario), release_of(release)
    made = blocks(layout, how, groups_of(layout, how), all_counters=all_counters)
    return 1 + sum(len(block.counters) for block in made)


def _host(count: int, how: dict[str, Any]) -> Scenario:
    tree = tomllib.loads((files("esxparse_simulator") / "large.toml").read_text(encoding="utf-8"))
    lun, kinds, cores = tree.pop("lun"), tree.pop("kind"), max(4, -(-count // 8))
    luns = [f"naa.6000097000012007000153303{n:07x}" for n in range(-(-count // _VMS_PER_LUN))]
    tree["device"] += [
        {**lun, "name": name, "paths": [f"vmhba1:C0:T0:L{n}", f"vmhba2:C0:T0:L{n}"]} for n, name in enumerate(luns, 1)
    ]
    tree["vm"] = list(_vms(count, kinds, luns))
    uplinks = max(2, -(-count // (2 * _VMS_PER_UPLINK)))
    tree["switch"] = [
        {
            "name": f"vSwitch{n}",
            "uplinks": [{"name": f"vmnic{uplinks * n + one}", "mbits": 25_000} for one in range(uplinks)],
            "vmkernel": [f"vmk{n}"],
        }
        for n in range(2)
    ]
    tree["host"] |= {
        "cores_per_socket": cores,
        "memory_mb": int(1.25 * sum(vm["memory_mb"] for vm in tree["vm"])) + 16_384,
        "idle_watts": 12.0 * 2 * cores,
        "cap_watts": 60 * 2 * cores,
    }
    return parse_scenario({"name": f"large-{count}", "title": f"{count} virtual machines of four kinds", **how, **tree})


def _vms(count: int, kinds: list[dict[str, Any]], luns: list[str]) -> Iterator[dict[str, Any]]:
    for number in range(count):
        kind = kinds[number % len(kinds)]
        part = 1.0 / kind["disks"]
        yield kind | {
            "name": f"{kind['name']}-{number:04}",
            # by fours, so that both nodes get all kinds
            "node": number // len(kinds) % 2,
            "switch": f"vSwitch{number % 2}",
            "disks": [
                {"slot": f"scsi0:{n}", "target": luns[(number + n) % len(luns)], "reads": part, "writes": part}
                for n in range(kind["disks"])
            ],
            "pattern": kind["pattern"] | {"offset": 37.0 * number},
        }
