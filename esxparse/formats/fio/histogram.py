"""fio `*_clat_hist` logs: counts of completion latencies in bins, for each interval (`log_hist_msec`).

Bins: a power of two is divided into 64. Below 128 a bin is one unit wide, then two, four ... fio 3 has 29 such groups
of 64 in nanoseconds, fio 2 has 19 in microseconds, so the number of bins shows the unit. `log_hist_coarseness=N` adds
up each 2**N of them. With 24 groups (known to fiologparser_hist.py) microseconds are assumed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from esxparse.errors import DamagedError
from esxparse.formats.fio.log_facts import DIRECTION, LogName, clock, of_clock, since_1970, span, whose
from esxparse.formats.fio.log_lines import damage, read_entries
from esxparse.formats.kit.notes import Notes
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording, counted

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
"""The percentiles that fio prints by default."""

_BITS = 6
_GROUP = 1 << _BITS
_COARSEST = 6
_GROUPS = {29: "ns", 19: "us", 24: "us"}
"""Groups of bins to their unit."""
_UNITS = {"ns": 1e-6, "us": 1e-3}
"""Milliseconds in a unit."""
_LEADING = ("time", "direction", "size")
"""The columns before the bins."""

_LINES = 200
"""Most lines of a head that are checked."""

_MOST = 1 << 40
"""Largest plausible count of a bin in an interval; larger counts are damage."""

_LINE = re.compile(r"\d{1,20}, [0-2], \d{1,20}(?:, \d{1,20}){19,1856}\r?")
_CUT_LINE = re.compile(r"\d{1,20}, [0-2], \d{1,20}(?:, \d{1,20}+){200}[, \d]*+")


@dataclass(frozen=True)
class Bins:
    """The bins of a log."""

    unit: str
    coarseness: int
    edges: NDArray[np.float64]
    """Milliseconds: bin `i` goes from `edges[i]` to `edges[i + 1]`."""
    middles: NDArray[np.float64]
    """Milliseconds: fio's printed value for a latency of the bin."""

    @property
    def evidence(self) -> str:
        """The evidence for the unit."""
        return f"{len(self.middles) << self.coarseness:,} bins"


def lower_edge(index: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the smallest latency of each uncombined bin, in the log's unit.

    >>> lower_edge(np.array([5, 127, 128, 129, 192])).tolist()
    [5.0, 127.0, 128.0, 130.0, 256.0]
    """
    shift = np.maximum((index >> _BITS) - 1, 0)
    inside = np.where(index < 2 * _GROUP, index, _GROUP + index % _GROUP)
    lower: NDArray[np.float64] = inside.astype(np.float64) * np.exp2(shift)
    return lower


def bins_of(number: int) -> Bins | None:
    """Return the bins of a log with that many of them; None if no fio writes so many."""
    for groups, unit in _GROUPS.items():
        for coarseness in range(_COARSEST + 1):
            if number << coarseness == groups * _GROUP:
                index = np.arange(0, groups * _GROUP + 1, 1 << coarseness, dtype=np.int64)
                edges = lower_edge(index)
                middles = (edges[:-1] + edges[1:]) / 2
                if coarseness == 0:
                    # For a bin that is one unit wide, fio prints that unit.
                    middles[: 2 * _GROUP] = edges[: 2 * _GROUP]
                return Bins(unit, coarseness, edges * _UNITS[unit], middles * _UNITS[unit])
    return None


def of_line(numbers: Sequence[int]) -> Bins | None:
    """Return the bins of a line of a log."""
    return bins_of(len(numbers) - len(_LEADING))


def first_line(text: str) -> list[int] | None:
    """Return the numbers of the first whole line, if there is one: a line without an end may have lost bins."""
    line = next((line for line in text.split("\n")[:-1] if _LINE.fullmatch(line)), None)
    return [int(cell) for cell in line.split(", ")] if line else None


def recognise(text: str) -> bool:
    """Return whether a text begins as a histogram log does."""
    lines = text.split("\n", _LINES)
    if len(lines) == 1:
        whole = _LINE.fullmatch(lines[0])
        known = whole and bins_of(lines[0].count(",") + 1 - len(_LEADING))
        return bool(known or _CUT_LINE.fullmatch(lines[0]))
    numbers = [
        line.count(",") + 1 - len(_LEADING) if _LINE.fullmatch(line) else 0 for line in lines[:-1] if line.strip()
    ]
    good = [number for number in numbers if number and bins_of(number)]
    return bool(good) and len(good) * 10 >= len(numbers) * 9 and len(set(good)) == 1


def _sparse(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the bins with counts: time, direction, size, bin, ios, whether counts of the line are invalid."""
    counts = rows.drop(_LEADING).to_numpy()
    line, place = np.nonzero(counts)
    return rows.select(_LEADING)[line.astype(np.uint32)].with_columns(
        pl.Series("bin", place.astype(np.int64)),
        pl.Series("ios", counts[line, place].astype(np.int64)),
        pl.Series("wild", (counts.max(axis=1, initial=0) > _MOST)[line]),
    )


def percentiles(counted: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return the percentiles of each group of rows with the same `keys`: columns `percentile`, `latency_ms`.

    `counted` has `bin`, `ios` and `middle`. As in fio, a percentile is the first bin up to which there are enough I/Os.
    """
    bins = counted.group_by([*keys, "bin", "middle"]).agg(pl.col("ios").sum()).sort([*keys, "bin"])
    so_far = bins.with_columns(
        pl.col("ios").cum_sum().over(keys).alias("so_far"), pl.col("ios").sum().over(keys).alias("all")
    )
    wanted = [
        so_far.filter(pl.col("so_far") >= percentile / 100 * pl.col("all"))
        .group_by(keys, maintain_order=True)
        .agg(pl.lit(float(percentile)).alias("percentile"), pl.col("middle").first().alias("latency_ms"))
        for percentile in PERCENTILES
    ]
    return pl.concat(wanted).sort([*keys, "percentile"])


def _schema(number: int) -> dict[str, PolarsDataType]:
    leading = {"time": pl.Int64, "direction": pl.UInt8, "size": pl.Int64}
    return {**leading, **{f"bin_{place}": pl.Int64 for place in range(number)}}


def _tables(rows: pl.DataFrame, name: LogName, *, absolute: bool) -> dict[str, pl.LazyFrame]:
    owner = whose(name)
    what = [pl.col("direction"), pl.lit("clat").alias("latency")]
    edges = [pl.col("from_ms"), pl.col("to_ms"), pl.col("ios")]
    value = [pl.col("percentile"), pl.col("latency_ms")]
    sound = rows.filter(~pl.col("wild"))
    summed = sound.group_by("direction", "bin", "from_ms", "to_ms", "middle").agg(pl.col("ios").sum())
    each = percentiles(sound, ["time", "direction"])
    size = pl.col("size").alias("block_size_bytes")
    tables = {
        "latency_bins": summed.sort("direction", "bin").select(*owner, *what, *edges),
        "percentiles": percentiles(summed, ["direction"]).select(*owner, *what, *value),
        "latency_bins_series": rows.select(clock(rows, absolute=absolute), *owner, *what, size, *edges),
        "percentiles_series": each.select(clock(each, absolute=absolute), *owner, *what, *value),
    }
    return {table: frame.lazy() for table, frame in tables.items() if frame.height}


def _wild(rows: pl.DataFrame) -> list[Note]:
    """Return a note on intervals with counts that are not numbers."""
    wild, notes = rows.filter("wild"), Notes()
    if wild.height:
        times = wild["time"].unique().sort().to_list()
        where = f"a bin of {counted(len(times), 'interval')}, the first at {times[0]:,} ms"
        notes.warn(
            f"up to {int(wild['ios'].to_numpy().max()):,} I/Os in {where}, which no run does (fio in client mode may "
            "write what is not its own): kept in latency_bins_series as they are, left out of the other tables"
        )
    return notes


def read(source: Source, name: LogName, first: Sequence[int]) -> Recording:
    """Read a histogram log; `first` are the numbers of its first whole line."""
    number = len(first) - len(_LEADING)
    absolute = since_1970(first[:1])
    if (bins := of_line(first)) is None:
        msg = f"{source.name}: {number:,} bins, which no fio histogram log has (fio 3 writes 1,856, fio 2 1,216)"
        raise DamagedError(msg)
    sound = of_clock(absolute=absolute) & (pl.col("direction") < len(DIRECTION.categories)) & (pl.col("size") >= 0)
    sound &= pl.all_horizontal(pl.col("^bin_.*$") >= 0)
    entries = read_entries(source, _schema(number), sound, _sparse)
    rows = pl.concat(entries.frames, how="vertical_relaxed") if entries.frames else pl.DataFrame()
    if not rows.height:
        msg = f"{source.name}: no line of this fio histogram log counts an I/O: nothing to read"
        raise DamagedError(msg)
    bin_table = pl.DataFrame(
        {
            "bin": np.arange(number),
            "from_ms": bins.edges[:-1],
            "to_ms": pl.Series([*bins.edges[1:-1].tolist(), None]),
            "middle": bins.middles,
        }
    )
    rows = rows.join(bin_table, on="bin", how="left", maintain_order="left").with_columns(
        pl.col("direction").cat.to(DIRECTION)
    )
    meta = {
        "metric": "clat_hist",
        "unit": bins.unit,
        "unit_evidence": bins.evidence,
        "coarseness": bins.coarseness,
        "job": name.base,
        "job_number": name.number,
        "host": name.host,
        "samples": entries.lines - len(entries.bad),
    }
    tables = _tables(rows, name, absolute=absolute)
    meta |= span(tables["latency_bins_series"].select(cs.by_name("time", require_all=False)).collect())
    notes = [*damage(entries, f"{number + len(_LEADING):,} numbers"), *_wild(rows)]
    return Recording("fio", source.name, tables, meta, tuple(notes))
