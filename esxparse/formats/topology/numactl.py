"""numactl --hardware of Linux: NUMA nodes, their CPUs and memory, and the distances between nodes (numactl 2.0).

meta: `numa_nodes`, `threads` (CPUs), `memory_bytes` (the sum; null if a node has none printed).

Source: numactl.c (`hardware`, `print_distances`). A line of only numbers continues the list above it: terminals,
mails and numactl itself wrap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import whole
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import frames, known, schemas
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "numactl"

_SCHEMAS, _LINES = schemas(__file__), kinds(__file__)
_PER_MIB = {"K": 1 / 1024, "M": 1, "G": 1024}


class Found(NamedTuple):
    """The content of a file, as numbers."""

    cpus: dict[int, list[int]]
    sizes: dict[tuple[int, str], int]
    header: list[int]
    rows: dict[int, list[int]]
    available: int | None


def read(source: Source) -> Recording:
    """Read one file."""
    whole_text = source.text().without_cut_line()
    found, notes = read_hardware(whole_text.lines())
    nodes = sorted({*found.cpus, *(node for node, _ in found.sizes)})
    if not nodes:
        says = (
            "that there is no NUMA on that machine"
            if _LINES["none"].search(whole_text.text)
            else "nothing about any node"
        )
        msg = f"{source.name}: numactl says {says}: record numactl --hardware again, on the machine that ran the test"
        raise DamagedError(msg)
    if found.available is not None and found.available != len(nodes):
        notes.warn(f"{found.available} nodes available, {len(nodes)} described")
    rows = [
        (node, found.cpus.get(node, []), *(found.sizes.get((node, what)) for what in ("size", "free")))
        for node in nodes
    ]
    distances = _distances(found, notes)
    tables = frames({"nodes": (rows, _SCHEMAS["nodes"]), "distances": (distances, _SCHEMAS["distances"])})
    sizes = [found.sizes.get((node, "size")) for node in nodes]
    meta = {
        "numa_nodes": found.available or len(nodes),
        "threads": sum(map(len, found.cpus.values())) or None,
        "memory_bytes": None if None in sizes else sum(size for size in sizes if size is not None) << 20,
    }
    return Recording(FORMAT, source.name, tables, known(meta), whole_text.notes + tuple(notes))


def read_hardware(  # noqa: C901  a branch per kind of line
    lines: Sequence[str],
) -> tuple[Found, Notes]:
    """Return the content of the lines; lines of only numbers continue a list."""
    found = Found({}, {}, [], {}, None)
    notes = Notes()
    current: list[int] | None = None
    for place, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        if begun := _LINES["list"].fullmatch(text):
            of_nodes = found.cpus if begun["node"] else found.rows
            current = found.header if begun["header"] else of_nodes.setdefault(int(begun["node"] or begun["row"]), [])
            current += map(int, begun["numbers"].split())
        elif memory := _LINES["memory"].fullmatch(text):
            current = None
            if (size := _megabytes(memory[3])) is None:
                note = f"{memory[2]} of node {memory[1]} is not known: {memory[3].strip()!r}"
                notes.append(Note(note, line=place, severity="info" if memory[3].startswith("<") else "warning"))
            else:
                found.sizes[int(memory[1]), memory[2]] = size
        elif available := _LINES["available"].fullmatch(text):
            if found.available is not None:
                notes.warn("a second recording in the file is left out", place)
                break
            found = found._replace(available=int(available[1]))
        elif current is not None and _LINES["numbers"].fullmatch(text):
            current += map(int, text.split())
        elif _LINES["no_distances"].match(text):
            notes.say("numactl knows no distances there", place)
        elif not _LINES["distances"].match(text):
            current = None
            notes.skip(text, place, "warning" if re.match(r"\s*node \d|\s*\d", text) else "info")
    return found, notes


def _megabytes(text: str) -> int | None:
    found = _LINES["size"].match(text.strip())
    size = whole(found[1]) if found else None
    return round(size * _PER_MIB[found[2]]) if found and size is not None and size < 1 << 40 else None


def _distances(found: Found, notes: Notes) -> list[tuple[int, int, int]]:
    header = found.header or list(found.rows)
    rows: list[tuple[int, int, int]] = []
    for node, distances in found.rows.items():
        if len(distances) != len(header):
            notes.warn(f"{len(distances)} distances of node {node} to {len(header)} nodes: left out")
            continue
        rows += [(node, to_node, distance) for to_node, distance in zip(header, distances, strict=True)]
    return rows
