"""Replication: the duration of the first copy and of the changes, compared with the RPO.

    initial sync      = VMs x size / rate
    changed           = VMs x size x change % / 100
    replication time  = changed / rate                fits if it is at most half the RPO

Half, because a copy shows the VM at the start of its transfer, and stays the latest until the next copy arrives.

The published study compares with the whole RPO, and puts a whole day's change into one window: the worst case. Spread
evenly, an RPO window has `rpo / 24 h` of the change (`window_share`).

Sizes and rates must use the same megabyte. The study takes 100 GB for 102,400 MB, which are MiB, and divides them by
112.625 MB/s of 10**6 bytes. With consistent units its times are 4.9 % longer (`vm_size_mib`).

Sources: v(e)Xpertise, "vSphere Replication 6.0 - Part 2: performance and SLAs"; RPO of 15 minutes to 24 hours: its
part 1. The formulae were pictures; they are inferred from the study's numbers. Half the RPO: VMware vSphere
Replication Administration, 5.5 to 8.2, "How the Recovery Point Objective Affects Replication Scheduling".
"""

from __future__ import annotations

from typing import Final, NamedTuple

import polars as pl

from esxparse.errors import EsxparseError

from ._inputs import ABOVE_0, AT_LEAST_0, check, checked
from .frames import column, names
from .units import convert

_MINUTES_PER_DAY: Final = 1440.0
_SHARE_OF_RPO: Final = 0.5
"""Longest transfer, as a share of the RPO."""
SHORTEST_RPO_MIN: Final = 15.0
LONGEST_RPO_MIN: Final = _MINUTES_PER_DAY
"""vSphere Replication accepts an RPO of 15 minutes to 24 hours."""


class RpoFit(NamedTuple):
    """Whether a change can be transferred in time."""

    needed_min: float
    """Duration of the transfer, minutes."""
    allowed_min: float
    """Longest allowed duration, minutes: half the RPO."""
    fits: bool
    headroom_min: float
    """Allowed minus needed minutes; negative if the transfer takes too long."""
    headroom_pct: float
    """Headroom in percent of the allowed minutes."""
    needed_mb_per_s: float
    """The slowest rate that fits, MB/s of 10**6 bytes."""


def transfer_s(size_mb: float, rate_mb_per_s: float) -> float:
    """Return the seconds that a transfer takes: size / rate, both of the same megabyte.

    Raises EsxparseError: The rate is not above 0, or the size negative.

    >>> round(transfer_s(76_800, 112.625) / 60, 1), round(transfer_s(76_800, 55) / 60, 1)
    (11.4, 23.3)
    """
    check("the size in MB", size_mb)
    check("the rate of the transfer in MB/s", rate_mb_per_s, ABOVE_0)
    return size_mb / rate_mb_per_s


def initial_sync_s(vms: float, vm_size_mb: float, rate_mb_per_s: float) -> float:
    """Return the seconds of the first full copy: VMs x size / rate, without compression and seeds.

    Raises EsxparseError: See `transfer_s`.

    >>> round(initial_sync_s(15, 102_400, 112.625) / 3600, 2), round(initial_sync_s(15, 102_400, 55) / 3600, 2)
    (3.79, 7.76)
    """
    check("the number of VMs", vms)
    return transfer_s(vms * vm_size_mb, rate_mb_per_s)


def daily_change_mb(vms: float, vm_size_mb: float, change_pct_per_day: float) -> float:
    """Return the change of a day, MB: VMs x size x change / 100.

    More than 100 % is possible: the same blocks may be rewritten in several windows.

    Raises EsxparseError: A number is negative.

    >>> daily_change_mb(15, 102_400, 5)
    76800.0
    """
    for what, value in (("VMs", vms), ("MB of a VM", vm_size_mb), ("percent changed a day", change_pct_per_day)):
        check(f"the number of {what}", value)
    return vms * vm_size_mb * change_pct_per_day / 100


def window_share(rpo_min: float) -> float:
    """Return the share of a day's change in one RPO window if it is spread evenly over the day: RPO / 24 h.

    At most 1. Office hours make the busiest windows larger: three times as large if all change falls in 8 hours.

    Raises EsxparseError: The RPO is not above 0.

    >>> daily_change_mb(15, 102_400, 5) * window_share(15)
    800.0
    """
    check("the RPO in minutes", rpo_min, ABOVE_0)
    return min(rpo_min / _MINUTES_PER_DAY, 1.0)


def rpo_fit(change_mb: float, rate_mb_per_s: float, rpo_min: float) -> RpoFit:
    """Check whether a change can be transferred within half the RPO, and with how much headroom.

    Raises EsxparseError: The RPO is not from 15 minutes to 24 hours, the rate is not above 0, or the change negative.

    >>> fit = rpo_fit(76_800, 55, rpo_min=15)
    >>> fit.fits, round(fit.needed_min, 1), round(fit.headroom_min, 1), round(fit.needed_mb_per_s, 2)
    (False, 23.3, -15.8, 170.67)
    """
    if not SHORTEST_RPO_MIN <= rpo_min <= LONGEST_RPO_MIN:
        msg = f"the RPO in minutes must be from 15 to 1440 (24 hours), not {rpo_min!r}: no other can be set"
        raise EsxparseError(msg)
    needed, allowed = transfer_s(change_mb, rate_mb_per_s) / 60, _SHARE_OF_RPO * rpo_min
    left = allowed - needed
    return RpoFit(needed, allowed, needed <= allowed, left, left / allowed * 100, change_mb / (allowed * 60))


def plan(runs: pl.LazyFrame, *, evenly: bool = False) -> pl.LazyFrame:
    """Add the times of replication to each row.

    Needs `vms`, `change_pct_per_day`, `rpo_min`, the size of one VM as `vm_size_mb` (10**6 bytes) or `vm_size_mib`
    (2**20), and the rate as `rate_mbit_per_s` (esxtop's) or `rate_mb_per_s`. Keeps all columns and adds, null if a
    number is missing or the rate is 0:

    rate_mb_per_s           f64  10**6 bytes per second (kept if present)
    initial_sync_h          f64  hours of the first full copy
    window_change_mb        f64  10**6 bytes to transfer in one RPO: a day's change, or its even share
    replication_min         f64  duration of that transfer, minutes
    allowed_min             f64  longest allowed duration, minutes: half the RPO; null for an RPO below 15 minutes or
    above
                                 24 hours, which vSphere Replication does not accept
    fits_rpo                bool
    headroom_min            f64  allowed - replication time; if negative, the transfer violates the RPO
    headroom_pct            f64  headroom in percent of the allowed minutes
    needed_mbit_per_s       f64  slowest rate that fits

    `runs`: one row per setup. `evenly`: spread the day's change over all its windows; otherwise all of it falls into
    one window, as in the study.

    Raises EsxparseError: Size or rate is missing, or present in two units; on collecting, a number is negative.

    >>> runs = pl.LazyFrame({
    ...     "vms": [15, 15], "vm_size_mb": [102_400.0] * 2, "change_pct_per_day": [5.0] * 2, "rpo_min": [15.0] * 2,
    ...     "rate_mbit_per_s": [901.0, 440.0],
    ... })
    >>> plan(runs).select("rate_mb_per_s", pl.col("replication_min").round(1), "fits_rpo").collect().rows()
    [(112.625, 11.4, False), (55.0, 23.3, False)]
    """
    runs = checked(runs, _BOUNDS)
    there = names(runs)
    size = _either(there, "vm_size_", ("mb", "mib"), "mb")
    rate = _either(there, "rate_", ("mb_per_s", "mbit_per_s"), "mb_per_s")
    rpo, whole = pl.col("rpo_min").cast(pl.Float64), column(there, "vms") * size
    share = (rpo / _MINUTES_PER_DAY).clip(upper_bound=1.0) if evenly else pl.lit(1.0)
    changed = whole * column(there, "change_pct_per_day") / 100 * share
    moving = pl.when(rate > 0).then(rate)
    took = changed / moving / 60
    allowed = pl.when(rpo.is_between(SHORTEST_RPO_MIN, LONGEST_RPO_MIN)).then(_SHARE_OF_RPO * rpo)
    return runs.with_columns(
        rate.alias("rate_mb_per_s"),
        (whole / moving / 3600).alias("initial_sync_h"),
        changed.alias("window_change_mb"),
        took.alias("replication_min"),
        allowed.alias("allowed_min"),
        (took <= allowed).alias("fits_rpo"),
        (allowed - took).alias("headroom_min"),
        ((allowed - took) / allowed * 100).alias("headroom_pct"),
        (changed * 8 / (allowed * 60)).alias("needed_mbit_per_s"),
    )


_BOUNDS: Final = dict.fromkeys(
    ("vms", "change_pct_per_day", "rpo_min", "vm_size_mb", "vm_size_mib", "rate_mb_per_s", "rate_mbit_per_s"),
    AT_LEAST_0,
)


def _either(there: frozenset[str], begin: str, units: tuple[str, ...], to: str) -> pl.Expr:
    """Return the only column that is present out of several alternatives, converted to the unit `to`."""
    found = [unit for unit in units if begin + unit in there]
    if len(found) != 1:
        wanted = " or ".join(begin + unit for unit in units)
        raise EsxparseError(f"the table must have one of {wanted}, and has {'both' if found else 'neither'}")
    return convert(column(there, begin + found[0]), found[0], to)
