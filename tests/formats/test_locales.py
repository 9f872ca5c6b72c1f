"""Every sample of a format with its numbers rewritten as other locales write them: equal tables, or a clear refusal."""

from __future__ import annotations

import csv
import io
import math
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal

import esxparse as ex
from esxparse.formats.kit.foreign import Form, leave_out

LOCALES = {"1.234,5": (".", ","), "1 234,5": ("\u202f", ","), "1,234.5": (",", ".")}
"""Thousands separator and decimal mark, by how they write one number."""
OTHER_LOCALES = {"1'234.5": ("'", "."), "1234,5": ("", ","), "1 234,5 (ASCII)": (" ", ",")}

AWARE = {
    "iometer-1.1.0.csv": "CSV that a spreadsheet opens and saves",
    "iometer-2006.csv": "CSV that a spreadsheet opens and saves",
    "perfmon-guest.csv": "CSV that a spreadsheet opens and saves; typeperf formats by the locale of its console",
    "power-pdu-export.csv": "PDUs and meters export in the language of their owner",
    "results-orders.csv": "written by people",
    "vcenter-aria.csv": "exported by a browser, and CSV that a spreadsheet opens and saves",
    "vcenter-chart.csv": "exported by a browser, and CSV that a spreadsheet opens and saves",
    "vcenter-getstat.csv": "Export-Csv formats by the culture of the session",
}
"""Samples of tools that format by a locale, or whose files spreadsheets save, and why.

The others print by the C locale (fio, ioping, netperf, STREAM ...), or write JSON, which has no locale. perf, sysstat
and vdbench print by a locale without grouping; their own tests have files of such locales.
"""

_COMMAS = "power-pdu-export.csv"
"""The sample that has decimal commas itself."""
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")


def localised(number, locale):
    """The number as a locale writes it."""
    group, decimal = (LOCALES | OTHER_LOCALES)[locale]
    whole, point, fraction = number.replace(",", "").lstrip("-").partition(".")
    grouped = f"{int(whole):,}".replace(",", group) if whole == str(int(whole)) else whole
    return "-" * number.startswith("-") + grouped + (decimal if point else "") + fraction


def edited(folder, name, plain, written):
    """A sample, and the same with one text in place of another."""
    sample = ex.datasets_dir() / "formats" / name
    text = sample.read_text(encoding="utf-8-sig")
    assert plain in text
    file = folder / name
    file.write_text(text.replace(plain, written), encoding="utf-8")
    return ex.open(sample), ex.open(file)


def rewritten(name, text, locale, separator, counts=bool):
    """The file as a spreadsheet of a locale saves it, cell by cell; of its numbers those that count."""
    lines = text.splitlines()
    before = max(",;\t", key=lines[-1].count)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    for line in lines:
        cells = next(csv.reader([line], delimiter=before), [])
        cells = [cell.replace(",", ".") for cell in cells] if name == _COMMAS else cells
        if line.startswith(("#", "'")) or len(cells) < 2:
            out.write(line.replace(before, separator) + "\n")
        else:
            numbers = [cell for cell in cells if _NUMBER.fullmatch(cell.strip()) and counts(cell)]
            writer.writerow([localised(cell, locale) if cell in numbers else cell for cell in cells])
    return out.getvalue()


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("name", AWARE)
def test_a_sample_in_another_locale_has_the_same_numbers_or_is_refused(tmp_path, name, locale, separator):
    sample = ex.datasets_dir() / "formats" / name
    form = sample.name.partition("-")[0] if name.startswith("results") else None
    plain = ex.open(sample, format="results_csv" if form else None)
    file = tmp_path / name
    file.write_text(rewritten(name, sample.read_text(encoding="utf-8-sig"), locale, separator), encoding="utf-8")
    try:
        # Its dates are ambiguous without their quotes.
        found = ex.open(file, format=plain.format, date_order="mdy" if plain.format == "perfmon" else None)
    except ex.EsxparseError:
        return
    for table in plain:
        before, after = plain[table].collect(), found[table].collect()
        assert_frame_equal(after.select(before.columns), before)


def test_no_sample_that_a_spreadsheet_saves_is_missing():
    saved = {file.name for file in (ex.datasets_dir() / "formats").glob("*.csv")}
    other = {"elbencho", "netperf", "perf", "redis", "sar", "vscsistats"}
    assert {name for name in saved if name.partition("-")[0] not in other} == set(AWARE)


OTHERS = sorted(
    path.name
    for path in (ex.datasets_dir() / "formats").iterdir()
    if path.name not in AWARE and path.suffix not in {".json", ".jsonl", ".pcapng"} and path.name != "perf-plain.txt"
)
"""Samples of the other tools. That of perf has thousands separators of its own."""
_IN_TEXT = re.compile(
    r"(?<![\w.,:/\\+#@-])(?<![A-Z][a-z]{2} )\d+(?:\.\d+)?(?![\d.,:/\\*]|-\d|\w*[./:_-]?\d)(?!\w{0,3}\[)"
)
"""A number that stands alone or before its unit: no part of a date, an address, a version or a name."""
_PLACES = {"run", "repetition", "sample", "interval_s"}
"""Columns that count rows or follow from the rows before."""
_SINGLE = 6
"""Numbers of a sample that are rewritten alone."""


def numbers(rec):
    """How often each number is in each column."""
    return {
        (table, name): Counter(frame[name])
        for table in rec
        for frame in [rec[table].collect()]
        for name, kind in frame.schema.items()
        if kind.is_numeric() and name not in _PLACES
    }


def parts(written):
    """What a pattern that stops at a mark, or begins behind one, makes of a number."""
    digits = re.split(r"\D", written)
    cuts = range(1, len(digits))
    return {float("".join(some)) for cut in cuts for some in (digits[:cut], digits[cut:])} - {0.0, 1.0}


def is_known(value, before):
    return any(value == one or (one is not None and math.isclose(value, one, rel_tol=1e-9)) for one in before)


def rewritings(text, locale):
    """The text with all numbers in a locale, and with some alone; each with the numbers as they are written there."""
    found = [match for match in _IN_TEXT.finditer(text) if localised(match[0], locale) != match[0]]
    # A single 1.234 does not show that its mark is not a point before decimals.
    alone = [one for one in found if not re.fullmatch(r"\d{1,3}\.\d{3}", localised(one[0], locale))]
    if found:
        whole = _IN_TEXT.sub(lambda match: localised(match[0], locale), text)
        yield whole, [localised(match[0], locale) for match in found]
    for one in alone[:: max(1, len(alone) // _SINGLE)]:
        written = localised(one[0], locale)
        yield text[: one.start()] + written + text[one.end() :], [written]


@pytest.mark.parametrize("locale", [*LOCALES, *OTHER_LOCALES])
@pytest.mark.parametrize("name", OTHERS)
def test_a_number_with_foreign_marks_never_becomes_a_shorter_one(tmp_path, name, locale):
    sample = ex.datasets_dir() / "formats" / name
    plain = ex.open(sample)
    before = numbers(plain)
    file = tmp_path / name
    for text, written in rewritings(sample.read_text(encoding="utf-8-sig"), locale):
        file.write_text(text, encoding="utf-8")
        try:
            rec = ex.open(file, format=plain.format)
        except ex.EsxparseError:
            continue
        after = numbers(rec)
        warned = any(note.severity == "warning" for note in rec.notes)
        cut = set().union(*map(parts, written))
        for place, found in after.items():
            known = before.get(place, Counter())
            new = [value for value in found if value is not None and not is_known(value, known)]
            # A mean of fewer numbers is another mean, with a warning.
            assert not new or (warned and not cut.intersection(new)), (place, new, written[:9])
        missing = any(found.total() > after.get(place, Counter()).total() for place, found in before.items())
        empty = any(found[None] > before.get(place, Counter())[None] for place, found in after.items())
        assert warned or not (missing or empty), written[:9]


EVERY = sorted(path.name for path in (ex.datasets_dir() / "formats").iterdir() if path.suffix != ".pcapng")
WAYS = {
    "all numbers": bool,
    "decimals alone": lambda number: "." in number,
    "whole numbers alone": lambda number: "." not in number and len(number) > 3,
}
_OF_JSON = re.compile(r"(?<=[:\[, ])-?\d+(?:\.\d+)?(?=\s*[,\]}\n])")
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w.,]*\d)")
"""Numbers of JSON, and numbers that a sample groups itself: they are rewritten with all others."""
TWO_MEANINGS = {
    ("vcenter-chart.csv", "1.234,5", "whole numbers alone"): "1.204 beside 31.25",
    ("vcenter-getstat.csv", "1.234,5", "whole numbers alone"): "30.000 beside 31.42",
}
"""Rewritings in which a point groups one number and precedes the decimals of another: no program writes that."""


def in_a_locale(name, text, locale, way):
    """A sample with the numbers that `way` counts as a locale writes them; in JSON they become strings."""
    counts = WAYS[way]

    def written(match):
        return localised(match[0], locale) if counts(match[0]) or "," in match[0] else match[0]

    if name.endswith((".json", ".jsonl")):
        return _OF_JSON.sub(lambda match: f'"{written(match)}"' if counts(match[0]) else match[0], text)
    if name.endswith(".csv") and "," in LOCALES.get(locale, OTHER_LOCALES.get(locale)):
        return rewritten(name, text, locale, ";", lambda number: counts(number) or "," in number)
    pattern = rf"{_GROUPED.pattern}|{_IN_TEXT.pattern}" if name == "perf-plain.txt" else _IN_TEXT.pattern
    return re.sub(pattern, written, text)


def other_numbers(plain, rec):
    """Numbers that a recording has in other places than the sample, and whether it lacks some."""
    wrong, lacks = [], False
    for table in {*plain, *rec}:
        if table not in plain or table not in rec:
            wrong += [table] if table in rec else []
            lacks |= table in plain
            continue
        before, after = plain[table].collect(), rec[table].collect()
        lacks |= before.height > after.height
        for column, kind in before.schema.items():
            if not kind.is_numeric() or column in _PLACES:
                continue
            known, found = before[column].to_list(), after[column].to_list() if column in after.columns else []
            pairs = zip(known, found, strict=True) if len(known) == len(found) else ((known, value) for value in found)
            for at, value in pairs:
                lacks |= value is None and at is not None
                if value is not None and not is_known(value, at if isinstance(at, list) else [at]):
                    wrong.append((table, column, at, value))
            lacks |= not found and any(value is not None for value in known)
    return wrong, lacks


@pytest.mark.search
@pytest.mark.parametrize("name", EVERY)
def test_a_sample_in_any_locale_has_the_same_numbers_or_a_warning(tmp_path, name):
    sample, file = ex.datasets_dir() / "formats" / name, tmp_path / name
    text, form = sample.read_text(encoding="utf-8-sig"), "results_csv" if name.startswith("results") else None
    plain = ex.open(sample, format=form)
    usual = {note.message for note in plain.notes}
    for locale in (*LOCALES, *OTHER_LOCALES):
        for way in WAYS:
            changed = in_a_locale(name, text, locale, way)
            if changed == text or (name, locale, way) in TWO_MEANINGS:
                continue
            file.write_text(changed, encoding="utf-8")
            try:
                rec = ex.open(file, format=form)
            except ex.EsxparseError:
                continue
            wrong, lacks = other_numbers(plain, rec)
            assert not wrong, (locale, way, wrong[:4])
            warned = any(note.severity == "warning" and note.message not in usual for note in rec.notes)
            assert warned or not lacks, (locale, way)


JSON_STRINGS = [
    (["1.234,5", "2.490"], ["1234.5", "2490"]),
    (["0.5", "2.490"], ["0.5", "2.490"]),
    (["1,234.5", "2,490"], ["1234.5", "2490"]),
    (["1 234", "12"], ["1234", "12"]),
    (["2.490", "12"], ["?????", "12"]),
    (["0,5", "0.5", "2.490"], ["???", "0.5", "?????"]),
    (["10.0.0.1", "0,1,2", "2.490"], ["10.0.0.1", "0,1,2", "?????"]),
]


@pytest.mark.parametrize(("written", "read"), JSON_STRINGS)
def test_strings_of_json_are_read_with_the_marks_that_all_of_them_show(written, read):
    text = "".join(f'{{"watts": "{one}", "SerialNumber": "2.490"}}\n' for one in written)
    found, notes = leave_out(text, Form())
    assert found == "".join(f'{{"watts": "{one}", "SerialNumber": "2.490"}}\n' for one in read)
    warnings = [note for note in notes if note.severity == "warning"]
    assert bool(warnings) == any("?" in one for one in read)
    assert not warnings or "of 'watts'" in warnings[0].message


def test_options_of_a_job_are_what_its_user_wrote():
    options = '"job options": {"runtime": "1.875", "rate_iops": "1,000,500"}'
    text = f'{{{options}, "read": {{"iops": "1.234,5", "bw": "2.490"}}}}'
    found, _ = leave_out(text, Form())
    assert found == f'{{{options}, "read": {{"iops": "1234.5", "bw": "2490"}}}}'
    assert leave_out(f"{{{options}}}", Form()) == (f"{{{options}}}", [])


GROUPED = [
    ("elbencho-results.txt", "2655        2653", "2.655       2.653"),
    ("elbencho-results.txt", "2655        2653", "2 655       2 653"),
    ("elbencho-results.txt", "50%<=8192 75%<=9742", "50%<=8 192 75%<=9 742"),
    ("fio-normal.txt", "95.00th=[ 1057]", "95.00th=[ 1.057]"),
    ("fio-terse-v5.txt", ";2192;", ";2.192;"),
    ("cpuinfo-guest.txt", "28160 KB", "28.160 KB"),
    ("diskspd-2.0.21.xml", "<BlockSize>8192<", "<BlockSize>8.192<"),
    ("hpcc-hpccoutf.txt", "RandomAccess_N=32768", "RandomAccess_N=32.768"),
    ("netperf-keyval.txt", "LOCAL_SEND_SIZE=16384", "LOCAL_SEND_SIZE=16.384"),
    ("sysbench-oltp.txt", "228564", "228.564"),
    ("redis-report.txt", "2000 requests completed", "2.000 requests completed"),
    ("turbostat-samples.txt", "\t2800\t", "\t2.800\t"),
    ("vdbench-skew.html", "    4096  70.00", "   4.096  70.00"),
    ("vdbench-flatfile.html", "       4096    70.0000", "      4.096    70.0000"),
    ("linpack-mkl.txt", "2000   2000   4  ", "2 000  2 000  4  "),
]
"""Samples with a whole number, and the same with its digits in groups: nothing else in the file shows the marks."""


@pytest.mark.parametrize(("name", "plain", "grouped"), GROUPED)
def test_a_grouped_whole_number_is_not_a_small_one(tmp_path, name, plain, grouped):
    sample, rec = edited(tmp_path, name, plain, grouped)
    assert not other_numbers(sample, rec)[0]
    assert any(note.severity == "warning" for note in rec.notes)


def test_a_number_that_may_be_either_is_left_out_where_perf_output_has_two_locales(tmp_path):
    text = (ex.datasets_dir() / "formats" / "perf-plain.txt").read_text()
    file = tmp_path / "perf.txt"
    file.write_text(re.sub(r"(#\s+\d+)\.(\d+)", r"\1,\2", text))
    events = {row["event"]: row for row in ex.open(file)["events"].collect().to_dicts()}
    assert events["task-clock"]["value"] == 58211.38
    assert events["page-faults"]["value"] == 1_049_083
    # 1,204 may be 1.204 in this file, and 20,683 may be 20683.
    assert events["context-switches"]["value"] is None
    assert events["context-switches"]["metric_value"] is None


def test_statistics_that_cannot_be_read_are_not_replaced_by_those_of_an_interval(tmp_path):
    both = edited(tmp_path, "ioping-runs.txt", "4 requests completed in 1.01 ms", "4 requests completed in 1,01 ms")
    plain, rec = (one["benchmark_results"].collect() for one in both)
    assert 3950.0 in set(plain["value"])
    assert set(rec["value"]) < set(plain["value"])


def test_raw_lines_with_blanks_between_digits_are_left_out_with_a_warning(tmp_path):
    _, rec = edited(tmp_path, "ioping-runs.txt", "2 510251 3920", "2 510 251 3 920")
    (note,) = [note for note in rec.notes if note.unused and note.severity == "warning"]
    assert note.line == 4


@pytest.mark.parametrize("name", ["vscsistats-web.csv", "vscsistats-web-printed.txt"])
@pytest.mark.parametrize("written", ["2,104,433", "2.104.433", "2'104'433", "2\u202f104\u202f433", "2 104 433"])
def test_an_id_with_separators_is_not_its_first_digits(tmp_path, name, written):
    _, rec = edited(tmp_path, name, "2104433", written)
    assert set(rec["histograms"].collect()["world_group_id"]) == {None}
    assert any("does not name the VM" in note.message for note in rec.notes if note.severity == "warning")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("padded", [False, True])
def test_omni_results_of_netperf_that_a_spreadsheet_saved_are_the_same(tmp_path, separator, padded):
    sample = ex.datasets_dir() / "formats" / "netperf-omni.csv"
    rows = list(csv.reader(sample.read_text().splitlines()))
    width = max(map(len, rows)) if padded else 0
    file = tmp_path / "omni.csv"
    with file.open("w", newline="") as out:
        csv.writer(out, delimiter=separator).writerows([*row, *[""] * (width - len(row))] for row in rows)
    plain, found = ex.open(sample), ex.open(file)
    assert found["benchmark_results"].collect()["unit"][0] == "transactions/s"
    for table in plain:
        assert_frame_equal(found[table].collect(), plain[table].collect())
    assert not found.notes


def test_the_warning_says_how_to_get_all_numbers(tmp_path):
    text = (ex.datasets_dir() / "formats" / "sysbench-oltp.txt").read_text()
    file = tmp_path / "sysbench.txt"
    file.write_text(re.sub(r"(\d)\.(\d\d)\b", r"\1,\2", text))
    (note,) = [note for note in ex.open(file).notes if "another locale" in note.message]
    assert "record with LC_ALL=C" in note.message
    number = re.search(r"such as '([\d,]+)'", note.message)[1]
    assert number in file.read_text().splitlines()[note.line - 1]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("lat 1.234,5 ms", "lat ??????? ms"),
        ("0.5 s, 1,25 s, 2.5 s", "0.5 s, ???? s, 2.5 s"),
        ("total=12,34,0,0 of 10.100.100.100 in 0,5 s", "total=12,34,0,0 of 10.100.100.100 in ??? s"),
        ("12:30:45,123 on 2026-11-24 4,5", "12:30:45,123 on 2026-11-24 ???"),
        ("rate 2.394.000.118 and 7,5 and 8.123", "rate ????????????? and ??? and ?????"),
        ("1,5e-6 s and 4,4o96", "?????? s and 4,4o96"),
        ("1.5 and 2.5 and 7,5 and 8.123", "1.5 and 2.5 and ??? and 8.123"),
        ('{"a": [1,2], "b": 3.5}', '{"a": [1,2], "b": 3.5}'),
    ],
)
def test_numbers_of_other_locales_are_left_out_and_nothing_else(text, left):
    found, notes = leave_out(text, Form())
    assert found == left
    assert bool(notes) == (found != text)


@pytest.mark.parametrize(
    "command",
    [
        "root@web:~# ./run.sh 0,11 1.234,5",
        "[root@web ~]# ./run.sh 0,11",
        "$ taskset 0,11 run",
        "+ taskset 0,11 run",
        "command: tool --cores 0,11 --mix 1.234,5 0,5 0,25 0,75 0,1 0,2 0,3",
    ],
)
def test_lists_in_a_command_line_are_not_numbers_of_a_locale(command):
    text = f"{command}\nlatency 1.234 ms\nlatency 0.5 ms\n"
    assert leave_out(text, Form()) == (text, [])
    assert leave_out(text, Form(local=True)) == (text, [])


@pytest.mark.parametrize("name", [name for name in OTHERS if not name.startswith(("ioping-batch", "vdbench-parm"))])
def test_the_command_above_an_output_has_no_warning(tmp_path, name):
    sample = ex.datasets_dir() / "formats" / name
    file = tmp_path / name
    file.write_text(f"root@web:~# taskset -c 0,11 ./run.sh 1.234,5\n{sample.read_text(encoding='utf-8-sig')}")
    try:
        notes = ex.open(file).notes
    except ex.EsxparseError as error:
        notes = [ex.recording.Note(str(error))]
    assert not any("another locale" in note.message and "0,11" in note.message for note in notes)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("0,5 and 1,25 and 7,123", None),
        ("0,5 and 1,25 and 1.234", "0,5 and 1,25 and ?????"),
        ("0.5 and 2,5 1.2", "0.5 and ??? 1.2"),
    ],
)
def test_a_tool_that_follows_its_locale_has_one_decimal_mark(text, left):
    assert leave_out(text, Form(local=True))[0] == (left or text)


BLANKS = [
    ("cpuinfo-guest.txt", "28160 KB", "28 160 KB"),
    ("stream-runs.txt", "Array size = 80000000", "Array size = 80 000 000"),
    ("sysbench-oltp.txt", "228564", "228 564"),
    ("esxi-counters.txt", "723060", "723 060"),
    ("diskspd-2.0.21.xml", "<BlockSize>8192<", "<BlockSize>8 192<"),
    ("fio-normal.txt", "(R) 8192B", "(R) 8 192B"),
    ("mpstat-all.txt", "   1373.00", "  1 373.00"),
    ("pidstat-tasks.txt", "      1079", "     1 079"),
    ("vdbench-skew.html", "   2600.00", "  2 600.00"),
    ("ntttcp-windows.txt", "    48063450", " 48 063 450"),
]
"""Samples with a number, and the same with blanks between its digits."""


@pytest.mark.parametrize(("name", "plain", "grouped"), BLANKS)
def test_a_number_with_blanks_between_its_digits_is_left_out(tmp_path, name, plain, grouped):
    sample, rec = edited(tmp_path, name, plain, grouped)
    before = numbers(sample)
    for place, found in numbers(rec).items():
        assert not [value for value in found if value is not None and not is_known(value, before[place])], place
    assert any(note.severity == "warning" for note in rec.notes)


@pytest.mark.parametrize(
    "text",
    [
        "node 0 cpus: 100 101 102 103",
        "  0:  10 120",
        "12:30:45 100 200 300",
        " 1 0 123 456 789",
        "N 100 200 300 400",
        "policy: default\nphyscpubind: 100 101 102",
    ],
)
def test_numbers_beside_each_other_are_no_groups(text):
    keep = tomllib.loads((Path(ex.__file__).parent / "formats" / "recognise.toml").read_text())["numactl"]["numbers"]
    assert leave_out(text, Form(**keep)) == (text, [])


def test_percentiles_of_fio_do_not_hide_the_decimal_commas_beside_them():
    text = "2.192;1.000000%=1057;5.000000%=1090;55,981974;0,5;10.000000%=1100"
    assert leave_out(text, Form())[0] == "?????;1.000000%=1057;5.000000%=1090;?????????;???;10.000000%=1100"
