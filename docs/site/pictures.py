"""Take the pictures of the README: the first screens of the report and of the explorer on the bundled host.

`make pictures` writes docs/pictures/{report,explorer}-{light,dark}.png. It needs Chromium.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import esxparse as ex

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from browser import chromium  # noqa: E402
from lab_server import WAIT_MS, lab  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOLDER = ROOT / "docs" / "pictures"
CAPTURE = ex.datasets_dir() / "busy-host" / "busy-host.csv"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


def opened(browser: Browser, colours: str, height: int) -> Page:
    """A page of a laptop's width in light or dark colours."""
    context = browser.new_context(
        viewport={"width": 1280, "height": height},
        color_scheme="dark" if colours == "dark" else "light",
        reduced_motion="reduce",
    )
    return context.new_page()


def picture_report(browser: Browser, page_file: Path, colours: str) -> None:
    """Write the picture of the report's first screen."""
    page = opened(browser, colours, 800)
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-charts=ready]")
    page.screenshot(path=FOLDER / f"report-{colours}.png")


def picture_explorer(browser: Browser, work: Path, colours: str) -> None:
    """Write the picture of the explorer, as a double click on the capture opens it."""
    folder = work / colours
    settings = folder / "set" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "themes.jupyterlab-settings").write_text(json.dumps({"theme": THEMES[colours]}), encoding="utf-8")
    (settings / "notification.jupyterlab-settings").write_text(json.dumps({"fetchNews": "false"}), encoding="utf-8")
    shutil.copy(CAPTURE, folder)
    with lab(folder) as address:
        page = opened(browser, colours, 800)
        page.goto(f"{address}/doc/tree/{CAPTURE.name}?reset", wait_until="domcontentloaded")
        page.wait_for_selector(".ex-explorer[data-ready]", timeout=WAIT_MS)
        page.wait_for_selector(".ex-panel[data-drawn] svg", timeout=WAIT_MS)
        page.get_by_text("report-batch").first.wait_for(timeout=WAIT_MS)
        # The panels that are drawn last.
        page.wait_for_timeout(3000)
        page.screenshot(path=FOLDER / f"explorer-{colours}.png")


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ex-") as work, chromium() as browser:
        report = ex.report(CAPTURE, output=Path(work, "report.html"))
        for colours in THEMES:
            picture_report(browser, report, colours)
            picture_explorer(browser, Path(work), colours)


if __name__ == "__main__":
    main()
