"""What the report on storage benchmarks must show, from the files of fio (JSON) and Iometer."""

from __future__ import annotations

import bz2
import csv
import json
import math
import re
from collections import Counter
from typing import TYPE_CHECKING

from page_oracle.compare import Expected, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SIZES = {"k": 2**10, "m": 2**20, "": 1}
PERCENTILES = {"p50 ms": "50", "p95 ms": "95", "p99 ms": "99", "p99.9 ms": "99.9"}
VALUES = {
    "IOPS": ("iops", "iops", 1.0),
    "Bandwidth": ("bandwidth_bytes_per_s", "bytes", 1e-6),
    "Mean latency": ("latency_mean_ms", "mean", 1.0),
}
"""Name on a chart: its field, the number, and the factor to its unit."""
FIO_BITS = 7
BIN = re.compile(r"([\d.]+) to ([\d.]+) (uS|mS|S|s)")
SECONDS = {"uS": 1e-3, "mS": 1.0, "S": 1e3, "s": 1e3}
NUMBERED = re.compile(r"(.+)[-_. ](\d+)(\.\w+)?")
WORDS = re.compile(r"[-_. ]+")


def expected(*paths: Path) -> Expected:
    """The page of `storage_benchmark`."""
    names = [path.stem for path in paths]
    several = len(paths) > 1
    results = [one for path, name in zip(paths, names, strict=True) for one in _read(path, name if several else "")]
    common = set.intersection(*({word for word in WORDS.split(name) if word.isalpha()} for name in names))
    for one in results:
        words = WORDS.split(one["recording"])
        one["setting"] = " ".join(word for word in words if word.isalpha() and word not in common)
    found = Expected(tiles=_tiles(results, len(paths)))
    found.tables = [_table(results)]
    found.may = [("Tests; MB are 10\u2076 bytes, KiB 1024 bytes",)]
    means = _means(results)
    found.charts = [*_charts(means), *_spread(results)]
    if len(means) < len(results):
        repeated = "Repetitions, whose names end in 1, 2, 3 ..., are their mean in the charts: "
        found.texts = [(repeated, float(len(results)), " tests are ", float(len(means)), ".")]
    return found


def _means(results: Sequence[dict]) -> list[dict]:
    """Repetitions, whose files differ in a last number that counts from 1, as one: the mean of each number."""
    stems: dict[str, set[int]] = {}
    for name in {one["recording"] for one in results}:
        if found := NUMBERED.fullmatch(name):
            stems.setdefault(found[1] + (found[3] or ""), set()).add(int(found[2]))
    groups: dict[tuple, list[dict]] = {}
    for one in results:
        found = NUMBERED.fullmatch(one["recording"])
        stem = found and found[1] + (found[3] or "")
        repeated = stem in stems and len(stems[stem]) > 1 and stems[stem] == {*range(1, len(stems[stem]) + 1)}
        test = f"{stem}{one['test'].removeprefix(one['recording'])}" if repeated else one["test"]
        groups.setdefault((test, one["direction"], one["outstanding"]), []).append({**one, "test": test})
    return [
        {**group[0], **{name: sum(one[name] for one in group) / len(group) for name in ("iops", "bytes", "mean")}}
        for group in groups.values()
    ]


def _read(path: Path, name: str) -> list[dict]:
    text = (bz2.decompress(path.read_bytes()) if path.suffix == ".bz2" else path.read_bytes()).decode()
    read = _fio(json.loads(text)) if path.suffix == ".json" else _iometer(text)
    return [{**one, "recording": name, "test": f"{name}: {one['test']}" if name else one["test"]} for one in read]


def _fio(document: dict) -> list[dict]:
    """Jobs of one name and direction are one test: rates added, latencies weighted by I/Os."""
    found = []
    for name in dict.fromkeys(job["jobname"] for job in document["jobs"]):
        jobs = [job for job in document["jobs"] if job["jobname"] == name]
        options = document.get("global options", {}) | jobs[0]["job options"]
        workers = int(options.get("numjobs", 1))
        depth = 1 if options.get("ioengine") in {"sync", "psync", "vsync"} else int(options.get("iodepth", 1))
        number, unit = re.fullmatch(r"(\d+)([kKmM]?)", options["bs"]).groups()
        for way in ("read", "write"):
            sides = [job[way] for job in jobs if job[way]["total_ios"]]
            if not sides:
                continue
            ios = sum(side["total_ios"] for side in sides)
            alone = sides[0]["clat_ns"]["percentile"] if len(sides) == 1 else {}
            found.append({
                "test": name, "run": 0, "direction": way,
                "pattern": "random" if "rand" in options["rw"] else "sequential",
                "size": int(number) * SIZES[unit.lower()],
                "outstanding": depth * workers, "workers": workers,
                "iops": sum(side["iops"] for side in sides),
                "bytes": sum(side["bw_bytes"] for side in sides),
                "mean": sum(side["lat_ns"]["mean"] * side["total_ios"] for side in sides) / ios / 1e6,
                "highest": max(side["lat_ns"]["max"] for side in sides) / 1e6,
                "errors": sum(job.get("total_err", 0) for job in jobs),
                "percentiles": {f"{float(share):g}": ns / 1e6 for share, ns in alone.items()},
                "lines": _lines(document, jobs, way),
                "bins": _bins(document, jobs, way),
            })  # fmt: skip
    return found


def _line(document: dict, job: dict, way: str) -> str:
    """What a line of latencies is called; workers of a job by their number."""
    alike = [one for one in document["jobs"] if one["jobname"] == job["jobname"]]
    number = f" {document['jobs'].index(job) + 1}" if len(alike) > 1 else ""
    return f"{job['jobname']}{number} {way}"


def _lines(document: dict, jobs: Sequence[dict], way: str) -> dict[str, dict[str, int]]:
    """Percentiles by the name of their line."""
    made = {_line(document, job, way): job[way]["clat_ns"]["percentile"] for job in jobs if job[way]["total_ios"]}
    synced = [job for job in jobs if job.get("sync", {}).get("total_ios")]
    return made | {_line(document, job, "sync"): job["sync"]["lat_ns"]["percentile"] for job in synced}


def _bins(document: dict, jobs: Sequence[dict], way: str) -> dict[str, dict[tuple[float, float], float]]:
    """Bins of JSON+, or else the shares of a job up to each latency, ms."""
    if "bins" in jobs[0]["read"]["clat_ns"] or "bins" in jobs[0]["write"]["clat_ns"]:
        fine = {_line(document, job, way): job[way]["clat_ns"].get("bins", {}) for job in jobs}
        fine |= {_line(document, job, "sync"): job["sync"]["lat_ns"].get("bins", {}) for job in jobs}
        return {label: _tenths({int(ns): count for ns, count in bins.items()}) for label, bins in fine.items()}
    found = {}
    for job in jobs:
        edges, low = {}, 0.0
        for group, scale in (("latency_ns", 1e-6), ("latency_us", 1e-3), ("latency_ms", 1.0)):
            for edge, share in job.get(group, {}).items():
                high = float(edge.strip(">=")) * scale * (2 if edge.startswith(">=") else 1)
                edges[low, high], low = share, high
        found[_line(document, job, "all")] = edges
    return found


def _iometer(text: str) -> list[dict]:
    """The row ALL of each run; reads and writes apart."""
    found, names, run, specs, header = [], [], 0, {}, ""
    for line in csv.reader(text.splitlines()):
        if line[:1] == ["'Access specification name"]:
            header = "name"
        elif header == "name":
            spec, header = line[0], ""
        elif line[:1] == ["'size"]:
            header = "size"
        elif header == "size":
            specs[spec], header = line, ""
        elif line[:1] == ["'Target Type"]:
            names, run = line, run + 1
        elif line[:1] == ["ALL"]:
            found += _iometer_run(dict(zip(names, line, strict=False)), specs, run)
    return _named_apart(found)


def _named_apart(results: Sequence[dict]) -> list[dict]:
    """Runs of one access specification, named by their outstanding I/Os, and by a number if several have as many."""
    named = []
    for one in results:
        alike = [other for other in results if other["test"] == one["test"]]
        depths = {other["outstanding"] for other in alike if other["direction"] == one["direction"]}
        runs = sorted({other["run"] for other in alike})
        own = [other["run"] for other in alike if other["outstanding"] == one["outstanding"]]
        test = one["test"]
        if len(depths) > 1:
            test, runs = f"{test}, {one['outstanding']} outstanding", sorted(set(own))
        if len(runs) > 1:
            test = f"{test}, run {runs.index(one['run']) + 1}"
        named.append({**one, "test": test, "bins": dict.fromkeys([test], next(iter(one["bins"].values())))})
    return named


def _iometer_run(row: dict[str, str], specs: dict, run: int) -> list[dict]:
    test = row["Access Specification Name"]
    size, _, _, share, *_ = specs[test]
    mega = 1e6 if "Read MBps (Decimal)" in row else 2.0**20
    made = []
    for way in ("Read", "Write"):
        if not float(row[f"{way} IOps"]):
            continue
        rate = row.get(f"{way} MBps (Decimal)") or row[f"{way} MBps"]
        workers, queue = int(row["# Workers"]), int(row["Queue Depth"])
        disks = int(row["# Disks"])
        made.append({
            "test": test, "run": run, "direction": way.lower(),
            "pattern": "random" if int(share) == 100 else "sequential",
            "size": int(size), "outstanding": queue * disks, "workers": workers,
            "iops": float(row[f"{way} IOps"]), "bytes": float(rate) * mega,
            "mean": float(row[f"Average {way} Response Time"]), "highest": float(row[f"Maximum {way} Response Time"]),
            "errors": int(row[f"{way} Errors"]), "percentiles": {}, "lines": {},
            "bins": {test: {(float(a) * SECONDS[unit], float(b) * SECONDS[unit]): float(row[name])
                            for name in row for a, b, unit in BIN.findall(name)}},
        })  # fmt: skip
    return made


def _tiles(results: Sequence[dict], recordings: int) -> dict:
    """Tests, and the best run: only what ran at the same time is added."""
    runs: dict[tuple, list[dict]] = {}
    for one in results:
        runs.setdefault((one["recording"], one["test"], one["run"]), []).append(one)
    by = {what: max(runs.values(), key=lambda part: sum(one[what] for one in part)) for what in ("iops", "bytes")}
    best = min(results, key=lambda one: one["mean"])
    where = ("in one recording",) if recordings == 1 else ("in ", float(recordings), " recordings")
    return {
        "Tests": ((float(len({one["test"] for one in results})),), where),
        "Most IOPS": ((sum(one["iops"] for one in by["iops"]),), (by["iops"][0]["test"],)),
        "Highest bandwidth": ((sum(one["bytes"] for one in by["bytes"]) / 1e6, " MB/s"), (by["bytes"][0]["test"],)),
        "Lowest mean latency": ((best["mean"], " ms"), (best["test"],)),
        "I/O errors": ((float(sum(one["errors"] for one in results)),), ("of all tests",)),
    }


def _table(results: Sequence[dict]) -> Rows:
    rows = {}
    for one in results:
        rows[one["test"], one["direction"], str(one["outstanding"])] = {
            "Block KiB": one["size"] / 1024,
            "Pattern": (one["pattern"],),
            "IOPS": one["iops"],
            "Bandwidth MB/s": one["bytes"] / 1e6,
            "Mean ms": one["mean"],
            **{head: one["percentiles"].get(share) for head, share in PERCENTILES.items()},
            "Highest ms": one["highest"],
            "Errors": float(one["errors"]),
        }
    return Rows("Tests; MB are", ("Test", "Direction", "Outstanding I/Os"), rows, ordered=False)


def _size(size: int) -> str:
    return f"{size // 1024} KiB" if size < 2**20 else f"{size // 2**20} MiB"


def _charts(results: Sequence[dict]) -> list[Rows]:
    made = []
    for name, (column, what, factor) in VALUES.items():
        bars: dict[tuple, dict] = {}
        for one in results:
            bars.setdefault((one["test"], one["direction"]), {column: []})[column].append(one[what] * factor)
        made.append(
            Rows(f"{name} of each test(, .*)?", ("test", "direction"), bars, some=True, ordered=False, once=True)
        )
        for title, words in (("block size", False), ("outstanding I/Os", True)):
            points = {}
            for one in sorted(results, key=lambda row: row["iops"]):
                label = [one["setting"], f"{one['pattern']} {one['direction']}"]
                label += [_size(one["size"])] if words else []
                at = str(one["outstanding"]) if words else _size(one["size"])
                points[", ".join(filter(None, label)), at] = {column: one[what] * factor, "depth": one["outstanding"]}
            made.append(Rows(f"{name} by {title}(, .*)?", ("label", "place"), points, some=True, ordered=False))
    best = {}
    for one in sorted(results, key=lambda row: row["iops"]):
        label = ", ".join(filter(None, [one["setting"], f"{one['pattern']} {one['direction']}", _size(one["size"])]))
        best[label, one["outstanding"]] = {"iops": one["iops"], "latency_mean_ms": one["mean"]}
    made.append(Rows("Mean latency in ms against IOPS", ("label", "outstanding"), best, some=True, ordered=False))
    cells: dict[tuple, dict[str, float]] = {}
    for one in results:
        ways = cells.setdefault((one["outstanding"] // one["workers"], one["workers"]), {})
        ways[one["direction"]] = max(ways.get(one["direction"], 0.0), one["iops"])
    heat = {key: {"iops": sum(ways.values())} for key, ways in cells.items()}
    return [*made, Rows("IOPS by queue depth and workers", ("depth", "workers"), heat, some=True, ordered=False)]


def _spread(results: Sequence[dict]) -> list[Rows]:
    """Percentiles as fio prints them, and the shares up to each latency; an axis gives each nine the same room."""
    points: dict[tuple, dict] = {}
    bars: dict[tuple, dict] = {}
    for one in results:
        prefix = f"{one['recording']}: " if one["recording"] else ""
        for label, percentiles in one["lines"].items():
            for share, ns in percentiles.items():
                at = -math.log10(max(1 - float(share) / 100, 1e-6))
                points[prefix + label, float(share)] = {"latency_ms": ns / 1e6, "at": at}
        for label, bins in one["bins"].items():
            for key, row in _bars(prefix + label, bins).items():
                before = bars.get(key, {"share_pct": []})
                bars[key] = before | row | {"share_pct": [*before["share_pct"], *row["share_pct"]]}
    return [
        Rows("Latency percentiles, ms", ("label", "percentile"), points, some=True, ordered=False),
        Rows("Latency distribution, .*", ("label", "low"), bars, some=True, ordered=False),
    ]


def _bars(label: str, bins: dict[tuple[float, float], float]) -> dict[tuple, dict]:
    """Shares of the bins of a test, %; its outline begins, ends and has its gaps at 0."""
    there = sorted((low, high) for (low, high), count in bins.items() if count)
    whole = sum(bins.values())
    if not there:
        return {}
    least = there[0][1] / 2
    made: dict[tuple, dict] = {}
    for low, high in there:
        start, end = (round(float(f"{one:.6g}"), 6) for one in (max(low, least), high))
        before = made.get((label, start), {"share_pct": [0.0]})
        made[label, start] = {"share_pct": [100 * bins[low, high] / whole, *before["share_pct"]], "high": end}
        made.setdefault((label, end), {"share_pct": [0.0]})
    return made


def _tenths(bins: dict[int, int]) -> dict[tuple[float, float], float]:
    """Bins of JSON+ (ns) put together to tenths of a power of ten (ms)."""
    found: Counter = Counter()
    for ns, count in bins.items():
        # fio prints the middle of a bin; a bin has the first seven bits of a number.
        rest = max(ns.bit_length() - FIO_BITS, 0)
        tenth = math.floor(10 * math.log10((ns >> rest << rest) / 1e6) + 1e-9)
        found[10 ** (tenth / 10), 10 ** ((tenth + 1) / 10)] += count
    return found


__all__ = ["expected"]
