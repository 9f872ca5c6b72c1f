"""vscsiStats histograms of virtual disks as `vscsiStats -p all -c` prints them (CSV).

Evidence: a capture of an ESXi 7 host (titles, their order, limits, `count,limit` with the last limit twice, no blanks,
LF); it also shows that the histograms of all commands are the sums of reads and writes for sizes and latencies, that
each histogram counts every command, that outstanding commands include the new one, and that means are cut towards 0.

Assumptions: the histograms of one disk stand together; a histogram without commands has 0 for smallest, largest and
mean; distances of commands that follow on nothing are those of two places anywhere on a disk of 20 GB; the closest of
the last 16 is found as if those lay anywhere; pauses have the shape "disk"; reads and writes each see their share of
the outstanding commands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import fsum, isfinite, sqrt
from typing import Final

from esxparse_simulator.limits import need
from esxparse_simulator.measured import Distribution, Measured, Side, Worker

Values = tuple[tuple[int, int], ...]
"""(value, commands that had it): limits, smallest, largest, mean and count of a histogram all come from these."""

_SIZES: Final = (
    *(512, 1024, 2048, 4095, 4096, 8191, 8192, 16383, 16384, 32768, 49152, 65535, 65536, 81920, 131072, 262144),
    524288,
)
_AHEAD: Final = (1, 2, 4, 6, 8, 16, 32, 64, 128, 500, 1000, 5000, 10000, 50000, 100000, 500000)
_DISTANCES: Final = (*(-limit for limit in reversed(_AHEAD)), 0, *_AHEAD)
_TIMES_US: Final = (1, 10, 100, 500, 1000, 5000, 15000, 30000, 50000, 100000)
_OUTSTANDING: Final = (1, 2, 4, 6, 8, 12, 16, 20, 24, 28, 32, 64)
_BLOCK: Final = 512
_SPAN_BLOCKS: Final = 41943040
_WINDOW: Final = 16
_STEPS: Final = 400
_ENDS: Final = (100, 10000)
"""Parts at both ends that are cut finer than the rest: that is where the smallest and the largest lie."""
_RUNS: Final = 64
_MAX: Final = (1 << 63) - 1
_NAMES: Final = {
    "distance (in LBNs) between successive commands": "DistanceHistogram",
    "distance (in LBNs) between successive Read commands": "DistanceReadsHistogram",
    "distance (in LBNs) between successive Write commands": "DistanceWritesHistogram",
    "distance (in LBNs) between each command from the closest of previous 16": "DistanceLast16Histogram",
    "latency of IOs in Microseconds (us)": "IoLatencyHistogram",
    "latency of Read IOs in Microseconds (us)": "IoLatencyReadsHistogram",
    "latency of Write IOs in Microseconds (us)": "IoLatencyWritesHistogram",
}
"""What the API calls the histograms whose names are published."""
_BEFORE_MIDDLE: Final = 0.45
"""Jumps ahead and back are equally far on average, and not one for one."""


@dataclass(frozen=True, slots=True)
class Commands:
    """Reads or writes of a disk: how many, their size in bytes, their latency in ms."""

    count: int
    size: int
    latency: Distribution

    @property
    def sizes(self) -> Values:
        """The size of each."""
        return ((self.size, self.count),)

    @property
    def times(self) -> Values:
        """The latency of each, us."""
        return _drawn(Distribution(1000.0 * self.latency.mean, self.latency.shape), self.count)


@dataclass(frozen=True, slots=True)
class VirtualDisk:
    """A virtual disk and what was seen of it in `seconds` of collection.

    `sequential_pct` of the commands follow on the one before. `outstanding` is the number of commands when one is
    issued, itself included: always as many, as a load generator has.
    """

    world_group_id: int
    handle_id: int
    disk: str
    seconds: float
    reads: Commands | None
    writes: Commands | None
    sequential_pct: float = 0.0
    outstanding: float = 1.0


def of_worker(test: Measured, worker: Worker, world_group_id: int, handle_id: int) -> VirtualDisk:
    """The virtual disk of a load generator's worker, collected while it was measured."""

    def commands(side: Side | None) -> Commands | None:
        count = round(side.iops * test.seconds) if side else 0
        return Commands(count, side.block_bytes, side.latency) if side and count else None

    return VirtualDisk(
        world_group_id,
        handle_id,
        worker.disk,
        test.seconds,
        commands(worker.read),
        commands(worker.write),
        100.0 - test.access.random_pct,
        float(test.access.outstanding),
    )


def lines(disks: Sequence[VirtualDisk]) -> Iterator[bytes]:
    """What the program prints, with line ends, disk by disk."""
    for disk in disks:
        _check(disk)
    return (f"{text}\n".encode() for disk in disks for text in _printed(disk))


def reply(disks: Sequence[tuple[str, VirtualDisk]]) -> str:
    """The reply of `FetchAllHistograms` (vSphere API, service VscsiStats) for disks, each with the name of its VM.

    Evidence: the tags, keys and names that the parser of vSphere's Ruby console (rvc) reads. Only histograms whose
    names are published are there. Assumed: the ids, and the order of the lines.
    """
    parts = ["<vscsiStats>"]
    for vm in dict.fromkeys(name for name, _ in disks):
        mine = [disk for name, disk in disks if name == vm]
        uuid = f"503c{mine[0].world_group_id:028x}"
        parts += [
            "<VM>",
            f"VM display name: {escape(vm)}",
            f"VC uuid: {uuid[:8]} {uuid[8:16]}-{uuid[16:24]} {uuid[24:]}",
        ]
        for disk in mine:
            _check(disk)
            parts += ["<VirtualDisk>", f"Virtual disk name: {disk.disk}"]
            for title, limits, values in _histograms(disk):
                if name := _NAMES.get(title):
                    parts += ["<histo>", f"VSCSIVsi_{name}: Histogram: {title}"]
                    parts += [f"{key}: {value}" for key, value in _summary(values)]
                    parts += [f"numBuckets: {len(limits) + 1}", f"limits: {_listed((*limits, _MAX))}"]
                    parts += [f"counts: {_listed(_counts(limits, values))}", "</histo>"]
            parts.append("</VirtualDisk>")
        parts.append("</VM>")
    return "\n".join([*parts, "</vscsiStats>", ""])


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _counts(limits: Sequence[int], values: Values) -> list[int]:
    """Commands in each bin, the open end last."""
    counts = [0] * (len(limits) + 1)
    for value, commands in values:
        counts[sum(limit < value for limit in limits)] += commands
    return counts


def _printed(disk: VirtualDisk) -> Iterator[str]:
    handle = f"virtual disk handleID,{disk.handle_id} ({disk.disk})"
    for title, limits, values in _histograms(disk):
        yield f"Histogram: {title},virtual machine worldGroupID,{disk.world_group_id},{handle}"
        yield from (f"{name},{value}" for name, value in _summary(values))
        yield "Frequency,Histogram Bucket Limit"
        counts = _counts(limits, values)
        # The open end has no limit of its own: the last one stands there again.
        yield from (f"{count},{limit}" for count, limit in zip(counts, (*limits, limits[-1]), strict=True))


def _histograms(disk: VirtualDisk) -> Iterator[tuple[str, tuple[int, ...], Values]]:
    """Title, limits and values of each histogram, in the order they are printed."""
    sides = {"Read": disk.reads, "Write": disk.writes}
    counts = {name: side.count if side else 0 for name, side in sides.items()}
    count = sum(counts.values())
    sizes = {name: side.sizes if side else () for name, side in sides.items()}
    yield "IO lengths of commands", _SIZES, (*sizes["Read"], *sizes["Write"])
    for name, values in sizes.items():
        yield f"IO lengths of {name} commands", _SIZES, values

    between, sequential = "distance (in LBNs) between", disk.sequential_pct / 100.0
    moved = sum(size * commands for values in sizes.values() for size, commands in values)
    blocks = max(1, round(moved / count / _BLOCK)) if count else 1
    yield f"{between} successive commands", _DISTANCES, _jumps(count, [(1, sequential)], _jump)
    for name, own in counts.items():
        follows = _runs(blocks, own / count, sequential) if count else []
        yield f"{between} successive {name} commands", _DISTANCES, _jumps(own, follows, _jump)
    nearest = _jumps(count, [(1, sequential)], _near)
    yield f"{between} each command from the closest of previous {_WINDOW}", _DISTANCES, nearest

    times = {name: side.times if side else () for name, side in sides.items()}
    yield "latency of IOs in Microseconds (us)", _TIMES_US, (*times["Read"], *times["Write"])
    for name, values in times.items():
        yield f"latency of {name} IOs in Microseconds (us)", _TIMES_US, values

    issued = "number of outstanding"
    yield f"{issued} IOs when a new IO is issued", _OUTSTANDING, _queue(disk, count, count)
    for name, own in counts.items():
        yield f"{issued} {name} IOs when a new {name} IO is issued", _OUTSTANDING, _queue(disk, own, count)

    for own, of_them in ((count, ""), (counts["Read"], " for Reads"), (counts["Write"], " for Writes")):
        pauses = _drawn(Distribution(disk.seconds * 1e6 / own, "disk"), own) if own else ()
        yield f"latency of IO interarrival time{of_them} in Microseconds (us)", _TIMES_US, pauses


def _summary(values: Values) -> tuple[tuple[str, int], ...]:
    total = sum(value * commands for value, commands in values)
    count = sum(commands for _, commands in values)
    # The program divides whole numbers: towards 0, below it too.
    mean = (abs(total) // count if total >= 0 else -(abs(total) // count)) if count else 0
    ends = [value for value, _ in values] or [0]
    return ("min", min(ends)), ("max", max(ends)), ("mean", mean), ("count", count)


def _check(disk: VirtualDisk) -> None:
    who = f"virtual disk {disk.handle_id} of world group {disk.world_group_id}"
    need(isfinite(disk.seconds) and disk.seconds > 0, f"{who} was watched for {disk.seconds} s: give a time above 0")
    parts = 0.0 <= disk.sequential_pct <= 100.0 and disk.outstanding >= 1.0
    need(parts, f"{who}: {disk.sequential_pct} % sequential, {disk.outstanding} at once: give 0 to 100 %, 1 or more")


def _queue(disk: VirtualDisk, count: int, of_all: int) -> Values:
    """How many of these were outstanding: one at least, and of one direction what its share varies by."""
    if not count:
        return ()
    share = count / of_all
    mean = max(1.0, disk.outstanding * share)
    varies = min(sqrt(3.0 * disk.outstanding * share * (1.0 - share)), mean - 1.0, disk.outstanding - mean)
    return _whole([(mean + varies * ((low + high) / count - 1.0), high - low) for low, high in _strata(count)])


def _drawn(distribution: Distribution, count: int) -> Values:
    """`count` whole values of a distribution, with its mean."""
    parts = _strata(count)
    exact = [(distribution.quantile((low + high) / 2.0 / count), high - low) for low, high in parts]
    total = fsum(value * commands for value, commands in exact)
    # Values in the middle of their part of a bent curve miss its mean by little: all are moved alike.
    scale = distribution.mean * count / total if total else 0.0
    return _whole([(value * scale, commands) for value, commands in exact])


def _runs(blocks: int, share: float, sequential: float) -> list[tuple[int, float]]:
    """Distances between commands of one direction in a sequential stream of both, of which they are `share`.

    As many of the other as lie between two of them are skipped, `blocks` each.
    """
    found, between = [], share * sequential
    for skipped in range(_RUNS):
        if between <= 0.0:
            break
        found.append((1 + skipped * blocks, between))
        between *= (1.0 - share) * sequential
    return found


def _whole(values: Sequence[tuple[float, int]]) -> Values:
    """Whole values of the same sum: some of each part get the next lower, some the next higher."""
    found: list[tuple[int, int]] = []
    carried = 0.0
    for value, commands in values:
        wanted = value * commands + carried
        total = round(wanted)
        carried = wanted - total
        lower, higher = divmod(total, commands)
        found += [(lower, commands - higher), (lower + 1, higher)]
    return tuple((value, commands) for value, commands in found if commands)


def _jumps(count: int, following: Sequence[tuple[int, float]], jump: Callable[[float], float]) -> Values:
    """How far `count` commands begin from the one before: `following` (distance, share), else a jump."""
    if not count:
        return ()
    shares = [*following, (0, max(0.0, 1.0 - sum(share for _, share in following)))]
    whole = sum(share for _, share in shares)
    below, passed = [0], 0.0
    for _, share in shares:
        passed += share
        below.append(round(count * passed / whole))
    near = [(value, high - low) for (value, _), (low, high) in zip(shares, pairwise(below), strict=True)]
    near = [(value, commands) for value, commands in near if value and commands > 0]
    jumps = count - sum(commands for _, commands in near)
    strata = _strata(jumps) if jumps else []
    parts = [((low + _BEFORE_MIDDLE * (high - low)) / jumps, high - low) for low, high in strata]
    return (*near, *((round(jump(part) * _SPAN_BLOCKS), commands) for part, commands in parts))


def _jump(part: float) -> float:
    """The distance of two places anywhere, in parts of what they lie in, that `part` of all do not pass."""
    if part < 0.5:
        return sqrt(2.0 * part) - 1.0
    return 1.0 - sqrt(2.0 * (1.0 - part))


def _near(part: float) -> float:
    """The distance to the closest of the last `_WINDOW` places, in either direction, that `part` of all do not pass."""
    beyond = 1.0 - abs(2.0 * part - 1.0)
    last = _WINDOW
    while last > 1:
        beyond = sqrt(beyond)
        last //= 2
    return (1.0 - beyond) / 2.0 * (-1.0 if part < 0.5 else 1.0)


def _strata(count: int) -> list[tuple[int, int]]:
    """Commands from..to, in the order of their values: few enough to be quick, single ones at both ends."""
    cuts = {0, 1, count - 1, count}
    for number in range(_STEPS + 1):
        cuts.add(count * number // _STEPS)
        for end in _ENDS:
            cuts |= {count * number // _STEPS // end, count - count * number // _STEPS // end}
    return [(low, high) for low, high in pairwise(sorted(cut for cut in cuts if cut >= 0)) if high > low]
