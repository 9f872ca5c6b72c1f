"""From series to stories: when cases trigger, how well the evidence fits, and which stories are symptoms of others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from esxparse.diagnosis import spells
from esxparse.diagnosis.cases import Case, Evidence
from esxparse.diagnosis.series import Series, compared, roots, spoken
from esxparse.diagnosis.wording import Values, fill_text, whole
from esxparse.metrics import over_time
from esxparse.recording import counted

_BURST: Final = -1.5
_BURST_SAMPLES: Final = 6
_BURST_SHARE: Final = 0.06
"""A spell shorter than both is a burst: untidy hosts without a trouble have them."""
_SCATTERED: Final = -1.5
_DENSE: Final = 0.5
"""If the trigger holds in less of a spell than this, it is the habit of a restless host rather than a trouble."""
SLOPE: Final = 2.2
SHIFT: Final = -1.5
"""Log odds to confidence, fitted with `rare` of the cases on findings of hosts drawn at random (docs/diagnosis.md)."""
_SURE: Final = 0.1
"""From this confidence on symptoms are listed under a cause,"""
_BEHIND: Final = 1.5
"""unless it is less likely than they are by this many log odds."""
_CERTAIN: Final = 0.75
"""From this confidence on a finding may be critical, unless missing counters could bring it below this:"""
_EVEN: Final = 0.5
_EVEN_ODDS: Final = -SHIFT / SLOPE
"""Log odds of this confidence: a capture of few counters does not make a finding more likely."""
_THROUGHOUT: Final = 0.95
"""A story that lasts for this share of the capture weighs less, by `_STANDING`, than one that began within it."""
_STANDING: Final = 0.5
_OVERLAP: Final = 0.5
_SHARE: Final = 0.25
"""A story that lasts much longer than a trouble is not its symptom."""
_APART: Final = frozenset({"device", "nfs", "vsan"})
"""Kinds whose objects cannot cause each other's trouble: two LUNs, two volumes."""


@dataclass(frozen=True)
class Story:
    """One spell of one object, judged by one case."""

    case: Case
    place: int
    name: str
    inside: NDArray[np.bool_]
    odds: float
    impact: float
    values: Mapping[str, float | str | None]
    evidence: tuple[str, ...]
    against: tuple[str, ...]
    missing: tuple[str, ...]
    doubt: float = 0.0
    """Log odds that the missing counters could take away."""
    symptoms: tuple[Story, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of the object that the story is about."""
        return self.case.entity.get("kind", self.case.kind)

    @property
    def confidence(self) -> float:
        """The share of findings with such evidence that are right, between 0 and 1."""
        return _confidence(self.odds)

    @property
    def depends(self) -> bool:
        """Whether missing counters could make it less likely than not."""
        return self.doubt < 0 and _confidence(self.odds + self.doubt) < _EVEN

    @property
    def severity(self) -> str:
        """One of critical, warning, info."""
        if self.case.severity:
            return self.case.severity
        return "critical" if self.impact >= 1 and self.confidence >= _CERTAIN and not self.depends else "warning"

    @property
    def rank(self) -> tuple[int, float]:
        """The sort key, lowest first: information comes last; the rest is by likelihood and impact.

        A story that lasts from the first sample to the last and is not critical may be the host's normal state. Stories
        that began later come first.
        """
        weight = self.confidence**2 * (1 + min(self.impact, 1.0))
        if self.impact < 1 and self.inside.mean() >= _THROUGHOUT:
            weight *= _STANDING
        return int(self.severity == "info"), -weight

    @property
    def text(self) -> str:
        """The sentence of the verdict, led by the case's title if values for its first clause are missing."""
        known = fill_text(self.case.verdict, self.values)
        if whole(self.case.verdict, self.values):
            return known
        return " ".join(filter(None, (f"{self.name}: {self.case.title}.", known)))


def _confidence(odds: float) -> float:
    return 1 / (1 + math.exp(-SLOPE * odds - SHIFT))


def stories(cases: Iterable[Case], series: Series) -> list[Story]:
    """Judge every spell that triggers a case; group symptoms under their causes, most important first."""
    there = [case for case in cases if case.kind in series.panels]
    found = [story for case, triggered in _triggered(there, series) for story in _candidates(case, series, triggered)]
    return sorted(_arranged(found), key=lambda one: one.rank)


def _triggered(cases: Sequence[Case], series: Series) -> Iterator[tuple[Case, NDArray[np.bool_]]]:
    """Yield each case with the samples x objects that trigger it; all cases of a kind in one pass."""
    for kind in dict.fromkeys(case.kind for case in cases):
        mine = [case for case in cases if case.kind == kind]
        frame = series.frame(kind, {name for case in mine for name in roots(case.trigger)})
        triggers = [
            pl.sql_expr(case.trigger).fill_null(value=False).alias(str(number)) for number, case in enumerate(mine)
        ]
        triggered = frame.select(triggers).collect()
        for one, case in enumerate(mine):
            yield case, triggered[str(one)].to_numpy().reshape(series.samples, -1)


def _candidates(case: Case, series: Series, triggered: NDArray[np.bool_]) -> list[Story]:
    names = series.panels[case.kind].names
    bounds = [series.matrix(case.kind, name) if name else None for name in (case.level, case.since, case.until)]
    persist = min(case.persist, max(1, series.samples - 1))
    found = []
    for place in np.flatnonzero(triggered.any(axis=0)).tolist():
        mine = [None if one is None else one[:, place] for one in bounds]
        inside = spells.spell(triggered[:, place], persist, case.gap, *mine)
        if inside is not None:
            found.append((place, inside, inside & triggered[:, place]))
    judged = _judged(case, series, found, names) if found else []
    return _shared(judged) if case.shared else judged


def _judged(
    case: Case,
    series: Series,
    found: Sequence[tuple[int, NDArray[np.bool_], NDArray[np.bool_]]],
    names: Sequence[str],
) -> list[Story]:
    """Judge the spells of a case, by place, from the samples in which its trigger holds, if any do."""
    read = sorted(case.per_spell)
    rows = [{one: series.spell(case.kind, place, inside, one, core) for one in read} for place, inside, core in found]
    frame = pl.DataFrame(rows or [{}], schema={**dict.fromkeys(read, pl.Float64), "_": pl.Float64})
    expressions = [*(one.holds for one in case.evidence), case.impact]
    answers = frame.select(pl.sql_expr(one).alias(str(number)) for number, one in enumerate(expressions)).rows()
    return [
        _story(case, series, place, names[place], inside, core, values, row)
        for (place, inside, core), values, row in zip(found, rows, answers, strict=True)
    ]


def _story(
    case: Case,
    series: Series,
    place: int,
    name: str,
    inside: NDArray[np.bool_],
    core: NDArray[np.bool_],
    read: Mapping[str, float | None],
    answers: Sequence[Any],
) -> Story:
    values: dict[str, float | str | None] = {**read, "name": name}
    for who, of in case.who.items():
        values[who] = _who(series, inside, of["kind"], of["by"], name)
    odds = case.prior + (0.0 if case.severity else case.rare)
    lift = 0.0 if case.severity else -case.rare * (1 - _known(case, answers))
    fits: list[str] = []
    against: list[str] = []
    share = over_time.average(inside, series.covered)
    if case.persist > 1 and inside.sum() < _BURST_SAMPLES and share < _BURST_SHARE:
        odds += _BURST
        against.append(f"{counted(inside.sum(), 'sample')}: a burst, as any host has")
    at = np.flatnonzero(inside)
    span = int(at[-1] - at[0]) + 1
    if case.persist > 1 and core.any() and core.sum() < _DENSE * span:
        odds += _SCATTERED
        against.append(f"it comes and goes: {core.sum()} of {counted(span, 'sample')}")
    missing: list[str] = []
    doubt = 0.0
    for one, answer in zip(case.evidence, answers[:-1], strict=True):
        if answer is None:
            missing.append(unanswered(case, one, values))
            doubt += min(one.weight, one.fails, 0.0)
            continue
        weight, words = (one.weight, one.say) if answer else (one.fails, one.otherwise)
        odds += weight
        if weight and (known := fill_text(words, values)):
            (fits if weight > 0 else against).append(known)
    lifted = max(odds, min(odds + lift, _EVEN_ODDS))
    doubt += odds - lifted
    impact = 0.0 if answers[-1] is None else float(answers[-1])
    sentences = tuple(fits), tuple(against), tuple(dict.fromkeys(missing))
    return Story(case, place, case.entity.get("name", name), inside, lifted, impact, values, *sentences, doubt)


def _known(case: Case, answers: Sequence[object]) -> float:
    """Return the share of the evidence that the capture has: a capture of few counters was made on suspicion."""
    weights = [max(abs(one.weight), abs(one.fails)) for one in case.evidence]
    answered = sum(weight for weight, answer in zip(weights, answers, strict=False) if answer is not None)
    return answered / max(sum(weights), 1.0)


def unanswered(case: Case, one: Evidence, values: Values) -> str:
    """Return the words for unanswered evidence, or the missing counters if the words contain numbers."""
    if "{" not in one.say:
        return one.say
    lacking = sorted(name for name in roots(one.holds) if values.get(name) is None)
    names = dict.fromkeys(_lacking(case.kind, name, values) for name in lacking)
    return ", ".join(filter(None, names)) or case.title


def _lacking(kind: str, name: str, values: Values) -> str:
    """Return the usual name of a missing value; a constant trouble misses only the values before it."""
    counter, is_known = spoken(kind, name), values.get(compared(kind, name)) is not None
    return f"{counter} at other times" if counter and is_known else counter


def _who(series: Series, inside: NDArray[np.bool_], kind: str, by: str, not_this: str) -> str | None:
    """Return the object of a kind for which a series is highest in the spell; None if the capture does not show it."""
    if kind not in series.panels:
        return None
    names = series.panels[kind].names
    found = [
        (value, one)
        for place, one in enumerate(names)
        if one != not_this and (value := series.spell(kind, place, inside, by)) is not None
    ]
    return max(found)[1] if found else None


def _shared(found: list[Story]) -> list[Story]:
    """Merge the stories of one time into one: the worst, with the others as its symptoms."""
    kept: list[Story] = []
    for one in sorted(found, key=lambda story: (-story.odds, -story.impact, story.place)):
        for number, other in enumerate(kept):
            if overlap(one.inside, other.inside) >= _OVERLAP:
                kept[number] = replace(other, symptoms=(*other.symptoms, one))
                break
        else:
            kept.append(one)
    return kept


def together(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> bool:
    """Return whether two spells are one story: they share most of the shorter one, and neither is much longer."""
    shared = float((one & other).sum() / max(1, (one | other).sum()))
    return overlap(one, other) >= _OVERLAP and shared >= _SHARE


def overlap(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """Return the share of the shorter spell that lies in the other."""
    return float((one & other).sum() / max(1, min(one.sum(), other.sum())))


def _explains(cause: Story, symptom: Story) -> bool:
    """Return whether a case explains the other's trouble, and its object can be the reason for the other's."""
    apart = cause.case.kind == symptom.case.kind and cause.case.kind in _APART and cause.name != symptom.name
    return not apart and _matches(symptom.case.trouble, cause.case.explains)


@cache
def _matches(trouble: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(trouble, pattern) for pattern in patterns)


def _arranged(found: list[Story]) -> list[Story]:
    """Put symptoms under their causes; if one thing has several readings, put the likeliest first."""
    ranked = sorted(found, key=lambda one: (-one.odds, one.rank))
    under: dict[int, int] = {}
    for place, one in enumerate(ranked):
        for above, other in enumerate(ranked):
            if above == place or above in under:
                continue
            mutual = _explains(one, other)
            likely = other.confidence >= _SURE and other.odds >= one.odds - _BEHIND
            cause = _explains(other, one) and likely and (not mutual or above < place)
            reading = one.case.area == other.case.area and one.case.kind == other.case.kind and one.name == other.name
            # Comparing spells takes longest.
            if (cause or (reading and above < place and not mutual)) and together(one.inside, other.inside):
                under[place] = above
                break
    made = {place: one for place, one in enumerate(ranked) if place not in under}
    for place, above in under.items():
        top = above
        while top in under and under[top] != place:
            top = under[top]
        if top in made:
            made[top] = replace(made[top], symptoms=(*made[top].symptoms, ranked[place]))
    return list(made.values())
