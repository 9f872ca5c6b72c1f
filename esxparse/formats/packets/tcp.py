"""The table `tcp`: one row per connection, summed up batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from esxparse.formats.packets.fields import TCP_EVENTS
from esxparse.formats.window import TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

_SYN, _ACK = 0x02, 0x10
_SERVER_PORTS = (2049, 3260, 111)
_MS = 1000.0


def _flag(bit: int) -> pl.Expr:
    flags = pl.col("tcp.flags").str.extract(r"([0-9a-fA-F]+)$", 1).str.to_integer(base=16, strict=False)
    return (flags // bit % 2 == 1).fill_null(value=False)


def _ends() -> list[pl.Expr]:
    """The two ends in an order of their own, so that both directions are one connection where it has no number."""
    here = pl.struct(address="src", port="sport")
    there = pl.struct(address="dst", port="dport")
    turned = (pl.col("src") > pl.col("dst")) | ((pl.col("src") == pl.col("dst")) & (pl.col("sport") > pl.col("dport")))
    low, high = pl.when(turned).then(there).otherwise(here), pl.when(turned).then(here).otherwise(there)
    return [low.alias("low"), high.alias("high")]


def part(batch: pl.DataFrame) -> pl.DataFrame:
    """What one batch adds to each connection."""
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


def table(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """All connections, in the order in which they begin."""
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
    # Who opened it is the client; where that was not captured, a well-known or else the smaller port is the server's.
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
            pl.from_epoch(pl.col("first") // 1000, "us").cast(TIME).alias("time"),
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
