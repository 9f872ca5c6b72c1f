"""The planner of RAID groups and pools.

    I/Os for the hosts = disks x I/Os of a disk / (reads + writes x back-end I/Os of a write)

Source: VMware, "Virtualized Storage Performance: RAID Groups versus Storage pools" (all drives minus the RAID
overhead); the overhead by level is general knowledge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from esxparse.errors import EsxparseError
from esxparse.metrics import storage_laws
from esxparse.plans.planner import Answer

BACK_END_WRITES: Final = {"0": 1, "1": 2, "10": 2, "5": 4, "6": 6}
"""I/Os of the disks for a random write that is smaller than a stripe. RAID 5 reads and writes data and parity, RAID 6
two parities."""
FEWEST_DISKS: Final = {"0": 1, "1": 2, "10": 4, "5": 3, "6": 4}
_PREFERRED: Final = (5, 9)
"""Multiples of drives that the source prefers for RAID 5, following the vendor of its array."""
_LAW: Final = "This is for small random I/Os that miss every cache: caches and sequential writes do better."


def iops_of(disks: float, disk_iops: float, level: str, read_pct: float) -> float:
    """Return the I/Os per second that a group gives its hosts: disks x I/Os of a disk / back-end I/Os for each.

    >>> round(iops_of(9, 3000, "5", 70)), iops_of(9, 3000, "5", 100)
    (14211, 27000.0)
    """
    return disks * disk_iops / _back_end(level, read_pct)


def _back_end(level: str, read_pct: float) -> float:
    """Return the back-end I/Os for each I/O of the hosts."""
    return read_pct / 100 + (1 - read_pct / 100) * BACK_END_WRITES[level]


def answer(known: Mapping[str, Any]) -> Answer:
    """Return the results of one group.

    Raises EsxparseError: A group of this level needs more disks, or an even number.
    """
    disks, each, level, read = known["disks"], known["disk_iops"], known["level"], known["read"]
    if disks < FEWEST_DISKS[level] or (level == "10" and disks % 2):
        pairs = ", in pairs" if level == "10" else ""
        raise EsxparseError(f"raid: disks is {disks:g}: RAID {level} takes {FEWEST_DISKS[level]} or more{pairs}")
    iops = iops_of(disks, each, level, read)
    results: dict[str, Any] = {
        "raw_iops": disks * each,
        "iops": iops,
        "read_iops": iops_of(disks, each, level, 100),
        "write_iops": iops_of(disks, each, level, 0),
        "overhead_pct": (1 - 1 / _back_end(level, read)) * 100,
    }
    if "block" in known:
        results["mb_per_s"] = storage_laws.mb_per_s(iops, known["block"])
    if "wanted" in known:
        needed = max(math.ceil(known["wanted"] * _back_end(level, read) / each), FEWEST_DISKS[level])
        needed += needed % 2 if level == "10" else 0
        results |= {"fits": iops >= known["wanted"], "disks_needed": needed}
    return Answer(results, "", f"{iops:,.0f} I/Os per second for the hosts", _notes(level, disks))


def _notes(level: str, disks: float) -> tuple[str, ...]:
    notes = [_LAW]
    if level == "5" and all(disks % many for many in _PREFERRED):
        notes.append(
            f"{disks:g} disks are no multiple of five or nine, which the vendor of the source's array prefers."
        )
    return tuple(notes)
