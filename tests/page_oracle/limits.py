"""Thresholds as the rules of esxparse have them, read as data: what a page quotes of them must be theirs."""

from __future__ import annotations

import tomllib
from pathlib import Path

from page_oracle.arithmetic import highest, lowest, p95, quantile
from page_oracle.compare import Rows

FOLDER = Path(__file__).parents[2] / "esxparse" / "diagnosis"
WORST = {"critical": 0, "warning": 1, "peaks": 2}
GAP = 2
"""Samples within a limit that do not end a spell."""


def read(profile: str = "standard") -> dict[str, dict]:
    """Rules by id, with what the profile changes."""
    files = [*sorted((FOLDER / "rules").glob("*.toml")), FOLDER / "profiles" / f"{profile}.toml"]
    found: dict[str, dict] = {}
    for file in files:
        for rule in tomllib.loads(file.read_text(encoding="utf-8")).get("rule", ()):
            found[rule["id"]] = found.get(rule["id"], {}) | rule
    return found


def lines(rule: dict, unit: str, pattern: str) -> Rows:
    """The dashed lines of a chart, with their words."""
    warn, critical = rule["warn"], rule.get("critical")
    words = {(f"{word} {at:,g} {unit}",): {"at": at} for word, at in (("warn", warn), ("critical", critical)) if at}
    if warn and critical:
        words[f"warn {warn:,g}, critical {critical:,g} {unit}",] = {"at": critical}
        words["",] = {"at": warn}
    return Rows(pattern, ("text",), words, some=True, ordered=False)


def sources(rules: dict[str, dict]) -> Rows:
    """The table of all thresholds and their sources."""
    rows = {
        (rule["id"],): {
            "Warning from": rule["warn"],
            "Critical from": rule.get("critical"),
            "Measure": (rule["screen"],),
            "Unit": (rule["unit"],),
            "Source": (" ".join(rule["source"].split()),),
        }
        for rule in rules.values()
    }
    return Rows("Thresholds of profile", ("Threshold",), rows, some=True, ordered=False)


def exceeded(rules: dict[str, dict], judged: dict[str, dict[str, list]], samples: int) -> Rows:
    """The table of thresholds exceeded: limits of every rule, and the numbers of those in `judged`."""
    del samples
    rows: dict[tuple, dict] = {}
    for rule in rules.values():
        row: dict = {
            "Warning from": rule["warn"],
            "Critical from": rule.get("critical"),
            "Meaning": (rule.get("meaning", ""),),
            "Unit": (rule["unit"],),
        }
        rows[rule["screen"], rule.get("meaning", "")] = row | _worst(rule, judged.get(rule["id"], {}))
    return Rows("Thresholds exceeded", ("Measure", "Meaning"), rows, some=True, ordered=False)


def _worst(rule: dict, series: dict[str, list]) -> dict:
    """The worst object by level, then by 95th percentile: that, its worst sample, and how often it passes."""
    below = rule["direction"] == "below"
    each = []
    for name, column in series.items():
        known = [one for one in column if one is not None]
        if known:
            end = quantile(known, 0.05) if below else p95(known)
            extreme = lowest(known) if below else highest(known)
            over = [one for one in known if passes(rule, one, rule["warn"])]
            each.append((level(rule, column), end, extreme, 100 * len(over) / len(known), name))
    if not each:
        return {}
    sign = -1 if below else 1
    lasting = [one for one in each if one[0]]
    passing = lasting or [one for one in each if one[3]]
    if not passing:
        return {}
    worst = max(passing, key=lambda one: (one[0], one[1] * sign * bool(lasting), one[2] * sign))
    return {
        "95th percentile": worst[1],
        "Worst sample": worst[2],
        "Time over %": worst[3],
        "Over the limit": (float(len(passing)), " of ", float(len(each)), _word(rule["kind"], len(each))),
    }


def level(rule: dict, column: list) -> int:
    """2 where it is critical for as long as the rule asks, 1 where it warns for as long, else 0."""
    return sum(bool(spells(rule, column, rule[limit])) for limit in ("warn", "critical") if limit in rule)


def spells(rule: dict, column: list, limit: float) -> list[tuple[int, int]]:
    """Runs of samples beyond a limit, short gaps filled, with as many such samples as the rule asks for."""
    bad = [one is not None and passes(rule, one, limit) for one in column]
    joined: list[list[int]] = []
    for start, stop in runs(bad):
        if joined and start - joined[-1][1] <= GAP:
            joined[-1][1] = stop
        else:
            joined.append([start, stop])
    persist = min(rule.get("persist", 3), max(1, len(column) - 1))
    return [(start, stop) for start, stop in joined if sum(bad[start:stop]) >= persist]


def runs(held: list[bool]) -> list[tuple[int, int]]:
    """First sample and the one after the last of each run."""
    starts = [at for at, one in enumerate(held) if one and not (at and held[at - 1])]
    stops = [at + 1 for at, one in enumerate(held) if one and held[at + 1 : at + 2] != [True]]
    return list(zip(starts, stops, strict=True))


def _word(kind: str, count: int) -> str:
    word = {"vm": "VM", "nfs": "volume", "pcpu": "physical CPU", "vsan": "vSAN"}.get(kind, kind)
    return f" {word}{'' if count == 1 else 's'}"


def passes(rule: dict, number: float, limit: float) -> bool:
    """A limit of 0 is passed by what is above it."""
    if rule["direction"] == "below":
        return number < limit
    return number > limit if limit == 0 else number >= limit
