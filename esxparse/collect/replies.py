"""Raw replies of a host's Esxtop service in a file: JSON lines, each a gzip member, readable while it grows.

Lines
-----
first       {"what", "version", "server", "host", "release", "build", "api", "interval", "started", "collector", "skew"}
replies     {"operation", "before", "after", "reply"}; the times are of this machine's clock, UTC
gaps        {"gap", "before", "after"}: no sample between these times, and the reason

The reader is `esxparse.formats.esxtop_api`. No line has a user name or a password.
"""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from esxparse.collect.lines import iso
from esxparse.collect.samples import append_member
from esxparse.formats.esxtop_api.stored import COLLECTED, VERSION
from esxparse.version import __version__

NAME: Final = "esxtop-api.jsonl.gz"
_LEVEL: Final = 6


def now() -> datetime:
    """Return the time of this machine's clock."""
    return datetime.now(UTC)


class Replies:
    """The file of one collection."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path = path
        self.samples = 0
        self.gaps = 0
        self.last: datetime | None = None
        """When the last sample was complete."""
        ours = {"started": _stamp(now()), "collector": f"esxparse {__version__}"}
        self._waiting = [{"what": COLLECTED, "version": VERSION, **about, **ours}]

    def info(self, before: datetime, reply: str) -> None:
        """Keep a reply of `CounterInfo`; it is written with the next sample, which it explains."""
        header = [line for line in self._waiting if "what" in line]
        self._waiting = [*header, _line("CounterInfo", before, reply)]

    def sample(self, before: datetime, reply: str, gap: str | None = None) -> None:
        """Write a reply of `FetchStats` with what waits for it; `gap` is why there are no samples right before it."""
        lines = [*self._waiting, _line("FetchStats", before, reply)]
        if gap:
            lines.insert(0, self._gap(gap, lines[0]["before"]))
        self._write(lines)
        self._waiting = []
        self.samples += 1
        self.last = now()

    def end(self, gap: str) -> None:
        """Write that samples were missing at the end, and why."""
        self._write([self._gap(gap, _stamp(now()))])

    def missing_s(self) -> float:
        """Return the seconds since the last sample."""
        return (now() - self.last).total_seconds() if self.last else 0.0

    def _gap(self, why: str, after: str) -> dict[str, Any]:
        self.gaps += 1
        return {"gap": why, "before": _stamp(self.last or now()), "after": after}

    def freed(self, before: datetime, reply: str) -> None:
        """Write the reply of `FreeStats`."""
        self._write([_line("FreeStats", before, reply)])

    def _write(self, lines: list[dict[str, Any]]) -> None:
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        append_member(self.path, gzip.compress(text.encode("utf-8", "replace"), _LEVEL))


def _line(operation: str, before: datetime, reply: str) -> dict[str, Any]:
    return {"operation": operation, "before": _stamp(before), "after": _stamp(now()), "reply": reply}


def _stamp(moment: datetime) -> str:
    return iso(moment, "microseconds")
