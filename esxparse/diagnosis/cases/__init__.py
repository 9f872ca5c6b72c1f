"""Cases: readable decision tables that weigh the evidence, one file for each trouble.

Keys of a case
    trouble    str    word of docs/faults.md, or one that docs/diagnosis.md adds
    title      str    the trouble, in a few words
    kind       str    kind of object (a derived table)
    trigger    str    expression over series, true in the samples that trigger this case (`series`)
    level      str    series that bounds the spell: its edges are where this leaves its usual level
    since      str    series that shows the beginning, if it shows there first
    until      str    series that shows the end, if the trigger outlasts the cause or ends before it
    persist    int    samples that a spell has at least, 2 by default; a shorter capture needs as many as it has
    gap        int    samples without the trigger that a spell is joined over, 3 by default
    impact     str    expression over a spell: how bad it is, 1 is critical
    severity   str    "info" if it is not a trouble; otherwise `impact` decides
    prior      float  log odds that a spell is this trouble, before any evidence
    explains   [str]  troubles, or `area.*`, that are its symptoms if they overlap: they are listed under it
    shared     bool   one finding for all objects that have it at a time, about the host
    entity     table  {kind, name} to report instead of the object, if the object only shows the trouble
    rare       float  log odds that its symptom is harmless on a host drawn at random, -1.2 if not fitted
    who        table  name to {kind, by}: the object of a kind for which `by` is highest, for texts
    verdict    str    the sentence; {name} is the object, {series} and {series:.1f} values of the spell
    next       str    the next experiment, and advice
    source     str    the origin of the case
    numbers    table  the origin of each of the case's own numbers, by the series that it is compared with
    evidence   [{if, weight, say, else, otherwise}]  an expression over a spell; `weight` is added to the log odds if
               it holds, `else` if it does not; `say` and `otherwise` are the words for it. Rows without counters
               count nothing, and are listed as missing.

Limits come from the rules: `warn('disk.davg')`, `critical('disk.davg')` and `floor('disk.davg')` are the
numbers of the profile, and an expression may take a share or a multiple of it (`references`). If a profile has no such
rule, the limit comes from "standard". A case has its own number only for a quantity that no rule judges; `numbers`
has its source. Numbers of `X_spreads` and `spell_X` need none: they were chosen on hosts drawn at random
(docs/diagnosis.md).

Every file is checked when it is read: unknown keys, series, rules and troubles are refused.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Annotated, TypedDict

from esxparse.derived.catalogue import TABLES
from esxparse.diagnosis import references, rules, series
from esxparse.diagnosis.rules import Rule
from esxparse.toml.checked import Key, Prose, choose, read, written
from esxparse.toml.document import Document
from esxparse.toml.lines import Place


@dataclass(frozen=True, slots=True)
class Evidence:
    """One row of the decision table."""

    holds: Annotated[str, Key("if")]
    weight: float
    say: str
    fails: Annotated[float, Key("else")] = 0.0
    otherwise: str = ""


class Ranked(TypedDict):
    """The object of a kind for which a series is highest."""

    kind: str
    by: str


@dataclass(frozen=True, slots=True)
class Case:
    """One case; the module docstring explains its keys."""

    trouble: Prose
    title: Prose
    kind: Prose
    trigger: Prose
    impact: Prose
    verdict: Prose
    next: Prose
    source: Prose
    evidence: tuple[Evidence, ...]
    level: str = ""
    since: str = ""
    until: str = ""
    persist: int = 2
    gap: int = 3
    severity: str = ""
    prior: float = 0.0
    explains: tuple[str, ...] = ()
    shared: bool = False
    rare: float = -1.2
    entity: Mapping[str, str] = field(default_factory=dict)
    who: Mapping[str, Ranked] = field(default_factory=dict)
    numbers: Mapping[str, str] = field(default_factory=dict)

    def mistakes(self) -> Iterator[tuple[Place, str]]:
        """Yield series that no capture can have, and limits that no rule has."""
        if not self.evidence:
            yield ("evidence",), "evidence is empty; write [[evidence]] entries"
        kinds: list[tuple[Place, str]] = [(("who", name), one["kind"]) for name, one in self.who.items()]
        for place, kind in [(("kind",), self.kind), *kinds]:
            if kind not in TABLES:
                yield place, f"kind is {written(kind)}; write {choose(kind, TABLES)}"
                return
        rows: list[tuple[Place, str]] = [(("evidence", at, "if"), one.holds) for at, one in enumerate(self.evidence)]
        rows += [(("trigger",), self.trigger), (("impact",), self.impact)]
        for place, text in rows:
            found = [*references.mistakes(text, rules.load()), *series.mistakes(self.kind, references.blank(text))]
            yield from ((place, f"{place[-1]} {one}") for one in found)
        edges: list[tuple[Place, str]] = [(("level",), self.level), (("since",), self.since), (("until",), self.until)]
        for place, names in [*((place, {name}) for place, name in edges if name), *self._texts()]:
            yield from ((place, f"{place[-1]} {one}") for one in series.unknown(self.kind, names))
        for name, one in self.who.items():
            yield from ((("who", name), f"by {mistake}") for mistake in series.unknown(one["kind"], [one["by"]]))

    def _texts(self) -> Iterator[tuple[Place, set[str]]]:
        """Yield the series in braces of each text, by its place."""
        own = {"name", *self.who}
        yield ("verdict",), _holes(self.verdict) - own
        yield ("next",), _holes(self.next) - own
        for number, one in enumerate(self.evidence):
            yield ("evidence", number, "say"), _holes(one.say) - own
            yield ("evidence", number, "otherwise"), _holes(one.otherwise) - own

    def under(self, limits: Mapping[str, Rule]) -> Case:
        """Replace references to limits by the limits of a profile."""
        every = {**rules.load(), **limits}
        return replace(
            self,
            trigger=references.filled(self.trigger, every),
            impact=references.filled(self.impact, every),
            evidence=tuple(replace(one, holds=references.filled(one.holds, every)) for one in self.evidence),
        )

    @property
    def expressions(self) -> dict[str, str]:
        """All expressions, by their place in the case."""
        rows = {f"evidence {number}": one.holds for number, one in enumerate(self.evidence, start=1)}
        return {"trigger": self.trigger, "impact": self.impact, **rows}

    @property
    def series_read(self) -> tuple[str, ...]:
        """The series that the case reads, the most important first."""
        rows = sorted(self.evidence, key=lambda one: -max(abs(one.weight), abs(one.fails)))
        texts = (self.level, self.trigger, *(one.holds for one in rows))
        words = (word for text in texts for word in re.findall(r"[a-z][a-z0-9_]+", references.blank(text)))
        return tuple(dict.fromkeys(words))

    @property
    def area(self) -> str:
        """The area of the trouble: the word before the dot."""
        return self.trouble.partition(".")[0]

    @property
    def reads(self) -> frozenset[str]:
        """The series that the trigger and the edges read."""
        return _roots(self.trigger) | {name for name in (self.level, self.since, self.until) if name}

    @property
    def per_spell(self) -> frozenset[str]:
        """The series that the case reads from a spell."""
        mentioned = {name for _, names in self._texts() for name in names}
        read = {name for one in self.evidence for name in _roots(one.holds)} | _roots(self.impact)
        return frozenset(read | mentioned)

    @property
    def tables(self) -> frozenset[str]:
        """The tables that it needs to be judged."""
        found = [series.tables(self.kind, name) for name in self.reads]
        return frozenset(table for one in found if one for table in one)


def _roots(expression: str) -> frozenset[str]:
    return series.roots(references.blank(expression))


def _holes(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@cache
def load() -> tuple[Case, ...]:
    """Return all cases, by trouble."""
    files = sorted(resources.files(__package__).iterdir(), key=lambda one: one.name)
    return tuple(parse(one.read_text(encoding="utf-8"), one.name) for one in files if one.name.endswith(".toml"))


def parse(text: str, file: str) -> Case:
    """Read one case.

    Raises EsxparseError: It is not valid TOML, or has an unknown key, expression or series; with file and line.
    """
    return read(Document(text, file), Case)
