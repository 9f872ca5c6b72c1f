"""The I/O profile of a virtual disk, from vscsiStats histograms."""

from __future__ import annotations

import re

import polars as pl
import pytest
from compose import real_data

import esxparse as ex
from esxparse.metrics import io_profile


def histogram(kind, direction, limits, counts, handle=1):
    edges = [None, *limits, None]
    return pl.LazyFrame(
        {
            "handle_id": [handle] * len(counts),
            "histogram": [kind] * len(counts),
            "direction": [direction] * len(counts),
            "from": edges[:-1],
            "to": edges[1:],
            "count": counts,
        },
        schema_overrides={"from": pl.Int64, "to": pl.Int64},
    )


LENGTHS = [512, 1024, 2048, 4095, 4096, 8191, 8192, 16383, 16384]


def test_sizes_add_up_to_all_of_a_disk_and_direction():
    both = pl.concat(
        [
            histogram("io_length", "read", LENGTHS, [1, 0, 0, 0, 3, 0, 0, 0, 0, 0]),
            histogram("io_length", "read", LENGTHS, [0] * 10, handle=2),
            histogram("latency", "read", LENGTHS, [9] * 10),
        ]
    )
    mix = io_profile.size_mix(both).collect()
    assert mix.filter(pl.col("handle_id") == 1).filter(pl.col("commands") > 0)["share_pct"].to_list() == [25.0, 75.0]
    assert mix.filter(pl.col("handle_id") == 2)["share_pct"].null_count() == 10
    assert mix.height == 20


def test_reads_and_writes():
    parts = [histogram("io_length", "read", [1], [2, 1]), histogram("io_length", "write", [1], [0, 1])]
    assert io_profile.read_share(pl.concat(parts)).collect().rows() == [(1, 3, 1, 75.0)]
    one = [histogram("io_length", "read", [1], [1, 0]), histogram("io_length", "write", [1], [0, 0])]
    assert io_profile.read_share(pl.concat(one)).collect().rows() == [(1, 1, 0, 100.0)]
    none = [histogram("io_length", "read", [1], [0, 0]), histogram("io_length", "write", [1], [0, 0])]
    assert io_profile.read_share(pl.concat(none)).collect().rows() == [(1, 0, 0, None)]


def test_only_a_distance_of_one_is_sequential():
    distances = [-1000, -128, -1, 0, 1, 2, 128, 1000]
    plain = histogram("seek_distance", "all", distances, [1, 2, 4, 8, 16, 32, 64, 128, 256])
    closest = histogram("seek_distance_of_16", "all", distances, [0, 0, 0, 0, 3, 1, 0, 0, 0])
    (row,) = io_profile.sequential_share(pl.concat([plain, closest])).collect().to_dicts()
    assert row["commands"] == 511
    assert row["sequential_pct"] == pytest.approx(100 * 16 / 511)
    # -128 < d <= -1, d = 0, 1 < d <= 2, 2 < d <= 128
    assert row["near_pct"] == pytest.approx(100 * (4 + 8 + 32 + 64) / 511)
    assert row["random_pct"] == pytest.approx(100 * (1 + 2 + 128 + 256) / 511)
    assert row["interleaved_sequential_pct"] == 75.0


def test_lengths_are_multiples_of_4_kib_surely_or_not_or_nobody_knows():
    counts = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    (row,) = io_profile.alignment_hints(histogram("io_length", "write", LENGTHS, counts)).collect().to_dicts()
    assert row["commands"] == 1023
    # Exactly 4096, exactly 8192, exactly 16384.
    assert row["multiple_pct"] == pytest.approx(100 * (16 + 64 + 256) / 1023)
    # To 4095, and from 4097 to 8191.
    assert row["no_multiple_pct"] == pytest.approx(100 * (1 + 2 + 4 + 8 + 32) / 1023)
    # 8193 to 16383 (12 KiB is one), and beyond the last limit.
    assert row["unknown_pct"] == pytest.approx(100 * (128 + 512) / 1023)


def test_a_real_disk():
    path = real_data("misc", "vscsistats_esxi7.csv")
    histograms = ex.open(path)["histograms"]
    text = path.read_text()

    def bins(title):
        block = text.split(f"Histogram: {title},")[1].split("Histogram:")[0]
        return [(int(count), int(limit)) for count, limit in re.findall(r"^(\d+),(-?\d+)$", block, re.MULTILINE)]

    reads, writes = (sum(c for c, _ in bins(f"IO lengths of {kind} commands")) for kind in ("Read", "Write"))
    (share,) = io_profile.read_share(histograms).collect().to_dicts()
    assert (share["reads"], share["writes"]) == (reads, writes)
    assert share["read_pct"] == pytest.approx(100 * reads / (reads + writes))
    seeks = bins("distance (in LBNs) between successive commands")
    found = {row["direction"]: row for row in io_profile.sequential_share(histograms).collect().to_dicts()}
    sequential = {limit: count for count, limit in seeks[:-1]}[1]
    assert found["all"]["sequential_pct"] == pytest.approx(100 * sequential / sum(c for c, _ in seeks))
    parts = ("sequential_pct", "near_pct", "random_pct")
    assert sum(found["write"][part] for part in parts) == pytest.approx(100)
    hints = {row["direction"]: row for row in io_profile.alignment_hints(histograms).collect().to_dicts()}
    sizes = bins("IO lengths of commands")
    none = sum(count for count, limit in sizes if limit < 4096 or limit == 8191)
    assert hints["all"]["no_multiple_pct"] == pytest.approx(100 * none / sum(c for c, _ in sizes))


def test_disks_stay_in_the_order_they_came_in():
    handles = [(7 * place) % 61 for place in range(61)]
    parts = [histogram("seek_distance", "read", [0, 1], [0, 1, 1], handle=handle) for handle in handles]
    assert io_profile.sequential_share(pl.concat(parts)).collect()["handle_id"].to_list() == handles
    lengths = [histogram("io_length", "read", [4096], [1, 1], handle=handle) for handle in handles]
    assert io_profile.read_share(pl.concat(lengths)).collect()["handle_id"].to_list() == handles
