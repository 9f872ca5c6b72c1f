"""The header of a slice: the kept columns, whether they will be read as before, and its place.

A slice may begin later than its capture, or keep disks that were idle in its first sample while others were not. Its
reader would take such a sample for unmeasured, so the header shows that the capture continues (`CONTINUED`). If esxtop
was restarted, the repeated header is kept if the disks after it were not measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from esxparse.formats.esxtop import header, layout
from esxparse.formats.esxtop.first_sample import all_zero, rate_cells
from esxparse.formats.esxtop.grammar import CONTINUED, decoded
from esxparse.formats.esxtop.header import Header
from esxparse.formats.esxtop.layout import Layout
from esxparse.formats.esxtop.scan import Integers
from esxparse.recording import Note

if TYPE_CHECKING:
    import polars as pl

_FIRST_CELL = re.compile(r'"?(?P<zone>\(PDH-CSV [^)]*\) ?\(.*?)(?P<bias>\)\(-?\d{1,9}\))')


def _hosts(text: str, parsed: Header) -> list[str]:
    """Return the host of each cell: files that other programs glued together have several."""
    if len(parsed.hosts) < 2:  # noqa: PLR2004  one host is every cell's
        return [*parsed.hosts, ""][:1] * len(parsed.owners)
    hosts, at = [], 0
    for place in range(len(parsed.owners)):
        found = text.find(f"\\{parsed.path(place)}", at)
        hosts.append(text[text.rfind("\\\\", at, found) + 2 : found] if found >= 0 else parsed.hosts[0])
        at = max(at, found + 1)
    return hosts


def header_line(line: bytes, parsed: Header, kept: Integers, *, continued: bool = False) -> bytes:
    """Return the header of the slice, with a line end, from the capture's header and the places of kept cells."""
    text, _ = decoded(line)
    first = _FIRST_CELL.match(text)
    stamp = text
    if first:
        stamp = first["zone"].removesuffix(CONTINUED) + (CONTINUED if continued else "") + first["bias"]
    hosts = _hosts(text, parsed)
    cells = [stamp, *(rf"\\{hosts[place]}\{parsed.path(place)}" for place in kept.tolist())]
    return ('"' + '","'.join(cells) + '"\n').encode()


def misread(line: bytes, laid_out: Layout, parts: Mapping[str, pl.DataFrame], kept: Integers) -> list[Note]:
    """Return notes on names that the slice's reader will read differently without the dropped columns."""
    parsed = header.parse(line.rstrip(b"\n"), 1)
    mine = layout.build(parsed.owners, parsed.counters)

    def names(of: Layout, cells: Integers) -> list[tuple[str, str | None, str]]:
        columns = zip(of.table[cells].tolist(), of.lane[cells].tolist(), of.column[cells].tolist(), strict=True)
        return [(of.tables[t].name, of.tables[t].instances[lane], of.tables[t].columns[c]) for t, lane, c in columns]

    before, after = names(laid_out, kept), names(mine, np.arange(len(parsed.owners)))
    notes = []
    if before != after:
        was, now = next(pair for pair in zip([*before, None], [*after, None], strict=False) if pair[0] != pair[1])
        notes.append(Note(f"the slice will be read with other names: {was} as {now}", severity="warning"))
    for table, now_parts in mine.parts().items():
        if table not in parts:
            continue
        was_parts = now_parts.select("instance").join(
            parts[table], on="instance", how="left", nulls_equal=True, maintain_order="left"
        )
        if not was_parts.equals(now_parts):
            message = f"some instances of {table} will be parsed differently: keep group_cpu with them"
            notes.append(Note(message, severity="warning"))
    return notes


class Headers:
    """The headers that a slice needs before its samples."""

    def __init__(self, line: bytes, parsed: Header, laid_out: Layout, kept: Integers) -> None:
        self.line = line
        self.parsed = parsed
        self.kept = kept
        self.rates = rate_cells(laid_out)
        self.kept_rates = np.full(len(self.rates), -1, dtype=np.int64)
        self.kept_rates[kept + 1] = self.rates[kept + 1]
        self.header = b""
        self.notes: list[Note] = []

    def before(self, row: bytes, line: int, *, first: bool) -> bytes:
        """Return the header to write before a row on that line, or nothing; `first`: whether it follows a header."""
        if self.header and not first:
            return b""
        at_rest = all_zero(row, self.kept_rates)
        unmeasured = first and at_rest and all_zero(row, self.rates)
        if self.header:
            return self.header if unmeasured else b""
        goes_on = at_rest and not unmeasured
        if goes_on:
            message = "disks were idle in the first sample kept: the header is marked as a continuation"
            self.notes.append(Note(f"{message} ({CONTINUED.strip(', ')})", line=line, column=1))
        self.header = header_line(self.line, self.parsed, self.kept, continued=goes_on)
        return self.header
