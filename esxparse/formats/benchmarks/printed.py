"""Text that a program prints: the first matching kind of line reads each line.

The TOML file beside a reader has a pattern for each kind in `[lines]`, in the order in which they are tried. `<N>` in
a pattern means part N in `[parts]`. The reader has a function for each kind that matters. Lines of other kinds and of
no kind are kept with their numbers. Three kinds have no function in most readers: `error` is an error message of the
program, `damaged` a line that begins like a result but is incomplete, and `ordinary` is other text of the program.
`Report.notes` warns about errors and damaged lines.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from esxparse.formats.benchmarks.table import BETTER, Fields, Figure, Run, errors
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import typed
from esxparse.schema import Schema

Details = dict[str, tuple[list[Fields], Schema]]
"""Rows and columns by table."""
Line = tuple[int, str]
"""The number of a line, from 1, and its text."""


@dataclass
class Part:
    """One run: its facts, figures and rows."""

    line: int
    """The line at which it begins."""
    facts: Fields = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    rows: defaultdict[str, list[Fields]] = field(default_factory=lambda: defaultdict(list))
    """Rows by table."""

    def measured(self) -> Run:
        """Return the run for the common table, from its facts `test` and `configuration`."""
        return Run(self.facts["test"], self.facts["configuration"], tuple(self.figures))


@dataclass
class Report:
    """The content of a file, as far as its lines were read."""

    runs: list[Part] = field(default_factory=list)
    coming: Fields = field(default_factory=dict)
    """Facts of the next run."""
    rows: defaultdict[str, list[Fields]] = field(default_factory=lambda: defaultdict(list))
    """Rows that belong to no single run, by table."""
    remarks: Notes = field(default_factory=Notes)
    """Notes made while reading."""
    under: Any = ""
    """The heading or the titles above the next lines."""
    kept: defaultdict[str, list[Line]] = field(default_factory=lambda: defaultdict(list))
    """By kind, the lines that no function reads; `unknown` are lines of no kind."""
    lines: Sequence[str] = ()
    place: int = 0
    """The number of the current line; a function that reads more lines raises it."""

    @property
    def line(self) -> str:
        """The current line."""
        return self.lines[self.place - 1]

    @property
    def below(self) -> Iterator[str]:
        """The lines below the current one."""
        return (self.lines[at] for at in range(self.place, len(self.lines)))

    @property
    def run(self) -> Part:
        """The latest run."""
        return self.runs[-1]

    def begin(self, **facts: Any) -> Part:
        """Begin a run at the current line."""
        self.runs.append(Part(self.place, facts))
        return self.run

    def keep(self, kind: str) -> None:
        """Keep the current line."""
        self.kept[kind].append((self.place, self.line))

    def notes(self, program: str) -> Notes:
        """Warn about errors that the program reports, and about damaged lines."""
        return Notes([*errors(self.kept["error"], program), *left_out(self.kept["damaged"], "warning")])

    def details(self, columns: Mapping[str, Schema], shared: Sequence[Fields] | None = None) -> Details:
        """Collect all rows by table; rows of a run get its number, or the row of `shared` in its place."""
        every = shared or [{"run": place} for place in range(1, len(self.runs) + 1)]
        found: Details = {}
        for name, types in columns.items():
            of_runs = [{**row, **more} for more, run in zip(every, self.runs, strict=True) for row in run.rows[name]]
            found[name] = [typed(row, types) for row in (*of_runs, *self.rows[name])], types
        found.pop("benchmark_results", None)
        return found


Hook = Callable[[Report, re.Match[str]], bool | None]
"""Reads a line; returns False if later kinds should see the line too."""


def facts_in(line: str, patterns: Iterable[re.Pattern[str]]) -> Fields:
    """Return the named groups that patterns find in a line."""
    found = filter(None, (pattern.search(line) for pattern in patterns))
    return {name: text for match in found for name, text in match.groupdict().items() if text is not None}


def figures_in(found: re.Match[str], kinds: Iterable[Sequence[str]]) -> list[Figure]:
    """Return the figures of a line: metric, unit and optional direction for each group without a name.

    Named groups are parts of the metric's name: `latency_p{which:g}`.
    """
    name_parts = {name: text if number(text) is None else number(text) for name, text in found.groupdict().items()}
    values = [text for place, text in enumerate(found.groups(), 1) if place not in found.re.groupindex.values()]
    return [
        Figure(metric.format(**name_parts), number(text), unit, BETTER["".join(better)])
        for text, (metric, unit, *better) in zip(values, kinds, strict=True)
    ]


class Lines:
    """The kinds of lines that a program prints, and the functions that read them."""

    def __init__(self, module: str, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._patterns = kinds(module, flags=flags)
        self._hooks: dict[str, Hook] = {}
        self._of_run: set[str] = set()

    def __getitem__(self, kind: str) -> re.Pattern[str]:
        return self._patterns[kind]

    def reads(self, *kinds: str) -> Callable[[Hook], Hook]:
        """Mark the function that reads lines of these kinds."""

        def mark(hook: Hook) -> Hook:
            self._hooks |= dict.fromkeys(kinds, hook)
            return hook

        return mark

    def reads_in_run(self, *kinds: str) -> Callable[[Hook], Hook]:
        """Mark the function that reads lines of these kinds once a run has begun; before that, later kinds see them."""
        self._of_run |= set(kinds)
        return self.reads(*kinds)

    def read(self, lines: Sequence[str], report: Report | None = None) -> Report:
        """Pass each line to the function of its kind."""
        report = report or Report()
        report.lines = lines
        while report.place < len(lines):
            report.place += 1
            self._read_line(report)
        return report

    def _read_line(self, report: Report) -> None:
        line = report.line
        for kind, pattern in self._patterns.items():
            if (kind in self._of_run and not report.runs) or not (found := pattern.search(line)):
                continue
            if kind not in self._hooks:
                return report.keep(kind)
            if self._hooks[kind](report, found) is not False:
                return None
        return report.keep("unknown") if line.strip() else None
