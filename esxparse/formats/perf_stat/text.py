"""perf stat's output for people: titles, one line an event, and the duration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from esxparse.formats.kit.notes import Notes
from esxparse.formats.perf_stat import line as lines_of
from esxparse.formats.perf_stat import rows
from esxparse.formats.perf_stat.line import Repetition, Seconds, Title
from esxparse.formats.perf_stat.numbers import Read, Style, Token, ambiguous, is_nan, reader, style
from esxparse.formats.perf_stat.rows import Fields, Parsed, Row
from esxparse.recording import Note

recognise = lines_of.recognise
WORDS = ("performance counter stats for", "counts")
"""Words of which every such file has at least one, in any case."""


class Document(NamedTuple):
    """One run as printed: its lines and their places."""

    start: Row
    parts: list[tuple[int, lines_of.Part]]
    intervals: list[int]
    """The line with the head of its columns, if it was printed with `-I`."""


_ENDING = 3
"""Lines of durations: elapsed, user, sys."""


def parse(lines: Sequence[str]) -> Parsed:
    """Return all documents of a file."""
    whole_lines, joined = lines_of.join_titles(lines)
    documents, other, odd = split(whole_lines)
    tokens = [list(_tokens(document)) for document in documents]
    whole = style(token for one in tokens for token in one)
    notes = Notes()
    events: list[Row] = []
    metrics: list[Row] = []
    runs: list[Row] = []
    repetitions: list[Row] = []
    for run, (document, numbers) in enumerate(zip(documents, tokens, strict=True), start=1):
        found = style(numbers)
        notes += _style_notes(found, whole, numbers, run, len(documents))
        if document.parts and not document.intervals and _is_open(document):
            of = f"run {run}" if len(documents) > 1 else "the output"
            notes.say(f"{of} ends before the time it took: if it was cut, events are missing", document.parts[-1][0])
        one = _rows(document, found.decimal or whole.decimal, run, mixed=found.against is not None)
        events += one.events
        metrics += one.metrics
        runs += one.runs
        repetitions += one.repetitions
        notes += one.notes
    if joined:
        message = "a command of several lines: its lines are joined with blanks"
        notes.append(Note(message, joined[0], free_text=frozenset(joined)))
    notes += rows.left_out(odd, "of a document cannot be read", "warning")
    notes += rows.left_out(other, "not from perf stat, left out", "info")
    meta = {"kind": "text", "runs": len(documents), **rows.interval_meta(events)}
    return Parsed(events, metrics, runs, repetitions, tuple(notes), meta)


def split(  # noqa: C901  a branch per kind of line
    lines: Sequence[str],
) -> tuple[list[Document], list[tuple[int, str]], list[tuple[int, str]]]:
    """Return documents, lines of other programs, and unreadable lines inside a document."""
    documents: list[Document] = []
    other: list[tuple[int, str]] = []
    odd: list[tuple[int, str]] = []
    start: Row = {}
    for line, text in enumerate(lines, start=1):
        part = lines_of.read(text)
        if isinstance(part, Title):
            documents.append(Document(start | {"command": part.command, "repetitions": part.repetitions}, [], []))
            start = {}
        elif part is lines_of.INTERVALS:
            # perf prints the head again every 25 lines.
            if not documents or not documents[-1].intervals:
                documents.append(Document(start, [], [line]))
                start = {}
        elif isinstance(part, datetime):
            start = start | {"started_local": part}
        elif part is None and (name := rows.command(text)):
            start = start | {"command": name}
        elif part is None:
            if text.strip():
                (odd if documents and _is_open(documents[-1]) else other).append((line, text))
        elif not isinstance(part, str):
            if documents and _belongs(part, documents[-1]):
                documents[-1].parts.append((line, part))
            else:
                other.append((line, text))
    return documents, other, odd


def _is_open(document: Document) -> bool:
    """Return whether only perf prints: between the title and the durations."""
    return not document.intervals and not any(isinstance(part, Seconds) for _, part in document.parts[-_ENDING:])


def _belongs(part: lines_of.Part, document: Document) -> bool:
    if document.intervals:
        return isinstance(part, Fields) and part.elapsed is not None
    return _is_open(document) or isinstance(part, Seconds)


def _tokens(document: Document) -> Iterator[Token]:
    for line, part in document.parts:
        if isinstance(part, Fields):
            if part.value and rows.state(part.value) is None:
                yield Token(part.value, line, grouped=True)
            texts = (part.stddev, part.share, *(value for value, _ in part.metrics if not is_nan(value)))
            yield from (Token(text, line, grouped=False) for text in texts if text)
        if isinstance(part, Seconds):
            yield from (Token(text, line, grouped=False) for text in (part.value, part.stddev, part.pct) if text)


def _style_notes(found: Style, whole: Style, tokens: Sequence[Token], run: int, runs: int) -> Iterator[Note]:
    of = f"run {run}: " if runs > 1 else ""
    if found.against and found.example:
        yield Note(
            f"{of}numbers are written in two ways: {found.example.text!r} (line {found.example.line}) and "
            f"{found.against.text!r}; read with a decimal {_NAMES[found.decimal or '.']}; ambiguous "
            "numbers are left out",
            line=found.against.line,
            severity="warning",
        )
    elif found.decimal == "," and found.example:
        yield Note(f"{of}numbers have a decimal comma, as in {found.example.text!r}", line=found.example.line)
    elif found.decimal is None and (unsure := ambiguous(tokens)):
        yield Note(
            f"{of}{unsure[0].text!r} may have a thousands separator or decimals, and no other number settles it: "
            + (f"read as in the rest of the file, decimal {_NAMES[whole.decimal]}" if whole.decimal else _AS_GROUPED),
            line=unsure[0].line,
            severity="warning",
        )


_NAMES = {".": "point", ",": "comma"}
_AS_GROUPED = "read as a thousands separator, as perf prints no count with three decimals"


def _rows(document: Document, decimal: str | None, run: int, *, mixed: bool) -> Parsed:
    parts = [part for _, part in document.parts]
    fields = [(at, part) for at, part in document.parts if isinstance(part, Fields)]
    read = reader(decimal, mixed=mixed)
    lines = [(run, at, rows.line_of(part, read)) for at, part in fields]
    found = rows.collected(lines)
    about: Row = dict.fromkeys(rows.RUNS) | document.start | {"run": run}
    for part in parts:
        if isinstance(part, Seconds):
            about.update(_seconds(part, read))
    if about["elapsed_s"] is None:
        intervals = (event["elapsed_s"] for event in found.events if event["elapsed_s"] is not None)
        about["elapsed_s"] = max(intervals, default=None)
    took = [read(part.elapsed) for part in parts if isinstance(part, Repetition)]
    repetitions = [{"run": run, "repetition": place, "elapsed_s": one} for place, one in enumerate(took, 1)]
    return replace(found, runs=[about], repetitions=repetitions)


def _seconds(part: Seconds, read: Read) -> Row:
    if part.what != "elapsed":
        return {f"{part.what}_s": read(part.value)}
    return {
        "elapsed_s": read(part.value),
        "elapsed_stddev_s": read(part.stddev),
        "elapsed_stddev_pct": read(part.pct),
    }
