"""Iometer result CSV of the releases 2006.07.27, 1.1.0-rc1 and 1.1.0: what one start of the program appends.

That is the head, and for each test its access specification (when it is another than before), the rows ALL, MANAGER,
PROCESSOR, WORKER and DISK, and a time stamp.

Evidence: `PageSetup.cpp`, `AccessSpecList.cpp`, `ManagerList.cpp`, `Manager.cpp`, `Worker.cpp`, `GalileoView.cpp` and
`IOGrunt.cpp` of the program:

- an access specification is written when its tests begin, not all of them in front; `'End Test` only since 1.1.0-rc1;
- every rate is a count by the run time, every mean a sum of ticks by a count: IOps is what was asked for to half an I/O
  in the whole test; ALL and MANAGER rows are the sums of those below; rates and times have six decimals;
- an access without reply is a transaction of its own; nothing tests connections: -1 ("ambiguous");
- DISK rows name no access specification; PROCESSOR rows of 1.1.0 have no latency bins and end before them; commas in
  names of disks become blanks;
- the limits of the bins are fractions of the timer: those titled 15, 30 ms and 4.7 s lie at 1/67, 1/33 and 4 s, and
  I/Os of 10 s and more are counted in no bin.

Assumptions: line ends of Windows; specifications align at sectors and have a burst of 1; test type and default
assignment 0; the timer counts 1/1024 of the cycles of a 2.4 GHz processor; the stamp below results is the very end of
the test; the network columns show the talk with the program; interrupts are 64 ticks of the clock per processor and
second and nearly one for each I/O; the shares of user, DPC and interrupt time; how the machine's use is spread over its
processors; what the longest I/O took, drawn near the end of the distribution. Names in ASCII.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from math import fsum, isfinite
from typing import Final, NamedTuple

from esxparse_simulator.limits import need
from esxparse_simulator.measured import SHAPES, Access, Measured, Worker
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers import TEXTS
from esxparse_simulator.writers.iometer_counts import HZ, Cpu, Machine, Raw, machine_of, mean_of, raw_of, total

_MIB: Final = float(1 << 20)
_FRONT, _REST, _BINS = (TEXTS["iometer"][part] for part in ("front", "rest", "bins"))


class _Layout(NamedTuple):
    """What a release writes: its megabytes (title and bytes), and what differs otherwise."""

    megabytes: tuple[tuple[str, float], ...]
    bins: bool = False
    end_test: bool = False

    @property
    def header(self) -> str:
        megabytes = "".join(f"{title},Read {title},Write {title}," for title, _ in self.megabytes)
        return _FRONT + megabytes + _REST + (_BINS if self.bins else "")


LAYOUTS: Final = {
    "2006.07.27": _Layout((("MBps", _MIB),)),
    "1.1.0-rc1": _Layout((("MBps (Binary)", _MIB), ("MBps (Decimal)", 1e6)), end_test=True),
    "1.1.0": _Layout((("MiBps (Binary)", _MIB), ("MBps (Decimal)", 1e6)), bins=True, end_test=True),
}
"""By release."""


def lines(
    tests: Sequence[Measured], version: str = "1.1.0", *, description: str = "", processors: int = 1, seed: int = 0
) -> Iterator[bytes]:
    """The lines of one start of the program, with their ends.

    Args:
        tests: In the order they ran. `Access.outstanding` is per worker: each has one disk.
        version: What `'Version` says, and whose columns are written.
        description: What the user called the run.
        processors: Of each machine (of a VM: vCPUs).
        seed: Of the noise.

    Raises:
        ScenarioError: The release is unknown, or the input makes no sense.
    """
    need(version in LAYOUTS, f"Iometer {version!r} cannot be written: choose one of {', '.join(LAYOUTS)}")
    _check_text(description, "the description of an Iometer run", commas=True)
    need(processors > 0, f"{processors} processors: give at least 1")
    _check_tests(tests)
    return (
        text.encode("ascii") + b"\r\n" for text in _written(tests, version, f"0,{description}", processors, Noise(seed))
    )


def _written(tests: Sequence[Measured], version: str, head: str, processors: int, noise: Noise) -> Iterator[str]:
    layout = LAYOUTS[version]
    yield from ("'Test Type,Test Description", head, "'Version", f"{version} ", "'Time Stamp", _stamp(tests[0].start))
    before = None
    for number, test in enumerate(tests, 1):
        if _spec(test.access) != before:
            before = _spec(test.access)
            yield from ("'Access specifications", "'Access specification name,default assignment", f"{before[0]},0")
            yield from ("'size,% of size,% reads,% random,delay,burst,align,reply", before[1])
            yield "'End access specifications"
        yield from ("'Results", "'" + layout.header)
        yield from _rows(_machines(test, number, processors, noise), test, layout)
        yield from ("'Time Stamp", _stamp(_end(test)))
    if layout.end_test:
        yield "'End Test"


def _stamp(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}:{time.microsecond // 1000:03d}"


def _end(test: Measured) -> datetime:
    return test.start + timedelta(seconds=test.ramp_s + test.seconds)


def _spec(access: Access) -> tuple[str, str]:
    """Name and line of an access specification."""
    return access.name, f"{access.block_bytes},100,{access.read_pct:.0f},{access.random_pct:.0f},0,1,0,0"


def _machines(test: Measured, number: int, processors: int, noise: Noise) -> list[Machine]:
    """Machines in the order they appear, each with all of its workers."""
    found = []
    for name in dict.fromkeys(worker.manager for worker in test.workers):
        place = f"{number}/{name}"
        own = [worker for worker in test.workers if worker.manager == name]
        raws = [raw_of(worker, test.seconds, noise, f"{place}/{worker.name}") for worker in own]
        iops = sum(raw.reads + raw.writes for raw in raws) / test.seconds
        found.append(machine_of(own, raws, iops, processors, noise, place))
    return found


def _rows(machines: Sequence[Machine], test: Measured, layout: _Layout) -> Iterator[str]:
    """The rows of one test: all, then each machine with its processors, workers and disks."""
    name, run_ticks = test.access.name, round(test.seconds * HZ)
    seconds = run_ticks / HZ
    whole = total(machine.raw for machine in machines)
    disks = sum(len(machine.workers) for machine in machines)
    empty = "," * (layout.header.split(",").index("% CPU Utilization") - 1)

    def row(front: str, raw: Raw, raw_cells: str, back: Sequence[str]) -> str:
        cells = [front, *_rates(raw, layout, seconds), raw_cells, f"0,0,{test.access.outstanding}", *back]
        return ",".join([*cells, *(map(str, raw.bins) if layout.bins else ())])

    packets = fsum(machine.packets_per_s for machine in machines)
    back = _machine_cells(mean_of([machine.cpu for machine in machines]), "", _iops(whole, seconds), packets)
    yield row(f"ALL,All,{name},{len(machines)},{disks},{disks}", whole, "," * 8, back)
    for machine in machines:
        raw = machine.raw
        front = f"MANAGER,{machine.name},{name},,{len(machine.workers)},{len(machine.workers)}"
        back = _machine_cells(machine.cpu, _fixed(HZ), _iops(raw, seconds), machine.packets_per_s)
        yield row(front, raw, _ticks(raw, run_ticks), back)
        for number, cpu in enumerate(machine.processors):
            # Its latency bins are not even left empty: the row ends before them.
            cells = [*map(_fixed, cpu.shares), _fixed(HZ), _fixed(cpu.interrupts_per_s)]
            yield f"PROCESSOR,CPU {number}{empty}{','.join(cells)},,,,"
        for worker, own in machine.workers:
            back = ["", "", "", "", "", _fixed(HZ), "", "", "", "", ""]
            yield row(f"WORKER,{worker.name},{name},,,1", own, _ticks(own, run_ticks), back)
            yield row(f"DISK,{worker.disk.replace(',', ' ')},,,,", own, _ticks(own, run_ticks), back)


def _fixed(value: float) -> str:
    return f"{value:.6f}"


def _iops(raw: Raw, seconds: float) -> float:
    return raw.reads / seconds + raw.writes / seconds


def _rates(raw: Raw, layout: _Layout, seconds: float) -> list[str]:
    """From IOps to transactions per connection."""
    read, write = raw.reads / seconds, raw.writes / seconds
    values = [read + write, read, write]
    for _, size in layout.megabytes:
        read, write = raw.read_bytes / size / seconds, raw.write_bytes / size / seconds
        values += [read + write, read, write]
    mean = _mean_ms(raw.read_ticks + raw.write_ticks, raw.reads + raw.writes)
    # An access without reply is a transaction of its own, and no connection is ever made.
    values += [values[0], 0.0, mean, _mean_ms(raw.read_ticks, raw.reads)]
    values += [_mean_ms(raw.write_ticks, raw.writes), mean, 0.0]
    longest = [raw.read_max_ticks * 1000.0 / HZ, raw.write_max_ticks * 1000.0 / HZ]
    values += [max(longest), *longest, max(longest), 0.0]
    counts = (0, 0, 0, raw.read_bytes, raw.write_bytes, raw.reads, raw.writes, 0)
    return [*map(_fixed, values), *map(str, counts), "-1"]


def _mean_ms(ticks: int, count: int) -> float:
    return ticks * 1000.0 / HZ / count if count else 0.0


def _ticks(raw: Raw, run_ticks: int) -> str:
    """The raw counters: times in all, longest, run time."""
    times = (raw.read_ticks, raw.write_ticks, raw.read_ticks + raw.write_ticks, 0)
    longest = (raw.read_max_ticks, raw.write_max_ticks, max(raw.read_max_ticks, raw.write_max_ticks), 0)
    return ",".join(map(str, (*times, *longest, run_ticks)))


def _machine_cells(cpu: Cpu, speed: str, iops: float, packets_per_s: float) -> list[str]:
    """From CPU utilization to segments retransmitted."""
    after = (cpu.interrupts_per_s, iops / cpu.used if cpu.used else 0.0, packets_per_s, 0.0, 0.0)
    return [*map(_fixed, cpu.shares), speed, *map(_fixed, after)]


def _check_tests(tests: Sequence[Measured]) -> None:
    need(tests, "an Iometer file without a test: give at least one")
    end = tests[0].start
    meanings: dict[str, str] = {}
    for number, test in enumerate(tests, 1):
        where, access = f"test {number} ({test.access.name!r})", test.access
        need(test.start.tzinfo is not None, f"{where} begins at a time without a zone: give a time in UTC")
        lasts = isfinite(test.seconds) and isfinite(test.ramp_s) and test.seconds > 0 and test.ramp_s >= 0
        need(lasts, f"{where} lasts {test.seconds} s after {test.ramp_s} s: measure above 0 s, after 0 s or more")
        late = f"{where} begins at {test.start}, before the one before it ended ({end}): give tests in their order"
        need(test.start >= end, late)
        end = _end(test)
        _check_text(access.name, f"the access specification of {where}")
        message = (
            f"{where} asks for {access.outstanding} I/Os of {access.block_bytes} bytes at once: give at least 1 of 1"
        )
        need(access.block_bytes > 0 and access.outstanding > 0, message)
        for share in (access.read_pct, access.random_pct):
            part = 0 <= share <= 100 and float(share).is_integer()
            need(part, f"{where} asks for a share of {share} %: the program knows whole ones from 0 to 100")
        same = meanings.setdefault(*_spec(access)) == _spec(access)[1]
        need(same, f"{where} is another access specification than one before it of that name: name them differently")
        need(test.workers, f"{where} has no workers: give at least one")
        names = [(worker.manager, worker.name) for worker in test.workers]
        use: dict[str, float] = {}
        for worker in test.workers:
            who = f"{where}, worker {worker.name!r} of {worker.manager!r}"
            need(names.count((worker.manager, worker.name)) == 1, f"{who} is there twice: name them differently")
            busy = 0 <= worker.cpu_pct <= 100 and use.setdefault(worker.manager, worker.cpu_pct) == worker.cpu_pct
            saw = f"{who} saw its machine {worker.cpu_pct} % busy: give 0 to 100, the same to all workers of a machine"
            need(busy, saw)
            _check_worker(worker, access, who)


def _check_worker(worker: Worker, access: Access, who: str) -> None:
    _check_text(worker.name, f"the name of {who}")
    _check_text(worker.manager, f"the machine of {who}")
    _check_text(worker.disk, f"the disk of {who}", commas=True)
    for kind, side, share in (("reads", worker.read, access.read_pct), ("writes", worker.write, 100 - access.read_pct)):
        if side is None:
            continue
        numbers = isfinite(side.iops) and isfinite(side.latency.mean) and side.iops >= 0 and side.latency.mean >= 0
        need(numbers, f"{who} did {side.iops} {kind} per second of {side.latency.mean} ms: neither can be below 0")
        size = f"{who} did {kind} of {side.block_bytes} bytes, its access specification has {access.block_bytes}"
        need(side.block_bytes == access.block_bytes, size)
        shape = f"{who} has latencies of the shape {side.latency.shape!r}: choose one of {', '.join(SHAPES)}"
        need(side.latency.shape in SHAPES, shape)
        none = f"{who} did {kind}, its access specification has none ({access.read_pct:.0f} % reads)"
        need(share or not side.iops, none)


def _check_text(text: str, what: str, *, commas: bool = False) -> None:
    """Refuses a text that cannot stand in a cell; `commas`: the program writes those in it."""
    fits = text.isascii() and (text.isprintable() or not text) and (commas or (text and "," not in text))
    kept = "printable ASCII" if commas else "printable ASCII without commas, at least one character"
    need(fits, f"{what} is {text[:40]!r}: use {kept}")
