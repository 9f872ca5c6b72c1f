"""Packet traces of NFS and iSCSI: pcap and pcapng (decoded by tshark), and what tshark printed elsewhere.

A capture file is handed to the program tshark, which is looked for on the PATH; its output is read as it comes. Where
tshark is not installed, run it elsewhere and open what it prints, either of

    tshark -n -r trace.pcap -T ek -J "frame ip ipv6 tcp udp rpc nfs iscsi scsi" > trace.json
    tshark -n -r trace.pcap -T fields -E header=y -e frame.time_epoch -e ... > trace.tsv

with the fields that `esxparse.formats.packets.tshark.command` lists (`-T fields` is smaller and reads faster). NFS is
found on any port. iSCSI on a port other than 3260 is often found too; where it is not, decode it elsewhere with
`-d tcp.port==860,iscsi` added to either command.

Tables
------
nfs         one row per call and its reply; of an NFSv4 compound one per READ, WRITE and COMMIT in it
    time            UTC   when the (last packet of the) call was captured
    reply_time      UTC   the same of the reply, null without one
    latency_ms      f64   from the one to the other, as tshark's rpc.time
    client, server  str   addresses
    version         str   2, 3, 4.0, 4.1, 4.2
    operation       str   READ, WRITE, GETATTR ...; a compound is called by the last operation that tells its purpose
    direction       str   read or write, null otherwise
    status          str   OK, NOENT, STALE ... without NFS3ERR_; `RPC ...` where the call was refused; null if unknown
    offset_bytes    i64   offset in the file (READ, WRITE, COMMIT of versions 3 and 4)
    size_bytes      i64   bytes asked for
    done_bytes      i64   bytes read or written, as the reply says; less than asked for at the end of a file
    file            str   hash of the file handle, as Wireshark shows it; of a directory for operations on names
    stability       str   what a WRITE asks for: unstable, data_sync, file_sync
    committed       str   what the server did: the same words
    xid             i64   RPC transaction
    calls           i64   times the call was seen: more than 1 is a client that asked again (mostly over UDP)
    compound        str   operations of the NFSv4 compound
    stream          i64   tshark's number of the TCP connection, to join with `tcp`; null for UDP
    frame, reply_frame    i64  numbers of the packets
iscsi       one row per SCSI command
    time, reply_time, latency_ms   as in `nfs`; the reply is the SCSI response, or the data that carries the status
    initiator, target  str   addresses
    lun                i64
    operation       str   READ(10), WRITE(16), INQUIRY ...
    opcode          i64   SCSI operation code
    direction       str   read or write, null otherwise
    status          str   GOOD, CHECK CONDITION, BUSY ...
    lba, blocks     i64   logical block address and number of blocks
    block_size_bytes  i64  bytes of a block of that LUN (see below)
    offset_bytes    i64   lba x block_size_bytes
    size_bytes      i64   bytes to transfer, as the initiator says (expected data transfer length)
    tag             i64   initiator task tag
    stream, frame, reply_frame   i64  as in `nfs`
tcp         one row per TCP connection of the trace
    time            UTC   first packet
    duration_s      f64   to the last
    stream          i64
    client, client_port, server, server_port   the client opened it; where that is not in the trace, the server is the
                    side with a well-known port, or else the smaller one
    packets, frame_bytes, payload_bytes   i64  both directions; frames as on the wire, payload of TCP
    retransmissions, duplicate_acks, zero_windows, lost_segments, out_of_order   i64  packets with that mark of
                    Wireshark's analysis; lost_segments: packets before which something was not captured
    rtt_handshake_ms  f64  between the packets that open it
    rtt_mean_ms, rtt_max_ms  f64  from data to its acknowledgement, seen from where it was captured
unanswered  one row per call or command without a reply
    time            UTC
    protocol        str   nfs or iscsi
    client, server, operation, stream, frame
    id              i64   xid or tag
    waited_ms       f64   until the trace ends

`block_size_bytes` is what READ CAPACITY said if it is in the trace; else, of each LUN, the most frequent of
size_bytes / blocks of its reads and writes; else 512, which is assumed. A note says which.
A packet that TCP sent again is not a second request. A trace taken where packets pass twice (both sides of a router, a
bond and its members) counts them as retransmissions. Where only the beginning of packets was captured (`-s 128`),
requests that begin in the middle of a packet are missing; a note counts such packets.

Source: display filter reference of Wireshark, and what TShark 4.0 prints for one message of each kind; RFC 1813, 7530,
8881 (NFS), 5531 (RPC), 7143 (iSCSI); SBC-3. Assumed: other releases of tshark print the same values in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes
from esxparse.formats.packets import iscsi, nfs, tshark
from esxparse.formats.packets.fields import FIELDS, prepared
from esxparse.formats.packets.tables import block_sizes, finished, tcp_part, tcp_table, unanswered
from esxparse.formats.packets.tshark import batches, decoded_elsewhere, is_ek, separator
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording, counted

FORMAT = "packets"

_PCAP = tuple(
    bytes.fromhex(magic) for magic in ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "34cdb2a1", "a1b2cd34")
)
_PCAPNG = bytes.fromhex("0a0d0d0a")
_BYTE_ORDERS = (bytes.fromhex("4d3c2b1a"), bytes.fromhex("1a2b3c4d"))
_ORDER_AT = 8


def _is_capture(head: bytes) -> bool:
    if head.startswith(_PCAPNG):
        order = head[_ORDER_AT : _ORDER_AT + 4]
        return any(known.startswith(order) for known in _BYTE_ORDERS)
    return head.startswith(_PCAP)


def recognise(head: Head) -> bool:
    """Whether it begins as pcap or pcapng, as a table with the names of tshark's fields, or as its JSON lines."""
    if _is_capture(head.content):
        return True
    line = head.text[:65536].partition("\n")[0]
    return separator(line) is not None or is_ek(line)


def read(source: Source) -> Recording:
    """Reads a packet trace; a capture file by way of tshark."""
    notes = Notes()
    if not _is_capture(source.head.content):
        return _recording(source, decoded_elsewhere(source, notes), notes)
    found = tshark.program()
    with tshark.plain_file(source, notes) as path:
        lines = tshark.output(found, path, source, FIELDS, notes)
        return _recording(source, batches(lines), notes)


def _recording(source: Source, read: Iterable[pl.DataFrame], notes: Notes) -> Recording:
    tally: Counter[str] = Counter()
    calls: nfs.Pending = {}
    commands: iscsi.Pending = {}
    connections: list[pl.DataFrame] = []
    done: dict[str, list[pl.DataFrame]] = {"nfs": [], "iscsi": []}
    times: list[pl.DataFrame] = []
    for batch in map(prepared, read):
        times.append(batch.select(start=pl.col("ns").min(), end=pl.col("ns").max()))
        tally["packets"] += batch.height
        tally["undated"] += batch["ns"].null_count()
        tally["cut"] += int(batch["cut"].sum())
        connections.append(tcp_part(batch))
        done["nfs"].append(pl.DataFrame(list(nfs.pair(batch, calls, tally)), schema=nfs.SCHEMA))
        done["iscsi"].append(pl.DataFrame(list(iscsi.pair(batch, commands, tally)), schema=iscsi.SCHEMA))
    if tally["packets"] == tally["undated"]:
        raise tshark.nothing(notes)
    done["nfs"].append(pl.DataFrame([row for rows in calls.values() for row in rows], schema=nfs.SCHEMA))
    done["iscsi"].append(pl.DataFrame(list(commands.values()), schema=iscsi.SCHEMA))
    start, end = pl.concat(times).select(pl.col("start").min(), pl.col("end").max()).row(0)
    requests = {name: finished(pl.concat(parts)) for name, parts in done.items()}
    requests["iscsi"], sized = block_sizes(requests["iscsi"])
    tables = {**requests, "tcp": tcp_table(connections), "unanswered": unanswered(requests, end)}
    kept = {name: table for name, table in tables.items() if table.height}
    if not kept:
        msg = f"no TCP, NFS or iSCSI in {tally['packets']:,} packets: check the interface and the filter of the capture"
        raise DamagedError(msg)
    notes += [*sized, *_notes(tally, kept)]
    known = {"samples": tally["packets"], "start": _moment(start), "end": _moment(end), "packets": tally["packets"]}
    lazy = {name: table.lazy() for name, table in kept.items()}
    return Recording(FORMAT, source.name, lazy, known, tuple(notes))


def _moment(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).replace(microsecond=nanoseconds % 10**9 // 1000)


_BAD = {
    "cut": "packets are incomplete (captured with a snap length, or damaged): requests in them may be missing",
    "untold": "requests or replies whose values cannot be read from the packet",
    "undated": "packets without a readable time left out",
}
_ODD = {
    "unmatched": "replies whose request is not in the trace left out",
    "other": "RPC messages of other programs (portmap, mount, lock) left out",
}
"""What is counted, and what is said where it is not 0."""


def _notes(tally: Counter[str], tables: dict[str, pl.DataFrame]) -> list[Note]:
    """Notes on the whole trace."""
    told = Notes(Note(f"{tally[of]:,} {text}", severity="warning") for of, text in _BAD.items() if tally[of])
    told += [Note(f"{tally[of]:,} {text}") for of, text in _ODD.items() if tally[of]]
    if not {"nfs", "iscsi"} & {*tables}:
        told.warn("no NFS and no iSCSI in this trace: check the ports it was taken on")
    if "unanswered" in tables:
        told.say(
            f"{counted(tables['unanswered'].height, 'request')} without a reply in the trace: see table unanswered"
        )
    return told
