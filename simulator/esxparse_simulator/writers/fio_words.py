"""How fio spells numbers, sizes and times, and what part of its group a job is; shared by the outputs.

Evidence: `num2str` of fio 2.1 and 3.33 (lib/num2str.c), `ctime_r` of C, `convert_agg_kbytes_percent` of stat.c.
Assumption: fio takes whole KiB/s for the part of the group from 3.27 on (3.33 does, sources without
`unified_rw_reporting=both`, which came with 3.27, do not).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esxparse_simulator.writers.fio_rows import DIRECTIONS, Row

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from esxparse_simulator.writers.fio_run import FioRun

__all__ = ["block", "ctime", "in_si", "of_group", "short", "short_2"]

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SI = ("", "k", "M", "G", "T", "P", "E")
_IEC = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_OLD = ("", "K", "M", "G", "P", "E")
_KIB = 1024
_WHOLE_SINCE = (3, 27)


def ctime(when: datetime) -> str:
    """`Tue Mar  3 01:02:03 2015`, in its own time zone."""
    day, month = _DAYS[when.weekday()], _MONTHS[when.month - 1]
    return f"{day} {month} {when.day:2d} {when.hour:02d}:{when.minute:02d}:{when.second:02d} {when.year}"


def block(size: int) -> str:
    """A block size as people write it in a job file.

    >>> block(4096), block(1 << 20), block(512)
    ('4k', '1m', '512')
    """
    for letter, factor in (("m", _KIB * _KIB), ("k", _KIB)):
        if size % factor == 0:
            return f"{size // factor}{letter}"
    return str(size)


def short(number: int, unit: str, *, binary: bool, digits: int = 4) -> str:
    """A number of fio 3, in as many characters as `digits`, its prefix, its unit.

    >>> short(25_210, "", binary=False), short(103_179_354, "B/s", binary=True), short(4096, "B", binary=True)
    ('25.2k', '98.4MiB/s', '4096B')
    """
    thousand, prefixes = (1024, _IEC) if binary else (1000, _SI)
    rest, power = -1, 0
    while power < len(_SI) and len(str(number)) > digits:
        rest = number % thousand
        number //= thousand
        power += 1
    room = digits - len(str(number))
    if rest < 0 or room <= 1:
        return f"{number + (rest >= thousand // 2)}{prefixes[power]}{unit}"
    decimals = f"{rest / thousand:.{room - 1}f}"
    # fio carries into the whole number what its decimals round up to.
    return f"{number + int(decimals[0])}.{decimals[2:]}{prefixes[power]}{unit}"


def in_si(number: int, unit: str) -> tuple[str, str]:
    """A number of bytes in powers of two, and in powers of ten."""
    return short(number, unit, binary=True), short(number, unit, binary=False)


def short_2(number: int, unit: str, *, binary: bool, power: int = 0) -> str:
    """A number of fio 2, which writes K for 1024 and for 1000; `power` is the prefix that it comes with.

    >>> short_2(77552, "B", binary=True, power=1), short_2(7_939_788, "B", binary=True)
    ('77552KB', '7753.8KB')
    """
    thousand = 1024 if binary else 1000
    digits = 6
    rest = -1
    while len(str(number)) > digits:
        rest = number % thousand
        number //= thousand
        power += 1
    room = digits - len(str(number))
    if rest < 0 or room <= 1:
        return f"{number + (rest >= thousand // 2)}{_OLD[power]}{unit}"
    while len(str(rest)) > room - 1:
        rest = (rest + 9) // 10
    return f"{number}.{rest}{_OLD[power]}{unit}"


def aggregate(run: FioRun, found: Sequence[Row], place: int) -> int:
    """The rate of a direction of all jobs: bytes per second in fio 3, KiB per second in fio 2."""
    longest = max(row.directions[place].runtime_ms for row in found)
    if not longest:
        return 0
    if run.modern:
        return sum(row.directions[place].total_bytes for row in found) * 1000 // longest
    return sum(row.directions[place].total_bytes // _KIB for row in found) * 1000 // longest


def of_group(run: FioRun, found: Sequence[Row], *, terse: bool = False) -> list[list[float]]:
    """For each row and direction, percent of the rate of the group; 0 where no rate was sampled."""
    shares: list[list[float]] = [[] for _ in found]
    for place, _ in enumerate(DIRECTIONS):
        rate = aggregate(run, found, place)
        for row, own in zip(found, shares, strict=True):
            sampled = row.directions[place].kib_per_s
            mean = sampled.mean
            if not run.modern:
                whole = float(rate)
            elif terse or run.release < _WHOLE_SINCE:
                whole = float(rate // _KIB)
            else:
                mean, whole = float(int(mean)), rate / _KIB if rate > _KIB else 0.0
            part = min(100.0, mean * 100.0 / whole) if whole else 100.0
            own.append(part if sampled.samples else 0.0)
    return shares
