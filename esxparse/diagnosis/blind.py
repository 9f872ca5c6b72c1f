"""Why a case or a rule was not judged: the counters, objects or samples that the capture does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from esxparse.derived.tables import declared
from esxparse.diagnosis.areas import area_of
from esxparse.diagnosis.cases import Case
from esxparse.diagnosis.finding import NOUNS
from esxparse.diagnosis.rules import Rule
from esxparse.diagnosis.series import Series, origin, spoken
from esxparse.diagnosis.series import tables as needed

_CUT: Final = "; a spreadsheet may have cut columns off (see the notes of the recording)"
_TABLES: Final = {"vcpu": "CPU", "group_cpu": "CPU", "group_memory": "Memory", "network_port": "Network"}
_BESIDE: Final = {"nfs": "device"}
"""Kinds whose objects esxtop lists together with another kind: if it lists only the other kind, the host has none."""


class Why(StrEnum):
    """Why something was not judged, the most important reason first."""

    OBJECTS = "no such objects on this host"
    FIELDS = "not in this capture's fields"
    SAMPLES = "too few samples, as esxtop measures it from one to the next"
    VALUES = "no value in any sample"
    CONDITION = "no sample met the rule's condition or its floor of activity"


@dataclass(frozen=True)
class Reason:
    """Why something was not judged, and the missing counters (by their names on the screen) or kinds of objects."""

    why: Why
    of: tuple[str, ...] = ()
    more: str = ""

    def __str__(self) -> str:
        return f"{self.why}{': ' if self.of else ''}{', '.join(self.of)}{self.more}"


def unseen(one: Case | Rule, series: Series) -> Reason | None:
    """Return the reason why a case or a rule was not judged; None if it was."""
    reads = sorted(one.reads)
    dead = [name for name in reads if series.matrix(one.kind, name) is None]
    if not dead or len(dead) < len(reads):
        return None
    found = [reason for name in dead if (reason := _reason(one.kind, name, series)) is not None]
    if not found:
        return Reason(Why.VALUES, (NOUNS.get(one.kind, one.kind),))
    first = min(found, key=lambda reason: list(Why).index(reason.why))
    of = dict.fromkeys(name for reason in found if reason.why == first.why for name in reason.of)
    return Reason(first.why, tuple(of), first.more)


def _reason(kind: str, name: str, series: Series) -> Reason | None:
    """Return the reason why a series has no value."""
    of, column, _ = origin(kind, name)
    if not column:
        return None
    tables = needed(kind, name, also=False) or frozenset()
    there = tables <= series.columns.keys()
    if of not in series.panels and (there or _BESIDE.get(of) in series.panels):
        return Reason(Why.OBJECTS, (NOUNS.get(of, of),))
    counters = {counter for table in tables for counter in series.columns.get(table, ())}
    if not there or declared()[of][column].missing_counter(counters):
        worlds = "" if tables - {"vcpu"} or "vcpu" in series.columns else " of worlds"
        counter = f"{spoken(kind, name)}{worlds}"
        return Reason(Why.FIELDS, (counter,), _CUT if series.cut else "")
    if series.samples == 1:
        return Reason(Why.SAMPLES, (spoken(kind, name),))
    return Reason(Why.VALUES, (spoken(kind, name),))


def entry(ident: str, one: Case | Rule, reason: Reason) -> dict[str, str]:
    """Return the entry of a case or a rule in `Findings.not_judged`."""
    what, title = ("rule", one.screen) if isinstance(one, Rule) else ("case", one.title)
    # Missing counters are easier to find area by area.
    why = f"{_area(ident, one)} counters {reason.why}" if reason.why == Why.FIELDS else str(reason.why)
    fields = {"what": what, "id": ident, "title": title, "reason": str(reason)}
    return fields | {"why": f"{why[:1].upper()}{why[1:]}{reason.more}", "of": "\n".join(reason.of)}


def _area(ident: str, one: Case | Rule) -> str:
    """Return the area of a case or a rule; if it is harmless, the area of the tables that it reads."""
    return area_of(ident) or next((_TABLES[table] for table in sorted(one.tables) if table in _TABLES), "Storage")


def _order(why: str) -> int:
    """Return the place of a reason among all; unknown reasons, such as those from studies, come last."""
    return next((place for place, one in enumerate(Why) if one.casefold() in why.casefold()), len(Why))


@dataclass(frozen=True)
class Group:
    """Everything that was not judged for one reason."""

    why: str
    of: tuple[str, ...]
    """The missing counters or kinds of objects."""
    titles: tuple[str, ...]
    """Titles of cases and questions."""
    limits: int
    """Number of rules."""

    @property
    def reason(self) -> str:
        """The reason with the missing counters or objects."""
        return f"{self.why}: {', '.join(self.of)}" if self.of else self.why

    @property
    def items(self) -> str:
        """The cases, questions and limits that were not judged, in words."""
        limits = [f"{self.limits} {'limit' if self.limits == 1 else 'limits'}"] if self.limits else []
        return "; ".join([*self.titles, *limits])


def groups(entries: Iterable[Mapping[str, str]]) -> list[Group]:
    """Return groups of entries of `Findings.not_judged` with the same reason, the most important reason first."""
    return [
        Group(
            why,
            of,
            tuple(dict.fromkeys(one.get("title") or one["id"] for one in mine if one["what"] != "rule")),
            len({one["id"] for one in mine if one["what"] == "rule"}),
        )
        for why, of, mine in by_reason(entries)
    ]


def by_reason(entries: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, tuple[str, ...], list[Mapping[str, str]]]]:
    """Yield each reason with everything that is missing, and the entries that have this reason."""
    found: dict[str, list[Mapping[str, str]]] = {}
    for one in entries:
        found.setdefault(one.get("why") or one["reason"], []).append(one)
    for why, mine in sorted(found.items(), key=lambda one: _order(one[0])):
        yield why, tuple(dict.fromkeys(name for one in mine for name in one.get("of", "").split("\n") if name)), mine
