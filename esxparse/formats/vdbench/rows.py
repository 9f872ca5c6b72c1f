"""Shared code for the parts of vdbench's output: titles to columns, times by a clock, runs, and rows to tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import polars as pl

from esxparse.formats.benchmarks.table import BETTER, Figure, Run
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data, schemas
from esxparse.formats.power.readings import stamp
from esxparse.schema import Schema

Row = dict[str, Any]

SCHEMAS, LINES, SCOPES = schemas(__file__), kinds(__file__), kinds(__file__, "scopes")
_FIRST = {
    "intervals": ("run", "rd", "scope", "name", "interval", "warm_up", "elapsed_s"),
    "averages": ("run", "rd", "scope", "name", "statistic", "first_interval", "last_interval"),
    "skew": ("run", "rd", "kind", "name"),
}
"""Columns before the figures."""
_DAY_S = 86400.0
_BACK_S = 43200.0
"""If a clock goes back by more than this, midnight has passed."""


def names() -> Mapping[str, Any]:
    """Return the content of `columns.toml`."""
    return data(__file__, "columns.toml")


@cache
def _order() -> dict[str, int]:
    columns = [*names()["reports"].values(), *names()["flatfile"].values()]
    return {name: place for place, name in enumerate(dict.fromkeys(columns))}


def column(title: str, part: str = "reports") -> str:
    """Return the name of a column by its title.

    >>> column("i/o rate"), column("mkdir resp"), column("Getattr_rate_std", "flatfile"), column("ks_busy%", "flatfile")
    ('iops', 'mkdir_response_ms', 'getattr_per_s_std', 'ks_busy_pct')
    """
    known: Mapping[str, str] = names()[part]
    low = title.lower()
    if low in known:
        return known[low]
    plain = re.sub(r"[^a-z0-9%]+", "_", low).strip("_").replace("%", "_pct")
    return re.sub(r"_rate(?=_|$)", "_per_s", re.sub(r"_resp(?=_|$)", "_response_ms", plain))


def value(cell: str) -> float | None:
    """Return a number as vdbench prints it, in any locale; None for `n/a`."""
    return number(cell.removesuffix("%"), "," if "," in cell else ".")


@dataclass
class Clock:
    """Times of day to times in UTC: the day comes from titles, midnights from clocks that go back."""

    east: timedelta | None = None
    """Offset from UTC; None if unknown."""
    zoned: bool = False
    """Whether the zone of every time is known."""
    assumption: str | None = None
    """The assumption about the zone."""
    _first: datetime | None = None
    _stated: datetime | None = None
    _last: float = 0.0
    _days: int = 0

    def created(self, line: str) -> bool:
        """Read the zone from the creation line of `summary.html`, and return whether this is that line."""
        if not (match := LINES["created"].search(line)):
            return False
        local = stamp(f"{match['day']} {match['clock']} UTC")
        stated = f"{match['utc_day']} {match['utc_clock']} UTC" if match["utc_day"] else None
        utc = stamp(stated or f"{match['day']} {match['clock']} {match['zone'] or ''}".strip())
        if local and utc:
            self.east, self.assumption, self.zoned = local.time - utc.time, utc.assumed, utc.assumed is None
        return True

    def date(self, text: str) -> None:
        """Read the day for the row below from titles such as `Mar 08, 2019`."""
        found = stamp(f"{text.strip()} 00:00:00 UTC") if text.strip() else None
        self._stated = found.time if found else self._stated

    def seconds(self, match: re.Match[str]) -> float:
        """Return seconds since the midnight before the first clock."""
        clock = int(match["hour"]) * 3600 + int(match["minute"]) * 60 + float(match["second"])
        self._days += clock < self._last - _BACK_S
        self._last = clock
        return clock + _DAY_S * self._days

    def moment(self, seconds: float) -> datetime | None:
        """Return the time in UTC, if the day is known."""
        if self._stated is not None:
            self._first, self._stated = self._stated - timedelta(days=seconds // _DAY_S), None
        if self._first is None:
            return None
        return (self._first + timedelta(seconds=seconds) - (self.east or timedelta(0))).astimezone(UTC)


def started(match: re.Match[str], clock: Clock) -> Row:
    """Return a run that begins: its definition, parameters, and clock."""
    rest = re.sub(r"\s+", " ", match["rest"] or "").strip(" ;.").removesuffix("For loops: None").strip(" ;.")
    return {"rd": match["rd"], "parameters": rest or None, "began": clock.seconds(match)}


def labelled(label: str) -> Row:
    """Return the subject of a row: an interval, or the average, standard deviation or maximum of intervals.

    >>> labelled("7"), labelled("avg_2-10")["first_interval"]
    ({'interval': 7}, 2)
    """
    if label.isdigit():
        return {"interval": int(label)}
    statistic, _, span = label.partition("_")
    first, _, last = span.partition("-")
    return {"statistic": statistic, "first_interval": int(first), "last_interval": int(last)}


def tables(rows: Iterable[Row]) -> dict[str, tuple[list[Row], Schema]]:
    """Return tables `intervals` and `averages` of rows; warm-up precedes the first interval of the average."""
    kept = list(rows)
    first = {
        (row["run"], row["scope"], row["name"]): row["first_interval"] for row in kept if row.get("statistic") == "avg"
    }
    of_run = {run: interval for (run, *_), interval in first.items()}
    intervals = [row for row in kept if "interval" in row]
    for row in intervals:
        begin = first.get((row["run"], row["scope"], row["name"]), of_run.get(row["run"]))
        row["warm_up"] = None if begin is None else row["interval"] < begin
    averages = [row for row in kept if "statistic" in row]
    dated = ["time"] if intervals and all(row.get("time") for row in intervals) else []
    return {
        "intervals": (intervals, columns_of("intervals", intervals, dated)),
        "averages": (averages, columns_of("averages", averages)),
    }


def columns_of(table: str, rows: Sequence[Row], more: Sequence[str] = ()) -> Schema:
    """Return the columns of a table: those of all files, and the figures of rows in the order of `columns.toml`."""
    first = [*_FIRST[table], *more]
    there = dict.fromkeys(name for row in rows for name, cell in row.items() if isinstance(cell, float))
    order = _order()
    figures = [name for name in there if name not in {*first, "elapsed_s", "began"}]
    figures.sort(key=lambda name: order.get(name, len(order)))
    return {name: SCHEMAS[table].get(name, pl.Float64()) for name in (*first, *figures)}


def mebi(row: Row) -> Row:
    """Return a row with its rate in MiB: vdbench prints units of 1000**2 bytes if configured."""
    if row.get("mb_per_s") is not None:
        return {**row, "mib_per_s": row["mb_per_s"] * 1e6 / 2**20}
    return row


def runs_of(averages: Iterable[Row], parameters: Mapping[int, str | None]) -> list[Run]:
    """Return the averages of whole runs for the common table."""
    runs = []
    for row in averages:
        if row["statistic"] != "avg" or row["scope"] != "total":
            continue
        applicable = {"latency_read": row.get("read_pct") != 0, "latency_write": row.get("read_pct") != 100}  # noqa: PLR2004
        sides = [most for name in ("read_max_ms", "write_max_ms") if (most := row.get(name)) is not None]
        whole = {"max_response_ms": max(sides, default=None), **row}
        figures = tuple(
            Figure(name, whole.get(one["column"]), one["unit"], BETTER[one["better"]])
            for name, one in names()["figures"].items()
            if applicable.get(name, True)
        )
        runs.append(Run(row["rd"], parameters.get(row["run"]) or _requested(row), figures))
    return runs


_WITHOUT_LIMIT = 9_999_900
"""A requested rate above this means `max` or `curve`."""


def _requested(row: Row) -> str:
    """Return the settings of a run from its row in the flat file, which has no parameters.

    >>> _requested({"requested_bytes": 4096.0, "threads": 8.0, "requested_per_s": 9999988.0})
    'xfersize=4096 threads=8'
    """
    limit = row.get("requested_per_s") or 0.0
    settings = {"xfersize": row.get("requested_bytes"), "threads": row.get("threads")}
    settings |= {"iorate": limit if limit < _WITHOUT_LIMIT else None}
    return " ".join(f"{name}={setting:g}" for name, setting in settings.items() if setting)
