"""fio's `--output-format=json` and `json+` of 3.7: bytes, nanoseconds, six decimals, percentiles of nothing too.

Evidence: `show_thread_status_json`, `add_ddir_status_json`, `add_ddir_lat_json`, `json_array_add_disk_util`,
`__show_run_stats` of stat.c and json.c of fio 3.2x, 3.33; outputs of 3.7 (client), 3.13.
Assumptions: 3.7 alone differs from its client mode by `timestamp_ms`, `eta`, `elapsed` (3.13 has them); its
`bins` follow its percentiles and are there, empty, without I/O. Options are those of a job file with a `[global]`
section. `eta` is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from esxparse_simulator.limits import need
from esxparse_simulator.writers import fio
from esxparse_simulator.writers.fio_latency import PERCENTILES, Moments, bin_middle, percentiles

Pairs = list[tuple[str, Any]]
"""An object."""


def _written(value: Any, level: int = 0) -> Iterator[str]:
    """A value as fio's json.c writes it: pairs in a list are an object, values in a tuple an array."""
    inside, end = "  " * (level + 1), "\n" + "  " * level
    if isinstance(value, list):
        yield "{\n"
        for place, (name, inner) in enumerate(value):
            yield (",\n" if place else "") + f'{inside}"{name}" : '
            yield from _written(inner, level + 1)
        yield end + "}"
    elif isinstance(value, tuple):
        yield "[\n"
        for place, inner in enumerate(value):
            yield (",\n" if place else "") + inside
            yield from _written(inner, level + 1)
        yield end + "]"
    elif isinstance(value, float):
        yield f"{value:.6f}"
    elif isinstance(value, str):
        yield '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    else:
        yield str(value)


def _latency(moments: Moments) -> Pairs:
    values = (moments.minimum, moments.maximum, moments.mean, moments.stddev)
    return list(zip(("min", "max", "mean", "stddev"), values, strict=True))


def _spread(bins: Mapping[int, int], *, plus: bool) -> Pairs:
    """Percentiles and bins of a latency."""
    listed: Pairs = [(f"{name:f}", value) for name, value in zip(PERCENTILES, percentiles(bins), strict=True)]
    counted: Pairs = [(str(bin_middle(index)), count) for index, count in bins.items()]
    return [("percentile", listed), *([("bins", counted)] if plus else [])]


def _direction(one: fio.Counts, agg_pct: float, *, plus: bool) -> Pairs:
    rate, runtime, kib, iops = one.bytes_per_s, one.runtime_ms, one.kib_per_s, one.iops
    return [
        ("io_bytes", one.total_bytes),
        ("io_kbytes", one.total_bytes >> 10),
        ("bw_bytes", rate),
        ("bw", rate // 1024),
        ("iops", 1000.0 * one.ios / runtime if runtime else 0.0),
        ("runtime", runtime),
        ("total_ios", one.ios),
        *zip(("short_ios", "drop_ios"), (0, 0), strict=True),
        ("slat_ns", _latency(one.slat)),
        ("clat_ns", _latency(one.clat) + _spread(dict(one.bins), plus=plus)),
        ("lat_ns", _latency(one.lat)),
        *zip(("bw_min", "bw_max", "bw_agg"), (kib.minimum, kib.maximum, agg_pct), strict=True),
        *zip(("bw_mean", "bw_dev", "bw_samples"), (kib.mean, kib.stddev, kib.samples), strict=True),
        *zip(("iops_min", "iops_max", "iops_mean"), (iops.minimum, iops.maximum, iops.mean), strict=True),
        *zip(("iops_stddev", "iops_samples"), (iops.stddev, iops.samples), strict=True),
    ]


def _job(run: fio.FioRun, row: fio.Row, parts: Sequence[float], *, plus: bool) -> Pairs:
    elapsed = int(run.measured.ramp_s + run.measured.seconds) + 1
    user, system = row.cpu_pct
    directions = zip(fio.DIRECTIONS, row.directions, parts, strict=True)
    return [
        ("jobname", row.name),
        *zip(("groupid", "error", "eta", "elapsed"), (0, 0, 0, elapsed), strict=True),
        ("job options", list(row.options)),
        *((name, _direction(one, share, plus=plus)) for name, one, share in directions),
        ("sync", [("lat_ns", _latency(Moments()) + _spread({}, plus=plus)), ("total_ios", 0)]),
        *zip(("usr_cpu", "sys_cpu", "ctx"), (user, system, row.switches), strict=True),
        *zip(("majf", "minf"), (0, row.minor_faults), strict=True),
        ("iodepth_level", list(zip(fio.LEVELS, fio.shares(row.depths, 0.1), strict=True))),
        ("latency_ns", list(zip(fio.STEPS, row.coarse(0, 10), strict=True))),
        ("latency_us", list(zip(fio.STEPS, row.coarse(10, 20), strict=True))),
        ("latency_ms", list(zip((*fio.STEPS, "2000", ">=2000"), row.coarse(20, 32), strict=True))),
        ("latency_depth", run.measured.access.outstanding),
        *zip(("latency_target", "latency_percentile", "latency_window"), (0, 100.0, 0), strict=True),
    ]


def _disk(disk: fio.Disk) -> Pairs:
    counters: Pairs = []
    for name, pair in (("ios", disk.ios), ("merges", (0, 0)), ("ticks", disk.ticks)):
        counters += [(f"read_{name}", pair[0]), (f"write_{name}", pair[1])]
    return [("name", disk.name), *counters, ("in_queue", sum(disk.ticks)), ("util", disk.util)]


def _head(run: fio.FioRun) -> Pairs:
    access, measured = run.measured.access, run.measured
    options: Pairs = [
        ("ioengine", run.ioengine),
        ("direct", "1"),
        ("bs", fio.block(access.block_bytes)),
        ("iodepth", str(access.outstanding)),
        ("time_based", "1"),
        ("runtime", f"{measured.seconds:g}"),
    ]
    options += [("ramp_time", f"{measured.ramp_s:g}")] if measured.ramp_s else []
    options += [("group_reporting", "1")] if run.group_reporting else []
    return [
        ("fio version", run.version),
        ("timestamp", int(run.end.timestamp())),
        ("timestamp_ms", int(run.end.timestamp() * 1000.0 + 0.5)),
        ("time", run.end.ctime()),
        ("global options", options),
    ]


def text(run: fio.FioRun, *, plus: bool = False) -> str:
    """The document that fio prints; with `plus` as `json+`, with the bins of its histograms."""
    need(run.modern, f"{run.version} is written as normal output only: take form normal, or fio-3.7")
    found = fio.rows(run)
    parts = fio.of_group(run, found)
    document = _head(run)
    document.append(("jobs", tuple(_job(run, row, own, plus=plus) for row, own in zip(found, parts, strict=True))))
    document.append(("disk_util", tuple(_disk(disk) for disk in fio.disks(run))))
    return "".join(_written(document)) + "\n"
