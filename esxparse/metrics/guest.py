"""A guest beside its host: how far their clocks are apart, and what the guest cannot see of its CPU time."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, NamedTuple

import polars as pl

from ._series import best_lag, seconds_since
from .energy import LONGEST_GAP

_FURTHEST_S: Final = 15 * 3600.0
SURE: Final = 0.6
"""Correlation from which the two are taken to have seen the same."""
_BETTER: Final = 0.2
"""By so much a shift has to go together better than none."""


class Shift(NamedTuple):
    """How a guest's clock lies to its host's."""

    shift: timedelta
    """To be added to the guest's times."""
    correlation: float
    """Of the two series there, -1 to 1."""


def clock_shift(host: pl.DataFrame, guest: pl.DataFrame) -> Shift | None:
    """Find the shift within 15 hours at which two series go together best.

    No shift if they go together without one nearly as well. None if nothing can be said: fewer than 20 common
    samples, or one of the two never moves.

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
    """Give the share of the CPU time that a VM asked for and got: run / (run + waited), in %; 100 if it asked for none.

    `waited`: what it waited for a CPU: ready and co-stop. `run`: what it ran. Both in % of one core per vCPU. A guest
    does not see what it waited: its clock goes on, and its tools call the time busy or idle.

    Source: general knowledge.

    >>> pl.DataFrame({"wait": [20.0], "run": [60.0]}).select(given_pct(pl.col("wait"), pl.col("run"))).item()
    75.0
    """
    return pl.when(run + waited > 0).then(100 * run / (run + waited)).otherwise(100.0)
