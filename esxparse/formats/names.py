"""Default names of recordings, and distinct names of files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from esxparse.locations import public

STANDARD_INPUT: Final = "-"
"""The path for standard input."""

_PACKED: Final = re.compile(r"\.(?:gz|bz2|xz|zst|zip|tgz|tar)$", re.IGNORECASE)
_OF_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:$|[. ])", re.IGNORECASE)
"""Names that Windows reserves for devices, with any ending."""
_UNFIT: Final = re.compile(r"[^\w .@+=-]+")


def recording_name(source: str) -> str:
    """Return the name of a recording of `source`: its file's name, without folders and endings.

    >>> recording_name("vm-support.tgz:var/log/night shift.csv.gz"), recording_name("con.csv")
    ('night shift', '_con')
    """
    if source == STANDARD_INPUT:
        return "standard-input"
    last = re.split(r"[/\\:]", public(source).rstrip("/"))[-1]
    while _PACKED.search(last):
        last = _PACKED.sub("", last)
    stem = last.rsplit(".", 1)[0] if "." in last.lstrip(".") else last
    name = _UNFIT.sub("_", stem).strip(" .") or "capture"
    return f"_{name}" if _OF_DEVICES.match(name) else name


def natural(name: str) -> list[str | int]:
    """Return a key that sorts 2 before 10.

    >>> sorted(["vm10", "vm2"], key=natural)
    ['vm2', 'vm10']
    """
    # Texts and numbers alternate, so that a text is never compared with a number.
    return [int(part) if at % 2 else part for at, part in enumerate(re.split(r"(\d{1,18})", name))]


def told_apart(paths: Sequence[str]) -> list[str]:
    """Return the names of files, each with enough of its folders to be distinct.

    >>> told_apart(["/home/me/a/day.csv", "/home/me/b/day.csv"]), told_apart(["/home/me/day.csv"])
    (['a/day.csv', 'b/day.csv'], ['day.csv'])
    """
    parts = [PurePath(path).relative_to(PurePath(path).anchor).parts for path in paths]
    depth = 1
    while len({one[-depth:] for one in parts}) < len(set(parts)):
        depth += 1
    return ["/".join(one[-depth:]) for one in parts]
