"""Words below a chart's title that keep its marks from being misread."""

from __future__ import annotations

from typing import Final

import polars as pl

from esxparse.charts.marks import Levels
from esxparse.recording import first_few

_NAMED: Final = 2
"""Most bars that a caption lists."""


def past_in_samples(table: pl.DataFrame, value: str, mark: str, levels: Levels | None) -> str:
    """Return words for bars that end below a limit that some of their samples passed; empty without such bars.

    `table` has `label`, `value` (the end of a bar) and `mark` (its highest sample).
    """
    if levels is None:
        return ""
    for word, limit in (("critical", levels.critical), ("warning", levels.warn)):
        names = [] if limit is None else table.filter(pl.col(value) < limit, pl.col(mark) >= limit)["label"].to_list()
        if names:
            phrase = f"some samples passed the {word} limit, although the bar ends below it"
            return f"{phrase}: {first_few(names, _NAMED)}"
    return ""
