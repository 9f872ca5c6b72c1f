"""vmkperf poll and read of ESXi: hardware events of each PCPU.

Tables
------
events    one row per event, poll and PCPU
    block        i64   number of the run of vmkperf in the file, from 1
    poll         i64   number of the line of rates in its block, from 1
    elapsed_s    f64   seconds since the poll began: poll number times the interval; null where no command line tells it
    pcpu         i64
    event        str   the name it was started under
    rate_per_s   f64   events per second in the interval (`poll`); null for `read`
    count        f64   events since the event was started (`read`); null for `poll`

meta: `pcpus`, `events` (names), `interval` (seconds, of `-i` where the command line is in the file), `samples`.

Source: a poll of 24 PCPUs as printed in a blog of 2012 (title, dashes, a line of names, a line of rates a poll), and
"Monitoring Hardware Performance Events on ESXi 5.0 with vmkperf": `poll` prints at an interval, `read` the counts since
the start. How `read` lays them out is an assumption: as `poll` does, its title without "per second". Without `-i`
in the file the interval is not known, and elapsed_s is null.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.text import beginning, read_text
from esxparse.recording import Note, Recording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from esxparse.formats.source import Source

FORMAT = "vmkperf"
TITLE = "vmkperf poll and read (ESXi)"
OPTIONS: frozenset[str] = frozenset()

_EVENTS = {
    "block": pl.Int64,
    "poll": pl.Int64,
    "elapsed_s": pl.Float64,
    "pcpu": pl.Int64,
    "event": pl.String,
    "rate_per_s": pl.Float64,
    "count": pl.Float64,
}
_NAMES = re.compile(r"\s*pcpu\s?\d{1,5}(?:[\s,]+pcpu\s?\d{1,5})*[\s,]*", re.IGNORECASE)
_NAME = re.compile(r"pcpu\s?(\d{1,5})", re.IGNORECASE)
_NUMBERS = re.compile(r"\s*[-+]?\d[\d.eE+-]*(?:\s+[-+]?\d[\d.eE+-]*)*\s*")
_DASHES = re.compile(r"\s*-{3,}\s*")
_RATES = re.compile(r"\s*(.*?)\s+per\s+sec(?:ond)?\b.*", re.IGNORECASE)
_COUNTS = re.compile(r"\s*(.*?)(?:\s+(?:counts?|values?|since\b.*|per\s+(?:p?cpu)))*\s*:?\s*", re.IGNORECASE)
_COMMAND = re.compile(r".*?\bvmkperf\s+(poll|read|start|stop|listevents)\b\s*(\S+)?(.*)")
_INTERVAL = re.compile(r"-i\s*(\d+(?:\.\d+)?)|--interval[= ](\d+(?:\.\d+)?)")
_RECOGNISED = re.compile(r"(?m)^[ \t]*-{3,}[ \t]*\n[ \t]*pcpu\s?\d{1,5}\b")


class Block(NamedTuple):
    """One run of vmkperf."""

    event: str
    rates: bool
    interval: float | None
    pcpus: tuple[int, ...]
    lines: list[tuple[int, tuple[float | None, ...]]]


def recognise(head: bytes) -> bool:
    """Dashes under a title, and the names of PCPUs under those."""
    return bool(_RECOGNISED.search(beginning(head)))


def read(source: Source) -> Recording:
    """Reads one file of vmkperf output, of one event or many.

    Raises:
        DamagedError: There is no line of numbers in it.
    """
    whole = read_text(source)
    blocks, notes = read_blocks(whole.lines())
    rows = [row for number, block in enumerate(blocks, start=1) for row in _rows(number, block)]
    if not rows:
        why = f" ({notes[0]})" if notes else ""
        msg = f"{source.name}: no line of numbers of vmkperf is whole in it{why}: poll again and keep the whole output"
        raise DamagedError(msg)
    intervals = {block.interval for block in blocks if block.rates}
    meta: dict[str, Any] = {
        "pcpus": max(len(block.pcpus) for block in blocks),
        "events": tuple(dict.fromkeys(block.event for block in blocks)),
        "samples": sum(len(block.lines) for block in blocks),
    }
    if len(intervals) == 1 and None not in intervals:
        meta["interval"] = intervals.pop()
    table = pl.DataFrame(rows, schema=_EVENTS, orient="row")
    return Recording(FORMAT, source.name, {"events": table.lazy()}, meta, whole.notes + tuple(notes))


def _rows(number: int, block: Block) -> Iterator[tuple[Any, ...]]:
    for poll, (_, values) in enumerate(block.lines, start=1):
        elapsed = None if block.interval is None or not block.rates else poll * block.interval
        for pcpu, value in zip(block.pcpus, values, strict=True):
            of_kind = (value, None) if block.rates else (None, value)
            yield number, poll, elapsed, pcpu, block.event, *of_kind


def read_blocks(  # noqa: C901, PLR0912  a branch per kind of line
    lines: Sequence[str],
) -> tuple[list[Block], list[Note]]:
    """The runs of vmkperf in a file; terminals wrap long lines, and those are put together again."""
    blocks: list[Block] = []
    notes: list[Note] = []
    title: tuple[int, str] | None = None
    command: tuple[str, str | None, float | None] | None = None
    held: list[float | None] = []
    held_from = 0
    for place, text in enumerate(lines, start=1):
        if _NAMES.fullmatch(text):
            names = tuple(int(name) for name in _NAME.findall(text))
            wrapped = blocks and not blocks[-1].lines and not held and title is None
            if wrapped:
                blocks[-1] = blocks[-1]._replace(pcpus=blocks[-1].pcpus + names)
            else:
                notes += _cut(held, held_from)
                held = []
                blocks.append(_block(title, command, names))
                if title is None:
                    notes.append(Note("no title names the event of these PCPUs", line=place, severity="warning"))
                title = command = None
        elif blocks and _NUMBERS.fullmatch(text) and title is None:
            held_from = held_from if held else place
            held += [_value(cell) for cell in text.split()]
            if len(held) == len(blocks[-1].pcpus):
                blocks[-1].lines.append((place, tuple(held)))
                if None in held:
                    notes.append(Note("not all of it are numbers", line=place, severity="warning"))
                held = []
            elif len(held) > len(blocks[-1].pcpus):
                many = f"{len(held)} numbers for {len(blocks[-1].pcpus)} PCPUs: left out"
                notes.append(Note(many, line=held_from, severity="warning"))
                held = []
        elif found := _COMMAND.fullmatch(text):
            interval = _INTERVAL.search(found[3])
            command = (found[1], found[2], float(interval[1] or interval[2]) if interval else None)
        elif text.strip() and not _DASHES.fullmatch(text):
            if title is not None:
                notes.append(Note(f"left out: {title[1].strip()[:60]!r}", line=title[0]))
            title = (place, text)
            notes += _cut(held, held_from)
            held = []
    if title is not None:
        notes.append(Note(f"left out: {title[1].strip()[:60]!r}", line=title[0]))
    return blocks, [*notes, *_cut(held, held_from)]


def _cut(held: Sequence[float | None], line: int) -> list[Note]:
    if not held:
        return []
    return [Note(f"a line of {len(held)} numbers is not whole: left out", line=line, severity="warning")]


def _block(
    title: tuple[int, str] | None, command: tuple[str, str | None, float | None] | None, pcpus: tuple[int, ...]
) -> Block:
    kind, event, interval = command or (None, None, None)
    text = title[1] if title else ""
    rates = _RATES.fullmatch(text)
    named = rates or _COUNTS.fullmatch(text)
    name = (named[1] if named else "") or event or "unknown"
    return Block(name, rates is not None or kind == "poll", interval, pcpus, [])


def _value(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
