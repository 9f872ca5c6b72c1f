"""The choice of a template for inputs, by the formats in the templates' metadata."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from esxparse.errors import EsxparseError
from esxparse.formats.names import STANDARD_INPUT
from esxparse.reports.library import find, needs_of_studies, shipped
from esxparse.reports.study.needs import fitting

if TYPE_CHECKING:
    from esxparse.formats.opening import Options

AUTO: Final = "auto"
"""Template name for the template that fits."""

STUDY: Final = "study"
"""Format of a study's manifest, and name of its template."""

HOST: Final = "host_health"
"""The template for most captures."""

_ESXTOP: Final = b"PDH-CSV"
"""The first cell of esxtop's output."""

_ASKED_FOR: Final = frozenset({"before_after", "capacity"})
"""Templates for questions that a file alone does not raise: before and after, and sizes of VMs."""

_MANIFEST: Final = "study.toml"


def format_of(path: str | Path, options: Options | None = None) -> str:
    """Return the format of a recording, by its beginning; "study" for the manifest or directory of a study.

    `path`: as for `esxparse.open`. `options`: options of `esxparse.open`.

    Raises EsxparseError: The recording cannot be read, or no reader recognises it.
    """
    from esxparse.formats.opening import Opening  # noqa: PLC0415  polars is not for --help
    from esxparse.formats.registry import open_recording, reader_of, recognising  # noqa: PLC0415
    from esxparse.formats.source import SeveralError, resolve  # noqa: PLC0415

    if str(path) == STANDARD_INPUT:
        raise EsxparseError("no template can be chosen for standard input: name one with --template")
    where, opening = Path(path), Opening.of(options or {})
    if where.suffix == ".toml" or os.path.isfile(where / _MANIFEST):  # noqa: PTH113  False for a name that is too long
        return STUDY
    if opening.format:
        return reader_of(opening.format).recordings
    if not os.path.isdir(where):  # noqa: PTH112
        try:
            source = resolve(path, opening.member, timeout=opening.timeout, memory_limit=opening.memory_limit)
        except SeveralError:
            return open_recording(path, opening).format
        if source.once is None and source.head.content and (reader := recognising(source.head)) is not None:
            return reader.recordings
    # A directory, or an error that the reader reports.
    return open_recording(path, opening, left_out=set()).format


def reading(formats: set[str]) -> str | None:
    """Return the shipped template that reads all these formats, and few others; None without one."""
    if formats == {STUDY}:
        return STUDY
    fitting = [one for one in shipped() if formats <= set(one.formats) and one.name not in _ASKED_FOR]
    return min(fitting, key=lambda one: (len(one.formats), one.name)).name if fitting else None


def template_for(path: str | Path, form: str) -> str | None:
    """Return the template for one recording of a format, or a study; None if no template reads it."""
    return of_study(path) if form == STUDY else reading({form})


def picked(paths: Sequence[str | Path], options: Options | None = None) -> str:
    """Return the name of the template for one report on these recordings.

    `paths`, `options`: as for `format_of`.

    Raises EsxparseError: No template reads all of them.
    """
    formats = {format_of(path, options) for path in paths}
    found = template_for(paths[0], *formats) if len(paths) == 1 else reading(formats)
    if found is None:
        msg = f"no template reads {', '.join(sorted(formats))}{' together' if len(formats) > 1 else ''}: name one"
        raise EsxparseError(f"{paths[0] if len(paths) == 1 else f'{len(paths)} inputs'}: {msg} (esxparse templates)")
    return found


def usual(paths: Sequence[str | Path]) -> str:
    """Return the default template.

    `host_health` if every input starts like a capture or, if compressed or remote, is named like a capture: this is
    faster than letting a reader check. Otherwise "auto".

    >>> usual(["day.csv.gz", "-"]), usual(["study.toml"]), usual(["day.csv", "run.json"])
    ('host_health', 'auto', 'auto')
    """
    return HOST if all(str(path) == STANDARD_INPUT or _like_captures(Path(path)) for path in paths) else AUTO


def _like_captures(file: Path) -> bool:
    if file.suffix != ".csv" or not os.path.isfile(file):  # noqa: PTH113
        return ".csv" in file.suffixes
    try:
        with file.open("rb") as beginning:
            return _ESXTOP in beginning.read(64)
    except OSError:
        return True


def of_study(path: str | Path) -> str:
    """Return the template from a study's manifest, or the one that fits the varied labels."""
    from esxparse.studies.expand import expand  # noqa: PLC0415
    from esxparse.studies.study_file import load  # noqa: PLC0415

    try:
        manifest = load(Path(path))
        return fitting(manifest, expand(manifest), needs_of_studies())
    except EsxparseError:
        # The report will show the error.
        return STUDY


def grouped(paths: Sequence[str], options: Options | None = None) -> list[tuple[str, list[str]]]:
    """Return templates with their inputs: all together if one template takes them together, else one report each.

    `paths`, `options`: as for `format_of`. If no template reads one of several inputs, `host_health` gets it and
    reports the error; the other inputs still get their reports.

    Raises EsxparseError: The only path cannot be read, or no template reads it.
    """
    if len(paths) == 1:
        return [(picked(paths, options), list(paths))]
    fitting = [_fitting(path, options) for path in paths]
    found = reading({form for form, _ in fitting if form})
    if found is not None and find(found).has("captures"):
        together = [path for path, (form, _) in zip(paths, fitting, strict=True) if form]
        return [(found, together), *((HOST, [path]) for path in paths if path not in together)]
    return [(template, [path]) for path, (_, template) in zip(paths, fitting, strict=True)]


def _fitting(path: str, options: Options | None) -> tuple[str, str]:
    """Return the format of a recording and its template; "" and `host_health` if no template reads it."""
    try:
        form = format_of(path, options)
    except EsxparseError:
        return "", HOST
    found = template_for(path, form)
    return (form, found) if found else ("", HOST)
