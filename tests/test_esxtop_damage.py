"""Damaged captures: what can be used is, what cannot is said, and no damage turns into a wrong number."""

from __future__ import annotations

import compose
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import esxparse as ex

COLUMNS = [("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used"), ("Group Cpu(2:b)", "% Used")]
ROWS = [["100", "1.25", "2.00"], ["200", "1.50", "2.25"], ["300", "1.75", "2.50"]]
WHOLE = compose.text(COLUMNS, ROWS)


def opened(tmp_path, content):
    return ex.open(compose.write(tmp_path, content))


def values(rec):
    memory = rec["memory"].collect()["free_mbytes"].to_list()
    used = rec["group_cpu"].collect()["pct_used"].to_list()
    return memory, used


def test_a_last_row_that_is_cut_is_left_out_and_said(tmp_path):
    cut = WHOLE[: WHOLE.rindex('"2.50"') - 1]
    rec = opened(tmp_path, cut)
    assert values(rec) == ([100.0, 200.0], [1.25, 2.0, 1.5, 2.25])
    (note,) = rec.notes
    assert note.message == "the last row is cut after 3 of 4 cells: left out"
    assert (note.line, note.column, note.severity) == (4, 3, "warning")


def test_a_last_cell_that_is_cut_is_null_not_a_smaller_number(tmp_path):
    rec = opened(tmp_path, WHOLE[: WHOLE.rindex('0"')])
    assert values(rec) == ([100.0, 200.0, 300.0], [1.25, 2.0, 1.5, 2.25, 1.75, None])
    (note,) = rec.notes
    assert "not closed" in note.message
    assert (note.line, note.column) == (4, 4)


def test_a_bare_last_cell_without_a_line_end_may_be_cut_and_is_null(tmp_path):
    names = [f'"{compose.path("PCPU Power State(PCPU 0)", "%C-State C0")}"']
    content = (
        f'"{compose.STAMP}",{names[0]},   -\n"04/24/2018 10:49:12","8.01",    68.5\n"04/24/2018 10:49:17","8.01",    7'
    )
    states = opened(tmp_path, content)["pcpu_power_state"].collect()
    assert states["pct_of_aperf_per_mperf"].to_list() == [68.5, None]


def open_or_error(file):
    try:
        return ex.open(file), ""
    except ex.EsxparseError as error:
        return None, str(error)


@given(st.integers(0, len(WHOLE)))
@settings(deadline=None, max_examples=200)
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


def test_rows_with_too_few_or_too_many_cells_are_left_out_and_said(tmp_path):
    lines = WHOLE.splitlines()
    lines[2] = lines[2].rpartition(",")[0]
    lines.insert(3, lines[3] + ',"9"')
    rec = opened(tmp_path, "\n".join(lines) + "\n")
    assert values(rec) == ([100.0, 300.0], [1.25, 2.0, 1.75, 2.5])
    (note,) = rec.notes
    assert "2 rows have 3, 5 cells where the header has 4" in note.message
    assert "lines 3, 4" in note.message
    assert (note.line, note.severity) == (3, "warning")


def test_blank_lines_are_passed_over(tmp_path):
    lines = WHOLE.splitlines()
    rec = opened(tmp_path, "\n\n".join(lines) + "\n\n\n")
    assert values(rec)[0] == [100.0, 200.0, 300.0]
    (note,) = rec.notes
    assert "blank lines" in note.message


def test_a_row_whose_time_is_none_is_left_out(tmp_path):
    lines = WHOLE.splitlines()
    lines[2] = lines[2].replace("03/02/2026 08:00:05", "13/40/2026 08:00:05")
    rec = opened(tmp_path, "\n".join(lines) + "\n")
    assert values(rec)[0] == [100.0, 300.0]
    (note,) = rec.notes
    assert "13/40/2026" in note.message
    assert note.line == 3


def test_a_second_header_ends_the_capture(tmp_path):
    rec = opened(tmp_path, WHOLE + compose.text(list(reversed(COLUMNS)), ROWS))
    assert values(rec) == ([100.0, 200.0, 300.0], [1.25, 2.0, 1.5, 2.25, 1.75, 2.5])
    (note,) = rec.notes
    assert "second header" in note.message
    assert note.line == 5


def test_times_that_repeat_or_go_backward_are_said(tmp_path):
    lines = WHOLE.splitlines()
    lines += [lines[3], lines[1]]
    rec = opened(tmp_path, "\n".join(lines) + "\n")
    assert rec.meta["samples"] == 5
    assert [note.line for note in rec.notes] == [6, 5]


def test_nul_bytes_become_no_number(tmp_path):
    rec = opened(tmp_path, WHOLE.replace('"1.50"', '"\x00\x00\x00\x00"'))
    memory, used = values(rec)
    assert memory == [100.0, 200.0, 300.0]
    assert used == [1.25, 2.0, None, 2.25, 1.75, 2.5]
    assert rec.notes[0].line == 3


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
        (b"time,value\n1,2\n", ex.UnknownFormatError, "of no format"),
        (b"\x1f\x8b\x08\x00", ex.UnknownFormatError, "compressed (gzip)"),
        (WHOLE.splitlines()[0].encode(), ex.DamagedError, "no rows"),
        (WHOLE.splitlines()[0].encode() + b"\n", ex.DamagedError, "no rows"),
        (b'"(PDH-CSV 4.0) (UTC)(0)"\n"03/02/2026 08:00:00"\n', ex.DamagedError, "without a single column"),
        (b'"(PDH-CSV 4.0) nonsense","\\\\h\\Memory\\Free MBytes"\n', ex.DamagedError, "should begin a capture"),
        ("\n".join([*WHOLE.splitlines()[:1], "x,y"]).encode() + b"\n", ex.DamagedError, "no row that can be used"),
    ],
)
def test_what_cannot_be_read_gets_one_clear_line(tmp_path, content, error, says):
    file = compose.write(tmp_path, content)
    with pytest.raises(error, match=says.replace("(", r"\(").replace(")", r"\)")) as caught:
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
