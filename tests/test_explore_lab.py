"""The explorer in real JupyterLab in real Chromium, with the network off."""

from __future__ import annotations

import re

import pytest
from browser import chromium as browser_of
from lab_server import lab, notebook, run_all

import esxparse as ex

pytestmark = [pytest.mark.search, pytest.mark.needs("anywidget", "chromium", "jupyterlab", "playwright")]

WAIT_MS = 180_000
CELLS = [
    "import esxparse as ex\napp = ex.explore(ex.datasets_dir() / 'busy-host' / 'busy-host.csv')\napp",
    "rec = ex.open(ex.datasets_dir() / 'busy-host' / 'busy-host.csv')\nrec.plot('%RDY')",
    "",
]

FOLLOWED = "before => [...document.querySelectorAll('.ex-panel')].every((one, at) => one.dataset.drawn !== before[at])"
# The first labels of each panel's axis of time.
AXES = """all => all.map(one =>
    [...one.querySelectorAll('.role-axis-label text')].slice(0, 3).map(text => text.textContent).join())"""


def test_from_a_search_to_the_same_numbers_in_a_cell(tmp_path):
    (tmp_path / "first.ipynb").write_text(notebook(CELLS), encoding="utf-8")
    with lab(tmp_path) as address, browser_of() as browser:
        context = browser.new_context(viewport={"width": 1440, "height": 1800}, reduced_motion="reduce")
        page = context.new_page()
        problems = []
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        # Whatever is not this machine is not there.
        context.route(
            re.compile(r"^https?://(?!127\.0\.0\.1)"),
            lambda route: (problems.append(route.request.url), route.abort()),
        )
        page.goto(f"{address}/lab/tree/first.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, WAIT_MS)
        page.wait_for_selector(".ex-explorer[data-ready]", timeout=WAIT_MS)

        # Search, choose, rank.
        page.fill(".ex-explorer input[type=search] >> nth=0", "ready")
        hit = page.locator(".ex-hit", has_text="%RDY").first
        hit.wait_for(timeout=WAIT_MS)
        hit.click()
        panels = page.locator(".ex-panel")
        first = panels.first
        first.locator("select").nth(0).select_option("p95")
        first.locator("select").nth(1).select_option("5")
        page.wait_for_function("document.querySelectorAll('.ex-panel[data-drawn]').length >= 3", timeout=WAIT_MS)
        assert first.locator(".ex-legend").inner_text().startswith("report-batch")

        # Brush: all panels follow.
        before = [panels.nth(at).get_attribute("data-drawn") for at in range(panels.count())]
        box = first.locator(".ex-room").bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.25, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.45, middle, steps=5)
        page.mouse.up()
        page.wait_for_function(FOLLOWED, arg=before, timeout=WAIT_MS)
        axes = page.eval_on_selector_all(".ex-chart", AXES)
        assert len(set(axes)) == 1
        assert axes[0].startswith("09:0")

        # Copy, paste, run: the same numbers.
        page.get_by_role("button", name="Copy code").click()
        page.wait_for_selector(".ex-code", timeout=WAIT_MS)
        code = page.input_value(".ex-code")
        made: dict = {}
        exec(code, made)  # noqa: S102 (the code is what is tested)
        shown = first.locator(".ex-legend b").first.inner_text()
        peak = made["data_1"].filter(made["pl"].col("name") == "report-batch")["value"].quantile(0.95, "linear")
        assert float(shown) == pytest.approx(peak, rel=0.01)
        assert made["data_1"]["time"].min() > ex.open(made["rec"].source).meta["start"]

        cell = page.locator(".jp-CodeCell").nth(2)
        cell.locator(".cm-content").click()
        page.keyboard.insert_text(code)
        page.keyboard.press("Shift+Enter")
        page.wait_for_function(
            "document.querySelectorAll('.jp-CodeCell')[2].querySelector('.jp-OutputArea svg, .jp-OutputArea canvas')",
            timeout=WAIT_MS,
        )
        # The second cell: a chart of a function of ours, by JupyterLab's own runtime.
        assert page.locator(".jp-CodeCell").nth(1).locator(".jp-OutputArea svg, .jp-OutputArea canvas").count() > 0
        assert problems == []
