"""Alignment, latency and sequential share, against what a few lines of Python count."""

from __future__ import annotations

import statistics

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import alignment

row = st.fixed_dictionaries(
    {
        "operation": st.sampled_from(["READ", "WRITE"]),
        "offset_bytes": st.one_of(st.none(), st.integers(0, 200).map(lambda number: number * 256)),
        "size_bytes": st.integers(0, 5000),
        "latency_ms": st.one_of(st.none(), st.floats(0, 1000)),
    }
)
SCHEMA = {"operation": pl.String, "offset_bytes": pl.Int64, "size_bytes": pl.Int64, "latency_ms": pl.Float64}


def frame(rows, **types):
    return pl.LazyFrame(rows, schema=SCHEMA | types)


@given(rows=st.lists(row, max_size=40))
def test_shares_are_those_of_a_plain_count(rows):
    for got in alignment.shares(frame(rows)).collect().to_dicts():
        own = [one for one in rows if one["operation"] == got["operation"] and one["offset_bytes"] is not None]
        on_it = [one for one in own if one["offset_bytes"] % got["boundary_bytes"] == 0]
        moved = sum(one["size_bytes"] for one in own)
        assert (got["requests"], got["aligned"]) == (len(own), len(on_it))
        assert got["aligned_requests_pct"] == pytest.approx(100 * len(on_it) / len(own))
        share = 100 * sum(one["size_bytes"] for one in on_it) / moved if moved else None
        assert got["aligned_bytes_pct"] == (share if share is None else pytest.approx(share))


@given(rows=st.lists(row, max_size=40))
def test_latency_is_that_of_the_answered(rows):
    table = {one["operation"]: one for one in alignment.latency(frame(rows)).collect().to_dicts()}
    assert set(table) == {one["operation"] for one in rows}
    for operation, got in table.items():
        own = [one for one in rows if one["operation"] == operation]
        times = [one["latency_ms"] for one in own if one["latency_ms"] is not None]
        assert (got["requests"], got["unanswered"]) == (len(times), len(own) - len(times))
        assert got["bytes"] == sum(one["size_bytes"] for one in own if one["latency_ms"] is not None)
        assert got["max_ms"] == max(times, default=None)
        if times:
            assert got["mean_ms"] == pytest.approx(statistics.fmean(times))
            assert got["p50_ms"] == pytest.approx(statistics.median(times))
        if len(times) > 1:
            assert got["p95_ms"] == pytest.approx(statistics.quantiles(times, n=100, method="inclusive")[94])
            assert got["p99_ms"] == pytest.approx(statistics.quantiles(times, n=100, method="inclusive")[98])


def test_a_shifted_partition_has_one_remainder():
    rows = [{"operation": "WRITE", "offset_bytes": 63 * 512 + 4096 * turn, "size_bytes": 1024} for turn in range(9)]
    rows.append({"operation": "WRITE", "offset_bytes": 0, "size_bytes": 1024})
    assert alignment.remainders(frame(rows)).collect().rows() == [("WRITE", 3584, 9, 90.0), ("WRITE", 0, 1, 10.0)]
    shares = alignment.shares(frame(rows)).collect()
    assert shares["boundary_bytes"].to_list() == [512, 1024, 2048, 4096, 65536]
    assert shares["aligned_requests_pct"].to_list() == [100.0, 10.0, 10.0, 10.0, 10.0]


def test_requests_that_move_no_data_are_left_out_where_that_is_known():
    rows = {"operation": ["COMMIT", "READ"], "direction": [None, "read"], "offset_bytes": [0, 0], "size_bytes": [0, 1]}
    assert alignment.shares(pl.LazyFrame(rows)).collect()["operation"].unique().to_list() == ["READ"]
    assert alignment.remainders(pl.LazyFrame(rows)).collect()["operation"].to_list() == ["READ"]


def test_sequential_is_told_for_each_file_and_direction():
    rows = [
        (1, "a", "x", "read", 0, 4096),
        (2, "a", "y", "read", 100, 10),
        (3, "a", "x", "read", 4096, 4096),
        (4, "a", "x", "write", 8192, 10),
        (5, "a", "x", "read", 8192, 4096),
        (6, "a", "y", "read", 110, 10),
        (7, "a", "x", "read", 0, 4096),
        (8, "a", "x", None, 0, 0),
    ]
    columns = ["time", "server", "file", "direction", "offset_bytes", "size_bytes"]
    got = alignment.sequential(pl.LazyFrame(rows[::-1], schema=columns, orient="row")).collect()
    assert got.rows() == [
        ("a", "x", "read", 4, 2, pytest.approx(200 / 3)),
        ("a", "x", "write", 1, 0, None),
        ("a", "y", "read", 2, 1, 100.0),
    ]


def test_nothing_gives_nothing():
    assert alignment.shares(frame([])).collect().height == 0
    assert alignment.latency(frame([])).collect().height == 0
    assert alignment.remainders(frame([])).collect().height == 0


def test_bad_requests_are_refused():
    with pytest.raises(EsxparseError, match="a boundary must be 1 byte or more, not 0"):
        alignment.shares(frame([]), [512, 0])
    with pytest.raises(EsxparseError, match="a boundary must be 1 byte or more, not -1"):
        alignment.remainders(frame([]), -1)
    with pytest.raises(EsxparseError, match="needs columns server and file, or target and lun"):
        alignment.sequential(frame([]))
