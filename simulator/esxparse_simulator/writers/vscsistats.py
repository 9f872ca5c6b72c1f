"""vscsiStats histograms of virtual disks: `vscsiStats -p all -c` (CSV), `-p all` (printed), `-l` (the list of disks).

Evidence: a capture of an ESXi 7 host (CSV: titles, their order, limits, `count,limit` with the last limit twice, no
blanks, LF); it also shows that the histograms of all commands are the sums of reads and writes for sizes and latencies,
that each histogram counts every command (also distances and pauses), that outstanding commands include the new one,
and that means are whole numbers, cut towards 0. The printed form and the list: articles on the program (its limits as
`(<= 4096)`, the last as `(> 524288)`); their blanks are assumed.

Assumptions: the histograms of one disk stand together where there are several; a histogram without commands has 0
for smallest, largest and mean; distances of commands that follow on nothing are those of two places anywhere in
`span_blocks`; streams take turns at random; the closest of the last 16 is found as if those lay anywhere; pauses have
the shape "disk"; reads and writes each see their share of the outstanding commands.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Final, Literal, get_args

from esxparse.errors import EsxparseError
from esxparse_simulator.distribution import SHAPES, Distribution
from esxparse_simulator.writers.vscsistats_values import closest, distances, drawn, mixed, runs, spread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from esxparse_simulator.results import Measured, Side, Worker
    from esxparse_simulator.writers.vscsistats_values import Values

__all__ = ["Commands", "Form", "Histograms", "VirtualDisk", "lines", "listing", "of_worker"]

Form = Literal["csv", "printed"]
Histograms = Literal["all", "ioLength", "seekDistance", "outstandingIOs", "latency", "interarrival"]

_SIZES: Final = (
    *(512, 1024, 2048, 4095, 4096, 8191, 8192, 16383, 16384, 32768, 49152, 65535, 65536, 81920, 131072, 262144),
    524288,
)
_AHEAD: Final = (1, 2, 4, 6, 8, 16, 32, 64, 128, 500, 1000, 5000, 10000, 50000, 100000, 500000)
_DISTANCES: Final = (*(-limit for limit in reversed(_AHEAD)), 0, *_AHEAD)
_TIMES_US: Final = (1, 10, 100, 500, 1000, 5000, 15000, 30000, 50000, 100000)
_OUTSTANDING: Final = (1, 2, 4, 6, 8, 12, 16, 20, 24, 28, 32, 64)
_BLOCK: Final = 512
_WINDOW: Final = 16


@dataclass(frozen=True, slots=True)
class Commands:
    """Reads or writes of a disk: how many, their sizes (bytes, share; shares of any sum), their latency in ms."""

    count: int
    sizes: tuple[tuple[int, float], ...]
    latency: Distribution


@dataclass(frozen=True, slots=True)
class VirtualDisk:
    """A virtual disk and what was seen of it in `seconds` of collection.

    `sequential_pct` of the commands follow on another (of `streams`, up to 16), the rest goes anywhere in
    `span_blocks` (of 512 bytes). `outstanding` is the mean number of commands when one is issued, itself included;
    `outstanding_spread` is 0 for a load generator (always as many) and 1 for anything from 1 to nearly twice the mean.
    """

    world_group_id: int
    handle_id: int
    seconds: float
    reads: Commands | None
    writes: Commands | None
    disk: str = "scsi0:0"
    vm: str = ""
    sequential_pct: float = 0.0
    streams: int = 1
    span_blocks: int = 41943040
    outstanding: float = 1.0
    outstanding_spread: float = 0.0


def of_worker(
    test: Measured,
    worker: Worker,
    *,
    world_group_id: int,
    handle_id: int,
    disk: str = "scsi0:0",
    span_blocks: int = 41943040,
) -> VirtualDisk:
    """The virtual disk of a load generator's worker, collected while it was measured."""

    def commands(side: Side | None) -> Commands | None:
        if side is None or not round(side.iops * test.seconds):
            return None
        return Commands(round(side.iops * test.seconds), ((side.block_bytes, 1.0),), side.latency)

    return VirtualDisk(
        world_group_id=world_group_id,
        handle_id=handle_id,
        seconds=test.seconds,
        reads=commands(worker.read),
        writes=commands(worker.write),
        disk=disk,
        vm=worker.manager,
        sequential_pct=100.0 - test.access.random_pct,
        span_blocks=span_blocks,
        outstanding=float(test.access.outstanding),
    )


def lines(disks: Sequence[VirtualDisk], form: Form = "csv", histograms: Histograms = "all") -> Iterator[bytes]:
    """What the program prints, with line ends; prints of one file follow one another.

    Args:
        disks: In the order they are printed.
        form: `csv` is what `-c` gives.
        histograms: What follows `-p`.

    Raises:
        EsxparseError: The form or the histograms are not known, or the input makes no sense.
    """
    for asked, known in ((form, get_args(Form)), (histograms, get_args(Histograms))):
        if asked not in known:
            msg = f"vscsiStats has no {asked!r}: choose one of {', '.join(known)}"
            raise EsxparseError(msg)
    for disk in disks:
        _check(disk)
    return _written(disks, form, histograms)


def listing(disks: Sequence[VirtualDisk]) -> Iterator[bytes]:
    """What `vscsiStats -l` prints: VMs and their disks."""
    for disk in disks:
        _check(disk)
    return _listed(disks)


def _listed(disks: Sequence[VirtualDisk]) -> Iterator[bytes]:
    for group in dict.fromkeys(disk.world_group_id for disk in disks):
        of_it = [disk for disk in disks if disk.world_group_id == group]
        name = of_it[0].vm
        head = f"Virtual Machine worldGroupID: {group}, Virtual Machine Display Name: {name}, "
        yield f"{head}Virtual Machine Config File: /vmfs/volumes/datastore1/{name}/{name}.vmx, {{\n".encode()
        for disk in of_it:
            yield f"   Virtual SCSI Disk handleID: {disk.handle_id} ({disk.disk})\n".encode()
        yield b"}\n"


def _written(disks: Sequence[VirtualDisk], form: Form, histograms: Histograms) -> Iterator[bytes]:
    for disk in disks:
        for kind, title, limits, values in _histograms(disk):
            if histograms in {"all", kind}:
                texts = (_csv if form == "csv" else _printed)(disk, title, limits, values)
                for text in texts:
                    yield f"{text}\n".encode()


def _histograms(disk: VirtualDisk) -> Iterator[tuple[str, str, tuple[int, ...], Values]]:
    """Kind, title, limits and values of each histogram, in the order they are printed."""
    reads, writes = _count(disk.reads), _count(disk.writes)
    count = reads + writes
    read_sizes, write_sizes = _sizes(disk.reads), _sizes(disk.writes)
    yield "ioLength", "IO lengths of commands", _SIZES, (*read_sizes, *write_sizes)
    yield "ioLength", "IO lengths of Read commands", _SIZES, read_sizes
    yield "ioLength", "IO lengths of Write commands", _SIZES, write_sizes

    between = "distance (in LBNs) between"
    sequential = disk.sequential_pct / 100.0
    in_turn = sequential / disk.streams
    blocks = _blocks((*read_sizes, *write_sizes))
    yield "seekDistance", f"{between} successive commands", _DISTANCES, _seeks(disk, count, [(1, in_turn)])
    for name, of_it in (("Read", reads), ("Write", writes)):
        follows = runs(blocks, of_it / count, in_turn) if count else []
        yield "seekDistance", f"{between} successive {name} commands", _DISTANCES, _seeks(disk, of_it, follows)
    nearest = closest(count, disk.span_blocks, [(1, sequential)], _WINDOW) if count else ()
    yield "seekDistance", f"{between} each command from the closest of previous {_WINDOW}", _DISTANCES, nearest

    read_times, write_times = _times(disk.reads), _times(disk.writes)
    yield "latency", "latency of IOs in Microseconds (us)", _TIMES_US, (*read_times, *write_times)
    yield "latency", "latency of Read IOs in Microseconds (us)", _TIMES_US, read_times
    yield "latency", "latency of Write IOs in Microseconds (us)", _TIMES_US, write_times

    issued = "number of outstanding"
    yield "outstandingIOs", f"{issued} IOs when a new IO is issued", _OUTSTANDING, _queue(disk, count, count)
    for name, of_it in (("Read", reads), ("Write", writes)):
        title = f"{issued} {name} IOs when a new {name} IO is issued"
        yield "outstandingIOs", title, _OUTSTANDING, _queue(disk, of_it, count)

    pauses = "latency of IO interarrival time"
    yield "interarrival", f"{pauses} in Microseconds (us)", _TIMES_US, _pauses(disk, count)
    yield "interarrival", f"{pauses} for Reads in Microseconds (us)", _TIMES_US, _pauses(disk, reads)
    yield "interarrival", f"{pauses} for Writes in Microseconds (us)", _TIMES_US, _pauses(disk, writes)


def _count(commands: Commands | None) -> int:
    return commands.count if commands else 0


def _sizes(commands: Commands | None) -> Values:
    return mixed(commands.sizes, commands.count) if commands else ()


def _times(commands: Commands | None) -> Values:
    if not _count(commands) or commands is None:
        return ()
    return drawn(Distribution(1000.0 * commands.latency.mean, commands.latency.shape), commands.count)


def _blocks(sizes: Values) -> int:
    """The mean size in blocks, at least one."""
    commands = sum(count for _, count in sizes)
    return max(1, round(sum(size * count for size, count in sizes) / commands / _BLOCK)) if commands else 1


def _seeks(disk: VirtualDisk, count: int, following: list[tuple[int, float]]) -> Values:
    return distances(count, disk.span_blocks, following) if count else ()


def _queue(disk: VirtualDisk, count: int, of_all: int) -> Values:
    """How many of these were outstanding: one at least, and of one direction what its share varies by."""
    if not count:
        return ()
    share = count / of_all
    mean = max(1.0, disk.outstanding * share)
    varies = disk.outstanding_spread * (mean - 1.0) + sqrt(3.0 * disk.outstanding * share * (1.0 - share))
    most = disk.outstanding + disk.outstanding_spread * (disk.outstanding - 1.0)
    return spread(mean, min(varies, mean - 1.0, most - mean), count)


def _pauses(disk: VirtualDisk, count: int) -> Values:
    return drawn(Distribution(disk.seconds * 1e6 / count, "disk"), count) if count else ()


def _counts(limits: tuple[int, ...], values: Values) -> list[int]:
    """Commands by bin: up to each limit, and beyond the last."""
    found = [0] * (len(limits) + 1)
    for value, commands in values:
        found[sum(limit < value for limit in limits)] += commands
    return found


def _summary(values: Values) -> tuple[tuple[str, int], ...]:
    total = sum(value * commands for value, commands in values)
    count = sum(commands for _, commands in values)
    # The program divides whole numbers: towards 0, below it too.
    mean = (abs(total) // count if total >= 0 else -(abs(total) // count)) if count else 0
    ends = [value for value, _ in values] or [0]
    return ("min", min(ends)), ("max", max(ends)), ("mean", mean), ("count", count)


def _csv(disk: VirtualDisk, title: str, limits: tuple[int, ...], values: Values) -> Iterator[str]:
    handle = f"virtual disk handleID,{disk.handle_id} ({disk.disk})"
    yield f"Histogram: {title},virtual machine worldGroupID,{disk.world_group_id},{handle}"
    yield from (f"{name},{value}" for name, value in _summary(values))
    yield "Frequency,Histogram Bucket Limit"
    # The open end has no limit of its own: the last one stands there again.
    bins = zip(_counts(limits, values), (*limits, limits[-1]), strict=True)
    yield from (f"{count},{limit}" for count, limit in bins)


def _printed(disk: VirtualDisk, title: str, limits: tuple[int, ...], values: Values) -> Iterator[str]:
    handle = f"virtual disk handleID : {disk.handle_id} ({disk.disk})"
    yield f"Histogram: {title},virtual machine worldGroupID : {disk.world_group_id},{handle} {{"
    yield from (f" {name} : {value}" for name, value in _summary(values))
    yield "   {"
    *closed, beyond = _counts(limits, values)
    yield from (f"      {count:<15} (<= {limit:>18})" for count, limit in zip(closed, limits, strict=True))
    yield f"      {beyond:<15} (> {limits[-1]:>19})"
    yield "   }"
    yield "}"


def _check(disk: VirtualDisk) -> None:
    who = f"virtual disk {disk.handle_id} of world group {disk.world_group_id}"
    if min(disk.world_group_id, disk.handle_id) < 0 or not disk.disk or set(disk.disk) & set("()\r\n"):
        msg = f"{who} is called {disk.disk!r}: use ids of 0 and above, and a name without brackets such as scsi0:0"
        raise EsxparseError(msg)
    if not (disk.vm.isprintable() and "," not in disk.vm and "/" not in disk.vm):
        msg = f"{who} is of the VM {disk.vm[:40]!r}: use a name without commas, slashes and line ends"
        raise EsxparseError(msg)
    if not (isfinite(disk.seconds) and disk.seconds > 0):
        msg = f"{who} was watched for {disk.seconds} s: give a time above 0"
        raise EsxparseError(msg)
    if not 0.0 <= disk.sequential_pct <= 100.0 or not 1 <= disk.streams <= _WINDOW:  # noqa: PLR2004  per cent
        msg = f"{who} is {disk.sequential_pct} % sequential in {disk.streams} streams: give 0 to 100 %, 1 to {_WINDOW}"
        raise EsxparseError(msg)
    if not 0.0 <= disk.outstanding_spread <= 1.0:
        msg = f"{who}: outstanding commands spread by {disk.outstanding_spread}: give 0 (none) to 1 (all there is)"
        raise EsxparseError(msg)
    if disk.span_blocks < 1 or not (isfinite(disk.outstanding) and disk.outstanding >= 1):
        msg = f"{who} spans {disk.span_blocks} blocks with {disk.outstanding} commands at once: give at least 1 of each"
        raise EsxparseError(msg)
    for kind, commands in (("reads", disk.reads), ("writes", disk.writes)):
        if commands is not None:
            _check_commands(commands, f"{who}, {kind}")


def _check_commands(commands: Commands, who: str) -> None:
    if commands.count < 0 or not isfinite(commands.latency.mean) or commands.latency.mean < 0:
        msg = f"{who}: {commands.count} commands of {commands.latency.mean} ms: neither can be below 0"
        raise EsxparseError(msg)
    if commands.latency.shape not in SHAPES:
        msg = f"{who}: latencies of the shape {commands.latency.shape!r}: choose one of {', '.join(SHAPES)}"
        raise EsxparseError(msg)
    shares = [share for _, share in commands.sizes]
    if not shares or min(shares) < 0 or not sum(shares) > 0 or min(size for size, _ in commands.sizes) < 1:
        msg = f"{who}: sizes {commands.sizes[:3]}: give at least one of 1 byte and above, with a share above 0"
        raise EsxparseError(msg)
