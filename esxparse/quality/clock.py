"""The clock of a recording as rows of its profile: steps between samples, gaps, drift, repeated times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import polars as pl

from esxparse.quality import data

_LEAST: Final = 3
_THIRD: Final = 9
"""Fewest steps for comparing the last third with the first."""
_OFF: Final = 0.2
"""A step is off if it differs from a multiple of the usual step by more than this share."""
_MINUTE: Final = 60_000_000


def rows(form: str, frames: Mapping[str, pl.DataFrame]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the clock by table; for a capture of esxtop, whose tables share it, as the table `samples`."""
    if form == "esxtop":
        frame = next((one for one in frames.values() if one.height), None)
        if frame is None:
            return {}
        mine = frame.filter(pl.col("instance").eq_missing(pl.lit(frame["instance"][0])))
        return {"samples": list(_rows([("", mine["time"])]))}
    found = {}
    for table, frame in frames.items():
        keys = data.raw()["clock"].get(f"{form}.{table}")
        name = next((one for one in ("time", "elapsed_s") if one in frame.columns), None)
        if keys is not None and name and frame.height:
            present = [key for key in keys if key in frame.columns]
            parts = frame.partition_by(present, maintain_order=True) if present else [frame]
            series = [
                (" ".join(str(part[key][0]) for key in present if part[key][0] is not None), part[name])
                for part in parts
            ]
            if made := list(_rows(series)):
                found[table] = made
    return found


def _rows(series: list[tuple[str, pl.Series]]) -> Iterator[dict[str, Any]]:
    """Return rows for several series of times, with the worst of each."""
    worst: dict[str, dict[str, Any]] = {}
    for at, times in series:
        for row in _row_of(times.drop_nulls(), at):
            other = worst.setdefault(row["name"], row)
            for end, less in (("min", True), ("max", False)):
                if (row[end] < other[end]) if less else (row[end] > other[end]):
                    other |= {key: row[key] for key in (end, f"{end}_at", f"{end}_time")}
    yield from worst.values()


def _row_of(stamps: pl.Series, at: str) -> Iterator[dict[str, Any]]:
    def row(name: str, values: Any, unit: str, shift: int = 1) -> dict[str, Any]:
        low, high = int(values.argmin()), int(values.argmax())
        time = [stamps[place + shift] if dated else None for place in (low, high)]
        ends = {"min": float(values[low]), "min_at": at or None, "min_time": time[0]}
        ends |= {"max": float(values[high]), "max_at": at or None, "max_time": time[1]}
        return {"kind": "clock", "name": name, "of": "", "unit": unit, "rows": len(values), "nulls": 0, **ends}

    dated = stamps.dtype.is_temporal()
    seconds = stamps.to_physical().to_numpy() / 1e6 if dated else stamps.to_numpy()
    if not len(seconds):
        return
    if dated:
        yield row("year", stamps.dt.year().to_numpy().astype(float), "", 0)
        yield row("samples", np.array([float(len(seconds))]), "count", 0)
    if len(seconds) < _LEAST:
        return
    steps = np.diff(seconds)
    forward = steps[steps > 0]
    yield row("step_s", steps, "s")
    if not len(forward):
        return
    usual = float(np.quantile(forward, 0.5, method="lower"))
    third = len(steps) // 3
    # A program that dropped the seconds gave all samples of a minute the same time.
    if dated and bool((stamps.to_physical() % _MINUTE == 0).all()) and bool((steps == 0).any()):
        yield row("step_ratio", steps / usual, "ratio")
        first, last = seconds[third] - seconds[0], seconds[-1] - seconds[-1 - third]
    else:
        same = (steps == 0).astype(float)
        yield row("duplicates", same, "count") | {"max": float(same.sum())}
        ratio = steps / usual
        yield row("step_ratio", ratio, "ratio")
        off = np.abs(ratio - np.round(ratio)) > _OFF
        yield row("irregular_pct", np.where(off, 100.0 * off.mean(), 0.0), "%")
        first, last = np.median(steps[: third + 1]), np.median(steps[-third - 1 :])
    if len(steps) >= _THIRD and first > 0:
        yield row("drift_ratio", np.array([last / first]), "ratio", len(seconds) - 1)
