"""The dataset of NUMA scheduling: what guests saw, what fits a node, where memory is by release, and the advice."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import inventory, memory, numa

FOLDER = ex.datasets.folder("numa")
RELEASES = ("4.0", "4.1", "5.0")


@cache
def study():
    return studied.study("numa")


@cache
def runs() -> pl.DataFrame:
    return study().runs.collect()


def of(part: str, **labels: object) -> dict[str, object]:
    return runs().filter(part=part, **labels).row(0, named=True)


def seen(vcpus: int) -> pl.DataFrame:
    return ex.open(FOLDER / f"vnumademo-{vcpus}.numactl.txt")["nodes"].collect()


@cache
def locality(capture: str) -> dict[str, dict[str, float]]:
    rec = ex.open(FOLDER / f"{capture}.csv.bz2")
    rows = numa.locality(memory.vms(rec["group_memory"], inventory.vms(rec["vcpu"]))).collect()
    return {row["vm"]: row for row in rows.to_dicts()}


def test_no_run_has_a_gap_and_the_notes_are_the_advice():
    assert runs().height == 10
    assert runs()["gap"].null_count() == 10
    assert len(study().notes) == 5
    said = [str(note) for note in study().notes]
    assert "wide-d: give it at most as many vCPUs as a node has cores: it has no home node" in said[0]
    assert all("wide-d: it is split over 2 nodes that its guest does not see" in one for one in said[1:3])
    assert "large-e: give it less memory than a node has" in said[3]
    assert "vcpus=8): vnumademo: it is split over 2 nodes that its guest does not see" in said[4]


def test_guests_see_what_their_configuration_says_they_will():
    for vcpus in (4, 12):
        given = of("given", vcpus=vcpus)
        assert given["vmx_vnuma_nodes"] == of("seen", vcpus=vcpus)["numa_nodes"] == seen(vcpus).height
    assert of("seen", vcpus=4)["cores"] == 4


def test_the_articles_own_lines_of_a_vmx_show_no_nodes():
    settings = dict(ex.open(FOLDER / "vnumademo-8.vmx")["settings"].select("key", "value").collect().iter_rows())
    assert (settings["numvcpus"], settings["cpuid.coresPerSocket"]) == ("8", "4")
    given = of("given", vcpus=8)
    assert (given["vmx_wide_vms"], given["vmx_nodes_needed"], given["vmx_vnuma_vms"]) == (1, 2, 0)


def test_the_setting_that_lowers_the_threshold_rests_on_the_article():
    assert of("given", vcpus=6)["vmx_vnuma_nodes"] == 3
    assert "the article's word" in numa.vnuma(6, 8, "5.0", cores_per_node=6, max_per_virtual_node=2).why


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


def test_remote_memory_takes_more_cpu_time_for_the_same_work():
    host = {release: of("wide", release=release)["host_util_pct"] for release in RELEASES}
    assert host["4.0"] > 1.03 * host["4.1"]
    assert host["5.0"] == pytest.approx(host["4.1"], rel=0.03)


def test_what_the_capture_betrays_of_its_release_is_not_used():
    assert runs().filter(pl.col("part") == "wide")["esxi_release"].to_list() == list(RELEASES)
    assert ex.open(FOLDER / "wide-5.0.csv.bz2").meta["release"] == "6.0 or 5.x"
