"""NFSv3 and iSCSI messages: READ and WRITE calls, and what answers them, as bytes and as the fields tshark shows.

Evidence: RFC 1813 and 5531 (NFSv3, RPC), RFC 7143 (iSCSI), SBC-3 (READ and WRITE of 10 and 16 bytes); which fields
TShark 4.0 prints for each of these messages, and how, was taken from its own output.

Assumptions: calls have AUTH_UNIX credentials of root; attributes stand in all replies; data is zeros. iSCSI sends the
data of a write in the command (ImmediateData, up to 256 KiB), ends a read with the data that carries its status, and
logged in before the trace begins.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from esxparse_simulator.writers.packets import Request

__all__ = ["Message", "iscsi_answer", "iscsi_call", "nfs_answer", "nfs_call"]

HANDLE: Final = b"esxparse:file-handle"
MACHINE: Final = b"esx-01"
_READ, _WRITE = 6, 7
_FILE_SYNC: Final = 2
_BLOCK: Final = 512
_LAST_LBA_10: Final = 0xFFFFFFFF
_MOST_BLOCKS_10: Final = 0xFFFF
_NO_TAG: Final = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent at once, and the fields that tshark shows for the packet that ends it (but times and addresses)."""

    content: bytes
    fields: Mapping[str, str]


def _opaque(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content + bytes(-len(content) % 4)


def _marked(message: bytes) -> bytes:
    """With the record mark that stands before an RPC message on TCP."""
    return struct.pack(">I", 0x80000000 | len(message)) + message


def _rpc(xid: int, procedure: int) -> dict[str, str]:
    return {
        "rpc.xid": f"0x{xid:08x}",
        "rpc.program": "100003",
        "rpc.programversion": "3",
        "rpc.procedure": str(procedure),
        "nfs.procedure_v3": str(procedure),
    }


def nfs_call(request: Request, xid: int) -> Message:
    """The call of a READ or WRITE."""
    procedure = _READ if request.read else _WRITE
    machine = struct.pack(">I", 0) + _opaque(MACHINE) + struct.pack(">III", 0, 0, 0)
    header = struct.pack(">IIIIII", xid, 0, 2, 100003, 3, procedure)
    header += struct.pack(">I", 1) + _opaque(machine) + struct.pack(">II", 0, 0)
    where = _opaque(HANDLE) + struct.pack(">QI", request.offset_bytes, request.size_bytes)
    fields = _rpc(xid, procedure)
    # Where the program is shown in the body of a call, its version is shown again with the procedure.
    fields |= {"rpc.msgtyp": "0", "rpc.programversion": "3,3"}
    fields |= {"nfs.offset3": str(request.offset_bytes), "nfs.count3": str(request.size_bytes)}
    fields |= {"nfs.fh.hash": f"0x{zlib.crc32(HANDLE):08x}"}
    if not request.read:
        where += struct.pack(">I", _FILE_SYNC) + _opaque(bytes(request.size_bytes))
        fields["nfs.write.stable"] = str(_FILE_SYNC)
    return Message(_marked(header + where), fields)


def _attributes(size: int, seconds: int) -> bytes:
    return struct.pack(
        ">IIIIIQQIIQQIIIIII", 1, 0o600, 1, 0, 0, size, size, 0, 0, 1, 64, seconds, 0, seconds, 0, seconds, 0
    )


def nfs_answer(request: Request, xid: int, seconds: int) -> Message:
    """The reply: all was done; `seconds` since 1970 is the file's time."""
    end = request.offset_bytes + request.size_bytes
    header = struct.pack(">IIIIII", xid, 1, 0, 0, 0, 0) + struct.pack(">I", 0)
    attributes = struct.pack(">I", 1) + _attributes(end, seconds)
    fields = _rpc(xid, _READ if request.read else _WRITE)
    fields |= {"rpc.msgtyp": "1", "rpc.replystat": "0", "rpc.state_accept": "0", "rpc.programversion": "3,3"}
    fields |= {"nfs.status3": "0", "nfs.count3": str(request.size_bytes)}
    if request.read:
        body = attributes + struct.pack(">II", request.size_bytes, 0) + _opaque(bytes(request.size_bytes))
    else:
        before = struct.pack(">IQIIII", 1, end, seconds, 0, seconds, 0)
        body = before + attributes + struct.pack(">II", request.size_bytes, _FILE_SYNC) + b"esxparse"
        fields["nfs.write.committed"] = str(_FILE_SYNC)
    return Message(_marked(header + body), fields)


def _cdb(request: Request) -> tuple[bytes, dict[str, str], str]:
    lba, blocks = request.offset_bytes // _BLOCK, request.size_bytes // _BLOCK
    verb = "Read" if request.read else "Write"
    if lba <= _LAST_LBA_10 and blocks <= _MOST_BLOCKS_10:
        opcode = 0x28 if request.read else 0x2A
        fields = {"scsi_sbc.rdwr10.lba": str(lba), "scsi_sbc.rdwr10.xferlen": str(blocks)}
        return struct.pack(">BBIBHB", opcode, 0, lba, 0, blocks, 0), fields, f"{verb}(10)"
    opcode = 0x88 if request.read else 0x8A
    fields = {"scsi_sbc.rdwr16.lba": f"{lba:016x}", "scsi_sbc.rdwr12.xferlen": str(blocks)}
    return struct.pack(">BBQIBB", opcode, 0, lba, blocks, 0, 0), fields, f"{verb}(16)"


def iscsi_call(request: Request, tag: int) -> Message:
    """The command of a READ or WRITE; a write brings its data."""
    cdb, fields, name = _cdb(request)
    data = b"" if request.read else bytes(request.size_bytes)
    flags = 0x81 | (0x40 if request.read else 0x20)
    header = struct.pack(">BBHIHHI", 0x01, flags, 0, len(data), request.lun, 0, 0)
    header += struct.pack(">IIII", tag, request.size_bytes, tag, tag) + cdb.ljust(16, b"\0")
    shown, opcode, lun = [f"SCSI CDB {name}"], f"0x{cdb[0]:02x}", f"0x{request.lun:04x}"
    shown += [] if request.read else [f"SCSI Payload ({name} Request Data)"]
    fields |= {
        "iscsi.opcode": "0x01",
        "iscsi.initiatortasktag": f"0x{tag:08x}",
        "iscsi.datasegmentlength": str(len(data)),
        "iscsi.scsicommand.expecteddatatransferlength": str(request.size_bytes),
        "scsi": ",".join(shown),
        "scsi.lun": ",".join([lun] * (len(shown) + 1)),
        "scsi_sbc.opcode": ",".join([opcode] * len(shown)),
    }
    return Message(header + data, fields)


def iscsi_answer(request: Request, tag: int) -> Message:
    """What ends it: the data of a read with its status, or the response to a write."""
    cdb, _, name = _cdb(request)
    lun, opcode = f"0x{request.lun:04x}", f"0x{cdb[0]:02x}"
    shown = [f"SCSI Response ({name})"]
    fields = {"iscsi.initiatortasktag": f"0x{tag:08x}", "iscsi.scsiresponse.status": "0x00"}
    numbers = (tag, tag + 1, tag + 64)
    if request.read:
        data = bytes(request.size_bytes)
        header = struct.pack(">BBBBIQ", 0x25, 0x81, 0, 0, len(data), 0)
        header += struct.pack(">IIIIIIII", tag, _NO_TAG, *numbers, 0, 0, 0)
        fields |= {"iscsi.opcode": "0x25", "iscsi.scsidata.S": "1"}
        shown = [f"SCSI Payload ({name} Response Data)", *shown]
    else:
        data = b""
        header = struct.pack(">BBBBIQIIIII", 0x21, 0x80, 0, 0, 0, 0, tag, 0, *numbers).ljust(48, b"\0")
        fields |= {"iscsi.opcode": "0x21"}
    fields |= {
        "iscsi.datasegmentlength": str(len(data)),
        "scsi": ",".join(shown),
        "scsi.lun": ",".join([lun] * len(shown)),
        "scsi_sbc.opcode": ",".join([opcode] * len(shown)),
    }
    return Message(header + data, fields)
