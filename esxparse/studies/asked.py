"""What a study asks: the table `[report]` of a manifest, which its report answers."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.studies.roles import nearest

if TYPE_CHECKING:
    from esxparse.studies.lines import Complaints

_KEYS: Final = ("question", "shape", "values", "sweep", "tolerances", "rules", "inputs", "tables", "answer")
_SHAPE: Final = re.compile(r"\w*")
_FORM: Final = re.compile(r"[+,]{0,2}(?:\.\d)?[efg%]?")
"""How a sentence may write a number; a width would let a manifest fill the memory."""


@dataclass(frozen=True)
class Asked:
    """The question, and where its answer lies; all may be left out."""

    question: str = ""
    shape: str = ""
    """The template that `report auto` takes; by default the one that fits what was varied."""
    values: tuple[str, ...] = ()
    """Columns of `runs`, the most important first."""
    sweep: str = ""
    """The label that is swept."""
    tolerances: Mapping[str, float] = field(default_factory=dict)
    """Columns of `runs` and what each may reach: the largest load at each is interpolated (`Study.consolidation`)."""
    rules: Mapping[str, float | str] = field(default_factory=dict)
    """Columns of `runs` and what each may reach, a number or the column that has it: the largest load that was run and
    meets all of them (`Study.peak_load`)."""
    inputs: Mapping[str, float | str] = field(default_factory=dict)
    """What the template's question needs and no file has: prices, numbers of VMs."""
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Tables that follow from the study (`studies.derived`), for `answer`."""
    answer: Sequence[Mapping[str, str]] = ()
    """Sentences that answer the question: `sql`, and `text` for each of its rows, with its columns in braces."""

    def expressions(self) -> dict[str, pl.Expr]:
        """The rules as `Study.peak_load` takes them."""
        return {name: pl.col(name) <= (pl.col(to) if isinstance(to, str) else to) for name, to in self.rules.items()}


def asked_of(found: Mapping[str, Any], wrong: Complaints) -> Asked:
    """The table `[report]`, checked."""
    for key in found:
        if key not in _KEYS:
            wrong.add(f"unknown key {key!r} of [report]{nearest(key, _KEYS)}", "report", key)
    for key in ("question", "shape", "sweep"):
        if not isinstance(found.get(key, ""), str):
            wrong.add(f'{key} must be text: write {key} = "..."', "report", key)
    shape = str(found.get("shape", ""))
    if not _SHAPE.fullmatch(shape):
        # It may name a template that comes with esxparse, never a notebook beside the data.
        wrong.add("shape must be the name of a template: esxparse templates lists them", "report", "shape")
        shape = ""
    values = found.get("values", [])
    if not isinstance(values, list) or not all(isinstance(name, str) for name in values):
        wrong.add('values must be a list of columns: write values = ["iops"]', "report", "values")
        values = []
    tolerances = _limits("tolerances", found, wrong, int | float)
    rules = _limits("rules", found, wrong, int | float | str)
    question, sweep = (str(found.get(key, "")) for key in ("question", "sweep"))
    inputs = _checked(
        "inputs", found, {}, wrong, "a table of numbers and texts: write inputs = { vms = 15 }", _are_scalars
    )
    tables = _checked("tables", found, {}, wrong, 'a table of tables: write cost = { compare = "iops" }', _are_tables)
    answer = _checked(
        "answer", found, [], wrong, "tables of sql and text: write [[report.answer]] above each", _are_answers
    )
    return Asked(question, shape, tuple(values), sweep, tolerances, rules, inputs, tables, tuple(answer))


def _checked(key: str, found: Mapping[str, Any], empty: Any, wrong: Complaints, what: str, sound: Any) -> Any:
    value = found.get(key, empty)
    if sound(value):
        return value
    wrong.add(f"{key} must be {what}", "report", key)
    return empty


def _are_scalars(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, int | float | str) and _is_sound(one) for one in value.values()
    )


def _are_tables(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, dict) for one in value.values())


def _are_answers(value: Any) -> bool:
    return isinstance(value, list) and all(_is_answer(one) for one in value)


def _is_answer(one: Any) -> bool:
    """Whether it has a query and a sentence, whose numbers have plain forms, and perhaps a beginning."""
    if not isinstance(one, dict) or not {"sql", "text"} <= set(one) <= {"sql", "text", "lead"}:
        return False
    if not all(isinstance(text, str) for text in one.values()):
        return False
    try:
        holes = [*string.Formatter().parse(one["text"])]
    except ValueError:
        return False
    return all(name is None or (name.isidentifier() and _FORM.fullmatch(form or "")) for _, name, form, _ in holes)


def _limits(key: str, found: Mapping[str, Any], wrong: Complaints, kinds: Any) -> dict[str, Any]:
    limits = found.get(key, {})
    if isinstance(limits, dict) and all(isinstance(one, kinds) and _is_sound(one) for one in limits.values()):
        return limits
    wrong.add(f"{key} must be a table of columns and limits: write {key} = {{ read_p95_ms = 100 }}", "report", key)
    return {}


def _is_sound(limit: Any) -> bool:
    return isinstance(limit, str) or (not isinstance(limit, bool) and math.isfinite(limit))
