"""How bad a series is by a rule: "critical", "warning" or "ok", decided here and nowhere else.

A limit counts if enough samples are past it: as many as the rule's `persist`, joined over gaps of up to 2 samples
within the limit. So a rare peak does not decide, and a worse series is never judged better. If the interval changes, a
sample counts for the time that it covers. Findings, symptoms, the table of thresholds, the captions of charts and the
fleet all show this level.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from esxparse.diagnosis import spells
from esxparse.diagnosis.areas import area_of
from esxparse.diagnosis.rules import Rule, Verdict
from esxparse.diagnosis.series import Matrix, Series
from esxparse.metrics import over_time

Levels = dict[tuple[str, str, str | None], str]
"""(kind, name, area) of an object -> critical or warning; objects within all limits are left out."""

GAP: Final = 2
"""Samples within a limit that do not end an episode."""
RANK: Final[Mapping[str, int]] = {"critical": 0, "warning": 1, "ok": 2}


class Episode(NamedTuple):
    """A time in which a series was past a limit for long enough."""

    place: int
    """Place of the object."""
    start: int
    stop: int
    """The sample after the last."""
    level: Verdict


def episodes(rule: Rule, matrix: Matrix, covered: Matrix | None) -> list[Episode]:
    """Find the episodes of all objects, object by object; `matrix`: samples x objects, from `symptoms.values`."""
    critical = [] if rule.critical is None else _lasting(rule, matrix, rule.critical, covered)
    return [
        Episode(place, start, stop, "critical" if _holds(critical, place, start, stop) else "warning")
        for place, start, stop in _lasting(rule, matrix, rule.warn, covered)
    ]


def _lasting(rule: Rule, matrix: Matrix, limit: float, covered: Matrix | None) -> list[tuple[int, int, int]]:
    persist: float = min(rule.persist, max(1, len(matrix) - 1))
    weight = None
    if covered is not None and covered.any():
        weight = covered / np.median(covered[covered > 0])
        # Steps between samples jitter.
        persist -= 0.5
    return spells.episodes(rule.passes(matrix, limit), GAP, persist, weight)


def _holds(critical: list[tuple[int, int, int]], place: int, start: int, stop: int) -> bool:
    return any(of == place and start <= first and last <= stop for of, first, last in critical)


def of_objects(rule: Rule, matrix: Matrix, covered: Matrix | None) -> list[Verdict]:
    """Return the level of each object's worst episode, "ok" without any."""
    found: list[Verdict] = ["ok"] * matrix.shape[1]
    for one in episodes(rule, matrix, covered):
        found[one.place] = min(found[one.place], one.level, key=RANK.__getitem__)
    return found


def end(rule: Rule, column: Matrix, covered: Matrix | None) -> float | None:
    """Return the 95th percentile of an object's time, the 5th if small values are bad; None without a value.

    It ranks objects and is shown beside their level; it does not decide the level.
    """
    values, seconds = over_time.known(column, covered)
    return over_time.percentile(values, 0.05 if rule.direction == "below" else 0.95, seconds) if values.size else None


def levels(rules: Mapping[str, Rule], judged: Mapping[str, Matrix], series: Series) -> Levels:
    """Return the worst level of each object in each area; `judged`: `symptoms.values`."""
    found: Levels = {}
    for key, matrix in judged.items():
        rule = rules[key]
        names = series.panels[rule.kind].names
        for name, level in zip(names, of_objects(rule, matrix, series.covered), strict=True):
            of = (rule.kind, name, area_of(key))
            if level == "critical" or (level == "warning" and of not in found):
                found[of] = level
    return found
