"""fio logs: `*_bw`, `*_iops`, `*_lat`, `*_clat`, `*_slat` and `*_clat_hist`, fio 2 to 3.4x."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

import numpy as np
import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.fio import histogram, log_facts
from esxparse.formats.fio.log_clues import LATENCIES
from esxparse.formats.fio.log_facts import DIRECTION, LogName, Row
from esxparse.formats.fio.log_lines import damage
from esxparse.formats.fio.log_neighbours import Evidence, evidence_near
from esxparse.formats.fio.log_numbers import Wanted, read_columns
from esxparse.formats.fio.log_units import Unit, unit_of
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording
from esxparse.schema import TIME

FORMAT = "fio"

METRICS = {"bw": "bandwidth", "iops": "iops", "lat": "lat", "clat": "clat", "slat": "slat", "unknown": "unknown"}

_LOOK = 64 << 10

_NAMES = {
    "direction": "direction",
    "value": "value",
    "maximum": "value_max",
    "size": "block_size_bytes",
    "offset": "offset_bytes",
    "priority": "priority",
    "issued": "issued_s",
}
"""Columns in layouts, and in the table, in its order; time has two names in the table."""
_SETTLED = ("direction", "size", "offset", "priority")
"""Columns that often have one number in all lines."""
_PRIORITY_FIFTH, _OFFSET_FIFTH = log_facts.LAYOUTS[5]


def recognise(head: Head) -> bool:
    """Return whether a file begins like a fio log; never raises an error."""
    return log_facts.recognised(head.text[:_LOOK]) or histogram.recognise(head.text)


def _interval(rows: Sequence[Mapping[str, int]]) -> float | None:
    """Return seconds between averages; None if each I/O has a line."""
    times = [row["time"] for row in rows if row["direction"] == rows[0]["direction"]]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return round(median(gaps) / 1000, 3) if gaps and median(gaps) > 0 and not rows[0]["size"] else None


def _wanted(
    columns: Sequence[str], cells: Sequence[Row], first: Sequence[Mapping[str, int]], unit: Unit, *, absolute: bool
) -> list[Wanted]:
    """Return the conversion of each column; `cells` are from the first lines, `first` their numbers."""
    place = columns.index("priority") if "priority" in columns else 0
    hexadecimal = any(row[place].startswith("0x") for row in cells if len(row) == len(columns))
    times, over = unit.ratio
    earliest, latest = log_facts.bounds(absolute=absolute)
    known = {
        "time": Wanted("time", np.int64, low=earliest, high=latest, times=1000)
        if absolute
        else Wanted("elapsed_s", np.float64, low=earliest, high=latest, over=1000),
        "value": Wanted("value", np.float64, times=times, over=over),
        "maximum": Wanted("value_max", np.float64, times=times, over=over),
        "direction": Wanted("direction", np.uint8, low=0, high=len(DIRECTION.categories) - 1),
        "size": Wanted("block_size_bytes", np.int64, low=0),
        "offset": Wanted("offset_bytes", np.int64),
        "priority": Wanted("priority", np.int64, hexadecimal=hexadecimal),
        "issued": Wanted("issued_s", np.float64, over=10**9),
    }
    same = {name: first[0][name] for name in _SETTLED if len({row.get(name) for row in first}) == 1 and name in columns}
    return [replace(known[name], same=same.get(name)) for name in columns]


def _table(frame: pl.DataFrame, same: Mapping[str, int], name: LogName) -> pl.LazyFrame:
    """Return the table of those columns and of the constant ones, which take no memory."""
    if "direction" in frame.columns:
        frame = frame.with_columns(frame["direction"].cat.to(DIRECTION))
    size = pl.col("block_size_bytes") if "block_size_bytes" in frame.columns else pl.lit(same["block_size_bytes"])
    constants = {column: pl.lit(number, dtype=pl.Int64) for column, number in same.items()}
    if "direction" in same:
        constants["direction"] = pl.lit(DIRECTION.categories[same["direction"]], dtype=DIRECTION)
    if "value_max" in frame.columns:
        # If each I/O has a line, a maximum of several does not exist.
        frame = frame.with_columns(pl.when(size == 0).then("value_max").alias("value_max"))
    order = [column for column in _NAMES.values() if column in frame.columns or column in same]
    metric = pl.lit(METRICS[name.metric]).alias("metric")
    columns = [constants.get(column, pl.col(column)).alias(column) for column in order]
    return frame.lazy().select(frame.columns[0], *log_facts.whose(name), metric, *columns)


def _unit_notes(name: LogName, unit: Unit, unused: str) -> list[Note]:
    notes = Notes()
    if name.metric == "unknown":
        where = "fio gives it in the file's name (name_bw.1.log, _iops, _lat, _clat, _slat)"
        notes.say(f"the metric is unknown, and values are kept as written: {where}")
    elif unit.guessed:
        outputs = f". Outputs that prove nothing: {unused}" if unused else ""
        if name.metric in LATENCIES:
            known = "fio 2 writes microseconds, fio 3 nanoseconds. Put the run's output beside the log to be sure"
            doubt = ", and the other unit is possible too" if unit.ambiguous else ""
            notes.warn(f"latencies are read as {unit.name}, a guess ({unit.evidence}){doubt}: {known}{outputs}")
        else:
            notes.say(f"values are read as {unit.name}, a guess: {unit.evidence}{outputs}")
    if unit.name == "I/Os":
        notes.say("one line per I/O: each value is 1 I/O, not a rate (log_avg_msec was not set)")
    return notes


def _nothing(source: Source) -> DamagedError:
    return DamagedError(f"{source.name}: no line is an entry of a fio log (1000, 52341, 0, 4096): nothing to read")


def _read_series(source: Source, cells: Sequence[Row], columns: tuple[str, ...], evidence: Evidence) -> Recording:
    """Read a log with those columns; `cells` are from its first lines."""
    name = log_facts.log_name(source.name)
    first = [row for row in (log_facts.numbered(columns, one) for one in cells if len(one) == len(columns)) if row]
    unit = unit_of(name.metric, first, columns, evidence.known, evidence.clue)
    absolute = log_facts.since_1970([row["time"] for row in first])
    wanted = _wanted(columns, cells, first, unit, absolute=absolute)
    entries, same = read_columns(source, wanted)
    frame = pl.concat(entries.frames) if entries.frames else pl.DataFrame()
    if not frame.height:
        raise _nothing(source)
    if absolute:
        frame = frame.with_columns(frame["time"].cast(TIME))
    hexadecimal = any(one.hexadecimal for one in wanted)
    if columns == _PRIORITY_FIFTH and not hexadecimal and "priority" not in same and (frame["priority"] > 1).any():
        # The numbers that looked like priorities are offsets: fio before 3.19 wrote the log.
        return _read_series(source, cells, _OFFSET_FIFTH, evidence)
    meta = {
        "metric": METRICS[name.metric],
        "unit": unit.name,
        "unit_evidence": unit.evidence,
        "guessed_units": [unit.name] if unit.guessed and name.metric in LATENCIES else [],
        "job": name.base,
        "job_number": name.number,
        "host": name.host,
        "samples": frame.height,
        "interval": _interval(first),
        **log_facts.span(frame),
    }
    notes = (*damage(entries, f"{len(columns)} numbers"), *_unit_notes(name, unit, evidence.unused))
    return Recording(FORMAT, source.name, {"series": _table(frame, same, name)}, meta, notes)


def read(source: Source, evidence: Evidence | None = None) -> Recording:
    """Read a log.

    Args:
        source: The log.
        evidence: Evidence on its unit from other files; without it, the files near the log are read.
    """
    text = source.head.text
    cells = log_facts.sample(text[:_LOOK])
    if log_facts.layout(cells) is None:
        if line := histogram.first_line(text):
            return histogram.read(source, log_facts.log_name(source.name), line)
        raise _nothing(source)
    evidence = evidence or evidence_near(source.path)
    known = evidence.known
    columns = log_facts.layout(cells, before_3_19=known is not None and not known.doubt and known.release < (3, 19))
    if columns is None:
        raise _nothing(source)
    return _read_series(source, cells, columns, evidence)
