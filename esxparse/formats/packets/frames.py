"""The packets of a batch under names of their own: when, between whom, on which connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from esxparse.formats.packets.fields import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from esxparse.formats.packets.fields import Frame

_NANOSECONDS = 1_000_000_000


def _last(field: str) -> pl.Expr:
    # In a tunnel there are several: the innermost packet is the one that is looked into.
    return pl.col(field).str.extract(r"([^,]*)$", 1).replace("", None)


def _integer(field: str) -> pl.Expr:
    return _last(field).cast(pl.Int64, strict=False)


def _epoch() -> pl.Expr:
    """Nanoseconds since 1970, of seconds with a fraction or of an ISO time, which newer releases print as JSON."""
    text = pl.col("frame.time_epoch").str.extract(r"^([^,]*)", 1)
    parts = text.str.extract_groups(r"^(-?\d{1,10})(?:\.(\d{1,9})\d*)?$")
    whole = parts.struct.field("1").cast(pl.Int64, strict=False)
    part = parts.struct.field("2").fill_null("").str.pad_end(9, "0").cast(pl.Int64, strict=False)
    iso = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="ns", strict=False).dt.epoch("ns")
    return pl.coalesce(whole * _NANOSECONDS + part, iso)


def prepared(batch: pl.DataFrame) -> pl.DataFrame:
    """The batch with all fields, and with these columns before them.

    ns                       i64  nanoseconds since 1970
    number, length, captured i64  number of the packet, its bytes on the wire, those of them in the capture
    cut                      bool part of the packet was not captured, or it is malformed
    src, dst                 str  addresses
    sport, dport             i64  TCP or UDP ports
    stream                   i64  tshark's number of the TCP connection
    """
    absent = [pl.lit(None, pl.String).alias(field) for field in FIELDS if field not in batch.columns]
    return batch.with_columns(absent).select(
        _epoch().alias("ns"),
        _integer("frame.number").alias("number"),
        _integer("frame.len").alias("length"),
        _integer("frame.cap_len").alias("captured"),
        (
            (_integer("frame.cap_len") < _integer("frame.len")).fill_null(value=False)
            | pl.col("_ws.malformed").is_not_null()
        ).alias("cut"),
        pl.coalesce(_last("ip.src"), _last("ipv6.src")).alias("src"),
        pl.coalesce(_last("ip.dst"), _last("ipv6.dst")).alias("dst"),
        pl.coalesce(_integer("tcp.srcport"), _integer("udp.srcport")).alias("sport"),
        pl.coalesce(_integer("tcp.dstport"), _integer("udp.dstport")).alias("dport"),
        _integer("tcp.stream").alias("stream"),
        *FIELDS,
    )


def messages(batch: pl.DataFrame, fields: Sequence[str]) -> Iterator[tuple[dict[str, Any], Frame]]:
    """The packets of a prepared batch that have the first of `fields`: what is known of each, and its fields."""
    facts = ("ns", "number", "cut", "src", "dst", "sport", "dport", "stream")
    some = batch.filter(pl.col(fields[0]).is_not_null() & pl.col("ns").is_not_null()).select(*facts, *fields)
    for row in some.iter_rows():
        known = dict(zip(facts, row, strict=False))
        values = row[len(facts) :]
        yield known, {field: value.split(",") for field, value in zip(fields, values, strict=True) if value}
