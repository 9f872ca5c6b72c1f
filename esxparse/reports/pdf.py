"""A page as PDF, printed by Chromium: the style for paper is part of the page."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from esxparse.errors import EsxparseError
from esxparse.whole import Scratch

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_CHARTS_MS: Final = 60_000
"""Limit of the page's own clock for drawing its charts; it runs as fast as the drawing."""
_LONGEST_S: Final = 300
_WINDOW: Final = "1100,1400"
"""Pixels: wider than the page that `.ex-printing` lays out for paper, or the charts would be scaled up."""


def browser() -> str:
    """Return the path of a browser that can print.

    Raises EsxparseError: There is no such browser.
    """
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        problem = "a PDF is printed by Chromium or Chrome, and none is on the PATH"
        raise EsxparseError(
            f"{problem} ({', '.join(BROWSERS)}): install one, or write HTML and print it from a browser"
        )
    return found


def _paper() -> str:
    """Return A4, or Letter if `PAPERSIZE` in the environment requests it, as in other printing programs."""
    return "Letter" if os.environ.get("PAPERSIZE", "").strip().lower() == "letter" else "A4"


def printed(page: str) -> bytes:
    """Return the page as PDF on A4, its charts drawn; `PAPERSIZE=letter` in the environment makes it Letter.

    Raises EsxparseError: The browser did not print the page.
    """
    program = browser()
    with Scratch() as folder:
        source, made = folder / "report.html", folder / "report.pdf"
        # Charts and their legends take the width of the paper from the start.
        page = page.replace("<html ", '<html class="ex-printing" ', 1)
        page = page.replace("</head>", f"<style>@page{{size:{_paper()}}}</style></head>", 1)
        source.write_text(page, encoding="utf-8")
        command = [
            program,
            "--headless",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            f"--user-data-dir={folder / 'profile'}",
            # Chromium's sandbox refuses root. The page runs only its own scripts, and makes no requests.
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
            f"--virtual-time-budget={_CHARTS_MS}",
            f"--window-size={_WINDOW}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={made}",
            source.as_uri(),
        ]
        try:
            # A browser from the PATH, and names made here.
            done = subprocess.run(command, capture_output=True, timeout=_LONGEST_S, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EsxparseError(f"{program} could not print the report: {error}") from None
        content = made.read_bytes() if made.is_file() else b""
        if not content.startswith(b"%PDF"):
            why = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            raise EsxparseError(f"{Path(program).name} could not print the report: {why[0][:300]}")
        return content
