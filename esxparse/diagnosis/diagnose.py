"""`ex.diagnose`: a capture, or the runs of a study, to findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np

from esxparse.derived.panels import panels
from esxparse.derived.tables import capture_of, sample_times
from esxparse.diagnosis import cases, engine, rules
from esxparse.diagnosis.areas import area_of
from esxparse.diagnosis.cases import Case
from esxparse.diagnosis.engine import Story
from esxparse.diagnosis.experiments import verdicts
from esxparse.diagnosis.experiments.study import Study
from esxparse.diagnosis.finding import Finding
from esxparse.diagnosis.findings import SEVERITIES, Findings
from esxparse.diagnosis.levels import Levels, levels
from esxparse.diagnosis.rules import Rule
from esxparse.diagnosis.series import Series
from esxparse.diagnosis.series import tables as needed
from esxparse.diagnosis.symptoms import symptoms, values
from esxparse.diagnosis.wording import said
from esxparse.errors import EsxparseError
from esxparse.formats.kit.limits import is_cut
from esxparse.metrics import over_time
from esxparse.quality.check import doubted
from esxparse.recording import Recording

LEAST: Final = 0.1
"""A reading with less confidence than this is not told."""
_ALL: Final = "the capture was taken without -a, or without these fields"
_CUT: Final = "a spreadsheet may have cut columns off (see the notes of the recording)"
_ONE: Final = "; or they take a second sample, as rates of disks do"


def diagnose(rec: Recording | Study, profile: str | Path = "standard", series: Series | None = None) -> Findings:
    """Diagnose a capture of esxtop, or a study: what troubles whom, when, why, and what speaks against it.

    Args:
        rec: A recording of esxtop; or a study, whose runs are compared as experiments (`experiments.verdicts`).
        profile: Limits of the rules: "standard", "strict", or the path of a .toml file.
        series: What `series_of` gives for the recording, where it is at hand already.

    Returns:
        Findings, critical ones first, the likely and harmful first among equals; `not_judged` lists what was skipped.

    Raises:
        EsxparseError: The recording is of another format than esxtop, or the profile is invalid.
    """
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
    blind = [
        {"what": "rule" if isinstance(one, Rule) else "case", "id": key, "reason": why}
        for key, one in judging
        if (why := unseen(one, series))
    ]
    each = [(list(_findings(one, times, rec.source, passed)), one.case.tables) for one in found]
    each.sort(key=lambda pair: SEVERITIES.index(pair[0][0].severity))
    return Findings(
        tuple(doubted(rec, [(finding, tables) for findings, tables in each for finding in findings])),
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
    """The series of a capture of esxtop, by which rules and cases judge it; `times`: what `sample_times` gives."""
    times = times or sample_times(rec)
    covered = over_time.weights(times)
    return Series(
        panels(capture_of(rec), times),
        len(times),
        frozenset(rec.tables),
        covered,
        times=times,
        cut=is_cut(rec.notes),
    )


def unseen(one: Case | Rule, series: Series) -> str:
    """Give the reason why a case or a rule was not judged; empty if it was."""
    reads = one.reads
    dead = sorted(name for name in reads if series.matrix(one.kind, name) is None)
    if len(dead) < max(1, len(reads)):
        return ""
    needs = {table for name in dead for table in needed(one.kind, name, also=False) or ()}
    lacking = sorted(needs - set(series.tables))
    what = f"no table {' or '.join(lacking)}" if lacking else f"no values of {', '.join(dead)}"
    return f"not judged: {what}: {_CUT if series.cut else _ALL}{_ONE if series.samples == 1 and not lacking else ''}"


def _findings(story: Story, times: Sequence[datetime], source: str, passed: Levels) -> Iterator[Finding]:
    """What is told of a story: the finding, and the likeliest other reading of the same."""
    yield _finding(story, times, source, passed)
    others = [
        one
        for one in _under(story)
        if one.case.area == story.case.area and one.case.trouble != story.case.trouble and one.confidence >= LEAST
    ]
    if others and not story.case.severity:
        other = _finding(max(others, key=lambda one: one.odds), times, source, passed)
        yield replace(other, severity="info", verdict=f"Another reading: {other.verdict}")


def _severity(story: Story, passed: Levels) -> str:
    """Raise a warning to critical if its object is critical by a rule of the same area.

    The confidence covers a doubtful cause; what the object suffers is measured. Symptoms on other objects do not
    count: a host that reclaims memory from its VMs may have enough for all of them. A finding that depends on
    counters which the capture lacks is raised only if its own case calls it critical as well.
    """
    own = passed.get((story.kind, story.name, area_of(story.case.trouble)))
    raised = story.severity == "warning" and own == "critical" and not (story.depends and story.impact < 1)
    return "critical" if raised else story.severity


def _finding(story: Story, times: Sequence[datetime], source: str, passed: Levels) -> Finding:
    at = np.flatnonzero(story.inside)
    first, last = int(at[0]), int(at[-1])
    # A clock that jumps is right before its first jump, and after its last.
    since = max(first - 1, 0) if story.case.area in {"clock", "capture"} else first
    # Where it was set back inside of the spell, neither end of it is the first or the last in time.
    spell = times[since : last + 1]
    also: list[dict[str, str]] = []
    for one in _under(story):
        told = {"trouble": one.case.trouble, "kind": one.kind, "name": one.name}
        if told not in also:
            also.append(told)
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
        said(story.case.next, story.values),
        story.case.source,
        tuple(also),
        source,
    )


def _under(story: Story) -> list[Story]:
    return [inner for one in story.symptoms for inner in (one, *_under(one))]
