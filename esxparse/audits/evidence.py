"""Facts about a host and its VMs from files: settings with their places, hardware, and captures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.recording import Recording, counted

_SETTINGS: Final = {
    "numvcpus": "vcpus",
    "memSize": "memory_mib",
    "cpuid.coresPerSocket": "cores_per_socket",
    "sched.cpu.min": "cpu_reservation_mhz",
    "sched.cpu.max": "cpu_limit_mhz",
    "sched.mem.min": "memory_reservation_mib",
    "sched.mem.max": "memory_limit_mib",
}
"""Settings of a .vmx file, and the columns of an inventory that have them."""
_META: Final = {"numvcpus": "vcpus", "memsize_mib": "memory_mib", "cores_per_socket": "cores_per_socket"}


@dataclass(frozen=True)
class Fact:
    """A value, and its place in a file."""

    value: str
    key: str
    source: str
    line: int | None = None

    def __str__(self) -> str:
        place = f", line {self.line}" if self.line is not None else ""
        return f"{self.key} = {self.value} ({self.source}{place})"


@dataclass(frozen=True)
class Machine:
    """A VM as its .vmx describes it; `settings` by key in lower case."""

    name: str
    source: str
    settings: Mapping[str, Fact]
    meta: Mapping[str, Any]
    whole: bool
    """Whether all of the file was read: settings missing from a damaged file are unknown."""


@dataclass
class Evidence:
    """All facts about one host."""

    settings: dict[str, list[Fact]] = field(default_factory=dict)
    """Of the host, by section and key in lower case: `iscsi.datadigest`, one for each adapter."""
    machines: list[Machine] = field(default_factory=list)
    hardware: dict[str, Fact] = field(default_factory=dict)
    """`cores`, `numa_nodes`, `mhz`, `memory_bytes`, `release`, and of the CPU `vendor`, `family`, `model_number`."""
    volumes: list[Fact] | None = None
    """Mounted NFS volumes; None if the list is not known."""
    evc: Fact | None = None
    """EVC mode of the cluster, `none` without."""
    capture: Recording | None = None

    def hardware_number(self, name: str) -> float | None:
        """Return a number of the host, if known."""
        return float(self.hardware[name].value) if name in self.hardware else None


def gather(recordings: Iterable[Recording]) -> Evidence:
    """Gather all facts from recordings of one host and its VMs.

    Raises EsxparseError: A recording has nothing to audit, two of them contradict each other, or two are captures.
    """
    found = Evidence()
    readers = {
        "vmx": _machine,
        "esxcli": _hardware,
        "esxcli_settings": _settings,
        "esxi_counters": _summary,
        "esxtop": _capture,
        "vcenter_api": _inventory,
    }
    for rec in recordings:
        if rec.format not in readers:
            raise EsxparseError(
                f"{rec.source} is {rec.format}: an audit takes .vmx files, outputs of esxcli and vim-cmd, captures of "
                "esxtop, and collections of a vCenter"
            )
        readers[rec.format](rec, found)
    return found


def _machine(rec: Recording, found: Evidence) -> None:
    rows = rec.tables["settings"].collect().rows()
    settings = {key.lower(): Fact(value, key, rec.source, line) for key, value, line in rows}
    whole = all(note.severity != "warning" for note in rec.notes)
    found.machines.append(Machine(rec.meta.get("name") or rec.source, rec.source, settings, rec.meta, whole))


def _hardware(rec: Recording, found: Evidence) -> None:
    for name in ("cores", "numa_nodes", "mhz", "memory_bytes"):
        if name in rec.meta:
            _put(found.hardware, name, Fact(str(rec.meta[name]), name, rec.source))
    processors = rec.tables["processors"].collect() if "processors" in rec.tables else None
    if processors is not None and len(processors):
        for name in ("vendor", "family", "model_number"):
            if (value := processors[name][0]) is not None:
                _put(found.hardware, name, Fact(str(value), f"CPU {name}", rec.source))


def _settings(rec: Recording, found: Evidence) -> None:
    for section, key, value, line in rec.tables["settings"].collect().rows() if "settings" in rec.tables else ():
        fact = Fact(value, key, rec.source, line)
        found.settings.setdefault(f"{section}.{key}".lower(), []).append(fact)
        if (section, key) == ("version", "Version"):
            _put(found.hardware, "release", fact)
    if "nfs" in rec.tables:
        rows = rec.tables["nfs"].collect().filter(pl.col("mounted") == "true").iter_rows(named=True)
        mounted = [Fact(row["share"] or "", row["volume"] or "", rec.source, row["line"]) for row in rows]
        found.volumes = [*(found.volumes or ()), *mounted]


def _summary(rec: Recording, found: Evidence) -> None:
    """Add the EVC mode, which a host summary leaves out if it is not set."""
    facts = rec.tables["facts"].collect() if "facts" in rec.tables else None
    if facts is None:
        return
    modes = {row["key"]: row["value"] for row in facts.iter_rows(named=True) if row["section"] == "hosts"}
    if "currentEVCModeKey" in modes:
        found.evc = Fact(modes["currentEVCModeKey"], "currentEVCModeKey", rec.source)
    elif "maxEVCModeKey" in modes:
        found.evc = Fact("none", "currentEVCModeKey", rec.source)


def _inventory(rec: Recording, found: Evidence) -> None:
    """Add the host and the VMs in a collection of a vCenter.

    Raises EsxparseError: It is not about one host.
    """
    hosts = rec["inventory_host"].collect().to_dicts() if "inventory_host" in rec else []
    if len(hosts) != 1:
        raise EsxparseError(f"{rec.source} has {counted(len(hosts), 'host')}: collect one (--host)")
    host = hosts[0]
    facts = {name: host[name] for name in ("cores", "numa_nodes", "mhz", "release")}
    facts["memory_bytes"] = None if host["memory_mib"] is None else host["memory_mib"] << 20
    for name, value in facts.items():
        if value is not None:
            _put(found.hardware, name, Fact(str(value), name, rec.source))
    for vm in rec["inventory_vm"].collect().to_dicts() if "inventory_vm" in rec else ():
        values = {key: str(vm[column]) for key, column in _SETTINGS.items() if vm[column] is not None}
        for what, unit in (("cpu", "mhz"), ("memory", "mib")):
            if vm[f"{what}_reservation_{unit}"] is not None and vm[f"{what}_limit_{unit}"] is None:
                values[f"sched.{what[:3]}.max"] = "unlimited"
        if hardware := (vm["hardware"] or "").removeprefix("vmx-"):
            values["virtualHW.version"] = str(int(hardware)) if hardware.isdecimal() else hardware
        settings = {key.lower(): Fact(value, key, rec.source) for key, value in values.items()}
        meta = {name: vm[column] for name, column in _META.items()}
        # The inventory has a few settings only: others are unknown.
        found.machines.append(Machine(vm["vm"] or vm["vm_id"], rec.source, settings, meta, whole=False))


def _capture(rec: Recording, found: Evidence) -> None:
    """Add the capture of the host.

    Raises EsxparseError: There is another one.
    """
    if found.capture is not None:
        raise EsxparseError(f"{found.capture.source} and {rec.source} are captures: give one")
    found.capture = rec
    if rec.meta.get("release"):
        found.hardware.setdefault("release", Fact(str(rec.meta["release"]), "release", rec.source))


def _put(facts: dict[str, Fact], name: str, fact: Fact) -> None:
    """Add a fact; commands measure frequency and memory a little differently, so the first counts.

    Raises EsxparseError: Another file contradicts it.
    """
    before = facts.setdefault(name, fact)
    if name not in {"mhz", "memory_bytes"} and before.value != fact.value and before.source != fact.source:
        raise EsxparseError(f"{before} and {fact} contradict each other: audit the files of one host at a time")
