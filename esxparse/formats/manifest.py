"""What stands beside the tables of a converted recording: `recording.json`.

`format`, `source`, `meta` and `notes` are those of the Recording. `esxparse` is the version that wrote it. `origin`
says where it was read from: name, bytes and SHA-256 of the file, and the options it was read with. `tables` has for
each table its file, rows and bytes.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from esxparse.errors import DamagedError
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAME = "recording.json"

_TIME = "$time"
_TUPLE = "$tuple"


def _plain(value: Any) -> Any:
    """`value` in the words of JSON; times and tuples say that they are such."""
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
        return datetime.fromisoformat(value[_TIME])
    if _TUPLE in value:
        return tuple(_rich(one) for one in value[_TUPLE])
    return {name: _rich(one) for name, one in value.items()}


def write(folder: Path, content: Mapping[str, Any], notes: tuple[Note, ...]) -> None:
    """Writes `content` and the notes beside the tables."""
    listed = [
        {"message": one.message, "line": one.line, "column": one.column, "severity": one.severity} for one in notes
    ]
    text = json.dumps(_plain({**content, "notes": listed}), indent=1, ensure_ascii=False)
    (folder / NAME).write_text(text + "\n", encoding="utf-8")


def read(folder: Path) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """What stands beside the tables, and the notes.

    Raises:
        DamagedError: It cannot be read, or is not what `esxparse convert` writes.
    """
    file = folder / NAME
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        notes = tuple(Note(**one) for one in content["notes"])
        content = _rich({name: value for name, value in content.items() if name != "notes"})
        # Asked for here, so that a file without them is told from one with them.
        _ = content["format"], content["source"], content["meta"], content["origin"]["sha256"]
        _ = [(one["file"], one["rows"], one["bytes"]) for one in content["tables"].values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        msg = (
            f"{file} is not what `esxparse convert` writes ({type(error).__name__}: {error}): convert the capture again"
        )
        raise DamagedError(msg) from error
    return content, notes
