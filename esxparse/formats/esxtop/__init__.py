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
        network_port                switch str, port_id i64, world_id i64 (null if the port is no VM's), client str
        physical_disk_per_device_per_world   device str, world_id i64
        physical_disk_partition     device str, partition i64
        physical_disk               adapter str, path str (null in the adapter's own row)
        interrupt_cookie            cookie str, cpu i64 (null in the cookie's own row, which sums its CPUs)
        physical_cpu, pcpu_power_state   pcpu i64 (null for _Total)
        power                       p_state i64 (null in the host's own row)
        numa_node                   node i64
    ...         f64                 one column per counter, named by `esxparse.counters.naming`, in the unit the
                                    capture has (`esxparse.counters`); null if that instance does not have the
                                    counter, its cell holds no number, or it was not measured: the first sample of a
                                    capture has no rates of disks (`esxparse.formats.esxtop.first_sample`)
    ..._text    str                 beside a counter some of whose cells hold text: that text

Source: captures of ESXi 6.0 and 6.5; for other releases see `esxparse.formats.esxtop.release`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl

from esxparse.errors import EsxparseError
from esxparse.formats import collected
from esxparse.formats.esxtop import (
    by_instance,
    first_sample,
    grammar,
    local_numbers,
    odd,
    release,
    resaved,
    rows,
    seams,
    segments,
    tables,
    times,
)
from esxparse.formats.esxtop import lazy as lazy_tables
from esxparse.formats.esxtop.layout import mangled_names
from esxparse.formats.esxtop.notes import no_rows
from esxparse.formats.esxtop.segments import Keep
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.limits import cut_notes
from esxparse.formats.opening import EVERYTHING, DateOrder, Decimal, Opening, Window
from esxparse.formats.source import Source
from esxparse.formats.unchanged import Opened
from esxparse.formats.unpack import unpacked
from esxparse.recording import Note, Recording, counted
from esxparse.whole import Scratch
from esxparse.worlds import VCPU_WORLD

FORMAT = "esxtop"

LAZY_FROM = 256_000_000
"""File size in bytes from which the numbers stay in the file."""

UNPACK_FROM = LAZY_FROM // 8
"""Size in bytes from which a compressed file is unpacked into a temporary one. Captures shrink to an eighth or less."""


_SIDE_BY_SIDE = 0.1
"""Share of columns that hosts must have in common to be side by side. A smaller share is damage."""


def recognise(head: Head) -> bool:
    """Return whether a file with this head is a capture."""
    mark = grammar.MARK
    if (at := head.content.find(mark)) >= 0:
        return not grammar.of_windows(head.content[at : at + grammar.LOOKED_AT].decode(errors="replace"))
    if grammar.begins_with_row(head.content):
        return True
    encoded = (mark.decode().encode(encoding) for encoding in ("utf-16-le", "utf-16-be"))
    return any(found in head.content for found in encoded) and not grammar.of_windows(head.text)


@dataclass(frozen=True)
class _Judged:
    """A capture with its samples chosen and its odd cells known, before its numbers become tables."""

    segment: segments.Segment
    samples: rows.Samples
    tables: Sequence[tables.Table]
    notes: tuple[Note, ...]

    def recording(self, source: Source, built: Mapping[str, pl.LazyFrame]) -> Recording:
        """Return the recording with these tables."""
        parsed, clock = self.segment.header, self.samples.times
        shapes = {table.shape.name: table.shape for table in self.tables}
        guessed, evidence = release.guess(parsed, shapes)
        pcpus = shapes["physical_cpu"].instances if "physical_cpu" in shapes else ()
        meta = {
            "host": parsed.hosts[0] if parsed.hosts else None,
            "start": clock.min(),
            "end": clock.max(),
            "interval": times.interval(clock),
            "samples": len(clock),
            "columns": len(parsed.owners) + 1,
            "objects": {name: len(shape.instances) for name, shape in shapes.items()},
            "vms": self._vms(),
            "pcpus": sum((instance or "").isdecimal() for instance in pcpus) or None,
            "next_segment": self.segment.number + 1 if self.segment.rows_after else None,
            "release": guessed,
            "release_evidence": evidence,
        }
        return Recording(format=FORMAT, source=source.name, tables=built, meta=meta, notes=self.notes)

    def _vms(self) -> tuple[str, ...]:
        """Return the names of the VMs, in header order: the groups with a vCPU world."""
        worlds = [table.parts for table in self.tables if table.shape.name == "vcpu"]
        vms = [frame.filter(pl.col("world").str.contains(VCPU_WORLD)) for frame in worlds]
        return tuple(vm for frame in vms for vm in frame.unique("group_id", maintain_order=True)["group"])


def read(
    source: Source,
    window: Window = EVERYTHING,
    *,
    lazy: bool | None = None,
    segment: int = 1,
    date_order: DateOrder | None = None,
    date: date | None = None,
    decimal: Decimal | None = None,
    numbers: Collection[str] | None = None,
) -> Recording:
    """Read a capture: all its tables, its facts and its notes.

    `meta`: host; start, end (aware, UTC); interval (seconds, the median step); samples; columns (the time stamp's
    included); objects (instances of each table); vms (names); pcpus (logical processors); next_segment (the number
    of the capture that follows in the file, if one does); release and release_evidence (a guess,
    `esxparse.formats.esxtop.release`).

    Args:
        source: A capture.
        window: The samples to read.
        lazy: Leave the numbers in the file and read them when a query needs them. The default for captures over 256 MB,
            and for compressed or remote files over 32 MB. The latter are unpacked into a temporary file that lives as
            long as the tables.
        segment: The capture to read, from 1, if the file has several with different columns.
        date_order: Order of day, month and year in the time stamps, if the file does not show it.
        date: The day of the first sample, if time stamps have no date.
        decimal: The decimal mark, if the file does not show it.
        numbers: The tables whose numbers are needed; others may have only their keys. All of them by default.

    Raises:
        DamagedError: The header has no column, or no whole row follows it.
        EsxparseError: No sample is in the window, there is no such segment, or a date or a number is ambiguous.
    """
    dates = times.Dates(date_order, date)
    keep = True if numbers is None else numbers
    content = _content(source) if decimal else _resaved_content(source)
    if content is None:
        try:
            return _as_written(source, window, lazy=lazy, segment=segment, keep=keep, dates=dates)
        except local_numbers.LocalNumbersError:
            content = _content(source)
    with _mended(source, content, dates, decimal) as (copy, mended):
        rec = _at_once(copy, window, segment, keep, mended.dates, mended=True)
    return replace(rec, notes=(*mended.notes, *rec.notes))


def _as_written(
    source: Source, window: Window, *, lazy: bool | None, segment: int, keep: Keep, dates: times.Dates
) -> Recording:
    """Return the recording of a capture in esxtop's own form."""
    packed = Path(source.where)
    size = packed.stat().st_size if packed.is_file() else source.size
    if lazy is not False and source.path is None and size is not None and size > UNPACK_FROM:
        # The file may be too large for memory, and can be read only from its beginning.
        source = unpacked(source)
    path = source.path
    if path is not None and (path.stat().st_size > LAZY_FROM if lazy is None else lazy):
        return _in_place(source, path, window, segment, dates)
    return _at_once(source, window, segment, keep, dates)


def _resaved_content(source: Source) -> bytes | None:
    """Return the content of a capture that another program saved; None for one as esxtop writes it."""
    with source.open() as stream:
        head = grammar.read_head(stream, source.memory_limit)
        return resaved.whole(stream, head, source.memory_limit) if resaved.is_resaved(head) else None


@contextmanager
def _mended(
    source: Source, content: bytes, dates: times.Dates, decimal: Decimal | None
) -> Iterator[tuple[Source, resaved.Canonical]]:
    """Yield a capture that another program saved, in esxtop's own form, as a file that lasts as long as the context."""
    mended = resaved.canonical(content, dates, decimal)
    with Scratch() as folder:
        copy = folder / "capture.csv"
        copy.write_bytes(mended.content)
        yield replace(source, path=copy), mended


def _content(source: Source) -> bytes:
    with source.open() as stream:
        return resaved.whole(stream, b"", source.memory_limit)


def read_by_instance(
    source: Source,
    aside: BinaryIO,
    window: Window = EVERYTHING,
    *,
    segment: int = 1,
    date_order: DateOrder | None = None,
    date: date | None = None,
    decimal: Decimal | None = None,
    budget: int = by_instance.BUDGET,
) -> Recording | None:
    """Return the recording of `read`, sorted by instance, in bounded memory; None if another program saved the file.

    Args:
        source: A capture.
        aside: A temporary file for its numbers, open for writing and reading for as long as the tables are needed.
        window: The samples to read.
        segment: The capture to read, from 1.
        date_order: Order of day, month and year in the time stamps.
        date: The day of the first sample.
        decimal: The decimal mark; a capture for which it is set was saved by another program.
        budget: Bytes of rows that are made at once.
    """
    if decimal or _resaved_content(source) is not None:
        return None
    turned = by_instance.Turned(aside)
    try:
        found = _judged(source, window, segment, turned.put, times.Dates(date_order, date))
    except local_numbers.LocalNumbersError:
        return None
    runs = tables.runs_of(found.segment.body, found.samples)
    built = {table.shape.name: by_instance.scan(table, turned, runs, budget) for table in found.tables}
    return found.recording(source, built)


def has_segment(source: Source, number: int, opening: Opening) -> bool:
    """Return whether a file has a readable capture of that number."""
    try:
        content = _content(source) if opening.decimal else _resaved_content(source)
        if content is None:
            segments.find(source, number, False)
            return True
        dates = times.Dates(opening.date_order, opening.date)
        with _mended(source, content, dates, opening.decimal) as (copy, _):
            segments.find(copy, number, False)
    except EsxparseError:
        return False
    return True


def _at_once(
    source: Source, window: Window, segment: int, keep: Keep, dates: times.Dates, *, mended: bool = False
) -> Recording:
    found = _judged(source, window, segment, keep, dates, mended=mended)
    return found.recording(source, tables.eager(found.segment.body, found.samples, found.tables))


def _in_place(source: Source, path: Path, window: Window, segment: int, dates: times.Dates) -> Recording:
    found = _judged(source, window, segment, False, dates)
    kept, body = found.samples.keep, found.segment.body
    surveyed = lazy_tables.Surveyed(
        Opened.of(path, found.segment.status or path.stat()),
        body.start[kept],
        body.stop[kept],
        found.samples.lines,
        [body.stamps[row] for row in kept.tolist()],
        np.isin(body.start[kept], [at + len(text) for _, at, text in body.prefixes]),
        source.scratch,
    )
    made = [
        lazy_tables.Table(table.layout, table.place, table.times, table.parts, table.holes, surveyed)
        for table in found.tables
    ]
    return found.recording(source, {table.shape.name: table.scan() for table in made})


def survey(source: Source, segment: int, dates: times.Dates) -> rows.Survey:
    """Return the findings that need all rows of a capture; empty if it can be read only once, or needs mending."""
    if not Path(source.where).is_file() or _resaved_content(source) is not None:
        return rows.Survey()
    try:
        found = segments.find(source, segment, False)
        samples, cells, _ = _samples(found, dates)
    except EsxparseError:
        return rows.Survey()
    lines = {int(found.body.line[row]) + found.first_line: cell for row, cell in reversed(cells)}
    return rows.Survey(lines, samples.swapped)


def _samples(found: segments.Segment, dates: times.Dates) -> tuple[rows.Samples, list[tuple[int, int]], list[Note]]:
    """Return the samples of a capture, cells with numbers unlike their counter's, and the notes on other rows."""
    samples, notes = rows.judge(found, dates.order)
    if not len(samples.keep):
        raise no_rows(len(found.header.owners), [*found.notes, *notes])
    is_sample = np.zeros(len(found.body.cells), dtype=np.bool_)
    is_sample[samples.keep] = True
    return samples, seams.strangers(found.body.shapes, found.body.padded, is_sample, found.layout), notes


def _refuse_several_hosts(hosts: Sequence[str], repeated: float) -> None:
    """Refuse captures of several hosts side by side: tables would mix them. `repeated` is a share of columns."""
    if len(hosts) > 1 and repeated >= _SIDE_BY_SIDE:
        msg = (
            f"captures of {len(hosts)} hosts are side by side ({', '.join(hosts[:5])}): save the columns of each "
            "host, with the time stamps, in a file of its own"
        )
        raise EsxparseError(msg)


def _judged(
    source: Source, window: Window, segment: int, keep: Keep, dates: times.Dates, *, mended: bool = False
) -> _Judged:
    found = segments.find(source, segment, keep)
    layout = found.layout
    samples, strangers, row_notes = _samples(found, dates)
    if not mended:
        local_numbers.refuse(odd.texts_of(found.body, samples), found.body, found.header)
    samples = samples.within(window)
    odd_cells = odd.odd_cells(found.body, samples, strangers, layout, found.header)
    lines = found.first_line - 1 + found.body.lines
    cut = cut_notes(len(found.header.owners) + 1, lines, saved=mended or not found.body.padded)
    notes = [*found.notes, *cut, *dates.notes(), *collected.notes(Path(source.where))]
    notes += mangled_names(layout)
    if layout.repeated:
        _refuse_several_hosts(found.header.hosts, len(layout.repeated) / len(layout.table))
        place = layout.repeated[0]
        columns = counted(len(layout.repeated), "column")
        message = f"{columns} repeated, such as {found.header.path(place)}: kept with _2, _3 after the name"
        notes.append(Note(message, line=found.line, column=place + 2))
    notes += [*row_notes, *first_sample.notes(layout, samples.lines[samples.unmeasured]), *odd_cells.notes]
    made = zip(layout.parts().values(), tables.gaps(layout, odd_cells, samples), strict=True)
    judged = [tables.Table(layout, place, samples.times, parts, holes) for place, (parts, holes) in enumerate(made)]
    return _Judged(found, samples, judged, tuple(notes))
