"""Thresholds that a capture exceeds, with the object and the duration.

A limit must be exceeded for as long as its rule requires (`diagnosis.levels`): one sample of a hundred is reported as
`peaks`, not as a warning. Samples with less activity than the threshold's floor are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

import polars as pl

from esxparse.charts.names import LABEL_WIDTH, shorten
from esxparse.derived.panels import Matrix
from esxparse.diagnosis import levels
from esxparse.diagnosis.areas import area_of
from esxparse.diagnosis.blind import Reason, Why, by_reason, entry, unseen
from esxparse.diagnosis.findings import Findings
from esxparse.diagnosis.rules import Rule
from esxparse.diagnosis.series import Series
from esxparse.diagnosis.symptoms import values
from esxparse.metrics import over_time
from esxparse.recording import counted
from esxparse.reports import verdicts
from esxparse.reports.blocks import ABSENT, NOTHING, Block, note, stack, table
from esxparse.reports.columns import columns_of
from esxparse.schema import schema

_AREAS: Final = {"cpu": "CPU", "numa": "NUMA", "nfs": "NFS", "vsan": "vSAN", "vdisk": "Virtual disk"}
_THINGS: Final = {"vm": "VM", "nfs": "volume", "pcpu": "physical CPU", "vsan": "vSAN"}

_FEWEST: Final = 20
"""With fewer samples, one in twenty is less than one sample."""
_NEVER: Final = Reason(Why.CONDITION)

_WORST_FIRST: Final = pl.col("verdict").replace_strict(
    {"critical": 0, "warning": 1, "peaks": 2, "ok": 3}, return_dtype=pl.Int64
)
_NONE: Final[Mapping[tuple[str, str, str | None], str]] = MappingProxyType({})

_SCHEMA: Final = schema(
    "verdict id screen meaning object name kind str, objects of i64, p95 extreme over_pct warn critical f64, "
    "unit source str"
)


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:] if word.islower() else word


def judge(rules: Mapping[str, Rule], series: Series) -> pl.DataFrame:
    """Return the verdict on every rule whose counters the capture has, worst first.

    Args:
        rules: Rules by id, from `rules.load`.
        series: Series of the capture, from `diagnose.series_of`. Rules without values are left out; `not_judged` lists
            them.

    Returns:
        One row per rule:

        verdict   critical or warning: the level of the worst object; peaks: single samples pass; ok
        id, screen, meaning, unit, warn, critical, source   of the rule
        object    the worst object, short name
        name      the same, full name
        kind      kind of object: vm, device, port, pcpu, host ...
        objects   number of critical or warning objects, or of objects with passing samples if there are none
        of        number of judged objects
        p95       95th percentile of the worst object (5th if small values are bad)
        extreme   its worst sample
        over_pct  % of its samples' time that pass `warn`
    """
    rows = [
        row
        for key, matrix in values(rules.values(), series).items()
        if (row := _judge_one(rules[key], matrix, series.panels[rules[key].kind].names, series.covered)) is not None
    ]
    found = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    place = pl.col("id").replace_strict({key: number for number, key in enumerate(rules)}, return_dtype=pl.Int64)
    return found.sort(_WORST_FIRST, place)


def not_judged(rules: Mapping[str, Rule], series: Series, found: pl.DataFrame) -> Block:
    """Return the rules of the profile that were not judged, each with its reason; nothing if all were.

    `rules`, `series`: as for `judge`. `found`: from `judge`.
    """
    judged = set(found["id"])
    blind = [entry(rule.id, rule, unseen(rule, series) or _NEVER) for rule in rules.values() if rule.id not in judged]
    rows = [
        {"why": why, "of": ", ".join(of) or ABSENT, "what": ", ".join(dict.fromkeys(one["title"] for one in mine))}
        for why, of, mine in by_reason(blind)
    ]
    columns = columns_of("host_health.not_judged")
    unjudged = f"Thresholds not judged: {len(blind)} of {len(rules)}"
    listed = table(pl.DataFrame(rows), columns, unjudged, look="folded") if rows else NOTHING
    return stack(listed, _quiet(rules, series))


def _quiet(rules: Mapping[str, Rule], series: Series) -> Block:
    """Return objects over a limit in samples with too little activity to be judged: a table, or nothing."""
    floored = [rule for rule in rules.values() if rule.floor_of]
    judged = values(floored, series)
    every = values([replace(rule, floor=None, floor_of="") for rule in floored], series)
    rows = []
    for rule in (one for one in floored if one.id in every):
        matrix, kept = every[rule.id], judged.get(rule.id)
        levels_with_floor = ["ok"] * matrix.shape[1] if kept is None else levels.of_objects(rule, kept, series.covered)
        whole = levels.of_objects(rule, matrix, series.covered)
        for place, name in enumerate(series.panels[rule.kind].names):
            if whole[place] != "ok" and levels_with_floor[place] == "ok":
                why = f"fewer than {rule.floor:g} {rule.floor_unit} in the samples over the limit"
                p95 = levels.end(rule, matrix[:, place], series.covered)
                rows.append({"screen": rule.screen, "object": name, "p95": p95, "unit": rule.unit, "why": why})
    if not rows:
        return NOTHING
    columns = columns_of("host_health.quiet")
    caption = "Over a limit with too little activity to be judged"
    return table(pl.DataFrame(rows), columns, caption, look="folded")


def evidence(found: Findings) -> Block:
    """Return the evidence for and against the verdicts, as a table; nothing without evidence.

    `found`: from `ex.diagnose`.
    """
    worst = {number: found[place] for number, place in verdicts.worst(found, None).items()}
    if not worst:
        return NOTHING
    rows = [
        {
            "number": number,
            "severity": one.severity,
            "what": one.heading,
            "sure": one.likelihood,
            "when": verdicts.clocked(one, found.times),
            "for": "; ".join(one.evidence),
            "against": "; ".join(one.against),
            "next": one.next,
        }
        for number, one in worst.items()
    ]
    return table(pl.DataFrame(rows), columns_of("host_health.evidence"), "Findings, most important first", look="cards")


def overview(
    found: pl.DataFrame, profile: str, samples: int, explained: Mapping[tuple[str, str, str | None], str] = _NONE
) -> Block:
    """Return the exceeded thresholds, as a collapsed table; one sentence if there are none.

    An exceeded threshold is not a problem by itself, so nothing here is red.

    Args:
        found: From `judge`.
        profile: Name of the thresholds' profile, for the caption.
        samples: Number of samples.
        explained: From `verdicts.explained`: the finding, for thresholds whose worst object has one.
    """
    if found.is_empty():
        return note("This capture has none of the counters that the thresholds apply to.", "warning")
    passed = found.filter(pl.col("verdict") != "ok")
    if passed.is_empty():
        return note(f"No threshold exceeded: {found.height} checked (profile {profile}).", "ok")
    objects = passed.select("objects", "of", "kind").iter_rows()
    names = passed.select("kind", "name", "id").iter_rows()
    passed = passed.with_columns(
        over=pl.Series([f"{n} of {counted(of, _THINGS.get(kind, kind))}" for n, of, kind in objects], dtype=pl.String),
        finding=pl.Series([explained.get((kind, name, area_of(rule))) for kind, name, rule in names], dtype=pl.String),
        area=pl.col("id").str.split(".").list.first().replace(_AREAS).map_elements(_capital, return_dtype=pl.String),
    ).sort(_WORST_FIRST, pl.col("finding").is_null(), maintain_order=True)
    few = f"{counted(samples, 'sample')}: a 95th percentile of so few is about the worst."
    caption = f"Thresholds exceeded: {passed.height} of {found.height} (profile {profile})"
    return stack(
        NOTHING if samples >= _FEWEST else note(few),
        table(passed, columns_of("host_health.overview"), caption, look="folded"),
    )


def sources(found: pl.DataFrame, profile: str) -> Block:
    """Return the sources of the limits, for the end of a report.

    `found`: from `judge`. `profile`: name of the thresholds' profile, for the caption.
    """
    return table(
        found.sort("id"),
        columns_of("host_health.sources"),
        f"Thresholds of profile {profile} and their sources",
    )


def _judge_one(rule: Rule, matrix: Matrix, names: Sequence[str], covered: Matrix | None) -> tuple[object, ...] | None:
    below = rule.direction == "below"
    sign = -1 if below else 1
    each = []
    judged = levels.of_objects(rule, matrix, covered)
    for name, level, column in zip(names, judged, matrix.T, strict=True):
        p95 = levels.end(rule, column, covered)
        if p95 is not None:
            samples, seconds = over_time.known(column, covered)
            over = 100 * over_time.average(rule.passes(samples, rule.warn), seconds)
            each.append((level, p95, float(samples.min() if below else samples.max()), over, name))
    if not each:
        return None
    worst = min(each, key=lambda one: (levels.RANK[one[0]], -one[1] * sign, -one[2] * sign, one[4]))
    verdict: str = worst[0]
    objects = sum(level != "ok" for level, *_ in each)
    peaking = [one for one in each if one[3] > 0]
    if verdict == "ok" and peaking:
        worst = min(peaking, key=lambda one: (-one[2] * sign, one[4]))
        verdict, objects = "peaks", len(peaking)
    _, p95, extreme, over, name = worst
    label = "the host" if rule.kind == "host" else f"PCPU {name}" if rule.kind == "pcpu" else shorten(name, LABEL_WIDTH)
    told_of = (rule.warn, rule.critical, rule.unit, rule.source)
    return (
        verdict,
        rule.id,
        rule.screen,
        rule.meaning,
        label,
        name,
        rule.kind,
        objects,
        len(each),
        p95,
        extreme,
        over,
        *told_of,
    )
