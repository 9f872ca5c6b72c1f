"""Published and assumed figures of a study beside its runs' results: sentences and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.reports.blocks import NOTHING, Block, Column, rounded, stack, table

if TYPE_CHECKING:
    from collections.abc import Mapping

_EXACT: Final = 5e-4
"""Readers ignore a smaller tolerance."""


def sentences(figures: pl.DataFrame | None) -> list[str]:
    """Count the reproduced published figures, with the first and all that differ; then the same for assumed figures."""
    if figures is None or figures.is_empty():
        return []
    printed, assumed = (figures.filter(pl.col(name).is_not_null()) for name in ("source", "assumed"))
    made = []
    if printed.height:
        made = [f"{_come_back(printed)} published figures come back within their tolerance."]
        rows = [*printed.filter("within").head(1).to_dicts(), *_missing(printed)]
        made += [f"The published study says {_stated(row)}; here {_missed(row)}." for row in rows]
    if assumed.height:
        none = "" if printed.height else "No figure of this study was published. "
        why = "no document prints them: see the table of assumed figures"
        sentence = f"{none}{_come_back(assumed)} assumed figures come back; {why}."
        made += [sentence, *(f"Assumed were {_stated(row)}; here {_missed(row)}." for row in _missing(assumed))]
    return made


def _come_back(figures: pl.DataFrame) -> str:
    return f"{figures['within'].sum()} of {figures.height}"


def _missing(figures: pl.DataFrame) -> list[dict[str, Any]]:
    return figures.filter(~pl.col("within")).to_dicts()


def _stated(row: Mapping[str, Any]) -> str:
    return f"{row['stated']} {row['unit']}".rstrip() + f' ("{row["claim"]}")'


def _missed(row: Mapping[str, Any]) -> str:
    """Return the runs' result, and the tolerance around the stated figure."""
    here, printed = rounded(row["here"]), row["resolution"]
    if row["value"] is None:
        return f"{here}, {'within' if row['within'] else 'outside'} that range"
    wide = f"half a unit of its last digit, {printed / 2:g}" if printed else f"{100 * (row['tolerance'] or 0.0):.3g} %"
    if not row["within"]:
        return f"{here}, which is not within {wide}"
    return f"{here}, within {wide}" if printed or (row["tolerance"] or 0.0) > _EXACT else f"{here}, the same"


def block(figures: pl.DataFrame | None) -> Block:
    """Return each published figure beside the runs' result, and in another table each assumed figure."""
    if figures is None:
        return NOTHING
    verdict = pl.when("within").then(pl.lit("within")).when(~pl.col("within")).then(pl.lit("outside"))
    frame = figures.with_columns(
        verdict.otherwise(pl.lit("not computed")).alias("verdict"),
        tolerance_pct=100 * pl.col("tolerance"),
        note=pl.col("note").replace("", None),
    )
    columns = [
        Column("here", "Here", significant=6),
        Column("unit", "Unit"),
        Column("tolerance_pct", "Tolerance", "%", digits=1),
        Column("verdict", "Within", fit="short"),
    ]
    printed = [
        Column("claim", "What was published"),
        Column("stated", "Published"),
        *columns,
        Column("source", "Where"),
    ]
    assumed = [
        Column("claim", "About"),
        Column("stated", "Assumed"),
        *columns,
        Column("assumed", "Why it is not published"),
    ]
    made = []
    for name, table_columns, caption in (
        ("source", printed, "Published figures, and the same figures of these runs"),
        ("assumed", assumed, "Assumed figures: no document prints them, so they confirm nothing"),
    ):
        rows = frame.filter(pl.col(name).is_not_null())
        made += [table(rows, [*table_columns, Column("note", "Note")], caption)] if rows.height else []
    return stack(*made)
