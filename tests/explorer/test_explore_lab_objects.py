"""Heat maps, pages of objects, labels and a guest beside its host, in real JupyterLab on a laptop's screen."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest
from guests import sar
from lab_server import WAIT_MS, notebook, page_of, run_all

import esxparse as ex

pytestmark = [pytest.mark.search, pytest.mark.needs("anywidget", "chromium", "jupyterlab", "playwright")]

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"
CELLS = [
    f"import esxparse as ex\nrec = ex.open({str(BUSY)!r})\napp = ex.explore(rec)\napp",
    "beside = ex.explore(rec, guest='sar.txt')\nbeside",
]
DRAWN = """words => document.querySelector('.ex-object')?.textContent.includes(words)
    && [...document.querySelectorAll('.ex-panel')].every(one => one.dataset.drawn)"""


def test_from_a_heat_map_to_a_vm_to_its_device_and_back(tmp_path):
    rec = ex.open(BUSY)
    ran = rec["vm"].filter(pl.col("instance") == "orders-app").select("time", "run_pct").collect()
    (tmp_path / "sar.txt").write_text(sar("orders-app", ran.rows(), timedelta(minutes=7)), encoding="utf-8")
    (tmp_path / "first.ipynb").write_text(notebook(CELLS), encoding="utf-8")
    with page_of(tmp_path) as (address, page, problems):
        page.goto(f"{address}/lab/tree/first.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, WAIT_MS)
        apps = page.locator(".ex-explorer[data-ready]")
        apps.nth(1).wait_for(timeout=WAIT_MS)
        app, beside = apps.nth(0), apps.nth(1)
        panels, said = app.locator(".ex-panel"), app.locator(".ex-said")

        # The guest and its host, and what the guest cannot see.
        guest = beside.locator(".ex-guest").inner_text()
        assert "time was stolen" in guest
        assert "shown 7 min earlier" in guest
        assert "guest busy" in beside.locator(".ex-legend").inner_text()

        # What is under the pointer is written in the other half of the chart; labels and limits are in the chart.
        room = panels.nth(0).locator(".ex-room")
        box = room.bounding_box()
        for share, side in ((0.3, "right"), (0.8, "left")):
            page.mouse.move(box["x"] + box["width"] * share, box["y"] + 60)
            tip = room.locator(".ex-tip").bounding_box()
            middle = box["x"] + box["width"] / 2
            assert (tip["x"] > middle) if side == "right" else (tip["x"] + tip["width"] < middle)
        assert "% · report-batch" in room.locator(".ex-tip").inner_text()
        assert "critical 10 %" in panels.nth(1).locator(".ex-chart").inner_text()

        # A cell of the heat map opens its VM at its time.
        app.get_by_role("button", name="Heat map").click()
        app.get_by_text("all 8 VMs, the worst first").first.wait_for(timeout=WAIT_MS)
        box = panels.nth(0).locator("svg .mark-rect").first.bounding_box()
        page.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + 4)
        page.wait_for_function(DRAWN, arg="VM orders-app", timeout=WAIT_MS)
        assert "09:0" in said.inner_text()
        titles = [one.split("\n")[0] for one in panels.all_inner_texts()]
        assert titles[0].startswith("CPU")
        assert any("uplinks of its switch" in one for one in titles)
        assert "No finding" not in app.locator(".ex-below h4").first.inner_text()

        # Its device, one of the users there, and back to the heat map in three steps.
        app.locator(".ex-object .ex-name", has_text="naa.").click()
        page.wait_for_function(DRAWN, arg="device naa.", timeout=WAIT_MS)
        app.locator(".ex-legend .ex-name", has_text="files-02").first.click()
        page.wait_for_function(DRAWN, arg="VM files-02", timeout=WAIT_MS)
        for words in ("device naa.", "VM orders-app", ""):
            app.get_by_role("button", name="← Back").click()
            page.wait_for_function(DRAWN, arg=words, timeout=WAIT_MS)
        assert app.locator(".ex-object").inner_text() == ""
        app.get_by_text("all 8 VMs, the worst first").first.wait_for(timeout=WAIT_MS)

        # A name in a chip and in the search; small lines beside what changed.
        app.locator(".ex-chip .ex-name", has_text="report-batch").first.click()
        page.wait_for_function(DRAWN, arg="VM report-batch", timeout=WAIT_MS)
        app.locator("input[type=search]").first.fill("vmnic1")
        page.keyboard.press("Enter")
        page.wait_for_function(DRAWN, arg="uplink vmnic1", timeout=WAIT_MS)
        app.get_by_role("button", name="What changed").click()
        app.locator(".ex-spark polyline").nth(11).wait_for(timeout=WAIT_MS, state="attached")
        assert problems == []
