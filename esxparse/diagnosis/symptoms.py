"""Which rules a capture passes, whose values they are, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from esxparse.diagnosis import spells
from esxparse.metrics import over_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from esxparse.diagnosis.rules import Rule
    from esxparse.diagnosis.series import Matrix, Series

_GAP: Final = 2
"""Samples within a limit that do not end an episode."""


def values(rules: Iterable[Rule], series: Series) -> dict[str, Matrix]:
    """What rules judge, by id: samples x objects, NaN where nothing is told or a floor is not reached.

    All rules of a kind are computed in one pass. A rule of whose series none has a value is left out.
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
        asked = [pl.sql_expr(rule.value).cast(pl.Float64).alias(rule.id) for rule in mine]
        asked += [
            pl.sql_expr(rule.floor_of).cast(pl.Float64).alias(f"{rule.id} floor") for rule in mine if rule.floor_of
        ]
        told = frame.select(asked).collect()
        for rule in mine:
            value = told[rule.id].to_numpy().reshape(shape)
            if rule.floor_of:
                value = _floored(rule, value, told[f"{rule.id} floor"].to_numpy().reshape(shape))
            if not np.isnan(value).all():
                made[rule.id] = value
    return made


def _floored(rule: Rule, value: Matrix, activity: Matrix) -> Matrix:
    """Leave out samples with less activity than the floor, but long runs of bad ones."""
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
    """The episodes of all rules: rule, kind, name, severity, start, end, samples, share of the capture, peak, mean.

    `judged`: what `values` gives for the rules.
    """
    episodes: list[tuple[str, int, int, int]] = []
    numbers: list[tuple[float, float, float, float]] = []
    for key, matrix in judged.items():
        bad = rules[key].passes(matrix, rules[key].warn)
        persist = min(rules[key].persist, max(1, series.samples - 1))
        for place, start, stop in spells.episodes(bad, _GAP, persist):
            episodes.append((key, place, start, stop))
            covered = None if series.covered is None else series.covered[start:stop]
            here, seconds = over_time.known(matrix[start:stop, place], covered)
            ends = float(here.min()), float(here.max())
            numbers.append((*ends, over_time.percentile(here, 0.5, seconds), over_time.average(here, seconds)))
    if not episodes:
        return []
    stamps = [one.isoformat() for one in times]
    return [
        {
            "rule": key,
            "kind": rules[key].kind,
            "name": series.panels[rules[key].kind].names[place],
            "severity": rules[key].judge(median).replace("ok", "warning"),
            "start": stamps[start],
            "end": stamps[stop - 1],
            "samples": stop - start,
            "share_pct": round(_share_pct(series, start, stop), 1),
            "peak": round(least if rules[key].direction == "below" else peak, 3),
            "mean": round(mean, 3),
        }
        for (key, place, start, stop), (least, peak, median, mean) in zip(episodes, numbers, strict=True)
    ]


def _share_pct(series: Series, start: int, stop: int) -> float:
    """The share of an episode in the time of the capture, %."""
    inside = np.zeros(series.samples)
    inside[start:stop] = 100.0
    return over_time.average(inside, series.covered)
