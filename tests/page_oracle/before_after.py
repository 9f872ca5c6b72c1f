"""What the report `before_after` must show of two captures: means of the host on each side, and their change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from page_oracle.arithmetic import mean, plus
from page_oracle.compare import Expected, Rows
from page_oracle.host import Host

if TYPE_CHECKING:
    from pathlib import Path

HEADS = ("Before", "After", "Change %")
COUNTERS = {"co-stop of all VMs": "% CoStop", "ready time of all VMs": "% Ready", "run time of all VMs": "% Run"}


def expected(before: Path, after: Path) -> Expected:
    """The page of `before_after` on two captures."""
    sides = [_series(Host(path)) for path in (before, after)]
    rows = {}
    for name in sides[0].keys() & sides[1].keys():
        one, other = (mean(side[name]) for side in sides)
        if one is not None and other is not None:
            change = 100 * (other - one) / one if one else None
            rows[("host", name)] = dict(zip(HEADS, (one, other, change), strict=True))
    load = rows[("host", "CPU used")]["Change %"]
    largest = {key: {**row, "Change of the load %": load} for key, row in rows.items() if key[1] == "power"}
    found = Expected()
    found.tables = [
        Rows("The largest changes", ("Object", "Quantity"), largest, some=True, ordered=False, partly=True),
        Rows("Series that differ", ("Object", "Quantity"), rows, some=True, ordered=False, partly=True),
    ]
    return found


def _series(host: Host) -> dict[str, list[float | None]]:
    """Series of the whole host by their names on the page."""
    found = {"CPU in use": host.column("Physical Cpu", "% Util Time", "_Total")}
    found["CPU used"] = host.column("Physical Cpu", "% Processor Time", "_Total")
    found["power"] = host.column("Power", "Power Usage Now Watts")
    for name, counter in COUNTERS.items():
        found[name] = plus(*(host.column("Group Cpu", counter, group) for group in host.vms))
    return found
