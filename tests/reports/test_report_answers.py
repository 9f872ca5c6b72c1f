"""The sentences, tables and charts of a study over a sweep, against arithmetic on figures given by hand."""

from __future__ import annotations

from math import prod

import pytest
from studied import made

from esxparse.reports.study import charts, gather, tables, words

HEAD = 'axis = "hosts"\n'
SWEEP = {4: 1000.0, 8: 1900.0, 16: 3000.0}


def runs(points, column="iops", times=1, **labels):
    """Runs over a sweep, `times` of each, with figures 2 % to either side of what is given."""
    spread = {1: (1.0,), 2: (0.98, 1.02), 3: (0.98, 1.0, 1.02)}[times]
    return [
        ({**labels, "hosts": hosts}, {column: value * factor}) for hosts, value in points.items() for factor in spread
    ]


def told(path, **more):
    return words.answer(gather.gather(path, **more))


def lines(block):
    return [line.split() for line in block.text.splitlines()[2:] if line]


def test_of_several_sweeps_the_range_of_shares_of_a_straight_line(tmp_path):
    other = {4: 500.0, 8: 1000.0, 16: 1900.0}
    every = [*runs(SWEEP, mode="a"), *runs(other, mode="b")]
    (sentence,) = told(made(tmp_path, every, HEAD))
    shares = sorted(100 * points[16] / points[4] / 4 for points in (SWEEP, other))
    assert shares == [75.0, 95.0]
    assert (
        sentence
        == "IOPS at the largest number of hosts is 75 to 95 % of a straight line through the least, in 2 sweeps."
    )


def test_repetitions_of_a_point_are_their_mean_and_gaps_have_none(tmp_path):
    every = [*runs({4: 1000.0}, times=2), ({"hosts": 4}, {"latency_mean_ms": 3.0})]
    every += [*runs({8: 1500.0}), *runs({16: 3600.0}, times=3)]
    answers = told(made(tmp_path, every, HEAD), values=["iops"])
    assert answers == ["IOPS grows from 1,000 at 4 to 3,600 at 16 hosts: 90 % of what a straight line gives."]


@pytest.mark.parametrize(
    ("points", "other", "said"),
    [
        ({4: 1000.0, 8: 970.0, 32: 900.0}, None, "IOPS falls from 1,000 at 4 to 900 at 32 hosts."),
        ({4: 1000.0, 8: 1050.0, 32: 1100.0}, None, "IOPS grows from 1,000 at 4 to 1,100 at 32 hosts."),
        (
            {4: 1000.0, 8: 1050.0, 32: 1200.0},
            {4: 1100.0, 8: 1150.0, 32: 1300.0},
            "IOPS grows from 1,000 to 1,100 at 4 to 1,200 to 1,300 at 32",
        ),
        (
            {4: 1000.0, 8: 1050.0, 32: 1200.0},
            {4: 1250.0, 8: 1150.0, 32: 1300.0},
            "IOPS goes from 1,000 to 1,250 at 4 to 1,200 to 1,300 at 32",
        ),
        (
            {4: 1000.0, 8: 970.0, 32: 900.0},
            {4: 950.0, 8: 800.0, 32: 940.0},
            "IOPS falls from 950 to 1,000 at 4 to 900 to 940 at 32",
        ),
    ],
)
def test_what_hardly_grows_has_its_ends_alone(tmp_path, points, other, said):
    every = [*runs(points, mode="a"), *(runs(other, mode="b") if other else [])]
    (sentence,) = told(made(tmp_path, every, HEAD))
    assert sentence.startswith(said)


def test_a_value_of_which_less_is_better_has_its_range(tmp_path):
    (sentence,) = told(made(tmp_path, runs({4: 1.5, 8: 9.0, 16: 4.0}, "latency_mean_ms"), HEAD))
    assert sentence == "latency mean: 1.5 to 9 ms in 3 runs."


def test_means_of_repetitions_stand_in_the_table_with_how_many_they_are(tmp_path):
    every = [*runs({4: 1000.0}, times=2), *runs({16: 3600.0}, times=3)]
    every[-1] = ({"hosts": 16}, {"iops": 5000.0})
    found = gather.gather(made(tmp_path, every, HEAD))
    mean = (3600 * 0.98 + 3600 + 5000) / 3
    assert lines(tables.measured(found)) == [["4", "2", "1,000"], ["16", "3", f"{mean:,.0f}"]]


@pytest.mark.parametrize(("column", "straight"), [("iops", True), ("latency_mean_ms", False)])
def test_a_straight_line_is_drawn_where_more_is_better_and_something_is_swept(tmp_path, column, straight):
    found = gather.gather(made(tmp_path, runs(SWEEP, column), HEAD))
    (chart,) = charts.usual(found)
    spec = chart.to_dict()
    drawn = [row for rows in spec["datasets"].values() for row in rows if row.get("linear") is not None]
    assert bool(drawn) is straight
    if straight:
        assert {(row["place"], row["linear"]) for row in drawn} == {(one, 250.0 * one) for one in SWEEP}


def test_nothing_swept_is_no_line(tmp_path):
    every = [({"mode": mode}, {"iops": iops}) for mode, iops in (("a", 1000.0), ("b", 3000.0))]
    for chart in charts.usual(gather.gather(made(tmp_path, every))):
        assert "linear" not in str(chart.to_dict()["datasets"])


RATIOS = (1.5, 1.2, 0.5, 1.0)


def test_better_and_worse_comparisons_are_counted_with_their_range_and_mean(tmp_path):
    """At four places of the sweep, three repetitions that hardly differ."""
    every = []
    for place, factor in enumerate(RATIOS):
        for step in (-1, 0, 1):
            every.append(({"mode": "old", "hosts": 2**place}, {"iops": 1000.0 + step}))
            every.append(({"mode": "new", "hosts": 2**place}, {"iops": 1000.0 * factor + step}))
    (sentence,) = [
        one for one in told(made(tmp_path, every, HEAD + 'baseline = { mode = "old" }\n')) if one.startswith("new")
    ]
    mean = 100 * (prod((1.5, 1.2)) ** 0.5 - 1)
    assert f"higher in 2 of 4 comparisons, by 20 to 50 % (geometric mean {mean:.3g} %), which is better" in sentence
    assert "lower in 1 of 4 comparisons, by 50 %, which is worse" in sentence
    assert "equal within 2 % in 1 of 4" in sentence


def test_the_table_of_a_comparison_has_means_and_their_ratio(tmp_path):
    every = [
        ({"mode": mode}, {"iops": value + step})
        for mode, value in (("old", 800.0), ("new", 1000.0))
        for step in (0, 3, 9)
    ]
    found = gather.gather(made(tmp_path, every, 'baseline = { mode = "old" }\n'))
    ((_, *line),) = lines(tables.compared(found))
    ratio = 1004 / 804
    low, high = map(float, line[5:7])
    assert line == [
        *("3", "1,004", "804", "200", f"{ratio:.3f}", line[5], line[6]),
        *(f"{100 * (ratio - 1):.1f}", "higher"),
    ]
    assert low < ratio < high


def test_a_quarter_of_a_straight_line_is_still_compared_with_one(tmp_path):
    (sentence,) = told(made(tmp_path, runs({4: 1000.0, 8: 1500.0, 16: 1000.0}), HEAD))
    assert sentence.endswith(": 25 % of what a straight line gives.")
    (sentence,) = told(made(tmp_path, runs({4: 1000.0, 8: 1500.0, 16: 999.0}), HEAD))
    assert sentence == "IOPS falls from 1,000 at 4 to 999 at 16 hosts."


def test_a_sweep_from_nothing_is_compared_with_no_straight_line(tmp_path):
    (sentence,) = told(made(tmp_path, runs({0: 10.0, 8: 1500.0, 16: 3000.0}), HEAD))
    assert sentence == "IOPS: 10 to 3,000 in 3 runs."
