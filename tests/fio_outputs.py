"""Outputs of fio composed for tests: numbers in, text as one release or the other prints it."""

from __future__ import annotations

import json
from typing import Any

PERCENTILES = (1.0, 50.0, 95.0, 99.0, 99.9)


def latency(mean: int, *, new: bool = True, percentiles: bool = False, bins: dict[int, int] | None = None) -> dict:
    """Statistics around a mean, in the unit of the release."""
    found: dict[str, Any] = {"min": mean // 2, "max": mean * 9, "mean": float(mean), "stddev": mean / 8}
    if new:
        found["N"] = 1000 if mean else 0
    if percentiles:
        found["percentile"] = {f"{share:f}": int(mean * share / 50) for share in PERCENTILES}
    if bins:
        found["bins"] = {str(middle): count for middle, count in bins.items()}
    return found


def direction(
    ios: int = 0, *, size: int = 4096, msec: int = 2000, new: bool = True, mean: int = 80_000, **more: Any
) -> dict:
    """What fio writes of one direction."""
    total = ios * size
    per_second = total * 1000 // msec
    mean = mean if ios else 0
    end = "_ns" if new else ""
    stats: dict[str, Any] = {
        "io_bytes": total if new else total // 1024,
        **({"io_kbytes": total // 1024, "bw_bytes": per_second} if new else {}),
        "bw": per_second // 1024,
        "iops": ios * 1000 / msec,
        "runtime": msec if ios else 0,
        **({"total_ios": ios, "short_ios": 0, "drop_ios": 0} if new else {}),
        f"slat{end}": latency(mean // 10, new=new),
        f"clat{end}": latency(mean, new=new, percentiles=bool(ios), **more),
        f"lat{end}": latency(mean + mean // 10, new=new),
        "bw_min": per_second // 2048,
        "bw_max": per_second // 512,
        "bw_agg": 100.0,
        "bw_mean": per_second / 1024,
        "bw_dev": 12.5,
    }
    if new:
        stats |= {"iops_min": ios // 4, "iops_max": ios, "iops_mean": ios / 2, "iops_stddev": 3.5}
        stats |= {"bw_samples": 4 if ios else 0, "iops_samples": 4 if ios else 0}
    return stats


def job(
    name: str = "bench", *, new: bool = True, error: int = 0, options: dict[str, str] | None = None, **dirs: dict
) -> dict:
    """What fio writes of one job; `dirs` are its directions."""
    given = (
        {one: dirs.get(one) or direction(new=new) for one in ("read", "write", "trim")} if "mixed" not in dirs else dirs
    )
    return {
        "jobname": name,
        "groupid": 0,
        "error": error,
        **({"job options": options} if options is not None else {}),
        **given,
        **({"sync": dirs["sync"]} if "sync" in dirs else {}),
        "usr_cpu": 1.5,
        "sys_cpu": 4.25,
        "ctx": 311,
        "majf": 1,
        "minf": 17,
        "iodepth_level": {"1": 0.1, "2": 0.0, ">=64": 99.9},
        **({"latency_ns": {"750": 0.0, "1000": 1.5}} if new else {}),
        "latency_us": {"2": 2.5, "4": 96.0},
        "latency_ms": {"2": 0.0, ">=2000": 0.01},
    }


def document(*jobs: dict, release: str = "fio-3.36", key: str = "jobs", **more: Any) -> str:
    """A document with the blanks that fio writes."""
    facts = {"fio version": release, "timestamp": 1772870400, "timestamp_ms": 1772870400250, **more}
    disk = {"name": "sdq", "read_ios": 7, "write_ios": 9, "read_merges": 0, "write_merges": 1, "read_ticks": 3}
    whole = {**facts, key: list(jobs), "disk_util": [{**disk, "write_ticks": 4, "in_queue": 6, "util": 12.5}]}
    return json.dumps(whole, indent=2, separators=(",", " : ")) + "\n"


def timed(*jobs: tuple[str, int, float, int, int, int], begin: int = 1_770_000_000, **more: Any) -> str:
    """A document of jobs that only read: name, group, second at which it began, seconds it ran, IOPS, iodepth."""
    made = []
    for name, group, after, seconds, iops, depth in jobs:
        options = {"name": name, "rw": "randread", "bs": "4k", "iodepth": str(depth), "ioengine": "libaio"}
        reads = direction(iops * seconds, msec=seconds * 1000, mean=1_000_000 + iops)
        start = int((begin + after) * 1000)
        made.append(job(name, options=options, read=reads) | {"groupid": group, "job_start": start})
    end = begin + max(after + seconds for _, _, after, seconds, _, _ in jobs)
    return document(*made, timestamp=int(end), timestamp_ms=int(end * 1000), **more)


def terse_direction(ios: int, *, version: int = 3, iops: bool = True, percentiles: bool = True) -> list[str]:
    """The fields of one direction of a terse line."""
    total = [str(ios * 4), str(ios * 2), *([str(ios // 2)] if iops else []), "2000" if ios else "0"]
    slat, clat, lat = (
        [str(low), str(low * 20), f"{low * 2:f}", f"{low / 2:f}"] if ios else ["0", "0", "0.000000", "0.000000"]
        for low in (3, 50, 53)
    )
    listed = [f"{share:f}%={int(share)}" for share in PERCENTILES] if ios else []
    listed = [*listed, *["0%=0"] * (20 - len(listed))] if percentiles else []
    samples = [str(ios), str(ios * 3), "99.500000%", f"{ios * 2:f}", "7.000000"]
    extra = ["4", str(ios // 4), str(ios), f"{ios / 2:f}", "1.500000", "4"] if version == 5 else []
    return [*total, *slat, *clat, *listed, *lat, *samples, *extra]


def terse(name: str, blocks: list[list[str]], *, version: int = 3, tail: str = "", release: str = "fio-3.30") -> str:
    """A terse line of these blocks."""
    head = [str(version), *([release] if version > 2 else []), name, "0", "0"]
    depths = ["0.1%", "99.9%", *["0.0%"] * 5]
    shares = ["0.00%", "1.50%", *["0.00%"] * 8, "98.49%", *["0.00%"] * 10, "0.01%"]
    fields = [*head, *(field for block in blocks for field in block), "1.500000%", "4.250000%", "311", "1", "17"]
    return ";".join([*fields, *depths, *shares]) + tail


NORMAL_2 = """\
log: (g=0): rw=randrw, bs=8K-8K/4K-4K/8K-8K, ioengine=libaio, iodepth=16
...
fio-2.1.9
Starting 3 processes

log: (groupid=0, jobs=3): err= 5 (file:io_u.c:1603, func=u, error=Input/output error): pid=81: Tue Mar  3 01:02:03 2015
  read : io=81920KB, bw=20480KB/s, iops=2560, runt=  4000msec
    slat (usec): min=2, max=905, avg= 6.50, stdev= 3.25
    clat (msec): min=1, max=1843, avg=11.25, stdev=20.50
     lat (msec): min=1, max=1844, avg=11.50, stdev=20.50
    clat percentiles (msec):
     |  1.00th=[    2],  5.00th=[    3], 10.00th=[    4], 50.00th=[   10],
     | 95.00th=[   25], 99.00th=[   91], 99.90th=[  255], 99.99th=[ 1844]
    bw (KB  /s): min=    7, max=40960, per=33.33%, avg=20400.50, stdev=100.25
  write: io=1024.0MB, bw=256.00MB/s, iops=65.5K, runt=  4000msec
    clat (usec): min=40, max=12.3k, avg=150.00, stdev=30.00
     lat (usec): min=41, max=12.3k, avg=151.00, stdev=30.00
    bw (MB  /s): min=  100, max=  300, per=100.00%, avg=256.00, stdev=10.00
    lat (usec) : 50=0.50%, 100=10.00%, 250=80.00%
    lat (msec) : 2=9.00%, >=2000=0.50%
  cpu          : usr=1.50%, sys=4.25%, ctx=311, majf=1, minf=17
  IO depths    : 1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=99.6%, 32=0.0%, >=64=0.0%
     submit    : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
     complete  : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
     issued    : total=r=10240/w=262144/d=0, short=r=1/w=2/d=0, drop=r=0/w=3/d=0
     errors    : total=12, first_error=5/<Input/output error>
     latency   : target=0, window=0, percentile=100.00%, depth=16

Run status group 0 (all jobs):
   READ: io=81920KB, aggrb=20480KB/s, minb=20480KB/s, maxb=20480KB/s, mint=4000msec, maxt=4000msec
  WRITE: io=1024.0MB, aggrb=256.00MB/s, minb=256.00MB/s, maxb=256.00MB/s, mint=4000msec, maxt=4001msec

Disk stats (read/write):
    dm-3: ios=7/9, merge=0/1, ticks=3/4, in_queue=6, util=12.50%, aggrios=5/6, aggrmerge=1/2, aggrticks=3/4, \
aggrin_queue=8, aggrutil=50.00%
  sdq: ios=5/6, merge=1/2, ticks=3/4, in_queue=8, util=50.00%
"""
