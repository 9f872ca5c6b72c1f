"""Hypothesis strategies that write esxtop captures, damage them, and say what is true of them all the same.

A `Capture` is what esxtop meant to say: columns, and samples of cells that each hold a number or none. `captures()`
gives whole ones in the dialects met in the field; `damaged()` gives a `Case`: the bytes of one that something happened
to, and the numbers that may be read from them. Damage that no reader could tell from a whole capture is not among it: a
digit changed for another, a quote that moved by the bare cells of ESXi 6.5.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from esxparse.counters.naming import column_name, table_name

Key = tuple[dt.datetime, str, str | None, str]
"""Time in UTC, table, instance, column."""
Truth = Mapping[Key, frozenset[float]]
"""For each key the numbers that stand there: several where several samples have one time."""

MARK = "(PDH-CSV"
ZONES = {
    0: "UTC",
    -60: "W. Europe Standard Time",
    -330: "India Standard Time",
    300: "Eastern Standard Time",
    420: "Pacific Daylight Time",
}
"""Names that Windows gives its zones, by their bias in minutes."""


@dataclass(frozen=True)
class Column:
    object: str
    instance: str | None
    counter: str
    glued: bool = False
    """Printed bare, without a name, and with no comma after it: the A/MPERF cells of ESXi 6.5 `-a`."""

    @property
    def owner(self) -> str:
        return self.object if self.instance is None else f"{self.object}({self.instance})"

    def key(self, time: dt.datetime) -> Key:
        return time, table_name(self.object), self.instance, column_name(self.counter)


@dataclass(frozen=True)
class Cell:
    text: str
    number: float | None
    """What the text says; none for blanks, `-nan` and words."""


@dataclass(frozen=True)
class Sample:
    stamp: dt.datetime
    """On the capture's own clock."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Capture:
    columns: tuple[Column, ...]
    samples: tuple[Sample, ...]
    bias: int = 0
    trailing_comma: bool = False
    bare: bool = False
    """Saved by a spreadsheet: no quotes where none are needed, and times to the minute."""
    line_end: str = "\n"

    def _line(self, cells: list[str]) -> str:
        if self.bare:
            line = io.StringIO()
            csv.writer(line, lineterminator="").writerow(cells)
            return line.getvalue() + "," * self.trailing_comma
        line = f'"{cells[0]}"'
        for column, before, cell in zip(self.columns, (None, *self.columns), cells[1:], strict=False):
            comma = "" if before and before.glued else ","
            line += comma + (cell if column.glued else f'"{cell}"')
        return line + "," * self.trailing_comma

    def names(self) -> list[str]:
        """The cells of the header."""
        columns = [
            "   -" if column.glued else rf"\\esx-01.example.com\{column.owner}\{column.counter}"
            for column in self.columns
        ]
        return [f"{MARK} 4.0) ({ZONES[self.bias]})({self.bias})", *columns]

    def header(self) -> str:
        return self._line(self.names())

    def rows(self) -> list[str]:
        rows = []
        for sample in self.samples:
            stamp = sample.stamp
            text = f"{stamp:%m/%d/%Y %H:%M:%S}"
            if self.bare:
                text = f"{stamp.month}/{stamp.day}/{stamp.year} {stamp.hour}:{stamp:%M}"
            rows.append(self._line([text, *(cell.text for cell in sample.cells)]))
        return rows

    def join(self, lines: list[str]) -> bytes:
        return "".join(line + self.line_end for line in lines).encode()

    def content(self) -> bytes:
        return self.join([self.header(), *self.rows()])

    def time(self, sample: Sample) -> dt.datetime:
        stamp = sample.stamp.replace(second=0) if self.bare else sample.stamp
        return (stamp + dt.timedelta(minutes=self.bias)).replace(tzinfo=dt.UTC)

    def numbers(self) -> list[tuple[Key, float]]:
        """Every number of the capture, in the order of the file."""
        return [
            (column.key(self.time(sample)), cell.number)
            for sample in self.samples
            for column, cell in zip(self.columns, sample.cells, strict=True)
            if cell.number is not None
        ]

    def truth(self) -> Truth:
        found = defaultdict(set)
        for key, number in self.numbers():
            found[key].add(number)
        return {key: frozenset(numbers) for key, numbers in found.items()}


@dataclass(frozen=True)
class Case:
    """A capture that something happened to."""

    kind: str
    content: bytes
    truth: Truth
    """What stood in the capture before."""
    said: bool = True
    """Whether a reader can know of numbers that are lost: not where a capture ends between two rows."""


# A quote is escaped nowhere; one that is doubled reads as another program's, so two in a row are ambiguous.
names = st.text(
    st.characters(exclude_characters="\\\n\r\x00", exclude_categories=["Cs"]), min_size=1, max_size=10
).filter(lambda name: '""' not in name and MARK not in name)
_ids = st.integers(1, 10**7)
UNKNOWN_COUNTER = "Entangled? %/sec"
_PLAIN = [
    ("Memory", None, "Free MBytes"),
    ("Memory", None, "Memory Overcommit (1 Minute Avg)"),
    ("Physical Cpu", "_Total", "% Util Time"),
    ("VSAN", None, "Enabled?"),
    ("Group Memory", "7:db", "Numa Home Nodes"),
    ("Quantum Bus", "q0:left", UNKNOWN_COUNTER),
]
_plain_columns = st.lists(st.sampled_from(_PLAIN), unique=True, max_size=3).map(
    lambda chosen: [Column(*column) for column in chosen]
)


@st.composite
def _named_columns(draw: st.DrawFn) -> list[Column]:
    """Columns of a VM: several objects, and counters that not all of their instances have."""
    name, group, world = draw(names), draw(_ids), draw(_ids)
    owners = [
        ("Group Cpu", f"{group}:{name}", ["% Used", "% Ready", "% VmWait"]),
        ("Vcpu", f"{group}:{name}:{world}:vmx-vcpu-0:{name}", ["% Used", "% CoStop"]),
        ("Virtual Disk", f"{name}:scsi0:1", ["Reads/sec", "Average MilliSec/Read"]),
        ("Network Port", f"vSwitch0:{world}:{name}", ["Average Packet Size  Transmitted (Bytes)", "Link Up?"]),
    ]
    chosen = draw(st.lists(st.sampled_from(owners), min_size=1, max_size=3, unique_by=lambda owner: owner[0]))
    return [
        Column(name, instance, counter)
        for name, instance, counters in chosen
        for counter in draw(st.lists(st.sampled_from(counters), min_size=1, unique=True))
    ]


@st.composite
def _power_columns(draw: st.DrawFn, *, glued: bool) -> list[Column]:
    columns = []
    for pcpu in range(draw(st.integers(1, 2))):
        instance = f"PCPU {pcpu}"
        columns += [Column("PCPU Power State", instance, counter) for counter in ("%C-State C0", "%T-State T7")]
        columns.append(Column("PCPU Power State", instance, "% of aperf/mperf", glued=glued))
    return columns


@st.composite
def _columns(draw: st.DrawFn, *, glued: bool) -> tuple[Column, ...]:
    parts = [draw(_plain_columns), *draw(st.lists(_named_columns(), min_size=1, max_size=2))]
    if glued or draw(st.booleans()):
        parts.append(draw(_power_columns(glued=glued)))
    if draw(st.booleans()):
        parts.reverse()
    columns = [column for part in parts for column in part]
    if not glued:
        columns = draw(st.permutations(columns))
    return tuple({(column.owner, column.counter): column for column in columns}.values())


_number_texts = st.one_of(
    st.just("0.00"),
    st.integers(-1, 10**6).map(str),
    st.integers(0, 10**12).map(str),
    st.decimals(0, 10**5, places=2).map(str),
    st.decimals(-(10**9), 10**9, places=2).map(str),
    st.decimals(0, 100, places=5).map(lambda number: format(number, "f")),
)
_FLAGS = {"Yes": 1.0, "no": 0.0}
_ABSENT = ("", " ", "-", "-nan", "inf", "N/A")
LIST_COUNTER = "Numa Home Nodes"
"""The counter whose cells may be lists; elsewhere `0,1` is a number with a decimal comma."""
_number_cells = st.one_of(
    *[_number_texts.map(lambda text: Cell(text, float(text)))] * 6,
    st.sampled_from(_ABSENT).map(lambda text: Cell(text, None)),
)
_cells = st.one_of(_number_cells, st.sampled_from(sorted(_FLAGS)).map(lambda text: Cell(text, None)))
_questions = st.one_of(_number_cells, st.sampled_from(sorted(_FLAGS)).map(lambda text: Cell(text, _FLAGS[text])))
_lists = st.one_of(_cells, st.just(Cell("0,1", None)))
_glued_cells = st.one_of(
    st.just(Cell("   -", None)), st.decimals(0, 999, places=1).map(lambda number: Cell(f"{number:>8}", float(number)))
)


def _cells_of(column: Column) -> st.SearchStrategy[Cell]:
    if column.glued:
        return _glued_cells
    if column.counter.endswith("?"):
        return _questions
    # Yes and no in all cells of an unknown counter are its numbers.
    return {LIST_COUNTER: _lists, UNKNOWN_COUNTER: _number_cells}.get(column.counter, _cells)


@st.composite
def captures(draw: st.DrawFn, *, glued: bool | None = None) -> Capture:
    """Whole captures: any objects, names, values and dialect. `glued` says whether they have A/MPERF cells."""
    bare = False if glued else draw(st.sampled_from([False, False, True]))
    glued = not bare and draw(st.booleans()) if glued is None else glued
    columns = draw(_columns(glued=glued))
    # No day of the month that could be a month.
    stamp = dt.datetime(draw(st.integers(2008, 2030)), draw(st.integers(1, 12)), 15, 23, 58)  # noqa: DTZ001  local
    stamp += dt.timedelta(seconds=draw(st.integers(0, 200)))
    step = dt.timedelta(seconds=draw(st.sampled_from([2, 5, 20, 60])))
    samples = []
    for number in range(draw(st.integers(1, 5))):
        cells = tuple(draw(_cells_of(column)) for column in columns)
        samples.append(Sample(stamp + number * step, cells))
    return Capture(
        columns,
        tuple(samples),
        bias=draw(st.sampled_from([0, 0, 0, 300, -330])),
        trailing_comma=draw(st.booleans()),
        bare=bare,
        line_end=draw(st.sampled_from(["\n", "\n", "\r\n"])),
    )


_chatter = st.one_of(
    st.just("no termcap entry for a `xterm-256color' terminal"),
    st.just("Enter username: root\r\nPassword:\r\n"),
    st.text(st.characters(exclude_characters='"', exclude_categories=["Cs"]), max_size=60).filter(
        lambda text: MARK not in text
    ),
)


@st.composite
def dressed(draw: st.DrawFn) -> tuple[Capture, bytes]:
    """A whole capture and its bytes, with what does no harm around it: a byte order mark, chatter, blank lines."""
    capture = draw(captures())
    lines = [capture.header(), *capture.rows()]
    for place in sorted(draw(st.lists(st.integers(1, len(lines)), max_size=3)), reverse=True):
        lines.insert(place, "")
    content = capture.join(lines)
    # A last bare cell without its line end may be half a number.
    if not capture.bare and not capture.columns[-1].glued and draw(st.booleans()):
        content = content.rstrip(b"\r\n")
    before = draw(st.one_of(st.just(""), st.just("\ufeff"), _chatter))
    return capture, before.encode() + content


def _body(capture: Capture) -> int:
    """Byte that the rows begin with."""
    return len(capture.join([capture.header()]))


def _between_lines(whole: bytes, place: int) -> bool:
    """Whether a capture cut there ends with a whole row, with or without what ends it: a trailing comma, a line end."""
    return whole[place - 1 : place] == b"\n" or whole[place:].startswith((b"\n", b"\r\n", b",\n", b",\r\n"))


@st.composite
def _cut(draw: st.DrawFn) -> Case:
    capture = draw(captures())
    whole = capture.content()
    begin = draw(st.sampled_from([0, _body(capture)]))
    length = draw(st.integers(begin, len(whole)))
    return Case("cut", whole[:length], capture.truth(), said=not _between_lines(whole, length))


@st.composite
def _nuls(draw: st.DrawFn) -> Case:
    """Blocks that were never written to the disk: NULs in place of bytes, or between them."""
    capture = draw(captures())
    whole = capture.content()
    start = draw(st.integers(_body(capture), len(whole) - 1))
    # From a cell to the same cell of a later row: what is left of both has the cells of one.
    row_length = whole.find(b"\n", start) - whole.rfind(b"\n", 0, start)
    rows = row_length * draw(st.integers(1, 2)) + draw(st.integers(-2, 2))
    lengths = [st.integers(1, 8), st.integers(1, len(whole) - start), st.just(max(1, min(rows, len(whole) - start)))]
    length = draw(st.one_of(lengths))
    after = start if draw(st.booleans()) else min(start + length, len(whole))
    return Case("nuls", whole[:start] + b"\0" * length + whole[after:], capture.truth())


@st.composite
def _miscounted(draw: st.DrawFn) -> Case:
    """A row that lost a cell, or has one twice."""
    capture = draw(captures())
    rows = capture.rows()
    number = draw(st.integers(0, len(rows) - 1))
    place = draw(st.integers(0, len(capture.columns) - 1))
    times = draw(st.sampled_from([0, 2]))

    def changed(items: tuple) -> tuple:
        return (*items[:place], *[items[place]] * times, *items[place + 1 :])

    sample = capture.samples[number]
    other = replace(capture, columns=changed(capture.columns), samples=(replace(sample, cells=changed(sample.cells)),))
    (rows[number],) = other.rows()
    return Case("miscounted", capture.join([capture.header(), *rows]), capture.truth())


@st.composite
def _misquoted(draw: st.DrawFn) -> Case:
    """A quote that is lost, is another sign, or has changed places with its neighbour."""
    capture = draw(captures(glued=False).filter(lambda capture: not capture.bare))
    whole = capture.content()
    quotes = [place for place in range(_body(capture), len(whole)) if whole[place : place + 1] == b'"']
    place = draw(st.sampled_from(quotes))
    sign = draw(st.sampled_from([b"", b"'", "\u201c".encode(), None]))
    after = whole[place + 1 : place + 2]
    damaged = whole[:place] + (sign + after if sign is not None else after + b'"') + whole[place + 2 :]
    return Case("misquoted", damaged, capture.truth())


@st.composite
def _reordered(draw: st.DrawFn) -> Case:
    """Rows twice, and times that go backward: numbers stay with their time."""
    capture = draw(captures())
    picked = draw(st.lists(st.sampled_from(range(len(capture.samples))), min_size=1, max_size=6))
    shuffled = replace(capture, samples=tuple(capture.samples[number] for number in picked))
    return Case("reordered", shuffled.content(), shuffled.truth())


@st.composite
def _headed_twice(draw: st.DrawFn) -> Case:
    """A header in the middle: esxtop started again, or another capture appended, the first perhaps cut before it."""
    first = draw(captures())
    second = draw(st.one_of(captures(), st.just(first)))
    day = dt.timedelta(days=3)
    samples = tuple(
        replace(sample, stamp=first.samples[-1].stamp + day * (n + 1)) for n, sample in enumerate(second.samples)
    )
    second = replace(second, samples=samples, bias=first.bias)
    whole = first.content()
    end = draw(st.one_of(st.just(len(whole)), st.integers(_body(first), len(whole))))
    truth = {**first.truth(), **second.truth()}
    return Case(
        "headed twice", whole[:end] + second.content(), truth, said=end == len(whole) or not _between_lines(whole, end)
    )


@st.composite
def _restamped(draw: st.DrawFn) -> Case:
    """A row whose time is none."""
    capture = draw(captures())
    rows = capture.rows()
    number = draw(st.integers(0, len(rows) - 1))
    stamp, comma, rest = rows[number].partition(",")
    other = draw(
        st.sampled_from(["", '""', '"13/40/2020 08:00:00"', '"08:00:00"', '"-nan"', stamp[:-3], stamp.upper() + "x"])
    )
    rows[number] = other + comma + rest
    return Case("restamped", capture.join([capture.header(), *rows]), capture.truth())


DAMAGES = {
    "cut": _cut(),
    "nuls": _nuls(),
    "miscounted": _miscounted(),
    "misquoted": _misquoted(),
    "reordered": _reordered(),
    "headed twice": _headed_twice(),
    "restamped": _restamped(),
}
"""Each kind of damage, by name."""


def damaged() -> st.SearchStrategy[Case]:
    """A capture damaged in any of these ways."""
    return st.one_of(*DAMAGES.values())
