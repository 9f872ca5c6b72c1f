"""Alignment of request offsets, latency by operation and sequential share, from packet traces.

A guest partition that begins at sector 63 shifts every block of its file system against the blocks of the server. One
write then touches two server blocks, and the old blocks have to be read first. The offsets of requests show the shift:
they are multiples of 512 bytes and of nothing larger, all with the same remainder.

Works on the tables `nfs` and `iscsi` of a packet trace, and on any frame with the columns that a function needs.
Source: "NFS & iSCSI: Performance Characterization and Best Practices in ESX 3.5", case studies 1 and 2: "Block
addresses aligned to appropriate boundaries?", "Offset in NFS WRITE requests is not aligned to power-of-2 boundary",
"array takes 10 ms to 20 ms to respond to a read request".
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from esxparse.errors import EsxparseError

from .frames import finite, names, share_pct

BOUNDARIES = (512, 1024, 2048, 4096, 65536)
"""Bytes: a sector, NTFS and ext blocks, a VMDK and server block of 4 KB, the usual stripe of 64 KB."""

_FILES = (("server", "file"), ("target", "lun"))


def _addressed(requests: pl.LazyFrame) -> pl.LazyFrame:
    """Return the requests that move data: with an offset, an operation and, if the column exists, a direction."""
    moved = pl.col("direction").is_not_null() if "direction" in names(requests) else pl.lit(value=True)
    return requests.filter(moved, pl.col("offset_bytes").is_not_null(), pl.col("operation").is_not_null())


def shares(requests: pl.LazyFrame, boundaries: Sequence[int] = BOUNDARIES) -> pl.LazyFrame:
    """Return the share of requests, and of their bytes, that begin on a multiple of each boundary.

    aligned = offset_bytes mod boundary_bytes = 0; the offset of a SCSI command is lba x block size.
    Needs `operation`, `offset_bytes`, `size_bytes`. Requests without an offset are left out. If there is a `direction`
    column, so are requests without a direction (COMMIT, SYNCHRONIZE CACHE). An offset is relative to the file or LUN;
    the storage below may be aligned differently. Returns one row per operation and boundary, in that order:

    operation
    boundary_bytes        i64
    requests              i64  requests of that operation that have an offset
    aligned               i64  requests that begin on the boundary
    aligned_requests_pct  f64  100 x aligned / requests
    aligned_bytes_pct     f64  100 x bytes of the aligned / bytes of all; null if no bytes were asked for

    Raises EsxparseError: A boundary is below 1.

    >>> requests = pl.LazyFrame({
    ...     "operation": ["WRITE"] * 2, "offset_bytes": [0, 32256], "size_bytes": [12288, 4096],
    ... })
    >>> shares(requests, [512, 4096]).collect().rows()
    [('WRITE', 512, 2, 2, 100.0, 100.0), ('WRITE', 4096, 2, 1, 50.0, 75.0)]
    """
    requests = finite(requests)
    if any(boundary < 1 for boundary in boundaries):
        raise EsxparseError(f"a boundary must be 1 byte or more, not {min(boundaries)}")
    sized = pl.col("size_bytes").fill_null(0).cast(pl.Float64)
    on_it = pl.col("offset_bytes") % pl.col("boundary_bytes") == 0
    every = pl.LazyFrame({"boundary_bytes": list(boundaries)}, schema={"boundary_bytes": pl.Int64})
    return (
        _addressed(requests)
        .join(every, how="cross")
        .group_by("operation", "boundary_bytes")
        .agg(
            pl.len().cast(pl.Int64).alias("requests"),
            on_it.sum().cast(pl.Int64).alias("aligned"),
            share_pct(on_it.sum(), pl.len()).alias("aligned_requests_pct"),
            share_pct(sized.filter(on_it).sum(), sized.sum()).alias("aligned_bytes_pct"),
        )
        .sort("operation", "boundary_bytes")
    )


def remainders(requests: pl.LazyFrame, boundary: int = 4096) -> pl.LazyFrame:
    """Return how far behind the last boundary requests begin, most frequent first.

    offset_bytes mod boundary. One remainder for nearly all requests points to a shifted partition: a partition that
    begins at sector 63 gives 63 x 512 mod 4096 = 3584. Many remainders point to requests smaller than the boundary.
    Needs `operation`, `offset_bytes` (see `shares` for the requests left out). Returns:

    operation
    remainder_bytes  i64
    requests         i64
    requests_pct     f64  of the requests of that operation that have an offset

    Raises EsxparseError: The boundary is below 1.

    >>> requests = pl.LazyFrame({"operation": ["WRITE"] * 4, "offset_bytes": [32256, 36352, 40448, 8192]})
    >>> remainders(requests).collect().rows()
    [('WRITE', 3584, 3, 75.0), ('WRITE', 0, 1, 25.0)]
    """
    requests = finite(requests)
    if boundary < 1:
        raise EsxparseError(f"a boundary must be 1 byte or more, not {boundary}")
    return (
        _addressed(requests)
        .group_by("operation", (pl.col("offset_bytes") % boundary).cast(pl.Int64).alias("remainder_bytes"))
        .agg(pl.len().cast(pl.Int64).alias("requests"))
        .with_columns((100.0 * pl.col("requests") / pl.col("requests").sum().over("operation")).alias("requests_pct"))
        .sort(["operation", "requests", "remainder_bytes"], descending=[False, True, False])
    )


def off_size(requests: pl.LazyFrame) -> pl.LazyFrame:
    """Return the share of requests that do not begin on a multiple of their own size.

    The size is rounded to its largest power-of-two factor, 4096 at most: 1024 for 1 KB and 3 KB, 4096 for 64 KB.
    Aligned requests smaller than 4 KB begin inside a block, so a boundary of 4 KB cannot separate them from shifted
    requests.
    Needs `operation`, `offset_bytes`, `size_bytes` (see `shares` for the requests left out). Returns one row per
    operation, by name: `operation`, `requests` (i64, with a size), `off_size_pct` (f64, of them).

    >>> requests = pl.LazyFrame({"operation": ["WRITE"] * 2, "offset_bytes": [1024, 32256], "size_bytes": [1024] * 2})
    >>> off_size(requests).collect().rows()
    [('WRITE', 2, 50.0)]
    """
    requests = finite(requests)
    size = pl.col("size_bytes").cast(pl.Int64)
    boundary = pl.min_horizontal(size & -size, pl.lit(4096))
    off = pl.col("offset_bytes") % boundary != 0
    return (
        _addressed(requests)
        .filter(size > 0)
        .group_by("operation")
        .agg(pl.len().cast(pl.Int64).alias("requests"), (100.0 * off.mean()).alias("off_size_pct"))
        .sort("operation")
    )


def latency(requests: pl.LazyFrame) -> pl.LazyFrame:
    """Return the latency of requests by operation: the response time of the server or array, as seen on the wire.

    Needs `operation`, `latency_ms`, `size_bytes`. A request without a reply has no latency and counts only in
    `unanswered`. Percentiles are interpolated between the two nearest requests. Returns one row per operation, by
    name:

    operation
    requests     i64  with a reply
    unanswered   i64  without one
    mean_ms, p50_ms, p95_ms, p99_ms, max_ms   milliseconds, null if nothing was answered
    bytes        i64  asked for by the requests with a reply

    >>> requests = pl.LazyFrame({
    ...     "operation": ["READ", "READ", "READ", "WRITE"], "latency_ms": [1.0, 3.0, None, 20.0],
    ...     "size_bytes": [4096, 4096, 4096, 1024],
    ... })
    >>> latency(requests).select("operation", "requests", "unanswered", "mean_ms", "max_ms", "bytes").collect().rows()
    [('READ', 2, 1, 2.0, 3.0, 8192), ('WRITE', 1, 0, 20.0, 20.0, 1024)]
    """
    requests = finite(requests)
    answered = pl.col("latency_ms").is_not_null()
    value = pl.col("latency_ms").cast(pl.Float64)
    quantiles = [
        value.quantile(share, interpolation="linear").alias(f"p{round(share * 100)}_ms") for share in (0.5, 0.95, 0.99)
    ]
    return (
        requests.filter(pl.col("operation").is_not_null())
        .group_by("operation")
        .agg(
            answered.sum().cast(pl.Int64).alias("requests"),
            (~answered).sum().cast(pl.Int64).alias("unanswered"),
            value.mean().alias("mean_ms"),
            *quantiles,
            value.max().alias("max_ms"),
            pl.col("size_bytes").filter(answered).sum().cast(pl.Int64).alias("bytes"),
        )
        .sort("operation")
    )


def sequential(requests: pl.LazyFrame) -> pl.LazyFrame:
    """Return, per file or LUN and direction, the share of requests that begin at the end of the previous request.

    sequential = offset_bytes equals offset_bytes + size_bytes of the previous request to the same file or LUN in the
    same direction. Concurrent streams and requests sent out of order count as random.
    Needs `time`, `direction`, `offset_bytes`, `size_bytes`, and `server`, `file` (NFS) or `target`, `lun` (iSCSI).
    Returns, sorted by the first columns:

    server, file  or  target, lun
    direction
    requests        i64  with an offset
    sequential      i64  requests that continue the previous one
    sequential_pct  f64  100 x sequential / (requests - 1), as the first follows nothing; null if it is the only
    request

    Raises EsxparseError: The table has neither pair of columns.

    >>> requests = pl.LazyFrame({
    ...     "time": [1, 2, 3], "target": ["a"] * 3, "lun": [1] * 3, "direction": ["read"] * 3,
    ...     "offset_bytes": [0, 4096, 0], "size_bytes": [4096] * 3,
    ... })
    >>> sequential(requests).collect().rows()
    [('a', 1, 'read', 3, 1, 50.0)]
    """
    requests = finite(requests)
    there = names(requests)
    keys = next((pair for pair in _FILES if {*pair} <= there), None)
    if keys is None:
        raise EsxparseError(
            "the sequential share is per file or LUN: it needs columns server and file, or target and lun"
        )
    follows = pl.col("offset_bytes") == (pl.col("offset_bytes") + pl.col("size_bytes")).shift(1)
    return (
        requests.filter(pl.col("offset_bytes").is_not_null(), pl.col("direction").is_not_null())
        .sort("time", maintain_order=True)
        .group_by(*keys, "direction", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("requests"),
            follows.fill_null(value=False).sum().cast(pl.Int64).alias("sequential"),
        )
        .with_columns(share_pct(pl.col("sequential"), pl.col("requests") - 1).alias("sequential_pct"))
        .sort(*keys, "direction")
    )
