"""What is read of a study: this layer does not know of studies themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import polars as pl


class Study(Protocol):
    """What is read of a study; `esxparse.studies.Study` is one."""

    @property
    def runs(self) -> pl.LazyFrame:
        """One row per run."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of runs."""

    @property
    def baseline(self) -> Mapping[str, Any]:
        """The labels of the baseline."""

    @property
    def experiments(self) -> Mapping[str, Mapping[str, Any]]:
        """The labels that make experiments."""

    @property
    def path(self) -> Path:
        """The manifest."""

    @property
    def results(self) -> pl.LazyFrame | None:
        """Figures of benchmarks."""

    def answering(self, values: Sequence[str], *, figures: bool = False) -> Study:
        """The study whose verdicts allow for all comparisons of one answer."""

    def compare(self, value: str) -> pl.LazyFrame:
        """Each configuration divided by its baseline (`metrics.ratio.ratios`)."""

    def virtual_to_native(self) -> pl.LazyFrame:
        """Figures of benchmarks against the baseline's (`metrics.ratio.virtual_to_native`)."""
