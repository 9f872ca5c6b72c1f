"""Lines of whole numbers between commas and blanks, as in fio's logs, read in pieces.

Each piece goes through polars' CSV reader. A piece with an invalid line is read again, more slowly, to find its invalid
lines. Extra memory is a few pieces, however long the log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.pieces import in_order, in_utf8, whole_lines
from esxparse.formats.kit.text import may_be_cut
from esxparse.formats.source import Source
from esxparse.recording import Note, counted, first_few

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

PIECE = 8 << 20
"""Bytes of a piece: small enough for the processor's cache, large enough that its overhead does not count."""

WORKERS = min(os.cpu_count() or 1, 4)
"""Threads that read one log."""

_EXCERPT_LENGTH = 60
_LISTED = 10
_MORE = "more"


@dataclass(frozen=True)
class Bad:
    """A line that is not a log entry."""

    line: int
    """From 1."""
    text: str
    """Its beginning."""


@dataclass(frozen=True)
class Entries:
    """The lines of a log."""

    frames: list[pl.DataFrame]
    bad: list[Bad]
    lines: int
    unfinished: bool
    """The last line has no line end."""
    ended: list[Note]
    """The notes on content that ended early."""


def _numbers(frame: pl.DataFrame, schema: Mapping[str, PolarsDataType]) -> pl.DataFrame:
    """Return the columns of hexadecimal numbers, read as text, as numbers."""
    texts = [name for name, dtype in schema.items() if dtype == pl.String]
    return frame.with_columns(
        pl.col(name).str.strip_chars(" ").str.strip_prefix("0x").str.to_integer(base=16, dtype=pl.Int64, strict=False)
        for name in texts
    )


def judged(piece: bytes, schema: Mapping[str, PolarsDataType], sound: pl.Expr) -> tuple[pl.DataFrame, int, list[Bad]]:
    """Return the entries of a piece, its number of lines, and the invalid lines, counted from 1."""
    # The header gives each line the same columns, with a place for surplus cells.
    header = ",".join([*schema, _MORE]).encode() + b"\n"
    wide = {name: pl.String if dtype == pl.String else pl.Int64 for name, dtype in schema.items()}
    rows = pl.read_csv(
        header + piece,
        schema={**wide, _MORE: pl.String},
        quote_char=None,
        encoding="utf8-lossy",
        ignore_errors=True,
        truncate_ragged_lines=True,
    )
    rows = _numbers(rows, schema)
    whole = pl.all_horizontal(pl.col(*schema).is_not_null()) & pl.col(_MORE).is_null() & sound
    good = rows.select(whole.fill_null(value=False).alias("good"))["good"]
    places = (~good).arg_true().to_list()
    texts = piece.split(b"\n") if places else []
    bad = [Bad(place + 1, texts[place][:_EXCERPT_LENGTH].decode("utf-8", "replace")) for place in places]
    return rows.filter(good).drop(_MORE), rows.height, bad


def _parsed(piece: bytes, schema: Mapping[str, PolarsDataType], sound: pl.Expr) -> tuple[pl.DataFrame, int, list[Bad]]:
    try:
        rows = _numbers(pl.read_csv(piece, has_header=False, schema=schema, quote_char=None), schema)
    except pl.exceptions.PolarsError:
        return judged(piece, schema, sound)
    if any(column.null_count() for column in rows) or not rows.select(sound.all()).item():
        return judged(piece, schema, sound)
    return rows, rows.height, []


def read_entries(
    source: Source,
    schema: Mapping[str, PolarsDataType],
    sound: pl.Expr,
    kept: Callable[[pl.DataFrame], pl.DataFrame] = lambda rows: rows,
) -> Entries:
    """Read the lines of a log that are `sound`; `schema` has their columns (text for hexadecimal numbers).

    `kept` reduces the rows of a piece to the rows that are kept.
    """
    frames: list[pl.DataFrame] = []
    bad: list[Bad] = []
    lines = 0
    last = b"\n"
    tail: list[bytes] = []

    def seen(pieces: Iterator[bytes]) -> Iterator[bytes]:
        nonlocal last
        for piece in pieces:
            last = piece[-1:]
            end = piece.rfind(b"\n") + 1
            if not ends_in_number(piece[end:]):
                yield piece
                continue
            tail.append(piece[end:])
            if end:
                yield piece[:end]

    def work(piece: bytes) -> tuple[pl.DataFrame, int, list[Bad]]:
        rows, number, odd = _parsed(piece, schema, sound)
        return kept(rows), number, odd

    with source.open() as stream:
        content, begin = in_utf8(stream, PIECE)
        for rows, number, odd in in_order(seen(whole_lines(content, PIECE, begin)), work, WORKERS):
            frames.append(rows)
            bad += [Bad(lines + one.line, one.text) for one in odd]
            lines += number
        ended = source.ended(stream)
    if tail:
        lines += 1
        bad.append(unended(lines, tail[0]))
    return Entries(frames, bad, lines, last not in {b"\n", b""}, ended)


def ends_in_number(line: bytes) -> bool:
    """Return whether the last number of a line may be cut: no line end or blank follows it."""
    return bool(line) and may_be_cut(line.decode("utf-8", "replace"))


def unended(line: int, text: bytes) -> Bad:
    """Return a last line that ends in a number which may be cut."""
    return Bad(line, text[:_EXCERPT_LENGTH].decode("utf-8", "replace"))


def damage(entries: Entries, shape: str) -> list[Note]:
    """Return notes on skipped lines, a last line without end, and an early end; `shape` describes a valid line."""
    notes = Notes([*entries.ended])
    blank = [one for one in entries.bad if not one.text.strip()]
    if blank:
        notes.say(f"{len(blank):,} blank lines left out", blank[0].line)
    last = entries.lines if entries.unfinished else None
    odd = [one for one in entries.bad if one.text.strip() and one.line != last]
    if odd:
        where = f" (lines {first_few([str(one.line) for one in odd], _LISTED)})" if len(odd) > 1 else ""
        notes.warn(
            f"{counted(len(odd), 'line')} left out{where}: not {shape}, one of them a "
            f"direction; the first is {odd[0].text!r}",
            odd[0].line,
        )
    if entries.bad and entries.bad[-1].line == last:
        notes.warn("the last line has no line end, so its last number may be cut: the line is left out", last)
    return notes
