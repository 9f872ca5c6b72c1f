"""Data of the report on power: readings of every meter, the capture beside them, energy, and power per unit of work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Unpack

import polars as pl

from esxparse.charts.reduce import with_labels
from esxparse.errors import EsxparseError
from esxparse.formats.opening import Options
from esxparse.metrics import energy, host, over_time, power, power_join
from esxparse.metrics.frames import column, weighted_mean
from esxparse.recording import Note, Recording
from esxparse.reports import recordings as files

FORMATS: Final = ("esxtop", "redfish", "ribcl", "ipmi", "power_csv")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIME: Final = pl.Datetime("us", "UTC")
_LABEL_WIDTH: Final = 22
_NUMBERS: Final = (
    *("watts", "watts_average", "watts_minimum", "watts_maximum", "watts_cap", "interval_s", "cpu_watts"),
    *("dimm_watts", "gpu_watts", "fan_watts", "inlet_celsius", "temperature_celsius", "cpu_util_pct", "cpu_mhz"),
    *("energy_joules", "elapsed_s"),
)
_WORDS: Final = ("recording", "source", "sensor", "kind")
ESXTOP: Final = "esxtop"
CSV: Final = "power_csv"
_TOTAL: Final = re.compile(r"total|sum\b|\ball\b|inlet", re.IGNORECASE)
"""Sensor names of a total that the meter computes itself."""

UNITS: Final = (
    ("util_pct", "% of host util", "%"),
    ("used_ghz", "GHz of CPU work", "GHz"),
    ("kiops", "1,000 I/Os per second", "1,000 IOPS"),
    ("mb_per_s", "MB per second of storage", "MB/s"),  # 10**6 bytes
)
"""Column of `beside`, the work that it measures, and its unit."""


@dataclass(frozen=True)
class Meter:
    """The readings of one recording beside the capture."""

    recording: str
    join: power_join.PowerJoin | None
    """None if they cannot be joined."""
    refused: str
    """Reason why they cannot be joined."""


@dataclass(frozen=True)
class Gathered:
    """The recordings of a report on power, and their tables; None for missing ones."""

    recordings: tuple[Recording, ...]
    capture: Recording | None
    readings: pl.DataFrame
    """Every reading: `time` (null if the file has none), `since_start`, `recording`, `name`, `label`, and the columns
    of table `power`."""
    meters: tuple[Meter, ...]
    beside: pl.DataFrame | None
    """time, interval_s, util_pct, used_pct, watts, watts_esxtop, used_ghz, kiops, mb_per_s: power and load over the
    same intervals; without a capture the readings of a meter that reports CPU utilisation."""
    measured_by: str
    """The source of `watts` in `beside`."""
    load: str
    """The meaning of `util_pct` in `beside`."""
    price_per_kwh: float


def gather(
    paths: Sequence[str | Path],
    *,
    offset: str = "",
    price_per_kwh: float | str = 0.0,
    **options: Unpack[Options],
) -> Gathered:
    """Open power readings, and the esxtop capture among them, and join them.

    Args:
        paths: The recordings; at most one of them is a capture of esxtop.
        offset: Shift of the meters' times, such as `-2h`.
        price_per_kwh: Price of energy, in any currency; 0 for none.
        options: Options of `esxparse.open`; each applies to the files that can use it.
    """
    recordings = files.opened_all(paths, FORMATS, options)
    captures = [rec for rec in recordings if rec.format == ESXTOP]
    if len(captures) > 1:
        raise EsxparseError(f"{captures[0].source} and {captures[1].source} are both esxtop captures: give one of them")
    capture = captures[0] if captures else None
    names = files.names(recordings)
    meters = tuple(
        _meter(capture, rec, name, offset)
        for rec, name in zip(recordings, names, strict=True)
        if capture is not None and rec is not capture
    )
    shifts = {meter.recording: meter.join.offset for meter in meters if meter.join is not None}
    readings = _readings(recordings, names, shifts)
    if readings.is_empty() or not (readings["watts"] > 0).any():
        # esxtop prints 0 W if the host has no sensor.
        sources = ", ".join(Path(rec.source).name for rec in recordings)
        msg = f"no power readings above 0 W in {sources}: add what a BMC or meter recorded, or choose another template"
        raise EsxparseError(msg)
    beside, measured_by, load = _beside(capture, meters, readings)
    return Gathered(recordings, capture, readings, meters, beside, measured_by, load, _price(price_per_kwh))


def _price(value: float | str) -> float:
    try:
        price = float(value or 0)
    except ValueError:
        price = -1.0
    if not 0 <= price < float("inf"):
        raise EsxparseError(f"price_per_kwh must be a number of 0 or more, not {value!r}")
    return price


def _meter(capture: Recording, rec: Recording, name: str, offset: str) -> Meter:
    if "power" not in rec:
        return Meter(name, None, f"{rec.source} has no power table")
    try:
        return Meter(name, power_join.join_power(capture, rec, offset=offset or None), "")
    except EsxparseError as error:
        return Meter(name, None, str(error))


def _host_readings(capture: Recording) -> pl.LazyFrame:
    """Return the host's own sensor as the readings of a meter."""
    return power.host(capture["power"]).select(
        "time",
        "watts",
        source=pl.lit(ESXTOP),
        sensor=pl.lit(ESXTOP),
        kind=pl.lit("system"),
        watts_cap=pl.col("cap_watts"),
    )


def _readings(recordings: Sequence[Recording], names: Sequence[str], shifts: dict[str, timedelta]) -> pl.DataFrame:
    frames = []
    for rec, name in zip(recordings, names, strict=True):
        tables = [rec.tables[table] for table in ("power", "power_undated") if table in rec]
        if rec.format == ESXTOP:
            tables = [_host_readings(rec)] if "power" in rec else []
        for table in tables:
            there = table.collect_schema().names()
            undated = pl.lit(None, dtype=_TIME)
            time = pl.col("time").cast(_TIME) + shifts.get(name, timedelta(0)) if "time" in there else undated
            since = pl.lit("time" not in there and "elapsed_s" in there)
            if "time" not in there and "elapsed_s" in there:
                time = pl.lit(_EPOCH).cast(_TIME) + pl.duration(microseconds=pl.col("elapsed_s") * 1e6)
            known = table.with_columns(time.alias("time"), since.alias("since_start"), pl.lit(name).alias("recording"))
            words = [pl.col(one) for one in _WORDS if one in known.collect_schema().names()]
            numbers = [(pl.col(one) if one in there else pl.lit(None)).cast(pl.Float64).alias(one) for one in _NUMBERS]
            frames.append(known.select("time", "since_start", *words, *numbers))
    if not frames:
        return pl.DataFrame()
    rows = pl.concat(frames, how="diagonal_relaxed").with_columns(pl.col("kind").fill_null("system"))
    labelled = _with_names(rows.collect(), len(recordings) > 1)
    # A legend has room for the sensor only; add the recording if two share a sensor name.
    brief = labelled.select("name", "brief").unique(maintain_order=True).drop_nulls()
    brief = brief.with_columns(pl.when(pl.col("brief").is_unique()).then("brief").otherwise("name").alias("brief"))
    labels = with_labels(brief.lazy(), "brief", width=_LABEL_WIDTH).select("name", "label").collect()
    return labelled.drop("brief").join(labels, on="name", how="left", maintain_order="left")


def _with_names(rows: pl.DataFrame, several: bool) -> pl.DataFrame:
    """Add `name`: the sensor with its source, if ambiguous, and its recording; and `brief`, without the recording."""
    keys = rows.group_by("recording", "source", "sensor", maintain_order=True).agg(measures=pl.col("watts").count() > 0)
    same = pl.col("measures") & (pl.col("measures").sum().over("recording", "sensor") > 1)
    source = pl.col("source").fill_null("").str.split("/").list.last()
    sensor = pl.col("sensor").fill_null(pl.col("source"))
    sensor_name = (
        pl.when(same & (source != sensor))
        .then(pl.concat_str(sensor, pl.lit(" ("), source, pl.lit(")")))
        .otherwise(sensor)
    )
    whole = (
        pl.when(several & (sensor != ESXTOP))
        .then(pl.concat_str("recording", sensor_name, separator=": "))
        .otherwise(sensor_name)
    )
    return rows.join(
        keys.select("recording", "source", "sensor", name=whole, brief=sensor_name),
        on=["recording", "source", "sensor"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )


def _own(capture: Recording) -> pl.DataFrame | None:
    """Return the capture's load with the host's own power from the same samples, if no meter is joined."""
    if "power" not in capture or "physical_cpu" not in capture:
        return None
    rows = power_join.load_of(capture).filter(pl.col("util_pct").is_not_null() | pl.col("used_pct").is_not_null())
    return rows.with_columns(watts="watts_esxtop", interval_s=pl.lit(None, dtype=pl.Float64))


def _beside(
    capture: Recording | None, meters: Sequence[Meter], readings: pl.DataFrame
) -> tuple[pl.DataFrame | None, str, str]:
    if capture is None:
        complete = readings.filter(
            pl.col("time").is_not_null(), pl.col("cpu_util_pct").is_not_null(), pl.col("watts").is_not_null()
        )
        if complete.is_empty():
            return None, "", ""
        label = complete["label"].value_counts(sort=True)["label"][0]
        rows = complete.filter(pl.col("label") == label).unique("time", maintain_order=True).sort("time")
        empty = pl.lit(None, dtype=pl.Float64)
        chosen = rows.select("time", "watts", util_pct="cpu_util_pct", used_pct=empty, watts_esxtop=empty)
        return chosen, label, "CPU utilisation, reported by the BMC"
    joined = [(meter, meter.join) for meter in meters if meter.join is not None]
    covered = [join.intervals.select(pl.col("interval_s").sum()).collect().item() for _, join in joined]
    if any(covered):
        meter, join = joined[covered.index(max(covered))]
        table, name = join.intervals.collect(), f"{meter.recording}: {join.sensor or join.source}"
    else:
        own, name = _own(capture), ESXTOP
        if own is None:
            return None, "", ""
        table = own
    table = table.with_columns(kiops=pl.col("iops") / 1000)
    mhz, pcpus = host.nominal_mhz(capture.tables), capture.meta.get("pcpus")
    if mhz and pcpus:
        table = table.with_columns(used_ghz=pl.col("used_pct") / 100 * pcpus * mhz / 1000)
    return table, name, "Host util"


def order() -> pl.Expr:
    """Return the sort order of a sensor by its kind."""
    return pl.col("kind").replace_strict({"system": 0, "enclosure": 1, "supply": 2}, default=3, return_dtype=pl.Int64)


def energies(found: Gathered) -> pl.DataFrame:
    """Return the energy of each sensor with its gaps, the host's first, then supplies and parts; see `energy.energy`.

    Adds name, kind, lowest and highest reading; for a meter with an energy counter by_counter_kwh and restarts, see
    `energy.by_counter`.
    """
    dated = found.readings.filter(pl.col("time").is_not_null())
    if dated.is_empty():
        return pl.DataFrame()
    used = energy.energy(dated.select("time", "watts", sensor="name").lazy()).collect().rename({"sensor": "name"})
    counted = energy.by_counter(dated.select("time", "energy_joules", sensor="name").lazy()).collect()
    counted = counted.select("restarts", name="sensor", by_counter_kwh=pl.col("counted_joules") / 3_600_000)
    facts = (
        dated.sort("time")
        .group_by("name", maintain_order=True)
        .agg(
            pl.col("kind").first(),
            pl.col("label").first(),
            since_start=pl.col("since_start").first(),
            lowest=pl.col("watts").min(),
            highest=pl.col("watts").max(),
        )
    )
    return used.join(facts, on="name").join(counted, on="name", how="left").sort(order(), -pl.col("readings"), "name")


def main_sensor(found: Gathered, used: pl.DataFrame) -> dict[str, Any] | None:
    """Return the row of `energies` for the report's main sensor: the meter beside the capture, or else the first.

    `used`: from `energies`. Sensors that add up are combined by `summed`. None without rows.
    """
    if used.is_empty():
        return None
    beside = (one for one in found.meters if one.join and found.measured_by.startswith(one.recording))
    row = used.row(0, named=True)
    if (meter := next(beside, None)) and meter.join:
        names = found.readings.filter(
            pl.col("recording") == meter.recording,
            pl.col("sensor").eq_missing(meter.join.sensor),
            pl.col("source").eq_missing(meter.join.source),
        )["name"]
        of_meter = used.filter(pl.col("name").is_in(names.to_list()))
        row = of_meter.row(0, named=True) if of_meter.height else row
    return summed(found, used, row)


def summed(found: Gathered, used: pl.DataFrame, row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of `energies` for the sum of one meter column: hosts, GPUs or outlets add up, sensors do not.

    `used`: from `energies`. `row`: the row of one sensor, returned unchanged if it is the only one. `lowest` and
    `highest` are over times with readings of all, null if there are none.
    """
    whose = ("recording", "source", "kind")
    own = found.readings.filter(pl.col("name") == row["name"]).select(*whose)[0]
    of = {name for rec, name in zip(found.recordings, files.names(found.recordings), strict=True) if rec.format == CSV}
    same = found.readings.join(own, on=whose, how="semi")
    names = same["name"].unique(maintain_order=True).to_list()
    if own["recording"].item() not in of or len(names) < 2 or any(map(_TOTAL.search, names)):  # noqa: PLR2004
        return row
    added = used.filter(pl.col("name").is_in(names)).select(
        pl.col("watts_mean", "energy_kwh", "readings", "gaps").sum(), pl.col("covered_s").max()
    )
    at = (
        same.group_by("time").agg(pl.col("watts").sum(), pl.col("name").n_unique()).filter(pl.col("name") == len(names))
    )
    ends = {"lowest": at["watts"].min(), "highest": at["watts"].max()}
    return row | added.row(0, named=True) | ends | {"name": f"sum of {len(names)}: {', '.join(names)}"}


def per_unit(found: Gathered) -> pl.DataFrame:
    """Return power per unit of work: work, mean watts and work, cost of a unit, and its 5th and 95th percentile.

    Means and percentiles weight each interval by its length. Intervals without such work do not count.
    """
    rows = []
    for name, work, unit in UNITS:
        if found.beside is None or name not in found.beside.columns:
            continue
        beside = over_time.with_covered(found.beside.lazy())
        cost = energy.watts_per_unit(beside, name).drop_nulls("watts_per_unit").collect()
        if cost.is_empty():
            continue
        each = pl.col("watts_per_unit")
        length = pl.coalesce(column(cost.columns, "interval_s"), over_time.seconds())
        rows.append(
            {"work": work, "unit": unit}
            | cost.with_columns(length.alias("_length"))
            .select(
                intervals=pl.len().cast(pl.Int64),
                watts=weighted_mean(pl.col("watts"), pl.col("_length")),
                work_mean=weighted_mean(pl.col(name), pl.col("_length")),
                cost=(pl.col("watts") * pl.col("_length")).sum() / (pl.col(name) * pl.col("_length")).sum(),
                p5=over_time.quantile(each, 0.05),
                p95=over_time.quantile(each, 0.95),
            )
            .row(0, named=True)
        )
    return pl.DataFrame(rows)


def clocks_apart(found: Gathered) -> bool:
    """Return whether the clock of the meter beside the load seems wrong, so that power and load do not match."""
    return any(
        meter.join is not None
        and meter.join.suspected_offset is not None
        and found.measured_by.startswith(f"{meter.recording}: ")
        for meter in found.meters
    )


def cap(found: Gathered) -> float | None:
    """Return the lowest configured cap, W."""
    lowest = found.readings["watts_cap"].min()
    return float(lowest) if isinstance(lowest, float | int) else None


def periods(found: Gathered) -> list[pl.LazyFrame]:
    """Return the readings in groups of recordings close in time: one axis for each."""
    dated = found.readings.filter(pl.col("time").is_not_null())
    spans = (
        dated.group_by("recording", "since_start")
        .agg(start=pl.col("time").min(), end=pl.col("time").max())
        .sort("start", "recording")
        .rows(named=True)
    )
    groups: list[tuple[list[tuple[str, bool]], datetime, datetime]] = []
    for span in spans:
        key = (span["recording"], span["since_start"])
        if groups:
            keys, start, end = groups[-1]
            room = max(end - start, span["end"] - span["start"]) / 2
            if span["start"] <= end + room and keys[0][1] == span["since_start"]:
                groups[-1] = ([*keys, key], start, max(end, span["end"]))
                continue
        groups.append(([key], span["start"], span["end"]))
    return [
        dated.filter(
            pl.struct("recording", "since_start").is_in([{"recording": a, "since_start": b} for a, b in keys])
        ).lazy()
        for keys, _, _ in groups
    ]


def clock_notes(found: Gathered) -> list[tuple[str, Note]]:
    """Return the notes of the joins, each with its recording."""
    return [(meter.recording, one) for meter in found.meters if meter.join is not None for one in meter.join.notes]
