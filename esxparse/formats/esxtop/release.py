"""The release that wrote a capture, judged by its columns: no file states it.

Sources: first idle world of captures of known date (ESXi 6.0: 32769, 6.5: 65537, 6.7 and later about 2097152; 7 and 8,
as far as is known: 262145); counters that came and went between releases. Facts from general knowledge alone are marked
as such.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from esxparse.formats.esxtop.header import A_MPERF, Header
from esxparse.formats.esxtop.layout import TableShape
from esxparse.worlds import IDLE_WORLD

_IDLE = re.compile(r".*:(?P<world_id>\d{1,18}):(?P<world>[^:]+)", re.DOTALL)

_FIRST_IDLE_WORLD = ((2097152, "6.7 or later"), (262145, "7 or 8"), (65537, "6.5"), (32769, "6.0 or 5.x"))
"""Smallest idle world id and its release, largest first."""

_COUNTERS = (
    ("group_cpu", "Exclusive Affinity", "7 or later"),
    ("memory", "Console MBytes", "4.x or earlier (with a service console)"),
    ("group_cpu", "Processor Migrations/sec", "4.x"),
)
"""Table, counter and the only release that has it (Exclusive Affinity: other tools' rules, not seen in a file)."""


def _first_idle_world(tables: Mapping[str, TableShape]) -> int | None:
    ids = []
    for instance in tables["vcpu"].instances if "vcpu" in tables else ():
        match = _IDLE.fullmatch(instance or "")
        if match and re.match(IDLE_WORLD, match["world"]):
            ids.append(int(match["world_id"]))
    return min(ids, default=None)


def guess(header: Header, tables: Mapping[str, TableShape]) -> tuple[str | None, str]:
    """Return the release and the evidence for it; (None, reason) if unknown."""
    if header.bare_a_mperf:
        return "6.5", "A/MPERF columns printed without name and comma"
    for table, counter, release in _COUNTERS:
        if table in tables and counter in tables[table].counters:
            return release, f"counter {counter} of {tables[table].object}"
    world = _first_idle_world(tables)
    if world is not None:
        for smallest, release in _FIRST_IDLE_WORLD:
            if world >= smallest:
                return release, f"first idle world is {world}"
    power = tables.get("pcpu_power_state")
    if power and A_MPERF in power.counters:
        return "6.7 or later", f"counter {A_MPERF}"
    return None, "no idle world and no counter that only one release has"
