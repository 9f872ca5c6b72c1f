"""What `esxparse collect host` noted beside its captures: samples that are missing, and why."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from esxparse.recording import Note, printable

NAME: Final = "collected.jsonl"
COLLECTOR: Final = "esxparse collect host"

_LARGEST: Final = 16 << 20


def notes(capture: Path) -> list[Note]:
    """Notes on a capture that stands beside such a file: one for each time at which its collector had no connection."""
    return [Note(text, severity="warning") for gap in _gaps(capture) if (text := _text(gap, capture.name))]


def successor(capture: Path) -> str | None:
    """Return the name of the file in which a capture went on with other columns; None if it did not."""
    later = (gap.get("file") for gap in _gaps(capture) if gap.get("before") == capture.name)
    return next((printable(str(name)) for name in later if name != capture.name), None)


def _gaps(capture: Path) -> list[dict[str, Any]]:
    beside = capture.parent / NAME
    try:
        if beside.stat().st_size > _LARGEST:
            return []
        lines = beside.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = [one for line in lines if isinstance(one := _parsed(line), dict)]
    if not found or found[0].get("collector") != COLLECTOR:
        return []
    return [gap for one in found if isinstance(gap := one.get("gap"), dict)]


def _parsed(line: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(line)
    return None


def _text(gap: dict[str, Any], name: str) -> str:
    before, after, why = (printable(str(gap.get(key, ""))) for key in ("before", "file", "why"))
    if name not in {before, after}:
        return ""
    spell = (
        f"from {printable(str(gap.get('from')))} to {printable(str(gap.get('to')))} no samples were collected ({why})"
    )
    if before == after:
        return spell
    return f"{spell}: it goes on in {after}" if name == before else f"{spell}: what was before is in {before}"
