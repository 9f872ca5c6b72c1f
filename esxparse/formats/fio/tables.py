"""The tables of fio's outputs: their columns, and how the rows of documents become frames."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from esxparse.formats.fio.integers import take_bins
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import exact, scaled, whole
from esxparse.formats.kit.tables import schemas
from esxparse.recording import Note, counted

Row = dict[str, Any]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

Line = tuple[int, str, str | None]
"""Number and text of a line, and its host if a client shows it."""

SCHEMAS = schemas(__file__)
BEST_FIRST = ("json", "normal", "terse")
"""Outputs, the most precise first."""
ALL_CLIENTS = "All clients"
"""The job that is the sum of all servers' jobs."""

CONVENIENT = {"p50_ms": 50.0, "p95_ms": 95.0, "p99_ms": 99.0, "p99_9_ms": 99.9}
"""Percentiles with a column in `jobs`."""
CPU = ("usr_cpu_pct", "sys_cpu_pct", "context_switches", "major_faults", "minor_faults")
"""Columns of `jobs`, in the order in which fio prints them."""

_AT_ONCE = 64
"""Latencies whose bins are computed together."""
_SIGNIFICANT_BITS = 6
"""fio's FIO_IO_U_PLAT_BITS: a power of two is divided into 64 bins."""
_MANTISSA_BITS, _BIAS = 52, 1023
"""Of float64: digits below the exponent, and the number added to it."""


@dataclass(frozen=True)
class Counts:
    """Numbers in the bins of a latency, from JSON+; arrays, as there may be millions."""

    middles: Integers
    ios: Integers

    @classmethod
    def of(cls, content: bytes | memoryview) -> tuple[bytes, list[Counts]]:
        """Return a text in which numbers replace fio's bins, and these bins."""
        if (taken := take_bins(content)) is None:
            return bytes(content), []
        text, middles, ios, ends = taken
        bounds = pairwise([0, *np.frombuffer(ends, np.int64).tolist()])
        both = np.frombuffer(middles, np.int64), np.frombuffer(ios, np.int64)
        return text, [cls(both[0][begin:end], both[1][begin:end]) for begin, end in bounds]


@dataclass(frozen=True)
class Bins:
    """The bins of one latency, its units per ms, and its number of invalid entries."""

    whose: Row
    middles: Integers
    ios: Integers
    per_ms: int
    odd: int = 0


@dataclass
class Document:
    """The output of one run in one format; filled by that format's reader, then only read."""

    output: str
    line: int
    release: str | None = None
    time: Any = None
    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in SCHEMAS})
    bins: list[Bins] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)


def _whole(value: Any) -> int | None:
    known = exact(value)
    if known is None or (isinstance(known, float) and not math.isfinite(known)):
        return None
    found = int(known)
    return found if -(1 << 63) <= found < 1 << 63 else None


def _float(value: Any) -> float | None:
    if (known := exact(value)) is None:
        return None
    try:
        as_float = float(known)
    except OverflowError:
        return None
    return as_float if math.isfinite(as_float) else None


def _checked(name: str, values: list[Any], kind: pl.DataType, refused: list[str]) -> pl.Series:
    """Return numbers converted one by one; invalid cells become empty and are listed in `refused`."""
    read = _whole if kind == pl.Int64() else _float
    kept = [read(value) for value in values]
    refused += [
        f"{name} {value}"
        for value, now in zip(values, kept, strict=True)
        if now is None and value is not None and value != ""
    ]
    return pl.Series(name, kept, kind)


def _column(name: str, values: list[Any], kind: pl.DataType, refused: list[str]) -> pl.Series:
    kinds = set(map(type, values))
    if kind == pl.String() and not kinds <= {str, type(None)}:
        return pl.Series(name, [value if value is None else str(value) for value in values], kind)
    if kind not in (pl.Int64(), pl.Float64()):
        return pl.Series(name, values, kind)
    if not kinds <= {int, type(None)} | ({float} if kind == pl.Float64() else set()):
        return _checked(name, values, kind, refused)
    try:
        series = pl.Series(name, values, kind)
    except (TypeError, OverflowError):
        return _checked(name, values, kind, refused)
    return series if kind == pl.Int64() or bool(series.is_finite().all()) else _checked(name, values, kind, refused)


def frame(rows: Sequence[Mapping[str, Any]], schema: Mapping[str, pl.DataType], refused: list[str]) -> pl.DataFrame:
    """Return the rows as a frame of that schema; invalid values become empty and are listed in `refused`."""
    return pl.DataFrame(
        [_column(name, [row.get(name) for row in rows], kind, refused) for name, kind in schema.items()]
    )


def _percentiles_frame(rows: Sequence[Row], schema: Mapping[str, pl.DataType], refused: list[str]) -> pl.DataFrame:
    """Return one row per percentile, from rows with all percentiles of a latency as pairs in `latency_ms`."""
    *heads, percentile, latency = schema.items()
    sizes = [len(row["latency_ms"]) for row in rows]
    whose = frame(rows, dict(heads), refused)[np.repeat(np.arange(len(rows)), sizes)]
    numbers = zip(*(pair for row in rows for pair in row["latency_ms"]), strict=True)
    return whose.hstack(
        [
            _column(name, list(values), kind, refused)
            for (name, kind), values in zip((percentile, latency), numbers, strict=True)
        ]
    )


def _edges(middles: Integers) -> tuple[Integers, Integers]:
    """Return from and to of bins that fio identifies by their middle (plat_idx_to_val of its stat.c)."""
    # The exponent of a float64, in an eighth of the time that `frexp` takes.
    exponents = np.maximum(middles, 1).astype(np.float64).view(np.int64) >> _MANTISSA_BITS
    widths = np.left_shift(np.int64(1), np.maximum(exponents - _BIAS - _SIGNIFICANT_BITS, 0))
    lowest = middles & -widths
    return lowest, lowest + widths


def _integers(values: Collection[Any]) -> Integers:
    """Return the whole numbers of bins as an array; -1 for any other value."""
    known = [whole(value) for value in values]
    return np.array([value if value is not None and value < 1 << 62 else -1 for value in known], dtype=np.int64)


def read_bins(whose: Row, bins: Mapping[str, Any] | Counts, unit_ms: float) -> Bins:
    """Return the bins of JSON+: middle, in units of `unit_ms`, to count. Other entries are left out."""
    counts = bins if isinstance(bins, Counts) else Counts(_integers(bins.keys()), _integers(bins.values()))
    per_ms = round(1 / unit_ms)
    if isinstance(bins, Counts):
        return Bins(whose, counts.middles, counts.ios, per_ms)
    sound = (counts.middles >= 0) & (counts.ios >= 0)
    return Bins(whose, counts.middles[sound], counts.ios[sound], per_ms, int(np.count_nonzero(~sound)))


def _limits(found: Sequence[tuple[Row, Bins]]) -> tuple[Floats, Floats]:
    """Return from and to of all bins, ms; computed in batches that fit the processor's cache."""
    lowest, highest = (np.empty(sum(len(bins.ios) for _, bins in found)) for _ in range(2))
    end = 0
    for place in range(0, len(found), _AT_ONCE):
        some = found[place : place + _AT_ONCE]
        begin, end = end, end + sum(len(bins.ios) for _, bins in some)
        edges = _edges(np.concatenate([bins.middles for _, bins in some]))
        per_ms = np.repeat([bins.per_ms for _, bins in some], [len(bins.ios) for _, bins in some])
        # Divided, like all other numbers: see `scaled`.
        np.divide(edges[0], per_ms, out=lowest[begin:end])
        np.divide(edges[1], per_ms, out=highest[begin:end])
    return lowest, highest


def _bins_frame(found: Sequence[tuple[Row, Bins]], shares: pl.DataFrame | None, refused: list[str]) -> pl.LazyFrame:
    """Return one row per bin of all jobs, and the shares after them; job columns are added when queried."""
    schema = SCHEMAS["latency_bins"]
    sizes = np.array([len(bins.ios) for _, bins in found], dtype=np.int64)
    heads = frame([head for head, _ in found], {name: schema[name] for name in list(schema)[:9]}, refused)
    lowest, highest = _limits(found)
    numbers = {"from_ms": lowest, "to_ms": highest, "ios": np.concatenate([bins.ios for _, bins in found])}
    rows = pl.LazyFrame({"head": np.repeat(np.arange(len(found), dtype=np.uint32), sizes), **numbers})
    job_columns = [
        pl.lit(column[0], column.dtype).alias(name) if column.n_unique() == 1 else pl.lit(column).gather(pl.col("head"))
        for name, column in heads.to_dict().items()
    ]
    rows = rows.select(*job_columns, *numbers, share_pct=pl.lit(None, pl.Float64()))
    return rows if shares is None else pl.concat([rows, shares.lazy()], rechunk=False)


def assemble(documents: Sequence[Document]) -> tuple[dict[str, pl.LazyFrame], list[Note]]:
    """Return the tables of all documents, numbered from 1, without empty ones."""
    refused: list[str] = []
    eager: dict[str, pl.DataFrame] = {}
    for table, columns in SCHEMAS.items():
        rows = [
            {"document": place, **row} for place, document in enumerate(documents, 1) for row in document.rows[table]
        ]
        if table == "percentiles":
            rows = [row for row in rows if row["latency_ms"]]
        if rows:
            make = _percentiles_frame if table == "percentiles" else frame
            eager[table] = make(rows, columns, refused)
    found = [
        ({"document": place, "source": "bins", **bins.whose}, bins)
        for place, document in enumerate(documents, 1)
        for bins in document.bins
        if len(bins.ios)
    ]
    tables = {table: frame.lazy() for table, frame in eager.items()}
    if found:
        tables["latency_bins"] = _bins_frame(found, eager.get("latency_bins"), refused)
    notes = Notes()
    if refused:
        notes.warn(f"{counted(len(refused), 'value')} left empty, not a number or too large ({refused[0][:80]})")
    return {table: tables[table] for table in SCHEMAS if table in tables}, notes


def distribution(whose: Row, unit_ms: float, shares: Iterable[tuple[str, Any]], below: float) -> list[Row]:
    """Return rows of `latency_bins` from fio's shares by latency; `below` is the beginning of the first one.

    The name of each share is the end of its bin; `>=2000` has no end. Shares of 0 % are left out.
    """
    rows, begin = [], below
    for name, share in shares:
        if (bound := exact(name.lstrip(">= "))) is None:
            continue
        limit, opened = scaled(bound, unit_ms), name.startswith(">")
        if exact(share) not in (0, None):
            which = {**whose, "direction": "all", "latency": "lat", "source": "distribution"}
            limits = {"from_ms": limit if opened else begin, "to_ms": None if opened else limit}
            rows.append({**which, **limits, "share_pct": share})
        begin = begin if opened else limit or begin
    return rows
