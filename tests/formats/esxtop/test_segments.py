"""A capture whose columns change: every segment is converted and added, and no command passes over one in silence."""

from __future__ import annotations

import compose
import pytest

import esxparse as ex
from esxparse.cli import main

COLUMNS = [("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used"), ("Group Cpu(2:b)", "% Used")]
ROWS = [[f"{100 + n}.00", f"{n}.25", f"{n + 50}.75"] for n in range(12)]
FIRST = compose.text(COLUMNS, ROWS)
SECOND = compose.text(COLUMNS[:2], [row[:2] for row in ROWS]).replace(" 08:", " 09:")
THIRD = FIRST.replace("esx-01", "esx-02").replace(" 08:", " 10:")
FREE = [100.0 + n for n in range(12)]


@pytest.fixture
def capture(tmp_path):
    return compose.write(tmp_path, FIRST + SECOND + THIRD)


def free(rec):
    return rec["memory"].collect()["free_mbytes"].to_list()


def test_a_note_says_how_the_next_capture_differs_and_its_number(capture):
    recs = [ex.open(capture, segment=number) for number in (1, 2, 3)]
    assert [rec.meta["next_segment"] for rec in recs] == [2, 3, None]
    first, second = (rec.notes[0] for rec in recs[:2])
    assert first.message == (
        "another capture with other columns begins here, 24 rows from here on are kept apart: open it with segment=2"
    )
    assert (first.line, first.rows, first.severity) == (14, 24, "warning")
    assert second.message.startswith("another capture with other columns begins here, 12 rows")


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (THIRD, "of host esx-02.example.com"),
        (compose.text(COLUMNS[::-1], [row[::-1] for row in ROWS]), "with the same columns in another order"),
        (FIRST.replace("(UTC)(0)", "(CET)(-60)"), "with the same columns and another first cell in its header"),
    ],
)
def test_a_header_that_has_no_other_columns_is_not_said_to_have_them(tmp_path, other, difference):
    (note,) = (note for note in ex.open(compose.write(tmp_path, FIRST + other)).notes if note.rows)
    assert note.message.startswith(f"another capture {difference} begins here")


def test_convert_writes_every_segment_and_leaves_what_is_there(capture, tmp_path):
    made = ex.convert(capture, tmp_path / "lake")
    assert [one.folder.name for one in (made, *made.others)] == ["capture", "capture-segment2", "capture-segment3"]
    recs = [ex.open(one.folder) for one in (made, *made.others)]
    assert [free(rec) for rec in recs] == [FREE] * 3
    assert [rec.meta["host"] for rec in recs] == [f"esx-0{n}.example.com" for n in (1, 1, 2)]
    assert recs[0].notes[0].rows == 24
    again = ex.convert(capture, tmp_path / "lake")
    assert [one.skipped for one in (again, *again.others)] == [True] * 3
    one = ex.convert(capture, tmp_path / "lake", segment=2)
    assert (one.folder.name, one.skipped, one.others) == ("capture-segment2", True, ())
    assert ex.convert(capture, tmp_path / "own", name="moved", segment=2).folder.name == "moved"
    assert ex.convert(capture, tmp_path / "first", segment=1).others == ()


def test_convert_passes_over_a_header_without_rows_and_a_segment_in_no_window(tmp_path):
    empty = SECOND.split("\n", 1)[0] + "\n"
    capture = compose.write(tmp_path, FIRST + empty + THIRD)
    made = ex.convert(capture, tmp_path / "lake")
    assert [one.folder.name for one in made.others] == ["capture-segment2"]
    assert not made.unreadable
    (passed,) = [note for note in ex.open(made.others[0].folder).notes if "without rows" in note.message]
    assert (passed.severity, passed.line) == ("warning", FIRST.count("\n") + 1)
    late = ex.convert(capture, tmp_path / "late", start="2026-03-02T10:00")
    assert late.folder.name == "capture-segment2"
    assert free(ex.open(late.folder)) == FREE
    with pytest.raises(ex.EsxparseError, match="no sample in the requested window"):
        ex.convert(capture, tmp_path / "never", start="2027-01-01")


def test_a_segment_of_a_capture_that_a_spreadsheet_saved_is_converted(tmp_path):
    saved = (FIRST + SECOND).replace('"', "").replace("03/02/2026", "2026-03-02")
    made = ex.convert(compose.write(tmp_path, saved), tmp_path / "lake")
    assert [free(ex.open(one.folder)) for one in (made, *made.others)] == [FREE] * 2


def test_a_lake_holds_every_segment(capture, tmp_path):
    lake = ex.lake(tmp_path / "lake")
    made = lake.add([capture])
    assert [one.host for one in made] == [f"esx-0{n}.example.com" for n in (1, 1, 2)]
    assert [one.skipped for one in lake.add([capture])] == [True] * 3
    assert [one.id for one in lake.add([capture], segment=3)] == [made[2].id]
    found = ex.lake(tmp_path / "lake")
    assert found["memory"].collect().height == 36
    assert [sum(note.rows for note in one.notes) for one in found.captures] == [24, 12, 0]


def test_the_command_line_converts_and_adds_every_segment(capture, tmp_path, capsys):
    assert main(["convert", str(capture), "-o", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    assert [line.partition(":")[0].rpartition("/")[2] for line in printed.out.splitlines()] == [
        "capture",
        "capture-segment2",
        "capture-segment3",
    ]
    assert "holds 3 captures with different columns" in printed.err
    assert main(["lake", "add", str(capture), "--lake", str(tmp_path / "lake")]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 3
    assert "holds 3 captures with different columns" in printed.err
    assert main(["lake", "add", str(capture), "--lake", str(tmp_path / "one"), "--segment", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("command", ["info", "diagnose", "check", "slice"])
def test_commands_that_read_one_segment_warn_of_the_others(capture, tmp_path, capsys, command):
    output = ["-o", str(tmp_path / "part.csv")] if command == "slice" else []
    assert main([command, str(capture), *output]) == 0
    printed = capsys.readouterr()
    assert "24 rows from here on are kept apart" in printed.err
    assert "segment=2" in printed.err


@pytest.mark.search
def test_a_report_warns_of_the_other_segments_on_the_terminal_and_on_the_page(capture, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["report", str(capture), "-o", str(page), "-q"]) == 0
    assert "24 rows from here on are kept apart" in capsys.readouterr().err
    assert "24 rows from here on are kept apart" in page.read_text(encoding="utf-8")


@pytest.mark.needs("anywidget")
def test_the_explorer_goes_on_with_the_columns_that_follow(tmp_path):
    path = compose.write(tmp_path, FIRST)
    app = ex.follow(path)
    assert app.about["samples"] == 12
    header, *rows = SECOND.splitlines(keepends=True)
    with path.open("a") as file:
        file.write(header)
    assert app._grown()
    assert app.about["samples"] == 12
    assert any("begins here" in note for note in app.about["notes"])
    with path.open("a") as file:
        file.write("".join(rows[:3]))
    assert app._grown()
    assert app.about["samples"] == 3
    assert any("the columns changed: only samples since 2026-03-02 09:00:00 UTC" in note for note in app.about["notes"])
    assert ex.follow(path).about["samples"] == 3
