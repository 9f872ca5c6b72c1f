"""Each benchmark writes a section of its own, in RESULTS.md unless told, and leaves the others as they are."""

from __future__ import annotations

import re
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"


def put(heading: str, lines: list[str], path: Path = RESULTS) -> None:
    """Writes the section `## heading`, in the place of the one of that name."""
    text = path.read_text(encoding="utf-8") if path.exists() else "# Results\n"
    section = "\n".join([f"## {heading}", "", *lines]) + "\n"
    place = re.compile(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    text = place.sub(lambda _: section + "\n", text) if place.search(text) else f"{text.rstrip()}\n\n{section}"
    path.write_text(text.rstrip() + "\n", encoding="utf-8")
