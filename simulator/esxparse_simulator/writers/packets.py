"""A conversation of NFSv3 or iSCSI over TCP, packet by packet, as a capture at the client sees it.

`frames` makes the packets; `pcap` writes them as a capture file, `tshark_fields` as the text tshark prints for them.

Assumptions: one connection, no TCP timestamps, segments of up to `segment_bytes` as TSO and LRO leave them in a capture
on a host; all segments of a message have one time. The server acknowledges a call after `rtt_ms` where its answer does
not do so before; the client an answer after 20 us. What is sent again is the last segment of a call, halfway to its
answer, or later where other calls are sent less than a round trip before; the server acknowledges it only then, and
answers when it was asked to.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Final, Literal

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.packet_messages import iscsi_answer, iscsi_call, nfs_answer, nfs_call
from esxparse_simulator.writers.repetitions import needs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from esxparse_simulator.writers.packet_messages import Message

__all__ = ["Frame", "Request", "Trace", "frames"]

SYN, ACK, PUSH_ACK = 0x02, 0x10, 0x18
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CLIENT_ACK_NS: Final = 20_000
_LARGEST_SEGMENT: Final = 65_480
_BLOCK: Final = 512
_MOST_ISCSI: Final = 256 * 1024
_FIRST_CLIENT, _FIRST_SERVER = 1_000_001, 5_000_001
_FIRST_ID: Final = 0x1000
_CLIENT_PORTS: Final = {"nfs": 797, "iscsi": 51_612}
_PORTS: Final = {"nfs": 2049, "iscsi": 3260}
_LARGEST_SEQUENCE: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class Request:
    """One READ or WRITE: seconds since the trace began, where, how many bytes, and how long until its answer, ms.

    `response_ms` None: it stays without an answer. `sent_again`: its last packet is seen twice.
    """

    at_s: float
    read: bool
    offset_bytes: int
    size_bytes: int
    response_ms: float | None
    sent_again: bool = False
    lun: int = 1


@dataclass(frozen=True, slots=True)
class Trace:
    """Whose packets, when: `start` is when the connection is opened; requests come in the order of their time."""

    protocol: Literal["nfs", "iscsi"]
    start: datetime
    requests: Sequence[Request]
    client: str = "192.0.2.10"
    server: str = "192.0.2.20"
    rtt_ms: float = 0.2
    segment_bytes: int = 1448 * 45

    @property
    def ports(self) -> tuple[int, int]:
        """The client's and the server's."""
        return _CLIENT_PORTS[self.protocol], _PORTS[self.protocol]


@dataclass(frozen=True, slots=True)
class Frame:
    """One packet: time in ns since 1970, direction (`up`: to the server), TCP numbers, payload.

    `fields` are those of the message it ends; `again` whether it was sent before; `rtt_ns` since what it acknowledges.
    """

    number: int
    ns: int
    up: bool
    sequence: int
    acknowledged: int
    flags: int
    payload: bytes
    fields: Mapping[str, str]
    again: bool = False
    rtt_ns: int | None = None


@dataclass(slots=True)
class _Connection:
    """What both ends have sent and acknowledged so far; by direction, True is up."""

    number: int = 0
    sent: dict[bool, int] = field(default_factory=lambda: {True: _FIRST_CLIENT, False: _FIRST_SERVER})
    acknowledged: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    """Up: what the client has acknowledged, of what the server sent."""
    holes: list[int] = field(default_factory=list)
    """First bytes of what the client is going to send again."""
    waiting: dict[bool, dict[int, int]] = field(default_factory=lambda: {True: {}, False: {}})
    """By direction: end of each segment that is not acknowledged, to its time."""
    called_ns: int = 0
    """When the client last sent something new."""

    def frame(
        self,
        ns: int,
        *,
        up: bool,
        flags: int,
        payload: bytes = b"",
        fields: Mapping[str, str] | None = None,
        again: int | None = None,
    ) -> Frame:
        """The next packet; `again`: the sequence number of what is sent a second time."""
        sequence = self.sent[up] if again is None else again
        ends = sequence + len(payload) + (flags & SYN > 0)
        acknowledged = self.acknowledged[up] if flags & ACK else 0
        rtt = self.waiting[not up].get(acknowledged)
        self.waiting[not up] = {end: sent for end, sent in self.waiting[not up].items() if end > acknowledged}
        if ends > sequence:
            # What is sent again is still as old as it was.
            self.waiting[up].setdefault(ends, ns)
        if again is None:
            self.sent[up] = ends
            self.called_ns = ns if up and payload else self.called_ns
        self.number += 1
        trip = ns - rtt if rtt is not None and ns > rtt else None
        return Frame(self.number, ns, up, sequence, acknowledged, flags, payload, fields or {}, again is not None, trip)

    def reach(self, *, up: bool, end: int) -> bool:
        """Whether this end can now acknowledge more than before."""
        bound = end if up else min([end, *self.holes])
        more = bound > self.acknowledged[up]
        self.acknowledged[up] = max(self.acknowledged[up], bound)
        return more


def _message(
    connection: _Connection, ns: int, message: Message, segment_bytes: int, *, up: bool, extra: Mapping[str, str]
) -> Iterator[Frame]:
    content = message.content
    for begin in range(0, len(content), segment_bytes):
        piece = content[begin : begin + segment_bytes]
        fields = {**message.fields, **extra} if begin + segment_bytes >= len(content) else None
        yield connection.frame(ns, up=up, flags=PUSH_ACK, payload=piece, fields=fields)


def _check(trace: Trace) -> None:
    if trace.protocol not in _PORTS:
        msg = f"packets are written of nfs and of iscsi, not of {trace.protocol!r}: choose one"
        raise EsxparseError(msg)
    if trace.start.tzinfo is None:
        msg = "the start of the packets has no time zone: give it one"
        raise EsxparseError(msg)
    needs("the round trip in ms", trace.rtt_ms)
    if not 536 <= trace.segment_bytes <= _LARGEST_SEGMENT:  # noqa: PLR2004  the smallest segment of IPv4
        msg = f"a packet cannot carry {trace.segment_bytes} bytes: give 536 to {_LARGEST_SEGMENT}"
        raise EsxparseError(msg)
    for address in (trace.client, trace.server):
        parts = address.split(".")
        if len(parts) != 4 or not all(part.isdecimal() and int(part) < 256 for part in parts):  # noqa: PLR2004  IPv4
            msg = f"{address!r} is no IPv4 address: give one like 192.0.2.10"
            raise EsxparseError(msg)


def _check_request(request: Request, place: int, before: float, trace: Trace) -> None:
    where = f"request {place}"
    if not isfinite(request.at_s) or request.at_s * 1000.0 < trace.rtt_ms or request.at_s < before:
        msg = f"{where} is at {request.at_s!r} s: requests come in order of time, after the round trip that opens it"
        raise EsxparseError(msg)
    if request.size_bytes <= 0 or not 0 <= request.offset_bytes < 1 << 63:
        msg = f"{where} is {request.size_bytes!r} bytes at {request.offset_bytes!r}: give it 1 byte or more, from 0 up"
        raise EsxparseError(msg)
    if trace.protocol == "iscsi":
        if request.offset_bytes % _BLOCK or request.size_bytes % _BLOCK or request.size_bytes > _MOST_ISCSI:
            msg = f"{where}: iSCSI moves whole blocks of {_BLOCK} bytes, {_MOST_ISCSI} bytes at most: change it"
            raise EsxparseError(msg)
        if not 0 <= request.lun < 256:  # noqa: PLR2004  what the simple form of a LUN holds
            msg = f"{where}: there is no LUN {request.lun!r}: give 0 to 255"
            raise EsxparseError(msg)
    if request.response_ms is not None:
        needs(f"the response time of {where} in ms", request.response_ms)


def _opening(connection: _Connection, ns: int, rtt: int) -> Iterator[Frame]:
    yield connection.frame(ns, up=True, flags=SYN)
    connection.acknowledged[False] = connection.sent[True]
    yield connection.frame(ns + rtt - rtt // 10_000 * 1000, up=False, flags=SYN | ACK)
    connection.acknowledged[True] = connection.sent[False]
    yield connection.frame(ns + rtt, up=True, flags=ACK)


def _seconds(ns: int) -> str:
    return f"{ns // 10**9}.{ns % 10**9:09d}"


@dataclass(slots=True)
class _Conversation:
    """A trace, its connection, and what is still to come in order of time."""

    trace: Trace
    rtt_ns: int
    connection: _Connection = field(default_factory=_Connection)
    pending: list[tuple[int, int, str, Request, int, int]] = field(default_factory=list)
    order: int = 0

    def later(self, ns: int, what: str, request: Request, identity: int, end: int) -> None:
        """Plans what happens to a request, whose call ends with the byte before `end`."""
        self.order += 1
        heapq.heappush(self.pending, (ns, self.order, what, request, identity, end))

    def due(self, until: int | None) -> Iterator[Frame]:
        """What happens up to a time, or all of it."""
        while self.pending and (until is None or self.pending[0][0] <= until):
            ns, _, what, request, identity, end = heapq.heappop(self.pending)
            if what == "answer":
                yield from self.answer(ns, request, identity, end)
            elif what == "again" and ns <= self.connection.called_ns + self.rtt_ns:
                # Sooner after something new it would look like packets in another order than they were sent.
                self.later(self.connection.called_ns + self.rtt_ns + 1000, what, request, identity, end)
            elif what == "again":
                yield self.again(ns, request, identity, end)
            elif self.connection.reach(up=what == "seen", end=end):
                yield self.connection.frame(ns, up=what == "seen", flags=ACK)

    def call(self, ns: int, request: Request, identity: int) -> Iterator[Frame]:
        """The packets of a call; plans what follows."""
        connection, segment = self.connection, self.trace.segment_bytes
        connection.reach(up=True, end=connection.sent[False])
        message = _call(self.trace, request, identity)
        yield from _message(connection, ns, message, segment, up=True, extra={})
        end = connection.sent[True]
        answered = self.rtt_ns * 4 if request.response_ms is None else _whole_us(request.response_ms)
        if request.sent_again:
            connection.holes.append(end - (len(message.content) - 1) % segment - 1)
            self.later(ns + max(1000, answered // 2000 * 1000), "again", request, identity, end)
        else:
            self.later(ns + self.rtt_ns, "heard", request, identity, end)
        if request.response_ms is not None:
            self.later(ns + answered, "answer", request, identity, end)

    def answer(self, ns: int, request: Request, identity: int, end: int) -> Iterator[Frame]:
        """The packets of an answer."""
        self.connection.reach(up=False, end=end)
        took = _seconds(_whole_us(request.response_ms or 0.0))
        if self.trace.protocol == "nfs":
            said, extra = nfs_answer(request, identity, ns // 10**9), {"rpc.time": took}
        else:
            said, extra = iscsi_answer(request, identity), {"iscsi.time": took, "scsi.time": took}
        yield from _message(self.connection, ns, said, self.trace.segment_bytes, up=False, extra=extra)
        self.later(ns + _CLIENT_ACK_NS, "seen", request, identity, self.connection.sent[False])

    def again(self, ns: int, request: Request, identity: int, end: int) -> Frame:
        """The last packet of a call, a second time."""
        content = _call(self.trace, request, identity).content
        segment = self.trace.segment_bytes
        last = content[(len(content) - 1) // segment * segment :]
        begin = end - len(last)
        self.connection.holes.remove(begin)
        self.later(ns + self.rtt_ns, "heard", request, identity, self.connection.sent[True])
        return self.connection.frame(ns, up=True, flags=PUSH_ACK, payload=last, again=begin)


def _whole_us(milliseconds: float) -> int:
    """Nanoseconds of whole microseconds."""
    return round(milliseconds * 1000.0) * 1000


def frames(trace: Trace) -> Iterator[Frame]:
    """The packets of a conversation, in order of time; as many as requests are open are kept in memory.

    Times are whole microseconds.

    Raises:
        EsxparseError: Something in it makes no sense.
    """
    _check(trace)
    origin = (trace.start - _EPOCH) // timedelta(microseconds=1) * 1000
    talk = _Conversation(trace, max(10_000, _whole_us(trace.rtt_ms)))
    yield from _opening(talk.connection, origin, talk.rtt_ns)
    before = 0.0
    for place, request in enumerate(trace.requests):
        _check_request(request, place, before, trace)
        before = request.at_s
        now = origin + round(request.at_s * 1e6) * 1000
        yield from talk.due(now)
        yield from talk.call(now, request, _FIRST_ID + place)
        if max(talk.connection.sent.values()) >= _LARGEST_SEQUENCE:
            msg = f"request {place} goes beyond 4 GiB of one connection: write several traces"
            raise EsxparseError(msg)
    yield from talk.due(None)


def _call(trace: Trace, request: Request, identity: int) -> Message:
    return nfs_call(request, identity) if trace.protocol == "nfs" else iscsi_call(request, identity)
