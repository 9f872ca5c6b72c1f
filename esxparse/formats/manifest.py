"""`recording.json`, beside the tables of a converted recording.

`format`, `source`, `meta` and `notes` are from the Recording. `esxparse` is the version that wrote it, and `layout` is
the version of its tables' meaning. `origin` identifies the input: name, bytes and SHA-256 of the file, and the
options used for reading. `tables` has file, rows and bytes of each table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any, get_args

from esxparse.errors import DamagedError
from esxparse.recording import Note, Severity

NAME = "recording.json"

LAYOUT = 2
"""Raised whenever a reader returns other numbers for the same file: older conversions must then be repeated.

2: disk rates of a first sample are null, not 0; Mbit are 10^6 bits.
"""

_EXCERPT_LENGTH = 40
_MOST = 2**63 - 1
_NONE = type(None)
_META: dict[str, tuple[type, ...]] = {
    "host": (str, _NONE),
    "release": (str, _NONE),
    "release_evidence": (str, _NONE),
    "start": (datetime, _NONE),
    "end": (datetime, _NONE),
    "interval": (float, int, _NONE),
    "samples": (int, _NONE),
    "columns": (int, _NONE),
    "pcpus": (int, _NONE),
    "next_segment": (int, _NONE),
    "objects": (dict, _NONE),
    "vms": (tuple, list),
}
"""Possible types of facts shown to people; other facts are only used by their reader."""

_TIME = "$time"
_TUPLE = "$tuple"


def _plain(value: Any) -> Any:
    """Return `value` as JSON types, with times and tuples marked as such."""
    if isinstance(value, datetime):
        return {_TIME: value.astimezone(UTC).isoformat()}
    if isinstance(value, tuple):
        return {_TUPLE: [_plain(one) for one in value]}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    return value


def _rich(value: Any) -> Any:
    if isinstance(value, list):
        return [_rich(one) for one in value]
    if not isinstance(value, dict):
        return value
    if _TIME in value:
        return datetime.fromisoformat(value[_TIME]).astimezone(UTC)
    if _TUPLE in value:
        return tuple(_rich(one) for one in value[_TUPLE])
    return {name: _rich(one) for name, one in value.items()}


def _is(value: Any, *types: type) -> Any:
    """Return the value if it has one of these types."""
    if isinstance(value, types) and not (isinstance(value, bool) and bool not in types and object not in types):
        return value
    raise TypeError(f"{str(value)[:_EXCERPT_LENGTH]!r} found where {types[0].__name__} is expected")


def count(value: Any) -> int:
    """Return the value if it is a whole number within the range of counts in tables and files.

    Raises:
        TypeError: It is not a number.
        ValueError: It is negative or too large.
    """
    number: int = _is(value, int)
    if not 0 <= number <= _MOST:
        raise ValueError(f"{str(number)[:_EXCERPT_LENGTH]} is not a count")
    return number


def _origin(found: dict[str, Any]) -> None:
    """Refuse an origin whose fields have other types."""
    _is(found["sha256"], str), _is(found.get("name", ""), str), _is(found.get("options", {}), dict)
    count(found.get("bytes", 0))


def _writable(content: dict[str, Any]) -> None:
    """Refuse texts that tables and other files cannot hold; a file's name may have bytes that are not UTF-8."""
    origin = {name: value for name, value in content["origin"].items() if name != "name"}
    written = {name: value for name, value in content.items() if name != "source"} | {"origin": origin}
    json.dumps(written, ensure_ascii=False, default=str).encode()


def _beside(file: str) -> None:
    """Refuse a table's file in another directory."""
    if PurePath(file).name != file or "\\" in file:
        raise ValueError(f"a table may not be in another directory, as {file!r} is")


def _note(
    message: str, line: int | None = None, column: int | None = None, severity: Severity = "info", rows: int = 0
) -> Note:
    if severity not in get_args(Severity):
        raise ValueError(f"a note cannot be {severity!r}")
    return Note(_is(message, str), _is(line, int, _NONE), _is(column, int, _NONE), severity, rows=_is(rows, int))


def encoded(content: Mapping[str, Any], notes: tuple[Note, ...]) -> bytes:
    """Return `content` and the notes as JSON."""
    listed = [
        {"message": one.message, "line": one.line, "column": one.column, "severity": one.severity}
        | ({"rows": one.rows} if one.rows else {})
        for one in notes
    ]
    text = json.dumps(_plain({**content, "notes": listed}), indent=1, ensure_ascii=False)
    # A file's name may hold bytes that are not UTF-8; JSON has an escape for them.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def write(folder: Path, content: Mapping[str, Any], notes: tuple[Note, ...]) -> None:
    """Write `content` and the notes beside the tables."""
    (folder / NAME).write_bytes(encoded(content, notes))


def is_of_now(content: Mapping[str, Any]) -> bool:
    """Return whether the tables have the current meaning."""
    return content.get("layout") == LAYOUT


def decoded(
    text: bytes, name: str, by: str = "convert", again: str = "convert the capture again"
) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """Return the content and notes from the text of `encoded`; messages refer to it as `name`.

    `by` is the command that writes it, `again` the advice for repeating it.

    Raises:
        DamagedError: It is something else.
    """
    try:
        content = json.loads(text)
        notes = tuple(_note(**one) for one in content["notes"])
        content = _rich({name: value for name, value in content.items() if name != "notes"})
        _origin(_is(content["origin"], dict))
        _is(content["format"], str), _is(content["source"], str)
        _is(content.get("esxparse", ""), str), count(content.get("layout", 0))
        _writable(content)
        for fact, value in _is(content["meta"], dict).items():
            _is(value, *_META.get(fact, (object,)))
            if int in _META.get(fact, ()) and value is not None and not isinstance(value, float):
                count(value)
        for inner, kind in (("vms", str), ("objects", int)):
            found = content["meta"].get(inner) or ()
            for one in found.values() if isinstance(found, dict) else found:
                count(one) if kind is int else _is(one, kind)
        for one in content["tables"].values():
            count(one["rows"]), count(one["bytes"])
            if "file" in one:
                _beside(_is(one["file"], str))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise DamagedError(
            f"{name} is not what `esxparse {by}` writes ({type(error).__name__}: {error}): {again}"
        ) from error
    return content, notes


def read(folder: Path) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """Return the content of the file beside the tables, and the notes.

    Raises:
        DamagedError: It cannot be read, or `esxparse convert` did not write it.
    """
    file = folder / NAME
    try:
        content, notes = decoded(file.read_bytes(), str(file))
        _ = [table["file"] for table in content["tables"].values()]
    except (OSError, KeyError) as error:
        raise DamagedError(
            f"{file} is not what `esxparse convert` writes ({type(error).__name__}: {error}): convert the capture again"
        ) from error
    return content, notes
