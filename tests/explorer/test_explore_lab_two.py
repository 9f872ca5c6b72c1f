"""Two captures in the explorer, in real JupyterLab: what is said, saved and drawn, and what Python changes."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from lab_server import FOLLOWED, WAIT_MS, notebook, page_of, run_all

import esxparse as ex

pytestmark = [pytest.mark.search, pytest.mark.needs("anywidget", "chromium", "jupyterlab", "playwright")]

# The first has a VM with a long name; the second, two hours later, no table numa_node.
CELLS = [
    """from dataclasses import replace
import esxparse as ex
other = ex.open("later.csv")
other = replace(other, tables={name: other.tables[name] for name in other if name != "numa_node"})
panels = [{"counter": "%RDY", "table": "group_cpu", "n": 2}, {"counter": "free_mbytes", "table": "numa_node", "n": 1}]
app = ex.explore("first.csv", other, view={"panels": panels})
app""",
    "",
]


def test_two_captures_are_told_apart_and_python_changes_the_view(tmp_path):
    text = (ex.datasets_dir() / "busy-host" / "busy-host.csv").read_text(encoding="utf-8")
    first = text
    # The one is asked for below, the other has a finding that warns.
    for name in ("orders-app", "backup-proxy"):
        first = first.replace(name, name + "x" * 400)
    (tmp_path / "first.csv").write_text(first, encoding="utf-8")
    (tmp_path / "later.csv").write_text(text.replace("03/11/2026 09:", "03/11/2026 11:"), encoding="utf-8")
    (tmp_path / "two.ipynb").write_text(notebook(CELLS), encoding="utf-8")
    with page_of(tmp_path) as (address, page, problems):
        page.goto(f"{address}/lab/tree/two.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, WAIT_MS)
        page.wait_for_selector(".ex-explorer[data-ready]", timeout=WAIT_MS)
        panels = page.locator(".ex-panel")

        # What the second lacks is said where it is missing, and the first is drawn.
        assert panels.nth(1).locator("svg.marks").count() == 1
        said = "the second capture (later.csv) has no ready time (%RDY) of orders-…xxxxxxxxxx"
        assert panels.nth(0).locator(".ex-missing").inner_text() == said
        said = "the second capture (later.csv) has no NUMA free of numa_node over time"
        assert panels.nth(1).locator(".ex-missing").inner_text() == said
        assert "09:00:00 to 11:10:00 UTC" in page.locator(".ex-title").inner_text()

        # A name without a space is broken at the edge.
        finding = page.locator(".ex-below .ex-hit", has_text="xxxx").first
        assert finding.evaluate("one => one.scrollWidth <= one.clientWidth")

        with page.expect_download() as saved:
            page.get_by_role("button", name="CSV").click()
        rows = list(csv.DictReader(Path(saved.value.path()).read_text(encoding="utf-8").splitlines()))
        captures = {
            name: {row["capture"] for row in rows if row["counter"] == name}
            for name in ("ready time (%RDY)", "NUMA free")
        }
        assert captures == {"ready time (%RDY)": {"1", "2"}, "NUMA free": {"1"}}

        # Files are named after table and column: a name such as ready time (%RDY) says the same of VMs and worlds.
        files = []
        page.on("download", lambda one: files.append(one.suggested_filename))
        page.get_by_role("button", name="SVG").click()
        page.wait_for_timeout(2_000)
        assert files == ["vm-ready_pct.svg", "numa_node-free_mbytes.svg"]

        def run(code):
            cell = page.locator(".jp-CodeCell").nth(1)
            cell.locator(".cm-content").click()
            page.keyboard.press("Control+a")
            page.keyboard.insert_text(code)
            page.keyboard.press("Control+Enter")

        # Python sets the view: a range if there is no sample, then one panel of the whole time.
        run("at = app.about['start'] + 3_600_000\napp.view = {**app.view, 'range': [at, at + 60_000], 'smooth': 3}")
        bad = panels.first.locator(".ex-bad[role=alert]")
        bad.wait_for(timeout=WAIT_MS)
        assert bad.inner_text() == "no sample of ready time (%RDY) from 2026-03-11 10:00:00 to 2026-03-11 10:01:00 UTC"
        assert page.locator(".ex-number").input_value() == "3"
        run("app.view = {'panels': app.view['panels'][:1]}")
        page.wait_for_function("document.querySelectorAll('.ex-panel').length === 1", timeout=WAIT_MS)
        panels.first.locator("svg.marks").wait_for(timeout=WAIT_MS)

        # What is changed on the page itself is drawn once.
        before = [panels.first.get_attribute("data-drawn")]
        panels.first.locator("select").nth(1).select_option("1")
        page.wait_for_function(FOLLOWED, arg=before, timeout=WAIT_MS)
        assert panels.first.get_attribute("data-drawn") == str(int(before[0]) + 1)
        assert problems == []
