"""Check lists of the source documents: questions answered by the runs of a study, or by a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from esxparse import toml
from esxparse.errors import EsxparseError, choose_from
from esxparse.recording import counted
from esxparse.schema import schema

LISTS: Final[Mapping[str, Mapping[str, Any]]] = toml.beside(__file__)
"""By name: `title`, and `questions` by id; `checklists.toml` explains their keys."""
YES, NO, UNKNOWN = "yes", "no", "unknown"
COLUMNS: Final = schema("id question answer evidence str")
"""Columns of `answered`."""


def answered(name: str, runs: pl.DataFrame, answers: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Answer the questions of a check list from the runs of a study and from a person's answers.

    Args:
        name: vaio, storage, nfs or iscsi.
        runs: The runs of a study, one row each; a question whose columns are missing stays unknown.
        answers: yes, no or unknown by the id of a question; they count more than the runs.

    Returns:
        One row per question: `id`, `question`, `answer` (yes, no, unknown), `evidence`: in how many runs the condition
        holds, "as answered", or empty.

    Raises:
        EsxparseError: The list or question is unknown, or an answer is not yes, no or unknown.
    """
    if name not in LISTS:
        raise EsxparseError(f"no check list {name!r}: {choose_from(name, LISTS)}")
    questions = LISTS[name]["questions"]
    by_user = answers or {}
    for key, answer in by_user.items():
        if key not in questions:
            raise EsxparseError(f"check list {name} has no question {key!r}: {choose_from(key, questions)}")
        if answer not in {YES, NO, UNKNOWN}:
            raise EsxparseError(f"answer {answer!r} to {key}: write yes, no or unknown")
    rows = []
    for key, question in questions.items():
        answer, evidence = (by_user[key], "as answered") if key in by_user else _by_runs(question, runs)
        rows.append((key, question["text"], answer, evidence))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def _by_runs(question: Mapping[str, str], runs: pl.DataFrame) -> tuple[str, str]:
    every = "all" in question
    text = question.get("all") or question.get("any")
    if text is None:
        return UNKNOWN, ""
    condition = pl.sql_expr(text)
    if not set(condition.meta.root_names()) <= set(runs.columns):
        return UNKNOWN, ""
    met = runs.select(condition.alias("met"))["met"].drop_nulls()
    if met.is_empty():
        return UNKNOWN, ""
    holds = bool(met.all() if every else met.any())
    return YES if holds else NO, f"{text} in {met.sum():,} of {counted(len(met), 'run')}"
