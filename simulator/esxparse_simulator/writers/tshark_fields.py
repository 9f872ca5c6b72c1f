"""What `tshark -T fields` prints of a conversation (TShark 4.0), with a line of names (`-E header=y`) or without.

Evidence: TShark 4.0 printed the same, byte for byte, for the capture that `pcap` writes of the same conversation: which
fields stand in which packet, how often, and in which notation. `/t` (its default) or another character separates them,
all values of a field are in one cell (`-E occurrence=a`) with a comma between.
Assumption: other releases print these fields the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.packets import SYN, frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from esxparse_simulator.writers.packets import Frame, Trace

__all__ = ["ISCSI", "NFS", "lines"]

_COMMON: Final = (
    "frame.number",
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.stream",
    "tcp.len",
    "tcp.analysis.retransmission",
)
NFS: Final = (
    *_COMMON,
    "rpc.xid",
    "rpc.msgtyp",
    "rpc.time",
    "nfs.procedure_v3",
    "nfs.status3",
    "nfs.offset3",
    "nfs.count3",
)
"""The fields people ask for to see where NFS reads and writes go and how long they take."""
ISCSI: Final = (
    *_COMMON,
    "iscsi.opcode",
    "iscsi.initiatortasktag",
    "iscsi.datasegmentlength",
    "iscsi.scsicommand.expecteddatatransferlength",
    "iscsi.scsiresponse.status",
    "iscsi.scsidata.S",
    "iscsi.time",
    "scsi",
    "scsi.lun",
    "scsi_sbc.opcode",
    "scsi_sbc.rdwr10.lba",
    "scsi_sbc.rdwr10.xferlen",
    "scsi_sbc.rdwr16.lba",
    "scsi_sbc.rdwr12.xferlen",
)
"""The same of iSCSI."""

_MESSAGES: Final = frozenset(
    {
        *("rpc.xid", "rpc.msgtyp", "rpc.program", "rpc.programversion", "rpc.procedure", "rpc.replystat"),
        *("rpc.state_accept", "rpc.time", "nfs.procedure_v3", "nfs.status3", "nfs.offset3", "nfs.count3"),
        *("nfs.write.stable", "nfs.write.committed", "nfs.fh.hash"),
        *ISCSI[len(_COMMON) :],
        "scsi.time",
    }
)
_HEADERS: Final = 54
_SYN_OPTIONS: Final = 12
_SEPARATORS: Final = "\t,;| "


def _nanoseconds(ns: int) -> str:
    return f"{ns // 10**9}.{ns % 10**9:09d}"


def _length(frame: Frame) -> str:
    return str(_HEADERS + (_SYN_OPTIONS if frame.flags & SYN else 0) + len(frame.payload))


def _initial(frame: Frame, trace: Trace) -> str:
    # It is known from the third packet on.
    first = max(10_000, round(trace.rtt_ms * 1000.0) * 1000)
    return _nanoseconds(first) if frame.number > 2 else ""  # noqa: PLR2004  see above


_PACKETS: Final[dict[str, Callable[[Frame, Trace], str]]] = {
    "frame.number": lambda frame, _: str(frame.number),
    "frame.time_epoch": lambda frame, _: _nanoseconds(frame.ns),
    "frame.len": lambda frame, _: _length(frame),
    "frame.cap_len": lambda frame, _: _length(frame),
    "ip.src": lambda frame, trace: trace.client if frame.up else trace.server,
    "ip.dst": lambda frame, trace: trace.server if frame.up else trace.client,
    "tcp.srcport": lambda frame, trace: str(trace.ports[0 if frame.up else 1]),
    "tcp.dstport": lambda frame, trace: str(trace.ports[1 if frame.up else 0]),
    "tcp.stream": lambda _frame, _trace: "0",
    "tcp.len": lambda frame, _: str(len(frame.payload)),
    "tcp.flags": lambda frame, _: f"0x{frame.flags:04x}",
    "tcp.analysis.retransmission": lambda frame, _: "1" if frame.again else "",
    "tcp.analysis.initial_rtt": _initial,
    "tcp.analysis.ack_rtt": lambda frame, _: "" if frame.rtt_ns is None else _nanoseconds(frame.rtt_ns),
}


def _cell(field: str, frame: Frame, trace: Trace) -> str:
    told = _PACKETS.get(field)
    return told(frame, trace) if told else frame.fields.get(field, "")


def lines(
    trace: Trace, fields: Sequence[str] = (), separator: str = "\t", *, header: bool = True, quote: bool = False
) -> Iterator[bytes]:
    """The lines; `fields` in their order (none: `NFS` or `ISCSI`), `quote`: with `-E quote=d`.

    A cell of several values has commas in it: with a comma between cells, `quote` them.

    Raises:
        EsxparseError: A field is not written here, a separator could not be told from the values, or the trace makes
            no sense.
    """
    wanted = tuple(fields) or (NFS if trace.protocol == "nfs" else ISCSI)
    unknown = [field for field in wanted if field not in _PACKETS and field not in _MESSAGES]
    if unknown:
        msg = f"the field {unknown[0]!r} is not written: leave it out, or write a capture and run tshark on it"
        raise EsxparseError(msg)
    if separator not in _SEPARATORS or len(separator) != 1:
        msg = f"fields are separated by tab, comma, semicolon, bar or blank, not by {separator!r}: choose one"
        raise EsxparseError(msg)
    if separator in ", " and not quote and trace.protocol == "iscsi":
        msg = f"values of iSCSI fields have {separator!r} in them: separate by tab, or quote them"
        raise EsxparseError(msg)
    return _lines(trace, wanted, separator, header=header, quote=quote)


def _lines(trace: Trace, wanted: Sequence[str], separator: str, *, header: bool, quote: bool) -> Iterator[bytes]:
    if header:
        yield (separator.join(wanted) + "\n").encode()
    for frame in frames(trace):
        cells = [_cell(field, frame, trace) for field in wanted]
        if quote:
            cells = [f'"{cell}"' if cell else "" for cell in cells]
        yield (separator.join(cells) + "\n").encode()
