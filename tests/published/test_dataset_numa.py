"""The dataset of NUMA scheduling: what guests saw, what fits a node, where memory is by release, and the advice."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import inventory, memory, numa

study = partial(studied.study, "numa")
runs = partial(studied.runs, "numa")

FOLDER = ex.datasets.folder("numa")
RELEASES = ("4.0", "4.1", "5.0")


def of(part: str, **labels: object) -> dict[str, object]:
    return runs().filter(part=part, **labels).row(0, named=True)


def seen(vcpus: int) -> pl.DataFrame:
    return ex.open(FOLDER / f"vnumademo-{vcpus}.numactl.txt")["nodes"].collect()


@cache
def locality(capture: str) -> dict[str, dict[str, float]]:
    rec = ex.open(FOLDER / f"{capture}.csv.bz2")
    rows = numa.locality(memory.vms(rec["group_memory"], inventory.vms(rec["vcpu"]))).collect()
    return {row["vm"]: row for row in rows.to_dicts()}


def test_guests_see_what_their_configuration_says_they_will():
    for vcpus in (4, 12):
        given = of("given", vcpus=vcpus)
        assert given["vmx_vnuma_nodes"] == of("seen", vcpus=vcpus)["numa_nodes"] == seen(vcpus).height
    assert of("seen", vcpus=4)["cores"] == 4


@pytest.mark.parametrize("release", RELEASES)
def test_small_vms_have_all_their_memory_at_home_under_every_release(release):
    found = locality(f"wide-{release}")
    assert [found[name]["min_local_pct"] for name in ("vm-a", "vm-b", "vm-c")] == [100.0] * 3
    assert found["wide-d"]["local_pct"] == pytest.approx(50.0 if release == "4.0" else 100.0, abs=0.1)


def test_more_memory_than_a_node_has_is_remote():
    found = locality("large-5.0")
    assert found["large-e"]["local_pct"] == pytest.approx(77.5, abs=1.0)
    assert found["large-e"]["below_samples"] == found["large-e"]["samples"]
    assert found["vm-a"]["min_local_pct"] == 100.0
    large = of("large")
    assert (large["vmx_fits_node"], large["vmx_wide_vms"], large["vmx_node_headroom_mib"]) == (False, 0, -12294.0)
    assert large["node_memory_mib"] == 32762.0


def test_what_the_capture_betrays_of_its_release_is_not_used():
    assert runs().filter(pl.col("part") == "wide")["esxi_release"].to_list() == list(RELEASES)
    assert ex.open(FOLDER / "wide-5.0.csv.bz2").meta["release"] == "6.0 or 5.x"
