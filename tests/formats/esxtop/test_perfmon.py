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


def opened(path, text, **options):
    path.write_bytes(text.replace("\n", "\r\n").encode())
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
