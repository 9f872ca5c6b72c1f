"""Counters and summaries of an ESXi host: esxcli's statistics, and vim-cmd's summaries of the host and of VMs.

`esxcli storage core device stats get`, `esxcli network nic stats get` (text; the first also as JSON and CSV),
`vim-cmd hostsvc/hostsummary`, `vim-cmd vmsvc/get.summary ID`; one or several in a file, also several times.

These outputs do not show when they were made.

Source: published outputs of ESXi 4 to 8; the vSphere API reference for the units of quickStats.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Counted, Notes, left_out
from esxparse.formats.kit.numbers import whole
from esxparse.formats.kit.objects import mappings
from esxparse.formats.kit.tables import Row, data, frame, frames, known, schemas, typed
from esxparse.formats.kit.text import cells_of
from esxparse.formats.source import Source
from esxparse.formats.topology.esxcli_forms import UNSET, flattened
from esxparse.recording import Recording

FORMAT = "esxi_counters"

_SUMMARY = re.compile(r"^\((vim\.(?:host|vm)\.Summary)\) \{", re.MULTILINE)
_END = re.compile(r"^\}|^\(vim\.(?:host|vm)\.Summary\) \{", re.MULTILINE)
_NIC = re.compile(r"NIC statistics for (\S+?):?\s*", re.IGNORECASE)
_FIELD = re.compile(r"\s+([A-Za-z][\w /().-]{0,60}?): (\S.*)")
_OF_DEVICE = re.compile(
    r"""(?mx)^\s+Successful\ Commands:\ \S+\s*$        # text
    | \A\s*[\[{][^<>]{0,400}"Successful\ ?Commands"\s*:  # JSON
    | \A(?:\w+,){1,30}SuccessfulCommands,"""  # CSV
)

_SUMMARIES = {"vim.host.Summary": "hosts", "vim.vm.Summary": "vms"}
_SCHEMAS = schemas(__file__)


def recognise(head: Head) -> bool:
    """Return whether a file with this head has one of these outputs near its beginning."""
    begin = head.text[: 1 << 13]
    if _SUMMARY.search(begin):
        return True
    lines = begin.split("\n")[:12]
    if any(_NIC.fullmatch(line) for line in lines):
        return "ackets received:" in begin
    return bool(_OF_DEVICE.search(begin)) and ("Blocks Read" in begin or "BlocksRead" in begin)


def _column_of(key: str) -> str:
    """Return the column of a counter, from its name in text or a formatter's output.

    >>> _column_of("Failed Blocks Read"), _column_of("FailedBlocksRead"), _column_of("Receive CRC errors")
    ('failed_blocks_read', 'failed_blocks_read', 'receive_crc_errors')
    """
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key)).strip("_").lower()


def _counters(fields: Mapping[str, Any]) -> Row:
    """Return the row of a device."""
    return {"device": fields.get("Device")} | {_column_of(key): whole(fields[key]) for key in fields if key != "Device"}


class _Reader:
    """A reader of lines of text; a line that begins a device or NIC ends the one before."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Row]] = {"devices": [], "nics": []}
        self.odd = Counted()
        self.left: list[tuple[int, str]] = []
        self.row: Row | None = None

    def line(self, at: int, line: str) -> None:
        """Process a line."""
        if (nic := _NIC.fullmatch(line.strip())) is not None:
            self.row = {"nic": nic[1]}
            self.rows["nics"].append(self.row)
        elif (field := _FIELD.fullmatch(line)) is not None:
            self._field(at, field[1], field[2].strip())
        elif line[:1].isspace() or len(line.split()) != 1:
            self.left.append((at, line))
        else:
            # The name of a device, which is repeated below it.
            self.row = None

    def _field(self, at: int, key: str, value: str) -> None:
        if key == "Device":
            self.row = {"device": value}
            self.rows["devices"].append(self.row)
        elif self.row is None:
            self.left.append((at, f"{key}: {value}"))
        elif (count := whole(value)) is None:
            self.odd.say(f"no number in {key}: {value[:20]!r}, left empty", at)
        else:
            self.row[_column_of(key)] = count


def _structured(text: str) -> list[Row]:
    """Return the devices of JSON or CSV; empty for other text."""
    if text.lstrip()[:1] in {"[", "{"}:
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            return []
        return [_counters(one) for one in mappings(content if isinstance(content, list) else [content])]
    lines = [line for line in text.split("\n") if line.strip()]
    names = cells_of(lines[0]) if lines else []
    if "Device" not in names:
        return []
    every = (dict(zip(names, cells_of(line), strict=False)) for line in lines[1:])
    return [_counters({key: cell for key, cell in one.items() if key}) for one in every]


def _summaries(text: str) -> tuple[dict[str, list[Row]], str]:
    """Return hosts, VMs and their other fields; and the text with empty lines instead."""
    rows: dict[str, list[Row]] = {"hosts": [], "vms": [], "facts": []}
    rest, behind = [], 0
    for begin in _SUMMARY.finditer(text):
        closed = _END.search(text, begin.end())
        end = closed.start() + (closed[0] == "}") if closed else len(text)
        rest += [text[behind : begin.start()], "\n" * text.count("\n", begin.start(), end)]
        behind = end
        table = _SUMMARIES[begin[1]]
        row: Row = {"sample": len(rows[table]) + 1}
        for path, value in flattened(text[begin.start() : end]):
            column = data(__file__)["fields"][table].get(".".join(path))
            if value == UNSET:
                continue
            if column is None:
                section = f"{table}.{'.'.join(path[:-1])}".rstrip(".")
                rows["facts"].append({"sample": row["sample"], "section": section, "key": path[-1], "value": value})
            else:
                row |= typed({column: value}, _SCHEMAS[table])
        rows[table].append(row)
    return rows, "".join([*rest, text[behind:]])


def _sampled(rows: Sequence[Row], of: str) -> pl.LazyFrame:
    """Return counters with their sample, in the columns that any row has."""
    met: Counter[str] = Counter()
    for row in rows:
        met[row[of]] += 1
        row["sample"] = met[row[of]]
    names = dict.fromkeys(name for row in rows for name in row if name not in {of, "sample"})
    return frame(rows, {of: pl.String(), "sample": pl.Int64()} | dict.fromkeys(names, pl.Int64())).lazy()


def read(source: Source) -> Recording:
    """Read the output of one command or several."""
    text = source.text().without_cut_line()
    rows, other = _summaries(text.text)
    reader = _Reader()
    reader.rows["devices"] = _structured(other)
    for at, line in enumerate([] if reader.rows["devices"] else other.split("\n"), 1):
        if line.strip():
            reader.line(at, line.rstrip())
    counted = {
        name: [row for row in found if len(row) > 1 and row.get(name[:-1])] for name, found in reader.rows.items()
    }
    tables = {name: _sampled(found, name[:-1]) for name, found in counted.items() if found}
    tables |= frames({name: (found, _SCHEMAS[name]) for name, found in rows.items()})
    if not tables:
        raise DamagedError("no whole counter or summary of ESXi in it: run the command again")
    # The commands themselves, headings and prompts have no facts about the host.
    rest = [(at, line) for at, line in reader.left if not re.search(r"esxcli|vim-cmd|:$|^Listsummary", line.strip())]
    notes = Notes([*text.notes, *reader.odd.notes("warning"), *left_out(rest)])
    host = next((row.get("host") for row in rows["hosts"]), None)
    return Recording(FORMAT, source.name, tables, known({"host": host}), tuple(notes))
