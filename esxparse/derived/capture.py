"""The tables of one capture, its VMs, and views: functions of a capture that each return some columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeVar

import polars as pl

from esxparse.metrics import inventory
from esxparse.metrics.frames import column, names, renamed

_SYSTEM_GROUPS: Final = frozenset(
    {"idle", "system", "helper", "drivers", "ft", "vmotion", "host", "vim", "user", "minfree", "iofilters", "console"}
)
_USER_WORLD: Final = r"^[A-Za-z][\w-]*\.\d{4,}$"
_WORLD_OF: Final = r"^(?:PVSCSI-|LSI-|NetWorld-VM-|vmast\.)(\d+)"


@dataclass(frozen=True)
class Capture:
    """The tables of one capture, and its VMs."""

    tables: Mapping[str, pl.LazyFrame]
    release: str | None = None

    @cached_property
    def vms(self) -> pl.DataFrame:
        """`group_id, vm, vcpus`; without vCPU worlds, all groups but the host's, with the fewest possible vCPUs."""
        if "vcpu" in self.tables:
            found = inventory.vms(self.tables["vcpu"]).collect()
            if found.height:
                return found
        groups = [self.tables[name] for name in ("group_cpu", "group_memory", "vcpu") if name in self.tables]
        found = pl.concat([one.select("group_id", "group").unique().collect() for one in groups] or [_NO_GROUPS])
        found = found.unique().filter(
            ~pl.col("group").is_in(_SYSTEM_GROUPS) & ~pl.col("group").str.contains(_USER_WORLD)
        )
        busy = pl.lit(None, dtype=pl.Int64)
        if "group_cpu" in self.tables:
            frame = self.tables["group_cpu"]
            there = names(frame)
            states = [column(there, name).fill_null(0.0) for name in ("pct_run", "pct_ready", "pct_costop")]
            fewest = (
                frame.group_by("group_id").agg((pl.sum_horizontal(states).max() / 100).ceil().alias("_n")).collect()
            )
            found = found.join(fewest, on="group_id", how="left")
            busy = pl.col("_n").cast(pl.Int64)
        vcpus = pl.max_horizontal(busy, pl.lit(1, dtype=pl.Int64))
        return found.select("group_id", vm="group", vcpus=vcpus).sort("vm", "group_id")

    @cached_property
    def entities(self) -> pl.LazyFrame:
        """`group_id, vm, vcpus, entity`: the name, with the id if several VMs share it."""
        twice = pl.col("vm").is_duplicated()
        with_id = pl.when(twice).then(
            pl.concat_str("vm", pl.lit(" ("), pl.col("group_id").cast(pl.String), pl.lit(")"))
        )
        return self.vms.with_columns(entity=with_id.otherwise("vm")).lazy()

    @cached_property
    def worlds(self) -> pl.DataFrame:
        """`world_id, entity`: of every world of a VM, and of ids inside the names of its worlds. Needs `vcpu`."""
        every = self.tables["vcpu"].select("group_id", "world_id", "world").unique().collect()
        by_name = every.select("group_id", world_id=pl.col("world").str.extract(_WORLD_OF, 1).cast(pl.Int64))
        both = pl.concat([every.select("group_id", "world_id"), by_name]).drop_nulls().unique("world_id", keep="first")
        return both.join(self.entities.collect(), on="group_id").select("world_id", "entity")


_NO_GROUPS: Final = pl.DataFrame(schema={"group_id": pl.Int64, "group": pl.String})


def of(one: Capture, table: str, counters: Mapping[str, str], *more: pl.Expr) -> pl.LazyFrame:
    """Return the time, `more`, and counters of a table under short names."""
    frame = one.tables[table]
    return frame.select("time", *more, *renamed(names(frame), counters))


def beside(rows: pl.LazyFrame, more: pl.LazyFrame) -> pl.LazyFrame:
    """Add columns of the same rows."""
    return pl.concat([rows, more.drop("time")], how="horizontal")


def with_vm_names(one: Capture, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Replace the group of each row of a VM by the VM's name."""
    return rows.join(one.entities.select("group_id", "entity"), on="group_id", maintain_order="left").drop("group_id")


Make = Callable[[Capture], pl.LazyFrame | None]

F = TypeVar("F", bound=Make)

KEYS: Final = ("time", "entity")
"""The columns that identify the rows of a view; a view of the host has no `entity`."""


@dataclass(frozen=True, slots=True)
class View:
    """Some columns of a derived table: `make` computes them for a capture with the tables `needs`.

    `also`: tables that it reads if the capture has them.
    """

    table: str
    needs: tuple[str, ...]
    make: Make
    also: tuple[str, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """All its tables, first the needed ones."""
        return (*self.needs, *self.also)


VIEWS: Final[list[View]] = []
"""All views; if two provide the same column, the first one with a value counts."""


def derived(table: str, *needs: str, also: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Declare a function of a capture as a view of a derived table; see `View`."""

    def declare(make: F) -> F:
        VIEWS.append(View(table, needs, make, also))
        return make

    return declare
