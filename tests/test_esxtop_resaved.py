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


def saved(stamps, separator=",", point=".", end="\n"):
    def cell(text):
        return f'"{text}"' if separator in text else text

    rows = [
        HEADER,
        *([stamp, *(n.replace(".", point) for n in pair)] for stamp, pair in zip(stamps, cycle(NUMBERS), strict=False)),
    ]
    return end.join(separator.join(cell(text) for text in row) for row in rows) + end


def check(rec, *times):
    memory = rec["memory"].collect()
    assert memory["free_mbytes"].to_list() == [100.0, 200.0, 300.0]
    used = rec["group_cpu"].collect()
    assert used["pct_used"].to_list() == [1.5, 12.25, 0.0]
    assert set(used["group"]) == {"a, b"}
    assert memory["time"].to_list() == [dt.datetime(*time, tzinfo=dt.UTC) for time in times]


MARCH_26 = [(2015, 3, 26, 22, 42, second) for second in (0, 5, 10)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_without_quotes(tmp_path, end):
    rec = opened(tmp_path, saved([f"3/26/2015 22:42:{s:02d}" for s in (0, 5, 10)], end=end))
    check(rec, *MARCH_26)
    assert "no quotes" in rec.notes[0].message


def test_semicolons_and_decimal_commas(tmp_path):
    rec = opened(tmp_path, saved([f"26.03.2015 22:42:{s:02d}" for s in (0, 5, 10)], ";", ","))
    check(rec, *MARCH_26)
    assert [note.message.partition(" ")[0] for note in rec.notes] == ["semicolons", "numbers", "dates"]


@pytest.mark.parametrize("decimal", [",", "."])
def test_tabs_as_a_spreadsheet_saves_unicode_text(tmp_path, decimal):
    text = saved([f"26/03/2015 22:42:{s:02d}" for s in (0, 5, 10)], "\t", decimal)
    rec = opened(tmp_path, text.replace("\n", "\r\n").encode("utf-16"))
    plain = opened(tmp_path, saved([f"26/03/2015 22:42:{s:02d}" for s in (0, 5, 10)]))
    for name in plain:
        assert rec[name].collect().equals(plain[name].collect())
    numbers = ["numbers"] if decimal == "," else []
    assert [note.message.partition(" ")[0] for note in rec.notes] == ["the", "tabs", *numbers, "dates"]


def test_a_quoted_header_over_bare_rows_is_a_saved_capture_whose_dates_are_in_doubt(tmp_path):
    columns = [("Memory", "Free MBytes")]
    text = compose.text(columns, [["100"], ["200"]])
    header = text.partition("\n")[0]
    with pytest.raises(ex.EsxparseError, match="nothing in the file tells day from month"):
        opened(tmp_path, f"{header}\n03/04/2015 22:42:00,100\n03/04/2015 22:42:05,200\n")
    rec = opened(tmp_path, f"{header}\n26/03/2015 22:42:00,100\n26/03/2015 22:42:05,200\n")
    assert rec["memory"].collect()["free_mbytes"].to_list() == [100.0, 200.0]
    assert rec.meta["start"] == dt.datetime(2015, 3, 26, 22, 42, tzinfo=dt.UTC)


def test_semicolons_are_told_though_every_name_is_quoted(tmp_path):
    names = [compose.path("Group Cpu(1:a;b)", "% Used"), compose.path("Group Cpu(2:c;d)", "% Used")]
    header = ";".join([compose.STAMP, *(f'"{name}"' for name in names)])
    rec = opened(tmp_path, f"{header}\n26.03.2015 22:42:00;1,5;2,25\n")
    assert rec["group_cpu"].select("group", "pct_used").collect().rows() == [("a;b", 1.5), ("c;d", 2.25)]


def test_between_semicolons_a_list_of_nodes_stays_a_list(tmp_path):
    columns = [("Group Memory(1:a)", "Numa Home Nodes"), ("Group Memory(1:a)", "Memory Size MBytes")]
    header = ";".join([compose.STAMP, *(compose.path(*column) for column in columns)])
    rec = opened(tmp_path, f"{header}\n26.03.2015 22:42:00;0,1;1,5E+03\n26.03.2015 22:42:05;1;2048\n")
    memory = rec["group_memory"].collect()
    assert memory["numa_home_nodes"].to_list() == [None, 1.0]
    assert memory["numa_home_nodes_text"].to_list() == ["0,1", None]
    assert memory["memory_size_mbytes"].to_list() == [1500.0, 2048.0]


@pytest.mark.parametrize("trailing", [("", ","), (",", ""), (",", ",")])
def test_captures_glued_together_have_trailing_separators_of_their_own(tmp_path, trailing):
    """An empty last cell is a number that is missing in one of them, and no cell in the other."""
    second = [compose.STAMP, compose.path("Memory", "Free MBytes")]
    lines = [",".join(HEADER).replace("a, b", "a"), "3/26/2015 22:42:00,100,"]
    more = [",".join(second), "3/26/2015 22:43:00,7", "3/26/2015 22:43:05,"]
    content = "".join(line + end + "\n" for part, end in zip((lines, more), trailing, strict=True) for line in part)
    assert opened(tmp_path, content)["memory"].collect()["free_mbytes"].to_list() == [100.0]
    assert opened(tmp_path, content, segment=2)["memory"].collect()["free_mbytes"].to_list() == [7.0, None]


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


def test_stamps_to_the_minute_repeat_and_the_interval_is_the_mean(tmp_path):
    rec = opened(tmp_path, saved(["3/26/2015 22:42", "3/26/2015 22:42", "3/26/2015 22:43"]))
    check(rec, (2015, 3, 26, 22, 42), (2015, 3, 26, 22, 42), (2015, 3, 26, 22, 43))
    assert any("to the minute only" in note.message for note in rec.notes)


@pytest.mark.parametrize(
    ("stamp", "order"),
    [
        ("26/03/2015 22:42:{}", None),
        ("2015-03-26 22:42:{}", None),
        ("3/26/2015 10:42:{} PM", None),
        ("26-03-2015 22:42:{}", None),
        ("2015/03/26 22:42:{}", "ymd"),
    ],
)
def test_dates_are_told_by_the_whole_file(tmp_path, stamp, order):
    rec = opened(tmp_path, saved([stamp.format(f"{s:02d}") for s in (0, 5, 10)]), date_order=order)
    check(rec, *MARCH_26)


def test_dates_that_nothing_tells_are_refused_with_a_hint_and_read_when_told(tmp_path):
    content = saved([f"3/4/2015 22:42:{s:02d}" for s in (0, 5, 10)])
    with pytest.raises(ex.EsxparseError, match=r"tells day from month.*date_order="):
        opened(tmp_path, content)
    assert opened(tmp_path, content, date_order="mdy").meta["start"] == dt.datetime(2015, 3, 4, 22, 42, tzinfo=dt.UTC)
    assert opened(tmp_path, content, date_order="dmy").meta["start"] == dt.datetime(2015, 4, 3, 22, 42, tzinfo=dt.UTC)


def test_dates_of_which_both_orders_are_one_are_no_question(tmp_path):
    check(
        opened(tmp_path, saved([f"3/3/2015 22:42:{s:02d}" for s in (0, 5, 10)])),
        *[(2015, 3, 3, *t[3:]) for t in MARCH_26],
    )


def test_dates_of_two_orders_are_refused_with_a_hint(tmp_path):
    with pytest.raises(
        ex.EsxparseError, match=r"'26/03/2015 22:42:00' and '03/27/2015 .* in different orders.*date_order="
    ):
        opened(tmp_path, saved(["26/03/2015 22:42:00", "03/04/2015 22:42:05", "03/27/2015 22:42:10"]))


def test_a_date_that_is_none_in_the_order_told_is_left_out_and_said(tmp_path):
    """Month first, as esxtop writes it, it would be a date: another one than was told."""
    stamps = ["04/03/2015 22:42:00", "03/26/2015 22:42:05", "05/03/2015 22:42:10"]
    rec = opened(tmp_path, saved(stamps), date_order="dmy")
    assert rec["memory"].collect()["free_mbytes"].to_list() == [100.0, 300.0]
    assert {time.month for time in rec["memory"].collect()["time"]} == {3}
    (note,) = [note for note in rec.notes if note.severity == "warning"]
    assert "such as '03/26/2015 22:42:05 (not dmy)'" in note.message
    assert note.line == 3


def test_fractions_of_a_second_are_kept(tmp_path):
    rec = opened(tmp_path, saved([f"2015-03-26 22:42:{s:02d}.4820000" for s in (0, 5, 10)]))
    assert [time.microsecond for time in rec["memory"].collect()["time"]] == [482000] * 3


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


def test_a_damaged_digit_makes_no_file_of_dates_with_the_day_first(tmp_path):
    rec = opened(tmp_path, quoted("03/02/2026 08:00:00", "03/02/2026 08:00:05", "13/02/2026 08:00:10"))
    assert rec["memory"].collect()["free_mbytes"].to_list() == [1.0, 2.0]
    assert any("13/02/2026" in note.message for note in rec.notes)


def test_quoted_dates_in_another_programs_way_are_read_by_the_whole_file(tmp_path):
    rec = opened(tmp_path, quoted("5/4/2015 22:42:00", "6/4/2015 22:42:00", "13/4/2015 22:42:00"))
    assert [time.day for time in rec["memory"].collect()["time"]] == [5, 6, 13]
    assert any("dates read as dmy" in note.message for note in rec.notes)


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_quote_that_is_not_closed_spoils_its_own_line_alone(tmp_path, separator):
    """A cell that goes on over line ends would leave the lines in it to be read with the month first."""
    columns = [compose.path("Memory", "Free MBytes"), compose.path("Group Memory(1:a)", "Numa Home Nodes")]
    rows = ['26/03/2015 22:42,5,"0,1"', '05/04/2015 22:42,6,"0,1', "06/04/2015 22:43,7,0", '07/04/2015 22:43,"8,"0,1"']
    text = "\n".join([separator.join([compose.STAMP, *columns]), *rows]).replace(",", separator) + "\n"
    memory = opened(tmp_path, text)["memory"].collect()
    assert [(time.month, time.day) for time in memory["time"]] == [(3, 26), (4, 5), (4, 6), (4, 7)]
    assert memory["free_mbytes"].to_list() == [5.0, 6.0, 7.0, None]


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


def test_a_perfmon_log_of_a_guest_is_read_with_the_same_code(tmp_path):
    names = [
        r"\\GUEST-7\Processor(_Total)\% Processor Time",
        r"\\GUEST-7\LogicalDisk(C:)\Avg. Disk sec/Read",
        r"\\GUEST-7\Memory\Available MBytes",
    ]
    header = ",".join(f'"{cell}"' for cell in ["(PDH-CSV 4.0) (Pacific Daylight Time)(420)", *names])
    rows = [
        '"04/24/2018 03:49:12.482","12.3456789012345"," ","2048"',
        '"04/24/2018 03:49:17.482","1e-05","0.0001","2047"',
    ]
    rec = opened(tmp_path, "\r\n".join([header, *rows]) + "\r\n")
    assert list(rec) == ["processor", "logicaldisk", "memory"]
    assert rec.meta["start"] == dt.datetime(2018, 4, 24, 10, 49, 12, 482000, tzinfo=dt.UTC)
    assert rec["processor"].collect()["pct_processor_time"].to_list() == [12.3456789012345, 1e-05]
    assert rec["logicaldisk"].collect()["avg_disk_sec_per_read"].to_list() == [None, 0.0001]
    assert [note.line for note in rec.notes] == [1, 2]


def test_the_lines_of_notes_are_those_of_the_file(tmp_path):
    content = "login:\nPassword:\n" + saved([f"3/26/2015 22:42:{s:02d}" for s in (0, 5, 10)]).replace("12.25", "n/a")
    rec = opened(tmp_path, content)
    assert [(note.line, note.column) for note in rec.notes] == [(1, 1), (3, None), (5, 3)]


def test_lone_carriage_returns_end_lines_too(tmp_path):
    check(opened(tmp_path, saved([f"3/26/2015 22:42:{s:02d}" for s in (0, 5, 10)], end="\r")), *MARCH_26)


def test_what_stays_unreadable_is_one_clear_line(tmp_path):
    with pytest.raises(ex.DamagedError, match="without a single column") as caught:
        opened(tmp_path, "(PDH-CSV 4.0) (UTC)(0);" + "x" * 140_000 + "\n")
    assert "\n" not in str(caught.value)


def test_the_last_cell_of_a_file_without_a_last_line_end_may_be_cut(tmp_path):
    header = "(PDH-CSV 4.0) (UTC)(0),\\\\h\\Memory\\Free MBytes,\\\\h\\Memory\\Kernel MBytes\n"
    whole = f"{header}1/15/2008 23:58,5.00,10.00\n1/15/2008 23:59,5.00,12.00"
    for cut in range(1, 5):
        file = tmp_path / "cut.csv"
        file.write_text(whole[:-cut])
        rec = ex.open(file)
        assert rec["memory"].collect()["kernel_mbytes"].to_list() == [10.0, None]
        assert any("perhaps cut in the middle of a number" in note.message for note in rec.notes)
    file.write_text(whole + "\n")
    assert ex.open(file)["memory"].collect()["kernel_mbytes"].to_list() == [10.0, 12.0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_first_time_stamp_that_lost_a_quote_is_damage_and_no_other_program(tmp_path, encoding):
    lines = compose.text([('Group Cpu(1:5" disk)', "% Used")], [["1.00"], ["2.00"], ["3.00"]]).splitlines()
    lines[1] = lines[1].removeprefix('"')
    rec = opened(tmp_path, ("\n".join(lines) + "\n").encode(encoding))
    used = rec["group_cpu"].collect()
    assert set(used["group"]) == {'5" disk'}
    assert used["pct_used"].to_list()[-2:] == [2.0, 3.0]
    assert any(note.severity == "warning" and note.line == 2 for note in rec.notes)


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


def test_numbers_of_two_locales_are_refused_and_both_are_named(tmp_path):
    text = local([["0,78", "1,234.50", "1"]], ";")
    with pytest.raises(ex.EsxparseError, match=r"'1,234.50' \(line 2, column 3\) .* and '0,78' \(line 2, column 2\)"):
        opened(tmp_path, text)


def test_a_point_that_became_a_comma_costs_one_cell_of_what_esxtop_wrote(tmp_path):
    rec = opened(tmp_path, local([["0.78", "5", "1.25"], ["0,78", "5", "1.25"]], ",", quoted=True))
    assert local_numbers(rec) == [[0.78, 5.0, 1.25], [None, 5.0, 1.25]]
    assert any(note.severity == "warning" and note.line == 3 for note in rec.notes)


def test_converting_and_slicing_read_numbers_of_a_locale_alike(tmp_path):
    file = compose.write(tmp_path, local(LOCALES["Germany"], ";"))
    ex.convert(file, tmp_path / "out")
    assert local_numbers(ex.open(tmp_path / "out")) == TRUE
    ex.slice(file, tmp_path / "slice.csv")
    assert local_numbers(ex.open(tmp_path / "slice.csv")) == TRUE


def days_of(rec):
    return [(time.month, time.day) for time in rec["memory"].collect()["time"]]


@pytest.mark.parametrize("mark", ["-", "/"])
def test_a_year_of_two_digits_may_come_first_or_last(tmp_path, mark):
    content = saved([f"18{mark}04{mark}26 14:0{n}" for n in range(3)])
    with pytest.raises(ex.EsxparseError, match=r"the year in dates such as '18.04.26 14:00' may come first or last"):
        opened(tmp_path, content)
    assert opened(tmp_path, content, date_order="ymd").meta["start"].date() == dt.date(2018, 4, 26)
    assert opened(tmp_path, content, date_order="dmy").meta["start"].date() == dt.date(2026, 4, 18)


def test_a_year_of_two_digits_that_can_be_no_day_is_the_year(tmp_path):
    rec = opened(tmp_path, saved([f"13/04/45 14:0{n}" for n in range(3)]))
    assert rec.meta["start"].date() == dt.date(2045, 4, 13)


@pytest.mark.parametrize(
    "form", ["{month}/{day}/2018 10:49", "{month:02d}.{day:02d}.2018 10:49", "2018-{day:02d}-{month:02d} 10:49"]
)
def test_days_that_a_spreadsheet_took_for_months_are_swapped_back(tmp_path, form):
    """A spreadsheet with the day first read `04/05/2018` as the 4th of May, and left `04/13/2018` alone."""
    dates = [(4, day) for day in (11, 12, 13)]
    stamps = [
        (form if day <= 12 else "{month:02d}/{day:02d}/2018 10:49:12").format(month=month, day=day)
        for month, day in dates
    ]
    rec = opened(tmp_path, saved(stamps))
    assert days_of(rec) == dates
    assert any("took days up to 12 for months" in note.message for note in rec.notes)


def test_dates_of_two_forms_whose_order_nothing_proves_are_refused(tmp_path):
    stamps = ["04/13/2018 10:49:12", "04.05.2018 10:49", "03.05.2018 10:49"]
    with pytest.raises(ex.EsxparseError, match=r"in two forms.*export the original file again"):
        opened(tmp_path, saved(stamps))


@pytest.mark.parametrize(("separator", "first", "second"), [(",", "1,234", "45,678"), (";", "12.345", "45.678")])
def test_a_list_of_an_unknown_counter_does_not_show_the_decimal_mark(tmp_path, separator, first, second):
    columns = [("Memory", "Kernel MBytes"), ("Memory", "Weird Nodes"), ("Memory", "NonKernel MBytes")]
    content = compose.text(columns, [[first, "0,1", second]] * 2)
    with pytest.raises(ex.EsxparseError, match=r"nothing in the file shows whether .* set decimal="):
        opened(tmp_path, content.replace('","', f'"{separator}"'))


HALF_SWAPPED = [dt.datetime(2026, 4, 9, 12, tzinfo=dt.UTC) + dt.timedelta(hours=12 * step) for step in range(16)]


@pytest.mark.parametrize("forms", [("%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S"), ("%-d/%-m/%Y %H:%M", "%m/%d/%Y %H:%M")])
@pytest.mark.parametrize("step", [1, -1])
def test_swapped_days_of_one_form_are_swapped_back(tmp_path, forms, step):
    times = HALF_SWAPPED[::step]
    rec = opened(tmp_path, saved([time.strftime(forms[time.day > 12]) for time in times]))
    assert rec["memory"].collect()["time"].to_list() == times
    assert "took days up to 12 for months" in str([note for note in rec.notes if note.severity == "warning"])


def test_swapped_days_in_a_file_where_time_never_goes_on_are_refused(tmp_path):
    stamps = [time.strftime("%m/%d/%Y %H:%M" if time.day <= 12 else "%d/%m/%Y %H:%M") for time in HALF_SWAPPED]
    with pytest.raises(ex.EsxparseError, match=r"swapped in some dates.*export the original file again"):
        opened(tmp_path, saved([*stamps[:4], *stamps[8:], *stamps[4:8]]))


@pytest.mark.parametrize(
    "stamps",
    [
        [f"{day:02d}/{month:02d}/2026 08:00" for month in (3, 4) for day in range(3, 28)],  # daily, 3 to 27
        [f"04/03/2026 {hour:02d}:00" for hour in range(9)] + [f"13/04/2026 {hour:02d}:00" for hour in range(9)],
        [f"01/{month:02d}/2026 08:00" for month in range(1, 13)] + ["31/12/2026 08:00"],  # monthly
        [f"13/05/2026 {hour:02d}:00" for hour in range(9)] + ["05/04/2026 09:00", "13/05/2026 10:00"],  # one is damaged
    ],
)
def test_gaps_and_one_damaged_date_are_not_swapped_days(tmp_path, stamps):
    rec = opened(tmp_path, saved(stamps))
    assert [f"{time:%d/%m/%Y %H:%M}" for time in rec["memory"].collect()["time"]] == stamps
    assert "took days up to 12" not in str(rec.notes)
