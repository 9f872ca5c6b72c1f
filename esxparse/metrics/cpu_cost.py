"""CPU cost: the CPU use per I/O, per megabyte per second or per thousand I/Os per second.

    MHz per MBps = (physical CPU use % / 100) x CPUs x MHz / MBps

Two measures of "use" exist and are never mixed; each result name begins with its measure:

used  `% Processor Time` of `Physical Cpu(_Total)`, PCPU USED(%): work at the nominal frequency. Turbo raises it, and
      two busy hyper-threads count as half a core each in every known release: summed over PCPUs, percent of *cores*.
      The talk's formula. (%USED of worlds counts them 62.5 % each, so its sum is higher.)
util  `% Util Time`, PCPU UTIL(%): time not halted, whatever the frequency. The sum over PCPUs is in percent of
      *PCPUs*, which are hyper-threads if enabled; MHz of it are time x nominal frequency, not cycles.

Both are means over the PCPUs, so `cpus` is the number of PCPUs that esxtop shows (threads with hyper-threading), and
`mhz` the nominal frequency.

Sources: "NFS & iSCSI: Performance Characterization and Best Practices in ESX 3.5", slide "CPU Costs" (the formula, and
"normalize to per I/O or per MBps"); "Scaling Performance for VAIO in vSphere 6.0 U1" (percent of a core per 1K IOPS;
we assume used, the study does not specify). Idle-subtracted cost and cycles: general knowledge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args

import polars as pl

from esxparse.errors import EsxparseError, check_known

from ._inputs import AT_LEAST_0, Bound, check, checked
from .frames import above_zero, column, first_true, names

Measure = Literal["used", "util"]

_HERTZ: Final = 1e6
_BYTES: Final = {"mb_per_s": 10**6, "mib_per_s": 2**20}
_RATES: Final = {"mb_per_s": "mhz_per_mbps", "mib_per_s": "mhz_per_mibps"}
_OF_ONE: Final = {"used": "core", "util": "pcpu"}


_CPUS: Final = Bound(above=True, hint="give the number of PCPUs in esxtop")
_MHZ: Final = Bound(above=True, hint="give the nominal MHz of the host's CPUs")
_WORK: Final = Bound(above=True, hint="a run without I/O has no CPU cost: check the run, or leave it out")
_GIVEN: Final = (
    "cpus",
    "mhz",
    "iops",
    "load_hosts",
    "host_used_pct",
    "host_util_pct",
    "idle_used_pct",
    "idle_util_pct",
)


def busy_mhz(pct: float, cpus: float, mhz: float) -> float:
    """Return the CPU use of a host in MHz: `pct / 100 x cpus x mhz`.

    >>> busy_mhz(25.0, cpus=8, mhz=2400)
    4800.0
    """
    check("the number of CPUs", cpus, _CPUS)
    check("the CPU frequency", mhz, _MHZ)
    return pct / 100 * cpus * mhz


def mhz_per_mbps(pct: float, cpus: float, mhz: float, mb_per_s: float) -> float:
    """Return the CPU cost of throughput: `pct / 100 x cpus x mhz / mb_per_s`, MHz per MBps.

    With MB of 10**6 bytes the result is also the number of cycles per byte. With MiB/s for `mb_per_s` the result is
    MHz per MiBps (Iometer up to 2006 prints MBps of 2**20 bytes).

    Raises EsxparseError: Zero throughput, or host facts that are not positive.

    >>> mhz_per_mbps(25.0, cpus=8, mhz=2400, mb_per_s=100.0)
    48.0
    """
    check("throughput", mb_per_s, _WORK)
    return busy_mhz(pct, cpus, mhz) / mb_per_s


def cycles_per_io(pct: float, cpus: float, mhz: float, iops: float) -> float:
    """Return the CPU cost of an I/O: `pct / 100 x cpus x mhz x 10**6 / iops`, cycles (10**-6 MHz per I/O per second).

    Raises EsxparseError: No I/Os, or host facts that are not positive.

    >>> cycles_per_io(25.0, cpus=8, mhz=2400, iops=48_000.0)
    100000.0
    """
    check("IOPS", iops, _WORK)
    return busy_mhz(pct, cpus, mhz) * _HERTZ / iops


def core_pct_per_1k_iops(pct: float, cpus: float, iops: float) -> float:
    """Return the CPU cost of a thousand I/Os per second: `pct x cpus / (iops / 1000)`, percent of one core.

    `pct` is used (see the module); with util the result is percent of one PCPU.

    Raises EsxparseError: No I/Os, or a number of CPUs that is not positive.

    >>> core_pct_per_1k_iops(10.0, cpus=32, iops=64_000.0)
    5.0
    """
    check("the number of CPUs", cpus, _CPUS)
    check("IOPS", iops, _WORK)
    return pct * cpus / (iops / 1000)


def cost(runs: pl.LazyFrame, measure: Measure = "used", throughput: str = "mb_per_s") -> pl.LazyFrame:
    """Add the CPU cost of each run's I/O.

    Needs `host_used_pct` (or `host_util_pct`, by `measure`; mean over the PCPUs, 0 to 100 and above), `cpus`, `mhz`,
    and any of `iops` and the column `throughput`, whose name ends in its unit, `mb_per_s` (10**6) or `mib_per_s`
    (2**20). The optional column `load_hosts` is the number of identical hosts that share the load; `pct` is the mean
    of one host. Without the column the load must be the host's own.
    `idle_used_pct` (`idle_util_pct`), the same host without load, gives the idle-subtracted columns. Adds, with
    MHz = pct / 100 x cpus x mhz, here for `used` and MB (`util`: `util_...`, "pcpu" for "core"; MiB: `mhz_per_mibps`):

    used_mhz                    MHz of the host
    used_mhz_per_mbps           MHz / MBps, of one host here and below: the load is divided by `load_hosts`
    used_mhz_per_iops           MHz / IOPS
    used_cycles_per_io          MHz x 10**6 / IOPS
    used_cycles_per_byte        MHz x 10**6 / (bytes per second)
    used_pct_of_core_per_1k_iops   pct x cpus / (iops / 1000): percent of one core (PCPU) for 1,000 IOPS; a core with
                            two busy threads is 100 % at nominal frequency
    used_above_idle_...         all six with pct - idle pct in the place of pct: the load's share
    used_cost_gap               str  reason for a null cost, in words; null if no cost is null

    Null if the divisor is not above 0. Idle-subtracted values below 0 are kept: the idle run was busier.

    Raises EsxparseError: `measure` is unknown, or the name of the throughput column ends in no known unit; on
    collecting, a number is negative.

    >>> run = pl.LazyFrame({"host_used_pct": [25.0], "cpus": [8], "mhz": [2400], "mb_per_s": [100.0], "iops": [1600.0]})
    >>> wanted = ["used_mhz", "used_mhz_per_mbps", "used_cycles_per_io", "used_pct_of_core_per_1k_iops"]
    >>> run.pipe(cost).select(wanted).collect().row(0)
    (4800.0, 48.0, 3000000.0, 125.0)
    """
    runs = checked(runs, dict.fromkeys((*_GIVEN, throughput), AT_LEAST_0))
    check_known("measure", measure, get_args(Measure))
    unit = "mib_per_s" if throughput.endswith("mib_per_s") else "mb_per_s"
    if not throughput.endswith(unit):
        msg = f"the column {throughput!r} has no unit in its name: end it in mb_per_s (10**6) or mib_per_s (2**20)"
        raise EsxparseError(msg)
    there = names(runs)
    pct = column(there, f"host_{measure}_pct")
    idle = column(there, f"idle_{measure}_pct")
    return runs.with_columns(
        *_costs(there, measure, pct, throughput, unit),
        *_costs(there, f"{measure}_above_idle", pct - idle, throughput, unit, _OF_ONE[measure]),
        _gap(there, measure, throughput).alias(f"{measure}_cost_gap"),
    )


def _costs(
    there: frozenset[str], prefix: str, pct: pl.Expr, throughput: str, unit: str, of_one: str | None = None
) -> Sequence[pl.Expr]:
    cpus, mhz = above_zero(column(there, "cpus")), above_zero(column(there, "mhz"))
    hosts = above_zero(pl.col("load_hosts")) if "load_hosts" in there else pl.lit(1)
    iops, rate = (above_zero(column(there, name)) / hosts for name in ("iops", throughput))
    busy = pct / 100 * cpus * mhz
    return [
        busy.alias(f"{prefix}_mhz"),
        (busy / rate).alias(f"{prefix}_{_RATES[unit]}"),
        (busy / iops).alias(f"{prefix}_mhz_per_iops"),
        (busy * _HERTZ / iops).alias(f"{prefix}_cycles_per_io"),
        (busy * _HERTZ / (rate * _BYTES[unit])).alias(f"{prefix}_cycles_per_byte"),
        (pct * cpus / (iops / 1000)).alias(f"{prefix}_pct_of_{of_one or _OF_ONE[prefix]}_per_1k_iops"),
    ]


def _gap(there: frozenset[str], measure: str, throughput: str) -> pl.Expr:
    """Return the first reason why a cost is null."""

    def unknown(name: str) -> pl.Expr:
        return above_zero(column(there, name)).is_null()

    work = [name for name in ("iops", throughput) if name in there]
    return first_true(
        (column(there, f"host_{measure}_pct").is_null(), f"no host CPU use: column host_{measure}_pct"),
        (unknown("cpus"), "the host's number of CPUs is not known: column cpus"),
        (unknown("mhz"), "the host's CPU frequency is not known: column mhz"),
        (
            unknown("load_hosts") & pl.lit("load_hosts" in there),
            "unknown number of hosts that share the load: column load_hosts",
        ),
        *((unknown(name), f"no I/O to divide by: {name} is not above 0") for name in work),
        otherwise=None if work else f"no I/O to divide by: neither column iops nor {throughput}",
    )
