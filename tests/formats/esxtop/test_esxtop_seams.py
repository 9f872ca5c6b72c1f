"""Bytes lost between two samples, and lines that lost their ends: no number gets to another time."""

from __future__ import annotations

import gzip
import re

import compose
import pytest

import esxparse as ex
from esxparse.formats.esxtop.slice import slice_capture

COLUMNS = [
    ("Memory", "Free MBytes"),
    *((f"Group Cpu({n}:vm{n})", name) for n in range(8) for name in ("% Used", "% Ready", "Alloc Max")),
]
ROWS = [
    [
        str(1000 + row),
        *(cell for n in range(8) for cell in (f"{row + 20}.{n}5", f"{n}.0{row % 10}", ["-1", "500"][n % 2])),
    ]
    for row in range(30)
]
WHOLE = compose.text(COLUMNS, ROWS)
PLACE = 5
"""The cell at the seam, and its number in rows 10 and 11: `30.15` and `31.15`."""


def seam(left: str, right: str) -> str:
    """Rows 10 and 11 made one: of the cell at the seam the first keeps `left` and the second `right`."""
    lines = WHOLE.splitlines()
    head, tail = lines[11].split(",")[:PLACE], lines[12].split(",")[PLACE + 1 :]
    lines[11:13] = [",".join([*head, left + right, *tail])]
    return "\n".join(lines) + "\n"


def cells(rec, second):
    frame = rec["group_cpu"].collect()
    mine = frame.filter(frame["time"].dt.minute() * 60 + frame["time"].dt.second() == second)
    return [value for row in mine.select("pct_used", "pct_ready", "alloc_max").rows() for value in row]


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('"30.1', '.15"'), ('"30.15"', '1.15"'), ('"30.15"', '"31.15"'), ('"3', '"'), ('"30.', '"'), ('"30.1', '"'),
        ('"30.15', '15"'), ('"', '.15"'), ('"', '"31.15"'), ('"', '01.15"'), ("", '.15"'), ("", "31.15"), ("", ""),
        ('"30.15-', '1"'),
    ],
)  # fmt: skip
def test_a_cell_that_no_tool_prints_spoils_the_rest_of_its_row(tmp_path, first, second, left):
    file = compose.write(tmp_path, seam(first, second))
    rec = ex.open(file, lazy=left)
    kept = cells(rec, 50)
    assert kept[: PLACE - 2] == [30.05, 0.0, -1.0]
    assert kept[PLACE - 2 :] == [None] * (24 - PLACE + 2)
    assert cells(rec, 45)[-3:] == [29.75, 7.09, 500.0]
    (note,) = [note for note in rec.notes if "no tool prints" in note.message]
    assert note.message.startswith("1 row with a cell that no tool prints")
    assert (note.line, note.column, note.severity) == (12, PLACE + 1, "warning")
    slice_capture(file, tmp_path / "part.csv", counters=["Alloc Max"])
    part = ex.open(tmp_path / "part.csv")["group_cpu"].collect()
    late = part.filter(part["time"].dt.second() == 50, part["time"].dt.minute() == 0)
    assert late["alloc_max"].to_list() == [-1.0, *[None] * 7]


@pytest.mark.parametrize(
    "words", [("0,1", "0,1,2"), ("Yes", "no"), ("", "-"), ("vmnic4", "vmrdma0"), ("-nan", "inf"), ("-1", "7")]
)
def test_what_tools_print_spoils_nothing(tmp_path, words):
    rows = [[*row[:-1], words[number % 2]] for number, row in enumerate(ROWS)]
    rows = [[row[0], words[0], *row[2:]] if number == 5 else row for number, row in enumerate(rows)]
    rec = ex.open(compose.write(tmp_path, compose.text(COLUMNS, rows)))
    assert cells(rec, 25)[1:-1] == [float(cell) for cell in rows[5][2:-1]]
    assert not any("no tool prints" in note.message for note in rec.notes)


def test_numbers_that_a_spreadsheet_shortened_spoil_nothing(tmp_path):
    """Zeros at the end are gone everywhere, and so a column has numbers of several shapes."""
    rows = [[f"{float(cell):g}" for cell in row] for row in ROWS]
    for content in (compose.text(COLUMNS, rows), compose.text(COLUMNS, rows).replace('"', "")):
        rec = ex.open(compose.write(tmp_path, content), date_order="mdy")
        assert cells(rec, 50) == [float(cell) for cell in rows[10][1:]]


@pytest.mark.parametrize("left", [False, True])
def test_a_capture_appended_without_a_line_end_loses_nothing(tmp_path, left):
    lines = WHOLE.splitlines()
    later = [line.replace(" 08:", " 09:") for line in lines]
    for content in ([*lines, lines[0], *later[1:]], lines + later[1:]):
        glued = "\n".join(content[:30]) + "\n" + content[30] + "\n".join(content[31:]) + "\n"
        rec = ex.open(compose.write(tmp_path, glued), lazy=left)
        assert rec.meta["samples"] == 60
        assert rec["memory"].collect()["free_mbytes"].to_list() == [float(n) for n in range(1000, 1030)] * 2
        assert not any("another capture" in note.message for note in rec.notes)
        slice_capture(tmp_path / "capture.csv", tmp_path / "part.csv", tables=["memory"])
        assert ex.open(tmp_path / "part.csv").meta["samples"] == 60


@pytest.mark.parametrize("comma", ["", ","])
def test_a_header_that_lost_its_line_end_gives_its_first_row_back(tmp_path, comma):
    lines = [line + comma for line in WHOLE.splitlines()]
    file = compose.write(tmp_path, lines[0] + "\n".join(lines[1:]) + "\n")
    rec = ex.open(file)
    assert rec.meta["samples"] == 30
    assert rec["memory"].collect()["free_mbytes"][0] == 1000.0
    assert ("the header lost its line end: the first row is read from the rest of its line", 1) in {
        (note.message, note.line) for note in rec.notes
    }
    slice_capture(file, tmp_path / "part.csv", tables=["memory"])
    assert ex.open(tmp_path / "part.csv").meta["samples"] == 30


@pytest.mark.parametrize("lost", ['","', '",', ',"', '"', ","])
def test_a_header_that_lost_a_quote_or_comma_keeps_its_names(tmp_path, lost):
    whole = 'vm3)\\% Used","'
    content = WHOLE.replace(whole, whole.removesuffix('","') + '","'.replace(lost, "", 1), 1)
    rec = ex.open(compose.write(tmp_path, content))
    assert [name for name in rec["group_cpu"].collect_schema() if name.startswith("pct")] == ["pct_used", "pct_ready"]
    assert cells(rec, 50) == [float(cell) for cell in ROWS[10][1:]]
    assert [(note.line, "lost a quote or comma" in note.message) for note in rec.notes] == [(1, True)]


def test_what_is_said_counts_right(tmp_path):
    def said(content):
        return [note.message for note in ex.open(compose.write(tmp_path, content)).notes]

    commas = [line + "," for line in WHOLE.splitlines()]
    commas[5] = commas[5].replace('"20.05",', "", 1).replace('"24.05",', "", 1)
    assert "1 row has 25 cells where the header has 26: left out (line 6)" in said("\n".join(commas) + "\n")
    assert said(WHOLE + "\0" * 5000) == ["5,000 NUL bytes at the end of the file, after the last row: ignored"]
    two = "\n".join(line + ",," for line in WHOLE.splitlines()) + "\n"
    assert said(two) == ["2 trailing commas: the empty last columns are left out"]


def bare(content):
    return re.sub(r"03/02/2026 (\d\d:\d\d):\d\d", r"04/26/18 \1", content.replace('"', ""))


@pytest.mark.parametrize(
    "content",
    [
        WHOLE.replace('","', '";"'), WHOLE.replace('","', '"\t"'), WHOLE.replace("\n", "\r"),
        WHOLE.replace("\n", "\r\r\n"), WHOLE.encode("utf-16-le"), WHOLE.encode("utf-16-be"), bare(WHOLE),
        bare(WHOLE).replace("\n", "\r"), WHOLE[1:],
    ],
    ids=["semicolons", "tabs", "CR", "CR CR LF", "UTF-16-LE", "UTF-16-BE", "two-digit years", "old Mac", "first quote"],
)  # fmt: skip
def test_dialects(tmp_path, content):
    file = compose.write(tmp_path, content)
    rec = ex.open(file)
    assert rec["memory"].collect()["free_mbytes"].to_list() == [float(n) for n in range(1000, 1030)]
    assert rec["group_cpu"].collect()["pct_used"].to_list()[:2] == [20.05, 20.15]
    assert rec.meta["start"].year in {2018, 2026}
    slice_capture(file, tmp_path / "part.csv", tables=["memory"])
    assert ex.open(tmp_path / "part.csv").meta["samples"] == 30


@pytest.mark.parametrize("damage", [slice(-8, -4), slice(-4, None)])
def test_gzip_whose_last_checksum_alone_is_wrong_is_read(tmp_path, damage):
    packed = bytearray(gzip.compress(WHOLE.encode()))
    packed[damage] = b"\1\2\3\4"
    rec = ex.open(compose.write(tmp_path, bytes(packed), "capture.csv.gz"))
    assert rec.meta["samples"] == 30
    assert ["checksum" in note.message for note in rec.notes] == [True]


def test_gzip_cut_before_the_first_row_says_so(tmp_path):
    columns = [(f"Group Cpu({n}:{n * 7919 % 9973})", "% Used") for n in range(3000)]
    packed = gzip.compress(compose.text(columns, [["1.25"] * 3000]).encode())
    with pytest.raises(ex.DamagedError, match="gzip data is cut"):
        ex.open(compose.write(tmp_path, packed[: len(packed) // 2], "capture.csv.gz"))
