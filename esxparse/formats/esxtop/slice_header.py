"""The header of a slice: the names of the columns that are kept, and whether they will still be read as before."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from esxparse.formats.esxtop import header, instances, layout
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from esxparse.formats.esxtop.header import Header
    from esxparse.formats.esxtop.layout import Layout

    Integers = NDArray[np.int64]

_FIRST_CELL = re.compile(r'"?(?P<zone>\(PDH-CSV [^)]*\) ?\(.*?)(?P<bias>\)\(-?\d{1,9}\))')


def _text(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252", errors="replace")


def _hosts(text: str, parsed: Header) -> list[str]:
    """Host of each cell: files that other programs glued together name several."""
    if len(parsed.hosts) < 2:  # noqa: PLR2004  one host is every cell's
        return [*parsed.hosts, ""][:1] * len(parsed.owners)
    hosts, at = [], 0
    for place in range(len(parsed.owners)):
        found = text.find(f"\\{parsed.path(place)}", at)
        hosts.append(text[text.rfind("\\\\", at, found) + 2 : found] if found >= 0 else parsed.hosts[0])
        at = max(at, found + 1)
    return hosts


def header_line(line: bytes, parsed: Header, kept: Integers, *, continued: bool = False) -> bytes:
    """The header of the slice, without a line end, from that of the capture and the places that are kept.

    It may say that its first sample goes on from one before it, see `header.CONTINUED`.
    """
    text = _text(line)
    first = _FIRST_CELL.match(text)
    stamp = text
    if first:
        zone = first["zone"].removesuffix(header.CONTINUED)
        stamp = zone + (header.CONTINUED if continued else "") + first["bias"]
    hosts = _hosts(text, parsed)
    cells = [stamp, *(rf"\\{hosts[place]}\{parsed.path(place)}" for place in kept.tolist())]
    return ('"' + '","'.join(cells) + '"').encode()


def misread(line: bytes, laid_out: Layout, parts: Mapping[str, pl.DataFrame], kept: Integers) -> list[Note]:
    """Notes on names that the slice's reader will take for others, as the columns that told are not kept."""
    parsed = header.parse(line, 1)
    mine = layout.build(parsed.owners, parsed.counters)

    def names(of: Layout, cells: Integers) -> list[tuple[str, str | None, str]]:
        columns = zip(of.table[cells].tolist(), of.lane[cells].tolist(), of.column[cells].tolist(), strict=True)
        return [(of.tables[t].name, of.tables[t].instances[lane], of.tables[t].columns[c]) for t, lane, c in columns]

    before, after = names(laid_out, kept), names(mine, np.arange(len(parsed.owners)))
    notes = []
    if before != after:
        was, now = next(pair for pair in zip([*before, None], [*after, None], strict=False) if pair[0] != pair[1])
        notes.append(Note(f"the slice will be read with other names: {was} as {now}", severity="warning"))
    known = {shape.name: shape.instances for shape in mine.tables}
    for table, texts in known.items():
        if table not in parts:
            continue
        now_parts = instances.parts(table, texts, known)
        was_parts = now_parts.select("instance").join(
            parts[table], on="instance", how="left", nulls_equal=True, maintain_order="left"
        )
        if not was_parts.equals(now_parts):
            message = f"some instances of {table} will be parsed in another way: keep group_cpu with them"
            notes.append(Note(message, severity="warning"))
    return notes
