"""The reader of whole numbers in plain Python: same signature and same answers as the compiled reader.

Tests compare the compiled reader with it, and it is used if no Rust toolchain was present at install.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

FEWEST_COLUMNS, MOST_COLUMNS = 2, 16

_DECIMAL = r"-?[0-9]{1,18}+"
_HEXADECIMAL = r"(?:0x)?[0-9a-fA-F]{1,15}+"


_WHOLE = r"(?:0|[1-9][0-9]{0,17})"
_PAIR = rf'"{_WHOLE}"[ \t\n\r]*+:[ \t\n\r]*+{_WHOLE}[ \t\n\r]*+'
_PAIRS = re.compile(rf"\{{[ \t\n\r]*+(?:{_PAIR}(?:,[ \t\n\r]*+{_PAIR})*)?\}}".encode())
_BINS = re.compile(rb'"bins"(?:[ \t\n\r]*+:[ \t\n\r]*+(?P<object>(?=\{)))?')
_LINE_ENDS = re.compile(rb"[\r\n]")
_DIGITS = re.compile(rb"[0-9]++")


class Column(NamedTuple):
    """A column of whole numbers, and the destination of its numbers."""

    low: int
    """The smallest valid number."""
    high: int
    """The largest valid number."""
    hexadecimal: bool
    """Numbers are hexadecimal, with or without a leading `0x`."""
    times: int
    over: int
    out: NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint8] | int
    """The destination: floats, times `times` and over `over`; whole numbers, times `times`; or bytes, unchanged. A
    plain number means that all lines must have that number."""


@cache
def _other(width: int) -> re.Pattern[bytes]:
    """Return the pattern of the beginning of a line that is cut or has anything but `width` decimal numbers."""
    return re.compile(rf"(?m)^(?!(?:{_DECIMAL}, ){{{width - 1}}}{_DECIMAL}\r?\n)".encode())


@cache
def _line(hexadecimal: tuple[bool, ...]) -> re.Pattern[bytes]:
    cells = (f"({_HEXADECIMAL if one else _DECIMAL})" for one in hexadecimal)
    return re.compile((", ".join(cells) + "\r?").encode())


def number_of_lines(data: bytes | bytearray | memoryview) -> int:
    """Return the number of lines in `data`, including a last one without a line end."""
    text = bytes(data)
    return text.count(b"\n") + (text[-1:] not in {b"\n", b""})


class _Run:
    """One pass over lines."""

    def __init__(self, data: bytes, columns: Sequence[Column]) -> None:
        self.data = data
        self.columns = columns
        self.room = min((len(one.out) for one in columns if not isinstance(one.out, int)), default=len(data))
        self.at = 0
        self.lines = 0
        self.odd: list[tuple[int, int, int]] = []
        self.changed = 0

    def take(self, numbers: Numbers) -> list[int]:
        """Store numbers, a row for each line, up to a line that changes a column.

        Returns the lines with numbers that do not fit.
        """
        numbers = numbers[: self.room - self.lines]
        low, high = (np.array([getattr(one, bound) for one in self.columns]) for bound in ("low", "high"))
        fits: NDArray[np.bool_] = np.asarray(((numbers >= low) & (numbers <= high)).all(axis=1))
        same = np.array([isinstance(one.out, int) for one in self.columns])
        wanted = np.array([one.out if isinstance(one.out, int) else 0 for one in self.columns])
        differs: NDArray[np.bool_] = same & (numbers != wanted) & fits[:, None]
        if differs.any():
            end = int(differs.any(axis=1).argmax())
            self.changed = sum(1 << place for place in np.flatnonzero(differs[end]).tolist())
            numbers, fits = numbers[:end], fits[:end]
        rows = slice(self.lines, self.lines + len(numbers))
        for column, mine in zip(self.columns, numbers.T, strict=True):
            if isinstance(column.out, int):
                continue
            if column.out.dtype == np.float64:
                column.out[rows] = mine * float(column.times) / float(column.over)
            elif column.out.dtype == np.int64:
                column.out[rows] = mine * column.times
            else:
                column.out[rows] = mine.astype(np.uint8)
        self.lines += len(numbers)
        return [rows.start + place for place in np.flatnonzero(~fits).tolist()]

    def many(self) -> None:
        """Read the next lines of decimal numbers."""
        other = _other(len(self.columns)).search(self.data, self.at)
        text = self.data[self.at : other.start()] if other else b""
        if not text:
            return
        numbers = np.fromstring(text.replace(b"\r", b"").replace(b"\n", b",").decode(), dtype=np.int64, sep=",")
        first = self.lines
        if odd := self.take(numbers.reshape(-1, len(self.columns))):
            ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")) + self.at
            starts = np.concatenate([[self.at], ends[:-1] + 1])
            self.odd += [(row, int(starts[row - first]), int(ends[row - first])) for row in odd]
        self.at += len(text)

    def one(self) -> None:
        """Read the next line by itself."""
        end = self.data.find(b"\n", self.at)
        end = len(self.data) if end < 0 else end
        hexadecimal = tuple(one.hexadecimal for one in self.columns)
        if (match := _line(hexadecimal).fullmatch(self.data, self.at, end)) is None:
            self.odd.append((self.lines, self.at, end))
            self.lines += 1
        else:
            numbers = [int(text, 16 if one else 10) for text, one in zip(match.groups(), hexadecimal, strict=True)]
            self.odd += [(row, self.at, end) for row in self.take(np.array([numbers]))]
        self.at = end + 1

    def more(self) -> bool:
        """Return whether there are lines left to read."""
        return self.at < len(self.data) and self.lines < self.room and not self.changed


def read_integers(data: bytes | bytearray | memoryview, columns: Sequence[Column]) -> tuple[int, bytes, int]:
    r"""Read lines of whole numbers, `1000, -4096, 0`, and store line `i` at place `i` of each column.

    Numbers are separated by a comma and a blank; only a carriage return may end the line. A decimal number has at most
    18 digits and may have a minus. A hexadecimal number has at most 15 digits and no minus. A last line without a line
    end counts as a line.

    A malformed line, or a number out of bounds, makes a line odd; its place then has arbitrary content. Lines beyond
    the end of the shortest column are not read.

    Args:
        data: Whole lines.
        columns: One for each number of a line, 2 to 16. Arrays are contiguous.

    Returns:
        Number of lines read. Odd lines, each as three native 64-bit integers: its number, offset of its start, offset
        of its end without the line feed. A bit for each column in which a line has another number than the required
        one: reading ends before that line, the first of its kind.
    """
    if not FEWEST_COLUMNS <= len(columns) <= MOST_COLUMNS:
        raise ValueError("columns must be 2 to 16")
    run = _Run(bytes(data), columns)
    plain = not any(column.hexadecimal for column in columns)
    while run.more():
        if plain:
            run.many()
        if run.more():
            run.one()
    return run.lines, np.array(run.odd, dtype=np.int64).tobytes(), run.changed


def take_bins(json: bytes | memoryview) -> tuple[bytes, bytes, bytes, bytes] | None:
    """Take the bins of fio out of a text: `"bins" : {"40192" : 34854, "40704" : 10472}`.

    A number has at most 18 digits, no sign and no leading zeros; keys rise. Other objects stay.

    Returns:
        The text with each taken object replaced by its number, from 0; all else stays on its line and in its column.
        Keys and values of all objects, and the running count at the end of each, as native 64-bit integers. None if
        `"bins"` has a value other than an object, which could be mistaken for such a number.
    """
    found: list[NDArray[np.int64]] = []
    pieces, copied = [], 0
    json = bytes(json)
    for name in _BINS.finditer(json):
        if name["object"] is None:
            return None
        match = _PAIRS.match(json, name.start("object"))
        numbers = np.array([int(text) for text in _DIGITS.findall(match[0])] if match else [], np.int64).reshape(-1, 2)
        if match is None or (np.diff(numbers[:, 0]) <= 0).any():
            continue
        *lines, last = _LINE_ENDS.split(match[0])
        number = str(len(found)).encode()
        blanks = len(last) - (0 if lines else len(number))
        if blanks >= 0:
            pieces += [json[copied : match.start()], number, *_LINE_ENDS.findall(match[0]), b" " * blanks]
            copied = match.end()
            found.append(numbers)
    keys, values = np.concatenate([np.zeros((0, 2), np.int64), *found]).T
    ends = np.cumsum([len(numbers) for numbers in found], dtype=np.int64)
    return b"".join((*pieces, json[copied:])), keys.tobytes(), values.tobytes(), ends.tobytes()
