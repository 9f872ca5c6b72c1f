"""The text output of sar, iostat, mpstat and pidstat: a banner, and tables under lines of titles.

    Linux 5.10.0 (web-01)   11/22/26        _x86_64_        (2 CPU)

    20:42:20        CPU     %user     %nice   %system   %iowait    %steal     %idle
    20:42:21        all     31.63      0.00     13.27      4.59      0.00     50.00

A line of titles has the time of the sample before. iostat prints the time, if at all, on its own line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from esxparse.errors import EsxparseError
from esxparse.formats.kit import stamps
from esxparse.formats.kit.notes import Counted
from esxparse.formats.kit.tables import Row
from esxparse.formats.sysstat.command import Command
from esxparse.formats.sysstat.decimals import Decimals
from esxparse.formats.sysstat.tables import TEXTS, Layout, Sheets, add, known, layouts, value

_BANNER = re.compile(r"\s*(?:Linux|SunOS|AIX)\s+(?P<kernel>\S+)\s+(?:\((?P<host>[^)]*)\)\s+)?(?P<date>\S.*)")
_CPUS = re.compile(r"\((\d+)\s+\w+\)\s*$")
_AVERAGE = re.compile(r"[^\W\d][^\d:\uff1a|]{1,20}[:\uff1a]\s")
RESTART = re.compile(r"(?:[A-Z]{2,5}\s+)?LINUX RESTART(?:\s+\((\d+) CPU\))?")
_EPOCH = re.compile(r"\s*(\d{10})(?:\s+|$)")
_ZONE = re.compile(r"(?:[A-Z]{2,5}|[+-]\d{2}(?::?\d{2})?)(?!\S)")
CPU_HEAD = "avg-cpu:"
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
TIME_HEAD = re.compile(r"#\s*Time\s")
_OLD_TIME = re.compile(r"Time:\s+")
_NAMES = frozenset({"Device", "Filesystem", "CPU", "DEV", "IFACE", "TTY", "NODE", "UID", "PID", "Command"})
"""Titles that identify rows: a line of only such titles has no numbers below it."""
_IDS = frozenset({"UID", "PID", "TGID"})
_UNITS = frozenset("kMGTPB")
_BEHIND = frozenset("skMGTPB%")
_NAME, _NO_NAME = 15, frozenset(" /")
_NO_VALUE = frozenset({"", "-", "N/A"})
_BLANK = re.compile(r"[ \t]+")
_GROUPS = re.compile(r"(?<!\S)\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?!\S)")
"""sysstat has two blanks at least before a number of three digits."""
_BLANK_FOR_ALL = frozenset({"CORE", "SOCK", "NODE"})


@dataclass
class Section:
    """The output of one run, or of one day of it."""

    host: str | None = None
    kernel: str | None = None
    date: str = ""
    cpus: int | None = None
    line: int = 1
    sheets: Sheets = field(default_factory=dict)
    """In a sample, `clock` is the time of day in seconds and `epoch` seconds since 1970. `before` is either of them in
    the titles above, `stamp` a time with a date, and `line` the first line."""
    restarts: list[Row] = field(default_factory=list)
    comments: list[Row] = field(default_factory=list)


@dataclass
class Parsed:
    """The runs in a text, and facts for notes."""

    sections: list[Section]
    odd: Counted
    left: list[tuple[int, str]]
    averages: Counted
    halves: bool = False
    """Whether its clock has AM and PM."""
    human: int | None = None
    """The first line with rounded numbers such as 1.2M."""
    wrapped: list[int] = field(default_factory=list)
    """The lines of commands of several lines, except the first of each."""
    zones: set[str] = field(default_factory=set)
    """Abbreviations of zones beside times of day."""
    decimals: Decimals = field(default_factory=Decimals)


def banner(line: str) -> re.Match[str] | None:
    """Return the first line of a run."""
    found = _BANNER.fullmatch(line)
    return found if found and (found["host"] or stamps.has_date(found["date"])) else None


def titles_of(text: str) -> tuple[str, ...]:
    """Return the titles in a line without its time; empty if it has a number, or its words are not titles."""
    plain = text.removeprefix(CPU_HEAD).replace("Device:", "Device ").replace("Filesystem:", "Filesystem ")
    words = tuple(plain.split())
    if any(map(is_number, words)):
        return ()
    # Activities of future releases have titles of rates or shares too; interrupts have a column for each processor.
    titles = sum(known(word) or word.endswith("/s") or word.startswith("%") for word in words)
    few = 2 * titles < len(words) or titles == sum(word in _NAMES for word in words)
    if few and "INTR" not in words:
        return ()
    if text.startswith(CPU_HEAD):
        return ("CPU", *words)
    return words


def is_number(word: str) -> bool:
    """Return whether a word has digits, with at most a mark between them and a unit after them."""
    digits = word[:-1] if word[-1] in _BEHIND else word
    return word[0].isdigit() and digits.replace(".", "").replace(",", "").isdigit()


def timed(line: str) -> tuple[float | None, float | None, str]:
    """Return the time of day or the epoch at the beginning of a line, and the rest of it."""
    if (found := stamps.clock(line)) is not None:
        return found[0], None, line[found[1] :].strip()
    epoch = _EPOCH.match(line)
    if epoch is not None:
        return None, float(epoch[1]), line[epoch.end() :].strip()
    return None, None, TIME_HEAD.sub("", line).strip()


class _Reader:
    """A reader of lines; the meaning of a line depends on earlier ones."""

    def __init__(self, tool: str, decimals: Decimals) -> None:
        self.tool = tool
        self.parsed = Parsed([], Counted(), [], Counted(), decimals=decimals)
        self.titles: tuple[str, ...] = ()
        self.layouts: tuple[Layout, ...] = ()
        self.sample: Row = {}
        self.header_time: float | None = None
        self.zone: str | None = None
        """The word between a time of day and the titles beside it: the abbreviation of a zone."""
        self.stamp: str | None = None
        self.clock: float | None = None
        self.report = 0
        self.begun: set[tuple[str, ...]] = set()
        self.name: str | None = None
        self.devices: dict[tuple[str, ...], tuple[int, set[str]]] = {}
        self.command = Command()
        """The command of the row above, which may continue."""

    @property
    def section(self) -> Section:
        if not self.parsed.sections:
            self.parsed.sections.append(Section())
        return self.parsed.sections[-1]

    def line(self, at: int, line: str) -> None:
        """Process a line."""
        if (found := banner(line)) is not None:
            self.end()
            cpus = _CPUS.search(line)
            begun = Section(found["host"], found["kernel"], found["date"], int(cpus[1]) if cpus else None, at)
            self.parsed.sections.append(begun)
            self.layouts, self.stamp, self.report, self.begun, self.header_time = (), None, 0, set(), None
            self.sample = {}
            return
        if self.tool == "iostat" and (stamps.is_moment(line) or _OLD_TIME.match(line)):
            # Before sysstat 9 the time had no date.
            old = stamps.clock(_OLD_TIME.sub("", line)) if _OLD_TIME.match(line) else None
            self.stamp, self.clock = (None, old[0]) if old else (line.strip(), None)
            self.parsed.halves |= stamps.in_halves(line)
            self._next_report()
            return
        clock, epoch, rest = timed(line)
        rest = rest if clock is None else self._without_zone(rest)
        if self.tool == "pidstat" and self._goes_on(line, clock, epoch):
            self.command.lines.append((at, line))
            return
        average = _AVERAGE.match(line)
        timed_line = clock is not None or epoch is not None
        self.end(within=bool(timed_line or average) and not titles_of(line[average.end() :] if average else rest))
        if clock is not None and stamps.in_halves(line):
            self.parsed.halves = True
        if clock is not None and (restart := RESTART.match(rest)):
            self.section.restarts.append({"clock": clock, "line": at, "cpus": int(restart[1]) if restart[1] else None})
        elif clock is not None and rest.startswith("COM "):
            self.section.comments.append({"clock": clock, "line": at, "comment": rest[4:].strip()})
        elif (titles := titles_of(rest)) and (timed_line or self.tool == "iostat" or TIME_HEAD.match(line)):
            self._header(titles, epoch if clock is None else clock)
        elif not timed_line and not line.startswith(CPU_HEAD) and average:
            self.parsed.averages.say("averages", at)
            self.command.begin([])
        elif self.layouts and (timed_line or self.tool == "iostat"):
            self._cells(at, clock, epoch, rest if self.tool != "iostat" else line.strip())
        else:
            self.parsed.left.append((at, line))

    def _goes_on(self, line: str, clock: float | None, epoch: float | None) -> bool:
        """Return whether a line continues the command above: pidstat -l prints line ends within arguments unchanged."""
        if not self.command.may_go_on:
            return False
        if clock is None and epoch is None:
            if TIME_HEAD.match(line):
                return not titles_of(timed(line)[2])
            average = _AVERAGE.match(line)
            return average is None or not (titles_of(rest := line[average.end() :]) or self._is_row(rest))
        rest = self._without_zone(timed(line)[2])
        damaged = (clock, epoch) == (self.sample["clock"], self.sample["epoch"]) if self.sample else False
        return not (damaged or titles_of(rest) or self._is_row(rest))

    def _is_row(self, rest: str) -> bool:
        """Return whether a line has a number in every place that needs one."""
        cells = self._split(rest.strip())
        return cells is not None and all(
            column.name in TEXTS or cells[at] in _NO_VALUE or value(column.name, cells[at]) is not None
            for layout in self.layouts
            for at, column in layout.places
        )

    def end(self, *, within: bool = False) -> None:
        """End a command; `within`: whether rows of its table follow."""
        kept, left = self.command.end(within=within)
        if kept:
            for table, place in self.command.rows:
                column = self.section.sheets[table].columns["command"]
                column[place] = f"{column[place]} {' '.join(line.strip() for _, line in kept)}"
            self.parsed.wrapped += [at for at, _ in kept]
        self.parsed.left += left

    def _next_report(self) -> None:
        self.report, self.begun, self.devices, self.sample = self.report + 1, set(), {}, {}

    def _header(self, titles: tuple[str, ...], moment: float | None) -> None:
        if self.tool == "iostat":
            if not self.report or titles in self.begun:
                self._next_report()
            self.begun.add(titles)
        if titles != self.titles or not self.layouts:
            self.titles, self.layouts = titles, layouts(titles)
        self.header_time = moment
        self.sample = {}

    def _without_zone(self, rest: str) -> str:
        word, _, after = rest.partition(" ")
        return after.strip() if word == self.zone else rest

    def _find_zone(self, rest: str) -> str:
        """Return the cells of the first row below titles, without the zone of a clock that begins both.

        Raises:
            EsxparseError: The word is not a zone: it may mean AM or PM.
        """
        if self.header_time is None:
            return self._zone_of_rows(rest)
        word = self.titles[0]
        if known(word) or rest.partition(" ")[0] != word:
            return rest
        if not _ZONE.match(word):
            raise EsxparseError(f"a word beside its times is neither AM nor PM ({word!r}): record with LC_TIME=C")
        self.zone = word
        self.parsed.zones.add(word)
        self.titles = self.titles[1:]
        self.layouts = layouts(self.titles)
        return self._without_zone(rest)

    def _zone_of_rows(self, rest: str) -> str:
        """Return the cells of a row of pidstat -h without the zone of a clock, which its titles do not have."""
        words = rest.split()
        at = next((at for at, title in enumerate(self.titles) if title in _IDS), len(words))
        moved = at + 1 < len(words) and words[at] != "-" and not is_number(words[at]) and is_number(words[at + 1])
        if moved and _ZONE.match(words[0]):
            self.zone = words[0]
            self.parsed.zones.add(words[0])
        return self._without_zone(rest)

    def _cells(self, at: int, clock: float | None, epoch: float | None, rest: str) -> None:
        if clock is not None and not self.sample:
            rest = self._find_zone(rest)
        if self.tool == "iostat" and len(rest.split()) == 1 < len(self.titles) - 1 and self.name is None:
            # A long name has its own line, before its numbers.
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
        # Without -l the cell is only the name of the program, with at most 15 characters.
        if self.titles[-1] == "Command" and (len(cells[-1]) > _NAME or not _NO_NAME.isdisjoint(cells[-1])):
            sheets = self.section.sheets
            self.command.begin([(one.table.name, len(sheets[one.table.name].of) - 1) for one in self.layouts])

    def _sample(self, at: int, clock: float | None, epoch: float | None) -> Row:
        """Return the facts of all rows of a sample."""
        sample: Row = {"line": at, "clock": clock, "epoch": epoch, "before": self.header_time}
        if self.tool == "iostat":
            return sample | {"report": self.report, "stamp": self.stamp, "since_boot": self.report == 1}
        if self.tool in {"mpstat", "pidstat"} and self.header_time is not None:
            # Titles without a time (-h) leave it open.
            sample["since_boot"] = self.header_time == (epoch if clock is None else clock)
        return sample

    def _split(self, rest: str) -> list[str] | None:
        """Return as many cells as there are titles; None if the counts differ."""
        count = len(self.titles)
        cells = (["all"] if self.titles[0] == "CPU" and self.tool == "iostat" else []) + _words(rest)
        if self.name is not None:
            cells, self.name = [self.name, *cells], None
        extra = len(cells) - count
        if extra > 0 and self._has_groups(rest):
            return None
        blank = [at for at, title in enumerate(self.titles) if title in _BLANK_FOR_ALL]
        if extra > 0 and _is_text(self.titles[-1]):
            cells = _words(rest, count - 1)
        elif extra > 0 and _is_text(self.titles[0]):
            cells = [" ".join(cells[: extra + 1]), *cells[extra + 1 :]]
        elif blank and extra == -len(blank):
            for place in blank:
                cells.insert(place, "")
        return cells if len(cells) == count else None

    def _has_groups(self, rest: str) -> bool:
        """Return whether a number has blanks between its digits, which would move others; a last text may have them."""
        numbers = len(self.titles) - 1 if _is_text(self.titles[-1]) else len(rest)
        found = _GROUPS.search(rest)
        return found is not None and "  " in rest and len(rest[: found.start()].split()) < numbers

    def _row(self, table: str, found: dict[str, tuple[int, str, float]], at: int) -> None:
        row: Row = {}
        for name, (place, text, factor) in found.items():
            if name not in TEXTS and not self.parsed.decimals.takes(text, at):
                row[name] = None
                continue
            row[name] = one = value(name, text, factor) if text not in _NO_VALUE else None
            if one is None and text not in _NO_VALUE:
                self.parsed.odd.say(f"no number in column {self.titles[place]}: {text[:20]!r}, left empty", at)
            elif self.parsed.human is None and name not in TEXTS and text[-1:] in _UNITS:
                self.parsed.human = at
        sheets = self.section.sheets
        if self.tool == "iostat":
            key = (table, *(text for name, (_, text, _) in found.items() if name in TEXTS))
            place, there = self.devices.get(key, (0, set(row)))
            # With -x -h the columns of a device are in several tables, one below another.
            if not (there - TEXTS) & row.keys():
                sheets[table].put(place, row)
                there.update(row)
                return
            self.devices[key] = add(sheets, table, self.sample, row), set(row)
            return
        add(sheets, table, self.sample, row)


def _words(text: str, most: int = -1) -> list[str]:
    """Return the words between ASCII blanks: other blanks group the digits of a number, or are part of a name."""
    return text.split(None, most) if text.isascii() else _BLANK.split(text.strip(" \t"), max(most, 0))


def _is_text(title: str) -> bool:
    return (
        any(column.name in TEXTS for layout in layouts((title,)) for _, column in layout.places) or title == "Command"
    )


def parse(lines: Sequence[str], tool: str) -> Parsed:
    """Return the runs in the lines that a tool printed."""
    decimals = Decimals()
    parsed = _parse(lines, tool, decimals)
    return parsed if decimals.rarer is None else _parse(lines, tool, Decimals(decimals.rarer))


def _parse(lines: Sequence[str], tool: str, decimals: Decimals) -> Parsed:
    reader = _Reader(tool, decimals)
    for at, line in enumerate(plain(lines), 1):
        if line.strip():
            reader.line(at, line)
        else:
            reader.command.gap()
    reader.end()
    return reader.parsed


def plain(lines: Sequence[str]) -> Iterator[str]:
    """Return the lines without the colours that S_COLORS=always puts into a file."""
    return (_COLOUR.sub("", line) if "\x1b" in line else line for line in lines)
