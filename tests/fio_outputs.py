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


def terse_direction(ios: int) -> list[str]:
    """The fields of one direction of a terse line."""
    total = [str(ios * 4), str(ios * 2), str(ios // 2), "2000" if ios else "0"]
    slat, clat, lat = (
        [str(low), str(low * 20), f"{low * 2:f}", f"{low / 2:f}"] if ios else ["0", "0", "0.000000", "0.000000"]
        for low in (3, 50, 53)
    )
    listed = [f"{share:f}%={int(share)}" for share in PERCENTILES] if ios else []
    listed += ["0%=0"] * (20 - len(listed))
    samples = [str(ios), str(ios * 3), "99.500000%", f"{ios * 2:f}", "7.000000"]
    return [*total, *slat, *clat, *listed, *lat, *samples]


def terse(name: str, blocks: list[list[str]], *, version: int = 3, tail: str = "") -> str:
    """A terse line of these blocks."""
    head = [str(version), *(["fio-3.30"] if version > 2 else []), name, "0", "0"]
    depths = ["0.1%", "99.9%", *["0.0%"] * 5]
    shares = ["0.00%", "1.50%", *["0.00%"] * 8, "98.49%", *["0.00%"] * 10, "0.01%"]
    fields = [*head, *(field for block in blocks for field in block), "1.500000%", "4.250000%", "311", "1", "17"]
    return ";".join([*fields, *depths, *shares]) + tail
