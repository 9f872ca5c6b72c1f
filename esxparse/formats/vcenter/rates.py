"""The meaning of values: their intervals, hundredths of a percent, and CPU times as percent of a vCPU."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from esxparse.formats.kit.notes import Notes
from esxparse.recording import counted

Row = dict[str, Any]

_INTERVALS = {20.0: "real-time", 300.0: "past day", 1800.0: "past week", 7200.0: "past month", 86400.0: "past year"}
_NEAR = 0.1
_HUNDREDTHS = 100.0
_MS_PER_PCT = 10.0
"""Milliseconds of a second that are a percent of it."""
_HOST = "HostSystem"


def complete(rows: Sequence[Row]) -> Notes:
    """Fill in missing intervals, convert hundredths to percent, and return notes on both."""
    notes = Notes()
    if any(row["interval_s"] is None for row in rows):
        step = _step(rows)
        for row in rows:
            row["interval_s"] = step if row["interval_s"] is None else row["interval_s"]
        if step is None:
            notes.warn("one time only, and no interval: CPU times are not converted to percent")
        else:
            which = f" ({_INTERVALS[step]})" if step in _INTERVALS else ", not a vCenter interval"
            notes.say(f"interval {step:g} s{which}: the usual step between times")
    if _in_hundredths(rows):
        for row in rows:
            row["value"] = row["value"] / _HUNDREDTHS if row["unit"] == "%" else row["value"]
        notes.say("percentages are hundredths, as the API gives them: divided by 100")
    return notes


def _step(rows: Sequence[Row]) -> float | None:
    """Return the usual step between times of one object, rounded to an interval of vCenter if one is near."""
    steps: Counter[float] = Counter()
    times = defaultdict(set)
    for row in rows:
        times[row["entity"]].add(row["time"])
    for each in times.values():
        steps.update((after - before).total_seconds() for before, after in pairwise(sorted(each)))
    if not steps:
        return None
    usual = steps.most_common(1)[0][0]
    return next((known for known in _INTERVALS if abs(usual - known) <= _NEAR * known), usual)


def _in_hundredths(rows: Sequence[Row]) -> bool:
    """Return whether percentages are fixed point numbers, shown by ready time in both units or the unit's name."""
    shares = [row for row in rows if row["unit"] == "%"]
    ready = {_key(row): row for row in rows if row["counter"].lower() == "cpu.ready.summation" and row["interval_s"]}
    both = [
        (row["value"], ready[_key(row)]["value"] / ready[_key(row)]["interval_s"] / _MS_PER_PCT)
        for row in shares
        if row["counter"].lower() == "cpu.readiness.average" and _key(row) in ready
    ]
    if sum(pct for _, pct in both):
        ratio = sum(share for share, _ in both) / sum(pct for _, pct in both)
        return bool(ratio > _HUNDREDTHS / _MS_PER_PCT)
    named = bool(shares) and all((row["said"] or "").lower() == "percent" for row in shares)
    return named and all(row["value"] == int(row["value"]) for row in shares)


def _key(row: Row) -> tuple[Any, ...]:
    return row["time"], row["entity"], row["instance"]


def _is_time(row: Row) -> bool:
    counter: str = row["counter"].lower()
    return bool(row["unit"] == "ms" and counter.startswith("cpu.") and counter.endswith(".summation"))


def waits(rows: Sequence[Row]) -> tuple[list[Row], Notes]:
    """Return table `cpu_waits`, and a note on objects whose number of vCPUs is unknown."""
    times = [row for row in rows if _is_time(row)]
    known = _vcpus(times)
    found, unknown = [], set()
    for row in times:
        of_vcpu = row["instance"].isdecimal()
        host = (row["entity_id"] or "").startswith(_HOST)
        vcpus = row["vcpus"] or (None if host else known.get(row["entity"]))
        pct = row["value"] / row["interval_s"] / _MS_PER_PCT if row["interval_s"] else None
        each = pct if of_vcpu else pct / vcpus if pct is not None and vcpus else None
        if not (of_vcpu or vcpus or host):
            unknown.add(row["entity"] or "an object without a name")
        more = {"ms": row["value"], "pct": pct, "vcpus": vcpus, "pct_per_vcpu": each}
        found.append({**{name: row[name] for name in ("time", "entity", "instance", "counter", "interval_s")}, **more})
    notes = Notes()
    if unknown:
        names = ", ".join(sorted(unknown)[:5])
        many = counted(len(unknown), "object")
        notes.say(f"number of vCPUs not known of {many} ({names}): pct is the sum over them, pct_per_vcpu is null")
    return found, notes


def _vcpus(times: Sequence[Row]) -> dict[str | None, int]:
    """Return the number of vCPUs of each object with all its instances: they add up to the object's total."""
    wholes: dict[Any, float] = {}
    parts: dict[Any, dict[str, float]] = defaultdict(dict)
    for row in times:
        key = row["time"], row["entity"], row["counter"]
        if row["instance"].isdecimal():
            parts[key][row["instance"]] = row["value"]
        elif not row["instance"]:
            wholes[key] = row["value"]
    found: dict[str | None, set[int]] = defaultdict(set)
    for key, total in wholes.items():
        several = parts.get(key, {})
        # Each is rounded to whole milliseconds, or to less in charts.
        fits = total > 0 and abs(sum(several.values()) - total) <= len(several)
        found[key[1]].add(len(several) if fits and several else 0)
    return {entity: max(counts) for entity, counts in found.items() if len(counts - {0}) == 1}
