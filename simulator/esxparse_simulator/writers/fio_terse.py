"""fio's terse output (`--output-format=terse`, `--minimal`), versions 3, 4 and 5: a line for each job.

KiB and microseconds in all versions; version 3 has read and write, 4 has trim too, 5 also samples and rates of IOPS.
fio 2.1.3 has no version 5.

Evidence: `show_thread_status_terse_all`, `show_ddir_status_terse`, `print_disk_util` of stat.c of fio 2.1 and 3.33;
a run of 3.33 has the same fields.
Assumption: fio 3.36 hands nine numbers of a disk to a format that has room for seven, so that its line has I/Os,
sectors, merges and one of the ticks (so it is on x86-64; later releases are mended).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.fio_latency import PERCENTILES, Moments, percentiles
from esxparse_simulator.writers.fio_rows import Counts, Row, disks, rows
from esxparse_simulator.writers.fio_words import of_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from esxparse_simulator.writers.fio_run import Disk, FioRun

__all__ = ["TerseVersion", "text"]

TerseVersion = Literal[3, 4, 5]

_LIST = 20
_FIFTH = 5


def _moments(run: FioRun, one: Moments) -> list[str]:
    if run.modern:
        return [
            str(one.minimum // 1000),
            str(one.maximum // 1000),
            f"{one.mean / 1000.0:f}",
            f"{one.stddev / 1000.0:f}",
        ]
    return [str(one.minimum), str(one.maximum), f"{one.mean:f}", f"{one.stddev:f}"]


def _direction(run: FioRun, one: Counts, share: float, version: int) -> list[str]:
    runtime = one.runtime_ms
    found = percentiles(dict(one.bins))
    rates, iops = one.kib_per_s, one.iops
    fields = [
        str(one.total_bytes >> 10),
        str(one.bytes_per_s // 1024),
        str(1000 * one.ios // runtime if runtime else 0),
        str(runtime),
        *_moments(run, one.slat),
        *_moments(run, one.clat),
        *(
            f"{name:f}%={value // 1000 if run.modern else value}"
            for name, value in zip(PERCENTILES, found, strict=True)
        ),
        *["0%=0"] * (_LIST - len(PERCENTILES)),
        *_moments(run, one.lat),
        *(str(rates.minimum), str(rates.maximum), f"{share:f}%", f"{rates.mean:f}", f"{rates.stddev:f}"),
    ]
    if version == _FIFTH:
        fields += [str(rates.samples), str(iops.minimum), str(iops.maximum)]
        fields += [f"{iops.mean:f}", f"{iops.stddev:f}", str(iops.samples)]
    return fields


def _disk(run: FioRun, disk: Disk) -> list[str]:
    numbers = [*disk.ios, *disk.merges, *disk.ticks, disk.in_queue]
    if run.version == "fio-3.36":
        numbers = [*disk.ios, *disk.sectors, *disk.merges, disk.ticks[0]]
    return [disk.name, *map(str, numbers), f"{disk.util:.2f}%"]


def _line(run: FioRun, row: Row, shares: Sequence[float], version: int) -> str:
    user, system = row.cpu_pct
    micro, milli = row.coarse(10, 20), row.coarse(20, 32)
    # The first step of microseconds has the nanoseconds too.
    micro[0] += 100.0 * sum(sum(one.coarse[:10]) for one in row.directions) / row.ios
    shown = row.directions if version > 3 else row.directions[:2]  # noqa: PLR2004  the version without trim
    fields = [
        *(str(version), run.version, row.name, "0", "0"),
        *(field for one, share in zip(shown, shares, strict=False) for field in _direction(run, one, share, version)),
        *(f"{user:f}%", f"{system:f}%", str(row.switches), str(row.major_faults), str(row.minor_faults)),
        *(f"{share:.1f}%" for share in row.share(row.depths, 0.1)),
        *(f"{share:.2f}%" for share in (*micro, *milli)),
        *(field for disk in disks(run) for field in _disk(run, disk)),
    ]
    return ";".join(fields) + "\n"


def text(run: FioRun, *, terse_version: TerseVersion = 3) -> str:
    """The lines that fio prints.

    Raises:
        EsxparseError: No fio can have measured that, or this one has not that version of terse output.
    """
    if terse_version not in ((3, 4, 5) if run.modern else (3, 4)):
        msg = (
            f"{run.version} has no terse output version {terse_version}: take {'3, 4 or 5' if run.modern else '3 or 4'}"
        )
        raise EsxparseError(msg)
    found = rows(run)
    shares = of_group(run, found, terse=True)
    return "".join(_line(run, row, own, terse_version) for row, own in zip(found, shares, strict=True))
