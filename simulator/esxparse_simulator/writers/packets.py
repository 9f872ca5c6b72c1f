"""A conversation of NFSv3 or iSCSI over TCP as `tshark -T fields` of TShark 4.0 prints it, packet by packet.

Evidence: RFC 1813, 5531 and 7143, SBC-3; which fields TShark 4.0 prints for each message, and how, from its own output.

Assumptions: one connection, no TCP timestamps, segments as TSO and LRO leave them in a capture on a host; all segments
of a message have one time. Calls have AUTH_UNIX credentials of root; attributes stand in all replies; iSCSI sends the
data of a write in the command, ends a read with the data that carries its status, and logged in before the trace. The
server acknowledges a call after a round trip where its answer does not do so before; the client an answer after 20 us.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Final, NamedTuple

from esxparse_simulator.limits import need, positive
from esxparse_simulator.writers import TEXTS

FIELDS: Final = {protocol: text.split() for protocol, text in TEXTS["tshark"].items()}
"""The fields people ask for to see where reads and writes go and how long they take."""

_CLIENT, _SERVER = "192.0.2.10", "192.0.2.20"
_PORTS: Final = {"nfs": (797, 2049), "iscsi": (51_612, 3260)}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RTT_NS: Final = 200_000
_CLIENT_ACK_NS: Final = 20_000
_SEGMENT: Final = 1448 * 45
_BLOCK: Final = 512
_MOST_ISCSI: Final = 256 * 1024
_FIRST_CLIENT, _FIRST_SERVER = 1_000_001, 5_000_001
_FIRST_ID: Final = 0x1000
_LUN: Final = "0x0001"


@dataclass(frozen=True, slots=True)
class Request:
    """One READ or WRITE: seconds since the trace began, where, how many bytes, and how long until its answer, ms."""

    at_s: float
    read: bool
    offset_bytes: int
    size_bytes: int
    response_ms: float


@dataclass(frozen=True, slots=True)
class Trace:
    """Whose packets, when: `start` is when the connection is opened; requests come in the order of their time."""

    protocol: str
    start: datetime
    requests: Sequence[Request]


class _Message(NamedTuple):
    """Bytes that are sent at once, and the fields that tshark shows for the packet that ends them."""

    size: int
    fields: dict[str, str]


def _call(protocol: str, request: Request, identity: int) -> _Message:
    size, offset = request.size_bytes, request.offset_bytes
    if protocol == "nfs":
        fields = {"rpc.msgtyp": "0", "nfs.offset3": str(offset), "nfs.count3": str(size)}
        return _Message(108 if request.read else 116 + _padded(size), _rpc(request, identity) | fields)
    lba, blocks = offset // _BLOCK, size // _BLOCK
    data = 0 if request.read else size
    labels = [f"SCSI CDB {_verb(request)}"]
    labels += [] if request.read else [f"SCSI Payload ({_verb(request)} Request Data)"]
    place = {"scsi_sbc.rdwr10.lba": str(lba), "scsi_sbc.rdwr10.xferlen": str(blocks)}
    fields = {"iscsi.opcode": "0x01", "iscsi.scsicommand.expecteddatatransferlength": str(size)}
    return _Message(48 + data, _scsi(request, identity, data, labels, len(labels) + 1) | place | fields)


def _answer(protocol: str, request: Request, identity: int) -> _Message:
    size, took = request.size_bytes, _seconds(_whole_us(request.response_ms))
    if protocol == "nfs":
        fields = {"rpc.msgtyp": "1", "nfs.status3": "0", "nfs.count3": str(size), "rpc.time": took}
        return _Message(132 + _padded(size) if request.read else 164, _rpc(request, identity) | fields)
    labels, data = [f"SCSI Response ({_verb(request)})"], size if request.read else 0
    labels[:0] = [f"SCSI Payload ({_verb(request)} Response Data)"] if request.read else []
    fields = {"iscsi.scsiresponse.status": "0x00", "iscsi.opcode": "0x25" if request.read else "0x21"}
    fields |= {"iscsi.scsidata.S": "1"} if request.read else {}
    return _Message(48 + data, _scsi(request, identity, data, labels, len(labels)) | fields | {"iscsi.time": took})


def _padded(size: int) -> int:
    return size + -size % 4


def _rpc(request: Request, identity: int) -> dict[str, str]:
    return {"rpc.xid": f"0x{identity:08x}", "nfs.procedure_v3": "6" if request.read else "7"}


def _verb(request: Request) -> str:
    return "Read(10)" if request.read else "Write(10)"


def _scsi(request: Request, identity: int, data: int, labels: list[str], luns: int) -> dict[str, str]:
    code = "0x28" if request.read else "0x2a"
    return {
        "iscsi.initiatortasktag": f"0x{identity:08x}",
        "iscsi.datasegmentlength": str(data),
        "scsi": ",".join(labels),
        "scsi.lun": ",".join([_LUN] * luns),
        "scsi_sbc.opcode": ",".join([code] * len(labels)),
    }


class Frame(NamedTuple):
    """One packet: time in ns since 1970, direction (`up`: to the server), payload bytes, fields of the message it ends.

    `sequence` numbers its first byte.
    """

    number: int
    ns: int
    up: bool
    sequence: int
    size: int
    fields: Mapping[str, str]


@dataclass(slots=True)
class _Conversation:
    """A trace, what both ends have sent and acknowledged (by direction, True is up), and what is still to come."""

    trace: Trace
    number: int = 0
    sent: dict[bool, int] = field(default_factory=lambda: {True: _FIRST_CLIENT, False: _FIRST_SERVER})
    acknowledged: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    pending: list[tuple[int, int, str, Request, int, int]] = field(default_factory=list)
    order: int = 0

    def frame(self, ns: int, *, up: bool, size: int = 0, fields: Mapping[str, str] | None = None) -> Frame:
        """The next packet."""
        sequence = self.sent[up]
        self.sent[up] += size
        self.number += 1
        return Frame(self.number, ns, up, sequence, size, fields or {})

    def opening(self, ns: int) -> Iterator[Frame]:
        """The three packets that open the connection; each SYN takes a sequence number."""
        for at, up in ((ns, True), (ns + _RTT_NS - _RTT_NS // 10_000 * 1000, False)):
            yield self.frame(at, up=up)
            self.sent[up] += 1
            self.acknowledged[not up] = self.sent[up]
        yield self.frame(ns + _RTT_NS, up=True)

    def message(self, ns: int, message: _Message, *, up: bool) -> Iterator[Frame]:
        """The packets of a message."""
        for begin in range(0, message.size, _SEGMENT):
            left = message.size - begin
            yield self.frame(ns, up=up, size=min(left, _SEGMENT), fields=message.fields if left <= _SEGMENT else None)

    def reach(self, *, up: bool, end: int) -> bool:
        """Whether this end can now acknowledge more than before."""
        more = end > self.acknowledged[up]
        self.acknowledged[up] = max(self.acknowledged[up], end)
        return more

    def later(self, ns: int, what: str, request: Request, identity: int, end: int) -> None:
        """Plans what happens to a request, whose call ends with the byte before `end`."""
        self.order += 1
        heapq.heappush(self.pending, (ns, self.order, what, request, identity, end))

    def due(self, until: float) -> Iterator[Frame]:
        """What happens up to a time."""
        while self.pending and self.pending[0][0] <= until:
            ns, _, what, request, identity, end = heapq.heappop(self.pending)
            if what == "answer":
                self.reach(up=False, end=end)
                yield from self.message(ns, _answer(self.trace.protocol, request, identity), up=False)
                self.later(ns + _CLIENT_ACK_NS, "seen", request, identity, self.sent[False])
            elif self.reach(up=what == "seen", end=end):
                yield self.frame(ns, up=what == "seen")

    def call(self, ns: int, request: Request, identity: int) -> Iterator[Frame]:
        """The packets of a call; plans what follows."""
        self.reach(up=True, end=self.sent[False])
        message = _call(self.trace.protocol, request, identity)
        yield from self.message(ns, message, up=True)
        end, answered = self.sent[True], _whole_us(request.response_ms)
        self.later(ns + _RTT_NS, "heard", request, identity, end)
        self.later(ns + answered, "answer", request, identity, end)


def _whole_us(milliseconds: float) -> int:
    """Nanoseconds of whole microseconds."""
    return round(milliseconds * 1000.0) * 1000


def _seconds(ns: int) -> str:
    return f"{ns // 10**9}.{ns % 10**9:09d}"


def frames(trace: Trace) -> Iterator[Frame]:
    """The packets of a conversation in order of time (whole microseconds); what is open is kept in memory."""
    known = f"packets are written of nfs and of iscsi, not of {trace.protocol!r}: choose one"
    need(trace.protocol in _PORTS, known)
    need(trace.start.tzinfo is not None, "the start of the packets has no time zone: give it one")
    origin = (trace.start - _EPOCH) // timedelta(microseconds=1) * 1000
    talk = _Conversation(trace)
    yield from talk.opening(origin)
    before = 0.0
    for place, request in enumerate(trace.requests):
        _check(request, f"request {place}", before, trace.protocol)
        before = request.at_s
        now = origin + round(request.at_s * 1e6) * 1000
        yield from talk.due(now)
        yield from talk.call(now, request, _FIRST_ID + place)
    yield from talk.due(float("inf"))


def _check(request: Request, where: str, before: float, protocol: str) -> None:
    at, size, offset = request.at_s, request.size_bytes, request.offset_bytes
    ordered = isfinite(at) and at * 1e9 >= _RTT_NS and at >= before
    need(ordered, f"{where} is at {at!r} s: requests come in order of time, after the round trip that opens it")
    there = size > 0 and 0 <= offset < (_BLOCK << 32 if protocol == "iscsi" else 1 << 63)
    need(there, f"{where} is {size!r} bytes at {offset!r}: give it 1 byte or more, from 0 up")
    whole = protocol != "iscsi" or (offset % _BLOCK == 0 and size % _BLOCK == 0 and size <= _MOST_ISCSI)
    need(whole, f"{where}: iSCSI moves whole blocks of {_BLOCK} bytes, {_MOST_ISCSI} bytes at most: change it")
    positive(f"the response time of {where} in ms", request.response_ms)


def tshark_lines(trace: Trace) -> Iterator[bytes]:
    """The lines of `tshark -T fields -E header=y` with the `FIELDS` of the protocol, cells separated by tabs."""
    need(trace.protocol in FIELDS, f"packets are written of nfs and of iscsi, not of {trace.protocol!r}: choose one")
    wanted, ports = FIELDS[trace.protocol], _PORTS[trace.protocol]
    yield ("\t".join(wanted) + "\n").encode()
    for frame in frames(trace):
        places = (_CLIENT, _SERVER, str(ports[0]), str(ports[1]))
        here, there, port, to = places if frame.up else (places[1], places[0], places[3], places[2])
        cells = [str(frame.number), _seconds(frame.ns), here, there, port, to, "0", str(frame.size)]
        cells.append("")  # nothing is sent again
        cells += [frame.fields.get(name, "") for name in wanted[len(cells) :]]
        yield ("\t".join(cells) + "\n").encode()
