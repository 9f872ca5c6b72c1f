"""The report on sizes of VMs and dense mode, cell by cell."""

from __future__ import annotations

import polars as pl
import pytest
from cells import capture
from templated import shown

import esxparse as ex
from esxparse.charts import capacity
from esxparse.reports.pick import picked

SAMPLES = 40


def host(folder, vms, *, groups=True):
    """Two PCPUs at 80 %, and VMs of four vCPUs that each use 5 % of a core."""
    cells = {("Physical Cpu", str(pcpu), "% Util Time"): 80.0 for pcpu in (0, 1)}
    for number in range(vms):
        name = f"{1000 + number}:vm{number}"
        if groups:
            cells["Group Cpu", name, "% Used"] = 20.0
        for vcpu in range(4):
            world = f"{name}:{5000 + 10 * number + vcpu}:vmx-vcpu-{vcpu}:vm{number}"
            cells |= {("Vcpu", world, counter): 0.0 for counter in ("% Ready", "% CoStop")}
            cells["Vcpu", world, "% Run"] = 5.0
    return capture(folder, {key: [value] * SAMPLES for key, value in cells.items()})


def run(path, *sections, **more):
    return shown("capacity", "sizing.summary", *sections, capture=str(path), **more)


def words(page):
    return " ".join(page.text.split())


def test_a_full_host_is_one_for_dense_mode_and_its_vms_are_too_large(tmp_path):
    page = run(host(tmp_path, 3), "## Sizes of VMs", "## Dense mode", latency_sensitive="no")
    assert "Sizes of VMs: 3 of 3 VMs could do with fewer vCPUs (6 less)" in words(page)
    assert "Dense mode: would come into effect, but whether it suits the workload is not known" in words(page)
    assert "When all thresholds held" in words(page)
    assert "VMs >= PCPUs yes" in words(page)
    assert len(page.charts) == 2


def test_it_is_written_only_if_it_is_asked_for():
    assert picked([ex.datasets_dir() / "busy-host" / "busy-host.csv"]) == "host_health"


def test_what_is_not_known_is_said_to_be_unknown(tmp_path):
    found = words(run(host(tmp_path, 1), "## Dense mode"))
    assert "latency-sensitive VMs unknown" in found
    assert "little or no network traffic unknown" in found
    assert "VMs >= PCPUs no" in found


def test_a_capture_without_groups_still_has_sizes(tmp_path):
    page = run(host(tmp_path, 1, groups=False), "## Sizes of VMs", "## Dense mode")
    assert "Sizes of VMs: 1 of 1 VM" in words(page)
    assert "has no table group_cpu" in words(page)
    assert len(page.charts) == 1


@pytest.mark.parametrize("name", ["vcpus", "wanted_p99"])
def test_without_vcpus_there_is_no_chart(name):
    frame = ex.right_size(ex.datasets_dir() / "busy-host" / "busy-host.csv").frame
    assert capacity.sizes(frame) is not None
    assert capacity.sizes(frame.with_columns(pl.lit(None, frame.schema[name]).alias(name))) is None
