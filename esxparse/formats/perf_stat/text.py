"""perf stat for people: titles, one line an event, and how long it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from esxparse.formats.kit.notes import Notes
from esxparse.formats.perf_stat import line as lines_of
from esxparse.formats.perf_stat import rows
from esxparse.formats.perf_stat.line import Counted, Metric, Seconds, Title
from esxparse.formats.perf_stat.rows import Line, Parsed, Row, Style, Token
from esxparse.recording import Note

recognise = lines_of.recognise
WORDS = ("performance counter stats for", "counts")
"""One of them, whatever its case, is in every such file."""


class Document(NamedTuple):
    """One run as printed: what is on its lines, and where."""

    start: Row
    parts: list[tuple[int, lines_of.Part]]
    intervals: list[int]
    """The line with the head of its columns, where it is of `-I`."""


_ENDING = 3
"""Lines that say how long it took: elapsed, user, sys."""


def parse(lines: Sequence[str]) -> Parsed:
    """All documents of a file."""
    documents, other, odd = split(lines)
    tokens = [list(_tokens(document)) for document in documents]
    whole = rows.style(token for one in tokens for token in one)
    notes = Notes()
    events: list[Row] = []
    metrics: list[Row] = []
    runs: list[Row] = []
    repetitions: list[Row] = []
    for run, (document, numbers) in enumerate(zip(documents, tokens, strict=True), start=1):
        found = rows.style(numbers)
        notes += _style_notes(found, whole, numbers, run, len(documents))
        if document.parts and not document.intervals and _is_open(document):
            of = f"run {run}" if len(documents) > 1 else "the output"
            notes.say(f"{of} ends before the time it took: where it was cut, events are missing", document.parts[-1][0])
        one = _rows(document, found.decimal or whole.decimal, run)
        events += one.events
        metrics += one.metrics
        runs += one.runs
        repetitions += one.repetitions
        notes += one.notes
    notes += rows.left_out(odd, "of a document cannot be read", "warning")
    notes += rows.left_out(other, "not from perf stat, left out", "info")
    meta = {"kind": "text", "runs": len(documents), **rows.interval_meta(events)}
    return Parsed(events, metrics, runs, repetitions, tuple(notes), meta)


def split(  # noqa: C901  a branch per kind of line
    lines: Sequence[str],
) -> tuple[list[Document], list[tuple[int, str]], list[tuple[int, str]]]:
    """Documents, lines of other programs, and lines inside a document that cannot be read."""
    documents: list[Document] = []
    other: list[tuple[int, str]] = []
    odd: list[tuple[int, str]] = []
    start: Row = {}
    for line, text in enumerate(lines_of.joined_titles(lines), start=1):
        part = lines_of.read(text)
        if isinstance(part, Title):
            documents.append(Document(start | {"command": part.command, "repetitions": part.repetitions}, [], []))
            start = {}
        elif part is lines_of.INTERVALS:
            # perf prints it again every 25 lines.
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
    """Whether perf is the only one that prints: between the title and how long it took."""
    return not document.intervals and not any(isinstance(part, Seconds) for _, part in document.parts[-_ENDING:])


def _belongs(part: lines_of.Part, document: Document) -> bool:
    if document.intervals:
        return isinstance(part, Counted | Metric) and part.elapsed is not None
    return _is_open(document) or isinstance(part, Seconds)


def _tokens(document: Document) -> Iterator[Token]:
    for line, part in document.parts:
        if isinstance(part, Counted):
            if rows.state(part.counter) is None:
                yield Token(part.counter, line, grouped=True)
            yield from (Token(text, line, grouped=False) for text in (part.stddev, part.share) if text)
        metric = part.metric if isinstance(part, Counted) else part if isinstance(part, Metric) else None
        if metric:
            yield from (
                Token(text, line, grouped=False)
                for text in (metric.value, metric.stddev, metric.share)
                if text and not rows.is_nan(text)
            )
        if isinstance(part, Seconds):
            yield from (Token(text, line, grouped=False) for text in (part.value, part.stddev, part.pct) if text)


def _style_notes(found: Style, whole: Style, tokens: Sequence[Token], run: int, runs: int) -> Iterator[Note]:
    of = f"run {run}: " if runs > 1 else ""
    if found.against and found.told_by:
        yield Note(
            f"{of}numbers are written in two ways: {found.told_by.text!r} (line {found.told_by.line}) and "
            f"{found.against.text!r}; read with a decimal {_NAMES[found.decimal or '.']}",
            line=found.against.line,
            severity="warning",
        )
    elif found.decimal == "," and found.told_by:
        yield Note(f"{of}numbers have a decimal comma, as in {found.told_by.text!r}", line=found.told_by.line)
    elif found.decimal is None and (unsure := rows.ambiguous(tokens)):
        yield Note(
            f"{of}{unsure[0].text!r} may have a thousands separator or decimals, and no other number settles it: "
            + (f"read as in the rest of the file, decimal {_NAMES[whole.decimal]}" if whole.decimal else _AS_GROUPED),
            line=unsure[0].line,
            severity="warning",
        )


_NAMES = {".": "point", ",": "comma"}
_AS_GROUPED = "read as a thousands separator, as perf prints no count with three decimals"


def _rows(document: Document, decimal: str | None, run: int) -> Parsed:
    events: list[Row] = []
    metrics: list[Row] = []
    repetitions: list[Row] = []
    notes = Notes()
    about: Row = dict.fromkeys(rows.RUNS) | document.start | {"run": run}
    group: str | None = None
    for line, part in document.parts:
        if isinstance(part, Counted):
            group = None
            events.append(_event(part, decimal, run))
            if events[-1]["state"] == rows.NOT_READABLE:
                notes.warn(f"{part.counter!r} is not a count", line)
            if part.metric:
                metrics.append(_metric(part.metric, events[-1], None, decimal))
                events[-1].update({name: metrics[-1][name] for name in ("metric_value", "metric_unit", "metric_name")})
        elif isinstance(part, Metric):
            group = part.group or group
            of = None if group or not events else events[-1]
            metrics.append(_metric(part, of, group, decimal) | {"run": run})
            if of:
                _share(of, metrics, part, decimal)
        elif isinstance(part, Seconds):
            about.update(_seconds(part, decimal))
        elif isinstance(part, lines_of.Repetition):
            took = rows.number(part.elapsed, decimal)
            repetitions.append({"run": run, "repetition": len(repetitions) + 1, "elapsed_s": took})
    intervals = [event["elapsed_s"] for event in events if event["elapsed_s"] is not None]
    if about["elapsed_s"] is None and intervals:
        about["elapsed_s"] = max(intervals)
    return Parsed(events, metrics, [about], repetitions, tuple(notes))


def _event(part: Counted, decimal: str | None, run: int) -> Row:
    line = Line(
        elapsed_s=rows.number(part.elapsed.replace(",", "."), ".") if part.elapsed else None,
        aggregate=part.aggregate,
        cpus=int(part.cpus) if part.cpus else None,
        event=part.event,
        counter=part.counter,
        value=None if rows.state(part.counter) else rows.number(part.counter, decimal),
        unit=part.unit,
        cgroup=part.cgroup,
        counted_pct=rows.number(part.share, decimal) if part.share else None,
        stddev_pct=rows.number(part.stddev, decimal) if part.stddev else None,
    )
    return rows.event_row(line, run)


def _share(event: Row, metrics: list[Row], part: Metric, decimal: str | None) -> None:
    """What stands at the end of the last line of an event belongs to the event and all its metrics."""
    if part.share and event["counted_pct"] is None:
        event["counted_pct"] = rows.number(part.share, decimal)
    if part.stddev and event["stddev_pct"] is None:
        event["stddev_pct"] = rows.number(part.stddev, decimal)
    for row in metrics[-_METRICS_OF_ONE:]:
        if row["event"] == event["event"] and row["counted_pct"] is None:
            row["counted_pct"] = event["counted_pct"]


_METRICS_OF_ONE = 4


def _metric(metric: Metric, event: Row | None, group: str | None, decimal: str | None) -> Row:
    unit, name = rows.unit_and_name(metric.unit)
    row = dict.fromkeys(rows.METRICS) | {
        "metric_group": group,
        "metric_name": name,
        "metric_value": None if rows.is_nan(metric.value) else rows.number(metric.value, decimal),
        "metric_unit": unit,
        "counted_pct": rows.number(metric.share, decimal) if metric.share else None,
        "elapsed_s": rows.number(metric.elapsed.replace(",", "."), ".") if metric.elapsed else None,
        "aggregate": metric.aggregate,
    }
    if event:
        row |= {name: event[name] for name in ("run", "elapsed_s", "aggregate", "event")}
        row["counted_pct"] = row["counted_pct"] or event["counted_pct"]
    return row


def _seconds(part: Seconds, decimal: str | None) -> Row:
    def read(text: str | None) -> float | None:
        return rows.number(text, decimal) if text else None

    if part.what != "elapsed":
        return {f"{part.what}_s": read(part.value)}
    return {
        "elapsed_s": read(part.value),
        "elapsed_stddev_s": read(part.stddev),
        "elapsed_stddev_pct": read(part.pct),
    }
