"""Who stands out in one counter."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from esxparse.explorer.rows import rows
from esxparse.metrics import ranking
from esxparse.metrics.ranking import Order
from esxparse.recording import Recording


def top(
    rec: Recording,
    name: str,
    n: int = 10,
    order: Order = "p95",
    *,
    table: str | None = None,
    vm: str | Sequence[str] | None = None,
    device: str | Sequence[str] | None = None,
    instance: str | None = None,
) -> pl.DataFrame:
    """The instances whose counter is highest.

    `name`: the counter, by any of its names. `n`: most rows. `order`: mean, p95, max or variability. `table`, `vm`,
    `device`, `instance`: as for `rows`.

    Of worlds and groups those of VMs are ranked, and what a VM waited is per vCPU; with `table` all rows are, as the
    capture has them. Rows that add up others (a VM's row among its disks) stay out. Average latencies are
    weighted by commands.

    Returns a table with `name`, `mean`, `p95`, `max` (in `unit`), `variability` (standard deviation / mean), `samples`,
    `unit`, `instance` (as in the capture).

    >>> import esxparse as ex
    >>> rec = ex.open(ex.datasets_dir() / "busy-host" / "busy-host.csv")
    >>> top(rec, "%CSTP", n=1)["name"].item()
    'analytics-8way'
    """
    found = rows(rec, name, table=table, vm=vm, device=device, instance=instance)
    ranked = ranking.top(found.frame, ["name", "instance"], "value", n, order, found.weight).collect()
    return ranked.select(
        "name", "mean", "p95", "max", "variability", "samples", pl.lit(found.unit).alias("unit"), "instance"
    )
