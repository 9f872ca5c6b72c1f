r"""STREAM memory bandwidth (C 5.6 to 5.10, Fortran, MPI, and variants that print its table, BabelStream).

Tables
------
benchmark_results   see `esxparse.formats.benchmarks.table`: metric `bandwidth` in MB/s for each kernel
kernels             one row per kernel and run
    run             i64   from 1, in the order of the file
    kernel          str   `copy`, `scale`, `add`, `triad` ..., lower case
    bandwidth_mb_per_s  f64  best rate, the mean where a table between bars has no best; 10**6 bytes per second
    time_mean_s, time_min_s, time_max_s  f64  seconds; the mean is a root mean square up to version 4
    array_size      i64   elements
    threads         i64   counted by the program (OpenMP), or as requested
    valid           bool  "Solution Validates" or "Failed Validation"; null where the file ends before

Several runs may follow each other in a file, with anything between them.
Source: stream.c 5.10, McCalpin: `1.0E-06 * bytes[j]/mintime[j]`; BabelStream main.cpp for its column order and
`--mibibytes`. Assumption: `GB/s`, `GBytes/sec` is 10**9 bytes per second.
"""

from __future__ import annotations

import re

from esxparse.formats.benchmarks.table import Fields, Run, higher, listing, nothing, ordinary, recording, whose
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.tables import schema
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "stream"

_TITLES = re.compile(
    r"^\s*Function\s+(?:Best\s+)?(?:Rate\s*\(?)?(?P<unit>[MG]i?B(?:ytes)?/s(?:ec)?)\)?\s+(?P<rest>\S.*)$", re.IGNORECASE
)
_RATE = re.compile(r"[MG]i?B(?:ytes)?/s(?:ec)?", re.IGNORECASE)
_SCALE = re.compile(r"\((?P<unit>[mun]?s)\w*\)", re.IGNORECASE)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_TIME = re.compile(r"avg|average|rms|mean|min|max", re.IGNORECASE)
_TIME_NAMES = {"avg": "mean", "average": "mean", "rms": "mean", "mean": "mean", "min": "min", "max": "max"}
_KERNEL = re.compile(r"^\s*(?P<name>[A-Za-z][A-Za-z0-9_ ]{0,24}?):?\s+(?P<numbers>-?[\d.]\S*(?:\s+\S+)*)\s*$")
_UNITS = {"MB": 1.0, "GB": 1e3, "MIB": 2**20 / 1e6, "GIB": 2**30 / 1e6}
_VERSION = re.compile(r"^\s*(?:STREAM\s+version\s+(?:\$Revision:\s*)?(?P<version>[\d.]+)|BabelStream)", re.IGNORECASE)
_FACTS = {
    "array_size": re.compile(r"^\s*(?:Array size\s*[=:]\s*(\d+)(?!\S*\.)|Total Aggregate Array size\s*=\s*(\d+))"),
    "requested": re.compile(r"^\s*Number of Threads requested\s*=\s*(\d+)", re.IGNORECASE),
    "threads": re.compile(r"^\s*Number of Threads counted\s*=\s*(\d+)", re.IGNORECASE),
    "times": re.compile(r"^\s*(?:Each kernel will be executed|Running kernels)\s+(\d+)\s+times", re.IGNORECASE),
    "element_bytes": re.compile(r"^\s*This system uses\s+(\d+)\s+bytes per", re.IGNORECASE),
}
_PASSED = re.compile(r"Solution Validates|^\s*Validation:? passed", re.IGNORECASE)
_FAILED = re.compile(r"Failed Validation|Validation failed", re.IGNORECASE)
_ORDINARY = ordinary("stream", re.IGNORECASE)
_COMMON = ("copy", "scale", "add", "triad")

_SCHEMA = schema(
    "run i64, kernel str, bandwidth_mb_per_s time_mean_s time_min_s time_max_s f64, array_size threads i64, valid bool"
)


def read_titles(line: str) -> tuple[float, list[str]] | None:
    """What the titles of a table say: MB/s per unit of its rates, and which times its columns hold."""
    if not (match := _TITLES.match(line)):
        return None
    times = [_TIME_NAMES[word.lower()] for word in _TIME.findall(match["rest"])]
    return _factor(match["unit"]), times


def _bars(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.lstrip().startswith("|") else []


def read_bar_titles(line: str) -> list[tuple[str, float]] | None:
    """What the titles of a table between bars say: the name of each column after the first, and its factor."""
    first, *rest = _bars(line) or [""]
    if first.lower() != "function" or not any(map(_RATE.search, rest)):
        return None
    columns = []
    for title in rest:
        rate, time, scale = _RATE.search(title), _TIME.search(title), _SCALE.search(title)
        if rate:
            which = "mean" if re.search("avg|average|mean", title, re.IGNORECASE) else "best"
            columns.append((which, _factor(rate[0])))
        elif time:
            columns.append(
                (f"time_{_TIME_NAMES[time[0].lower()]}_s", _SECONDS[scale["unit"].lower()] if scale else 1.0)
            )
        else:
            columns.append(("", 1.0))
    return columns


def read_bar_kernel(line: str, columns: list[tuple[str, float]]) -> Fields | None:
    """A row of such a table; the rate is the best one, or the mean where there is no other."""
    kernel, *cells = _bars(line) or [""]
    values = [number(cell) for cell in cells]
    if len(values) != len(columns):
        return None
    row = {name: value * factor for (name, factor), value in zip(columns, values, strict=True) if value is not None}
    rates = [row[name] for name in ("best", "mean") if name in row]
    times = {name: value for name, value in row.items() if name.startswith("time_")}
    return {"kernel": kernel.rstrip(":").lower(), "bandwidth_mb_per_s": rates[0], **times} if rates else None


def _factor(unit: str) -> float:
    return _UNITS[unit.upper().partition("/")[0].replace("YTES", "")]


def read_kernel(line: str, factor: float, times: list[str]) -> Fields | None:
    """One line of the table: the kernel, its rate in MB/s, its times in seconds."""
    match = _KERNEL.match(line)
    values = [number(cell) for cell in match["numbers"].split()] if match else []
    # With another number of cells than the titles have, no cell is known to stand under its own title.
    if not match or len(values) != 1 + len(times) or values[0] is None:
        return None
    row = {f"time_{name}_s": value for name, value in zip(times, values[1:], strict=True)}
    return {"kernel": match["name"].strip().lower(), "bandwidth_mb_per_s": values[0] * factor, **row}


def read_fact(line: str) -> Fields:
    """What a line says of the run to come."""
    return {
        name: whole(next(group for group in match.groups() if group))
        for name, pattern in _FACTS.items()
        if (match := pattern.match(line))
    }


def split(lines: list[str]) -> tuple[list[Fields], list[tuple[int, str]], list[tuple[int, str]]]:
    """The runs of a file (facts, kernels, validity, first line), unreadable lines in their tables, unknown lines."""
    runs: list[Fields] = []
    rest: list[tuple[int, str]] = []
    unknown: list[tuple[int, str]] = []
    facts: Fields = {}
    titles = None
    bars: list[tuple[str, float]] | None = None
    for place, line in enumerate(lines, 1):
        if version := _VERSION.match(line):
            facts, titles, bars = {"line": place, "release": version["version"]}, None, None
        elif columns := read_bar_titles(line):
            bars = columns
            runs.append({"line": place, **facts, "kernels": [], "valid": None})
        elif bars and (row := read_bar_kernel(line, bars)):
            runs[-1]["kernels"].append(row)
        elif found := read_titles(line):
            titles = found
            runs.append({"line": place, **facts, "kernels": [], "valid": None})
        elif titles and (row := read_kernel(line, *titles)):
            runs[-1]["kernels"].append(row)
        elif runs and (_FAILED.search(line) or _PASSED.search(line)):
            passed = not _FAILED.search(line) and runs[-1]["valid"] is not False
            runs[-1] |= {"valid": passed, "checked": place}
        else:
            told = read_fact(line)
            facts |= told
            if not titles and line.strip() and not told and not _ORDINARY.match(line):
                unknown.append((place, line))
            # A line that is no row may be a damaged one: the table goes on below it.
            rest += [(place, line)] if titles and line.strip(" -\t") else []
            titles = titles if line.strip(" -\t") else None
    return runs, rest, unknown


def about(run: Fields, place: int) -> list[Note]:
    """Notes on a run."""
    notes = Notes()
    if run["valid"] is False:
        notes.warn(f"run {place} failed validation: its rates are those of wrong results", run["checked"])
    names = {row["kernel"] for row in run["kernels"]}
    lost = [name for name in _COMMON if name not in names]
    if lost and names <= set(_COMMON):
        notes.warn(f"run {place} has no {', '.join(lost)}: the file was cut, or lines are missing", run["line"])
    elif run["valid"] is None:
        notes.say(f"run {place} does not say whether its results are right", run["line"])
    return notes


def configuration(run: Fields) -> str:
    """The settings of a run, as text."""
    threads = run.get("threads") or run.get("requested")
    elements = f"{run['array_size']} elements" if run.get("array_size") else ""
    return listing(elements, f"{threads} threads" if threads else "")


def read(source: Source) -> Recording:
    """Reads the output of one or many runs of STREAM."""
    text = source.text().without_cut_number("nan")
    found, rest, unknown = split(text.lines())
    notes = Notes([*text.notes, *(note for place, run in enumerate(found, 1) for note in about(run, place))])
    runs, rows = [], []
    for place, run in enumerate(found, 1):
        threads = run.get("threads") or run.get("requested")
        shared = {"run": place, "array_size": run.get("array_size"), "threads": threads, "valid": run["valid"]}
        for row in run["kernels"]:
            figure = higher("bandwidth", row["bandwidth_mb_per_s"], "MB/s")
            runs.append(Run(row["kernel"], configuration(run), (figure,), run["valid"]))
            rows.append({**shared, **row})
    if not rows:
        raise nothing(notes, "STREAM")
    notes += [*left_out(rest, "warning"), *left_out(unknown)]
    facts = {**whose(found), "samples": len(found)}
    return recording(source, FORMAT, "STREAM", runs, {"kernels": (rows, _SCHEMA)}, facts, notes)
