"""Experiments: a scenario done several times, and what is recorded of it each time.

An experiment is a scenario file (see `scenario.py`) with more in it:

    base = "healthy-host"              # another scenario or file whose tables these are laid over
    every = 600.0                      # seconds from one run's start to the next's; 60 s after its end if not said
    together = ["host"]                # runs that differ in these labels alone begin at the same moment

    [[run]]                            # labels of one run, or of many: lists are crossed
    filter = ["default", "iofilter"]
    vms = [1, 2, 4]
    repetition = [1, 2]

    [[change]]                         # for the runs with these labels (a list: any of its values)
    when = { filter = "iofilter" }
    set = { "vm.io_filter_us" = 6.0 }

    [[vm]]
    name = "worker-{n:02d}"
    count = "{vms}"                    # as many, `n` from 1

    [[file]]                           # what is recorded of each run; runs that name the same file share it
    tool = "esxtop"
    name = "{filter}-{vms}vm-{repetition}.csv"

    [[truth]]                          # what is wrong, where and when: written beside the files as truth.toml
    trouble = "cpu.contention"
    where = "vm web-01"

Values may depend on the run's labels and on the severity: see `variables.py`. An experiment without a `host` records
only what needs none: benchmarks, results.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from importlib.resources import files
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esxparse import toml
from esxparse_simulator.limits import check_number
from esxparse_simulator.scenario import parse_scenario, utc
from esxparse_simulator.variables import ScenarioError, filled, placed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from esxparse_simulator.host import Scenario

__all__ = [
    "Experiment",
    "FileSpec",
    "Run",
    "busy_host",
    "load_experiment",
    "load_scenario",
    "parse_experiment",
    "scenario_names",
    "scenario_titles",
]

_MOST_RUNS = 100_000
"""Runs that the labels of one block may stand for."""

_FOLDERS = ("scenarios", "faults")
_GAP_S = 60.0
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
    """The host of a scenario's first run, by the name of one that ships with the package or the path of a file.

    Raises:
        ScenarioError: As `load_experiment`, or it has no host.
    """
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

    Args:
        name_or_path: The name or the path.
        severity: 0 (mild) to 1 (severe), for faults.
        seed: Seed of the noise, instead of the file's.
        samples: How many samples each capture has, instead of the file's.
        interval: Seconds between them, instead of the file's.

    Raises:
        ScenarioError: No such experiment, a file that is no TOML, or one that does not say what it must say; the
            message names the place.
    """
    if not 0.0 <= severity <= 1.0:
        msg = f"severity {severity} is not from 0 (mild) to 1 (severe)."
        raise ScenarioError(msg)
    tree = _with_base(str(name_or_path), Path())
    for key, value in (("seed", seed), ("samples", samples), ("interval", interval)):
        if value is not None:
            tree[key] = value
    return parse_experiment(tree, severity=severity)


def parse_experiment(tree: Mapping[str, Any], *, severity: float = 1.0) -> Experiment:
    """An experiment from what a TOML file gives, its base already laid under it.

    Raises:
        ScenarioError: Something is missing, unknown or out of place; the message names it.
    """
    for key in ("name", "title", "start", "seed"):
        if key not in tree:
            msg = f"scenario: {key} is missing. Add it."
            raise ScenarioError(msg)
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
    if not runs:
        msg = "scenario: a label of [[run]] has no value, so there is no run. Give it one."
        raise ScenarioError(msg)
    return Experiment(str(tree["name"]), str(tree["title"]), tuple(runs))


def _run(tree: Mapping[str, Any], labels: Mapping[str, Any], start: datetime, number: int, severity: float) -> Run:
    mine = copy.deepcopy({key: value for key, value in tree.items() if key not in _ITS_OWN})
    for change in mine.pop("change", ()):
        if all(_fits(labels.get(name), wanted) for name, wanted in change.get("when", {}).items()):
            for path, value in change.get("set", {}).items():
                placed(mine, path, value)
    if any("name" not in spec for spec in mine.get("file", ())):
        msg = "scenario: a [[file]] has no name. Give it one."
        raise ScenarioError(msg)
    # a file without a name in this run is none: what else it says need not fit the run's labels
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
    if isinstance(samples, Mapping) or isinstance(interval, Mapping):
        msg = "scenario: samples or interval depends on the run, and every is missing. Say how far apart runs begin."
        raise ScenarioError(msg)
    check_number("samples", samples, "scenario")
    check_number("interval", interval, "scenario")
    return float(samples) * float(interval)


def _labels(tree: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The labels of every run, blocks in order, lists crossed with the last changing fastest."""
    for block in tree.get("run", ({},)):
        axes = [value if isinstance(value, list) else [value] for value in block.values()]
        if prod(map(len, axes)) > _MOST_RUNS:
            msg = f"scenario: a [[run]] stands for {prod(map(len, axes)):,} runs, more than {_MOST_RUNS:,}: name fewer."
            raise ScenarioError(msg)
        for values in product(*axes):
            yield dict(zip(block, values, strict=True))


def _fits(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else value == wanted


def _counted(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    count = row.get("count", 1)
    if not isinstance(count, int) or count < 0:
        msg = f"vm {row.get('name')}: count {count!r} is no number of VMs. Give a whole number."
        raise ScenarioError(msg)
    for n in range(1, count + 1):
        yield filled({key: value for key, value in row.items() if key != "count"}, {"n": n})


def _file(spec: Mapping[str, Any]) -> FileSpec:
    if "tool" not in spec:
        msg = f"file {spec['name']}: tool is missing. Say which tool writes it."
        raise ScenarioError(msg)
    name = str(spec["name"])
    if Path(name).is_absolute() or ".." in Path(name).parts or "{" in name:
        msg = f"file {name!r}: not a name inside the directory with every label known. Mend the name."
        raise ScenarioError(msg)
    return FileSpec(spec["tool"], name, {key: value for key, value in spec.items() if key not in {"tool", "name"}})


def _with_base(name: str, beside: Path, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """The tree of a scenario laid over that of its base: tables are merged, lists of tables joined."""
    if name in seen:
        msg = f"scenario {name} is its own base ({' -> '.join((*seen, name))}). Name another."
        raise ScenarioError(msg)
    text, where = _read(name, beside)
    try:
        tree = toml.parse(text)
    except tomllib.TOMLDecodeError as error:
        msg = f"scenario {name} is not TOML: {error}. Mend the line it names."
        raise ScenarioError(msg) from error
    if "base" not in tree:
        return tree
    return _laid(_with_base(str(tree["base"]), where, (*seen, name)), tree)


def _laid(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(under)
    for key, value in over.items():
        held = result.get(key)
        if isinstance(held, Mapping) and isinstance(value, Mapping):
            result[key] = _laid(held, value)
        elif isinstance(held, list) and isinstance(value, list) and key not in {"run", "file"}:
            result[key] = held + value
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
            msg = f"cannot read scenario {path}: {why}. Check the path."
            raise ScenarioError(msg) from error
    for folder in _FOLDERS:
        if name in _bundled(folder):
            return (files("esxparse_simulator") / folder / f"{name}.toml").read_text(encoding="utf-8"), Path()
    msg = f"no scenario {name}. There are: {', '.join(scenario_names())}; or give a path ending in .toml."
    raise ScenarioError(msg)


def _bundled(folder: str) -> set[str]:
    place = files("esxparse_simulator") / folder
    if not place.is_dir():
        return set()
    return {entry.name.removesuffix(".toml") for entry in place.iterdir() if entry.name.endswith(".toml")}
