"""Packets composed for tests: pcap files with NFS and iSCSI conversations, byte by byte.

Nothing here shares code with the reader: what is written by these few lines is read back through tshark.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

READ_10, WRITE_10, READ_16, WRITE_16 = 0x28, 0x2A, 0x88, 0x8A
NFS3_READ, NFS3_WRITE, NFS3_COMMIT = 6, 7, 21
CLIENT, SERVER = "192.0.2.10", "192.0.2.20"
START = 1_770_000_000.0


def pcap(frames: list[tuple[float, bytes]], *, order: str = "<", nano: bool = False, snap: int = 0) -> bytes:
    """A capture of Ethernet frames, `(seconds since 1970, bytes)`, each cut to `snap` bytes where that is given."""
    magic, unit = (0xA1B23C4D, 1_000_000_000) if nano else (0xA1B2C3D4, 1_000_000)
    content = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snap or 262144, 1)]
    for time, frame in frames:
        kept = frame[: snap or None]
        seconds, part = divmod(round(time * unit), unit)
        content.append(struct.pack(order + "IIII", seconds, part, len(kept), len(frame)) + kept)
    return b"".join(content)


def ethernet(src: str, dst: str, protocol: int, content: bytes) -> bytes:
    """An Ethernet frame with an IPv4 packet in it."""
    addresses = bytes(int(part) for part in f"{src}.{dst}".split("."))
    packet = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), 0, 0, 64, protocol, 0) + addresses + content
    return bytes.fromhex("020000000002020000000001") + b"\x08\x00" + packet


def udp(src: str, sport: int, dst: str, dport: int, content: bytes) -> bytes:
    return ethernet(src, dst, 17, struct.pack(">HHHH", sport, dport, 8 + len(content), 0) + content)


@dataclass
class Tcp:
    """One TCP connection: `send` adds the frames of one write, with sequence numbers that fit."""

    port: int
    client_port: int = 700
    client: str = CLIENT
    server: str = SERVER
    frames: list[tuple[float, bytes]] = field(default_factory=list)
    sequence: dict[bool, int] = field(default_factory=lambda: {True: 1001, False: 5001})

    def frame(self, content: bytes, *, up: bool, flags: int = 0x18, window: int = 60000, back: int = 0) -> bytes:
        ends = [(self.client, self.client_port), (self.server, self.port)]
        (src, sport), (dst, dport) = ends if up else ends[::-1]
        ack = self.sequence[not up] if flags & 0x10 else 0
        header = struct.pack(">HHIIBBHHH", sport, dport, self.sequence[up] - back, ack, 0x50, flags, window, 0, 0)
        return ethernet(src, dst, 6, header + content)

    def shake(self, time: float, rtt: float = 0.0002) -> None:
        """The three packets that open it; `rtt` seconds from the first to the third."""
        for offset, up, flags in ((0.0, True, 0x02), (rtt / 2, False, 0x12), (rtt, True, 0x10)):
            self.frames.append((time + offset, self.frame(b"", up=up, flags=flags, back=1 if flags & 2 else 0)))

    def send(self, time: float, content: bytes, *, up: bool, mss: int = 60000) -> None:
        for begin in range(0, len(content), mss):
            piece = content[begin : begin + mss]
            self.frames.append((time, self.frame(piece, up=up)))
            self.sequence[up] += len(piece)


def opaque(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content + b"\0" * (-len(content) % 4)


def marked(message: bytes) -> bytes:
    """A message with the record mark that stands before it on TCP."""
    return struct.pack(">I", 0x80000000 | len(message)) + message


def rpc_call(xid: int, procedure: int, body: bytes, version: int = 3, program: int = 100003) -> bytes:
    return struct.pack(">IIIIIIIIII", xid, 0, 2, program, version, procedure, 0, 0, 0, 0) + body


def rpc_reply(xid: int, body: bytes, accepted: int = 0) -> bytes:
    return struct.pack(">IIIIII", xid, 1, 0, 0, 0, accepted) + body


def nfs3_read(xid: int, handle: bytes, offset: int, count: int) -> bytes:
    return rpc_call(xid, NFS3_READ, opaque(handle) + struct.pack(">QI", offset, count))


def nfs3_write(xid: int, handle: bytes, offset: int, data: bytes, stable: int = 2) -> bytes:
    return rpc_call(xid, NFS3_WRITE, opaque(handle) + struct.pack(">QII", offset, len(data), stable) + opaque(data))


def nfs3_commit(xid: int, handle: bytes) -> bytes:
    return rpc_call(xid, NFS3_COMMIT, opaque(handle) + struct.pack(">QI", 0, 0))


def nfs3_read_reply(xid: int, data: bytes, status: int = 0) -> bytes:
    body = struct.pack(">II", status, 0)
    return rpc_reply(xid, body if status else body + struct.pack(">II", len(data), 0) + opaque(data))


def nfs3_write_reply(xid: int, count: int, committed: int = 2, status: int = 0) -> bytes:
    body = struct.pack(">III", status, 0, 0)
    return rpc_reply(xid, body if status else body + struct.pack(">II", count, committed) + b"verifier")


def nfs4_call(xid: int, operations: list[bytes], minor: int = 0) -> bytes:
    return rpc_call(xid, 1, opaque(b"") + struct.pack(">II", minor, len(operations)) + b"".join(operations), version=4)


def nfs4_reply(xid: int, results: list[bytes], status: int = 0) -> bytes:
    return rpc_reply(xid, struct.pack(">I", status) + opaque(b"") + struct.pack(">I", len(results)) + b"".join(results))


def putfh(handle: bytes) -> bytes:
    return struct.pack(">I", 22) + opaque(handle)


def nfs4_read(offset: int, count: int) -> bytes:
    return struct.pack(">I", 25) + b"\0" * 16 + struct.pack(">QI", offset, count)


def nfs4_write(offset: int, data: bytes, stable: int = 0) -> bytes:
    return struct.pack(">I", 38) + b"\0" * 16 + struct.pack(">QI", offset, stable) + opaque(data)


def done4(operation: int, body: bytes = b"", status: int = 0) -> bytes:
    return struct.pack(">II", operation, status) + body


def scsi_command(tag: int, cdb: bytes, size: int, *, lun: int = 1, read: bool = False, data: bytes = b"") -> bytes:
    """An iSCSI PDU with a SCSI command, and immediate data where there is some."""
    flags = 0x80 | (0x40 if read else 0x20 if size else 0) | 1
    header = struct.pack(">BBHI", 0x01, flags, 0, len(data)) + struct.pack(">HHI", lun, 0, 0)
    header += struct.pack(">IIII", tag, size, tag & 0xFFFF, 1) + cdb.ljust(16, b"\0")
    return header + data + b"\0" * (-len(data) % 4)


def cdb10(opcode: int, lba: int, blocks: int) -> bytes:
    return struct.pack(">BBIBHB", opcode, 0, lba, 0, blocks, 0)


def cdb16(opcode: int, lba: int, blocks: int) -> bytes:
    return struct.pack(">BBQIBB", opcode, 0, lba, blocks, 0, 0)


def scsi_response(tag: int, status: int = 0) -> bytes:
    return struct.pack(">BBBBIQIIIII", 0x21, 0x80, 0, status, 0, 0, tag, 0, 1, 1, 64).ljust(48, b"\0")


def data_in(tag: int, data: bytes, *, last: bool = True, status: int = 0, offset: int = 0) -> bytes:
    """Data of a read; the last piece carries the status."""
    flags = 0x81 if last else 0
    header = struct.pack(">BBBBI", 0x25, flags, 0, status if last else 0, len(data)) + b"\0" * 8
    header += struct.pack(">IIIIIIII", tag, 0xFFFFFFFF, 1, 1, 64, 0, offset, 0)
    return header + data + b"\0" * (-len(data) % 4)


def data_out(tag: int, data: bytes, *, lun: int = 1, offset: int = 0) -> bytes:
    header = struct.pack(">BBHI", 0x05, 0x80, 0, len(data)) + struct.pack(">HHI", lun, 0, 0)
    header += struct.pack(">IIIIIIII", tag, 1, 0, 1, 0, 0, offset, 0)
    return header + data + b"\0" * (-len(data) % 4)
