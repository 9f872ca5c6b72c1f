r"""The header line of an esxtop batch capture: text to owners and counters.

A cell is `"\\host\object(instance)\counter"` without escapes: VM names may hold quotes, commas, colons and parentheses.
Only the backslash is safe, so the line is cut at all backslashes at once, into four pieces a cell. One piece is the
owner (`object(instance)`). Another is the counter with the quote, comma and quote before the next cell.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from esxparse.errors import DamagedError
from esxparse.formats.esxtop.grammar import CONTINUED, decoded
from esxparse.recording import Note, counted

A_MPERF = "% of aperf/mperf"
_MOST_BIAS = 24 * 60
_STAMP_CELL = re.compile(r'"?\(PDH-CSV [^)]*\) ?\((?P<zone>.*?)\)\((?P<bias>-?\d{1,9})\)"?')
_PIECES = 4
# A counter and the text up to the next cell. `",   -"` skips a cell without a name: ESXi 6.5 `-b -a` prints the A/MPERF
# column of each PCPU bare, without a name or the comma after it.
# If a quote or comma was lost, the counter stays as it is.
_COUNTER = re.compile(r'(?P<counter>.*?),?"?(?P<gap>, *-? *,?)?"?', re.DOTALL)
_WHOLE_TAIL = re.compile(r'.*?", *-? *,?"', re.DOTALL)
_POWER_STATE = re.compile(r"PCPU Power State\(.*\)", re.DOTALL)
_CUT = re.compile(r'"(?P<gap>, *+-? *+,?)"(?=\\\\)')


@dataclass(frozen=True)
class Header:
    """Cells of a row after the time stamp, and the repairs to their names."""

    hosts: tuple[str, ...]  # in the paths, in order; several only if files were glued together
    owners: list[str]  # `object(instance)` or `object` of each cell
    counters: list[str]  # counter of each cell
    commas: int  # commas at the end of the line; the empty cell after each does not count
    bias: int  # minutes to add to the capture's clock to get UTC (a PDH bias)
    notes: tuple[Note, ...]
    bare_a_mperf: bool = False  # whether A/MPERF columns are printed without name and comma
    continued: bool = False  # whether a slice's header shows that disks in its first sample were measured but idle

    def path(self, place: int) -> str:
        """Return the name of a cell, without the host."""
        return f"{self.owners[place]}\\{self.counters[place]}"


@dataclass
class _Cells:
    """Cells from one way of cutting the line."""

    hosts: list[str]
    owners: list[str]
    counters: list[str]
    gaps: Iterable[str | None]  # text between each cell and the next
    misquoted: list[int] = field(default_factory=list)
    nameless: list[int] = field(default_factory=list)

    def insert_nameless(self) -> None:
        """Insert the cells without a name; the one after a PCPU's power states is its A/MPERF."""
        over = {gap for gap in set(self.gaps) if gap and ("-" in gap or gap.count(",") > 1)}
        if not over:
            return
        owners, counters = [], []
        for owner, counter, gap in zip(self.owners, self.counters, self.gaps, strict=True):
            owners.append(owner)
            counters.append(counter)
            if gap in over:
                self.nameless.append(len(owners))
                known = _POWER_STATE.fullmatch(owner)
                owners.append(owner if known else "")
                counters.append(A_MPERF if known else "")
        self.owners, self.counters = owners, counters

    def take_back_doubled_quotes(self) -> bool:
        """Halve doubled quotes if every quote in every name is doubled: RFC 4180 does that, esxtop does not."""
        quoted = {owner for owner in self.owners if '"' in owner}
        if not quoted or any('"' in owner.replace('""', "") for owner in quoted):
            return False
        self.owners = [owner.replace('""', '"') for owner in self.owners]
        return True

    def notes(self, commas: int, line: int) -> Iterator[Note]:
        if commas:
            one = "trailing comma: the empty last column is"
            what = one if commas == 1 else f"{commas} trailing commas: the empty last columns are"
            yield Note(f"{what} left out", line=line, column=len(self.owners) + 2)
        if self.misquoted:
            names = counted(len(self.misquoted), "name")
            message = f"{names} in the header lost a quote or comma at the end: read without it"
            yield Note(message, line=line, column=self.misquoted[0] + 2, severity="warning")
        recognised = [place for place in self.nameless if self.owners[place]]
        if recognised:
            columns = counted(len(recognised), "column")
            message = f"{columns} printed without name and comma (ESXi 6.5 -a): read as PCPU Power State {A_MPERF}"
            yield Note(message, line=line, column=recognised[0] + 2)
        nameless = [place for place, owner in enumerate(self.owners) if not owner]
        if nameless:
            columns = counted(len(nameless), "column")
            message = f"{columns} without a \\\\host\\object\\counter as their name: kept in table 'object'"
            yield Note(message, line=line, column=nameless[0] + 2, severity="warning")
        if len(self.hosts) > 1:
            hosts = ", ".join(self.hosts[:5])
            message = f"columns of several hosts in one file ({hosts}): tables do not tell them apart"
            yield Note(message, line=line, severity="warning")


def _cut_at_backslashes(text: str) -> _Cells | None:
    """Cut the whole line at once; None if a name has its own backslash."""
    _, *pieces = text.split("\\")
    if len(pieces) % _PIECES or any(pieces[0::_PIECES]):
        return None
    tails = pieces[3::_PIECES]
    known = {tail: _COUNTER.fullmatch(tail) for tail in dict.fromkeys(tails)}
    matches = {tail: match for tail, match in known.items() if match}
    if len(matches) < len(known):
        return None
    counter_of = {tail: match["counter"] for tail, match in matches.items()}
    gap_of = {tail: match["gap"] for tail, match in matches.items()}
    wrong = {tail for tail in known if not _WHOLE_TAIL.fullmatch(tail)}
    return _Cells(
        list(dict.fromkeys(pieces[1::_PIECES])),
        pieces[2::_PIECES],
        [counter_of[tail] for tail in tails],
        [gap_of[tail] for tail in tails],
        [place for place, tail in enumerate(tails[:-1]) if tail in wrong] if wrong else [],
    )


def _from_paths(paths: list[str], gaps: list[str | None]) -> _Cells:
    """Return cells from whole paths: the host ends at the third backslash, the counter begins after the last."""
    hosts: dict[str, None] = {}
    owners, counters = [], []
    for path in paths:
        prefix, _, counter = path.rpartition("\\")
        host, _, owner = prefix[2:].partition("\\") if prefix.startswith("\\\\") else ("", "", prefix)
        if host:
            hosts.setdefault(host)
        owners.append(owner)
        counters.append(counter)
    return _Cells(list(hosts), owners, counters, gaps)


def _cut_at_quotes(text: str) -> _Cells:
    """Cut at a quote and comma, or the bare cell of ESXi 6.5, before the two backslashes of the next path."""
    _, *rest = _CUT.split(text)
    gaps: list[str | None] = [*rest[2::2], None]
    paths = rest[1::2]
    if paths and (last := re.fullmatch(r'(?P<path>.*?)"?(?P<gap>, *-? *,?)?', paths[-1], re.DOTALL)):
        paths[-1], gaps[-1] = last["path"], last["gap"]
    return _from_paths(paths, gaps)


def _cut_csv(text: str) -> _Cells:
    """Cut a line with unquoted cells, as spreadsheets save it."""
    try:
        _, *paths = next(csv.reader([text]))
    except csv.Error as error:
        msg = f"its header has no quotes, and cannot be read as comma-separated values either ({error})"
        raise DamagedError(msg) from None
    return _from_paths(paths, [None] * len(paths))


def parse(line: bytes, number: int) -> Header:
    """Parse the header line (no line end) on line `number` of the file.

    Raises:
            DamagedError: The first cell is not from a capture, or no column follows it.
    """
    text, wrong = decoded(line)
    notes = []
    if wrong is not None:
        message = "the header is not UTF-8: read as Windows-1252, names may show wrong letters"
        column = line.count(b'","', 0, wrong) + 1
        notes.append(Note(message, line=number, column=column, severity="warning"))
    stamp = _STAMP_CELL.match(text)
    if not stamp:
        msg = f"line {number} should begin a capture with (PDH-CSV 4.0) (zone)(bias) but begins {text[:60]!r}"
        raise DamagedError(msg)
    names = text.rstrip(",")
    commas = len(text) - len(names)
    # The very first quote may be lost.
    if text.startswith('"') or stamp[0].endswith('"'):
        cells = _cut_at_backslashes(names) or _cut_at_quotes(names)
    else:
        cells = _cut_csv(names)
        notes.append(Note("the header has no quotes around its cells: another program saved this file", line=number))
    if not cells.owners:
        msg = f"line {number} is the header of a capture without a single column: capture again, or check the separator"
        raise DamagedError(msg)
    cells.insert_nameless()
    if cells.take_back_doubled_quotes():
        notes.append(Note("doubled quotes in names: another program saved this file, single quotes kept", line=number))
    notes += cells.notes(commas, number)
    bias, zone = int(stamp["bias"]), stamp["zone"].removesuffix(CONTINUED)
    if abs(bias) > _MOST_BIAS:
        msg = f"line {number} states a bias of {bias} minutes, more than a day: the header is damaged"
        raise DamagedError(msg)
    if bias:
        message = f"times are local, zone {zone}, bias {bias} minutes: UTC = local + bias"
        notes.append(Note(message, line=number, column=1))
    continued, bare = zone != stamp["zone"], any(cells.owners[place] for place in cells.nameless)
    return Header(tuple(cells.hosts), cells.owners, cells.counters, commas, bias, tuple(notes), bare, continued)
