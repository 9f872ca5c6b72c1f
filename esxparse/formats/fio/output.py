"""fio's outputs to tables: JSON, normal and terse, separated and combined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from esxparse.errors import DamagedError
from esxparse.formats.fio import json_output, normal, terse
from esxparse.formats.fio.snapshots import join_snapshots
from esxparse.formats.fio.tables import BEST_FIRST, Counts, Document, Line, assemble
from esxparse.formats.kit.foreign import Form, leave_out
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes, reason
from esxparse.formats.kit.numbers import exact
from esxparse.formats.kit.objects import uncollected
from esxparse.formats.kit.text import Text, decode
from esxparse.formats.source import Source
from esxparse.recording import Note, counted

if TYPE_CHECKING:
    import polars as pl

_JSON = re.compile(
    r'"fio version"\s*:|\{\s*"jobname"\s*:|"jobname"\s{0,9}:\s{0,9}"[^"\n]{0,1000}+"\s{0,9},\s{0,99}"groupid"\s{0,9}:'
)
_ERROR = re.compile(r"^(?:<\S+> )?fio: (?P<message>\S.*)$", re.MULTILINE)
_FAILED = re.compile(r"^fio: pid=\d+, err=\d+/file:", re.MULTILINE)
_OUTPUTS = (
    (('"fio version"', '"jobname"'), _JSON),
    ((": (groupid=",), normal.RESULT),
    ((": (g=",), normal.JOB_LINE),
    ((";",), terse.LINE),
    (("fio: pid=",), _FAILED),
)
"""Evidence of an output: a pattern, and words of which every match has one."""
_FROM_HOST = re.compile(r"^(?:Jobs: .*|\s*)<(?P<host>[^<>\s]+)>(?: (?P<text>.*))?$")
_CONTENT = re.compile(r"\S")
_MOST_ERRORS = 20


@dataclass(frozen=True)
class Parsed:
    """One output of fio, read."""

    tables: Mapping[str, pl.LazyFrame]
    output: str
    """Its format, the best of several: json, normal, terse."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


def is_output(head: Head) -> bool:
    """Return whether a file with this head is an output of fio: JSON, normal, terse, or only its errors."""
    text = head.text
    found = any(head.holds(*marks) and pattern.search(text) for marks, pattern in _OUTPUTS)
    return found or text.lstrip().startswith("fio: ")


def _lines(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[Line]:
    """Yield the lines outside the JSON: number, text without its host's name, and that host."""
    at, line, host = 0, 1, None
    for start, end in [*spans, (len(text), len(text))]:
        for place, content in enumerate(text[at:start].split("\n"), line):
            from_host = _FROM_HOST.match(content) if "<" in content else None
            # A client prints a host's results below the host's name, and immediate text on the same line as the name.
            host = from_host["host"] if from_host else host
            yield place, from_host["text"] or "" if from_host else content, host
        if _CONTENT.search(text, end):
            line += text.count("\n", at, end)
        at = end


def _row_keys(document: Document) -> set[tuple[Any, ...]]:
    """Return keys of a document's rows, which are the same in all formats of one run."""
    rows = [row for row in document.rows["jobs"] if row["direction"] != "sync" and row.get("runtime_s") is not None]
    # A job that has not begun has other directions in each format.
    busy = [row for row in rows if _milliseconds(row)] or rows
    return {(str(row["job"]), exact(row["group"]), row["direction"], _milliseconds(row)) for row in busy}


def _milliseconds(row: Mapping[str, Any]) -> int | None:
    known = exact(row.get("runtime_s"))
    try:
        return None if known is None else round(known * 1000)
    except (OverflowError, ValueError):
        return None


def _without_repeats(documents: list[Document]) -> tuple[list[Document], list[Note]]:
    """Return the most detailed document of each run: `--output-format=json,normal,terse` prints three."""
    kept: list[Document] = []
    # For each row: the rows and format of the kept documents that have it, each once.
    by_row: dict[tuple[Any, ...], dict[tuple[str, frozenset[tuple[Any, ...]]], None]] = {}
    notes = Notes()
    for document in sorted(documents, key=lambda one: BEST_FIRST.index(one.output)):
        keys = frozenset(_row_keys(document))
        others = by_row.get(next(iter(keys)), ()) if keys else ()
        same = [output for output, rows in others if output != document.output and keys <= rows]
        if same:
            notes.say(f"{document.output} output left out: it repeats the {same[0]} output", document.line)
            notes += [note for note in document.notes if note.severity == "warning"]
        else:
            kept.append(document)
            for row in keys:
                by_row.setdefault(row, {})[document.output, keys] = None
    return sorted(kept, key=lambda one: one.line), notes


def _beside(lines: Iterable[Line]) -> tuple[list[Note], list[str]]:
    """Return notes on fio's text beside its results, and its errors."""
    notes = Notes()
    errors: dict[str, int] = {}
    other: list[tuple[int, str]] = []
    for line, text, _ in lines:
        if match := _ERROR.match(text):
            errors.setdefault(match["message"], line)
        elif text.strip() and not normal.is_part(text):
            other.append((line, text.strip()))
    notes += [
        Note(f"fio: {message}", line, severity="warning") for message, line in list(errors.items())[:_MOST_ERRORS]
    ]
    if len(errors) > _MOST_ERRORS:
        notes.warn(f"{len(errors) - _MOST_ERRORS} more messages of fio")
    if other:
        first, text = other[0]
        message = f"{counted(len(other), 'line')} not read, not fio output: {text[:60]!r} ..."
        notes.append(Note(message, first, unused=len(other)))
    return notes, list(errors)


def _failures(documents: Iterable[Document]) -> Iterator[Note]:
    """Yield notes on jobs of JSON and terse output that failed (normal output has its own, with the reason)."""
    for document in documents:
        failed = {
            (row["job_number"], str(row["job"]), str(row["error"]))
            for row in document.rows["jobs"]
            if document.output != "normal" and exact(row.get("error"))
        }
        for _, job, error in sorted(failed, key=str):
            yield Note(f"job {job} failed: error {error}; its numbers are kept", document.line, severity="warning")
        ways: dict[tuple[Any, str], dict[str, bool]] = {}
        for row in document.rows["jobs"]:
            ways.setdefault((row["job_number"], str(row["job"])), {})[row["direction"]] = _did_something(row)
        idle: dict[str, list[str]] = {}
        for (_, job), done in ways.items():
            for way in [way for way in done if not done[way]] if any(done.values()) else ["I/O"]:
                idle.setdefault(way, []).append(job)
        for way, jobs in idle.items():
            more = " ..." if len(jobs) > _MOST_ERRORS else ""
            yield Note(f"no {way} was done by {', '.join(sorted(set(jobs))[:_MOST_ERRORS])}{more}", document.line)


def _did_something(row: Mapping[str, Any]) -> bool:
    return any(exact(row.get(name)) for name in ("ios", "total_bytes", "runtime_s"))


def _meta(documents: list[Document]) -> dict[str, Any]:
    hosts = sorted({str(row["hostname"]) for one in documents for row in one.rows["jobs"] if row.get("hostname")})
    times = [one.time for one in documents if one.time is not None]
    started = [row["start"] for one in documents for row in one.rows["jobs"] if row.get("start") is not None]
    releases = sorted({one.release for one in documents if one.release})
    return {
        "host": ", ".join(hosts) or None,
        "release": ", ".join(releases) or None,
        "start": min(started, default=None),
        "end": max(times, default=None),
        "documents": len(documents),
    }


_INTEGERS = r"th=\[ *|\b(?:pid|ctx|majf|minf|total)=|\((?:R|W|T)\) (?=[\d., ]+B-)|^[2-5];fio-[^\n]*[;=](?=\d+\.)"
_PRINTED = Form(integers=_INTEGERS)
_IN_JSON = Form(json=True, keep="bs|.*_range|.*_allowed|.*split|.*mix.*|.*distribution|.*percentile.*")
"""Numbers in text, in which terse has none with three decimals, and in JSON, in which a list of options is a string."""


def _without_foreign(lines: list[Line]) -> tuple[list[Line], list[Note]]:
    """Return the lines without numbers in another locale, and a note about them."""
    plain, notes = leave_out("\n".join(text for _, text, _ in lines), _PRINTED)
    kept = [(place, text, host) for (place, _, host), text in zip(lines, plain.split("\n"), strict=True)]
    return kept, [replace(note, line=lines[(note.line or 1) - 1][0]) for note in notes]


def _documents(text: Text, bins: Sequence[Counts]) -> tuple[list[Document], list[Note], list[str]]:
    """Return the documents of a text, notes in the order of their lines, and fio's errors."""
    text = text.without_cut_number()
    plain, strings = leave_out(text.text, _IN_JSON)
    text = replace(text, text=plain, notes=(*text.notes, *strings))
    of_json, spans = json_output.parse(text.text, bins)
    lines, foreign = _without_foreign(list(_lines(text.text, spans)))
    of_terse, others = terse.parse(lines)
    documents, repeats = _without_repeats([*of_json, *of_terse, *normal.parse(others)])
    documents, joined = join_snapshots(documents)
    beside, errors = _beside(others)
    notes = [note for document in documents for note in document.notes]
    notes = sorted(
        [*notes, *repeats, *joined, *_failures(documents), *beside, *foreign], key=lambda note: note.line or 0
    )
    return documents, [*text.notes, *notes], errors


def _text(source: Source) -> tuple[Text, list[Counts]]:
    """Return the text without its bins, which are nearly all of a large JSON+, and those bins."""
    content, notes = source.buffer()
    slim, bins = Counts.of(content)
    text = decode(slim)
    return replace(text, notes=(*notes, *text.notes)), bins


@uncollected()
def parse_output(source: Source, name: str) -> Parsed:
    """Return the tables of an output of fio; errors refer to it as `name`."""
    text, bins = _text(source)
    documents, notes, errors = _documents(text, bins)
    tables, refused = assemble(documents)
    if "jobs" not in tables:
        raise DamagedError(_nothing(name, errors, notes))
    output = next(document.output for document in documents if document.rows["jobs"])
    return Parsed(tables, output, _meta(documents), (*notes, *refused))


def _nothing(name: str, errors: list[str], notes: list[Note]) -> str:
    """Return why there are no results."""
    damage = next((str(note) for note in notes if note.severity == "warning" and note.column is not None), None)
    if damage:
        return f"{name} has no complete fio job: {damage}; copy it again, or run fio again"
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return f"{name} has no fio results, because fio failed: {errors[0][:300]}{more}; fix that and run fio again"
    return f"{name} has no fio results{reason(notes)}: it may have been stopped early; run it again"
