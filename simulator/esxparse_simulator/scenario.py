"""Hosts from TOML: every field of the dataclasses in `host.py` by its name.

`experiment.py` reads the files and says what is recorded of the host that is built here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, TypeVar

from esxparse_simulator import host as parts
from esxparse_simulator.limits import ScenarioError, check_number, check_row, known, need

T = TypeVar("T")


def parse_scenario(data: Mapping[str, Any]) -> parts.Scenario:
    """The `Scenario` of the tables that a TOML file gives.

    Raises:
        ScenarioError: A key is unknown or missing, or a value cannot be; the message names the place.
    """
    tables = {"adapter", "clock_jump", "device", "host", "nfs", "switch", "vm", "vsan"}
    top = _known(data, "scenario", tables | _names(parts.Scenario))
    for name in ("samples", "interval", "seed"):
        check_number(name, _get(top, name, "scenario"), "scenario")
    for name in ("untidy", "idle_worlds"):
        check_number(name, top.get(name, 0), "scenario")

    def phased(kind: type[T], table: str) -> tuple[T, ...]:
        return tuple(_phased(kind, row, f"{table} {row.get('name')}") for row in top.get(table, ()))

    scenario = parts.Scenario(
        name=_get(top, "name", "scenario"),
        title=_get(top, "title", "scenario"),
        start=utc(_get(top, "start", "scenario")),
        samples=int(top["samples"]),
        interval=float(top["interval"]),
        seed=int(top["seed"]),
        untidy=float(top.get("untidy", 0.0)),
        idle_worlds=int(top.get("idle_worlds", 0)),
        host=_phased(parts.Host, _get(top, "host", "scenario"), "host"),
        adapters=tuple(_build(parts.Adapter, row, "adapter") for row in top.get("adapter", ())),
        devices=phased(parts.Device, "device"),
        nfs=phased(parts.NfsVolume, "nfs"),
        vsan=phased(parts.VsanDatastore, "vsan"),
        clock_jumps=tuple(_build(parts.ClockJump, row, "clock_jump") for row in top.get("clock_jump", ())),
        switches=tuple(_switch(row) for row in top.get("switch", ())),
        vms=tuple(_vm(row) for row in top.get("vm", ())),
    )
    _check_names(scenario)
    _check_references(scenario)
    return scenario


def _switch(row: Mapping[str, Any]) -> parts.Switch:
    nics = tuple(_phased(parts.Nic, nic, f"switch {row.get('name')} uplink") for nic in row.get("uplinks", ()))
    return _build(parts.Switch, {**row, "uplinks": nics}, "switch")


def _vm(row: Mapping[str, Any]) -> parts.Vm:
    place = f"vm {row.get('name')}"
    made = {
        "load": _build(parts.Load, row.get("load", {}), f"{place} load"),
        "phases": tuple(_phase(phase, parts.Load, place) for phase in row.get("phase", ())),
        "disks": tuple(_build(parts.VirtualDisk, disk, f"{place} disk") for disk in row.get("disks", ())),
        "pattern": _build(parts.Pattern, row.get("pattern", {}), f"{place} pattern"),
    }
    return _build(parts.Vm, {key: value for key, value in row.items() if key != "phase"} | made, place)


def _phased(kind: type[T], row: Mapping[str, Any], place: str) -> T:
    phases = tuple(_phase(phase, kind, place) for phase in row.get("phase", ()))
    return _build(kind, {key: value for key, value in row.items() if key != "phase"} | {"phases": phases}, place)


def _phase(row: Mapping[str, Any], kind: type[Any], place: str) -> parts.Phase:
    ends, where = ("start", "end", "rise", "fall"), f"{place} phase"
    settings = {"rise": 0.0, "fall": 0.0} | {key: value for key, value in row.items() if key != "why"}
    _known(settings, where, _names(kind) | set(ends))
    start, end, rise, fall = (_number(_get(settings, key, place), f"{where} {key}") for key in ends)
    need(start <= end, f"{where}: it starts at {start:g} s and ends at {end:g} s. Turn them round.")
    ramps = f"{where}: rise {rise:g} and fall {fall:g} are not from 0 to its {end - start:g} s. Make them shorter."
    need(min(rise, fall) >= 0.0 and rise + fall <= end - start + 1e-6, ramps)
    changes = {key: _number(value, f"{where} {key}") for key, value in settings.items() if key not in ends}
    types = {field.name: str(field.type) for field in fields(kind)}
    for key, value in changes.items():
        need(types[key] in {"int", "float", "bool"}, f"{where}: {key} cannot change with time. Leave it out.")
        if types[key] != "bool":
            check_number(key, value, where)
    return parts.Phase(start, end, changes, rise, fall)


def _number(value: Any, place: str) -> float:
    need(isinstance(value, int | float), f"{place}: {value!r} is not a number. Give one.")
    return float(value)


def _check_names(scenario: parts.Scenario) -> None:
    """Refuses two things of one name, and names that no capture could hold."""
    devices, volumes = [device.name for device in scenario.devices], _volumes(scenario)
    names_by_kind = {
        "vm": [vm.name for vm in scenario.vms],
        "device": [*devices, *volumes],
        "adapter": [adapter.name for adapter in scenario.adapters],
        "switch": [switch.name for switch in scenario.switches],
        "uplink": [nic.name for switch in scenario.switches for nic in switch.uplinks],
        **{f"vm {vm.name} disk": [disk.slot for disk in vm.disks] for vm in scenario.vms},
    }
    for what, names in names_by_kind.items():
        for name, count in Counter(names).items():
            again = f"{what} {name}: the name is there {count} times. Give each its own (with count, {{n}} in it)."
            need(count == 1, again)
            odd = f"{what} {name!r}: it is empty, or has a quote, a backslash or a line end in it. Rename it."
            need(name and not any(sign in name for sign in '\n\r"\\'), odd)


def _volumes(scenario: parts.Scenario) -> list[str]:
    return [volume.name for volume in scenario.nfs] + [store.name for store in scenario.vsan]


def _check_references(scenario: parts.Scenario) -> None:
    sockets, devices = scenario.host.sockets, {device.name for device in scenario.devices}
    for vm in scenario.vms:
        there = all(0 <= node < sockets for node in vm.nodes)
        need(there, f"vm {vm.name}: nodes {list(vm.nodes)} of a host of {sockets}. Count them from 0.")
    for store in scenario.vsan:
        for name in store.devices:
            need(name in devices, f"vsan {store.name}: there is no device {name}. Add it or name one there is.")
    for device in scenario.devices:
        need(device.paths, f"device {device.name}: it has no paths. Give it one, such as vmhba0:C0:T0:L0.")
    targets = devices | {*_volumes(scenario)}
    switches = {switch.name for switch in scenario.switches}
    for vm in scenario.vms:
        missing = [disk.target for disk in vm.disks if disk.target not in targets]
        need(
            not missing and vm.switch in switches and 0 <= vm.node < sockets,
            f"vm {vm.name} stands on something the scenario does not have "
            f"(disk targets {missing}, switch {vm.switch}, node {vm.node}). Add it or name one there is.",
        )


def _build(kind: type[T], row: Mapping[str, Any], place: str) -> T:
    _known(row, place, _names(kind))
    types = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    for key, value in row.items():
        if types[key] in _TYPES:
            allowed, words = _TYPES[types[key]]
            fits = isinstance(value, allowed) and (not isinstance(value, bool) or types[key] == "bool")
            need(fits, f"{place}: {key} = {value!r} is not {words}. Give one.")
    check_row(row, kind, place)
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})
    except TypeError as error:
        message = f"{place}: {error}. Every field of {kind.__name__} without a default must be given."
        raise ScenarioError(message) from error


_NUMBER = ((int, float), "a number")
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "int": _NUMBER,
    "float": _NUMBER,
    "int | None": _NUMBER,
    "bool": ((bool,), "true or false"),
    "str": ((str,), "a text"),
}


def _known(row: Mapping[str, Any], place: str, names: set[str]) -> Mapping[str, Any]:
    if unknown := sorted(set(row) - names):
        known(unknown[0], names, f"{place}: unknown key {', '.join(unknown)}", "Known")
    return row


def _get(row: Mapping[str, Any], key: str, place: str) -> Any:
    need(key in row, f"{place}: {key} is missing. Add it.")
    return row[key]


def _names(kind: type[Any]) -> set[str]:
    return {field.name for field in fields(kind)}


def utc(moment: Any) -> datetime:
    """A moment of TOML in UTC; one without a zone is taken as UTC."""
    if not isinstance(moment, datetime):
        raise ScenarioError(f"scenario: start {moment!r} is not a time. Write 2026-03-11T09:00:00Z, without quotes.")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
