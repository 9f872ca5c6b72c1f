"""One counter of the catalogue, and the values its fields may take."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from esxparse.counters.naming import column_name, table_name

if TYPE_CHECKING:
    import polars as pl

FAMILY_MARK = "{n}"
"""Ends the names of a family of counters: `%C-State C{n}` means `%C-State C0`, `%C-State C1` and so on."""

UNITS: dict[str, str] = {
    "% of one core": "percent of one physical core's time; a group's worlds add up past 100",
    "% of nominal": "percent of what a physical CPU does at its nominal clock frequency",
    "% of time": "percent of the sample's time",
    "%": "percent of what the meaning names",
    "ms": "milliseconds",
    "us": "microseconds",
    "MiB": "2**20 bytes",
    "MiB/s": "2**20 bytes a second",
    "Mibit/s": "2**20 bits a second",
    "Mbit/s": "10**6 bits a second",
    "bytes": "bytes",
    "bytes/s": "bytes a second",
    "1/s": "events a second",
    "count": "a number of things",
    "commands": "a number of storage commands",
    "MHz": "megahertz",
    "W": "watts",
    "ratio": "one quantity over another of the same kind",
    "shares": "shares of a scheduler",
    "state": "a numbered state",
    "flag": "0 or 1, in some captures N or Y",
    "id": "a number that names something",
    "text": "words",
    "unknown": "documented nowhere we know of",
}
"""Every unit of the catalogue, and its meaning.

esxtop's megabits are binary, as a capture of ESXi 6.5 shows: packets x mean size x 8 lies within the rounding of all
49 cells with 2**20 bits, and of 43 with 10**6. Link speeds are names of links, 10**6 bits. The memory of that capture
fits 2**20 bytes (see `Kernel MinFree MBytes`). The megabytes of disks are binary too, by general knowledge: no
counter of that capture has the same bytes in another unit.
"""

OVER_TIME = ("mean", "weighted mean", "sum", "max", "last")
"""How the samples of one instance become one number."""

OVER_INSTANCES = ("sum", "mean", "weighted mean", "max", "min", "none")
"""How the instances of one sample become one number; `none` if no number would have a meaning."""

BETTER = ("low", "high", "neither")
"""The good direction of values."""

VIEWS = ("c", "m", "d", "u", "v", "n", "i", "p", "x")
"""Keys of esxtop's screens: cpu, memory, disk adapter, disk device, disk of VMs, network, interrupt, power, vSAN."""

RELEASES = ("4.x", "5.x", "6.0", "6.5", "6.7+")
"""ESX and ESXi releases, as far as captures and documents distinguish them."""


@dataclass(frozen=True, slots=True, repr=False)
class Counter:
    """One counter of esxtop.

    Attributes:
        batch: name in a batch capture, blanks and all; ends in `{n}` for a family such as `%C-State C{n}`.
        screen: name on the interactive screen, "" if the screen has none.
        view: key of the screen that shows it (see `VIEWS`).
        unit: one of `UNITS`.
        over_time: how samples combine, one of `OVER_TIME`.
        over_instances: how instances combine, one of `OVER_INSTANCES`; rows in `total_rows` stay out.
        weight: batch name of the counter, in the same table, that weights a mean; None without one.
        meaning: one sentence.
        source: the source of these facts; "general knowledge" without a citable one.
        releases: releases whose captures or documents have it; empty if none seen does.
        objects: esxtop objects that have it, the requested one first.
        better: one of `BETTER`.
        aliases: other spellings in documents.
        occurrence: 2 for the second column of one name in one object.
        total_rows: rows of the table that already combine others, "" for none.
    """

    batch: str
    screen: str
    view: str
    unit: str
    over_time: str
    over_instances: str
    weight: str | None
    meaning: str
    source: str
    releases: tuple[str, ...]
    objects: tuple[str, ...]
    better: str
    aliases: tuple[str, ...] = ()
    occurrence: int = 1
    total_rows: str = ""

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that have the counter, the requested one first."""
        return tuple(table_name(name) for name in self.objects)

    @property
    def table(self) -> str:
        """Name of the requested table, or of the first table that has the counter."""
        return self.tables[0]

    @property
    def is_family(self) -> bool:
        """Whether the entry is a family of numbered counters."""
        return self.batch.endswith(FAMILY_MARK)

    @property
    def column(self) -> str:
        """Name of the column in the table; a family's ends in `{n}`."""
        if self.is_family:
            return column_name(self.batch.removesuffix(FAMILY_MARK)) + FAMILY_MARK
        suffix = f"_{self.occurrence}" if self.occurrence > 1 else ""
        return column_name(self.batch) + suffix

    @property
    def weight_column(self) -> str | None:
        """Name of the column that weights a mean; None without one."""
        return None if self.weight is None else column_name(self.weight)

    @property
    def expr(self) -> pl.Expr:
        """The counter as a polars expression; a family's selects the columns of all its members."""
        import polars as pl  # noqa: PLC0415 (looking a name up must not cost the import)

        if self.is_family:
            return pl.col(f"^{re.escape(self.column.removesuffix(FAMILY_MARK))}[0-9]+$")
        return pl.col(self.column)

    @property
    def name(self) -> str:
        """The usual name: the screen's, else the capture's."""
        return self.screen or self.batch

    def __repr__(self) -> str:
        return f"Counter({self.name!r}, {self.table}.{self.column}, {self.unit!r})"

    def _how(self, combination: str) -> str:
        return f"{combination} by {self.weight}" if combination == "weighted mean" else combination

    def _repr_html_(self) -> str:
        facts = {
            "screen": f"{self.screen or '-'} ({self.view})",
            "capture": self.batch,
            "column": f"{self.table}.{self.column}",
            "unit": f"{self.unit} ({UNITS[self.unit]})",
            "over time": self._how(self.over_time),
            "over instances": self._how(self.over_instances),
            "total rows": self.total_rows or "none",
            "better": self.better,
            "releases": ", ".join(self.releases) or "seen in no capture",
            "source": self.source,
        }
        rows = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in facts.items())
        return f"<p><b>{html.escape(self.name)}</b>: {html.escape(self.meaning)}</p><table>{rows}</table>"
