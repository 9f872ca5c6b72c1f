"""What a notebook shows later in real JupyterLab: without its kernel, and where its outputs are not trusted."""

from __future__ import annotations

import json
import re

import pytest
from lab_server import WAIT_MS, notebook, page_of, run_all

pytestmark = [pytest.mark.search, pytest.mark.needs("anywidget", "chromium", "jupyterlab", "playwright")]

CELLS = [
    "import esxparse as ex\nrec = ex.open(ex.datasets_dir() / 'busy-host' / 'busy-host.csv')\nex.explore(rec)",
    "rec.findings()",
    "rec['vcpu']",
]
SENTENCE = (
    "The explorer of busy-host.csv from 2026-03-11 09:00:00 to 2026-03-11 09:10:00 UTC. "
    "It needs its kernel: if it does not show, run this cell."
)


def test_a_notebook_opened_later_says_what_is_missing_and_its_tables_sort(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    path = tmp_path / "first.ipynb"
    path.write_text(notebook(CELLS), encoding="utf-8")
    with page_of(tmp_path) as (address, page, problems):
        page.goto(f"{address}/lab/tree/first.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, WAIT_MS)
        page.wait_for_selector(".ex-explorer[data-ready]", timeout=WAIT_MS)
        # The sentence stands there only where the explorer does not.
        assert not page.locator(".esxparse-explorer").is_visible()
        page.locator(".jp-CodeCell").nth(2).locator("table").wait_for(timeout=WAIT_MS)
        page.keyboard.press("Control+s")
        page.wait_for_function("!document.querySelector('.jp-mod-dirty')", timeout=WAIT_MS)

        # A kernel that was started anew does not know the explorer.
        page.get_by_text("Kernel", exact=True).first.click()
        page.get_by_text("Restart Kernel…", exact=True).click()
        page.locator(".jp-Dialog .jp-mod-accept").click()
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=WAIT_MS)
        page.get_by_role("button", name="What changed").click()
        page.locator(".ex-said", has_text="The kernel was restarted: run the cell again.").wait_for(timeout=WAIT_MS)
        assert problems == []
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert {"text/html", "text/plain"} == set(saved["cells"][0]["outputs"][0]["data"])

    # What another has changed is not trusted.
    saved["cells"].append({**saved["cells"][2], "id": "other", "outputs": [], "source": "1"})
    saved["cells"][1]["outputs"][0]["data"]["text/html"] += "<script>document.body.dataset.bad = 'yes'</script>"
    (tmp_path / "strange.ipynb").write_text(json.dumps(saved), encoding="utf-8")
    with page_of(tmp_path) as (address, page, problems):
        for name in ("first", "strange"):
            page.goto(f"{address}/lab/tree/{name}.ipynb?reset", wait_until="domcontentloaded")
            cells = page.locator(".jp-CodeCell")
            cells.nth(2).locator("table").wait_for(timeout=WAIT_MS)
            page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=WAIT_MS)
            assert cells.first.locator(".jp-OutputArea").inner_text().strip() == SENTENCE
            assert page.locator("body[data-bad]").count() == 0

            # The findings and the table of a recording: aligned, and sorted by a click.
            findings, rows = cells.nth(1).locator("table"), cells.nth(2).locator("table")
            assert findings.locator("td").first.evaluate("one => getComputedStyle(one).textAlign") == "left"
            assert findings.locator("td b").first.evaluate("one => getComputedStyle(one).color") == "rgb(179, 38, 30)"
            findings.locator("th", has_text="confidence").click()
            hints = findings.locator("tbody td:last-child span").evaluate_all("all => all.map(one => one.title)")
            told = [float(re.search(r"\d\.\d+", hint)[0]) for hint in hints]
            assert told == sorted(told)
            assert len(told) > 3
            words = findings.locator("tbody td:last-child").all_inner_texts()
            assert list(dict.fromkeys(words)) == ["unlikely", "weak", "likely"]
            names = rows.locator("tbody td:nth-child(2)")
            before = names.all_inner_texts()
            for _ in range(2):
                rows.locator("th", has_text="instance").click()
            assert names.all_inner_texts() == before[::-1]
        # JupyterLab itself reports the widget that no kernel knows, sooner or later.
        assert [one for one in problems if not one.startswith("Error: widget model not found")] == []
