"""Physical CPUs: how much work they did (used) and how long they were busy (util).

The two are different measures and are never mixed here. *Util* is the share of time a PCPU was not halted, 0 to 100.
*Used* is work in units of the nominal frequency: turbo lifts it above 100, and a low P-state lowers it. While both
hyper-threads of a core are busy each counts half (`esxparse.counters.threads`, with the evidence). So a full host at
its nominal frequency is 50 % used with hyper-threads, and 100 % without. The `_Total` row is already the mean over the
PCPUs, not their sum.

Source: vSphere Monitoring and Performance guide, CPU panel ("PCPU USED(%) can be greater than 100 %"); VMware KB
431027.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from esxparse.errors import check_known

from .frames import SAMPLE, finite, names, placed, renamed

_COUNTERS = {"used_pct": "pct_processor_time", "util_pct": "pct_util_time", "core_util_pct": "pct_core_util_time"}

Measure = Literal["util_pct", "used_pct", "core_util_pct"]


def pcpu(physical_cpu: pl.LazyFrame) -> pl.LazyFrame:
    """Return used and util of every physical CPU, under short names.

    Needs `time`, `pcpu` and any of `pct_processor_time`, `pct_util_time`, `pct_core_util_time`.
    Returns, in the order of `physical_cpu`; null if the capture does not have the counter:

    time
    pcpu           i64  number of the PCPU (a hyper-thread if enabled), null on the `_Total` row
    used_pct       PCPU USED(%), % of one core at nominal frequency, may exceed 100
    util_pct       PCPU UTIL(%), % of time not halted
    core_util_pct  CORE UTIL(%), % of time any thread of the core was not halted; the same on both threads of a core

    >>> table = pl.LazyFrame({"time": [0, 0], "pcpu": [0, None], "pct_processor_time": [120.0, 60.0]})
    >>> pcpu(table).collect().rows()
    [(0, 0, 120.0, None, None), (0, None, 60.0, None, None)]
    """
    physical_cpu = finite(physical_cpu)
    return physical_cpu.select("time", "pcpu", *renamed(names(physical_cpu), _COUNTERS))


def imbalance(pcpu: pl.LazyFrame, measure: Measure = "util_pct") -> pl.LazyFrame:
    """Measure sample by sample how evenly the physical CPUs are loaded.

    Needs `time`, `pcpu` and the column `measure` (see `pcpu`, the function); the `_Total` row is left out.
    Returns one row per sample with values, in order of time (times may repeat), % of one PCPU in the measure:

    time
    pcpus         i64  number of PCPUs with a value
    mean_pct, min_pct, max_pct
    spread_pct    max - min: 0 is even, large means some PCPUs are full while others idle
    busiest_pcpu  i64  the PCPU of the maximum, the lowest number if several share it

    Raises EsxparseError: `measure` is not one of the three.

    >>> table = pl.LazyFrame({"time": [0] * 3, "pcpu": [0, 1, None], "util_pct": [90.0, 10.0, 50.0]})
    >>> imbalance(table).collect().rows()
    [(0, 2, 50.0, 10.0, 90.0, 80.0, 0)]
    """
    pcpu = finite(pcpu)
    check_known("measure", measure, _COUNTERS)
    value = pl.col(measure)
    return (
        placed(pcpu, "pcpu")
        .filter(pl.col("pcpu").is_not_null() & value.is_not_null())
        .group_by(SAMPLE)
        .agg(
            value.len().cast(pl.Int64).alias("pcpus"),
            value.mean().alias("mean_pct"),
            value.min().alias("min_pct"),
            value.max().alias("max_pct"),
            (value.max() - value.min()).alias("spread_pct"),
            pl.col("pcpu").filter(value == value.max()).min().alias("busiest_pcpu"),
        )
        .sort(SAMPLE)
        .drop("_place")
    )
