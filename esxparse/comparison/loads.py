"""The area of each column, whether high or low values are good, and the load that can explain a change.

`loads.csv` lists loads; `io` means device, nfs, adapter and path, `host.X` a column of the host. The weight of a column
(a latency's commands) is its load. `better` overrides the catalogue of derived tables: less free memory is good or bad
for a diagnosis, which has limits, but not by itself.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from esxparse.counters.catalogue import lookup
from esxparse.derived.capture import VIEWS
from esxparse.derived.tables import CLOCK, columns, declared
from esxparse.diagnosis import rules
from esxparse.schema import listed

OTHER: Final = "Other"
_IO: Final = ("device", "nfs", "adapter", "path")
_AREA_OF: Final = {
    "vcpu": "CPU",
    "group_cpu": "CPU",
    "physical_cpu": "CPU",
    "physical_cpu_load": "CPU",
    "interrupt_cookie": "CPU",
    "memory": "Memory",
    "group_memory": "Memory",
    "numa_node": "Memory",
    "virtual_disk": "Storage",
    "vsan": "Storage",
    "network_port": "Network",
    "power": "Power",
    "pcpu_power_state": "Power",
}
"""The area of a table of a capture; all tables of physical disks begin with the same words."""
_SMALL: Final = {
    "% of one core, per vCPU": 5.0,
    "% of one core": 10.0,
    "%": 5.0,
    "% of nominal": 10.0,
    "ms": 2.0,
    "1/s": 20.0,
    "MiB/s": 2.0,
    "MiB": 256.0,
    "Mbit/s": 20.0,
    "commands": 2.0,
    "watts": 20.0,
}
"""By unit, a level below which changes are measured against it: from 0.1 to 0.2 ms is not twice as slow."""
_LITTLE: Final = 1.0


class Effect(NamedTuple):
    """The facts about a column that a comparison needs."""

    name: str
    unit: str
    area: str
    better: str
    """low, high or neither."""
    load: tuple[str, str] | None
    """Table and column of the load."""
    small: float
    """Level below which changes are measured against it."""
    weight: str = ""
    """The column that weights its mean."""
    has_limit: bool = False
    """Whether a rule judges it."""


@cache
def _listed() -> dict[tuple[str, str], tuple[tuple[str, str] | None, str]]:
    """Return by table and column: table and column of the load, and the better direction, empty as in the catalogue."""
    found = {}
    for table, column, load, better in listed(__package__, "loads.csv"):
        for each in _IO if table == "io" else (table,):
            of, _, other = load.rpartition(".")
            found[each, column] = ((of or each, other) if load else None, better)
    return found


@cache
def _limits() -> dict[tuple[str, str], float]:
    return {(rule.kind, rule.value): abs(rule.warn) for rule in rules.load("standard").values() if rule.warn}


def area_of_table(table: str) -> str:
    """Return the area of a table of a capture."""
    return "Storage" if table.startswith("physical_disk") or table == "nfs" else _AREA_OF.get(table, OTHER)


@cache
def effect(table: str, column: str) -> Effect | None:
    """Return the facts about a column; None for columns about the clock."""
    if table == "host" and column in CLOCK:
        return None
    known = declared().get(table, {}).get(column)
    if known is None:
        counter = lookup(table, column)
        unit = counter.unit if counter else ""
        return Effect(column, unit, area_of_table(table), "neither", None, _SMALL.get(unit, _LITTLE))
    view = next((one for one in VIEWS if one.table == table and column in columns(one)), None)
    own, better = _listed().get((table, column), (None, ""))
    load = own or ((table, known.weight) if known.weight else None)
    limit, usual = _limits().get((table, column)), _SMALL.get(known.unit, _LITTLE)
    area = area_of_table(view.needs[0]) if view else OTHER
    small = min(limit, usual) if limit else usual
    return Effect(known.name, known.unit, area, better or known.better, load, small, known.weight, limit is not None)
