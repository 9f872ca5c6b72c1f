"""A computed study: the result of `esxparse.study`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.errors import EsxparseError, did_you_mean
from esxparse.fleet import Crew
from esxparse.metrics import consolidation, evidence, interval, ratio, scaling
from esxparse.metrics.scaling import TOLERANCE_PCT
from esxparse.recording import Note, printable
from esxparse.sortable import shown_as
from esxparse.studies import baseline as of_baseline
from esxparse.studies import export, notebook_page, plot, published
from esxparse.studies.expand import expand
from esxparse.studies.report_section import ReportSection
from esxparse.studies.runs import table_of
from esxparse.studies.study_file import load

if TYPE_CHECKING:
    import altair as alt
    from great_tables import GT

    from esxparse.quality.results import Quality

_WIDTH: Final = 560
"""Width of a chart in a notebook, pixels."""


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Many runs as one table."""

    title: str
    axis: tuple[str, ...]
    """The swept labels."""
    baseline: Mapping[str, Any]
    """The labels of the baseline runs; empty without a baseline."""
    labels: tuple[str, ...]
    """The labels of the runs, in the order of the manifest."""
    within: tuple[str, ...]
    """The labels that a run shares with its baseline."""
    runs: pl.LazyFrame
    """One row per run: its labels, then every metric its files allow (`esxparse.studies.columns.COLUMNS`)."""
    results: pl.LazyFrame | None
    """Figures of benchmarks, one row per figure, under the labels of their run (for `metrics.ratio.virtual_to_native`);
    None if no run has any."""
    notes: tuple[Note, ...]
    """Missing data and why, conflicting facts, unsteady runs; lines refer to the manifest."""
    path: Path
    """The manifest."""
    description: str = ""
    inputs: tuple[Path, ...] = ()
    """The input files, which no table may overwrite."""
    quality: Quality | None = None
    """The result of `esxparse.check` for the files of its runs."""
    allow: bool = False
    """Whether to compare runs whose files fail that check."""
    family: evidence.Family | None = None
    """The comparisons of one answer, for which verdicts allow (`answering`); None: the comparisons of each table."""

    def __repr__(self) -> str:
        return notebook_page.text(self)

    def _repr_html_(self) -> str:
        return notebook_page.page(self)

    def _sound(self) -> None:
        """Check that the files of the runs pass the quality check, unless `allow` is set.

        Raises EsxparseError: Some files fail.
        """
        failed = () if self.allow or self.quality is None else self.quality.failed
        if failed:
            more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
            msg = (
                f"{self.path}: files of its runs fail the quality check: {failed[0]}{more}. See esxparse.check(study), "
                "leave the run out, or compare all the same: study(..., allow=True), --allow"
            )
            raise EsxparseError(printable(msg))

    experiments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By experiment (cached, native ...) the labels that identify its runs, if the manifest has them."""
    report_section: ReportSection = field(default_factory=ReportSection)
    """The question, and the columns and tables of its answer."""

    def compare(
        self, value: str, *, method: interval.Method = "fieller", confidence: float = 0.95, seed: int = 0
    ) -> pl.LazyFrame:
        """Return each configuration divided by its baseline: see `metrics.ratio.ratios`.

        Raises EsxparseError: The study has no baseline or no such column.
        """
        if not self.baseline:
            raise EsxparseError(f'{self.path} has no baseline to compare with: add baseline = {{ label = "value" }}')
        numeric = self._has(value).is_numeric()
        self._sound()
        for name in self.baseline:
            if name not in self.labels:
                msg = (
                    f"the baseline's {name!r} is not a label of the runs in {self.path}: "
                    + did_you_mean(name, self.labels)
                    + "name one of theirs"
                )
                raise EsxparseError(msg)
        runs = self.repetitions(value) if numeric else self.runs  # which names the numeric columns
        options: dict[str, Any] = {"within": self.within, "method": method, "confidence": confidence, "seed": seed}
        return ratio.ratios(runs, value, self.labels, self.baseline, family=self.family, **options)

    def answering(self, values: Sequence[str], *, figures: bool = False) -> Study:
        """Return the same study, with verdicts that allow for all comparisons of one answer (`metrics.evidence`).

        `values`: the columns that the answer compares. `figures`: whether it also compares the figures of benchmarks.

        Raises EsxparseError: See `compare` and `virtual_to_native`.
        """
        tables = [*([self.virtual_to_native()] if figures else []), *(self.compare(name) for name in values)]
        p_values = [p for table in tables for p in table.select("p_value").collect()["p_value"]]
        return replace(self, family=evidence.find_family(p_values))

    def against(self, baseline: Mapping[str, Any], within: Sequence[str] | None = None) -> Study:
        """Return the same study with another baseline, for example Fibre Channel instead of the older release.

        `baseline`: labels of the runs to divide by. `within`: labels that a run shares with its baseline; by default
        all labels not in `baseline`.

        Raises EsxparseError: A label does not exist, or no run has its value.
        """
        seen = self.runs.select(*map(self.label, baseline)).unique().collect()
        for name, wanted in baseline.items():
            if wanted not in (there := sorted(seen[name].drop_nulls())):
                choices = ", ".join(map(str, there))
                raise EsxparseError(f"no run of {self.path} has {name}={wanted}: choose one of {choices}")
        shared = [name for name in self.labels if name not in baseline] if within is None else map(self.label, within)
        return replace(self, baseline=dict(baseline), within=tuple(shared))

    def repetitions(self, value: str) -> pl.LazyFrame:
        """Return a value of each repetition, with its labels; parts of one recording count by their mean.

        Raises EsxparseError: The column does not exist, is not numeric, or only identifies the run.
        """
        self._number(value)
        if value in (*self.labels, "recording"):
            raise EsxparseError(f"{value} says which run it is in {self.path}: choose a column that was measured")
        return self.runs.group_by(*self.labels, "recording", maintain_order=True).agg(pl.col(value).mean())

    def plot(
        self,
        y: str,
        x: str | None = None,
        by: str | Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        relative: bool = False,
        change: bool = False,
        linear: bool = False,
    ) -> alt.LayerChart | alt.VConcatChart:
        """Draw a column of `runs` over a label: lines over a swept number, bars over names.

        Points are means of the repetitions; error bars are their range.

        Args:
            y: The column, such as `iops`.
            x: The label on the axis; by default the swept one.
            by: The label, or labels, of the series; by default the baseline's labels. Any other label that varies makes
                a panel for each of its values.
            where: Labels and the value, or list of values, to keep: `{"size": [4, 8], "disk": "vmfs"}`.
            relative: Draws the ratio to the baseline with its 95 % interval (`compare`) instead.
            change: Draws the difference from the baseline instead, in percent.
            linear: Adds the straight line through the smallest x of each series, for sweeps that should be linear.

        Raises EsxparseError: No such column or label, no run has a number, or there would be more than 12 panels.
        """
        import altair as alt  # noqa: PLC0415  takes more than a second

        style: plot.Style = "change" if change else "relative" if relative else "linear" if linear else "plain"
        made = plot.charts(self, y, x, by, where or {}, style, _WIDTH)
        return made[0] if len(made) == 1 else alt.vconcat(*made).resolve_scale(color="independent")

    def published(self) -> pl.DataFrame | None:
        """Return published figures beside the runs' results, if published.toml has any: see `studies.published`."""
        return published.figures(self)

    def scaling(self, load: str, value: str) -> pl.LazyFrame:
        """Compare a value's growth over a swept label with the straight line through its smallest point.

        `metrics.scaling.efficiency`: one row per run, with its labels, `value` and `linear`, `efficiency`, `speedup`,
        `per_unit`; runs that differ in another label are separate sweeps. Assumes that higher is better.

        `load`: the swept label, a number: VMs, hosts, vCPUs. `value`: a column of `runs`.

        Raises EsxparseError: The label or column does not exist, or is not numeric.
        """
        return scaling.efficiency(self._curve(load, value), load, value, self._others(load))

    def leaves_linear(self, load: str, value: str, *, tolerance_pct: float = TOLERANCE_PCT) -> pl.LazyFrame:
        """Find the load up to which a value scales linearly, one row per sweep: see `metrics.scaling.leaves_linear`."""
        return scaling.leaves_linear(self._curve(load, value), load, value, self._others(load), tolerance_pct)

    def consolidation(self, load: str, limits: Mapping[str, float]) -> pl.LazyFrame:
        """Return the largest load at each tolerance by interpolation: see `metrics.consolidation.largest_loads`.

        `load`: the swept label, a number. `limits`: columns of `runs` and their limits: `{"read_p95_ms": 100,
        "host_util_pct": 90}`.
        """
        return consolidation.largest_loads(self._curve(load, *limits), load, limits, self._others(load))

    def peak_load(self, load: str, rules: Mapping[str, pl.Expr]) -> pl.LazyFrame:
        """Return the largest load for which all runs meet every rule: see `metrics.scaling.peak_load`.

        `load`: the swept label, a number. `rules`: names of rules, and an expression that is true if a run meets the
        rule: `{"p95": pl.col("read_p95_ms") <= 100}`.
        """
        self._curve(load)
        for rule in rules.values():
            # Later checks reject values that are not expressions.
            for name in rule.meta.root_names() if isinstance(rule, pl.Expr) else ():
                self._has(name)
        return scaling.peak_load(self.runs, load, rules, self._others(load))

    def virtual_to_native(
        self, *, method: interval.Method = "fieller", confidence: float = 0.95, seed: int = 0
    ) -> pl.LazyFrame:
        """Compare figures of benchmarks with the baseline's: see `metrics.ratio.virtual_to_native`.

        The baseline has one label, `{ platform = "native" }`. Configurations that differ in other labels are each
        compared with their own baseline.

        Raises EsxparseError: No run has figures of a benchmark, or the baseline does not have exactly one label.
        """
        if self.results is None:
            msg = f"{self.path}: no run has figures of a benchmark (netperf, stream, results_csv ...) to compare"
            raise EsxparseError(msg)
        if len(self.baseline) != 1:
            baseline_text = of_baseline.text(self.baseline) or "none"
            msg = (
                f'{self.path}: the baseline must name one label, such as {{ platform = "native" }}, not {baseline_text}'
            )
            raise EsxparseError(msg)
        ((label, native),) = self.baseline.items()
        self._sound()
        first = self.runs.filter(pl.col("recording") == pl.col("run")).select("run")
        return ratio.virtual_to_native(
            _beside(self.results.join(first, on="run", how="semi", maintain_order="left"), self._others(label)),
            label,
            native,
            method=method,
            confidence=confidence,
            seed=seed,
            family=self.family,
        )

    def _others(self, load: str) -> list[str]:
        return [name for name in self.labels if name != load]

    def _curve(self, load: str, *values: str) -> pl.LazyFrame:
        """Return labels and some columns of `runs`."""
        self._sound()
        for name in (self.label(load), *values):
            self._number(name)
        return self.runs.select(*dict.fromkeys((*self.labels, *values)))

    def label(self, name: str) -> str:
        """Return the name if it is a label of the runs.

        Raises EsxparseError: It is not a label.
        """
        if name not in self.labels:
            labels = ", ".join(self.labels) or "none"
            raise EsxparseError(
                f"{name!r} is not a label of the runs in {self.path}: {did_you_mean(name, self.labels)}it has {labels}"
            )
        return name

    def _number(self, name: str) -> None:
        if not self._has(name).is_numeric():
            raise EsxparseError(f"{name} is not numeric in the runs of {self.path}: choose another column")

    def _has(self, name: str) -> pl.DataType:
        """Return the type of a column of `runs`."""
        schema = self.runs.collect_schema()
        if name not in schema:
            near = did_you_mean(name, schema)
            raise EsxparseError(
                f"no column {name!r} in the runs of {self.path}: {near}esxparse study columns lists all columns"
            )
        return schema[name]

    def to_csv(self, path: str | os.PathLike[str], table: pl.LazyFrame | None = None, *, replace: bool = True) -> None:
        """Write `runs`, or another table of this study, as CSV; see `studies.export.csv`.

        Raises EsxparseError: The file cannot be written, is an input of the study, or exists and `replace` is False.
        """
        out = export.place(path, self.inputs, replace=replace)
        export.csv(self.runs if table is None else table, out)

    def to_parquet(
        self, path: str | os.PathLike[str], table: pl.LazyFrame | None = None, *, replace: bool = True
    ) -> None:
        """Write `runs`, or another table of this study, as Parquet with units; see `studies.export.parquet`."""
        out = export.place(path, self.inputs, replace=replace)
        of, units = of_baseline.text(self.baseline), export.declared(self.results)
        export.parquet(self.runs if table is None else table, out, self.title, of, units)

    def to_table(
        self,
        path: str | os.PathLike[str] | None = None,
        table: pl.LazyFrame | None = None,
        columns: Sequence[str] | None = None,
        *,
        replace: bool = True,
    ) -> GT:
        """Return `runs`, or another table of this study, as a table for publication, and optionally write it as HTML.

        Args:
            path: Path of the HTML file; None to write none.
            table: `compare(...)` for instance; by default `runs`.
            columns: Columns in order; by default the labels and main columns.
            replace: Whether to replace an existing file.
        """
        out = None if path is None else export.place(path, self.inputs, replace=replace)
        frame = (self.runs if table is None else table).collect()
        units = export.declared(self.results)
        made = export.great_table(
            frame.select(export.chosen(frame, self.labels, columns)),
            self.labels,
            self.title,
            export.subtitle(frame, self.baseline, self.description, units),
            export.source_notes(frame, self.baseline, self.notes),
            units,
        )
        if out is not None:
            export.html(made, out, self.title)
        return made


def _beside(results: pl.LazyFrame, labels: Sequence[str]) -> pl.LazyFrame:
    """Add these labels to the configuration of benchmark figures, so that only equal configurations are compared."""
    if not labels:
        return results
    label_texts = [pl.lit(f"{name}=") + pl.col(name).cast(pl.String) for name in labels]
    own = pl.col("configuration").replace("", None)
    return results.with_columns(
        pl.concat_str([own, *label_texts], separator=", ", ignore_nulls=True).alias("configuration")
    )


def study(
    path: str | os.PathLike[str],
    *,
    outside: bool = False,
    allow: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
    crew: Crew | None = None,
) -> Study:
    """Read `study.toml` and compute one row for each run; missing data become nulls with a note.

    Files are read one run after another, and none stays in memory.

    Args:
        path: The manifest, or the directory that has it as `study.toml`.
        outside: Whether the manifest may use URLs and files outside its directory; do not allow this for a manifest
            you do not trust.
        allow: Whether to compare runs whose files fail `esxparse.check`.
        progress: Called with the runs done, the total, and the next run.
        crew: Processes for the runs: `Crew(jobs=4)`, `Crew(on="dask://scheduler:8786")`; by default this process.

    Raises EsxparseError: The manifest cannot be read, is not valid TOML, or has a mistake above its runs.
    """
    manifest = load(Path(path).absolute() if crew and crew.on else Path(path))
    runs = expand(manifest, outside=outside)
    frame, figures, notes, quality = table_of(manifest, runs, progress, crew)
    labels, results = tuple(runs[0].labels) if runs else (), None if figures is None else figures.lazy()
    return Study(
        title=manifest.title,
        axis=manifest.axis,
        baseline=manifest.baseline,
        labels=labels,
        within=tuple(of_baseline.within(manifest, labels)),
        runs=shown_as(frame.lazy(), partial(notebook_page.runs_page, labels, results)),
        results=results,
        notes=tuple(notes),
        path=manifest.path,
        description=manifest.description,
        inputs=export.inputs(manifest.path, runs),
        experiments=manifest.experiments,
        report_section=manifest.report_section,
        quality=quality,
        allow=allow,
    )
