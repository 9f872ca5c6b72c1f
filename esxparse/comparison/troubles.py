"""Findings before and after: which came, went, got worse or milder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from esxparse.comparison.pairs import new_name
from esxparse.comparison.series import Gathered
from esxparse.diagnosis.diagnose import diagnose
from esxparse.diagnosis.finding import Finding
from esxparse.diagnosis.findings import SEVERITIES
from esxparse.schema import schema

CAME: Final = "came"
WENT: Final = "went"
WORSE: Final = "worse"
MILDER: Final = "milder"
STAYED: Final = "stayed"
_ORDER: Final = (CAME, WORSE, WENT, MILDER, STAYED)
_COLUMNS: Final = schema("what trouble kind name severity_before severity_after verdict next str")


def troubles(before: Gathered, after: Gathered, renamed: Mapping[str, str], profile: str) -> pl.DataFrame:
    """Return findings of both sides by trouble and object, the new ones first; harmless ones are left out."""
    old, new = _by_object(before, profile, renamed), _by_object(after, profile, {})
    rows = []
    for key in dict.fromkeys([*old, *new]):
        one, other = old.get(key), new.get(key)
        finding = other or one
        if finding is None:
            continue
        severities = (one.severity if one else None, other.severity if other else None)
        rows.append((_what(*severities), *key, *severities, finding.verdict, finding.next))
    frame = pl.DataFrame(rows, schema=_COLUMNS, orient="row")
    rank = {name: place for place, name in enumerate(_ORDER)}
    return frame.sort(pl.col("what").replace_strict(rank, return_dtype=pl.Int64), maintain_order=True)


def _what(before: str | None, after: str | None) -> str:
    if before is None:
        return CAME
    if after is None:
        return WENT
    step = SEVERITIES.index(after) - SEVERITIES.index(before)
    return STAYED if step == 0 else (WORSE if step < 0 else MILDER)


def _by_object(side: Gathered, profile: str, renamed: Mapping[str, str]) -> dict[tuple[str, str, str], Finding]:
    """Return the worst finding of each trouble and object."""
    found: dict[tuple[str, str, str], Finding] = {}
    for rec, series in zip(side.side.recordings, side.judged, strict=True):
        if series is None:
            continue
        for one in diagnose(rec, profile, series):
            if one.severity == "info":
                continue
            kind, name = one.entity["kind"], new_name(one.entity["name"], renamed)
            worst = found.setdefault((one.trouble, kind, name), one)
            if SEVERITIES.index(one.severity) < SEVERITIES.index(worst.severity):
                found[one.trouble, kind, name] = one
    return found
