"""Damaged variants of a capture, and what must be in them: every cell's number, and how many rows there are.

A capture is taken apart with `csv` alone. A variant is made of its lines: glued, cut, reversed, repeated, with another
capture before or after them; then saved as another program would, encoded, and perhaps a byte is lost.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import random
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from esxparse.counters.naming import column_name, table_name

STAMP = "%m/%d/%Y %H:%M:%S"
_PATH = re.compile(r"\\\\([^\\]+)\\([^(\\]+?)(?:\((.*)\))?\\([^\\]+)")
_JOINT = re.compile(r'(?<=.)(?="\(PDH-CSV |"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d",)')
_ONE_OF_EACH = 5  # columns of each object that are kept

Cell = tuple[str, str | None, str]
"""Table, instance and column."""


@dataclass(frozen=True)
class Base:
    """A capture: names of its columns, and its rows; the first cell of each is its time stamp."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, text: str, samples: int) -> Base:
        """So many samples of a capture, and a few columns of each object; where there are less, they are varied."""
        names, *rows = csv.reader(io.StringIO(text))
        seen: dict[str, int] = {}
        kept = [0]
        for place, name in enumerate(names[1:], 1):
            found = _PATH.fullmatch(name)
            if found and all(_is_number(row[place]) for row in rows[:3]):
                seen[found[2]] = seen.get(found[2], 0) + 1
                kept += [place] if seen[found[2]] <= _ONE_OF_EACH else []
        start = dt.datetime.strptime(rows[0][0], STAMP)  # noqa: DTZ007
        made = []
        for number in range(samples):
            row = rows[number % len(rows)]
            stamp = f"{start + dt.timedelta(seconds=5 * number):{STAMP}}"
            made.append((stamp, *(_varied(row[place], number, len(rows)) for place in kept[1:])))
        return cls(("(PDH-CSV 4.0) (UTC)(0)", *(names[place] for place in kept[1:])), tuple(made))

    def later(self, hours: int, host: str = "") -> Base:
        """The same some hours later, perhaps of another host."""
        rows = [
            (f"{dt.datetime.strptime(row[0], STAMP) + dt.timedelta(hours=hours):{STAMP}}", *row[1:])  # noqa: DTZ007
            for row in self.rows
        ]
        own = self.names[1].split("\\")[2]
        names = [name.replace(f"\\\\{own}\\", f"\\\\{host or own}\\", 1) for name in self.names]
        return Base(tuple(names), tuple(rows))

    def columns(self, places: list[int]) -> Base:
        """Some columns, in that order."""
        rows = tuple(tuple(row[place] for place in [0, *places]) for row in self.rows)
        return Base(tuple(self.names[place] for place in [0, *places]), rows)

    @property
    def header(self) -> str:
        return ",".join(f'"{name}"' for name in self.names)

    @property
    def lines(self) -> list[str]:
        """The rows as esxtop writes them."""
        return [",".join(f'"{cell}"' for cell in row) for row in self.rows]

    def numbers(self) -> dict[dt.datetime, dict[Cell, float]]:
        """The number of each cell, by time."""
        cells = []
        for name in self.names[1:]:
            _, kind, instance, counter = _PATH.fullmatch(name).groups()
            cells.append((table_name(kind), instance, column_name(counter)))
        return {
            dt.datetime.strptime(row[0], STAMP).replace(tzinfo=dt.UTC): {
                cell: float(text) for cell, text in zip(cells, row[1:], strict=True)
            }
            for row in self.rows
        }


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d+)?", text.strip()) is not None


def _varied(text: str, number: int, rows: int) -> str:
    """The cell of a sample: the capture's own, or that of an earlier sample by some percent more."""
    text = text.strip()
    decimals = len(text.partition(".")[2])
    return text if number < rows else f"{float(text) * (1 + number / 100):.{decimals}f}"


@dataclass(frozen=True)
class Variant:
    """A damaged file."""

    name: str
    content: bytes
    rows: int
    """Rows in the file, whole or cut."""
    ending: str = ".csv"
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Text:
    """A damaged text; `whole` if every line of it has all its cells, so that other programs could save it."""

    name: str
    text: str
    whole: bool = True


def rows_in(text: str) -> int:
    """Count the rows in a text, whole or cut; log lines before the first header are not rows."""
    lines = [part for line in re.split(r"\r*\n|\r", text.replace("\ufeff", "")) for part in _JOINT.split(line)]
    lines = [line for line in lines if line.strip("\0 ")]
    first = next(place for place, line in enumerate(lines) if "(PDH-CSV" in line)
    before = [line for line in lines[:first] if re.match(r'"?\d\d/', line) or line.count('","') > 1]
    return len(before) + sum("(PDH-CSV" not in line for line in lines[first:])


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _cut(line: str, rng: random.Random) -> str:
    """The beginning of a row: it ends within a cell, and not all cells are left."""
    return line[: rng.randrange(30, line.rindex('","') - 2)]


def _headers_without_rows(base: Base, other: Base, moved: Base) -> Iterator[Text]:
    lines, header = base.lines, base.header
    yield Text("a header without rows after it", _joined([header, *lines, other.header]))
    yield Text("a header without rows before it", _joined([other.header, header, *lines]))
    yield Text("half a header before it", _joined([header[: len(header) // 2], header, *lines]), whole=False)
    between = [other.header, moved.header, header, *base.later(3).lines]
    yield Text("headers without rows between", _joined([header, *lines, *between]))


def texts(base: Base, other: Base, moved: Base, rng: random.Random) -> Iterator[Text]:
    """One text for each kind of damage, drawn at random."""
    lines, header = base.lines, base.header
    count = len(lines)
    at = rng.randrange(2, count - 2)
    later = base.later(3).lines
    yield Text("as it is", _joined([header, *lines]))
    yield Text("no last line end", _joined([header, *lines]).removesuffix("\n"))
    whole = _joined([header, *lines])
    yield Text("cut at the end", whole[: rng.randrange(len(header) + 3 * len(lines[0]), len(whole) - 1)], whole=False)
    yield Text("a row cut", _joined([header, *lines[:at], _cut(lines[at], rng), *lines[at + 1 :]]), whole=False)
    yield Text(
        "line end lost", _joined([header, *lines[:at], lines[at] + lines[at + 1], *lines[at + 2 :]]), whole=False
    )
    yield Text(
        "cut row glued to the next",
        _joined([header, *lines[:at], _cut(lines[at], rng) + lines[at + 1], *lines[at + 2 :]]),
        whole=False,
    )
    yield Text("header glued to its first row", _joined([header + lines[0], *lines[1:]]), whole=False)
    yield Text("blank lines", _joined([header, *lines[:at], *[""] * rng.randrange(1, 5), *lines[at:]]))
    yield Text(
        "log lines", _joined([header, *lines[:at], *["vmkernel: cpu3: link is down"] * 3, *lines[at:]]), whole=False
    )
    nuls = "\0" * rng.randrange(3, 300)
    begin = rng.randrange(30, len(lines[at]) - 1)
    torn = lines[at][:begin] + nuls + lines[at][begin + len(nuls) :]
    yield Text("NUL bytes in a row", _joined([header, *lines[:at], torn, *lines[at + 1 :]]), whole=False)
    yield Text("NUL bytes at the end", whole + "\0" * 512, whole=False)
    piece = lines[at - rng.randrange(1, at) : at + 1]
    yield Text("a piece twice", _joined([header, *lines[: at + 1], *piece, *lines[at + 1 :]]))
    yield Text("the header again", _joined([header, *lines, header, *later]))
    yield Text(
        "the header again, glued to a row", _joined([header, *lines[:-1], lines[-1] + header, *later]), whole=False
    )
    yield Text(
        "the header again, glued to a cut row",
        _joined([header, *lines[:-1], _cut(lines[-1], rng) + header, *later]),
        whole=False,
    )
    yield Text("other columns", _joined([header, *lines, other.header, *other.lines]))
    yield Text(
        "other columns, glued to a cut row",
        _joined([header, *lines[:at], _cut(lines[at], rng) + other.header, *other.lines]),
        whole=False,
    )
    yield Text("another host", _joined([header, *lines, moved.header, *moved.lines]))
    yield Text(
        "there and back again",
        _joined([header, *lines, other.header, *other.lines, header, *later, moved.header, *moved.lines]),
    )
    yield from _headers_without_rows(base, other, moved)
    yield Text("reversed", _joined([*reversed(lines), header]))
    yield Text("reversed, started again", _joined([*reversed(later), header, *reversed(lines), header]))
    yield Text("reversed, of two captures", _joined([*reversed(other.lines), other.header, *reversed(lines), header]))
    yield Text("newest first", _joined([header, *reversed(lines)]))
    yield Text("the header last", _joined([*lines, header]))
    yield Text("a tail of its own before it", _joined([*lines[at:], header, *later]))
    yield Text("a tail of another before it", _joined([*moved.lines[at:], header, *lines]))
    yield Text("a cut tail before it", _joined(moved.lines[at:])[rng.randrange(1, 40) :] + whole, whole=False)
    yield Text("a tail glued to the header", _joined(moved.lines[at:])[: -rng.randrange(1, 40)] + whole, whole=False)
    yield Text("chatter before it", "Welcome to esx-01\nTERM: unknown\n" + whole, whole=False)
    yield Text("a mark between two files", whole + "\ufeff" + _joined([header, *later]), whole=False)
    cells = rng.randrange(2, 9)
    longer = lines[at].split(",")
    place = rng.randrange(3, len(longer) - cells)
    yield Text(
        "cells lost",
        _joined([header, *lines[:at], ",".join(longer[:place] + longer[place + cells :]), *lines[at + 1 :]]),
        whole=False,
    )
    first, second = lines[at].split(","), lines[at + 1].split(",")
    place = rng.randrange(9, len(first) - 9)
    halves = ",".join(first[:place] + second[place - rng.choice([-5, -3, 2, 4]) :])
    yield Text("bytes lost over a line end", _joined([header, *lines[:at], halves, *lines[at + 2 :]]), whole=False)


def _both(base: Base, other: Base, moved: Base, rng: random.Random) -> Text:
    """A capture with two kinds of damage, of which the second is in another capture below the first."""
    one = rng.choice(
        [text for text in texts(base, other, moved, rng) if text.text.startswith('"(PDH') and "\0" not in text.text]
    )
    two = rng.choice(
        [text for text in texts(moved.later(5), other.later(7), base.later(9), rng) if text.text.startswith('"(PDH')]
    )
    return Text(
        f"{one.name}; then {two.name}", one.text + two.text, whole=one.whole and two.whole and one.text.endswith("\n")
    )


def _spreadsheet(text: str, separator: str, date: str, rng: random.Random) -> str:
    """What a spreadsheet makes of a text."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator=rng.choice(["\n", "\r\n"]))
    for row in csv.reader(io.StringIO(text)):
        cells = row
        if row and not row[0].startswith("(PDH"):
            numbers = [cell.replace(".", ",") for cell in row[1:]] if separator == ";" else row[1:]
            cells = [f"{dt.datetime.strptime(row[0], STAMP):{date}}", *numbers]  # noqa: DTZ007
        writer.writerow(cells)
    return out.getvalue()


def _dressed(text: Text, rng: random.Random) -> Variant:
    """The text as some program saves it."""
    name, content, rows = text.name, text.text, rows_in(text.text)
    ways = [
        "as it is",
        "as it is",
        "CRLF",
        "UTF-16",
        "UTF-16 with a byte lost",
        "UTF-16 with a byte more",
        "parts",
        "gzip",
        "zip",
    ]
    ways += ["no quotes", "semicolons", "tabs", "a mark"] if text.whole else []
    # With text before a row, a header is found above its rows only.
    prefixed = text.whole and text.text.startswith('"(PDH') and "\n\n" not in text.text
    ways += ["line numbers", "the file's name", "an index", "an index in quotes"] if prefixed else []
    way = rng.choice(ways)
    encoding = rng.choice(["utf-16-le", "utf-16-be"])
    mark = rng.choice(["\ufeff", ""])
    if way in {"no quotes", "semicolons", "tabs"}:
        separator = {"no quotes": ",", "semicolons": ";", "tabs": "\t"}[way]
        content = _spreadsheet(content, separator, "%Y-%m-%d %H:%M:%S", rng)
    prefix = {"line numbers": "{}:", "the file's name": "esx-01.csv:", "an index": "{},", "an index in quotes": '"{}",'}
    if way in prefix:
        content = "".join(prefix[way].format(at) + line for at, line in enumerate(content.splitlines(keepends=True)))
    data = content.encode()
    if way == "CRLF":
        data = content.replace("\n", "\r\n").encode()
    elif way == "a mark":
        data = b"\xef\xbb\xbf" + data
    elif way == "parts":
        ends = [match.end() for match in re.finditer("\n", content[:-1])]
        place = rng.choice(ends[len(ends) // 4 :])
        data = content[:place].encode() + (mark + content[place:]).encode(encoding)
    elif way.startswith("UTF-16"):
        data = (mark + content).encode(encoding)
        header = [match.span() for match in re.finditer(r'"\(PDH[^\n]*?"(?="\d\d/|\n)|"\(PDH[^\n]*', content)]
        places = [
            at for at in (rng.randrange(len(content)) for _ in range(50)) if not any(b <= at <= e for b, e in header)
        ]
        if "byte" in way and places and content[places[0]] not in "\n\0":
            at = 2 * (len(mark) + places[0]) + rng.randrange(2)
            data = (
                data[:at]
                + (b"" if "lost" in way else rng.choice([b"\0", b"7", b"\xff"]) + data[at : at + 1])
                + data[at + 1 :]
            )
    if way == "gzip":
        return Variant(f"{name}; gzip", gzip.compress(data), rows, ".csv.gz")
    if way == "zip":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
            bundle.writestr("capture.csv", data)
        return Variant(f"{name}; zip", packed.getvalue(), rows, ".zip")
    return Variant(f"{name}; {way}", data, rows)


def variants(base: Base, count: int, seed: int) -> tuple[list[Variant], dict[dt.datetime, dict[Cell, float]]]:
    """So many variants, and the numbers that may be in them."""
    rng = random.Random(seed)  # noqa: S311  the same variants in every run
    places = list(range(1, len(base.names)))
    other = base.columns(places[len(places) // 3 :]).later(1)
    moved = base.later(2, "esx-99")
    made: list[Variant] = []
    while len(made) < count:
        every = list(texts(base, other, moved, rng))
        made += [_dressed(text, rng) for text in every]
        made += [_dressed(_both(base, other, moved, rng), rng) for _ in range(len(every) // 2)]
    numbers: dict[dt.datetime, dict[Cell, float]] = {}
    for capture in (base, base.later(3), other, moved, moved.later(5), moved.later(8), other.later(7), base.later(9)):
        numbers |= capture.numbers()
    chosen = made[:count] if count >= len(made) else rng.sample(made, count)
    return [replace(one, name=f"{number}: {one.name}") for number, one in enumerate(chosen)], numbers
