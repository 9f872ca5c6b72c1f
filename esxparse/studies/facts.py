"""Facts of the host: from files where they are there, else from the manifest; a disagreement is reported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from esxparse.metrics import host
from esxparse.studies.columns import FACTS

if TYPE_CHECKING:
    from esxparse.recording import Recording

_TOLERANCE: Final = 0.01
"""By so much two frequencies or sizes may differ: 2394.3 MHz is sold as 2400, and firmware keeps some memory."""
_ROUNDED: Final = ("mhz", "memory_mib")
_WHOLE_MIB: Final = 2**20


def of_capture(rec: Recording) -> dict[str, Any]:
    """What an esxtop capture tells of its host."""
    meta = rec.meta
    found = {"host_name": meta.get("host"), "esxi_release": meta.get("release"), "cpus": meta.get("pcpus")}
    found["mhz"] = host.nominal_mhz(rec.tables)
    if "memory" in rec and "machine_mbytes" in rec["memory"].collect_schema().names():
        found["memory_mib"] = rec["memory"].select(pl.col("machine_mbytes").max()).collect().item()
    return _known(found)


def of_hardware(rec: Recording) -> dict[str, Any]:
    """What a file on the hardware tells: esxcli, lscpu, /proc/cpuinfo, numactl."""
    meta = rec.meta
    memory = meta.get("memory_bytes")
    return _known(
        {
            "cpus": meta.get("threads"),
            "cores": meta.get("cores"),
            "sockets": meta.get("sockets"),
            "numa_nodes": meta.get("numa_nodes"),
            "mhz": meta.get("mhz"),
            "memory_mib": memory / _WHOLE_MIB if memory else None,
        }
    )


def _known(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not None}


def together(told: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[dict[str, Any], list[str]]:
    """One value for each fact, of the first that tells it, and what the others say against it.

    >>> together([("hardware", {"mhz": 2394.3}), ("esxtop", {"cpus": 32}), ("the manifest", {"cpus": 16, "mhz": 2400})])
    ({'mhz': 2394.3, 'cpus': 32}, ['cpus is 32 by esxtop and 16 by the manifest: 32 is used'])
    """
    facts: dict[str, Any] = {}
    by: dict[str, str] = {}
    against = []
    for source, found in told:
        for name in FACTS:
            if name not in found:
                continue
            value = found[name]
            if name not in facts:
                facts[name], by[name] = value, source
            elif name == "esxi_release":
                # A capture betrays its release by what it has and lacks; who made it knows.
                if not _fits(value, facts[name]):
                    against.append(f"{name} is {facts[name]} by {by[name]} and {value} by {source}: {value} is used")
                facts[name], by[name] = value, source
            elif not _same(name, facts[name], value):
                first = _shown(facts[name])
                against.append(f"{name} is {first} by {by[name]} and {_shown(value)} by {source}: {first} is used")
    return facts, against


def _fits(release: str, guess: str) -> bool:
    """Whether a release may be what a capture looks like.

    >>> _fits("5.0", "6.0 or 5.x"), _fits("8.0", "6.7 or later"), _fits("6.0", "6.5")
    (True, True, False)
    """
    numbers = [(int(one[1]), one[2] or "x") for one in re.finditer(r"(\d+)(?:\.(\d+|x))?", guess)]
    found = re.search(r"(\d+)(?:\.(\d+))?", release)
    if found is None or not numbers:
        return True
    major, minor = int(found[1]), found[2] or "0"
    if any(major == one and other in {minor, "x"} for one, other in numbers):
        return True
    edge = (numbers[0][0], int(numbers[0][1].replace("x", "0")))
    if "later" in guess:
        return (major, int(minor)) >= edge
    return "earlier" in guess and major < edge[0]


def _same(name: str, first: Any, second: Any) -> bool:
    if name in _ROUNDED:
        return bool(abs(first - second) <= _TOLERANCE * max(first, second))
    if name == "host_name":
        # esx-07 and esx-07.lab.example are one.
        return str(first).split(".")[0].casefold() == str(second).split(".")[0].casefold()
    return bool(first == second)


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
