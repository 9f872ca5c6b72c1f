"""The name that a recording gets where nobody gives it one."""

from __future__ import annotations

import re
from typing import Final

from esxparse.locations import public

STANDARD_INPUT: Final = "-"
"""The path that stands for standard input."""

_PACKED: Final = re.compile(r"\.(?:gz|bz2|xz|zst|zip|tgz|tar)$", re.IGNORECASE)
_OF_DEVICES: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:$|[. ])", re.IGNORECASE)
"""Names that Windows keeps for devices, with any ending."""
_UNFIT: Final = re.compile(r"[^\w .@+=-]+")


def recording_name(source: str) -> str:
    """The name that a recording of `source` gets: that of its file, without folders and endings.

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
