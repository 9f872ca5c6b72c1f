"""Tasks as notes in every panel, in real JupyterLab."""

from __future__ import annotations

import pytest
from lab_server import WAIT_MS, notebook, page_of, run_all

import esxparse as ex

pytestmark = [pytest.mark.search, pytest.mark.needs("anywidget", "chromium", "jupyterlab", "playwright")]

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"
TASKS = """\
Task Name,Target,Start Time,Completion Time
Migrate virtual machine,orders-app,2026-03-11T09:02:10Z,2026-03-11T09:02:45Z
Create virtual machine snapshot,ledger-db,2026-03-11T09:07:30Z,2026-03-11T09:07:41Z
"""


def test_tasks_stand_at_their_times_in_every_panel(tmp_path):
    (tmp_path / "tasks.csv").write_text(TASKS)
    cell = f"import esxparse as ex\nex.explore({str(BUSY)!r}, events='tasks.csv')"
    (tmp_path / "first.ipynb").write_text(notebook([cell]), encoding="utf-8")
    with page_of(tmp_path) as (address, page, problems):
        page.goto(f"{address}/lab/tree/first.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, WAIT_MS)
        app = page.locator(".ex-explorer[data-ready]")
        app.wait_for(timeout=WAIT_MS)
        page.wait_for_function(
            "[...document.querySelectorAll('.ex-panel')].every(one => one.dataset.drawn)", timeout=WAIT_MS
        )
        texts = app.locator(".ex-chart").all_inner_texts()
        assert len(texts) > 1
        assert all("Migrate virtual machine: orders-app" in one for one in texts)
        assert all("Create virtual machine snapshot: ledger-db" in one for one in texts)
        # Their words stay in the panel.
        for panel in app.locator(".ex-panel").all():
            edge = panel.bounding_box()
            for words in panel.locator("svg text", has_text="virtual machine").all():
                box = words.bounding_box()
                assert edge["x"] < box["x"]
                assert box["x"] + box["width"] < edge["x"] + edge["width"]
        assert problems == []
