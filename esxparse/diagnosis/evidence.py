"""The series behind a finding, for charts of findings: chosen by its case and by the limits of rules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl

from esxparse import clock
from esxparse.charts.findings import MAX_FAULT, Evidence
from esxparse.derived.tables import declared
from esxparse.diagnosis import cases, levels, rules
from esxparse.diagnosis.finding import NOUNS, Finding
from esxparse.diagnosis.rules import Rule
from esxparse.diagnosis.series import Matrix, Series, origin
from esxparse.diagnosis.symptoms import values
from esxparse.metrics import over_time

_SETTINGS: Final = re.compile(
    r"vcpus|pcpus|nodes|.*depth|.*_max_m.*|(size|machine|minfree)_mib|is_uplink|interval_s|steps_back|users"
)
"""Series that hardly change: a chart of them shows nothing."""


def of(finding: Finding, series: Series, times: Sequence[datetime], profile: str, most: int = 1) -> list[Evidence]:
    """Return the series of a finding: first the one that bounds its spell, then the strongest evidence."""
    case = _case(finding)
    if case is None or finding.start is None or finding.end is None:
        return []
    limits = rules.load(profile)
    # A constant trouble moves nothing.
    always = clock.always(finding.start, finding.end, times)
    moving: list[Evidence] = []
    still: list[Evidence] = []
    for name in case.series_read:
        kind, own, how = origin(case.kind, name)
        matrix = None if not own or _SETTINGS.fullmatch(own) else series.matrix(kind, own)
        drawn = {(one.words, one.noun) for one in (*moving, *still)}
        if matrix is None or (declared()[kind][own].name, _noun(kind)) in drawn:
            continue
        # All charts of a story show the same objects, except for evidence about others.
        fault = next((one.fault for one in moving if one.noun == _noun(kind) and not how.startswith("others")), ())
        fault = fault or _fault(finding, kind, how, matrix, series, times)
        seen = _evidence(finding, kind, own, series, fault, times, limits)
        mine = seen.table.filter(pl.col("name").is_in(fault))
        moves = name == case.level or mine["value"].n_unique() > len(fault)
        (moving if moves or (always and mine["value"].abs().max()) else still).append(seen)
        if len(moving) == most:
            break
    return [*moving, *(one for one in still if one.table["value"].abs().max())][:most]


def columns(finding: Finding) -> list[tuple[str, str]]:
    """Return table and column of the series that a finding rests on: the one that bounds its spell first."""
    case = _case(finding)
    origins = [origin(case.kind, name)[:2] for name in case.series_read] if case else []
    return list(dict.fromkeys((kind, own) for kind, own in origins if own and not _SETTINGS.fullmatch(own)))


def _case(finding: Finding) -> cases.Case | None:
    """Return the case of a finding: if several have its trouble, the one for this kind of object."""
    found = [one for one in cases.load() if one.trouble == finding.trouble]
    return next((one for one in found if one.kind == finding.entity["kind"]), next(iter(found), None))


def _fault(
    finding: Finding, kind: str, how: str, matrix: Matrix, series: Series, times: Sequence[datetime]
) -> tuple[str, ...]:
    """Return the objects that a finding is about; for another kind, the objects that are highest in its spell."""
    names = series.panels[kind].names
    if finding.entity["kind"] == kind and not how.startswith("others"):
        same = [one["name"] for one in finding.also if one["kind"] == kind and one["trouble"] == finding.trouble]
        return tuple(dict.fromkeys([finding.entity["name"], *same]))
    inside = np.array([finding.start <= one <= finding.end for one in times])  # type: ignore[operator]
    covered = None if series.covered is None else series.covered[inside]
    here = np.nan_to_num(over_time.averages(matrix[inside], covered), nan=-np.inf)
    ranked = [names[place] for place in np.argsort(-here) if names[place] != finding.entity["name"] or kind == "host"]
    return tuple(ranked[:MAX_FAULT])


def _evidence(
    finding: Finding,
    kind: str,
    name: str,
    series: Series,
    fault: tuple[str, ...],
    times: Sequence[datetime],
    limits: Mapping[str, Rule],
) -> Evidence:
    names, matrix = series.panels[kind].names, series.panels[kind].values[name]
    rule = next((one for one in limits.values() if one.kind == kind and one.value == name), None)
    stamps = pl.Series("time", times, dtype=pl.Datetime("us", "UTC"))
    table = pl.DataFrame(
        {
            "time": stamps.gather(np.repeat(np.arange(len(times)), len(names))),
            "name": list(names) * len(times),
            "value": matrix.reshape(-1),
        }
    ).with_columns(pl.col("value").fill_nan(None))
    column = declared()[kind][name]
    return Evidence(
        table.unique(["time", "name"], keep="first", maintain_order=True),
        fault,
        finding.start,  # type: ignore[arg-type]
        finding.end,  # type: ignore[arg-type]
        column.name,
        column.screen,
        rule.unit if rule else column.unit,
        _noun(kind),
        rule,
        level_of(rule, series, fault) if rule else "",
    )


def level_of(rule: Rule, series: Series, fault: tuple[str, ...]) -> str:
    """Return how bad some objects are by a rule; empty if all of them were too idle to be judged."""
    matrix = values([rule], series).get(rule.id)
    if matrix is None:
        return ""
    each = dict(zip(series.panels[rule.kind].names, levels.of_objects(rule, matrix, series.covered), strict=True))
    return min((each[name] for name in fault if name in each), key=levels.RANK.__getitem__, default="")


def _noun(kind: str) -> str:
    return NOUNS.get(kind, kind)
