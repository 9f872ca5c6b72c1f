"""What machines are: `numactl --hardware`, `/proc/cpuinfo`, a VM's `.vmx`. They need no host: the scenario says it.

`numactl` and `cpuinfo`: `sockets`, `cores` (of a socket), `threads` (of a core), `nodes`, `memory_mb` and `free_mb` (of
each node), `distances`, `numbering` and `version`. `vmx`: the fields of `writers.vmx.Vm`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from esxparse_simulator.instruments.model import Entry, Instrument, one_run
from esxparse_simulator.variables import ScenarioError
from esxparse_simulator.writers import cpuinfo, numactl, topology, vmx

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["INSTRUMENTS"]

_TOPOLOGY = frozenset(field.name for field in fields(topology.Topology))
_VM = frozenset(field.name for field in fields(vmx.Vm)) - {"name"}


def _topology(entry: Entry) -> topology.Topology:
    machine: topology.Topology = _made(entry, topology.Topology, _TOPOLOGY)
    return machine


def _made(entry: Entry, kind: Any, names: frozenset[str], **more: Any) -> Any:
    given = {name: _frozen(entry.options[name]) for name in names if name in entry.options}
    try:
        return kind(**given, **more)
    except TypeError as error:
        msg = f"file {entry.name}: {error}. Give every field of {kind.__name__} that has no default."
        raise ScenarioError(msg) from error


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _numactl(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    yield entry.name, iter([numactl.text(_topology(entry), entry.options.get("version", "2.0.14")).encode()])


def _cpuinfo(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    yield entry.name, cpuinfo.lines(_topology(entry), version=entry.options.get("version", "6.1"))


def _vmx(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    machine = _made(entry, vmx.Vm, _VM, name=str(entry.options.get("vm", "guest-01")))
    yield entry.name, iter([vmx.text(machine).encode()])


INSTRUMENTS: dict[str, Instrument] = {
    "cpuinfo": Instrument(_TOPOLOGY | {"version"}, None, _cpuinfo),
    "numactl": Instrument(_TOPOLOGY | {"version"}, None, _numactl),
    "vmx": Instrument(_VM | {"vm"}, None, _vmx),
}
