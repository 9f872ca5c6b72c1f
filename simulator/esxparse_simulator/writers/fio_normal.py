"""fio's normal output, for people, of 2.1.3: KB for 1024 bytes, microseconds or milliseconds, `io=`, `aggrb=`.

Evidence: `show_thread_status_normal`, `show_ddir_status`, `display_lat`, `show_clat_percentiles`, `show_lat`,
`show_group_stats`, `print_disk_util` of stat.c, `num2str` of fio 2.1; outputs of 2.0.15 and 2.1.
Assumption: 2.1.3 begins as 2.0.15 does. Progress (`Jobs: ...`) goes to terminals only and is not written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from esxparse_simulator.limits import need
from esxparse_simulator.writers import fio
from esxparse_simulator.writers.fio_latency import PERCENTILES, Moments, percentiles

_PREFIXES = ("", "K", "M", "G", "P", "E")
_WIDTH = 80 - 7
_PER_LINE = 5
_MEGA = 1024.0 * 1024.0


def short(number: int, unit: str, *, binary: bool, power: int = 0) -> str:
    """A number of fio 2, which writes K for 1024 and for 1000; `power` is the prefix that it comes with.

    >>> short(77552, "B", binary=True, power=1), short(7_939_788, "B", binary=True)
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
        return f"{number + (rest >= thousand // 2)}{_PREFIXES[power]}{unit}"
    while len(str(rest)) > room - 1:
        rest = (rest + 9) // 10
    return f"{number}.{rest}{_PREFIXES[power]}{unit}"


def _job_lines(run: fio.FioRun) -> Iterator[str]:
    access, measured = run.measured.access, run.measured
    size = access.block_bytes
    one = fio.block(size).upper()
    sizes = "bs=" + "/".join([f"{one}-{one}"] * 3)
    for name, jobs in groupby(measured.workers, key=lambda worker: worker.name):
        yield f"{name}: (g=0): rw={run.rw}, {sizes}, ioengine={run.ioengine}, iodepth={access.outstanding}\n"
        if len(list(jobs)) > 1:
            yield "...\n"
    number = len(measured.workers)
    yield f"{run.version}\nStarting {number} process{'es' if number > 1 else ''}\n\n"


def _latency(name: str, one: Moments) -> str:
    low, high, mean, stddev, unit = one.minimum, one.maximum, one.mean, one.stddev, "usec"
    if low > 1000 and high > 1000 and mean > 1000.0 and stddev > 1000.0:
        low, high, mean, stddev, unit = low // 1000, high // 1000, mean / 1e3, stddev / 1e3, "msec"
    ends = [short(value, "", binary=False) for value in (low, high)]
    return f"    {name} ({unit}): min={ends[0]}, max={ends[1]}, avg={mean:5.2f}, stdev={stddev:5.2f}\n"


def _percentiles(one: fio.Counts) -> Iterator[str]:
    values = percentiles(dict(one.bins))
    down = values[0] > 2000 and values[-1] > 99_999
    width = max(5, len(str(values[-1] // 1000**down)))
    values = [(value + 999) // 1000 for value in values] if down else values
    per_line = _WIDTH // (2 + 14)
    yield f"    clat percentiles ({'msec' if down else 'usec'}):\n"
    cells = [f" {name:5.2f}th=[{value:{width}d}]" for name, value in zip(PERCENTILES, values, strict=True)]
    lines = [",".join(cells[at : at + per_line]) for at in range(0, len(cells), per_line)]
    yield "     |" + ",\n     |".join(lines) + "\n"


def _rates(rate: Moments, share: float) -> Iterator[str]:
    if not rate.samples:
        return
    low, high, mean, stddev, label = rate.minimum, rate.maximum, rate.mean, rate.stddev, "KB"
    if mean > _MEGA:
        low, high, mean, stddev, label = low // 1024, high // 1024, mean / 1024.0, stddev / 1024.0, "MB"
    ends = f"min={low:5d}, max={high:5d}, per={share:3.2f}%, avg={mean:5.2f}, stdev={stddev:5.2f}"
    yield f"    bw ({label:<4}/s): {ends}\n"


def _direction(name: str, one: fio.Counts, share: float) -> Iterator[str]:
    total, bandwidth = short(one.total_bytes, "B", binary=True), short(one.bytes_per_s, "B", binary=True)
    each = short(1000 * one.ios // one.runtime_ms, "", binary=False)
    yield f"  {name:<5}: io={total}, bw={bandwidth}/s, iops={each}, runt={one.runtime_ms:6d}msec\n"
    for label, moments in (("slat", one.slat), ("clat", one.clat), (" lat", one.lat)):
        if moments.samples:
            yield _latency(label, moments)
    yield from _percentiles(one)
    yield from _rates(one.kib_per_s, share)


def _steps(row: fio.Row) -> Iterator[str]:
    for unit, names, start in (("usec", fio.STEPS, 10), ("msec", (*fio.STEPS, "2000", ">=2000"), 20)):
        steps = row.coarse(start, start + len(names))
        cells = [f"{name}={share:.2f}%" for name, share in zip(names, steps, strict=True) if share > 0.0]
        for at in range(0, len(cells), _PER_LINE):
            yield f"    lat ({unit}) : {', '.join(cells[at : at + _PER_LINE])}\n"


def _shares(names: Sequence[str], values: Sequence[float]) -> str:
    return ", ".join(f"{name}={value:.1f}%" for name, value in zip(names, values, strict=True))


def _job(run: fio.FioRun, row: fio.Row, parts: Sequence[float]) -> Iterator[str]:
    yield f"{row.name}: (groupid=0, jobs={row.members}): err= 0: pid={row.pid}: {run.end.ctime()}\n"
    for name, one, share in zip(fio.DIRECTIONS, row.directions, parts, strict=True):
        if one.ios:
            yield from _direction(name, one, share)
    yield from _steps(row)
    user, system = row.cpu_pct
    yield (
        f"  cpu          : usr={user:.2f}%, sys={system:.2f}%, ctx={row.switches}, majf=0, minf={row.minor_faults}\n"
    )
    yield f"  IO depths    : {_shares(fio.LEVELS, fio.shares(row.depths, 0.1))}\n"
    yield f"     submit    : {_shares(fio.BATCHES, fio.shares((0, row.ios, 0, 0, 0, 0, 0), 0.1))}\n"
    yield f"     complete  : {_shares(fio.BATCHES, fio.shares(row.completed, 0.1))}\n"
    read, write, trim = (one.ios for one in row.directions)
    yield f"     issued    : total=r={read}/w={write}/d={trim}, short=r=0/w=0/d=0\n"


def _group(run: fio.FioRun, found: Sequence[fio.Row]) -> Iterator[str]:
    yield "\nRun status group 0 (all jobs):\n"
    for place, name in enumerate(("   READ", "  WRITE", "   TRIM")):
        jobs = [row.directions[place] for row in found if row.directions[place].runtime_ms]
        if not jobs:
            continue
        times = [one.runtime_ms for one in jobs]
        kib = [one.total_bytes // 1024 for one in jobs]
        rates = [one * 1000 // time for one, time in zip(kib, times, strict=True)]
        amount, whole, low, high = (
            short(value, "B", binary=True, power=1)
            for value in (sum(kib), fio.aggregate(run, found, place), min(rates), max(rates))
        )
        yield (
            f"{name}: io={amount}, aggrb={whole}/s, minb={low}/s, maxb={high}/s, "
            f"mint={min(times)}msec, maxt={max(times)}msec\n"
        )


def _disk(disk: fio.Disk) -> str:
    return (
        f"  {disk.name}: ios={disk.ios[0]}/{disk.ios[1]}, merge=0/0, ticks={disk.ticks[0]}/{disk.ticks[1]}, "
        f"in_queue={sum(disk.ticks)}, util={disk.util:.2f}%\n"
    )


def text(run: fio.FioRun) -> str:
    """What fio prints."""
    need(not run.modern, f"{run.version} is written as JSON only: take form json, or fio-2.1.3")
    found = fio.rows(run)
    parts = [*_job_lines(run)]
    for row, own in zip(found, fio.of_group(run, found), strict=True):
        parts += _job(run, row, own)
    parts += [*_group(run, found), "\nDisk stats (read/write):\n", *(_disk(disk) for disk in fio.disks(run))]
    return "".join(parts)
