"""Judge one VM: whether it was given too many vCPUs or too much memory, with the evidence and the risk."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from esxparse import toml
from esxparse.recording import counted

Row = Mapping[str, Any]

LIMITS: Final[dict[str, dict[str, Any]]] = toml.beside(__file__)
"""The numbers behind suggestions, each with its source."""
FEWER, FULL, LESS, ASK, SHORT, KEEP, UNKNOWN = (
    "fewer vCPUs",
    "all vCPUs busy",
    "less memory",
    "ask the guest",
    "memory reclaimed",
    "keep",
    "unknown",
)
_GIB: Final = 1024


class Judgement(NamedTuple):
    """What to do about the vCPUs or the memory of a VM."""

    verdict: str
    evidence: str
    suggested: int | None = None
    """vCPUs, or MiB of memory; None unless the verdict suggests a size."""


def limit(name: str) -> float:
    """The number of that name in `suggestions.toml`."""
    return float(LIMITS[name]["value"])


def judge_cpu(row: Row) -> Judgement:
    """Judge the vCPUs of a VM by a row of `right_size`.

    A size is suggested only if every number is known: the p99 of wanted vCPUs on the busiest day, with the buffer on
    top, rounded up to an even number, at least half of what the VM has.
    """
    vcpus, wanted = row["vcpus"], row["wanted_p99"]
    if row["running_p99"] is None:
        return Judgement(UNKNOWN, "the capture has no vCPU worlds of it with %RUN")
    if wanted is None:
        return Judgement(UNKNOWN, "%RDY or %CSTP of its vCPUs is missing, so the vCPUs that it wanted are unknown")
    if row["samples"] < limit("fewest_samples"):
        return Judgement(UNKNOWN, f"only {counted(row['samples'], 'sample')}")
    evidence = (
        f"at its p99 it wanted {wanted:.2f} of {counted(vcpus, 'vCPU')} on {row['busiest_day']:%Y-%m-%d}, "
        f"{row['running_mean']:.2f} ran on average; co-stop {row['costop_pct']:.2f} % per vCPU"
    )
    if row["wanted_p95"] >= vcpus * limit("full_pct") / 100:
        return Judgement(FULL, evidence)
    enough = math.ceil(round(wanted * limit("buffer"), 9))
    size = max(enough, math.ceil(vcpus * limit("smallest_part")), int(limit("fewest_vcpus")))
    even = int(limit("even"))
    size += -size % even
    return Judgement(FEWER, evidence, size) if size < vcpus else Judgement(KEEP, evidence)


def judge_memory(row: Row) -> Judgement:
    """Judge the memory of a VM by a row of `right_size`.

    A size is suggested only for memory that the guest has never touched since it was switched on. Memory that was
    touched and is not active may be a cache of the guest: only the guest knows.
    """
    parts = {name: row[name] for name in ("size_mib", "granted_mib", "active_p99_mib", "swapped_mib", "balloon_mib")}
    if missing := [name.removesuffix("_mib") for name, value in parts.items() if value is None]:
        return Judgement(UNKNOWN, f"the capture lacks {', '.join(missing)}")
    if row["memory_samples"] < limit("fewest_samples"):
        return Judgement(UNKNOWN, f"only {counted(row['memory_samples'], 'sample')}")
    size, granted, active = parts["size_mib"], parts["granted_mib"], parts["active_p99_mib"]
    evidence = f"{_gib(granted)} of {_gib(size)} touched since it was switched on, {_gib(active)} active at its p99"
    if max(parts["swapped_mib"], parts["balloon_mib"]) >= limit("reclaimed_mib"):
        taken = f"{_gib(parts['balloon_mib'])} ballooned, {_gib(parts['swapped_mib'])} swapped"
        return Judgement(SHORT, f"{evidence}; {taken}")
    smallest = size * limit("smallest_part")
    enough = math.ceil(max(granted * limit("buffer"), active * limit("buffer"), smallest) / _GIB) * _GIB
    if size - enough >= limit("least_saved_mib"):
        return Judgement(LESS, evidence, enough)
    if active <= size * limit("idle_pct") / 100 and size - smallest >= limit("least_saved_mib"):
        return Judgement(ASK, evidence)
    return Judgement(KEEP, evidence)


def risks(row: Row, cpu: Judgement, memory: Judgement) -> str:
    """The reasons why a suggestion may be wrong; empty without a suggestion."""
    if cpu.suggested is None and memory.suggested is None:
        return ""
    found = []
    if row["hours"] < limit("long_capture_hours"):
        found.append(f"peak hours may be missing: {row['hours']:,.1f} h in {counted(row['days'], 'day')} were seen")
    if cpu.suggested is not None:
        found.append(f"peaks shorter than the interval of {row['interval_s']:g} s are averaged")
    if memory.suggested is not None:
        found.append("a guest that was switched on recently has not touched all that it needs; active is an estimate")
    return "; ".join(found)


def _gib(mib: float) -> str:
    return f"{mib / _GIB:,.1f} GiB"
