"""The findings of a capture as the page of the explorer shows them."""

from __future__ import annotations

from typing import Any, Final

from esxparse.diagnosis.diagnose import diagnose
from esxparse.diagnosis.evidence import columns
from esxparse.explorer.views import has
from esxparse.recording import Recording, printable

_PANELS: Final = 3
"""Panels that a click on a finding opens."""


def findings(rec: Recording) -> list[dict[str, Any]]:
    """Return findings above info, most important first.

    Each has `severity`, `title`, `verdict`, `likelihood` and `basis` (of the confidence), `panels` (at most 3 of its
    counters), `kind` and `name` of its object, `names` (of its object and of the symptoms under it), `start` and `end`
    (milliseconds; None if it has no time).
    """
    return [
        {
            "severity": one.severity,
            "title": one.title,
            "panels": [
                panel for table, column in columns(one) if has(rec, panel := {"counter": column, "table": table})
            ][:_PANELS],
            "verdict": printable(one.verdict),
            "likelihood": one.likelihood,
            "basis": one.basis,
            "kind": one.entity["kind"],
            "name": printable(one.entity["name"]),
            "names": list(dict.fromkeys([one.entity["name"], *(each["name"] for each in one.also)])),
            "start": one.start.timestamp() * 1000 if one.start else None,
            "end": one.end.timestamp() * 1000 if one.end else None,
        }
        for one in diagnose(rec)
        if one.severity != "info"
    ]
