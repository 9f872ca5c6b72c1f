"""DiskSpd output, 2.0 to 2.2: XML (`-Rxml`) and text.

`meta`: host, release (XML), start (UTC, as printed), command_line (text).

Source: `ResultParser.cpp`, `XmlResultParser.cpp`, `Common.cpp` of the program (github.com/microsoft/diskspd): sizes and
MiB/s are powers of two, times of a run are UTC, MB/s of early releases is 2**20 too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from esxparse.errors import DamagedError
from esxparse.formats.diskspd.rows import Row, empty, lazy
from esxparse.formats.diskspd.text import read_run, runs
from esxparse.formats.diskspd.xml import documents, read_document
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.text import Text
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "diskspd"

_Run = tuple[dict[str, list[Row]], Row, list[Note]]
"""Rows of the tables, facts about the run, notes."""
_XML = re.compile(r"<Results\s*>\s*<(?:System|Profile|TimeSpan)\s*>")


def read(source: Source) -> Recording:
    """Read one or several outputs."""
    text = source.text()
    rows, facts, notes = empty(), list[Row](), Notes()
    for own, known, more in _xml(text, notes) if _XML.search(text.text) else _printed(text):
        facts.append(known)
        notes += more
        for name, found in own.items():
            rows[name] += found
    if not any(rows.values()):
        why = f": {notes[0]}" if notes else ""
        raise DamagedError(f"holds no DiskSpd result{why}: the run or the copy may have failed")
    if not rows["jobs"]:
        notes.warn("no results: only the settings of the run")
    return Recording(FORMAT, source.name, lazy(rows), _meta(facts), (*text.notes, *notes))


def _xml(text: Text, notes: Notes) -> Iterator[_Run]:
    """Yield the runs of XML documents, with notes on text between them."""
    run = 0
    for line, document, between in documents(text.text):
        if between:
            message = f"text outside the results, left out: {between[:60]!r}"
            notes.append(Note(message, line, unused=len(list(filter(None, between.split("\n"))))))
        if document:
            run += 1
            yield read_document(document, line, run)


def _printed(text: Text) -> Iterator[_Run]:
    """Return the runs of text."""
    lines = text.lines()
    cut = len(lines) if lines[-1].strip() else None
    return (read_run(part, run, cut=cut) for run, part in enumerate(runs(lines), 1))


def _meta(facts: list[Row]) -> dict[str, Any]:
    """Return facts about the whole: names that differ between runs are listed."""
    meta: dict[str, Any] = {}
    for name in ("host", "release", "command_line"):
        known = list(dict.fromkeys(fact[name] for fact in facts if fact.get(name)))
        if known:
            meta[name] = ", ".join(known)
    starts = [fact["start"] for fact in facts if fact.get("start")]
    return meta | ({"start": min(starts)} if starts else {})
