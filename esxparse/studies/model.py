"""A study, computed: what `esxparse.study` returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esxparse.errors import EsxparseError
from esxparse.metrics import interval, ratio
from esxparse.studies import baseline as of_baseline
from esxparse.studies import export
from esxparse.studies.expand import expand
from esxparse.studies.manifest import load
from esxparse.studies.runs import table_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl
    from great_tables import GT

    from esxparse.recording import Note


@dataclass(frozen=True, eq=False)
class Study:
    """Many runs as one table."""

    title: str
    axis: tuple[str, ...]
    """The labels that are swept."""
    baseline: Mapping[str, Any]
    """The labels of the runs that others are divided by; empty without one."""
    labels: tuple[str, ...]
    """The labels of the runs, in the order of the manifest."""
    within: tuple[str, ...]
    """The labels that a run shares with the one it is divided by."""
    runs: pl.LazyFrame
    """One row per run: its labels, then every metric its files allow (`esxparse.studies.columns.COLUMNS`)."""
    results: pl.LazyFrame | None
    """Figures of benchmarks, one row per figure, under the labels of their run (for `metrics.ratio.virtual_to_native`);
    None where no run has any."""
    notes: tuple[Note, ...]
    """What a run lacks and why, facts that disagree, runs that were not steady; lines are those of the manifest."""
    path: Path
    """The manifest."""
    description: str = ""

    def compare(
        self, value: str, *, method: interval.Method = "fieller", confidence: float = 0.95, seed: int = 0
    ) -> pl.LazyFrame:
        """Each configuration divided by its baseline: see `metrics.ratio.ratios`.

        Raises:
            EsxparseError: The study has no baseline or no such column.
        """
        if not self.baseline:
            msg = f'{self.path} names no baseline to compare with: add baseline = {{ label = "value" }}'
            raise EsxparseError(msg)
        return ratio.ratios(
            self.runs,
            value,
            self.labels,
            self.baseline,
            within=self.within,
            method=method,
            confidence=confidence,
            seed=seed,
        )

    def to_csv(self, path: str | os.PathLike[str], table: pl.LazyFrame | None = None) -> None:
        """Writes `runs`, or another table of this study, as CSV; see `studies.export.csv`."""
        export.csv(self.runs if table is None else table, path)

    def to_parquet(self, path: str | os.PathLike[str], table: pl.LazyFrame | None = None) -> None:
        """Writes `runs`, or another table of this study, as Parquet with units; see `studies.export.parquet`."""
        export.parquet(self.runs if table is None else table, path, self.title, of_baseline.text(self.baseline))

    def to_table(
        self,
        path: str | os.PathLike[str] | None = None,
        table: pl.LazyFrame | None = None,
        columns: Sequence[str] | None = None,
    ) -> GT:
        """Gives `runs`, or another table of this study, as a table for publication, and writes it as HTML.

        Args:
            path: Where the HTML is written, if it is.
            table: `compare(...)` for instance; `runs` where none is given.
            columns: Which columns, in which order; without, labels and those that say most.
        """
        made = export.great_table(self, self.runs if table is None else table, columns)
        if path is not None:
            export.html(made, path, self.title)
        return made


def study(path: str | os.PathLike[str], *, progress: Callable[[int, int, str], None] | None = None) -> Study:
    """Reads `study.toml` and computes one row for each run; a run that lacks something has nulls and a note.

    Files are read one run after another, and none is kept.

    Args:
        path: The manifest, or the directory that has it as `study.toml`.
        progress: Is told how many runs are done, of how many, and which is next.

    Raises:
        EsxparseError: The manifest cannot be read, is no TOML, or says above its runs what nobody can use.
    """
    manifest = load(Path(path))
    runs = expand(manifest)
    frame, figures, notes = table_of(manifest, runs, progress)
    labels = tuple(runs[0].labels) if runs else ()
    return Study(
        title=manifest.title,
        axis=manifest.axis,
        baseline=manifest.baseline,
        labels=labels,
        within=tuple(of_baseline.within(manifest, labels)),
        runs=frame.lazy(),
        results=None if figures is None else figures.lazy(),
        notes=tuple(notes),
        path=manifest.path,
        description=manifest.description,
    )
