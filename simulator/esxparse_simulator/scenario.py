"""Hosts written down as TOML: every field of the dataclasses in `host.py` by its name, nothing hidden in code.

`experiment.py` reads the files and says what is recorded of the host that is built here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from esxparse_simulator.host import (
    Adapter,
    ClockJump,
    Device,
    Host,
    Load,
    NfsVolume,
    Nic,
    Pattern,
    Phase,
    Scenario,
    Switch,
    VirtualDisk,
    Vm,
    VsanDatastore,
)
from esxparse_simulator.limits import check_number, check_row
from esxparse_simulator.variables import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["parse_scenario", "utc"]

T = TypeVar("T")


def parse_scenario(data: Mapping[str, Any]) -> Scenario:
    """Build a `Scenario` from the mapping a TOML file gives.

    Raises:
        ScenarioError: a key that is not known or one that is missing; the message names the place.
    """
    tables = {"adapter", "clock_jump", "device", "host", "nfs", "switch", "vm", "vsan"}
    top = _known(data, "scenario", tables | _names(Scenario))
    for name in ("samples", "interval", "seed"):
        check_number(name, _get(top, name, "scenario"), "scenario")
    scenario = Scenario(
        name=_get(top, "name", "scenario"),
        title=_get(top, "title", "scenario"),
        start=utc(_get(top, "start", "scenario")),
        samples=int(_get(top, "samples", "scenario")),
        interval=float(_get(top, "interval", "scenario")),
        seed=int(_get(top, "seed", "scenario")),
        host=_phased(Host, _get(top, "host", "scenario"), "host"),
        adapters=tuple(_build(Adapter, row, "adapter") for row in top.get("adapter", ())),
        devices=tuple(_phased(Device, row, f"device {row.get('name')}") for row in top.get("device", ())),
        nfs=tuple(_phased(NfsVolume, row, f"nfs {row.get('name')}") for row in top.get("nfs", ())),
        vsan=tuple(_phased(VsanDatastore, row, f"vsan {row.get('name')}") for row in top.get("vsan", ())),
        clock_jumps=tuple(_build(ClockJump, row, "clock_jump") for row in top.get("clock_jump", ())),
        switches=tuple(_switch(row) for row in top.get("switch", ())),
        vms=tuple(_vm(row) for row in top.get("vm", ())),
    )
    _check_names(scenario)
    _check_references(scenario)
    return scenario


def _switch(row: Mapping[str, Any]) -> Switch:
    nics = tuple(_phased(Nic, nic, f"switch {row.get('name')} uplink") for nic in row.get("uplinks", ()))
    return _build(Switch, {**row, "uplinks": nics}, "switch")


def _vm(row: Mapping[str, Any]) -> Vm:
    place = f"vm {row.get('name')}"
    load = _build(Load, row.get("load", {}), f"{place} load")
    phases = tuple(_phase(phase, Load, place) for phase in row.get("phase", ()))
    disks = tuple(_build(VirtualDisk, disk, f"{place} disk") for disk in row.get("disks", ()))
    pattern = _build(Pattern, row.get("pattern", {}), f"{place} pattern")
    rest = {key: value for key, value in row.items() if key != "phase"}
    return _build(Vm, {**rest, "load": load, "phases": phases, "disks": disks, "pattern": pattern}, place)


def _phased(kind: type[T], row: Mapping[str, Any], place: str) -> T:
    phases = tuple(_phase(phase, kind, place) for phase in row.get("phase", ()))
    return _build(kind, {key: value for key, value in row.items() if key != "phase"} | {"phases": phases}, place)


def _phase(row: Mapping[str, Any], kind: type[Any], place: str) -> Phase:
    said = {key: value for key, value in row.items() if key != "why"}
    _known(said, f"{place} phase", _names(kind) | {"start", "end"})
    start, end = (_number(_get(row, key, place), f"{place} phase {key}") for key in ("start", "end"))
    if start > end:
        message = f"{place} phase: it starts at {start:g} s and ends at {end:g} s. Turn them round."
        raise ScenarioError(message)
    changes = {
        key: _number(value, f"{place} phase {key}") for key, value in said.items() if key not in {"start", "end"}
    }
    types = {field.name: str(field.type) for field in fields(kind)}
    for key, value in changes.items():
        if types[key] not in {"int", "float", "bool"}:
            message = f"{place} phase: {key} cannot change with time. Leave it out."
            raise ScenarioError(message)
        if types[key] != "bool":
            check_number(key, value, f"{place} phase")
    return Phase(start, end, changes)


def _number(value: Any, place: str) -> float:
    if isinstance(value, int | float):
        return float(value)
    message = f"{place}: {value!r} is no number. Give one."
    raise ScenarioError(message)


def _check_names(scenario: Scenario) -> None:
    """Refuses two things of one name, and names that no capture could hold.

    Raises:
        ScenarioError: There are.
    """
    named = {
        "vm": [vm.name for vm in scenario.vms],
        "device": [
            *(device.name for device in scenario.devices),
            *(volume.name for volume in scenario.nfs),
            *(datastore.name for datastore in scenario.vsan),
        ],
        "adapter": [adapter.name for adapter in scenario.adapters],
        "switch": [switch.name for switch in scenario.switches],
        "uplink": [nic.name for switch in scenario.switches for nic in switch.uplinks],
        **{f"vm {vm.name} disk": [disk.slot for disk in vm.disks] for vm in scenario.vms},
    }
    for what, names in named.items():
        for name, count in Counter(names).items():
            if count > 1:
                message = (
                    f"{what} {name}: the name is there {count} times. Give each its own (with count, {{n}} in it)."
                )
                raise ScenarioError(message)
            if not name or any(sign in name for sign in '\n\r"\\'):
                message = f"{what} {name!r}: it is empty, or has a quote, a backslash or a line end in it. Rename it."
                raise ScenarioError(message)


def _check_references(scenario: Scenario) -> None:
    sockets, devices = scenario.host.sockets, {device.name for device in scenario.devices}
    for vm in scenario.vms:
        if not all(0 <= node < sockets for node in vm.nodes):
            message = f"vm {vm.name}: nodes {list(vm.nodes)} of a host of {sockets}. Count them from 0."
            raise ScenarioError(message)
    for datastore in scenario.vsan:
        if missing := [name for name in datastore.devices if name not in devices]:
            message = f"vsan {datastore.name}: there is no device {missing[0]}. Add it or name one there is."
            raise ScenarioError(message)
    bare = [device.name for device in scenario.devices if not device.paths]
    if bare:
        message = f"device {bare[0]}: it has no paths. Give it one, such as vmhba0:C0:T0:L0."
        raise ScenarioError(message)
    targets = {device.name for device in scenario.devices} | {volume.name for volume in scenario.nfs}
    targets |= {datastore.name for datastore in scenario.vsan}
    switches = {switch.name for switch in scenario.switches}
    for vm in scenario.vms:
        missing = [disk.target for disk in vm.disks if disk.target not in targets]
        if missing or vm.switch not in switches or not 0 <= vm.node < scenario.host.sockets:
            message = (
                f"vm {vm.name} stands on something the scenario does not have "
                f"(disk targets {missing}, switch {vm.switch}, node {vm.node}). Add it or name one there is."
            )
            raise ScenarioError(message)


def _build(kind: type[T], row: Mapping[str, Any], place: str) -> T:
    _known(row, place, _names(kind))
    _checked(row, kind, place)
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})
    except TypeError as error:
        message = f"{place}: {error}. Every field of {kind.__name__} without a default must be given."
        raise ScenarioError(message) from error


def _checked(row: Mapping[str, Any], kind: type[Any], place: str) -> None:
    """Refuses what is not of the type that its field says: a number, a text, true or false.

    Raises:
        ScenarioError: Something is.
    """
    types = {field.name: str(field.type) for field in fields(kind)}
    for key, value in row.items():
        for said, (allowed, words) in _TYPES.items():
            if types[key] == said and (not isinstance(value, allowed) or (isinstance(value, bool) and said != "bool")):
                message = f"{place}: {key} = {value!r} is no {words}. Give one."
                raise ScenarioError(message)
    check_row(row, kind, place)


_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int, float), "number"),
    "float": ((int, float), "number"),
    "int | None": ((int, float), "number"),
    "bool": ((bool,), "true or false"),
    "str": ((str,), "text"),
}


def _known(row: Mapping[str, Any], place: str, names: set[str]) -> Mapping[str, Any]:
    unknown = sorted(set(row) - names)
    if unknown:
        message = f"{place}: unknown key {', '.join(unknown)}. Known: {', '.join(sorted(names))}."
        raise ScenarioError(message)
    return row


def _get(row: Mapping[str, Any], key: str, place: str) -> Any:
    if key not in row:
        message = f"{place}: {key} is missing. Add it."
        raise ScenarioError(message)
    return row[key]


def _names(kind: type[Any]) -> set[str]:
    return {field.name for field in fields(kind)}


def utc(moment: Any) -> datetime:
    """A moment of TOML in UTC, which it is where it says no zone.

    Raises:
        ScenarioError: It is none.
    """
    if not isinstance(moment, datetime):
        message = f"scenario: start {moment!r} is no time. Write it as 2026-03-11T09:00:00Z."
        raise ScenarioError(message)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
