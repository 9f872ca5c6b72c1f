"""A capture that grows, in the explorer in real JupyterLab: what is drawn, judged and said meanwhile."""

from __future__ import annotations

import pytest
from lab_server import WAIT_MS, notebook, page_of, run_all

import esxparse as ex

pytestmark = [pytest.mark.search, pytest.mark.needs("anywidget", "chromium", "jupyterlab", "playwright")]


def test_a_capture_that_grows_is_drawn_and_judged_anew_and_its_troubles_pass(tmp_path):
    lines = (ex.datasets_dir() / "busy-host" / "busy-host.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "growing.csv"
    path.write_text("".join(lines[:4]), encoding="utf-8")
    cell = "import esxparse as ex\nex.follow('growing.csv', every=0.2)"
    (tmp_path / "follow.ipynb").write_text(notebook([cell]), encoding="utf-8")
    with page_of(tmp_path) as (address, page, problems):
        page.goto(f"{address}/lab/tree/follow.ipynb?reset", wait_until="domcontentloaded")
        run_all(page, WAIT_MS)
        page.wait_for_selector(".ex-explorer[data-ready]", timeout=WAIT_MS)
        title, said, below = page.locator(".ex-title"), page.locator(".ex-said"), page.locator(".ex-below")
        assert "3 samples" in title.inner_text()
        slowed = below.get_by_text("backup-proxy moved")
        assert slowed.count() == 0

        path.unlink()
        said.get_by_text("growing.csv cannot be followed").wait_for(timeout=WAIT_MS)
        path.write_text("".join(lines[:60]), encoding="utf-8")
        title.get_by_text("59 samples").wait_for(timeout=WAIT_MS)
        page.wait_for_function("!document.querySelector('.ex-said').textContent", timeout=WAIT_MS)

        for at in range(60, len(lines)):
            with path.open("a", encoding="utf-8") as file:
                file.write(lines[at])
            page.wait_for_function(
                f"document.querySelector('.ex-title').textContent.includes('{at} samples')", timeout=WAIT_MS
            )
            if slowed.count():
                break
        assert slowed.count() > 0
        assert problems == []
