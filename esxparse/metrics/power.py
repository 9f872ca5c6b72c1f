"""Power draw of the host, by its own meter."""

from __future__ import annotations

import polars as pl

from .frames import finite, names, renamed

_COUNTERS = {"watts": "power_usage_now_watts", "cap_watts": "power_usage_cap_watts"}


def host(power: pl.LazyFrame) -> pl.LazyFrame:
    """Return the power of the whole host, one row per sample.

    Needs `time`, `p_state` and any of `power_usage_now_watts`, `power_usage_cap_watts`. Rows of single P-states, which
    hold their frequency, are left out. Returns, in input order; null if the counter is missing:

    time
    watts      W drawn now, by the host's own sensor; null if the reading is 0, which means no sensor
    cap_watts  W allowed; null if the reading is 0, which means no cap

    Source: VMkernel power panel ("Power Usage", "Power Cap"); the meaning of 0 is general knowledge: a running host
    draws power.

    >>> table = pl.LazyFrame({
    ...     "time": [0, 0], "p_state": [None, 0], "power_usage_now_watts": [230.0, None],
    ...     "power_usage_cap_watts": [0.0, None], "p_state_mhz": [None, 2400.0],
    ... })
    >>> host(table).collect().rows()
    [(0, 230.0, None)]
    """
    power = finite(power)
    there = names(power)
    return power.filter(pl.col("p_state").is_null()).select(
        "time", *(value.replace(0.0, None) for value in renamed(there, _COUNTERS))
    )
