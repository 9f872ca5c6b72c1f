"""Damaged captures through every path: each number that is left is right, and no row is lost without a warning."""

from __future__ import annotations

from collections import Counter

import compose
import pytest
from damage import Base, Variant, variants
from polars import selectors
from search import routine_of

import esxparse as ex
from esxparse.formats.esxtop.slice import slice_capture

ROUTINE, MANY = 5, 20
"""How many variants."""
SAMPLES = 24


def busy_host():
    return Base.of((ex.datasets_dir() / "busy-host" / "busy-host.csv").read_text(encoding="utf-8"), SAMPLES)


def bases():
    yield "simulated", busy_host
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
    """The captures of a file, one after another."""
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
    for rec in segments(file, **options):
        compared += check_numbers(collected(rec), numbers, variant.name)
        rows += rec.meta["samples"] + lost(rec.notes, apart=False)
    assert rows == variant.rows, variant.name


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


@pytest.mark.search
@pytest.mark.parametrize("count", routine_of([ROUTINE, MANY], {ROUTINE}))
@pytest.mark.parametrize("base", [pytest.param(make, id=name) for name, make in bases()])
def test_damaged_variants_keep_right_numbers_and_count_lost_rows(tmp_path, base, count, record_property):
    made, numbers = variants(base(), count, seed=32)
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


PREFIXES = {"grep -n": "{}:", "grep -H": "esx-01.csv:", "cat -n": "{:6d}\t", "an index": "{},"}


@pytest.mark.search
@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
def test_text_before_each_row_is_ignored_and_counted_as_no_row(tmp_path, prefix):
    base = busy_host()
    lines = [base.header, *base.lines, base.header, *base.later(3).lines]
    text = "".join(f"{prefix.format(at)}{line}\n" for at, line in enumerate(lines, 1))
    variant = Variant(prefix, text.encode(), 2 * SAMPLES)
    file = compose.write(tmp_path, variant.content, "capture.csv")
    numbers, compared = base.numbers() | base.later(3).numbers(), Counter()
    for lazy in (False, True):
        opened(variant, file, numbers, compared, lazy=lazy)
    sliced(variant, file, numbers, compared)
    converted(variant, file, numbers, compared)
    in_a_lake(variant, file, numbers, compared)
    assert compared["right"]
    notes = [note for note in ex.open(file).notes if "before the row or header" in note.message]
    assert [(note.line, note.rows) for note in notes] == [(2, 0)]
    assert f"{2 * SAMPLES + 1} lines with text such as {prefix.format(2)!r}" in notes[0].message


def test_headers_without_rows_are_no_captures(tmp_path):
    base = busy_host()
    part, moved = base.columns([3, 4, 5]), base.later(3, "esx-99")
    lines = [part.header, base.header, *base.lines, part.header, moved.header, *moved.lines, part.header]
    file = compose.write(tmp_path, "".join(f"{line}\n" for line in lines).encode(), "capture.csv")
    first, second = segments(file)
    assert [rec.meta["samples"] for rec in (first, second)] == [SAMPLES, SAMPLES]
    assert second.meta["host"] == "esx-99"
    messages = {note.message: note.line for rec in (first, second) for note in rec.notes if note.severity == "warning"}
    assert messages["1 header without rows, above another header: ignored (line 1)"] == 1
    assert messages[f"1 header without rows, above another header: ignored (line {SAMPLES + 3})"] == SAMPLES + 3
    assert messages["another capture with other columns begins here and has no rows"] == len(lines)
    made = ex.convert(file, tmp_path / "converted")
    assert [one.folder.name for one in (made, *made.others)] == ["capture", "capture-segment2"]
    assert not made.unreadable
    part_of = slice_capture(file, tmp_path / "slice.csv", segment=2)
    assert part_of.samples == SAMPLES
    assert ex.open(tmp_path / "slice.csv").meta["host"] == "esx-99"


def test_a_row_cut_in_its_time_stamp_before_a_header_is_counted(tmp_path):
    base = busy_host()
    moved = base.later(2, "esx-99")
    lines = [base.header, *base.lines, base.lines[-1][:5] + moved.header, *moved.lines]
    text = "".join(f"{line}\n" for line in lines)
    variant = Variant("cut in the time stamp", text.encode(), 2 * SAMPLES + 1)
    file = compose.write(tmp_path, variant.content, "capture.csv")
    numbers, compared = base.numbers() | moved.numbers(), Counter()
    opened(variant, file, numbers, compared)
    sliced(variant, file, numbers, compared)
    assert compared["right"]


def test_a_quotation_of_a_capture_is_refused_by_every_path(tmp_path):
    base = busy_host()
    text = "".join(f"> {line}\n" for line in (base.header, *base.lines))
    file = compose.write(tmp_path, text.encode(), "mail.csv")
    paths = [
        lambda: ex.open(file),
        lambda: slice_capture(file, tmp_path / "slice.csv"),
        lambda: ex.convert(file, tmp_path / "converted"),
    ]
    for path in paths:
        with pytest.raises(ex.EsxparseError, match="quotes esxtop batch capture"):
            path()
    assert not (tmp_path / "slice.csv").exists()
    assert ex.lake(tmp_path / "lake").add([file]) == []
    assert ex.open(file, format="esxtop").meta["samples"] == SAMPLES
    assert slice_capture(file, tmp_path / "slice.csv", format="esxtop").samples == SAMPLES
