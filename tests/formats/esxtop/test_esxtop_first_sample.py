"""The first sample of a capture has no disk rates: it is told from an idle one, however the capture is read or cut."""

from __future__ import annotations

import datetime as dt
import gzip
import re

import compose
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import esxparse as ex
from esxparse.formats.esxtop.slice import slice_capture
from esxparse.metrics import storage

DISK = "Physical Disk SCSI Device(naa.1)"
OTHER = "Physical Disk SCSI Device(naa.2)"
VM = "Virtual Disk(db:scsi0:0)"
COLUMNS = [
    ("Physical Cpu(0)", "% Util Time"),
    (DISK, "Device Q Depth"),
    (DISK, "Active Commands"),
    (DISK, "Commands/sec"),
    (DISK, "Average Guest MilliSec/Command"),
    (OTHER, "Device Q Depth"),
    (OTHER, "Active Commands"),
    (OTHER, "Commands/sec"),
    (OTHER, "Average Guest MilliSec/Command"),
    (VM, "Reads/sec"),
]
FIRST = ["9.50", "32", "0", "0.00", "0.00", "32", "0", "0.00", "0.00", "0.00"]
BUSY = ["8.25", "32", "1", "15.00", "0.50", "32", "0", "0.00", "0.00", "4.00"]
IDLE = ["7.75", "32", "0", "0.00", "0.00", "32", "0", "0.00", "0.00", "0.00"]
STEP = dt.timedelta(seconds=1)
HEADER = compose.text(COLUMNS, []).rstrip("\n")


def lines(*samples: list[str] | str, start: int = 0) -> str:
    """A capture: samples, or lines as they are, five seconds apart."""
    rows = [one if isinstance(one, str) else compose.row(start + 5 * n, one) for n, one in enumerate(samples)]
    return "\n".join([HEADER, *rows]) + "\n"


def rates(rec: ex.Recording, device: str = "naa.1") -> list[float | None]:
    return rec["physical_disk_scsi_device"].filter(instance=device).collect()["commands_per_sec"].to_list()


def reads(rec: ex.Recording) -> list[float | None]:
    return rec["virtual_disk"].collect()["reads_per_sec"].to_list()


def said(rec: ex.Recording) -> list[tuple[int | None, str]]:
    return [(note.line, note.message) for note in rec.notes if "rates of disks" in note.message]


def same(one: ex.Recording, other: ex.Recording) -> None:
    assert list(one.tables) == list(other.tables)
    for name in one.tables:
        assert_frame_equal(one[name].collect(), other[name].collect(), check_exact=True)


@pytest.fixture(params=[False, True], ids=["at once", "in place"])
def lazy(request) -> bool:
    return request.param


def test_rates_and_latencies_are_null_and_states_are_not(tmp_path, lazy):
    rec = ex.open(compose.write(tmp_path, lines(FIRST, BUSY, IDLE, BUSY)), lazy=lazy)
    assert rates(rec) == [None, 15.0, 0.0, 15.0]
    assert rates(rec, "naa.2") == [None, 0.0, 0.0, 0.0]
    assert reads(rec) == [None, 4.0, 0.0, 4.0]
    device = rec["physical_disk_scsi_device"].filter(instance="naa.1").collect()
    assert device["average_guest_millisec_per_command"].to_list() == [None, 0.5, 0.0, 0.5]
    assert device["device_q_depth"].to_list() == [32.0] * 4
    assert device["active_commands"].to_list() == [0.0, 1.0, 0.0, 1.0]
    assert rec["physical_cpu"].collect()["pct_util_time"].to_list() == [9.5, 8.25, 7.75, 8.25]
    ((line, message),) = said(rec)
    assert line == 2
    assert "null in physical_disk_scsi_device, virtual_disk" in message


@pytest.mark.parametrize("place", [3, 4, 7, 8, 9])
def test_one_rate_above_zero_shows_that_disks_were_measured(tmp_path, lazy, place):
    """An interval at rest for one disk, or for a whole class of them, keeps its zeros."""
    first = [*FIRST[:place], "0.01", *FIRST[place + 1 :]]
    rec = ex.open(compose.write(tmp_path, lines(first, BUSY)), lazy=lazy)
    values = [*rates(rec), *rates(rec, "naa.2"), *reads(rec)]
    assert None not in values
    assert said(rec) == []


def test_each_start_of_esxtop_has_a_first_sample(tmp_path, lazy):
    content = lines(FIRST, BUSY, HEADER, "", FIRST, BUSY, HEADER, BUSY, IDLE)
    rec = ex.open(compose.write(tmp_path, content), lazy=lazy)
    assert rates(rec) == [None, 15.0, None, 15.0, 15.0, 0.0]
    ((line, message),) = said(rec)
    assert line == 2
    assert message.startswith("2 samples, each the first after a header")


def test_a_capture_behind_another_with_other_columns(tmp_path, lazy):
    before = compose.text(COLUMNS[:1], [["1.00"], ["2.00"]])
    rec = ex.open(compose.write(tmp_path, before + lines(FIRST, BUSY)), segment=2, lazy=lazy)
    assert rates(rec) == [None, 15.0]


@pytest.mark.parametrize("damaged", ['"03/02/2026 08:00:00","9.50","32"', compose.row(0, [*FIRST, "1"])])
def test_behind_a_first_row_that_is_lost_zeros_are_measured(tmp_path, lazy, damaged):
    rec = ex.open(compose.write(tmp_path, lines(damaged, IDLE, BUSY)), lazy=lazy)
    assert rates(rec) == [0.0, 15.0]


@pytest.mark.search
def test_a_start_at_the_end_of_a_piece_that_is_read(tmp_path, lazy, monkeypatch):
    """Captures are read in pieces: the header may be the last line of one, and the sample the first of the next."""
    content = lines(FIRST, BUSY, HEADER, "", FIRST, BUSY)
    file = compose.write(tmp_path, content)
    whole = ex.open(file, lazy=lazy)
    for size in range(len(HEADER) + 2, len(content), 7):
        monkeypatch.setattr("esxparse.formats.esxtop.body.PIECE", size)
        same(ex.open(file, lazy=lazy), whole)
    assert rates(whole) == [None, 15.0, None, 15.0]


def test_windows(tmp_path, lazy):
    file = compose.write(tmp_path, lines(FIRST, IDLE, BUSY, IDLE, BUSY))
    assert rates(ex.open(file, end="2026-03-02T08:00:05", lazy=lazy)) == [None, 0.0]
    later = ex.open(file, start="2026-03-02T08:00:05", lazy=lazy)
    assert rates(later) == [0.0, 15.0, 0.0, 15.0]
    assert said(later) == []
    assert rates(ex.open(file, every="10s", lazy=lazy)) == [None, 15.0, 15.0]
    one = ex.open(file, lazy=lazy)["physical_disk_scsi_device"]
    assert one.filter(pl.col("instance") == "naa.1", pl.col("commands_per_sec").is_null()).collect().height == 1
    assert one.filter(pl.col("time") > pl.col("time").min()).collect()["commands_per_sec"].null_count() == 0


def test_compressed_spreadsheets_and_converted(tmp_path):
    content = lines(FIRST, BUSY, IDLE)
    plain = ex.open(compose.write(tmp_path, content))
    packed = tmp_path / "capture.csv.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    same(ex.open(packed), plain)
    saved = compose.write(tmp_path, content.replace('"', "").replace("0.00", "0"), "saved.csv")
    assert rates(ex.open(saved, date_order="mdy")) == [None, 15.0, 0.0]
    made = ex.open(ex.convert(packed, tmp_path / "lake").folder)
    assert rates(made) == [None, 15.0, 0.0]
    assert said(made) == said(plain)


def test_a_slice_that_keeps_the_first_sample_opens_the_same(tmp_path):
    """Also of a disk that never does anything."""
    file = compose.write(tmp_path, lines(FIRST, BUSY, IDLE))
    for instance in ("naa.1", "naa.2"):
        part = tmp_path / "part.csv"
        slice_capture(file, part, instances=[re.escape(instance)])
        assert part.read_bytes().startswith(b'"(PDH-CSV 4.0) (UTC)(0)"')
        assert rates(ex.open(part), instance) == rates(ex.open(file), instance)


def test_a_slice_that_begins_later_loses_no_sample(tmp_path):
    file = compose.write(tmp_path, lines(FIRST, IDLE, BUSY, IDLE, BUSY))
    part, again = tmp_path / "part.csv", tmp_path / "again.csv"
    done = slice_capture(file, part, start="2026-03-02T08:00:05")
    assert rates(ex.open(part)) == [0.0, 15.0, 0.0, 15.0]
    assert part.read_bytes().startswith(b'"(PDH-CSV 4.0) (UTC, continued)(0)"')
    assert any("marked as a continuation" in note.message for note in done.notes)
    # A slice of the slice: with the sample at rest, and from a busy one on.
    slice_capture(part, again, tables=["virtual_disk"])
    assert reads(ex.open(again)) == [0.0, 4.0, 0.0, 4.0]
    slice_capture(part, again, start="2026-03-02T08:00:10")
    assert again.read_bytes().startswith(b'"(PDH-CSV 4.0) (UTC)(0)"')
    assert rates(ex.open(again)) == [15.0, 0.0, 15.0]


def test_a_slice_of_a_disk_at_rest_while_others_were_measured(tmp_path):
    first = [*FIRST[:3], "15.00", *FIRST[4:]]
    file, part = compose.write(tmp_path, lines(first, BUSY)), tmp_path / "part.csv"
    slice_capture(file, part, tables=["virtual_disk"])
    assert reads(ex.open(part)) == [0.0, 4.0]


def test_a_slice_keeps_the_header_of_a_start(tmp_path):
    file, part = compose.write(tmp_path, lines(FIRST, BUSY, HEADER, FIRST, IDLE, HEADER, BUSY)), tmp_path / "part.csv"
    slice_capture(file, part, instances=["naa.2"])
    assert rates(ex.open(part), "naa.2") == rates(ex.open(file), "naa.2") == [None, 0.0, None, 0.0, 0.0]
    assert part.read_text().count("PDH-CSV") == 2


@settings(deadline=None)
@given(
    kinds=st.lists(st.sampled_from([FIRST, BUSY, IDLE, [*IDLE[:9], "2.00"], "header"]), min_size=2, max_size=8),
    start=st.integers(0, 5),
    what=st.sampled_from([{}, {"tables": ["virtual_disk"]}, {"instances": ["naa.2"]}, {"instances": ["naa.1"]}]),
)
def test_a_slice_is_the_window_of_its_capture(tmp_path_factory, kinds, start, what):
    folder = tmp_path_factory.mktemp("slices")
    rows = [HEADER if one == "header" else compose.row(5 * n, one) for n, one in enumerate(kinds)]
    file, part = compose.write(folder, "\n".join([HEADER, *rows]) + "\n"), folder / "part.csv"
    since = f"2026-03-02T08:00:{5 * start:02d}"
    try:
        whole = ex.open(file, start=since)
    except ex.EsxparseError:
        return
    slice_capture(file, part, start=since, **what)
    sliced, in_place = ex.open(part), ex.open(part, lazy=True)
    same(sliced, in_place)
    for name, frame in sliced.tables.items():
        mine = frame.collect()
        theirs = whole[name].filter(pl.col("instance").is_in(mine["instance"].unique().implode())).collect()
        assert_frame_equal(mine, theirs.select(mine.columns), check_exact=True)


def test_means_of_a_study_leave_it_out(tmp_path):
    """15 I/Os a second over two measured samples are 15, where a third of 0 would make them 10."""
    file = compose.write(tmp_path, lines(FIRST, BUSY, BUSY))
    manifest = compose.write(tmp_path, '[[run]]\nname = "one"\nesxtop = "capture.csv"\n', "study.toml")
    row = ex.study(manifest).runs.collect().row(0, named=True)
    assert row["host_iops"] == 15.0
    per_device = storage.summary(storage.latency(ex.open(file)["physical_disk_scsi_device"])).collect()
    assert per_device["mean_iops"].to_list() == [15.0, 0.0]


def test_a_real_capture():
    rec = ex.open(compose.real_data("esxtop", "esxi65_all_counters.csv"))
    adapter = rec["physical_disk_adapter"].collect()
    assert adapter["commands_per_sec"].to_list() == [None, 13.16, 17.67]
    # (13.16 + 17.67) / 2, and not / 3
    assert adapter["commands_per_sec"].mean() == pytest.approx(15.415)
    worlds = rec["physical_disk_per_device_per_world"].filter(world_id=480214).collect()
    assert worlds["shares"].to_list() == [None, 5000.0, 5000.0]
    assert worlds["device_q_depth"].to_list() == [31.0] * 3
    # What is no disk has its numbers from the start: as many are null in sample 1 as in those after it.
    for name, frame in rec.tables.items():
        if "disk" in name:
            continue
        first, later = (
            frame.filter(pl.col("time").is_between(*span)).collect().null_count().row(0)
            for span in ((rec.meta["start"], rec.meta["start"]), (rec.meta["start"] + STEP, rec.meta["end"]))
        )
        assert [2 * nulls for nulls in first] == list(later), name
    ((line, _),) = said(rec)
    assert line == 2
