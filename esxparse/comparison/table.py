"""All differences between two sides as one table, each with its load beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from esxparse.comparison.loads import Effect, effect
from esxparse.comparison.pairs import pairs
from esxparse.comparison.series import Gathered
from esxparse.derived.panels import Panel
from esxparse.metrics.means import FEWEST_EFFECTIVE, Means, adjusted, differences, means
from esxparse.schema import schema

Numbers = NDArray[np.float64]

PRINTED: Final = 0.01
"""The resolution that esxtop prints: a smaller difference cannot be seen."""
MATERIAL: Final = 0.05
"""The share of its level by which a series has to change to count as better or worse."""
_LOAD_MOVED: Final = 0.05
"""The share by which a load has to change to explain anything."""
_PART_OF_EFFECT: Final = 0.25
"""The part of an effect's share that its load has to change by: 6 % less load does not explain a latency that fell 90
%."""
_KEYS: Final = ("table", "column", "instance")

BETTER: Final = "better"
WORSE: Final = "worse"
CHANGED: Final = "changed"
SMALL: Final = "small change"
SAME: Final = "no difference shown"
TOO_FEW: Final = "too few samples"
ABSENT: Final = "no values on one side"

COLUMNS: Final = schema(
    "table column instance name unit area verdict str, before after change change_pct change_low change_high p f64, "
    "effective_before effective_after f64, samples_needed i64, differs bool, size f64, load str, "
    "load_before load_after load_change_pct f64, load_explains bool"
)
"""The columns of the table; `ex.compare` explains them."""
_UNMATCHED: Final = schema("side table instance str")


class Options(NamedTuple):
    """Options of a comparison."""

    confidence: float
    renamed: Mapping[str, str]
    vms: tuple[str, ...]
    """Names of the VMs to compare; empty: all."""


def compared(before: Gathered, after: Gathered, options: Options) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return all differences, the surest first, and unmatched objects: side (before, after), table, instance."""
    columns: list[_Column] = []
    unmatched: list[tuple[str, str, str]] = []
    for table in dict.fromkeys([*before.panels, *after.panels]):
        first, second = (one.panels.get(table) for one in (before, after))
        found = pairs(first.names if first else (), second.names if second else (), options.renamed)
        unmatched += [("before", table, name) for name in found.gone]
        unmatched += [("after", table, name) for name in found.came]
        if first is None or second is None or not found.names:
            continue
        for column in first.values.keys() & second.values.keys():
            about = effect(table, column)
            if about is not None:
                two = _means(first, column, found.before, about), _means(second, column, found.after, about)
                columns.append(_Column(table, column, about, found.names, *two))
    judged = _judged(_numbers(columns, options.confidence), options) if columns else pl.DataFrame(schema=COLUMNS)
    return judged.select(*COLUMNS), pl.DataFrame(unmatched, schema=_UNMATCHED, orient="row")


class _Column(NamedTuple):
    """A column on both sides, for the objects on both sides."""

    table: str
    column: str
    about: Effect
    names: list[str]
    before: Means
    after: Means


def _means(panel: Panel, column: str, places: list[int], about: Effect) -> Means:
    weights = panel.values.get(about.weight) if about.weight else None
    return means(panel.values[column][:, places], None if weights is None else weights[:, places])


def _numbers(columns: Sequence[_Column], confidence: float) -> pl.DataFrame:
    """Return the numbers of all series: one row for each object of each column."""
    sides = [one.before for one in columns], [one.after for one in columns]
    before, after = (Means(*map(np.concatenate, zip(*side, strict=True))) for side in sides)
    counts = [len(one.names) for one in columns]
    small = np.repeat([one.about.small for one in columns], counts)
    found = differences(before, after, confidence, PRINTED)
    with np.errstate(invalid="ignore", divide="ignore"):
        level = np.maximum(np.abs(before.mean), np.abs(after.mean))
        short = np.minimum(before.effective / before.known, after.effective / after.known)
        numbers = {
            "before": before.mean,
            "after": after.mean,
            "change": found.change,
            "change_pct": np.where(before.mean != 0, 100 * found.change / np.abs(before.mean), np.nan),
            "change_low": found.low,
            "change_high": found.high,
            # A series that cannot differ is not a comparison to correct for.
            "p": np.where(found.still, np.nan, found.p_value),
            "effective_before": before.effective,
            "effective_after": after.effective,
            "samples_needed": np.where(found.too_few & (short > 0), np.ceil(FEWEST_EFFECTIVE / short), np.nan),
            "size": np.abs(found.change) / np.maximum(level, small),
        }
    about = pl.DataFrame(
        {
            "table": [one.table for one in columns],
            "column": [one.column for one in columns],
            "name": [one.about.name for one in columns],
            "unit": [one.about.unit for one in columns],
            "area": [one.about.area for one in columns],
            "better": [one.about.better for one in columns],
            "load": [".".join(one.about.load) if one.about.load else None for one in columns],
        },
        schema_overrides={"load": pl.String},
    )
    return about[np.repeat(np.arange(len(columns)), counts)].with_columns(
        instance=pl.Series([name for one in columns for name in one.names], dtype=pl.String),
        still=pl.Series(found.still),
        too_few=pl.Series(found.too_few),
        **{name: pl.Series(values).fill_nan(None) for name, values in numbers.items()},
    )


def _judged(both: pl.DataFrame, options: Options) -> pl.DataFrame:
    """Return the verdict of each series, and its load."""
    both = both.filter(pl.any_horizontal(pl.col("before", "after").is_not_null()))
    if options.vms:
        # Fewer comparisons need a smaller correction.
        is_vm = (pl.col("table") == "vm") & pl.col("instance").is_in(options.vms)
        both = both.filter(is_vm | (pl.col("table") == "host"))
    p_values = adjusted(both["p"].fill_null(np.nan).to_numpy())
    differs = pl.Series(np.nan_to_num(p_values, nan=1.0) < 1 - options.confidence)
    less = pl.col("change") < 0
    good = (less & (pl.col("better") == "low")) | (~less & (pl.col("better") == "high"))
    verdict = (
        pl.when(pl.col("change").is_null())
        .then(pl.lit(ABSENT))
        .when("too_few")
        .then(pl.lit(TOO_FEW))
        .when(~pl.col("differs"))
        .then(pl.lit(SAME))
        .when(pl.col("size") < MATERIAL)
        .then(pl.lit(SMALL))
        .when(pl.col("better") == "neither")
        .then(pl.lit(CHANGED))
        .otherwise(pl.when(good).then(pl.lit(BETTER)).otherwise(pl.lit(WORSE)))
    )
    found = both.with_columns(p=pl.Series(p_values).fill_nan(None), differs=differs).with_columns(
        pl.when("still").then(1.0).otherwise("p").alias("p"), pl.col("samples_needed").cast(pl.Int64), verdict=verdict
    )
    found = _with_loads(found)
    return found.sort(
        ["p", "size", *_KEYS], descending=[False, True, False, False, False], nulls_last=True, maintain_order=True
    )


def _with_loads(found: pl.DataFrame) -> pl.DataFrame:
    """Add to each effect the load of its object, or of the host."""
    loads = found.select(
        load=pl.concat_str("table", pl.lit("."), "column"),
        of="instance",
        load_before="before",
        load_after="after",
        load_change_pct="change_pct",
        _load_change="change",
        _load_share=_share(),
    )
    several = found.filter(table="host")["instance"].n_unique() > 1
    of_host = pl.col("load").str.starts_with("host.") & (pl.col("table") != "host")
    # With several hosts it is unknown which of them is an object's host.
    host = pl.lit(None if several else "host", pl.String)
    keyed = found.with_columns(of=pl.when(of_host).then(host).otherwise("instance"))
    joined = keyed.join(loads, on=["load", "of"], how="left", maintain_order="left")
    # More load makes good numbers worse.
    sign = pl.when(pl.col("better") == "high").then(-pl.col("change")).otherwise("change")
    moved = pl.col("_load_share") >= pl.max_horizontal(pl.lit(_LOAD_MOVED), _PART_OF_EFFECT * _share())
    explains = moved & ((pl.col("_load_change") > 0) == (sign > 0)) & pl.col("differs")
    return joined.with_columns(load_explains=explains.fill_null(value=False))


def _share() -> pl.Expr:
    """Return a change as a share of the larger mean."""
    return pl.col("change").abs() / pl.max_horizontal(pl.col("before", "after").abs())
