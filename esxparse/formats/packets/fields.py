"""The fields requested from tshark, as frames; and the assignment of a packet's fields to the messages in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import polars as pl

from esxparse.formats.kit.numbers import whole
from esxparse.formats.kit.tables import data

_NANOSECONDS = 1_000_000_000


def names() -> dict[str, Any]:
    """Return the tables of `names.toml`."""
    return data(__file__, "names.toml")


def _last(field: str) -> pl.Expr:
    # A tunnel has several: the innermost packet is the relevant one.
    return pl.col(field).str.extract(r"([^,]*)$", 1).replace("", None)


def _integer(field: str) -> pl.Expr:
    return _last(field).cast(pl.Int64, strict=False)


def _epoch() -> pl.Expr:
    """Return nanoseconds since 1970, from seconds with a fraction or an ISO time (JSON of newer releases)."""
    text = pl.col("frame.time_epoch").str.extract(r"^([^,]*)", 1)
    parts = text.str.extract_groups(r"^(-?\d{1,10})(?:\.(\d{1,9})\d*)?$")
    whole = parts.struct.field("1").cast(pl.Int64, strict=False)
    part = parts.struct.field("2").fill_null("").str.pad_end(9, "0").cast(pl.Int64, strict=False)
    iso = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="ns", strict=False).dt.epoch("ns")
    return pl.coalesce(whole * _NANOSECONDS + part, iso)


def prepared(batch: pl.DataFrame) -> pl.DataFrame:
    """Return the batch with all fields, and these columns before them.

    ns                       i64  nanoseconds since 1970
    number, length, captured i64  number of the packet, its bytes on the wire, and its captured bytes
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
    """Yield facts and fields of the packets of a prepared batch that have the first of `fields`."""
    facts = ("ns", "number", "cut", "src", "dst", "sport", "dport", "stream")
    some = batch.filter(pl.col(fields[0]).is_not_null() & pl.col("ns").is_not_null()).select(*facts, *fields)
    for row in some.iter_rows():
        known = dict(zip(facts, row, strict=False))
        values = row[len(facts) :]
        yield known, {field: value.split(",") for field, value in zip(fields, values, strict=True) if value}


TCP_EVENTS: dict[str, str] = names()["tcp_events"]
NFS_FIELDS = (*names()["fields"]["nfs"],)
"""Fields of RPC and NFS messages."""
ISCSI_FIELDS = (*names()["fields"]["iscsi"], *names()["fields"]["lba"])
"""Fields of iSCSI and SCSI messages."""
FIELDS: tuple[str, ...] = (*names()["fields"]["frame"], *TCP_EVENTS.values(), *NFS_FIELDS, *ISCSI_FIELDS)
"""All fields, of frames and of the messages in them."""

NEEDED = ("frame.time_epoch",)


Frame = dict[str, list[str]]
"""The fields that a frame has, each with its values in the order of the frame."""


@lru_cache(1 << 12)
def number(text: str | None) -> int | None:
    """Return the number in a field, as tshark prints it: decimal, `0x...`, or a truth value; else None.

    >>> number("0x2a"), number("42"), number("True"), number("odd"), number("9" * 40)
    (42, 42, 1, None, None)
    """
    if not text:
        return None
    found = whole(text, 16 if text[:2].lower() == "0x" else 10)
    return {"true": 1, "false": 0}.get(text.lower()) if found is None else found


def deal(values: Sequence[str], wanted: Sequence[int], *, cut: bool = False) -> list[list[str] | None]:
    """Share out the values of one field to the messages of a frame; None if the shares are unknown.

    tshark prints a field once for a frame, with the values of all its messages in order. The kind of a message
    determines its number of values: `wanted`, -1 for any number. If several messages may have any number, all between
    the first and the last of them are unknown. A frame that was `cut` has too few values, and they are missing at its
    end.

    >>> deal(["8192", "512", "0"], [1, 0, 2])
    [['8192'], [], ['512', '0']]
    >>> deal(["a", "b", "c"], [1, -1, 1])
    [['a'], ['b'], ['c']]
    >>> deal(["a", "b"], [1, 0, 2]), deal(["a", "b"], [1, 0, 2], cut=True)
    ([None, None, None], [['a'], [], ['b']])
    """
    if len(wanted) == 1:
        return [list(values)]
    known = sum(count for count in wanted if count >= 0)
    open_ended = [place for place, count in enumerate(wanted) if count < 0]
    missing = known - len(values)
    if (missing > 0 and not cut) or (missing < 0 and not open_ended):
        return [None] * len(wanted)
    shares: list[list[str] | None] = [None] * len(wanted)
    begin = 0
    first = open_ended[0] if open_ended else len(wanted)
    for place in range(first):
        shares[place] = list(values[begin : begin + wanted[place]])
        begin += wanted[place]
    if not open_ended or cut:
        return shares
    end = len(values)
    for place in range(len(wanted) - 1, open_ended[-1], -1):
        shares[place] = list(values[end - wanted[place] : end])
        end -= wanted[place]
    if len(open_ended) == 1:
        shares[first] = list(values[begin:end])
    return shares


def conversation(facts: dict[str, Any], identity: int | None, *, asks: bool) -> tuple[Any, ...]:
    """Return the key that a request shares with its reply: connection, ends, and its identifying number."""
    ends = (facts["src"], facts["sport"]), (facts["dst"], facts["dport"])
    return (facts["stream"], *(ends if asks else ends[::-1]), identity)


def counts(table: Mapping[str, int], kinds: Sequence[int | None]) -> list[int]:
    """Return how often a field occurs in messages of these kinds; any number of times for an unknown kind."""
    return [-1 if kind is None else table.get(str(kind), 0) for kind in kinds]


def first(values: Sequence[str] | None) -> int | None:
    """Return the number in the first value, if there is one."""
    return number(values[0]) if values else None


def is_known(values: Sequence[str] | None) -> bool:
    """Return whether the shares are known, and the first value, if there is one, is a number."""
    return values is not None and (not values or number(values[0]) is not None)
