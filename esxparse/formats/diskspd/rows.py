"""Rows and settings of the tables, for both outputs of DiskSpd."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from esxparse.formats.kit.tables import frames, schemas

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Any]

DIRECTIONS = ("read", "write", "all")
SETTINGS = ("block_size_bytes", "queue_depth", "read_pct", "random_pct")

SCHEMAS = schemas(__file__)

_TIME = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2}) (\d{1,2}):(\d{2}):(\d{2})(?: UTC)?")


def moment(text: str | None) -> datetime | None:
    """Return the start of a run, which is printed in UTC.

    >>> moment("2023/08/04 12:31:07 UTC").isoformat()
    '2023-08-04T12:31:07+00:00'
    """
    found = _TIME.fullmatch((text or "").strip())
    try:
        return datetime(*(int(part) for part in found.groups()), tzinfo=UTC) if found else None  # type: ignore[misc,arg-type]
    except ValueError:
        return None


def common(settings: Sequence[Row], target: str | None) -> Row:
    """Return the settings of a target; without a target, the settings shared by all targets."""
    own = [row for row in settings if target is None or row["target"] == target] or list(settings)
    return {name: own[0].get(name) if len({row.get(name) for row in own}) == 1 else None for name in SETTINGS}


def job(which: Row, direction: str, seconds: float | None, counted: Row) -> Row:
    """Return a row of `jobs`: rates from the counts and the time, unless `counted` has its own."""
    ios, size_of_all = counted.get("ios"), counted.get("bytes")
    timed = seconds or None
    rates = {
        "iops": ios / timed if timed and ios is not None else None,
        "bandwidth_bytes_per_s": size_of_all / timed if timed and size_of_all is not None else None,
    }
    return which | {"direction": direction, "run_time_s": seconds} | rates | counted


def empty() -> dict[str, list[Row]]:
    """Return empty rows for each table."""
    return {name: [] for name in SCHEMAS}


def lazy(rows: dict[str, list[Row]]) -> dict[str, pl.LazyFrame]:
    """Return the tables that have rows."""
    return frames({name: (rows[name], columns) for name, columns in SCHEMAS.items()})
