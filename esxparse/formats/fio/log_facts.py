"""Facts that a fio log does not state: its job, metric, columns and times.

Source: `flush_samples` in fio's iolog.c. To 3.18 `time, value, direction, block size[, offset]`; from 3.19 a priority
follows, 0 or 1, or 0x and four digits with `log_prio`; from 3.37 the maximum may follow the value (`log_max_value=2`),
and the time of issue may come last (`log_issue_time`, which needs `log_offset`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

import polars as pl

from esxparse.formats.kit.tables import data
from esxparse.schema import TIME

_COLUMNS = [tuple(one.split()) for one in data(__file__)["layouts"]]
LAYOUTS = {width: tuple(one for one in _COLUMNS if len(one) == width) for width in range(4, 9)}
"""Number of columns to the possible columns, the likelier ones first."""

_NUMBER = r"(?:\d{1,20}|0x[0-9a-fA-F]{4})"
ENTRY = re.compile(rf"\d{{1,20}}, -?\d{{1,20}}(?:, {_NUMBER}){{2,6}}")
_DIRECTIONS = 3
_FEWEST_BYTES = 4
"""Smallest block size; a smaller number is a direction in the wrong place."""

Row = tuple[str, ...]


def numbered(columns: Sequence[str], row: Row) -> dict[str, int] | None:
    """Return the numbers of a line by name; None if a column other than the priority is hexadecimal."""
    cells = dict(zip(columns, row, strict=True))
    if any(text.startswith("0x") for name, text in cells.items() if name != "priority"):
        return None
    return {name: int(text, 16 if text.startswith("0x") else 10) for name, text in cells.items()}


def _fitting(layout: Sequence[str], rows: Sequence[tuple[list[int], list[int]]]) -> int:
    """Return how many lines fit a layout; `rows` are their numbers, and the places of hexadecimal ones."""
    places = {name: place for place, name in enumerate(layout)}
    direction, size = places["direction"], places["size"]
    # A column that the layout does not have never counts against it.
    priority, offset = places.get("priority", -1), places.get("offset", -1)
    highest, value = places.get("maximum", places["value"]), places["value"]
    return sum(
        numbers[direction] <= _DIRECTIONS
        and (hexadecimal == [priority] if hexadecimal else priority < 0 or numbers[priority] <= 1)
        # fio sets both to 0 for an average over a time.
        and (
            numbers[size] >= _FEWEST_BYTES
            or (numbers[size] == 0 and (offset < 0 or numbers[offset] == 0) and numbers[highest] >= numbers[value])
        )
        for numbers, hexadecimal in rows
    )


def sample(text: str) -> list[Row]:
    """Return the cells of whole lines, in a log's beginning, that look like entries."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    whole = lines[:-1] if len(lines) > 1 else lines
    return [tuple(line.split(", ")) for line in whole if ENTRY.fullmatch(line)]


def layout(rows: Sequence[Row], *, before_3_19: bool = False) -> tuple[str, ...] | None:
    """Return the columns of a log, from its lines; None if they are not of a fio log.

    If several layouts fit equally, the likelier one is returned; `before_3_19`: no line has a priority.
    """
    if not rows:
        return None
    number, _ = Counter(map(len, rows)).most_common(1)[0]
    rows = [row for row in rows if len(row) == number]
    choices = [one for one in LAYOUTS[number] if not (before_3_19 and "priority" in one)] or LAYOUTS[number]
    hexadecimal = [[place for place, text in enumerate(row) if text.startswith("0x")] for row in rows]
    numbers = [[int(text, 16 if text.startswith("0x") else 10) for text in row] for row in rows]
    read = list(zip(numbers, hexadecimal, strict=True))
    fitting = {one: _fitting(one, read) for one in choices}
    best = max(choices, key=lambda one: fitting[one])
    return best if fitting[best] * 10 >= len(rows) * 9 else None


def recognised(text: str) -> bool:
    """Return whether a text begins like a log: nine of ten lines are entries of one layout, and one comes early."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    # The end of the head may cut the last line.
    whole = [line for line in (lines[:-1] if len(lines) > 1 else lines) if line]
    rows = [line for line in whole if ENTRY.fullmatch(line)]
    return bool(rows) and len(rows) * 10 >= len(whole) * 9 and layout(sample(text)) is not None


DIRECTION = pl.Enum(("read", "write", "trim", "sync"))

EPOCH_MS = 10**11
"""Milliseconds from which a time counts from 1970: no job runs for three years."""
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999."""


def since_1970(times: Sequence[int]) -> bool:
    """Return whether most of these times, in milliseconds, count from 1970 (`log_unix_epoch=1`)."""
    return 2 * sum(EPOCH_MS <= time <= _LAST_MS for time in times) > len(times)


def bounds(*, absolute: bool) -> tuple[int, int]:
    """Return the first and last time, in milliseconds, that counts from the same moment as the log's other times."""
    return (EPOCH_MS, _LAST_MS) if absolute else (0, EPOCH_MS - 1)


def of_clock(*, absolute: bool) -> pl.Expr:
    """Return whether a column `time` counts from the same moment as the log's other times."""
    return pl.col("time").is_between(*bounds(absolute=absolute))


def clock(rows: pl.DataFrame, *, absolute: bool) -> pl.Series:
    """Return the column `time` or `elapsed_s` of rows with a column `time` in milliseconds."""
    if absolute:
        return (rows["time"] * 1000).cast(TIME)
    # polars multiplies by the inverse: 6.0040000000000004.
    return pl.Series("elapsed_s", rows["time"].to_numpy() / 1000)


def whose(name: LogName) -> list[pl.Expr]:
    """Return the columns that identify the log's job, the same for all rows."""
    host = [pl.lit(name.host).alias("hostname")] if name.host else []
    return [pl.lit(name.base).alias("job"), pl.lit(name.number, dtype=pl.Int64).alias("job_number"), *host]


def span(rows: pl.DataFrame) -> dict[str, Any]:
    """Return `start` and `end` for `meta`, if times are known."""
    if "time" not in rows.columns:
        return {}
    first, last = (time.astimezone(UTC) for time in rows.select(first=pl.min("time"), last=pl.max("time")).row(0))
    return {"start": first, "end": last}


_NAME = re.compile(
    r"(?P<base>.*?)[_-](?P<metric>clat_hist|hist|bw|iops|clat|slat|lat)(?:\.(?P<number>\d{1,9}))?\.log(?:\.(?P<host>.+))?",
    re.DOTALL,
)
_PACKED = re.compile(r"\.(?:gz|xz|bz2|zst|lz4|Z)$")
_FOLDERS = re.compile(r"[/\\:]")


@dataclass(frozen=True)
class LogName:
    """A name such as `randread_clat.3.log`, taken apart."""

    base: str
    """The value of `write_bw_log` and the like, by default the job's name; without a metric, the whole name."""
    metric: str
    """bw, iops, lat, clat, slat, clat_hist, or unknown."""
    number: int | None
    """The job's number in the run, from 1; None with `per_job_logs=0`."""
    host: str | None
    """The server of a client's log."""


def log_name(name: str) -> LogName:
    """Return the parts of a log's name, without folders, bundles and compression.

    >>> log_name("runs/night.tgz:fio/randread_clat.3.log.gz")
    LogName(base='randread', metric='clat', number=3, host=None)
    """
    last = _PACKED.sub("", _FOLDERS.split(name)[-1])
    if not (match := _NAME.fullmatch(last)):
        return LogName(last.removesuffix(".log"), "unknown", None, None)
    metric = "clat_hist" if match["metric"] == "hist" else match["metric"]
    number = match["number"]
    return LogName(match["base"], metric, int(number) if number else None, match["host"])
