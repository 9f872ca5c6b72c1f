"""HPC Challenge (HPCC 1.0 to 1.5), `hpccoutf.txt`: one run or several, appended as HPCC does.

Tables
------
benchmark_results   see `esxparse.formats.benchmarks.table`: tests `HPL`, `StarDGEMM`, `SingleDGEMM`, `PTRANS`,
                    `StarSTREAM_Triad` ..., `MPIRandomAccess`, `MPIFFT`, `RandomlyOrderedRing` ... of the summary;
                    metrics `performance` (GFlop/s), `bandwidth` (GB/s), `updates` (GUP/s, 10**9 updates per second),
                    `latency` (us), `time` (s). `Star` runs on every process at once, `Single` on one: the mean of one
                    process. Those of a run without a summary are not there: see `spread`
summary             one row per line of it: run (from 1), name, value (f64), text (of a value that is not a number)
spread              one row per figure of a part that ran on every process: run, part, metric, unit, minimum, mean,
                    maximum (of one process)
solves              HPL's systems, see `esxparse.formats.benchmarks.linpack`; and run
checks              one row per part: run, part, passed (its own check; null where it makes none), finished

Source: hpcc.c, io.c of HPCC 1.5.0, and output of Debian's hpcc; GB is 10**9 bytes there, "1 MB/s = 10**6 byte/sec".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from esxparse.formats.benchmarks import linpack
from esxparse.formats.benchmarks.table import BETTER, Fields, Figure, Run, recording, whose
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import number, scaled, whole
from esxparse.formats.kit.tables import data, schema
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "hpcc"

_FIGURES = [{"factor": 1.0, **one, "name": re.compile(one["name"])} for one in data(__file__)["figure"]]
_BANNER = re.compile(r"This is the DARPA/DOE HPC Challenge Benchmark version (?P<release>\S+)")
_BEGIN = re.compile(r"Begin of (?P<part>\w+) section\.")
_END = re.compile(r"End of (?P<part>\w+) section\.")
_LINE = re.compile(r"(?P<name>[A-Za-z]\w*)=(?P<value>\S*)")
_SPREAD = re.compile(r"(?P<side>Minimum|Average|Maximum) (?P<metric>.+?) (?P<value>[-+.\w]+)")
_PASSED = re.compile(
    r"\.\.\. PASSED|WALL(?:\s+\S+){7}\s+PASSED|Found 0 errors in|Solution Validates|Node\(s\) with error 0"
)
_FAILED = re.compile(
    r"\.\.\. FAILED|WALL(?:\s+\S+){7}\s+FAILED|Failed Validation|\(failed\)|Node\(s\) with error [1-9]"
)
_HOST = re.compile(r"Hostname: '(?P<host>[^']*)'")

_SUMMARY = schema("run i64, name str, value f64, text str")
_SPREADS = schema("run i64, part metric unit str, minimum mean maximum f64")
_SOLVES = {"run": schema("run i64")["run"], **linpack.SOLVES}
_CHECKS = schema("run i64, part str, passed finished bool")
_SIDES = {"Minimum": "minimum", "Average": "mean", "Maximum": "maximum"}


def _started(release: str | None, place: int) -> Fields:
    return {"release": release, "line": place, "parts": {}, "summary": [], "spread": {}, "host": None, "hpl": []}


def split(lines: Sequence[str]) -> list[Fields]:
    """The runs of a file: their parts, summaries and spreads."""
    runs: list[Fields] = []
    part: str | None = None
    for place, line in enumerate(lines, 1):
        if banner := _BANNER.search(line):
            runs.append(_started(banner["release"], place))
            part = None
        elif begin := _BEGIN.match(line):
            part = begin["part"]
            runs = runs or [_started(None, place)]
            runs[-1]["parts"][part] = {"passed": None, "finished": False}
        elif runs and (end := _END.match(line)):
            runs[-1]["parts"].setdefault(end["part"], {"passed": None})["finished"] = True
            part = None
        elif runs and (host := _HOST.match(line)):
            runs[-1]["host"] = host["host"]
        elif runs and part is not None:
            _of_part(line, part, runs[-1])
    return runs


def _of_part(line: str, part: str, run: Fields) -> None:
    """Adds what a line of a part says."""
    if part == "Summary":
        if match := _LINE.fullmatch(line.strip()):
            value = number(match["value"])
            run["summary"].append(
                {"name": match["name"], "value": value, "text": None if value is not None else match[2]}
            )
        return
    if part == "HPL":
        run["hpl"].append(line)
    if match := _SPREAD.fullmatch(line.strip()):
        metric, _, unit = match["metric"].replace("Gflop", "GFlop").rpartition(" ")
        row = run["spread"].setdefault((part, metric, unit), {"part": part, "metric": metric or None, "unit": unit})
        row[_SIDES[match["side"]]] = number(match["value"])
    if _FAILED.search(line):
        run["parts"][part]["passed"] = False
    elif _PASSED.search(line) and run["parts"][part]["passed"] is None:
        run["parts"][part]["passed"] = True


def runs_of(run: Fields) -> list[Run]:
    """The summary of a run as the common table has it."""
    facts = {row["name"]: row["value"] for row in run["summary"]}
    processes = whole(facts.get("CommWorldProcs"))
    settings = f"{processes} processes" if processes else ""
    found: dict[str, list[Figure]] = {}
    for name, value in facts.items():
        for one in _FIGURES:
            if match := one["name"].fullmatch(name):
                # What was not run is 0 or negative there.
                measured = scaled(value, one["factor"]) if value and value > 0 else None
                figure = Figure(one["metric"], measured, one["unit"], BETTER[one["better"]])
                found.setdefault(match["test"], []).append(figure)
    success = None if facts.get("Success") is None else facts["Success"] == 1
    return [Run(test, settings, tuple(figures), success) for test, figures in found.items()]


def about(runs: Sequence[Fields]) -> Notes:
    """Notes on parts that failed or did not end, and on runs without a summary."""
    notes = Notes()
    for place, run in enumerate(runs, 1):
        for part, state in run["parts"].items():
            if state["passed"] is False:
                notes.warn(f"run {place}: {part} failed its own check: its result is wrong", run["line"])
            if not state["finished"]:
                notes.warn(f"run {place}: {part} did not end: HPCC was stopped, or the file was cut", run["line"])
        if not run["summary"]:
            notes.warn(f"run {place} has no summary: what its parts printed is read", run["line"])
    return notes


def read(source: Source) -> Recording:
    """Reads one or many runs of HPCC."""
    text = source.text().without_cut_line()
    found = split(text.lines())
    notes = Notes([*text.notes, *about(found)])
    details: dict[str, list[Fields]] = {"summary": [], "spread": [], "solves": [], "checks": []}
    for place, run in enumerate(found, 1):
        solves = linpack.repeated(linpack.read_report(run["hpl"]).rows["hpl"])
        parts = [{"part": name, **state} for name, state in run["parts"].items() if name != "Summary"]
        rows = {"summary": run["summary"], "spread": run["spread"].values(), "solves": solves, "checks": parts}
        for name, each in rows.items():
            details[name] += [{**row, "run": place} for row in each]
    columns = {"summary": _SUMMARY, "spread": _SPREADS, "solves": _SOLVES, "checks": _CHECKS}
    tables = {name: (details[name], columns[name]) for name in columns}
    runs = [one for run in found for one in runs_of(run)]
    return recording(source, FORMAT, "HPCC", runs, tables, {"samples": len(found)} | whose(found), notes)
