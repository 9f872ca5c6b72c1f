"""Scenario text whose values depend on the run: labels put in, lookups made, severities turned into numbers.

Everything here works on what TOML gives (tables, lists, texts, numbers) and gives the same back, with nothing left to
fill in. Three things are filled in:

- `"{vms}"` is the value of that label (a number stays a number); `"{filter}-{vms:02d}"` is text with labels in it.
- `{ by = "vms", at = { 1 = 39000.0, 2 = 70500.0 } }` is looked up by a label; `by = ["filter", "vms"]` by several,
  whose values are joined by a slash (`"default/1" = ...`). `other` serves where nothing fits.
- `{ mild = 30.0, severe = 95.0 }` lies between the two as the severity says (0 mild, 1 severe).

>>> filled({"count": "{vms}", "name": "vm-{n}", "cpu": {"mild": 10.0, "severe": 90.0}}, {"vms": 4}, severity=0.5)
{'count': 4, 'name': 'vm-{n}', 'cpu': 50.0}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from esxparse.errors import EsxparseError

__all__ = ["ScenarioError", "filled", "placed"]

_ALONE = re.compile(r"\{(\w+)\}")
_WITHIN = re.compile(r"\{(\w+)(:[^{}]*)?\}")
_STEP = re.compile(r"(\w+)(?:\[([^\[\].]+)\])?")


class ScenarioError(EsxparseError):
    """A scenario that says something the simulator has no word for."""


def filled(tree: Any, labels: Mapping[str, Any], *, severity: float = 1.0, place: str = "scenario") -> Any:
    """`tree` with labels, lookups and severities turned into values.

    Raises:
        ScenarioError: A lookup by a label that the run does not have, or without a value for it; the message names the
            place. Names in braces that are no labels are left as they are.
    """
    if isinstance(tree, str):
        return _text(tree, labels)
    if isinstance(tree, Mapping):
        if "by" in tree and "at" in tree:
            return filled(_looked_up(tree, labels, place), labels, severity=severity, place=place)
        if set(tree) == {"mild", "severe"}:
            mild, severe = float(tree["mild"]), float(tree["severe"])
            return mild + (severe - mild) * severity
        return {key: filled(value, labels, severity=severity, place=f"{place}.{key}") for key, value in tree.items()}
    if isinstance(tree, Sequence):
        return [filled(value, labels, severity=severity, place=f"{place}[{n}]") for n, value in enumerate(tree)]
    return tree


def placed(tree: dict[str, Any], path: str, value: Any) -> None:
    """Put `value` at `path` of `tree`.

    `host.policy`; `vm.load.cpu` of every VM, `vm[0].load.cpu` of the first, `vm[web-01].load.cpu` of the one of that
    name (a name without dots and brackets).

    Raises:
        ScenarioError: There is no such place.
    """
    steps = [found.groups() for part in path.split(".") if (found := _STEP.fullmatch(part))]
    if len(steps) != path.count(".") + 1 or steps[-1][1] is not None:
        msg = f"{path!r} is no place in a scenario. Write it as vm.load.cpu or vm[0].load.cpu."
        raise ScenarioError(msg)
    spots: list[dict[str, Any]] = [tree]
    for key, index in steps[:-1]:
        spots = [inner for spot in spots for inner in _inside(spot, key, index, path)]
    for spot in spots:
        spot[steps[-1][0]] = value


def _inside(spot: dict[str, Any], key: str, index: str | None, path: str) -> list[dict[str, Any]]:
    held = spot.setdefault(key, {}) if index is None else spot.get(key)
    if isinstance(held, list):
        if index is None:
            return held
        if not index.isdecimal():
            named = [table for table in held if table.get("name") == index]
            if named:
                return named
        elif int(index) < len(held):
            return [held[int(index)]]
    elif isinstance(held, dict) and index is None:
        return [held]
    msg = f"there is no {path!r} in the scenario: {key!r} holds no such table. Add it, or name another."
    raise ScenarioError(msg)


def _text(text: str, labels: Mapping[str, Any]) -> Any:
    alone = _ALONE.fullmatch(text)
    if alone and alone[1] in labels:
        return labels[alone[1]]

    def put(found: re.Match[str]) -> str:
        return format(labels[found[1]], (found[2] or ":")[1:]) if found[1] in labels else found[0]

    return _WITHIN.sub(put, text)


def _looked_up(table: Mapping[str, Any], labels: Mapping[str, Any], place: str) -> Any:
    by = [table["by"]] if isinstance(table["by"], str) else list(table["by"])
    missing = [name for name in by if name not in labels]
    if missing:
        msg = f"{place} is looked up by {missing[0]!r}, which is no label of the run. It has: {', '.join(labels)}."
        raise ScenarioError(msg)
    key = "/".join(str(labels[name]) for name in by)
    if key in table["at"]:
        return table["at"][key]
    if "other" in table:
        return table["other"]
    msg = f"{place} has no value at {key!r} (by {', '.join(by)}). Add it to `at`, or give `other`."
    raise ScenarioError(msg)
