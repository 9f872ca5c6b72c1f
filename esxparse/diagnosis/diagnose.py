"""`ex.diagnose`: a capture, or the runs of a study, to findings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from esxparse import clock
from esxparse.derived.panels import panels
from esxparse.derived.tables import capture_of, declared, sample_times
from esxparse.diagnosis import cases, confidence, engine, rules
from esxparse.diagnosis.areas import area_of
from esxparse.diagnosis.blind import entry, unseen
from esxparse.diagnosis.cases import Case
from esxparse.diagnosis.engine import Story
from esxparse.diagnosis.experiments import verdicts
from esxparse.diagnosis.experiments.study import Study
from esxparse.diagnosis.finding import Finding
from esxparse.diagnosis.findings import SEVERITIES, Findings
from esxparse.diagnosis.inventory import inventory_of, with_inventory
from esxparse.diagnosis.levels import Levels, levels
from esxparse.diagnosis.rules import Rule
from esxparse.diagnosis.series import Series, source
from esxparse.diagnosis.series import tables as needed
from esxparse.diagnosis.symptoms import symptoms, values
from esxparse.diagnosis.wording import fill_text
from esxparse.errors import EsxparseError
from esxparse.formats.kit.limits import is_cut
from esxparse.metrics import over_time
from esxparse.quality.check import Used, doubted
from esxparse.reading import Capture, as_recording
from esxparse.recording import Recording

LEAST: Final = 0.1
"""Readings with less confidence are not reported."""


def diagnose(
    rec: Capture | Study,
    profile: str | Path = "standard",
    series: Series | None = None,
    *,
    inventory: Capture | None = None,
) -> Findings:
    """Diagnose a capture of esxtop, or a study: each trouble, its object, time and cause, and the evidence against it.

    Args:
        rec: A recording of esxtop, or its path; or a study, whose runs are compared as experiments
            (`experiments.verdicts`).
        profile: Limits of the rules: "standard", "strict", or the path of a .toml file.
        series: The result of `series_of` for the recording, if you already have it.
        inventory: What `esxparse collect vcenter` wrote, or its recording: snapshots, limits and tasks of the VMs
            become evidence.

    Returns:
        Findings, critical ones first. Among equals, findings that began or ended within the recording come before those
        that lasted all of it, then the likely and harmful ones. `not_judged` lists everything that was skipped.

    Raises:
        EsxparseError: The recording is not an esxtop capture, the profile is invalid, or there is no inventory.
    """
    known = None if inventory is None else inventory_of(as_recording(inventory))
    if isinstance(rec, (str, os.PathLike)):
        rec = as_recording(rec)
    if not isinstance(rec, Recording):
        return verdicts.diagnose(rec, str(profile), lambda capture: diagnose(capture, profile))
    if rec.format != "esxtop":
        msg = f"{rec.source} is {rec.format}: a diagnosis needs a capture of esxtop"
        raise EsxparseError(msg)
    limits = rules.load(profile)
    times = sample_times(rec)
    series = series or series_of(rec, times)
    every = [one.under(limits) for one in cases.load()]
    judged = values(limits.values(), series)
    passed = levels(limits, judged, series)
    found = [one for one in engine.stories(every, series) if one.confidence >= LEAST]
    judging: list[tuple[str, Case | Rule]] = [*((one.trouble, one) for one in every), *limits.items()]
    blind = [entry(key, one, reason) for key, one in judging if (reason := unseen(one, series)) is not None]
    each = [list(_findings(one, times, rec.source, passed)) for one in found]
    each.sort(key=lambda readings: _place(readings[0][0], times))
    findings = doubted(rec, [one for readings in each for one in readings])
    return Findings(
        tuple(findings if known is None else (with_inventory(one, known) for one in findings)),
        tuple(blind),
        tuple(symptoms(limits, series, judged, times)),
        source=rec.source,
        profile=str(profile),
        judged=len(judging) - len(blind),
        of=len(judging),
        series=series,
        times=times,
    )


def series_of(rec: Recording, times: Sequence[datetime] | None = None) -> Series:
    """Return the series of a capture of esxtop, for rules and cases; `times`: the result of `sample_times`."""
    times = times or sample_times(rec)
    covered = over_time.weights(times)
    return Series(
        panels(capture_of(rec), times),
        len(times),
        {name: frame.collect_schema().names() for name, frame in rec.tables.items()},
        covered,
        times=times,
        cut=is_cut(rec.notes),
    )


def _place(one: Finding, times: Sequence[datetime]) -> tuple[int, int, bool]:
    """Return the sort key of a finding: severity, likelihood, and whether it lasts the whole recording.

    A finding that lasts the whole recording may be the host's normal state. But a weak finding that began later
    explains less than a likely one.
    """
    standing = one.start is not None and one.end is not None and clock.always(one.start, one.end, times)
    return SEVERITIES.index(one.severity), confidence.rank(one.confidence), standing


def _findings(
    story: Story, times: Sequence[datetime], source: str, passed: Levels
) -> Iterator[tuple[Finding, list[Used]]]:
    """Yield the finding of a story, then its likeliest other reading; each with the counters that it rests on."""
    yield _finding(story, times, source, passed), _used(story)
    others = [
        one
        for one in _under(story)
        if one.case.area == story.case.area and one.case.trouble != story.case.trouble and one.confidence >= LEAST
    ]
    if others and not story.case.severity:
        likeliest = max(others, key=lambda one: one.odds)
        other = _finding(likeliest, times, source, passed)
        yield replace(other, severity="info", verdict=f"Another reading: {other.verdict}"), _used(likeliest)


def _severity(story: Story, passed: Levels) -> str:
    """Raise a warning to critical if its object is critical by a rule of the same area; information if hardly likely.

    The confidence covers a doubtful cause; the object's suffering is measured. Symptoms on other objects do not count:
    a host that reclaims memory from its VMs may have enough for all of them. A finding that depends on missing counters
    is raised only if its own case calls it critical as well.
    """
    own = passed.get((story.kind, story.name, area_of(story.case.trouble)))
    raised = story.severity == "warning" and own == "critical" and not (story.depends and story.impact < 1)
    return confidence.limited("critical" if raised else story.severity, story.confidence)


def _finding(story: Story, times: Sequence[datetime], source: str, passed: Levels) -> Finding:
    at = np.flatnonzero(story.inside)
    first, last = int(at[0]), int(at[-1])
    # A clock that jumps is right before its first jump, and after its last.
    since = max(first - 1, 0) if story.case.area in {"clock", "capture"} else first
    # If the clock was set back inside the spell, its first and last samples are not its earliest and latest.
    spell = times[since : last + 1]
    also: list[dict[str, str]] = []
    for one in _under(story):
        symptom = {"trouble": one.case.trouble, "kind": one.kind, "name": one.name}
        if symptom not in also:
            also.append(symptom)
    causes = [story.values.get(who) for who, of in story.case.who.items() if of["kind"] == "vm"]
    vms = [name for name in (story.name if story.kind == "vm" else None, *causes) if isinstance(name, str)]
    return Finding(
        story.case.trouble,
        _severity(story, passed),
        story.confidence,
        {"kind": story.kind, "name": story.name},
        min(spell),
        max(spell),
        story.text,
        story.evidence,
        story.against,
        story.missing,
        fill_text(story.case.next, story.values),
        story.case.source,
        tuple(also),
        source,
        story.case.title,
        tuple(dict.fromkeys(vms)),
    )


def _used(story: Story) -> list[Used]:
    """Return the counters on which the evidence of a story rests: its own objects' and the host's.

    Sums and maxima over other objects are evidence only for the host's stories, in which each object counts.
    """
    case = story.case
    same = [one.name for one in _under(story) if one.case.trouble == case.trouble]
    mine = frozenset({story.name, *same})
    found = []
    for name in sorted(case.reads | {name for name in case.per_spell if story.values.get(name) is not None}):
        kind, column, how = source(case.kind, name)
        of_all = "host" in {case.kind, kind}
        if not column or not (of_all or how in {"own", "low", "high"}):
            continue
        counters = frozenset(one for needs in declared()[kind][column].counters for one in needs)
        names = frozenset[str]() if of_all else mine
        found += [Used(table, counters, names) for table in needed(case.kind, name) or ()]
    return found


def _under(story: Story) -> list[Story]:
    return [inner for one in story.symptoms for inner in (one, *_under(one))]
