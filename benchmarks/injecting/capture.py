"""Reads and writes esxtop captures as text columns, with nothing but `csv` and `numpy`."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.float64]
_STAMP = "%m/%d/%Y %H:%M:%S"
_FIRST = "(PDH-CSV 4.0) (UTC)(0)"
_APERF = re.compile(r'",[ ]+(?:-|[\d.]+)(?="|$)', re.MULTILINE)
"""The cells of A/MPERF that ESXi 6.5 prints without quotes and without a comma after them (formats.md)."""
_DECIMALS = 2


class Key(NamedTuple):
    """A column: object, instance ("" if it has none) and counter."""

    object: str
    instance: str
    counter: str

    @property
    def header(self) -> str:
        """As in the header, without the host."""
        return f"{self.object}({self.instance})\\{self.counter}" if self.instance else f"{self.object}\\{self.counter}"


@dataclass
class Capture:
    """Columns of a capture by key, a number per sample, and the time of each sample."""

    host: str
    times: list[datetime]
    columns: dict[Key, Cells]
    whole: set[Key] = field(default_factory=set)
    """Columns that esxtop prints without decimals."""
    paths: dict[str, list[str]] = field(default_factory=dict)
    """Paths of each disk, if they are known otherwise than by the cells."""
    on_nfs: dict[str, str] = field(default_factory=dict)
    """The NFS volume of each VM that lies on one."""

    @property
    def samples(self) -> int:
        """How many samples there are."""
        return len(self.times)

    def copy(self) -> Capture:
        """Another capture with the same arrays; replace arrays, never write into them."""
        return Capture(self.host, list(self.times), dict(self.columns), set(self.whole), self.paths, self.on_nfs)


def read_capture(path: Path) -> Capture:
    """Read every column whose cells are all numbers; a duplicate name keeps its first column."""
    text = _APERF.sub('",', path.read_text(encoding="utf-8-sig"))
    rows = [row for row in csv.reader(text.splitlines()) if row]
    header, body = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    found = Capture("", [datetime.strptime(row[0], _STAMP) for row in body], {})  # noqa: DTZ007  UTC by the header
    for place, name in enumerate(header[1:], 1):
        key = parse_name(name)
        cells = [row[place] for row in body]
        if key is None or key in found.columns or not all(map(_number, cells)):
            continue
        found.host = found.host or name.split("\\")[2]
        found.columns[key] = np.array(cells, dtype=float)
        if not any("." in cell for cell in cells):
            found.whole.add(key)
    return found


def parse_name(name: str) -> Key | None:
    r"""Split `\\host\object(instance)\counter`; None if it is not such a path."""
    parts = name.split("\\")
    if len(parts) != 5 or not parts[4]:
        return None
    kind, bracket, instance = parts[3].partition("(")
    return Key(kind, instance[:-1] if bracket else "", parts[4])


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


class Writer:
    """Writes captures; the text of a column that is remembered is used again."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[Cells, list[str]]] = {}

    def remember(self, capture: Capture) -> None:
        """Keep the text of all columns of a capture, which pays if the next captures share most of them."""
        for key, cells in capture.columns.items():
            self._texts[id(cells)] = (cells, format_cells(cells, whole=key in capture.whole))

    def write(self, capture: Capture, path: Path) -> None:
        """Write a capture as esxtop does: every cell in quotes, a comma between two of them."""
        names = [_FIRST, *(f"\\\\{capture.host}\\{key.header}" for key in capture.columns)]
        columns = [[time.strftime(_STAMP) for time in capture.times]]
        for key, cells in capture.columns.items():
            known = self._texts.get(id(cells))
            if known is not None and known[0] is cells:
                columns.append(known[1])
                continue
            columns.append(format_cells(cells, whole=key in capture.whole))
        with path.open("w", encoding="utf-8", newline="") as stream:
            stream.write(_line(names))
            stream.writelines(map(_line, zip(*columns, strict=True)))


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return '"' + '","'.join(cells) + '"\n'


def format_cells(cells: Cells, *, whole: bool) -> list[str]:
    """Format a column: integers as such, anything else with two decimals."""
    if np.all(cells == cells[0]):
        return [_text(float(cells[0]), whole=whole)] * len(cells)
    return [_text(cell, whole=whole) for cell in cells.tolist()]


def _text(cell: float, *, whole: bool) -> str:
    return f"{round(cell)}" if whole else f"{cell:.{_DECIMALS}f}"


def spaced(start: datetime, samples: int, seconds: float) -> list[datetime]:
    """Times of samples, one every so many seconds."""
    return [start + timedelta(seconds=seconds * number) for number in range(samples)]
