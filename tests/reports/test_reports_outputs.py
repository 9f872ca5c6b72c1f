"""The forms of a report: notebook, PDF, Markdown; what is refused, and how several reports are named."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import webbrowser
import zlib
from functools import partial

import mistune
import nbformat
import pytest

import esxparse as ex
from esxparse.cli import main
from esxparse.reports import forms, pdf
from esxparse.reports.blocks import VEGALITE_MIME

CELLS = """
import altair as alt, polars as pl
from esxparse.reports import page
from esxparse.reports.blocks import Column, Header, facts, table
from esxparse.reports.cards import card
page.prepare()
rows = pl.DataFrame({"vm": ["db|01", "<script>alert(1)</script>", "[x](http://x.example)"], "ms": [1.0, 2.5, 4.0]})
chart = alt.Chart(rows, title="Latency by VM", description="Latency of three VMs", width="container")
"""
SHOWN = [
    'Header("Small report", "of three VMs")',
    'table(rows, [Column("vm", "VM"), Column("ms", "Latency", "ms")], "Latencies of *all* VMs")',
    "page.show(chart.mark_bar(color='#123456').encode(x='vm', y='ms'), missing='')",
    'card("Finding 1", "finding-1", "It is slow.", "warning", [("against", "nothing")])',
    'facts([("Program", "esxparse")])',
]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A template whose report has one of everything."""
    new = nbformat.v4.new_code_cell
    parameters = new('capture: str = ""  # path', metadata={"tags": ["parameters"]})
    cells = [parameters, new(CELLS), nbformat.v4.new_markdown_cell("## Latencies\n\nOf *each* VM."), *map(new, SHOWN)]
    path = tmp_path_factory.mktemp("templates") / "small.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


@pytest.fixture(scope="module")
def written(tmp_path_factory, small, busy_host_file):
    """The report as Markdown and as a notebook."""
    folder = tmp_path_factory.mktemp("written")
    return {form: ex.report(busy_host_file, small, folder / f"a report.{form}") for form in ("md", "ipynb")}


@pytest.mark.search
def test_markdown_has_tables_and_the_charts_as_files_beside_it(written):
    text = written["md"].read_text()
    assert "# Small report\n\nof three VMs" in text
    assert "## Latencies\n\nOf *each* VM." in text
    assert re.search(r"^\| VM \| Latency ms \|\n\| --- \| --- \|\n\| db\\\|01 \| 1.0 \|$", text, re.MULTILINE)
    assert "### Latency by VM\n" in text
    ((alt, link),) = re.findall(r"!\[(.*?)\]\((.*?)\)", text)
    assert (alt, link) == ("Latency of three VMs", "a%20report_files/chart-1.svg")
    assert (written["md"].parent / "a report_files" / "chart-1.svg").read_text().startswith("<svg")
    assert '<a id="finding-1"></a>\n\n### Finding 1' in text
    assert "- **Program**: esxparse" in text


def test_names_are_text_in_markdown_too(written):
    page = mistune.create_markdown(escape=False, plugins=["table"])(written["md"].read_text())
    assert "<script" not in page
    assert "http://x.example" not in re.findall(r'href="([^"]*)"', page)
    assert "Latencies of *all* VMs" in page


def test_the_notebook_was_run_and_holds_each_chart_as_a_picture(written):
    notebook = nbformat.read(written["ipynb"], as_version=4)
    nbformat.validate(notebook)
    outputs_of = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    (chart,) = [output.data for output in outputs_of if VEGALITE_MIME in output.get("data", {})]
    assert chart["image/png"].startswith("iVBOR")
    assert any("injected-parameters" in cell.metadata.get("tags", []) for cell in notebook.cells)
    assert all(map(forms.is_report, written.values()))


def test_a_report_is_replaced_and_a_notebook_of_ones_own_is_not(tmp_path, small, busy_host_file):
    mine = tmp_path / "mine.ipynb"
    mine.write_bytes(small.read_bytes())
    with pytest.raises(ex.EsxparseError, match="already exists"):
        ex.report(busy_host_file, small, mine, replace=False)
    (tmp_path / "notes_files").mkdir()
    (tmp_path / "notes_files" / "chart-1.svg").write_text("mine")
    with pytest.raises(ex.EsxparseError, match="notes_files, where the charts go, already exists"):
        ex.report(busy_host_file, small, tmp_path / "notes.md", replace=False)
    assert (tmp_path / "notes_files" / "chart-1.svg").read_text() == "mine"


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""


@pytest.mark.search
@pytest.mark.needs("chromium")
def test_a_pdf_has_the_text_and_the_charts(tmp_path, small, busy_host_file):
    made = ex.report(busy_host_file, small, tmp_path / "report.pdf").read_bytes()
    assert made.startswith(b"%PDF")
    assert forms.is_report(tmp_path / "report.pdf")
    drawn = b"".join(map(_inflated, re.findall(rb"stream\r?\n(.*?)\r?\nendstream", made, re.DOTALL)))
    # The three bars, in the colour that nothing else on the page has.
    assert b".0706 .2039 .3373 rg" in drawn


@pytest.mark.needs("chromium")
@pytest.mark.parametrize(("set_to", "points"), [(None, (595, 842)), ("Letter\n", (612, 792)), ("a3", (595, 842))])
def test_a_pdf_has_the_size_of_the_paper(monkeypatch, set_to, points):
    if set_to:
        monkeypatch.setenv("PAPERSIZE", set_to)
    made = pdf.printed("<html lang='en'><head></head><body>A page</body></html>")
    (size,) = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", made)
    assert tuple(round(float(side)) for side in size) == points


def test_without_a_browser_a_pdf_is_refused_before_anything_runs(tmp_path, small, busy_host_file):
    with pytest.raises(ex.EsxparseError, match="a PDF is printed by Chromium or Chrome, and none is on the PATH"):
        ex.report(busy_host_file, small, tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_browser_that_fails_is_one_line(tmp_path, monkeypatch):
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho no display >&2\nexit 7\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ex.EsxparseError, match="chromium could not print the report: no display"):
        pdf.printed("<html></html>")


@pytest.mark.parametrize(
    ("output", "to", "form"),
    [
        ("a.html", None, "html"),
        ("a.PDF", None, "pdf"),
        ("a.markdown", None, "md"),
        ("/dev/stdout", None, "html"),
        ("a.v2", "ipynb", "ipynb"),
        (None, "md", "md"),
    ],
)
def test_the_ending_tells_the_form(output, to, form):
    assert forms.form_of(output, to) == form


def test_forms_that_contradict_are_refused():
    with pytest.raises(ex.EsxparseError, match=r"a\.pdf is named as pdf, but md is asked for"):
        forms.form_of("a.pdf", "md")
    with pytest.raises(ex.EsxparseError, match="cannot be written as 'docx': choose from html, ipynb, pdf, md"):
        forms.form_of("a", "docx")
    assert forms.requested_form(None, {"format": "pdf", "zone": "+02:00"}) == ("pdf", {"zone": "+02:00"})
    assert forms.requested_form("pdf", {"format": "power_csv"}) == ("pdf", {"format": "power_csv"})
    with pytest.raises(ex.EsxparseError, match="as md and as pdf"):
        forms.requested_form("md", {"format": "pdf"})


@pytest.mark.search
def test_several_reports_go_into_a_directory_that_is_made_and_equal_names_are_told_apart(
    tmp_path, small, busy_host_file, capsys, monkeypatch
):
    for host in ("esx01", "esx02"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "cap.csv").write_bytes(busy_host_file.read_bytes())
    (tmp_path / "bad.csv").write_text("no,capture\n")
    inputs = [str(tmp_path / name) for name in ("esx01/cap.csv", "bad.csv", "esx02/cap.csv", "esx01/cap.csv")]
    shown = []
    monkeypatch.setattr(webbrowser, "open", lambda address: not shown.append(address))
    made = tmp_path / "night" / "reports"
    assert main(["report", *inputs, "-t", str(small), "-o", str(made), "--to", "ipynb", "--open"]) == 1
    names = ["esx01-cap.ipynb", "esx02-cap.ipynb"]
    assert sorted(path.name for path in made.iterdir()) == names
    assert shown == [(made / name).as_uri() for name in names]
    assert capsys.readouterr().err.splitlines()[-1] == "1 of 3 failed: bad.ipynb"


@pytest.mark.search
def test_a_batch_writes_the_form_that_is_asked_for(tmp_path, small, busy_host_file):
    done = ex.batch(busy_host_file, tmp_path / "out", template=small, to="ipynb", jobs=1)
    assert done.summary["page"].to_list() == ["busy-host.ipynb"]
    assert 'href="busy-host.ipynb"' in done.index.read_text()
    cells = json.loads((tmp_path / "out" / "busy-host.ipynb").read_text())["cells"]
    assert not any("facts.display_of" in "".join(cell["source"]) for cell in cells)
    assert ex.batch(busy_host_file, tmp_path / "out", template=small, to="ipynb", jobs=1).reused == 1


@pytest.mark.search
def test_power_without_watts_is_refused_and_writes_nothing(tmp_path):
    capture = ex.datasets_dir() / "vaio" / "default-1x01vm-128oio-1.csv.bz2"
    with pytest.raises(ex.EsxparseError, match="no power readings above 0 W"):
        ex.report(capture, "power_profile", tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.search
def test_markdown_that_does_not_fit_the_disk_leaves_nothing_behind(tmp_path, busy_host_file):
    """A bound on the size of files stands for a full disk."""
    command = [sys.executable, "-m", "esxparse", "report", str(busy_host_file), "-o", "r.md", "-q"]
    small = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (20_000, 20_000))
    done = subprocess.run(command, cwd=tmp_path, preexec_fn=small, capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(b"esxparse: ")
    assert list(tmp_path.iterdir()) == []
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
