"""vmkperf poll and read of ESXi: hardware events of each PCPU.

meta: `pcpus`, `events` (names), `interval` (seconds, from `-i` if the command line is in the file), `samples`.

Source: a poll of 24 PCPUs as printed in a blog of 2012 (title, dashes, a line of names, a line of rates a poll), and
"Monitoring Hardware Performance Events on ESXi 5.0 with vmkperf": `poll` prints at an interval, `read` the counts since
the start. Assumption: `read` uses the layout of `poll`, with its title without "per second". Without `-i`
in the file the interval is not known, and elapsed_s is null.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Notes, reason
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import frames, schemas
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording, Severity

FORMAT = "vmkperf"

_SCHEMAS, _LINES = schemas(__file__), kinds(__file__)


class Line(NamedTuple):
    """One line of numbers: a poll, or a part of one that fits on the terminal."""

    place: int
    text: str

    @property
    def cells(self) -> list[str]:
        """Its numbers, as text."""
        return self.text.split()


class Block(NamedTuple):
    """One run of vmkperf."""

    event: str
    rates: bool
    interval: float | None
    pcpus: list[int]
    widths: list[int]
    """Number of names in each line of names: several lines if a terminal wrapped them."""
    room: int
    """Characters of the longest line above the numbers: shorter lines were not wrapped."""
    lines: list[Line]


def read(source: Source) -> Recording:
    """Read one file of vmkperf output, of one event or many."""
    whole = source.text().without_cut_line()
    blocks, notes = read_blocks(whole.lines())
    polls = []
    for block in blocks:
        found, odd = read_polls(block)
        polls.append(found)
        notes += odd
    runs = enumerate(zip(blocks, polls, strict=True), start=1)
    rows = [row for run, (block, found) in runs for row in _rows(run, block, found)]
    if not rows:
        what = f"no complete line of vmkperf numbers in it{reason(notes)}"
        raise DamagedError(f"{source.name}: {what}: poll again and keep the whole output")
    intervals = {block.interval for block in blocks if block.rates}
    meta: dict[str, Any] = {
        "pcpus": max(len(block.pcpus) for block in blocks),
        "events": tuple(dict.fromkeys(block.event for block in blocks)),
        "samples": sum(map(len, polls)),
    }
    if len(intervals) == 1 and None not in intervals:
        meta["interval"] = intervals.pop()
    return Recording(
        FORMAT, source.name, frames({"events": (rows, _SCHEMAS["events"])}), meta, whole.notes + tuple(notes)
    )


def _rows(run: int, block: Block, polls: Sequence[tuple[int, Sequence[str]]]) -> Iterator[tuple[Any, ...]]:
    for poll, cells in polls:
        elapsed = None if block.interval is None or not block.rates else poll * block.interval
        for pcpu, cell in zip(block.pcpus, cells, strict=True):
            value = number(cell)
            of_kind = (value, None) if block.rates else (None, value)
            yield run, poll, elapsed, pcpu, block.event, *of_kind


def read_blocks(lines: Sequence[str]) -> tuple[list[Block], list[Note]]:
    """Return the runs of vmkperf in a file, each with its lines of numbers."""
    blocks: list[Block] = []
    notes = Notes()
    title: tuple[int, str] | None = None
    command: tuple[str, str | None, float | None] | None = None
    for place, text in enumerate(lines, start=1):
        if _LINES["names"].fullmatch(text):
            if blocks and not blocks[-1].lines and title is None:
                blocks[-1] = _wider(blocks[-1], text)
                continue
            if title is None:
                notes.warn("no title names the event of these PCPUs", place)
            blocks.append(_wider(_block(title, command), text))
            title = command = None
        elif blocks and _LINES["numbers"].fullmatch(text) and title is None:
            blocks[-1].lines.append(Line(place, text.rstrip()))
        elif found := _LINES["command"].fullmatch(text):
            interval = _LINES["interval"].search(found[3])
            command = (found[1], found[2], float(interval[1] or interval[2]) if interval else None)
        elif text.strip() and not _LINES["dashes"].fullmatch(text):
            notes += _no_title(title)
            title = (place, text)
    return blocks, [*notes, *_no_title(title)]


def _no_title(title: tuple[int, str] | None) -> list[Note]:
    """Return notes on a line that looked like a title but is not followed by names."""
    if title is None:
        return []
    severity: Severity = "warning" if _LINES["numbers"].match(title[1]) else "info"
    notes = Notes()
    notes.skip(title[1], title[0], severity)
    return notes


def _wider(block: Block, names: str) -> Block:
    """Return the block with the PCPUs of one more line of names."""
    numbers = [int(name) for name in _LINES["name"].findall(names)]
    block.pcpus.extend(numbers)
    block.widths.append(len(numbers))
    return block._replace(room=max(block.room, len(names.rstrip())))


def read_polls(block: Block) -> tuple[list[tuple[int, list[str]]], list[Note]]:
    """Return number and cells of each whole poll, and a note for each other poll.

    A terminal wraps long lines. Wrapped parts are joined again if they can be distinguished from damaged polls.
    """
    notes = Notes()
    groups = _by_length(block)
    if len(block.widths) > 1 and any(sum(len(line.cells) for line in group) != len(block.pcpus) for group in groups):
        groups, odd = _by_shape(block)
        notes += odd
    polls = []
    for poll, group in enumerate(groups, start=1):
        cells = [cell for line in group for cell in line.cells]
        if len(cells) != len(block.pcpus):
            many = f"{len(cells)} numbers for {len(block.pcpus)} PCPUs: poll {poll} is incomplete, and left out"
            notes.warn(many, group[0].place)
            continue
        polls.append((poll, cells))
        if any(number(cell) is None for cell in cells):
            notes.warn("not all of it is numbers", group[0].place)
    return polls, sorted(notes, key=lambda note: note.line or 0)


def _by_length(block: Block) -> list[list[Line]]:
    """Return the lines of each poll: two lines belong together if they did not fit on one and form a whole poll."""
    room = max([block.room, *(len(line.text) for line in block.lines)])
    groups: list[list[Line]] = []
    # Each line has at least one number, so that every sum occurs once.
    sums = list(accumulate((len(line.cells) for line in block.lines), initial=0))
    place_of = {numbers: place for place, numbers in enumerate(sums)}
    at = end = 0
    while at < len(block.lines):
        end = max(end, at + 1)
        while end < len(block.lines) and len(f"{block.lines[end - 1].text} {block.lines[end].cells[0]}") > room:
            end += 1
        whole = place_of.get(sums[at] + len(block.pcpus))
        wrapped = at + 1 if whole is None or whole > end else whole
        groups.append(block.lines[at:wrapped])
        at = wrapped
    return groups


def _by_shape(block: Block) -> tuple[list[list[Line]], list[Note]]:
    """Return the lines of each poll if names are wrapped, by the shape of the names or of the first poll."""
    lines, counts = block.lines, [len(line.cells) for line in block.lines]
    shape = list(block.widths)
    if not any(counts[at : at + len(shape)] == shape for at in range(len(counts))):
        whole = next((to for to, numbers in enumerate(accumulate(counts), 1) if numbers == len(block.pcpus)), 0)
        shape = counts[:whole] or shape
    if shape[-1] == shape[0] and len(shape) > 1 and len(lines) % len(shape):
        why = f"{len(lines)} lines for polls of {len(shape)}: a line is missing, and which one is unknown: left out"
        return [], [Note(why, line=lines[0].place, severity="warning")]
    groups: list[list[Line]] = []
    at = 0
    while at < len(lines):
        rest = counts[at : at + len(shape)]
        if shape[-1] == shape[0] or rest == shape or len(shape) == 1:
            size = len(shape)
        else:
            # The last line of a poll is shorter: after the next shorter line a new poll begins.
            size = next((place for place, count in enumerate(rest, 1) if count == shape[-1]), len(rest))
        groups.append(lines[at : at + size])
        at += size
    return groups, []


def _block(title: tuple[int, str] | None, command: tuple[str, str | None, float | None] | None) -> Block:
    kind, event, interval = command or (None, None, None)
    text = title[1] if title else ""
    rates = _LINES["rates"].fullmatch(text)
    heading = rates or _LINES["counts"].fullmatch(text)
    name = (heading[1] if heading else "") or event or "unknown"
    return Block(name, rates is not None or kind == "poll", interval, [], [], len(text.rstrip()), [])
