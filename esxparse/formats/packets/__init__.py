"""Packet traces of NFS and iSCSI: pcap and pcapng (decoded by tshark), and output of tshark from elsewhere.

A capture file is passed to the program tshark on the PATH; its output is read as it arrives. If
tshark is not installed, run it elsewhere and open its output, either of

    tshark -n -r trace.pcap -T ek -J "frame ip ipv6 tcp udp rpc nfs iscsi scsi" > trace.json
    tshark -n -r trace.pcap -T fields -E header=y -e frame.time_epoch -e ... > trace.tsv

with the fields that `esxparse.formats.packets.tshark.command` lists (`-T fields` is smaller and reads faster). NFS is
found on any port. iSCSI on a port other than 3260 is often found too; if not, decode it elsewhere with
`-d tcp.port==860,iscsi` added to either command.

`block_size_bytes` is from READ CAPACITY if the trace has it; else, for each LUN, the most frequent of
size_bytes / blocks of its reads and writes; else 512, which is assumed. A note shows which.
A TCP retransmission is not a second request. If packets pass the capture point twice (both sides of a router, a
bond and its members), they are counted as retransmissions. If only the beginning of packets was captured (`-s 128`),
requests that begin in the middle of a packet are missing; a note counts such packets.

Source: display filter reference of Wireshark, and TShark 4.0's output for one message of each kind; RFC 1813, 7530,
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
from esxparse.formats.packets.tables import PAIRED, block_sizes, finished, tcp_part, tcp_table, unanswered
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
    """Return whether a file begins like pcap or pcapng, a table with tshark's field names, or its JSON lines."""
    if _is_capture(head.content):
        return True
    line = head.text[:65536].partition("\n")[0]
    return separator(line) is not None or is_ek(line)


def read(source: Source) -> Recording:
    """Read a packet trace; a capture file through tshark."""
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
        done["nfs"].append(pl.DataFrame(list(nfs.pair(batch, calls, tally)), schema=PAIRED["nfs"]))
        done["iscsi"].append(pl.DataFrame(list(iscsi.pair(batch, commands, tally)), schema=PAIRED["iscsi"]))
    if tally["packets"] == tally["undated"]:
        raise tshark.nothing(notes)
    done["nfs"].append(pl.DataFrame([row for rows in calls.values() for row in rows], schema=PAIRED["nfs"]))
    done["iscsi"].append(pl.DataFrame(list(commands.values()), schema=PAIRED["iscsi"]))
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
    "unreadable": "requests or replies whose values cannot be read from the packet",
    "undated": "packets without a readable time left out",
}
_ODD = {
    "unmatched": "replies whose request is not in the trace left out",
    "other": "RPC messages of other programs (portmap, mount, lock) left out",
}
"""Names of counts, and the text of a note if a count is not 0."""


def _notes(tally: Counter[str], tables: dict[str, pl.DataFrame]) -> list[Note]:
    """Return notes on the whole trace."""
    notes = Notes(Note(f"{tally[of]:,} {text}", severity="warning") for of, text in _BAD.items() if tally[of])
    notes += [Note(f"{tally[of]:,} {text}") for of, text in _ODD.items() if tally[of]]
    if not {"nfs", "iscsi"} & {*tables}:
        notes.warn("no NFS and no iSCSI in this trace: check the ports it was taken on")
    if "unanswered" in tables:
        notes.say(
            f"{counted(tables['unanswered'].height, 'request')} without a reply in the trace: see table unanswered"
        )
    return notes
