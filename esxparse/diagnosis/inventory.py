"""What a vCenter knows of the VMs in findings, as evidence: snapshots, limits, and tasks during a spell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Final

from esxparse import toml
from esxparse.diagnosis.finding import Finding
from esxparse.errors import EsxparseError
from esxparse.recording import Recording, counted, printable

_FACTS: Final[Sequence[Mapping[str, Any]]] = toml.beside(__file__)["fact"]
_MOST_TASKS: Final = 3

Row = dict[str, Any]


@dataclass(frozen=True)
class Inventory:
    """VMs and tasks of a vCenter, by the name of the VM."""

    vms: Mapping[str, list[Row]] = field(default_factory=dict)
    snapshots: Mapping[str, list[Row]] = field(default_factory=dict)
    tasks: Mapping[str, list[Row]] = field(default_factory=dict)


def inventory_of(rec: Recording) -> Inventory:
    """Return what a collection of a vCenter knows.

    Raises EsxparseError: The recording has no inventory.
    """
    if "inventory_vm" not in rec:
        raise EsxparseError(f"{rec.source} has no inventory of VMs: give a directory of `esxparse collect vcenter`")
    return Inventory(
        _by(rec, "inventory_vm", "vm"), _by(rec, "inventory_snapshot", "vm_id"), _by(rec, "tasks", "entity_id")
    )


def _by(rec: Recording, table: str, column: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    if table in rec:
        for row in rec[table].collect().iter_rows(named=True):
            found[row[column]].append(row)
    return found


def with_inventory(finding: Finding, inventory: Inventory) -> Finding:
    """Return a finding with what the vCenter knows of its VMs as evidence, behind its own."""
    more = tuple(text for name in finding.vms for text in _said(finding, name, inventory))
    return replace(finding, evidence=(*finding.evidence, *more)) if more else finding


def _said(finding: Finding, name: str, inventory: Inventory) -> Iterator[str]:
    same = inventory.vms.get(name, [])
    if len(same) != 1:
        # Two VMs of one name: nobody knows which of them the capture shows.
        return
    vm = _at(finding, same[0], inventory)
    for fact in _FACTS:
        fits = any(fnmatchcase(finding.trouble, pattern) for pattern in fact["for"])
        if fits and all(vm.get(column) for column in fact["columns"]):
            yield printable(fact["say"].format(**vm, times=counted(vm["snapshots"] or 0, "snapshot")))
    if finding.start is None or finding.end is None:
        return
    tasks = inventory.tasks.get(f"VirtualMachine-{vm['vm_id']}", [])
    during = [one for one in tasks if one["time"] <= finding.end and (one["completed"] or one["time"]) >= finding.start]
    for one in during[:_MOST_TASKS]:
        until = f" to {one['completed']:%H:%M:%S}" if one["completed"] else ""
        by = f", by {one['user']}" if one["user"] else ""
        yield printable(f"task of the vCenter: {one['task']} ({name}), {one['time']:%H:%M:%S}{until} UTC{by}")


def _at(finding: Finding, vm: Row, inventory: Inventory) -> Row:
    """Return a VM as it was during a finding: without snapshots that were created after it."""
    snapshots = [one["created"] for one in inventory.snapshots.get(vm["vm_id"], []) if one["created"]]
    there = [one for one in snapshots if finding.end is None or one <= finding.end]
    return {**vm, "snapshots": len(there), "oldest_snapshot": min(there, default=None)}
