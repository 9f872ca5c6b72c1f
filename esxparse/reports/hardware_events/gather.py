"""Data of the report on hardware events, from recordings of perf stat and vmkperf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Unpack

import polars as pl

from esxparse.formats.opening import Options
from esxparse.metrics import hardware_events
from esxparse.metrics.frames import weighted_mean
from esxparse.recording import Recording
from esxparse.reports import recordings as files

FORMATS: Final = ("perf_stat", "vmkperf")
_LONGEST: Final = 70
"""Most characters of a command line below a title."""


@dataclass(frozen=True)
class Subject:
    """One subject: a recording, or one run of it if its runs measure different things."""

    name: str
    recording: Recording
    rows: pl.DataFrame
    """Table `events`, without the summary at the end of an interval recording."""
    runs: pl.LazyFrame | None
    whole: pl.DataFrame
    """event, pmu, unit, value, seconds, per_s, per_1k (per 1,000 instructions), counted_pct, stddev_pct, metric: one
    row per event."""

    @property
    def polled(self) -> bool:
        """Whether the recording is from vmkperf."""
        return self.recording.format == "vmkperf"

    @property
    def counted(self) -> str:
        """The column of `rows` with the numbers."""
        if not self.polled:
            return "value"
        return "rate_per_s" if self.rows["rate_per_s"].count() else "count"


@dataclass(frozen=True)
class Gathered:
    """The recordings of a report on hardware events."""

    recordings: tuple[Recording, ...]
    subjects: tuple[Subject, ...]
    compared: pl.LazyFrame | None
    """`hardware_events.compare` of the two subjects, if there are exactly two."""


def gather(paths: Sequence[str | Path], **options: Unpack[Options]) -> Gathered:
    """Open recordings of perf stat and vmkperf and sum up each event."""
    recordings = files.opened_all(paths, FORMATS, options)
    names = files.names(recordings)
    subjects = tuple(
        subject
        for rec, name in zip(recordings, names, strict=True)
        for subject in _subjects(rec, name, alone=len(recordings) == 1)
    )
    compared = hardware_events.compare(*(one.whole.lazy() for one in subjects)) if len(subjects) == 2 else None  # noqa: PLR2004
    return Gathered(recordings, subjects, compared)


def _subjects(rec: Recording, name: str, *, alone: bool) -> list[Subject]:
    rows = rec.tables["events"].collect() if "events" in rec else None
    if rows is None:
        return []
    if rec.format == "vmkperf":
        return [Subject(name, rec, rows, None, _polled(rows))]
    rows = _without_summary(rows)
    runs = rec.tables.get("runs")
    commands = dict(runs.select("run", "command").collect().rows()) if runs is not None else {}
    numbers = rows["run"].unique().sort().to_list()
    split = len(numbers) > 1 and (alone or len({commands.get(run) for run in numbers}) > 1)
    if not split:
        return [Subject(name, rec, rows, runs, _counted(rows, runs))]
    parts = [rows.filter(pl.col("run") == run) for run in numbers]
    return [
        Subject(f"{name}, run {run}", rec, part, runs, _counted(part, runs))
        for run, part in zip(numbers, parts, strict=True)
    ]


def _without_summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave out the summary at the end of an interval recording: it counts everything again."""
    events: dict[int, set[str]] = {}
    interval: set[int] = set()
    summaries = []
    for run, part in sorted(rows.group_by("run"), key=lambda pair: pair[0]):
        number = int(run[0])
        events[number] = set(part["event"])
        if part["elapsed_s"].null_count() < part.height:
            interval.add(number)
        elif number - 1 in interval and events[number] <= events[number - 1]:
            summaries.append(number)
    return rows.filter(~pl.col("run").is_in(summaries))


def _counted(rows: pl.DataFrame, runs: pl.LazyFrame | None) -> pl.DataFrame:
    whole = hardware_events.totals(rows.lazy(), runs)
    counted = pl.col("value").is_not_null()
    share = pl.when(counted).then(pl.col("counted_pct").fill_null(100.0))
    one_row = pl.len() == 1
    # perf leaves the % sign out of its CSV and JSON, and so does the reader.
    percent = pl.col("metric_unit").str.contains(r"^of all |cycles idle$|^%$")
    sign = pl.when(percent).then(pl.lit(" %")).otherwise(pl.lit(""))
    words = pl.col("metric_unit").replace("%", "")
    metric = pl.format("{}{} {}", pl.col("metric_value").round(3), sign, words).str.strip_chars().first()
    timed = hardware_events.per_second(rows.lazy(), runs).with_columns(_length=interval_length()).collect()
    about = timed.group_by("event", maintain_order=True).agg(
        pl.col("pmu").first(),
        pl.col("unit").first(),
        counted_pct=weighted_mean(share, pl.col("_length")),
        stddev_pct=pl.col("stddev_pct").max(),
        metric=pl.when(one_row).then(metric),
    )
    joined = about.lazy().join(whole, on="event", how="inner", maintain_order="left").with_columns(run=pl.lit(1))
    per = hardware_events.per_instruction(joined).with_columns(per_1k=pl.col("per_instruction") * 1000)
    return per.drop("run", "instructions", "per_instruction").collect()


def interval_length() -> pl.Expr:
    """Return the weight of a row of `hardware_events.per_second`: its seconds; 1 for all rows if any are unknown."""
    return pl.when(pl.col("seconds").is_not_null().all()).then("seconds").otherwise(1.0)


def _polled(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the total of each event of vmkperf: rates, or counts of `read`."""
    counts = rows.group_by("event").agg(value=pl.when(pl.col("count").count() > 0).then(pl.col("count").sum()))
    rates = hardware_events.vmkperf_totals(rows.lazy()).select("event", "seconds", "per_s").collect()
    words, numbers = pl.lit(None, dtype=pl.String), pl.lit(None, dtype=pl.Float64)
    return (
        rows.select("event")
        .unique(maintain_order=True)
        .join(counts, on="event", how="left", maintain_order="left")
        .join(rates, on="event", how="left", maintain_order="left")
        .with_columns(pmu=words, unit=words, per_1k=numbers, counted_pct=numbers, stddev_pct=numbers, metric=words)
    )


def command(subject: Subject) -> str:
    """Return the measured command, if perf recorded it."""
    if subject.polled or subject.runs is None:
        return ""
    runs = subject.runs.filter(pl.col("run").is_in(subject.rows["run"].unique().implode())).collect()
    first = runs["command"].drop_nulls()
    return str(first[0]) if len(first) else ""


def brief_command(subject: Subject) -> str:
    """Return the first characters of the command line, for the line below a title."""
    text = command(subject)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\u2026"


def partly_counted(subject: Subject) -> int:
    """Count the events with numbers in some lines only."""
    value = pl.col(subject.counted)
    parts = subject.rows.group_by("event").agg(some=value.count() > 0, all=value.null_count() == 0)
    return parts.filter("some", ~pl.col("all")).height


def whole(frame: pl.DataFrame, *names: str) -> dict[str, int]:
    """Return 0 decimals for columns whose numbers are all large or whole."""
    of_names = {name: frame[name].drop_nulls() for name in names}
    return {
        name: 0
        for name, values in of_names.items()
        if ((values.abs() >= 100) | (values == values.round())).all()  # noqa: PLR2004
    }


def per_cycle(subject: Subject) -> float | None:
    """Return instructions per cycle; on a hybrid processor, of the cores with the most instructions."""
    counts = subject.whole.filter(pl.col("value") > 0).select(
        "pmu", "value", kind=pl.col("event").map_elements(hardware_events.event_class, return_dtype=pl.String)
    )
    of = [
        counts.filter(pl.col("kind") == kind).group_by("pmu").agg(pl.col("value").first().alias(kind))
        for kind in ("instructions", "cycles")
    ]
    both = of[0].join(of[1], on="pmu", nulls_equal=True).sort("instructions", descending=True)
    return None if both.is_empty() else float(both["instructions"][0] / both["cycles"][0])


def measured_s(subject: Subject) -> float | None:
    """Return the measured time, seconds: to the end of the last interval, or the duration of the run."""
    ends = None if subject.polled else subject.rows.select(pl.col("elapsed_s").max()).item()
    found = subject.whole.select(pl.col("seconds").max()).item() if ends is None else ends
    return None if found is None else float(found)


def tlb(found: Gathered) -> pl.DataFrame:
    """Return TLB misses per 1,000 instructions: event, subject, per_1k."""
    frames = [
        hardware_events.tlb_misses(one.whole.lazy().with_columns(run=pl.lit(1)))
        .select("event", subject=pl.lit(one.name), per_1k="per_1k_instructions")
        .collect()
        for one in found.subjects
        if not one.polled
    ]
    return (
        pl.concat(frames)
        if frames
        else pl.DataFrame(schema={"event": pl.String, "subject": pl.String, "per_1k": pl.Float64})
    )


def rates(subject: Subject) -> pl.LazyFrame:
    """Return rates of each event over intervals or polls, summed over CPUs: x, by_poll, event, unit, per_s.

    An interval has no rate if a CPU did not count the event, because the sum would be incomplete. CPUs that never
    count the event are left out.
    """
    if subject.polled:
        rows = subject.rows.lazy()
        by_poll = subject.rows["elapsed_s"].null_count() > 0
        x = pl.col("poll").cast(pl.Float64) if by_poll else pl.col("elapsed_s")
        every = (
            rows.filter(pl.col("rate_per_s").is_not_null().any().over("event", "block", "pcpu"))
            .group_by("event", "block", x.alias("x"), maintain_order=True)
            .agg(_sum_of_all("rate_per_s").alias("per_s"))
        )
        found = (
            every.group_by("event", "x", maintain_order=True)
            .agg(pl.col("per_s").mean())
            .with_columns(unit=pl.lit(None, dtype=pl.String))
        )
        return found.with_columns(by_poll=pl.lit(by_poll))
    known = hardware_events.per_second(subject.rows.lazy(), subject.runs)
    return (
        known.filter(pl.col("elapsed_s").is_not_null())
        .filter(pl.col("value").is_not_null().any().over("run", "event", "aggregate", "cgroup"))
        .group_by("run", "event", pl.col("elapsed_s").alias("x"), maintain_order=True)
        .agg(pl.col("unit").first(), _sum_of_all("per_s"))
        .group_by("event", "x", maintain_order=True)
        .agg(pl.col("unit").first(), pl.col("per_s").mean())
        .with_columns(by_poll=pl.lit(value=False))
    )


def _sum_of_all(name: str) -> pl.Expr:
    """Aggregate by the sum; null if a part is missing."""
    return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()).alias(name)


def by_aggregate(subject: Subject) -> pl.DataFrame:
    """Return each event on each CPU, core, socket, thread or cgroup: event, aggregate, value, unit."""
    if subject.polled:
        by_pcpu = subject.rows.group_by("event", maintain_order=True, aggregate=pl.format("PCPU {}", "pcpu"))
        unit = "events per second" if subject.counted == "rate_per_s" else "events"
        return by_pcpu.agg(value=pl.col(subject.counted).mean()).with_columns(unit=pl.lit(unit))
    name = pl.concat_str(["aggregate", "cgroup"], separator=" ", ignore_nulls=True)
    rows = (
        hardware_events.per_second(subject.rows.lazy(), subject.runs)
        .filter(pl.any_horizontal(pl.col("aggregate", "cgroup").is_not_null()), pl.col("value").is_not_null())
        .group_by("event", name.alias("aggregate"), maintain_order=True)
        .agg(
            pl.col("unit").first().fill_null("events"),
            count=pl.col("value").sum(),
            seconds=pl.col("seconds").sum(),
            known=pl.col("seconds").null_count() == 0,
        )
    )
    rate = pl.all_horizontal(pl.col("known").all(), pl.col("seconds") > 0)
    return rows.select(
        "event",
        "aggregate",
        value=pl.when(rate).then(pl.col("count") / pl.col("seconds")).otherwise("count"),
        unit=pl.when(rate).then(pl.col("unit") + " per second").otherwise("unit"),
    ).collect()


def differences(subject: Subject) -> pl.DataFrame:
    """Return the spread of each event, most uneven first: its highest place, and the multiple of the median."""
    value = pl.col("value")
    return (
        by_aggregate(subject)
        .filter(value.is_not_null())
        .sort("aggregate")
        .group_by("event")
        .agg(
            pl.col("unit").first(),
            places=pl.len().cast(pl.Int64),
            median=value.median(),
            low=value.min(),
            high=value.max(),
            lowest=pl.col("aggregate").sort_by("value").first(),
            highest=pl.col("aggregate").sort_by("value").last(),
            share=100 * value.max() / value.sum(),
        )
        .filter(pl.col("places") > 1, pl.col("high") > 0)
        .with_columns(times=pl.when(pl.col("median") > 0).then(pl.col("high") / pl.col("median")))
        .sort([pl.col("times").fill_null(float("inf")), "event"], descending=[True, False])
    )


def estimates(found: Gathered) -> pl.DataFrame:
    """Return events not counted, or counted only part of the time: subject, event, level, what (in words)."""
    frames = [pl.DataFrame(schema=dict.fromkeys(("subject", "event", "level", "what"), pl.String))]
    for one in found.subjects:
        if one.polled:
            continue
        in_lines = pl.format("{} in {} of {} lines", "state", "len", "of")
        states = (
            one.rows.with_columns(of=pl.len().over("event"))
            .filter(pl.col("state") != "counted")
            .group_by("event", "state", "of", maintain_order=True)
            .len()
            .with_columns(what=pl.when(pl.col("len") == pl.col("of")).then("state").otherwise(in_lines))
        )
        shared = one.whole.filter(pl.col("counted_pct") < 100).sort("counted_pct").rows(named=True)  # noqa: PLR2004
        lines = [(row["event"], f"counted {row['counted_pct']:.1f} % of the time: an estimate") for row in shared]
        guessed = pl.DataFrame(lines, schema={"event": pl.String, "what": pl.String}, orient="row")
        frames += [
            rows.select(pl.lit(one.name).alias("subject"), "event", pl.lit(level).alias("level"), "what")
            for rows, level in ((states, "warning"), (guessed, "info"))
        ]
    return pl.concat(frames)


def metrics_of_perf(found: Gathered) -> pl.DataFrame:
    """Return grouped metrics computed by perf, such as topdown, as means over intervals and CPUs.

    file, metric_group, metric_name, metric_unit, value, low, high, threshold.
    """
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
    return pl.concat(frames) if frames else pl.DataFrame()
