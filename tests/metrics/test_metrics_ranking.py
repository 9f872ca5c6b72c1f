"""Rankings agree with plain Python, leave out what is no value, and never change their mind."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import inventory, ranking

if TYPE_CHECKING:
    from esxparse.metrics.ranking import Order

SCHEMA = {"vm": pl.String, "value": pl.Float64}


def percentile(values: list[float], share: float) -> float:
    """Linear interpolation between the two nearest of the sorted values, in plain Python."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def test_mean_p95_and_max_by_hand() -> None:
    # 0..20: mean 10, p95 at place 0.95 x 20 = 19, max 20
    frame = pl.LazyFrame({"vm": ["a"] * 21, "value": [float(v) for v in range(21)]})
    assert ranking.top(frame, "vm", "value").drop("variability").collect().rows() == [("a", 10.0, 19.0, 20.0, 21)]
    # two samples: p95 lies 95 % of the way from the lower to the higher
    two = pl.LazyFrame({"vm": ["a", "a"], "value": [0.0, 100.0]})
    assert ranking.top(two, "vm", "value").collect()["p95"].to_list() == [95.0]


def test_variability_is_the_deviation_over_the_mean_and_a_mean_may_be_weighted() -> None:
    frame = pl.LazyFrame({"vm": ["a", "a", "b", "b"], "value": [1.0, 3.0, 0.0, 0.0], "commands": [3.0, 1.0, 1.0, 0.0]})
    got = ranking.top(frame, "vm", "value", order="variability").collect()
    assert got["vm"].to_list() == ["a", "b"]
    assert got["variability"].to_list() == [pytest.approx(statistics.stdev([1.0, 3.0]) / 2.0), None]
    weighted = ranking.top(frame, "vm", "value", weight="commands").collect()
    assert weighted.select("vm", "mean", "samples").rows() == [("a", 1.5, 2), ("b", 0.0, 1)]


def test_what_has_a_value_without_a_weight_is_ranked() -> None:
    """A port that drops all its packets has none that passed: it was left out of those that drop most."""
    ports = {"port": ["all", "all", "some", "some", "idle"], "value": [100.0, 100.0, 4.0, 100.0, 0.0]}
    frame = pl.LazyFrame({**ports, "passed": [0.0, None, 8.0, 0.0, 0.0]})
    got = ranking.top(frame, "port", "value", weight="passed").collect()
    assert got.select("port", "mean", "max", "samples").rows() == [("all", 100.0, 100.0, 2), ("some", 4.0, 100.0, 2)]


def test_the_order_decides_who_is_first() -> None:
    frame = pl.LazyFrame(
        {"vm": ["steady"] * 40 + ["spiky"] * 40, "value": [5.0] * 40 + [0.0] * 39 + [90.0]},
    )
    for order, first in (("mean", "steady"), ("p95", "steady"), ("max", "spiky")):
        got = ranking.top(frame, "vm", "value", n=1, order=order).collect()  # type: ignore[arg-type]
        assert got["vm"].to_list() == [first]


def test_ties_are_settled_by_name() -> None:
    frame = pl.LazyFrame({"vm": ["c", "a", "b"] * 3, "value": [7.0] * 9})
    for _ in range(5):
        assert ranking.top(frame, "vm", "value", n=2).collect()["vm"].to_list() == ["a", "b"]


def test_null_nan_and_rollup_rows_are_left_out() -> None:
    frame = pl.LazyFrame(
        {"pcpu": [0, 0, 0, 1, 2, None], "util": [10.0, None, math.nan, 30.0, None, 20.0]},
    )
    assert ranking.top(frame, ["pcpu"], "util").drop("variability").collect().rows() == [
        (1, 30.0, 30.0, 30.0, 1),
        (0, 10.0, 10.0, 10.0, 1),
    ]


def test_vms_of_one_name_are_ranked_apart_by_their_ids() -> None:
    frame = pl.LazyFrame({"group_id": [7, 9], "vm": ["web", "web"], "ready": [1.0, 2.0]})
    assert ranking.top(frame, ["group_id", "vm"], "ready").drop("variability").collect().rows() == [
        (9, "web", 2.0, 2.0, 2.0, 1),
        (7, "web", 1.0, 1.0, 1.0, 1),
    ]


def test_idle_worlds_are_not_the_busiest_when_left_out() -> None:
    vcpu = pl.LazyFrame(
        {
            "group_id": [1, 7, 7],
            "group": ["system", "db", "db"],
            "world": ["idle0", "vmx-vcpu-0:db", "vmx"],
            "pct_used": [98.0, 40.0, 1.0],
        }
    )
    got = ranking.top(inventory.only_kinds(vcpu, "vcpu"), ["group", "world"], "pct_used").collect()
    assert got["world"].to_list() == ["vmx-vcpu-0:db"]


def test_an_empty_table_has_an_empty_ranking_with_its_columns() -> None:
    got = ranking.top(pl.LazyFrame(schema=SCHEMA), "vm", "value").collect()
    assert got.is_empty()
    assert dict(got.schema) == {
        "vm": pl.String,
        "mean": pl.Float64,
        "p95": pl.Float64,
        "max": pl.Float64,
        "variability": pl.Float64,
        "samples": pl.Int64,
    }


def test_questions_without_an_answer_are_refused() -> None:
    frame = pl.LazyFrame(schema=SCHEMA)
    with pytest.raises(EsxparseError, match="n of 1 or more, not 0"):
        ranking.top(frame, "vm", "value", n=0)
    with pytest.raises(EsxparseError, match=r"unknown order 'p99': did you mean 'p95'\? choose from mean, p95, max"):
        ranking.top(frame, "vm", "value", order="p99")  # type: ignore[arg-type]
    with pytest.raises(EsxparseError, match=r"no column 'valu': did you mean 'value'\? the table has value, vm"):
        ranking.top(frame, "vm", "valu")
    with pytest.raises(EsxparseError, match="at least one column"):
        ranking.top(frame, [], "value")


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c", "日本語"]),
            st.none() | st.integers(min_value=-10_000, max_value=10_000).map(lambda hundredths: hundredths / 100),
        ),
        max_size=60,
    ),
    n=st.integers(min_value=1, max_value=5),
    order=st.sampled_from(["mean", "p95", "max"]),
)
def test_top_agrees_with_plain_python(rows: list[tuple[str, float | None]], n: int, order: Order) -> None:
    by_vm: dict[str, list[float]] = {}
    for vm, value in rows:
        if value is not None:
            by_vm.setdefault(vm, []).append(value)
    wanted = {
        vm: {
            "mean": statistics.fmean(values),
            "p95": percentile(values, 0.95),
            "max": max(values),
            "samples": len(values),
        }
        for vm, values in by_vm.items()
    }
    got = ranking.top(pl.LazyFrame(rows, schema=SCHEMA, orient="row"), "vm", "value", n=n, order=order).collect()
    assert got.height == min(n, len(wanted))
    for row in got.iter_rows(named=True):
        for name, number in wanted[row["vm"]].items():
            assert row[name] == pytest.approx(number, abs=1e-9)
    ranked = sorted((stats[order] for stats in wanted.values()), reverse=True)[:n]
    assert got[order].to_list() == pytest.approx(ranked, abs=1e-9)
