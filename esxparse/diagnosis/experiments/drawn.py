"""Charts of a study's slow runs: their figures beside other runs, and with one thing changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.charts import findings
from esxparse.diagnosis.experiments.contrasts import Contrast, Grid, Key

if TYPE_CHECKING:
    import altair as alt

MOST: Final = 7
"""Most lines and bars in a chart."""
_WHAT: Final = {"mb_per_s": "Throughput", "iops": "I/O rate", "latency_mean_ms": "Response time"}
_OUTCOMES: Final = {"yes": "as slow", "no": "not slow", "unclear": "less slow"}


def charts(cells: Grid, seen: Contrast, rows: Sequence[Mapping[str, Any]]) -> list[alt.LayerChart]:
    """Return both charts of a finding.

    `rows`: its experiments, as `StudyFindings.experiments` has them.
    """
    place = cells.labels.index(seen.factor)
    what, unit = _WHAT.get(cells.merit.column, cells.merit.column), cells.merit.unit
    slow, fast = cells.mean(seen.bad) or 0.0, cells.mean([seen.good]) or 0.0
    with_slow = f"{slow:,.3g} {unit} with {seen.factor} {seen.slow(cells.labels)}"
    title = f"{what}: {with_slow}, {fast:,.3g} with {seen.good[place]}"
    tried = bars(cells, seen, rows)
    drawn = [
        findings.sweep(points(cells, seen, rows), factor=seen.factor, unit=f"{what}, {unit}", title=title),
        findings.experiments(tried, unit="% of the fast runs", title=_helped(tried)),
    ]
    return [one for one in drawn if one is not None]


def _helped(tried: pl.DataFrame) -> str:
    """Return a title that lists the experiments that made the slow runs fast. `tried`: from `bars`."""
    helped = tried.filter(pl.col("outcome") == _OUTCOMES["no"])["label"].to_list()
    return f"Slow runs are fast {' or '.join(helped)}" if helped else "Slow runs stay slow whatever was changed"


def points(cells: Grid, seen: Contrast, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the sweep with the slow runs, and the sweep of each experiment, for `charts.findings.sweep`."""
    place = cells.labels.index(seen.factor)
    base = [key for key in cells.rows if _but(key, place) == _but(seen.bad[0], place)]
    sweeps = {"slow runs' sweep": base}
    for one in rows:
        if one["changed"]:
            made = [key for key in cells.rows if one["changed"] in _changes(cells, base, key)]
            sweeps[one["changed"]] = made
    measured = [
        (key[place], label, values.mean(), values.min(), values.max(), key in seen.bad)
        for label, keys in list(sweeps.items())[:MOST]
        for key in keys
        if len(values := cells.rows[key][cells.merit.column].drop_nulls())
    ]
    frame = pl.DataFrame(measured, schema=["level", "label", "mean", "low", "high", "slow"], orient="row", strict=False)
    return frame.sort("level", maintain_order=True) if frame["level"].dtype.is_numeric() else frame


def _but(key: Key, place: int) -> Key:
    return key[:place] + key[place + 1 :]


def _changes(cells: Grid, base: Sequence[Key], key: Key) -> set[str]:
    """Return the differences, in words, between a configuration and each one in the slow runs' sweep."""
    found = set()
    for other in base:
        both = zip(cells.labels, key, other, strict=True)
        found.add(", ".join(f"{name} = {value}" for name, value, was in both if value != was))
    return found


def bars(cells: Grid, seen: Contrast, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the effect of each experiment on the slow runs, for `charts.findings.experiments`."""
    made = [(f"with {one['changed']}", one["share_pct"], _OUTCOMES[one["answer"]]) for one in rows if one["changed"]]
    every = [("the slow runs", 100 * (cells.ratio(seen.bad, [seen.good]) or 0.0), "slow runs"), *made[: MOST - 1]]
    schema = {"label": pl.String, "value": pl.Float64, "outcome": pl.String}
    return pl.DataFrame(every, schema=schema, orient="row").unique("label", keep="first", maintain_order=True)
