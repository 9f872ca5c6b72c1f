"""Uses of a rule's limits: cases that refer to them, tables that judge by them, charts that draw them."""

from __future__ import annotations

import json
from functools import cache
from typing import Final, NamedTuple

from esxparse import shipped
from esxparse.diagnosis import cases, references
from esxparse.diagnosis.experiments.tables import steps
from esxparse.diagnosis.rules import Rule
from esxparse.diagnosis.series import origin

FLEET: Final = "cpu.ready"
"""The rule by which the fleet report ranks VMs."""
_TABLES: Final = ("host_health", "troubleshooting")
"""Templates with a table of all rules."""
_FINDINGS: Final = "findings"
"""The charts of findings, in any report."""


class Usage(NamedTuple):
    """The uses of a rule's limits.

    cases: troubles whose cases refer to the rule; "study: X" for a question about slow runs of a study
    tables, charts: templates of the reports that have them; "findings": the charts of findings
    """

    cases: tuple[str, ...]
    tables: tuple[str, ...]
    charts: tuple[str, ...]


def usage(rule: Rule) -> Usage:
    """Return the uses of a rule's limits.

    >>> from esxparse.diagnosis.rules import load
    >>> usage(load("standard")["cpu.max_limited"]).charts
    ('host_health', 'findings')
    """
    referring = dict.fromkeys(one.trouble for one in cases.load() if rule.id in _referred(*one.expressions.values()))
    referring |= dict.fromkeys(f"study: {one.id}" for one in steps() if rule.id in _referred(one.yes, one.no))
    charts = [name for name, source in _templates().items() if f'"{rule.id}"' in source]
    charts += [_FINDINGS] if (rule.kind, rule.value) in _drawn() else []
    return Usage(tuple(referring), (*_TABLES, *(["fleet"] if rule.id == FLEET else [])), tuple(charts))


def _referred(*expressions: str) -> set[str]:
    return {one.rule for text in expressions for one in references.found(text)}


@cache
def _drawn() -> frozenset[tuple[str, str]]:
    """Return kind and name of the series that charts of findings may draw."""
    return frozenset(origin(case.kind, name)[:2] for case in cases.load() for name in case.series_read)


@cache
def _templates() -> dict[str, str]:
    """Return the code of each template."""
    found = {}
    for path in sorted(shipped.templates_dir().glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found[path.stem] = "".join("".join(one["source"]) for one in cells if one["cell_type"] == "code")
    return found
