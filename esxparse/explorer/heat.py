"""A panel of the explorer as a heat map: every object a row, the one with the highest sample first."""

from __future__ import annotations

from typing import Any, Final

import polars as pl

from esxparse.charts import heat as charts
from esxparse.charts import reduce
from esxparse.diagnosis import rules
from esxparse.explorer.panel import PanelRequest, Values, chosen_rows, rule_of
from esxparse.recording import printable

_BINS: Final = 160
_CELLS: Final = 3000
"""Most rectangles: a browser redraws more of them too slowly."""


def heat(values: Values, request: PanelRequest, profile: str = "standard") -> dict[str, Any]:
    """Return a panel as a heat map for the page.

    Returns `kind` "heat", `name`, `table`, `counter`, `unit`, `meaning`, `noun`, `total` (objects with a value),
    `step_s` (of a cell), `gathered` (whether a cell is the highest of several samples), `edges` and `classes` of the
    colours, and lists: `rows` (`label`, `full`, `instance`, the worst first), `cells` (`label`, `time` in milliseconds,
    `high`), `gaps` (`label`, `time`, `end`: no value); `missing`, `levels` and `series` are empty.

    Raises EsxparseError: As `panel.panel`.
    """
    found, whole = values.of(request.counter, request.table)
    data = chosen_rows(found, whole, request).filter(capture=request.worst_of)
    value = pl.col("value")
    # A latency of 0 ms means that there was no command.
    frame = data.lazy().select("time", "label", value=pl.when(value > 0).then(value) if found.unit == "ms" else value)
    levels = rules.load(profile).get(request.limits) or rule_of(found, profile)
    # "% of one core, per vCPU" would be too long for the name of a class.
    unit = found.unit.partition(" ")[0]
    grid = charts.grid(frame, found.noun.removesuffix("s"), unit, levels, min(request.buckets, _BINS), _CELLS)
    names = {row["label"]: row for row in data.select("label", "full", "instance").unique("label").to_dicts()}
    rows = [{**names[label], "full": printable(names[label]["full"])} for label in grid.chosen.chosen]
    counter = found.counter
    return {
        "kind": "heat",
        "name": counter.name,
        "table": counter.table,
        "counter": counter.column,
        "unit": found.unit,
        "meaning": counter.meaning,
        "noun": found.noun,
        "total": grid.chosen.total,
        "step_s": grid.step,
        "gathered": grid.gathered,
        "edges": list(grid.edges),
        "classes": grid.classes,
        "rows": rows,
        "cells": reduce.rounded(grid.cells, 4).to_dict(as_series=False),
        "gaps": reduce.rounded(grid.missing).to_dict(as_series=False),
        "missing": [],
        "levels": [],
        "series": [],
    }
