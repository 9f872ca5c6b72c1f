"""Captures that a spreadsheet, PowerShell or Perfmon wrote."""

from __future__ import annotations

import datetime as dt
from itertools import cycle

import compose
import pytest
from compose import opened

import esxparse as ex

COLUMNS = [("Memory", "Free MBytes"), ("Group Cpu(1:a, b)", "% Used")]
HEADER = [compose.STAMP, *(compose.path(*column) for column in COLUMNS)]
NUMBERS = [("100", "1.5"), ("200", "12.25"), ("300", "0")]


def saved(stamps, separator=",", point="."):
    def cell(text):
        return f'"{text}"' if separator in text else text

    rows = [
        HEADER,
        *([stamp, *(n.replace(".", point) for n in pair)] for stamp, pair in zip(stamps, cycle(NUMBERS), strict=False)),
    ]
    return "".join(separator.join(cell(text) for text in row) + "\n" for row in rows)


def check(rec, *times):
    memory = rec["memory"].collect()
    assert memory["free_mbytes"].to_list() == [100.0, 200.0, 300.0]
    used = rec["group_cpu"].collect()
    assert used["pct_used"].to_list() == [1.5, 12.25, 0.0]
    assert set(used["group"]) == {"a, b"}
    assert memory["time"].to_list() == [dt.datetime(*time, tzinfo=dt.UTC) for time in times]


MARCH_26 = [(2015, 3, 26, 22, 42, second) for second in (0, 5, 10)]


@pytest.mark.parametrize("decimal", [",", "."])
def test_tabs_as_a_spreadsheet_saves_unicode_text(tmp_path, decimal):
    text = saved([f"26/03/2015 22:42:{s:02d}" for s in (0, 5, 10)], "\t", decimal)
    rec = opened(tmp_path, text.replace("\n", "\r\n").encode("utf-16"))
    plain = opened(tmp_path, saved([f"26/03/2015 22:42:{s:02d}" for s in (0, 5, 10)]))
    for name in plain:
        assert rec[name].collect().equals(plain[name].collect())
    numbers = ["numbers"] if decimal == "," else []
    assert [note.message.partition(" ")[0] for note in rec.notes] == ["the", "tabs", *numbers, "dates"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_other_encodings(tmp_path, encoding):
    plain = compose.text(COLUMNS, [list(pair) for pair in NUMBERS], step=5).replace(
        "03/02/2026 08:00", "03/26/2015 22:42"
    )
    rec = opened(tmp_path, plain.replace("\n", "\r\n").encode(encoding))
    check(rec, *MARCH_26)
    assert any("UTF-16" in note.message for note in rec.notes) == (encoding == "utf-16")


def test_what_only_its_bytes_changed_keeps_names_dates_and_broken_cells(tmp_path):
    """PowerShell's `>` writes what esxtop gave as UTF-16: nothing in it is escaped, and its dates are esxtop's."""
    columns = [('Group Cpu(1:say "hi"", ")', "% Used"), ("PCPU Power State(PCPU 0)", "%C-State C0")]
    header = compose.text(columns, []).strip()
    content = f'{header},   -\n"03/04/2015 22:42:00","1.50","8.01",    68.5\n"03/04/2015 22:42:05","2.50","8.02",   -\n'
    plain = opened(tmp_path, content)
    rec = opened(tmp_path, content.encode("utf-16"))
    assert rec.meta == plain.meta
    assert rec.meta["start"] == dt.datetime(2015, 3, 4, 22, 42, tzinfo=dt.UTC)
    assert [note.message for note in rec.notes] == [
        "the file is UTF-16: read as such",
        *(n.message for n in plain.notes),
    ]
    for name in plain:
        assert rec[name].collect().equals(plain[name].collect())


def test_dates_that_nothing_tells_are_refused_with_a_hint_and_read_when_told(tmp_path):
    content = saved([f"3/4/2015 22:42:{s:02d}" for s in (0, 5, 10)])
    with pytest.raises(ex.EsxparseError, match=r"which is day and which is month.*date_order="):
        opened(tmp_path, content)
    assert opened(tmp_path, content, date_order="mdy").meta["start"] == dt.datetime(2015, 3, 4, 22, 42, tzinfo=dt.UTC)
    assert opened(tmp_path, content, date_order="dmy").meta["start"] == dt.datetime(2015, 4, 3, 22, 42, tzinfo=dt.UTC)


def test_times_without_a_date_are_refused_with_a_hint_and_read_when_told(tmp_path):
    content = saved(["22:42:00", "22:42:05", "22:42:10"])
    with pytest.raises(ex.EsxparseError, match="have no date: give the day of the first with date="):
        opened(tmp_path, content)
    for day in (dt.date(2015, 3, 26), dt.datetime(2015, 3, 26, 8, tzinfo=dt.UTC), "2015-03-26"):
        check(opened(tmp_path, content, date=day), *MARCH_26)
    with pytest.raises(ex.EsxparseError, match=r"date .* is not a day: write it as 2026-03-11"):
        opened(tmp_path, content, date="26.3.2015")


def test_what_esxtop_wrote_is_never_guessed_at_and_what_was_told_counts(tmp_path):
    text = compose.text(COLUMNS, [["1", "2"]]).replace("03/02/2026", "03/04/2026")
    assert opened(tmp_path, text).meta["start"] == dt.datetime(2026, 3, 4, 8, 0, tzinfo=dt.UTC)
    rec = opened(tmp_path, text, date_order="dmy")
    assert rec.meta["start"] == dt.datetime(2026, 4, 3, 8, 0, tzinfo=dt.UTC)
    (note,) = rec.notes
    assert "dates read as dmy, as requested: esxtop itself writes the month first" in note.message
    assert note.severity == "warning"
    (note,) = opened(tmp_path, text, date="2026-03-04").notes
    assert "date 2026-03-04 is not used: the time stamps have dates" in note.message


QUOTED = compose.text([("Memory", "Free MBytes")], [["1"], ["2"], ["3"]])


def quoted(*stamps):
    header, *rows = QUOTED.splitlines()
    lines = [f'"{stamp}",{row.partition(",")[2]}' for stamp, row in zip(stamps, rows, strict=False)]
    return "\n".join([header, *lines]) + "\n"


def test_quoted_dates_with_the_day_first_are_told_by_the_one_that_cannot_be_otherwise(tmp_path):
    text = quoted("11/04/2015 22:42:00", "12/04/2015 22:42:00", "13/04/2015 22:42:00")
    with pytest.raises(ex.EsxparseError, match="'13/04/2015 22:42:00' have the day first") as caught:
        opened(tmp_path, text)
    assert "date_order=" in str(caught.value)
    for lazy in (False, True):
        rec = opened(tmp_path, text, date_order="dmy", lazy=lazy)
        assert [time.date() for time in rec["memory"].collect()["time"]] == [
            dt.date(2015, 4, day) for day in (11, 12, 13)
        ]
    assert len(opened(tmp_path, text, date_order="mdy")["memory"].collect()) == 2


@pytest.mark.parametrize(
    "stamp",
    ["04/24/2018 10:49:1", "04/24/2018 10:49", "04/4/2018 10:49:12"],
)
def test_a_time_stamp_that_lost_a_part_is_none(tmp_path, stamp):
    for place in range(3):
        stamps = ["04/24/2018 10:49:02", "04/24/2018 10:49:07", "04/24/2018 10:49:12"]
        stamps[place] = stamp
        rec = opened(tmp_path, quoted(*stamps))
        assert rec["memory"].collect()["free_mbytes"].to_list() == [n + 1.0 for n in range(3) if n != place]
        assert any(note.severity == "warning" and note.line == place + 2 for note in rec.notes)


def test_what_stays_unreadable_is_one_clear_line(tmp_path):
    with pytest.raises(ex.DamagedError, match="without a single column") as caught:
        opened(tmp_path, "(PDH-CSV 4.0) (UTC)(0);" + "x" * 140_000 + "\n")
    assert "\n" not in str(caught.value)


LOCAL = [("Group Cpu(1:a)", "% Used"), ("Memory", "Free MBytes"), ("Physical Cpu(0)", "% Util Time")]
TRUE = [[0.78, 196605.0, 1234.5], [12.0, 1048576.0, 1234.0]]
LOCALES = {
    "Germany": [["0,78", "196.605", "1.234,5"], ["12", "1.048.576", "1.234"]],
    "the United States": [["0.78", "196,605", "1,234.50"], ["12", "1,048,576", "1,234"]],
    "France": [["0,78", "196\u202f605", "1\u00a0234,5"], ["12", "1 048 576", "1 234"]],
    "Switzerland": [["0.78", "196'605", "1\u2019234.50"], ["12", "1'048'576", "1'234"]],
    "India": [["0.78", "1,96,605", "1,234.50"], ["12", "10,48,576", "1,234"]],
}


def local(rows, separator, *, quoted=False):
    stamps = [f"{'03/26/2015' if quoted else '26/03/2015'} 22:42:0{n}" for n in range(len(rows))]
    header = [compose.STAMP, *(compose.path(*column) for column in LOCAL)]
    lines = [header, *([stamp, *row] for stamp, row in zip(stamps, rows, strict=True))]
    cells = ([f'"{cell}"' if quoted or separator in cell else cell for cell in line] for line in lines)
    return "".join(separator.join(line) + "\n" for line in cells)


def local_numbers(rec):
    tables = {"group_cpu": "pct_used", "memory": "free_mbytes", "physical_cpu": "pct_util_time"}
    return [list(row) for row in zip(*(rec[name].collect()[column] for name, column in tables.items()), strict=True)]


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("separator", [";", "\t", ","])
@pytest.mark.parametrize("locale", LOCALES)
def test_the_marks_of_a_locale_are_derived_from_the_whole_file(tmp_path, locale, separator, quoted):
    rec = opened(tmp_path, local(LOCALES[locale], separator, quoted=quoted))
    assert local_numbers(rec) == TRUE
    assert not [note for note in rec.notes if "bytes were lost" in note.message]
    assert any("thousands separators, as in" in note.message for note in rec.notes)


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("separator", [";", "\t", ","])
@pytest.mark.parametrize("mark", [".", ","])
def test_numbers_that_nothing_settles_are_refused_until_the_mark_is_set(tmp_path, mark, separator, quoted):
    text = local(
        [["5", f"196{mark}605", f"1{mark}234"], ["12", f"196{mark}605", f"1{mark}234"]], separator, quoted=quoted
    )
    with pytest.raises(ex.EsxparseError, match=r"shows whether '1.*' \(line 2, column .\) is .* or .*set decimal="):
        opened(tmp_path, text)
    small, large = [[5.0, 196.605, 1.234], [12.0, 196.605, 1.234]], [[5.0, 196605.0, 1234.0], [12.0, 196605.0, 1234.0]]
    point, comma = (small, large) if mark == "." else (large, small)
    assert local_numbers(opened(tmp_path, text, decimal="point")) == point
    assert local_numbers(opened(tmp_path, text, decimal="comma")) == comma


def test_converting_and_slicing_read_numbers_of_a_locale_alike(tmp_path):
    file = compose.write(tmp_path, local(LOCALES["Germany"], ";"))
    ex.convert(file, tmp_path / "out")
    assert local_numbers(ex.open(tmp_path / "out")) == TRUE
    ex.slice(file, tmp_path / "slice.csv")
    assert local_numbers(ex.open(tmp_path / "slice.csv")) == TRUE


@pytest.mark.parametrize("mark", ["-", "/"])
def test_a_year_of_two_digits_may_come_first_or_last(tmp_path, mark):
    content = saved([f"18{mark}04{mark}26 14:0{n}" for n in range(3)])
    with pytest.raises(ex.EsxparseError, match=r"the year in dates such as '18.04.26 14:00' may come first or last"):
        opened(tmp_path, content)
    assert opened(tmp_path, content, date_order="ymd").meta["start"].date() == dt.date(2018, 4, 26)
    assert opened(tmp_path, content, date_order="dmy").meta["start"].date() == dt.date(2026, 4, 18)
