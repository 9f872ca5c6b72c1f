"""From the runs of a study to findings: symptoms, answers to questions, causes weighed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from esxparse.diagnosis import confidence, rules
from esxparse.diagnosis.experiments import tables
from esxparse.diagnosis.experiments.captures import QUESTION, Judge, Own, own
from esxparse.diagnosis.experiments.contrasts import Contrast, Grid, contrasts, figure, grid
from esxparse.diagnosis.experiments.differences import differences, sentence
from esxparse.diagnosis.experiments.facts import Experiment, experiments, facts, role_changes
from esxparse.diagnosis.experiments.study import Study
from esxparse.diagnosis.experiments.tables import Cause, Step
from esxparse.diagnosis.finding import Finding
from esxparse.diagnosis.findings import Findings
from esxparse.diagnosis.rules import Rule
from esxparse.diagnosis.wording import fill_text

if TYPE_CHECKING:
    import altair as alt

LEAST: Final = 0.5
"""Less likely causes are not reported; the study then leaves the cause open."""
_CERTAIN: Final = 0.85
_MOST: Final = 0.99
_HALF: Final = 50.0
_STAYS: Final = 30.0
_GONE: Final = 70.0
"""Share of the loss that an experiment gets back, %: up to the first it is as slow, from the second on not slow."""
_OPEN_WEIGHT: Final = 0.1
"""Weight of slow runs if the study leaves their cause open."""


class Answer(NamedTuple):
    """An answer to a step."""

    step: Step
    yes: bool | None
    """None if it is unclear or facts are missing."""
    text: str
    """The meaning of the answer; empty if facts are missing."""
    value: float | None = None


@dataclass(frozen=True, repr=False)
class StudyFindings(Findings):
    """The findings of a study, and the experiments that they rest on.

    `experiments`: one entry for each question about slow runs, and for each slow run with one label changed: `finding`
    (its id), `question`, `answer` (yes, no, unclear, not known), `changed`, `before`, `after`, `unit`, `share_pct` (how
    well they do against fast runs with the same change), `means`.
    """

    experiments: tuple[dict[str, Any], ...] = ()
    differences: tuple[dict[str, Any], ...] = ()
    """Differences from the baseline, from `differences.differences`."""
    compared: tuple[tuple[Grid, Contrast], ...] = field(default=(), compare=False)
    """The slow runs of each finding, for charts."""

    @property
    def verdict(self) -> str:
        """The verdict in a sentence."""
        if self.findings:
            return super().verdict
        if self.not_judged and not self.differences:
            return f"Nothing could be compared: {self.not_judged[0]['reason']}"
        slow = "" if self.not_judged else "No run is a fifth slower than those that it is compared with. "
        return f"{slow}{sentence(self.differences)}".strip()

    def table(self) -> pl.DataFrame:
        """Return the experiments as a frame."""
        names = ("finding", "question", "answer", "changed", "before", "after", "unit", "share_pct", "means")
        numbers = dict.fromkeys(("before", "after", "share_pct"), pl.Float64)
        schema: dict[str, Any] = dict.fromkeys(names, pl.String) | numbers
        return pl.DataFrame(list(self.experiments), schema=schema, orient="row")

    def charts(self, place: int = 0, most: int = 2) -> list[alt.LayerChart]:
        """Chart the slow runs of a finding beside others, and the effect of experiments on them."""
        from esxparse.diagnosis.experiments.drawn import charts  # noqa: PLC0415  altair takes more than a second

        rows = [one for one in self.experiments if one["finding"] == self.findings[place].id]
        return charts(*self.compared[place], rows)[:most]

    def as_dict(self) -> dict[str, Any]:
        """Return the findings as in the JSON."""
        return super().as_dict() | {"experiments": list(self.experiments), "differences": list(self.differences)}


def diagnose(study: Study, profile: str, judge: Judge) -> StudyFindings:
    """Diagnose a study: which runs are slow, which causes each experiment rules out, and which remain.

    `study`: from `ex.study`. `judge`: diagnoses a capture; it gets one of slow runs and one of fast runs. Returns
    findings, most important first; `not_judged` lists missing experiments and measurements, each with advice.
    """
    cells = grid(study.runs.collect(), study.labels, figure(study))
    blank = StudyFindings((), source=str(study.path), profile=profile, differences=tuple(differences(study)))
    if cells is None:
        reason = "the runs have no throughput or response times under labels: add results of fio, Iometer or DiskSpd"
        title = "Which runs are slow?"
        return replace(blank, not_judged=({"what": "experiment", "id": "slow_runs", "title": title, "reason": reason},))
    changes = role_changes(cells, study.experiments)
    special = {(name, value) for every in changes.values() for change in every for name, value in change.items()}
    limits = rules.load(profile)
    judged = [
        _judged(cells, seen, changes, limits, str(study.path)) for seen in contrasts(cells, study.baseline, special)
    ]
    kept = [_with_host(one, own(cells, one.seen, study.path.parent, judge)) for one in _merged(judged)]
    return replace(
        blank,
        findings=tuple(one.finding for one in kept),
        not_judged=tuple({(one["id"], one["reason"]): one for every in kept for one in every.blind}.values()),
        judged=sum(answer.text != "" for one in kept[:1] for answer in one.answers),
        of=len(tables.steps()) if kept else 0,
        experiments=tuple(row for one in kept for row in _rows(one)),
        compared=tuple((cells, one.seen) for one in kept),
    )


@dataclass(frozen=True)
class _Judged:
    """A symptom with its finding."""

    seen: Contrast
    finding: Finding
    answers: tuple[Answer, ...]
    done: tuple[Experiment, ...]
    blind: tuple[dict[str, str], ...]
    weight: float
    values: Mapping[str, Any]
    unit: str
    host: Own | None = None


def _judged(
    cells: Grid, seen: Contrast, changes: Mapping[str, Any], limits: Mapping[str, Rule], source: str
) -> _Judged:
    done = experiments(cells, seen, changes)
    values: dict[str, Any] = dict(facts(cells, seen, done))
    values["seen"] = _seen(cells, seen, values)
    answers = _answers(cells, values, done, limits)
    by_id = {one.step.id: one for one in answers}
    answerable = [one for one in tables.causes() if all(by_id[name].text for name in one.needs)]
    cause = max(answerable, key=lambda one: _likely(one, by_id))
    likely = _likely(cause, by_id)
    if likely < LEAST:
        cause, likely = tables.unknown(), 0.0
    # If the study leaves the cause open, all answers count, whichever way they point.
    weights = {one.step.id: _weight(cause, one) if cause.weigh else float(bool(one.text)) for one in answers}
    spread = () if seen.sure else ("single runs: the difference may be chance; repeat them",)
    times = pl.concat([cells.rows[key].select("start", "end") for key in seen.bad])
    lacking = tuple(one for one in answers if not one.text and one.step.missing)
    severe = likely >= _CERTAIN and (values["lost_pct"] or 0.0) >= _HALF
    finding = Finding(
        cause.trouble,
        # If the cause is open, the slow runs were still measured.
        confidence.limited("critical" if severe else "warning", likely) if likely else "warning",
        min(likely, _MOST),
        {"kind": "runs", "name": _where(cells, seen)},
        times["start"].min(),  # type: ignore[arg-type]
        times["end"].max(),  # type: ignore[arg-type]
        fill_text(cause.verdict, values),
        tuple(one.text for one in answers if weights[one.step.id] > 0),
        (*(one.text for one in answers if weights[one.step.id] < 0), *spread),
        tuple(one.step.missing for one in lacking if not cause.weigh or one.step.id in cause.weigh),
        cause.next,
        cause.source,
        recording=source,
        title=cause.title,
    )
    blind = tuple(
        {
            "what": "experiment",
            "id": step.id,
            "title": step.question,
            "reason": f"{step.question} {step.missing}",
            "why": step.missing,
        }
        for step, *_ in lacking
    )
    lost = (values["lost_pct"] or 0.0) * max(finding.confidence, _OPEN_WEIGHT)
    return _Judged(seen, finding, answers, tuple(done), blind, lost, values, cells.merit.unit)


def _answers(
    cells: Grid, values: Mapping[str, Any], done: Sequence[Experiment], limits: Mapping[str, Rule]
) -> tuple[Answer, ...]:
    known = {key: value for key, value in values.items() if not isinstance(value, str)}
    row = pl.DataFrame({key: [value] for key, value in known.items()}, schema=dict.fromkeys(known, pl.Float64))
    made = {one.role: one for one in done if one.role}
    found = []
    for step in tables.steps():
        if step.role:
            found.append(_experimental(cells, step, made.get(step.id)))
            continue
        judging = step.under(limits)
        expressions = (judging.yes, judging.no, step.value)
        yes, no, value = row.select(pl.sql_expr(one).alias(str(place)) for place, one in enumerate(expressions)).row(0)
        if yes is None or no is None:
            found.append(Answer(step, None, ""))
        else:
            text = fill_text(step.if_yes if yes else step.if_no, values) or f"{step.question} {'Yes' if yes else 'No'}."
            found.append(Answer(step, True if yes else False if no else None, text, value))
    return tuple(found)


def _experimental(cells: Grid, step: Step, one: Experiment | None) -> Answer:
    """Return the answer of an experiment: yes if the runs are as slow."""
    if one is None:
        return Answer(step, None, "")
    yes = _as_slow(one)
    text = step.if_yes if yes else step.partly if yes is None else step.if_no
    after = f"{one.after:,.4g} {cells.merit.unit}"
    return Answer(step, yes, text.format(changed=one.changed, after=after), one.after)


def _as_slow(one: Experiment) -> bool | None:
    """Return whether runs are as slow with something changed; None if they are less slow."""
    return True if one.back_pct <= _STAYS else False if one.back_pct >= _GONE else None


def _likely(cause: Cause, answers: Mapping[str, Answer]) -> float:
    """Return how likely a cause is, between 0 and 1."""
    odds = cause.prior + sum(_weight(cause, answers[step]) for step in cause.weigh)
    return 1 / (1 + math.exp(-odds))


def _weight(cause: Cause, answer: Answer) -> float:
    weights = cause.weigh.get(answer.step.id, (0.0, 0.0))
    return 0.0 if answer.yes is None else weights[0] if answer.yes else weights[1]


def _where(cells: Grid, seen: Contrast) -> str:
    """Return the slow configurations in words: common labels, and the values of the label in which they differ."""
    shared = cells.in_words(seen.bad[0], {seen.factor})
    return ", ".join(part for part in (shared, f"{seen.factor} = {seen.slow(cells.labels)}") if part)


def _seen(cells: Grid, seen: Contrast, values: Mapping[str, Any]) -> str:
    """Return the symptom in words."""
    value, good, unit = values["value"], values["good_value"], cells.merit.unit
    how = f"{values['lost_pct']:.0f} % less" if cells.merit.higher else f"{value / good:.1f} times as long"
    fast = seen.good[cells.labels.index(seen.factor)]
    slow = f"{seen.factor} {seen.slow(cells.labels)}"
    return f"Runs with {slow} reach {value:,.4g} {unit}, {how} than with {seen.factor} {fast} ({good:,.4g})"


def _with_host(one: _Judged, host: Own) -> _Judged:
    """Add the findings of the host's capture to a symptom."""
    also = tuple({"trouble": each.trouble, **each.entity} for each in host.findings)
    against = (f"the host's capture of a slow run: {host.means}",) if host.findings else ()
    finding = replace(one.finding, also=(*one.finding.also, *also), against=(*one.finding.against, *against))
    return replace(one, finding=finding, host=host)


def _merged(judged: Sequence[_Judged]) -> list[_Judged]:
    """Merge findings of one cause: of a label keep the worst, of the same runs the first; list the others under it."""
    kept: list[_Judged] = []
    for one in judged:
        for place, first in enumerate(kept):
            same = one.seen.factor == first.seen.factor or set(one.seen.bad) & set(first.seen.bad)
            if same and one.finding.trouble == first.finding.trouble:
                worse = one.seen.factor == first.seen.factor and one.weight > first.weight
                above, below = (one, first) if worse else (first, one)
                under = {"trouble": below.finding.trouble, **below.finding.entity}
                also = (*first.finding.also, under)
                kept[place] = replace(above, finding=replace(above.finding, also=also))
                break
        else:
            kept.append(one)
    return sorted(kept, key=lambda one: (one.finding.severity != "critical", -one.weight))


def _rows(one: _Judged) -> list[dict[str, Any]]:
    """Return the answers, and the results of other labels, as rows of the table of experiments."""
    words = {True: "yes", False: "no", None: "unclear"}
    made = {each.role: each for each in one.done if each.role}

    def row(question: str, answer: str, means: str, did: Experiment | None) -> dict[str, Any]:
        return {
            "finding": one.finding.id,
            "question": question,
            "answer": answer,
            "changed": did.changed if did else "",
            "before": one.values["value"] if did else None,
            "after": did.after if did else None,
            "unit": one.unit if did else "",
            "share_pct": did.share_pct if did else None,
            "means": means,
        }

    rows = [
        row(step.question, words[yes] if text else "not known", text or step.missing, made.get(step.id))
        for step, yes, text, _ in one.answers
        if text or step.missing
    ]
    if one.host:
        rows.append(row(QUESTION, one.host.answer, one.host.means, None))
    for did in one.done:
        if not did.role:
            yes = _as_slow(did)
            how = {True: "as slow", False: "not slow", None: "less slow"}[yes]
            rows.append(row(f"Is it slow with {did.changed}?", words[yes], f"with {did.changed} it is {how}", did))
    return rows
