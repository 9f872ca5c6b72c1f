"""Merged files of a lake: copies of the captures of a host and day, in one file per table.

    merged/table=vcpu/date=2026-11-19/host=esx-07.example/<writing>-<number>.parquet
    merged/catalogue/<writing>.json     of each merged file: path, bytes, SHA-256, and the files it replaces

The captures keep their own files. A query for all the files that a merged one replaces reads it instead
of them; other queries do not. Every writing has new names: a merged file of which a capture was removed or
replaced is never read again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Final

from esxparse.lakes.entries import DIRECTORY
from esxparse.lakes.store import Store

FOLDER: Final = "merged"
_PATH: Final = re.compile(rf"{FOLDER}/{DIRECTORY}/[0-9a-f]+-\d+\.parquet")
_CATALOGUE: Final = re.compile(rf"{FOLDER}/catalogue/[0-9a-f]+\.json")


@dataclass(frozen=True)
class Merged:
    """A file that replaces others."""

    path: str
    of: tuple[str, ...]
    """Paths of the replaced files, in the order of their captures."""
    bytes: int
    sha256: str

    @property
    def table(self) -> str:
        """The table that it is a part of."""
        return PurePath(self.path).parts[1].removeprefix("table=")


def catalogue_of(writing: str) -> str:
    """Return the path of the catalogue of one merge."""
    return f"{FOLDER}/catalogue/{writing}.json"


def encoded(files: Iterable[Merged]) -> bytes:
    """Return the merged files of one merge, as they are written."""
    return json.dumps([asdict(one) for one in files]).encode()


def load(store: Store) -> dict[str, list[Merged]]:
    """Return the merged files, by the path of their catalogue.

    An unreadable catalogue counts as empty: the captures have files of their own.
    """
    there = store.files(f"{FOLDER}/catalogue/") if store.is_there() else []
    paths = [one.path for one in there if _CATALOGUE.fullmatch(one.path)]
    return {path: _parsed(text) for path, text in zip(paths, store.read_all(paths), strict=True)}


def _parsed(text: bytes | None) -> list[Merged]:
    try:
        found = [Merged(**one | {"of": tuple(one["of"])}) for one in json.loads(text or b"[]")]
        return found if all(_PATH.fullmatch(one.path) for one in found) else []
    except (ValueError, TypeError, KeyError, RecursionError):
        return []


def by_table(found: Mapping[str, Sequence[Merged]]) -> dict[str, list[Merged]]:
    """Return merged files by table, starting with the files that replace the most."""
    tables: dict[str, list[Merged]] = {}
    for one in sorted((one for some in found.values() for one in some), key=lambda one: (-len(one.of), one.path)):
        tables.setdefault(one.table, []).append(one)
    return tables


def instead(paths: Sequence[str], merged: Iterable[Merged]) -> list[str]:
    """Replace paths by merged files if all files of a merged one are among them.

    >>> one = Merged("m", ("a", "b"), 1, "")
    >>> instead(["x", "a", "b"], [one]), instead(["x", "a"], [one])
    (['x', 'm'], ['x', 'a'])
    """
    left = set(paths)
    places: dict[str, str] = {}
    for one in merged:
        if left.issuperset(one.of):
            left.difference_update(one.of)
            places[one.of[0]] = one.path
    return [places.get(path, path) for path in paths if path in left or path in places]
