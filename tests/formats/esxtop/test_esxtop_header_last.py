"""Rows before the header: read where they are certainly its own, else left out with their number."""

from __future__ import annotations

import compose
import pytest

import esxparse as ex
from esxparse.formats.esxtop.slice import slice_capture

COLUMNS = [("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used"), ("Physical Disk(vmhba0)", "Reads/sec")]
ROWS = [[f"{100 + n}.00", f"{n}.25", f"{n}.00"] for n in range(60)]
WHOLE = compose.text(COLUMNS, ROWS)
HEADER, *LINES = WHOLE.splitlines(keepends=True)
OTHER = compose.text([("Memory", "Free MBytes"), ("Group Cpu(2:b)", "% Used"), COLUMNS[2]], ROWS).replace(
    " 08:", " 10:"
)
LATER = [line.replace(" 08:", " 09:") for line in LINES]


def free(rec):
    return rec["memory"].collect()["free_mbytes"].to_list()


def rows_before(notes):
    (note,) = [note for note in notes if "before the header" in note.message]
    return note.rows, note.severity


SORTED = {
    "tac": [*LINES[::-1], HEADER],
    "tac, without a last line end": [*LINES[::-1], HEADER.removesuffix("\n")],
    "tac of an esxtop started again": [*LATER[::-1], HEADER, *LINES[::-1], HEADER],
    "the header last, rows in order": [*LINES, HEADER],
    "CRLF": [line.replace("\n", "\r\n") for line in [*LINES[::-1], HEADER]],
    "one row": [LINES[0], HEADER],
    "tac, and a capture after it": [*LINES[::-1], HEADER, *OTHER.splitlines(keepends=True)],
}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("lines", SORTED.values(), ids=SORTED)
def test_rows_above_the_header_they_belong_to_are_read_in_order(tmp_path, lines, lazy):
    file = compose.write(tmp_path, "".join(lines))
    rec = ex.open(file, lazy=lazy)
    rows = [float(row[0]) for row in ROWS[: 1 if len(lines) == 2 else 60]]
    assert free(rec) == rows * (1 + (lines[0] in LATER))
    assert rec["memory"].collect()["time"].is_sorted()
    assert rec["physical_disk"].collect()["reads_per_sec"][0] is None, "the first sample has no rates of disks"
    assert sum(note.rows for note in rec.notes) == (60 if lines[-1] == OTHER.splitlines(keepends=True)[-1] else 0)
    assert slice_capture(file, tmp_path / "slice.csv").samples == rec.meta["samples"]
    assert ex.open(tmp_path / "slice.csv")["memory"].collect().equals(rec["memory"].collect())


def test_a_reversed_file_that_a_spreadsheet_saved_is_read_in_order(tmp_path):
    lines = [line.replace('"', "").replace("03/02/2026", "2026-03-02") for line in [*LINES[::-1], HEADER]]
    assert free(ex.open(compose.write(tmp_path, "".join(lines)))) == [float(row[0]) for row in ROWS]


def test_a_reversed_file_longer_than_its_head_is_read(tmp_path):
    columns = [*COLUMNS, *((f"Group Cpu({n}:vm)", "% Used") for n in range(3, 2000))]
    header, *lines = compose.text(columns, [[*row, *["1.00"] * 1997] for row in ROWS * 3]).splitlines(keepends=True)
    content = "".join([*lines[::-1], header])
    assert len(content) > 2 << 20
    assert ex.open(compose.write(tmp_path, content)).meta["samples"] == 180


UNSURE = {
    "the tail of a capture": [*LINES[30:], *OTHER.splitlines(keepends=True)],
    "a tail with the same columns": [*LINES[30:], HEADER, *LATER],
    "a reversed tail": [*LINES[:29:-1], HEADER, *LATER],
    "a tail cut within a row": ["".join(LINES[30:])[9:], HEADER, *LATER],
    "a tail cut at its end": ["".join(LINES[30:])[:-9], HEADER, *LATER],
    "a tail that lost a line end": ["".join(LINES[30:]).replace("\n", "", 1), HEADER, *LATER],
}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("lines", UNSURE.values(), ids=UNSURE)
def test_rows_that_may_be_of_another_capture_are_left_out_with_their_number(tmp_path, lines, lazy):
    file = compose.write(tmp_path, "".join(lines))
    rec = ex.open(file, lazy=lazy)
    assert free(rec) == [float(row[0]) for row in ROWS]
    assert rows_before(rec.notes) == (30, "warning")
    assert rows_before(slice_capture(file, tmp_path / "slice.csv").notes) == (30, "warning")


def test_rows_and_chatter_before_the_header_are_told_apart(tmp_path):
    content = "Welcome to esx-01\n" + "".join(LINES[30:]) + "TERM is not set\n" + HEADER + "".join(LATER)
    notes = ex.open(compose.write(tmp_path, content)).notes
    assert rows_before([note for note in notes if note.rows]) == (30, "warning")
    (chatter,) = [note for note in notes if note.message.startswith("text before the header")]
    assert chatter.severity == "info"
    assert "Welcome to esx-01 TERM is not set" in chatter.message


def test_a_long_tail_before_the_header_is_counted(tmp_path):
    columns = [*COLUMNS, *((f"Group Cpu({n}:vm)", "% Used") for n in range(3, 2000))]
    header, *lines = compose.text(columns, [[*row, *["1.00"] * 1997] for row in ROWS * 3]).splitlines(keepends=True)
    later = [line.replace(" 08:", " 10:") for line in lines[:5]]
    rec = ex.open(compose.write(tmp_path, "".join([*lines, header, *later])))
    assert rec.meta["samples"] == 5
    assert rows_before(rec.notes) == (180, "warning")


def test_rows_without_any_header_are_refused_with_the_remedy(tmp_path):
    with pytest.raises(ex.DamagedError, match=r"rows and no header .* put the header of its capture above them"):
        ex.open(compose.write(tmp_path, "".join(LINES)))
