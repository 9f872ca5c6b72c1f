"""fio's `--output-format=json` and `json+` of 2.1.3 (JSON only) and 3.7.

2.1.3   KiB, microseconds, whole IOPS, two decimals; percentiles filled up with `0.00` to 20; no time, no options
3.7     bytes, nanoseconds, six decimals; percentiles (and bins) also of what did nothing

Evidence: `show_thread_status_json`, `add_ddir_status_json`, `add_ddir_lat_json`, `json_array_add_disk_util`,
`__show_run_stats` of stat.c and json.c of fio 2.1, 3.2x, 3.33; outputs of 2.1.4, 2.15, 3.7 (client), 3.13.
Assumptions: 3.7 alone differs from its client mode by `timestamp_ms`, `eta`, `elapsed` (2.15 and 3.13 have them); its
`bins` follow its percentiles and are there, empty, without I/O. Options are those of a job file with a `[global]`
section. `eta` is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from esxparse_simulator.limits import need
from esxparse_simulator.writers.fio import DIRECTIONS, LEVELS, STEPS, Counts, Row, block, disks, of_group, rows, shares
from esxparse_simulator.writers.fio_latency import PERCENTILES, Moments, bin_middle, percentiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from esxparse_simulator.writers.fio import Disk, FioRun

Pairs = list[tuple[str, Any]]
"""An object: fio 2 writes one key several times."""


def _written(value: Any, level: int, decimals: int) -> Iterator[str]:
    """A value as fio's json.c writes it: pairs in a list are an object, values in a tuple an array."""
    inside, end = "  " * (level + 1), "\n" + "  " * level
    if isinstance(value, list):
        yield "{\n"
        for place, (name, inner) in enumerate(value):
            yield (",\n" if place else "") + f'{inside}"{name}" : '
            yield from _written(inner, level + 1, decimals)
        yield end + "}"
    elif isinstance(value, tuple):
        yield "[\n"
        for place, inner in enumerate(value):
            yield (",\n" if place else "") + inside
            yield from _written(inner, level + 1, decimals)
        yield end + "]"
    elif isinstance(value, float):
        yield f"{value:.{decimals}f}"
    elif isinstance(value, str):
        yield '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    else:
        yield str(value)


def _latency(moments: Moments) -> Pairs:
    values = (moments.minimum, moments.maximum, moments.mean, moments.stddev)
    return list(zip(("min", "max", "mean", "stddev"), values, strict=True))


def _spread(run: FioRun, bins: Mapping[int, int], *, plus: bool) -> Pairs:
    """Percentiles and bins of a latency."""
    listed: Pairs = [(f"{name:f}", value) for name, value in zip(PERCENTILES, percentiles(bins), strict=True)]
    if not run.modern:
        listed += [("0.00", 0)] * (20 - len(PERCENTILES))
    counted: Pairs = [(str(bin_middle(index)), count) for index, count in bins.items()]
    return [("percentile", listed), *([("bins", counted)] if plus else [])]


def _direction(run: FioRun, one: Counts, agg_pct: float, *, plus: bool) -> Pairs:
    rate, runtime, end = one.bytes_per_s, one.runtime_ms, "_ns" if run.modern else ""
    if run.modern:
        traffic: Pairs = [
            ("io_bytes", one.total_bytes),
            ("io_kbytes", one.total_bytes >> 10),
            ("bw_bytes", rate),
            ("bw", rate // 1024),
            ("iops", 1000.0 * one.ios / runtime if runtime else 0.0),
            ("runtime", runtime),
            ("total_ios", one.ios),
            ("short_ios", 0),
            ("drop_ios", 0),
        ]
    else:
        iops = 1000 * one.ios // runtime if runtime else 0
        traffic = [("io_bytes", one.total_bytes >> 10), ("bw", rate // 1024), ("iops", iops), ("runtime", runtime)]
    found = [
        *traffic,
        (f"slat{end}", _latency(one.slat)),
        (f"clat{end}", _latency(one.clat) + _spread(run, dict(one.bins), plus=plus)),
        (f"lat{end}", _latency(one.lat)),
        ("bw_min", one.kib_per_s.minimum),
        ("bw_max", one.kib_per_s.maximum),
        ("bw_agg", agg_pct),
        ("bw_mean", one.kib_per_s.mean),
        ("bw_dev", one.kib_per_s.stddev),
    ]
    if run.modern:
        found += [
            ("bw_samples", one.kib_per_s.samples),
            ("iops_min", one.iops.minimum),
            ("iops_max", one.iops.maximum),
            ("iops_mean", one.iops.mean),
            ("iops_stddev", one.iops.stddev),
            ("iops_samples", one.iops.samples),
        ]
    return found


def _job(run: FioRun, row: Row, parts: Sequence[float], *, plus: bool) -> Pairs:
    found: Pairs = [("jobname", row.name), ("groupid", 0), ("error", 0)]
    if run.modern:
        elapsed = int(run.measured.ramp_s + run.measured.seconds) + 1
        found += [("eta", 0), ("elapsed", elapsed), ("job options", list(row.options))]
    for name, one, share in zip(DIRECTIONS, row.directions, parts, strict=True):
        found.append((name, _direction(run, one, share, plus=plus)))
    if run.modern:
        found.append(("sync", [("lat_ns", _latency(Moments()) + _spread(run, {}, plus=plus)), ("total_ios", 0)]))
    user, system = row.cpu_pct
    found += [
        ("usr_cpu", user),
        ("sys_cpu", system),
        ("ctx", row.switches),
        ("majf", 0),
        ("minf", row.minor_faults),
        ("iodepth_level", list(zip(LEVELS, shares(row.depths, 0.1), strict=True))),
    ]
    if run.modern:
        found.append(("latency_ns", list(zip(STEPS, row.coarse(0, 10), strict=True))))
    found += [
        ("latency_us", list(zip(STEPS, row.coarse(10, 20), strict=True))),
        ("latency_ms", list(zip((*STEPS, "2000", ">=2000"), row.coarse(20, 32), strict=True))),
    ]
    if run.modern:
        found += [
            ("latency_depth", run.measured.access.outstanding),
            ("latency_target", 0),
            ("latency_percentile", 100.0),
            ("latency_window", 0),
        ]
    return found


def _disk(disk: Disk) -> Pairs:
    counters: Pairs = []
    for name, pair in (("ios", disk.ios), ("merges", (0, 0)), ("ticks", disk.ticks)):
        counters += [(f"read_{name}", pair[0]), (f"write_{name}", pair[1])]
    return [("name", disk.name), *counters, ("in_queue", sum(disk.ticks)), ("util", disk.util)]


def _head(run: FioRun) -> Pairs:
    if not run.modern:
        return [("fio version", run.version)]
    access, measured = run.measured.access, run.measured
    options: Pairs = [
        ("ioengine", run.ioengine),
        ("direct", "1"),
        ("bs", block(access.block_bytes)),
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


def text(run: FioRun, *, plus: bool = False) -> str:
    """The document that fio prints; with `plus` as `json+`, with the bins of its histograms."""
    need(run.modern or not plus, f"{run.version} has no JSON+: leave out plus, or take fio-3.7")
    found = rows(run)
    parts = of_group(run, found)
    document = _head(run)
    document.append(("jobs", tuple(_job(run, row, own, plus=plus) for row, own in zip(found, parts, strict=True))))
    document.append(("disk_util", tuple(_disk(disk) for disk in disks(run))))
    return "".join(_written(document, 0, 6 if run.modern else 2)) + "\n"
