"""Files that hold a recording in a form that only another program reads: workbooks, and binary logs of Perfmon."""

from __future__ import annotations

import io
import tarfile
import zipfile

import compose
import pytest

import esxparse as ex


def zipped(*members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in members:
            # The type of a document is not compressed.
            method = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            bundle.writestr(name, content, method)
    return out.getvalue()


SHEET = "<worksheet><c><v>(PDH-CSV 4.0) (UTC)(0)</v></c></worksheet>"
XML = """<?xml version="1.0"?>
<?mso-application progid="Excel.Sheet"?>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet">
<Row><Cell><Data>(PDH-CSV 4.0) (UTC)(0)</Data></Cell></Row>
</Workbook>"""
TABLE = "<table border=1>\n<tr><td>(PDH-CSV 4.0) (UTC)(0)</td><td>\\\\esx\\Memory\\Free MBytes</td></tr>\n</table>\n"
OFFICE = f'<html xmlns:x="urn:schemas-microsoft-com:office:excel">\n<body>{TABLE}</body></html>\n'
FILES = {
    "a.xlsx": (
        zipped(("[Content_Types].xml", "<Types/>"), ("xl/workbook.xml", "<x/>"), ("xl/worksheets/sheet1.xml", SHEET)),
        "an Excel workbook",
    ),
    "late.xlsx": (zipped(("docProps/app.xml", "x" * 5000), ("xl/worksheets/sheet1.xml", SHEET)), "an Excel workbook"),
    "a.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000), r"an Excel workbook \(.xls\)"),
    "a.ods": (
        zipped(("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", SHEET)),
        "an OpenDocument spreadsheet",
    ),
    "xml.xls": (XML.encode(), r"an Excel workbook \(XML\)"),
    "a.xml": (XML.encode("utf-16"), r"an Excel workbook \(XML\)"),
    "html.xls": (TABLE.encode(), r"an Excel workbook \(tables of HTML\)"),
    "marked.xls": (f"\ufeff{TABLE}".encode(), r"an Excel workbook \(tables of HTML\)"),
    "a.html": (OFFICE.encode(), r"an Excel workbook \(tables of HTML\)"),
    "a.numbers": (zipped(("Index/Document.iwa", "x"), ("Metadata/Properties.plist", "x")), "a Numbers spreadsheet"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_workbook_is_refused_with_what_to_do(tmp_path, name):
    content, what = FILES[name]
    file = compose.write(tmp_path, content, name)
    with pytest.raises(ex.UnreadableError, match=f"is {what}.*: save the sheet as CSV"):
        ex.open(file)


@pytest.mark.parametrize("content", [b"\x00\x50\x01\x00" * 200, b'"(PDH-BIN 4.0)"' + bytes(600)])
def test_a_binary_log_of_perfmon_is_refused_with_the_command_that_converts_it(tmp_path, content):
    file = compose.write(tmp_path, content, "night.blg")
    with pytest.raises(ex.UnreadableError, match=r"a binary log of Perfmon: convert it with relog .*night.blg -f csv"):
        ex.open(file)


def test_a_workbook_inside_of_a_bundle_is_refused_too(tmp_path):
    with tarfile.open(tmp_path / "all.tar", "w") as bundle:
        info = tarfile.TarInfo("a.xlsx")
        info.size = len(FILES["a.xlsx"][0])
        bundle.addfile(info, io.BytesIO(FILES["a.xlsx"][0]))
    with pytest.raises(ex.UnreadableError, match=r"a\.xlsx: an Excel workbook: save the sheet as CSV"):
        ex.open(tmp_path / "all.tar")


def test_a_csv_in_an_ordinary_zip_and_one_that_is_only_named_blg_are_opened(tmp_path):
    text = compose.text([("Memory", "Free MBytes")], [["1"], ["2"]])
    for name, content in (("a.zip", zipped(("logs/a.csv", text))), ("a.blg", text.encode())):
        assert ex.open(compose.write(tmp_path, content, name)).meta["samples"] == 2
