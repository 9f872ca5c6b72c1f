r"""STREAM memory bandwidth (C 5.6 to 5.10, Fortran, MPI, and variants that print its table, BabelStream).

Several runs may follow each other in a file, with anything between them.
Source: stream.c 5.10, McCalpin: `1.0E-06 * bytes[j]/mintime[j]`; BabelStream main.cpp for its column order and
`--mibibytes`. Assumption: `GB/s`, `GBytes/sec` is 10**9 bytes per second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import Match

from esxparse.formats.benchmarks.printed import Lines, Part, Report
from esxparse.formats.benchmarks.table import Run, higher, nothing, recording, settings_of, whose
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.tables import data, schemas
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "stream"

_SCHEMAS, LINES = schemas(__file__), Lines(__file__, re.IGNORECASE)
_RATE = re.compile(r"[MG]i?B(?:ytes)?/s(?:ec)?", re.IGNORECASE)
_SCALE = re.compile(r"\((?P<unit>[mun]?s)\w*\)", re.IGNORECASE)
_TIME = re.compile(r"avg|average|rms|mean|min|max", re.IGNORECASE)
_TIME_NAMES = {"avg": "mean", "average": "mean", "rms": "mean", "mean": "mean", "min": "min", "max": "max"}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_UNITS = {"MB": 1.0, "GB": 1e3, "MIB": 2**20 / 1e6, "GIB": 2**30 / 1e6}
_SETTING_TEMPLATES = data(__file__)["shown"]
_COMMON = ("copy", "scale", "add", "triad")

Columns = list[tuple[str, float]]
"""The columns of a table after the name of the kernel: `best` or `mean` rate, or a time, and the factor to its unit."""


def _factor(unit: str) -> float:
    return _UNITS[unit.upper().partition("/")[0].replace("YTES", "")]


def _time_column(word: str) -> str:
    return f"time_{_TIME_NAMES[word.lower()]}_s"


def bar_column(title: str) -> tuple[str, float]:
    """Return the column below a title between bars; a column without a name is not read."""
    rate, time, scale = _RATE.search(title), _TIME.search(title), _SCALE.search(title)
    if rate:
        is_mean = re.search("avg|average|mean", title, re.IGNORECASE)
        return "mean" if is_mean else "best", _factor(rate[0])
    if time:
        return _time_column(time[0]), _SECONDS[scale["unit"].lower()] if scale else 1.0
    return "", 1.0


@LINES.reads("version")
def _version(report: Report, found: Match[str]) -> None:
    report.coming, report.under = {"line": report.place, **found.groupdict()}, ""


def _begin(report: Report) -> Part:
    run = report.begin(**report.coming)
    run.line = report.coming.get("line", run.line)
    return run


def _bars(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


@LINES.reads("bar_titles")
def _bar_titles(report: Report, _: Match[str]) -> bool:
    titles = _bars(report.line)[1:]
    if any(map(_RATE.search, titles)):
        _begin(report).facts["bars"] = list(map(bar_column, titles))
        return True
    return False


@LINES.reads("titles")
def _titles(report: Report, found: Match[str]) -> None:
    _begin(report)
    times = [(_time_column(word), 1.0) for word in _TIME.findall(found["rest"])]
    report.under = [("best", _factor(found["unit"])), *times]


def _add_kernel(report: Report, name: str, cells: Sequence[str], columns: Columns) -> bool:
    """Add the row of a kernel, if it has a rate and as many cells as its table has titles."""
    if len(cells) != len(columns):
        return False
    values = zip(columns, map(number, cells), strict=True)
    row = {column: value * factor for (column, factor), value in values if value is not None}
    rate = row.get("best", row.get("mean"))
    if rate is not None:
        report.run.rows["kernels"].append({**row, "kernel": name.lower(), "bandwidth_mb_per_s": rate})
    return rate is not None


@LINES.reads_in_run("bar_kernel")
def _bar_kernel(report: Report, _: Match[str]) -> bool:
    name, *cells = _bars(report.line)
    return _add_kernel(report, name.rstrip(":"), cells, report.run.facts.get("bars", []))


@LINES.reads("kernel")
def _kernel(report: Report, found: Match[str]) -> bool:
    return bool(report.under) and _add_kernel(report, found["name"].strip(), found["numbers"].split(), report.under)


@LINES.reads_in_run("verdict")
def _verdict(report: Report, found: Match[str]) -> None:
    valid = found["failed"] is None and report.run.facts.get("valid") is not False
    report.run.facts |= {"valid": valid, "checked": report.place}


@LINES.reads("blank")
def _blank(report: Report, _: Match[str]) -> bool:
    """End a table."""
    columns, report.under = report.under, ""
    return bool(columns)


@LINES.reads("fact")
def _fact(report: Report, found: Match[str]) -> bool:
    """Record a setting of the next run."""
    report.coming |= {name: whole(text) for name, text in found.groupdict().items() if text is not None}
    return not report.under


@LINES.reads("in_table")
def _in_table(report: Report, _: Match[str]) -> bool:
    """Keep a line of a table that is not a row: it may be damaged, and the table continues below."""
    if report.under:
        report.keep("damaged")
    return bool(report.under)


def about(run: Part, place: int) -> list[Note]:
    """Return notes on a run."""
    notes = Notes()
    valid = run.facts.get("valid")
    if valid is False:
        notes.warn(f"run {place} failed validation: its rates come from wrong results", run.facts["checked"])
    names = {row["kernel"] for row in run.rows["kernels"]}
    lost = [name for name in _COMMON if name not in names]
    if lost and names <= set(_COMMON):
        notes.warn(f"run {place} has no {', '.join(lost)}: the file was cut, or lines are missing", run.line)
    elif valid is None:
        notes.say(f"run {place} does not say whether its results are right", run.line)
    return notes


def read(source: Source) -> Recording:
    """Read the output of one or many runs of STREAM."""
    text = source.text().without_cut_number("nan")
    report = LINES.read(text.lines())
    notes = Notes([*text.notes, *(note for place, run in enumerate(report.runs, 1) for note in about(run, place))])
    runs, shared = [], []
    for place, run in enumerate(report.runs, 1):
        facts = run.facts
        threads = facts.get("threads") or facts.get("requested")
        settings = settings_of({"array_size": facts.get("array_size") or None, "threads": threads}, _SETTING_TEMPLATES)
        shared.append({**facts, "run": place, "threads": threads})
        for row in run.rows["kernels"]:
            figure = higher("bandwidth", row["bandwidth_mb_per_s"], "MB/s")
            runs.append(Run(row["kernel"], settings, (figure,), facts.get("valid")))
    if not runs:
        raise nothing(notes, "STREAM")
    notes += [*report.notes("STREAM"), *left_out(report.kept["unknown"])]
    details = report.details(_SCHEMAS, shared)
    facts = {**whose(run.facts for run in report.runs), "samples": len(report.runs)}
    return recording(source, FORMAT, "STREAM", runs, details, facts, notes)
