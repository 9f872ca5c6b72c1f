"""Logs read into columns: in many pieces and threads, damaged or not, what a reading by polars gives."""

from __future__ import annotations

import compose
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.formats.fio import integers_twin, log_lines, log_numbers
from esxparse.formats.fio.log_numbers import Wanted, read_columns
from esxparse.formats.source import resolve

COLUMNS = {"time": (0, 10**11 - 1), "value": (-(1 << 63), (1 << 63) - 1), "direction": (0, 3), "size": (0, 1 << 62)}
PRIORITY = {"priority": (-(1 << 63), (1 << 63) - 1)}


@pytest.fixture(params=["chosen", "twin"])
def reader(request, monkeypatch):
    """Each test with the reader that the install has, and with the twin."""
    if request.param == "twin":
        monkeypatch.setattr(log_numbers, "read_integers", integers_twin.read_integers)
        monkeypatch.setattr(log_numbers, "number_of_lines", integers_twin.number_of_lines)


def plainly(path, columns, hexadecimal):
    """Entries as polars reads them."""
    schema = {name: pl.String if hexadecimal and name == "priority" else pl.Int64 for name in columns}
    sound = pl.all_horizontal(pl.col(name).is_between(*bounds) for name, bounds in columns.items())
    return log_lines.read_entries(resolve(path), schema, sound)


def read(path, columns, hexadecimal, same):
    """Entries as they are read now, what is the same in all rows put back."""
    wanted = [
        Wanted(
            name,
            np.uint8 if name == "direction" else np.int64,
            low=low,
            high=high,
            hexadecimal=hexadecimal and name == "priority",
            same=same.get(name),
        )
        for name, (low, high) in columns.items()
    ]
    entries, found = read_columns(resolve(path), wanted)
    frames = [
        frame.select(
            pl.lit(found[name]).cast(pl.Int64).alias(name) if name in found else pl.col(name).cast(pl.Int64)
            for name in columns
        )
        for frame in entries.frames
    ]
    return entries, frames


def rows(frames):
    return [row for frame in frames for row in frame.rows()]


CLEAN = b"".join(b"%d, %d, %d, 4096, 0\n" % (n * 10, 90_000 + n, n % 2) for n in range(120))
CHANGING = CLEAN.replace(b"4096, 0\n", b"4096, 1\n", 70)
DAMAGE = [
    *(b"\n", b"\n\n", b"\r\n", b"\0" * 12, b", 9", b" ", b",", b"-", b"+", b"x", b'"', b"\xff"),
    *(b"9" * 19, b"9" * 25, b"000000000000000000000", b"0x2003", b"8192", b"\n5, 6, 1, 512, 3\n", b"\n5,6,1,512,0\n"),
]


@pytest.mark.usefixtures("reader")
@settings(max_examples=examples(250), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.sampled_from([CLEAN, CHANGING]),
    damage=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 30), st.sampled_from(DAMAGE)), max_size=4),
    cut=st.sampled_from([1, 1, 0.99, 0.6]),
    hexadecimal=st.booleans(),
    piece=st.sampled_from([60, 200, 1000, 1 << 20]),
    workers=st.sampled_from([1, 3]),
    same=st.sampled_from([{}, {"size": 4096, "priority": 0}, {"direction": 0, "priority": 7}]),
)
def test_a_log_is_read_as_polars_reads_it(tmp_path, content, damage, cut, hexadecimal, piece, workers, same):
    for at, length, put in damage:
        place = int(at * len(content))
        content = content[:place] + put + content[place + length :]
    # polars passes over the mark at the beginning of whatever it is given, here of any piece.
    assume(b"\xef\xbb\xbf" not in content)
    path = compose.write(tmp_path, content[: int(cut * len(content))], "x_clat.1.log")
    columns = COLUMNS | PRIORITY
    plain = plainly(path, columns, hexadecimal)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_lines, "PIECE", piece)
        patch.setattr(log_lines, "WORKERS", workers)
        entries, frames = read(path, columns, hexadecimal, same)
    assert rows(frames) == rows(plain.frames)
    assert entries.bad == plain.bad
    assert (entries.lines, entries.unfinished, entries.ended) == (plain.lines, plain.unfinished, plain.ended)


@pytest.mark.usefixtures("reader")
def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    path = compose.write(tmp_path, b"\xef\xbb\xbf" + CLEAN + b"\xef\xbb\xbf", "x_clat.1.log")
    entries, frames = read(path, COLUMNS | PRIORITY, False, {})
    assert len(rows(frames)) == 120
    assert [one.line for one in entries.bad] == [121]


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("number", [1, 150, 300])
def test_refused_lines_few_and_many(tmp_path, monkeypatch, number):
    monkeypatch.setattr(log_lines, "PIECE", 3000)
    lines = [f"{n}, {n + 7}, 0, 4096, 0" for n in range(9000)]
    places = range(5000, 5000 + 3 * number, 3)
    for place in places:
        lines[place] = f"{place}, x, 0, 4096, 0"
    rec = ex.open(compose.write(tmp_path, "\n".join([*lines, ""]), "x_iops.1.log"))
    kept = [n for n in range(9000) if n not in set(places)]
    assert rec["series"].collect()["value"].to_list() == [n + 7 for n in kept]
    assert rec.meta["samples"] == len(kept)
    (note,) = [note for note in rec.notes if note.severity == "warning"]
    assert note.line == 5001
    assert note.message.startswith(f"{number} line")


@pytest.mark.usefixtures("reader")
def test_columns_that_change_late_and_lines_that_get_shorter(tmp_path, monkeypatch):
    monkeypatch.setattr(log_lines, "PIECE", 3000)
    # The look at a log's beginning takes 64 KiB: what is the same there need not be so later.
    first = [(1_000_000 + n, 123_456_789, 0, 4096, 0, 0) for n in range(5000)]
    later = [(n, n, n % 4, 512 + n, n * 512, n % 2) for n in range(20_000)]
    text = "".join(f"{', '.join(map(str, row))}\n" for row in first + later)
    found = ex.open(compose.write(tmp_path, text, "x_iops.1.log"))["series"].collect()
    names = ["elapsed_s", "value", "direction", "block_size_bytes", "offset_bytes", "priority"]
    read = found.select(pl.col(names).exclude("direction"), direction=pl.col("direction").to_physical()).select(names)
    assert read.rows() == [(row[0] / 1000, *row[1:]) for row in first + later]
    assert found["block_size_bytes"].dtype == found["priority"].dtype == pl.Int64


@pytest.mark.usefixtures("reader")
def test_what_is_the_same_in_all_lines_is_there_and_takes_no_memory(tmp_path):
    text = "".join(f"{n}, {n}, 2, 65536, 1\n" for n in range(50_000))
    found = ex.open(compose.write(tmp_path, text, "x_clat.2.log"))["series"].collect()
    assert dict(found.schema) == {
        "elapsed_s": pl.Float64,
        "job": pl.String,
        "job_number": pl.Int64,
        "metric": pl.String,
        "direction": pl.Enum(["read", "write", "trim", "sync"]),
        "value": pl.Float64,
        "block_size_bytes": pl.Int64,
        "priority": pl.Int64,
    }
    assert found.estimated_size() < 17 * found.height
    assert found.drop("elapsed_s", "value").unique().rows() == [("x", 2, "clat", "trim", 65536, 1)]
