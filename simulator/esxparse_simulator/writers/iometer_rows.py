"""Columns and rows of Iometer's results, by release; see `iometer` for the evidence and what is assumed."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Final

from esxparse_simulator.writers.iometer_counts import mean_of, total

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from esxparse_simulator.results import Access
    from esxparse_simulator.writers.iometer_counts import Cpu, Machine, Raw

__all__ = ["LAYOUTS", "Layout", "header", "rows"]

_MIB: Final = float(1 << 20)
_MB: Final = 1e6
_FRONT: Final = (
    "Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,Read IOps,Write IOps,"
)
_REST: Final = (
    "Transactions per Second,Connections per Second,"
    "Average Response Time,Average Read Response Time,Average Write Response Time,"
    "Average Transaction Time,Average Connection Time,"
    "Maximum Response Time,Maximum Read Response Time,Maximum Write Response Time,"
    "Maximum Transaction Time,Maximum Connection Time,"
    "Errors,Read Errors,Write Errors,Bytes Read,Bytes Written,Read I/Os,Write I/Os,Connections,"
    "Transactions per Connection,"
    "Total Raw Read Response Time,Total Raw Write Response Time,"
    "Total Raw Transaction Time,Total Raw Connection Time,"
    "Maximum Raw Read Response Time,Maximum Raw Write Response Time,"
    "Maximum Raw Transaction Time,Maximum Raw Connection Time,"
    "Total Raw Run Time,Starting Sector,Maximum Size,Queue Depth,"
    "% CPU Utilization,% User Time,% Privileged Time,% DPC Time,% Interrupt Time,"
    "Processor Speed,Interrupts per Second,CPU Effectiveness,"
    "Packets/Second,Packet Errors,Segments Retransmitted/Second"
)
_BINS: Final = (
    ",0 to 50 uS,50 to 100 uS,100 to 200 uS,200 to 500 uS,0.5 to 1 mS,1 to 2 mS,2 to 5 mS,5 to 10 mS,10 to 15 mS,"
    "15 to 20 mS,20 to 30 mS,30 to 50 mS,50 to 100 mS,100 to 200 mS,200 to 500 mS,0.5 to 1 S,1 to 2 s,2 to 4.7 s,"
    "4.7 to 5 s,5 to 10 s, >= 10 s"
)
_AMBIGUOUS: Final = "-1"
_CYCLES: Final = 2.4e9


@dataclass(frozen=True, slots=True)
class Layout:
    """What a release writes: its megabytes (title and bytes), and what differs otherwise."""

    megabytes: tuple[tuple[str, float], ...]
    ticks_per_s: float
    bins: bool = False
    end_test: bool = False
    commas_kept: bool = False


_OLDEST: Final = Layout((("MBps", _MIB),), _CYCLES, commas_kept=True)
LAYOUTS: Final = {
    "2003.12.16": _OLDEST,
    "2004.07.30": _OLDEST,
    "2006.07.27": Layout((("MBps", _MIB),), _CYCLES / 1024.0),
    "1.1.0-rc1": Layout((("MBps (Binary)", _MIB), ("MBps (Decimal)", _MB)), _CYCLES / 1024.0, end_test=True),
    "1.1.0": Layout((("MiBps (Binary)", _MIB), ("MBps (Decimal)", _MB)), _CYCLES / 1024.0, bins=True, end_test=True),
}
"""By release."""


def header(layout: Layout) -> str:
    """The titles of the columns."""
    megabytes = "".join(f"{title},Read {title},Write {title}," for title, _ in layout.megabytes)
    return _FRONT + megabytes + _REST + (_BINS if layout.bins else "")


def rows(
    machines: Sequence[Machine], access: Access, layout: Layout, *, seconds: float, hz: float, sectors: int
) -> Iterator[str]:
    """The rows of one test: all, then each machine with its processors, workers and disks."""
    run_ticks = round(seconds * hz)
    whole = total(machine.raw for machine in machines)
    disks = sum(len(machine.workers) for machine in machines)
    empty = "," * (header(layout).split(",").index("% CPU Utilization") - 1)
    target = f"0,{sectors},{access.outstanding}"

    def row(front: str, raw: Raw, raw_cells: str, back: Sequence[str]) -> str:
        cells = [front, *_rates(raw, layout, run_ticks / hz, hz), raw_cells, target, *back]
        return ",".join([*cells, *(map(str, raw.bins) if layout.bins else ())])

    network = (fsum(machine.packets_per_s for machine in machines), 0.0, 0.0)
    back = _machine_cells(mean_of([machine.cpu for machine in machines]), "", _iops(whole, run_ticks / hz), network)
    yield row(f"ALL,All,{access.name},{len(machines)},{disks},{disks}", whole, "," * 8, back)
    for machine in machines:
        raw = machine.raw
        front = f"MANAGER,{machine.name},{access.name},,{len(machine.workers)},{len(machine.workers)}"
        network = (machine.packets_per_s, 0.0, 0.0)
        back = _machine_cells(machine.cpu, _fixed(hz), _iops(raw, run_ticks / hz), network)
        yield row(front, raw, _ticks(raw, run_ticks), back)
        for number, cpu in enumerate(machine.processors):
            # Its latency bins are not even left empty: the row ends before them.
            cells = [*map(_fixed, cpu.shares), _fixed(hz), _fixed(cpu.interrupts_per_s)]
            yield f"PROCESSOR,CPU {number}{empty}{','.join(cells)},,,,"
        for worker, own in machine.workers:
            back = ["", "", "", "", "", _fixed(hz), "", "", "", "", ""]
            yield row(f"WORKER,{worker.name},{access.name},,,1", own, _ticks(own, run_ticks), back)
            disk = worker.disk if layout.commas_kept else worker.disk.replace(",", " ")
            yield row(f"DISK,{disk},,,,", own, _ticks(own, run_ticks), back)


def _fixed(value: float) -> str:
    return f"{value:.6f}"


def _iops(raw: Raw, seconds: float) -> float:
    return raw.reads / seconds + raw.writes / seconds


def _rates(raw: Raw, layout: Layout, seconds: float, hz: float) -> list[str]:
    """From IOps to transactions per connection."""
    read, write = raw.reads / seconds, raw.writes / seconds
    values = [read + write, read, write]
    for _, size in layout.megabytes:
        read, write = raw.read_bytes / size / seconds, raw.write_bytes / size / seconds
        values += [read + write, read, write]
    count = raw.reads + raw.writes
    mean = _mean_ms(raw.read_ticks + raw.write_ticks, count, hz)
    # An access without reply is a transaction of its own, and no connection is ever made.
    values += [values[0], 0.0, mean, _mean_ms(raw.read_ticks, raw.reads, hz)]
    values += [_mean_ms(raw.write_ticks, raw.writes, hz), mean, 0.0]
    longest = [raw.read_max_ticks * 1000.0 / hz, raw.write_max_ticks * 1000.0 / hz]
    values += [max(longest), *longest, max(longest), 0.0]
    counts = (0, 0, 0, raw.read_bytes, raw.write_bytes, raw.reads, raw.writes, 0)
    return [*map(_fixed, values), *map(str, counts), _AMBIGUOUS]


def _mean_ms(ticks: int, count: int, hz: float) -> float:
    return ticks * 1000.0 / hz / count if count else 0.0


def _ticks(raw: Raw, run_ticks: int) -> str:
    """The raw counters: times in all, longest, run time."""
    times = (raw.read_ticks, raw.write_ticks, raw.read_ticks + raw.write_ticks, 0)
    longest = (raw.read_max_ticks, raw.write_max_ticks, max(raw.read_max_ticks, raw.write_max_ticks), 0)
    return ",".join(map(str, (*times, *longest, run_ticks)))


def _machine_cells(cpu: Cpu, speed: str, iops: float, network: tuple[float, float, float]) -> list[str]:
    """From CPU utilization to segments retransmitted."""
    effectiveness = iops / cpu.used if cpu.used else 0.0
    after = map(_fixed, (cpu.interrupts_per_s, effectiveness, *network))
    return [*map(_fixed, cpu.shares), speed, *after]
