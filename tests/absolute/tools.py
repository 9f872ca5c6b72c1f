"""Numbers that load generators and meters printed, from their raw files."""

from __future__ import annotations

import bz2
import csv
import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MIB = 2**20 / 10**6


def _text(path: Path) -> str:
    return (bz2.decompress(path.read_bytes()) if path.suffix == ".bz2" else path.read_bytes()).decode()


def iometer(path: Path, test: str, wrong: str = "") -> dict:
    """The row ALL of a test, and its span: as long as it ran, before the time stamp that follows it."""
    lines = list(csv.reader(_text(path).splitlines()))
    names: list[str] = []
    every = manager = None
    for at, line in enumerate(lines):
        if line[:1] == ["'Target Type"]:
            names = line
        elif line[:1] == ["ALL"] and (not test or line[2] == test):
            every = dict(zip(names, line, strict=False))
        elif line[:1] == ["MANAGER"] and (not test or line[2] == test):
            manager = dict(zip(names, line, strict=False))
        elif line[:1] == ["'Time Stamp"] and every:
            end = datetime.strptime(lines[at + 1][0][:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
            break
    ran = float(manager["Total Raw Run Time"]) / float(manager["Processor Speed"])
    if "MBps (Decimal)" in every:
        read, written = (float(every[f"{way} MBps (Decimal)"]) for way in ("Read", "Write"))
        if wrong == "MiB for MB":
            read, written = read / MIB, written / MIB
    else:
        # Up to 2006 one MBps is 2**20 bytes.
        mega = 1.0 if wrong == "MiB for MB" else MIB
        read, written = (float(every[f"{way} MBps"]) * mega for way in ("Read", "Write"))
    return {
        "span": (end - timedelta(seconds=ran), end),
        "read_iops": float(every["Read IOps"]),
        "write_iops": float(every["Write IOps"]),
        "read_mb_per_s": read,
        "write_mb_per_s": written,
        "read_latency_mean_ms": float(every["Average Read Response Time"]),
        "write_latency_mean_ms": float(every["Average Write Response Time"]),
    }


def fio(path: Path, wrong: str = "") -> dict:
    """All jobs of one JSON of fio, and the span: as long as they ran, up to its time stamp."""
    document = json.loads(_text(path))
    end = datetime.fromtimestamp(document["timestamp"], UTC)
    found: dict = {}
    ran = 0
    for way in ("read", "write"):
        sides = [job[way] for job in document["jobs"]]
        ios = sum(side["total_ios"] for side in sides)
        ran = max([ran, *(side["runtime"] for side in sides)])
        found[f"{way}_iops"] = sum(side["iops"] for side in sides)
        rate = sum(side["bw_bytes"] for side in sides)
        found[f"{way}_mb_per_s"] = rate / (2**20 if wrong == "MiB for MB" else 10**6)
        waited = sum(side["lat_ns"]["mean"] * side["total_ios"] for side in sides)
        found[f"{way}_latency_mean_ms"] = waited / ios / 1e6 if ios else 0.0
    return found | {"span": (end - timedelta(milliseconds=ran), end)}


def together(parts: list[dict], wrong: str = "") -> dict:
    """Several hosts at once: rates added, latencies weighted by I/Os."""
    found: dict = {"span": parts[0]["span"]}
    for name in ("read_iops", "write_iops", "read_mb_per_s", "write_mb_per_s"):
        found[name] = sum(part[name] for part in parts)
    waited = {
        way: sum(part[f"{way}_latency_mean_ms"] * part[f"{way}_iops"] for part in parts) for way in ("read", "write")
    }
    found["iops"] = found["read_iops"] + found["write_iops"]
    found["mb_per_s"] = found["read_mb_per_s"] + found["write_mb_per_s"]
    if found["iops"]:
        found["latency_mean_ms"] = sum(waited.values()) / found["iops"]
        if wrong == "unweighted latency":
            both = [part[f"{way}_latency_mean_ms"] for part in parts for way in waited if part[f"{way}_iops"]]
            found["latency_mean_ms"] = sum(both) / len(both)
    return found


def ribcl_watts(path: Path) -> float:
    """The mean of the readings of a poll of iLO."""
    readings = [float(one) for one in re.findall(r'PRESENT_POWER_READING\s+VALUE\s*=\s*"([\d.]+)"', _text(path))]
    return sum(readings) / len(readings)


def results(paths: list[Path]) -> list[float]:
    """Every number of lists of results, sorted: cells of columns with a unit, else of the last column."""
    found = []
    for path in paths:
        header, *rows = csv.reader(line for line in _text(path).splitlines() if not line.startswith("#"))
        places = [place for place, name in enumerate(header) if "[" in name] or [len(header) - 1]
        found += [float(row[place]) for row in rows for place in places if row[place]]
    return sorted(found)


PRINTED = {
    "linpack": r"^\d+ +\d+ +\d+ +[\d.]+ +([\d.]+) ",
    "stream": r"^(?:Copy|Scale|Add|Triad): +([\d.]+)",
    "netperf": r"^ *\d+ +\d+ +\d+ .*?([\d.]+) *$",
    "redis_benchmark": r"^ *([\d.]+) requests per second",
}


def printed(path: Path, role: str) -> list[float]:
    """The rates that a benchmark printed."""
    return [float(rate) for rate in re.findall(PRINTED[role], _text(path).replace("\r", "\n"), re.MULTILINE)]


def fio_text(path: Path) -> dict:
    """I/Os per second by direction, as fio's normal output prints them."""
    rates = re.findall(r"^  (read |write) ?:.*iops=(\d+)", _text(path), re.MULTILINE)
    return {f"{way.strip()}_iops": float(rate) for way, rate in rates}


def perf(path: Path) -> dict:
    """Misses that perf stat counted, and the seconds it took."""
    counts = re.findall(r"^ +([\d,]+) +([\w-]+)", _text(path), re.MULTILINE)
    misses = {event: float(count.replace(",", "")) for count, event in counts}
    elapsed = re.search(r"([\d.]+) +seconds time elapsed", _text(path))
    return {"elapsed_s": float(elapsed[1]), "tlb_misses_load": misses.get("dTLB-load-misses")}


def vmkperf(path: Path, pcpu: str) -> dict:
    """TLB misses of a PCPU per second: the mean over polls."""
    polls = [line.split() for line in _text(path).splitlines() if re.match(r"[\d.]+ [\d.]+ ", line)]
    return {"tlb_miss_load_per_s": sum(float(poll[int(pcpu)]) for poll in polls) / len(polls)}
