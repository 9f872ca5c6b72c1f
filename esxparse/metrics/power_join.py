"""A capture and the readings of a power meter on one timeline.

Readings are resampled to the intervals of the capture by their integral, which preserves energy. Nothing is
extrapolated outside the readings or interpolated in gaps. Differing clocks (for example, a BMC in local time) are
reported but not corrected: only the caller knows which clock is right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import numpy as np
import polars as pl

from esxparse.errors import EsxparseError, MissingTableError, did_you_mean
from esxparse.recording import Note, Recording

from . import host
from . import power as host_power
from ._series import Lag, Numbers, best_lag, seconds_since
from .energy import LONGEST_GAP
from .frames import SAMPLE, column, names, placed
from .power_intervals import shared

Shape = Literal["trapezoid", "step"]

_FURTHEST_S = 15 * 3600.0
_SURE = 0.6
"""Correlation from which two series are taken to show the same events."""
_BETTER = 0.2
"""Correlation that a shift must gain to be preferred to no shift."""
_ZONE_S = 1800.0
_NAMED = ("source", "sensor", "kind")
_LOADS = ("util_pct", "used_pct", "watts_esxtop", "iops", "mb_per_s")


@dataclass(frozen=True, eq=False)
class PowerJoin:
    """A capture's load and a meter's power on the capture's times."""

    table: pl.LazyFrame
    """One row per sample of the capture, in order of time:

    time              UTC, the end of the interval
    interval_s        f64  s since the previous sample; null on the first
    used_pct, util_pct  f64  % of the host's physical CPUs (`_Total`)
    watts             f64  W, mean of the meter over the interval; null if its readings do not cover all of it
    watts_esxtop      f64  W, from the capture; null if missing
    energy_joules     f64  J, watts x interval_s
    """
    intervals: pl.LazyFrame
    """Means of power and load over the same intervals, for fitting a line (`power_intervals`):

    time              UTC, the end of the interval
    interval_s        f64  covered seconds
    watts             f64  W, mean of whole readings
    util_pct, used_pct, watts_esxtop   f64  as in `table`, mean over the same seconds
    iops, mb_per_s    f64  of the whole host (`host.io`), MB of 10**6 bytes; null if missing
    """
    shift: timedelta
    """Shift of the readings for `intervals`, on top of `offset`."""
    source: str
    sensor: str
    """The sensor whose readings were joined."""
    shape: Shape
    """Interpolation between readings: `trapezoid`, or `step` if each is the mean since the previous one."""
    offset: timedelta
    """The requested shift of the readings."""
    suspected_offset: timedelta | None
    """A further shift that the load suggests; None if the times seem right or there is no evidence."""
    correlation: float | None
    """Correlation of the capture's load and the meter, as joined."""
    best_correlation: float | None
    """Correlation with the suspected offset, or with the best offset."""
    notes: tuple[Note, ...]


def _offset(offset: timedelta | float | str | None) -> timedelta:
    """Return the offset that a caller wrote: `-2h`, `90s`, `-5h30m`, seconds, a timedelta."""
    if offset is None:
        return timedelta(0)
    if isinstance(offset, timedelta):
        return offset
    if isinstance(offset, (int, float)):
        return timedelta(seconds=offset)
    match = re.fullmatch(
        r"\s*(?P<sign>[+-]?)(?:(?P<h>\d+(?:\.\d+)?)h)?\s*(?:(?P<m>\d+(?:\.\d+)?)m(?:in)?)?\s*(?:(?P<s>\d+(?:\.\d+)?)s)?\s*",
        offset,
    )
    if not match or not any(match[unit] for unit in "hms"):
        raise EsxparseError(f"offset {offset!r} is not a length of time: write it as -2h, 90s or -5h30m")
    length = timedelta(hours=float(match["h"] or 0), minutes=float(match["m"] or 0), seconds=float(match["s"] or 0))
    return -length if match["sign"] == "-" else length


def _offset_text(offset: timedelta) -> str:
    seconds = abs(round(offset.total_seconds()))
    hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
    parts = [f"{number}{unit}" for number, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if number]
    return ("-" if offset < timedelta(0) else "") + ("".join(parts) or "0s")


def load_of(capture: Recording) -> pl.DataFrame:
    """Return the load of a capture with its own power, one row per sample; times may repeat.

    Returns `time` and, null if the capture does not have them: util_pct, used_pct, watts_esxtop, iops, mb_per_s.

    Raises MissingTableError: The capture has neither physical CPUs nor power.
    """
    tables = capture.tables
    parts = []
    if (use := host.cpu(tables)) is not None:
        parts.append(use.select(*SAMPLE, "used_pct", "util_pct"))
    if "power" in capture and "p_state" in names(capture["power"]):
        parts.append(placed(host_power.host(capture["power"])).select(*SAMPLE, watts_esxtop="watts"))
    if not parts:
        msg = f"{capture.source} has neither table physical_cpu nor power: join it with an esxtop capture that has one"
        raise MissingTableError(msg)
    if (disks := host.disks(tables)) is not None:
        parts.append(
            host.io(disks).select(*SAMPLE, "iops", mb_per_s=pl.col("read_mb_per_s") + pl.col("write_mb_per_s"))
        )
    rows = pl.concat([part.collect() for part in parts], how="diagonal")
    samples = rows.group_by(SAMPLE).agg(pl.col(pl.Float64).drop_nulls().first()).sort(SAMPLE)
    missing = [name for name in _LOADS if name not in samples.columns]
    return samples.with_columns(pl.lit(None, pl.Float64).alias(name) for name in missing).select("time", *_LOADS)


def _of_host(power: Recording, rows: pl.DataFrame, host: str | None) -> pl.DataFrame:
    """Return the rows of the capture's host if a CSV covers several hosts and one sensor matches the host's name."""
    if power.format != "power_csv" or not host:
        return rows
    short = host.lower().partition(".")[0]
    own = [
        name
        for name in rows["sensor"].unique(maintain_order=True).drop_nulls()
        if short in {word.partition(".")[0] for word in name.lower().split()}
    ]
    return rows.filter(pl.col("sensor") == own[0]) if len(own) == 1 else rows


def _chosen(
    power: Recording, sensor: str | None, host: str | None, zero: datetime, start: float, end: float
) -> pl.DataFrame:
    """Return the readings of one sensor: the requested one, or the whole host's with most readings in the capture."""
    table = power["power"]
    if "time" not in names(table):
        raise EsxparseError(f"the readings of {power.source} have no times: they cannot be aligned with a capture")
    there = names(table)
    rows = (
        table.filter(pl.col("watts").is_not_null())
        .select(
            "time",
            *(pl.col(name) if name in there else pl.lit(None, pl.String).alias(name) for name in _NAMED),
            *(column(there, name) for name in ("watts", "watts_average", "interval_s")),
        )
        .collect()
    )
    if sensor is not None:
        chosen = rows.filter((pl.col("sensor") == sensor) | (pl.col("source") == sensor))
        if not chosen.height:
            known = rows["sensor"].unique(maintain_order=True).drop_nulls().to_list()
            msg = f"{power.source} has no readings of sensor {sensor!r}; {did_you_mean(sensor, known)}it has: "
            raise EsxparseError(msg + ", ".join(map(repr, known)))
        rows = chosen
    elif (whole := rows.filter(pl.col("kind").fill_null("system") == "system")).height:
        rows = whole
    if sensor is None:
        rows = _of_host(power, rows, host)
    if not rows.height:
        raise EsxparseError(f"{power.source} has no readings in watts")
    since = seconds_since(rows["time"], zero)
    rows = rows.with_columns(pl.Series("_inside", (since >= start) & (since <= end)))
    best = (
        rows.group_by("source", "sensor", maintain_order=True)
        .agg(pl.col("_inside").sum(), pl.len().alias("_rows"))
        .sort("_inside", "_rows", descending=True, maintain_order=True)
        .head(1)
    )
    return (
        rows.join(best.select("source", "sensor"), on=["source", "sensor"], nulls_equal=True, maintain_order="left")
        .unique("time", keep="last", maintain_order=True)
        .sort("time")
    )


def _shape_of(rows: pl.DataFrame, seconds: Numbers) -> Shape:
    """Return `step` if each reading is the mean since the previous one, as in a history."""
    if rows.height < 2:  # noqa: PLR2004  two ends
        return "trapezoid"
    usual = float(np.median(np.diff(seconds)))
    mean = (pl.col("watts") == pl.col("watts_average")).fill_null(value=False).all()
    since = (pl.col("interval_s") <= 2 * usual).fill_null(value=False).all()
    return "step" if rows.select(mean & since).item() else "trapezoid"


def _integrals(seconds: Numbers, watts: Numbers, at: Numbers, shape: Shape) -> tuple[Numbers, Numbers]:
    """Return joules, and covered seconds, from the first reading to each of the times `at`."""
    steps = np.diff(seconds)
    known = steps <= LONGEST_GAP * np.median(steps)
    rises = np.diff(watts) / steps if shape == "trapezoid" else np.zeros(len(steps))
    levels = watts[:-1] if shape == "trapezoid" else watts[1:]
    joules = np.concatenate(([0.0], np.cumsum(np.where(known, (levels + rises * steps / 2) * steps, 0.0))))
    covered = np.concatenate(([0.0], np.cumsum(np.where(known, steps, 0.0))))
    inside = np.clip(at, seconds[0], seconds[-1])
    place = np.clip(np.searchsorted(seconds, inside, side="right") - 1, 0, len(steps) - 1)
    since = np.where(known[place], inside - seconds[place], 0.0)
    return joules[place] + (levels[place] + rises[place] * since / 2) * since, covered[place] + since


def _resampled(seconds: Numbers, watts: Numbers, times: Numbers, shape: Shape) -> Numbers:
    """Return the mean power of each interval between `times`; NaN if the readings do not cover all of it."""
    if len(seconds) < 2 or len(times) < 2:  # noqa: PLR2004  two ends
        return np.full(max(len(times) - 1, 0), np.nan)
    joules, covered = _integrals(seconds, watts, times, shape)
    length = np.diff(times)
    whole = np.diff(covered) >= length - 1e-6
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(whole & (length > 0), np.diff(joules) / length, np.nan)


def _lag(load: pl.DataFrame, times: Numbers, seconds: Numbers, watts: Numbers) -> Lag | None:
    """Return the lag of the meter with the best correlation to the capture's own power or CPU load."""
    best: Lag | None = None
    for name in ("watts_esxtop", "used_pct", "util_pct"):
        values = load[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        there = np.isfinite(values)
        if there.sum() < 2 or np.ptp(values[there]) == 0:  # noqa: PLR2004  two ends
            continue
        gap = LONGEST_GAP * float(np.median(np.diff(seconds)))
        found = best_lag((times[there], values[there]), (seconds, watts), _FURTHEST_S, gap)
        if found and (best is None or found.correlation > best.correlation):
            best = found
    return best


def _suspect(lag: Lag | None) -> timedelta | None:
    if lag is None or lag.correlation < _SURE or abs(lag.seconds) < 2 * lag.step:
        return None
    if np.isfinite(lag.unshifted) and lag.correlation - lag.unshifted < _BETTER:
        return None
    zones = round(lag.seconds / _ZONE_S)
    if zones and abs(lag.seconds - zones * _ZONE_S) <= max(2 * lag.step, 60.0):
        return timedelta(seconds=zones * _ZONE_S)
    return timedelta(seconds=round(lag.seconds))


def _explained(offset: timedelta, lag: Lag) -> str:
    apart = _offset_text(abs(offset))
    side = "ahead of" if offset < timedelta(0) else "behind"
    zone = ""
    if offset.total_seconds() % _ZONE_S == 0:
        east = -offset
        hours, minutes = divmod(abs(round(east.total_seconds())) // 60, 60)
        sign = "-" if east < timedelta(0) else "+"
        zone = f", like a clock in time zone UTC{sign}{hours:02d}:{minutes:02d} taken for UTC"
    return (
        f"the meter's clock seems {apart} {side} the capture's{zone} (correlation with the load "
        f"{lag.correlation:.2f}); join with offset={_offset_text(offset)!r}"
    )


def _day(time: Any) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S}"


def _none_shared(
    capture: Recording, power: Recording, load: pl.DataFrame, rows: pl.DataFrame, lag: Lag | None
) -> EsxparseError:
    spans = [f"{_day(frame['time'].min())} to {_day(frame['time'].max())}" for frame in (load, rows)]
    found = _suspect(lag)
    why = f": {_explained(found, lag)}" if found and lag else "; if a clock was wrong, shift the readings with offset="
    return EsxparseError(
        f"{capture.source} ({spans[0]} UTC) and {power.source} ({spans[1]} UTC) do not overlap in time{why}"
    )


def join_power(
    capture: Recording,
    power: Recording,
    *,
    sensor: str | None = None,
    offset: timedelta | float | str | None = None,
    shape: Shape | None = None,
) -> PowerJoin:
    """Join the readings of a power meter to a capture: each interval of the capture gets their mean over it.

    Readings are connected by straight lines, or by steps if each is a mean since the previous one (the histories of
    HPE iLO). The mean of an interval is the integral over it, which preserves energy. Intervals that readings do not
    cover completely are null: before the first, after the last, and in gaps of more than 3 times their usual distance.

    The load shows whether the two clocks agree. If shifted readings (by up to 15 hours) would match the load clearly
    better, `suspected_offset` and a note report the shift. `offset` applies it.

    Args:
        capture: An esxtop capture.
        power: Power readings with times: Redfish, RIBCL, IPMI, a meter's CSV.
        sensor: The sensor, by the name in column `sensor` or `source`; by default, the host's with most readings. In a
            CSV of several hosts, the default is the sensor with the capture's host name, if there is one.
        offset: Shift of the readings: a timedelta, seconds, or text such as `-2h`.
        shape: `trapezoid` or `step`; by default, the readings decide.

    Raises EsxparseError: The two do not overlap in time; the message suggests an offset if one would explain it.
    """
    # Samples of one time cannot be assigned to readings: use their mean.
    load = load_of(capture).group_by("time").mean().sort("time")
    zero = load["time"][0]
    times = seconds_since(load["time"], zero)
    shift = _offset(offset)
    late = shift.total_seconds()
    rows = _chosen(power, sensor, capture.meta.get("host"), zero, times[0] - late, times[-1] - late)
    rows = rows.with_columns(pl.col("time") + shift)
    seconds, watts = seconds_since(rows["time"], zero), rows["watts"].to_numpy()
    if shape is None:
        shape = _shape_of(rows, seconds)
    lag = _lag(load, times, seconds, watts) if rows.height > 1 else None
    if seconds[-1] <= times[0] or seconds[0] >= times[-1]:
        raise _none_shared(capture, power, load, rows, lag)
    resampled = np.concatenate(([np.nan], _resampled(seconds, watts, times, shape)))
    length = np.concatenate(([np.nan], np.diff(times)))
    table = load.with_columns(
        pl.Series("interval_s", length).fill_nan(None),
        pl.Series("watts", resampled).fill_nan(None),
        pl.Series("energy_joules", resampled * length).fill_nan(None),
    ).select("time", "interval_s", "used_pct", "util_pct", "watts", "watts_esxtop", "energy_joules")
    suspected = _suspect(lag)
    own = pl.when(pl.col("watts") == pl.col("watts_average")).then("interval_s")
    together = shared(load, rows.select("time", "watts", own_s=own))
    return PowerJoin(
        table=table.lazy(),
        intervals=together.table.lazy(),
        shift=timedelta(seconds=together.shift_s),
        source=rows["source"][0] or "",
        sensor=rows["sensor"][0] or "",
        shape=shape,
        offset=shift,
        suspected_offset=suspected,
        correlation=lag.unshifted if lag and np.isfinite(lag.unshifted) else None,
        best_correlation=lag.correlation if lag else None,
        notes=(*_of_several(power, sensor, rows), *_notes(table, suspected, lag, together.shift_s)),
    )


def _of_several(power: Recording, sensor: str | None, rows: pl.DataFrame) -> list[Note]:
    """Return a note if a CSV covers several hosts or outlets and the caller chose none of them."""
    if power.format != "power_csv" or sensor is not None:
        return []
    known = power["power"].select(pl.col("sensor").unique(maintain_order=True).drop_nulls()).collect()["sensor"]
    listed = ", ".join(map(repr, known))
    text = f"the meter is of several ({listed}): {rows['sensor'][0]!r} is used; name another as sensor"
    return [Note(text)] if len(known) > 1 else []


def _notes(table: pl.DataFrame, suspected: timedelta | None, lag: Lag | None, shift_s: float) -> tuple[Note, ...]:
    notes = []
    without = table["watts"].null_count() - 1
    if without > 0:
        notes.append(
            Note(f"{without:,} of {table.height - 1:,} intervals have no power: no readings cover them completely")
        )
    if suspected is not None and lag is not None:
        notes.append(Note(_explained(suspected, lag), severity="warning"))
    elif shift_s:
        way = "later" if shift_s > 0 else "earlier"
        what = f"its readings match the load best {abs(shift_s):.3g} s {way} than their time stamps"
        notes.append(Note(f"{what}, and were shifted by that to fit power against load"))
    if lag is None:
        notes.append(Note("cannot tell whether the clocks agree: too few readings, or a constant load"))
    return tuple(notes)
