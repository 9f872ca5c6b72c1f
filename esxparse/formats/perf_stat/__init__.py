"""perf stat output of Linux: text, CSV (`-x`) and JSON lines (`-j`), perf 2.6.31 to 6.18.

Tables
------
events        one row per event as printed: per run, interval and unit of aggregation
    run            i64   number of the document in the file, from 1; the summary that ends an `-I` recording is its own
    elapsed_s      f64   seconds since the start of the recording, end of the interval; null where `-I` was not given
    aggregate      str   what the count is of: `S0-D0-C1`, `S0`, `N1`, `CPU3`, `thread-1234`; null for all together
    cpus           i64   CPUs in the aggregate, where printed
    event          str   as printed, with PMU and modifiers: `cpu_core/cycles:u/`
    pmu            str   `cpu_core`, where the event names one
    cgroup         str   where events are counted by cgroup
    value          f64   the count; null where it was not counted. Estimated by perf where `counted_pct` is below 100;
                         the mean of the repetitions with `-r`
    state          str   `counted`, `not counted`, `not supported`; `not readable` where the file is damaged
    unit           str   of the value: `msec`, `Joules`; null for plain counts
    runtime_ms     f64   milliseconds the counter ran (CSV and JSON only)
    counted_pct    f64   percent of the time the event had a counter; null in text where perf prints none, which is 100
    stddev_pct     f64   standard error of the mean over repetitions, percent of it (`+-`), as perf computes it
    metric_value   f64   the first metric perf prints beside the event; null where it is nan
    metric_unit    str   as in perf's CSV: `insn per cycle`; `of all branches` and the like are percent
    metric_name    str   where perf prints a name beside the unit (topdown, 6.18 and later)
metrics       one row per metric, those beside an event and those of a group (topdown)
    run, elapsed_s, aggregate, event   as above; event null for a metric of a group
    metric_group   str   `TopdownL1 (cpu_core)`
    metric_name, metric_value, metric_unit, counted_pct   as above
    threshold      str   `good`, `bad`, ... (newer JSON)
runs          one row per document
    run            i64
    command        str   what was measured: `sleep 1`, `system wide`; or the command line on top of the file
    started_local  datetime  by the clock of that machine, whose zone perf does not print (`-o`)
    repetitions    i64   of `-r`
    elapsed_s      f64   seconds; mean of the repetitions; the last interval's end where `-I` was given; null in plain
                         CSV and JSON, which do not say
    elapsed_stddev_s, elapsed_stddev_pct   f64   `+-` of it
    user_s, sys_s  f64   CPU seconds
repetitions   each of them, of `--table`: run, repetition, elapsed_s

Numbers are read as the locale wrote them: which sign is the decimal one is told from all numbers of a document, and a
note says so where it is not the point. CSV and JSON do not mark where one run ends: the first event coming again, or
time going back, begins another (assumption).

Source: tools/perf/util/stat-display.c of several kernels; perf-stat(1). A count is never printed with three decimals,
so one lone sign before three digits groups them. `[83.3%]` and `(scaled from 83.3%)` are what old releases print.
"""

from __future__ import annotations

import re

from esxparse.errors import DamagedError
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.text import Text
from esxparse.formats.perf_stat import delimited, jsonlines, line, text
from esxparse.formats.perf_stat.rows import Fields, Parsed, lazy
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "perf_stat"

_VERSION = re.compile(r"(?m)^[ \t]*perf version (\S+)")
_READERS = (jsonlines, text, delimited)
_WORDS = {jsonlines: jsonlines.WORDS, text: text.WORDS}


def recognise(head: Head) -> bool:
    """Tells perf stat output by a title, a JSON key or a CSV line that nothing else prints."""
    begin = head.text
    asked = (reader for reader in _READERS if reader not in _WORDS or head.holds(*_WORDS[reader]))
    return any(reader.recognise(begin) for reader in asked)


def read(source: Source) -> Recording:
    """Reads one file of perf stat output, of one run or many."""
    whole = _without_cut_event(source.text().without_cut_line())
    reader = next((reader for reader in _READERS if reader.recognise(whole.text)), text)
    parsed = reader.parse(whole.lines())
    if not parsed.events and not parsed.metrics:
        raise DamagedError(
            f"{source.name}: it has no readable perf stat event"
            f"{_reason(parsed)}: record again, without --metric-only, and keep the whole output"
        )
    meta = dict(parsed.meta)
    if version := _VERSION.search(whole.text):
        meta["release"] = version[1]
    return Recording(FORMAT, source.name, lazy(parsed), meta, whole.notes + parsed.notes)


def _without_cut_event(whole: Text) -> Text:
    """The text without its last line, where that has no end and nothing behind the name of an event."""
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


def _reason(parsed: Parsed) -> str:
    worst = next((note for note in parsed.notes if note.severity == "warning"), None)
    return f" ({worst})" if worst else ""
