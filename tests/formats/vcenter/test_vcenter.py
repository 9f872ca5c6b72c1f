"""Charts of vCenter and Aria Operations: which counter, which object, which interval, and ready time as percent."""

from __future__ import annotations

import datetime as dt

import pytest
from compose import write

import esxparse as ex
from esxparse.formats.kit.head import Head
from esxparse.formats.registry import reader_of

SAMPLES = ex.datasets_dir() / "formats"


def opened(tmp_path, text, **options):
    rec = ex.open(write(tmp_path, text), **options)
    assert rec.format == "vcenter"
    return rec


def chart(step, values, title="Ready for web-01"):
    start = dt.datetime(2026, 11, 22, 8, tzinfo=dt.UTC)
    times = [start + place * dt.timedelta(seconds=step) for place in range(len(values))]
    rows = [f'"{time:%m/%d/%Y, %I:%M:%S %p}","{value}"' for time, value in zip(times, values, strict=True)]
    return "\n".join([f'"Time","{title}"', *rows]) + "\n"


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


def test_get_stat_states_its_interval_and_unit_itself():
    rec = ex.open(SAMPLES / "vcenter-getstat.csv")
    waits = rec["cpu_waits"].collect()
    assert waits["entity"].to_list() == ["db-01", "db-01", "esx-07.lab.example"]
    assert waits["pct"].to_list() == pytest.approx([10.0, 8.0, 1820 / 3000])
    assert waits["pct_per_vcpu"].null_count() == 3
    assert [note.message for note in rec.notes if "vCPUs" in note.message] == [
        "number of vCPUs not known of 1 object (db-01): pct is the sum over them, pct_per_vcpu is null"
    ]
    samples = rec["samples"].collect()
    assert samples["time"][0] == dt.datetime(2026, 11, 22, 8, 15, tzinfo=dt.UTC)
    assert samples["entity_id"].to_list()[-1] == "HostSystem-host-12"


def test_a_column_of_vcpus_and_hundredths_of_the_api(tmp_path):
    rec = opened(
        tmp_path,
        "VM;NumCpu;Timestamp;cpu.ready.summation;cpu.readiness.average;mem.usage.average\n"
        "a;4;2026-11-22T08:00:00Z;800;400;2067\na;4;2026-11-22T08:00:20Z;400;200;2100\n",
    )
    assert rec["cpu_waits"].collect()["pct_per_vcpu"].to_list() == pytest.approx([1.0, 0.5])
    samples = rec["samples"].collect()
    assert samples.filter(counter="cpu.readiness.average")["value"].to_list() == [4.0, 2.0]
    assert samples.filter(counter="mem.usage.average")["value"].to_list() == [20.67, 21.0]
    assert "percentages are hundredths, as the API gives them: divided by 100" in [note.message for note in rec.notes]


def test_percent_that_ready_time_confirms_stays_as_it_is(tmp_path):
    rec = opened(
        tmp_path,
        "VM,Timestamp,cpu.ready.summation,cpu.readiness.average\n"
        "a,2026-11-22T08:00:00Z,800,4\na,2026-11-22T08:00:20Z,400,2\n",
    )
    assert rec["samples"].collect().filter(counter="cpu.readiness.average")["value"].to_list() == [4.0, 2.0]


def test_instances_that_do_not_add_up_tell_no_number_of_vcpus(tmp_path):
    rec = opened(
        tmp_path,
        '"Time","Ready for web-01","Ready for 0"\n"2026-11-22 08:00:00",412,200\n"2026-11-22 08:00:20",400,180\n',
    )
    waits = rec["cpu_waits"].collect()
    assert waits["vcpus"].to_list() == [None] * 4
    assert waits.filter(instance="0")["pct_per_vcpu"].to_list() == pytest.approx([1.0, 0.9])


def test_a_label_of_several_groups_is_told_by_the_chart_s_other_columns(tmp_path):
    alone = opened(tmp_path, chart(20, [3, 4], "Usage for web-01"))
    assert alone["samples"].collect().select("counter", "unit").row(0) == ("Usage", None)
    assert "may be of several groups" in str(alone.notes)
    both = opened(
        tmp_path, '"Time","Usage for a","Co-stop for a"\n"2026-11-22 08:00:00","3","0"\n"2026-11-22 08:00:20","3","0"\n'
    )
    assert both["samples"].collect()["counter"].to_list()[:2] == ["cpu.usage.average", "cpu.costop.summation"]


def test_aria_s_titles_hold_object_counter_and_unit():
    rec = ex.open(SAMPLES / "vcenter-aria.csv")
    samples = rec["samples"].collect()
    assert samples.select("entity", "counter", "unit").unique(maintain_order=True).rows() == [
        ("web-01", "CPU|Ready", "%"),
        ("web-01", "CPU|Co-stop", "%"),
        ("web-01", "Memory|Usage", "%"),
    ]
    assert samples.height == 8


def test_doubtful_dates_are_refused_until_their_order_is_said(tmp_path):
    text = chart(20, [3, 4]).replace("11/22/2026", "11/03/2026")
    with pytest.raises(ex.EsxparseError, match="date_order"):
        opened(tmp_path, text)
    rec = opened(tmp_path, text, date_order="dmy")
    assert rec.meta["start"] == dt.datetime(2026, 3, 11, 8, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("stamp", "hour"),
    [
        ("Sun Nov 22 2026 08:15:00 GMT+0100 (Central European Standard Time)", 7),
        ("2026-11-22T08:15:00+02:00", 6),
        ("22.11.2026 08:15:00", 8),
        ("11/22/2026 8:15:00\u202fAM", 8),
        ("1795335300000", 8),
    ],
)
def test_times_of_browsers_powershell_and_the_api(tmp_path, stamp, hour):
    rec = opened(tmp_path, f'"Time","Ready for a"\n"{stamp}","3"\n')
    assert rec.meta["start"] == dt.datetime(2026, 11, 22, hour, 15, tzinfo=dt.UTC)
    assert "one time only" in str(rec.notes)


def test_what_is_no_value_is_told_with_its_line(tmp_path):
    rec = opened(tmp_path, chart(20, [1, "n/a", 3, 4]) + '"11/22/2026, 9:00:00 AM"\n"soon","1"\n')
    told = [str(note) for note in rec.notes if note.severity == "warning"]
    assert told == [
        "line 6: 1 cells where the titles are 2: left out",
        "line 3: 'n/a' is no number: left out",
        "line 7: no time, left out; the first: 'soon'",
    ]


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


@pytest.mark.parametrize(
    "forms", [("%-m/%-d/%Y %-H:%M", "%-d/%-m/%Y %-H:%M"), ("%Y-%d-%m %H:%M:%S", "%d/%m/%Y %H:%M:%S")]
)
def test_days_that_a_spreadsheet_took_for_months_are_swapped_back(tmp_path, forms):
    times = [dt.datetime(2026, 4, 9, 12, tzinfo=dt.UTC) + dt.timedelta(hours=12 * step) for step in range(16)]
    rows = "".join(f'"{time.strftime(forms[time.day > 12])}","{at}"\n' for at, time in enumerate(times))
    rec = opened(tmp_path, '"Time","Ready for web-01"\n' + rows)
    assert rec["samples"].collect()["time"].to_list() == times
    assert "took days up to 12 for months" in str([note for note in rec.notes if note.severity == "warning"])
