"""One counter of a recording as rows of time, name and value, without the rows that repeat others.

Waiting times of a VM are per vCPU, from the derived table `vm`: `%RDY` of a group adds up its worlds, so a VM with many
vCPUs would lead every ranking. Set the table (`table="group_cpu"`) for the group's own number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import polars as pl

from esxparse.counters.series import series_name
from esxparse.derived.of_recording import lacking
from esxparse.derived.of_recording import table as derived_table
from esxparse.errors import EsxparseError, did_you_mean
from esxparse.explorer.counter_columns import (
    CounterColumn,
    about,
    check_text,
    counter_columns,
    expression,
    find,
    of_vms,
)
from esxparse.metrics import ranking
from esxparse.metrics.inventory import only_kinds, only_vms, vms
from esxparse.metrics.network import offered
from esxparse.metrics.ranking import Order
from esxparse.reading import Capture, as_recording
from esxparse.recording import Recording

_DROPPED: Final = {"pct_outbound_packets_dropped", "pct_received_packets_dropped"}
_TOTAL: Final = "_Total"


class Rows(NamedTuple):
    """The values of one counter.

    frame: `time`, `instance`, `name`, `value`, and `weight` if a mean needs weights; then a value of 0 with weight 0
        becomes null, such as a latency without a command
    counter: the counter
    unit: of the value
    noun: the kind of instance, in the plural
    """

    frame: pl.LazyFrame
    counter: CounterColumn
    unit: str
    noun: str

    @property
    def weight(self) -> str | None:
        """The column that weights a mean, if any."""
        return "weight" if "weight" in self.frame.collect_schema() else None


def rows(
    rec: Capture,
    name: str,
    *,
    table: str | None = None,
    vm: str | Sequence[str] | None = None,
    device: str | Sequence[str] | None = None,
    instance: str | None = None,
    raw: bool | None = None,
) -> Rows:
    """Return the values of a counter, or of a column of a derived table.

    `name`: any of its names. `table`: the table to look in. `vm`, `device`: name of one, or several. `instance`:
    regular expression for an instance's name; case does not matter. `raw`: all rows as the capture has them, not only
    VMs; by default true if `table` is set.

    Raises EsxparseError: There is no such counter, table, VM, device or instance.
    """
    rec = as_recording(rec)
    found = find(rec, name, table)
    raw = table is not None if raw is None else raw
    # Without a table, `find` has already done this.
    if table is not None and not raw:
        found = of_vms(found, counter_columns(rec))
    frame = _values(rec, found, raw=raw)
    there = frame.collect_schema().names()
    if (part := about(found.table, "roll_up")) in there:
        frame = frame.filter(pl.col(part).is_not_null())
    frame = frame.with_columns(instance=series_name(frame.collect_schema()))
    frame = frame.filter(pl.col("instance").ne_missing(_TOTAL))
    for what, wanted in (("VM", vm), ("device", device)):
        if wanted is not None:
            several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
            frame = _of(frame, found, what, list(wanted) if several else [wanted])  # type: ignore[list-item]
    frame = frame.with_columns(pl.col("instance").fill_null("host" if "instance" in there else found.table))
    name_column = about(found.table, "name", "instance")
    full_name = pl.col(name_column).fill_null(pl.col("instance")) if name_column in there else pl.col("instance")
    full_name = pl.lit(about(found.table, "prefix")) + full_name
    if instance is not None:
        frame = _matching(frame, instance, found)
    value = pl.col(found.column).cast(pl.Float64)
    weight = _weight(found, there)
    if "time" not in there:
        raise EsxparseError(f"table {found.table} of {rec.source} has no times")
    chosen = frame.select(
        "time", "instance", name=full_name, value=value, **({"weight": weight} if weight is not None else {})
    )
    chosen = chosen.filter(pl.col("value").is_not_null(), pl.col("value").is_not_nan())
    if weight is not None:
        idle = (pl.col("value") == 0) & (pl.col("weight") == 0)
        chosen = chosen.with_columns(value=pl.when(idle).then(None).otherwise("value"))
    return Rows(chosen, found, found.unit, about(found.table, "noun", "instances"))


def _values(rec: Recording, found: CounterColumn, *, raw: bool) -> pl.LazyFrame:
    """Return the table's rows; of worlds and groups only VMs, unless `raw`."""
    if found.derived:
        weight = found.weight
        wanted = [one for one in (found.column, weight) if one and one not in lacking(rec, found.table)]
        return derived_table(rec, found.table, wanted)
    frame = rec.tables[found.table]
    if raw or found.table not in {"group_cpu", "group_memory", "vcpu"} or "vcpu" not in rec:
        return frame
    worlds = rec.tables["vcpu"]
    return only_kinds(worlds, "vcpu") if found.table == "vcpu" else only_vms(frame, vms(worlds))


def _of(frame: pl.LazyFrame, found: CounterColumn, what: str, wanted: list[str]) -> pl.LazyFrame:
    """Return the rows of these VMs or devices."""
    column = about(found.table, what.lower())
    if not column:
        raise EsxparseError(f"{found.name} of {found.table} is not given by {what}; choose with instance=")
    for one in wanted:
        check_text(f"the name of a {what}", one)
    there = frame.select(pl.col(column).drop_nulls().unique().sort()).collect().to_series().to_list()
    for one in wanted:
        if one not in there:
            raise EsxparseError(
                f"no {what} {one!r} in {found.table}; {did_you_mean(one, there)}there are {', '.join(there)}"
            )
    return frame.filter(pl.col(column).is_in(wanted))


def _matching(frame: pl.LazyFrame, pattern: str, found: CounterColumn) -> pl.LazyFrame:
    wanted = expression(pattern)
    there = frame.select(pl.col("instance").unique(maintain_order=True)).collect().to_series().to_list()
    kept = [one for one in there if wanted.search(one)]
    if not kept:
        raise EsxparseError(
            f"no instance of {found.table} has {pattern!r} in its name; there are {', '.join(there[:8])}"
        )
    return frame.filter(pl.col("instance").is_in(kept))


def _weight(found: CounterColumn, there: Sequence[str]) -> pl.Expr | None:
    by = found.weight
    if by is None or by not in there:
        return None
    # Passed packets are not the base of the dropped share: offered packets are.
    weight = offered(by, found.column) if found.column in _DROPPED else pl.col(by)
    return weight.cast(pl.Float64)


def top(
    rec: Capture,
    name: str,
    n: int = 10,
    order: Order = "p95",
    *,
    table: str | None = None,
    vm: str | Sequence[str] | None = None,
    device: str | Sequence[str] | None = None,
    instance: str | None = None,
) -> pl.DataFrame:
    """Return the instances with the highest values of a counter.

    `name`: the counter, by any of its names. `n`: most rows. `order`: mean, p95, max or variability. `table`, `vm`,
    `device`, `instance`: as for `rows`.

    Of worlds and groups only VMs are ranked, and waiting times of a VM are per vCPU; with `table` all rows are ranked,
    as the capture has them. Rows that add up others (a VM's row among its disks) stay out. Average latencies are
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
