"""Charts of vCenter and Aria Operations: which counter, which object, which interval, and ready time as percent."""

from __future__ import annotations

import datetime as dt

import pytest
from compose import write

import esxparse as ex
from esxparse.formats.kit.head import Head
from esxparse.formats.registry import reader_of

SAMPLES = ex.datasets_dir() / "formats"


def opened(tmp_path, text):
    rec = ex.open(write(tmp_path, text))
    assert rec.format == "vcenter"
    return rec


def chart(step, values):
    start = dt.datetime(2026, 11, 22, 8, tzinfo=dt.UTC)
    times = [start + place * dt.timedelta(seconds=step) for place in range(len(values))]
    rows = [f'"{time:%m/%d/%Y, %I:%M:%S %p}","{value}"' for time, value in zip(times, values, strict=True)]
    return "\n".join(['"Time","Ready for web-01"', *rows]) + "\n"


def test_ready_time_of_the_client_s_chart_is_percent_of_a_vcpu():
    rec = ex.open(SAMPLES / "vcenter-chart.csv")
    waits = rec["cpu_waits"].collect().filter(counter="cpu.ready.summation")
    last = waits.filter(ms=1204.0).row(0, named=True)
    # 1,204 ms of 20 s are 6.02 % of one vCPU, or 3.01 % of two.
    assert (last["pct"], last["vcpus"], last["pct_per_vcpu"]) == (pytest.approx(6.02), 2, pytest.approx(3.01))
    assert last["pct_per_vcpu"] == pytest.approx(ex.metrics.scheduling.ms_to_pct(1204, 20, 2))
    vcpus = waits.filter(instance="1")
    assert vcpus["pct_per_vcpu"].to_list() == pytest.approx([1.06, 1.03, 3.02])
    usage = rec["samples"].collect().filter(counter="cpu.usage.average")
    assert usage.select("entity", "value", "unit").row(0) == ("web-01", 31.25, "%")
    assert rec.meta["interval"] == 20.0


@pytest.mark.parametrize(
    ("step", "ms"), [(20, 2_000), (300, 30_000), (1800, 180_000), (7200, 720_000), (86400, 8_640_000)]
)
def test_ten_percent_in_every_interval_of_vcenter(tmp_path, step, ms):
    rec = opened(tmp_path, chart(step, [ms] * 15))
    assert rec["cpu_waits"].collect()["pct"].to_list() == pytest.approx([10.0] * 15)
    assert rec["cpu_waits"].collect()["vcpus"].null_count() == 15
    assert "pct is the sum over them" in rec.notes[-1].message


@pytest.mark.parametrize(
    "text",
    [
        "Time,Ready to ship\n2026-01-01,3\n",
        "Date,Waiting for delivery\n2026-01-01,3\n",
        "time,metric,value\n2026-01-01,disk.io,3\n",
        "Timestamp,org.apache.kafka.average\n1,2\n",
        "see cpu.ready.summation at any time\n",
        "time,{x}: cpu|usage\n",
        "time,date of,one|two,three,four\n1,2,3,4,5\n",
    ],
)
def test_other_tables_with_a_time_are_none_of_vcenter(text):
    assert not reader_of("vcenter").recognise(Head(text.encode()))


def test_get_stat_with_the_newest_first_and_an_unknown_counter_at_its_top(tmp_path):
    rows = [
        ("0,5", "13:01:00", "foo.bar.average"),
        ("4,5", "13:00:40", "cpu.usage.average"),
        ("3", "13:00:20", "cpu.usage.average"),
        ("1,5", "13:00:00", "cpu.usage.average"),
        ("3", "13:00:20", "cpu.usage.average"),
        ("7", "13:00:20", "cpu.usage.average"),
    ]
    titles = '"Value";"Timestamp";"MetricId";"Unit";"Entity";"IntervalSecs";"Instance"'
    lines = [f'"{value}";"02.11.2026 {time}";"{name}";"%";"web, 01";"20";""' for value, time, name in rows]
    file = tmp_path / "stat.csv"
    file.write_text("\n".join(["#TYPE FloatSampleImpl", titles, *lines, ""]), encoding="utf-8-sig")
    rec = ex.open(file)
    usage = rec["samples"].filter(counter="cpu.usage.average").collect()
    assert usage["time"].is_sorted()
    assert usage["value"].to_list() == [1.5, 3.0, 7.0, 4.5]
    messages = [note.message for note in rec.notes]
    assert "1 value repeated for the same time: left out" in messages
    assert any("1 other value for a time that a series has already" in text for text in messages)
