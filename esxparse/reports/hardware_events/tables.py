"""The tables, tiles and charts of the report on hardware events: what its cells show of `gather`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.charts import events
from esxparse.metrics import hardware_events
from esxparse.metrics.frames import weighted_mean
from esxparse.reports import page
from esxparse.reports.blocks import ABSENT, NOTHING, Block, Header, note, number, spoken_span, table, tiles
from esxparse.reports.columns import columns_of
from esxparse.reports.hardware_events.gather import (
    Gathered,
    Subject,
    by_aggregate,
    command,
    differences,
    interval_length,
    measured_s,
    per_cycle,
    rates,
    tlb,
)

if TYPE_CHECKING:
    import altair as alt

_MOST_SPREAD: Final = 3
_SPOKEN_FROM_S: Final = 120
_LONGEST: Final = 70
"""Characters of a command line in the header."""
_MOST_ALIKE: Final = 1.1
"""An event whose highest CPU is below this many medians is alike on all of them."""


def header(found: Gathered, title: str) -> Header:
    """The title, and what was measured."""
    named = [(one.name, _brief(command(one))) for one in found.subjects[:3]]
    said = "; ".join(f"{name} ({measured})" if measured else name for name, measured in named)
    more = f" and {len(found.subjects) - 3} more" if len(found.subjects) > 3 else ""  # noqa: PLR2004
    return page.header(title, found.recordings, said + more)


def summary(found: Gathered) -> Block:
    """Tiles: how much was counted, for how long, and the figures people look for first."""
    if not found.subjects:
        return note("These recordings contain no events.", "warning")
    counted = sum(
        int(one.whole.filter(pl.any_horizontal(pl.col("value", "per_s").is_not_null())).height)
        for one in found.subjects
    )
    missing = sum(len(set(one.rows["event"])) - one.whole.height for one in found.subjects)
    items = [
        (
            "Events counted",
            f"{counted:,}",
            f"{missing} {'was' if missing == 1 else 'were'} not counted" if missing else "all requested events",
        )
    ]
    for one in found.subjects[:2]:
        seconds, ratio = measured_s(one), per_cycle(one)
        if one.polled:
            items.append(("Physical CPUs", str(one.rows["pcpu"].n_unique()), f"{one.name}, {_polls(one)}"))
        elif seconds is not None:
            said = spoken_span(seconds) if seconds >= _SPOKEN_FROM_S else f"{number(seconds, 2)} s"
            items.append(("Measured", said, one.name))
        if ratio is not None:
            items.append(("Instructions per cycle", number(ratio, 2), one.name))
    misses = tlb(found).drop_nulls().sort("per_1k", descending=True)
    if misses.height:
        top = misses.row(0, named=True)
        items.append(
            ("TLB misses per 1,000 instructions", number(top["per_1k"], 2), f"{top['event']}, {top['subject']}")
        )
    shares = [float(value) for one in found.subjects for value in one.whole["counted_pct"].drop_nulls()]
    if shares and min(shares) < 100:  # noqa: PLR2004
        items.append(("Lowest share counted", f"{number(min(shares), 1)} %", "of the time; counts are estimates"))
    return tiles(items)


def _brief(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\u2026"


def _whole(frame: pl.DataFrame, *names: str) -> dict[str, int]:
    """No decimals for those columns whose numbers are all large or whole."""
    there = {name: frame[name].drop_nulls() for name in names}
    return {
        name: 0
        for name, values in there.items()
        if ((values.abs() >= 100) | (values == values.round())).all()  # noqa: PLR2004
    }


def _polls(subject: Subject) -> str:
    count = subject.rows["poll"].n_unique()
    return f"{count} polls" if count > 1 else "1 poll"


def _single(found: Gathered) -> tuple[str, ...]:
    """The column that a report on one recording does without."""
    return () if len(found.subjects) > 1 else ("subject",)


def listed(found: Gathered) -> Block:
    """Every event of every subject with its numbers."""
    frames = [one.whole.with_columns(subject=pl.lit(one.name)) for one in found.subjects]
    if not frames:
        return NOTHING
    frame = pl.concat(frames, how="diagonal_relaxed").with_columns(pl.col("counted_pct").fill_nan(None))
    columns = columns_of("hardware_events.listed", but=_single(found), digits=_whole(frame, "value", "per_s"))
    partly = sum(_partly_counted(one) for one in found.subjects)
    low = f"; {partly} not counted on every CPU or in every interval, so with a count that is too low" if partly else ""
    return table(frame, columns, f"Events{low}", "No events were counted.")


def _partly_counted(subject: Subject) -> int:
    """Count the events that some lines count and others do not."""
    value = pl.col(subject.counted)
    parts = subject.rows.group_by("event").agg(some=value.count() > 0, all=value.null_count() == 0)
    return parts.filter("some", ~pl.col("all")).height


def _against_first(subjects: Sequence[Subject]) -> Block:
    """The events that several of three or more recordings counted, each recording against the first that did."""
    if len(subjects) <= 2:  # noqa: PLR2004  two have a table of their own
        return NOTHING
    every = pl.concat(
        [one.whole.select("event", "value", "per_s").with_columns(recording=pl.lit(one.name)) for one in subjects],
        how="vertical_relaxed",
    )
    ratios = {
        f"{name}_ratio": pl.col(name) / pl.when(pl.col(name).first() > 0).then(pl.col(name).first()).over("event")
        for name in ("value", "per_s")
    }
    frame = every.filter(pl.len().over("event") > 1).with_columns(**ratios).sort("event", maintain_order=True)
    columns = columns_of("hardware_events.against_first", digits=_whole(frame, "value", "per_s"))
    return table(frame, columns, f"{len(subjects)} recordings, each against the first that counted the event")


def compared(found: Gathered) -> Block:
    """Two recordings beside each other, or each of many against the first."""
    if found.compared is None:
        return _against_first(found.subjects)
    first, second = (one.name for one in found.subjects)
    every = found.compared.collect()
    ratios = pl.coalesce("value_ratio", "rate_ratio")
    frame = every.filter(ratios.is_not_null()).sort(ratios.log().abs(), "event", descending=[True, False])
    if frame.is_empty():
        return NOTHING
    counts = ("first_value", "second_value", "first_per_s", "second_per_s")
    columns = columns_of("hardware_events.compared", digits=_whole(frame, *counts), first=first, second=second)
    left_out = every.height - frame.height
    alone = f"; {left_out} more events were in only one recording, or 0" if left_out else ""
    return table(frame, columns, f"{first} / {second}: ratio of counts{alone}")


def estimates(found: Gathered) -> Block:
    """Events that shared a counter, and those that were not counted at all."""
    rows: list[dict[str, Any]] = []
    for one in found.subjects:
        if one.polled:
            continue
        states = one.rows.filter(pl.col("state") != "counted").group_by("event", "state", maintain_order=True).len()
        of = dict(one.rows.group_by("event").len().rows())
        rows += [
            {
                "subject": one.name,
                "event": row["event"],
                "level": "warning",
                "what": row["state"]
                if row["len"] == of[row["event"]]
                else f"{row['state']} in {row['len']} of {of[row['event']]} lines",
            }
            for row in states.rows(named=True)
        ]
        shared = one.whole.filter(pl.col("counted_pct") < 100).sort("counted_pct")  # noqa: PLR2004
        rows += [
            {
                "subject": one.name,
                "event": row["event"],
                "level": "info",
                "what": f"counted {row['counted_pct']:.1f} % of the time: an estimate",
            }
            for row in shared.rows(named=True)
        ]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("subject", "event", "level", "what"), pl.String))
    empty = "As far as the recordings show, every event had a counter the whole time."
    return table(frame, columns_of("hardware_events.estimates", but=_single(found)), "Estimated, or not counted", empty)


def spread(found: Gathered) -> Block:
    """Which CPU differs from the others."""
    frames = [differences(one).with_columns(subject=pl.lit(one.name)) for one in found.subjects]
    there = [frame for frame in frames if frame.height]
    if not there:
        return NOTHING
    frame = pl.concat(there)
    columns = columns_of("hardware_events.spread", but=_single(found), digits=_whole(frame, "low", "median", "high"))
    return table(frame, columns, "Distribution of events over CPUs or other units, most uneven first")


def rate_charts(found: Gathered) -> list[alt.LayerChart]:
    """Rates over the intervals of each recording."""
    several = len(found.subjects) > 1
    return [chart for one in found.subjects for chart in events.over_time(rates(one), one.name if several else "")]


def spread_charts(found: Gathered) -> list[alt.LayerChart | None]:
    """The most uneven events on every CPU."""
    several = len(found.subjects) > 1
    charts = []
    for one in found.subjects:
        counts = by_aggregate(one).lazy()
        uneven = differences(one).filter(pl.col("times").fill_null(float("inf")) >= _MOST_ALIKE)
        subject = one.name if several else ""
        charts += [events.spread(counts, event, subject) for event in uneven["event"].head(_MOST_SPREAD)]
    return charts


def comparison_chart(found: Gathered) -> alt.LayerChart | None:
    """The ratios of two recordings."""
    if found.compared is None:
        return None
    return events.ratios(found.compared, *(one.name for one in found.subjects))


def metrics(found: Gathered) -> Block:
    """Groups of metrics that perf computed itself, such as those of topdown."""
    frames = [
        hardware_events.per_second(rec.tables["metrics"].with_columns(value="metric_value"), rec.tables.get("runs"))
        .with_columns(_length=interval_length())
        .filter(pl.col("metric_group").is_not_null(), pl.col("metric_value").is_not_null())
        .group_by("metric_group", "metric_name", "metric_unit", maintain_order=True)
        .agg(
            value=weighted_mean(pl.col("metric_value"), pl.col("_length")),
            low=pl.col("metric_value").min(),
            high=pl.col("metric_value").max(),
            threshold=pl.col("threshold").last(),
        )
        .with_columns(file=pl.lit(Path(rec.source).name))
        .collect()
        for rec in found.recordings
        if "metrics" in rec
    ]
    there = [frame for frame in frames if frame.height]
    if not there:
        return NOTHING
    caption = "Metrics that perf computed, mean over intervals and CPUs"
    return table(pl.concat(there), columns_of("hardware_events.metrics"), caption)


def commands(found: Gathered) -> list[tuple[str, str]]:
    """What was measured, for the end of the report."""
    return [(f"Measured in {one.name}", command(one) or ABSENT) for one in found.subjects if not one.polled]
