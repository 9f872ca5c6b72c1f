"""The recordings of a report: opened, and under names that a notebook in another process can open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from esxparse.errors import EsxparseError, UnknownFormatError
from esxparse.formats import directory
from esxparse.formats.names import STANDARD_INPUT, told_apart
from esxparse.formats.opening import Opening, Options
from esxparse.formats.registry import open_recording
from esxparse.formats.source import standard_input
from esxparse.locations import is_url, public
from esxparse.recording import Recording
from esxparse.whole import Scratch

if TYPE_CHECKING:
    from esxparse.reports.library import Template

_PIECE = 1 << 20


class Inputs:
    """Names of recordings, valid inside the context."""

    def __init__(self, inputs: Sequence[str | os.PathLike[str]]) -> None:
        self._inputs = [os.fspath(one) for one in inputs]
        if not self._inputs:
            raise EsxparseError("no capture given: name at least one file")
        self._stack = ExitStack()
        self.paths: list[str] = []

    def __enter__(self) -> Self:
        """Make the names."""
        with ExitStack() as stack:
            self.paths = [self._openable_name(one, stack) for one in self._inputs]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove temporary files and links."""
        self._stack.close()

    def parameter(self, template: Template) -> dict[str, Any]:
        """Return the recordings, the study or the lake, as the parameter of a template."""
        name = input_of(template, self.paths[0])
        return {name: self.paths if name == "captures" else self.paths[0]}

    def _openable_name(self, source: str, stack: ExitStack) -> str:
        if source == STANDARD_INPUT:
            return self._copied(stack)
        if is_url(source):
            return public(source)
        path = Path(source).resolve()
        if str(path).isprintable() and _is_text(str(path)):
            return str(path)
        # A notebook cannot hold this name, so use a link.
        link = stack.enter_context(Scratch()) / f"capture{_ending(path)}"
        link.symlink_to(path, target_is_directory=path.is_dir())
        return str(link)

    def _copied(self, stack: ExitStack) -> str:
        """Store standard input as a file: both the check and the notebook read it."""
        copy = stack.enter_context(Scratch()) / "standard-input"
        try:
            with standard_input() as stream, copy.open("wb") as file:
                shutil.copyfileobj(stream, file, _PIECE)
        except OSError as error:
            msg = f"standard input cannot be stored in {copy.parent.parent}: {error.strerror or error}; set TMPDIR"
            raise EsxparseError(msg) from None
        return str(copy)


def input_of(template: Template, path: str) -> str:
    """Return the parameter of a template that takes its inputs: study, lake, captures or capture.

    For a template with both captures and a lake, the path decides.
    """
    if template.has("study"):
        return "study"
    if template.has("lake") and (not template.has("captures") or _is_lake(path)):
        return "lake"
    return "captures" if template.has("captures") else "capture"


def _is_lake(path: str) -> bool:
    from esxparse.lakes import is_lake  # noqa: PLC0415  few reports are on lakes

    return is_lake(path)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _ending(path: Path) -> str:
    ending = "".join(path.suffixes[-2:])
    return ending if ending.isascii() and ending.isprintable() else ""


def opened_all(
    paths: Sequence[str | Path], formats: Sequence[str] = (), options: Options | None = None
) -> tuple[Recording, ...]:
    """Open the recordings of a report that reads these formats.

    An option applies to the files whose readers use it. With named columns, a CSV in no known format is read as the
    export of a power meter.

    `paths`: the recordings. `formats`: accepted formats; empty accepts all. `options`: options of `esxparse.open`.
    """
    opening = Opening.of(options or {})
    foreign: list[set[str]] = []
    recordings = []
    for path in paths:
        left_out: set[str] = set()
        rec = _opened(path, opening, left_out)
        if formats and rec.format not in formats:
            raise EsxparseError(f"{rec.source} is {rec.format}: this report reads {', '.join(formats)}")
        foreign.append(left_out)
        recordings += directory.each(rec)
    if foreign and (unused := sorted(set.intersection(*foreign))):
        which = recordings[0].source if len(recordings) == 1 else "none of these recordings"
        raise EsxparseError(f"{which} has {'no' if len(recordings) == 1 else 'any'} {unused[0]}: leave it out")
    return tuple(recordings)


def _opened(path: str | Path, opening: Opening, left_out: set[str]) -> Recording:
    try:
        return open_recording(path, opening, left_out=left_out)
    except UnknownFormatError:
        if opening.format or not (opening.time_column or opening.value_column):
            raise
    return open_recording(path, replace(opening, format="power_csv"), left_out=left_out)


def names(recordings: Sequence[Recording]) -> list[str]:
    """Return a unique name for each recording: the file's without its ending, with its folders if needed."""
    stems = [Path(rec.source).stem for rec in recordings]
    return stems if len(set(stems)) == len(stems) else told_apart([rec.source for rec in recordings])
