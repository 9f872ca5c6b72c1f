"""What sar, iostat, mpstat and pidstat print: a banner, and tables under lines of titles.

    Linux 5.10.0 (web-01)   11/22/26        _x86_64_        (2 CPU)

    20:42:20        CPU     %user     %nice   %system   %iowait    %steal     %idle
    20:42:21        all     31.63      0.00     13.27      4.59      0.00     50.00

The time in a line of titles is that of the sample before. iostat prints the time, if at all, on a line of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from esxparse.formats.kit import stamps
from esxparse.formats.kit.notes import Counted
from esxparse.formats.kit.tables import Row
from esxparse.formats.sysstat.command import Command
from esxparse.formats.sysstat.tables import TEXTS, Layout, Sheets, add, known, layouts, value

_BANNER = re.compile(r"\s*(?:Linux|SunOS|AIX)\s+(?P<kernel>\S+)\s+(?:\((?P<host>[^)]*)\)\s+)?(?P<date>\S.*)")
_CPUS = re.compile(r"\((\d+)\s+\w+\)\s*$")
_AVERAGE = re.compile(r"[^\W\d][^\d:|]{1,20}:\s")
_RESTART = re.compile(r"LINUX RESTART(?:\s+\((\d+) CPU\))?")
_EPOCH = re.compile(r"(\d{10})(?:\s+|$)")
_CPU_HEAD = "avg-cpu:"
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_TIME_HEAD = re.compile(r"#\s*Time\s")
_OLD_TIME = re.compile(r"Time:\s+")
_NAMES = frozenset({"Device", "Filesystem", "CPU", "DEV", "IFACE", "TTY", "NODE", "UID", "PID", "Command"})
"""Titles of what a row is about: a line of them alone has no numbers below it."""
_UNITS = frozenset("kMGTPB")
_NAME, _NO_NAME = 15, frozenset(" /")
_NO_VALUE = frozenset({"", "-", "N/A"})
_BLANK_FOR_ALL = frozenset({"CORE", "SOCK", "NODE"})


@dataclass
class Section:
    """What one run printed, or one day of it."""

    host: str | None = None
    kernel: str | None = None
    date: str = ""
    cpus: int | None = None
    line: int = 1
    sheets: Sheets = field(default_factory=dict)
    """Of a sample `clock` is the time of day in seconds, `before` that in the titles above it, `epoch` and `stamp` a
    time with a date, `line` where it begins."""
    restarts: list[Row] = field(default_factory=list)
    comments: list[Row] = field(default_factory=list)


@dataclass
class Parsed:
    """The runs in a text, and what is worth a note."""

    sections: list[Section]
    odd: Counted
    left: list[tuple[int, str]]
    averages: Counted
    halves: bool = False
    """Whether its clock has AM and PM."""
    human: int | None = None
    """The first line with rounded numbers such as 1.2M."""
    wrapped: int | None = None
    """The first line that goes on with a command of several lines."""


def banner(line: str) -> re.Match[str] | None:
    """The first line of a run."""
    found = _BANNER.fullmatch(line)
    return found if found and (found["host"] or stamps.has_date(found["date"])) else None


def titles_of(text: str) -> tuple[str, ...]:
    """The titles in a line without its time; empty where it has a number, or its words are no titles."""
    plain = text.removeprefix(_CPU_HEAD).replace("Device:", "Device ").replace("Filesystem:", "Filesystem ")
    words = tuple(plain.split())
    if any(map(_is_number, words)):
        return ()
    # Activities of a release to come have titles of rates or shares too; interrupts have a column for each processor.
    titles = sum(known(word) or word.endswith("/s") or word.startswith("%") for word in words)
    few = 2 * titles < len(words) or titles == sum(word in _NAMES for word in words)
    if few and "INTR" not in words:
        return ()
    if text.startswith(_CPU_HEAD):
        return ("CPU", *words)
    return words


def _is_number(word: str) -> bool:
    return word[0].isdigit() and word.replace(".", "").replace(",", "").isdigit()


def _timed(line: str) -> tuple[float | None, float | None, str]:
    """The time of day or the epoch that a line begins with, and the rest of it."""
    if (found := stamps.clock(line)) is not None:
        return found[0], None, line[found[1] :].strip()
    epoch = _EPOCH.match(line)
    if epoch is not None:
        return None, float(epoch[1]), line[epoch.end() :].strip()
    return None, None, _TIME_HEAD.sub("", line).strip()


class _Reader:
    """Goes through the lines of a text; what a line means depends on those before it."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.parsed = Parsed([], Counted(), [], Counted())
        self.titles: tuple[str, ...] = ()
        self.layouts: tuple[Layout, ...] = ()
        self.sample: Row = {}
        self.header_clock: float | None = None
        self.stamp: str | None = None
        self.clock: float | None = None
        self.report = 0
        self.begun: set[tuple[str, ...]] = set()
        self.name: str | None = None
        self.devices: dict[tuple[str, ...], tuple[int, set[str]]] = {}
        self.command = Command()
        """That of the row above, which may go on."""

    @property
    def section(self) -> Section:
        if not self.parsed.sections:
            self.parsed.sections.append(Section())
        return self.parsed.sections[-1]

    def line(self, at: int, line: str) -> None:
        """Takes in a line."""
        if (found := banner(line)) is not None:
            self.end()
            cpus = _CPUS.search(line)
            begun = Section(found["host"], found["kernel"], found["date"], int(cpus[1]) if cpus else None, at)
            self.parsed.sections.append(begun)
            self.layouts, self.stamp, self.report, self.begun, self.header_clock = (), None, 0, set(), None
            self.sample = {}
            return
        if self.tool == "iostat" and self._is_stamp(line):
            # Before sysstat 9 the time had no date.
            old = stamps.clock(_OLD_TIME.sub("", line)) if _OLD_TIME.match(line) else None
            self.stamp, self.clock = (None, old[0]) if old else (line.strip(), None)
            self.parsed.halves |= stamps.in_halves(line)
            self._next_report()
            return
        clock, epoch, rest = _timed(line)
        if self.tool == "pidstat" and self._goes_on(line, clock, epoch):
            self.command.lines.append((at, line))
            return
        average = _AVERAGE.match(line)
        numbered = clock is not None or epoch is not None or average
        self.end(within=bool(numbered) and not titles_of(line[average.end() :] if average else rest))
        if clock is not None and stamps.in_halves(line):
            self.parsed.halves = True
        if clock is not None and (restart := _RESTART.match(rest)):
            self.section.restarts.append({"clock": clock, "line": at, "cpus": int(restart[1]) if restart[1] else None})
        elif clock is not None and rest.startswith("COM "):
            self.section.comments.append({"clock": clock, "line": at, "comment": rest[4:].strip()})
        elif (titles := titles_of(rest)) and (clock is not None or self.tool == "iostat" or line.startswith("#")):
            self._header(titles, clock)
        elif clock is None and epoch is None and not line.startswith(_CPU_HEAD) and average:
            self.parsed.averages.say("averages", at)
            self.command.begin([])
        elif self.layouts and (clock is not None or epoch is not None or self.tool == "iostat"):
            self._cells(at, clock, epoch, rest if self.tool != "iostat" else line.strip())
        else:
            self.parsed.left.append((at, line))

    def _goes_on(self, line: str, clock: float | None, epoch: float | None) -> bool:
        """Whether a line is still of the command above it: pidstat -l prints line ends within arguments as they are."""
        if not self.command.may_go_on:
            return False
        if clock is None and epoch is None:
            if _TIME_HEAD.match(line):
                return not titles_of(_timed(line)[2])
            average = _AVERAGE.match(line)
            return average is None or not (titles_of(rest := line[average.end() :]) or self._is_row(rest))
        rest = _timed(line)[2]
        damaged = (clock, epoch) == (self.sample["clock"], self.sample["epoch"]) if self.sample else False
        return not (damaged or titles_of(rest) or self._is_row(rest))

    def _is_row(self, rest: str) -> bool:
        """Whether there is a number wherever the titles want one."""
        cells = self._split(rest.strip())
        return cells is not None and all(
            column.name in TEXTS or cells[at] in _NO_VALUE or value(column.name, cells[at]) is not None
            for layout in self.layouts
            for at, column in layout.places
        )

    def end(self, *, within: bool = False) -> None:
        """Ends a command; `within` says that rows of its table follow."""
        kept, left = self.command.end(within=within)
        if kept:
            for table, place in self.command.rows:
                column = self.section.sheets[table].columns["command"]
                column[place] = f"{column[place]} {' '.join(line.strip() for _, line in kept)}"
            self.parsed.wrapped = self.parsed.wrapped or kept[0][0]
        self.parsed.left += left

    def _is_stamp(self, line: str) -> bool:
        if stamps.with_zone(line) or _OLD_TIME.match(line):
            return True
        words = line.split()
        return (
            bool(words) and stamps.has_date(words[0]) and stamps.clock(line.partition(words[0])[2].strip()) is not None
        )

    def _next_report(self) -> None:
        self.report, self.begun, self.devices, self.sample = self.report + 1, set(), {}, {}

    def _header(self, titles: tuple[str, ...], clock: float | None) -> None:
        if self.tool == "iostat":
            if not self.report or titles in self.begun:
                self._next_report()
            self.begun.add(titles)
        if titles != self.titles or not self.layouts:
            self.titles, self.layouts = titles, layouts(titles)
        self.header_clock = clock
        self.sample = {}

    def _cells(self, at: int, clock: float | None, epoch: float | None, rest: str) -> None:
        if self.tool == "iostat" and len(rest.split()) == 1 < len(self.titles) - 1 and self.name is None:
            # A long name stands on a line of its own, before its numbers.
            self.name = rest
            return
        cells = self._split(rest)
        if cells is None:
            self.parsed.odd.say(f"not as many cells as the titles above ({self.titles[0]} ...), left out", at)
            return
        clock = self.clock if clock is None else clock
        if not self.sample or (self.sample["clock"], self.sample["epoch"]) != (clock, epoch):
            self.sample = self._sample(at, clock, epoch)
        for layout in self.layouts:
            for found in layout.rows(cells):
                self._row(layout.table.name, found, at)
        # Without -l there is the name of the program alone, of at most 15 characters.
        if self.titles[-1] == "Command" and (len(cells[-1]) > _NAME or not _NO_NAME.isdisjoint(cells[-1])):
            sheets = self.section.sheets
            self.command.begin([(one.table.name, len(sheets[one.table.name].of) - 1) for one in self.layouts])

    def _sample(self, at: int, clock: float | None, epoch: float | None) -> Row:
        """What is said of all rows of a sample."""
        sample: Row = {"line": at, "clock": clock, "epoch": epoch, "before": self.header_clock}
        if self.tool == "iostat":
            return sample | {"report": self.report, "stamp": self.stamp, "since_boot": self.report == 1}
        if self.tool in {"mpstat", "pidstat"} and clock is not None and self.header_clock is not None:
            # A line of titles without a time (-h) does not tell.
            sample["since_boot"] = clock == self.header_clock
        return sample

    def _split(self, rest: str) -> list[str] | None:
        """As many cells as there are titles; None where they are not."""
        count = len(self.titles)
        cells = (["all"] if self.titles[0] == "CPU" and self.tool == "iostat" else []) + rest.split()
        if self.name is not None:
            cells, self.name = [self.name, *cells], None
        extra = len(cells) - count
        blank = [at for at, title in enumerate(self.titles) if title in _BLANK_FOR_ALL]
        if extra > 0 and _is_text(self.titles[-1]):
            cells = rest.split(None, count - 1)
        elif extra > 0 and _is_text(self.titles[0]):
            cells = [" ".join(cells[: extra + 1]), *cells[extra + 1 :]]
        elif blank and extra == -len(blank):
            for place in blank:
                cells.insert(place, "")
        return cells if len(cells) == count else None

    def _row(self, table: str, found: dict[str, tuple[int, str, float]], at: int) -> None:
        row: Row = {}
        for name, (place, text, factor) in found.items():
            row[name] = one = value(name, text, factor) if text not in _NO_VALUE else None
            if one is None and text not in _NO_VALUE:
                self.parsed.odd.say(f"no number in column {self.titles[place]}: {text[:20]!r}, left empty", at)
            elif self.parsed.human is None and name not in TEXTS and text[-1:] in _UNITS:
                self.parsed.human = at
        sheets = self.section.sheets
        if self.tool == "iostat":
            key = (table, *(text for name, (_, text, _) in found.items() if name in TEXTS))
            place, there = self.devices.get(key, (0, set(row)))
            # With -x -h the columns of a device stand in several tables, one below the other.
            if not (there - TEXTS) & row.keys():
                sheets[table].put(place, row)
                there.update(row)
                return
            self.devices[key] = add(sheets, table, self.sample, row), set(row)
            return
        add(sheets, table, self.sample, row)


def _is_text(title: str) -> bool:
    return (
        any(column.name in TEXTS for layout in layouts((title,)) for _, column in layout.places) or title == "Command"
    )


def parse(lines: Sequence[str], tool: str) -> Parsed:
    """The runs in the lines that a tool printed."""
    reader = _Reader(tool)
    for at, line in enumerate(plain(lines), 1):
        if line.strip():
            reader.line(at, line)
        else:
            reader.command.gap()
    reader.end()
    return reader.parsed


def plain(lines: Sequence[str]) -> Iterator[str]:
    """The lines without the colours that S_COLORS=always puts into a file."""
    return (_COLOUR.sub("", line) if "\x1b" in line else line for line in lines)


def tool_of(lines: Sequence[str]) -> str | None:
    """Which tool printed the lines: told by the first titles that are followed by a row; None where there are none.

    What a document quotes stands further down: only few other lines may come before.
    """
    found: str | None = None
    other = begun = 0
    for line in plain(lines):
        if not line.strip():
            continue
        clock, epoch, rest = _timed(line)
        if found and (begun := begun + 1) > _WITHIN:
            return None
        if found and rest[:1] and any(_is_number(word) for word in rest.split()):
            return found
        titles = titles_of(rest)
        bare = rest.startswith((_CPU_HEAD, "Device", "Filesystem:")) or titles[-1:] == ("Device",)
        if titles and (clock is not None or bare or _TIME_HEAD.match(line)):
            found, begun = _tool(titles, bare), 0
        elif banner(line) is None and not epoch and not stamps.has_date(line) and not _RESTART.match(rest):
            other += 1
            if other > _WITHIN:
                return None
    return None


_WITHIN = 3
"""Lines of something else that may stand before the first titles: a prompt, a warning of ssh."""


def _tool(titles: tuple[str, ...], bare: bool) -> str:
    if bare:
        return "iostat"
    if {"PID", "TID", "TGID"} & set(titles):
        return "pidstat"
    each = layouts(titles)[0].table.name
    of_mpstat = titles[0] == "NODE" or (titles[0] == "CPU" and each in {"interrupts", "soft_interrupts"})
    irq_before_steal = "%irq" in titles and "%steal" in titles and titles.index("%irq") < titles.index("%steal")
    old = "%irq" in titles and "%steal" not in titles
    return "mpstat" if of_mpstat or irq_before_steal or old or (titles[0] == "CPU" and "intr/s" in titles) else "sar"
