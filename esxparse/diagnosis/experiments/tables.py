"""The decision tables of studies: questions about slow runs, and how the answers weigh for each cause.

`steps.toml`, keys of a `[[step]]`
    id         str    its name in causes.toml
    question   str    the question, answered by yes or no
    value      str    expression over facts (`facts`), shown beside the answer
    yes, no    str    expressions over facts, with limits of rules as in cases (`references`); if neither is true the
                      answer is unclear; with a missing fact there is no answer
    role       bool   instead: an experiment. Its answer is yes if the runs are as slow with one factor changed,
    words      [str]  whose value is one of these words, unless the study sets it (`experiments` in study.toml)
    beside     bool   of an experiment that slows fast runs, too: compared only with fast runs with the same change
    if_yes, if_no, partly   str   the meaning of the answer, with facts
    missing    str    how to get an answer; empty if every study has one

`causes.toml`, keys of a `[[cause]]`
    trouble, title, verdict, next, source   str   as in a case (`cases`); {seen} is the symptom in words
    prior      float  log odds before any answer
    needs      [str]  steps that must have an answer; otherwise the cause is not reported
    weigh      table  step to [yes, no]: the log odds that the answer adds. The cause without any is reported if no
                      other is likely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final

from esxparse.diagnosis import references, rules
from esxparse.diagnosis.rules import Rule
from esxparse.toml.checked import Prose, read
from esxparse.toml.lines import Place

_HERE: Final = Path(__file__).parent


@dataclass(frozen=True)
class Step:
    """One question; the module docstring explains its keys."""

    id: str
    question: str
    if_yes: str
    if_no: str
    missing: str
    value: str = ""
    yes: str = ""
    no: str = ""
    role: bool = False
    words: tuple[str, ...] = ()
    beside: bool = False
    partly: str = ""

    def mistakes(self) -> Iterator[tuple[Place, str]]:
        """Yield limits that no rule has."""
        for key, text in (("yes", self.yes), ("no", self.no)):
            yield from (((key,), f"{key} {one}") for one in references.mistakes(text, rules.load()))

    def under(self, limits: Mapping[str, Rule]) -> Step:
        """Replace references to limits by the limits of a profile."""
        every = {**rules.load(), **limits}
        return replace(self, yes=references.filled(self.yes, every), no=references.filled(self.no, every))


@dataclass(frozen=True)
class Cause:
    """One cause; the module docstring explains its keys."""

    trouble: Prose
    title: Prose
    prior: float
    verdict: Prose
    next: Prose
    source: Prose
    needs: tuple[str, ...] = ()
    weigh: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Steps:
    step: tuple[Step, ...]


@dataclass(frozen=True)
class _Causes:
    cause: tuple[Cause, ...]


@cache
def steps() -> tuple[Step, ...]:
    """Return all questions, in their order."""
    return read(_HERE / "steps.toml", _Steps).step


@cache
def _all() -> tuple[Cause, ...]:
    return read(_HERE / "causes.toml", _Causes).cause


def causes() -> tuple[Cause, ...]:
    """Return all causes that answers are weighed for."""
    return tuple(one for one in _all() if one.weigh)


def unknown() -> Cause:
    """Return the cause to report if no cause is likely."""
    return next(one for one in _all() if not one.weigh)


def only_beside() -> frozenset[str]:
    """Return names of experiments that are compared only with fast runs with the same change."""
    return frozenset(one.id for one in steps() if one.beside)


def roles() -> tuple[str, ...]:
    """Return names of experiments that a study may list factors for: cached, native ..."""
    return tuple(one.id for one in steps() if one.words)
