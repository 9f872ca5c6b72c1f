"""A copy of a template, changed as docs/templates.md shows, in real JupyterLab without esxparse's own runner."""

from __future__ import annotations

import json
import re
import time

import pytest
from checkout import DOCS
from lab_server import WAIT_MS, page_of, run_all

import esxparse as ex
from esxparse.reports import starter

pytestmark = [pytest.mark.search, pytest.mark.needs("anywidget", "chromium", "jupyterlab", "playwright")]

GUIDE = DOCS / "templates.md"
CAPTURE = ex.datasets_dir() / "power" / "dynamic-1.csv.bz2"


def outputs(path, page):
    """The outputs of a notebook's cells, as the page saves them once all have run."""
    made = []
    for _ in range(WAIT_MS // 1000):
        page.keyboard.press("Control+s")
        time.sleep(1)
        try:
            cells = json.loads(path.read_text())["cells"]
        except json.JSONDecodeError:
            continue  # JupyterLab writes into the file itself, so that it is short for a moment
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        made = [output for cell in code for output in cell["outputs"]]
        if all(cell["execution_count"] for cell in code) or any(one["output_type"] == "error" for one in made):
            break
    return made


def test_a_copied_template_with_a_cell_of_ones_own_runs_cell_by_cell(tmp_path):
    path = starter.copy("host_health", "ours", tmp_path)
    notebook = json.loads(path.read_text())
    (parameters,) = [cell for cell in notebook["cells"] if cell["metadata"].get("tags") == ["parameters"]]
    parameters["source"] = "".join(parameters["source"]).replace(
        'capture: str = ""', f"capture: str = {str(CAPTURE)!r}"
    )
    (added,) = re.findall(r"```python\n(of_vms = .*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    place = next(at for at, cell in enumerate(notebook["cells"]) if "of_vms = (" in "".join(cell["source"]))
    cell = {"cell_type": "code", "id": "mine", "metadata": {}, "execution_count": None, "outputs": [], "source": added}
    notebook["cells"].insert(place + 1, cell)
    path.write_text(json.dumps(notebook))
    with page_of(tmp_path) as (address, page, problems):
        page.goto(f"{address}/lab/tree/ours.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, WAIT_MS)
        made = outputs(path, page)
        assert [one["evalue"] for one in made if one["output_type"] == "error"] == []
        pages = [one["data"] for one in made if "data" in one]
        assert sum("application/vnd.vegalite.v6+json" in one for one in pages) == 12
        assert sum("Run, highest" in "".join(one.get("text/html", "")) for one in pages) == 1
        assert CAPTURE.name in str(pages[-1])
        assert problems == []
