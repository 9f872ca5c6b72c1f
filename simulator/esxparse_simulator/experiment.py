"""Experiments: a scenario done several times, and what is recorded of it each time.

`docs/simulate.md` shows the tables of a file. Values may depend on a run:

- `"{vms}"` is the value of that label (a number stays a number); `"{filter}-{vms:02d}"` is text with labels in it.
- `{ by = "vms", at = { 1 = 39000.0, 2 = 70500.0 } }` is looked up by a label; `by = ["filter", "vms"]` by several,
  joined by a slash (`"default/1" = ...`). `other` serves where nothing fits.
- `{ mild = 30.0, severe = 95.0 }` lies between the two as the severity says (0 mild, 1 severe).

>>> filled({"count": "{vms}", "name": "vm-{n}", "cpu": {"mild": 10.0, "severe": 90.0}}, {"vms": 4}, severity=0.5)
{'count': 4, 'name': 'vm-{n}', 'cpu': 50.0}
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.resources import files
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from esxparse.errors import EsxparseError
from esxparse.toml.document import Document
from esxparse_simulator.host import Scenario
from esxparse_simulator.limits import ScenarioError, check_number, known, need
from esxparse_simulator.scenario import parse_scenario, utc

_MOST_RUNS = 100_000  # that the labels of one block may stand for
_FOLDERS = ("scenarios", "faults")
_GAP_S = 60.0
_ALONE = re.compile(r"\{(\w+)\}")
_WITHIN = re.compile(r"\{(\w+)(:[^{}]*)?\}")
_STEP = re.compile(r"(\w+)(?:\[([^\[\].]+)\])?")
_ITS_OWN = {"base", "every", "run", "together", "why"}  # of the file, not of a host


@dataclass(frozen=True, slots=True)
class FileSpec:
    """One file of a run: which tool wrote it, under which name, and what else the scenario says of it."""

    tool: str
    name: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its labels, when it begins, the seed of its noise, its host (None: none), its files and its truths."""

    labels: Mapping[str, Any]
    start: datetime
    seed: int
    scenario: Scenario | None
    files: tuple[FileSpec, ...]
    truths: tuple[Mapping[str, Any], ...]
    without: Mapping[str, Scenario] = field(default_factory=dict)
    """By trouble the host that has all but that one."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A named set of runs."""

    name: str
    title: str
    runs: tuple[Run, ...]


def scenario_names() -> tuple[str, ...]:
    """Names of the scenarios and faults that ship with the package, sorted."""
    return tuple(sorted(name for folder in _FOLDERS for name in _bundled(folder)))


def scenario_titles() -> dict[str, str]:
    """What each of the scenarios that ship with the package is, by name."""
    return {name: str(_with_base(name, Path())["title"]) for name in scenario_names()}


def busy_host() -> Scenario:
    """The scenario behind the bundled capture: eight VMs, ten minutes, six troubles."""
    return load_scenario("busy-host")


def load_scenario(name_or_path: str | Path) -> Scenario:
    """The host of a scenario's first run; otherwise as `load_experiment`."""
    scenario = load_experiment(name_or_path).runs[0].scenario
    if scenario is None:
        msg = f"scenario {name_or_path} has no host. Give it a [host], or record its files with `esxparse simulate`."
        raise ScenarioError(msg)
    return scenario


def load_experiment(
    name_or_path: str | Path,
    *,
    severity: float = 1.0,
    seed: int | None = None,
    samples: int | None = None,
    interval: float | None = None,
) -> Experiment:
    """An experiment by the name of one that ships with the package, or by the path of a `.toml` file.

    `severity` goes from 0 (mild) to 1 (severe); seed, samples and interval (seconds) replace those of the file.

    Raises:
        ScenarioError: There is no such experiment, or its file is wrong; the message names the place.
    """
    need(0.0 <= severity <= 1.0, f"severity {severity} is not from 0 (mild) to 1 (severe).")
    tree = _with_base(str(name_or_path), Path())
    for key, value in (("seed", seed), ("samples", samples), ("interval", interval)):
        if value is not None:
            tree[key] = value
    return parse_experiment(tree, severity=severity)


def parse_experiment(tree: Mapping[str, Any], *, severity: float = 1.0) -> Experiment:
    """An experiment from the tables of a TOML file, its base already laid under it.

    Raises:
        ScenarioError: Something is missing, unknown or out of place; the message names it.
    """
    for key in ("name", "title", "start", "seed"):
        need(key in tree, f"scenario: {key} is missing. Add it.")
    begin = utc(tree["start"])
    if "every" in tree:
        check_number("interval", tree["every"], "scenario: every")
    runs: list[Run] = []
    together = set(tree.get("together", ()))
    slots: dict[tuple[tuple[str, Any], ...], int] = {}
    for number, labels in enumerate(_labels(tree)):
        # samples and interval may be looked up by a label; then `every` has to be said
        every = tree["every"] if "every" in tree else _lasts(tree) + _GAP_S
        like = tuple((name, value) for name, value in labels.items() if name not in together)
        slot = slots.setdefault(like, len(slots)) if together else number
        runs.append(_run(tree, labels, begin + timedelta(seconds=slot * float(every)), number, severity))
    need(runs, "scenario: a label of [[run]] has no value, so there is no run. Give it one.")
    return Experiment(str(tree["name"]), str(tree["title"]), tuple(runs))


def _run(tree: Mapping[str, Any], labels: Mapping[str, Any], start: datetime, number: int, severity: float) -> Run:
    mine = copy.deepcopy({key: value for key, value in tree.items() if key not in _ITS_OWN})
    for change in mine.pop("change", ()):
        if all(_fits(labels.get(name), wanted) for name, wanted in change.get("when", {}).items()):
            for path, value in change.get("set", {}).items():
                placed(mine, path, value)
    need(all("name" in spec for spec in mine.get("file", ())), "scenario: a [[file]] has no name. Give it one.")
    # a file without a name in this run is left out: the rest of it need not fit the run's labels
    mine["file"] = [spec for spec in mine.get("file", ()) if filled(spec.get("name"), labels)]
    mine = filled(mine, labels, severity=severity)
    # runs of one experiment must not wobble alike; the first keeps the seed that a single capture has
    seed = int(mine["seed"]) + 7919 * number
    truths, specs = mine.pop("truth", ()), mine.pop("file", ())
    mine |= {"start": start, "seed": seed, "vm": [vm for row in mine.get("vm", ()) for vm in _counted(row)]}
    mine.setdefault("samples", 1)
    mine.setdefault("interval", 1.0)
    return Run(
        labels=labels,
        start=start,
        seed=seed,
        scenario=parse_scenario(mine) if "host" in mine else None,
        files=tuple(_file(spec) for spec in specs),
        truths=tuple({"severity": severity, **truth} for truth in truths),
    )


def _lasts(tree: Mapping[str, Any]) -> float:
    samples, interval = tree.get("samples", 1), tree.get("interval", 1.0)
    need(
        not isinstance(samples, Mapping) and not isinstance(interval, Mapping),
        "scenario: samples or interval depends on the run, and every is missing. Say how far apart runs begin.",
    )
    check_number("samples", samples, "scenario")
    check_number("interval", interval, "scenario")
    return float(samples) * float(interval)


def _labels(tree: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The labels of every run, blocks in order, lists crossed with the last changing fastest."""
    for block in tree.get("run", ({},)):
        axes = [value if isinstance(value, list) else [value] for value in block.values()]
        many = prod(map(len, axes))
        need(many <= _MOST_RUNS, f"scenario: a [[run]] stands for {many:,} runs, more than {_MOST_RUNS:,}: name fewer.")
        for values in product(*axes):
            yield dict(zip(block, values, strict=True))


def _fits(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else value == wanted


def _counted(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    count = row.get("count", 1)
    whole = isinstance(count, int) and count >= 0
    need(whole, f"vm {row.get('name')}: count {count!r} is not a number of VMs. Give a whole number.")
    for n in range(1, count + 1):
        yield filled({key: value for key, value in row.items() if key != "count"}, {"n": n})


def _file(spec: Mapping[str, Any]) -> FileSpec:
    need("tool" in spec, f"file {spec['name']}: tool is missing. Say which tool writes it.")
    name = str(spec["name"])
    inside = not Path(name).is_absolute() and ".." not in Path(name).parts and "{" not in name
    need(inside, f"file {name!r}: not a name inside the directory with every label known. Mend the name.")
    return FileSpec(spec["tool"], name, {key: value for key, value in spec.items() if key not in {"tool", "name"}})


def _with_base(name: str, beside: Path, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """The tables of a scenario laid over those of its base: tables are merged, lists of tables joined."""
    need(name not in seen, f"scenario {name} is its own base ({' -> '.join((*seen, name))}). Name another.")
    text, where = _read(name, beside)
    try:
        tree = Document(text, name).tables
    except EsxparseError as error:
        raise ScenarioError(str(error)) from None
    if "base" not in tree:
        return tree
    return _laid(_with_base(str(tree["base"]), where, (*seen, name)), tree)


def _laid(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(under)
    for key, value in over.items():
        existing = result.get(key)
        if isinstance(existing, Mapping) and isinstance(value, Mapping):
            result[key] = _laid(existing, value)
        elif isinstance(existing, list) and isinstance(value, list) and key not in {"run", "file"}:
            result[key] = existing + value
        else:
            result[key] = value
    return result


def _read(name: str, beside: Path) -> tuple[str, Path]:
    if name.endswith(".toml"):
        path = beside / name
        try:
            return path.read_text(encoding="utf-8"), path.parent
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ScenarioError(f"cannot read scenario {path}: {why}. Check the path.") from error
    known(name, scenario_names(), f"no scenario {name}, nor a path ending in .toml")
    folder = next(folder for folder in _FOLDERS if name in _bundled(folder))
    return (files("esxparse_simulator") / folder / f"{name}.toml").read_text(encoding="utf-8"), Path()


def _bundled(folder: str) -> set[str]:
    place = files("esxparse_simulator") / folder
    if not place.is_dir():
        return set()
    return {entry.name.removesuffix(".toml") for entry in place.iterdir() if entry.name.endswith(".toml")}


def filled(tree: Any, labels: Mapping[str, Any], *, severity: float = 1.0, place: str = "scenario") -> Any:
    """`tree` with labels, lookups and severities turned into values; other names in braces stay as they are.

    Raises:
        ScenarioError: A lookup by an unknown label, or without a value for it; the message names the place.
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
    """Puts `value` at `path` of `tree`; raises `ScenarioError` if there is no such place.

    `host.policy`; `vm.load.cpu` of every VM, `vm[0].load.cpu` of the first, `vm[web-01].load.cpu` of the one of that
    name (a name without dots and brackets).
    """
    steps = [found.groups() for part in path.split(".") if (found := _STEP.fullmatch(part))]
    known = len(steps) == path.count(".") + 1 and steps[-1][1] is None
    need(known, f"{path!r} is not a place in a scenario. Write it as vm.load.cpu or vm[0].load.cpu.")
    spots: list[dict[str, Any]] = [tree]
    for key, index in steps[:-1]:
        spots = [inner for spot in spots for inner in _inside(spot, key, index, path)]
    for spot in spots:
        spot[steps[-1][0]] = value


def _inside(spot: dict[str, Any], key: str, index: str | None, path: str) -> list[dict[str, Any]]:
    existing = spot.setdefault(key, {}) if index is None else spot.get(key)
    if isinstance(existing, list):
        if index is None:
            return existing
        if not index.isdecimal():
            matches = [table for table in existing if table.get("name") == index]
            if matches:
                return matches
        elif int(index) < len(existing):
            return [existing[int(index)]]
    elif isinstance(existing, dict) and index is None:
        return [existing]
    raise ScenarioError(f"there is no {path!r} in the scenario: {key!r} holds no such table. Add it, or name another.")


def _text(text: str, labels: Mapping[str, Any]) -> Any:
    alone = _ALONE.fullmatch(text)
    if alone and alone[1] in labels:
        return labels[alone[1]]

    def put(found: re.Match[str]) -> str:
        return format(labels[found[1]], (found[2] or ":")[1:]) if found[1] in labels else found[0]

    return _WITHIN.sub(put, text)


def _looked_up(table: Mapping[str, Any], labels: Mapping[str, Any], place: str) -> Any:
    by = [table["by"]] if isinstance(table["by"], str) else list(table["by"])
    for name in by:
        unknown = f"{place} is looked up by {name!r}, which is not a label of the run. It has: {', '.join(labels)}."
        need(name in labels, unknown)
    key = "/".join(str(labels[name]) for name in by)
    found = key in table["at"] or "other" in table
    need(found, f"{place} has no value at {key!r} (by {', '.join(by)}). Add it to `at`, or give `other`.")
    return table["at"][key] if key in table["at"] else table["other"]
