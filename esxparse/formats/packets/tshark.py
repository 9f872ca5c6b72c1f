"""Running tshark: its command, its messages, and its output as it arrives."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import polars as pl

from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats.decompress import Raw
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.pieces import whole_lines
from esxparse.formats.kit.text import cut_note, may_be_cut
from esxparse.formats.packets.fields import FIELDS, NEEDED
from esxparse.formats.read_ahead import ReadAhead
from esxparse.formats.source import Source
from esxparse.recording import Note
from esxparse.whole import Scratch

_LINES = 50_000
_SEPARATORS = ("\t", ";", "|", ",", " ")
_FIELD = re.compile(r"[a-z_][a-z0-9_]*(?:\.[A-Za-z0-9_]+)*")
_TOPICS = ("rpc.", "nfs.", "iscsi.", "scsi", "tcp.")
_EK = re.compile(r'\s*\{\s*"(?:index"\s*:\s*\{.*"_index"\s*:\s*"packets-|timestamp"\s*:\s*"\d+",\s*"layers"\s*:)')
_NOTED = 5
_QUOTE = '"'
_TAB = "\t"


def separator(header: str) -> str | None:
    r"""Return the separator of the fields, if the line is a header of `tshark -T fields -E header=y`.

    >>> separator("frame.time_epoch;rpc.xid"), separator('"frame.number","tcp.len"'), separator("time,value")
    (';', ',', None)
    """
    for mark in _SEPARATORS:
        cells = [cell.strip('"') for cell in header.split(mark)]
        are_fields = all(_FIELD.fullmatch(cell) for cell in cells)
        if len(cells) > 1 and are_fields and any(cell.startswith("frame.") for cell in cells):
            return mark if any(cell.startswith(_TOPICS) for cell in cells) else None
    return None


def is_ek(line: str) -> bool:
    """Return whether the line is one of `tshark -T ek`."""
    return bool(_EK.match(line))


def frame(block: bytes, columns: list[str]) -> pl.DataFrame:
    """Return the lines of `block` as text, one column per field that is used."""
    table = pl.read_csv(
        io.BytesIO(block),
        has_header=False,
        separator=_TAB,
        quote_char=None,
        schema=dict.fromkeys(columns, pl.String),
        encoding="utf8-lossy",
        truncate_ragged_lines=True,
    )
    return table.select([column for column in FIELDS if column in columns])


def batches(blocks: Iterable[bytes]) -> Iterator[pl.DataFrame]:
    """Yield the output of a run of tshark, its first line the header."""
    columns: list[str] = []
    for block in blocks:
        lines = block
        if not columns:
            header, _, lines = block.partition(b"\n")
            columns = header.decode(errors="replace").strip().split("\t")
        if lines:
            yield frame(lines, columns)


def _text(source: Source, notes: Notes) -> Iterator[str]:
    """Yield the lines of a file, in any encoding that a shell may write."""
    with source.open() as stream:
        buffered = io.BufferedReader(cast("io.RawIOBase", stream))
        mark = buffered.peek(4)[:4]
        utf_16 = mark.startswith((b"\xff\xfe", b"\xfe\xff"))
        encoding = "utf-16" if utf_16 else "utf-8-sig"
        with io.TextIOWrapper(buffered, encoding=encoding, errors="replace") as text:
            for number, line in enumerate(text, 1):
                if not line.endswith(("\n", "\r")) and may_be_cut(line):
                    notes.append(cut_note(number))
                else:
                    yield line.rstrip("\r\n")
            notes += source.ended(stream)


def _left_out(notes: Notes, lines: list[int], why: str) -> None:
    notes += [Note(f"{why}: left out", line=line, severity="warning") for line in lines[:_NOTED]]
    if len(lines) > _NOTED:
        notes.warn(f"{len(lines) - _NOTED:,} more such lines left out")


def _from_fields(header: str, mark: str, lines: Iterator[str], notes: Notes) -> Iterator[pl.DataFrame]:
    columns = [cell.strip('"') for cell in header.split(mark)]
    missing = [field for field in NEEDED if field not in columns]
    if missing:
        raise DamagedError(f"has no column {missing[0]}: run tshark again with -e {missing[0]}")
    # If a field was requested twice, the first column counts.
    unique = [name if name not in columns[:place] else f"{name}#{place}" for place, name in enumerate(columns)]
    odd: list[int] = []
    number = 1
    while some := list(islice(lines, _LINES)):
        good = []
        for place, line in enumerate(some, number + 1):
            cells = _unquoted(line, mark) if _QUOTE in line else line.replace(mark, _TAB)
            if cells.count(_TAB) == len(columns) - 1 and "\0" not in cells:
                good.append(cells)
            elif line.strip():
                odd.append(place)
        number += len(some)
        if good:
            yield frame(("\n".join(good) + "\n").encode(errors="replace"), unique)
    _left_out(notes, odd, f"not {len(columns)} fields as in the header")


def _unquoted(line: str, mark: str) -> str:
    """Return the cells of a line without their quotes, with a tab between them."""
    try:
        cells = next(csv.reader([line], delimiter=mark, strict=True), [])
    except csv.Error:
        return ""
    return _TAB.join(cell.replace(_TAB, " ") for cell in cells)


def _keys() -> dict[str, str]:
    """Return the field of each name in `-T ek`: `rpc_rpc_xid`, and `rpc_xid` for a field requested with -e."""
    keys: dict[str, str] = {}
    for field in FIELDS:
        flat = field.replace(".", "_")
        keys |= {flat: field, f"{field.split('.')[0]}_{flat}": field}
    return keys


def _gather(node: Any, keys: dict[str, str], found: dict[str, list[str]]) -> None:
    """Add the fields below `node`, in their order."""
    for item in node if isinstance(node, list) else ():
        _gather(item, keys, found)
    if isinstance(node, dict):
        for key, value in node.items():
            field = keys.get(key)
            if field is None or isinstance(value, dict):
                _gather(value, keys, found)
                continue
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dict):
                    _gather(item, keys, found)
                else:
                    found.setdefault(field, []).append("1" if item is None else str(item))


def _row(line: str, keys: dict[str, str]) -> dict[str, str] | None:
    """Return the fields of a packet in a line of `-T ek`; None if it is a line between two packets."""
    record = json.loads(line)
    layers = record.get("layers") if isinstance(record, dict) else None
    if not isinstance(layers, dict):
        return None
    found: dict[str, list[str]] = {}
    _gather(layers, keys, found)
    if "scsi_sbc.rdwr16.lba" in found:
        found["scsi_sbc.rdwr16.lba"] = [value.replace(":", "") for value in found["scsi_sbc.rdwr16.lba"]]
    return {field: ",".join(values) for field, values in found.items()}


def _from_ek(lines: Iterator[str], notes: Notes) -> Iterator[pl.DataFrame]:
    keys = _keys()
    odd: list[int] = []
    rows: list[dict[str, str]] = []
    schema = dict.fromkeys(FIELDS, pl.String)
    for number, line in enumerate(lines, 1):
        try:
            row = _row(line, keys) if line.strip() else None
        except (ValueError, RecursionError):
            odd.append(number)
            continue
        if row and "frame.time_epoch" in row:
            rows.append(row)
        if len(rows) >= _LINES:
            yield pl.DataFrame(rows, schema=schema)
            rows = []
    if rows:
        yield pl.DataFrame(rows, schema=schema)
    _left_out(notes, odd, "not the JSON of a packet")


def decoded_elsewhere(source: Source, notes: Notes) -> Iterator[pl.DataFrame]:
    """Yield the packets of a file that tshark printed: `-T fields -E header=y` or `-T ek`."""
    lines = _text(source, notes)
    header = next(lines, "")
    if (mark := separator(header)) is not None:
        yield from _from_fields(header, mark, lines, notes)
    else:
        yield from _from_ek((line for some in ([header], lines) for line in some), notes)


_BLOCK = 1 << 20

# These override the user's settings: messages longer than a segment are joined, connections are analysed, and
# retransmissions do not count as second requests.
_SETTINGS = (
    "tcp.desegment_tcp_streams:TRUE", "tcp.analyze_sequence_numbers:TRUE", "rpc.desegment_rpc_over_tcp:TRUE",
    "rpc.defragment_rpc_over_tcp:TRUE", "iscsi.desegment_iscsi_messages:TRUE",
)  # fmt: skip
_SAYS_NOTHING = re.compile(r"Running as user|could be dangerous|^\s*$|packets? captured|^\*\*|Couldn't load")
_INVALID = re.compile(r"aren't valid", re.IGNORECASE)
_ELSEWHERE = 'tshark -n -r trace.pcap -T ek -J "frame ip ipv6 tcp udp rpc nfs iscsi scsi" > trace.json'


def command(capture: str, fields: Sequence[str] = FIELDS, program: str = "tshark") -> list[str]:
    """Return the command whose output is read; users without tshark run the same command elsewhere.

    >>> " ".join(command("trace.pcap", fields=["frame.number"])).rpartition(" -o ")[2].partition(" ")[2]
    '-r trace.pcap -T fields -E header=y -E occurrence=a -e frame.number'
    """
    settings = [part for setting in _SETTINGS for part in ("-o", setting)]
    wanted = [part for field in fields for part in ("-e", field)]
    return [program, "-n", *settings, "-r", capture, "-T", "fields", "-E", "header=y", "-E", "occurrence=a", *wanted]


def program() -> str:
    """Return the path of tshark."""
    if (found := shutil.which("tshark")) is None:
        raise EsxparseError(
            "a packet capture is decoded by tshark, which is not on the PATH: install it (apt install tshark), "
            f"or where it is installed run {_ELSEWHERE} and open trace.json"
        )
    return found


@contextmanager
def plain_file(source: Source, notes: Notes) -> Iterator[Path]:
    """Yield the path of a capture that tshark can read: its own, or of an unpacked copy."""
    if source.path is not None:
        yield source.path.absolute()
        return
    with Scratch() as folder:
        copy = folder / "capture"
        with source.open() as stream, copy.open("wb") as file:
            shutil.copyfileobj(stream, file, _BLOCK)
            notes += source.ended(stream)
        yield copy


def _unknown_fields(messages: str) -> list[str]:
    lines = messages.splitlines()
    begin = next((place for place, line in enumerate(lines) if _INVALID.search(line)), len(lines))
    return [line.strip() for line in lines[begin + 1 :] if line.strip() in FIELDS]


def _messages(stderr: str, path: Path, source: Source) -> list[str]:
    lines = [line.strip().removeprefix("tshark: ") for line in stderr.splitlines() if not _SAYS_NOTHING.search(line)]
    return [line.replace(str(path), source.name) for line in lines]


def output(found: str, path: Path, source: Source, fields: Sequence[str], notes: Notes) -> Iterator[bytes]:
    """Yield tshark's output for a capture, a block of whole lines at a time; its messages become notes."""
    with tempfile.TemporaryFile() as errors:
        run = subprocess.Popen(  # noqa: S603  the program that the user has on the PATH
            command(str(path), fields, found), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        )
        assert run.stdout is not None  # noqa: S101  it was requested
        # Otherwise tshark would wait at a full pipe while a block is processed.
        ahead = cast("BinaryIO", ReadAhead(Raw(cast("BinaryIO", run.stdout), found)))
        try:
            yield from whole_lines(ahead, _BLOCK)
        except BaseException:
            run.kill()
            raise
        finally:
            ahead.close()
            status = run.wait()
        errors.seek(0)
        messages = _messages(errors.read().decode(errors="replace"), path, source)
    unknown = _unknown_fields("\n".join(messages)) if status else []
    if unknown:
        # tshark stops at once on an unknown field: it has printed nothing yet.
        notes.warn(f"this tshark does not know {', '.join(unknown)}: these fields are missing")
        yield from output(found, path, source, [field for field in fields if field not in unknown], notes)
        return
    notes += [Note(f"tshark: {line}", severity="warning") for line in messages]
    if status and not messages:
        how = f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
        notes.warn(f"tshark {how}: what came after is missing")


def nothing(notes: Sequence[Note]) -> DamagedError:
    """Return the error for a capture without any decodable packet."""
    why = next((note.message for note in notes if note.severity == "warning"), "it holds no packets")
    return DamagedError(f"no packet could be decoded ({why}): capture again, or try another copy of it")
