"""Upkeep of a lake: remove captures, check files, and remove leftovers of killed writers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Any, Final

from esxparse.lakes import entries, merged
from esxparse.lakes.entries import Entry
from esxparse.lakes.merged import Merged
from esxparse.lakes.store import File, Store, at_once

JUDGED: Final = "judged"
"""Directory of the stored diagnosis and checks of each capture."""
_OURS: Final = re.compile(
    rf"({merged.FOLDER}/)?table=.*/[0-9a-f]+-[0-9a-f]+\.parquet|({JUDGED}|{merged.FOLDER}/catalogue)/[0-9a-f]+\.json"
)
"""Files of other people stay, wherever they are."""
SAFE: Final = timedelta(days=1)
"""A file older than this that is in no entry is no longer being written."""


@dataclass(frozen=True)
class State:
    """The result of `verify`."""

    captures: int
    files: int
    bytes: int
    damaged: tuple[tuple[Entry, str], ...]
    """Captures with missing or damaged files, and the reason."""
    unreadable: Mapping[str, str]
    """The reason for each unreadable entry, by id."""
    merged: Mapping[str, int]
    """Merged files that queries read, and their bytes."""
    spoilt: tuple[str, ...]
    """Mistakes in merged files."""
    unsigned: int
    """Number of files without a fingerprint: early versions wrote none."""
    overlapping: tuple[tuple[Entry, Entry], ...]
    """Captures of one host that cover the same time."""
    left: tuple[File, ...]
    """Files that are in no entry: their writers were killed, or are still writing."""


def verify(store: Store, *, content: bool = False) -> State:
    """Compare the catalogue with the files.

    Args:
        store: The lake's store.
        content: Whether to read each file and compare its fingerprint, not only its size.

    Raises:
        EsxparseError: There is no lake, or it cannot be read.
    """
    # Files first: then a capture that is added meanwhile has no files that seem to belong to nobody.
    files = {one.path: one for one in store.files("") if _OURS.fullmatch(one.path)}
    found, unreadable = entries.look(store)
    catalogued = {path for one in found for path in one.paths}
    taken = _taken(merged.load(store), catalogued)
    standing = [(path, one) for path, some in taken.items() for one in some]
    merges = {one.path: one.bytes for _, one in standing}
    catalogued |= {judged(one.id) for one in found}
    sizes = {path: one.size for path, one in files.items()}
    listed = [(entry, one) for entry in found for one in entry.files()]

    def doubtful(path: str, wanted: int) -> bool:
        return content or sizes.get(path) != wanted

    def wrong(file: Mapping[str, Any]) -> str | None:
        return _wrong(store, file, sizes.get(file["path"]), content=content)

    def damaged(one: tuple[Entry, Mapping[str, Any]]) -> tuple[Entry, str] | None:
        entry, file = one
        if (what := wrong(file)) is None:
            return None
        # The capture may have been removed or replaced meanwhile.
        now = entries.find(store, entry.id)
        return (entry, what) if now and now.tables == entry.tables else None

    def spoilt(one: tuple[str, Merged]) -> str | None:
        what = wrong(asdict(one[1]))
        return what if what and store.size(one[0]) is not None else None

    return State(
        captures=len(found),
        files=len(catalogued & files.keys()),
        bytes=sum(sizes[path] for path in catalogued & files.keys()),
        damaged=tuple(
            filter(None, at_once(damaged, (one for one in listed if doubtful(one[1]["path"], one[1]["bytes"]))))
        ),
        unreadable=unreadable,
        merged=merges,
        spoilt=tuple(filter(None, at_once(spoilt, (one for one in standing if doubtful(one[1].path, one[1].bytes))))),
        unsigned=sum("sha256" not in one for _, one in listed),
        overlapping=tuple(entries.overlaps(found)),
        left=tuple(
            files[path]
            for path in sorted(files.keys() - catalogued - merges.keys() - taken.keys())
            if _id_of(path) not in unreadable
        ),
    )


def _taken(found: Mapping[str, list[Merged]], catalogued: set[str]) -> dict[str, list[Merged]]:
    """Return the merged files that queries read: all replaced files are in entries, and no other one replaces more."""
    best: dict[str, tuple[int, str]] = {}
    for path, files in found.items():
        for one in files:
            if catalogued.issuperset(one.of):
                best.update({other: max(best.get(other, (0, "")), (len(one.of), path)) for other in one.of})
    chosen = {path for _, path in best.values()}
    return {path: files for path, files in found.items() if path in chosen}


def _wrong(store: Store, file: Mapping[str, Any], size: int | None, *, content: bool) -> str | None:
    """Return the mistake in a file, which had this size when files were listed."""
    path, wanted, digest = file["path"], file["bytes"], file.get("sha256")
    if size != wanted:
        # The file may have appeared since.
        size = store.size(path)
    if size is None:
        return f"{path} is missing"
    if size != wanted:
        return f"{path} has {size:,} bytes of {wanted:,}"
    if not content or digest is None or (found := store.sha256(path)) == digest:
        return None
    return f"{path} is damaged: its content is not what was written" if found else f"{path} is missing"


def _id_of(path: str) -> str:
    """Return the id of the capture that a file belongs to."""
    return PurePath(path).stem.partition("-")[0]


def judged(key: str) -> str:
    """Return the path of the stored diagnosis and checks of a capture."""
    return f"{JUDGED}/{key}.json"


def remove(store: Store, found: Iterable[Entry]) -> None:
    """Remove captures: first the entries, so that they no longer count, then their files."""
    gone = list(found)
    store.remove(one.path for one in gone)
    store.remove([path for one in gone for path in (*one.paths, judged(one.id))])


def discard(store: Store, key: str) -> None:
    """Remove a capture whose entry cannot be read, with the files that are older than the entry.

    Later files may belong to a writer that is about to replace it.
    """
    written = {one.path: one.changed for one in store.files("")}
    entry = entries.path_of(key)
    store.remove([entry])
    ours = [one for one in written if _OURS.fullmatch(one) and _id_of(one) == key]
    store.remove(one for one in ours if entry in written and written[one] <= written[entry])


def compact(store: Store, older: timedelta = SAFE) -> list[File]:
    """Remove files that are in no entry and were written longer ago than `older`; return them."""
    now = datetime.now(UTC)
    left = [one for one in verify(store).left if now - one.changed >= older]
    # Catalogues of merged files go first.
    store.remove(one.path for one in left if one.path.endswith(".json"))
    store.remove(one.path for one in left)
    return left
