"""Windows performance counters: relog's and typeperf's CSV, told from captures of esxtop."""

from __future__ import annotations

import datetime as dt

import compose
import pytest

import esxparse as ex

TYPEPERF = r"""
"(PDH-CSV 4.0)","\\WIN-01\Processor(_Total)\% Processor Time","\\WIN-01\LogicalDisk(C:)\Avg. Disk sec/Read"
"11/22/2026 20:00:01.123","12.345678","0.000123"
"11/22/2026 20:00:02.125","-1","0.000500"

Exiting, please wait...
The command completed successfully.
"""


def opened(path, text, encoding="utf-8", **options):
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    return ex.open(path, **options)


def test_the_zone_of_the_header_makes_utc():
    rec = ex.open(ex.datasets_dir() / "formats" / "perfmon-guest.csv")
    assert rec.format == "perfmon"
    assert rec.meta["host"] == "WIN-GUEST-01"
    # UTC = local + bias, which is -60 minutes.
    assert rec.meta["start"] == dt.datetime(2026, 3, 2, 8, 0, 0, 412000, tzinfo=dt.UTC)
    information = rec["processor_information"].collect()
    assert set(information["instance"]) == {"0,0", "0,1"}
    assert "pct_processor_time" in information.columns
    assert rec["memory"].collect()["available_mbytes"].dtype.is_float()
    assert "vms" not in rec.meta


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_typeperf_has_no_zone_and_minus_one_for_no_value(tmp_path, encoding):
    rec = opened(tmp_path / "a.csv", TYPEPERF, encoding)
    assert rec.format == "perfmon"
    processor = rec["processor"].collect()
    assert processor["pct_processor_time"].to_list() == [12.345678, None]
    assert processor["time"][0] == dt.datetime(2026, 11, 22, 20, 0, 1, 123000, tzinfo=dt.UTC)
    assert rec["logicaldisk"].collect()["avg_disk_sec_per_read"].to_list() == [0.000123, 0.0005]
    assert any("no zone" in note.message for note in rec.notes)


def test_localized_names_stay(tmp_path):
    text = TYPEPERF.replace("(PDH-CSV 4.0)", "(PDH-CSV 4.0) (Mitteleuropäische Zeit)(-60)")
    text = text.replace(r"Processor(_Total)\% Processor Time", r"Prozessor(_Total)\Prozessorzeit (%)")
    rec = opened(tmp_path / "a.csv", text)
    assert rec["prozessor"].collect()["prozessorzeit_pct"].to_list() == [12.345678, None]
    assert rec.meta["start"].hour == 19


def test_captures_of_esxtop_stay_such_whatever_program_saved_them(tmp_path):
    capture = compose.text([("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used")], [["1", "2"], ["2", "3"]])
    for at, zone in enumerate(("UTC)(0", "Pacific Standard Time)(480")):
        text = capture.replace("UTC)(0", zone)
        assert opened(tmp_path / f"{at}.csv", text).format == "esxtop"
    memory = compose.text([("Memory", "Free MBytes")], [["1"], ["2"]]).replace("UTC)(0", "Pacific Standard Time)(480")
    assert opened(tmp_path / "memory.csv", memory).format == "esxtop"


def test_a_window_and_other_options_are_those_of_captures():
    path = ex.datasets_dir() / "formats" / "perfmon-guest.csv"
    rec = ex.open(path, start="2026-03-02T08:00:30", lazy=True)
    assert rec.meta["samples"] == 6
    assert rec["system"].collect().height == 6


def test_a_directory_of_logs_is_one_recording(tmp_path):
    for name in ("b10.csv", "b2.csv"):
        opened(tmp_path / name, TYPEPERF)
    assert ex.open(tmp_path)["processor"].collect()["file"].to_list() == ["b2.csv"] * 2 + ["b10.csv"] * 2


def test_the_zone_of_typeperfs_clock_can_be_given(tmp_path):
    rec = opened(tmp_path / "a.csv", TYPEPERF, zone="Europe/Berlin", start="2026-11-22T19:00:02")
    assert rec["processor"].collect()["time"].to_list() == [dt.datetime(2026, 11, 22, 19, 0, 2, 125000, tzinfo=dt.UTC)]
    with pytest.raises(ex.EsxparseError, match="states its zone: leave zone out"):
        ex.open(ex.datasets_dir() / "formats" / "perfmon-guest.csv", zone="+01:00")


GERMAN = (
    "(PDH-CSV 4.0);\\\\P\\Prozessor(_Total)\\Prozessorzeit (%);\\\\P\\System\\Kontextwechsel/s\n"
    "13.07.2026 10:00:00;12,5;4.096\n13.07.2026 10:00:05;0,78;12.288\n"
)


def test_numbers_of_a_german_windows_are_at_their_scale_and_its_zone_counts(tmp_path):
    file = tmp_path / "german.csv"
    file.write_text(GERMAN)
    rec = ex.open(file, zone="Europe/Berlin")
    assert rec["system"].collect()["kontextwechsel_per_s"].to_list() == [4096.0, 12288.0]
    assert rec["prozessor"].collect()["prozessorzeit_pct"].to_list() == [12.5, 0.78]
    assert rec.meta["start"].isoformat() == "2026-07-13T08:00:00+00:00"


def test_three_digits_after_a_point_are_refused_if_nothing_settles_them(tmp_path):
    file = tmp_path / "german.csv"
    file.write_text('"(PDH-CSV 4.0)","\\\\P\\System\\Switches/s"\n"07/13/2026 10:00:00","4.096"\n')
    with pytest.raises(ex.EsxparseError, match=r"'4.096' .* is 4.096 or 4096"):
        ex.open(file)
    assert ex.open(file, decimal="comma")["system"].collect()["switches_per_s"].to_list() == [4096.0]


@pytest.mark.parametrize("day", ["03/29/2026", "10/25/2026"])
def test_a_clock_that_changes_within_the_file_is_refused(tmp_path, day):
    lines = [
        r'"(PDH-CSV 4.0)","\\web-01\Memory\Available MBytes"',
        *(f'"{day} 0{hour}:30:00.000","100"' for hour in (0, 3)),
    ]
    file = tmp_path / "a.csv"
    file.write_text("\n".join(lines) + "\n")
    with pytest.raises(ex.EsxparseError, match="the clock of Europe/Berlin changes between"):
        ex.open(file, zone="Europe/Berlin")
    assert ex.open(file, zone="Etc/GMT-1").meta["samples"] == 2
