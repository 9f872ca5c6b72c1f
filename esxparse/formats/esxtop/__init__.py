r"""esxtop batch captures (`esxtop -b`, `esxtop -b -a`, `resxtop -b`): PDH-CSV 4.0.

Tables
------
One per esxtop object, named by its snake_case (`Group Cpu` is `group_cpu`), and one row per sample and instance:

    time        datetime[us, UTC]   UTC = the capture's clock + the bias its header states
    instance    str                 as printed between the parentheses; null for an object that has no instances
    ...                             the instance's parts, by object:
        group_cpu, group_memory     group_id i64, group str
        vcpu                        group_id i64, group str, world_id i64, world str
        virtual_disk                vm str, disk str (null in the VM's own row, which sums its disks)
        network_port                switch str, port_id i64, world_id i64 (null where the port is no VM's), client str
        physical_disk_per_device_per_world   device str, world_id i64
        physical_disk_partition     device str, partition i64
        physical_disk               adapter str, path str (null in the adapter's own row)
        interrupt_cookie            cookie str, cpu i64 (null in the cookie's own row, which sums its CPUs)
        physical_cpu, pcpu_power_state   pcpu i64 (null for _Total)
        power                       p_state i64 (null in the host's own row)
        numa_node                   node i64
    ...         f64                 one column per counter, named by `esxparse.counters.naming`; null where that
                                    instance does not have the counter, or its cell holds no number
    ..._text    str                 beside a counter some of whose cells hold text: that text

Source: captures of ESXi 6.0 and 6.5; for other releases see `esxparse.formats.esxtop.release`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.esxtop import body, header, instances, layout, release, rows, tables, times
from esxparse.recording import Note, Recording
from esxparse.worlds import VCPU_WORLD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from esxparse.formats.esxtop.layout import Layout, TableShape

FORMAT = "esxtop"
TITLE = "esxtop batch capture (PDH-CSV)"

_HEADER_WITHIN = 1 << 20
"""Bytes in which the header must begin: login chatter of resxtop may stand before it."""

_SHOWN = 80


def recognise(head: bytes) -> bool:
    """Whether a file that begins with `head` is a capture."""
    return header.MARK in head


def _find_header(file: BinaryIO) -> tuple[bytes, int, int, list[Note]]:
    """Header line, its line number, the byte the rows begin with, and notes on what stood before it."""
    head = file.read(_HEADER_WITHIN)
    mark = head.find(header.MARK)
    if mark < 0:
        msg = f"no header: {header.MARK.decode()} is not in the first {_HEADER_WITHIN:,} bytes"
        raise DamagedError(msg)
    start = mark - 1 if head[mark - 1 : mark] == b'"' else mark
    file.seek(start)
    line = file.readline()
    number = head.count(b"\n", 0, start) + 1
    notes = []
    before = head[:start].removeprefix(b"\xef\xbb\xbf")
    if before:
        shown = " ".join(before.decode("utf-8", errors="replace").split())
        shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
        notes.append(Note(f"text before the header: passed over ({shown!r})", line=1, column=1))
    return line.rstrip(b"\r\n"), number, start + len(line), notes


def _last_byte(file: BinaryIO) -> bytes:
    file.seek(-1, 2)
    return file.read(1)


def _forget_last_cell(block: body.Block, laid_out: Layout) -> None:
    """Makes the block's last cell odd: bare and at the end of a file without a line end, it may be a number's half."""
    first, step = laid_out.places(block.capacity)
    block.numbers[first[-1] + (block.rows - 1) * step[-1]] = math.nan
    block.odd.append((block.rows - 1, len(first) - 1, b'"'))


def _judge(
    blocks: Sequence[body.Block], parsed: header.Header, laid_out: Layout, number: int, last_byte: bytes
) -> tuple[list[tuple[body.Block, rows.Samples, list[tables.OddCell]]], list[Note]]:
    notes: list[Note] = []
    judged = []
    line = number + 1
    for place, block in enumerate(blocks):
        source = rows.Source(
            cells=len(parsed.owners) + 1,
            first_line=line,
            bias=parsed.bias,
            ends_with_newline=last_byte == b"\n",
            last_block=place == len(blocks) - 1,
        )
        if source.last_block and last_byte not in b'\n",' and block.cells[-1] == source.cells:
            _forget_last_cell(block, laid_out)
        samples, row_notes = rows.judge(block, source)
        judged.append((block, samples, tables.odd_cells(block, samples)))
        notes += row_notes
        line += block.rows
    notes += tables.odd_notes([cell for _, _, odd in judged for cell in odd], parsed)
    return judged, notes


def _vms(shapes: Mapping[str, TableShape]) -> list[str]:
    """Names of the VMs: of the groups that have a vCPU world, in the order of the header."""
    if "vcpu" not in shapes:
        return []
    known = {name: shape.instances for name, shape in shapes.items()}
    worlds = instances.parts("vcpu", shapes["vcpu"].instances, known)
    vms = worlds.filter(pl.col("world").str.contains(VCPU_WORLD)).unique("group_id", maintain_order=True)
    return vms["group"].to_list()


def _pcpus(shapes: Mapping[str, TableShape]) -> int | None:
    if "physical_cpu" not in shapes:
        return None
    return sum((instance or "").isdecimal() for instance in shapes["physical_cpu"].instances) or None


def _meta(parsed: header.Header, laid_out: Layout, clock: pl.Series) -> dict[str, Any]:
    shapes = {shape.name: shape for shape in laid_out.tables}
    guessed, evidence = release.guess(parsed, shapes)
    return {
        "host": parsed.hosts[0] if parsed.hosts else None,
        "start": clock.min(),
        "end": clock.max(),
        "interval": times.median_step(clock),
        "samples": len(clock),
        "columns": len(parsed.owners) + 1,
        "objects": {shape.name: len(shape.instances) for shape in laid_out.tables},
        "vms": _vms(shapes),
        "pcpus": _pcpus(shapes),
        "release": guessed,
        "release_evidence": evidence,
    }


def read(path: Path) -> Recording:
    """Reads a capture into memory: all its tables, its facts and its notes.

    `meta`: host; start, end (aware, UTC); interval (median step, seconds); samples; columns (the time stamp's
    included); objects (instances of each table); vms (names); pcpus (logical processors); release and
    release_evidence (a guess, `esxparse.formats.esxtop.release`).

    Raises:
        DamagedError: There is a header and not one whole row, or no column.
    """
    with path.open("rb", buffering=0) as raw, path.open("rb") as buffered:
        line, number, start, notes = _find_header(buffered)
        parsed = header.parse(line, number)
        laid_out = layout.build(parsed.owners, parsed.counters)
        blocks = body.read(raw, start, laid_out)
        if not blocks:
            columns = f"{len(parsed.owners):,} columns"
            msg = f"a header with {columns} and no rows: the capture was stopped before its first sample"
            raise DamagedError(msg)
        judged, row_notes = _judge(blocks, parsed, laid_out, number, _last_byte(buffered))
    clock = pl.concat([samples.times for _, samples, _ in judged])
    if clock.is_empty():
        why = next((note for note in row_notes if note.severity == "warning"), None)
        msg = f"a header with {len(parsed.owners):,} columns and no row that can be used ({why})"
        raise DamagedError(msg)
    notes += parsed.notes
    if laid_out.repeated:
        place = laid_out.repeated[0]
        message = (
            f"{len(laid_out.repeated)} columns met twice, such as {parsed.path(place)}: kept with _2, _3 after the name"
        )
        notes.append(Note(message, line=number, column=place + 2))
    return Recording(
        format=FORMAT,
        source=str(path),
        tables=tables.build(judged, laid_out),
        meta=_meta(parsed, laid_out, clock),
        notes=(*notes, *row_notes),
    )
