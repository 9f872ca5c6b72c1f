"""Damaged captures through every path: each number that is left is right, and no row is lost without a warning."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext

import compose
import pytest
from damage import Base, variants
from polars import selectors
from search import SEARCHING

import esxparse as ex
from esxparse.formats.esxtop.slice import slice_capture

ROUTINE, ALL = 20, 170
SAMPLES = 24


def bases():
    busy = (ex.datasets_dir() / "busy-host" / "busy-host.csv").read_text(encoding="utf-8")
    yield "simulated", lambda: Base.of(busy, SAMPLES)
    yield "real", lambda: Base.of(compose.real_data("esxtop", "esxi65_all_counters.csv").read_text(), SAMPLES)


def check_numbers(tables, numbers, name):
    """How many cells were compared, and how many of them have no number."""
    found = Counter()
    for table, frame in tables.items():
        rows = frame.select("time", "instance", selectors.float())
        columns = rows.columns[2:]
        for time, instance, *cells in rows.iter_rows():
            for column, cell in zip(columns, cells, strict=True):
                right = numbers.get(time, {}).get((table, instance, column))
                found["null" if cell is None else "right"] += right is not None
                assert cell is None or cell == right, (
                    f"{name}: {table} {instance} {column} at {time}: {cell}, not {right}"
                )
    return found


def lost(notes, *, apart=True):
    assert all(note.severity == "warning" for note in notes if note.rows), notes
    return sum(note.rows for note in notes if apart or "begins here" not in note.message)


def collected(rec):
    return {name: frame.collect() for name, frame in rec.tables.items()}


def segments(file, **options):
    """The captures of a file; of one without rows its notes are not to be had."""
    number = 1
    while number:
        rec = ex.open(file, segment=number, **options)
        yield rec
        number = rec.meta["next_segment"]


def opened(variant, file, numbers, compared, **options):
    whole = ex.open(file, **options)
    assert whole.meta["samples"] + lost(whole.notes) == variant.rows, (
        variant.name,
        variant.rows,
        list(map(str, whole.notes)),
    )
    rows = 0
    ends_early = "a header without rows" in variant.name
    with pytest.raises(ex.DamagedError, match=r"no rows|no usable row") if ends_early else nullcontext():
        for rec in segments(file, **options):
            compared += check_numbers(collected(rec), numbers, variant.name)
            rows += rec.meta["samples"] + lost(rec.notes, apart=False)
    assert ends_early or rows == variant.rows, variant.name


def sliced(variant, file, numbers, compared):
    part = slice_capture(file, file.parent / "slice.csv")
    assert part.samples + lost(part.notes) == variant.rows, (variant.name, variant.rows, list(map(str, part.notes)))
    rec = ex.open(file.parent / "slice.csv")
    assert rec.meta["samples"] == part.samples, variant.name
    compared += check_numbers(collected(rec), numbers, variant.name)


def converted(variant, file, numbers, compared):
    made = ex.convert(file, file.parent / "converted")
    recs = [ex.open(one.folder) for one in [made, *made.others]]
    for rec in recs:
        compared += check_numbers(collected(rec), numbers, variant.name)
    assert sum(rec.meta["samples"] + lost(rec.notes, apart=False) for rec in recs) == variant.rows, variant.name


def in_a_lake(variant, file, numbers, compared):
    lake = ex.lake(file.parent / "lake")
    lake.add([file])
    found = ex.lake(file.parent / "lake")
    rows = sum(entry.meta["samples"] + lost(entry.notes, apart=False) for entry in found.captures)
    assert rows == variant.rows, variant.name
    tables = {name: found[name].collect() for name in found}
    compared += check_numbers(tables, numbers, variant.name)


@pytest.mark.parametrize("base", [pytest.param(make, id=name) for name, make in bases()])
def test_damaged_variants_keep_right_numbers_and_count_lost_rows(tmp_path, base, record_property):
    made, numbers = variants(base(), ALL if SEARCHING else ROUTINE, seed=32)
    compared = Counter()
    for place, variant in enumerate(made):
        folder = tmp_path / str(place)
        folder.mkdir()
        file = compose.write(folder, variant.content, f"capture{variant.ending}")
        opened(variant, file, numbers, compared, lazy=False)
        opened(variant, file, numbers, compared, lazy=True)
        sliced(variant, file, numbers, compared)
        converted(variant, file, numbers, compared)
        in_a_lake(variant, file, numbers, compared)
    record_property("compared", dict(compared))
    assert compared["right"] > 9 * compared["null"]
