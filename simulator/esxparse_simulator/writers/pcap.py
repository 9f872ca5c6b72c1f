"""Capture files: pcap (microseconds or nanoseconds) and pcapng, of Ethernet, IPv4 and TCP, with right checksums.

Evidence: the formats as libpcap and the pcapng draft describe them, RFC 791 and 9293; tshark 4.0 reads what is written
here, and gives back what went in. Assumptions: MAC addresses are locally administered ones; a window of 8 MB.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, Literal

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.packets import SYN, frames

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esxparse_simulator.writers.packets import Frame, Trace

__all__ = ["Container", "ethernet", "lines"]

Container = Literal["pcap", "pcap-ns", "pcapng"]
_MACS: Final = (bytes.fromhex("020000000001"), bytes.fromhex("020000000002"))
_SNAP: Final = 262_144
_ETHERNET: Final = 1
_WINDOW: Final = 65_535
# Maximum segment size 1460, window scale 7, selective acknowledgements permitted.
_SYN_OPTIONS: Final = bytes.fromhex("020405b4010303070402") + bytes.fromhex("0101")


def _checksum(content: bytes) -> int:
    # A sum of 16-bit words with carries added in is the number modulo 65535.
    total = int.from_bytes(content + bytes(len(content) % 2)) % 0xFFFF
    return 0xFFFF - total


def ethernet(frame: Frame, trace: Trace) -> bytes:
    """A packet as it is on the wire (without preamble and frame check)."""
    addresses = [bytes(map(int, address.split("."))) for address in (trace.client, trace.server)]
    ports, macs = list(trace.ports), list(_MACS)
    if not frame.up:
        addresses, ports, macs = addresses[::-1], ports[::-1], macs[::-1]
    options = _SYN_OPTIONS if frame.flags & SYN else b""
    words = (20 + len(options)) // 4
    header = struct.pack(">HHIIBBH", *ports, frame.sequence, frame.acknowledged, words << 4, frame.flags, _WINDOW)
    body = options + frame.payload
    length = len(header) + 4 + len(body)
    pseudo = b"".join(addresses) + struct.pack(">BBH", 0, 6, length)
    segment = header + struct.pack(">HH", _checksum(pseudo + header + bytes(4) + body), 0) + body
    packet = struct.pack(">BBHHHBB", 0x45, 0, 20 + length, frame.number & 0xFFFF, 0x4000, 64, 6)
    packet += struct.pack(">H", _checksum(packet + bytes(2) + b"".join(addresses))) + b"".join(addresses)
    return macs[1] + macs[0] + b"\x08\x00" + packet + segment


def _pcap(trace: Trace, magic: int, unit_ns: int) -> Iterator[bytes]:
    yield struct.pack("<IHHiIII", magic, 2, 4, 0, 0, _SNAP, _ETHERNET)
    for frame in frames(trace):
        content = ethernet(frame, trace)
        seconds, part = divmod(frame.ns, 10**9)
        yield struct.pack("<IIII", seconds, part // unit_ns, len(content), len(content)) + content


def _block(kind: int, content: bytes) -> bytes:
    padded = content + bytes(-len(content) % 4)
    length = 12 + len(padded)
    return struct.pack("<II", kind, length) + padded + struct.pack("<I", length)


def _pcapng(trace: Trace) -> Iterator[bytes]:
    yield _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    yield _block(1, struct.pack("<HHI", _ETHERNET, 0, _SNAP))
    for frame in frames(trace):
        content = ethernet(frame, trace)
        microseconds = frame.ns // 1000
        head = struct.pack("<IIIII", 0, microseconds >> 32, microseconds & 0xFFFFFFFF, len(content), len(content))
        yield _block(6, head + content)


def lines(trace: Trace, container: Container = "pcap") -> Iterator[bytes]:
    """The capture file, packet by packet.

    Raises:
        EsxparseError: The container is unknown, or something in the trace makes no sense.
    """
    if container == "pcap":
        return _pcap(trace, 0xA1B2C3D4, 1000)
    if container == "pcap-ns":
        return _pcap(trace, 0xA1B23C4D, 1)
    if container == "pcapng":
        return _pcapng(trace)
    msg = f"captures are written as pcap, pcap-ns or pcapng, not as {container!r}: choose one"
    raise EsxparseError(msg)
