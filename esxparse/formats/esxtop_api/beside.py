"""Files beside a reply: the reply of CounterInfo that names its fields, and other replies of the same host."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from esxparse.errors import EsxparseError
from esxparse.formats.esxtop_api import stored
from esxparse.formats.esxtop_api.grammar import TOPOLOGY, Info, counter_info
from esxparse.formats.names import natural
from esxparse.formats.source import Source, resolve

_LOOK: Final = 256
_MARKS: Final = b"\xef\xbb\xbf\xff\xfe \r\n"
"""Byte-order marks, and what may stand before a reply."""
_NAMES: Final = (
    re.compile(r"(?!(?:fetch|all|esxtop)[-_.]?stat)(?P<host>.+?)[-_.]?(?:stat|def)s?\.txt(?:\.\w+)?", re.IGNORECASE),
    re.compile(r"esxtop_(?P<host>.+)_\d{8}_\d{6}\.csv(?:\.\w+)?", re.IGNORECASE),
)
"""Names that scripts give to files: `esx-07stat.txt`, `esxtop_esx-07_20261128_093000.csv`."""


@dataclass(frozen=True)
class Texts:
    """The replies in a directory: the fields, and the files with values, in their order."""

    info: Info
    files: list[Path]


def info_in(path: str) -> Info:
    """Return the fields in a file with a reply of CounterInfo: alone, before values, or collected.

    Raises:
        EsxparseError: It cannot be read, or has no such reply.
    """
    found = stored.read(resolve(path).text().text, None).info
    if not found:
        raise EsxparseError(
            f"counter_info {path} is no reply of CounterInfo: it has no line such as |PCPU|NumOfLCPUs,U32|"
        )
    return found


def _begins(path: str, *beginnings: bytes) -> bool:
    """Return whether a file begins like this, in any encoding, without reading all of it."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  a path of scandir
            head = file.read(_LOOK)
    except OSError:
        return False
    return head.replace(b"\0", b"").lstrip(_MARKS).startswith(beginnings)


def _named(folder: Path, *beginnings: bytes) -> list[str]:
    """Return the names of the files of a directory that begin like this, in natural order."""
    names = [one.name for one in os.scandir(folder) if one.is_file() and _begins(one.path, *beginnings)]
    return sorted(names, key=natural)


def _fields_in(folder: Path, names: list[str]) -> dict[str, Info]:
    """Return the fields in each file that is a reply of CounterInfo alone."""
    texts = {name: resolve(folder / name).text().text for name in names}
    found = {name: counter_info(text) for name, text in texts.items() if TOPOLOGY not in text}
    return {name: info for name, info in found.items() if info}


def info_beside(source: Source) -> tuple[Info | None, str]:
    """Return the fields in the only reply of CounterInfo beside a file, and the name of that file.

    A file whose name has the same host comes first; one whose name has another host does not count.
    """
    path = Path(source.where)
    if not path.is_file():
        return None, ""
    host = host_of(path.name)
    every = _fields_in(path.parent, _named(path.parent, b"|"))
    own = {name: info for name, info in every.items() if host and host_of(name) == host}
    nameless = {name: info for name, info in every.items() if None in {host, host_of(name)}}
    chosen = list((own or nameless).items())
    if len(chosen) != 1:
        return None, ""
    ((name, info),) = chosen
    return info, name


def texts_in(folder: Path) -> Texts | None:
    """Return the replies in a directory with one reply of CounterInfo and values of one host; None for others."""
    try:
        fields, values = _named(folder, b"|"), _named(folder, TOPOLOGY.encode())
    except OSError:
        return None
    if not fields or not values or len({host_of(name) for name in values}) != 1:
        return None
    infos = list(_fields_in(folder, fields).values())
    if len(infos) != 1:
        return None
    return Texts(infos[0], [folder / name for name in values])


def host_of(name: str) -> str | None:
    """Return the host that a script wrote into the name of its file.

    >>> host_of("esx-07stat.txt"), host_of("esxtop_esx-07_20261128_093000.csv"), host_of("fetchstats-0001.txt")
    ('esx-07', 'esx-07', None)
    >>> host_of("fetchstats.txt") is None
    True
    """
    found = next((match for one in _NAMES if (match := one.fullmatch(name))), None)
    return found["host"] if found else None
