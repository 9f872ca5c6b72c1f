"""Captures with exactly as many columns or lines as a spreadsheet keeps."""

from __future__ import annotations

import datetime as dt

import compose
import pytest

import esxparse as ex


def wide(columns, *, saved):
    text = compose.text(
        [(f"Group Cpu({n}:vm{n})", "% Used") for n in range(columns - 1)], [["1.50"] * (columns - 1)] * 2
    )
    return text.replace('"', "").replace("03/02/2026", "13/02/2026").replace("13/02", "02/13") if saved else text


def cut(rec):
    return [note.message for note in rec.notes if "a spreadsheet keeps" in note.message and note.severity == "warning"]


@pytest.mark.parametrize("columns", [16_384, 1_024, 256])
@pytest.mark.parametrize("saved", [True, False])
def test_as_many_columns_as_a_spreadsheet_keeps_are_a_warning_and_the_reason_of_the_diagnosis(tmp_path, columns, saved):
    rec = ex.open(compose.write(tmp_path, wide(columns, saved=saved)))
    (message,) = cut(rec)
    assert message.startswith(f"exactly {columns:,} columns")
    assert ("probably" in message) == saved
    if columns == 256:
        reasons = {one["reason"] for one in ex.diagnose(rec).not_judged}
        assert any("a spreadsheet may have cut columns off" in reason for reason in reasons)
        assert not any("without -a" in reason for reason in reasons)


def test_another_number_of_columns_is_none(tmp_path):
    rec = ex.open(compose.write(tmp_path, wide(255, saved=True)))
    assert not cut(rec)
    reasons = {one["reason"] for one in ex.diagnose(rec).not_judged}
    assert any("not in this capture's fields" in reason for reason in reasons)
    assert not any("spreadsheet" in reason for reason in reasons)


def test_as_many_lines_as_a_spreadsheet_keeps_are_a_warning(tmp_path):
    for lines in (65_536, 65_535):
        rows = [["1.50"]] * (lines - 1)
        rec = ex.open(compose.write(tmp_path, compose.text([("Memory", "Free MBytes")], rows, step=1)))
        assert [message.partition(",")[0] for message in cut(rec)] == ["exactly 65"] * (lines == 65_536)


@pytest.mark.search
@pytest.mark.parametrize(
    ("reader", "titles", "row"),
    [
        ("power_csv", "Time,Watts", "{time:%Y-%m-%d %H:%M:%S},412.5"),
        ("vcenter", '"Time","Usage for web-01"', '"{time:%Y-%m-%dT%H:%M:%S}","12.5"'),
        ("results_csv", "test,value", "test {n},12.5"),
    ],
)
@pytest.mark.parametrize(("lines", "warned"), [(65_535, 0), (65_536, 1)])
def test_other_tables_with_as_many_lines_as_a_spreadsheet_keeps_are_a_warning(
    tmp_path, reader, titles, row, lines, warned
):
    start = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
    rows = [row.format(n=n, time=start + n * dt.timedelta(seconds=20)) for n in range(lines - 1)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join([titles, *rows]) + "\n")
    found = [note for note in ex.open(path, format=reader).notes if "the most that a spreadsheet keeps" in note.message]
    assert [(note.severity, note.line) for note in found] == [("warning", lines)] * warned
