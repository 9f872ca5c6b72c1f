"""The columns of `runs`: their meaning, file and formula; `columns.csv` lists them in order.

name      as in `runs`; its end is the unit (`mb` is 10**6 bytes, `mib` 2**20)
group     group of related columns
needs     role of the file it comes from; empty for columns of every run
type      f64, i64, str, bool, time
means     one line; means are over the time of the measured span
source    documentation of the formula; for numbers, `derived.TABLE:COLUMN` is the formula: the mean of that column
          over time, and over VMs by their vCPUs
headline  default place among the columns of a table for readers
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import polars as pl

from esxparse.schema import TYPES, listed


class Column(NamedTuple):
    """A column of `runs`, from `columns.csv`."""

    name: str
    group: str
    needs: str
    type: Any
    means: str
    source: str
    headline: int | None
    better: str
    """`higher` or `lower`; empty if neither is clearly better."""


def _means() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for column in METRICS.values():
        table, _, of = column.source.removeprefix("derived.").partition(":")
        if of and column.type == pl.Float64:
            found.setdefault(table, {})[column.name] = of
    return found


COLUMNS: Final = {
    name: Column(name, group, needs, TYPES[kind], means, source, int(headline or 0) or None, better)
    for name, group, needs, kind, means, source, headline, better in listed(__package__)
}
"""All columns that `runs` may have besides labels, figures of the manifest, events and benchmark results."""
FIRST, SPAN, FACTS, COSTS, LAST = (
    {name: column for name, column in COLUMNS.items() if column.group == group}
    for group in ("run", "span", "host", "cost", "end")
)
METRICS: Final = {name: one for name, one in COLUMNS.items() if name not in {*FIRST, *SPAN, *FACTS, *LAST}}
MEANS: Final = _means()
"""By derived table: columns of `runs` that are the mean of one of its columns."""
HEADLINES: Final = tuple(
    sorted((name for name in METRICS if COLUMNS[name].headline), key=lambda name: COLUMNS[name].headline or 0)
)
"""Default columns of a table for readers; columns without a number are left out."""
