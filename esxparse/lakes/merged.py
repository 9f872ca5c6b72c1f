"""Files of a lake that stand for many small ones: the captures of a host and day, once more, in one file per table.

    merged/table=vcpu/date=2026-11-19/host=esx-07.example/<writing>-<number>.parquet
    merged/catalogue/<writing>.json     of each such file: path, bytes, SHA-256, and the files it stands for

The captures keep their own files. A question that asks for all the files for which a merged one stands takes it instead
of them, any other does not. No two writings of a file have one name: a merged file of which a capture was taken out or
replaced is never taken again.
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
    """A file that stands for others."""

    path: str
    of: tuple[str, ...]
    """Paths of the others, in the order of their captures."""
    bytes: int
    sha256: str

    @property
    def table(self) -> str:
        """The table that it is a part of."""
        return PurePath(self.path).parts[1].removeprefix("table=")


def catalogue_of(writing: str) -> str:
    """Where it is written what was merged at one time."""
    return f"{FOLDER}/catalogue/{writing}.json"


def encoded(files: Iterable[Merged]) -> bytes:
    """What was merged at one time, as it is written."""
    return json.dumps([asdict(one) for one in files]).encode()


def load(store: Store) -> dict[str, list[Merged]]:
    """The merged files, by the path of what names them.

    One that cannot be read names none: the captures have files of their own.
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
    """Merged files by table, those that stand for the most files first."""
    tables: dict[str, list[Merged]] = {}
    for one in sorted((one for some in found.values() for one in some), key=lambda one: (-len(one.of), one.path)):
        tables.setdefault(one.table, []).append(one)
    return tables


def instead(paths: Sequence[str], merged: Iterable[Merged]) -> list[str]:
    """The paths, with merged files in place of all those that they stand for.

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
