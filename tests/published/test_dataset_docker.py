"""The dataset of Docker in a vSphere VM: ratios to native, their range over the runs, and what is only noise."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
import studied

from esxparse.metrics import line_rate

if TYPE_CHECKING:
    import polars as pl

KERNELS = ("copy", "scale", "add", "triad")
PROFILES = ("randread", "randwrite", "mixed")


@cache
def study():
    return studied.study("docker")


@cache
def results() -> pl.DataFrame:
    """Every figure of a benchmark, better ones above 1: `performance` is to native."""
    return study().virtual_to_native().collect()


def performance(test: str, platform: str, metric: str) -> dict[str, object]:
    return results().filter(test=test, platform=platform, metric=metric).row(0, named=True)


@cache
def fio(profile: str, platform: str) -> dict[str, object]:
    rows = study().compare("iops").filter(profile=profile, platform=platform)
    return rows.collect().row(0, named=True)


def throughput_gbps(test: str) -> list[float]:
    return (results().filter(test=test, metric="throughput")["mean"] / 1000).to_list()


def test_nothing_is_missing_and_nothing_is_said():
    assert study().notes == ()
    assert study().runs.collect()["gap"].null_count() == 68


def test_the_five_runs_of_redis_give_a_range_around_the_mean():
    for row in results().filter(test="SET", metric="throughput").rows(named=True):
        assert row["runs"] == 5
        assert row["performance_min"] < row["performance"] < row["performance_max"]
        assert row["performance_max"] - row["performance_min"] < 0.05


@pytest.mark.parametrize(
    ("test", "platform", "metric", "verdict"),
    [
        ("n 45000", "vm", "performance", "no difference shown"),
        ("n 65000", "vm", "performance", "worse"),
        ("copy", "vm", "bandwidth", "worse"),
        ("TCP_STREAM", "vm-docker", "throughput", "no difference shown"),
        ("SET", "vm-docker-hostnet", "throughput", "worse"),
        ("SET", "native-docker", "throughput", "worse"),
    ],
)
def test_what_is_a_difference_and_what_is_none(test, platform, metric, verdict):
    assert performance(test, platform, metric)["verdict"] == verdict


def test_docker_in_a_vm_costs_nothing_on_top_of_the_vm():
    for test, metric in (("n 65000", "performance"), *((kernel, "bandwidth") for kernel in KERNELS)):
        both = [performance(test, platform, metric)["performance"] for platform in ("vm", "vm-docker")]
        assert both[1] == pytest.approx(both[0], rel=0.01)


def test_random_reads_are_the_one_profile_that_is_slower_in_a_vm():
    verdicts = {profile: fio(profile, "vm")["verdict"] for profile in PROFILES}
    assert verdicts == {"randread": "lower", "randwrite": "no difference shown", "mixed": "no difference shown"}


def test_8_jobs_at_a_depth_of_16_hold_by_littles_law():
    runs = study().runs.filter(profile="randread").collect()
    assert runs["outstanding_by_law"].to_list() == pytest.approx([8 * 16] * 12, rel=0.02)


def test_the_bridge_is_what_costs_docker_its_throughput_not_the_vm():
    at = {row["platform"]: row["performance"] for row in results().filter(test="SET", metric="throughput").to_dicts()}
    assert at["native-docker"] < 0.8 * at["native-docker-hostnet"]
    for bridged, plain in (
        ("vm-docker", "native-docker"),
        ("vm", "native"),
        ("vm-docker-hostnet", "native-docker-hostnet"),
    ):
        assert at[bridged] / at[plain] == pytest.approx(0.976, abs=0.01)


def test_the_throughput_of_a_10_gbe_port_is_what_framing_leaves():
    with_timestamps = line_rate.available_mbit_per_s(10_000, tcp_option_bytes=12) / 1000
    assert with_timestamps == pytest.approx(9.41, abs=0.01)
    assert max(throughput_gbps("TCP_STREAM")) < with_timestamps
