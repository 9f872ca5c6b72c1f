"""Hardware events of perf stat and vmkperf: per second, per instruction, TLB misses, one recording against another.

Counts of perf are estimates if the event shared its counter (`counted_pct` below 100); so are ratios of such counts.
hardware_events.toml defines the classes of events.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import polars as pl

from esxparse import toml

from .frames import column, finite, first_true, names

_TLB = ("tlb_miss_load", "tlb_miss_store", "tlb_miss_instruction")
_PMU = r"^[\w-]+/"
_MODIFIERS = r"(?:/[A-Za-z]*|:[A-Za-z]+/?)$"


@cache
def classes() -> Mapping[str, str]:
    """Return the regular expression of event names for each class of events.

    >>> sorted(classes())[:3]
    ['branch_miss', 'cache_miss', 'cycles']
    """
    return {name: f"(?i)^(?:{'|'.join(patterns)})$" for name, patterns in toml.beside(__file__)["class"].items()}


def event_class(event: str) -> str | None:
    """Return the class of an event, or None.

    >>> event_class("cpu_core/dTLB-load-misses:u/"), event_class("instructions:k"), event_class("page-faults")
    ('tlb_miss_load', 'instructions', None)
    """
    name = re.sub(_MODIFIERS, "", re.sub(_PMU, "", event))
    return next((one for one, pattern in classes().items() if re.search(pattern, name)), None)


def _class(event: pl.Expr) -> pl.Expr:
    name = event.str.replace(_PMU, "").str.replace(_MODIFIERS, "")
    return first_true(*((name.str.contains(pattern), one) for one, pattern in classes().items()))


def per_second(events: pl.LazyFrame, runs: pl.LazyFrame | None = None) -> pl.LazyFrame:
    """Add each count of perf stat as a rate.

    value / seconds, where seconds is the length of the interval (`-I`: from the end of the previous one), else the
    duration of the run (`elapsed_s` of `runs`). With `-r` both are means over the repetitions. Null if neither is
    known, as in plain CSV. The rate of task-clock is in milliseconds per second: the value keeps its unit.

    Needs `run`, `event`, `value`, `elapsed_s` of `events`, and `run`, `elapsed_s` of `runs`. Adds `seconds`, `per_s`.

    >>> events = pl.LazyFrame({"run": [1], "event": ["dTLB-load-misses"], "value": [68456568.0], "elapsed_s": [None]})
    >>> runs = pl.LazyFrame({"run": [1], "elapsed_s": [60.072490066]})
    >>> per_second(events, runs).select(pl.col("per_s").round()).collect().item()
    1139566.0
    """
    events = finite(events)
    runs = None if runs is None else finite(runs)
    there = names(events)
    ends = events.select("run", column(there, "elapsed_s").alias("elapsed_s")).unique().sort("run", "elapsed_s")
    lengths = ends.filter(pl.col("elapsed_s").is_not_null()).with_columns(
        (pl.col("elapsed_s") - pl.col("elapsed_s").shift(1, fill_value=0.0).over("run")).alias("_interval")
    )
    known = events.with_columns(column(there, "elapsed_s").alias("elapsed_s")).join(
        lengths, on=["run", "elapsed_s"], how="left", maintain_order="left"
    )
    if runs is not None:
        took = runs.select("run", pl.col("elapsed_s").cast(pl.Float64).alias("_took"))
        known = known.join(took, on="run", how="left", maintain_order="left")
    else:
        known = known.with_columns(pl.lit(None, dtype=pl.Float64).alias("_took"))
    of_run = pl.when(pl.col("elapsed_s").is_null()).then(pl.col("_took"))
    return (
        known.with_columns(pl.coalesce("_interval", of_run).alias("seconds"))
        .with_columns(pl.when(pl.col("seconds") > 0).then(pl.col("value") / pl.col("seconds")).alias("per_s"))
        .drop("_interval", "_took")
    )


def per_instruction(events: pl.LazyFrame) -> pl.LazyFrame:
    """Add each count of perf stat per instruction of the same run, interval, aggregate and PMU.

    value / value of the event of class `instructions` (the first, if there are several). On hybrid processors each
    kind of core counts its own instructions. Events without a PMU use instructions without a PMU.

    Needs `run`, `event`, `value`; uses `elapsed_s`, `aggregate`, `cgroup`, `pmu` if present. Adds `instructions` and
    `per_instruction`; null if instructions were not counted, or in a line with a unit (task-clock).

    >>> events = pl.LazyFrame({"run": [1, 1], "event": ["cycles:u", "instructions:u"], "value": [300.0, 600.0]})
    >>> per_instruction(events).select("event", "per_instruction").collect().rows()
    [('cycles:u', 0.5), ('instructions:u', 1.0)]
    """
    events = finite(events)
    keys = ["run", *(name for name in ("elapsed_s", "aggregate", "cgroup", "pmu") if name in names(events))]
    instructions = (
        events.filter(_class(pl.col("event")) == "instructions")
        .group_by(keys)
        .agg(pl.col("value").drop_nulls().first().alias("instructions"))
    )
    joined = events.join(instructions, on=keys, how="left", nulls_equal=True, maintain_order="left")
    counts = pl.col("instructions") > 0
    if "unit" in names(events):
        counts &= pl.col("unit").is_null()
    return joined.with_columns(pl.when(counts).then(pl.col("value") / pl.col("instructions")).alias("per_instruction"))


def tlb_misses(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return TLB misses per 1,000 instructions, one row per counted TLB event.

    1000 x misses / instructions. Nothing is added up: two events of a class, such as a generic and a raw one, count
    the same misses. Needs the columns of `per_instruction`; adds `event_class` (tlb_miss_load, tlb_miss_store,
    tlb_miss_instruction), `instructions` and `per_1k_instructions`.

    Source: the study of MMU modes compares TLB misses of the same work; misses per instruction compare across
    machines.

    >>> events = pl.LazyFrame({"run": [1, 1], "event": ["dTLB-load-misses", "instructions"], "value": [5.0, 2000.0]})
    >>> tlb_misses(events).select("event_class", "per_1k_instructions").collect().rows()
    [('tlb_miss_load', 2.5)]
    """
    return (
        per_instruction(events)
        .with_columns(_class(pl.col("event")).alias("event_class"))
        .filter(pl.col("event_class").is_in(_TLB))
        .with_columns((pl.col("per_instruction") * 1000).alias("per_1k_instructions"))
        .drop("per_instruction")
    )


def _all_known(seconds: pl.Expr) -> pl.Expr:
    """Aggregate seconds; null if any are unknown."""
    return pl.when(pl.col("seconds").null_count() == 0).then(seconds).alias("seconds")


def totals(events: pl.LazyFrame, runs: pl.LazyFrame | None = None) -> pl.LazyFrame:
    """Return the total of each event in a recording of perf stat: count, seconds, rate.

    Counts are summed over the aggregates and intervals of a run, and averaged over runs. The summary at the end of an
    interval recording is a separate run: leave it out first, or it counts again.

    Returns, sorted by event: event, value, seconds, per_s (value / seconds; null if seconds are not known).
    """
    rates = per_second(events, runs)
    by_interval = rates.group_by("run", "event", "elapsed_s").agg(
        pl.col("value").sum().alias("value"),
        pl.col("value").count().alias("_counted"),
        pl.col("seconds").first(),
    )
    by_run = (
        by_interval.filter(pl.col("_counted") > 0)
        .group_by("run", "event")
        .agg(
            pl.col("value").sum(),
            _all_known(pl.col("seconds").sum()),
        )
    )
    by_event = by_run.group_by("event").agg(
        pl.col("value").mean(),
        _all_known(pl.col("seconds").mean()),
    )
    rate = pl.when(pl.col("seconds") > 0).then(pl.col("value") / pl.col("seconds"))
    return by_event.with_columns(rate.alias("per_s")).sort("event")


def vmkperf_totals(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the total of each event in a recording of `vmkperf poll`: the mean over polls of the sum over PCPUs.

    For a pinned VM, keep the rows of its PCPUs first. Needs `block`, `poll`, `event`, `rate_per_s` of `events`.
    Returns, sorted by event: event, value (null: polls report rates), seconds (null), per_s.

    >>> polls = pl.LazyFrame({"block": [1] * 2, "poll": [1, 2], "event": ["tlb"] * 2, "rate_per_s": [3.0, 7.0]})
    >>> vmkperf_totals(polls).collect().rows()
    [('tlb', None, None, 5.0)]
    """
    events = finite(events)
    by_poll = (
        events.filter(pl.col("rate_per_s").is_not_null())
        .group_by("block", "poll", "event")
        .agg(pl.col("rate_per_s").sum().alias("per_s"))
    )
    unknown = pl.lit(None, dtype=pl.Float64)
    return (
        by_poll.group_by("event")
        .agg(pl.col("per_s").mean())
        .select("event", unknown.alias("value"), unknown.alias("seconds"), "per_s")
        .sort("event")
    )


def compare(first: pl.LazyFrame, second: pl.LazyFrame) -> pl.LazyFrame:
    """Return the events of two recordings side by side, from `totals` or `vmkperf_totals` of each.

    Ratios are first / second. The ratio of counts compares the same work, however long it took; the ratio of rates
    compares the load on the processor.

    Returns, sorted by event, including events of one recording alone: event, first_value, second_value, value_ratio,
    first_per_s, second_per_s, rate_ratio.

    >>> nested = pl.LazyFrame({"event": ["dTLB-load-misses"], "value": [68456568.0], "per_s": [68456568.0 / 60.07]})
    >>> shadow = pl.LazyFrame({"event": ["dTLB-load-misses"], "value": [38750437.0], "per_s": [38750437.0 / 59.12]})
    >>> compare(nested, shadow).select(pl.col("value_ratio", "rate_ratio").round(3)).collect().row(0)
    (1.767, 1.739)
    """
    first, second = finite(first), finite(second)

    def renamed(frame: pl.LazyFrame, which: str) -> pl.LazyFrame:
        return frame.select("event", *(pl.col(name).alias(f"{which}_{name}") for name in ("value", "per_s")))

    def ratio(name: str) -> pl.Expr:
        below = pl.col(f"second_{name}")
        return pl.when(below > 0).then(pl.col(f"first_{name}") / below)

    return (
        renamed(first, "first")
        .join(renamed(second, "second"), on="event", how="full", coalesce=True)
        .select(
            "event",
            "first_value",
            "second_value",
            ratio("value").alias("value_ratio"),
            "first_per_s",
            "second_per_s",
            ratio("per_s").alias("rate_ratio"),
        )
        .sort("event")
    )
