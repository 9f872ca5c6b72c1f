"""Scenarios: hosts and their troubles, written down as TOML.

A scenario file names every field of the dataclasses in `host.py`; nothing is hidden in code. `load_scenario` reads one,
`busy_host` gives the one that ships with the package.
"""

from __future__ import annotations

import tomllib
from dataclasses import fields
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from esxparse.errors import EsxparseError
from esxparse.simulate.host import (
    Adapter,
    Device,
    Host,
    Load,
    NfsVolume,
    Nic,
    Phase,
    Scenario,
    Switch,
    VirtualDisk,
    Vm,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ScenarioError", "busy_host", "load_scenario", "parse_scenario", "scenario_names"]


T = TypeVar("T")


class ScenarioError(EsxparseError):
    """A scenario that says something the simulator has no word for."""


def scenario_names() -> tuple[str, ...]:
    """Names of the scenarios that ship with the package, sorted."""
    folder = files("esxparse.simulate") / "scenarios"
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


def busy_host() -> Scenario:
    """The scenario behind the bundled capture: eight VMs, ten minutes, six troubles."""
    return load_scenario("busy-host")


def load_scenario(name_or_path: str | Path) -> Scenario:
    """Read a scenario, by the name of one that ships with the package or by the path of a `.toml` file.

    Raises:
        ScenarioError: no such scenario, or a file that does not say what a scenario must say.
    """
    path = Path(name_or_path)
    if path.suffix == ".toml":
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            message = f"cannot read scenario {path}: {error.strerror}. Check the path."
            raise ScenarioError(message) from error
    elif str(name_or_path) in scenario_names():
        text = (files("esxparse.simulate") / "scenarios" / f"{name_or_path}.toml").read_text(encoding="utf-8")
    else:
        message = (
            f"no scenario {name_or_path!s}. There are: {', '.join(scenario_names())}; or give a path ending in .toml."
        )
        raise ScenarioError(message)
    try:
        return parse_scenario(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        message = f"scenario {name_or_path!s} is not TOML: {error}. Mend the line it names."
        raise ScenarioError(message) from error


def parse_scenario(data: Mapping[str, Any]) -> Scenario:
    """Build a `Scenario` from the mapping a TOML file gives.

    Raises:
        ScenarioError: a key that is not known or one that is missing; the message names the place.
    """
    top = _known(data, "scenario", {"adapter", "device", "nfs", "switch", "vm", "host"} | _names(Scenario))
    scenario = Scenario(
        name=_get(top, "name", "scenario"),
        title=_get(top, "title", "scenario"),
        start=_utc(_get(top, "start", "scenario")),
        samples=int(_get(top, "samples", "scenario")),
        interval=float(_get(top, "interval", "scenario")),
        seed=int(_get(top, "seed", "scenario")),
        host=_build(Host, _get(top, "host", "scenario"), "host"),
        adapters=tuple(_build(Adapter, row, "adapter") for row in top.get("adapter", ())),
        devices=tuple(_build(Device, row, "device") for row in top.get("device", ())),
        nfs=tuple(_build(NfsVolume, row, "nfs") for row in top.get("nfs", ())),
        switches=tuple(_switch(row) for row in top.get("switch", ())),
        vms=tuple(_vm(row) for row in top.get("vm", ())),
    )
    _check_references(scenario)
    return scenario


def _switch(row: Mapping[str, Any]) -> Switch:
    nics = tuple(_build(Nic, nic, f"switch {row.get('name')} uplink") for nic in row.get("uplinks", ()))
    return _build(Switch, {**row, "uplinks": nics}, "switch")


def _vm(row: Mapping[str, Any]) -> Vm:
    place = f"vm {row.get('name')}"
    load = _build(Load, row.get("load", {}), f"{place} load")
    phases = tuple(_phase(phase, place) for phase in row.get("phase", ()))
    disks = tuple(_build(VirtualDisk, disk, f"{place} disk") for disk in row.get("disks", ()))
    rest = {key: value for key, value in row.items() if key != "phase"}
    return _build(Vm, {**rest, "load": load, "phases": phases, "disks": disks}, place)


def _phase(row: Mapping[str, Any], place: str) -> Phase:
    changes = {key: float(value) for key, value in row.items() if key not in {"start", "end", "why"}}
    _known(changes, f"{place} phase", _names(Load))
    return Phase(float(_get(row, "start", place)), float(_get(row, "end", place)), changes)


def _check_references(scenario: Scenario) -> None:
    targets = {device.name for device in scenario.devices} | {volume.name for volume in scenario.nfs}
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
    try:
        return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})
    except TypeError as error:
        message = f"{place}: {error}. Every field of {kind.__name__} without a default must be given."
        raise ScenarioError(message) from error


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


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
