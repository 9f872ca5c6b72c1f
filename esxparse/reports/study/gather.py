"""What a report on a study is about: which of its columns, compared with the baseline or over a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.reports.study.inputs import Input, resolve
from esxparse.reports.study.shape import Shape, named
from esxparse.studies import plot, study
from esxparse.studies.columns import COLUMNS
from esxparse.studies.export import chosen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from esxparse.studies import Study

MOST_VALUES: Final = 6


@dataclass(frozen=True)
class Found:
    """A study, and what its report shows of it."""

    study: Study
    runs: pl.DataFrame
    values: tuple[str, ...]
    """Columns of `runs`, in the order in which the report tells them."""
    compared: Mapping[str, pl.DataFrame]
    """By value the ratios to the baseline, without the baseline's own rows; empty without a baseline."""
    figures: pl.DataFrame | None
    """Figures of benchmarks against those of the baseline, without its own rows (`Study.virtual_to_native`)."""
    sweep: str | None
    """The label that is swept."""
    tolerated: pl.DataFrame | None
    """The largest load at each of the tolerances asked for (`Study.consolidation`)."""
    peaks: pl.DataFrame | None
    """The largest load that meets all of the rules asked for (`Study.peak_load`)."""
    published: pl.DataFrame | None
    """What the study published beside what its runs give (`studies.published`)."""
    shape: Shape | None = None
    """What is asked of studies of this kind."""
    inputs: tuple[Input, ...] = ()
    """The shape's parameters: values, and who gave them."""


def gather(
    path: str | Path,
    values: Sequence[str] = (),
    shape: str = "",
    given: Mapping[str, Any] | None = None,
    *,
    outside: bool = False,
    allow: bool = False,
) -> Found:
    """Reads a study and compares what it measured.

    `values`: columns of `runs` to report on; by default the main ones that have numbers. `shape`, `given`: the kind of
    study, and the values of its parameters that the command line sets.
    `outside`, `allow`: as `esxparse.study` takes them.

    Raises EsxparseError: As `esxparse.study`; there is no such column, or nothing has a number.
    """
    found = study(path, outside=outside, allow=allow)
    kind = named(shape)
    inputs = resolve(kind, found.asked, given or {})
    runs = found.runs.collect()
    asked = tuple(values) or found.asked.values
    with_figures = found.results is not None and len(found.baseline) == 1 and not asked
    about = asked or _main(found, runs, covered=with_figures)
    for name in about:
        if name in found.labels or not runs.schema.get(name, pl.Null()).is_numeric():
            raise EsxparseError(f"{name!r} is no numeric column of the runs: esxparse study columns lists them")
    if not about:
        msg = f"{found.path}: no run has a number to report on; {_first_gap(runs)}"
        raise EsxparseError(msg)
    compared, figures = {}, None
    if found.baseline:
        found = found.answering(about, figures=with_figures)
        for name in about:
            table = found.compare(name).filter(~pl.col("is_baseline"), pl.col("difference").is_not_null()).collect()
            if table.height:
                compared[name] = table
    if with_figures:
        figures = found.virtual_to_native().filter(~pl.col("is_baseline")).collect()
    sweep = found.asked.sweep or _sweep(found, runs)
    if sweep and sweep not in found.labels:
        raise EsxparseError(f"{found.path}: {sweep!r} of [report] is no label of the runs: {', '.join(found.labels)}")
    loads = _loads(found, sweep)
    return Found(found, runs, about, compared, figures, sweep or None, *loads, found.published(), kind, inputs)


def _loads(found: Study, sweep: str | None) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
    """The largest loads at each tolerance, and the largest that meets all rules."""
    asked = found.asked
    if not (asked.tolerances or asked.rules):
        return None, None
    if not sweep:
        raise EsxparseError(f"{found.path}: tolerances and rules of [report] need a sweep: name its label there")
    tolerated = found.consolidation(sweep, asked.tolerances).collect() if asked.tolerances else None
    return tolerated, found.peak_load(sweep, asked.expressions()).collect() if asked.rules else None


def _main(found: Study, runs: pl.DataFrame, *, covered: bool) -> tuple[str, ...]:
    """The main columns with numbers; of figures of benchmarks, those that most runs have.

    `covered`: the figures are compared in a table of their own, so the columns of load generators and hosts come first.
    """
    shown = [
        name
        for name in chosen(runs, found.labels, None)
        if name not in found.labels and name != "repetition" and runs[name].dtype.is_numeric()
    ]
    told = [name for name in shown if name in COLUMNS and runs[name].max() != 0]
    own = sorted((name for name in shown if name not in COLUMNS), key=lambda name: runs[name].null_count())
    if "host_used_pct" in told and "host_util_pct" in told:
        told.remove("host_util_pct")
    # Figures of a benchmark are what was measured; what the host did meanwhile stands behind them.
    first = [*told, *own] if covered else [*own[:MOST_VALUES], *told]
    return tuple(first[:MOST_VALUES])


def _sweep(found: Study, runs: pl.DataFrame) -> str | None:
    numbers = [name for name in found.labels if plot.is_sweep(runs, name)]
    return max(numbers, key=lambda name: (name in found.axis, runs[name].n_unique()), default=None)


def _first_gap(runs: pl.DataFrame) -> str:
    gaps = runs["gap"].drop_nulls()
    return f"run 1: {gaps[0]}" if gaps.len() else "name files of results in study.toml"
