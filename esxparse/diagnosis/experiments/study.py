"""The parts of a study that a diagnosis reads: this layer does not know studies themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import polars as pl


class Study(Protocol):
    """The parts of a study that a diagnosis reads; `esxparse.studies.Study` has them."""

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
        """Return the study with verdicts that allow for all comparisons of one answer."""

    def compare(self, value: str) -> pl.LazyFrame:
        """Return each configuration divided by its baseline (`metrics.ratio.ratios`)."""

    def virtual_to_native(self) -> pl.LazyFrame:
        """Return figures of benchmarks against the baseline's (`metrics.ratio.virtual_to_native`)."""
