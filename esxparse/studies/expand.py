"""The runs of a manifest: labels crossed, patterns matched with files, repetitions counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from esxparse.errors import EsxparseError
from esxparse.formats.names import natural
from esxparse.locations import is_url, legible, public
from esxparse.recording import Note
from esxparse.studies import patterns
from esxparse.studies.entries import FileSpec, WindowSpec
from esxparse.studies.roles import ONE_FILE
from esxparse.studies.study_file import Manifest, RunSpec

_REPETITION = "repetition"
MOST_RUNS = 100_000
"""Most runs of one `[[run]]`."""


@dataclass(frozen=True)
class RunFiles:
    """The files of a run for one purpose, and how to read them."""

    paths: tuple[str, ...]
    names: tuple[str, ...]
    """The paths as shown in the table: relative to the manifest if they are below it."""
    spec: FileSpec
    """With the placeholders of `test` filled in."""


@dataclass(frozen=True)
class Run:
    """One run: a row of the table."""

    number: int
    line: int | None
    labels: Mapping[str, Any]
    repetition: int
    files: Mapping[str, RunFiles]
    window: WindowSpec
    host: Mapping[str, Any]
    values: Mapping[str, float]
    problems: tuple[Note, ...] = ()
    unusable: bool = False
    """Whether its manifest entry has a mistake, so that nothing is computed."""

    def __str__(self) -> str:
        """Return the run's name for messages."""
        labels = ", ".join(f"{name}={value}" for name, value in self.labels.items() if value is not None)
        return f"run {self.number}" + (f" ({labels})" if labels else "")


@dataclass(frozen=True)
class Place:
    """The place of a study's files."""

    folder: Path
    outside: bool
    """Whether they may be outside the folder, and behind URLs."""

    def check(self, role: str, pattern: str) -> None:
        """Reject a name outside the folder before searching there."""
        # For a pattern with placeholders, the part before them counts.
        name = patterns.plain(pattern) if not patterns.unknown(pattern) else patterns.broad(pattern)
        path = Path(name)
        elsewhere = ".." in path.parts or (path.is_absolute() and not path.is_relative_to(self.folder.absolute()))
        if not self.outside and (is_url(name) or elsewhere):
            raise self._refused(role, name)

    def check_found(self, role: str, path: Path) -> None:
        """Reject a link in the folder to a file outside."""
        if not self.outside and not path.resolve().is_relative_to(self.folder.resolve()):
            raise self._refused(role, str(path))

    def _refused(self, role: str, name: str) -> EsxparseError:
        return EsxparseError(
            f"{role}: {legible(public(name))} is outside {legible(self.folder)}, the manifest's directory: "
            "allow it with --allow-outside (outside=True)"
        )


def expand(manifest: Manifest, *, outside: bool = False) -> tuple[Run, ...]:
    """Return all runs, in the order of the manifest; within one `[[run]]` by labels, then by file names.

    `manifest`: the manifest. `outside`: whether it may use files outside its directory, and URLs.
    """
    place = Place(manifest.path.parent, outside)
    for spec in manifest.runs:
        count = prod(map(len, spec.labels.values()))
        if count > MOST_RUNS:
            msg = f"{manifest.path}, line {spec.line}: this [[run]] expands to {count:,} runs, more than {MOST_RUNS:,}"
            raise EsxparseError(msg)
    found = [run for spec in manifest.runs for run in _of_spec(spec, place)]
    seen: dict[tuple[Any, ...], int] = {}
    names = list(dict.fromkeys(name for run in found for name in run.labels if name != _REPETITION))
    runs = []
    for number, run in enumerate(found, 1):
        labels = {name: run.labels.get(name) for name in names}
        key = tuple((type(value) is bool, value) for value in labels.values())
        seen[key] = seen.get(key, 0) + 1
        repetition_label = run.labels.get(_REPETITION)
        repetition = repetition_label if isinstance(repetition_label, int) else seen[key]
        runs.append(replace(run, number=number, labels=labels, repetition=repetition))
    return tuple(runs)


def _of_spec(spec: RunSpec, place: Place) -> Iterator[Run]:
    for values in product(*spec.labels.values()):
        labels = dict(zip(spec.labels, values, strict=True))
        try:
            yield from _of_labels(spec, labels, place)
        except EsxparseError as error:
            run = _run(spec, labels, {}, (Note(str(error), spec.line, severity="warning"),))
            yield replace(run, unusable=True)


def _run(spec: RunSpec, labels: Mapping[str, Any], files: Mapping[str, RunFiles], problems: Iterable[Note]) -> Run:
    window, host, figures = spec.window, spec.host, spec.values
    all_problems = (*spec.problems, *problems)
    return Run(0, spec.line, labels, 1, files, window, host, figures, all_problems, unusable=bool(spec.problems))


def _of_labels(spec: RunSpec, labels: Mapping[str, Any], place: Place) -> Iterator[Run]:
    """Yield the runs of one combination of labels: one, or as many as its patterns find."""
    folder = place.folder
    file_patterns = {
        role: [patterns.filled(pattern, labels) for pattern in entry.patterns] for role, entry in spec.files.items()
    }
    for role, filled in file_patterns.items():
        for pattern in filled:
            place.check(role, pattern)
    looked = {
        role: _looked_for(filled, folder, several=spec.files[role].several) for role, filled in file_patterns.items()
    }
    for found in _assignments(looked.values()):
        placeholders = {name: text for name, text in found.items() if not name.startswith(patterns.WILDCARD)}
        all_labels = {**labels, **{name: _typed(name, text, looked.values()) for name, text in placeholders.items()}}
        files: dict[str, RunFiles] = {}
        problems: list[Note] = []
        for role, options in looked.items():
            entry = spec.files[role]
            paths = [path for known, path in options if all(found.get(name) == text for name, text in known.items())]
            for path in paths:
                if isinstance(path, Path):
                    place.check_found(role, path)
            if problem := _problem(role, file_patterns[role], paths, folder, entry):
                problems.append(problem)
                continue
            test = entry.test
            if isinstance(test, str):
                test = patterns.plain(patterns.filled(test, all_labels))
            files[role] = RunFiles(
                tuple(one if isinstance(one, str) else str(one) for one in paths),
                tuple(_name(path, folder) for path in paths),
                replace(entry, test=test),
            )
        host, host_problems = _host(spec, all_labels)
        yield replace(_run(spec, all_labels, files, [*problems, *host_problems]), host=host)


def _problem(
    role: str, file_patterns: Sequence[str], paths: Sequence[str | Path], folder: Path, entry: FileSpec
) -> Note | None:
    """Return why the files found for a role cannot be used."""
    if not paths or (len(paths) > 1 and (role in ONE_FILE or not entry.several)):
        return _unclear(role, file_patterns, paths, folder, entry)
    if double := [path for path in paths if paths.count(path) > 1]:
        message = f"{role}: {legible(Path(double[0]).name)} is matched twice and would count twice: name it once"
    elif odd := [path for path in paths if legible(path) != str(path)]:
        message = f"{role}: the name of {legible(odd[0])} is not valid UTF-8: rename it"
    else:
        return None
    return Note(message, entry.line, severity="warning")


def _host(spec: RunSpec, labels: Mapping[str, Any]) -> tuple[dict[str, Any], list[Note]]:
    """Return the facts of the host, with the number of hosts from a label."""
    hosts = spec.host.get("load_hosts")
    if not isinstance(hosts, str):
        return dict(spec.host), []
    text = patterns.plain(patterns.filled(hosts, labels)) if set(patterns.unknown(hosts)) <= set(labels) else ""
    if patterns.are_numbers([text]) and text and int(text) > 0:
        return {**spec.host, "load_hosts": int(text)}, []
    left = {name: value for name, value in spec.host.items() if name != "load_hosts"}
    found = text or "not a label of this run"
    message = f"load_hosts = {hosts!r} is {found}: use a label whose values are whole numbers above 0"
    return left, [Note(message, spec.line, severity="warning")]


def _name(path: str | Path, folder: Path) -> str:
    inside = isinstance(path, Path) and path.is_relative_to(folder)
    return legible(path.relative_to(folder).as_posix() if isinstance(path, Path) and inside else path)


def _looked_for(filled: Sequence[str], folder: Path, *, several: bool) -> list[tuple[dict[str, str], str | Path]]:
    """Return the existing files of a role, with the values of their placeholders and wildcards."""
    found: list[tuple[dict[str, str], str | Path]] = []
    for pattern in filled:
        if is_url(pattern):
            found.append(({}, public(patterns.plain(pattern))))
            continue
        if not patterns.unknown(pattern):
            name = patterns.plain(pattern)
            path = folder / name
            # `bundle.tgz:member` is a capture in a bundle.
            if path.exists() or (":" in name and (folder / name.rsplit(":", 1)[0]).exists()):
                found.append(({}, path))
            continue
        for known, path in patterns.matches(pattern, folder):
            kept = {
                name: legible(text)
                for name, text in known.items()
                if not (several and name.startswith(patterns.WILDCARD))
            }
            found.append((kept, path))
    return found


def _assignments(looked: Iterable[Sequence[tuple[dict[str, str], Any]]]) -> list[dict[str, str]]:
    """Return all combinations of placeholder and wildcard values in any file, so that missing files are noticed."""
    merged: list[dict[str, str]] = [{}]
    distinct = [list({tuple(known.items()): known for known, _ in options}.values()) for options in looked]
    for options in sorted(distinct, key=lambda options: -max((len(known) for known in options), default=0)):
        options = [known for known in options if known]  # noqa: PLW2901
        joined = []
        used: set[int] = set()
        for one in merged:
            fitting = [
                (place, known)
                for place, known in enumerate(options)
                if all(one.get(name, text) == text for name, text in known.items())
            ]
            used |= {place for place, _ in fitting}
            joined += [{**one, **known} for _, known in fitting] or [one]
        whole = set(merged[0]) if merged else set()
        joined += [known for place, known in enumerate(options) if place not in used and set(known) == whole]
        if len(joined) > MOST_RUNS:
            msg = f"the file names expand to more than {MOST_RUNS:,} runs: use the same placeholders for all its files"
            raise EsxparseError(msg)
        merged = joined
    order = list(dict.fromkeys(name for one in merged for name in one))
    return sorted(merged, key=lambda one: [natural(one.get(name, "")) for name in order])


def _typed(name: str, text: str, looked: Iterable[Sequence[tuple[dict[str, str], Any]]]) -> int | str:
    """Return a label found in file names: a whole number if all its values are whole numbers."""
    others = {known[name] for options in looked for known, _ in options if name in known}
    return int(text) if patterns.are_numbers(others) else text


def _unclear(
    role: str, file_patterns: Sequence[str], paths: Sequence[str | Path], folder: Path, entry: FileSpec
) -> Note:
    file_patterns = [public(one) for one in file_patterns]
    wanted = ", ".join(file_patterns)
    if paths:
        todo = (
            f'a run takes one such file; for one run per file, write {role} = "{file_patterns[0]}", not a list'
            if role in ONE_FILE
            else f'if they all belong to the run, write {role} = ["{file_patterns[0]}"]'
        )
        first = legible(Path(paths[0]).name)
        message = f"{role} = {wanted!r} matches {len(paths)} files for one run, starting with {first}; {todo}"
    elif any(patterns.unknown(pattern) for pattern in file_patterns):
        message = f"{role} = {wanted!r} matches no file in {legible(folder)}: check the pattern"
    else:
        message = f"{role}: there is no file {wanted} in {legible(folder)}"
    return Note(message, entry.line, severity="warning")
