"""Settings of an ESXi host, as esxcli prints them (ESXi 5.0 to 8.0).

`esxcli system version get`, `system settings advanced list`, `iscsi adapter param get`, `storage nfs list`, one or
several in a file, as text.

meta: `release` (`6.7.0`), `build`.

Source: general knowledge of these outputs; other columns of the tables, and other fields, are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import left_out
from esxparse.formats.kit.tables import Row, frames, known, schemas
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "esxcli_settings"

_FIELD: Final = re.compile(r"\s+([A-Z][A-Za-z ]{0,40}): ?(.*)")
_UNDERLINE: Final = re.compile(r"-+(?: +-+)+\s*")
_VERSION: Final = ("Product", "Version", "Build", "Update", "Patch")
_OPTION: Final = (
    "Path",
    "Type",
    "Int Value",
    "Default Int Value",
    "Min Value",
    "Max Value",
    "String Value",
    "Default String Value",
    "Valid Characters",
    "Description",
)
_NFS: Final = {
    "volume": "Volume Name",
    "host": "Host",
    "share": "Share",
    "accessible": "Accessible",
    "mounted": "Mounted",
}


def read(source: Source) -> Recording:
    """Read one file, of one command or several."""
    text = source.text().without_cut_line()
    lines = text.lines()
    reader = _Lines()
    for at, line in enumerate(lines, 1):
        reader.line(at, line, lines[at] if at < len(lines) else "")
    settings = [
        {"section": section, "key": key, "value": value, "line": at} for section, key, value, at in reader.found
    ]
    if not settings and not reader.nfs:
        raise DamagedError(f"{source.name}: no complete setting in it: run the command again")
    schema = schemas(__file__)
    tables = frames({"settings": (settings, schema["settings"]), "nfs": (reader.nfs, schema["nfs"])})
    version = {key: value for section, key, value, _ in reader.found if section == "version"}
    meta = known({"release": version.get("Version"), "build": version.get("Build")})
    return Recording(FORMAT, source.name, tables, meta, text.notes + tuple(left_out(reader.other)))


class _Lines:
    """A reader of lines: fields on their own, and rows of a table below its underlined titles."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str, str, int]] = []
        self.nfs: list[Row] = []
        self.other: list[tuple[int, str]] = []
        self.option: dict[str, str] = {}
        self.titles: dict[str, slice] = {}

    def line(self, at: int, line: str, below: str) -> None:
        """Process a line; `below` is the next line."""
        if not line.strip() or _UNDERLINE.fullmatch(line) or "esxcli" in line:
            self.titles = self.titles if line.strip() and "esxcli" not in line else {}
        elif _UNDERLINE.fullmatch(below):
            self.titles = _titles(line, below)
        elif self.titles:
            self._row(at, line)
        elif field := _FIELD.fullmatch(line.rstrip()):
            self._field(at, field[1], field[2].strip())
        else:
            self.other.append((at, line))

    def _row(self, at: int, line: str) -> None:
        cells = {title: line[place].strip() for title, place in self.titles.items()}
        ends = [place.stop for place in self.titles.values() if place.stop is not None]
        if any(line[end : end + 1].strip() for end in ends):
            # A cell extends beyond its column: the table was pasted, or has another width.
            self.other.append((at, line))
        elif "Volume Name" in cells:
            self.nfs.append({name: cells.get(title) for name, title in _NFS.items()} | {"line": at})
        elif "Current" in cells:
            self.found.append(("iscsi", cells["Name"], cells["Current"], at))
        else:
            self.other.append((at, line))

    def _field(self, at: int, key: str, value: str) -> None:
        """Add a field of the version, or of an advanced option, whose value comes after its path and type."""
        if key == "Path":
            self.option = {"Path": value}
        self.option[key] = value
        if key == {"integer": "Int Value", "string": "String Value"}.get(self.option.get("Type", "")):
            self.found.append(("advanced", self.option.get("Path", ""), value, at))
        elif key in _VERSION:
            self.found.append(("version", key, value, at))
        elif key not in _OPTION:
            self.other.append((at, f"{key}: {value}"))


def _titles(line: str, underline: str) -> dict[str, slice]:
    """Return the columns of a table with their places: esxcli aligns numbers right, so underlines mark column ends."""
    ends = [found.span() for found in re.finditer("-+", underline)]
    starts: Sequence[int] = [start for start, _ in ends]
    places = [slice(start, None if at + 1 == len(starts) else ends[at][1]) for at, start in enumerate(starts)]
    return {line[place].strip(): place for place in places}
