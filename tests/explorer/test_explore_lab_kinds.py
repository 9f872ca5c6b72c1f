"""Recordings of every kind in real JupyterLab, on a desk's screen and a phone's: what they open with."""

from __future__ import annotations

import shutil

import pytest
from lab_server import WAIT_MS, notebook, page_of, run_all

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


def test_a_line_ends_where_samples_are_missing_and_a_lone_sample_is_a_point(tmp_path):
    whole = ex.datasets_dir() / "busy-host" / "busy-host.csv"
    shutil.copy(whole, tmp_path / "whole.csv")
    lines = whole.read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "gaps.csv").write_text("".join(lines[:40] + lines[70:71] + lines[90:]), encoding="utf-8")
    view = {"panels": [{"counter": "%RDY", "table": "group_cpu", "n": 1}]}
    cells = ["import esxparse as ex", *(f"ex.explore({name!r}, view={view})" for name in ("whole.csv", "gaps.csv"))]
    (tmp_path / "gaps.ipynb").write_text(notebook(cells), encoding="utf-8")
    with page_of(tmp_path) as (address, page, problems):
        page.goto(f"{address}/lab/tree/gaps.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, WAIT_MS)
        apps = page.locator(".ex-explorer[data-ready]")
        apps.nth(1).wait_for(timeout=WAIT_MS)
        # A series of one sample has a path too, which is not seen.
        for app, pieces, points in zip(apps.all(), (1, 3), (0, 1), strict=True):
            assert app.locator("svg .mark-line path").count() == pieces
            assert app.locator("svg .mark-symbol path:not([opacity='0'])").count() == points
            assert app.locator("summary").all_inner_texts() == ["1 note on the file"] * points
        page.locator("summary").click()
        page.get_by_text("samples are missing there").first.wait_for(timeout=WAIT_MS)
        assert problems == []
