"""perf stat output of Linux: text, CSV (`-x`) and JSON lines (`-j`), perf 2.6.31 to 6.18.

Numbers are read as the locale wrote them: all numbers of a document together show the decimal sign, and a
note reports it if it is not the point. CSV and JSON do not mark the end of a run: if the first event comes again, or
time goes back, another run begins (assumption).

Source: tools/perf/util/stat-display.c of several kernels; perf-stat(1). A count never has three decimals,
so a single sign before three digits groups them. Old releases print `[83.3%]` and `(scaled from 83.3%)`.
"""

from __future__ import annotations

import re

from esxparse.errors import DamagedError
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import reason
from esxparse.formats.kit.text import Text
from esxparse.formats.perf_stat import delimited, jsonlines, line, text
from esxparse.formats.perf_stat.rows import Fields, lazy
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "perf_stat"

_VERSION = re.compile(r"(?m)^[ \t]*perf version (\S+)")
_READERS = (jsonlines, text, delimited)
_WORDS = {jsonlines: jsonlines.WORDS, text: text.WORDS}


def recognise(head: Head) -> bool:
    """Return whether a head has a title, JSON key or CSV line that only perf stat prints."""
    begin = head.text
    candidates = (reader for reader in _READERS if reader not in _WORDS or head.holds(*_WORDS[reader]))
    return any(reader.recognise(begin) for reader in candidates)


def read(source: Source) -> Recording:
    """Read one file of perf stat output, of one run or many."""
    whole = _without_cut_event(source.text().without_cut_line())
    reader = next((reader for reader in _READERS if reader.recognise(whole.text)), text)
    parsed = reader.parse(whole.lines())
    if not parsed.events and not parsed.metrics:
        why = reason([note for note in parsed.notes if note.severity == "warning"])
        what = f"it has no readable perf stat event{why}"
        raise DamagedError(f"{source.name}: {what}: record again, without --metric-only, and keep the whole output")
    meta = dict(parsed.meta)
    if version := _VERSION.search(whole.text):
        meta["release"] = version[1]
    return Recording(FORMAT, source.name, lazy(parsed), meta, whole.notes + parsed.notes)


def _without_cut_event(whole: Text) -> Text:
    """Return the text without its last line, if that line has no end and nothing after the name of an event."""
    if whole.unfinished is None:
        return whole
    *before, last = lines = whole.lines()
    part = line.read(last)
    fields = None if part else delimited.split(last, delimited.separator(lines) or ",")
    cut = fields is not None and fields.event is not None and last.rstrip().endswith(fields.event)
    if isinstance(part, Fields) and part.event:
        cut = not (part.metrics or part.share or part.stddev)
    if not cut:
        return whole
    why = "the last line has no line end, so the name of its event may be cut: left out"
    notes = [note for note in whole.notes if note.line != whole.unfinished]
    return Text("\n".join([*before, ""]), (*notes, Note(why, whole.unfinished, severity="warning")))
