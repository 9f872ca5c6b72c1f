"""The dataset of the study of power policies: its published figures, and what saving costs in ready time."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import inventory, power, power_cost, scheduling

study = partial(studied.study, "power")

HOSTS, EUR_PER_KWH, CLIMATE_FACTOR, DESKTOPS = 20, 0.25, 1.5, 1000
POLICIES = ("dynamic", "static-high")


@cache
def compared() -> dict[str, dict]:
    """The rows of the comparison by policy: means of the repetitions, costs of all hosts."""
    means = study().runs.group_by("policy", maintain_order=True).agg(pl.col("watts", "ready_pct", "costop_pct").mean())
    facts = {"hosts": HOSTS, "price_per_kwh": EUR_PER_KWH, "climate_factor": CLIMATE_FACTOR, "units": DESKTOPS}
    rows = means.with_columns(pl.lit(value).alias(name) for name, value in facts.items())
    found = power_cost.compare_policies(rows, baseline="static-high", interval_s=20.0).collect()
    return {row["policy"]: row for row in found.to_dicts()}


@cache
def ready_by_sample(policy: str) -> pl.DataFrame:
    """Mean ready time per vCPU of all desktops, sample by sample."""
    rec = ex.open(ex.datasets.folder("power") / f"{policy}-1.csv.bz2")
    per_vm = scheduling.per_vcpu(rec["group_cpu"], inventory.vms(rec["vcpu"]), rec["vcpu"])
    return per_vm.group_by("time").agg(pl.col("ready_pct").mean()).sort("time").collect()


def test_saving_makes_vcpus_wait_longer_and_three_repetitions_show_it():
    row = compared()["dynamic"]
    assert row["saved_pct"] == pytest.approx(26.1, abs=0.5)
    assert row["saved_cost_per_year"] == pytest.approx(15111 - 11169, rel=0.02)
    assert row["ready_penalty_ms"] == pytest.approx(200, rel=0.02)
    for column, verdict in (("watts", "lower"), ("ready_pct", "higher")):
        assert study().compare(column).collect().filter(policy="dynamic")["verdict"].item() == verdict


@pytest.mark.parametrize("policy", POLICIES)
def test_means_meet_the_target_that_single_samples_do_not(policy):
    samples = ready_by_sample(policy)["ready_pct"]
    assert samples.mean() < power_cost.READY_TARGET_PCT < samples.max()
    assert samples.median() < 0.5


def test_both_policies_meet_the_targets_as_they_are_printed():
    """Spells of contention cause some co-stop; the study's target of 0 % is in whole percent."""
    assert [row["meets_targets"] for row in compared().values()] == [True, True]
    assert all(0 < row["costop_pct"] < 0.5 for row in compared().values())


def test_the_meter_and_esxtop_saw_the_same_power():
    rec = ex.open(ex.datasets.folder("power") / "static-high-1.csv.bz2")
    watts = power.host(rec["power"]).select(pl.col("watts").mean()).collect().item()
    assert watts == pytest.approx(study().runs.filter(policy="static-high").collect()["watts"][0], rel=0.02)
