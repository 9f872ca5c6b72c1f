"""HPC Challenge (HPCC 1.0 to 1.5), `hpccoutf.txt`: one run or several, appended as HPCC does.

Source: hpcc.c, io.c of HPCC 1.5.0, and output of Debian's hpcc; its GB is 10**9 bytes, "1 MB/s = 10**6 byte/sec".
"""

from __future__ import annotations

from collections.abc import Sequence
from re import Match

from esxparse.formats.benchmarks import linpack
from esxparse.formats.benchmarks.printed import Lines, Part, Report
from esxparse.formats.benchmarks.table import BETTER, Fields, Figure, Run, recording, whose
from esxparse.formats.kit.notes import Notes
from esxparse.formats.kit.numbers import number, scaled, whole
from esxparse.formats.kit.patterns import meanings
from esxparse.formats.kit.tables import schemas
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "hpcc"

_LINES = Lines(__file__)
_FIGURES = meanings(__file__, "figures")
_SIDES = {"Minimum": "minimum", "Average": "mean", "Maximum": "maximum"}


@_LINES.reads("banner")
def _banner(report: Report, found: Match[str]) -> None:
    report.begin(**found.groupdict(), parts={}, hpl=[], spread={})
    report.under = ""


@_LINES.reads("begin")
def _begin(report: Report, found: Match[str]) -> None:
    if not report.runs:
        report.begin(parts={}, hpl=[], spread={})
    report.under = found["part"]
    report.run.facts["parts"][report.under] = {"passed": None, "finished": False}


@_LINES.reads_in_run("end")
def _end(report: Report, found: Match[str]) -> None:
    report.run.facts["parts"].setdefault(found["part"], {"passed": None})["finished"] = True
    report.under = ""


@_LINES.reads_in_run("host")
def _host(report: Report, found: Match[str]) -> None:
    report.run.facts["host"] = found["host"]


@_LINES.reads("part")
def _part(report: Report, _: Match[str]) -> bool:
    """Keep the lines of HPL; skip those between parts."""
    if report.under == "HPL":
        report.run.facts["hpl"].append(report.line)
    return not report.under


@_LINES.reads("summary")
def _summary(report: Report, found: Match[str]) -> bool:
    if report.under != "Summary":
        return False
    text = None if number(found["value"]) is not None else found["value"]
    report.run.rows["summary"].append({**found.groupdict(), "text": text})
    return True


@_LINES.reads("spread")
def _spread(report: Report, found: Match[str]) -> bool:
    """Add one side of a figure. Lines of the summary may look alike, but are not figures."""
    if report.under != "Summary":
        metric, _, unit = found["metric"].replace("Gflop", "GFlop").rpartition(" ")
        row = {"part": report.under, "metric": metric or None, "unit": unit}
        spread = report.run.facts["spread"].setdefault((report.under, metric, unit), row)
        spread[_SIDES[found["side"]]] = found["value"]
    return False


@_LINES.reads("failed")
def _failed(report: Report, _: Match[str]) -> None:
    if report.under != "Summary":
        report.run.facts["parts"][report.under]["passed"] = False


@_LINES.reads("passed")
def _passed(report: Report, _: Match[str]) -> None:
    part = report.run.facts["parts"][report.under]
    if report.under != "Summary" and part["passed"] is None:
        part["passed"] = True


def runs_of(run: Part) -> list[Run]:
    """Return the summary of a run for the common table."""
    facts = {row["name"]: number(row["value"]) for row in run.rows["summary"]}
    processes = whole(facts.get("CommWorldProcs"))
    found: dict[str, list[Figure]] = {}
    for name, value in facts.items():
        for pattern, (metric, unit, better, *factor) in _FIGURES:
            if match := pattern.match(name):
                # Tests that were not run are 0 or negative.
                measured = scaled(value, *factor or [1.0]) if value and value > 0 else None
                found.setdefault(match["test"], []).append(Figure(metric, measured, unit, BETTER[better]))
    success = None if facts.get("Success") is None else facts["Success"] == 1
    settings = f"{processes} processes" if processes else ""
    return [Run(test, settings, tuple(figures), success) for test, figures in found.items()]


def about(runs: Sequence[Part]) -> Notes:
    """Return notes on parts that failed or did not end, and on runs without a summary."""
    notes = Notes()
    for place, run in enumerate(runs, 1):
        for part, state in run.facts["parts"].items():
            if state["passed"] is False:
                notes.warn(f"run {place}: {part} failed its own check: its result is wrong", run.line)
            if not state["finished"]:
                notes.warn(f"run {place}: {part} did not end: HPCC was stopped, or the file was cut", run.line)
        if not run.rows["summary"]:
            notes.warn(f"run {place} has no summary: what its parts printed is read", run.line)
    return notes


def read(source: Source) -> Recording:
    """Read one or many runs of HPCC."""
    text = source.text().without_cut_line()
    report = _LINES.read(text.lines())
    notes = Notes([*text.notes, *about(report.runs)])
    for run in report.runs:
        parts: dict[str, Fields] = run.facts["parts"]
        run.rows["spread"] = list(run.facts["spread"].values())
        run.rows["solves"] = linpack.repeated(linpack.LINES.read(run.facts["hpl"]).rows["hpl"])
        run.rows["checks"] = [{"part": name, **state} for name, state in parts.items() if name != "Summary"]
    details = report.details(schemas(__file__))
    runs = [one for run in report.runs for one in runs_of(run)]
    facts = {"samples": len(report.runs)} | whose(run.facts for run in report.runs)
    return recording(source, FORMAT, "HPCC", runs, details, facts, notes)
