"""Notes of `esxparse collect host` beside its captures: missing samples, and the reasons."""

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
    """Return notes on a capture beside such a file: one for each time at which its collector had no connection."""
    return [Note(text, severity="warning") for gap in _gaps(capture) if (text := _text(gap, capture.name))]


def successor(capture: Path) -> str | None:
    """Return the name of the file in which a capture continues with other columns; None if it does not."""
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
