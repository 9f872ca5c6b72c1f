"""Reading and checking of `study.toml`: every problem has its line.

A mistake above the runs (an invalid window, an unknown key) stops the study, because it would change every number. A
mistake in one `[[run]]` only affects that run, which becomes a gap in the table; the others are computed.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Meta

from esxparse import toml
from esxparse.diagnosis.experiments.tables import roles
from esxparse.errors import EsxparseError, nearest
from esxparse.locations import legible
from esxparse.recording import Note
from esxparse.studies.columns import COLUMNS
from esxparse.studies.entries import FileSpec, WindowSpec, facts_of, figures_of, file_of, window_of
from esxparse.studies.patterns import unknown
from esxparse.studies.report_section import ReportSection
from esxparse.studies.roles import ROLES
from esxparse.toml.checked import INT64, Read, check_names, choose, value_of, written
from esxparse.toml.document import Document, Problem, Problems, read_text

FILE_NAME: Final = "study.toml"
SUFFIX: Final = ".toml"
_RUN: Final = ("window", "host", "values", "repetition")
_OUR_LABEL: Final = "repetition"
_CLOSE: Final = 0.75


@dataclass(frozen=True)
class RunSpec:
    """One `[[run]]`: one run for each combination of its labels, or for each file that its patterns match."""

    line: int | None
    labels: Mapping[str, tuple[Any, ...]]
    files: Mapping[str, FileSpec]
    window: WindowSpec
    host: Mapping[str, Any]
    values: Mapping[str, float]
    problems: tuple[Note, ...] = ()
    """Reasons why this run is a gap."""


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
    report_section: ReportSection = field(default_factory=ReportSection)
    runs: tuple[RunSpec, ...] = ()


def _label_value(value: Any, name: str) -> Any:
    if _is_label(value):
        return value
    raise EsxparseError(f"{name} is {written(value)}; write text or a number of at most 64 bits")


_Label = Annotated[Any, Read(_label_value)]


@dataclass(frozen=True)
class _Tables:
    """The keys of a manifest; keys of runs, windows and hosts are checked separately."""

    title: str | None = None
    description: str = ""
    axis: Annotated[str | tuple[str, ...], Meta(description="a label, or a list of labels")] = ()
    baseline: Mapping[str, _Label] = field(default_factory=dict)
    labels: Mapping[str, Any] = field(default_factory=dict)
    window: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    experiments: Mapping[str, Mapping[str, _Label]] = field(default_factory=dict)
    report: ReportSection = field(default_factory=ReportSection)
    run: tuple[Mapping[str, Any], ...] = ()


_TOP: Final = tuple(one.name for one in fields(_Tables))


def manifest_path(where: Path) -> Path:
    """Return the manifest's path, also from its directory."""
    return where / FILE_NAME if os.path.isdir(where) else where  # noqa: PTH112  False for a name that is too long


def parse(text: str, path: Path) -> tuple[Manifest, Problems]:
    """Return the manifest, and the problems above its runs."""
    document = Document(text, str(path))
    wrong = Problems(document)
    top: _Tables = value_of(_Tables, document.tables, wrong)
    axis = (top.axis,) if isinstance(top.axis, str) else top.axis
    # Runs are completed from the table itself; a mistake in the table is reported once.
    window_of(top.window, {}, wrong, "window")
    host = facts_of(top.host, wrong, "host")
    for name in top.labels:
        if name in ROLES or name in _RUN[:3]:
            # In a [[run]] this key is not a label, so the label would be lost there.
            wrong.add(f"{written(name)} is a key of [[run]], so it cannot be a label; rename the label", "labels", name)
    check_names(top.files, ROLES, wrong, "files")
    check_names(top.experiments, roles(), wrong, "experiments")
    for role, factors in top.experiments.items():
        if not factors:
            wrong.add(f'{role} has no label; write {role} = {{ disk = "small" }}', "experiments", role)
    if not document.tables.get("run", []):
        wrong.add("the study has no runs; add a [[run]] with its labels and files", "run")
    hosts = host.get("load_hosts")
    expected = {*axis, *top.baseline, *(_labels_in(hosts) if isinstance(hosts, str) else ())} - set(top.labels)
    runs = [_run(row, place, top, host, expected, document) for place, row in enumerate(top.run)]
    manifest = Manifest(
        path=path,
        title=legible(path.parent.name or path.stem) if top.title is None else top.title,
        description=top.description,
        axis=axis,
        baseline=top.baseline,
        baseline_line=document.line("baseline"),
        experiments=top.experiments,
        report_section=top.report,
        runs=_told_apart(runs, document),
    )
    return manifest, wrong


def is_manifest(path: Path) -> bool:
    """Return whether a file is a manifest: by its name, or by its runs and other keys.

    Raises EsxparseError: The file cannot be read.
    """
    if path.name == FILE_NAME:
        return True
    try:
        data = toml.parse(read_text(path))
    except tomllib.TOMLDecodeError:
        return False
    runs = data.get("run")
    return isinstance(runs, list) and bool(runs) and set(data) <= set(_TOP)


def load(where: str | Path) -> Manifest:
    """Read a manifest."""
    manifest, wrong = examine(where)
    if wrong:
        more = f" (and {len(wrong) - 1} more: esxparse study check {manifest.path})" if len(wrong) > 1 else ""
        raise wrong.first(more)
    return manifest


def examine(where: str | Path) -> tuple[Manifest, Problems]:
    """Read a manifest and return all problems instead of raising the first."""
    path = manifest_path(Path(where))
    hint = "; esxparse study new DIR writes one" if path.name == FILE_NAME else ""
    return parse(read_text(path, hint), path)


def _is_label(value: Any) -> bool:
    if isinstance(value, float) and not math.isfinite(value):
        return False
    if isinstance(value, int) and value not in INT64:
        return False
    return isinstance(value, str | int | float | bool) or (isinstance(value, date) and not isinstance(value, datetime))


def _run(
    row: Mapping[str, Any],
    place: int,
    shared: _Tables,
    host: Mapping[str, Any],
    expected: set[str],
    document: Document,
) -> RunSpec:
    """Return one `[[run]]`, completed from the tables above it."""
    wrong = Problems(document)
    top = ("run", place)
    labels: dict[str, tuple[Any, ...]] = {}
    for source, name, value in (
        *((("labels",), name, value) for name, value in shared.labels.items() if name not in row),
        *((top, name, value) for name, value in row.items() if name not in ROLES and name not in _RUN[:3]),
    ):
        labels |= _label(name, value, wrong, (*source, name))
    _misspelt(row, expected, wrong, top)
    # Other entries of [files] only have options, for runs with a file of that role.
    files_of_all = {
        role: entry
        for role, entry in shared.files.items()
        if role in ROLES and (not isinstance(entry, dict) or "file" in entry)
    }
    files: dict[str, FileSpec] = {}
    for role, entry in (files_of_all | {name: row[name] for name in row if name in ROLES}).items():
        place_of = (*top, role) if role in row else ("files", role)
        found = file_of(role, entry, shared.files.get(role, {}), wrong, place_of)
        if found is None:
            continue
        taken = [name for name in _placeholders(found) if name in COLUMNS and name not in {_OUR_LABEL, *labels}]
        if taken:
            wrong.add(f"{role}: {{{taken[0]}}} is also a column of the results; rename the placeholder", *place_of)
        else:
            files[role] = found
    values = figures_of(row.get("values", {}), wrong, (*top, "values"))
    if not files and not values and not wrong:
        wrong.add("this run has neither files nor [run.values]; there is nothing to compute", *top)
    return RunSpec(
        line=document.line(*top),
        labels=labels,
        files=files,
        window=window_of(row.get("window", {}), shared.window, wrong, *top, "window"),
        host={**host, **facts_of(row.get("host", {}), wrong, *top, "host")},
        values=values,
        problems=as_notes(wrong),
    )


def as_notes(problems: Sequence[Problem]) -> tuple[Note, ...]:
    """Return problems as notes of the study."""
    return tuple(Note(one.message, one.line, severity="warning") for one in problems)


def _placeholders(entry: FileSpec) -> Iterator[str]:
    for pattern in entry.patterns:
        yield from _labels_in(pattern)


def _labels_in(pattern: str) -> Iterator[str]:
    """Yield the labels in a pattern; its mistakes are reported when it is filled."""
    with suppress(EsxparseError):
        yield from unknown(pattern)


def _told_apart(runs: Sequence[RunSpec], document: Document) -> tuple[RunSpec, ...]:
    """Return the runs, without figures named like a label of any run: both would claim one column."""
    labels = {name for run in runs for name in run.labels}
    labels |= {name for run in runs for entry in run.files.values() for name in _placeholders(entry)}
    apart = []
    for place, run in enumerate(runs):
        wrong = Problems(document)
        for name in sorted(labels & set(run.values)):
            wrong.add(f"the figure {written(name)} is also a label; rename one of them", "run", place, "values", name)
        left = {name: value for name, value in run.values.items() if name not in labels}
        apart.append(replace(run, values=left, problems=(*run.problems, *as_notes(wrong))))
    return tuple(apart)


def _label(name: str, value: Any, wrong: Problems, path: Sequence[str | int]) -> dict[str, tuple[Any, ...]]:
    """Return one label with its values; empty if they are invalid."""
    values = value if isinstance(value, list) else [value]
    if not name or (name in COLUMNS and name != _OUR_LABEL):
        what = "the name of a column of the results" if name else "no name"
        wrong.add(f"the label {written(name)} has {what}; give it another", *path)
    elif isinstance(value, dict):
        wrong.add(
            f"the label {written(name)} is a table; write text, a number, or a list of them, or use "
            f"{choose(name, _RUN)}",
            *path,
        )
    elif not values or not all(_is_label(one) for one in values):
        wrong.add(
            f"the label {written(name)} is {written(value)}; write text, a number of at most 64 bits, or a list of "
            "them",
            *path,
        )
    elif name == _OUR_LABEL and not all(type(one) is int for one in values):
        wrong.add(f"repetition is {written(value)}; write a whole number, from 1", *path)
    else:
        return {name: tuple(values)}
    return {}


def _misspelt(row: Mapping[str, Any], expected: set[str], wrong: Problems, top: Sequence[str | int]) -> None:
    """Report labels that look like a misspelt key, or like an expected label that this run does not have."""
    known = {*ROLES, *_RUN, *(expected - set(row))}
    for name in row:
        if name in known or name in expected:
            continue
        if near := nearest(name, sorted(known), alike=_CLOSE):
            wrong.add(f'unknown key {written(name)}; rename it (did you mean "{near[0]}"?)', *top, name)
