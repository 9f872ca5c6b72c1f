"""Every sample of a format with its numbers rewritten as other locales write them: equal tables, or a clear refusal."""

from __future__ import annotations

import csv
import io
import re

import pytest
from polars.testing import assert_frame_equal

import esxparse as ex

LOCALES = {"1.234,5": (".", ","), "1 234,5": ("\u202f", ","), "1,234.5": (",", ".")}
"""Thousands separator and decimal mark, by how they write one number."""

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

The others print by the C locale (fio, ioping, netperf, STREAM ...), or write JSON and XML, which have no locale. perf,
sysstat and vdbench print by a locale without grouping; their own tests have files of such locales.
"""

_COMMAS = "power-pdu-export.csv"
"""The sample that has decimal commas itself."""
_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")


def localised(number, locale):
    """The number as a locale writes it."""
    group, decimal = LOCALES[locale]
    whole, point, fraction = number.replace(",", "").lstrip("-").partition(".")
    grouped = f"{int(whole):,}".replace(",", group) if whole == str(int(whole)) else whole
    return "-" * number.startswith("-") + grouped + (decimal if point else "") + fraction


def rewritten(name, text, locale, separator):
    """The file as a spreadsheet of a locale saves it, cell by cell."""
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
            writer.writerow([localised(cell, locale) if _NUMBER.fullmatch(cell.strip()) else cell for cell in cells])
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
