"""Recordings of every kind in real JupyterLab, on a desk's screen and a phone's: what they open with."""

from __future__ import annotations

import pytest
from lab_server import notebook, run_all
from test_explore_lab import WAIT_MS, page_of

import esxparse as ex

pytestmark = [pytest.mark.search, pytest.mark.needs("anywidget", "chromium", "jupyterlab", "playwright")]

FORMATS = ex.datasets_dir() / "formats"
KINDS = {
    "vcenter-chart.csv": "value",
    "fio-offsets_lat.1.log": "value",
    "turbostat-samples.txt": "avg_mhz",
    "ipmi-dcmi-loop.txt": "watts",
    "iperf3-bidir.json": "bits_per_s",
}
# What is wider than the explorer it stands in.
TOO_WIDE = """() => [...document.querySelectorAll('.ex-explorer')].flatMap(app => {
    const right = app.getBoundingClientRect().right;
    return [...app.querySelectorAll('*')].filter(one => one.getBoundingClientRect().right > right + 1)
        .map(one => `${one.tagName}.${one.getAttribute('class')}`) })"""


@pytest.mark.parametrize("width", [1440, 390])
def test_each_kind_of_recording_opens_with_a_chart_and_without_a_complaint(tmp_path, width):
    cells = ["import esxparse as ex", *(f"ex.explore({str(FORMATS / name)!r})" for name in KINDS)]
    (tmp_path / "kinds.ipynb").write_text(notebook(cells), encoding="utf-8")
    with page_of(tmp_path) as (address, page, problems):
        page.set_viewport_size({"width": width, "height": 3600})
        page.goto(f"{address}/lab/tree/kinds.ipynb?reset", wait_until="domcontentloaded")
        if width < 1000:
            # The list of files has the place of the notebook.
            page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=WAIT_MS)
            page.keyboard.press("Control+b")
        run_all(page, WAIT_MS)
        apps = page.locator(".ex-explorer[data-ready]")
        apps.nth(len(KINDS) - 1).wait_for(timeout=WAIT_MS)
        for app, counter in zip(apps.all(), KINDS.values(), strict=True):
            assert app.locator(".ex-head b").inner_text() == counter
            assert app.locator("svg.marks").count() == 1
            assert app.locator(".ex-said").inner_text() == ""
            # Nothing but esxtop is diagnosed.
            assert app.get_by_role("button", name="Hotspots").count() == 0
            # The axis of time takes a line, not the width that the axis of values is given.
            chart, drawn = (app.locator(one).bounding_box() for one in ("svg.marks", "svg .mark-group.role-frame"))
            assert chart["height"] - drawn["height"] < 16
        # Large numbers beside the axis leave all panels the same span.
        assert page.evaluate(TOO_WIDE) == []
        assert problems == []
