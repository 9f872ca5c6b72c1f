"""Upkeep of a lake: captures removed, files checked, and what killed writers have left taken away."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from esxparse.lakes import entries

if TYPE_CHECKING:
    from esxparse.lakes.entries import Entry
    from esxparse.lakes.store import File, Store

JUDGED: Final = "judged"
"""Directory of what diagnosis and checks said of each capture."""
_OURS: Final = re.compile(rf"table=.*/[0-9a-f]+-[0-9a-f]+\.parquet|{JUDGED}/[0-9a-f]+\.json")
"""Files of other people stay, wherever they are."""
SAFE: Final = timedelta(days=1)
"""Older than this, what no entry names is no longer being written."""


@dataclass(frozen=True)
class State:
    """What `verify` found."""

    captures: int
    files: int
    bytes: int
    damaged: tuple[tuple[Entry, str], ...]
    """Captures with files that are missing or cut, and what is wrong."""
    overlapping: tuple[tuple[Entry, Entry], ...]
    """Captures of one host that cover the same time."""
    left: tuple[File, ...]
    """Files that no entry names: of writers that were killed, or are still at it."""


def verify(store: Store) -> State:
    """Compares the catalogue with the files there are.

    Raises:
        EsxparseError: There is no lake, or it cannot be read.
    """
    found = entries.load(store)
    files = {one.path: one for one in store.files("") if _OURS.fullmatch(one.path)}
    named = {one["path"] for entry in found for one in entry.files()} | {judged(one.id) for one in found}
    damaged = []
    for entry in found:
        for one in entry.files():
            there = files.get(one["path"])
            if there is None or there.size != one["bytes"]:
                what = "is missing" if there is None else f"has {there.size:,} bytes of {one['bytes']:,}"
                damaged.append((entry, f"{one['path']} {what}"))
    return State(
        captures=len(found),
        files=len(named & files.keys()),
        bytes=sum(files[path].size for path in named & files.keys()),
        damaged=tuple(damaged),
        overlapping=tuple(entries.overlaps(found)),
        left=tuple(files[path] for path in sorted(files.keys() - named)),
    )


def judged(key: str) -> str:
    """Where it is kept what diagnosis and checks said of a capture."""
    return f"{JUDGED}/{key}.json"


def remove(store: Store, found: Iterable[Entry]) -> None:
    """Takes captures out: first the entries, by which they no longer count, then their files."""
    gone = list(found)
    store.remove(one.path for one in gone)
    store.remove([path for one in gone for path in (*(file["path"] for file in one.files()), judged(one.id))])


def compact(store: Store, older: timedelta = SAFE) -> list[File]:
    """Takes away files that no entry names and that were written longer ago than `older`; gives them."""
    now = datetime.now(UTC)
    left = [one for one in verify(store).left if now - one.changed >= older]
    store.remove(one.path for one in left)
    return left
