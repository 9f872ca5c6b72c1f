"""Published figures of the studies that compare hosts, releases and configurations, from their own published numbers.

Where a claim does not follow from the numbers beside it, the test shows what does follow, and says so.
Studies that published charts only are run on numbers made up here, and say that too.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import pytest

from esxparse.metrics import consolidation, cpu_cost, ratio, scaling, steady, workers


def study(name, *values):
    return pytest.param(*values, id=name)


@pytest.mark.parametrize(
    ("value", "baseline", "of_pct", "change_pct"),
    [
        # The study says "207.59 % over iSCSI": it is 207.59 % *of* iSCSI, 107.59 % over it; the next two likewise.
        study("iser-read-iops", 71_108.85, 34_255.18, 207.59, 107.59),
        study("iser-write-iops", 69_495.70, 36_428.26, 190.77, 90.77),
        study("iser-read-mbps", 4_126.53, 2_740.80, 150.56, 50.56),
        # The study: about 5 % less.
        study("iser-write-mbps", 106.48, 112.04, 95.04, -4.96),
        # "an over 10 % improvement": what follows from its numbers is 8.5 %.
        study("dense-medium-p95", 510, 470, 108.51, 8.51),
        # "nearly 10 %": 6.5 %.
        study("dense-medium-cpu", 495, 465, 106.45, 6.45),
        # "about 5 % more VMs": 3.6 %.
        study("dense-high-p95", 290, 280, 103.57, 3.57),
        # "about 10 % more VMs": 8.3 %.
        study("dense-high-cpu", 260, 240, 108.33, 8.33),
        study("docker-linpack-65k", 95.0, 100.0, 95.0, -5.0),
        study("docker-fio-random-read", 98.0, 100.0, 98.0, -2.0),
        study("docker-tcp-stream", 9.40, 9.40, 100.0, 0.0),
    ],
)
def test_percent_of_and_over_the_baseline(value, baseline, of_pct, change_pct):
    assert round(100 * value / baseline, 2) == of_pct
    assert round(ratio.percent_change(value, baseline), 2) == change_pct


def test_iser_as_a_study_of_four_tests():
    tests = {
        "read IOPS": (34_255.18, 71_108.85),
        "write IOPS": (36_428.26, 69_495.70),
        "read MBPS": (2_740.80, 4_126.53),
        "write MBPS": (112.04, 106.48),
    }
    runs = pl.LazyFrame(
        [
            {"test": test, "protocol": protocol, "value": value}
            for test, values in tests.items()
            for protocol, value in zip(("iSCSI", "iSER"), values, strict=True)
        ]
    )
    got = ratio.ratios(runs, "value", ["test", "protocol"], {"protocol": "iSCSI"})
    iser = got.filter(pl.col("protocol") == "iSER")
    assert (iser.collect()["ratio"] * 100).round(2).to_list() == [207.59, 190.77, 150.56, 95.04]
    # One run of each was published: there is no interval, and the table says why.
    assert iser.collect()["gap"].unique().to_list() == ["1 repetition: an interval needs 2 or more"]
    mean = ratio.geometric_means(iser, "protocol", "ratio").collect()["geometric_mean"].item()
    assert mean == pytest.approx((2.0759 * 1.9077 * 1.5056 * 0.9504) ** 0.25, rel=1e-4)


@pytest.mark.parametrize(
    ("old", "new", "higher_is_better", "factor", "claim"),
    [
        study("vcenter-operations", 8.3, 16.7, True, 2.01, 2),
        study("vcenter-memory", 10.0, 3.0, False, 3.33, 3),
        study("vcenter-power-on", 9.5, 2.8, False, 3.39, 3),
    ],
)
def test_vcenter_improvement_factors(old, new, higher_is_better, factor, claim):
    found = ratio.performance(new, old, higher_is_better=higher_is_better)
    assert round(found, 2) == factor
    assert round(found) == claim


@pytest.mark.parametrize(
    ("rate", "tolerance", "default", "dense"),
    [
        study("dense-medium-p95", 25, "p95_ms", 470, 510),
        study("dense-medium-cpu", 25, "host_cpu_pct", 465, 495),
        study("dense-high-p95", 50, "p95_ms", 280, 290),
        study("dense-high-cpu", 50, "host_cpu_pct", 240, 260),
    ],
)
def test_dense_mode_largest_vm_counts_by_interpolation(rate, tolerance, default, dense):
    """The curves were charts; here are straight pieces through the published crossings, measured 20 VMs apart."""
    limit = consolidation.TOLERANCES[tolerance]
    rows = [
        {"rate": rate, "mode": mode, "vms": vms, tolerance: limit + (vms - crossing) * 0.31}
        for mode, crossing in (("default", default), ("dense", dense))
        for vms in range(200, 561, 20)
    ]
    loads = consolidation.largest_loads(pl.LazyFrame(rows), "vms", {tolerance: limit}, ["mode"])
    assert loads.collect()["largest_load"].to_list() == pytest.approx([default, dense])
    change = ratio.ratios(loads, "largest_load", ["mode"], {"mode": "default"}).collect()["change_pct"][1]
    assert change == pytest.approx(ratio.percent_change(dense, default))


@pytest.mark.parametrize("pcpus", [40, 80], ids=["without hyper-threading", "with it"])
@pytest.mark.parametrize(
    ("vms", "util", "eligible"),
    [(470, 90.0, True), (240, 90.0, True), (470, 49.0, False), (39, 90.0, False), (240, 50.0, True)],
)
def test_dense_mode_on_the_studys_host_of_four_times_ten_cores(pcpus, vms, util, eligible):
    """Each VM has one vCPU: from 160 VMs on the counts are met either way."""
    times = [datetime(2015, 11, 2) + timedelta(seconds=20 * place) for place in range(4)]  # noqa: DTZ001
    load = pl.LazyFrame({"time": times}).with_columns(
        vms=pl.lit(vms), vcpus=pl.lit(vms), pcpus=pl.lit(pcpus), pcpu_util_pct=pl.lit(util)
    )
    assert consolidation.dense_mode(load).collect()["eligible"].to_list() == [eligible]


@pytest.mark.parametrize("more_pct", [10.0, 20.0])
def test_vaio_percent_of_a_core_per_1k_iops(more_pct):
    """The published range, 10 to 20 % more CPU at the same IOPS; the level of CPU use is made up, as charts gave it.

    Host: 2 sockets, 16 cores, 32 threads at 2.4 GHz. That the study's percentages are of used, not util, is assumed.
    """
    runs = pl.LazyFrame(
        {
            "filter": ["default", "iofilter"],
            "vms": [16, 16],
            "host_used_pct": [20.0, 20.0 * (1 + more_pct / 100)],
            "cpus": [32, 32],
            "mhz": [2400, 2400],
            "iops": [70_000.0, 70_000.0],
        }
    )
    cost = cpu_cost.cost(runs)
    assert cost.collect()["used_pct_of_core_per_1k_iops"][0] == pytest.approx(20 * 32 / 70)
    got = ratio.ratios(cost, "used_pct_of_core_per_1k_iops", ["filter", "vms"], {"filter": "default"}).collect()
    assert got["change_pct"][1] == pytest.approx(more_pct)


def test_vaio_one_vm_has_80_percent_more_iops_with_the_filter_and_the_others_the_same():
    """The published ratio; the default's 40,000 IOPS are made up."""
    runs = pl.LazyFrame(
        {
            "filter": ["default", "iofilter"] * 2,
            "vms": [1, 1, 16, 16],
            "iops": [40_000.0, 72_000.0, 70_500.0, 70_500.0],
        }
    )
    got = ratio.ratios(runs, "iops", ["filter", "vms"], {"filter": "default"}).collect()
    assert got.filter(filter="iofilter")["change_pct"].to_list() == pytest.approx([80.0, 0.0])


def test_vaio_window_and_latency():
    """2 minutes of warm-up, 2 measured; the latency is the median of the workers' averages."""
    times = [datetime(2015, 11, 2) + timedelta(seconds=5 * place) for place in range(61)]  # noqa: DTZ001
    measured = steady.cut(pl.LazyFrame({"time": times}), 120, 120).collect()
    assert measured.height * 5 == 120
    results = pl.LazyFrame(
        {
            "test": [1] * 5,
            "row_type": ["WORKER"] * 5,
            "read_iops": [9.0] * 5,
            "read_latency_mean_ms": [1.0, 2, 3, 4, 90],
        }
    )
    assert workers.median_read_latency(results).collect()["median_read_latency_ms"].item() == 3.0


def test_protocols_mhz_per_mbps_on_the_talks_host():
    """4 sockets, 8 cores of 2.4 GHz; the use and the throughput of the example are made up (1 GbE carries 112 MBps).

    MHz/MBps = (physical CPU use out of 100 %) x (physical CPUs) x (MHz) / MBps.
    """
    assert cpu_cost.busy_mhz(100.0, cpus=8, mhz=2400) == 19_200.0
    assert cpu_cost.mhz_per_mbps(35.0, cpus=8, mhz=2400, mb_per_s=112.0) == 60.0
    # The talk's Iometer printed MBps of 2**20 bytes: a run of 112 of those moves 117.44 of 10**6.
    mib = pl.LazyFrame({"host_used_pct": [35.0], "cpus": [8], "mhz": [2400], "mib_per_s": [112.0]})
    got = cpu_cost.cost(mib, throughput="mib_per_s").collect()
    assert got["used_mhz_per_mibps"].item() == 60.0
    assert got["used_cycles_per_byte"].item() == pytest.approx(60 * 1e6 / 2**20)


def test_protocols_ratio_to_fibre_channel_is_below_one_where_it_is_larger():
    runs = pl.LazyFrame({"protocol": ["FC", "NFS"], "mhz_per_mbps": [40.0, 60.0], "mb_per_s": [190.0, 112.0]})
    for value, below in (("mhz_per_mbps", False), ("mb_per_s", True)):
        found = ratio.ratios(runs, value, ["protocol"], {"protocol": "FC"}).collect()["ratio"][1]
        assert (found < 1) == below


@pytest.mark.parametrize(
    ("platform", "mean_ratio"),
    [
        study("docker-redis-hostnet", "native-docker-hostnet", 0.98),
        study("docker-redis-vm-hostnet", "vm-docker-hostnet", 0.96),
    ],
)
def test_docker_redis_ratio_to_native_of_five_runs_with_the_range_as_error_bars(platform, mean_ratio):
    """Means as published, relative to native; the scatter of the five runs, 1 % each way, is made up."""
    steps = (-1.0, -0.5, 0.0, 0.5, 1.0)
    levels = {"native": 100.0, platform: 100 * mean_ratio}
    results = pl.LazyFrame(
        [
            {
                "benchmark": "redis-benchmark",
                "test": "SET",
                "configuration": "",
                "platform": name,
                "repetition": place,
                "metric": "throughput",
                "value": level + step,
                "unit": "ops/s",
                "higher_is_better": True,
            }
            for name, level in levels.items()
            for place, step in enumerate(steps, 1)
        ]
    )
    got = ratio.virtual_to_native(results).collect().row(1, named=True)
    assert got["performance"] == pytest.approx(mean_ratio)
    assert (got["ratio_min"], got["ratio_max"]) == pytest.approx((mean_ratio - 0.01, mean_ratio + 0.01))
    assert got["verdict"] == "worse"


def test_docker_round_trip_takes_15_us_more_in_a_vm():
    """The published difference; 30 us of native are made up (that figure was a chart)."""
    assert ratio.performance(30.0 + 15.0, 30.0, higher_is_better=False) == pytest.approx(2 / 3)


def test_spark_very_similar_is_no_difference_shown():
    """The study published no figures; these run times are made up."""
    runs = pl.LazyFrame(
        {"place": ["premises"] * 3 + ["cloud"] * 3, "seconds": [401.0, 396.0, 404.0, 399.0, 405.0, 402.0]}
    )
    got = ratio.ratios(runs, "seconds", ["place"], {"place": "premises"}).collect()
    assert got["verdict"][1] == "no difference shown"


def test_zephyr_peak_load_is_linear_up_to_six_servers():
    """What the study says of its chart; the numbers of users are made up to say it."""
    peaks = {1: 2000, 2: 4000, 3: 5950, 4: 7900, 5: 9850, 6: 11_700, 7: 12_300, 8: 12_900, 9: 13_000, 10: 13_000}
    rules = {
        "p99 of each operation": pl.col("p99_ms") <= pl.col("limit_ms"),
        "mix of operations": pl.col("mix_pct").is_between(24, 26),
    }
    records = pl.LazyFrame(
        [
            {
                "servers": servers,
                "users": users,
                "operation": operation,
                "p99_ms": limit * (0.9 if users <= peak else 1.2),
                "limit_ms": limit,
                "mix_pct": 25.0,
            }
            for servers, peak in peaks.items()
            for users in (peak - 50, peak, peak + 50)
            for operation, limit in (("login", 250.0), ("bid", 500.0), ("search", 750.0), ("logout", 250.0))
        ]
    )
    peak = scaling.peak_load(records, "users", rules, ["servers"])
    assert dict(peak.select("servers", "peak_load").collect().rows()) == peaks
    line = scaling.leaves_linear(peak, "servers", "peak_load").collect().row(0, named=True)
    assert (line["points"], line["linear_up_to"], line["leaves_at"]) == (10, 6, 7)
    assert scaling.efficiency(peak, "servers", "peak_load").collect()["linear"].to_list()[-1] == 20_000.0


def test_vdi_about_95_desktops_per_host_and_linear():
    runs = pl.LazyFrame({"hosts": [3, 5, 8], "vdimark": [286, 473, 767]})
    got = scaling.efficiency(runs, "hosts", "vdimark").collect()
    assert got["per_unit"].round(1).to_list() == [95.3, 94.6, 95.9]
    assert round(got["per_unit"].mean()) == 95
    assert got["efficiency"].round(3).to_list() == [1.0, 0.992, 1.006]
    line = scaling.leaves_linear(runs, "hosts", "vdimark").collect().row(0, named=True)
    assert (line["linear_up_to"], line["leaves_at"]) == (8, None)


def test_monster_sql_server_opm_of_eight_vms():
    got = scaling.efficiency(pl.LazyFrame({"vms": [8], "opm": [493_804]}), "vms", "opm").collect()
    assert got["per_unit"].item() == 61_725.5
    assert got["per_unit"].item() / 8 == pytest.approx(7_715.69, abs=0.01)


def test_monster_oracle_scales_up_at_equal_thread_sharing():
    """The study's claim is "approximately linear"; its throughputs were charts, these are made up.

    120 vCPUs on 120 threads have half a core each. Against 60 vCPUs with a core each the efficiency measures
    hyper-threading, against 60 on two sockets it measures scaling up.
    """
    a_core_each, half_a_core_each, largest = 150.0, 100.0, 194.0
    assert scaling.scale_up_efficiency(120, largest, 60, half_a_core_each) == pytest.approx(0.97)
    assert scaling.scale_up_efficiency(120, largest, 60, a_core_each) < 0.66
    sweep = pl.LazyFrame({"vcpus": [15, 30, 45, 60], "opm": [38.0, 76.0, 113.0, 150.0]})
    assert scaling.leaves_linear(sweep, "vcpus", "opm").collect()["leaves_at"].item() is None
