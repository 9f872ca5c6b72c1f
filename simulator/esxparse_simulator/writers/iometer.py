"""Iometer result CSV of the releases 2003.12.16, 2004.07.30, 2006.07.27, 1.1.0-rc1 and 1.1.0.

`lines` gives what one start of the program appends to its result file: the head, and for each test its access
specification (when it is another than before), the rows ALL, MANAGER, PROCESSOR, WORKER and DISK, and a time stamp. The
program only ever appends: several starts in one file are the lines of each, one after the other.

Evidence: `SaveResults` of `PageSetup.cpp`, `AccessSpecList.cpp`, `ManagerList.cpp`, `Manager.cpp`, `Worker.cpp`, and
`GalileoView.cpp`, `IOGrunt.cpp` of the program:

- an access specification is written when its tests begin, not all of them in front; `'End Test` only since 1.1.0-rc1;
- rates and times have six decimals; every rate is a count by the run time, every mean a sum of ticks by a count, so
  IOps is what was asked for to half an I/O in the whole test; ALL and MANAGER rows are the sums of those below;
- an access of a disk without reply is a transaction of its own; nothing tests connections: -1 ("ambiguous");
- DISK rows name no access specification; PROCESSOR rows of 1.1.0 have no latency bins and end before them;
- commas in names of disks become blanks since 2006.07.27, and stay before;
- the limits of the bins are fractions of the timer: those titled 15, 30 ms and 4.7 s lie at 1/67, 1/33 and 4 s, and
  I/Os of 10 s and more are counted in no bin.

Assumptions: line ends of Windows, where the program runs (it opens its files as text); specifications align at sectors
(0) and have a burst of 1, as the program's own; test type 0 (run all targets), default assignment 0; the timer counts
cycles of a 2.4 GHz processor in 2003 and 2004 (`processor_speed`), and 1/1024 of them later; the stamp below results is
the very end of the test; the timers of workers run exactly as long as the test; the network columns show the talk with
the program, a few packets per second; interrupts are 64 ticks of the clock per processor and second and nearly one
for each I/O; the shares of user, DPC and interrupt time; how the machine's use is spread over its processors; what the
longest I/O took, drawn near the end of the distribution. Names in ASCII.
"""

from __future__ import annotations

from datetime import timedelta, timezone
from math import isfinite
from typing import TYPE_CHECKING, Final, Literal, get_args

from esxparse.errors import EsxparseError
from esxparse_simulator.distribution import SHAPES
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers.iometer_counts import machine_of, raw_of
from esxparse_simulator.writers.iometer_rows import LAYOUTS, header, rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from esxparse_simulator.results import Access, Measured, Side, Worker
    from esxparse_simulator.writers.iometer_counts import Machine

__all__ = ["Version", "lines"]

Version = Literal["2003.12.16", "2004.07.30", "2006.07.27", "1.1.0-rc1", "1.1.0"]

_SPEC_TITLES: Final = "'size,% of size,% reads,% random,delay,burst,align,reply"
_ALL: Final = 100.0
_A_DAY: Final = 24 * 60


def lines(
    tests: Sequence[Measured],
    version: Version = "1.1.0",
    *,
    description: str = "",
    utc_offset_minutes: int = 0,
    processors: int = 1,
    maximum_size_sectors: int = 0,
    ticks_per_s: float | None = None,
    test_type: int = 0,
    seed: int = 0,
) -> Iterator[bytes]:
    """The lines of one start of the program, with their ends.

    Args:
        tests: In the order they ran. `Access.outstanding` is per worker: each has one disk.
        version: What `'Version` says, and whose columns are written.
        description: What the user called the run.
        utc_offset_minutes: Local time of the machine that ran the program, before UTC if negative.
        processors: Of each machine (of a VM: vCPUs).
        maximum_size_sectors: Of the part of the disks that is used; 0 is all of it.
        ticks_per_s: Resolution of the timer; None is usual for the release.
        test_type: Place in the program's list of test types; 0 runs all targets.
        seed: Of the noise.

    Raises:
        EsxparseError: The release is not known, or the input makes no sense.
    """
    if version not in get_args(Version):
        msg = f"Iometer {version!r} cannot be written: choose one of {', '.join(get_args(Version))}"
        raise EsxparseError(msg)
    layout = LAYOUTS[version]
    hz = layout.ticks_per_s if ticks_per_s is None else ticks_per_s
    _check_setting(description, utc_offset_minutes, processors, maximum_size_sectors, hz)
    _check_tests(tests)
    zone = timezone(timedelta(minutes=utc_offset_minutes))
    return _written(tests, version, f"{test_type},{description}", zone, (processors, maximum_size_sectors, hz), seed)


def _written(
    tests: Sequence[Measured], version: Version, head: str, zone: timezone, setting: tuple[int, int, float], seed: int
) -> Iterator[bytes]:
    layout = LAYOUTS[version]
    processors, sectors, hz = setting
    noise = Noise(seed)
    yield from _ended("'Test Type,Test Description", head, "'Version", f"{version} ")
    yield from _ended("'Time Stamp", _stamp(tests[0].start, zone))
    before = None
    for number, test in enumerate(tests, 1):
        if _spec(test.access) != before:
            before = _spec(test.access)
            yield from _ended("'Access specifications", "'Access specification name,default assignment")
            yield from _ended(f"{test.access.name},0", _SPEC_TITLES, before[1], "'End access specifications")
        machines = _machines(test, number, processors, hz, noise)
        yield from _ended("'Results", "'" + header(layout))
        for row in rows(machines, test.access, layout, seconds=test.seconds, hz=hz, sectors=sectors):
            yield from _ended(row)
        yield from _ended("'Time Stamp", _stamp(test.start + timedelta(seconds=test.ramp_s + test.seconds), zone))
    if layout.end_test:
        yield from _ended("'End Test")


def _ended(*texts: str) -> Iterator[bytes]:
    for text in texts:
        yield text.encode("ascii") + b"\r\n"


def _stamp(time: datetime, zone: timezone) -> str:
    local = time.astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M:%S}:{local.microsecond // 1000:03d}"


def _spec(access: Access) -> tuple[str, str]:
    """Name and line of an access specification."""
    shares = f"100,{access.read_pct:.0f},{access.random_pct:.0f}"
    return access.name, f"{access.block_bytes},{shares},0,1,0,0"


def _machines(test: Measured, number: int, processors: int, hz: float, noise: Noise) -> list[Machine]:
    """Machines in the order they appear, each with all of its workers."""
    found = []
    for name in dict.fromkeys(worker.manager for worker in test.workers):
        of_it = [worker for worker in test.workers if worker.manager == name]
        raws = [raw_of(worker, test.seconds, hz, noise, f"{number}/{name}/{worker.name}") for worker in of_it]
        iops = sum(raw.reads + raw.writes for raw in raws) / test.seconds
        place = f"{number}/{name}"
        found.append(machine_of(of_it, raws, iops=iops, processors=processors, noise=noise, label=place))
    return found


def _check_setting(description: str, offset: int, processors: int, sectors: int, hz: float) -> None:
    _check_text(description, "the description of an Iometer run", commas=True)
    if not -_A_DAY < offset < _A_DAY:
        msg = f"utc_offset_minutes of {offset} is a day or more: local time differs from UTC by less"
        raise EsxparseError(msg)
    if processors < 1 or sectors < 0 or not (isfinite(hz) and hz > 0):
        msg = f"{processors} processors, {sectors} sectors and {hz} ticks per second: give at least 1, 0 and above 0"
        raise EsxparseError(msg)


def _check_tests(tests: Sequence[Measured]) -> None:
    if not tests:
        msg = "an Iometer file without a test: give at least one"
        raise EsxparseError(msg)
    end = None
    meanings: dict[str, str] = {}
    for number, test in enumerate(tests, 1):
        where = f"test {number} ({test.access.name!r})"
        if test.start.tzinfo is None:
            msg = f"{where} begins at a time without a zone: give a time in UTC"
            raise EsxparseError(msg)
        if not (isfinite(test.seconds) and isfinite(test.ramp_s)) or test.seconds <= 0 or test.ramp_s < 0:
            msg = f"{where} lasts {test.seconds} s after {test.ramp_s} s: measure above 0 s, after 0 s or more"
            raise EsxparseError(msg)
        if end is not None and test.start < end:
            msg = f"{where} begins at {test.start}, before the one before it ended ({end}): give tests in their order"
            raise EsxparseError(msg)
        end = test.start + timedelta(seconds=test.ramp_s + test.seconds)
        _check_access(test.access, where)
        if meanings.setdefault(*_spec(test.access)) != _spec(test.access)[1]:
            msg = f"{where} is another access specification than one before it of that name: name them differently"
            raise EsxparseError(msg)
        _check_workers(test, where)


def _check_access(access: Access, where: str) -> None:
    _check_text(access.name, f"the access specification of {where}")
    if access.block_bytes < 1 or access.outstanding < 1:
        msg = f"{where} asks for {access.outstanding} I/Os of {access.block_bytes} bytes at once: give at least 1 of 1"
        raise EsxparseError(msg)
    for share in (access.read_pct, access.random_pct):
        if not 0 <= share <= _ALL or not float(share).is_integer():
            msg = f"{where} asks for a share of {share} %: the program knows whole ones from 0 to 100"
            raise EsxparseError(msg)


def _check_workers(test: Measured, where: str) -> None:
    if not test.workers:
        msg = f"{where} has no workers: give at least one"
        raise EsxparseError(msg)
    names = [(worker.manager, worker.name) for worker in test.workers]
    use: dict[str, float] = {}
    for worker in test.workers:
        who = f"{where}, worker {worker.name!r} of {worker.manager!r}"
        _check_text(worker.name, f"the name of {who}")
        _check_text(worker.manager, f"the machine of {who}")
        _check_text(worker.disk, f"the disk of {who}", commas=True)
        if names.count((worker.manager, worker.name)) > 1:
            msg = f"{who} is there twice: name them differently"
            raise EsxparseError(msg)
        if not 0 <= worker.cpu_pct <= _ALL or use.setdefault(worker.manager, worker.cpu_pct) != worker.cpu_pct:
            msg = f"{who} saw its machine {worker.cpu_pct} % busy: give 0 to 100, the same to all workers of a machine"
            raise EsxparseError(msg)
        _check_sides(worker, test.access, who)


def _check_sides(worker: Worker, access: Access, who: str) -> None:
    never = {"reads": access.read_pct == 0, "writes": access.read_pct == _ALL}
    sides: dict[str, Side | None] = {"reads": worker.read, "writes": worker.write}
    for kind, side in sides.items():
        if side is None:
            continue
        if not (isfinite(side.iops) and isfinite(side.latency.mean)) or side.iops < 0 or side.latency.mean < 0:
            msg = f"{who} did {side.iops} {kind} per second of {side.latency.mean} ms: neither can be below 0"
            raise EsxparseError(msg)
        if side.block_bytes != access.block_bytes:
            msg = f"{who} did {kind} of {side.block_bytes} bytes, its access specification has {access.block_bytes}"
            raise EsxparseError(msg)
        if side.latency.shape not in SHAPES:
            msg = f"{who} has latencies of the shape {side.latency.shape!r}: choose one of {', '.join(SHAPES)}"
            raise EsxparseError(msg)
        if side.iops > 0 and never[kind]:
            msg = f"{who} did {kind}, its access specification has none ({access.read_pct:.0f} % reads)"
            raise EsxparseError(msg)


def _check_text(text: str, what: str, *, commas: bool = False) -> None:
    """Whether a text can stand in a cell; `commas`: the program writes those in it."""
    if not text.isascii() or not (text.isprintable() or not text) or (not commas and (not text or "," in text)):
        kept = "printable ASCII" if commas else "printable ASCII without commas, at least one character"
        msg = f"{what} is {text[:40]!r}: use {kept}"
        raise EsxparseError(msg)
