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
