"""The release of fio that an output names, and the files near a log that may be outputs.

Source: stat.c of fio, several releases, on how each output names its release.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
    doubt: str = ""
    """Why the file may belong to another run; empty if it belongs to the run of the log."""

    @property
    def nanoseconds(self) -> bool:
        """Whether it writes latencies in nanoseconds."""
        return self.release >= NANOSECONDS_SINCE

    def __str__(self) -> str:
        doubt = ", perhaps of another run" if self.doubt else ""
        return f"release {self.release[0]}.{self.release[1]} in {self.source}{doubt}"


def release_in(head: bytes) -> Release | None:
    """The release that an output of fio names in its beginning."""
    match = _RELEASE.search(head[:_LOOK])
    return (int(match[1]), int(match[2])) if match else None


def common_release(found: Iterable[KnownRelease]) -> KnownRelease | None:
    """The newest of the releases; None without any, or if their logs differ in units."""
    releases = sorted(found, key=lambda one: one.release)
    eras = {sum(one.release >= begin for begin in _ERAS) for one in releases}
    return releases[-1] if len(eras) == 1 else None


def neighbours(folder: Path, wanted: Callable[[LogName], bool]) -> list[Path]:
    """The first files of a directory with a wanted name, in order of their names."""
    try:
        files = [one for one in sorted(folder.iterdir()) if wanted(log_name(one.name)) and one.is_file()]
    except OSError:
        return []
    return files[:_NEIGHBOURS]


def beginning(path: Path) -> bytes:
    """The first bytes of a file; none if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_LOOK)
    except OSError:
        return b""
