"""A guest beside its host: the offset between their clocks, and the CPU time that the guest cannot see."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, NamedTuple

import polars as pl

from ._series import best_lag, seconds_since
from .energy import LONGEST_GAP

_FURTHEST_S: Final = 15 * 3600.0
SURE: Final = 0.6
"""Correlation from which both series are taken to show the same events."""
_BETTER: Final = 0.2
"""Correlation that a shift must gain to be preferred to no shift."""


class Shift(NamedTuple):
    """The offset of a guest's clock from its host's."""

    shift: timedelta
    """To be added to the guest's times."""
    correlation: float
    """Correlation of the shifted series, -1 to 1."""


def clock_shift(host: pl.DataFrame, guest: pl.DataFrame) -> Shift | None:
    """Find the shift within 15 hours at which two series correlate best.

    No shift if they correlate nearly as well without one. None with fewer than 20 common samples, or if one of the two
    series is constant.

    `host`, `guest`: `time`, `value`, sorted by time, without nulls.

    Source: `metrics.power_join`; the numbers are the same.

    >>> from datetime import UTC, datetime
    >>> times = [datetime(2026, 3, 11, 9, tzinfo=UTC) + timedelta(seconds=10 * at) for at in range(60)]
    >>> host = pl.DataFrame({"time": times, "value": [float(at**3 % 61) for at in range(60)]})
    >>> guest = host.with_columns(pl.col("time") + timedelta(hours=1))
    >>> clock_shift(host, guest).shift.total_seconds()
    -3600.0
    """
    if host.height < 2 or guest.height < 2:  # noqa: PLR2004  two ends
        return None
    zero = host["time"][0]
    first, second = ((seconds_since(one["time"], zero), one["value"].to_numpy()) for one in (host, guest))
    usual = guest["time"].diff().median()
    gap = LONGEST_GAP * usual.total_seconds() if isinstance(usual, timedelta) else LONGEST_GAP
    found = best_lag(first, second, _FURTHEST_S, gap)
    if found is None:
        return None
    if found.unshifted >= SURE and found.correlation - found.unshifted < _BETTER:
        return Shift(timedelta(), found.unshifted)
    return Shift(timedelta(seconds=round(found.seconds)), found.correlation)


def given_pct(waited: pl.Expr, run: pl.Expr) -> pl.Expr:
    """Return the share of the requested CPU time that a VM got: run / (run + waited), in %; 100 if it requested none.

    `waited`: time waiting for a CPU, ready plus co-stop. `run`: time running. Both in % of one core per vCPU. A guest
    does not see the waits: its clock goes on, and its tools report the time as busy or idle.

    Source: general knowledge.

    >>> pl.DataFrame({"wait": [20.0], "run": [60.0]}).select(given_pct(pl.col("wait"), pl.col("run"))).item()
    75.0
    """
    return pl.when(run + waited > 0).then(100 * run / (run + waited)).otherwise(100.0)
