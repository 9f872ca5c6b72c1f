"""How bad each object is by the rules: by the 95th percentile of its time, so that a rare peak does not decide.

Everything that calls an object critical or a warning goes by this: findings, the table of thresholds, the fleet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esxparse.diagnosis.areas import area_of
from esxparse.metrics import over_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from esxparse.diagnosis.rules import Rule
    from esxparse.diagnosis.series import Matrix, Series

Levels = dict[tuple[str, str, str | None], str]
"""(kind, name, area) of an object -> critical or warning; objects within all limits are not in it."""


def end(rule: Rule, column: Matrix, covered: Matrix | None) -> float | None:
    """Return the 95th percentile of an object's time, the 5th where small values are bad; None without a value."""
    values, seconds = over_time.known(column, covered)
    return over_time.percentile(values, 0.05 if rule.direction == "below" else 0.95, seconds) if values.size else None


def levels(rules: Mapping[str, Rule], judged: Mapping[str, Matrix], series: Series) -> Levels:
    """Return the worst level of each object in each area; `judged`: `symptoms.values`."""
    found: Levels = {}
    for key, matrix in judged.items():
        rule = rules[key]
        for place, name in enumerate(series.panels[rule.kind].names):
            value = end(rule, matrix[:, place], series.covered)
            level = "ok" if value is None else rule.judge(value)
            of = (rule.kind, name, area_of(key))
            if level == "critical" or (level == "warning" and of not in found):
                found[of] = level
    return found
