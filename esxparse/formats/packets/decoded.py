"""What tshark printed, here or elsewhere, as frames of text: one row per packet, one column per field."""

from __future__ import annotations

import csv
import io
import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.kit.text import cut_note, may_be_cut
from esxparse.formats.packets.fields import FIELDS, NEEDED
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from esxparse.formats.source import Source

_LINES = 50_000
_SEPARATORS = ("\t", ";", "|", ",", " ")
_FIELD = re.compile(r"[a-z_][a-z0-9_]*(?:\.[A-Za-z0-9_]+)*")
_TOPICS = ("rpc.", "nfs.", "iscsi.", "scsi", "tcp.")
_EK = re.compile(r'\s*\{\s*"(?:index"\s*:\s*\{.*"_index"\s*:\s*"packets-|timestamp"\s*:\s*"\d+",\s*"layers"\s*:)')
_NOTED = 5
_QUOTE = '"'
_TAB = "\t"


def separator(header: str) -> str | None:
    r"""What stands between the fields, if the line is a header of `tshark -T fields -E header=y`.

    >>> separator("frame.time_epoch;rpc.xid"), separator('"frame.number","tcp.len"'), separator("time,value")
    (';', ',', None)
    """
    for mark in _SEPARATORS:
        cells = [cell.strip('"') for cell in header.split(mark)]
        named = all(_FIELD.fullmatch(cell) for cell in cells)
        if len(cells) > 1 and named and any(cell.startswith("frame.") for cell in cells):
            return mark if any(cell.startswith(_TOPICS) for cell in cells) else None
    return None


def is_ek(line: str) -> bool:
    """Whether the line is one of `tshark -T ek`."""
    return bool(_EK.match(line))


def frame(block: bytes, columns: list[str]) -> pl.DataFrame:
    """The lines of `block` as text, one column per field that is used."""
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
    """The output of a run of tshark, its first line the header."""
    columns: list[str] = []
    for block in blocks:
        lines = block
        if not columns:
            header, _, lines = block.partition(b"\n")
            columns = header.decode(errors="replace").strip().split("\t")
        if lines:
            yield frame(lines, columns)


def _text(source: Source, notes: list[Note]) -> Iterator[str]:
    """The lines of a file in whatever encoding a shell gave it."""
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


def _left_out(notes: list[Note], lines: list[int], why: str) -> None:
    notes += [Note(f"{why}: left out", line=line, severity="warning") for line in lines[:_NOTED]]
    if len(lines) > _NOTED:
        notes.append(Note(f"{len(lines) - _NOTED:,} more such lines left out", severity="warning"))


def _from_fields(header: str, mark: str, lines: Iterator[str], notes: list[Note]) -> Iterator[pl.DataFrame]:
    columns = [cell.strip('"') for cell in header.split(mark)]
    missing = [field for field in NEEDED if field not in columns]
    if missing:
        msg = f"has no column {missing[0]}: run tshark again with -e {missing[0]}"
        raise DamagedError(msg)
    # Of a field that was asked for twice the first column counts.
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
    """The cells of a line without their quotes, with a tab between them."""
    try:
        cells = next(csv.reader([line], delimiter=mark, strict=True), [])
    except csv.Error:
        return ""
    return _TAB.join(cell.replace(_TAB, " ") for cell in cells)


def _keys() -> dict[str, str]:
    """Names that fields have in `-T ek`, to the fields: `rpc_rpc_xid`, and `rpc_xid` where -e asked for it."""
    keys: dict[str, str] = {}
    for field in FIELDS:
        flat = field.replace(".", "_")
        keys |= {flat: field, f"{field.split('.')[0]}_{flat}": field}
    return keys


def _gather(node: Any, keys: dict[str, str], found: dict[str, list[str]]) -> None:
    """Adds the fields below `node`, in their order."""
    if isinstance(node, list):
        for item in node:
            _gather(item, keys, found)
    elif isinstance(node, dict):
        for key, value in node.items():
            field = keys.get(key)
            if field is None or isinstance(value, dict):
                _gather(value, keys, found)
                continue
            for item in value if isinstance(value, list) else [value]:
                if isinstance(item, dict):
                    _gather(item, keys, found)
                elif item is not None:
                    found.setdefault(field, []).append(str(item))
                else:
                    found.setdefault(field, []).append("1")


def _row(line: str, keys: dict[str, str]) -> dict[str, str] | None:
    """The fields of a packet in a line of `-T ek`; None where it is a line between two packets."""
    record = json.loads(line)
    layers = record.get("layers") if isinstance(record, dict) else None
    if not isinstance(layers, dict):
        return None
    found: dict[str, list[str]] = {}
    _gather(layers, keys, found)
    if "scsi_sbc.rdwr16.lba" in found:
        found["scsi_sbc.rdwr16.lba"] = [value.replace(":", "") for value in found["scsi_sbc.rdwr16.lba"]]
    return {field: ",".join(values) for field, values in found.items()}


def _from_ek(lines: Iterator[str], notes: list[Note]) -> Iterator[pl.DataFrame]:
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


def decoded_elsewhere(source: Source, notes: list[Note]) -> Iterator[pl.DataFrame]:
    """The packets of a file that tshark printed: `-T fields -E header=y` or `-T ek`.

    Raises:
        DamagedError: A column is missing without which nothing can be said.
    """
    lines = _text(source, notes)
    header = next(lines, "")
    mark = separator(header)
    if mark is not None:
        yield from _from_fields(header, mark, lines, notes)
    else:
        yield from _from_ek((line for some in ([header], lines) for line in some), notes)
