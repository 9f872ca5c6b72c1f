"""Few points, few series, short labels, and nothing lost on the way."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import polars as pl
import pytest
from chart_frames import START, ports, times, waits, watts
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from esxparse.charts.names import shorten, wrapped
from esxparse.charts.reduce import (
    Reduced,
    bucket_step,
    drawable,
    emptiest,
    leaders,
    over_time,
    pieces,
    ranking,
    rounded,
    spoken,
    with_labels,
)


def test_times_reach_the_chart_as_milliseconds_since_1970():
    frame = rounded(watts().collect())
    assert frame["time"][0] == START.timestamp() * 1000


def test_colours_of_one_chart_are_all_different():
    for vms in (3, 8, 50):
        places = leaders(with_labels(waits(vms=vms, samples=2), "instance"), "label", "contention_pct").places
        assert len(set(places)) == len(places)


def test_two_ports_of_one_name_stay_two():
    twins = ports().with_columns(client=pl.lit("twin"))
    labels = with_labels(twins, "client", "port_id").collect()["label"].unique().sort().to_list()
    assert labels == ["twin (0)", "twin (1)"]


def test_a_gap_is_longer_than_the_steps_of_its_own_series():
    def series(label, seconds):
        return [{"label": label, "time": START + timedelta(seconds=second), "value": 1.0} for second in seconds]

    steady = [*range(0, 100, 5), *range(200, 300, 5)]
    rows = series("steady", steady) + series("slow", range(0, 300, 60)) + series("whenever", [0, 1, 50, 51, 200, 201])
    frame = pl.DataFrame(rows[::-1])
    found = pieces(Reduced(frame, None), ["label"], "value")
    assert found.drop("piece", "alone").equals(frame), "the order of rows is the order of drawing"
    told = found.sort("label", "time").group_by("label", maintain_order=True).agg("piece", pl.col("alone").any())
    assert told.rows_by_key("label", unique=True) == {
        "slow": ([0] * 5, False),
        "steady": ([0] * 20 + [1] * 20, False),
        "whenever": ([0] * 6, False),
    }
    assert pieces(Reduced(frame.filter(label="slow"), None), ["label"], "value").columns == ["label", "time", "value"]


def test_samples_without_a_value_are_a_gap_where_they_are_many():
    values = [1.0, None, None, 2.0, None, None, None, 3.0, 4.0]
    times = [START + timedelta(seconds=5 * at) for at in range(len(values))]
    frame = pl.DataFrame({"label": "a", "time": times, "value": values})
    found = pieces(Reduced(frame, None), ["label"], "value")
    assert found.select("value", "piece", "alone").rows() == [
        (1.0, 0, False),
        (2.0, 0, False),
        (3.0, 1, False),
        (4.0, 1, False),
    ]


@pytest.mark.parametrize(("lost", "ends"), [(2, 1), (180, 2)])
def test_a_gap_in_a_day_of_buckets_is_one_where_a_bucket_is_empty(lost, ends):
    """Three buckets may be half an hour, which is no short step over a gap."""
    rows = [{"time": START + timedelta(seconds=5 * at), "value": 1.0} for at in range(17_280)]
    frame = pl.DataFrame(rows[:5000] + rows[5000 + lost :]).lazy()
    slow = pl.DataFrame(rows[::300]).lazy()
    both = pl.concat([frame.with_columns(label=pl.lit("a")), slow.with_columns(label=pl.lit("slow"))])
    found = pieces(over_time(both, ["value"], ["label"]), ["label"], "value")
    assert ("piece" in found.columns) == (ends > 1)
    if ends > 1:
        assert dict(found.group_by("label").agg(pl.col("piece").n_unique()).rows()) == {"a": 2, "slow": 1}


def test_long_names_keep_their_ends_and_stay_different():
    names = [f"naa.600009700001200700015330303341{number:02}" for number in range(20)]
    frame = pl.LazyFrame({"device": names})
    labels = with_labels(frame, "device").collect()["label"]
    assert labels.n_unique() == 20
    assert all(len(label) <= 18 and label.endswith(name[-3:]) for label, name in zip(labels, names, strict=True))


@given(name=st.text(max_size=80))
def test_a_short_label_fits(name):
    label = shorten(name)
    assert len(label) <= 18
    assert label == name or "…" in label


@settings(deadline=None, max_examples=examples(60))
@given(
    values=st.lists(
        st.one_of(st.none(), st.floats(min_value=-1e6, max_value=1e6, allow_subnormal=False)), min_size=1, max_size=400
    ),
    step_s=st.integers(1, 400),
    buckets=st.integers(2, 50),
    series=st.integers(1, 3),
)
def test_reducing_keeps_minima_and_maxima_and_bounds_the_points(values, step_s, buckets, series):
    names = [f"s{number % series}" for number in range(len(values))]
    frame = pl.LazyFrame(
        {"time": times(len(values), step_s), "label": names, "v": values}, schema_overrides={"v": pl.Float64}
    ).with_columns(pl.col("time").cast(pl.Datetime("us", "UTC")))
    reduced = over_time(frame, ["v"], ["label"], buckets=buckets)

    assert reduced.frame["time"].n_unique() <= max(buckets, 1)
    if len(values) <= buckets:
        assert reduced.step_s is None
    wanted = frame.group_by("label").agg(low=pl.col("v").min(), high=pl.col("v").max()).sort("label").collect()
    got = reduced.frame.group_by("label").agg(low=pl.col("v_min").min(), high=pl.col("v_max").max()).sort("label")
    assert got.equals(wanted)
    known = reduced.frame.drop_nulls("v")
    # A mean of equal floats may differ from them in the last place.
    slack = 1e-9 * (1 + known["v"].abs())
    assert ((known["v"] >= known["v_min"] - slack) & (known["v"] <= known["v_max"] + slack)).all()


@given(span=st.floats(0, 4e8), buckets=st.integers(2, 500))
def test_bucket_steps_are_long_enough(span, buckets):
    assert bucket_step(span, buckets) * (buckets - 1) >= span * (1 - 1e-12)


def test_steps_are_spoken_in_the_largest_unit_that_divides_them():
    assert [spoken(seconds) for seconds in (5, 90, 60, 300, 7200)] == ["5 s", "90 s", "1 min", "5 min", "2 h"]


def test_a_ranking_says_how_many_it_left_out():
    labelled = with_labels(waits(vms=40, samples=3), "instance")
    found, words = ranking(labelled, "instance", "contention_pct", "VMs", n=12)
    assert words == "12 of 40 VMs"
    assert found["full"].to_list() == [f"vm-{number:03}" for number in range(39, 27, -1)]
    assert all(first >= second for first, second in pairwise(found["p95"]))


def test_no_name_in_a_chart_is_one_that_objects_of_javascript_have():
    names = ["__proto__", "constructor", "db-01", None]
    drawn = rounded(pl.DataFrame({"label": names, "full": names, "v": [1.0, 2.0, 3.0, 4.0]}))
    assert (
        drawn["label"].to_list() == drawn["full"].to_list() == ["__proto__\u2060", "constructor\u2060", "db-01", None]
    )
    assert drawable(names[:3]) == drawn["label"].to_list()[:3]


def test_a_label_goes_where_the_fewest_lines_pass():
    times = [START + timedelta(seconds=number) for number in range(100)]
    values = [10.0 if number > 60 else 0.0 for number in range(100)]
    frame = pl.DataFrame({"label": "a", "time": times, "v": values, "v_min": values, "v_max": values})
    assert emptiest(frame, ["label"], "v", (9.0, 11.0), 0.3) == "left"
    assert emptiest(frame, ["label"], "v", (-1.0, 1.0), 0.3) == "right"
    # A line that jumps over the strip between two samples crosses it.
    assert emptiest(frame, ["label"], "v", (4.0, 6.0), 0.3) == "right"
    assert emptiest(frame, ["label"], "v", (4.0, 6.0), 0.9) == "right"


def test_a_step_of_just_a_bucket_is_a_step_between_buckets():
    """Between samples of their own step a gap is three of them; between buckets it is what the buckets say."""
    minutes = [*range(40), *range(41, 80)]
    frame = pl.DataFrame({"label": "a", "time": [START + timedelta(minutes=at) for at in minutes], "value": 1.0})
    for step_s, gap, stretches in ((60, 1.5, 2), (60, 2.5, 1), (59, 1.5, 1)):
        found = pieces(Reduced(frame, step_s, gap), ["label"], "value")
        assert (found["piece"].n_unique() if "piece" in found.columns else 1) == stretches


def test_what_has_no_name_has_no_label_and_is_not_drawn():
    frame = pl.LazyFrame({"vm": ["db", None, "web"], "group_id": [1, 2, None], "value": [1.0, 2.0, 3.0]})
    assert with_labels(frame, "vm").select("label", "value").collect().rows() == [("db", 1.0), ("web", 3.0)]
    assert with_labels(frame, "vm", "group_id").select("label", "value").collect().rows() == [("db", 1.0)]


def test_a_label_stands_in_the_middle_where_lines_pass_at_both_sides():
    values = [10.0] * 20 + [0.0] * 60 + [10.0] * 20
    times = [START + timedelta(seconds=number) for number in range(100)]
    frame = pl.DataFrame({"label": "a", "time": times, "v": values, "v_min": values, "v_max": values})
    assert emptiest(frame, ["label"], "v", (9.0, 11.0), 0.3) == "center"
    assert emptiest(frame, ["label"], "v", (-1.0, 1.0), 0.15) == "right"


@pytest.mark.parametrize(("lost", "stretches"), [(0, 1), (3, 1), (5, 1), (6, 2)])
def test_one_empty_bucket_of_three_samples_is_no_gap_and_two_are(lost, stretches):
    rows = [{"label": "a", "time": START + timedelta(seconds=5 * at), "value": 1.0} for at in range(500)]
    reduced = over_time(pl.DataFrame(rows[:240] + rows[240 + lost :]).lazy(), ["value"], ["label"])
    assert reduced.step_s == 15
    found = pieces(reduced, ["label"], "value")
    assert (found["piece"].n_unique() if "piece" in found.columns else 1) == stretches


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("fio-3.19: task_0", ["fio-3.19: task_0"]),
        ("fio-3.x_results: fio_randrw_1GB_4k", ["fio-3.x_results: ", "fio_randrw_1GB_4k"]),
        ("x" * 40, ["x" * 18, "x" * 18, "x" * 4]),
        ("", [""]),
    ],
)
def test_long_names_are_broken_behind_marks_and_nothing_of_them_is_lost(name, lines):
    assert wrapped(name).split("\n") == lines


@given(st.text("ab _:-世", max_size=80))
def test_lines_are_as_narrow_as_asked_and_are_the_name(name):
    told = wrapped(name)
    assert told.replace("\n", "") in {name, shorten(name, 54)}
    assert all(len(line) + line.count("世") <= 18 for line in told.split("\n"))
