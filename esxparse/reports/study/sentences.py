"""Sentences from the rows of a table, for templates and for the study's manifest."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.reports.blocks import rounded
from esxparse.studies import plot
from esxparse.studies.derived import Derived

if TYPE_CHECKING:
    from esxparse.reports.study.gather import Found

_TWICE: Final = re.compile(r"(?<![\w.,])([+-]?\d[\d.,]*) to \1(?![\d.,]*\d)")
"""A range whose ends are printed alike."""


def sentences(found: Found, rows: pl.DataFrame | pl.LazyFrame, text: str, lead: str = "", **names: Any) -> list[str]:
    """Return a sentence for each row of a table; with a `lead`, one sentence for all rows.

    Args:
        found: The study.
        rows: Any table.
        text: The sentence, in the syntax of `str.format`. It may use the columns of `rows`, the `names`, `who` (the
            varying labels, with a colon) and `labels_told` (all labels). A number without a format has about four
            digits. A row with a null in one of these has no sentence.
        lead: Text before the rows.
        names: Other values in the text.

    Raises EsxparseError: The text uses an unknown name, or a format that does not fit.
    """
    frame = rows.lazy().collect()
    varied = [name for name in found.study.labels if found.runs[name].n_unique() > 1]
    frame = frame.with_columns(who=label_words(frame, varied), labels_told=label_words(frame, found.study.labels))
    made = []
    for row in frame.iter_rows(named=True):
        who = f"{row['who']}: " if row["who"] else ""
        sentence = _Sentence().filled(text, {**names, **row, "who": who})
        # Names keep their own capitals.
        made += [sentence if who or lead else sentence[:1].upper() + sentence[1:]] if sentence else []
    made = list(dict.fromkeys(made))
    return [f"{lead}{'; '.join(made)}."] if made and lead else made


def of_manifest(found: Found) -> list[str]:
    """Return the answers from the manifest's `[[report.answer]]`."""
    section = found.study.report_section
    derived = Derived(found.whole, section.tables, found.study.path)
    made = []
    for place, one in enumerate(section.answer, 1):
        made += sentences(found, derived.frame(f"answer {place}", one["sql"]), one["text"], one.get("lead", ""))
    return made


def label_words(frame: pl.DataFrame, labels: Sequence[str]) -> pl.Expr:
    """Return these labels in words, if the frame has them; an empty text without any."""
    words = [
        pl.when(pl.col(one).is_not_null()).then(plot.value_expression(one, frame))
        for one in labels
        if one in frame.columns
    ]
    return pl.concat_str(words, separator=", ", ignore_nulls=True) if words else pl.lit("")


class _Sentence(string.Formatter):
    """Fills in a row's columns, with numbers in plain notation."""

    def filled(self, text: str, row: dict[str, Any]) -> str:
        """Return the sentence; "" if one of its values is null."""
        names = [name for _, name, _, _ in self.parse(text) if name]
        for name in names:
            if name not in row:
                raise EsxparseError(f"the sentence {text!r} names {name!r}: its rows have {', '.join(row)}")
        if any(row[name] is None for name in names):
            return ""
        try:
            return _TWICE.sub(r"\1", self.vformat(text, (), row))
        except ValueError as error:
            raise EsxparseError(f"the sentence {text!r}: {error}") from None

    def format_field(self, value: Any, spec: str) -> str:
        """Format a number without a format spec to about four digits."""
        plain = not spec and isinstance(value, int | float) and not isinstance(value, bool)
        return rounded(value) if plain else format(value, spec)
