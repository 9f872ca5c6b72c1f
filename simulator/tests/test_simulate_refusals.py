"""What no host can be is refused before anything is simulated, with the place."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

import esxparse_simulator as simulate
from esxparse_simulator.experiment import parse_experiment

if TYPE_CHECKING:
    from pathlib import Path

HOST = {
    "name": "esx.lab.example",
    "sockets": 2,
    "cores_per_socket": 4,
    "threads_per_core": 2,
    "mhz": 2600,
    "turbo_mhz": 3300,
    "all_core_mhz": 2900,
    "p_states_mhz": [2601, 2600],
    "t_states": 4,
    "memory_mb": 65536,
    "kernel_mb": 2048,
    "idle_watts": 90.0,
    "core_watts": 13.0,
    "cap_watts": 500,
}
DEVICE = {
    "name": "naa.1",
    "paths": ["vmhba0:C0:T0:L0"],
    "queue_depth": 32,
    "partitions": 1,
    "read_ms": 0.5,
    "write_ms": 0.4,
    "service_ms": 0.1,
    "mb_per_s": 400.0,
}
VM = {"name": "web-01", "vcpus": 2, "memory_mb": 4096, "node": 0, "switch": "s0", "disks": []}


def tree(**changes: Any) -> dict[str, Any]:
    """A small scenario, with what is said of a table laid over its first row."""
    made: dict[str, Any] = {
        "name": "small",
        "title": "A small host",
        "start": datetime(2026, 3, 11, 9),  # noqa: DTZ001  as TOML without a zone gives it
        "samples": 3,
        "interval": 5.0,
        "seed": 1,
        "host": dict(HOST),
        "adapter": [{"name": "vmhba0", "queue_depth": 256}],
        "device": [dict(DEVICE)],
        "switch": [{"name": "s0", "uplinks": [{"name": "vmnic0", "mbits": 10000}], "vmkernel": ["vmk0"]}],
        "vm": [dict(VM)],
    }
    for name, change in changes.items():
        if isinstance(change, dict) and isinstance(made.get(name), dict):
            made[name] |= change
        elif isinstance(change, dict):
            made[name][0] |= change
        else:
            made[name] = change
    return made


def test_the_small_scenario_is_one() -> None:
    (run,) = parse_experiment(tree()).runs
    assert run.scenario is not None
    assert len(list(simulate.capture(run.scenario))) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"samples": 0}, "samples = 0 cannot be"),
        ({"samples": 3.7}, "samples = 3.7 is not a whole number"),
        ({"samples": "three"}, "samples = 'three' is not a number"),
        ({"samples": math.nan}, "samples = nan cannot be"),
        ({"interval": 0}, "interval = 0 cannot be"),
        ({"interval": -5}, "interval = -5 cannot be"),
        ({"interval": math.inf}, "interval = inf cannot be"),
        ({"interval": True}, "interval = True is not a number"),
        ({"seed": -4}, "seed = -4 cannot be"),
        ({"every": 0}, "scenario: every"),
        ({"every": "x"}, "scenario: every"),
        ({"host": {"mhz": 0}}, "host: mhz = 0 cannot be"),
        ({"host": {"mhz": math.nan}}, "host: mhz = nan cannot be"),
        ({"host": {"sockets": 1.5}}, "host: sockets = 1.5 is not a whole number"),
        ({"host": {"threads_per_core": 3}}, "threads_per_core = 3 cannot be. Give a number above 0, 2 at most"),
        ({"host": {"p_states_mhz": []}}, "p_states_mhz is empty"),
        ({"host": {"p_states_mhz": ["a"]}}, "p_states_mhz = 'a' is not a number"),
        ({"host": {"policy": "fast"}}, "policy = 'fast' is not known. Give one of high performance, balanced"),
        ({"host": {"phase": [{"start": 0, "end": 9, "name": 4}]}}, "host phase: name cannot change with time"),
        ({"device": {"queue_depth": 0}}, "device naa.1: queue_depth = 0 cannot be"),
        ({"device": {"mb_per_s": 0}}, "device naa.1: mb_per_s = 0 cannot be"),
        ({"device": {"read_ms": -1.0}}, "read_ms = -1.0 cannot be"),
        ({"device": {"paths": "vmhba0:C0:T0:L0"}}, "paths = 'vmhba0:C0:T0:L0' is not a list of texts"),
        ({"device": {"paths": [3]}}, "is not a list of texts"),
        ({"vm": {"vcpus": -2}}, "vm web-01: vcpus = -2 cannot be"),
        ({"vm": {"memory_mb": 0}}, "vm web-01: memory_mb = 0 cannot be"),
        ({"vm": {"nodes": [0, 7]}}, r"vm web-01: nodes \[0, 7\] of a host of 2"),
        ({"vm": {"load": {"cpu": math.nan}}}, "vm web-01 load: cpu = nan cannot be"),
        ({"vm": {"load": {"cpu": 900}}}, "cpu = 900 cannot be. Give a number 0 or more, 100 at most"),
        ({"vm": {"load": {"io_bound": 4}}}, "io_bound = 4 cannot be"),
        ({"vm": {"pattern": {"kind": "weekly"}}}, "vm web-01 pattern: kind = 'weekly' is not known"),
        ({"vm": {"pattern": {"kind": "bursty", "period": 0}}}, "period = 0 cannot be"),
        ({"vm": {"phase": [{"start": 9, "end": 2}]}}, "it starts at 9 s and ends at 2 s"),
        ({"vm": {"phase": [{"start": 0, "end": 2, "cpu": -3}]}}, "vm web-01 phase: cpu = -3"),
        ({"vm": [VM, VM]}, "vm web-01: the name is there 2 times"),
        ({"vm": {"name": "a\nb"}}, "a line end in it"),
        ({"device": [DEVICE, DEVICE]}, "device naa.1: the name is there 2 times"),
        ({"clock_jump": [{"second": 5, "by": math.nan}]}, "clock_jump: by = nan"),
        ({"run": [{"x": []}]}, "there is no run"),
        ({"file": [{"tool": "esxtop"}]}, r"a \[\[file\]\] has no name"),
    ],
)
def test_what_no_host_can_be_is_refused_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(simulate.ScenarioError, match=message) as caught:
        parse_experiment(tree(**change))
    assert "\n" not in str(caught.value)


@pytest.mark.search
def test_every_scenario_that_ships_is_within_the_limits(busy_host_file: Path) -> None:
    for scenario in simulate.scenario_names():
        for severity in (0.0, 0.5, 1.0):
            assert simulate.load_experiment(scenario, severity=severity).runs
    # Those of the datasets have no severity.
    for scenario in busy_host_file.parents[1].glob("*/scenario.toml"):
        assert simulate.load_experiment(scenario).runs


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([{"tool": "esxtop", "name": "same.csv"}], "same.csv: 2 captures would be written to it"),
        ([{"tool": "esxtop", "name": "{x}"}, {"tool": "fio", "name": "{x}"}], "file 1: esxtop and fio"),
    ],
)
def test_files_that_would_be_written_over_each_other_are_refused(
    tmp_path: Path, files: list[dict[str, Any]], message: str
) -> None:
    experiment = parse_experiment(tree(run=[{"x": [1, 2]}], file=files))
    with pytest.raises(simulate.ScenarioError, match=message):
        simulate.record(experiment, tmp_path / "out")
    assert not (tmp_path / "out").exists()
