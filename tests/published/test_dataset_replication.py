"""The dataset of the study of vSphere Replication: rates from esxtop, and whether the RPO of 15 minutes is met."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import network, replication

study = partial(studied.study, "replication")

VMS, VM_MB, CHANGE_PCT, RPO_MIN = 15, 102_400.0, 5.0, 15.0
NAMES = {"inside the host": "inside", "routed": "routed"}


@cache
def planned(*, evenly: bool = False) -> dict[str, dict[str, object]]:
    """The plan of each design, from the rate that esxtop's network view shows."""
    wanted = study().runs.select(
        "design",
        "host_write_mb_per_s",
        rate_mbit_per_s="tx_mbit_per_s",
        vms=pl.lit(VMS),
        vm_size_mb=pl.lit(VM_MB),
        change_pct_per_day=pl.lit(CHANGE_PCT),
        rpo_min=pl.lit(RPO_MIN),
    )
    rows = replication.plan(wanted, evenly=evenly).collect().rows(named=True)
    return {NAMES[row["design"]]: row for row in rows}


def test_a_day_in_one_window_is_too_much_for_both_designs():
    """The study compares with the whole RPO, and finds the routed design alone at risk; half of it is allowed."""
    assert (planned()["inside"]["fits_rpo"], planned()["routed"]["fits_rpo"]) == (False, False)
    assert planned()["inside"]["headroom_min"] == pytest.approx(-3.9, abs=0.2)
    assert planned()["routed"]["headroom_min"] == pytest.approx(-15.8, abs=0.4)


def test_a_third_of_the_day_in_one_window_is_too_much_for_the_routed_design():
    share = {name: row["rate_mb_per_s"] * 450 / row["window_change_mb"] for name, row in planned().items()}
    assert share == {"inside": pytest.approx(0.66, abs=0.01), "routed": pytest.approx(0.32, abs=0.01)}


def test_spread_over_the_day_both_designs_have_minutes_to_spare():
    """The study puts a whole day's change into one window of 15 minutes."""
    for row in planned(evenly=True).values():
        assert row["fits_rpo"]
        assert row["replication_min"] * 60 < 15


def test_the_appliance_is_the_one_that_sends():
    rec = ex.open(ex.datasets.folder("replication") / "inside.csv.bz2")
    ports = network.summary(network.ports(rec["network_port"])).collect()
    vms = ports.filter(kind="vm").sort("mean_tx_mbits", descending=True)
    assert vms["client"][0] == "vSphere_Replication"
    assert vms["mean_tx_mbits"][0] > 100 * vms["mean_tx_mbits"][1]
