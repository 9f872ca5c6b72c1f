"""How a report opens its recordings: as `esxparse.open` does, with columns named for files that nothing else tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from esxparse.errors import EsxparseError, UnknownFormatError
from esxparse.formats.opening import Opening
from esxparse.formats.registry import open_recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse.formats.opening import Options
    from esxparse.recording import Recording


def opened_all(
    paths: Sequence[str | Path], formats: Sequence[str] = (), options: Options | None = None
) -> tuple[Recording, ...]:
    """The recordings of a report that reads these formats.

    An option counts for the files whose readers have a use for it; columns that are named make a CSV that nothing else
    tells the export of a power meter.

    Args:
        paths: The recordings.
        formats: What they may be; anything where none is named.
        options: Those of `esxparse.open`.

    Raises:
        EsxparseError: One cannot be read, or is of another format, or no file has a use for an option.
    """
    asked = Opening.of(options or {})
    foreign: list[set[str]] = []
    recordings = []
    for path in paths:
        left_out: set[str] = set()
        rec = _opened(path, asked, left_out)
        if formats and rec.format not in formats:
            msg = f"{rec.source} is {rec.format}: this report reads {', '.join(formats)}"
            raise EsxparseError(msg)
        foreign.append(left_out)
        recordings.append(rec)
    if foreign and (unused := sorted(set.intersection(*foreign))):
        which = recordings[0].source if len(recordings) == 1 else "none of these recordings"
        msg = f"{which} has {'no' if len(recordings) == 1 else 'any'} {unused[0]}: leave it out"
        raise EsxparseError(msg)
    return tuple(recordings)


def _opened(path: str | Path, asked: Opening, left_out: set[str]) -> Recording:
    try:
        return open_recording(path, asked, left_out=left_out)
    except UnknownFormatError:
        if asked.format or not (asked.time_column or asked.value_column):
            raise
    return open_recording(path, replace(asked, format="power_csv"), left_out=left_out)


def names(recordings: Sequence[Recording]) -> list[str]:
    """A name of each recording, different for all: the file's without its ending, or else the whole path."""
    stems = [Path(rec.source).stem for rec in recordings]
    return stems if len(set(stems)) == len(stems) else [rec.source for rec in recordings]
