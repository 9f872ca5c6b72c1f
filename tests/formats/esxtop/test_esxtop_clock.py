"""Clocks that were set while a capture was taken: what is said of it, and that no time is shifted."""

from __future__ import annotations

import datetime as dt
import re

import compose
import polars as pl
import pytest

import esxparse as ex

COLUMNS = [("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used"), ("Group Cpu(2:b)", "% Used")]


def jumps(rec):
    """What is said of the clock, with the line."""
    said = [note for note in rec.notes if "clock" in note.message or "backward" in note.message]
    return [(note.line, note.message.partition(", as ")[0]) for note in said]


def clocked(*seconds, stamp=compose.STAMP):
    """A capture with a sample at each of these seconds after eight, the header again where one is None."""
    header = compose.text(COLUMNS, [], stamp=stamp).strip()
    moments = [None if one is None else dt.datetime(2026, 3, 29, 8) + dt.timedelta(seconds=one) for one in seconds]  # noqa: DTZ001  local
    rows = [f'"{time:%m/%d/%Y %H:%M:%S}","1","2","3"' if time else header for time in moments]
    return "\n".join([header, *rows]) + "\n"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        ((3590, 3595, 0, 5, 10), [(4, "the clock was set back by an hour at line 4")]),
        ((3590, 3595, 0, 5, 3600, 5), [(4, "the clock was set back by an hour at lines 4, 7")]),
        ((3580, 3590, 3600, 10, 20), [(5, "the clock was set back by an hour at line 5")]),
        # A sample or two lost on the way, or one taken early.
        ((3590, 3595, 5, 10, 15), [(4, "the clock was set back by an hour at line 4")]),
        ((3590, 3595, 30, 35, 40), [(4, "time goes backward once: rows kept in file order")]),
        # The same hour appended with its header, and another hour before it.
        ((3590, 3595, None, 0, 5, 10), [(5, "time goes backward once: rows kept in file order")]),
        ((7200, 7205, 0, 5, 10), [(4, "time goes backward once: rows kept in file order")]),
        # Samples so far apart that an hour is a step like any other.
        ((3600, 5400, 3600, 5400), [(4, "time goes backward once: rows kept in file order")]),
        # On UTC, an hour that is missing is missing.
        ((0, 5, 3610, 3615, 3620), []),
    ],
)
def test_a_clock_that_was_set_back_is_told_from_other_jumps(tmp_path, seconds, said):
    assert jumps(ex.open(compose.write(tmp_path, clocked(*seconds)))) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        ((0, 5, 3610, 3615, 3620), [(4, "the clock was set ahead by an hour at line 4")]),
        ((0, 5, 3615, 3620, 3625), [(4, "the clock was set ahead by an hour at line 4")]),
        ((0, 5, 3640, 3645, 3650), []),
        ((0, 5, None, 3610, 3615, 3620), []),
        ((0, 1800, 5400, 7200, 9000), []),
    ],
)
def test_a_clock_in_a_zone_that_was_set_ahead_is_told_from_other_gaps(tmp_path, seconds, said):
    stamp = "(PDH-CSV 4.0) (W. Europe Standard Time)(-60)"
    assert jumps(ex.open(compose.write(tmp_path, clocked(*seconds, stamp=stamp))))[:1] == said


def test_a_real_capture_whose_clock_is_set_back_keeps_every_row(tmp_path):
    lines = compose.real_data("esxtop", "esxi65_all_counters.csv").read_text().splitlines()
    at = [re.sub(r"^\"[^\"]*", f'"10/28/2018 {time}', lines[1]) for time in ("02:59:50", "02:59:55", "02:00:00")]
    rec = ex.open(compose.write(tmp_path, "\n".join([lines[0], *at]) + "\n"))
    assert jumps(rec) == [(4, "the clock was set back by an hour at line 4")]
    assert rec["memory"].collect()["time"].dt.hour().to_list() == [2, 2, 2]


@pytest.mark.parametrize("lazy", [False, True])
def test_queries_that_sort_by_time_get_it_sorted_where_the_file_is_not(tmp_path, lazy):
    columns = [("Group Cpu(1:a)", "% Used"), ("Group Cpu(2:b)", "% Used")]
    lines = [compose.row(second, [f"{second}.25", "0.50"]) for second in (50, 55, 5, 10)]
    header = compose.text(columns, [])
    back = ex.open(compose.write(tmp_path, header + "\n".join(lines) + "\n"), lazy=lazy)["group_cpu"]
    wanted = [5.25, 10.25, 50.25, 55.25]
    assert back.filter(pl.col("group") == "a").sort("time").collect()["pct_used"].to_list() == wanted
    assert back.filter(pl.col("time") < pl.col("time").max()).collect().height == 6
    forth = ex.open(compose.write(tmp_path, header + "\n".join(lines[:2]) + "\n", "forth.csv"), lazy=False)["group_cpu"]
    assert forth.collect()["time"].flags["SORTED_ASC"]
