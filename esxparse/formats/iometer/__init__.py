"""Iometer result CSV (Iometer 2003, 2004, 2006.07.27, 1.1.0-rc, 1.1.0 and later builds).

Columns are found by their names in the file's own header line, so that releases not known here are read too.

Tables
------
results       one row for each line of results
    run                 i64   number of the start of the program's tests in the file (`'Test Type`), from 1
    test                i64   number of the section `'Results` in the file, from 1
    time                time  when the test ended: the stamp below its results. Local time of the machine that ran the
                              program; the file does not say its zone: taken as if it were UTC
    row_type            str   ALL, MANAGER, PROCESSOR, WORKER, DISK (or what kind of target the program names)
    name                str   as printed
    manager, worker     str   of which manager (WORKER, DISK, PROCESSOR) and worker (DISK) the row is: those above it
    access_spec         str   name of the access specification; null where those below differ
    managers, workers, disks  i64   those active; null where the program prints none
    queue_depth         i64   outstanding I/Os per target; null where those below differ
    iops, read_iops, write_iops           f64   I/Os per second
    bandwidth_bytes_per_s, read_, write_  f64   bytes per second. `MBps` (2003 to 2006.07.27), `MBps (Binary)` and
                              `MiBps (Binary)` are 2**20 bytes per second, `MBps (Decimal)` is 10**6
    latency_mean_ms, read_, write_; latency_max_ms, read_, write_   f64   milliseconds, the program's response times;
                              0 where there was no such I/O
    transactions_per_s, connections_per_s             f64
    transaction_time_mean_ms, connection_time_mean_ms, ..._max_ms   f64
    errors, read_errors, write_errors                 i64
    read_bytes, write_bytes, read_ios, write_ios, connections, transactions_per_connection   i64
    read_latency_total_ticks ..., run_time_ticks      i64   raw counters, in ticks of the timer
    ticks_per_s         f64   resolution of the timer (`Processor Speed`)
    starting_sector, maximum_size_sectors             i64   of the disks; null where those below differ
    cpu_pct, cpu_user_pct, cpu_privileged_pct, cpu_dpc_pct, cpu_interrupt_pct   f64   mean of the processors
    interrupts_per_s    f64
    cpu_effectiveness   f64   IOPS per percent of CPU
    packets_per_s, packet_errors, segments_retransmitted_per_s   f64
    Columns not known here are kept under a name made of their own.
access_specs  one row for each line of an access specification, once in a run
    run                 i64
    access_spec         str   its name: join with `results` by run and access_spec
    default_assignment  str   as printed
    line                i64   from 1; null for a specification without lines ("Idle")
    size_bytes          i64   of a request
    share_pct           f64   share of the requests that are of this line
    read_pct, random_pct  f64
    delay_ms            f64   pause after a burst
    burst               i64   requests in a burst
    align_bytes         i64   0: requests begin at multiples of a sector
    reply_bytes         i64   0: no reply
latency_bins  one row for each row of results and bin (1.1.0 and later builds)
    run, test, time, row_type, name, manager, worker, access_spec   as in `results`
    from_ms, to_ms      f64   limits of the bin, milliseconds; to_ms null: open end
    ios                 i64

A log of updates (`inst*.csv`, "Record Last Update Results") is read as tests of their own: where its lines carry a time
stamp in a column of that name, `time` is that.

Source: `ManagerList.cpp`, `Manager.cpp`, `PageSetup.cpp`, `AccessSpecList.cpp`, `GalileoView.cpp` of the program
(column names, order of sections, response times in ms, -1 or -2 or their unsigned twins for "ambiguous"); `IOCommon.h`
(MEGABYTE is 1048576 in the releases that have `MBps` alone; later MEGABYTE_BIN and MEGABYTE_DEC). Assumed, since
neither a file nor the writing code could be had: the layout of logs of updates. VMware I/O Analyzer runs this program
in its workers: no other layout of its exports could be found, and none is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from esxparse.errors import DamagedError
from esxparse.formats.iometer.columns import ACCESS_SPECS, RESULTS, Odd, notes_on
from esxparse.formats.iometer.results import Row, Section, ignored, read_access_spec, read_results, sections, time_of
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.orders import swap_notes
from esxparse.formats.kit.tables import frames, schema
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

if TYPE_CHECKING:
    import polars as pl

FORMAT = "iometer"


_TYPES = schema("text str, number f64, count setting i64")  # by kind of column
_WHICH = schema("run test i64, time time")
_WHOSE = schema("row_type name manager worker access_spec str")
_SPEC = schema("run i64, access_spec default_assignment str, line i64")
_SPEC_SCHEMA = _SPEC | {column.name: _TYPES[column.kind] for column in ACCESS_SPECS.values()}
_RESULT_TYPES = {column.name: _TYPES[column.kind] for column in RESULTS.values()}
_BIN_SCHEMA = _WHICH | _WHOSE | schema("from_ms to_ms f64, ios i64")


def read(source: Source) -> Recording:
    """Reads a result file."""
    text = source.text()
    lines = text.lines()
    unfinished = len(lines) if lines[-1].strip() else None
    odd: Odd = []
    parts = list(sections(lines))
    specs, names, notes = _specs(parts, unfinished, odd)
    results, bins, more, facts = _tests(parts, names, unfinished, odd)
    if not (tables := _tables(results, bins, specs)):
        raise DamagedError("has neither results nor access specifications: the test did not finish, or the copy failed")
    if not results:
        more.warn("no results: the test did not finish, or the copy failed")
    if facts.get("start"):
        more.say("times are local and the file does not name their zone: read as if they were UTC")
    meta = {key: fact for key, fact in facts.items() if fact}
    return Recording(FORMAT, source.name, tables, meta, (*text.notes, *notes, *more, *notes_on(odd)))


def _specs(parts: Sequence[Section], unfinished: int | None, odd: Odd) -> tuple[list[Row], set[str], list[Note]]:
    """Rows of `access_specs`, each once in a run; the names; notes."""
    run = 0
    rows: list[Row] = []
    names: set[str] = set()
    notes = Notes()
    for place, part in enumerate(parts):
        run += part.kind == "test type"
        if part.kind != "access specification name":
            continue
        below = parts[place + 1] if place + 1 < len(parts) and parts[place + 1].kind == "size" else None
        spec, more = read_access_spec(part, below, unfinished, odd)
        names |= {row["access_spec"] for row in spec}
        # The program repeats the block for every specification that it begins to test.
        rows += [{"run": max(run, 1)} | row for row in spec]
        notes += more
    return list({tuple(sorted(row.items(), key=itemgetter(0))): row for row in rows}.values()), names, notes


def _stamp(part: Section, unfinished: int | None) -> tuple[datetime | None, list[Note]]:
    if not part.rows:
        return None, []
    line, text = part.rows[0]
    cut = line == unfinished and text[-1:].isdigit()
    time = None if cut else time_of(text)
    why = "the file ends in this time, which may be cut: left out" if cut else f"not a time: {text.strip()[:40]!r}"
    odd = [] if time else [Note(why, line, severity="warning")]
    rest = replace(part, rows=part.rows[1:])
    return time, [*odd, *ignored(rest)]


def _tests(
    parts: Sequence[Section], specs: set[str], unfinished: int | None, odd: Odd
) -> tuple[list[Row], list[Row], Notes, dict[str, Any]]:
    """Rows of `results` and `latency_bins`, notes, and what is known of the whole."""
    run, test = 0, 0
    results: list[Row] = []
    bins: list[Row] = []
    notes = Notes()
    times: list[datetime] = []
    facts: dict[str, Any] = {}
    for place, part in enumerate(parts):
        run += part.kind == "test type"
        if part.kind == "time stamp":
            time, more = _stamp(part, unfinished)
            times += [time] if time else []
            notes += more
        elif part.kind == "version" and part.rows:
            facts.setdefault("release", part.rows[0][1].strip().rstrip(",;\t "))
        elif part.kind == "test type" and part.rows:
            facts.setdefault("description", part.rows[0][1].partition(part.separator)[2].strip().rstrip(",;\t "))
        elif part.kind == "target type":
            rows, binned, more = read_results(part, specs, unfinished, odd)
            test += bool(rows)
            below = parts[place + 1] if place + 1 < len(parts) else None
            end = _stamp(below, unfinished)[0] if below and below.kind == "time stamp" else None
            which = {"run": max(run, 1), "test": test}
            notes += more
            if rows and end is None and not any(row.get("time") for row in rows):
                notes.warn("no time stamp below these results: the file may be cut", part.line)
            results += [row | which | {"time": row.get("time") or end} for row in rows]
            bins += [row | which | {"time": row["time"] or end} for row in binned]
        elif part.kind not in {"access specification name", "size"}:
            notes += ignored(part)
            if part.kind.startswith("unknown"):
                notes.say(f"unknown section, left out: {', '.join(part.cells)[:60]!r}", part.line)
    notes += swap_notes([row["time"] for row in results], has_option=False)
    hosts = sorted({row["name"] for row in results if row["row_type"] == "MANAGER" and row.get("name")})
    facts |= {"host": ", ".join(hosts), "start": min(times, default=None), "end": max(times, default=None)}
    return results, bins, notes, facts | {"samples": test}


def _tables(results: list[Row], bins: list[Row], specs: list[Row]) -> dict[str, pl.LazyFrame]:
    first = _WHICH | _WHOSE
    there = dict.fromkeys(name for row in results for name in row)
    rest = {name: _RESULT_TYPES.get(name, _TYPES["number"]) for name in there if name not in {*first, "line"}}
    columns = {"results": (results, first | rest), "access_specs": (specs, _SPEC_SCHEMA)}
    return frames({**columns, "latency_bins": (bins, _BIN_SCHEMA)})
