"""Captures in UTF-16, in several encodings one after the other, and with bytes missing or added."""

from __future__ import annotations

import compose
import pytest

import esxparse as ex
from esxparse.formats.esxtop.slice import slice_capture

COLUMNS = [("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used"), ("Group Cpu(2:b)", "% Used")]
ROWS = [[f"{100 + n}.00", f"{n}.25", f"{n + 50}.75"] for n in range(12)]
WHOLE = compose.text(COLUMNS, ROWS)
HEADER, BODY = WHOLE.split("\n", 1)
STAMPS = {compose.row(5 * n, [])[1:20]: n for n in range(12)}


def values(rec):
    """Free memory and both groups, by sample of `ROWS`."""
    used = rec["group_cpu"].collect().partition_by("instance", maintain_order=True)
    memory = rec["memory"].collect()
    columns = [memory["free_mbytes"], *(one["pct_used"] for one in used)]
    stamps = memory["time"].dt.strftime("%m/%d/%Y %H:%M:%S")
    return {STAMPS[stamp]: list(cells) for stamp, *cells in zip(stamps, *columns, strict=True)}


def lost(notes):
    return sum(note.rows for note in notes if note.severity == "warning")


def changes(size, begin, step):
    """Every so many bytes of a capture, one of them missing or another before it."""
    for place in range(begin, size, step):
        for kind, change in (
            ("missing", lambda data, at=place: data[:at] + data[at + 1 :]),
            ("a NUL added", lambda data, at=place: data[:at] + b"\0" + data[at:]),
            ("a digit added", lambda data, at=place: data[:at] + b"7" + data[at:]),
        ):
            yield f"byte {place} {kind}", change


@pytest.mark.search
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("step", [47, pytest.param(5, marks=pytest.mark.search)])
def test_a_byte_missing_or_added_in_utf_16_costs_one_row_at_most(tmp_path, encoding, mark, step):
    data = (mark + WHOLE.replace("\n", "\r\n")).encode(encoding)
    begin = len((mark + HEADER + "\r\n").encode(encoding))
    for name, change in changes(len(data), begin, step):
        rec = ex.open(compose.write(tmp_path, change(data)))
        found = values(rec)
        for sample, cells in found.items():
            right = map(float, ROWS[sample])
            assert all(cell in (None, true) for cell, true in zip(cells, right, strict=True)), name
        assert len(found) + lost(rec.notes) == 12, name
        assert len(found) >= 11, name


def test_names_in_a_damaged_header_of_utf_16_stay_names(tmp_path):
    data = WHOLE.encode("utf-16-le")
    at = data.index("Group Cpu(1".encode("utf-16-le")) + 5
    rec = ex.open(compose.write(tmp_path, data[:at] + data[at + 1 :]))
    assert rec.meta["samples"] == 12
    assert rec["memory"].collect()["free_mbytes"].to_list() == [float(row[0]) for row in ROWS]


@pytest.mark.parametrize(
    ("begun", "encoding"),
    [
        ("utf-8", "utf-8"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-8", "utf-16-le"),
        ("utf-8", "utf-16-be"),
    ],
)
@pytest.mark.parametrize("place", [3, 6, 9, 12])
def test_a_damaged_header_is_no_row(tmp_path, begun, encoding, place):
    """Rows in the file are rows in the tables and rows in the notes: a header within the file is neither."""
    again = WHOLE.replace(" 08:", " 09:")
    first, second = WHOLE.encode(begun), again.encode(encoding)
    at = place * (1 if encoding == "utf-8" else 2)
    changes = {
        "missing": second[:at] + second[at + 1 :],
        "two missing": second[:at] + second[at + 2 :],
        "a NUL added": second[:at] + b"\0" + second[at:],
        "a digit added": second[:at] + b"7" + second[at:],
    }
    for name, changed in changes.items():
        file = compose.write(tmp_path, first + changed)
        rec = ex.open(file)
        assert rec.meta["samples"] + lost(rec.notes) == 24, name
        sliced = slice_capture(file, tmp_path / "slice.csv")
        assert sliced.samples + lost(sliced.notes) == 24, name


LINES = BODY.splitlines(keepends=True)
MIXED = {
    "rows in UTF-16 after UTF-8": [(HEADER + "\n" + "".join(LINES[:5]), "utf-8"), ("".join(LINES[5:]), "utf-16-le")],
    "the header again in UTF-16": [(WHOLE, "utf-8"), (WHOLE.replace(" 08:", " 09:"), "utf-16-le")],
    "UTF-8 after UTF-16": [("\ufeff" + HEADER + "\n" + "".join(LINES[:5]), "utf-16-le"), ("".join(LINES[5:]), "utf-8")],
    "big-endian after UTF-8": [(HEADER + "\n" + "".join(LINES[:5]), "utf-8"), ("".join(LINES[5:]), "utf-16-be")],
    "with its mark": [(HEADER + "\n" + "".join(LINES[:5]), "utf-8"), ("\ufeff" + "".join(LINES[5:]), "utf-16-le")],
    "three parts": [
        (HEADER + "\n" + "".join(LINES[:2]), "utf-8"),
        ("\ufeff" + "".join(LINES[2:8]), "utf-16-be"),
        ("".join(LINES[8:]), "utf-8"),
    ],
}


@pytest.mark.parametrize("parts", MIXED.values(), ids=MIXED)
def test_each_part_of_a_file_is_decoded_by_its_own_encoding(tmp_path, parts):
    file = compose.write(tmp_path, b"".join(text.encode(encoding) for text, encoding in parts))
    rec = ex.open(file)
    rows = 24 if "(PDH" in parts[1][0] else 12
    assert rec.meta["samples"] == rows
    assert lost(rec.notes) == 0
    assert rec["memory"].collect()["free_mbytes"].to_list() == [float(row[0]) for row in ROWS] * (rows // 12)
    assert any("the file changes its encoding" in note.message for note in rec.notes)
    sliced = slice_capture(file, tmp_path / "slice.csv")
    assert sliced.samples == rows
    assert ex.open(tmp_path / "slice.csv")["memory"].collect().equals(rec["memory"].collect())


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"])
def test_an_empty_file_appended_is_no_row(tmp_path, mark):
    file = compose.write(tmp_path, WHOLE.encode() + mark)
    rec = ex.open(file)
    assert len(values(rec)) == 12
    assert lost(rec.notes) == 0
    assert lost(slice_capture(file, tmp_path / "part.csv").notes) == 0


@pytest.mark.parametrize("lazy", [False, True])
def test_a_byte_order_mark_before_a_part_is_no_row(tmp_path, lazy):
    """`copy /b one.csv+two.csv` of two files that begin with the mark."""
    columns = [*COLUMNS, ("Group Cpu(3:c)", "% Used")]
    whole = compose.text(columns, [[*row, "1.00"] for row in ROWS])
    content = f"\ufeff{whole}\ufeff{whole}".encode()
    rec = ex.open(compose.write(tmp_path, content), lazy=lazy)
    assert rec.meta["samples"] == 24
    assert lost(rec.notes) == 0
    assert slice_capture(tmp_path / "capture.csv", tmp_path / "slice.csv").samples == 24


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_may_begin_within_a_row(tmp_path, encoding):
    tail = BODY.splitlines(keepends=True)[9:]
    file = compose.write(tmp_path, ("".join(tail)[25:] + WHOLE).encode(encoding))
    rec = ex.open(file)
    assert len(values(rec)) == 12
    assert lost(rec.notes) == 3
