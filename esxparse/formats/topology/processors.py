"""The columns of lscpu: `-e` for people, `-p` for programs, `-C` for caches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from esxparse.formats.kit.numbers import size_bytes, whole
from esxparse.formats.kit.tables import distinct, schema
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA = schema("processor core socket node i64, caches str, online bool, max_mhz min_mhz mhz f64")

_PARSABLE = re.compile(r"(?m)^# ?CPU,[A-Za-z0-9,_:]*[ \t]*$|^# The following is the parsable format, which can be fed")
_EXTENDED_NAMES = re.compile(r"CPU[ \t]+(?:NODE|SOCKET|CORE|BOOK|DRAWER|CLUSTER)\b")
_EXTENDED = re.compile(rf"(?m)^[ \t]*{_EXTENDED_NAMES.pattern}.*$")
_CACHES = re.compile(r"(?m)^[ \t]*NAME[ \t]+ONE-SIZE[ \t]+ALL-SIZE\b.*$")
_NAMES = {"processor": "cpu", "core": "core", "socket": "socket", "node": "node"}
_MHZ = {"max_mhz": "maxmhz", "min_mhz": "minmhz", "mhz": "mhz"}
_ONLINE = {"yes": True, "y": True, "true": True, "ja": True, "oui": True, "no": False, "n": False, "false": False}
_FREQUENCY = re.compile(r"\d{1,9}(?:[.,]\d{1,9})?")


def recognise(text: str) -> bool:
    """The names of the columns."""
    return bool(
        (("CPU," in text or "the parsable format" in text) and _PARSABLE.search(text))
        or (_EXTENDED_NAMES.search(text) and _EXTENDED.search(text))
        or ("ONE-SIZE" in text and _CACHES.search(text))
    )


def read_columns(lines: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Note]]:
    """Processors, caches and notes; names of columns may come again with other columns."""
    rows: list[dict[str, Any]] = []
    caches: list[dict[str, Any]] = []
    notes: list[Note] = []
    names: list[str] = []
    sep: str | None = None
    for place, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        if _PARSABLE.match(text) and "," in text and " The" not in text:
            names, sep = text.lstrip("# ").strip().lower().split(","), ","
        elif _EXTENDED.match(text) or _CACHES.match(text):
            names, sep = text.lower().split(), None
        elif text.startswith("#"):
            continue
        else:
            cells = [cell.strip() for cell in text.split(sep)]
            if names and len(cells) == len(names) and names[0] == "name":
                caches.append(cache_row(dict(zip(names, cells, strict=True))))
                continue
            one = row(_named(names, cells)) if names and len(cells) == len(names) else None
            if one is None or one["processor"] is None:
                notes.append(Note(f"left out: {text.strip()[:60]!r}", line=place, severity="warning"))
            else:
                rows.append(one)
    return rows, caches, notes


def _named(names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    named = dict(zip(names, cells, strict=True))
    if "" in names:
        # -p parts the caches from the rest by a column without a name.
        named["caches"] = ":".join(cells[names.index("") + 1 :])
    return named


def row(cells: Mapping[str, Any]) -> dict[str, Any]:
    """One processor of named cells; `-` and nothing are not known."""
    caches = cells.get("caches") or next((str(cells[name]) for name in cells if name.startswith("l1")), None)
    online = cells.get("online")
    return {
        **{column: whole(cells.get(name)) for column, name in _NAMES.items()},
        "caches": caches or None,
        "online": online if isinstance(online, bool) else _ONLINE.get(str(online).lower()),
        **{column: _mhz(cells.get(name)) for column, name in _MHZ.items()},
    }


def _mhz(value: object) -> float | None:
    text = str(value).strip()
    return float(text.replace(",", ".")) if _FREQUENCY.fullmatch(text) else None


def cache_row(cells: Mapping[str, str]) -> dict[str, Any]:
    """One cache of `-C`."""
    one, every = size_bytes(cells.get("one-size", "")), size_bytes(cells.get("all-size", ""))
    return {
        "cache": cells.get("name"),
        "one_bytes": one,
        "all_bytes": every,
        "instances": every // one if one and every else None,
    }


def meta(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the processors tell of the whole; those offline have no place."""
    there = [one for one in rows if one["online"] is not False]
    if not there:
        return {}
    cores = distinct(None if one["core"] is None else (one["socket"], one["core"]) for one in there)
    return {
        "threads": len(there),
        "sockets": distinct(one["socket"] for one in there),
        "cores": cores,
        "numa_nodes": distinct(one["node"] for one in there),
        "mhz": max((one["max_mhz"] for one in there if one["max_mhz"] is not None), default=None),
    }
