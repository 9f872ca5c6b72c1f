"""The columns of a run from power meters, hardware counters, packet traces and benchmarks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from esxparse.clock import spell
from esxparse.counters.naming import column_name
from esxparse.derived.guests import BUSY, readings
from esxparse.errors import EsxparseError, did_you_mean
from esxparse.metrics import alignment, energy, hardware_events, io_profile, power_join
from esxparse.metrics.energy import LONGEST_GAP
from esxparse.metrics.frames import weighted_mean
from esxparse.recording import Recording
from esxparse.studies.entries import WindowSpec
from esxparse.studies.span import Span, measured

Figures = dict[str, Any]


_MEANS = ("watts_average", "interval_s")


def energy_between(readings: pl.LazyFrame, start: datetime, end: datetime) -> pl.LazyFrame:
    """Return the energy of each sensor from `start` to `end`, J, as far as readings cover the span.

    Needs `time`, `watts`, without nulls, and any of `source`, `sensor`. As in `metrics.power_join`, power follows
    straight lines between readings, or steps if each reading is the mean since the previous one (`watts_average`,
    `interval_s`). In gaps it is unknown. Returns one row per source and sensor:

    source, sensor  (if present)
    readings        i64  in the span
    covered_s       f64  s of the span covered by the energy
    energy_joules   f64  null if nothing is covered
    watts_mean      f64  energy_joules / covered_s; if nothing is covered, the mean of the readings in the span

    >>> from datetime import datetime, timedelta
    >>> zero = datetime(2026, 3, 2)
    >>> times = [zero + timedelta(seconds=second) for second in (0, 10, 20)]
    >>> table = pl.LazyFrame({"time": times, "watts": [100.0, 200.0, 200.0]})
    >>> energy_between(table, times[0] + timedelta(seconds=5), times[1]).collect()["energy_joules"].item()
    875.0
    """
    there = readings.collect_schema().names()
    sensor_columns = [name for name in ("source", "sensor") if name in there]
    keys: list[str] = [*sensor_columns] or ["_all"]
    watts, before = pl.col("watts"), pl.col("_before")

    def since(moment: pl.Expr) -> pl.Expr:
        return moment.dt.total_microseconds() / 1e6

    sorted_rows = (
        readings.with_columns(pl.lit(0).alias("_all"), since(pl.col("time") - start).alias("_at"))
        .sort(*keys, "_at", maintain_order=True)
        .with_columns(pl.col("_at").shift(1).over(keys).alias("_before"), watts.shift(1).over(keys).alias("_from"))
        .with_columns((pl.col("_at") - before).alias("_step"))
        .with_columns(pl.col("_step").filter(pl.col("_step") > 0).median().over(keys).alias("_usual"))
    )
    length = (end - start).total_seconds()
    known = (pl.col("_step") > 0) & (pl.col("_step") <= LONGEST_GAP * pl.col("_usual"))
    low, high = pl.max_horizontal(before, 0.0), pl.min_horizontal("_at", length)
    line = pl.col("_from") + (watts - pl.col("_from")) * ((low + high) / 2 - before) / pl.col("_step")
    inside = (pl.col("_at") > 0) & (pl.col("_at") <= length)
    seconds, total = pl.col("_seconds").sum(), pl.col("_joules").sum()
    stepped = pl.lit(value=False)
    if set(_MEANS) <= set(there):
        mean, recent = watts == pl.col("watts_average"), pl.col("interval_s") <= 2 * pl.col("_usual")
        stepped = (mean & recent).fill_null(value=False).all().over(keys)
    return (
        sorted_rows.with_columns(pl.when(known & (high > low)).then(high - low).otherwise(0.0).alias("_seconds"))
        .with_columns(
            pl.when(pl.col("_seconds") > 0)
            .then(pl.when(stepped).then(watts).otherwise(line) * pl.col("_seconds"))
            .alias("_joules")
        )
        .group_by(keys, maintain_order=True)
        .agg(
            inside.sum().cast(pl.Int64).alias("readings"),
            seconds.alias("covered_s"),
            pl.when(seconds > 0).then(total).alias("energy_joules"),
            pl.when(seconds > 0).then(total / seconds).otherwise(watts.filter(inside).mean()).alias("watts_mean"),
        )
        .drop("_all", strict=False)
    )


_NAMED: Final = 5
_UNITS: Final = {"1": "", "usec/KB": "us/KB", "Kb/s": "kbit/s", "kb/s": "kbit/s", "Mb/s": "Mbit/s", "Gb/s": "Gbit/s"}
"""Units that column names spell differently: lower case would turn bits into bytes."""


@dataclass(frozen=True)
class Meter:
    """The readings of a power meter, and how to use them."""

    rec: Recording
    sensor: str | None = None
    clock: timedelta = timedelta(0)
    """Shift from its times to the capture's."""


def joined(meter: Meter, capture: Recording, span: Span) -> tuple[Figures, list[str]]:
    """Return mean power and energy over the intervals of a capture in the span, with notes."""
    rec = meter.rec
    laid = power_join.join_power(capture, rec, sensor=meter.sensor, offset=meter.clock)
    rows = laid.table.filter(span.inside(), pl.col("energy_joules").is_not_null())
    row = rows.select(pl.col("energy_joules").sum(), pl.col("interval_s").sum()).collect().row(0, named=True)
    if not row["interval_s"]:
        raise EsxparseError(f"{rec.source} has no readings that cover any interval of the measured span")
    notes = [str(note) for note in laid.notes if note.severity == "warning"]
    found = {"watts": row["energy_joules"] / row["interval_s"], "energy_joules": row["energy_joules"]}
    return found | {"watts_from": rec.format}, notes + _choice(meter, laid.sensor)


def alone(meter: Meter, span: Span | None, window: WindowSpec | None) -> tuple[Figures, list[str]]:
    """Return mean power and energy of the sensor with most readings, without a capture.

    `meter`: the readings. `span`: the measured span from another file, if known. `window`: the measured window,
    counted by the readings' times; it takes precedence over `span`.
    """
    rec, table = meter.rec, _system(meter.rec)
    there = table.collect_schema().names()
    if meter.sensor is not None and "sensor" in there:
        known = _sensors(rec)
        if meter.sensor not in known:
            listed = ", ".join(map(repr, known[:_NAMED]))
            raise EsxparseError(
                f"{rec.source} has no readings of sensor {meter.sensor!r}; "
                + did_you_mean(meter.sensor, known)
                + f"it has: {listed}"
            )
        table = table.filter(pl.col("sensor") == meter.sensor)
    table = table.filter(pl.col("watts").is_not_null())
    if "time" not in there:
        found, used = _timeless(rec, table, there)
        notes = [f"the window does not apply to {rec.source}: its readings have no times"] * (window is not None)
        return found | {"watts_from": rec.format}, notes + _choice(meter, used)
    table = table.filter(pl.col("time").is_not_null()).with_columns(pl.col("time") + meter.clock)
    figures: Figures = {"watts_from": rec.format}
    if window is not None:
        span = _windowed(rec, table, window, span)
        figures |= {"start": span.start, "end": span.end, "measured_s": span.seconds}
    each = energy.energy(table) if span is None else energy_between(table, span.start, span.end)
    rows = each.collect().sort("readings", descending=True, maintain_order=True)
    row = rows.row(0, named=True) if rows.height else {"watts_mean": None}
    watts = row["watts_mean"]
    if watts is None and span is None:
        # A single reading has power, but no energy.
        watts = table.select(pl.col("watts").mean()).collect().item()
    if watts is None:
        raise EsxparseError(f"{rec.source} has no reading of the host in the measured span")
    return figures | {"watts": watts, "energy_joules": row["energy_joules"]}, _choice(meter, row.get("sensor"))


def _timeless(rec: Recording, table: pl.LazyFrame, there: Collection[str]) -> tuple[Figures, str | None]:
    first = table.head(1).collect()
    if not first.height:
        raise EsxparseError(f"{rec.source} has no readings in watts")
    return {"watts": first["watts"][0]}, first["sensor"][0] if "sensor" in there else None


def _windowed(rec: Recording, table: pl.LazyFrame, window: WindowSpec, own: Span | None) -> Span:
    """Return the measured part of power readings, by their own times; `own` is the span of a load generator."""
    time = pl.col("time")
    step = time.unique().sort().diff().dt.total_microseconds().median() / 1e6
    first, last, usual = table.select(time.min(), time.max().alias("last"), step.alias("step")).collect().row(0)
    if first is None:
        raise EsxparseError(f"{rec.source} has no readings of the host in watts")
    return measured(window, first, last, usual, own, of="the power readings")


def _choice(meter: Meter, used: str | None) -> list[str]:
    """Return a note if one of several sensors was chosen."""
    others = [name for name in _sensors(meter.rec) if name != used] if meter.sensor is None else []
    text = f"power is from {used!r}; to use another, set sensor = ... for that file: {', '.join(others)}"
    return [text] * bool(others)


def _system(rec: Recording) -> pl.LazyFrame:
    table = rec["power"]
    if "kind" not in table.collect_schema().names():
        return table
    return table.filter(pl.col("kind").fill_null("system") == "system")


def _sensors(rec: Recording) -> list[str]:
    table = _system(rec)
    if "sensor" not in table.collect_schema().names():
        return []
    return table.select(pl.col("sensor").drop_nulls().unique(maintain_order=True)).collect()["sensor"].to_list()


def events(rec: Recording, pcpus: Collection[int] = ()) -> dict[str, Any]:
    """Return rates of hardware events: one column for each, and TLB misses by their class.

    `rec`: from perf or vmkperf. `pcpus`: PCPUs of vmkperf that count; empty for all.
    """
    totals = _polled(rec, pcpus) if rec.format == "vmkperf" else _counted(rec)
    found: dict[str, Any] = {}
    classes: dict[str, dict[str, Any]] = {}
    for row in totals.iter_rows(named=True):
        found[f"{column_name(row['event'])}_per_s"] = row["per_s"]
        kind = hardware_events.event_class(row["event"])
        if kind:
            classes.setdefault(kind, row)
    for kind in ("tlb_miss_load", "tlb_miss_store", "tlb_miss_instruction"):
        if kind in classes:
            found[f"{kind}_per_s"] = classes[kind]["per_s"]
    if "tlb_miss_load" in classes:
        found["tlb_misses_load"] = classes["tlb_miss_load"]["value"]
    if {"instructions", "cycles"} <= set(classes) and classes["cycles"]["value"]:
        found["instructions_per_cycle"] = (classes["instructions"]["value"] or 0) / classes["cycles"]["value"]
    if "runs" in rec:
        found["elapsed_s"] = rec["runs"].select(pl.col("elapsed_s").mean()).collect().item()
    return found


def _polled(rec: Recording, pcpus: Collection[int]) -> pl.DataFrame:
    polls = rec["events"]
    unknown = sorted(set(pcpus) - set(polls.select(pl.col("pcpu").unique()).collect()["pcpu"]))
    if unknown:
        raise EsxparseError(f"{rec.source} has no PCPU {unknown[0]}: it has {rec.meta['pcpus']}, counted from 0")
    chosen = polls.filter(pl.col("pcpu").is_in(pcpus)) if pcpus else polls
    return hardware_events.vmkperf_totals(chosen).collect()


def _counted(rec: Recording) -> pl.DataFrame:
    table = rec["events"]
    if table.select(pl.col("elapsed_s").is_not_null().any()).collect().item():
        # The summary at the end of an interval recording would count everything again.
        table = table.filter(pl.col("elapsed_s").is_not_null())
    return hardware_events.totals(table, rec.tables.get("runs")).collect()


def disks(rec: Recording) -> dict[str, Any]:
    """Return I/O figures from vscsiStats, over all disks."""
    reads = io_profile.read_share(rec["histograms"]).select(pl.col("reads", "writes").sum()).collect().row(0)
    found: dict[str, Any] = {"vscsi_read_pct": 100 * reads[0] / sum(reads) if sum(reads) else None}
    shares = io_profile.sequential_share(rec["histograms"]).collect()
    if "direction" in shares.columns:
        shares = shares.filter(pl.col("direction") == "all")
    if shares.height == 1:
        found["vscsi_sequential_pct"] = shares["sequential_pct"].item()
    if "summaries" in rec:
        lengths = rec["summaries"].filter(pl.col("histogram") == "io_length").group_by("direction")
        sizes = lengths.agg(weighted_mean(pl.col("mean"), pl.col("count"))).collect()
        found |= {f"vscsi_{way}_size_bytes": size for way, size in sizes.iter_rows() if way in _WAYS}
    return found


def guests(recs: Sequence[Recording], window: WindowSpec, span: Span | None, clock: timedelta) -> Figures:
    """Return the CPU use that guests report in the measured span: `guest_busy_pct`, the mean over guests' means.

    Without a span from elsewhere the window applies to each guest's own times.
    """
    means: list[float] = []
    for rec in recs:
        read = readings(rec)
        if read is None or BUSY not in read.columns:
            raise EsxparseError(f"{rec.source} has no CPU use with times: record it with sar -u, mpstat or vmstat -t")
        busy = read.select(pl.col("time") + clock, BUSY).drop_nulls()
        first, last = busy["time"].min(), busy["time"].max()
        own = span or measured(window, first, last, None, None, of="the guest's readings")  # type: ignore[arg-type]
        mean = busy.filter(own.inside()).select(pl.col(BUSY).mean()).item()
        if mean is None:
            msg = f"{rec.source} has no reading in the measured span ({spell(own.start, own.end)} UTC): "
            raise EsxparseError(f"{msg}if its clock differs, set clock = ... for that file")
        means.append(mean)
    return {"guest_busy_pct": sum(means) / len(means)}


def unit_name(unit: str | None) -> str:
    """Return the ending of a column name for a unit; empty for plain numbers.

    >>> unit_name("GFlop/s"), unit_name("Gb/s"), unit_name("%"), unit_name("1")
    ('gflop_per_s', 'gbit_per_s', 'pct', '')
    """
    written = _UNITS.get(unit or "", unit)
    return column_name(written) if written else ""


def benchmark(rec: Recording, test: str | int | None) -> pl.DataFrame:
    """Return the figures of a benchmark, or of the chosen test, with the name of their column in `runs`."""
    rows = rec["benchmark_results"].collect()
    if test is not None:
        kept = rows.filter(pl.col("test") == str(test))
        if not kept.height:
            known = ", ".join(repr(name) for name in rows["test"].unique(maintain_order=True)[:_NAMED])
            raise EsxparseError(f"{rec.source} has no test {str(test)!r}; it has {known}")
        rows = kept
    several = rows.select(pl.struct("test", "metric", "configuration").n_unique()).item() > (
        rows.select(pl.struct("test", "metric").n_unique()).item()
    )
    names = [
        "_".join(
            column_name(part)
            for part in (
                row["benchmark"],
                row["test"],
                row["configuration"] if several else "",
                row["metric"],
                unit_name(row["unit"]),
            )
            if part
        )
        for row in rows.iter_rows(named=True)
    ]
    return rows.with_columns(pl.Series("column", names, dtype=pl.String))


def benchmark_means(rows: pl.DataFrame) -> dict[str, float | None]:
    """Return the mean of each figure over repetitions in one file, without runs that failed the program's own check."""
    sound = rows.filter(pl.col("valid").fill_null(value=True))
    means = sound.group_by("column", maintain_order=True).agg(pl.col("value").mean())
    return dict(means.iter_rows())


BOUNDARY: Final = 4096
"""Bytes: requests on multiples of this are aligned; a block of NTFS, ext and VMDK, and of most servers."""
_REQUESTS: Final = ("nfs", "iscsi")
_WAYS: Final = ("read", "write")


def requests(recs: Sequence[Recording], window: WindowSpec, span: Span | None, clock: timedelta) -> dict[str, Any]:
    """Return requests and replies in the measured span; connections are reported for the whole trace.

    Without a span from elsewhere the window applies to the times of the traces' packets.
    """
    if span is None:
        first, last = min(rec.meta["start"] for rec in recs), max(rec.meta["end"] for rec in recs)
        span = measured(window, first + clock, last + clock, None, None, of="the trace")
    tables = [rec[name] for rec in recs for name in _REQUESTS if name in rec]
    found = _connections(recs)
    if not tables:
        raise EsxparseError(f"{recs[0].source} has no NFS or iSCSI traffic to measure")
    # Both protocols share the two directions: READ of NFS corresponds to READ(10) of iSCSI.
    wanted = ("time", "latency_ms", "offset_bytes", "size_bytes", pl.col("direction").alias("operation"))
    moved = [table.filter(pl.col("direction").is_in(_WAYS)).select(wanted) for table in tables]
    moved_in = pl.concat(moved).with_columns(pl.col("time") + clock).filter(span.inside()).collect().lazy()
    count = moved_in.select(pl.len()).collect().item()
    if not count:
        msg = f"{recs[0].source} has no reads or writes in the measured span ("
        msg += f"{spell(span.start, span.end)} UTC): if its clock differs, set clock = ... for that file"
        raise EsxparseError(msg)
    latency, shares, off, sizes = pl.collect_all(
        [
            alignment.latency(moved_in),
            alignment.shares(moved_in, [BOUNDARY]),
            alignment.off_size(moved_in),
            moved_in.group_by("operation").agg(pl.col("size_bytes").mean()),
        ]
    )
    found["wire_unanswered"] = latency["unanswered"].sum()
    for row in latency.iter_rows(named=True):
        way = row["operation"]
        found[f"wire_{way}_per_s"] = (row["requests"] + row["unanswered"]) / span.seconds if span.seconds else None
        found |= {f"wire_{way}_{name}": row[name] for name in ("p50_ms", "p95_ms")}
    for row in shares.iter_rows(named=True):
        found[f"wire_{row['operation']}_misaligned_pct"] = 100 - row["aligned_requests_pct"]
    for way, _, share in off.iter_rows():
        found[f"wire_{way}_off_size_pct"] = share
    for way, size in sizes.iter_rows():
        found[f"wire_{way}_size_bytes"] = size
    return found


def _connections(recs: Sequence[Recording]) -> dict[str, Any]:
    tables = [rec["tcp"].select("packets", "retransmissions") for rec in recs if "tcp" in rec]
    if not tables:
        return {}
    packets, again = pl.concat(tables).sum().collect().row(0)
    return {"tcp_retransmissions": again, "tcp_retransmissions_pct": 100 * again / packets if packets else None}
