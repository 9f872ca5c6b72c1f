"""vCenter's names of its counters: identifiers, labels of charts, units; `labels.csv` lists them."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from esxparse.formats.kit.tables import data

IDENTIFIER = re.compile(
    r"(?P<id>(?P<group>[a-zA-Z]\w{1,30})\.\w{1,40}(?:\.\w{1,40})?\.(?P<rollup>average|summation|latest|maximum|minimum|none))"
)
"""A counter's name in the API: `cpu.ready.summation`."""

_DATA = data(__file__)
ROLES = {title: role for role, titles in _DATA["titles"].items() for title in titles}
"""Titles of columns, in lower case, to their roles."""


@dataclass(frozen=True)
class Counter:
    """A counter of the list."""

    id: str
    label: str
    unit: str

    @property
    def group(self) -> str:
        """Its subject: `cpu`, `mem` ..."""
        return self.id.partition(".")[0]


@cache
def _listed() -> tuple[Counter, ...]:
    with Path(__file__).with_name("labels.csv").open(encoding="utf-8", newline="") as file:
        return tuple(Counter(row["id"], row["label"], row["unit"]) for row in csv.DictReader(file))


def unit_of(identifier: str) -> str | None:
    """Return the unit of a counter by its identifier, in any case, if it is in the list.

    >>> unit_of("cpu.ready.summation"), unit_of("cpu.nonsense.average")
    ('ms', None)
    """
    return next((one.unit for one in _listed() if one.id.lower() == identifier.lower()), None)


def plain_unit(text: str | None) -> str | None:
    """Return a unit in the form of the tables.

    >>> plain_unit("millisecond"), plain_unit("KBps"), plain_unit("")
    ('ms', 'KBps', None)
    """
    return _DATA["units"].get((text or "").strip().lower(), (text or "").strip()) or None


def labelled(label: str, groups: Collection[str] = ()) -> list[Counter]:
    """Return the counters of a label, limited to `groups` if any of these groups has it.

    >>> [one.id for one in labelled("Co-stop")], len(labelled("usage")), [one.id for one in labelled("Usage", {"cpu"})]
    (['cpu.costop.summation'], 5, ['cpu.usage.average'])
    """
    found = [one for one in _listed() if one.label.lower() == label.strip().lower()]
    return [one for one in found if one.group in groups] or found
