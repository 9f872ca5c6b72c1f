"""Rules that a capture violates, with their objects and times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl

from esxparse.diagnosis import levels, spells
from esxparse.diagnosis.rules import Rule
from esxparse.diagnosis.series import Matrix, Series
from esxparse.metrics import over_time


def values(rules: Iterable[Rule], series: Series) -> dict[str, Matrix]:
    """Return the values that rules judge, by id: samples x objects, NaN if missing or below a floor.

    All rules of a kind are computed in one pass. A rule is left out if all its series are empty.
    """
    by_kind: dict[str, list[Rule]] = {}
    for rule in rules:
        if rule.kind in series.panels and any(series.matrix(rule.kind, name) is not None for name in rule.reads):
            by_kind.setdefault(rule.kind, []).append(rule)
    made: dict[str, Matrix] = {}
    for kind, mine in by_kind.items():
        shape = (series.samples, len(series.panels[kind].names))
        read = sorted({name for rule in mine for name in rule.reads | rule.activity})
        frame = series.frame(kind, read)
        expressions = [pl.sql_expr(rule.value).cast(pl.Float64).alias(rule.id) for rule in mine]
        expressions += [
            pl.sql_expr(rule.floor_of).cast(pl.Float64).alias(f"{rule.id} floor") for rule in mine if rule.floor_of
        ]
        computed = frame.select(expressions).collect()
        for rule in mine:
            value = computed[rule.id].to_numpy().reshape(shape)
            if rule.floor_of:
                value = _floored(rule, value, computed[f"{rule.id} floor"].to_numpy().reshape(shape))
            if not np.isnan(value).all():
                made[rule.id] = value
    return made


def _floored(rule: Rule, value: Matrix, activity: Matrix) -> Matrix:
    """Leave out samples with less activity than the floor, except for long runs of bad ones."""
    out = activity < (rule.floor or 0.0)
    if rule.below_floor is not None and out.any():
        bad = rule.passes(value, rule.warn)
        for place in np.flatnonzero((bad & out).any(axis=0)):
            for start, stop in spells.runs(bad[:, place]):
                if stop - start >= rule.below_floor:
                    out[start:stop, place] = False
    return np.where(out, np.nan, value)


def symptoms(
    rules: Mapping[str, Rule], series: Series, judged: Mapping[str, Matrix], times: Sequence[datetime]
) -> list[dict[str, Any]]:
    """Return the episodes of all rules: rule, kind, name, severity, start, end, samples, share, peak, mean.

    `judged`: the result of `values` for the rules.
    """
    found = [
        (rules[key], matrix, one)
        for key, matrix in judged.items()
        for one in levels.episodes(rules[key], matrix, series.covered)
    ]
    stamps = [one.isoformat() for one in times] if found else []
    return [_symptom(rule, matrix, one, series, stamps) for rule, matrix, one in found]


def _symptom(rule: Rule, matrix: Matrix, one: levels.Episode, series: Series, stamps: Sequence[str]) -> dict[str, Any]:
    inside = slice(one.start, one.stop)
    covered = None if series.covered is None else series.covered[inside]
    here, seconds = over_time.known(matrix[inside, one.place], covered)
    return {
        "rule": rule.id,
        "kind": rule.kind,
        "name": series.panels[rule.kind].names[one.place],
        "severity": one.level,
        "start": stamps[one.start],
        "end": stamps[one.stop - 1],
        "samples": one.stop - one.start,
        "share_pct": round(_share_pct(series, one.start, one.stop), 1),
        "peak": round(float(here.min() if rule.direction == "below" else here.max()), 3),
        "mean": round(over_time.average(here, seconds), 3),
    }


def _share_pct(series: Series, start: int, stop: int) -> float:
    """Return the share of an episode in the time of the capture, %."""
    inside = np.zeros(series.samples)
    inside[start:stop] = 100.0
    return over_time.average(inside, series.covered)
