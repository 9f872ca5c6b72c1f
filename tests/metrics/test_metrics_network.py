"""Ports by kind, and drops weighted by packets."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esxparse.metrics import network

PORT_COLUMNS = [
    "time",
    "switch",
    "port_id",
    "client",
    "kind",
    "tx_mbits",
    "rx_mbits",
    "tx_packets",
    "rx_packets",
    "drop_tx_pct",
    "drop_rx_pct",
    "tx_dropped_per_s",
    "rx_dropped_per_s",
]


def one_port(passed: list[float], dropped_pct: list[float]) -> pl.LazyFrame:
    count = len(passed)
    return pl.LazyFrame(
        {
            "time": range(count),
            "switch": ["vSwitch0"] * count,
            "port_id": [33554449] * count,
            "world_id": [444768] * count,
            "client": ["styx"] * count,
            "packets_received_per_sec": passed,
            "pct_received_packets_dropped": dropped_pct,
        }
    )


def test_every_kind_of_port_of_a_real_switch() -> None:
    table = pl.LazyFrame(
        {
            "client": ["Management", "vmnic0", "Shadow of vmnic0", "vmk0", "styx", "vmnic1", "vmk", "vmnic"],
            "world_id": [None, None, None, None, 444768, 444903, None, None],
        }
    )
    assert table.select(network.kind()).collect().to_series().to_list() == [
        "other",
        "uplink",
        "other",
        "vmkernel",
        "vm",
        "vm",  # a VM called vmnic1
        "other",
        "other",
    ]


def test_ports_names_the_counters_and_counts_drops() -> None:
    got = network.ports(one_port([990.0, 1.0, 0.0, 0.0], [1.0, 50.0, 0.0, 100.0])).collect()
    assert got.columns == PORT_COLUMNS
    # 990 x 1 / 99 = 10; 1 x 50 / 50 = 1; nothing; unknown
    assert got["rx_dropped_per_s"].to_list() == [10.0, 1.0, 0.0, None]
    assert got["kind"].unique().to_list() == ["vm"]
    assert got["tx_mbits"].null_count() == 4


def test_one_packet_of_two_is_no_peak() -> None:
    got = network.summary(network.ports(one_port([999.0, 1.0], [0.0, 50.0]))).collect().row(0, named=True)
    # 1 dropped of 999 + 1 + 1 = 1001, where the plain mean of the percentages would say 25
    assert got["drop_rx_pct"] == pytest.approx(100 / 1001)
    assert got["max_drop_rx_pct"] == 0.0
    assert got["rx_packets"] == 500.0
    assert got["rx_dropped_per_s"] == 0.5
    assert (got["samples"], got["kind"]) == (2, "vm")


def test_the_packet_floor_is_the_callers_to_choose() -> None:
    ports = network.ports(one_port([999.0, 1.0], [0.0, 50.0]))
    assert network.summary(ports, packet_floor=2.0).collect()["max_drop_rx_pct"].item() == 50.0
    assert network.summary(ports, packet_floor=1e6).collect()["max_drop_rx_pct"].item() is None


def test_a_port_that_lets_nothing_through_does_not_go_unseen() -> None:
    got = network.summary(network.ports(one_port([0.0, 0.0], [100.0, 100.0]))).collect().row(0, named=True)
    assert got["all_dropped_rx_samples"] == 2
    assert got["drop_rx_pct"] is None
    assert got["max_drop_rx_pct"] is None
    assert network.summary(network.ports(one_port([0.0], [100.0])), packet_floor=0.0).collect()[
        "max_drop_rx_pct"
    ].to_list() == [100.0]


def test_a_silent_port_has_no_drop_percentage() -> None:
    got = network.summary(network.ports(one_port([0.0, 0.0], [0.0, 0.0]))).collect().row(0, named=True)
    assert (got["drop_rx_pct"], got["max_drop_rx_pct"], got["all_dropped_rx_samples"]) == (None, None, 0)
    assert got["drop_tx_pct"] is None


def test_summary_keeps_ports_apart_and_sorted() -> None:
    table = pl.LazyFrame(
        {
            "time": [0] * 4,
            "switch": ["vSwitch0", "internal", "internal", "vSwitch0"],
            "port_id": [33554449, 50331696, 50331649, 33554434],
            "world_id": [444768, 444768, None, None],
            "client": ["styx", "styx", "Management", "vmnic0"],
            "mbits_transmitted_per_sec": [2.0, 3.0, 0.0, 2.0],
        }
    )
    got = network.summary(network.ports(table)).collect()
    assert got.select("switch", "client", "kind", "mean_tx_mbits").rows() == [
        ("internal", "Management", "other", 0.0),
        ("internal", "styx", "vm", 3 * 1.048576),
        ("vSwitch0", "vmnic0", "uplink", 2 * 1.048576),
        ("vSwitch0", "styx", "vm", 2 * 1.048576),
    ]


@given(
    samples=st.lists(
        st.tuples(st.integers(min_value=1, max_value=10_000), st.integers(min_value=0, max_value=10_000)),
        min_size=1,
        max_size=20,
    )
)
def test_weighting_equals_counting_packets(samples: list[tuple[int, int]]) -> None:
    passed = [float(ok) for ok, _ in samples]
    pct = [100 * lost / (ok + lost) for ok, lost in samples]
    got = network.summary(network.ports(one_port(passed, pct))).collect()["drop_rx_pct"].item()
    lost = sum(lost for _, lost in samples)
    assert got == pytest.approx(100 * lost / (sum(ok for ok, _ in samples) + lost), abs=1e-9)
