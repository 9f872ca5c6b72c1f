"""A chart of one counter over time, with the highest instances in colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from esxparse.charts import marks, reduce, theme
from esxparse.errors import EsxparseError
from esxparse.explorer.rows import rows
from esxparse.metrics import ranking
from esxparse.metrics.ranking import Order
from esxparse.recording import Recording

if TYPE_CHECKING:
    import altair as alt


def plot(
    rec: Recording,
    name: str,
    n: int = reduce.MAX_SERIES,
    order: Order = "p95",
    *,
    table: str | None = None,
    vm: str | Sequence[str] | None = None,
    device: str | Sequence[str] | None = None,
    instance: str | None = None,
) -> alt.LayerChart:
    """Draw a counter over time, a line for each of the highest instances.

    Arguments as for `top`. Long captures are drawn as means of buckets over a band from lowest to highest sample.

    Raises EsxparseError: There is no such counter, table, VM or instance, or it has no value.
    """
    theme.use()
    found = rows(rec, name, table=table, vm=vm, device=device, instance=instance)
    data = reduce.with_labels(found.frame.rename({"name": "full"}).collect().lazy(), "full", "instance")
    ranked = ranking.top(data, ["label", "instance"], "value", n, order, found.weight).collect()
    if n > reduce.MAX_SERIES:
        raise EsxparseError(f"a chart has at most {reduce.MAX_SERIES} series; top(..., n={n}) ranks more")
    if ranked.is_empty():
        raise EsxparseError(f"{found.counter.name} of {found.counter.table} has no value in {rec.source}")
    total = data.select(pl.col("instance").n_unique()).collect().item()
    chosen = ranked["label"].to_list()
    kept = data.filter(pl.col("label").is_in(chosen))
    reduced = reduce.over_time(kept, ["value"], ["label", "full"], weight=found.weight)
    of = f"the {len(chosen)} of {total} {found.noun} with the highest {order}" if total > len(chosen) else ""
    counter = found.counter
    meaning = counter.meaning.split(";")[0].rstrip(".")
    look = marks.Look(
        title=marks.heading(f"{counter.name} of {found.noun}", meaning, of, reduced.caption),
        description=f"{counter.name} of {', '.join(chosen)} over time, {found.unit}.",
        axis=", ".join(filter(None, (counter.name, found.unit))),
        noun=found.noun.removesuffix("s"),
        unit=found.unit,
    )
    return marks.over_time(reduced, "value", chosen, look)
