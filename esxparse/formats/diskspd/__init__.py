"""DiskSpd output, 2.0 to 2.2: XML (`-Rxml`) and text.

Tables
------
jobs         one row for each time span, direction and, of those, the whole and each thread and target
    run              i64   number of the output in the file, from 1: several may be in one
    timespan         i64   number of the time span in the run, from 1
    level            str   total (all threads and targets together) or thread (one thread and target)
    thread           i64   null in totals
    target           str   path of the file or disk; null in totals
    direction        str   read, write, all
    ios, bytes       i64   while measuring
    iops             f64   I/Os per second; text: as printed
    bandwidth_bytes_per_s  f64   bytes / run_time_s
    latency_mean_ms, latency_stddev_ms   f64   milliseconds; null where there was no such I/O, or no `-L`
    latency_min_ms, latency_max_ms       f64   in totals only, from the percentiles 0 and 100
    iops_stddev      f64   standard deviation of the IOPS of the buckets (`-D`)
    run_time_s       f64   seconds measured
    workers          i64   threads
    block_size_bytes, queue_depth, read_pct, random_pct   as set; null in totals of targets that differ
percentiles  one row for each percentile; needs `-L`
    run, timespan, direction   as above
    target           str   null: all targets together. Text has tables of each target where there are several
    percentile       f64   0 is the minimum, 100 the maximum
    latency_ms       f64
series       one row for each bucket of time and metric (XML with `-D`)
    run, timespan, thread, target, direction   as above; thread and target null: all together
    elapsed_s        f64   end of the bucket, seconds from the start of the measurement
    metric           str   iops (I/Os per second), latency_min_ms, latency_max_ms, latency_mean_ms, latency_stddev_ms
                           (milliseconds; buckets without I/O have none)
    value            f64
cpu          one row for each processor, and one for their average
    run, timespan    i64
    socket, node, group, core, cpu   i64   null where the release prints none; all null: the average
    cpu_pct, user_pct, kernel_pct, idle_pct   f64   kernel without idle
targets      what was asked for, one row for each time span and target
    run, timespan    i64
    target           str   path, or name of a template
    block_size_bytes i64
    queue_depth      i64   outstanding I/Os per thread and target (`-o`); of a thread pool (`-O`) per thread
    workers          i64   threads per target (`-t`), or of the pool (`-F`)
    read_pct, random_pct   f64
    stride_bytes     i64   alignment of random I/O, stride of sequential
    duration_s, warmup_s, cooldown_s   f64

`meta`: host, release (XML), start (UTC, as printed), command_line (text).

Source: `ResultParser.cpp`, `XmlResultParser.cpp`, `Common.cpp` of the program (github.com/microsoft/diskspd): sizes and
MiB/s are powers of two, times of a run are UTC, MB/s of early releases is 2**20 too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from esxparse.errors import DamagedError
from esxparse.formats.diskspd.rows import TABLES, Row, empty, lazy
from esxparse.formats.diskspd.text import read_run, runs
from esxparse.formats.diskspd.xml import documents, read_document
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.text import Text
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "diskspd"

_Run = tuple[dict[str, list[Row]], Row, list[Note]]
"""Rows of the tables, what is known of the run, notes."""
_XML = re.compile(r"<Results\s*>\s*<(?:System|Profile|TimeSpan)\s*>")


def read(source: Source) -> Recording:
    """Reads one or several outputs."""
    text = source.text()
    rows, facts, notes = empty(), list[Row](), Notes()
    for own, known, more in _xml(text, notes) if _XML.search(text.text) else _printed(text):
        facts.append(known)
        notes += more
        for name in TABLES:
            rows[name] += own[name]
    if not any(rows.values()):
        why = f": {notes[0]}" if notes else ""
        raise DamagedError(f"holds no DiskSpd result{why}: the run or the copy may have failed")
    if not rows["jobs"]:
        notes.warn("no results: only the settings of the run")
    return Recording(FORMAT, source.name, lazy(rows), _meta(facts), (*text.notes, *notes))


def _xml(text: Text, notes: Notes) -> Iterator[_Run]:
    """The runs of XML documents; what stands between them is noted."""
    run = 0
    for line, document, between in documents(text.text):
        if between:
            message = f"text outside the results, left out: {between[:60]!r}"
            notes.append(Note(message, line, unused=len(list(filter(None, between.split("\n"))))))
        if document:
            run += 1
            yield read_document(document, line, run)


def _printed(text: Text) -> Iterator[_Run]:
    """The runs of text."""
    lines = text.lines()
    cut = len(lines) if lines[-1].strip() else None
    return (read_run(part, run, cut=cut) for run, part in enumerate(runs(lines), 1))


def _meta(facts: list[Row]) -> dict[str, Any]:
    """What is known of the whole: names that differ between runs are listed."""
    meta: dict[str, Any] = {}
    for name in ("host", "release", "command_line"):
        known = list(dict.fromkeys(fact[name] for fact in facts if fact.get(name)))
        if known:
            meta[name] = ", ".join(known)
    starts = [fact["start"] for fact in facts if fact.get("start")]
    return meta | ({"start": min(starts)} if starts else {})
