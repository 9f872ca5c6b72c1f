"""Upkeep of a lake: captures removed, files checked, and what killed writers have left taken away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from esxparse.lakes import entries
from esxparse.lakes.store import at_once

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
    """Captures with files that are missing or damaged, and what is wrong."""
    unreadable: Mapping[str, str]
    """Entries that cannot be read, by id, and why."""
    unsigned: int
    """Files without a fingerprint: early versions wrote none."""
    overlapping: tuple[tuple[Entry, Entry], ...]
    """Captures of one host that cover the same time."""
    left: tuple[File, ...]
    """Files that no entry names: of writers that were killed, or are still at it."""


def verify(store: Store, *, content: bool = False) -> State:
    """Compares the catalogue with the files there are.

    Args:
        store: Where the lake is.
        content: Whether to read each file and compare its fingerprint, not only its size.

    Raises:
        EsxparseError: There is no lake, or it cannot be read.
    """
    # Files first: a capture that is added meanwhile has none that seem to belong to nobody.
    files = {one.path: one for one in store.files("") if _OURS.fullmatch(one.path)}
    found, unreadable = entries.look(store)
    named = {one["path"] for entry in found for one in entry.files()} | {judged(one.id) for one in found}
    sizes = {path: one.size for path, one in files.items()}
    listed = [(entry, one) for entry in found for one in entry.files()]
    doubtful = [(entry, one, sizes.get(one["path"])) for entry, one in listed]
    if not content:
        doubtful = [(entry, one, size) for entry, one, size in doubtful if size != one["bytes"]]
    return State(
        captures=len(found),
        files=len(named & files.keys()),
        bytes=sum(sizes[path] for path in named & files.keys()),
        damaged=tuple(one for one in at_once(lambda one: _damaged(store, *one, content=content), doubtful) if one),
        unreadable=unreadable,
        unsigned=sum("sha256" not in one for _, one in listed),
        overlapping=tuple(entries.overlaps(found)),
        left=tuple(files[path] for path in sorted(files.keys() - named) if _id_of(path) not in unreadable),
    )


def _damaged(
    store: Store, entry: Entry, file: Mapping[str, Any], size: int | None, *, content: bool
) -> tuple[Entry, str] | None:
    """What is wrong with a file of a capture, unless the capture was taken out or replaced meanwhile.

    `size`: what it had when files were listed.
    """
    path, wanted = file["path"], file["bytes"]
    if size != wanted:
        # It may have come since.
        size = store.size(path)
    digest = store.sha256(path) if content and size == wanted and "sha256" in file else file.get("sha256")
    if size is None or (digest is None and "sha256" in file):
        what = "is missing"
    elif size != wanted:
        what = f"has {size:,} bytes of {wanted:,}"
    elif digest != file.get("sha256"):
        what = "is damaged: its content is not what was written"
    else:
        return None
    now = entries.find(store, entry.id)
    return (entry, f"{path} {what}") if now and now.tables == entry.tables else None


def _id_of(path: str) -> str:
    """The capture that a file is of."""
    return PurePath(path).stem.partition("-")[0]


def judged(key: str) -> str:
    """Where it is kept what diagnosis and checks said of a capture."""
    return f"{JUDGED}/{key}.json"


def remove(store: Store, found: Iterable[Entry]) -> None:
    """Takes captures out: first the entries, by which they no longer count, then their files."""
    gone = list(found)
    store.remove(one.path for one in gone)
    store.remove([path for one in gone for path in (*one.paths, judged(one.id))])


def discard(store: Store, key: str) -> None:
    """Takes out a capture whose entry cannot be read, with the files that were there before the entry.

    Later ones may be those of a writer that is about to replace it.
    """
    written = {one.path: one.changed for one in store.files("")}
    entry = entries.path_of(key)
    store.remove([entry])
    ours = [one for one in written if _OURS.fullmatch(one) and _id_of(one) == key]
    store.remove(one for one in ours if entry in written and written[one] <= written[entry])


def compact(store: Store, older: timedelta = SAFE) -> list[File]:
    """Takes away files that no entry names and that were written longer ago than `older`; gives them."""
    now = datetime.now(UTC)
    left = [one for one in verify(store).left if now - one.changed >= older]
    store.remove(one.path for one in left)
    return left
