"""Paired requests and packets to the tables of a recording."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.tables import schemas
from esxparse.formats.packets.fields import TCP_EVENTS
from esxparse.recording import Note
from esxparse.schema import TIME, Schema

_SYN, _ACK = 0x02, 0x10
_SERVER_PORTS = (2049, 3260, 111)
_MS = 1000.0
_TIMES = ("time", "reply_time", "latency_ms")

SCHEMAS = schemas(__file__)


def _flag(bit: int) -> pl.Expr:
    flags = pl.col("tcp.flags").str.extract(r"([0-9a-fA-F]+)$", 1).str.to_integer(base=16, strict=False)
    return (flags // bit % 2 == 1).fill_null(value=False)


def _ends() -> list[pl.Expr]:
    """Return the two ends in a fixed order, so that both directions are one connection if it has no number."""
    here = pl.struct(address="src", port="sport")
    there = pl.struct(address="dst", port="dport")
    turned = (pl.col("src") > pl.col("dst")) | ((pl.col("src") == pl.col("dst")) & (pl.col("sport") > pl.col("dport")))
    low, high = pl.when(turned).then(there).otherwise(here), pl.when(turned).then(here).otherwise(there)
    return [low.alias("low"), high.alias("high")]


def tcp_part(batch: pl.DataFrame) -> pl.DataFrame:
    """Return the contribution of one batch to each connection."""
    segments = batch.filter(
        pl.col("tcp.srcport").is_not_null() & pl.col("icmp.type").is_null() & pl.col("icmpv6.type").is_null()
    )
    opener = pl.when(_flag(_SYN)).then(
        pl.when(_flag(_ACK))
        .then(pl.struct(address="dst", port="dport"))
        .otherwise(pl.struct(address="src", port="sport"))
    )
    rtt = pl.col("tcp.analysis.ack_rtt").cast(pl.Float64, strict=False)
    return (
        segments.with_columns(*_ends(), opener.alias("opener"), rtt.alias("rtt"))
        .group_by("stream", "low", "high", maintain_order=True)
        .agg(
            pl.col("ns").min().alias("first"),
            pl.col("ns").max().alias("last"),
            pl.len().cast(pl.Int64).alias("packets"),
            pl.col("length").sum().alias("frame_bytes"),
            pl.col("tcp.len").cast(pl.Int64, strict=False).sum().alias("payload_bytes"),
            *(pl.col(field).is_not_null().sum().cast(pl.Int64).alias(name) for name, field in TCP_EVENTS.items()),
            pl.col("rtt").count().cast(pl.Int64).alias("rtts"),
            pl.col("rtt").sum().alias("rtt_sum"),
            pl.col("rtt").max().alias("rtt_max"),
            pl.col("tcp.analysis.initial_rtt").cast(pl.Float64, strict=False).drop_nulls().first().alias("rtt_open"),
            pl.col("opener").drop_nulls().first(),
        )
    )


def _is_server(end: str) -> pl.Expr:
    return pl.col(end).struct.field("port").is_in(_SERVER_PORTS)


def tcp_table(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return all connections, in the order in which they begin."""
    sums = ("packets", "frame_bytes", "payload_bytes", *TCP_EVENTS, "rtts", "rtt_sum")
    whole = (
        pl.concat(parts)
        .group_by("stream", "low", "high", maintain_order=True)
        .agg(
            pl.col("first").min(),
            pl.col("last").max(),
            *(pl.col(name).sum() for name in sums),
            pl.col("rtt_max").max(),
            pl.col("rtt_open").drop_nulls().first(),
            pl.col("opener").drop_nulls().first(),
        )
    )
    # The opener is the client. If the opening was not captured, a well-known or else the smaller port is the server's.
    ports = pl.col("low").struct.field("port") > pl.col("high").struct.field("port")
    low_is_client = (
        pl.when(pl.col("opener").is_not_null())
        .then(pl.col("opener") == pl.col("low"))
        .when(_is_server("low") != _is_server("high"))
        .then(_is_server("high"))
        .otherwise(ports)
    )
    client = pl.when(low_is_client).then("low").otherwise("high").struct
    server = pl.when(low_is_client).then("high").otherwise("low").struct
    return (
        whole.filter(pl.col("first").is_not_null())
        .select(
            _moment("first").alias("time"),
            ((pl.col("last") - pl.col("first")) / 1e9).alias("duration_s"),
            "stream",
            client.field("address").alias("client"),
            client.field("port").alias("client_port"),
            server.field("address").alias("server"),
            server.field("port").alias("server_port"),
            "packets",
            "frame_bytes",
            "payload_bytes",
            *TCP_EVENTS,
            (pl.col("rtt_open") * _MS).alias("rtt_handshake_ms"),
            (pl.when(pl.col("rtts") > 0).then(pl.col("rtt_sum") / pl.col("rtts")) * _MS).alias("rtt_mean_ms"),
            (pl.col("rtt_max") * _MS).alias("rtt_max_ms"),
        )
        .sort("time", "stream", maintain_order=True)
    )


_NS = {"ns": pl.Int64(), "reply_ns": pl.Int64()}
_OF_BLOCKS = ("block_size_bytes", "offset_bytes")
PAIRED: dict[str, Schema] = {
    "nfs": _NS | {name: kind for name, kind in SCHEMAS["nfs"].items() if name not in _TIMES},
    "iscsi": _NS
    | {name: kind for name, kind in SCHEMAS["iscsi"].items() if name not in {*_TIMES, *_OF_BLOCKS}}
    | {"capacity_block": pl.Int64()},
}
"""The columns of paired requests, before `finished` and `block_sizes` compute the others."""
_ASSUMED = 512
_LUN = ("target", "lun")
_UNANSWERED = ("operation", "stream", "frame")


def _moment(column: str) -> pl.Expr:
    return pl.from_epoch(pl.col(column) // 1000, "us").cast(TIME)


def finished(rows: pl.DataFrame) -> pl.DataFrame:
    """Return requests in the order of their time, with times and latency instead of nanoseconds."""
    others = [column for column in rows.columns if column not in {"ns", "reply_ns"}]
    return rows.sort("ns", "frame", maintain_order=True).select(
        _moment("ns").alias("time"),
        _moment("reply_ns").alias("reply_time"),
        ((pl.col("reply_ns") - pl.col("ns")) / 1e6).alias("latency_ms"),
        *others,
    )


def block_sizes(commands: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Return the commands with the block size of their LUN and the offset in bytes; and the source of that size."""
    if not commands.height:
        return commands.drop("capacity_block"), []
    moved = pl.col("direction").is_not_null() & (pl.col("blocks") > 0) & (pl.col("size_bytes") > 0)
    ratio = pl.when(moved & (pl.col("size_bytes") % pl.col("blocks") == 0)).then(
        pl.col("size_bytes") // pl.col("blocks")
    )
    luns = commands.group_by(_LUN, maintain_order=True).agg(
        pl.col("capacity_block").drop_nulls().last().alias("reported"),
        ratio.drop_nulls().mode().min().alias("seen"),
        pl.col("lba").is_not_null().any().alias("addressed"),
    )
    known = luns.with_columns(pl.coalesce("reported", "seen", pl.lit(_ASSUMED)).alias("block_size_bytes"))
    joined = commands.join(
        known.drop("reported", "seen", "addressed"), on=_LUN, how="left", nulls_equal=True, maintain_order="left"
    )
    # No disk has an address beyond 2**63 bytes.
    within = pl.col("lba") <= (2**63 - 1) // pl.col("block_size_bytes")
    offset = pl.when(within).then(pl.col("lba") * pl.col("block_size_bytes"))
    return joined.with_columns(offset.alias("offset_bytes")).select(SCHEMAS["iscsi"].keys()), _how_known(known)


def _how_known(luns: pl.DataFrame) -> list[Note]:
    notes = Notes()
    for target, lun, reported, seen, addressed, size in luns.iter_rows():
        if not addressed:
            continue
        where = f"block size of LUN {lun} of {target} is {size}"
        if reported is not None:
            continue
        if seen is not None:
            notes.say(f"{where}: bytes / blocks of its commands (READ CAPACITY is not in the trace)")
        else:
            notes.warn(f"{where}: assumed, as the trace does not say")
    return notes


def unanswered(requests: dict[str, pl.DataFrame], end: int) -> pl.DataFrame:
    """Return the requests of both protocols without a reply."""
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
