"""Framing, packets and the line through CPU by NICs, against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from esxparse.errors import EsxparseError
from esxparse.metrics import line_rate

ONE_WAY = ["tx_packet_bytes", "tx_wire_packets_per_s", "tx_data_mbit_per_s", "tx_of_available_pct"]


@pytest.mark.parametrize(
    ("mtu", "options", "share"),
    [
        (1500, 0, 1460 / 1538),
        (1500, 12, 1448 / 1538),
        (9000, 0, 8960 / 9038),
        (9000, 12, 8948 / 9038),
    ],
)
def test_share_of_the_line_by_mtu(mtu, options, share):
    assert line_rate.payload_share(mtu, options) == pytest.approx(share)
    assert line_rate.available_mbit_per_s(1000, mtu, options) == pytest.approx(1000 * share)


@given(mtu=st.integers(100, 65_535), more=st.integers(1, 1000), options=st.integers(0, 40))
def test_larger_packets_and_fewer_options_leave_more(mtu, more, options):
    share = line_rate.payload_share(mtu, options)
    assert 0 < share < 1
    assert line_rate.payload_share(mtu + more, options) > share
    assert line_rate.payload_share(mtu, options) <= line_rate.payload_share(mtu)


@given(mbits=st.floats(1, 1e6), payload=st.floats(1, 65_535))
def test_packets_and_their_size_are_inverse(mbits, payload):
    packets = line_rate.packets_per_s(mbits, payload)
    assert line_rate.packet_bytes(mbits, packets) == pytest.approx(payload)


@pytest.mark.parametrize(("mtu", "options"), [(40, 0), (50, 12), (0, 0), (1500, -1)])
def test_a_packet_without_data_is_refused(mtu, options):
    with pytest.raises(EsxparseError, match="carries no data"):
        line_rate.payload_share(mtu, options)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf])
def test_zero_lines_and_packets_are_refused(bad):
    with pytest.raises(EsxparseError, match="speed of the line"):
        line_rate.available_mbit_per_s(bad)
    with pytest.raises(EsxparseError, match="packets per second"):
        line_rate.packet_bytes(100, bad)
    with pytest.raises(EsxparseError, match="data in a packet"):
        line_rate.packets_per_s(100, bad)


def ports(**columns):
    return pl.LazyFrame(
        {"client": ["vmnic0"], "link_mbits": [10_000.0]} | {name: [one] for name, one in columns.items()}
    )


def test_a_full_line_of_full_packets_is_100_percent():
    packets = 10_000 * 125_000 / 1538
    got = line_rate.against_line(ports(tx_mbits=packets * 1514 / 125_000, tx_packets=packets)).collect()
    assert got["available_mbit_per_s"].item() == pytest.approx(10_000 * 1460 / 1538)
    assert got.select(ONE_WAY).row(0) == pytest.approx((1514, packets, 10_000 * 1460 / 1538, 100.0))
    assert got.select("rx_packet_bytes", "rx_of_available_pct").row(0) == (None, None)


def test_packets_of_tso_are_counted_as_they_pass_the_wire():
    # 4 full segments behind one set of headers, 1000 times a second
    size = 4 * 1460 + 54
    got = line_rate.against_line(ports(tx_mbits=size * 1000 / 125_000, tx_packets=1000.0)).collect()
    assert got.select(ONE_WAY[:3]).row(0) == pytest.approx((size, 4000, 4 * 1460 * 1000 / 125_000))


def test_acknowledgements_carry_nothing_and_are_one_packet_each():
    got = line_rate.against_line(ports(tx_mbits=54 * 1000 / 125_000, tx_packets=1000.0)).collect()
    assert got.select(ONE_WAY[:3]).row(0) == pytest.approx((54, 1000, 0))


def test_quiet_ports_and_lacking_counters_are_null():
    got = line_rate.against_line(ports(tx_mbits=0.0, tx_packets=0.0)).collect()
    assert got.select(ONE_WAY).row(0) == (None,) * 4
    down = line_rate.against_line(ports(tx_mbits=8.0, tx_packets=1000.0).drop("link_mbits")).collect()
    assert down.select("tx_packet_bytes", "tx_of_available_pct").row(0) == (1000.0, None)


def runs(nics, load, **more):
    return pl.LazyFrame({"nics": nics, "host_util_pct": load} | more)


def test_the_line_is_the_one_of_scipy():
    nics, load = [1, 2, 3, 4, 6, 8], [6.2, 10.9, 16.3, 20.8, 31.5, 40.7]
    got = line_rate.cpu_by_nics(runs(nics, load)).collect().row(0, named=True)
    wanted = stats.linregress(nics, load)
    reach = stats.t.ppf(0.975, 4) * wanted.stderr
    assert got["points"] == 6
    assert got["slope_pct_per_nic"] == pytest.approx(wanted.slope)
    assert got["intercept_pct"] == pytest.approx(wanted.intercept)
    assert got["r_squared"] == pytest.approx(wanted.rvalue**2)
    assert got["slope_low_pct_per_nic"] == pytest.approx(wanted.slope - reach)
    assert got["slope_high_pct_per_nic"] == pytest.approx(wanted.slope + reach)
    left = np.array(load) - wanted.intercept - wanted.slope * np.array(nics)
    assert got["largest_deviation_pct"] == pytest.approx(abs(left).max())


@settings(deadline=None)
@given(slope=st.floats(-5, 50), intercept=st.floats(0, 50), nics=st.sets(st.integers(1, 8), min_size=2))
def test_points_on_a_line_give_the_line(slope, intercept, nics):
    table = runs(sorted(nics), [intercept + slope * one for one in sorted(nics)])
    got = line_rate.cpu_by_nics(table).collect().row(0, named=True)
    assert got["slope_pct_per_nic"] == pytest.approx(slope, abs=1e-9)
    assert got["intercept_pct"] == pytest.approx(intercept, abs=1e-9)
    assert got["largest_deviation_pct"] == pytest.approx(0, abs=1e-9)


def test_send_and_receive_are_fitted_apart():
    both = runs([1, 2, 1, 2], [5.0, 10.0, 8.0, 16.0], way=["send", "send", "receive", "receive"])
    got = line_rate.cpu_by_nics(both, by=("way",)).select("way", "slope_pct_per_nic", "points").collect()
    assert got.rows() == [("send", 5.0, 2), ("receive", 8.0, 2)]


def test_too_few_points_give_null_and_not_a_guess():
    one = line_rate.cpu_by_nics(runs([4, None, 8], [20.0, 30.0, None])).collect().row(0, named=True)
    assert (one["points"], one["slope_pct_per_nic"], one["intercept_pct"]) == (1, None, None)
    two = line_rate.cpu_by_nics(runs([4, 8], [20.0, 40.0])).collect().row(0, named=True)
    assert (two["slope_pct_per_nic"], two["slope_low_pct_per_nic"]) == (5.0, None)
    same = line_rate.cpu_by_nics(runs([4, 4, 4], [20.0, 21.0, 22.0])).collect().row(0, named=True)
    assert (same["slope_pct_per_nic"], same["r_squared"]) == (None, None)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_a_confidence_that_is_none_is_refused(confidence):
    with pytest.raises(EsxparseError, match="confidence"):
        line_rate.cpu_by_nics(runs([1], [1.0]), confidence=confidence)


def test_a_load_that_only_falls_or_is_skewed_has_its_r_squared():
    falling = line_rate.cpu_by_nics(runs([1, 2, 3, 4], [40.0, 35.0, 33.0, 10.0])).collect().row(0, named=True)
    assert falling["r_squared"] == pytest.approx(stats.linregress([1, 2, 3, 4], [40, 35, 33, 10]).rvalue ** 2)


def test_configurations_that_have_no_interval_do_not_change_the_types():
    table = line_rate.cpu_by_nics(runs([4, 8], [20.0, 40.0]))
    assert table.collect().schema["slope_low_pct_per_nic"] == pl.Float64
