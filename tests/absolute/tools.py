"""Numbers that load generators and meters printed, from their raw files."""

from __future__ import annotations

import bz2
import csv
import itertools
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
        "latency_max_ms": max(float(every[f"Maximum {way} Response Time"]) for way in ("Read", "Write")),
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
        highest = [found.get("latency_max_ms", 0.0), *(side["lat_ns"].get("max", 0) / 1e6 for side in sides)]
        found["latency_max_ms"] = max(highest)
    return found | {"span": (end - timedelta(milliseconds=ran), end)}


def together(parts: list[dict], wrong: str = "") -> dict:
    """Several hosts at once: rates added, latencies weighted by I/Os."""
    found: dict = {"span": parts[0]["span"], "latency_max_ms": max(part["latency_max_ms"] for part in parts)}
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


def ribcl_watts(path: Path, start: datetime, end: datetime) -> float:
    """The mean power of a poll of iLO from start to end: straight lines between its readings."""
    parts = re.findall(
        r'^Date: \w+, (.*) GMT\r?$|PRESENT_POWER_READING\s+VALUE\s*=\s*"([\d.]+)"', _text(path), re.MULTILINE
    )
    points, time = [], start
    for date, watts in parts:
        if date:
            time = datetime.strptime(date, "%d %b %Y %H:%M:%S").replace(tzinfo=UTC)
        else:
            points.append((time, float(watts)))
    joules = seconds = 0.0
    for (before, low), (after, high) in itertools.pairwise(points):
        left, right = max(before, start), min(after, end)
        if left < right:
            share = ((left - before) + (right - before)) / 2 / (after - before)
            covered = (right - left).total_seconds()
            joules += (low + (high - low) * share) * covered
            seconds += covered
    return joules / seconds


def results(paths: list[Path]) -> list[float]:
    """Every number of lists of results, sorted: cells of columns with a unit, else of the last column."""
    found = []
    for path in paths:
        header, *rows = csv.reader(line for line in _text(path).splitlines() if not line.startswith("#"))
        places = [place for place, name in enumerate(header) if "[" in name] or [len(header) - 1]
        found += [float(row[place]) for row in rows for place in places if row[place]]
    return sorted(found)


def listed(paths: list[Path]) -> list[dict]:
    """The rows of lists of results: benchmark, test, configuration, metric, value, unit."""
    found = []
    for path in paths:
        lines = _text(path).splitlines()
        about = dict(re.findall(r"^# (\w+): (.*)$", "\n".join(lines), re.MULTILINE))
        header, *rows = csv.reader(line for line in lines if not line.startswith("#"))
        measured = [name for name in header if "[" in name] or header[-1:]
        words = [name for name in header if name not in {*measured, "repetition", "time"}]
        for row in rows:
            cells = dict(zip(header, row, strict=True))
            for name in measured:
                head, _, unit = name.rstrip("]").partition(" [")
                if cells[name]:
                    found.append({
                        "benchmark": about.get("benchmark", "results"),
                        "test": cells[words[0]] if words else "",
                        "configuration": ", ".join(f"{one}={cells[one]}" for one in words[1:]),
                        "metric": head if unit else "value",
                        "unit": unit or name,
                        "value": float(cells[name]),
                        "time": cells.get("time"),
                        "better": _is_better(about, unit or name),
                    })  # fmt: skip
    return found


def _is_better(about: dict, unit: str) -> bool | None:
    """Whether higher is better: as the comment has it, else no for times, and yes for rates."""
    if "higher_is_better" in about:
        return about["higher_is_better"].lower() == "true"
    if unit in {"us", "ms", "s", "min"}:
        return False
    return True if re.search(r"/(s|sec|min|h)\b|^(iops|opm|tpm|tps|ops)$", unit) else None


def column(row: dict) -> str:
    """The column of `runs` that the figures of a benchmark are in."""
    unit = row["unit"].replace("%", "pct").replace("/", " per ")
    parts = (row[part] for part in ("benchmark", "test", "configuration", "metric"))
    return re.sub(r"\W+", "_", " ".join([*filter(None, parts), unit])).lower()


def columns(paths: list[Path]) -> dict[str, float]:
    """Means of the figures of a benchmark by the column they are in."""
    found: dict[str, list[float]] = {}
    for row in listed(paths):
        found.setdefault(column(row), []).append(row["value"])
    return means(found)


def means(found: dict[str, list[float]]) -> dict[str, float]:
    """The mean of each list."""
    return {name: sum(values) / len(values) for name, values in found.items()}


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
    """What fio's normal output prints of a group, by direction; latencies of both weighted by I/Os."""
    found: dict = {}
    for part in re.split(r"^(?=  (?:read |write) ?:)", _text(path), flags=re.MULTILINE)[1:]:
        way = part.split(":")[0].strip()
        rate, number = re.match(r".*?bw=([\d.]+)KB/s, iops=(\d+)", part).groups()
        scale, waited = re.search(r"^ +lat \((\w+)\):.*avg= *([\d.]+)", part, re.MULTILINE).groups()
        found[f"{way}_iops"], found[f"{way}_mb_per_s"] = float(number), float(rate) * 1024 / 1e6
        found[f"{way}_latency_mean_ms"] = float(waited) / {"msec": 1.0, "usec": 1e3}[scale]
        scale = re.search(r"clat percentiles \((\w+)\)", part)[1]
        found[f"{way}_p99_ms"] = float(re.search(r"99\.00th=\[ *(\d+)\]", part)[1]) / {"msec": 1.0, "usec": 1e3}[scale]
    ways = [way for way in ("read", "write") if f"{way}_iops" in found]
    found["iops"] = sum(found[f"{way}_iops"] for way in ways)
    found["mb_per_s"] = sum(found[f"{way}_mb_per_s"] for way in ways)
    waits = (found[f"{way}_latency_mean_ms"] * found[f"{way}_iops"] for way in ways)
    found["latency_mean_ms"] = sum(waits) / found["iops"]
    if "read" in ways:
        # One group of jobs is one worker: the median over workers is its own.
        found["median_read_latency_ms"] = found["read_latency_mean_ms"]
    return found


def perf(path: Path) -> dict:
    """Misses that perf stat counted, and the seconds it took."""
    counts = re.findall(r"^ +([\d,]+) +([\w-]+)", _text(path), re.MULTILINE)
    misses = {event: float(count.replace(",", "")) for count, event in counts}
    elapsed = re.search(r"([\d.]+) +seconds time elapsed", _text(path))
    found = {"elapsed_s": float(elapsed[1]), "tlb_misses_load": misses.get("dTLB-load-misses")}
    if found["tlb_misses_load"] is not None:
        found["tlb_miss_load_per_s"] = found["tlb_misses_load"] / found["elapsed_s"]
    return found


def vmkperf(path: Path, pcpu: str) -> dict:
    """TLB misses of a PCPU per second: the mean over polls."""
    polls = [line.split() for line in _text(path).splitlines() if re.match(r"[\d.]+ [\d.]+ ", line)]
    return {"tlb_miss_load_per_s": sum(float(poll[int(pcpu)]) for poll in polls) / len(polls)}


WIRE = {
    "nfs": {"procedure": "nfs.procedure_v3", "read": "6", "write": "7", "id": "rpc.xid", "time": "rpc.time"},
    "iscsi": {
        "procedure": "scsi_sbc.opcode",
        "read": "0x28",
        "write": "0x2a",
        "id": "iscsi.initiatortasktag",
        "time": "iscsi.time",
    },
}
"""Columns of tshark by protocol, and what tells reads from writes."""


def wire(paths: list[Path]) -> dict[str, float]:
    """Reads and writes in packets: how long the server took, and which begin off a multiple of their own size."""
    rows = [row for path in paths for row in csv.DictReader(_text(path).splitlines(), delimiter="\t")]
    found: dict[str, float] = {"tcp_retransmissions": sum(bool(row["tcp.analysis.retransmission"]) for row in rows)}
    names = WIRE["nfs" if "nfs.procedure_v3" in rows[0] else "iscsi"]
    requests = [(row, place) for row in rows if (place := _offset(row))]
    waits = {row[names["id"]]: float(row[names["time"]]) for row in rows if row[names["time"]]}
    for way in ("read", "write"):
        own = [(row, place) for row, place in requests if row[names["procedure"]] == names[way]]
        if own:
            seconds = sorted(waits[row[names["id"]]] for row, _ in own if row[names["id"]] in waits)
            middle = (seconds[(len(seconds) - 1) // 2] + seconds[len(seconds) // 2]) / 2
            off = [offset % min(size & -size, 4096) != 0 for _, (offset, size) in own]
            found |= {f"wire_{way}_p50_ms": 1000 * middle, f"wire_{way}_off_size_pct": 100 * sum(off) / len(off)}
            found[f"wire_{way}_size_bytes"] = sum(size for _, (_, size) in own) / len(own)
    return found


def _offset(row: dict[str, str]) -> tuple[int, int] | None:
    """Where a request begins and how long it is, in bytes."""
    if row.get("nfs.offset3"):
        return int(row["nfs.offset3"]), int(row["nfs.count3"])
    if row.get("scsi_sbc.rdwr10.lba"):
        return 512 * int(row["scsi_sbc.rdwr10.lba"]), 512 * int(row["scsi_sbc.rdwr10.xferlen"])
    return None
