r"""Windows performance counters as CSV: typeperf, relog, Perfmon logs (PDH-CSV 4.0), of a guest or a native host.

Tables
------
One per object, named by its snake_case (`\Processor Information(0,1)` is in `processor_information`, `\LogicalDisk(C:)`
in `logicaldisk`), in the language of the Windows that wrote it, and one row per sample and instance:

    time        time  UTC = the file's clock + the bias its header states; typeperf states none: the clock is then UTC
                      or in the option `zone`, with a note
    instance    str   as printed between the parentheses; null for an object without instances
    ...         f64   one column per counter, named by the same rule (`% Processor Time` is `pct_processor_time`,
                      `Avg. Disk sec/Read` is `avg_disk_sec_per_read`), in the unit that Windows has for it; null if
                      a cell has no number. typeperf writes -1 if a counter has no value (assumption): null

Its objects and its header distinguish it from a capture of esxtop, which has the same form: see `of_windows` in
`esxparse.formats.esxtop.grammar`. The reader of esxtop reads it, with its options and its notes (docs/damage.md).

Source: outputs of typeperf and relog; the PDH log format.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.formats import esxtop
from esxparse.formats.esxtop.grammar import of_windows
from esxparse.formats.kit import stamps
from esxparse.formats.kit.head import Head
from esxparse.formats.opening import EVERYTHING
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording
from esxparse.whole import Scratch

FORMAT = "perfmon"

_BARE = "(PDH-CSV 4.0)"
_HEADER = re.compile(r'\s*(?:[^\n]*\n){0,3}"?\(PDH-CSV ')
_OF_ESXTOP = ("vms", "pcpus", "release", "release_evidence")
_PIECE = 1 << 20


def recognise(head: Head) -> bool:
    """Return whether a file with this head has counters of Windows."""
    # A file that only quotes such a header has it further down, or within a line.
    return _HEADER.match(head.text) is not None and of_windows(head.text)


def read(source: Source, zone: str | None = None, **options: Any) -> Recording:
    """Read a file; other options are those of `esxparse.formats.esxtop.read`."""
    if esxtop.grammar.has_zone(source.head.text):
        if zone:
            raise EsxparseError("the header of the file states its zone: leave zone out")
        rec, zone_notes = esxtop.read(source, **options), list[Note]()
    else:
        # Read at once: a lazy table would need the temporary file later.
        with Scratch() as folder:
            copy = folder / "counters.csv"
            options |= {"lazy": False}
            zoned = replace(source, path=copy, where=str(copy))
            _with_zone(source, copy, 0)
            if zone:
                whole = options | {"window": EVERYTHING, "numbers": ()}
                seen = esxtop.read(zoned, **whole).meta
                _with_zone(source, copy, _bias(seen["start"], seen["end"], zone))
            rec = esxtop.read(zoned, **options)
        zone_notes = [Note(stamps.of_zone(zone), line=1)]
    tables = {name: frame.with_columns(_measured(frame)) for name, frame in rec.tables.items()}
    meta = {name: value for name, value in rec.meta.items() if name not in _OF_ESXTOP}
    return Recording(FORMAT, source.name, tables, meta, (*rec.notes, *zone_notes))


def _bias(start: datetime, end: datetime, zone: str) -> int:
    """Return the minutes from the clock of a zone to UTC, for first and last sample by that clock.

    Raises:
        EsxparseError: The clock changes between them.
    """
    biases = [round((stamps.in_utc(moment, zone) - moment).total_seconds() / 60) for moment in (start, end)]
    if biases[0] != biases[1]:
        raise EsxparseError(
            f"the clock of {zone} changes between {start:%F %H:%M} and {end:%F %H:%M}: cut the file at the change, and "
            "open the parts"
        )
    return biases[0]


def _with_zone(source: Source, copy: Path, bias: int) -> None:
    """Write the file with a header that has a zone, as esxtop's reader requires."""
    with source.open() as stream, copy.open("wb") as file:
        text = stream.read(_PIECE)
        wide = text[:2] in {b"\xff\xfe", b"\xfe\xff"}
        encoding = ("utf-16-le" if text[:2] == b"\xff\xfe" else "utf-16-be") if wide else "ascii"
        header = f"{_BARE} (UTC)({bias})".encode(encoding)
        file.write(text.replace(_BARE.encode(encoding), header, 1))
        while text := stream.read(_PIECE):
            file.write(text)


def _measured(frame: pl.LazyFrame) -> list[pl.Expr]:
    """Return the counters without -1, which means no value."""
    counters = [name for name, kind in frame.collect_schema().items() if kind == pl.Float64()]
    return [pl.when(pl.col(name) != -1).then(pl.col(name)).alias(name) for name in counters]
