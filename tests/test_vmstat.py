"""vmstat: real outputs, screens of titles, runs that follow each other, zones."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime

import pytest

import esxparse as ex

TITLES = """procs -----------memory---------- ---swap-- -----io---- -system-- ----cpu---- ---timestamp---
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa                CEST
"""
ROW = " 1  0      0 100000  16188 147676    0    0  1714  4986  420 2142 55  7 37  1 2026-07-01 12:00:{second:02}\n"


def rows(count):
    return "".join(ROW.format(second=second) for second in range(count))


def opened(path, text):
    path.write_text(text)
    return ex.open(path)


@pytest.mark.needs("vmstat")
@pytest.mark.parametrize("options", [("-w",), ("-a", "-t", "1", "2")])
def test_samples_of_the_real_tool(tmp_path, options):
    done = subprocess.run([shutil.which("vmstat"), *options], capture_output=True, text=True, check=True)
    rec = opened(tmp_path / "a", done.stdout)
    frame = rec["vmstat"].collect()
    printed = [line.split() for line in done.stdout.splitlines()[2:]]
    assert frame["since_boot"].to_list() == [True, False][: len(printed)]
    assert frame["free_kib"].to_list() == [float(row[3]) for row in printed]
    assert frame["context_switches_per_s"].to_list() == [float(row[11]) for row in printed]
    assert ("time" in frame.columns) == ("-t" in options)


@pytest.mark.needs("vmstat")
def test_disks_and_counters_of_the_real_tool(tmp_path):
    def printed(option):
        return subprocess.run([shutil.which("vmstat"), option], capture_output=True, text=True, check=True).stdout

    rec = opened(tmp_path / "a", printed("-d"))
    assert rec["disk"].collect().height == len(printed("-d").splitlines()) - 2
    counters = opened(tmp_path / "b", printed("-s"))["counters"].collect()
    assert counters.row(0)[0] == "total memory"
    assert counters.row(0)[2] == "K"


def test_zones_are_read(tmp_path):
    frame = opened(tmp_path / "a", TITLES + rows(3))["vmstat"].collect()
    assert frame["time"][0] == datetime(2026, 7, 1, 10, 0, 0, tzinfo=UTC)
    assert frame["interval_s"].to_list() == [None, 1.0, 1.0]


def test_titles_that_come_again_before_a_screen_is_full_begin_another_run(tmp_path):
    screens = opened(tmp_path / "a", TITLES + rows(21) + TITLES + rows(21) + TITLES + rows(3))["vmstat"].collect()
    assert screens["since_boot"].sum() == 1
    runs = opened(tmp_path / "a", TITLES + rows(12) + TITLES + rows(12))["vmstat"].collect()
    assert runs["since_boot"].sum() == 2
    assert runs["report"].to_list() == [*range(1, 13)] * 2


def test_a_damaged_row_is_noted_and_left_out(tmp_path):
    rec = opened(tmp_path / "a", TITLES + rows(2).replace("1714", "17x4", 1))
    assert rec["vmstat"].collect().height == 1
    assert [(note.line, note.severity) for note in rec.notes if "left out" in note.message] == [(3, "warning")]


def test_the_zone_of_the_clock_can_be_given(tmp_path):
    (tmp_path / "a").write_text(TITLES.replace("CEST", " IST") + rows(1))
    rec = ex.open(tmp_path / "a", zone="Asia/Kolkata")
    assert rec["vmstat"].collect()["time"][0] == datetime(2026, 7, 1, 6, 30, 0, tzinfo=UTC)
