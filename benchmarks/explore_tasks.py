"""Three questions of an analyst, answered in the explorer in real JupyterLab: clicks and seconds; adds to RESULTS.md.

`python benchmarks/explore_tasks.py`: each question is asked `ROUNDS` times of the bundled capture. Seconds are those
that the machine took, from the first click to the answer on the screen: people think longer. The steps of esx-doctor
are counted from its README; it was not run. For VisualEsxtop there is no manual to count from.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median as middle
from typing import TYPE_CHECKING

import sections

import esxparse as ex

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from lab_server import page_of

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Position

ROUNDS, WAIT_MS = 5, 180_000
DRAWN = """words => document.querySelector('.ex-explorer').textContent.includes(words)
    && [...document.querySelectorAll('.ex-panel')].every(one => one.dataset.drawn)"""


class Asked:
    """A page on which clicks are counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def click(self, what: Locator, position: Position | None = None) -> None:
        """A click on a part of the page."""
        self.clicks += 1
        what.click(timeout=WAIT_MS, position=position, force=position is not None)

    def until(self, words: str) -> None:
        """Waits for words on the page, and until all panels are drawn."""
        self.page.wait_for_function(DRAWN, arg=words, timeout=WAIT_MS)


def who_waits(one: Asked) -> None:
    """The heat map shows who waited at 09:02; a click on the cell opens the VM at that time."""
    one.click(one.page.get_by_role("button", name="Heat map"))
    one.until("the worst first")
    first = one.page.locator(".ex-panel").first.locator("svg .mark-rect").first
    width = first.evaluate("one => one.getBoundingClientRect().width")
    one.click(first, {"x": 0.22 * width, "y": 4})
    one.until("VM orders-app at 09:02")


def which_lun(one: Asked) -> None:
    """The latency split names the worst device; its page shows who uses it."""
    one.click(one.page.get_by_role("button", name="Latency split"))
    one.until("guest latency")
    one.click(one.page.locator(".ex-legend .ex-name").first)
    one.until("Commands of the VMs that use it")


def just_before(one: Asked) -> None:
    """The chip of the finding opens its spell; what changed at its start."""
    one.click(one.page.locator(".ex-chip button").first)
    one.until("latency")
    one.click(one.page.get_by_role("button", name="What changed"))
    one.page.locator(".ex-spark").first.wait_for(timeout=WAIT_MS)


# By the "workflow in practice" of its README: a report family, an attribute, each instance, Load, and the pointer.
TASKS = {
    "who waits for CPU at 09:02?": (who_waits, "4, and one for each vCPU"),
    "which LUN is slow, and who uses it?": (which_lun, "8, and one for each device and each world"),
    "what happened just before the spike?": (just_before, "4 for each counter that one thinks of"),
}


def main() -> None:
    """Measures and writes the section."""
    first, judged = [], []
    asked: dict[str, list[float]] = {name: [] for name in TASKS}
    clicks = {}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ex.datasets_dir() / "busy-host" / "busy-host.csv", folder)
        with page_of(Path(folder)) as (address, page, _):
            page.set_viewport_size({"width": 1440, "height": 900})
            for _ in range(ROUNDS):
                page.goto(f"{address}/lab?reset", wait_until="domcontentloaded")
                item = page.locator(".jp-DirListing-item", has_text="busy-host.csv")
                item.wait_for(timeout=WAIT_MS)
                began = time.perf_counter()
                item.dblclick()
                page.wait_for_selector(".ex-panel[data-drawn]", timeout=WAIT_MS)
                first.append(time.perf_counter() - began)
                page.wait_for_selector(".ex-explorer[data-ready]", timeout=WAIT_MS)
                judged.append(time.perf_counter() - began)
                for name, (act, *_) in TASKS.items():
                    one = Asked(page)
                    began = time.perf_counter()
                    act(one)
                    asked[name].append(time.perf_counter() - began)
                    clicks[name] = one.clicks
                    one.click(page.get_by_role("button", name="Ready", exact=True))
                    one.click(page.get_by_role("button", name="Whole time"))
                    one.until("ready time")
    load = os.getloadavg()[0]
    lines = [
        f"Made by `python benchmarks/explore_tasks.py`: JupyterLab, the bundled capture, medians of {ROUNDS} rounds.",
        "The steps of esx-doctor are counted from its README; it was not run. VisualEsxtop has no manual to count in.",
        "",
        "| question | clicks | seconds | steps in esx-doctor |",
        "|---|---:|---:|---|",
        *(f"| {name} | {clicks[name]} | {middle(asked[name]):.1f} | {theirs} |" for name, (_, theirs) in TASKS.items()),
        "",
        f"Double click to the first chart {middle(first):.1f} s, to the findings {middle(judged):.1f} s.",
        *([f"Load average {load:.0f} on {os.cpu_count()} processors meanwhile."] if load > 1 else []),
    ]
    sections.put("Questions asked of the explorer", lines)
    print("\n".join(lines))
    print([round(one, 2) for one in first], [round(one, 2) for one in judged])


if __name__ == "__main__":
    main()
