"""What a study asks: the table `[report]` of a manifest; and what is read of a study that was computed."""

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
from esxparse.toml.checked import Number, Read, shown

_FORM: Final = re.compile(r"[+,]{0,2}(?:\.\d)?[efg%]?")
"""How a sentence may write a number; a width would let a manifest fill the memory."""
_Shape = Annotated[str, Meta(pattern=r"^\w*\Z", description="the name of a template: esxparse templates lists them")]
"""It may be a template that comes with esxparse, never a notebook beside the data."""


def _sentence(value: Any, key: str) -> str:
    """A text whose columns in braces have plain forms."""
    if not isinstance(value, str):
        raise EsxparseError(f"{key} is {shown(value)}; write text")
    try:
        holes = [*string.Formatter().parse(value)]
    except ValueError as error:
        raise EsxparseError(f"{key} is {shown(value)}: {error}; write {{{{ and }}}} for literal braces") from None
    if not all(name is None or (name.isidentifier() and _FORM.fullmatch(form or "")) for _, name, form, _ in holes):
        raise EsxparseError(f"{key} is {shown(value)}; write columns as {{iops}} or {{iops:,.0f}}")
    return value


class _Answer(TypedDict):
    sql: str
    text: Annotated[str, Read(_sentence)]


class Answer(_Answer, total=False):
    """A sentence that answers the question, for each row of a query."""

    lead: str


@dataclass(frozen=True)
class Asked:
    """The question, and where its answer lies; all may be left out."""

    question: str = ""
    shape: _Shape = ""
    """The template that `report auto` takes; by default the one that fits what was varied."""
    values: Annotated[tuple[str, ...], Meta(description="a list of columns")] = ()
    """Columns of `runs`, the most important first."""
    sweep: str = ""
    """The label that is swept."""
    tolerances: Mapping[str, Number] = field(default_factory=dict)
    """Columns of `runs` and what each may reach: the largest load at each is interpolated (`Study.consolidation`)."""
    rules: Mapping[str, Number | str] = field(default_factory=dict)
    """Columns of `runs` and what each may reach, a number or the column that has it: the largest load that was run and
    meets all of them (`Study.peak_load`)."""
    inputs: Mapping[str, Number | str] = field(default_factory=dict)
    """What the template's question needs and no file has: prices, numbers of VMs."""
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Tables that follow from the study (`studies.derived`), for `answer`."""
    answer: tuple[Answer, ...] = ()
    """Sentences that answer the question: `sql`, and `text` for each of its rows, with its columns in braces."""

    def expressions(self) -> dict[str, pl.Expr]:
        """The rules as `Study.peak_load` takes them."""
        return {name: pl.col(name) <= (pl.col(to) if isinstance(to, str) else to) for name, to in self.rules.items()}


class Computed(Study, Protocol):
    """What figures, charts and summaries read of a study; `esxparse.studies.Study` is one."""

    @property
    def title(self) -> str:
        """What it is about."""

    @property
    def axis(self) -> tuple[str, ...]:
        """The swept labels."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was odd."""

    @property
    def asked(self) -> Asked:
        """The question, and what a report answers it with."""

    def label(self, name: str) -> str:
        """The name, if it is that of a label; otherwise raises an error."""

    def repetitions(self, value: str) -> pl.LazyFrame:
        """A value of each repetition."""

    def against(self, baseline: Mapping[str, Any], within: Sequence[str] | None = None) -> Computed:
        """The study with another baseline."""

    def peak_load(self, load: str, rules: Mapping[str, pl.Expr]) -> pl.LazyFrame:
        """The largest load that keeps all rules."""
