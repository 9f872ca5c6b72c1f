"""The subject of a report on a study: its main columns, compared with the baseline or over a sweep."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.reports.library import needs_of_studies
from esxparse.reports.study import needs
from esxparse.reports.study.inputs import Input, missing, resolve
from esxparse.schema import TIME
from esxparse.studies import plot, study
from esxparse.studies.columns import COLUMNS
from esxparse.studies.expand import expand
from esxparse.studies.export import Named, chosen, column_in_words
from esxparse.studies.study_file import load

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from esxparse.studies import Study

MOST_VALUES: Final = 6


@dataclass(frozen=True)
class Found:
    """A study, and the results that its report shows."""

    study: Study
    runs: pl.DataFrame
    values: tuple[str, ...]
    """Columns of `runs`, in the order of the report."""
    unmeasured: tuple[str, ...]
    """Requested columns without a number in any run."""
    compared: Mapping[str, pl.DataFrame]
    """The ratios to the baseline by value, without the baseline's own rows; empty without a baseline."""
    figures: pl.DataFrame | None
    """Figures of benchmarks against the baseline, without its own rows (`Study.virtual_to_native`)."""
    sweep: str | None
    """The swept label."""
    tolerated: pl.DataFrame | None
    """The largest load at each requested tolerance (`Study.consolidation`)."""
    peaks: pl.DataFrame | None
    """The largest load that meets all requested rules (`Study.peak_load`)."""
    published: pl.DataFrame | None
    """The study's published figures beside its runs' results (`studies.published`)."""
    inputs: tuple[Input, ...] = ()
    """The template's questions to the user: values and their origin."""

    @property
    def base(self) -> str:
        """The label that identifies the baseline; empty without a baseline."""
        return next(iter(self.study.baseline), "")

    @property
    def base_value(self) -> Any:
        """The baseline's value of that label; None without a baseline."""
        return self.study.baseline.get(self.base)

    @property
    def units(self) -> str | None:
        """The numeric label besides the sweep that varies most: nodes, if users are swept."""
        count = {name: self.runs[name].n_unique() for name in self.study.labels if name != self.sweep}
        numbers = [name for name in count if count[name] > 1 and self.runs[name].dtype.is_numeric()]
        return max(numbers, key=lambda name: count[name], default=None)

    @property
    def rising(self) -> list[str]:
        """The measured values that are better if higher."""
        return [name for name in self.values if self.has(name) and self.name_and_unit(name).better == "higher"]

    @property
    def input_values(self) -> list[Any]:
        """The values of the inputs, in their order; None for missing ones."""
        return [one.value for one in self.inputs]

    @property
    def is_complete(self) -> bool:
        """Whether every input has a value."""
        return not missing(self.inputs)

    def has(self, column: str) -> bool:
        """Return whether runs have numbers in a column."""
        return column in self.runs.columns and self.runs[column].null_count() < self.runs.height

    def name_and_unit(self, value: str) -> Named:
        """Return the name and unit of a column of the runs, and which direction is better."""
        return column_in_words(self.study, value)

    def words(self, label: str | None) -> str:
        """Return a label in words: VMs, size. Empty without a label."""
        return plot.label_words(label)[0] if label else ""

    def number_of(self, label: str) -> str:
        """Return the meaning of a label's value, in words: number of VMs, size."""
        return plot.number_words(label)

    def labels_but(self, *names: str | None) -> list[str]:
        """Return the labels of the runs, without `names`."""
        return [name for name in self.study.labels if name not in names]

    def first(self, label: str) -> Any:
        """Return the first value of a label; None if the runs have no such label."""
        return self.runs[label].drop_nulls().first() if label in self.study.labels else None

    @property
    def whole(self) -> Study:
        """The study with a column for every measurable quantity, null if not measured."""
        runs, results = self.study.runs, self.study.results
        there = set(runs.collect_schema())
        lacking = {name: column.type for name, column in COLUMNS.items() if name not in there}
        runs = runs.with_columns(pl.lit(None, kind).alias(name) for name, kind in lacking.items())
        if results is not None and "time" not in results.collect_schema():
            results = results.with_columns(time=pl.lit(None, TIME))
        return replace(self.study, runs=runs, results=results)


def gather(
    path: str | Path,
    values: Sequence[str] = (),
    inputs: Sequence[Input] = (),
    *,
    template: str = "",
    outside: bool = False,
    allow: bool = False,
) -> Found:
    """Read a study and compare its values.

    Args:
        path: A manifest, or its directory.
        values: Columns of `runs` to report on; by default the main ones with numbers.
        inputs: Numbers for the template's question that no file has, with the user's values.
        template: The template's name: a manifest for this template may not have other inputs.
        outside: Whether the manifest may use files outside its directory.
        allow: Whether to compare runs whose files fail the quality check.

    Raises EsxparseError: See `esxparse.study`; a column does not exist, nothing has a number, an input is impossible,
    or the template does not serve the study.
    """
    found = study(path, outside=outside, allow=allow)
    every = needs_of_studies() if "ESXPARSE_REPORT" not in os.environ else {}
    if template in every:
        # In a run by `report` this check was done before the kernel started.
        manifest = load(found.path)
        needs.check(template, every[template], manifest, expand(manifest, outside=outside), every)
    asked_of_user = resolve(inputs, found.report_section, template)
    runs = found.runs.collect()
    requested = tuple(values) or found.report_section.values
    with_figures = found.results is not None and len(found.baseline) == 1 and not requested
    about = tuple(name for name in requested if _numbers(found, runs, name))
    unmeasured = tuple(name for name in requested if name not in about)
    if unmeasured and not (about and COLUMNS.keys() >= set(unmeasured)):
        msg = f"{found.path}: no run has a number in column {unmeasured[0]!r}; {_why(runs, unmeasured[0])}"
        raise EsxparseError(msg)
    about = about or _main(found, runs, covered=with_figures)
    if not about:
        raise EsxparseError(f"{found.path}: no run has a number to report on; {_why(runs)}")
    compared, figures = {}, None
    if found.baseline:
        found = found.answering(about, figures=with_figures)
        for name in about:
            table = found.compare(name).filter(~pl.col("is_baseline"), pl.col("difference").is_not_null()).collect()
            if table.height:
                compared[name] = table
    if with_figures:
        figures = found.virtual_to_native().filter(~pl.col("is_baseline")).collect()
    sweep = found.report_section.sweep or _sweep(found, runs)
    if sweep and sweep not in found.labels:
        raise EsxparseError(f"{found.path}: {sweep!r} of [report] is no label of the runs: {', '.join(found.labels)}")
    loads = _loads(found, sweep)
    beside = found.published()
    return Found(found, runs, about, unmeasured, compared, figures, sweep or None, *loads, beside, asked_of_user)


def _loads(found: Study, sweep: str | None) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
    """Return the largest loads at each tolerance, and the largest that meets all rules."""
    section = found.report_section
    if not (section.tolerances or section.rules):
        return None, None
    if not sweep:
        raise EsxparseError(f"{found.path}: tolerances and rules of [report] need a sweep: name its label there")
    tolerated = found.consolidation(sweep, section.tolerances).collect() if section.tolerances else None
    return tolerated, found.peak_load(sweep, section.expressions()).collect() if section.rules else None


def _main(found: Study, runs: pl.DataFrame, *, covered: bool) -> tuple[str, ...]:
    """Return the main columns with numbers; for figures of benchmarks, the ones that most runs have.

    `covered`: a separate table compares the figures, so the columns of load generators and hosts come first.
    """
    numeric = [
        name
        for name in chosen(runs, found.labels, None)
        if name not in found.labels and name != "repetition" and runs[name].dtype.is_numeric()
    ]
    standard = [name for name in numeric if name in COLUMNS and runs[name].max() != 0]
    own = sorted((name for name in numeric if name not in COLUMNS), key=lambda name: runs[name].null_count())
    if "host_used_pct" in standard and "host_util_pct" in standard:
        standard.remove("host_util_pct")
    # Figures of a benchmark are the result; the host's columns follow.
    first = [*standard, *own] if covered else [*own[:MOST_VALUES], *standard]
    return tuple(first[:MOST_VALUES])


def _sweep(found: Study, runs: pl.DataFrame) -> str | None:
    numbers = [name for name in found.labels if plot.is_sweep(runs, name)]
    return max(numbers, key=lambda name: (name in found.axis, runs[name].n_unique()), default=None)


def _numbers(found: Study, runs: pl.DataFrame, name: str) -> bool:
    """Return whether a column, which is not a label, has a number in some run."""
    numeric = name not in found.labels and runs.schema.get(name, pl.Null()).is_numeric()
    return numeric and runs[name].null_count() < runs.height


def _why(runs: pl.DataFrame, column: str = "") -> str:
    """Return the first gap of a run, or else the files that provide the column."""
    gaps = runs.filter(pl.col("gap").is_not_null()).select("run", "gap").rows()
    if gaps:
        return f"run {gaps[0][0]}: {gaps[0][1]}"
    if column in COLUMNS and COLUMNS[column].needs:
        return f"it comes from files of {COLUMNS[column].needs}"
    return "`esxparse study columns` lists the columns" if column else "name files of results in study.toml"
