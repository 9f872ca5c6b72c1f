"""Open a finished page in real Chromium and write down everything that happens.

The browser is cut off from the network, and every request it tries is counted all the same.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

CHARTS_READY = "document.documentElement.dataset.charts === 'ready' || !document.querySelector('figure[data-spec]')"


@dataclass(slots=True)
class Opened:
    """A page and what it did: addresses it asked for, dialogs, and what it wrote to the console."""

    page: Page
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def charts(self) -> list[tuple[float, float]]:
        """Width and height of the drawing of every chart on the page, 0 without a drawing."""
        sizes = self.page.eval_on_selector_all(
            "figure[data-spec]",
            "all => all.map(f => { const s = f.querySelector('svg, canvas');"
            " const b = s ? s.getBoundingClientRect() : {width: 0, height: 0}; return [b.width, b.height] })",
        )
        return [(width, height) for width, height in sizes]

    def hidden_words(self) -> list[str]:
        """Words in charts that the drawing's own edge cuts off: legends, axes, labels of thresholds."""
        found: list[str] = self.page.evaluate(
            "[...document.querySelectorAll('figure[data-spec]')].flatMap(f => {"
            " const d = f.querySelector('svg').getBoundingClientRect();"
            " return [...f.querySelectorAll('svg text')].filter(t => { const b = t.getBoundingClientRect();"
            " return b.width && (b.top < d.top - 2 || b.bottom > d.bottom + 2"
            " || b.left < d.left - 2 || b.right > d.right + 2) }).map(t => t.textContent) })"
        )
        return found

    def overflow(self) -> float:
        """Pixels by which the page is wider than its window."""
        wide: float = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return wide


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"),
            headless=True,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser,
    path: Path,
    width: int = 1440,
    height: int = 900,
    *,
    scheme: str = "light",
    zone: str = "Asia/Tokyo",
) -> Iterator[Opened]:
    """The file at `path`, opened with the network off and all its charts drawn.

    Args:
        browser: From `chromium`.
        path: An HTML file.
        width: Of the window, pixels.
        height: Of the window, pixels.
        scheme: "light" or "dark".
        zone: Time zone of the reader, by default one far from UTC.
    """
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,  # type: ignore[arg-type]
        timezone_id=zone,
        offline=True,
        # Scrolling that takes time would move things from under the pointer.
        reduced_motion="reduce",
    )
    try:
        page = context.new_page()
        seen = Opened(page)
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: seen.problems.append(str(error)))
        page.on(
            "console",
            lambda said: (
                seen.problems.append(f"{said.type}: {said.text}") if said.type in {"error", "warning"} else None
            ),
        )
        page.goto(path.resolve().as_uri())
        page.wait_for_function(CHARTS_READY, timeout=60_000)
        yield seen
    finally:
        context.close()
