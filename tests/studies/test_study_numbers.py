"""`runs`: figures that must not depend on how files were saved, cut or named, and windows that must not be ignored."""

from __future__ import annotations

import gzip
import re
from datetime import UTC, datetime, timedelta

import fio_outputs
import polars as pl
import pytest
import studies

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse.metrics import host_cpu, steady
from esxparse.quality.profile import together
from esxparse.recording import Recording
from esxparse.studies import facts, results
from esxparse.studies.entries import WindowSpec
from esxparse.studies.expand import Place
from esxparse.studies.opened import collected
from esxparse.studies.span import Span

ZERO = datetime(2026, 5, 4, 8, 0, tzinfo=UTC)
POWER = ex.datasets_dir() / "power"
READINGS = POWER / "dynamic-1.ilo.xml"
CUT = '{ start = "2015-02-06T10:05:00", end = "2015-02-06T10:10:00" }'
SAME = ("iops", "mb_per_s", "host_read_mb_per_s", "tx_mbit_per_s", "tx_packets_per_s", "pcpu_util_spread_pct")
HOST = "[host]\nmhz = 2600\ncores = 16\n"


def spreadsheet(text: str) -> str:
    """A capture as a spreadsheet saves it: times without seconds."""
    return re.sub(r'^"(\d\d/\d\d/\d{4} \d\d:\d\d):\d\d"', r"\1", text, flags=re.MULTILINE)


def write_fio(path, end, *jobs):
    """An output of fio whose jobs have names, begins and lengths in seconds."""
    found = []
    for name, begin, seconds in jobs:
        one = fio_outputs.job(name, read=fio_outputs.direction(20_000, msec=seconds * 1000))
        found.append({**one, "job_start": int(begin.timestamp() * 1000)})
    stamp = int(end.timestamp())
    path.write_text(fio_outputs.document(*found, timestamp=stamp, timestamp_ms=stamp * 1000))


def info(found):
    return [str(note) for note in found.notes if note.severity == "info"]


def test_samples_that_share_a_time_are_not_added_up(tmp_path):
    studies.write_capture(tmp_path / "a.csv", samples=32)
    # Without the first sample, which has no rates of disks: in the middle of a file nothing tells it from idle disks.
    header, _, rest = (tmp_path / "a.csv").read_text().split("\n", 2)
    text = f"{header}\n{rest}"
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "sheet.csv").write_text(spreadsheet(text))
    (tmp_path / "twice.csv").write_text(text + text.split("\n", 1)[1])
    runs = '[[run]]\nesxtop = "a.csv"\n[[run]]\nesxtop = { file = "sheet.csv", date_order = "mdy" }\n'
    found = studies.computed(tmp_path, HOST + runs + '[[run]]\nesxtop = "twice.csv"\n')
    whole, sheet, twice = studies.rows(found)
    for name in (*SAME, "used_mhz_per_mbps"):
        assert whole[name] > 0
        assert (sheet[name], twice[name]) == pytest.approx((whole[name],) * 2, rel=1e-9), name
    assert (sheet["samples"], twice["samples"]) == (31, 62)
    assert sheet["steady"] == whole["steady"]


def test_the_spread_of_pcpus_is_that_of_each_sample():
    table = pl.LazyFrame({"time": [0] * 4, "pcpu": [0, 1, 0, 1], "util_pct": [90.0, 10.0, 20.0, 30.0]})
    assert host_cpu.imbalance(table).collect()["spread_pct"].to_list() == [80.0, 10.0]


def test_power_is_cut_to_the_window_without_a_capture_too(tmp_path):
    capture = POWER / "dynamic-1.csv.bz2"
    text = f"[[run]]\npower = '{READINGS}'\nesxtop = '{capture}'\nwindow = {CUT}\n"
    for window in (CUT, '{ warmup = "5m", measure = "5m" }', '{ start = "2020-01-01", end = "2020-01-02" }'):
        text += f"[[run]]\npower = '{READINGS}'\nwindow = {window}\n"
    beside, by_hand, counted, outside = studies.rows(studies.computed(tmp_path, text))
    for row in (by_hand, counted):
        assert (row["watts"], row["energy_joules"]) == pytest.approx((168.2, 50_460))
        assert (row["watts"], row["energy_joules"]) == pytest.approx((beside["watts"], beside["energy_joules"]))
        assert (row["measured_s"], row["gap"]) == (300, None)
    assert by_hand["start"] == datetime(2015, 2, 6, 10, 5, tzinfo=UTC)
    assert (outside["watts"], outside["energy_joules"]) == (None, None)
    assert "is not within the power readings" in outside["gap"]


@pytest.mark.parametrize(
    "window", [CUT, '{ span = "fio", warmup = "1m", measure = "5m" }', '{ warmup = "1m", measure = "5m" }']
)
def test_power_beside_results_of_fio_is_cut_and_the_results_are_not(tmp_path, window):
    begin = datetime(2015, 2, 6, 10, 4, tzinfo=UTC)
    write_fio(tmp_path / "f.json", begin + timedelta(minutes=8), ("a", begin, 480))
    found = studies.computed(tmp_path, f"[[run]]\nfio = 'f.json'\npower = '{READINGS}'\nwindow = {window}\n")
    (row,) = studies.rows(found)
    assert (row["watts"], row["energy_joules"]) == pytest.approx((168.2, 50_460))
    assert (row["start"], row["measured_s"]) == (begin + timedelta(minutes=1), 300)
    assert row["iops"] == pytest.approx(20_000 / 480)
    assert any("the window does not apply to fio" in note for note in info(found))


def test_power_is_null_where_the_window_does_not_fit_the_capture(tmp_path):
    text = f"[[run]]\npower = '{READINGS}'\nesxtop = '{POWER / 'dynamic-1.csv.bz2'}'\nwindow = {{ warmup = '2h' }}\n"
    (row,) = studies.rows(studies.computed(tmp_path, text))
    assert row["watts"] is None
    assert "too short for 7200 s of warm-up" in row["gap"]
    assert "power: cannot tell which part to measure" in row["gap"]


def test_energy_between_moments_that_are_no_readings():
    zero = datetime(2026, 3, 2, tzinfo=UTC)
    times = [zero + timedelta(seconds=second) for second in (0, 10, 20, 30, 200)]
    table = pl.LazyFrame({"time": times, "watts": [100.0, 200.0, 200.0, 100.0, 500.0]})

    def between(first, last):
        ends = (zero + timedelta(seconds=second) for second in (first, last))
        return results.energy_between(table, *ends).drop("readings").collect().row(0)

    assert between(5, 15) == (10, 875 + 1000, 187.5)
    assert between(12, 18) == (6, 1200, 200)
    # Of a gap nothing is known, and one reading in it is power alone.
    assert between(25, 100) == (5, 625, 125)
    assert between(150, 250) == (0, None, 500)
    # A reading at the end is one of the span, and one at its beginning is of what was before.
    ends = zero, zero + timedelta(seconds=20)
    assert results.energy_between(table, *ends).collect()["readings"].item() == 2


def test_a_run_with_a_mistake_is_not_opened(tmp_path):
    studies.write_capture(tmp_path / "a.csv", samples=3)
    text = f"[[run]]\nesxtop = 'a.csv'\npower = '{READINGS}'\nvalues = {{ iops = 5.0 }}\nwindow = {{ warmup = 'x' }}\n"
    found = studies.computed(tmp_path, text + "[[run]]\nesxtop = 'a.csv'\n")
    wrong, right = studies.rows(found)
    assert "warmup 'x' is not a length of time" in wrong["gap"]
    assert (wrong["iops"], wrong["watts"], wrong["samples"], wrong["host_used_pct"]) == (None,) * 4
    assert (right["samples"], right["gap"]) == (3, None)


def test_throughput_and_power_of_the_manifest_go_before_the_capture_s(tmp_path):
    studies.write_capture(tmp_path / "a.csv", samples=5)
    text = HOST + "".join(
        f"[[run]]\nesxtop = 'a.csv'\nhost = {{ load_hosts = 1 }}\nvalues = {{ {values} }}\n"
        for values in ("mb_per_s = 500.0", "watts = 500", "x = 1")
    )
    found = studies.computed(tmp_path, text)
    moved, powered, plain = studies.rows(found)
    assert (moved["mb_per_s"], moved["iops"]) == (500, pytest.approx(plain["iops"]))
    assert moved["throughput_from"] == "the manifest and esxtop"
    assert moved["used_mhz_per_mbps"] == pytest.approx(moved["used_mhz"] / 500)
    assert (powered["watts"], powered["watts_from"]) == (500, "manifest")
    assert powered["measured_s"] == 40
    assert powered["energy_joules"] == pytest.approx(500 * 40)
    said = [note for note in info(found) if "by esxtop and 500 by the manifest: 500 is used" in note]
    assert [note.split(": ")[2].split()[0] for note in said] == ["mb_per_s", "watts"]


def test_an_idle_capture_is_kept_with_the_way_it_was_opened(tmp_path):
    studies.write_capture(tmp_path / "a.csv", samples=3)
    studies.write_capture(tmp_path / "b.csv", samples=3, vms=1, seed=2, start=studies.START + timedelta(hours=1))
    (tmp_path / "both.csv").write_text((tmp_path / "a.csv").read_text() + (tmp_path / "b.csv").read_text())
    text = "".join(
        f"[[run]]\nesxtop = 'a.csv'\nidle = {idle}\n"
        for number in (1, 2)
        for idle in (f'{{ file = "both.csv", segment = {number} }}', f"'{'ab'[number - 1]}.csv'")
    )
    first, a, second, b = (row["idle_used_pct"] for row in studies.rows(studies.computed(tmp_path, text)))
    assert (first, second) == (a, b)
    assert first != second


def test_the_span_of_fio_ends_with_the_last_of_its_jobs(tmp_path):
    start = studies.START
    studies.write_capture(tmp_path / "a.csv", samples=31)
    begin, end = start + timedelta(seconds=20), start + timedelta(seconds=120)
    write_fio(tmp_path / "f.json", end, ("a", begin, 40), ("b", start + timedelta(seconds=60), 60))
    (row,) = studies.rows(studies.computed(tmp_path, "[[run]]\nesxtop='a.csv'\nfio='f.json'\nwindow={span='fio'}\n"))
    assert (row["start"], row["end"]) == (begin, end)


def test_two_files_where_one_is_taken_are_a_gap(tmp_path):
    for name in ("a-1.csv", "a-2.csv"):
        studies.write_capture(tmp_path / name, samples=3)
    text = "[[run]]\nesxtop = ['a-*.csv']\nidle = ['a-*.csv']\n"
    (row,) = studies.rows(studies.computed(tmp_path, text))
    assert "esxtop" in row["gap"]
    assert "idle" in row["gap"]
    assert row["samples"] is None


def test_a_cut_file_is_read_and_a_warning_says_where_it_ends(tmp_path):
    studies.write_capture(tmp_path / "a.csv", samples=40)
    packed = gzip.compress((tmp_path / "a.csv").read_bytes(), mtime=0)
    (tmp_path / "cut.csv.gz").write_bytes(packed[: -len(packed) // 3])
    found = studies.computed(tmp_path, "[[run]]\nesxtop = 'cut.csv.gz'\n[[run]]\nesxtop='a.csv'\nidle='cut.csv.gz'\n")
    row = studies.rows(found)[0]
    assert 0 < row["samples"] < 40
    assert row["gap"] is None
    said = [note for note in studies.warnings(found) if "cut.csv.gz: gzip data is cut after" in note]
    assert [re.findall(r"run \d", note)[0] for note in said] == ["run 1", "run 2"]


def test_a_capture_of_one_sample_is_told_that_an_interval_needs_two(tmp_path):
    studies.write_capture(tmp_path / "a.csv", samples=1)
    (row,) = studies.rows(studies.computed(tmp_path, "[[run]]\nesxtop = 'a.csv'\n"))
    assert "one sample" in row["gap"]
    assert "an interval needs two" in row["gap"]
    assert "warm-up" not in row["gap"]


@pytest.mark.parametrize(("warmup", "measure"), [(1e300, None), (0, 1e300)])
def test_lengths_that_no_date_can_hold_are_too_long(warmup, measure):
    first = datetime(2026, 3, 2, tzinfo=UTC)
    with pytest.raises(EsxparseError, match="the recording is 60 s long, too short for"):
        steady.measured_span(first, first + timedelta(seconds=60), warmup, measure)


def test_a_time_that_no_calendar_has_is_a_gap():
    gaps = []
    with collected(gaps):
        studies.START + timedelta(days=4_000_000)
    assert gaps == ["the measured span lies beyond the year 9999: change window or clock"]


def test_a_sensor_that_is_not_there_is_named_with_those_that_are(tmp_path):
    meter = studies.FORMATS / "power-pdu-export.csv"
    text = f"[[run]]\npower = {{ file = '{meter}', sensor = 'A3' }}\nwindow = {{ warmup = '1s' }}\n"
    (row,) = studies.rows(studies.computed(tmp_path, text))
    assert "has no readings of sensor 'A3'; it has: 'A1', 'A2'" in row["gap"]


def test_readings_without_times_are_not_cut_and_a_note_says_so(tmp_path):
    text = f"[[run]]\npower = '{studies.FORMATS / 'redfish-ilo5-power.json'}'\nwindow = {{ warmup = '1s' }}\n"
    found = studies.computed(tmp_path, text)
    (row,) = studies.rows(found)
    assert (row["watts"], row["gap"]) == (308, None)
    assert any("its readings have no times" in note for note in info(found))


def trace(**columns):
    """A packet trace of ten requests, a second apart, of which two reads have no reply."""
    rows = {
        "time": [ZERO + timedelta(seconds=second) for second in range(10)],
        "direction": ["read"] * 6 + ["write"] * 4,
        "latency_ms": [1.0, 2.0, None, 3.0, None, 4.0, 5.0, 6.0, 7.0, 8.0],
        "offset_bytes": [4096 * place for place in range(10)],
        "size_bytes": [4096] * 10,
    }
    frame = pl.LazyFrame(rows | columns)
    return Recording("packets", "a.pcap", {"nfs": frame}, {"start": ZERO, "end": ZERO + timedelta(seconds=9)})


def test_requests_without_a_reply_count_as_requests():
    span = Span(ZERO - timedelta(seconds=1), ZERO + timedelta(seconds=9))
    found = results.requests([trace()], WindowSpec(), span, timedelta(0))
    assert found["wire_read_per_s"] == 0.6
    assert found["wire_write_per_s"] == 0.4
    assert found["wire_unanswered"] == 2
    assert found["wire_read_p50_ms"] == 2.5


def test_a_trace_measured_by_itself_is_on_the_clock_of_the_study():
    """Its own span is moved with its packets: none is lost however far the clock was off."""
    for clock in (timedelta(0), timedelta(hours=2), timedelta(hours=-3)):
        found = results.requests([trace()], WindowSpec(), None, clock)
        assert found["wire_write_p50_ms"] == 6.5
        assert found["wire_read_per_s"] == pytest.approx(6 / 9)


def test_the_memory_of_a_host_is_the_most_that_it_had():
    """Samples of a host whose memory was added to while it ran."""
    memory = pl.LazyFrame({"time": [ZERO] * 3, "machine_mbytes": [1024.0, 2048.0, 2048.0]})
    rec = Recording("esxtop", "a.csv", {"memory": memory}, {"host": "esx-1"})
    assert facts.of_capture(rec)["memory_mib"] == 2048


@pytest.mark.parametrize("name", ["https://example.org/a.csv", "../a.csv", "/etc/a.csv"])
def test_a_manifest_reads_nothing_outside_its_directory(tmp_path, name):
    with pytest.raises(EsxparseError, match="outside"):
        Place(tmp_path, outside=False).check("esxtop", name)
    Place(tmp_path, outside=True).check("esxtop", name)
    Place(tmp_path, outside=False).check("esxtop", "a.csv")


@pytest.mark.parametrize(
    ("hosts", "most"), [(["esx-1"], None), (["esx-1", "esx-1"], 1), (["esx-2", "esx-1", "esx-2"], 2)]
)
def test_captures_of_a_study_are_of_as_many_hosts_as_they_name(hosts, most):
    captures = [Recording("esxtop", f"{place}.csv", {}, {"host": host}) for place, host in enumerate(hosts)]
    rows = together(captures).filter(name="hosts").rows(named=True)
    assert [(row["max"], row["max_at"]) for row in rows] == (
        [] if most is None else [(most, ", ".join(sorted({*hosts})))]
    )
