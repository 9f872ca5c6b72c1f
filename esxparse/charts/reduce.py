"""Make a table small enough to draw, and report the rows left out.

A capture of a day has thousands of samples and hundreds of instances. `over_time` brings the samples to a bounded
number of buckets and keeps each bucket's minimum, mean and maximum, so that a peak of one sample stays on the chart.
`leaders` chooses the few instances worth a line of their own. `with_labels` gives each a short name that fits an axis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

import polars as pl

from esxparse.charts import theme
from esxparse.charts.names import LABEL_WIDTH, shorten
from esxparse.metrics import over_time as time_weighted
from esxparse.metrics.energy import LONGEST_GAP

MAX_BUCKETS: Final = 180
"""Most points in time of a line."""

SWEEP: Final = 3
"""At least this many numbers are a sweep: a curve can be drawn through them."""
MAX_SERIES: Final = 8
"""Most instances that get a line or a colour of their own."""

MAX_RANKED: Final = 12
"""Most bars of a ranking."""

_TAKEN: Final = frozenset((
    "__proto__", "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString",
    "valueOf", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
))  # fmt: skip
"""Names that every object of JavaScript has."""

_OWN: Final = {name: f"{name}\u2060" for name in _TAKEN}
"""Their replacements in a chart, which groups by name in such objects: a word joiner is invisible."""

EVEN: Final = 0.9
"""Share of even steps with which a series has a usual step."""

_NICE_STEPS: Final = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


class Reduced(NamedTuple):
    """A table brought to buckets.

    frame: the `by` columns, `time` (start of the bucket) and for every value `v` the columns `v` (mean), `v_min` and
        `v_max`
    step_s: length of a bucket in seconds, None if every sample was kept
    gap: a longer distance than this many usual ones is a gap; in buckets, as long as `LONGEST_GAP` in samples
    """

    frame: pl.DataFrame
    step_s: int | None
    gap: float = LONGEST_GAP

    @property
    def caption(self) -> str:
        """The meaning of a line and its band, for a subtitle; empty if every sample was kept."""
        if self.step_s is None:
            return ""
        return f"line: mean of {spoken(self.step_s)}; band: lowest to highest sample, its edge the highest"

    def labels(self, known: Iterable[str]) -> list[str]:
        """Return the known labels that are in the frame, in their order."""
        present = set(self.frame["label"])
        return [label for label in known if label in present]


class Leaders(NamedTuple):
    """The instances chosen to be drawn.

    chosen: their names, highest first
    every: all names, sorted, with or without a value
    total: number of instances with a value
    nothing: number of instances passed over because they never were above 0
    """

    chosen: list[str]
    every: list[str]
    total: int
    nothing: int = 0

    @property
    def places(self) -> list[int]:
        """A number below `MAX_SERIES` for each of `chosen`, the same in every chart over the same instances.

        It chooses the colour, so that a device is not blue in one chart and orange in the next. It is the place among
        all instances by name; if two of the chosen would share it, the next free place.
        """
        taken: dict[str, int] = {}
        for name in sorted(self.chosen):
            place = self.every.index(name) % MAX_SERIES
            while place in taken.values():
                place = (place + 1) % MAX_SERIES
            taken[name] = place
        return [taken[name] for name in self.chosen]

    def caption(self, noun: str, by: str) -> str:
        """Return `the 8 of 212 VMs with the highest p95`, or `3 more VMs had none`; empty if all are drawn."""
        if len(self.chosen) + self.nothing == self.total:
            return _none_of(self.nothing, noun) if self.nothing else ""
        return (
            f"the {len(self.chosen)} of {self.total} {noun} with the highest {by}; grey: mean and range of the others"
        )

    def rest(self, noun: str) -> str:
        """Return the label of the instances without their own line, `43 other VMs`; empty without any."""
        others = self.total - len(self.chosen)
        if others == self.nothing:
            return ""
        return f"{others} other {noun if others > 1 else noun.removesuffix('s')}"


def columns_below(frame: pl.LazyFrame, columns: Mapping[str, str], value: str) -> pl.LazyFrame:
    """Stack the columns of `columns` (column -> label) that a table has: `time`, `label`, `value`."""
    known = frame.collect_schema()
    there = [name for name in columns if name in known]
    long = frame.unpivot(there, index="time", variable_name="_of", value_name=value).drop_nulls(value)
    return long.select("time", label=pl.col("_of").replace_strict(columns, return_dtype=pl.String), **{value: value})


def spoken(seconds: int) -> str:
    """Return a length of time in the largest unit that divides it: `90 s`, `5 min`, `2 h`."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def bucket_step(span_s: float, buckets: int) -> int:
    """Return the seconds of a bucket, a round number, with which `span_s` seconds need at most `buckets` buckets."""
    # Buckets lie on round clock times, so a span can touch one more of them than its length suggests.
    least = span_s / max(buckets - 1, 1)
    for step in _NICE_STEPS:
        if step >= least:
            return step
    days = int(least // 86400) + 1
    return days * 86400


def over_time(
    frame: pl.LazyFrame,
    values: Sequence[str],
    by: Sequence[str] = (),
    *,
    weight: str | None = None,
    buckets: int = MAX_BUCKETS,
) -> Reduced:
    """Return mean over time, minimum and maximum of `values` per bucket of time and `by`.

    Args:
        frame: Columns `time`, `by`, `values` and `weight`; with `covered_s` if it is a part of a recording, or
            of several (`metrics.over_time.with_covered`).
        values: Columns to reduce; a row with a null in one column still counts for the others.
        by: Columns that identify a series.
        weight: Column that weights the mean, such as the commands behind an average latency: the mean of averages is
            wrong. Buckets without any weight have the plain mean: a port that lets nothing through drops 100 %.
        buckets: Most distinct times in the result.
    """
    needed = list(dict.fromkeys(["time", *by, *values, *([weight] if weight else []), time_weighted.COVERED]))
    data = time_weighted.with_covered(frame.drop_nulls("time")).select(needed).collect()
    times = data["time"].unique()
    step: int | None = None
    gap = LONGEST_GAP
    if len(times) > buckets:
        span = times.to_frame().select(pl.col("time").max() - pl.col("time").min()).item()
        step = bucket_step(span.total_seconds(), buckets)
        data = data.with_columns(pl.col("time").dt.truncate(f"{step}s"))
        gap = 1 + LONGEST_GAP * data["time"].n_unique() / len(times)
    columns = []
    for value in values:
        column = pl.col(value)
        if weight is None:
            mean = time_weighted.mean(column)
        else:
            share = pl.when(column.is_not_null()).then(pl.col(weight)) * time_weighted.seconds()
            total = share.sum()
            mean = pl.when(total > 0).then((column * share).sum() / total).otherwise(time_weighted.mean(column))
        columns += [mean.alias(value), column.min().alias(f"{value}_min"), column.max().alias(f"{value}_max")]
    reduced = data.group_by([*by, "time"]).agg(columns).sort([*by, "time"])
    return Reduced(reduced, step, gap)


def pieces(reduced: Reduced, by: Sequence[str], value: str) -> pl.DataFrame:
    """Return the rows that have a `value`, with `piece` and `alone`, which show where lines must end.

    `piece` is the stretch between gaps that a row lies in. `alone`: the row is its whole piece, so no line shows it.
    Both are left out if no series has a gap or a single row.

    A line across a gap would show values that nobody measured. A gap is longer than `LONGEST_GAP` usual steps of its
    series, counted over its samples with and without a value. A series with uneven steps has no gaps.

    The frame of `reduced`: `time`, `value` and `by`, the columns that identify a series.
    """
    frame = reduced.frame
    step = pl.col("time").diff().dt.total_microseconds()
    usual = step.filter(step > 0).median()
    # A series with fewer samples than buckets has a step of its own.
    dense = usual <= (reduced.step_s or 0) * 1_000_000
    longest = pl.when(dense).then(reduced.gap).otherwise(LONGEST_GAP) * usual
    even = step.quantile(EVEN, "lower") <= longest
    samples = frame.with_columns(_longest=pl.when(even).then(longest).over(by, order_by="time"))
    samples = samples.filter(pl.col(value).is_not_null())
    begins = (step > pl.col("_longest")).fill_null(value=False)
    piece = begins.cast(pl.Int64).cum_sum().over(by, order_by="time")
    numbered = samples.with_columns(piece=piece).drop("_longest")
    numbered = numbered.with_columns(alone=pl.len().over(*by, "piece") == 1)
    ends = numbered.select(((pl.col("piece") > 0) | pl.col("alone")).any()).item()
    return numbered if ends else numbered.drop("piece", "alone")


def leaders(
    frame: pl.LazyFrame, by: str, value: str, n: int = MAX_SERIES, order: str = "p95", *, nonzero: bool = False
) -> Leaders:
    """Return the `n` instances of column `by` with the highest `value` by `order` ("mean", "p95" or "max").

    Instances without a single value are not counted; names settle ties, so the choice is the same on every run. With
    `nonzero`, instances that never were above 0 are not chosen.
    """
    statistic = {
        "mean": time_weighted.mean(pl.col(value)),
        "p95": time_weighted.quantile(pl.col(value), 0.95),
        "max": pl.col(value).max(),
    }[order]
    ranked = (
        time_weighted.with_covered(frame)
        .filter(pl.col(value).is_not_null(), pl.col(by).is_not_null())
        .group_by(by)
        .agg(statistic.alias("_rank"), pl.col(value).max().alias("_max"))
        .sort("_rank", by, descending=[True, False])
        .collect()
    )
    some = ranked.filter(pl.col("_max") > 0) if nonzero else ranked
    every = frame.select(pl.col(by).drop_nulls().unique().sort()).collect()[by].to_list()
    return Leaders(some[by].head(n).to_list(), every, ranked.height, ranked.height - some.height)


def kept(frame: pl.LazyFrame, chosen: Leaders, noun: str, full: str) -> pl.LazyFrame:
    """Return the rows of `chosen`, with names in a column `full`, and all other rows under one name.

    `frame`: columns `label` and `full`. `noun`: the kind of instance, in the plural. `full`: column of the full names.
    """
    own = pl.col("label").is_in(chosen.chosen)
    rest = chosen.rest(noun)
    if not rest:
        return frame.filter(own).rename({full: "full"})
    one = pl.when(own)
    return frame.with_columns(
        label=one.then("label").otherwise(pl.lit(rest)), full=one.then(full).otherwise(pl.lit(rest))
    )


def emptiest(frame: pl.DataFrame, by: Sequence[str], value: str, strip: tuple[float, float], share: float) -> str:
    """Return the place in a strip across a chart that the fewest lines cross: "right", "left" or "center".

    `frame`: `time`, `by` (columns that identify a line), and `value` with its `_min` and `_max`. `strip`: its lower and
    upper end, as values. `share`: how much of the chart's width each place takes.
    """
    first, last = frame["time"].min(), frame["time"].max()
    low, high = pl.col(f"{value}_min"), pl.col(f"{value}_max")
    # A line crosses the strip if one of two neighbouring points is in it, or if it jumps over the strip between them.
    passes = pl.max_horizontal(high, high.shift(1).over(by)) >= strip[0]
    passes &= pl.min_horizontal(low, low.shift(1).over(by)) <= strip[1]
    at = (pl.col("time") - first) / max(last - first, timedelta(seconds=1))  # type: ignore[operator]
    crossed = frame.sort(*by, "time").select(at=at, passes=passes).filter("passes")["at"]
    counts = {
        "right": (crossed >= 1 - share).sum(),
        "left": (crossed <= share).sum(),
        "center": ((crossed - 0.5).abs() <= share / 2).sum(),
    }
    return min(counts, key=lambda place: counts[place])


def ranking(
    frame: pl.LazyFrame, name: str, value: str, noun: str, *, n: int = MAX_RANKED, order: str = "p95"
) -> tuple[pl.DataFrame, str]:
    """Return the `n` instances with the highest `value`, and words for the ones left out.

    Args:
        frame: Columns `label` (see `with_labels`), `name`, `value`; instances without a single value above 0 are left
            out.
        name: Column of the full names.
        value: Column to rank by.
        noun: The kind of instance, in the plural.
        n: Most rows.
        order: "mean", "p95" or "max".

    Returns:
        Table `label, full, mean, p95, max`, highest `order` first, and a phrase such as `12 of 40 VMs` or
        `3 more VMs had none`, or "".
    """
    column = pl.col(value)
    table = (
        time_weighted.with_covered(frame)
        .filter(column.is_not_null())
        .group_by("label", pl.col(name).alias("full"))
        .agg(mean=time_weighted.mean(column), p95=time_weighted.quantile(column, 0.95), max=column.max())
        .sort([order, "label"], descending=[True, False])
        .collect()
    )
    some = table.filter(pl.col("max") > 0)
    none = table.height - some.height
    words = [f"{n} of {some.height} {noun}"] if some.height > n else []
    words += [_none_of(none, noun)] if none and some.height else []
    return some.head(n), ", ".join(words)


def _none_of(count: int, noun: str) -> str:
    return f"{count} more {noun if count > 1 else noun.removesuffix('s')} had none"


def with_labels(frame: pl.LazyFrame, name: str, key: str | None = None, width: int = LABEL_WIDTH) -> pl.LazyFrame:
    """Add `label`: a short name, different for every instance.

    If two VMs have the same name and `key` (such as `group_id`) differs, the label includes the key. A label has no
    characters that charts do not draw (`theme.drawable`). A name whose short form is taken keeps its full length.

    `frame`: columns `name` and, if given, `key`. `name`: column of the full names. `key`: column that identifies an
    instance. `width`: columns a label may take.
    """
    columns = list(dict.fromkeys([name, key or name]))
    names = frame.select(columns).unique().drop_nulls().sort(columns).collect()
    full = [theme.drawable(text) for text in names[name].to_list()]
    if key is not None and key != name:
        keys = names[key].to_list()
        twice = {text for text in full if full.count(text) > 1}
        with_ids = [f"{text} ({theme.drawable(str(ident))})" for text, ident in zip(full, keys, strict=True)]
        full = [other if text in twice else text for text, other in zip(full, with_ids, strict=True)]
    full = _numbered(full)
    short = [shorten(text, width) for text in full]
    labels = [text if short.count(brief) > 1 else brief for text, brief in zip(full, short, strict=True)]
    labelled = names.with_columns(pl.Series("label", labels, dtype=pl.String))
    return frame.join(labelled.lazy(), on=columns, how="inner", maintain_order="left")


def _numbered(texts: Sequence[str]) -> list[str]:
    """Number equal texts: names may differ only in characters that are not drawn."""
    seen: Counter[str] = Counter()
    made = []
    for text in texts:
        seen[text] += 1
        made.append(text if seen[text] == 1 else f"{text} #{seen[text]}")
    return made


def drawable(names: Sequence[str]) -> list[str]:
    """Return names as the tables of a chart have them (`rounded`), for the domains of its scales."""
    return [_OWN.get(name, name) for name in names]


def rounded(frame: pl.DataFrame, digits: int = 3) -> pl.DataFrame:
    """Return `frame` ready to be written into a chart.

    Times are milliseconds since 1970 (UTC), floats have `digits` decimals, and names that every object of JavaScript
    has are replaced.
    """
    return frame.with_columns(
        pl.col(pl.String).replace(_OWN),
        pl.col(pl.Datetime).dt.epoch("ms"),
        pl.col(pl.Float64, pl.Float32).round(digits),
    )
