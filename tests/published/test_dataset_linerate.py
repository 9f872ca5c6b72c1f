"""The dataset of the study of line rate on eight ports of 10 GbE: its published figures, and what its runs show."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import line_rate, network

study = partial(studied.study, "linerate")
runs = partial(studied.runs, "linerate")

STAMPED = line_rate.TIMESTAMP_BYTES
WAYS = {"send": "tx", "receive": "rx"}


@cache
def ports() -> pl.DataFrame:
    """The ports under test of all runs, means of the measured span, against their lines."""
    return pl.concat(_ports(row) for row in runs().iter_rows(named=True))


def _ports(run: dict) -> pl.DataFrame:
    rec = ex.open(ex.datasets.folder("linerate") / f"{run['way']}-{run['nics']}.csv.bz2")
    traffic = network.ports(rec["network_port"]).filter(
        pl.col("kind") == "uplink", pl.col("time") > run["start"], pl.col("time") <= run["end"]
    )
    counted = ("tx_mbits", "tx_packets", "rx_mbits", "rx_packets")
    means = traffic.group_by("client").agg(pl.col(counted).mean())
    speeds = network.link_speeds(rec["network_port"]).select("client", "link_mbits")
    joined = means.join(speeds, on="client").filter(pl.col("tx_packets") > 1000)
    against = line_rate.against_line(joined, 1500, STAMPED).collect()
    return against.with_columns(way=pl.lit(run["way"]), nics=pl.lit(run["nics"]))


@cache
def fits() -> dict[str, dict]:
    """CPU by number of ports, for each way."""
    return {row["way"]: row for row in line_rate.cpu_by_nics(runs().lazy(), by=("way",)).collect().to_dicts()}


@pytest.mark.search
@pytest.mark.parametrize(("way", "least"), [("send", 99.5), ("receive", 95)])
def test_every_port_is_at_its_line_however_many_there_are(way, least):
    mine = ports().filter(way=way)
    assert mine.group_by("nics").len().sort("nics")["len"].to_list() == list(range(1, 9))
    of_line = mine[f"{WAYS[way]}_of_available_pct"]
    assert least < of_line.min() <= of_line.max() < 100.5


@pytest.mark.parametrize("way", WAYS)
def test_cpu_grows_by_the_same_for_each_port_and_ready_time_does_not(way):
    fit = fits()[way]
    assert fit["points"] == 8
    assert fit["largest_deviation_pct"] < 0.3
    assert fit["slope_low_pct_per_nic"] > 0.9 * fit["slope_pct_per_nic"]
    assert abs(fit["intercept_pct"]) < 0.3
    ready = runs().filter(way=way)["ready_pct"]
    # Of vCPUs; the worlds of their network adapters wait for 0.6 and 1.1 %, which stays in the sums of groups.
    assert ready.max() < 0.03


def test_receiving_costs_more_than_sending():
    assert fits()["receive"]["slope_low_pct_per_nic"] > 1.5 * fits()["send"]["slope_high_pct_per_nic"]


def test_tso_sends_a_sixth_of_the_packets_that_are_on_the_wire():
    mine = ports().filter(way="send")
    assert (mine["tx_wire_packets_per_s"] / mine["tx_packets"]).unique().to_list() == [7]
    # what the guests get of a port is a third of what its NIC receives, and they acknowledge every other packet
    here = studied.here("linerate")
    assert here["receive_rx_packets"] / here["receive_guest_packets"] == pytest.approx(3.38, rel=0.02)
    assert here["receive_guest_packets"] / here["receive_tx_packets"] == pytest.approx(2, rel=0.02)
