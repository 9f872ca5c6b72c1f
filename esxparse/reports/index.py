"""The index of a batch: one searchable, sortable page with every item, worst first, as a heat map of areas."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader

from esxparse import clock
from esxparse.charts.theme import palette
from esxparse.diagnosis import confidence
from esxparse.diagnosis.areas import AREAS
from esxparse.locations import legible
from esxparse.recording import counted, first_few, printable
from esxparse.reports.batch_items import Item
from esxparse.reports.export import policy

_FILES: Final = Path(__file__).parent / "html"
_RANK: Final = {"critical": 4, "warning": 3, "info": 2, "ok": 1, "none": 0}
_WORDS: Final = {"ok": "ok", "none": "not judged"}
_HEADING: Final = {
    "critical": ("critical",),
    "with warnings": ("warning",),
    "without troubles": ("info", "ok"),
    "not judged": ("none",),
}
"""Words in the heading for reports, by their worst level."""
_WIDTH: Final = 120
_HEIGHT: Final = 26


def page(
    items: Sequence[Item],
    results: Mapping[str, dict[str, Any]],
    left_out: Sequence[tuple[str, str]] = (),
    form: str = "html",
) -> str:
    """Return the page, as self-contained HTML.

    Args:
        items: All items of the batch, with their names.
        results: State of each by name: `facts` from `facts.facts`, or the reason for a failure as `why`.
        left_out: Files that were not items, with the reason.
        form: Ending of the reports' names.
    """
    made = [_row(item, results[item.name].get("facts", {}), form) for item in items if "why" not in results[item.name]]
    failed = [
        {"name": item.name, "inputs": _inputs(item), "why": _why(item, results[item.name]["why"])}
        for item in items
        if "why" in results[item.name]
    ]
    made.sort(key=lambda row: (-row["rank"], row["name"].casefold()))
    script = (_FILES / "tables.js.j2").read_text(encoding="utf-8")
    style = "".join((_FILES / name).read_text(encoding="utf-8") for name in ("report.css", "index.css"))
    # The template escapes everything but the style and the script, which are ours.
    environment = Environment(loader=FileSystemLoader(_FILES), autoescape=True)
    return environment.get_template("index.html.j2").render(
        rows=made,
        failed=failed,
        left_out=[(printable(_name(name)), printable(legible(why))) for name, why in left_out],
        heading=_heading([row["worst"] for row in made], len(failed)),
        areas=AREAS,
        words=_WORDS,
        style=style + palette(),
        script=script,
        policy=policy([script]),
    )


def _heading(levels: Sequence[str], failed: int) -> str:
    """Return the number of reports by their worst level; every report counts once.

    >>> _heading(["critical", "ok", "info", "none"], 1)
    '5 reports: 1 critical, 2 without troubles, 1 not judged, 1 failed'
    """
    counts = {words: sum(levels.count(level) for level in some) for words, some in _HEADING.items()} | {
        "failed": failed
    }
    each = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
    return f"{counted(len(levels) + failed, 'report')}: {each}"


def _row(item: Item, facts: Mapping[str, Any], form: str) -> dict[str, Any]:
    areas = {area: str(facts.get("areas", {}).get(area, "none")) for area in AREAS}
    findings = facts.get("findings", [])
    levels = [str(one["severity"]) for one in findings]
    worst = max([*areas.values(), *levels], key=lambda level: _RANK.get(level, 0))
    is_present = any(one["severity"] == worst and not _standing(one, facts) for one in findings)
    per_area = sum(_RANK.get(level, 0) ** 3 for level in areas.values())
    values = [value for value in facts.get("cpu_pct", []) if value is not None]
    return {
        "name": printable(item.name),
        "href": quote(f"{item.name}.{form}"),
        "host": printable(str(facts.get("host", ""))),
        "inputs": _inputs(item),
        "template": _name(item.template),
        "sure": _sure(findings),
        "verdict": printable(str(facts.get("verdict") or "No diagnosis in this kind of report.")),
        "areas": areas,
        "ranks": {area: _RANK.get(level, 0) for area, level in areas.items()},
        "worst": worst,
        "rank": _RANK.get(worst, 0) * 10**8
        + is_present * 10**7
        + levels.count("critical") * 10**4
        + levels.count("warning") * 10**2
        + per_area / 1e3,
        "notes": facts.get("notes", 0),
        "cpu": round(sum(values) / len(values), 1) if values else None,
        "line": _line(facts.get("cpu_pct", [])),
    }


def _standing(finding: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Return whether a finding lasts from the first sample of its recording to the last."""
    spell = finding.get("start"), facts.get("start"), facts.get("end"), finding.get("end")
    if not all(spell):
        return False
    since, first, last, until = (datetime.fromisoformat(str(one)) for one in spell)
    return clock.always(since, until, (first, last))


def _sure(findings: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return the confidence of the finding in an item's verdict, in a word, and the tooltip of that word."""
    first = next((one for one in findings if one["severity"] != "info"), None)
    if first is None:
        return "", ""
    of_study = first["entity"]["kind"] == "runs"
    return confidence.word(first["confidence"]), confidence.basis(first["confidence"], of_study=of_study)


def _inputs(item: Item) -> str:
    return printable(first_few([_name(path) for path in item.inputs], 1))


def _why(item: Item, why: str) -> str:
    for path in item.inputs:
        why = why.replace(path, _name(path))
    return printable(why)


def _name(path: str) -> str:
    """Return the file name alone: the index is shared like pages, and must not contain local paths."""
    return legible(os.path.basename(path))  # noqa: PTH119  a URL too


def _line(values: Sequence[float | None]) -> list[str]:
    """Return points of a sparkline from 0 to 100 %, a polyline for each stretch without a gap."""
    step = _WIDTH / max(len(values) - 1, 1)
    stretches: list[list[str]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            stretches.append([])
        else:
            stretches[-1].append(f"{place * step:.1f},{_HEIGHT * (1 - min(max(value, 0), 100) / 100):.1f}")
    return [" ".join(points) for points in stretches if len(points) > 1]
