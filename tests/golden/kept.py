"""The texts on disk: compared with what the code gives now, or written again."""

from __future__ import annotations

import os
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

TEXTS = Path(__file__).parent / "texts"
RENEW = "ESXPARSE_RENEW_GOLDEN"
MOST = 60
"""Lines of a difference that a failed test prints."""


def check(area: str, name: str, lines: Iterable[str]) -> None:
    """Compares lines with the golden text of that name; with ESXPARSE_RENEW_GOLDEN set, it writes the text."""
    path = TEXTS / area / f"{name}.txt"
    now = [part for line in lines for part in line.split("\n")]
    if os.environ.get(RENEW):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*now, ""]), encoding="utf-8")
        return
    kept = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    changed = list(unified_diff(kept, now, "kept", "now", lineterm="", n=1))
    more = [f"... {len(changed) - MOST} more lines"] if len(changed) > MOST else []
    assert not changed, "\n".join(
        [f"{area}/{name} changed; if on purpose: make golden, and read git diff", *changed[:MOST], *more]
    )
