"""Captures that were sent, copied or printed by programs that know nothing of them: right, or refused, in every way."""

import re

import compose
import pytest
from polars.testing import assert_frame_equal

import esxparse as ex
from esxparse.formats.esxtop.slice import slice_capture

COLUMNS = [
    ("Physical Cpu(0)", "% Util Time"),
    ("Physical Cpu(1)", "% Util Time"),
    ("Memory", "Free MBytes"),
]
VALUES = [[f"{1.5 * n:.2f}", f"{99 - n}.25", str(2048 - n)] for n in range(6)]


def capture(**changes):
    return compose.text(COLUMNS, changes.get("rows", VALUES))


def tables(rec):
    return {name: rec[name].collect() for name in rec}


def assert_same(file, tmp_path, **opening):
    """The file has the tables of the capture: read at once, on demand, and after slicing."""
    expected = tables(ex.open(compose.write(tmp_path, capture(), "plain.csv")))
    slice_capture(file, tmp_path / "slice.csv", **opening)
    for rec in (ex.open(file, lazy=False, **opening), ex.open(file, **opening), ex.open(tmp_path / "slice.csv")):
        for name, table in tables(rec).items():
            assert_frame_equal(table, expected[name])


def opened_slice(file, tmp_path):
    slice_capture(file, tmp_path / "slice.csv")
    return ex.open(tmp_path / "slice.csv")


def refused(file, tmp_path, message):
    for read in (
        lambda: ex.open(file, format="esxtop"),
        lambda: slice_capture(file, tmp_path / "slice.csv"),
        lambda: ex.convert(file, tmp_path / "converted", format="esxtop"),
    ):
        with pytest.raises(ex.EsxparseError, match=message):
            read()


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_ftp_that_sent_utf_16_as_text_loses_no_row(tmp_path, ends):
    sent = ("\ufeff" + capture().replace("\n", ends)).encode("utf-16-le").replace(b"\n", b"\r\n")
    file = compose.write(tmp_path, sent)
    assert_same(file, tmp_path)
    assert not any(note.severity == "warning" for note in ex.open(file).notes)


def test_utf_32_is_refused(tmp_path):
    file = compose.write(tmp_path, capture().encode("utf-32"))
    refused(file, tmp_path, "no header: .*UTF-8|not an esxtop capture|UTF-8")


@pytest.mark.parametrize("separator", [",", ";"])
def test_quoted_dates_beside_numbers_of_a_locale_are_not_guessed(tmp_path, separator):
    text = re.sub(r'(\d)\.(\d\d")', r"\1,\2", capture()).replace('","', f'"{separator}"')
    file = compose.write(tmp_path, text)
    with pytest.raises(ex.EsxparseError, match=r"which is month in dates such as '03/02/2026"):
        ex.open(file)
    with pytest.raises(ex.EsxparseError, match=r"which is month in dates such as '03/02/2026"):
        opened_slice(file, tmp_path)
    assert [ex.open(file, date_order=order)["memory"].collect()["time"][0].month for order in ("mdy", "dmy")] == [3, 2]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('","', '"\n,"'),
        ('","', '",\n"'),
        (r"Physical Cpu(0)", "Physical\nCpu(0)"),
        (r"Free MBytes", "Free\nMBytes"),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_header_of_several_lines_is_refused(tmp_path, before, after, ends):
    header, rows = capture().split("\n", 1)
    file = compose.write(tmp_path, f"{header.replace(before, after, 1)}\n{rows}".replace("\n", ends))
    refused(file, tmp_path, "line 1 is a header that goes on in the next line")


@pytest.mark.parametrize("before", ["capture.csv:", "12:", '3.50","12"'])
def test_a_slice_has_the_rows_that_begin_within_a_line(tmp_path, before):
    header, *rows = capture().splitlines()
    file = compose.write(tmp_path, "\n".join([header, *rows[:2], *(before + row for row in rows[2:])]) + "\n")
    assert_same(file, tmp_path)


def test_a_cut_header_above_a_whole_one_is_passed_over(tmp_path):
    text = capture()
    file = compose.write(tmp_path, f"{text[:100]}\n{text}")
    rec = ex.open(file)
    assert rec.meta["samples"] == len(VALUES)
    assert [note.line for note in rec.notes if "without rows, above another header" in note.message] == [1]
