"""Scope of CPU, watts and I/O: a cost divides numbers with the same scope.

A capture and a power meter cover one host. A load generator may drive several hosts, or cover part of a host's work.
So the number of hosts is settled first: `load_hosts` of [host] is the number of identical hosts that share the load.
If the capture shows the same load, the number is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import polars as pl

from esxparse.recording import Recording
from esxparse.studies.roles import WORKLOADS

ALIKE: Final = 1.2
"""Figures of one load differ by at most this factor, because a host also has some I/O of its own."""
_CAPTURE: Final = "esxtop"
_TOLD: Final = "give the number of identical hosts that share the load in [host] (load_hosts = 4, or a label)"
_LACKING: Final = "no cost per I/O or megabyte, and no power per I/O"


def load_hosts(  # noqa: PLR0911  one for each way it is known or not
    row: Mapping[str, Any], groups: Mapping[str, Iterable[Recording]]
) -> tuple[int | None, str | None]:
    """Return how many identical hosts share the load of a run (capture and meter cover one), or why that is unknown.

    `row`: the columns of the run, including its throughput. `groups`: its load generators by role.
    """
    if row.get("load_hosts") is not None:
        return row["load_hosts"], None
    measures = [name for name in ("iops", "mb_per_s") if row.get(name)]
    if not measures or (row.get("host_used_pct") is None and row.get("watts") is None):
        return None, None
    capture_load = host_load(row)
    pairs = {name: (row[name], capture_load[name]) for name in measures if capture_load.get(name) is not None}
    whose = str(row.get("throughput_from"))
    if _CAPTURE in whose:
        # Numbers that come from the capture trivially agree with it.
        pairs = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
        if not pairs:
            return 1, None
    if pairs:
        if any(theirs and 1 / ALIKE <= own / theirs <= ALIKE for own, theirs in pairs.values()):
            return 1, None
        name, (own, theirs) = next(iter(pairs.items()))
        unit = {"iops": "I/Os per second", "mb_per_s": "MB/s"}[name]
        return None, (
            f"the load is {own:,.0f} {unit} by {whose}, but the host in the capture did {theirs:,.0f}: {_LACKING}; "
            f"{_TOLD}, or load_hosts = 1 if this host did all of it but its devices do not show it"
        )
    several = _generators(groups)
    if several > 1:
        return None, (
            f"{several} load generators ran together, and it is unclear whether one host served them all: "
            f"{_LACKING}; {_TOLD}, or load_hosts = 1"
        )
    return 1, None


def host_load(row: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the throughput of the host in the capture."""
    moved = [row.get("host_read_mb_per_s"), row.get("host_write_mb_per_s")]
    return {"iops": row.get("host_iops"), "mb_per_s": None if None in moved else sum(moved)}  # type: ignore[arg-type]


def _generators(groups: Mapping[str, Iterable[Recording]]) -> int:
    """Return the number of load generators: files, or the managers of Iometer, each a program on a machine."""
    found = 0
    for role, group in groups.items():
        if role not in WORKLOADS:
            continue
        for rec in group:
            managers = None
            if rec.format == "iometer" and "results" in rec:
                rows = rec["results"].filter(pl.col("row_type") == "MANAGER")
                managers = rows.select(pl.col("name").n_unique()).collect().item()
            found += max(managers or 1, 1)
    return found
