"""What the charts of storage benchmarks draw of tests, logs and histograms given by hand: which, and in what order."""

from __future__ import annotations

from statistics import mean

import polars as pl
import pytest
from specs import subtitle_of, values_of

from esxparse.charts import latency, theme, workload

vl_convert = pytest.importorskip("vl_convert")


def results(tests):
    """A table of tests: (name, direction, block size, outstanding I/Os, IOPS, mean latency)."""
    names = ("test", "direction", "block_size_bytes", "outstanding", "iops", "latency_mean_ms")
    frame = pl.LazyFrame(tests, schema=names, orient="row")
    return frame.with_columns(
        pattern=pl.lit("random"), bandwidth_bytes_per_s=pl.col("iops") * pl.col("block_size_bytes")
    )


NINE = [
    (f"t{series}-{depth}", "read", 4096 * 2**series, depth, 100.0 * depth + 10 * series, 9.0 - series + depth)
    for series in range(9)
    for depth in (1, 4)
]
"""Nine series of two points: one more than a chart has colours for."""


def test_of_many_series_those_with_the_highest_values_are_drawn():
    chart = workload.by_outstanding(results(NINE), "latency_mean_ms")
    drawn = {label for (label,) in values_of(chart, "label")}
    assert drawn == {f"random read, {4 * 2**series} KiB" for series in range(8)}
    assert "The 8 of 9 series with the highest values" in subtitle_of(chart)
    assert "9 series" not in subtitle_of(workload.by_outstanding(results(NINE[:-2]), "latency_mean_ms"))


def test_of_a_point_run_twice_the_run_with_the_most_iops_is_drawn_whatever_the_value():
    tests = [("a", "read", 4096, 1, 100.0, 5.0), ("b", "read", 4096, 1, 120.0, 4.0), ("c", "read", 4096, 8, 300.0, 9.0)]
    chart = workload.by_outstanding(results(tests), "latency_mean_ms")
    assert values_of(chart, "test", "place", "latency_mean_ms") == [("b", "1", 4.0), ("c", "8", 9.0)]
    assert "the run with the most IOPS" in subtitle_of(chart)
    against = workload.latency_against_iops(results(tests))
    assert values_of(against, "test", "outstanding", "iops", "latency_mean_ms") == [
        ("b", 1, 120.0, 4.0),
        ("c", 8, 300.0, 9.0),
    ]


def test_a_series_of_one_point_is_no_sweep_and_bandwidth_is_in_mb():
    tests = [
        ("a", "read", 4096, 1, 1000.0, 1.0),
        ("b", "read", 65536, 1, 500.0, 1.0),
        ("c", "write", 4096, 1, 100.0, 1.0),
    ]
    chart = workload.by_block_size(results(tests), "bandwidth_bytes_per_s")
    assert values_of(chart, "label", "place", "bandwidth_bytes_per_s") == [
        ("random read", "4 KiB", 4.096),
        ("random read", "64 KiB", 32.768),
    ]


def test_tests_are_ranked_by_the_better_of_their_directions_and_twelve_are_shown():
    tests = [(f"t{place}", "read", 4096, 1, 1000.0 + 10 * place, 1.0) for place in range(13)]
    tests += [("t5", "write", 4096, 1, 5000.0, 1.0), ("t0", "write", 4096, 1, 1.0, 1.0)]
    chart = workload.tests(results(tests), "iops")
    order = [label for (label,) in values_of(chart, "label")]
    assert order == ["t5", *(f"t{place}" for place in (12, 11, 10, 9, 8, 7, 6, 4, 3, 2, 1))]
    assert "12 of 13 tests" in subtitle_of(chart)
    assert subtitle_of(workload.tests(results(tests[1:13]), "iops")) == ""
    both = workload.tests(results(tests[5:6] + tests[13:14]), "iops").to_dict()
    assert both["layer"][0]["encoding"]["yOffset"]["scale"]["domain"] == ["read", "write"]
    assert "yOffset" not in workload.tests(results(tests[5:7]), "iops").to_dict()["layer"][0]["encoding"]


def of_iops(*iops):
    """Tests with these IOPS."""
    return workload.tests(results([(f"t{at}", "read", 4096, 1, one, 1.0) for at, one in enumerate(iops)]), "iops")


@pytest.mark.parametrize(
    ("iops", "end", "beyond"),
    [
        ((29_330_066.0, 2_000.0, 300.0, 100.0), 2_000.0, "t0"),
        ((90_000.0, 2_000.0, 300.0, 100.0), 90_000.0, ""),
        ((29_330_066.0, 2_000.0), 29_330_066.0, ""),
        ((3e7, 2e7, 300.0, 100.0), 3e7, ""),
    ],
)
def test_one_test_far_above_the_others_does_not_flatten_them(iops, end, beyond):
    """Two of four are no exception, and of two tests one is seen against the other."""
    chart = of_iops(*iops)
    scale = chart.to_dict()["layer"][0]["encoding"]["x"]["scale"]
    assert scale["domain"] == [0, pytest.approx(1.15 * end)]
    assert subtitle_of(chart) == (f"The axis ends before {beyond}" if beyond else "")
    assert {one for _, one in values_of(chart, "test", "iops")} == set(iops)


def test_bars_carry_their_values_and_long_names_are_whole():
    name = "fio-2.1.4: random_read_test_parallel"
    theme.use()
    chart = workload.tests(results([(name, "read", 4096, 1, 323.0, 1.0), ("b", "read", 4096, 1, 1234.0, 1.0)]), "iops")
    svg = vl_convert.vegalite_to_svg(chart.properties(width=400).to_dict())
    for words in ("323", "1,230", "fio-2.1.4: random_", "read_test_parallel"):
        assert f">{words}<" in svg


def test_the_heat_map_shades_by_the_share_of_the_most():
    iops = {(1, 1): 10.0, (1, 2): 10.1, (2, 1): 50.0, (2, 2): 51.0, (4, 1): 90.0, (4, 2): 100.0}
    grid = pl.LazyFrame(
        [(f"{depth} {workers}", depth * workers, workers, one) for (depth, workers), one in iops.items()],
        schema=("test", "outstanding", "workers", "iops"),
        orient="row",
    )
    steps = {
        (depth, workers): (step, label)
        for depth, workers, step, label in values_of(workload.heat(grid), "depth", "workers", "step", "label")
    }
    # A share just at an edge is still below it.
    assert steps == {
        (1, 1): (0, "to 10% of the most"),
        (1, 2): (1, "to 25% of the most"),
        (2, 1): (2, "to 50% of the most"),
        (2, 2): (3, "to 75% of the most"),
        (4, 1): (4, "to 90% of the most"),
        (4, 2): (5, "to 100% of the most"),
    }
    one_row = grid.filter(pl.col("workers") == 1)
    assert workload.heat(one_row) is None


def logged(lines):
    return pl.LazyFrame(lines, schema=("elapsed_s", "job", "direction", "value"), orient="row").with_columns(
        metric=pl.lit("bandwidth")
    )


def test_lines_of_a_log_are_put_together_in_180_steps_of_the_run():
    lines = [(float(second), "vm", "read", 1e6 * (second % 7 + 1)) for second in range(1, 361)]
    chart = workload.over_time(logged(lines), "bandwidth")
    drawn = {at: (value, low, high) for at, value, low, high in values_of(chart, "elapsed_s", "value", "low", "high")}
    for start in (2, 100, 358):
        of = [value / 1e6 for second, _, _, value in lines if start <= second < start + 2]
        assert drawn[start] == pytest.approx((mean(of), min(of), max(of)), rel=1e-3)
    assert len(drawn) == 181
    assert "band: lowest to highest logged value" in subtitle_of(chart)


def test_of_many_jobs_those_with_the_highest_mean_are_drawn():
    lines = [(second, f"j{job}", "read", 1e6 * (20 - job) + second) for job in range(9) for second in (1.0, 2.0)]
    chart = workload.over_time(logged(lines), "bandwidth")
    assert {label for (label,) in values_of(chart, "label")} == {f"j{job} read" for job in range(8)}
    assert "The 8 of 9 with the highest mean" in subtitle_of(chart)
    assert "band" not in subtitle_of(chart)
    assert workload.over_time(logged(lines[:1]), "bandwidth") is None
    assert workload.over_time(logged(lines[:2]), "bandwidth") is not None


def percentiles(of):
    lines = [(label, share, ms) for label, pairs in of.items() for share, ms in pairs]
    return pl.LazyFrame(lines, schema=("label", "percentile", "latency_ms"), orient="row")


def test_percentiles_of_the_tests_with_the_worst_are_drawn_without_the_ends():
    of = {f"t{test}": [(0.0, 0.1), (50.0, 2.0), (99.0, 20.0 - test), (100.0, 99.0)] for test in range(9)}
    chart = latency.percentiles(percentiles(of))
    assert {label for (label,) in values_of(chart, "label")} == {f"t{test}" for test in range(8)}
    assert {share for (share,) in values_of(chart, "percentile")} == {50.0, 99.0}
    assert "The 8 of 9 with the highest" in subtitle_of(chart)
    places = dict(values_of(chart, "percentile", "at"))
    assert places[99.0] == pytest.approx(2.0)
    assert places[50.0] == pytest.approx(0.30103)


HISTOGRAM = [
    ("read", None, 512, 3),
    ("write", None, 512, 1),
    ("read", 512, 1024, 10),
    ("read", 512, 1024, 5),
    ("all", 512, 1024, 99),
    ("write", 1024, None, 4),
]


def test_a_histogram_adds_disks_and_keeps_reads_and_writes_apart():
    table = pl.LazyFrame(HISTOGRAM, schema=("direction", "from", "to", "count"), orient="row")
    chart = latency.histogram(table, "Sizes", "bytes")
    assert values_of(chart, "bin", "direction", "count") == [
        ("≤ 512", "read", 3),
        ("≤ 512", "write", 1),
        ("≤ 1024", "read", 15),
        ("> 1024", "write", 4),
    ]
    assert chart.to_dict()["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["≤ 512", "≤ 1024", "> 1024"]
    assert latency.histogram(table.with_columns(count=0), "Sizes", "bytes") is None
    assert latency.histogram(table.filter(pl.col("direction") == "all"), "Sizes", "bytes") is None


def test_bins_apart_have_nothing_between_them():
    bins = pl.LazyFrame(
        [("a", 1.0, 2.0, 60.0), ("a", 2.0, 4.0, 30.0), ("a", 8.0, None, 10.0), ("b", 1.0, 2.0, 100.0)],
        schema=("label", "from_ms", "to_ms", "share_pct"),
        orient="row",
    )
    chart = latency.distribution(bins)
    bars = values_of(chart, "label", "low", "high", "share_pct")
    assert bars == [("a", 1.0, 2.0, 60.0), ("a", 2.0, 4.0, 30.0), ("a", 8.0, 16.0, 10.0), ("b", 1.0, 2.0, 100.0)]
    outline = next(of for of in chart.to_dict()["datasets"].values() if "high" not in of[0])
    assert [(row["low"], row["share_pct"]) for row in outline if row["label"] == "a"] == [
        (1.0, 0.0), (1.0, 60.0), (2.0, 30.0), (4.0, 0.0), (8.0, 10.0), (16.0, 0.0)
    ]  # fmt: skip
