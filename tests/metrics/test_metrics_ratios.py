"""How a table of ratios is put together: every reason for a gap, every verdict, and what messages name."""

from __future__ import annotations

import polars as pl
import pytest

from esxparse.errors import EsxparseError
from esxparse.metrics import _ratios

SIDE = {"runs": 3, "mean": 10.0, "min": 9.0, "max": 11.0, "_var": 0.01, "_resolution": 0.0, "_values": [10.0]}
BASE = {"baseline_runs": 3, "baseline_mean": 10.0, "_base_var": 0.01, "is_baseline": False, "_base_resolution": 0.0}
BASE |= {"_base_values": [10.0]}
TYPES = {"mean": pl.Float64, "_var": pl.Float64, "baseline_mean": pl.Float64, "_base_var": pl.Float64}


def judged(**changed):
    table = pl.DataFrame([SIDE | BASE | changed], schema_overrides=TYPES)
    return _ratios.with_intervals(table, _ratios.Settings()).row(0, named=True)


@pytest.mark.parametrize(
    ("changed", "gap"),
    [
        ({}, None),
        ({"runs": 2, "baseline_runs": 2}, None),
        ({"is_baseline": True, "runs": 1}, None),
        ({"runs": 0, "mean": None, "_var": None}, "no run has a number"),
        ({"baseline_runs": None, "baseline_mean": None}, "no baseline run with these labels"),
        ({"baseline_runs": 0, "baseline_mean": None}, "no run of the baseline has a number"),
        ({"baseline_mean": 0.0}, "the baseline's mean is 0: no ratio to it, compare the difference"),
        ({"baseline_mean": -10.0}, "the baseline's mean is below 0: no percentage of it, compare the difference"),
        ({"runs": 1, "_var": None}, "1 repetition: an interval needs 2 or more"),
        ({"baseline_runs": 1, "_base_var": None}, "1 repetition of the baseline: an interval needs 2 or more"),
        ({"_base_var": 1e4}, "the baseline varies too much: its mean is indistinguishable from 0"),
    ],
)
def test_a_gap_has_its_reason(changed, gap):
    row = judged(**changed)
    assert row["gap"] == gap
    open_interval = gap is not None or row["is_baseline"]
    assert (row["ratio_low"] is None, row["ratio_high"] is None) == (open_interval,) * 2
    unrepeated = row["is_baseline"] or min(row["runs"], row["baseline_runs"] or 0) < 2
    assert (row["verdict"] is None, row["p_value"] is None, row["difference_low"] is None) == (unrepeated,) * 3


@pytest.mark.parametrize(
    ("mean", "verdict"),
    [(20.0, "higher"), (5.0, "lower"), (10.05, "no difference shown"), (9.95, "no difference shown")],
)
def test_the_verdict_is_the_side_of_1_that_the_interval_lies_on(mean, verdict):
    row = judged(mean=mean, min=mean - 1, max=mean + 1)
    assert row["verdict"] == verdict
    assert (row["ratio"], row["ratio_min"], row["ratio_max"]) == (mean / 10, (mean - 1) / 10, (mean + 1) / 10)
    assert row["change_pct"] == pytest.approx(10 * mean - 100)
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
    low, high = (f"{100 * (row[side] - 1):+z.3g}" for side in ("ratio_low", "ratio_high"))
    assert (f"[{low}, {high}]" in (row["undecided"] or "")) == (verdict == "no difference shown")


def test_a_ratio_of_equals_is_1_exactly():
    table = pl.DataFrame([SIDE | BASE | {"mean": one, "baseline_mean": 4.9} for one in (4.9, 9.8)])
    assert _ratios.with_intervals(table, _ratios.Settings())["ratio"].to_list() == [1.0, 2.0]


RUNS = pl.DataFrame(
    {
        "host": ["a", "a", "b", "b"],
        "cores": [1, 2, 1, 2],
        "runs": [2, 3, 4, 5],
        "mean": [1.0, 2.0, 3.0, 4.0],
        "_var": [0.1, 0.2, 0.3, 0.4],
        "_values": [[1.0], [2.0], [3.0], [4.0]],
        "_resolution": [0.5, 0.25, None, 0.0],
    }
)


def test_each_configuration_stands_beside_its_own_baseline():
    got = _ratios.beside_baseline(RUNS, ["host", "cores"], {"host": "a"}, ["cores"])
    facts = [
        "host",
        "cores",
        "is_baseline",
        "baseline_runs",
        "baseline_mean",
        "_base_var",
        "_base_values",
        "_base_resolution",
    ]
    assert got.select(facts).rows() == [
        ("a", 1, True, 2, 1.0, 0.1, [1.0], 0.5),
        ("a", 2, True, 3, 2.0, 0.2, [2.0], 0.25),
        ("b", 1, False, 2, 1.0, 0.1, [1.0], 0.5),
        ("b", 2, False, 3, 2.0, 0.2, [2.0], 0.25),
    ]
    one = _ratios.beside_baseline(RUNS, ["host", "cores"], {"host": "a", "cores": 2}, [])
    assert one["baseline_mean"].to_list() == [2.0] * 4
    assert one["is_baseline"].to_list() == [False, True, False, False]


def test_a_baseline_that_is_none_or_several_is_named():
    with pytest.raises(
        EsxparseError, match=r"no run matches the baseline host=c, cores=1: host is a, b; cores is 1, 2$"
    ):
        _ratios.beside_baseline(RUNS, ["host", "cores"], {"host": "c", "cores": 1}, [])
    several = r"the baseline host=a is not unique: cores is 1, 2; name which in the baseline, or compare within cores$"
    with pytest.raises(EsxparseError, match=several):
        _ratios.beside_baseline(RUNS, ["host", "cores"], {"host": "a"}, [])
    with pytest.raises(EsxparseError, match=r"^the baseline cores=x has a different type than the runs: "):
        _ratios.beside_baseline(RUNS, ["host", "cores"], {"cores": "x"}, [])


def test_five_values_are_shown_and_more_are_said_to_be_there():
    assert _ratios._some(pl.Series([3, 1, 3, 2, 5, 4])) == "3, 1, 2, 5, 4"
    assert _ratios._some(pl.Series([3, 1, 2, 5, 4, 6])) == "3, 1, 2, 5, 4 ..."


def test_a_configuration_counts_the_numbers_of_its_repetitions():
    frame = pl.DataFrame(
        {
            "host": ["b", "a", "b", "b", "a"],
            "_value": [1.0, float("nan"), 3.0, None, float("inf")],
            "_resolution": [0.01, None, 0.1, 0.01, None],
        }
    )
    none = dict.fromkeys(["mean", "min", "max", "_var"])
    got = _ratios.configurations(frame, ["host"])
    assert got.to_dicts() == [
        {"host": "b", "runs": 2, "mean": 2.0, "min": 1.0, "max": 3.0, "_var": 2.0, "_values": [1.0, 3.0]}
        | {"_resolution": 0.1},
        {"host": "a", "runs": 0, **none, "_values": [], "_resolution": None},
    ]


@pytest.mark.parametrize(
    ("own", "base", "wanted"),
    # 9.4 and 9.39 are printed to 0.01, the digits of both tell; what is said is not asked of the digits.
    [(0.5, 0.2, (0.5, 0.2)), (None, 0.2, (0.01, 0.2)), (0.5, None, (0.5, 0.01)), (None, None, (0.01, 0.01))],
)
def test_the_last_digit_is_the_one_said_else_the_one_that_both_show(own, base, wanted):
    sides = {"_values": [9.4], "_base_values": [9.39], "_resolution": own, "_base_resolution": base}
    table = pl.DataFrame([sides], schema_overrides={"_resolution": pl.Float64, "_base_resolution": pl.Float64})
    assert list(_ratios._resolutions(table)) == [pytest.approx(wanted)]
    alone = table.with_columns(pl.lit(None, pl.List(pl.Float64)).alias("_base_values"))
    assert next(_ratios._resolutions(alone))[0] == pytest.approx(0.1 if own is None else own)


@pytest.mark.parametrize("method", ["fieller", "bootstrap"])
def test_what_was_printed_coarsely_has_a_wider_interval(method):
    """Of the configuration or of its baseline: half a unit of 1 over a mean of 10 is 5 %."""
    values = {"_values": [10.0, 10.1, 9.9], "_base_values": [10.0, 9.9, 10.1]}
    widths = {}
    for own, base in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]:
        rows = pl.DataFrame([SIDE | BASE | values | {"_resolution": own, "_base_resolution": base}])
        row = _ratios.with_intervals(rows, _ratios.Settings(method)).row(0, named=True)
        widths[own, base] = row["ratio_high"] - row["ratio_low"]
    assert widths[1.0, 0.0] > widths[0.0, 0.0] + 0.05
    assert widths[0.0, 1.0] > widths[0.0, 0.0] + 0.05


def test_labels_that_are_null_are_labels_like_others():
    table = pl.DataFrame({"host": ["a", "b"], "cores": [None, None], "runs": [2, 3], "mean": [4.0, 8.0]}).with_columns(
        pl.lit(0.0).alias("_var"), pl.lit([]).alias("_values"), pl.lit(None).alias("_resolution")
    )
    got = _ratios.beside_baseline(table, ["host", "cores"], {"host": "a"}, ["cores"])
    assert got["baseline_mean"].to_list() == [4.0, 4.0]


def test_of_a_baseline_that_is_there_twice_only_the_double_is_told():
    table = pl.DataFrame({"host": ["a"] * 4, "cores": [1, 2, 2, 4], "disk": ["x", "y", "z", "w"], "runs": [1] * 4})
    said = r"the baseline host=a is not unique: disk is y, z; name which in the baseline, or compare within disk$"
    with pytest.raises(EsxparseError, match=said):
        _ratios.beside_baseline(table, ["host", "cores", "disk"], {"host": "a"}, ["cores"])
