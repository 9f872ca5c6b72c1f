"""fio's `--output-format=json` and `json+`: 2.1.3 (JSON only), 3.7, 3.28, 3.33, 3.36.

What the versions differ in
---------------------------
2.1.3   KiB, microseconds, whole IOPS, two decimals; percentiles filled up with `0.00` to 20; no time, no options
3.x     bytes, nanoseconds, six decimals; percentiles of `clat`
3.7     no `N`, no `job_runtime`, no depths of submission and completion; percentiles (and bins) also of what did
        nothing; `sync` has its latency before its count
3.36    `job_start`; sectors of disks

Evidence: `show_thread_status_json`, `add_ddir_status_json`, `add_ddir_lat_json`, `json_array_add_disk_util`,
`__show_run_stats` of stat.c and json.c of fio 2.1, 3.2x, 3.33 and later; outputs of 2.1.4, 2.15, 3.7 (client), 3.13,
3.19, 3.26, 3.28; a run of 3.33 has the same keys in the same order.
Assumptions: 3.7 alone differs from its client mode by `timestamp_ms`, `eta`, `elapsed` (2.15 and 3.13 have them); its
`bins` follow its percentiles and are there, empty, without I/O. Options are those of a job file with a `[global]`
section. `eta` is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.fio_latency import PERCENTILES, Moments, bin_middle, percentiles
from esxparse_simulator.writers.fio_rows import DIRECTIONS, Counts, Row, disks, rows
from esxparse_simulator.writers.fio_words import block, ctime, of_group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from esxparse_simulator.writers.fio_run import Disk, FioRun

__all__ = ["text"]

_STEPS = ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000")
_LEVELS = ("1", "2", "4", "8", "16", "32", ">=64")
_BATCHES = ("0", "4", "8", "16", "32", "64", ">=64")
_LIST = 20
"""Percentiles that fio has room for."""

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


def _latency(moments: Moments, *, samples: bool) -> Pairs:
    pairs: Pairs = [
        ("min", moments.minimum),
        ("max", moments.maximum),
        ("mean", moments.mean),
        ("stddev", moments.stddev),
    ]
    return [*pairs, ("N", moments.samples)] if samples else pairs


def _spread(run: FioRun, bins: Mapping[int, int], *, plus: bool) -> Pairs:
    """Percentiles and bins of a latency."""
    if not bins and run.release >= (3, 8):
        return []
    listed: Pairs = [(f"{name:f}", value) for name, value in zip(PERCENTILES, percentiles(bins), strict=True)]
    if not run.modern:
        listed += [("0.00", 0)] * (_LIST - len(PERCENTILES))
    counted: Pairs = [(str(bin_middle(index)), count) for index, count in bins.items()]
    return [("percentile", listed), *([("bins", counted)] if plus else [])]


def _rates(moments: Moments, agg_pct: float, run: FioRun) -> Pairs:
    pairs: Pairs = [
        ("bw_min", moments.minimum),
        ("bw_max", moments.maximum),
        ("bw_agg", agg_pct),
        ("bw_mean", moments.mean),
        ("bw_dev", moments.stddev),
    ]
    return [*pairs, ("bw_samples", moments.samples)] if run.modern else pairs


def _direction(run: FioRun, one: Counts, agg_pct: float, *, plus: bool) -> Pairs:
    rate = one.bytes_per_s
    runtime = one.runtime_ms
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
        traffic = [
            ("io_bytes", one.total_bytes >> 10),
            ("bw", rate // 1024),
            ("iops", 1000 * one.ios // runtime if runtime else 0),
            ("runtime", runtime),
        ]
    end, samples = ("_ns", run.release >= (3, 8)) if run.modern else ("", False)
    found = [
        *traffic,
        (f"slat{end}", _latency(one.slat, samples=samples)),
        (f"clat{end}", _latency(one.clat, samples=samples) + _spread(run, dict(one.bins), plus=plus)),
        (f"lat{end}", _latency(one.lat, samples=samples)),
        *_rates(one.kib_per_s, agg_pct, run),
    ]
    if run.modern:
        found += [
            ("iops_min", one.iops.minimum),
            ("iops_max", one.iops.maximum),
            ("iops_mean", one.iops.mean),
            ("iops_stddev", one.iops.stddev),
            ("iops_samples", one.iops.samples),
        ]
    return found


def _sync(run: FioRun, *, plus: bool) -> Pairs:
    if run.release >= (3, 8):
        return [("total_ios", 0), ("lat_ns", _latency(Moments(), samples=True))]
    return [("lat_ns", _latency(Moments(), samples=False) + _spread(run, {}, plus=plus)), ("total_ios", 0)]


def _shares(names: Sequence[str], values: Sequence[float]) -> Pairs:
    return list(zip(names, values, strict=True))


def _after(run: FioRun, row: Row) -> Pairs:
    """What stands after the directions."""
    user, system = row.cpu_pct
    recent = run.release >= (3, 8)
    found: Pairs = [("job_runtime", row.run_ms)] if recent else []
    found += [
        ("usr_cpu", user),
        ("sys_cpu", system),
        ("ctx", row.switches),
        ("majf", row.major_faults),
        ("minf", row.minor_faults),
        ("iodepth_level", _shares(_LEVELS, row.share(row.depths, 0.1))),
    ]
    if recent:
        submitted = (0, row.ios, 0, 0, 0, 0, 0)
        found += [
            ("iodepth_submit", _shares(_BATCHES, row.share(submitted, 0.1))),
            ("iodepth_complete", _shares(_BATCHES, row.share(row.completed, 0.1))),
        ]
    if run.modern:
        found.append(("latency_ns", _shares(_STEPS, row.coarse(0, 10))))
    found += [
        ("latency_us", _shares(_STEPS, row.coarse(10, 20))),
        ("latency_ms", _shares((*_STEPS, "2000", ">=2000"), row.coarse(20, 32))),
    ]
    if run.modern:
        found += [
            ("latency_depth", run.measured.access.outstanding),
            ("latency_target", 0),
            ("latency_percentile", 100.0),
            ("latency_window", 0),
        ]
    return found


def _job(run: FioRun, row: Row, shares: Sequence[float], *, plus: bool) -> Pairs:
    found: Pairs = [("jobname", row.name), ("groupid", 0)]
    if run.release >= (3, 36):
        began = run.end.timestamp() * 1000.0 - run.runtime_ms
        found.append(("job_start", int(began + 0.5)))
    found.append(("error", 0))
    if run.modern:
        found += [
            ("eta", 0),
            ("elapsed", int(run.measured.ramp_s + run.measured.seconds) + 1),
            ("job options", list(row.options)),
        ]
    found += [
        (name, _direction(run, one, share, plus=plus))
        for name, one, share in zip(DIRECTIONS, row.directions, shares, strict=True)
    ]
    if run.modern:
        found.append(("sync", _sync(run, plus=plus)))
    return found + _after(run, row)


def _disk(run: FioRun, disk: Disk) -> Pairs:
    both = ("read", "write")
    counters: list[tuple[str, tuple[int, int]]] = [("ios", disk.ios)]
    if run.release >= (3, 36):
        counters.append(("sectors", disk.sectors))
    counters += [("merges", disk.merges), ("ticks", disk.ticks)]
    return [
        ("name", disk.name),
        *((f"{side}_{name}", value) for name, pair in counters for side, value in zip(both, pair, strict=True)),
        ("in_queue", disk.in_queue),
        ("util", disk.util),
    ]


def _head(run: FioRun) -> Pairs:
    if not run.modern:
        return [("fio version", run.version)]
    access, measured = run.measured.access, run.measured
    ramp: Pairs = [("ramp_time", f"{measured.ramp_s:g}")] if measured.ramp_s else []
    together: Pairs = [("group_reporting", "1")] if run.group_reporting else []
    return [
        ("fio version", run.version),
        ("timestamp", int(run.end.timestamp())),
        ("timestamp_ms", int(run.end.timestamp() * 1000.0 + 0.5)),
        ("time", ctime(run.end)),
        (
            "global options",
            [
                ("ioengine", run.ioengine),
                ("direct", "1"),
                ("bs", block(access.block_bytes)),
                ("iodepth", str(access.outstanding)),
                ("time_based", "1"),
                ("runtime", f"{measured.seconds:g}"),
                *ramp,
                *together,
            ],
        ),
    ]


def text(run: FioRun, *, plus: bool = False) -> str:
    """The document that fio prints; with `plus` as `json+`, with the bins of its histograms.

    Raises:
        EsxparseError: No fio can have measured that, or JSON+ was asked of a version that has none.
    """
    if plus and not run.modern:
        msg = f"{run.version} has no JSON+: leave out plus, or take a version from fio-3.7 on"
        raise EsxparseError(msg)
    found = rows(run)
    shares = of_group(run, found)
    document = _head(run)
    document.append(("jobs", tuple(_job(run, row, own, plus=plus) for row, own in zip(found, shares, strict=True))))
    if shown := disks(run):
        document.append(("disk_util", tuple(_disk(run, disk) for disk in shown)))
    return "".join(_written(document, 0, 6 if run.modern else 2)) + "\n"
