"""Roles of a run's files: the keys of `[[run]]` that name files, and the formats each takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from esxparse.errors import did_you_mean

_WORKLOADS = ("fio", "iometer", "diskspd")
_METERS = ("redfish", "ribcl", "ipmi", "power_csv")
_BENCHMARKS = (
    "netperf",
    "iperf3",
    "stream",
    "linpack",
    "redis_benchmark",
    "memtier",
    "sysbench",
    "hpcc",
    "ioping",
    "elbencho",
    "ntttcp",
    "vdbench",
    "hcibench",
    "results_csv",
)
_TOPOLOGY = ("esxcli", "lscpu", "cpuinfo", "numactl")

ROLES: Final[dict[str, frozenset[str]]] = {
    "esxtop": frozenset({"esxtop"}),
    "idle": frozenset({"esxtop"}),
    **{name: frozenset({name}) for name in _WORKLOADS},
    "power": frozenset(_METERS),
    "perf": frozenset({"perf_stat"}),
    "vmkperf": frozenset({"vmkperf"}),
    "vscsistats": frozenset({"vscsistats"}),
    "packets": frozenset({"packets", "tshark_fields"}),
    "hardware": frozenset(_TOPOLOGY),
    "vmx": frozenset({"vmx"}),
    **{name: frozenset({name}) for name in _BENCHMARKS},
    "benchmark": frozenset(_BENCHMARKS),
}
"""Key in `[[run]]` to the formats (`Recording.format`) its files may have."""

WORKLOADS: Final = frozenset(_WORKLOADS)
BENCHMARKS: Final = frozenset({*_BENCHMARKS, "benchmark"})
ONE_FILE: Final = frozenset({"esxtop", "idle", "power", "perf", "vmkperf", "vscsistats"})
"""Roles of which a run has one file."""

_PREFERRED: Final = ("esxtop", "power", "perf", "packets", "hardware")


def role_of(format_name: str) -> str | None:
    """The key under which a file of this format is named.

    >>> role_of("redfish"), role_of("iometer"), role_of("converted")
    ('power', 'iometer', None)
    """
    if format_name in ROLES:
        return format_name
    return next((role for role in _PREFERRED if format_name in ROLES[role]), None)


def nearest(word: str, known: Iterable[str]) -> str:
    """A suggestion for a word that is not known: `: did you mean 'esxtop'?`, or else those there are.

    >>> nearest("warmpup", ["warmup", "measure"])
    ": did you mean 'warmup'?"
    """
    names = sorted(known)
    near = did_you_mean(word, names).rstrip()
    return f": {near}" if near else f"; valid here: {', '.join(names)}"
