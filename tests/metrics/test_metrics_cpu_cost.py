"""CPU cost: the talk's formula and its kin, worked out by hand, with what is lacking said."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import cpu_cost

RUN = {
    "host_used_pct": 25.0,
    "host_util_pct": 20.0,
    "idle_used_pct": 5.0,
    "idle_util_pct": 2.0,
    "cpus": 8,
    "mhz": 2400,
    "mb_per_s": 100.0,
    "iops": 1600.0,
}


def one_run(**changed):
    return pl.LazyFrame([{**RUN, **changed}])


def cost(frame, **options):
    return cpu_cost.cost(frame, **options).collect().row(0, named=True)


def test_every_cost_of_one_run():
    got = cost(one_run())
    # 25/100 x 8 x 2400 = 4,800 MHz; / 100 MBps; / 1,600 IOPS; 25 x 8 / 1.6
    assert got["used_mhz"] == 4800.0
    assert got["used_mhz_per_mbps"] == 48.0
    assert got["used_mhz_per_iops"] == 3.0
    assert got["used_cycles_per_io"] == 3_000_000.0
    assert got["used_cycles_per_byte"] == 48.0
    assert got["used_pct_of_core_per_1k_iops"] == 125.0
    # (25 - 5)/100 x 8 x 2400 = 3,840 MHz
    assert got["used_above_idle_mhz"] == 3840.0
    assert got["used_above_idle_mhz_per_mbps"] == pytest.approx(38.4)
    assert got["used_above_idle_pct_of_core_per_1k_iops"] == 100.0
    assert got["used_cost_gap"] is None


def test_used_and_util_are_told_apart_by_name():
    got = cost(one_run(), measure="util")
    assert got["util_mhz_per_mbps"] == pytest.approx(38.4)
    # Percent of a PCPU: a hyper-thread is no core.
    assert got["util_pct_of_pcpu_per_1k_iops"] == pytest.approx(100.0)
    assert got["util_above_idle_mhz"] == pytest.approx(3456.0)
    assert not any(name.startswith("used_") for name in got)
    both = cpu_cost.cost(cpu_cost.cost(one_run()), measure="util").collect()
    assert both["used_mhz"].item() != both["util_mhz"].item()


def test_mib_are_not_taken_for_mb():
    got = cost(one_run().with_columns(read_mib_per_s=100.0), throughput="read_mib_per_s")
    assert got["used_mhz_per_mibps"] == 48.0
    assert got["used_cycles_per_byte"] == pytest.approx(4800e6 / (100 * 2**20))
    assert "used_mhz_per_mbps" not in got
    with pytest.raises(EsxparseError, match=r"mb_per_s .* or mib_per_s"):
        cpu_cost.cost(one_run(), throughput="mbps")


@pytest.mark.parametrize(
    ("changed", "gap"),
    [
        ({"iops": 0.0}, "no I/O to divide by: iops is not above 0"),
        ({"mb_per_s": 0.0}, "no I/O to divide by: mb_per_s is not above 0"),
        ({"iops": None}, "no I/O to divide by: iops is not above 0"),
        ({"iops": math.nan}, "no I/O to divide by: iops is not above 0"),
        ({"mhz": None}, "the host's CPU frequency is not known: column mhz"),
        ({"cpus": 0}, "the host's number of CPUs is not known: column cpus"),
        ({"host_used_pct": None}, "no host CPU use: column host_used_pct"),
    ],
)
def test_a_run_without_a_cost_says_why_and_the_others_are_computed(changed, gap):
    first = pl.DataFrame([RUN])
    frame = pl.concat([first, one_run(**changed).collect().cast(first.schema)])
    got = cpu_cost.cost(frame.lazy()).collect()
    assert got["used_cost_gap"].to_list() == [None, gap]
    assert got["used_mhz_per_mbps"][0] == 48.0
    assert None in got.select("used_mhz_per_mbps", "used_cycles_per_io").row(1)
    assert all(value is None or math.isfinite(value) for value in got["used_mhz_per_iops"])


def test_columns_that_are_not_there_are_null_columns():
    got = cost(pl.LazyFrame({"host_used_pct": [25.0], "cpus": [8]}))
    assert got["used_mhz"] is None
    assert got["used_above_idle_mhz_per_mbps"] is None
    got = cost(one_run().drop("mb_per_s", "iops"))
    assert got["used_mhz"] == 4800.0
    assert got["used_cost_gap"] == "no I/O to divide by: neither column iops nor mb_per_s"


def test_a_busier_idle_run_gives_a_negative_cost_and_keeps_it():
    assert cost(one_run(idle_used_pct=30.0))["used_above_idle_mhz"] == pytest.approx(-960.0)


def test_unknown_measure():
    with pytest.raises(EsxparseError, match="unknown measure 'core'"):
        cpu_cost.cost(one_run(), measure="core")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: cpu_cost.mhz_per_mbps(25, 8, 2400, 0), "throughput must be a number above 0, not 0"),
        (lambda: cpu_cost.cycles_per_io(25, 8, 2400, 0), "IOPS must be a number above 0, not 0"),
        (lambda: cpu_cost.core_pct_per_1k_iops(25, 8, math.nan), "IOPS must be a number above 0, not nan"),
        (lambda: cpu_cost.core_pct_per_1k_iops(25, 0, 1000), "number of CPUs must be a number above 0, not 0"),
        (lambda: cpu_cost.busy_mhz(25, 8, -1), "CPU frequency must be a number above 0, not -1"),
    ],
)
def test_scalars_refuse_what_cannot_be_divided_by(call, says):
    with pytest.raises(EsxparseError, match=says):
        call()


ABOVE = st.floats(min_value=0.01, max_value=1e6)


@given(pct=st.floats(min_value=0, max_value=200), cpus=st.integers(1, 512), mhz=ABOVE, rate=ABOVE, iops=ABOVE)
def test_table_and_scalars_agree_and_mhz_per_mbps_is_cycles_per_byte(pct, cpus, mhz, rate, iops):
    row = cost(one_run(host_used_pct=pct, cpus=cpus, mhz=mhz, mb_per_s=rate, iops=iops))
    assert row["used_mhz_per_mbps"] == pytest.approx(cpu_cost.mhz_per_mbps(pct, cpus, mhz, rate))
    assert row["used_cycles_per_byte"] == pytest.approx(row["used_mhz_per_mbps"])
    assert row["used_cycles_per_io"] == pytest.approx(cpu_cost.cycles_per_io(pct, cpus, mhz, iops))
    assert row["used_pct_of_core_per_1k_iops"] == pytest.approx(cpu_cost.core_pct_per_1k_iops(pct, cpus, iops))
    # A core at nominal frequency does mhz x 10**6 cycles a second: percent of it per 1,000 IOPS, the other way round.
    assert row["used_pct_of_core_per_1k_iops"] * mhz * 10 == pytest.approx(row["used_cycles_per_io"])


def test_a_load_that_hosts_share_is_divided_by_them():
    got = cost(one_run(load_hosts=4))
    # A quarter of 100 MBps and of 1,600 IOPS is this host's.
    assert (got["used_mhz_per_mbps"], got["used_mhz_per_iops"], got["used_cost_gap"]) == (192.0, 12.0, None)
    untold = cost(one_run(load_hosts=None))
    assert (untold["used_mhz_per_mbps"], untold["used_mhz"]) == (None, 4800.0)
    assert untold["used_cost_gap"] == "unknown number of hosts that share the load: column load_hosts"
