"""Units: conversions by name, and an error if two units would be mixed silently.

The end of a column's name is its unit. Megabytes come in two sizes, with different names here:

    mb, mb_per_s       10**6 bytes (disks, networks, Iometer 1.1, fio's MB)
    mib, mib_per_s     2**20 bytes (memory, esxtop's MBytes, fio's MiB): 4.9 % more
    mbit, mbit_per_s   10**6 bits, an eighth of a MB
    mibit, mibit_per_s 2**20 bits (esxtop's MBits)
    mhz, ghz           10**6 and 10**9 cycles per second

An ambiguous name, such as `mbps`, raises an error.

Source: IEC 80000-13 for the binary prefixes, the SI brochure for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

import polars as pl

from esxparse.errors import EsxparseError, choose_from

from .frames import finite, names, need

Number = TypeVar("Number", float, pl.Expr)
"""A number, or a polars expression of numbers."""


class Unit(NamedTuple):
    """The quantity that a unit measures, and its size in the first unit of that quantity."""

    kind: str
    factor: float


_SIZES: Final = {
    "bytes": 1.0,
    "kb": 1e3,
    "mb": 1e6,
    "gb": 1e9,
    "tb": 1e12,
    "kib": 2.0**10,
    "mib": 2.0**20,
    "gib": 2.0**30,
    "tib": 2.0**40,
    "bits": 1 / 8,
    "kbit": 1e3 / 8,
    "mbit": 1e6 / 8,
    "gbit": 1e9 / 8,
    "mibit": 2.0**20 / 8,
}
UNITS: Final[dict[str, Unit]] = {
    **{name: Unit("data", factor) for name, factor in _SIZES.items()},
    **{f"{name}_per_s": Unit("data per second", factor) for name, factor in _SIZES.items()},
    **{name: Unit("frequency", factor) for name, factor in (("hz", 1.0), ("khz", 1e3), ("mhz", 1e6), ("ghz", 1e9))},
    **{
        name: Unit("time", factor)
        for name, factor in (("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0))
    },
    **{name: Unit("power", factor) for name, factor in (("watts", 1.0), ("kw", 1e3))},
    **{name: Unit("energy", factor) for name, factor in (("joules", 1.0), ("kwh", 3.6e6))},
    "pct": Unit("percent", 1.0),
}
"""Every unit that a column's name may end in."""

_UNCLEAR: Final = {
    "mbps": "mb_per_s (10**6 bytes), mib_per_s (2**20 bytes) or mbit_per_s",
    "kbps": "kb_per_s (10**3 bytes), kib_per_s (2**10 bytes) or kbit_per_s",
    "gbps": "gbit_per_s or gb_per_s",
    "mbytes": "mb (10**6 bytes) or mib (2**20 bytes)",
    "mbits": "mbit (10**6 bits) or mibit (2**20 bits), or either with _per_s",
}


class UnclearUnitError(EsxparseError):
    """The name of a unit has several meanings, such as `mbps`."""


def _unit(name: str) -> Unit:
    if name in UNITS:
        return UNITS[name]
    if name in _UNCLEAR:
        raise UnclearUnitError(f"unit {name!r} is ambiguous: write {_UNCLEAR[name]}")
    raise EsxparseError(f"unknown unit {name!r}: {choose_from(name, UNITS)}")


def factor(unit: str, to: str) -> float:
    """Return the factor that converts a value in `unit` to `to`.

    Raises EsxparseError: A unit is unknown or ambiguous, or the two measure different things.

    >>> factor("mbit_per_s", "mb_per_s"), factor("mib", "mb")
    (0.125, 1.048576)
    """
    first, second = _unit(unit), _unit(to)
    if first.kind != second.kind:
        raise EsxparseError(
            f"{unit} is a unit of {first.kind} and {to} one of {second.kind}: no conversion between them"
        )
    return first.factor / second.factor


def convert(value: Number, unit: str, to: str) -> Number:
    """Convert a number or an expression: `value x factor(unit, to)`.

    Raises EsxparseError: See `factor`.

    >>> convert(901, "mbit_per_s", "mb_per_s"), convert(440, "mbit_per_s", "mb_per_s")
    (112.625, 55.0)
    """
    return value * factor(unit, to)


def unit_of(column: str) -> str:
    """Return the unit at the end of a column's name.

    Raises EsxparseError: The name does not end in a unit, or ends in an ambiguous one.

    >>> unit_of("read_mib_per_s"), unit_of("elapsed_s"), unit_of("mhz")
    ('mib_per_s', 's', 'mhz')
    """
    words = column.split("_")
    for start in range(len(words)):
        ending = "_".join(words[start:])
        if ending in UNITS:
            return ending
        if ending in _UNCLEAR:
            _unit(ending)
    raise EsxparseError(
        f"the name of column {column!r} does not end in a unit: rename it, for example {column}_mb_per_s"
    )


def common_unit(*columns: str) -> str:
    """Return the unit of columns that are to be added, divided or compared with each other.

    Raises EsxparseError: The columns have different units, or one has none.

    >>> common_unit("read_mb_per_s", "write_mb_per_s")
    'mb_per_s'
    """
    if not columns:
        raise EsxparseError("no columns given to compare the units of")
    units = {name: unit_of(name) for name in columns}
    first, *others = units.items()
    for name, unit in others:
        if unit != first[1]:
            msg = f"{first[0]} is in {first[1]} and {name} in {unit}: convert them to one unit first (units.in_unit)"
            raise EsxparseError(msg)
    return first[1]


def in_unit(table: pl.LazyFrame, column: str, to: str) -> pl.LazyFrame:
    """Convert a column to another unit and rename it accordingly; the other columns and their order stay.

    Needs `column`, whose name ends in a unit. `to` replaces that unit in the new name.

    Raises EsxparseError: The column is missing, the new name exists already, or there is no conversion.

    >>> in_unit(pl.LazyFrame({"run": [1], "tx_mbit_per_s": [901.0]}), "tx_mbit_per_s", "mb_per_s").collect().to_dicts()
    [{'run': 1, 'tx_mb_per_s': 112.625}]
    """
    table = finite(table)
    unit = unit_of(column)
    there = names(table)
    need(there, column)
    renamed = column.removesuffix(unit) + to
    if renamed != column and renamed in there:
        raise EsxparseError(f"the table has {renamed!r} beside {column!r}: drop one before converting")
    return table.with_columns(convert(pl.col(column), unit, to)).rename({column: renamed})


def _conversion(unit: str, to: str) -> Callable[[Number], Number]:
    return lambda value: convert(value, unit, to)


# The most common conversions.
mbit_to_mb, mb_to_mbit = _conversion("mbit", "mb"), _conversion("mb", "mbit")
mib_to_mb, mb_to_mib = _conversion("mib", "mb"), _conversion("mb", "mib")
ghz_to_mhz, mhz_to_ghz = _conversion("ghz", "mhz"), _conversion("mhz", "ghz")


def _ladder(step: float, *names: str) -> tuple[tuple[str, float], ...]:
    return tuple((name, step**place) for place, name in enumerate(names))


_LADDERS: Final = (
    _ladder(1e3, "ns", "µs", "ms", "s"),
    *(
        _ladder(step, *(f"{size}{per}" for size in sizes))
        for per in ("", "/s")
        for step, sizes in (
            (1e3, ("kB", "MB", "GB", "TB")),
            (1e3, ("kbit", "Mbit", "Gbit")),
            (1024.0, ("KiB", "MiB", "GiB", "TiB")),
        )
    ),
)
"""Units to choose from as numbers grow, the smallest first, each with its size in the smallest."""
_MANY: Final = 10_000.0
"""Numbers from 1 up to this keep their unit."""


def fitting(unit: str, *values: float) -> tuple[float, str]:
    """Return the factor and the unit in which people would write these numbers: 0.25 ms are 250 µs.

    `unit`: as written, "ms" or "MB/s"; a unit without smaller and larger ones stays. `values`: in that unit; the
    largest decides.

    >>> fitting("ms", 0.02, 0.25), fitting("MB/s", 40.0), fitting("Mbit/s", 75_000.0), fitting("IOPS", 1e6)
    ((1000.0, 'µs'), (1.0, 'MB/s'), (0.001, 'Gbit/s'), (1.0, 'IOPS'))
    """
    symbol = {"us": "µs"}.get(unit, unit)
    ladder = next((one for one in _LADDERS if symbol in dict(one)), ())
    largest = max(map(abs, values), default=0.0)
    if not ladder or not largest or 1 <= largest < _MANY:
        return 1.0, symbol
    size = dict(ladder)[symbol] * largest
    name, least = next((step for step in reversed(ladder) if size >= step[1]), ladder[0])
    return round(dict(ladder)[symbol] / least, 12), name
