"""The recordings of a report: under names that a notebook in another process can open, and opened."""

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
    """Names of recordings, as long as it is entered."""

    def __init__(self, given: Sequence[str | os.PathLike[str]]) -> None:
        self._given = [os.fspath(one) for one in given]
        if not self._given:
            raise EsxparseError("no capture given: name at least one file")
        self._held = ExitStack()
        self.paths: list[str] = []

    def __enter__(self) -> Self:
        """Makes the names."""
        with ExitStack() as held:
            self.paths = [self._named(one, held) for one in self._given]
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Removes what was made for them."""
        self._held.close()

    def parameter(self, template: Template) -> dict[str, Any]:
        """The recordings, the study or the lake, as the parameter of a template."""
        name = input_of(template, self.paths[0])
        return {name: self.paths if name == "captures" else self.paths[0]}

    def _named(self, given: str, held: ExitStack) -> str:
        if given == STANDARD_INPUT:
            return self._copied(held)
        if is_url(given):
            return public(given)
        path = Path(given).resolve()
        if str(path).isprintable() and _is_text(str(path)):
            return str(path)
        # No notebook can hold the name, so it gets another one.
        link = held.enter_context(Scratch()) / f"capture{_ending(path)}"
        link.symlink_to(path, target_is_directory=path.is_dir())
        return str(link)

    def _copied(self, held: ExitStack) -> str:
        """Standard input as a file: both the check and the notebook read it."""
        copy = held.enter_context(Scratch()) / "standard-input"
        try:
            with standard_input() as stream, copy.open("wb") as file:
                shutil.copyfileobj(stream, file, _PIECE)
        except OSError as error:
            msg = f"standard input cannot be stored in {copy.parent.parent}: {error.strerror or error}; set TMPDIR"
            raise EsxparseError(msg) from None
        return str(copy)


def input_of(template: Template, path: str) -> str:
    """The parameter of a template that takes its inputs: study, lake, captures or capture.

    A template that takes captures or a lake is given a lake if the path is one.
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
    """The recordings of a report that reads these formats.

    An option counts for the files whose readers have a use for it; columns that are named make a CSV that nothing else
    tells the export of a power meter.

    `paths`: the recordings. `formats`: what they may be; anything where none is named. `options`: those of
    `esxparse.open`.
    """
    asked = Opening.of(options or {})
    foreign: list[set[str]] = []
    recordings = []
    for path in paths:
        left_out: set[str] = set()
        rec = _opened(path, asked, left_out)
        if formats and rec.format not in formats:
            raise EsxparseError(f"{rec.source} is {rec.format}: this report reads {', '.join(formats)}")
        foreign.append(left_out)
        recordings += directory.each(rec)
    if foreign and (unused := sorted(set.intersection(*foreign))):
        which = recordings[0].source if len(recordings) == 1 else "none of these recordings"
        raise EsxparseError(f"{which} has {'no' if len(recordings) == 1 else 'any'} {unused[0]}: leave it out")
    return tuple(recordings)


def _opened(path: str | Path, asked: Opening, left_out: set[str]) -> Recording:
    try:
        return open_recording(path, asked, left_out=left_out)
    except UnknownFormatError:
        if asked.format or not (asked.time_column or asked.value_column):
            raise
    return open_recording(path, replace(asked, format="power_csv"), left_out=left_out)


def names(recordings: Sequence[Recording]) -> list[str]:
    """A name of each recording, different for all: the file's without its ending, with its folders where needed."""
    stems = [Path(rec.source).stem for rec in recordings]
    return stems if len(set(stems)) == len(stems) else told_apart([rec.source for rec in recordings])
