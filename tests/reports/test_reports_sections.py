"""Sections of a page: those that show nothing are left out, and their reasons are in one list."""

from __future__ import annotations

import polars as pl
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import esxparse as ex
from esxparse.reports import blocks, export, helpers


def cell(*shown):
    outputs = [new_output("display_data", data=one._repr_mimebundle_()) for one in shown]
    return new_code_cell("x", outputs=outputs)


def sections(*cells):
    notebook = new_notebook(cells=list(cells))
    return {section.title: section for section in export.outline(notebook)[1]}


def test_a_section_of_reasons_alone_is_left_out_and_its_reasons_are_listed():
    found = sections(
        new_markdown_cell("## Load\n\nWords of the template."),
        cell(blocks.missing("No <load> was recorded."), blocks.missing("Nor a clock.")),
        new_markdown_cell("## Power"),
        cell(blocks.missing("No watts."), blocks.note("All is well.")),
        new_markdown_cell("## Where this report comes from"),
        cell(blocks.facts([("Program", "esxparse")])),
    )
    assert list(found) == ["Power", "Not in these recordings", "Where this report comes from"]
    (listed,) = (piece.html for row in found["Not in these recordings"].rows for piece in row)
    assert "<b>Load</b>: No &lt;load&gt; was recorded. Nor a clock." in listed
    assert "No watts." not in listed


def test_a_page_without_reasons_has_no_list_of_them():
    found = sections(new_markdown_cell("## Words"), new_markdown_cell("## Power"), cell(blocks.note("All is well.")))
    assert list(found) == ["Power"]


def test_a_page_of_reasons_alone_is_the_list():
    assert list(sections(new_markdown_cell("## Load"), cell(blocks.missing("No load.")))) == ["Not in these recordings"]


@pytest.mark.parametrize(("said", "missing"), [({"missing": "no readings"}, True), ({"empty": "no readings"}, False)])
def test_a_table_without_rows_may_say_that_something_is_missing(said, missing):
    shown = helpers.table(pl.DataFrame({"watts": []}), "Watts", **said)
    assert shown.text == "no readings"
    assert (blocks.MISSING_MIME in shown._repr_mimebundle_()) == missing


@pytest.mark.search
def test_a_report_on_one_power_reading_has_no_empty_sections(tmp_path):
    reading = ex.datasets_dir() / "formats" / "redfish-ilo5-power.json"
    page = ex.report(reading, template="power_profile", output=tmp_path / "x.html").read_text(encoding="utf-8")
    assert '<h2 id="what-was-drawn">' in page
    assert "Not in these recordings" in page
    for title in ("Power over time", "Power against load", "Energy", "Power per unit of work"):
        assert f">{title}</h2>" not in page
        assert f"<b>{title}</b>: " in page
