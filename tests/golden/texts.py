"""Frames, notes, charts and pages as lines of text."""

from __future__ import annotations

import math
import re
from datetime import datetime
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any
from zlib import crc32

import polars as pl

import esxparse as ex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from page_oracle.page import Chart, Page

DIGITS = 7
"""Significant digits: the order in which threads add up changes the last ones."""
TINY = 1e-12
NOT_ON_EVERY_MACHINE = {"Made", "Program", "Took", "Kernel"}
NOT_ALWAYS_THE_SAME = {"id", "source"}
"""Keys of findings that depend on where the file is, or only name who says so."""
PLACES = re.compile(rf"{re.escape(str(ex.datasets_dir().parent))}/|{re.escape(gettempdir())}/[^\s'\":,]*/")
"""Where the files of a test are."""
LONGEST = 400


def value(cell: Any) -> str:
    """A cell without the digits that depend on the machine."""
    if isinstance(cell, float):
        return "0" if abs(cell) < TINY else f"{cell:.{DIGITS}g}" if math.isfinite(cell) else str(cell)
    if isinstance(cell, datetime):
        return cell.strftime("%Y-%m-%d %H:%M:%S.%f").removesuffix(".000000")
    if isinstance(cell, list | tuple | pl.Series):
        return "[" + " ".join(map(value, cell)) + "]"
    if isinstance(cell, dict):
        return "{" + " ".join(f"{name}={value(one)}" for name, one in cell.items()) + "}"
    return PLACES.sub("", str(cell))


def shortened(text: str) -> str:
    """A long text by its beginning and a sum over all of it."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... crc {sum_of([text])}"


def sum_of(lines: Iterable[str]) -> str:
    """A short sum over many lines."""
    return f"{crc32(chr(10).join(lines).encode()):08x}"


def of_frame(frame: pl.DataFrame | pl.LazyFrame, title: str = "") -> Iterator[str]:
    """A line for each column: type, empty cells, first, last, least, greatest and mean, and a sum over all cells."""
    table = frame.lazy().collect()
    yield f"{title}: {table.height} rows"
    for column in table:
        texts = [value(cell) for cell in column]
        parts = [f"  {column.name} {column.dtype}"]
        if empty := column.null_count():
            parts.append(f"empty {empty}")
        if texts:
            parts.append(f"{texts[0][:60]} .. {texts[-1][:60]}")
        if column.dtype.is_numeric() and (numbers := [one for one in column if one is not None and math.isfinite(one)]):
            mean = math.fsum(numbers) / len(numbers)
            parts.append(f"{value(min(numbers))} to {value(max(numbers))}, mean {value(mean)}")
        parts.append(sum_of(texts))
        yield " | ".join(parts)


def of_cells(frame: pl.DataFrame | pl.LazyFrame, title: str) -> Iterator[str]:
    """A line for each column of a small table: type, and every cell."""
    table = frame.lazy().collect()
    yield f"{title}: {table.height} rows"
    for column in table:
        yield f"  {column.name} {column.dtype} | {' | '.join(map(value, column))}"


def of_notes(rec: ex.Recording) -> Iterator[str]:
    """Severity, place and message of each note."""
    for note in rec.notes:
        yield shortened(f"{note.severity} {note.line}:{note.column} {value(note.message)}")


def of_meta(meta: Mapping[str, Any]) -> Iterator[str]:
    """The facts of a recording."""
    for name in sorted(meta):
        yield shortened(f"{name}: {value(meta[name])}")


def of_recording(rec: ex.Recording) -> Iterator[str]:
    """Facts, notes and tables."""
    yield f"format {rec.format}"
    yield from of_meta(rec.meta)
    yield from of_notes(rec)
    for name in sorted(rec):
        yield from of_frame(rec[name], name)


def of_small_recording(rec: ex.Recording) -> Iterator[str]:
    """Facts, notes and every cell."""
    yield f"format {rec.format}"
    yield from of_meta(rec.meta)
    yield from of_notes(rec)
    for name in sorted(rec):
        yield from of_cells(rec[name], name)


def of_spec(spec: dict[str, Any]) -> Iterator[str]:
    """Marks, encodings and data of a chart's specification."""
    for place, view in enumerate(_views(spec)):
        mark = view.get("mark", {})
        yield f"  layer {place}: {mark if isinstance(mark, str) else mark.get('type')}"
        for channel, encoding in sorted(view.get("encoding", {}).items()):
            for one in encoding if isinstance(encoding, list) else [encoding]:
                yield shortened(f"    {channel} {value(one)}")
    rest = {name: part for name, part in spec.items() if name not in {"config", "datasets", "$schema", "description"}}
    yield f"  specification {sum_of([value(rest)])}; {spec.get('description', '')}"
    for name, rows in sorted(spec.get("datasets", {}).items()):
        yield from of_frame(pl.DataFrame(rows, infer_schema_length=None, strict=False), f"  {name}")


def _views(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The views of a specification that draw something."""
    parts = [part for kind in ("layer", "hconcat", "vconcat", "concat") for part in spec.get(kind, [])]
    if "spec" in spec:
        parts.append(spec["spec"])
    for part in parts:
        yield from _views(part)
    if not parts:
        yield spec


def of_chart(chart: Chart) -> Iterator[str]:
    """A chart of a page."""
    yield f"chart {chart.title} | {chart.subtitle}"
    yield from of_spec(chart.spec)


def of_page(page: Page) -> Iterator[str]:
    """Tiles, facts, sentences, tables and charts of a finished page, but not where and when it was made."""
    for label, text, small in page.tiles:
        yield f"tile {label}: {text} | {small}"
    for label, text in page.facts:
        if label not in NOT_ON_EVERY_MACHINE and "SHA-256" not in text:
            yield f"fact {label}: {value(text)}"
    for section, kind, text in page.texts:
        yield f"{section} | {kind} | {value(text)}"
    for table in page.tables:
        yield f"table {table.section} | {table.caption}"
        yield from (shortened("  " + " | ".join(map(value, row))) for row in [table.heads, *table.rows])
    for chart in page.charts:
        yield from of_chart(chart)


def of_json(found: Any, indent: str = "") -> Iterator[str]:
    """A document of objects and lists: a line for each value, and for each object without others inside."""
    if isinstance(found, dict) and not any(isinstance(part, dict | list) for part in found.values()):
        kept = {name: part for name, part in found.items() if name not in NOT_ALWAYS_THE_SAME}
        yield shortened(indent + value(kept))
    elif isinstance(found, dict):
        for name, part in found.items():
            if name not in NOT_ALWAYS_THE_SAME:
                yield from _part(str(name), part, indent)
    elif isinstance(found, list):
        for part in found:
            yield from _part("-", part, indent)
    else:
        yield indent + value(found)


def _part(name: str, part: Any, indent: str) -> Iterable[str]:
    lines = list(of_json(part)) if isinstance(part, dict | list) and part else []
    if len(lines) == 1:
        yield f"{indent}{name} {lines[0]}"
    elif lines:
        yield f"{indent}{name}:"
        yield from of_json(part, indent + "  ")
    else:
        yield shortened(f"{indent}{name}: {value(part)}")
