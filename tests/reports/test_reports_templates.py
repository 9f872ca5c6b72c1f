"""The bundled templates, as notebooks."""

from __future__ import annotations

import re
from pathlib import Path

import nbclient
import nbformat
import pytest

from esxparse import reports
from esxparse.charts import theme
from esxparse.reports import blocks, find, templates


def test_templates_say_what_they_are_for():
    found = {one.name: one for one in templates()}
    health = found["host_health"]
    assert health.title == "Host health"
    assert health.formats == ("esxtop",)
    assert [(one.name, one.type, one.default) for one in health.parameters] == [
        ("capture", "str", "''"),
        ("start", "str", "''"),
        ("end", "str", "''"),
        ("profile", "str", "'standard'"),
        ("events", "list", "[]"),
        ("opening", "dict", "{}"),
    ]
    assert all(one.description for one in found.values())
    assert all(parameter.help for parameter in health.parameters)


def test_each_template_takes_from_no_other_ones_room_and_names_itself():
    rooms = {path.parent.name for path in Path(reports.__file__).parent.glob("*/__init__.py")}
    assert rooms - {"study"} <= {one.path.stem for one in templates()}
    for one in templates():
        cells = nbformat.read(one.path, as_version=4).cells
        taken = {room for cell in cells for room in re.findall(r"from esxparse\.reports\.(\w+)", cell.source)}
        assert taken & rooms <= {"study", one.path.stem}
        last = cells[-1].source
        assert last.startswith(("page.provenance(", "provenance(found, "))
        assert f'"{one.path.stem}"' in last


def test_templates_hold_no_output_and_say_where_each_cell_is():
    for one in templates():
        notebook = nbformat.read(one.path, as_version=4)
        nbformat.validate(notebook)
        assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook.cells)


@pytest.mark.search
def test_the_template_runs_in_a_plain_notebook_and_shows_live_charts():
    client = nbclient.NotebookClient(
        nbformat.read(find("host_health").path, as_version=4), kernel_name="python3", timeout=120
    )
    done = client.execute()
    shown = [output.data for cell in done.cells for output in cell.get("outputs", []) if "data" in output]
    charts = [data for data in shown if blocks.VEGALITE_MIME in data]
    assert len(charts) >= 15
    # By JupyterLab's own runtime: pages of HTML would ask another server for one.
    assert all(theme.LAB_MIME in data and "text/html" not in data for data in charts)
    nbformat.validate(done)
