"""Finished pages of a batch: a state file for each, trusted only if everything in it is still true."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from esxparse.lakes import is_lake
from esxparse.lakes.entries import FOLDER as FOLDER_OF_ENTRIES
from esxparse.whole import sha256

FOLDER = ".esxparse-batch"
"""Directory of the state files, inside the directory of the pages."""


def fingerprints(inputs: Iterable[str]) -> dict[str, list[Any]]:
    """Return the files of inputs: path to size in bytes, modification time in ns, and hash. Others have none.

    A study includes all files beside its manifest. For a lake the entries of its catalogue count: they have the
    content's hash.
    """
    return {str(path): [*_stamp(path), sha256(path)] for path in _files(inputs)}


def _stamp(path: Path) -> tuple[int, int]:
    there = path.stat()
    return there.st_size, there.st_mtime_ns


def _files(inputs: Iterable[str]) -> Iterator[Path]:
    for one in inputs:
        path = Path(one)
        if path.is_file() and path.suffix != ".toml":
            yield path
            continue
        if path.is_dir() and is_lake(one):
            yield from sorted((path / FOLDER_OF_ENTRIES).glob("*.json"))
            continue
        for where, below, names in os.walk(path.parent if path.is_file() else path):
            # Pages of a batch beside the study are not its inputs.
            kept = (name for name in below if not name.startswith(".") and not Path(where, name, FOLDER).is_dir())
            below[:] = sorted(kept)
            yield from (Path(where, name) for name in sorted(names) if not name.startswith("."))


def read(path: Path) -> dict[str, Any]:
    """Return the content of a state file; empty if it is missing or damaged."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_bytes())
        return found if isinstance(found, dict) else {}
    return {}


def holds(state: dict[str, Any], request: dict[str, Any], inputs: Iterable[str], page: Path) -> bool:
    """Return whether a page is still valid: same request, same inputs, and the page unchanged."""
    try:
        if any(state.get(key) != value for key, value in request.items()) or not state["files"]:
            return False
        there = list(_files(inputs))
        if sorted(map(str, there)) != sorted(state["files"]):
            return False
        return all(_same(path, state["files"][str(path)]) for path in there) and sha256(page) == state["page"]
    except (OSError, KeyError, TypeError, ValueError):
        return False


def _same(path: Path, was: list[Any]) -> bool:
    size, changed = _stamp(path)
    return bool(size == was[0] and (changed == was[1] or sha256(path) == was[2]))
