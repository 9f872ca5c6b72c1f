"""Shows every text file of directories to the readers: none that is no recording may open, or take long to tell.

python fuzz/strangers.py DIRECTORY ...

Prints the files that open, those of 1 MiB or less that take over 0.1 s of CPU to be told, and how many were tried.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from esxparse.errors import EsxparseError
from esxparse.formats import registry
from esxparse.formats.kit.head import HEAD, Head

SLOW_S = 0.1
_LOOK = 4096


@dataclass
class Met:
    """What came of the files."""

    tried: int = 0
    opened: list[tuple[Path, str]] = field(default_factory=list)
    refused: list[tuple[Path, str]] = field(default_factory=list)
    """Files of which a reader thought that they are its own, until it had read them."""
    slow: list[tuple[Path, float]] = field(default_factory=list)


def texts(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The text files of a directory, with their beginnings."""
    for path in sorted(folder.rglob("*")):
        try:
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    head = file.read(HEAD)
                if head and b"\0" not in head[:_LOOK]:
                    yield path, head
        except OSError:
            continue


def show(path: Path, head: bytes, met: Met) -> None:
    """Shows one file to the readers."""
    met.tried += 1
    begun = time.process_time()
    reader = registry.recognising(Head(head, path.name))
    took = time.process_time() - begun
    if took > SLOW_S:
        met.slow.append((path, took))
    if reader is None:
        return
    try:
        registry.open_recording(path)
    except EsxparseError as error:
        met.refused.append((path, f"{reader.name}: {error}"))
    else:
        met.opened.append((path, reader.name))


def main() -> int:
    """Shows all, and gives the exit status."""
    # The readers are imported when they are first asked.
    registry.recognising(Head(b"import"))
    met = Met()
    for folder in sys.argv[1:]:
        for path, head in texts(Path(folder)):
            show(path, head, met)
    for path, said in met.refused:
        print(f"refused: {path}: {said[:160]!r}")
    for path, name in met.opened:
        print(f"opened: {path}: {name}")
    for path, seconds in met.slow:
        print(f"slow: {path}: {seconds:.2f} s")
    print(f"{met.tried:,} tried, {len(met.refused)} refused, {len(met.opened)} opened, {len(met.slow)} slow")
    return int(bool(met.opened or met.slow))


if __name__ == "__main__":
    sys.exit(main())
