"""LINPACK: Intel MKL's shared memory benchmark (xlinpack, runme), and HPL (netlib 1.0 to 2.3, Intel, NVIDIA, AMD).

A file that ends before its result keeps its `progress`, and has no `benchmark_results`; a note reports this.
Source: HPL testing/ptest/HPL_pdtest.c; MKL's lin_* sample outputs; progress lines from real captures.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import prod
from re import Match

import polars as pl

from esxparse.formats.benchmarks.printed import Lines, Report
from esxparse.formats.benchmarks.table import Fields, Run, figures_of, nothing, repetitions, settings_of, tables, whose
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.tables import data, frames, known, schemas, typed
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "linpack"

_DATA, _SCHEMAS, LINES = data(__file__), schemas(__file__), Lines(__file__)
SOLVES = _SCHEMAS["solves"]
_MKL_VERDICTS = {"pass": True, "passed": True, "fail": False, "failed": False}


@LINES.reads("mkl_titles")
def _mkl_titles(report: Report, found: Match[str]) -> bool:
    report.under = "summary" if found["summary"] else "solves"
    return False


@LINES.reads("mkl_row")
def _mkl_row(report: Report, found: Match[str]) -> None:
    """Add a row of MKL's solves, or of its summary."""
    row = {**typed(found.groupdict(), SOLVES), "line": report.place}
    first, second, check = number(row.pop("first")), number(row.pop("second")), row.pop("check")
    if report.under == "summary":
        report.rows["summary"].append({**row, "mean_gflops": first, "max_gflops": second})
    elif report.under:
        passed = _MKL_VERDICTS.get((check or "").lower())
        if check and passed is None:
            report.remarks.warn(f"residual check {check!r} is neither pass nor fail: ignored", report.place)
        row |= {"benchmark": "linpack", "time_s": first, "gflops": second, "passed": passed}
        report.rows["linpack"].append({**row, **report.coming})


@LINES.reads("mkl_verdict")
def _mkl_verdict(report: Report, found: Match[str]) -> bool:
    if found["verdict"].upper() != "PASSED":
        report.remarks.warn(f"residual checks {found['verdict']}: its results are wrong", report.place)
    report.under = ""
    return False


@LINES.reads("threads")
def _threads(report: Report, found: Match[str]) -> bool:
    report.coming |= typed(found.groupdict(), {"threads": SOLVES["size"]})
    return False


@LINES.reads("hpl_solve")
def _hpl_solve(report: Report, found: Match[str]) -> None:
    row = typed(found.groupdict(), SOLVES)
    report.rows["hpl"].append({"benchmark": "hpl", **row, "passed": None, "line": report.place})


@LINES.reads("hpl_check")
def _hpl_check(report: Report, found: Match[str]) -> bool:
    for solve in report.rows["hpl"][-1:]:
        worst = [value for value in (solve.get("residual_norm"), number(found["value"])) if value is not None]
        passed = found["verdict"] == "PASSED" and solve["passed"] is not False
        solve |= {"residual_norm": max(worst, default=None), "passed": passed}
    return False


@LINES.reads("hpl_time")
def _hpl_time(report: Report, found: Match[str]) -> None:
    try:
        time = datetime.strptime(" ".join(found["time"].split()), "%a %b %d %H:%M:%S %Y")  # noqa: DTZ007  no zone is printed
    except ValueError:
        time = None
    for solve in report.rows["hpl"][-1:]:
        solve["started" if found["which"] == "start" else "ended"] = time


@LINES.reads("hpl_count")
def _hpl_count(report: Report, found: Match[str]) -> None:
    if found["count"].strip("0"):
        report.remarks.warn(f"HPL says: {' '.join(report.line.split())}", report.place)


@LINES.reads("progress")
def _progress(report: Report, found: Match[str]) -> None:
    report.rows["progress"].append(typed(found.groupdict(), _SCHEMAS["progress"]))


def unfinished(report: Report, last: int) -> list[Note]:
    """Return a note if HPL began but did not end."""
    begun, solves = report.kept["hpl_banner"], len(report.rows["hpl"])
    if not begun or not solves or report.kept["hpl_end"]:
        return []
    combined = (LINES["hpl_asked"].match(line) for _, line in report.kept["hpl_asked"])
    expected = prod(len(found["values"].split()) for found in combined if found)
    if len(begun) == 1 and solves < expected:
        return [Note(f"{solves} of {expected} solves: the output was cut", last, severity="warning")]
    return [Note("the output ends before the end of the tests: if it was cut, solves are missing", last)]


def run_of(solve: Fields) -> Run:
    """Return one solve for the common table."""
    figures = figures_of(solve, _DATA["figures"])
    settings = settings_of(solve, _DATA["shown"][solve["benchmark"]])
    return Run(f"n {solve['size']}", settings, tuple(figures), solve["passed"])


def about(report: Report, last: int) -> list[Note]:
    """Return notes on the solves."""
    notes = Notes()
    solves, progress = [*report.rows["linpack"], *report.rows["hpl"]], report.rows["progress"]
    for solve in [solve for solve in solves if solve["passed"] is False]:
        notes.warn(f"size {solve['size']}: the residual check failed, its result is wrong", solve["line"])
    for solve in [solve for solve in solves if None in (solve["time_s"], solve["gflops"])]:
        notes.warn(f"size {solve['size']}: no number for time or GFlops", solve["line"])
    if unchecked := [solve for solve in solves if solve["passed"] is None]:
        notes.say(f"{len(unchecked)} of {len(solves)} solves have no residual check", unchecked[0]["line"])
    if progress and not solves:
        done = progress[-1]["fraction"]
        share = "" if done is None else f", at {done:.1%} of the matrix"
        notes.warn(f"the run ended before its result{share}: only its progress is in the file", last)
    notes += [*left_out(report.kept["unknown"]), *left_out(report.kept["damaged"], "warning")]
    said = report.kept["error"][:5]
    return notes + [Note(f"LINPACK says: {line.strip()}", place, severity="warning") for place, line in said]


def repeated(solves: Sequence[Fields]) -> list[Fields]:
    """Return the solves with the number of their repetition."""
    again = repetitions(map(run_of, solves))
    return [{**solve, "repetition": repetition} for solve, repetition in zip(solves, again, strict=True)]


def read(source: Source) -> Recording:
    """Read the output of one or many runs of MKL's LINPACK or of HPL."""
    text = source.text().without_cut_number("nan")
    lines = text.lines()
    report = LINES.read(lines)
    rows = report.rows
    notes = Notes([*text.notes, *report.remarks, *about(report, len(lines)), *unfinished(report, len(lines))])
    if rows["summary"] and not rows["linpack"]:
        notes.warn("the file has the summary, but not the solves", rows["summary"][0]["line"])
    rows["solves"] = [*repeated(rows["linpack"]), *repeated(rows["hpl"])]
    each = [tables(name, list(map(run_of, rows[name])), {}) for name in ("linpack", "hpl")]
    results = [one["benchmark_results"] for one in each if one]
    found = {"benchmark_results": pl.concat(results)} if results else {}
    found |= frames(report.details(_SCHEMAS))
    if not found:
        raise nothing(notes, "LINPACK")
    banners = (LINES["hpl_banner"].match(line) for _, line in report.kept["hpl_banner"])
    release = next((f"HPL {banner['release']}" for banner in banners if banner), None)
    meta = known(whose([{"release": release}, *rows["progress"]]))
    return Recording(FORMAT, source.name, found, {**meta, "samples": len(rows["solves"])}, tuple(notes))
