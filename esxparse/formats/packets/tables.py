"""From paired requests to the tables people get."""

from __future__ import annotations

import polars as pl

from esxparse.formats.window import TIME
from esxparse.recording import Note

_ASSUMED = 512
_LUN = ("target", "lun")
_UNANSWERED = ("operation", "stream", "frame")


def _moment(column: str) -> pl.Expr:
    return pl.from_epoch(pl.col(column) // 1000, "us").cast(TIME)


def finished(rows: pl.DataFrame) -> pl.DataFrame:
    """Requests in the order of their time, with times and latency for their nanoseconds."""
    others = [column for column in rows.columns if column not in {"ns", "reply_ns"}]
    return rows.sort("ns", "frame", maintain_order=True).select(
        _moment("ns").alias("time"),
        _moment("reply_ns").alias("reply_time"),
        ((pl.col("reply_ns") - pl.col("ns")) / 1e6).alias("latency_ms"),
        *others,
    )


def block_sizes(commands: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """The commands with the size of a block of their LUN and the offset in bytes; and how that size is known."""
    if not commands.height:
        return commands.drop("capacity_block"), []
    moved = pl.col("direction").is_not_null() & (pl.col("blocks") > 0) & (pl.col("size_bytes") > 0)
    ratio = pl.when(moved & (pl.col("size_bytes") % pl.col("blocks") == 0)).then(
        pl.col("size_bytes") // pl.col("blocks")
    )
    luns = commands.group_by(_LUN, maintain_order=True).agg(
        pl.col("capacity_block").drop_nulls().last().alias("said"),
        ratio.drop_nulls().mode().min().alias("seen"),
        pl.col("lba").is_not_null().any().alias("addressed"),
    )
    known = luns.with_columns(pl.coalesce("said", "seen", pl.lit(_ASSUMED)).alias("block_size_bytes"))
    order = [column for column in commands.columns if column != "capacity_block"]
    place = order.index("blocks") + 1
    columns = [*order[:place], "block_size_bytes", "offset_bytes", *order[place:]]
    joined = commands.join(
        known.drop("said", "seen", "addressed"), on=_LUN, how="left", nulls_equal=True, maintain_order="left"
    )
    # An address beyond 2**63 bytes is none of a disk.
    within = pl.col("lba") <= (2**63 - 1) // pl.col("block_size_bytes")
    offset = pl.when(within).then(pl.col("lba") * pl.col("block_size_bytes"))
    return joined.with_columns(offset.alias("offset_bytes")).select(columns), _how_known(known)


def _how_known(luns: pl.DataFrame) -> list[Note]:
    notes = []
    for target, lun, said, seen, addressed, size in luns.iter_rows():
        if not addressed:
            continue
        where = f"block size of LUN {lun} of {target} is {size}"
        if said is not None:
            continue
        if seen is not None:
            notes.append(Note(f"{where}: bytes / blocks of its commands (READ CAPACITY is not in the trace)"))
        else:
            notes.append(Note(f"{where}: assumed, nothing in the trace tells it", severity="warning"))
    return notes


def unanswered(requests: dict[str, pl.DataFrame], end: int) -> pl.DataFrame:
    """Requests of both protocols that have no reply."""
    ends = {"nfs": ("client", "server", "xid"), "iscsi": ("initiator", "target", "tag")}
    waited = (end // 1000 - pl.col("time").dt.epoch("us")) / 1000
    return pl.concat(
        requests[protocol]
        .filter(pl.col("reply_time").is_null())
        .select(
            "time",
            pl.lit(protocol).alias("protocol"),
            pl.col(client).alias("client"),
            pl.col(server).alias("server"),
            *_UNANSWERED,
            pl.col(identity).alias("id"),
            waited.alias("waited_ms"),
        )
        for protocol, (client, server, identity) in ends.items()
    ).sort("time", "frame", maintain_order=True)
