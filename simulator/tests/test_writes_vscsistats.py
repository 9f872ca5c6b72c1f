"""vscsiStats histograms as the simulator writes them: what our reader gets back, what agrees, what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import polars as pl
import pytest
from compose import real_data, write
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.metrics import io_profile
from esxparse_simulator.measured import SHAPES, Access, Distribution, Measured, Side, Worker
from esxparse_simulator.writers.vscsistats import Commands, VirtualDisk, lines, of_worker

KINDS = {
    "ioLength": ["io_length"] * 3,
    "seekDistance": ["seek_distance"] * 3 + ["seek_distance_of_16"],
    "latency": ["latency"] * 3,
    "outstandingIOs": ["outstanding"] * 3,
    "interarrival": ["interarrival"] * 3,
}
READS = Commands(50000, 65536, Distribution(1.5, "flash"))
WRITES = Commands(20001, 4096, Distribution(6.0))
DISK = VirtualDisk(2099979, 8194, "scsi0:0", 120.0, READS, WRITES, sequential_pct=60.0, outstanding=16.0)


def opened(tmp_path, *parts):
    return ex.open(write(tmp_path, b"".join(line for part in parts for line in part), "vscsi.out"))


def summary(rec, histogram, direction="all"):
    of_it = (pl.col("histogram") == histogram) & (pl.col("direction") == direction)
    return rec["summaries"].collect().filter(of_it).row(0, named=True)


def bins(rec, histogram, direction="all"):
    of_it = (pl.col("histogram") == histogram) & (pl.col("direction") == direction)
    return dict(rec["histograms"].collect().filter(of_it).select("to", "count").rows())


COMMANDS = st.builds(
    Commands,
    count=st.integers(1, 10**7) | st.integers(1, 30),
    size=st.integers(1, 1 << 22),
    latency=st.builds(Distribution, st.floats(0, 5000), st.sampled_from(list(SHAPES))),
)
DISKS = st.builds(
    VirtualDisk,
    world_group_id=st.integers(0, 10**9),
    handle_id=st.integers(0, 10**6),
    seconds=st.floats(0.1, 10**6),
    reads=st.none() | COMMANDS,
    writes=st.none() | COMMANDS,
    disk=st.sampled_from(["scsi0:0", "scsi3:15", "sata0:1"]),
    sequential_pct=st.floats(0, 100),
    outstanding=st.floats(1, 256),
)


@settings(max_examples=examples(60), deadline=None)
@given(DISKS)
def test_what_was_written_is_read_back(tmp_path_factory, disk):
    rec = opened(tmp_path_factory.mktemp("vscsi"), lines([disk]))
    assert not rec.notes
    found = rec["summaries"].collect()
    assert found["histogram"].to_list() == [name for names in KINDS.values() for name in names]
    assert found.select("world_group_id", "handle_id", "disk", "sample").unique().rows() == [
        (disk.world_group_id, disk.handle_id, disk.disk, 1)
    ]
    reads, writes = (commands.count if commands else 0 for commands in (disk.reads, disk.writes))
    counts = {"all": reads + writes, "read": reads, "write": writes}
    assert found["count"].to_list() == [counts[direction] for direction in found["direction"]]
    for kind, commands in (("read", disk.reads), ("write", disk.writes)):
        if not counts[kind]:
            continue
        assert summary(rec, "latency", kind)["mean"] == pytest.approx(1000 * commands.latency.mean, abs=1)
        pause = summary(rec, "interarrival", kind)["mean"]
        assert pause == pytest.approx(disk.seconds * 1e6 / commands.count, rel=1e-6, abs=1)
        assert summary(rec, "io_length", kind)["mean"] == commands.size
    if counts["all"]:
        assert summary(rec, "outstanding")["mean"] == pytest.approx(disk.outstanding, abs=1)


@settings(max_examples=examples(60), deadline=None)
@given(DISKS)
def test_every_histogram_agrees_with_itself(tmp_path_factory, disk):
    rec = opened(tmp_path_factory.mktemp("vscsi"), lines([disk]))
    both = rec["histograms"].collect(), rec["summaries"].collect()
    for whole in both[1].to_dicts():
        own = both[0].filter((pl.col("histogram") == whole["histogram"]) & (pl.col("direction") == whole["direction"]))
        full = own.filter(pl.col("count") > 0).to_dicts()
        assert own["count"].sum() == whole["count"]
        if not full:
            assert (whole["min"], whole["max"], whole["mean"]) == (0, 0, 0)
            continue
        # The smallest and the largest lie in the first and the last bin that are not empty.
        assert whole["min"] <= (full[0]["to"] if full[0]["to"] is not None else whole["min"])
        assert full[0]["from"] is None or whole["min"] > full[0]["from"]
        assert full[-1]["from"] is None or whole["max"] > full[-1]["from"]
        assert full[-1]["to"] is None or whole["max"] <= full[-1]["to"]
        assert whole["min"] <= whole["mean"] <= whole["max"] or (whole["mean"], whole["count"]) == (0, 1)
        low = sum(max(row["from"] + 1 if row["from"] is not None else whole["min"], whole["min"]) * row["count"]
                  for row in full)  # fmt: skip
        high = sum(min(row["to"] if row["to"] is not None else whole["max"], whole["max"]) * row["count"]
                   for row in full)  # fmt: skip
        count = whole["count"]
        assert low <= (whole["mean"] + (whole["mean"] >= 0)) * count
        assert (whole["mean"] - (whole["mean"] <= 0)) * count <= high


@settings(max_examples=examples(30), deadline=None)
@given(DISKS)
def test_sizes_and_latencies_of_all_are_those_of_reads_and_writes(tmp_path_factory, disk):
    rec = opened(tmp_path_factory.mktemp("vscsi"), lines([disk]))
    for name in ("io_length", "latency"):
        read, write_ = bins(rec, name, "read"), bins(rec, name, "write")
        assert bins(rec, name) == {limit: read[limit] + write_[limit] for limit in read}
        parts = [summary(rec, name, kind) for kind in ("read", "write")]
        there = [part for part in parts if part["count"]]
        if there:
            whole = summary(rec, name)
            assert (whole["min"], whole["max"]) == (min(p["min"] for p in there), max(p["max"] for p in there))
            assert sum(p["mean"] * p["count"] for p in there) / whole["count"] == pytest.approx(whole["mean"], abs=1.01)


def test_titles_limits_and_lines_are_the_programs_own():
    real = real_data("misc", "vscsistats_esxi7.csv").read_bytes()
    ours = b"".join(lines([DISK]))
    number = re.compile(rb"^(min|max|mean|count),-?\d+|^\d+(?=,-?\d+$)", re.MULTILINE)
    assert number.sub(rb"\1", ours) == number.sub(rb"\1", real.strip()) + b"\n"


def test_several_disks_and_prints(tmp_path):
    other = replace(DISK, handle_id=8195, disk="scsi0:1")
    rec = opened(tmp_path, lines([DISK, other]), lines([DISK, other]))
    assert rec.meta == {"samples": 2, "disks": 2}
    assert not rec.notes


def test_what_is_sequential_is_told_by_distances(tmp_path):
    rec = opened(tmp_path, lines([DISK]))
    assert bins(rec, "seek_distance")[1] == round(0.6 * 70001)
    share = io_profile.sequential_share(rec["histograms"]).collect()
    assert share.filter(pl.col("direction") == "all")["sequential_pct"].to_list() == [pytest.approx(60.0, abs=0.01)]
    # Half of the reads follow on a write of 4 KiB, which lies between them and the read before.
    even = replace(DISK, reads=replace(WRITES, count=1000), writes=replace(WRITES, count=1000), sequential_pct=100.0)
    between = bins(opened(tmp_path, lines([even])), "seek_distance", "read")
    assert [between[limit] for limit in (1, 8, 16, 32)] == [500, 0, 250, 188]


def test_a_random_workload_goes_as_far_as_the_disk(tmp_path):
    rec = opened(tmp_path, lines([replace(DISK, sequential_pct=0.0)]))
    whole, near = summary(rec, "seek_distance"), summary(rec, "seek_distance_of_16")
    span = 41943040
    assert -span <= whole["min"] < -0.98 * span
    assert 0.98 * span < whole["max"] <= span
    assert near["max"] < whole["max"]
    assert sum(n for limit, n in bins(rec, "seek_distance").items() if limit and abs(limit) <= 100) < 100


def test_a_load_generator_keeps_as_many_outstanding(tmp_path):
    rec = opened(tmp_path, lines([DISK]))
    whole = summary(rec, "outstanding")
    assert (whole["min"], whole["max"], whole["mean"]) == (16, 16, 16.0)
    parts = [summary(rec, "outstanding", kind) for kind in ("read", "write")]
    assert sum(part["mean"] for part in parts) == pytest.approx(16, abs=2)
    assert all(1 <= part["min"] < part["max"] <= 16 for part in parts)


def test_the_disk_of_a_worker(tmp_path):
    side = Side(250.0, 8192, Distribution(4.0, "flash"))
    one = Worker("Worker 1", "GUEST-1", "PHYSICALDRIVE:1", side, replace(side, iops=0.0))
    test = Measured(Access("8K", 8192, 100.0, 30.0, 8), datetime(2026, 3, 2, tzinfo=UTC), 0.0, 60.0, (one,))
    disk = of_worker(test, one, 77, 8200)
    rec = opened(tmp_path, lines([disk]))
    assert bins(rec, "io_length", "read")[8192] == 15000
    assert summary(rec, "latency", "read")["mean"] == 4000
    assert summary(rec, "interarrival")["mean"] == 4000
    assert summary(rec, "outstanding")["mean"] == 8
    assert bins(rec, "seek_distance")[1] == 10500
    assert summary(rec, "latency", "write")["count"] == 0


def test_latencies_follow_the_distribution(tmp_path):
    found = bins(opened(tmp_path, lines([DISK])), "latency", "read")
    limits = [limit for limit in found if limit is not None]
    for low, high in pairwise(limits):
        share = READS.latency.share_below(high / 1000) - READS.latency.share_below(low / 1000)
        assert found[high] == pytest.approx(READS.count * share, abs=0.004 * READS.count)


def test_the_same_bytes_each_time():
    assert list(lines([DISK])) == list(lines([DISK]))


BAD = [
    (replace(DISK, seconds=0.0), "watched for 0.0 s"),
    (replace(DISK, sequential_pct=101.0), "101.0 % sequential"),
    (replace(DISK, outstanding=0.5), "0.5 at once"),
]


@pytest.mark.parametrize(("disk", "message"), BAD, ids=[message for _, message in BAD])
def test_what_makes_no_sense_is_refused(disk, message):
    with pytest.raises(ex.EsxparseError) as caught:
        lines([disk])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
