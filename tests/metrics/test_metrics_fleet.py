"""The waits of VMs over many hosts and days, by hand."""

from __future__ import annotations

import re
from datetime import date, timedelta

import polars as pl
import pytest
import vl_convert

from esxparse.charts import fleet as charts
from esxparse.charts import theme
from esxparse.errors import EsxparseError
from esxparse.metrics import fleet


def worlds(*rows):
    """Rows of host, day of November 2026, group, VM, world, ready."""
    names = ("host", "date", "group_id", "group", "world", "pct_ready")
    told = [dict(zip(names, (row[0], date(2026, 11, row[1]), *row[2:]), strict=True)) for row in rows]
    return pl.LazyFrame(told, schema_overrides={"pct_ready": pl.Float64})


ROWS = worlds(
    ("a", 5, 7, "db", "vmx-vcpu-0:db", 0.0),
    ("a", 5, 7, "db", "vmx-vcpu-1:db", 10.0),
    ("a", 5, 7, "db", "vmx-mks:db", 90.0),
    ("a", 5, 7, "db", "vmx-vcpu-1:db", None),
    ("a", 12, 9, "db", "vcpu-0:db", 30.0),
    ("b", 12, 7, "db", "vmm0:db", 4.0),
    ("b", 13, 7, "db", "vmm0:db", 4.0),
)


def test_each_vm_of_a_host_by_all_its_vcpus():
    """A VM that was started again has another group, and is one; another host's of the same name is another."""
    found = fleet.ready(ROWS).sort("host").collect()
    assert found.columns == ["host", "group_id", "vm", "p95_pct", "median_pct", "max_pct", "values"]
    assert found.rows() == [("a", 9, "db", 28, 10, 30, 3), ("b", 7, "db", 4, 4, 4, 2)]


def test_what_a_limit_withheld_is_taken_out_where_it_is_told_and_asked():
    """4 of 6 % withheld leave 2; more than the wait, as esxtop rounds, leaves nothing; a host may not tell it."""
    told = pl.LazyFrame({"world": ["vmm0:db", "vcpu-0:db"], "pct_max_limited": [4.0, 31.0]})
    rows = ROWS.join(told, on="world", how="left")
    found = fleet.ready(rows, limited=False).sort("host").collect()
    assert found["max_pct"].to_list() == [10, 0]
    assert fleet.ready(rows).collect()["max_pct"].sort().to_list() == [4, 30]
    assert fleet.ready_by_day(rows, limited=False).collect()["max_pct"].to_list() == [9.5, 0, 0]
    assert fleet.week_over_week(rows, limited=False).collect().rows() == [("a", "db", 9.5, 0, -9.5, 1, 1)]
    assert fleet.ready(ROWS, limited=False).collect()["max_pct"].sort().to_list() == [4, 30]
    again = ROWS.filter(host="a").with_columns(date=pl.date(2026, 11, 12))
    assert fleet.ready_by_day(again).collect()["vms"].to_list() == [1]


def test_each_day_by_its_vms():
    found = fleet.ready_by_day(ROWS).collect()
    assert found.columns == ["date", "vms", "median_pct", "p90_pct", "p99_pct", "max_pct"]
    assert [row[1:] for row in found.rows()] == [
        (1, 9.5, 9.5, 9.5, 9.5),
        (2, 17, pytest.approx(27.4), pytest.approx(29.74), 30),
        (1, 4, 4, 4, 4),
    ]


def test_weeks_end_with_the_last_day_and_have_seven():
    # The 13th is the last day: the week is from the 7th on, the one before it from 31 October to 6 November.
    assert fleet.week_over_week(ROWS).collect().rows() == [("a", "db", 9.5, 30, 20.5, 1, 1)]
    rows = worlds(*(("c", day, 1, "web", "vmx-vcpu-0:web", float(day)) for day in (1, 2, 8, 9, 15)))
    # The 9th is in the last week, the 2nd and the 8th in that before, the 1st in none.
    assert fleet.week_over_week(rows).collect().rows() == [
        ("c", "web", pytest.approx(7.7), pytest.approx(14.7), pytest.approx(7.0), 2, 2)
    ]


def test_a_table_of_one_capture_is_refused():
    with pytest.raises(EsxparseError, match="no column 'host'"):
        fleet.ready(ROWS.drop("host"))


@pytest.mark.parametrize(("days", "most"), [(2, 2), (14, 14), (40, 8), (100, 16), (400, 16), (1_500, 20)])
def test_the_days_of_a_chart_have_as_many_labels_as_it_has_room_for(days, most):
    vl_convert = pytest.importorskip("vl_convert")
    dates = [date(2024, 1, 20) + timedelta(days=day) for day in range(days)]
    frame = pl.DataFrame({"date": dates}).with_columns(median_pct=pl.lit(1.0), p90_pct=pl.lit(2.0), p99_pct=pl.lit(3.0))
    chart = charts.ready_by_day(frame)
    labels = re.findall(r">(\d\d \w{3}|\w{3} \d{4})<", vl_convert.vegalite_to_svg(chart.to_json()))
    assert 2 <= len(labels) <= most
    assert len(set(labels)) == len(labels)


def test_no_line_is_drawn_across_days_without_samples():
    """Three days without samples end a line; a weekend does not. A day between two gaps is a point."""
    days = (1, 2, 5, 20, 24)
    dates = [date(2026, 3, day) for day in days]
    frame = pl.DataFrame({"date": dates}).with_columns(median_pct=pl.lit(1.0), p90_pct=pl.lit(2.0), p99_pct=pl.lit(3.0))
    spec = charts.ready_by_day(frame).to_dict()
    (rows,) = spec["datasets"].values()
    told = {(row["date"][8:10], row["piece"], row["alone"]) for row in rows}
    assert told == {("01", 0, False), ("02", 0, False), ("05", 0, False), ("20", 1, True), ("24", 2, True)}
    assert "lines end where 3 days or more have no samples" in spec["title"]["subtitle"][0]
    assert spec["layer"][0]["encoding"]["detail"]["field"] == "piece"


def test_every_bar_of_the_spread_has_its_label():
    """Narrow as on the page, where every second one was left out, that of the tallest bar among them."""
    theme.use()
    frame = pl.DataFrame({"p95_pct": [0.1, 3.0, 3.0, 12.0]})
    svg = vl_convert.vegalite_to_svg(charts.ready_spread(frame).properties(width=300).to_dict())
    assert ">2 to 5</text>" in svg
    # A label that is left out is drawn, and not to be seen.
    assert 'opacity="0"' not in svg
