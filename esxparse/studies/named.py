"""What a column of a study is called, in which unit it is, and whether more or less of it is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, cast

import polars as pl

from esxparse.studies.asked import Computed
from esxparse.studies.columns import COLUMNS
from esxparse.studies.export import declared, heading

Better = Literal["higher", "lower", ""]
BETTER: Final = {name: column.better for name, column in COLUMNS.items() if column.better}
"""Whether more or less of a column is better, where that is so for everybody."""


@dataclass(frozen=True)
class Named:
    """A column in words."""

    name: str
    unit: str
    better: Better
    """"" where it depends."""


def named(study: Computed, column: str) -> Named:
    """A column of `runs` in words; a benchmark's figure as the benchmark calls it."""
    if column in COLUMNS or study.results is None:
        return Named(*heading(column), cast("Better", BETTER.get(column, "")))
    rows = study.results.filter(pl.col("column") == column).head(1).collect()
    if rows.is_empty():
        return Named(*heading(column), "")
    row = rows.row(0, named=True)
    _, unit = heading(column, declared(rows.lazy()))
    parts = [row[part] for part in ("benchmark", "test", "metric") if row[part]]
    alike = study.results.filter(pl.col("benchmark") == row["benchmark"], pl.col("test") == row["test"])
    if row["configuration"] and alike.select(pl.col("configuration").n_unique()).collect().item() > 1:
        parts.insert(-1, f"({row['configuration']})")
    text = " ".join(parts if parts[0] != "results" else parts[1:]).replace("_", " ")
    better: Better = "" if row["higher_is_better"] is None else "higher" if row["higher_is_better"] else "lower"
    return Named(text[:1].upper() + text[1:], unit, better)
