"""The row of a run, as far as packet traces of its NFS or iSCSI tell it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.metrics import alignment
from esxparse.studies.span import Span, measured

if TYPE_CHECKING:
    from esxparse.recording import Recording
    from esxparse.studies.entries import WindowSpec

BOUNDARY: Final = 4096
"""Bytes: on multiples of this a request is aligned; a block of NTFS, ext and VMDK, and of most servers."""
_REQUESTS: Final = ("nfs", "iscsi")
_WAYS: Final = ("read", "write")


def metrics(recs: Sequence[Recording], window: WindowSpec, span: Span | None, clock: timedelta) -> dict[str, Any]:
    """What was asked for and answered in the measured span; connections are told of as a whole.

    Without a span from elsewhere the window is that of the traces' own packets.
    """
    if span is None:
        first, last = min(rec.meta["start"] for rec in recs), max(rec.meta["end"] for rec in recs)
        span = measured(window, first + clock, last + clock, None, None, of="the trace")
    tables = [rec[name] for rec in recs for name in _REQUESTS if name in rec]
    found = _connections(recs)
    if not tables:
        raise EsxparseError(f"{recs[0].source} has no NFS and no iSCSI: there are no requests to measure")
    # The two directions are what both protocols have in common: READ of one is READ(10) of the other.
    wanted = ("time", "latency_ms", "offset_bytes", "size_bytes", pl.col("direction").alias("operation"))
    moved = [table.filter(pl.col("direction").is_in(_WAYS)).select(wanted) for table in tables]
    requests = pl.concat(moved).with_columns(pl.col("time") + clock).filter(span.inside()).collect().lazy()
    count = requests.select(pl.len()).collect().item()
    if not count:
        msg = f"{recs[0].source} has no read and no write in the measured span ({span.start:%H:%M:%S} to "
        msg += f"{span.end:%H:%M:%S} UTC): where its clock is another, say so with clock = ... beside its file"
        raise EsxparseError(msg)
    latency, shares, sizes = pl.collect_all(
        [
            alignment.latency(requests),
            alignment.shares(requests, [BOUNDARY]),
            requests.group_by("operation").agg(pl.col("size_bytes").mean()),
        ]
    )
    found["wire_unanswered"] = latency["unanswered"].sum()
    for row in latency.iter_rows(named=True):
        way = row["operation"]
        found[f"wire_{way}_per_s"] = (row["requests"] + row["unanswered"]) / span.seconds if span.seconds else None
        found |= {f"wire_{way}_{name}": row[name] for name in ("p50_ms", "p95_ms")}
    for row in shares.iter_rows(named=True):
        found[f"wire_{row['operation']}_misaligned_pct"] = 100 - row["aligned_requests_pct"]
    for way, size in sizes.iter_rows():
        found[f"wire_{way}_size_bytes"] = size
    return found


def _connections(recs: Sequence[Recording]) -> dict[str, Any]:
    tables = [rec["tcp"].select("packets", "retransmissions") for rec in recs if "tcp" in rec]
    if not tables:
        return {}
    packets, again = pl.concat(tables).sum().collect().row(0)
    return {"tcp_retransmissions": again, "tcp_retransmissions_pct": 100 * again / packets if packets else None}
