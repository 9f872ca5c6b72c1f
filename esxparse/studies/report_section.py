"""The question of a study: the table `[report]` of a manifest; and the parts of a computed study that others read."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Protocol, TypedDict

import polars as pl
from msgspec import Meta

from esxparse.diagnosis.experiments.study import Study
from esxparse.errors import EsxparseError
from esxparse.recording import Note
from esxparse.toml.checked import Number, Read, written

_FORM: Final = re.compile(r"[+,]{0,2}(?:\.\d)?[efg%]?")
"""Formats of a number in a sentence; a width would let a manifest fill the memory."""
_Shape = Annotated[str, Meta(pattern=r"^\w*\Z", description="the name of a template: esxparse templates lists them")]
"""The template may come with esxparse, but may not be a notebook beside the data."""


def _sentence(value: Any, key: str) -> str:
    """Return a text whose columns in braces have plain formats."""
    if not isinstance(value, str):
        raise EsxparseError(f"{key} is {written(value)}; write text")
    try:
        holes = [*string.Formatter().parse(value)]
    except ValueError as error:
        raise EsxparseError(f"{key} is {written(value)}: {error}; write {{{{ and }}}} for literal braces") from None
    if not all(name is None or (name.isidentifier() and _FORM.fullmatch(form or "")) for _, name, form, _ in holes):
        raise EsxparseError(f"{key} is {written(value)}; write columns as {{iops}} or {{iops:,.0f}}")
    return value


class _Answer(TypedDict):
    sql: str
    text: Annotated[str, Read(_sentence)]


class Answer(_Answer, total=False):
    """A sentence that answers the question, for each row of a query."""

    lead: str


@dataclass(frozen=True)
class ReportSection:
    """The question, and the columns and tables that answer it; all optional."""

    question: str = ""
    shape: _Shape = ""
    """The template for `report auto`; by default the one that fits the varied labels."""
    values: Annotated[tuple[str, ...], Meta(description="a list of columns")] = ()
    """Columns of `runs`, the most important first."""
    sweep: str = ""
    """The swept label."""
    tolerances: Mapping[str, Number] = field(default_factory=dict)
    """Columns of `runs` and their limits: the largest load at each is interpolated (`Study.consolidation`)."""
    rules: Mapping[str, Number | str] = field(default_factory=dict)
    """Columns of `runs` and their limits, a number or the column with the limit: finds the largest measured load that
    meets all of them (`Study.peak_load`)."""
    inputs: Mapping[str, Number | str] = field(default_factory=dict)
    """Inputs for the template's question that no file has: prices, numbers of VMs."""
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Tables derived from the study (`studies.derived`), for `answer`."""
    answer: tuple[Answer, ...] = ()
    """Sentences that answer the question: `sql`, and `text` for each of its rows, with its columns in braces."""

    def expressions(self) -> dict[str, pl.Expr]:
        """Return the rules as expressions for `Study.peak_load`."""
        return {name: pl.col(name) <= (pl.col(to) if isinstance(to, str) else to) for name, to in self.rules.items()}


class Computed(Study, Protocol):
    """The parts of a study that figures, charts and summaries read; `esxparse.studies.Study` implements it."""

    @property
    def title(self) -> str:
        """The title of the study."""

    @property
    def axis(self) -> tuple[str, ...]:
        """The swept labels."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on anomalies."""

    @property
    def report_section(self) -> ReportSection:
        """The question, and the columns and tables of its answer."""

    def label(self, name: str) -> str:
        """Return the name if it is a label; otherwise raise an error."""

    def repetitions(self, value: str) -> pl.LazyFrame:
        """Return a value of each repetition."""

    def against(self, baseline: Mapping[str, Any], within: Sequence[str] | None = None) -> Computed:
        """Return the study with another baseline."""

    def peak_load(self, load: str, rules: Mapping[str, pl.Expr]) -> pl.LazyFrame:
        """Return the largest load that meets all rules."""
