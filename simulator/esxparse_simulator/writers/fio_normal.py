"""fio's normal output, for people, of 2.1.3 and 3.7.

fio 2.1 writes KB for 1024 bytes, microseconds or milliseconds, `io=`, `aggrb=`; fio 3 KiB and kB, any unit down to
nanoseconds, `samples`, IOPS over time.

Evidence: `show_thread_status_normal`, `show_ddir_status`, `display_lat`, `show_clat_percentiles`, `show_lat`,
`show_group_stats`, `print_disk_util` of stat.c, `num2str` of fio 2.1, 3.2x, 3.33; outputs of 2.0.15, 2.1 and 3.x.
Assumption: 2.1.3 begins as 2.0.15 does. Progress (`Jobs: ...`) goes to terminals only and is not written.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from esxparse_simulator.writers.fio import (
    BATCHES,
    DIRECTIONS,
    LEVELS,
    STEPS,
    Counts,
    Row,
    aggregate,
    block,
    disks,
    of_group,
    rows,
    shares,
)
from esxparse_simulator.writers.fio_latency import PERCENTILES, Moments, percentiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from esxparse_simulator.writers.fio import Disk, FioRun

_SI = ("", "k", "M", "G", "T", "P", "E")
_IEC = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_OLD = ("", "K", "M", "G", "P", "E")
_WIDTH = 80 - 7
_PER_LINE = 5
_MEGA = 1024.0 * 1024.0


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


def _asked(run: FioRun) -> Iterator[str]:
    access, measured = run.measured.access, run.measured
    size = access.block_bytes
    if run.modern:
        one = short(size, "B", binary=True)
        sizes = f"bs=(R) {one}-{one}, (W) {one}-{one}, (T) {one}-{one}"
    else:
        one = block(size).upper()
        sizes = "bs=" + "/".join([f"{one}-{one}"] * 3)
    for name, jobs in groupby(measured.workers, key=lambda worker: worker.name):
        yield f"{name}: (g=0): rw={run.rw}, {sizes}, ioengine={run.ioengine}, iodepth={access.outstanding}\n"
        if len(list(jobs)) > 1:
            yield "...\n"
    number = len(measured.workers)
    yield f"{run.version}\nStarting {number} process{'es' if number > 1 else ''}\n\n"


def _latency(run: FioRun, name: str, one: Moments) -> str:
    low, high, mean, stddev, unit = one.minimum, one.maximum, one.mean, one.stddev, "nsec" if run.modern else "usec"
    if not run.modern:
        if low > 1000 and high > 1000 and mean > 1000.0 and stddev > 1000.0:
            low, high, mean, stddev, unit = low // 1000, high // 1000, mean / 1e3, stddev / 1e3, "msec"
    elif low > 2_000_000 and high > 99_999_999 and stddev > 1e6:
        low, high, mean, stddev, unit = low // 1_000_000, high // 1_000_000, mean / 1e6, stddev / 1e6, "msec"
    elif low > 2000 and high > 99_999 and stddev > 1e3:
        low, high, mean, stddev, unit = low // 1000, high // 1000, mean / 1e3, stddev / 1e3, "usec"
    if run.modern:
        ends = [short(value, "", binary=False, digits=6) for value in (low, high)]
    else:
        ends = [short_2(value, "", binary=False) for value in (low, high)]
    return f"    {name} ({unit}): min={ends[0]}, max={ends[1]}, avg={mean:5.2f}, stdev={stddev:5.2f}\n"


def _percentiles(run: FioRun, one: Counts) -> Iterator[str]:
    values = percentiles(dict(one.bins))
    low, high = values[0], values[-1]
    units = ("nsec", "usec", "msec") if run.modern else ("usec", "msec")
    down = 0
    if run.modern and low > 2_000_000 and high > 99_999_999:
        down = 2
    elif low > 2000 and high > 99_999:
        down = 1
    width = max(5, len(str(high // 1000**down)))
    for _ in range(down):
        values = [(value + 999) // 1000 for value in values]
    per_line = _WIDTH // (2 + 10 + width) if run.modern else _WIDTH // (2 + 14)
    yield f"    clat percentiles ({units[down]}):\n"
    cells = [f" {name:5.2f}th=[{value:{width}d}]" for name, value in zip(PERCENTILES, values, strict=True)]
    lines = [",".join(cells[at : at + per_line]) for at in range(0, len(cells), per_line)]
    yield "     |" + ",\n     |".join(lines) + "\n"


def _rates(run: FioRun, one: Counts, share: float) -> Iterator[str]:
    rate, iops = one.kib_per_s, one.iops
    if not rate.samples:
        return
    low, high, mean, stddev = rate.minimum, rate.maximum, rate.mean, rate.stddev
    label = "KiB" if run.modern else "KB"
    if mean > _MEGA:
        low, high, mean, stddev = low // 1024, high // 1024, mean / 1024.0, stddev / 1024.0
        label = "MiB" if run.modern else "MB"
    ends = f"min={low:5d}, max={high:5d}, per={share:3.2f}%, avg={mean:5.2f}, stdev={stddev:5.2f}"
    if not run.modern:
        yield f"    bw ({label:<4}/s): {ends}\n"
        return
    yield f"   bw ({label:>5}/s): {ends}, samples={rate.samples}\n"
    yield (
        f"   iops        : min={iops.minimum:5d}, max={iops.maximum:5d}, avg={iops.mean:5.2f}, "
        f"stdev={iops.stddev:5.2f}, samples={iops.samples}\n"
    )


def _direction(run: FioRun, name: str, one: Counts, share: float) -> Iterator[str]:
    rate, iops = one.bytes_per_s, 1000 * one.ios // one.runtime_ms
    if run.modern:
        binary, decimal = (short(rate, "B/s", binary=one) for one in (True, False))
        total = short(one.total_bytes, "B", binary=True)
        each = short(iops, "", binary=False)
        yield f"  {name}: IOPS={each}, BW={binary} ({decimal})({total}/{one.runtime_ms}msec)\n"
    else:
        total, bandwidth = short_2(one.total_bytes, "B", binary=True), short_2(rate, "B", binary=True)
        each = short_2(iops, "", binary=False)
        yield f"  {name:<5}: io={total}, bw={bandwidth}/s, iops={each}, runt={one.runtime_ms:6d}msec\n"
    for label, moments in (("slat", one.slat), ("clat", one.clat), (" lat", one.lat)):
        if moments.samples:
            yield _latency(run, label, moments)
    yield from _percentiles(run, one)
    yield from _rates(run, one, share)


def _steps(run: FioRun, row: Row) -> Iterator[str]:
    units = (("nsec", STEPS, 0), ("usec", STEPS, 10), ("msec", (*STEPS, "2000", ">=2000"), 20))
    lead, between = ("  lat", "   : ") if run.modern else ("    lat", " : ")
    for unit, names, start in units:
        steps = row.coarse(start, start + len(names))
        cells = [f"{name}={share:.2f}%" for name, share in zip(names, steps, strict=True) if share > 0.0]
        for at in range(0, len(cells), _PER_LINE):
            yield f"{lead} ({unit}){between}{', '.join(cells[at : at + _PER_LINE])}\n"


def _shares(names: Sequence[str], values: Sequence[float]) -> str:
    return ", ".join(f"{name}={value:.1f}%" for name, value in zip(names, values, strict=True))


def _job(run: FioRun, row: Row, parts: Sequence[float]) -> Iterator[str]:
    yield f"{row.name}: (groupid=0, jobs={row.members}): err= 0: pid={row.pid}: {run.end.ctime()}\n"
    for name, one, share in zip(DIRECTIONS, row.directions, parts, strict=True):
        if one.ios:
            yield from _direction(run, name, one, share)
    yield from _steps(run, row)
    user, system = row.cpu_pct
    yield (
        f"  cpu          : usr={user:.2f}%, sys={system:.2f}%, ctx={row.switches}, majf=0, minf={row.minor_faults}\n"
    )
    yield f"  IO depths    : {_shares(LEVELS, shares(row.depths, 0.1))}\n"
    yield f"     submit    : {_shares(BATCHES, shares((0, row.ios, 0, 0, 0, 0, 0), 0.1))}\n"
    yield f"     complete  : {_shares(BATCHES, shares(row.completed, 0.1))}\n"
    read, write, trim = (one.ios for one in row.directions)
    if run.modern:
        yield f"     issued rwts: total={read},{write},{trim},0 short=0,0,0,0 dropped=0,0,0,0\n"
        depth = run.measured.access.outstanding
        yield f"     latency   : target=0, window=0, percentile=100.00%, depth={depth}\n"
    else:
        yield f"     issued    : total=r={read}/w={write}/d={trim}, short=r=0/w=0/d=0\n"


def _group(run: FioRun, found: Sequence[Row]) -> Iterator[str]:
    yield "\nRun status group 0 (all jobs):\n"
    for place, name in enumerate(("   READ", "  WRITE", "   TRIM")):
        jobs = [row.directions[place] for row in found if row.directions[place].runtime_ms]
        if not jobs:
            continue
        times = [one.runtime_ms for one in jobs]
        everything = aggregate(run, found, place)
        if run.modern:
            rates, total = [one.bytes_per_s for one in jobs], sum(one.total_bytes for one in jobs)
            spelt = [
                [short(value, unit, binary=one) for one in (True, False)]
                for value, unit in ((everything, "B/s"), (min(rates), "B/s"), (max(rates), "B/s"), (total, "B"))
            ]
            (all_2, all_10), (low_2, low_10), (high_2, high_10), (total_2, total_10) = spelt
            yield (
                f"{name}: bw={all_2} ({all_10}), {low_2}-{high_2} ({low_10}-{high_10}), "
                f"io={total_2} ({total_10}), run={min(times)}-{max(times)}msec\n"
            )
        else:
            kib = [one.total_bytes // 1024 for one in jobs]
            rates = [one * 1000 // time for one, time in zip(kib, times, strict=True)]
            amount, whole, low, high = (
                short_2(value, "B", binary=True, power=1) for value in (sum(kib), everything, min(rates), max(rates))
            )
            yield (
                f"{name}: io={amount}, aggrb={whole}/s, minb={low}/s, maxb={high}/s, "
                f"mint={min(times)}msec, maxt={max(times)}msec\n"
            )


def _disk(disk: Disk) -> str:
    return (
        f"  {disk.name}: ios={disk.ios[0]}/{disk.ios[1]}, merge=0/0, ticks={disk.ticks[0]}/{disk.ticks[1]}, "
        f"in_queue={sum(disk.ticks)}, util={disk.util:.2f}%\n"
    )


def text(run: FioRun) -> str:
    """What fio prints."""
    found = rows(run)
    parts = [*_asked(run)]
    for row, own in zip(found, of_group(run, found), strict=True):
        parts += _job(run, row, own)
    parts += [*_group(run, found), "\nDisk stats (read/write):\n", *(_disk(disk) for disk in disks(run))]
    return "".join(parts)
