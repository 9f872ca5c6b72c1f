"""Profiles: one row per counter and class of instances of a table, small enough to judge anywhere.

The kind of a row is `counter` for a column of the table, or `identity` for a quantity that checks.toml computes from
several counters. `field` checks that related counters are all present, `clock` the times of samples, `sample` whole
samples. docs/quality.md explains the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import isfinite, isnan
from typing import Any, Final

import numpy as np
import polars as pl

from esxparse.quality import clock, data, samples
from esxparse.recording import Recording
from esxparse.schema import TIME, schema

COLUMNS: Final = schema(
    "kind name of unit str, rows nulls holes infinite fractions i64, min f64, min_at str, min_time time, "
    "max f64, max_at str, max_time time, mean sum f64, changes steps i64, repeats_pct frozen_pct f64, "
    "stuck i64, stuck_at str, stuck_time time"
)
"""Columns of a profile and their types."""
_EMPTY: Final = dict.fromkeys(COLUMNS)
_FULL: Final = 100.0
_AT_ONCE: Final = 60_000_000
"""Most numbers of a capture to profile at once; a larger capture is profiled span by span."""
_LARGE: Final = 2_000_000
"""Fewest numbers for profiling tables in parallel."""
_STUCK_FROM: Final = 10.0
_NEAR: Final = 16_384
"""Numbers per chunk: larger chunks do not fit the cache, and their masks need new memory."""
_STEPS: Final = 4
"""Fewest steps for checking whether a counter is frozen."""


@dataclass(frozen=True)
class _Rows:
    """The instance and time of each row of a table."""

    entity: pl.Series
    time: pl.Series | None
    places: pl.Series | None = None
    """For a class: the places of its rows in the table with these times."""
    known: dict[int, tuple[str | None, datetime | None]] = field(default_factory=dict)
    """Rows looked up before: extremes of different counters are often in the same rows."""

    def at(self, place: int) -> tuple[str | None, datetime | None]:
        """Return the instance and time of a row."""
        if place not in self.known:
            row = place if self.places is None else self.places[place]
            self.known[place] = (self.entity[place] or None, None if self.time is None else self.time[row])
        return self.known[place]

    @cached_property
    def width(self) -> int:
        """Number of instances per sample, if all samples have the same in the same order; else 0."""
        entity, height = self.entity, len(self.entity)
        if self.time is None or not height:
            return 0
        # The first instance repeats in the second sample, even if both samples have the same time.
        again = entity.slice(1).index_of(entity[0])
        first = height if again is None else again + 1
        repeats = height % first == 0
        return first if repeats and bool((entity.slice(first) == entity.head(height - first)).all()) else 0


def profile(rec: Recording) -> dict[str, pl.DataFrame]:
    """Profile each table of a recording, and its clock.

    Returns: By the name of the table a frame with `COLUMNS`; for a capture of esxtop, whose tables share one clock,
    that clock as `samples`.
    """
    numbers = rec.meta.get("samples", 0) * rec.meta.get("columns", 0) if rec.format == "esxtop" else 0
    if numbers <= _AT_ONCE:
        frames = {name: _by_sample(frame.collect()) for name, frame in rec.tables.items()}
        return _framed(_tables(rec.format, frames), clock.rows(rec.format, frames))
    table, frame = next(iter(rec.tables.items()))
    times = {table: frame.select("time", "instance").collect()}
    ordered = times[table]["time"].unique().sort()
    length = max(samples.LEAST, int(_AT_ONCE / numbers * ordered.len()))
    spans = []
    for start in range(0, ordered.len(), length):
        inside = pl.col("time").is_between(ordered[start], ordered[min(start + length, ordered.len()) - 1])
        frames = {name: _by_sample(frame.filter(inside).collect()) for name, frame in rec.tables.items()}
        spans.append(_framed(_tables(rec.format, frames), {}))
    whole = _framed(clock.rows(rec.format, times))
    # All spans have the same counters.
    later = [{name: frame.filter(pl.col("kind") != "field") for name, frame in one.items()} for one in spans[1:]]
    parts = [spans[0], *later, whole]
    return {name: _merged([one[name] for one in parts if name in one]) for name in spans[0] | whole}


def _by_sample(frame: pl.DataFrame) -> pl.DataFrame:
    """Sort a table by sample, with the instances of each in the same order, whatever the order of its rows.

    Converted captures group rows by instance. If instances come and go, rows stay unchanged.
    """
    if "instance" not in frame.columns or not frame.height or _rows(frame).width:
        return frame
    rows = frame.select(pl.col("instance").fill_null("")).with_row_index()
    rows = rows.with_columns(
        sample=pl.int_range(pl.len()).over("instance"), first=pl.col("index").min().over("instance")
    )
    regular = rows["sample"].n_unique() * rows["first"].n_unique() == frame.height
    return frame[rows.sort("sample", "first")["index"]] if regular else frame


def _tables(form: str, frames: Mapping[str, pl.DataFrame]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of all tables, and of whole samples."""
    large = sum(frame.height * frame.width for frame in frames.values()) > _LARGE
    # numpy releases the lock while it counts; for a small recording most of the time is in Python.
    with ThreadPoolExecutor(None if large else 1) as pool:
        rows = pool.map(lambda one: [*_counters(form, *one)], frames.items())
        found = dict(zip(frames, rows, strict=True))
    for name, table, values in data.identities(form, frames):
        places = _rows(table)
        found[name] += [row for one in values for row in _row("identity", one.name, "", "", one, places)]
    if form == "esxtop":
        widths = {name: _rows(frames[name]).width for name in samples.BUSIEST if name in frames}
        found["samples"] = list(samples.rows(frames, widths))
    return found


def _framed(*parts: Mapping[str, list[dict[str, Any]]]) -> dict[str, pl.DataFrame]:
    names = dict.fromkeys(name for part in parts for name in part)
    rows = {name: [row for part in parts for row in part.get(name, ())] for name in names}
    return {name: pl.DataFrame(found, schema=COLUMNS, orient="row") for name, found in rows.items()}


def _merged(spans: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Merge the profiles of a capture's spans: extremes with their place, sums, weighted means."""
    added = ("rows", "nulls", "holes", "infinite", "fractions", "sum", "changes", "steps")
    ends = [
        pl.col(column).sort_by(name, descending=descending, nulls_last=True).first()
        for name, descending in (("min", False), ("max", True), ("stuck", True))
        for column in (name, f"{name}_at", f"{name}_time")
    ]
    shares = [
        ((pl.col(name) * pl.col("steps")).sum() / pl.col("steps").filter(pl.col(name).is_not_null()).sum()).alias(name)
        for name in ("repeats_pct", "frozen_pct")
    ]
    weight = pl.col("rows") - pl.col("nulls")
    mean = ((pl.col("mean") * weight).sum() / weight.sum()).alias("mean")
    sums = [pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum()).alias(name) for name in added]
    merged = pl.concat(spans).group_by("kind", "name", "of", "unit", maintain_order=True)
    return merged.agg(*sums, *ends, *shares, mean).select(*COLUMNS).fill_nan(None)


def together(recordings: Sequence[Recording]) -> pl.DataFrame:
    """Profile related files: the number of hosts of their captures, and their distance in time."""
    captures = [rec for rec in recordings if rec.format == "esxtop"]
    hosts = sorted({str(rec.meta["host"]) for rec in captures if rec.meta.get("host")})
    spans: list[tuple[datetime, datetime, str]] = []
    for rec in recordings:
        known = [time for time in (rec.meta.get("start"), rec.meta.get("end")) if time]
        if known:
            spans.append((known[0], known[-1], rec.source))
    rows = []
    if len(captures) > 1:
        rows.append(_EMPTY | {"kind": "file", "name": "hosts", "max": len(hosts), "max_at": ", ".join(hosts)})
    if len(spans) > 1:
        late, early = max(spans, key=lambda span: span[0]), min(spans, key=lambda span: span[1])
        overlap = {"min": (early[1] - late[0]).total_seconds(), "min_at": late[2], "min_time": late[0]}
        rows.append(_EMPTY | {"kind": "file", "name": "overlap_s", "unit": "s", **overlap})
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def _counters(form: str, table: str, frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows of the counters of a table, class by class, and of its fields."""
    keys = {"time", "instance", "elapsed_s"}
    names = [name for name, kind in frame.schema.items() if kind.is_numeric() and name not in keys]
    whole = _rows(frame)
    width = whole.width if "instance" in frame.columns else 0
    for of, places in data.classes(form, table, frame, width).items():
        rows = whole if places is None else _Rows(whole.entity.gather(places), whole.time, places)
        made = []
        for name in names:
            column = frame.get_column(name)
            # One column at a time reuses memory.
            mine = column if places is None else column.gather(places)
            made.append(_row("counter", name, of, data.unit_of(form, table, name), mine, rows))
        yield from _beside_others([row for one in made for row in one])
    wanted, lacking = data.fields(form, table, names)
    if wanted:
        counted = {"rows": len(wanted), "nulls": len(lacking), "max_at": ", ".join(lacking) or None}
        yield _EMPTY | {"kind": "field", "name": wanted[0], "of": "", "unit": "", **counted}


def _rows(frame: pl.DataFrame) -> _Rows:
    keys = ["instance"] if "instance" in frame.columns else [n for n, kind in frame.schema.items() if kind == pl.String]
    if len(keys) == 1:
        entity = frame.get_column(keys[0]).fill_null("")
    elif keys:
        entity = frame.select(pl.concat_str(keys, separator=" ", ignore_nulls=True)).to_series()
    else:
        entity = pl.Series([""] * frame.height, dtype=pl.String)
    time = frame.get_column("time") if frame.schema.get("time") == TIME else None
    return _Rows(entity, time)


def _row(kind: str, name: str, of: str, unit: str, column: pl.Series, rows: _Rows) -> list[dict[str, Any]]:
    """Return the row of a series; none if the class has no values."""
    nulls = column.null_count()
    if nulls == column.len():
        return []
    values = column.cast(pl.Float64)
    # to_numpy converts nulls one by one.
    array, total = (values.fill_null(float("nan")) if nulls else values).to_numpy(), values.sum()
    low, high = _extremes(array)
    row: dict[str, Any] = {"kind": kind, "name": name, "of": of, "unit": unit, "rows": column.len(), "nulls": nulls}
    row |= {"mean": total / (column.len() - nulls), "sum": total, "changes": 0, "steps": 0, "stuck": 0, "fractions": 0}
    row["infinite"] = 0 if isfinite(total) else column.len() - nulls - int(np.isfinite(array).sum())
    least, most = float(array[low]), float(array[high])
    for end, place, value in (("min", low, least), ("max", high, most)):
        if not isnan(value):
            row[end] = value
            row[f"{end}_at"], row[f"{end}_time"] = rows.at(place)
    if kind == "identity":
        return [row | {"rows": column.len() - nulls, "nulls": 0}]
    if rows.width and nulls:
        there = ~np.isnan(array).reshape(-1, rows.width)[1:]
        row["holes"] = int((~there[:, there.any(axis=0)]).sum())
    if least == most and not nulls:
        return [row | {"fractions": int(_broken(least)) * len(array)}]
    if unit in samples.NOISY and rows.width:
        return [row | _noise(array, rows)]
    row["fractions"] = sum(np.count_nonzero(_broken(now)) for _, _, now in _near(array, 0)) - nulls
    if rows.width:
        row["changes"] = sum(
            np.count_nonzero((before != now) & ~np.isnan(before) & ~np.isnan(now))
            for _, before, now in _near(array, rows.width)
        )
    return [row]


def _near(array: Any, width: int) -> Iterator[tuple[int, Any, Any]]:
    """Yield rows from `width` on in chunks: their start, the numbers of the previous sample, and their own."""
    for start in range(width, len(array), _NEAR):
        now = array[start : start + _NEAR]
        yield start, array[start - width : start - width + len(now)], now


def _extremes(array: Any) -> tuple[int, int]:
    """Return the rows of the smallest and largest number, the first of equal ones; the first row if all are missing."""
    low, high = int(array.argmin()), int(array.argmax())
    if isnan(array[low]) and not np.isnan(array).all():
        return int(np.nanargmin(array)), int(np.nanargmax(array))
    return low, high


def _broken(numbers: Any) -> Any:
    """Return which numbers have decimals. A remainder would take ten times as long."""
    return numbers != np.floor(numbers)


def _odd(numbers: Any) -> Any:
    """Return which numbers have decimals that change with each measurement."""
    return (numbers >= 1.0) & (numbers != _FULL) & _broken(numbers)


def _noise(array: Any, rows: _Rows) -> dict[str, Any]:
    """Check whether noisy numbers with decimals repeat from sample to sample."""
    steps = repeats = 0
    still = np.zeros(rows.width, dtype=bool)
    for start, before, now in _near(array, rows.width):
        odd = _odd(now)
        same = odd & (now == before)
        steps += int(np.count_nonzero(odd))
        repeats += int(np.count_nonzero(same))
        still[(np.flatnonzero(same & (now >= _STUCK_FROM)) + start) % rows.width] = True
    if not steps:
        return {"changes": None}
    row: dict[str, Any] = {"steps": steps, "repeats_pct": 100.0 * repeats / steps, "changes": None, "fractions": None}
    lanes = np.flatnonzero(still)
    if len(lanes):
        matrix = array.reshape(-1, rows.width)[:, lanes]
        now = matrix[1:]
        same = _odd(now) & (now == matrix[:-1]) & (now >= _STUCK_FROM)
        sample, place, row["stuck"] = _longest(same)
        row["stuck_at"], _ = rows.at(int(lanes[place]))
        _, row["stuck_time"] = rows.at((sample + 1) * rows.width)
    return row


def _longest(same: Any) -> tuple[int, int, int]:
    """Return the end of the longest run of a column, its row and column, and its number of rows."""
    place = np.arange(len(same), dtype=np.int32)[:, None]
    runs = place - np.maximum.accumulate(np.where(same, np.int32(-1), place), axis=0)
    row, column = divmod(int(runs.argmax()), same.shape[1])
    return row, column, int(runs[row, column])


def _beside_others(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add how much more a counter repeats than others of its class: on a quiet host all of them may repeat."""
    tested = [row for row in rows if (row["steps"] or 0) >= _STEPS]
    for row in tested:
        others = [other["repeats_pct"] for other in tested if other is not row]
        row["frozen_pct"] = row["repeats_pct"] - float(np.median(others)) if others else None
    return rows
