"""Times of fio's logs, and what else all of their tables have."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

import polars as pl

from esxparse.formats.window import TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.formats.fio.log_names import LogName

DIRECTION = pl.Enum(("read", "write", "trim", "sync"))

EPOCH_MS = 10**11
"""A later time, in milliseconds, is one since 1970: no job runs for three years."""
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999."""


def since_1970(times: Sequence[int]) -> bool:
    """Whether most of these times, in milliseconds, count from 1970 (`log_unix_epoch=1`)."""
    return 2 * sum(EPOCH_MS <= time <= _LAST_MS for time in times) > len(times)


def bounds(*, absolute: bool) -> tuple[int, int]:
    """The first and last time, in milliseconds, that counts from the same moment as the log's other times."""
    return (EPOCH_MS, _LAST_MS) if absolute else (0, EPOCH_MS - 1)


def of_clock(*, absolute: bool) -> pl.Expr:
    """Whether a column `time` counts from the same moment as the log's other times."""
    return pl.col("time").is_between(*bounds(absolute=absolute))


def clock(rows: pl.DataFrame, *, absolute: bool) -> pl.Series:
    """The column `time` or `elapsed_s` of rows with a column `time` in milliseconds."""
    if absolute:
        return (rows["time"] * 1000).cast(TIME)
    # polars multiplies by the inverse: 6.0040000000000004.
    return pl.Series("elapsed_s", rows["time"].to_numpy() / 1000)


def whose(name: LogName) -> list[pl.Expr]:
    """The columns that tell whose log it is, the same for all rows."""
    host = [pl.lit(name.host).alias("hostname")] if name.host else []
    return [pl.lit(name.base).alias("job"), pl.lit(name.number, dtype=pl.Int64).alias("job_number"), *host]


def span(rows: pl.DataFrame) -> dict[str, Any]:
    """`start` and `end` for `meta`, where times are known."""
    if "time" not in rows.columns:
        return {}
    first, last = (time.astimezone(UTC) for time in rows.select(first=pl.min("time"), last=pl.max("time")).row(0))
    return {"start": first, "end": last}
