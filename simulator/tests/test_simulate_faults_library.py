"""The fault library as a whole: healthy hosts that are, truths that can be scored, and a document that tells of all."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from fault_hosts import FAULTS, HEALTHY, STANDARD, judged, said, seen, shown, truths

import esxparse_simulator as simulate
from esxparse import metrics
from esxparse_simulator.experiment import load_experiment
from esxparse_simulator.host import Phase

DOCUMENT = (Path(__file__).parents[2] / "docs" / "faults.md").read_text(encoding="utf-8")


def release_of(name: str) -> str:
    return str(said(name)["file"][0]["release"])


@pytest.mark.search
@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_host_is_busy_and_passes_every_threshold_of_the_standard_profile(name: str) -> None:
    found = judged(name, 1.0, release_of(name), whole=True)
    assert set(found["id"]) == set(STANDARD)
    assert found.filter(pl.col("bad") > 0).is_empty(), found.filter(pl.col("bad") > 0)
    capture = seen(name, whole=True)
    assert 2000 <= capture.columns <= 6000
    util = (
        metrics.host_cpu.pcpu(capture.recording["physical_cpu"]).filter(pl.col("pcpu").is_null()).collect()["util_pct"]
    )
    busy = util.filter(util > 20.0)  # the jobs of the batch host are done after two thirds
    assert len(util) == 121
    assert len(busy) >= 75
    assert 60.0 <= float(busy.mean()) <= 85.0  # type: ignore[arg-type]
    assert ready_is_near(found)


def ready_is_near(found: pl.DataFrame) -> bool:
    """Half of the way to the warning or more, where CPU is what the host has least of."""
    return bool(found.filter(id="cpu.ready")["value"].max() >= STANDARD["cpu.ready"].warn / 2)  # type: ignore[operator]


@pytest.mark.search
@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_host_is_well_by_what_the_profile_does_not_judge(name: str) -> None:
    recording = seen(name, 1.0, release_of(name), whole=True).recording
    group = metrics.scheduling.per_vcpu(recording["group_cpu"], metrics.inventory.vms(recording["vcpu"])).collect()
    assert group["system_pct"].max() < 20.0  # type: ignore[operator]
    ports = metrics.network.ports(recording["network_port"]).filter(kind="uplink")
    speed = recording["network_port"].select("time", "port_id", "link_speed_mb_per_s")
    loaded = ports.join(speed, on=["time", "port_id"]).filter(
        pl.max_horizontal("tx_mbits", "rx_mbits") > 0.7 * pl.col("link_speed_mb_per_s")
    )
    assert loaded.collect().is_empty()
    devices = recording["physical_disk_scsi_device"].collect()
    assert devices["commands_per_sec"].sum() > 121 * 2000.0
    for trouble in ("conflicts_per_sec", "failed_commands_per_sec", "reserves_per_sec"):
        assert trouble not in devices.columns or devices[trouble].sum() == 0.0
    memory = metrics.memory.host(recording["memory"]).collect()
    assert memory["state"].sum() == 0.0
    if "power" in recording:
        power = metrics.power.host(recording["power"]).collect()
        assert (power["watts"] < 0.95 * power["cap_watts"]).all()


def test_healthy_hosts_are_of_several_sizes_releases_and_patterns() -> None:
    hosts = [load_experiment(name).runs[0] for name in HEALTHY]
    assert {run.scenario.host.sockets for run in hosts if run.scenario} == {1, 2, 4}
    assert len({run.files[0].options["release"] for run in hosts}) == len(HEALTHY) >= 5
    kinds = {vm.pattern.kind for run in hosts if run.scenario for vm in run.scenario.vms}
    assert kinds == {"steady", "diurnal", "bursty", "batch"}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_says_what_it_is(name: str) -> None:
    text = said(name)
    assert text["base"] in HEALTHY
    assert text["name"] == name
    mild, severe = (load_experiment(name, severity=severity) for severity in (0.0, 1.0))
    assert mild.runs[0].scenario != severe.runs[0].scenario, "no knob"
    known = set(re.findall(r"`([a-z]+\.[a-z_]+)`", DOCUMENT))
    for truth in truths(name):
        assert set(truth) <= {"trouble", "where", "start", "end", "shows", "not", "also"}
        assert {truth["trouble"], *truth["not"], *truth.get("also", [])} <= known
        assert truth["trouble"] not in truth["not"]
        assert 0 <= truth["start"] < truth["end"] <= 600
        assert not set(truth["not"]) & set(truth.get("also", []))
        for counter in truth["shows"]:
            assert shown(name, 1.0, truth["where"], counter), (truth["where"], counter)


def test_the_document_has_a_row_for_every_fault_with_its_troubles_and_base() -> None:
    rows = {row.split("|")[1].strip(" `"): row for row in DOCUMENT.splitlines() if row.startswith("| `")}
    for name in FAULTS:
        assert said(name)["base"] in rows[name]
        for truth in truths(name):
            assert f"`{truth['trouble']}`" in rows[name]
            for other in truth["not"]:
                assert f"`{other}`" in rows[name], (name, other)


def test_phases_of_a_network_adapter_change_its_link_and_nothing_after_them() -> None:
    scenario = load_experiment("link-flapping", samples=13, interval=25.0).runs[0].scenario
    assert scenario
    assert scenario.switches[0].uplinks[0].phases[0] == Phase(200.0, 245.0, {"up": 0.0})
    moved = [now.ports.tx[1] for now in simulate.capture(scenario)]
    assert moved[8] == moved[9] == 0.0
    assert min(moved[:8]) > 0.0
