"""Damaged captures: what can be used is, what cannot is said, and no damage turns into a wrong number."""

from __future__ import annotations

import os
import re

import compose
import polars as pl
import pytest
from compose import opened
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.formats.esxtop import body

COLUMNS = [("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used"), ("Group Cpu(2:b)", "% Used")]
ROWS = [["100", "1.25", "2.00"], ["200", "1.50", "2.25"], ["300", "1.75", "2.50"]]
WHOLE = compose.text(COLUMNS, ROWS)


def values(rec):
    memory = rec["memory"].collect()["free_mbytes"].to_list()
    used = rec["group_cpu"].collect()["pct_used"].to_list()
    return memory, used


def open_or_error(file):
    try:
        return ex.open(file), ""
    except ex.EsxparseError as error:
        return None, str(error)


@given(st.integers(0, len(WHOLE)))
@settings(deadline=None, max_examples=examples(200))
def test_cut_at_any_byte_no_number_is_wrong(tmp_path_factory, length):
    file = compose.write(tmp_path_factory.mktemp("cut"), WHOLE[:length])
    rec, error = open_or_error(file)
    if rec is None:
        assert str(file) in error
        assert "\n" not in error
        return
    memory, used = values(rec) if "group_cpu" in rec else (rec["memory"].collect()["free_mbytes"].to_list(), [])
    whole_memory, whole_used = [100.0, 200.0, 300.0], [1.25, 2.0, 1.5, 2.25, 1.75, 2.5]
    assert memory == whole_memory[: len(memory)]
    assert all(value in (None, expected) for value, expected in zip(used, whole_used, strict=False))
    if length < len(WHOLE) - 1:
        lost = len(memory) < len(whole_memory) or None in used
        cut_inside_a_line = "\n" not in WHOLE[length - 1 : length + 1]
        assert not (lost and cut_inside_a_line) or rec.notes


@pytest.mark.parametrize("left", [False, True])
def test_a_capture_started_again_with_the_same_columns_is_joined(tmp_path, left):
    header, *lines = WHOLE.splitlines()
    later = [line.replace(" 08:", " 09:") for line in lines]
    file = compose.write(
        tmp_path, "\n".join([header, *lines, header, *later, header, lines[0].replace(" 08:", " 10:")]) + "\n"
    )
    rec = ex.open(file, lazy=left)
    assert rec.meta["samples"] == 7
    assert values(rec)[0] == [100.0, 200.0, 300.0, 100.0, 200.0, 300.0, 100.0]
    (note,) = rec.notes
    assert "esxtop was restarted" in note.message
    assert "lines 5, 9" in note.message
    assert (note.line, note.severity) == (5, "info")


@pytest.mark.parametrize("left", [False, True])
def test_captures_with_other_columns_are_kept_apart(tmp_path, left):
    second = compose.text([("Memory", "Free MBytes")], [["7"], ["8"]])
    third = compose.text(COLUMNS, ROWS).replace("esx-01", "esx-02")
    file = compose.write(tmp_path, WHOLE + second + third[:-8])
    first = ex.open(file, lazy=left)
    assert values(first)[0] == [100.0, 200.0, 300.0]
    other = ex.open(file, segment=2, lazy=left)
    assert other["memory"].collect()["free_mbytes"].to_list() == [7.0, 8.0]
    assert [(note.line, "segment" in note.message) for note in other.notes] == [(8, True)]
    last = ex.open(file, segment=3, lazy=left)
    assert last.meta["host"] == "esx-02.example.com"
    assert last.meta["samples"] == 2
    assert last.notes[0].line == 11
    with pytest.raises(ex.EsxparseError, match="there is no segment 4: the file holds 3"):
        ex.open(file, segment=4, lazy=left)


def wide(names, value, rows):
    columns = [(f"Group Cpu({n}:{name})", "% Used") for n, name in enumerate(names)]
    return compose.text(columns, [[value] * len(columns)] * rows, step=0)


def test_a_second_header_ends_the_capture_in_whatever_block_it_stands(tmp_path):
    """Shorter rows follow longer ones, so that they go into a second block: they are another capture's all the same."""
    first = wide([f"a{n}" for n in range(40)], "123456.78", 800)
    rec = opened(tmp_path, first + wide([f"b{n}" for n in range(40)], "0.00", 20000))
    frame = rec["group_cpu"].collect()
    assert set(frame["pct_used"]) == {123456.78}
    assert rec.meta["samples"] == 800
    assert any("another capture" in note.message and note.line == 802 for note in rec.notes)


@pytest.mark.parametrize("lost", ["\n", '"\n', '0"\n'])
def test_rows_around_a_header_that_is_glued_to_one_are_the_same_left_in_the_file(tmp_path, lost):
    """What is read of the file again ends with each row, not with its line."""
    first, rest = WHOLE.removesuffix("\n").removesuffix('"').removesuffix("0"), WHOLE.split("\n", 1)[1]
    content = (first + '0"\n').removesuffix(lost) + WHOLE.split("\n", 1)[0] + "\n" + rest.replace(" 08:", " 09:")
    file = compose.write(tmp_path, content)
    at_once, left = ex.open(file, lazy=False), ex.open(file, lazy=True)
    assert values(left) == values(at_once)
    assert values(at_once)[1][4:] == [1.75, 2.5 if lost == "\n" else None, 1.25, 2.0, 1.5, 2.25, 1.75, 2.5]


@pytest.mark.search
def test_short_lines_do_not_ask_for_memory(tmp_path):
    """A block has room for its rows: lines that cannot be rows take none."""
    columns = [(f"Group Cpu({n}:vm)", "% Used") for n in range(20000)]
    whole = compose.text(columns, [["1.25"] * 20000])
    file = compose.write(tmp_path, whole + "\n" * 100_000 + "vmkernel: log line\n" * 50_000)
    rec = ex.open(file)
    assert rec.meta["samples"] == 1
    assert [note.line for note in rec.notes] == [3, 100_003]
    assert "100,000 blank lines" in rec.notes[0].message
    assert "50,000 rows have 1 cell" in rec.notes[1].message


def test_a_file_that_shrinks_or_grows_while_it_is_read(tmp_path, monkeypatch):
    """What was there at the start is read, or what is left of it; the next time reads the rest."""
    content = compose.text(COLUMNS, ROWS * 300, step=0)
    file = compose.write(tmp_path, content)
    monkeypatch.setattr(body, "PIECE", 4096)
    monkeypatch.setattr("esxparse.formats.esxtop.grammar.HEADER_WITHIN", 4096)
    taken = body._Reader.take

    def growing(reader, buffer):
        with file.open("ab") as more:
            more.write((compose.row(0, ROWS[0]) + "\n").encode() * 50)
        return taken(reader, buffer)

    monkeypatch.setattr(body._Reader, "take", growing)
    assert ex.open(file).meta["samples"] == 900

    def shrinking(reader, buffer):
        os.truncate(file, 12000)
        return taken(reader, buffer)

    file.write_text(content)
    monkeypatch.setattr(body._Reader, "take", shrinking)
    rec = ex.open(file)
    assert 0 < rec.meta["samples"] < 900
    assert rec["memory"].collect()["free_mbytes"].to_list()[:3] == [100.0, 200.0, 300.0]


def test_pieces_and_threads_do_not_matter(tmp_path, monkeypatch):
    columns = [(f"Group Cpu({n}:vm)", "% Used") for n in range(50)] + [("Memory", "Numa Home Nodes")]
    samples = [[f"{n * 7 % 13}.{n % 100:02d}"] * 50 + [["0", "0,1", ""][n % 3]] for n in range(200)]
    file = compose.write(tmp_path, compose.text(columns, samples, step=0) + "cut,row\n")
    expected = ex.open(file)
    for piece, workers in ((1, 1), (100, 4), (4096, 4), (9999, 3)):
        monkeypatch.setattr(body, "PIECE", piece)
        monkeypatch.setattr(body, "threads", lambda workers=workers: workers)
        again = ex.open(file)
        assert again.notes == expected.notes
        for name in expected:
            assert again[name].collect().equals(expected[name].collect()), (name, piece)


def test_more_rows_than_the_first_lines_let_expect(tmp_path):
    """Later rows far shorter than the first: the block laid out for them overflows, and nothing is lost."""
    columns = [(f"Group Cpu({n}:vm)", "% Used") for n in range(400)]
    long, short = ["123456.78"] * 400, ["0"] * 400
    samples = [long] * 800 + [short] * 4000
    rec = opened(tmp_path, compose.text(columns, samples, step=0))
    frame = rec["group_cpu"].collect()
    assert frame.height == 400 * 4800
    sums = frame.with_row_index("n").group_by(pl.col("n") // 400, maintain_order=True).agg(pl.col("pct_used").sum())
    assert sums["pct_used"].to_list() == pytest.approx([123456.78 * 400] * 800 + [0.0] * 4000)


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (b"", ex.DamagedError, "is empty"),
        (b"time,value\n1,2\n", ex.UnknownFormatError, "not in a format"),
        (b"\x1f\x8b\x08\x00", ex.EsxparseError, "gzip data is cut"),
        (WHOLE.splitlines()[0].encode(), ex.DamagedError, "no rows"),
        (WHOLE.splitlines()[0].encode() + b"\n", ex.DamagedError, "no rows"),
        (b'"(PDH-CSV 4.0) (UTC)(0)"\n"03/02/2026 08:00:00"\n', ex.DamagedError, "without a single column"),
        (b'"(PDH-CSV 4.0) nonsense","\\\\h\\Memory\\Free MBytes"\n', ex.DamagedError, "should begin a capture"),
        ("\n".join([*WHOLE.splitlines()[:1], "x,y"]).encode() + b"\n", ex.DamagedError, "no usable row"),
    ],
)
def test_what_cannot_be_read_gets_one_clear_line(tmp_path, content, error, says):
    file = compose.write(tmp_path, content)
    with pytest.raises(error, match=re.escape(says)) as caught:
        ex.open(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_directory_and_a_missing_file(tmp_path):
    with pytest.raises(ex.UnreadableError, match="is a directory"):
        ex.open(tmp_path)
    with pytest.raises(ex.UnreadableError, match="does not exist"):
        ex.open(tmp_path / "none.csv")


def test_a_table_that_is_not_there_names_those_that_are(tmp_path):
    rec = opened(tmp_path, WHOLE)
    with pytest.raises(ex.MissingTableError, match="no table 'vcpu'; it has: memory, group_cpu"):
        rec["vcpu"]
