"""Reads and checks `study.toml`: every problem names its line.

A mistake above the runs (an invalid window, an unknown key) stops the study, because it would change every number. A
mistake in one `[[run]]` stays with that run, which becomes a gap in the table; the others are computed.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from esxparse import toml
from esxparse.diagnosis.experiments.tables import roles
from esxparse.errors import EsxparseError
from esxparse.errors import nearest as nearest_names
from esxparse.locations import legible
from esxparse.recording import Note
from esxparse.studies.asked import Asked, asked_of
from esxparse.studies.columns import COLUMNS
from esxparse.studies.entries import FileSpec, WindowSpec, facts_of, figures_of, file_of, window_of
from esxparse.studies.lines import Complaints, Place, index, line_of
from esxparse.studies.patterns import INT64, unknown
from esxparse.studies.roles import ROLES, nearest

FILE_NAME: Final = "study.toml"
SUFFIX: Final = ".toml"
_HEAD: Final = ("title", "description", "axis", "baseline")
_TOP: Final = (*_HEAD, "labels", "window", "host", "files", "experiments", "report", "run")
_RUN: Final = ("window", "host", "values", "repetition")
_OUR_LABEL: Final = "repetition"
_CLOSE: Final = 0.75


@dataclass(frozen=True)
class RunSpec:
    """One `[[run]]`: as many runs as its labels have combinations, or its patterns find files."""

    line: int | None
    labels: Mapping[str, tuple[Any, ...]]
    files: Mapping[str, FileSpec]
    window: WindowSpec
    host: Mapping[str, Any]
    values: Mapping[str, float]
    problems: tuple[Note, ...] = ()
    """Why this run is a gap."""


@dataclass(frozen=True)
class Manifest:
    """The contents of a manifest."""

    path: Path
    title: str
    description: str = ""
    axis: tuple[str, ...] = ()
    baseline: Mapping[str, Any] = field(default_factory=dict)
    baseline_line: int | None = None
    experiments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    asked: Asked = field(default_factory=Asked)
    runs: tuple[RunSpec, ...] = ()


def manifest_path(where: Path) -> Path:
    """The manifest's path, also when its directory was given."""
    return where / FILE_NAME if os.path.isdir(where) else where  # noqa: PTH112  False for a name that is too long


def parse(text: str, path: Path) -> tuple[Manifest, Complaints]:
    """The manifest, and the problems above its runs."""
    try:
        data = toml.parse(text)
    except tomllib.TOMLDecodeError as error:
        raise EsxparseError(f"{path} is not valid TOML: {error}: correct that line") from None
    wrong = Complaints(index(text))
    for key in data:
        if key not in _TOP:
            wrong.add(f"unknown key {key!r}{nearest(key, _TOP)}", key)
    axis = _names(data.get("axis", []), wrong)
    baseline = _baseline(data.get("baseline", {}), wrong)
    shared: dict[str, Any] = {
        "labels": _table(data, "labels", wrong),
        "files": _table(data, "files", wrong),
        "window": window_of(_table(data, "window", wrong), WindowSpec(), wrong, "window"),
        "host": facts_of(_table(data, "host", wrong), wrong, "host"),
    }
    for name in shared["labels"]:
        if name in ROLES or name in _RUN[:3]:
            # In a [[run]] it is no label, and this one would be lost there.
            wrong.add(f"{name!r} is a key of [[run]], so it cannot be a label: rename the label", "labels", name)
    for role in shared["files"]:
        if role not in ROLES:
            wrong.add(f"unknown kind of file {role!r}{nearest(role, ROLES)}", "files", role)
    hosts = shared["host"].get("load_hosts")
    expected = {*axis, *baseline, *(_named(hosts) if isinstance(hosts, str) else ())} - set(shared["labels"])
    rows = data.get("run", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        wrong.add("runs must be tables: write [[run]] above each", "run")
        rows = []
    elif not rows:
        wrong.add("the study has no runs: add a [[run]] with its labels and files")
    runs = _told_apart(
        [_run(row, place, shared, expected, wrong.lines) for place, row in enumerate(rows)],
        wrong.lines,
    )
    manifest = Manifest(
        path=path,
        title=_text(data, "title", legible(path.parent.name or path.stem), wrong),
        description=_text(data, "description", "", wrong),
        axis=axis,
        baseline=baseline,
        baseline_line=line_of(wrong.lines, "baseline"),
        experiments=_experiments(_table(data, "experiments", wrong), wrong),
        asked=asked_of(_table(data, "report", wrong), wrong),
        runs=runs,
    )
    return manifest, wrong


def is_manifest(path: Path) -> bool:
    """Whether a file is a study's: by its name, or by the runs in it and what else it says.

    Raises EsxparseError: It cannot be read.
    """
    if path.name == FILE_NAME:
        return True
    try:
        data = toml.parse(_read(path))
    except tomllib.TOMLDecodeError:
        return False
    runs = data.get("run")
    return isinstance(runs, list) and bool(runs) and set(data) <= set(_TOP)


def load(where: str | Path) -> Manifest:
    """Reads a manifest."""
    manifest, wrong = examine(where)
    if wrong:
        more = f" (and {len(wrong) - 1} more: esxparse study check {manifest.path})" if len(wrong) > 1 else ""
        raise EsxparseError(f"{manifest.path}, {wrong[0]}{more}")
    return manifest


def examine(where: str | Path) -> tuple[Manifest, Complaints]:
    """Reads a manifest and returns all problems instead of raising the first."""
    path = manifest_path(Path(where))
    return parse(_read(path), path)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        hint = "; esxparse study new DIR writes one" if path.name == FILE_NAME else ""
        raise EsxparseError(f"{path} cannot be read: {error.strerror}{hint}") from None
    except UnicodeDecodeError:
        raise EsxparseError(f"{path} is not valid TOML: it is not UTF-8") from None
    except ValueError as error:
        raise EsxparseError(f"{path} cannot be read: {error}") from None


def _table(data: Mapping[str, Any], key: str, wrong: Complaints, *above: str | int) -> dict[str, Any]:
    found = data.get(key, {})
    if isinstance(found, dict):
        return found
    named = f"run.{key}" if above else key
    wrong.add(f"{key} must be a table: write [{named}] above its keys, not {key} = {found!r}", *above, key)
    return {}


def _text(data: Mapping[str, Any], key: str, default: str, wrong: Complaints) -> str:
    found = data.get(key, default)
    if isinstance(found, str):
        return found
    wrong.add(f'{key} must be text, not {found!r}: write {key} = "..."', key)
    return default


def _names(found: Any, wrong: Complaints) -> tuple[str, ...]:
    names = [found] if isinstance(found, str) else found
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return tuple(names)
    wrong.add(f'axis must be a list of labels, not {found!r}: write axis = ["vms"]', "axis")
    return ()


def _baseline(found: Any, wrong: Complaints) -> dict[str, Any]:
    if not isinstance(found, dict) or not all(_is_label(value) for value in found.values()):
        wrong.add('baseline must be a table of labels: write baseline = { filter = "default" }', "baseline")
        return {}
    return found


def _experiments(found: Mapping[str, Any], wrong: Complaints) -> dict[str, dict[str, Any]]:
    """The labels that make the runs of an experiment: `cached = { disk = "small" }`."""
    for role, labels in found.items():
        if role not in roles():
            wrong.add(f"unknown experiment {role!r}{nearest(role, roles())}", "experiments", role)
        elif not isinstance(labels, dict) or not labels or not all(_is_label(value) for value in labels.values()):
            msg = f'{role} must be a table of labels: write {role} = {{ disk = "small" }}'
            wrong.add(msg, "experiments", role)
    return dict(found)


def _is_label(value: Any) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if isinstance(value, int) and value not in INT64:
        return False
    return isinstance(value, str | int | float | bool) or (isinstance(value, date) and not isinstance(value, datetime))


def _run(
    row: Mapping[str, Any], place: int, shared: Mapping[str, Any], expected: set[str], lines: Mapping[Place, int]
) -> RunSpec:
    """One `[[run]]`, completed from the tables above it."""
    wrong = Complaints(lines)
    top = ("run", place)
    labels: dict[str, tuple[Any, ...]] = {}
    for source, name, value in (
        *((("labels",), name, value) for name, value in shared["labels"].items() if name not in row),
        *((top, name, value) for name, value in row.items() if name not in ROLES and name not in _RUN[:3]),
    ):
        labels |= _label(name, value, wrong, (*source, name))
    _misspelt(row, expected, wrong, top)
    entries = {role: entry for role, entry in shared["files"].items() if role in ROLES and _names_file(entry)}
    files: dict[str, FileSpec] = {}
    for role, entry in (entries | {name: row[name] for name in row if name in ROLES}).items():
        place_of = (*top, role) if role in row else ("files", role)
        found = file_of(role, entry, shared["files"].get(role, {}), wrong, place_of)
        if found and (taken := _taken(found, labels)):
            wrong.add(
                f"{role}: {{{taken}}} is also a column of the results: rename the placeholder",
                *place_of,
            )
        else:
            files |= {role: found} if found else {}
    values = figures_of(_table(row, "values", wrong, *top), wrong, (*top, "values"))
    if not files and not values and not wrong:
        wrong.add("this run has neither files nor [run.values]: there is nothing to compute", *top)
    return RunSpec(
        line=line_of(lines, *top),
        labels=labels,
        files=files,
        window=window_of(_table(row, "window", wrong, *top), shared["window"], wrong, *top, "window"),
        host={**shared["host"], **facts_of(_table(row, "host", wrong, *top), wrong, *top, "host")},
        values=values,
        problems=tuple(wrong),
    )


def _taken(entry: FileSpec, labels: Mapping[str, Any]) -> str | None:
    """A placeholder of file names that is also a column of the results."""
    found = (name for name in _placeholders(entry) if name not in {_OUR_LABEL, *labels})
    return next((name for name in found if name in COLUMNS), None)


def _placeholders(entry: FileSpec) -> Iterator[str]:
    for pattern in entry.patterns:
        yield from _named(pattern)


def _named(pattern: str) -> Iterator[str]:
    """The labels that a pattern names; its mistakes are reported where it is filled."""
    with suppress(EsxparseError):
        yield from unknown(pattern)


def _told_apart(runs: Sequence[RunSpec], lines: Mapping[Place, int]) -> tuple[RunSpec, ...]:
    """The runs, without figures named like a label of any run: both would claim one column."""
    labels = {name for run in runs for name in run.labels}
    labels |= {name for run in runs for entry in run.files.values() for name in _placeholders(entry)}
    apart = []
    for place, run in enumerate(runs):
        wrong = Complaints(lines)
        for name in sorted(labels & set(run.values)):
            wrong.add(f"the figure {name!r} is also a label: rename one of them", "run", place, "values", name)
        left = {name: value for name, value in run.values.items() if name not in labels}
        apart.append(replace(run, values=left, problems=(*run.problems, *wrong)))
    return tuple(apart)


def _names_file(entry: Any) -> bool:
    """Whether an entry of [files] names a file for all runs, rather than options alone."""
    return not isinstance(entry, dict) or "file" in entry


def _label(name: str, value: Any, wrong: Complaints, path: Sequence[str | int]) -> dict[str, tuple[Any, ...]]:
    """One label with its values; empty if they are invalid."""
    values = value if isinstance(value, list) else [value]
    if not name or (name in COLUMNS and name != _OUR_LABEL):
        what = "the name of a column of the results" if name else "no name"
        wrong.add(f"the label {name!r} has {what}: give it another", *path)
    elif isinstance(value, dict):
        wrong.add(f"{name!r} is a table: labels must be text, numbers or lists of them{nearest(name, _RUN)}", *path)
    elif any(isinstance(one, int) and one not in INT64 for one in values):
        wrong.add(f"the label {name!r} is {value!r}: whole numbers must fit in 64 bits", *path)
    elif not values or not all(_is_label(one) for one in values):
        wrong.add(f"the label {name!r} is {value!r}: write text, a number, or a list of them", *path)
    elif name == _OUR_LABEL and not all(type(one) is int for one in values):
        wrong.add(f"repetition is {value!r}: write a number, from 1", *path)
    else:
        return {name: tuple(values)}
    return {}


def _misspelt(row: Mapping[str, Any], expected: set[str], wrong: Complaints, top: Sequence[str | int]) -> None:
    """Reports labels that look like a misspelt key, or like a label that the study compares by and this run lacks."""
    known = {*ROLES, *_RUN, *(expected - set(row))}
    for name in row:
        if name in known or name in expected:
            continue
        if near := nearest_names(name, sorted(known), alike=_CLOSE):
            wrong.add(f"unknown key {name!r}: did you mean {near[0]!r}?", *top, name)
