"""The kinds of corruption that `corruptions.py` puts into recordings, as changes of their rows or of their JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

_STAMP = "%m/%d/%Y %H:%M:%S"

Rows = list[list[str]]
Change = Callable[[Any], None]


class NotHereError(Exception):
    """The recording has nothing that this corruption changes."""


# ---- captures: rows of cells, the header first ----


def number(row: list[str], place: int) -> float:
    with suppress(ValueError, IndexError):
        return float(row[place])
    return 0.0


def places(rows: Rows, pattern: str, least: float = 1.0) -> list[int]:
    """Cells of a counter that has something to corrupt: some number of at least that size."""
    found = [place for place, name in enumerate(rows[0]) if re.search(pattern, name)]
    found = [place for place in found if max(number(row, place) for row in rows[1:]) >= least]
    if not found:
        raise NotHereError(pattern)
    return found


def each(pattern: str, new: Callable[[float], float], lines: slice = slice(1, None), least: float = 1.0) -> Change:
    """Changes the numbers of a counter, in some rows."""

    def change(rows: Rows) -> None:
        for place in places(rows, pattern, least):
            for row in rows[lines]:
                row[place] = f"{new(number(row, place)):.2f}"

    return change


def worst(pattern: str, new: Callable[[float], float], least: float = 1.0) -> Change:
    """Changes the largest number of a counter alone."""

    def change(rows: Rows) -> None:
        cells = [(row, place) for place in places(rows, pattern, least) for row in rows[2:]]
        row, place = max(cells, key=lambda cell: number(*cell))
        row[place] = f"{new(number(row, place)):.2f}"

    return change


def swapped(pattern: str, first: str, second: str) -> Change:
    """Exchanges two counters of each instance."""

    def change(rows: Rows) -> None:
        where = {name: place for place, name in enumerate(rows[0])}
        for place in places(rows, pattern + re.escape(first) + "$"):
            other = where.get(rows[0][place].removesuffix(first) + second)
            if other is None:
                raise NotHereError(second)
            for row in rows[1:]:
                row[place], row[other] = row[other], row[place]

    return change


def clock(seconds: Callable[[int, int], float]) -> Change:
    """Moves the clock of each sample, by its number and how many there are."""

    def change(rows: Rows) -> None:
        for place, row in enumerate(rows[1:]):
            for form in (_STAMP, "%m/%d/%Y %H:%M"):
                with suppress(ValueError):
                    time = datetime.strptime(row[0], form) + timedelta(seconds=round(seconds(place, len(rows) - 1)))  # noqa: DTZ007
                    row[0] = time.strftime(form)
                    break

    return change


def frozen(rows: Rows) -> None:
    start = 1 + len(rows) // 4
    for place in places(rows, r"\\(Vcpu|Physical Cpu)\(.*\\(% Used|% Util Time)$", 0.01):
        for row in rows[start:]:
            row[place] = rows[start - 1][place]


def stuck(rows: Rows) -> None:
    """One PCPU that stands still, its others going on."""
    if len(rows) < 20:
        raise NotHereError
    place = max(places(rows, r"\\Physical Cpu\(\d+\)\\% Util Time$", 12.0), key=lambda one: number(rows[9], one))
    value = max(number(row, place) for row in rows[1:])
    for row in rows[len(rows) // 2 :]:
        row[place] = f"{value + 0.01 if value % 1 == 0 else value:.2f}"


def repeated(rows: Rows) -> None:
    length = max(1, len(rows) // 5)
    for row, again in zip(rows[-length:], rows[1 : 1 + length], strict=True):
        row[1:] = again[1:]


def appended(rows: Rows) -> None:
    rows += [list(row) for row in rows[-max(2, len(rows) // 6) :]]


def reordered(rows: Rows) -> None:
    half = 1 + len(rows) // 2
    rows[1:] = [*rows[half:], *rows[1:half]]


def without_samples(rows: Rows) -> None:
    if len(rows) < 12:
        raise NotHereError
    del rows[len(rows) // 2 : len(rows) // 2 + max(5, len(rows) // 8)]


def other_host(rows: Rows) -> None:
    """A row with the numbers of another host: other VMs in each column, and other hardware."""
    row = rows[1 + len(rows) // 2]
    turned = row[1 + len(row) // 3 :] + row[1 : 1 + len(row) // 3]
    row[1:] = turned


def other_memory(rows: Rows) -> None:
    row = rows[1 + len(rows) // 2]
    for place in places(rows, r"\\Memory\\(Machine|Free|Kernel|NonKernel|Nonkernel) MBytes$"):
        row[place] = f"{number(row, place) * 0.75:.2f}"


def moved_left(rows: Rows) -> None:
    """A cell lost in the middle of some rows, so that those behind it stand in the column before theirs."""
    for row in rows[len(rows) // 2 :]:
        del row[len(row) // 2]
        row.append("0.00")


def lost_column(rows: Rows) -> None:
    for place in reversed([place for place, name in enumerate(rows[0]) if re.search(r"\\Vcpu\(.*\\% Ready$", name)]):
        for row in rows:
            del row[place]
    if not any("% Wait" in name for name in rows[0]):
        raise NotHereError


def empty(text: str) -> Change:
    def change(rows: Rows) -> None:
        for place in places(rows, r"\\(Vcpu|Physical Cpu|Memory)\\?\(?.*\\?(% Used|% Util Time|Free MBytes)$"):
            for row in rows[3::2]:
                row[place] = text

    return change


def since_boot(rows: Rows) -> None:
    for place in places(rows, r"\\(Vcpu|Group Cpu)\(.*\\%|\\Physical Cpu\(.*\\%"):
        rows[1][place] = f"{number(rows[1], place) * 900:.2f}"


def zeroed(rows: Rows) -> None:
    for row in rows[-max(1, len(rows) // 8) :]:
        row[1:] = ["0.00"] * (len(row) - 1)


def exchanged(rows: Rows) -> None:
    """The worlds of two VMs in each other's place."""
    found = places(rows, r"\\Vcpu\(.*vmx-vcpu-0:.*\\% (Used|Run)$", 0.2)
    used = [place for place in found if rows[0][place].endswith("% Used")]
    run = {rows[0][place].removesuffix("% Run"): place for place in found if rows[0][place].endswith("% Run")}
    if len(used) < 2:
        raise NotHereError
    most = sorted(used, key=lambda place: sum(number(row, place) for row in rows[1:]))
    a, b = most[-1], most[0]
    pairs = [(a, b)]
    with suppress(KeyError):
        pairs.append((run[rows[0][a].removesuffix("% Used")], run[rows[0][b].removesuffix("% Used")]))
    for row in rows[1:]:
        for one, other in pairs:
            row[one], row[other] = row[other], row[one]


# ---- other formats ----


def fio(change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Change:
    """Changes the busier direction of each job of a fio document."""

    def changed(document: dict[str, Any]) -> None:
        if "jobs" not in document:
            raise NotHereError
        for job in document["jobs"]:
            busy = max((job[name] for name in ("read", "write") if name in job), key=lambda one: one.get("iops", 0))
            if busy.get("iops", 0) > 50:
                change(busy, job)

    return changed


def times(factor: float, *keys: str) -> Change:
    def change(busy: dict[str, Any], _: dict[str, Any]) -> None:
        for key in keys:
            if key in busy:
                busy[key] = type(busy[key])(busy[key] * factor)

    return fio(change)


def clat(busy: dict[str, Any]) -> Any:
    return busy.get("clat_ns") or busy["clat"]


def percentiles(busy: dict[str, Any], _: dict[str, Any]) -> None:
    found = clat(busy).get("percentile")
    if not found or not any(float(value) for value in found.values()):
        raise NotHereError
    values = list(found.values())
    found.update(zip(found, reversed(values), strict=True))


def mean_above(busy: dict[str, Any], _: dict[str, Any]) -> None:
    clat(busy)["mean"] = clat(busy)["max"] * 3 + 10


def reading(change: Callable[[dict[str, Any]], None]) -> Change:
    def changed(document: dict[str, Any]) -> None:
        if not isinstance(document, dict) or not document.get("PowerControl"):
            raise NotHereError
        change(document["PowerControl"][0])

    return changed


def milliwatts(control: dict[str, Any]) -> None:
    control["PowerConsumedWatts"] *= 1000


def ends_exchanged(control: dict[str, Any]) -> None:
    told = control.get("PowerMetrics")
    if not told or not told.get("MinConsumedWatts") or told["MinConsumedWatts"] == told["MaxConsumedWatts"]:
        raise NotHereError
    told["MinConsumedWatts"], told["MaxConsumedWatts"] = told["MaxConsumedWatts"], told["MinConsumedWatts"]


DISK = r"\\Physical Disk (SCSI Device|Per-Device-Per-World|Adapter|Path|Partition)\(.*\\"
PORT = r"\\Network Port\(.*\\"
PERCENT = r"\\Vcpu\(.*\\% (Used|Run|System|Wait|Ready|Idle|CoStop|VmWait)$"
KINDS: dict[str, tuple[str, Sequence[Change]]] = {
    "columns swapped: %RDY and %WAIT of groups": ("esxtop", [swapped(r"\\Group Cpu\(.*\\", "% Ready", "% Wait")]),
    "columns swapped: %USED and %IDLE of worlds": ("esxtop", [swapped(r"\\Vcpu\(.*\\", "% Idle", "% Used")]),
    "columns swapped: GAVG and DAVG": (
        "esxtop",
        [swapped(DISK, "Average Guest MilliSec/Command", "Average Kernel MilliSec/Command")],
    ),
    "columns swapped: memory of the machine and free": (
        "esxtop",
        [swapped(r"\\Memory\\", "Machine MBytes", "Free MBytes")],
    ),
    "columns swapped: packets and megabits": ("esxtop", [swapped(PORT, "Packets Received/sec", "MBits Received/sec")]),
    "worlds of two VMs exchanged": ("esxtop", [exchanged]),
    "unit scaled: latency in microseconds": (
        "esxtop",
        [each(DISK + "Average Guest MilliSec/(Command|Read|Write)$", lambda one: one * 1000, least=0.02)],
    ),
    "unit scaled: percent as a fraction": ("esxtop", [each(PERCENT, lambda one: one / 100)]),
    "unit scaled: one counter in GB": ("esxtop", [each(r"\\Memory\\Free MBytes$", lambda one: one / 1024)]),
    "unit scaled: KB for MB": (
        "esxtop",
        [each(DISK + "MBytes (Read|Written)/sec$", lambda one: one * 1024, least=0.02)],
    ),
    "unit scaled: milliwatts": (
        "esxtop redfish",
        [each(r"Power\\Power Usage Now Watts$", lambda one: one * 1000), reading(milliwatts)],
    ),
    "MB for Mbit": (
        "esxtop",
        [
            each(PORT + "MBits (Transmitted|Received)/sec$", lambda one: one / 8, least=0.5),
            each(PORT + "MBits (Transmitted|Received)/sec$", lambda one: one * 8, least=0.2),
        ],
    ),
    "decimal mark lost": ("esxtop", [each(r"\\Physical Cpu\(.*\\% (Util|Processor) Time$", lambda one: one * 100)]),
    "negative rates": ("esxtop", [each(r"\\Vcpu\(.*\\% Used$|\\Physical Cpu\(.*\\% Util Time$", lambda one: -one)]),
    "one negative number": ("esxtop", [worst(DISK + "(Reads|Commands|Writes)/sec$", lambda one: -one)]),
    "a counter that wrapped": ("esxtop", [worst(r"\\Physical Cpu\(.*\\% Util Time$", lambda one: 4294967295 + one)]),
    "saturated: a share above 100 %": ("esxtop", [each(r"\\Physical Cpu\(\d+\)\\% Util Time$", lambda _: 255.0)]),
    "a counter frozen": ("esxtop", [frozen]),
    "one PCPU frozen": ("esxtop", [stuck]),
    "a block repeated under new times": ("esxtop", [repeated]),
    "the end written twice": ("esxtop", [appended]),
    "samples in another order": ("esxtop", [reordered]),
    "samples missing": ("esxtop", [without_samples]),
    "clock set back": ("esxtop", [clock(lambda place, of: -3600 if place >= of // 2 else 0)]),
    "clock set forward": ("esxtop", [clock(lambda place, of: 1800 if place >= max(2, of // 2) else 0)]),
    "interval that drifts": ("esxtop", [clock(lambda place, _: place * (place - 1) * 1.5)]),
    "clock never set (1970)": ("esxtop", [clock(lambda *_: -(40 * 365.25 * 86400) - 10 * 365.25 * 86400)]),
    "a row of another host": ("esxtop", [other_host]),
    "memory of another host in a row": ("esxtop", [other_memory]),
    "a cell lost, the rest moved left": ("esxtop", [moved_left]),
    "a counter lost": ("esxtop", [lost_column]),
    "cells that hold text": ("esxtop", [empty("N/A"), empty("")]),
    "first sample since the start": ("esxtop", [since_boot]),
    "a block of zeros": ("esxtop", [zeroed]),
    "a group that is not the sum of its worlds": (
        "esxtop",
        [worst(r"\\Group Cpu\(.*\\% (Used|Run)$", lambda one: one * 3 + 20)],
    ),
    "a total of other PCPUs": (
        "esxtop",
        [each(r"\\Physical Cpu\(_Total\)\\% (Util|Processor) Time$", lambda one: one * 1.2 + 3)],
    ),
    "fio: bandwidth in bits": ("fio", [times(8, "bw", "bw_bytes"), times(8, "io_bytes", "io_kbytes")]),
    "fio: IOPS of another run": ("fio", [times(0.5, "iops"), times(3, "iops")]),
    "fio: a latency in another unit, percentiles turned round": ("fio", [fio(mean_above), fio(percentiles)]),
    "power: least and largest exchanged": ("redfish", [reading(ends_exchanged)]),
    "files of other hosts or times in one run": ("run", []),
}
