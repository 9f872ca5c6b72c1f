"""Slices of captures that are damaged, or that other programs saved: the reader's rules, line by line."""

from __future__ import annotations

import re

import compose
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples
from slices import COLUMNS, ROWS, WHOLE, assert_same, sliced

import esxparse as ex
from esxparse.formats.esxtop import scan_twin, times
from esxparse.formats.esxtop.grammar import bounds
from esxparse.formats.esxtop.slice import slice_capture


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("trailing", ["", ","])
def test_line_ends_and_trailing_commas(tmp_path, ending, trailing):
    content = "".join(line + trailing + ending for line in WHOLE.splitlines())
    whole, part, _ = sliced(tmp_path, content)
    assert_same(part, whole)
    assert (tmp_path / "part.csv").read_bytes() == WHOLE.encode()


def test_what_a_spreadsheet_saved_is_quoted_again(tmp_path):
    content = WHOLE.replace('"', "").replace("03/02/2026 08:00:0", "3/20/2026 08:0").replace("2.25", "")
    whole, part, _ = sliced(tmp_path, content, tables=["group_cpu"])
    assert_same(part, whole, tables=["group_cpu"])
    assert (tmp_path / "part.csv").read_text().splitlines()[2] == '"03/20/2026 08:05:00","1.50",""'


def test_text_before_the_header_and_other_scripts(tmp_path):
    content = b'Enter password: \r\n\xef\xbb\xbf"' + compose.text([("Group Cpu(1:caf\xe9)", "% Used")], [["1"]]).encode(
        "cp1252"
    ).removeprefix(b'"')
    whole, part, done = sliced(tmp_path, content)
    assert_same(part, whole)
    assert part["group_cpu"].collect()["group"].to_list() == ["café"]
    assert "password" in done.notes[0].message
    assert part.notes == ()


def test_columns_keep_their_hosts(tmp_path):
    names = [compose.path("Memory", "Free MBytes", host) for host in ("esx-a", "esx-b", "esx-a")]
    header = ",".join(f'"{cell}"' for cell in [compose.STAMP, *names])
    content = f"{header}\n{compose.row(0, ['1', '2', '3'])}\n"
    slice_capture(compose.write(tmp_path, content), tmp_path / "part.csv")
    assert (tmp_path / "part.csv").read_text() == content


STAMPS = [
    "03/02/2026 08:00:05",
    "3/2/2026 8:00",
    "03/02/2026 08:00:05.25",
    "04/24/2018 10:49:12.123456",
    "02/30/2026 08:00:05",
    "13/02/2026 08:00:05",
    "03/02/2026 24:00:00",
    "03/02/2026 08:00:60",
    "03/02/1026 08:00:05",
    " 03/02/2026 08:00:05 ",
    "03/02/2026 08:00:05,x",
    "03/02/2026 8:0",
    "04/24/2018 10:49:1",
    "2026-03-02 08:00:05",
    "",
]


@pytest.mark.parametrize("form", ['"{}","1"', "{},1", '"{}"', "{}", '"{}'])
@pytest.mark.parametrize("stamp", STAMPS)
def test_times_of_rows_are_those_of_the_reader(stamp, form):
    text = times.stamp_text(form.format(stamp).encode())
    assert times.time_of(text, -60) == times.parse([text], -60)[0]


TORN = WHOLE.replace('0","2.25"\n"03/02/2026 08:00:10","300","1.7', "\0" * 40)
"""Two rows, of which a run of NULs made one."""


def damaged():
    lines = WHOLE.splitlines()
    short, long = lines[2].rpartition(",")[0], lines[3] + ',"9"'
    timeless = lines[2].replace("03/02/2026", "13/40/2026")
    unclosed = lines[2].removesuffix('"')
    return [
        WHOLE[:-4],
        WHOLE[:-3],
        WHOLE[:-1],
        WHOLE[: WHOLE.rindex('"2.50"') - 1],
        "\n".join([lines[0], lines[1], short, long, lines[3]]) + "\n",
        "\n\n".join(lines) + "\n\n\n",
        "\n".join([lines[0], timeless, lines[3], "", "x"]) + "\n",
        "\n".join([*lines[:2], unclosed, lines[3]]) + "\n",
        WHOLE.replace("2.25", "-nan").replace('"1.75"', '"yes"').replace('"300"', '"a"b"'),
        WHOLE.replace("1.50", "\0\0\0\0"),
        TORN,
        WHOLE + compose.text(list(reversed(COLUMNS)), ROWS),
        WHOLE[:-9] + compose.text(list(reversed(COLUMNS)), ROWS),
        WHOLE.replace('"2.50"\n', "2.5"),
        "\n".join([*(line + "," for line in lines[:2]), lines[2].replace('"1.50",', "") + ",", lines[3] + ","]),
    ]


@pytest.mark.parametrize("content", damaged())
def test_what_the_reader_leaves_out_is_left_out_and_said(tmp_path, content):
    whole, part, done = sliced(tmp_path, content)
    assert_same(part, whole)
    assert part.meta["samples"] == whole.meta["samples"]
    told = [
        note
        for note in whole.notes
        if note.severity == "warning" and re.search("left out|closed|kept apart|no tool prints", note.message)
    ]
    said = [note for note in done.notes if note.severity == "warning"]
    assert [(note.line, note.message.split(":")[0]) for note in said] == [
        (note.line, note.message.split(":")[0]) for note in told
    ] or [note.line for note in said] == [note.line for note in told]


def test_a_row_torn_by_nul_bytes_is_left_out_whichever_columns_are_kept(tmp_path):
    """What stands after the NULs is the next sample's: under this one's time it would be a wrong number."""
    whole, part, done = sliced(tmp_path, TORN, instances=["^2:b$"])
    assert part["group_cpu"].collect()["pct_used"].to_list() == [2.0]
    assert whole.meta["samples"] == part.meta["samples"] == 1
    assert [(note.line, note.message.partition(",")[0]) for note in done.notes] == [(3, "NUL bytes in 1 row")]


@given(st.integers(len(WHOLE.splitlines()[0]) + 1, len(WHOLE)))
@settings(deadline=None, max_examples=examples(100))
def test_cut_at_any_byte(tmp_path_factory, length):
    folder = tmp_path_factory.mktemp("cut")
    file = compose.write(folder, WHOLE[:length])
    try:
        whole = ex.open(file)
    except ex.DamagedError:
        with pytest.raises(ex.DamagedError, match=re.escape(str(file))):
            slice_capture(file, folder / "part.csv")
        assert list(folder.iterdir()) == [file]
        return
    slice_capture(file, folder / "part.csv")
    part, uncut = ex.open(folder / "part.csv"), ex.open(compose.write(folder, WHOLE, "uncut.csv"))
    for table, column in (("memory", "free_mbytes"), ("group_cpu", "pct_used")):
        got, read, right = (rec[table].collect()[column].to_list() for rec in (part, whole, uncut))
        assert len(got) == len(read)
        for mine, readers, uncut_one in zip(got, read, right, strict=False):
            assert mine in (None, uncut_one)
            assert readers in (None, mine)


pieces = st.lists(st.sampled_from([b'"', b",", b" ", b"-", b"1", b"2.5", b"x", b'","', b'"7.25"', b"\t"]), max_size=14)


@given(pieces)
@settings(deadline=None, max_examples=examples(1000))
def test_cells_are_those_of_the_scanner(parts):
    line = b"".join(parts)
    if line:
        starts, ends = bounds(line)
        assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == [cell[:2] for cell in scan_twin._cells(line)]


def test_a_capture_that_was_started_again_and_another_after_it(tmp_path):
    other = compose.text(list(reversed(COLUMNS)), ROWS)
    for content in (WHOLE + WHOLE + other, WHOLE + WHOLE[:-9] + other):
        whole, part, done = sliced(tmp_path, content, tables=["group_cpu"])
        assert_same(part, whole, tables=["group_cpu"])
        assert part.meta["samples"] == whole.meta["samples"] > 4
        assert any("is repeated once" in note.message and note.line == 5 for note in done.notes)
        (apart,) = (note for note in done.notes if "begins here" in note.message)
        assert "with the same columns in another order" in apart.message
        assert apart.message.endswith("3 rows from here on are kept apart: slice it with segment=2")
        assert apart.rows == 3
        slice_capture(tmp_path / "whole.csv", tmp_path / "second.csv", segment=2, counters=["Free MBytes"])
        second = ex.open(tmp_path / "second.csv")
        assert list(second.tables) == ["memory"]
        assert second["memory"].collect().equals(ex.open(tmp_path / "whole.csv", segment=2)["memory"].collect())
    for segment in (0, 3):
        with pytest.raises(ex.EsxparseError, match=rf"segment (is )?{segment}"):
            slice_capture(tmp_path / "whole.csv", tmp_path / "third.csv", segment=segment)


def test_rows_glued_to_later_headers_are_counted(tmp_path):
    columns = [("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used")]
    own, *rows = compose.text(columns, [["100.00", "1.25"]] * 4).splitlines(keepends=True)
    other = own.replace("% Used", "% Ready")
    third = own.replace("% Used", "% Idle")
    file = compose.write(tmp_path, "".join([own, *rows, other, *rows, rows[0].strip() + third.strip() + rows[0]]))
    (apart,) = (note for note in slice_capture(file, tmp_path / "part.csv").notes if note.rows)
    (read,) = (note for note in ex.open(file).notes if note.rows)
    assert (apart.rows, read.rows) == (6, 6)


def test_dates_of_a_spreadsheet_that_nothing_tells(tmp_path):
    file = compose.write(tmp_path, WHOLE.replace('"', "").encode("utf-16"))
    with pytest.raises(ex.EsxparseError, match="date_order="):
        slice_capture(file, tmp_path / "part.csv")
    slice_capture(file, tmp_path / "part.csv", date_order="dmy")
    assert_same(ex.open(tmp_path / "part.csv"), ex.open(file, date_order="dmy"))
