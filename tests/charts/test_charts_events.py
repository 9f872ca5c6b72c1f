"""What the charts of hardware events draw of rates given by hand: scales, weights, order, and what finds no room."""

from __future__ import annotations

import math
from statistics import median

import polars as pl
import pytest
from specs import subtitle_of, values_of

from esxparse.charts import events


def encoding(chart, channel, layer=-1):
    return chart.to_dict()["layer"][layer]["encoding"][channel]


def rates(of, ends=None, *, by_poll=False, unit=None):
    """A table of rates: `of` event the rates of its intervals, which end at `ends`."""
    lines = [
        (float(end), event, unit, value)
        for event, values in of.items()
        for end, value in zip(ends or range(1, len(values) + 1), values, strict=True)
    ]
    schema = {"x": pl.Float64, "event": pl.String, "unit": pl.String, "per_s": pl.Float64}
    return pl.LazyFrame(lines, schema=schema, orient="row").with_columns(by_poll=pl.lit(by_poll))


def test_events_within_a_factor_share_a_chart_by_their_mean_over_time():
    # Means over time: 10 s at 1,000 and 1 s at 100,000 are 10,000; by interval they would be 50,500.
    (chart,) = events.over_time(rates({"a": [1e3, 1e5], "b": [900.0, 900.0]}, ends=(10, 11)))
    assert chart.to_dict()["title"]["text"] == "a and 1 more"
    apart = events.over_time(rates({"a": [1e3, 1e5], "b": [800.0, 800.0]}, ends=(10, 11)))
    assert [one.to_dict()["title"]["text"] for one in apart] == ["a", "b"]
    assert events.panels([("a", 120.0), ("b", 10.0), ("c", 9.9)]) == [["a", "b"], ["c"]]
    assert events.panels([(f"e{one}", 100.0 - one) for one in range(9)]) == [[f"e{one}" for one in range(8)], ["e8"]]


@pytest.mark.parametrize(
    ("highest", "title", "factor"),
    [
        (999.0, "events per second", 1),
        (1e3, "thousands of events per second", 1e3),
        (1e6, "millions of events per second", 1e6),
        (2e9, "billions of events per second", 1e9),
    ],
)
def test_the_axis_has_the_unit_of_its_highest_rate(highest, title, factor):
    (chart,) = events.over_time(rates({"a": [highest, highest / 2]}))
    assert encoding(chart, "y")["title"] == title
    assert values_of(chart, "x", "value") == [(1.0, highest / factor), (2.0, highest / 2 / factor)]
    # The one line has room above it and begins at 0.
    assert encoding(chart, "y")["scale"]["domain"] == pytest.approx([0, 1.06 * highest / factor])


def test_many_intervals_are_drawn_as_means_over_time_with_a_band():
    ends = [one if one <= 300 else 300 + 3 * (one - 300) for one in range(1, 331)]
    values = [100.0 + one % 10 for one in range(330)]
    (chart,) = events.over_time(rates({"a": values}, ends=ends))
    step = (ends[-1] - ends[0]) / 180
    lengths = [end - before for before, end in zip([0, *ends], ends, strict=False)]
    drawn = {x: (value, low, high) for x, value, low, high in values_of(chart, "x", "value", "low", "high")}
    for place in (0, 90, 140, 170):
        inside = [one for one, end in enumerate(ends) if place <= end / step < place + 1]
        of = [values[one] for one in inside]
        told = sum(values[one] * lengths[one] for one in inside) / sum(lengths[one] for one in inside)
        x = next(one for one in drawn if abs(one - place * step) < 1e-2 * step + 1e-3)
        assert drawn[x] == pytest.approx((told, min(of), max(of)), rel=1e-3)
    assert "band: lowest to highest interval" in subtitle_of(chart)
    (few,) = events.over_time(rates({"a": values[:180]}))
    assert "band" not in subtitle_of(few)
    assert len(values_of(few, "x")) == 180


def test_an_event_that_never_moves_from_zero_or_has_one_rate_is_not_drawn():
    charts = events.over_time(rates({"a": [1.0, 2.0], "b": [0.0, 0.0], "c": [None, 5.0], "d": [None, None]}))
    assert [values_of(chart, "event") for chart in charts] == [[("a",)]]
    with_gap = events.over_time(rates({"a": [1.0, None, 2.0]}), "guest")
    assert "recording: guest" in subtitle_of(with_gap[0]).lower()
    assert "gaps: not counted on every CPU" in subtitle_of(with_gap[0])


def counts(values, unit="events per second"):
    lines = [("misses", f"CPU{cpu}", value, unit) for cpu, value in enumerate(values)]
    schema = {"event": pl.String, "aggregate": pl.String, "value": pl.Float64, "unit": pl.String}
    return pl.LazyFrame(lines, schema=schema, orient="row")


def test_the_cpus_with_the_most_are_drawn_beside_the_median_of_all():
    values = [float(1000 + 100 * (cpu * 7 % 13)) for cpu in range(13)]
    chart = events.spread(counts(values), "misses")
    shown = values_of(chart, "label", "value")
    ordered = sorted(values, reverse=True)
    assert [value for _, value in shown] == [one / 1000 for one in ordered[:12]]
    assert {one for (one,) in values_of(chart, "median")} == {median(values) / 1000}
    assert "the highest 12 of 13" in subtitle_of(chart).lower()
    assert f"tick: median of all 13, {median(values):,.0f}" in subtitle_of(chart)
    twelve = events.spread(counts(values[:12]), "misses")
    assert "highest" not in subtitle_of(twelve)


def test_one_cpu_or_nothing_but_zeros_is_no_spread():
    assert events.spread(counts([5.0]), "misses") is None
    assert events.spread(counts([0.0, 0.0]), "misses") is None
    assert events.spread(counts([5.0, 0.0]), "other") is None
    assert "median of all 2, 2.5" in subtitle_of(events.spread(counts([5.0, 0.0]), "misses"))
    assert "median of all 2, 100" in subtitle_of(events.spread(counts([99.0, 101.0]), "misses"))


def compared(of):
    lines = [(event, *pair) for event, pair in of.items()]
    schema = {"event": pl.String, "value_ratio": pl.Float64, "rate_ratio": pl.Float64}
    return pl.LazyFrame(lines, schema=schema, orient="row")


def test_the_events_furthest_from_one_are_drawn_from_the_highest_to_the_lowest():
    of = {f"e{place}": (1.0 + place / 10, 1.0 + place / 20) for place in range(11)}
    of |= {"down": (0.2, 0.5), "none": (None, None), "zero": (0.0, None), "half": (None, 0.5)}
    chart = events.ratios(compared(of), "new", "old")
    order = list(dict.fromkeys(event for (event,) in values_of(chart, "event")))
    # Twelve of thirteen: the one of ratio 1 is left out.
    assert set(order) == {*(f"e{place}" for place in range(1, 11)), "down", "half"}
    assert "the 12 of 13 events furthest from 1" in subtitle_of(chart)
    labels = (
        encoding(chart, "y")["scale"]["domain"] if "scale" in encoding(chart, "y") else encoding(chart, "y")["sort"]
    )
    assert labels == [*(f"e{place}" for place in range(10, 0, -1)), "down", "half"] or labels == [
        *(f"e{place}" for place in range(10, 0, -1)), "half", "down"
    ]  # fmt: skip
    scale = encoding(chart, "x")["scale"]
    assert scale["type"] == "linear"
    assert scale["domain"] == pytest.approx([0.2 * 0.92, 2.0 * (1 + 0.06 * math.log2(10))])
    wide = encoding(events.ratios(compared(of | {"up": (4.1, 4.1)}), "new", "old"), "x")["scale"]
    assert wide["type"] == "log"
    assert wide["domain"] == pytest.approx([0.2 / 1.15, 4.1 * 1.15])
    assert events.ratios(compared({"none": (None, 0.0)}), "new", "old") is None
