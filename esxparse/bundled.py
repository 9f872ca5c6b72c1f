"""The recordings that come with esxparse, public as `esxparse.datasets`: one folder each, most of them a study.

An installed package has a few of them, a checkout has all.

>>> import esxparse as ex
>>> "busy-host" in ex.datasets.list()["dataset"]
True
>>> ex.datasets.load("busy-host").meta["pcpus"]
16
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from esxparse.errors import EsxparseError, did_you_mean
from esxparse.recording import Recording
from esxparse.shipped import datasets_dir, is_checkout

if TYPE_CHECKING:
    from esxparse.studies import Study

__all__ = ["folder", "list", "load", "published"]

_STUDY = "study.toml"
_NOT_RECORDED = {".md", ".toml", ".py"}
_TITLE = re.compile(r"^# *(?:[\w-]+: *)?(.+)$", re.MULTILINE)


def list() -> pl.DataFrame:  # noqa: A001  as in ex.datasets.list()
    """Return all datasets: `dataset, kind` (study or capture), `title, files, bytes` of raw recordings, `folder`."""
    rows = []
    for place in _folders():
        raw = [path for path in place.rglob("*") if path.is_file() and path.suffix not in _NOT_RECORDED]
        found = _TITLE.search((place / "README.md").read_text(encoding="utf-8"))
        rows.append(
            {
                "dataset": place.name,
                "kind": "study" if (place / _STUDY).is_file() else "capture",
                "title": found[1] if found else place.name,
                "files": len(raw),
                "bytes": sum(path.stat().st_size for path in raw),
                "folder": str(place),
            }
        )
    return pl.DataFrame(rows)


def folder(name: str) -> Path:
    """Return the directory of a dataset.

    Raises:
        EsxparseError: No dataset has that name; the message lists the available ones, and the place of the others.
    """
    places = {place.name: place for place in _folders()}
    if name not in places:
        others = "" if is_checkout() else "; the others are in the datasets folder of an esxparse checkout"
        msg = f"no dataset {name!r}. {did_you_mean(name, places, 'Did')}There are: {', '.join(places)}{others}"
        raise EsxparseError(msg)
    return places[name]


def load(name: str) -> Study | Recording:
    """Open a dataset: the `Study` of its study.toml, or the `Recording` of its one capture.

    Raises:
        EsxparseError: There is no dataset of that name, or its files cannot be read.
    """
    place = folder(name)
    if (place / _STUDY).is_file():
        from esxparse.studies import study  # noqa: PLC0415  half of a study's libraries are for studies alone

        return study(place / _STUDY)
    from esxparse.formats.registry import open_recording  # noqa: PLC0415

    (capture,) = (path for path in place.iterdir() if path.suffix not in _NOT_RECORDED)
    return open_recording(capture)


def published(name: str) -> pl.DataFrame:
    """Return the figures of a study's source document, and our assumptions, one to a row.

    Columns: `figure` (its name here), `claim` (in the document's words), `value` or a range (`least`, `most`), `stated`
    (the same as text), `unit`, `tolerance`, `resolution`, `source`, `assumed`, `note`. `source` is the place in the
    document; if it does not print the figure, `source` is null and `assumed` has the reason. `tolerance` is the part of
    `value` by which the dataset, which was made to show the figure, may miss it; `resolution` is the unit of its last
    digit printed. `note` reports a claim that does not follow from the numbers beside it.

    Raises:
        EsxparseError: The dataset does not exist, or does not belong to a published study.
    """
    from esxparse.studies import published as figures  # noqa: PLC0415  half of a study's libraries are for studies alone

    place = folder(name) / figures.FILE_NAME
    if not place.is_file():
        raise EsxparseError(f"dataset {name!r} does not belong to a published study: it has no {figures.FILE_NAME}")
    return figures.listed(figures.read(place).figure)


def _folders() -> tuple[Path, ...]:
    return tuple(sorted(path.parent for path in datasets_dir().glob("*/README.md")))
