"""The release that wrote a fio log, from the outputs of fio beside the log or one directory up.

Source: stat.c of fio, several releases, on how each output names its release.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from esxparse.formats.fio.log_facts import LogName, log_name

Release = tuple[int, int]

NANOSECONDS_SINCE: Release = (2, 99)
_ERAS: tuple[Release, ...] = ((2, 11), NANOSECONDS_SINCE)
"""The releases that changed the unit of a log: bandwidth of a single I/O, then latencies."""

_RELEASE = re.compile(rb'(?:^|"fio version"\s*:\s*"|^[345];|\bfio=)fio-(\d{1,2})\.(\d{1,3})', re.MULTILINE)
"""JSON, terse lines, servers of a client, and the line of normal output or of `fio --version`."""
_LOOK = 64 << 10
_NEIGHBOURS = 64


@dataclass(frozen=True)
class KnownRelease:
    """A release of fio, and the file that names it."""

    release: Release
    source: str
    beside: bool = True
    """Whether the file lies beside the log: one directory up it may belong to another run."""

    @property
    def nanoseconds(self) -> bool:
        """Whether it writes latencies in nanoseconds."""
        return self.release >= NANOSECONDS_SINCE

    def __str__(self) -> str:
        return f"release {self.release[0]}.{self.release[1]}, as {self.source} says"


def release_in(head: bytes) -> Release | None:
    """The release that an output of fio names in its beginning."""
    match = _RELEASE.search(head[:_LOOK])
    return (int(match[1]), int(match[2])) if match else None


def common_release(found: Iterable[tuple[Release, str]]) -> KnownRelease | None:
    """The newest of the releases, with its file; None without any, or if their logs differ in units."""
    releases = sorted(found, key=lambda one: one[0])
    eras = {sum(release >= begin for begin in _ERAS) for release, _ in releases}
    return KnownRelease(*releases[-1]) if len(eras) == 1 else None


def neighbours(folder: Path, wanted: Callable[[LogName], bool]) -> list[Path]:
    """The first files of a directory with a wanted name, in order of their names."""
    try:
        files = [one for one in sorted(folder.iterdir()) if wanted(log_name(one.name)) and one.is_file()]
    except OSError:
        return []
    return files[:_NEIGHBOURS]


def outputs_near(folder: Path) -> Iterator[list[Path]]:
    """The files that may be outputs of fio: those in a directory, then those one directory up."""
    for place in (folder, folder.resolve().parent):
        yield neighbours(place, lambda name: name.metric == "unknown")


def beginning(path: Path) -> bytes:
    """The first bytes of a file; none if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_LOOK)
    except OSError:
        return b""


def release_near(folder: Path | None) -> KnownRelease | None:
    """The release that the outputs of fio in a directory name, or else those one directory up."""
    for place, files in enumerate(outputs_near(folder) if folder else ()):
        found = [(release, one.name) for one in files if (release := release_in(beginning(one)))]
        if found:
            common = common_release(found)
            return common and replace(common, beside=place == 0)
    return None
