"""LINPACK: Intel MKL's shared memory benchmark (xlinpack, runme), and HPL (netlib 1.0 to 2.3, Intel, NVIDIA, AMD).

Tables
------
benchmark_results   see `esxparse.formats.benchmarks.table`: metrics `performance` (GFlop/s), `time` (s)
solves              one row per solved system
    benchmark       str   `linpack` (MKL) or `hpl`
    repetition      i64   from 1, of equal settings
    size            i64   order of the matrix, N
    lda             i64   leading dimension (MKL)
    align_kib       i64   data alignment, KiB (MKL)
    nb, p, q        i64   block size, process rows and columns (HPL)
    variant         str   encoded variant, `WR11C2R4` (HPL)
    time_s          f64   seconds
    gflops          f64   10**9 floating point operations per second
    residual, residual_norm  f64   as printed; HPL prints scaled residuals: the largest is `residual_norm`
    passed          bool  the program's residual check; null where the file does not tell
    started, ended  datetime  HPL_pdgesv() start and end on the host's own clock, whose zone is not printed
summary             one row per size (MKL "Performance Summary"): size, lda, align_kib, mean_gflops, max_gflops
progress            one row per progress line (Intel HPL): host, column, fraction (of the matrix), kernel_mflops, mflops

A file that ends before its result keeps its `progress`, and has no `benchmark_results`; a note says so.
Source: HPL testing/ptest/HPL_pdtest.c; MKL's lin_* sample outputs; progress lines from real captures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from math import prod

import polars as pl

from esxparse.formats.benchmarks.table import Fields, Run, higher, lower, nothing, ordinary, repetitions, tables
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.tables import schema
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "linpack"

_NUMBER = r"[-+]?(?:\d++(?:\.\d*+)?(?:[eE][-+]?\d++)?|nan|inf)"
_MKL_TITLES = re.compile(r"^\s*Size\s+LDA\s+Align\.?\s+(?P<rest>\S.*)$")
_MKL_SOLVE = re.compile(
    rf"^\s*+(\d++)\s++(\d++)\s++(\d++)\s++({_NUMBER})\s++({_NUMBER})(?:\s++({_NUMBER})\s++({_NUMBER}))?"
    r"(?:\s++([A-Za-z]++))?\s*+$"
)
_HPL_SOLVE = re.compile(
    rf"^\s*+([WHP][RC]\w*+)\s++(\d++)\s++(\d++)\s++(\d++)\s++(\d++)\s++({_NUMBER})\s++({_NUMBER})(?:\s*+\(.*\))?\s*+$"
)
_HPL_BANNER = re.compile(r"^\s*(?:HPLinpack|HPL-\S+|HPL)\s+(\d[\d.]*\w*)\s+--\s")
_HPL_CHECK = re.compile(r"^\s*\|\|.*=\s*+(?P<value>[^\s=]++)\s++\.{3,}\s*(?P<verdict>PASSED|FAILED)")
_HPL_TIME = re.compile(r"^\s*HPL_pdgesv\(\)\s+(?P<which>start|end) time\s+(?P<time>\S(?:.*\S)?)\s*+$")
_HPL_COUNT = re.compile(r"^\s*(?P<count>\d+)\s+tests\s+(?P<what>completed and failed residual|skipped because)")
_MKL_VERDICTS = {"pass": True, "passed": True, "fail": False, "failed": False}
_ROW = re.compile(
    rf"^\s*+(?:[WHP][RC]\w++\s++\d++\s++\d++\s|(?=.*\d[.eE])\d++(?:\s++{_NUMBER}){{2,}}(?:\s++[A-Za-z]++)?\s*+$)"
)
_PROGRESS = re.compile(
    r"^\s*(?:(?P<host>\S+)\s*:\s*)?Column=\s*(?P<column>\d+)\s+Fraction=\s*(?P<fraction>\S+)\s+"
    r"(?:Kernel=\s*(?P<kernel_mflops>\S+)\s+)?Mflops=\s*(?P<mflops>\S+)"
)
_FACT = re.compile(r"^\s*Number of (?P<what>CPUs|cores|threads):\s*(?P<count>\d+)")
_MKL_VERDICT = re.compile(r"^\s*Residual checks\s+(\w+)")
_ERROR = re.compile(r"^\s*+(?:HPL ERROR|.*\bIllegal input\b|.*killed by signal|.*BAD TERMINATION)", re.IGNORECASE)

_HPL_ASKED = re.compile(
    r"^\s*+(?:N|NB|P|PFACT|NBMIN|NDIV|RFACT|BCAST|DEPTH)\s*+:\s++"
    r"(?P<values>(?:(?:\d++|Left|Crout|Right|\dring\w*+|B?[lL]ong\w*+)\s*+)+)$"
)
"""What is combined: there is a solve for each combination."""
_HPL_END = re.compile(r"^\s*End of [Tt]ests|^\s*Finished\s+\d+ tests")
_ORDINARY = ordinary("linpack")
_NUMBERS = re.compile(r"^(?:\s*+[\d.eE+-]++)+\s*+$")

SOLVES = schema(
    "benchmark str, repetition size lda align_kib nb p q i64, variant str, "
    "time_s gflops residual residual_norm f64, passed bool, started ended local"
)
_SUMMARY = schema("size lda align_kib i64, mean_gflops max_gflops f64")
_PROGRESS_SCHEMA = schema("host str, column i64, fraction kernel_mflops mflops f64")


def _is_mkl_titles(line: str) -> bool:
    match = _MKL_TITLES.match(line)
    return bool(match) and bool(re.match(r"Time\(s\)\s+GFlops|Average\s+Maximal", match["rest"] if match else ""))


def _clock(text: str) -> datetime | None:
    try:
        return datetime.strptime(" ".join(text.split()), "%a %b %d %H:%M:%S %Y")  # noqa: DTZ007  no zone is printed
    except ValueError:
        return None


def read_mkl(lines: Sequence[str]) -> tuple[list[Fields], list[Fields], list[Note]]:
    """The solves and the summary of MKL's benchmark, and notes on its checks."""
    solves: list[Fields] = []
    summary: list[Fields] = []
    notes = Notes()
    facts: Fields = {}
    table: list[Fields] | None = None
    for place, line in enumerate(lines, 1):
        if _is_mkl_titles(line):
            table = summary if "Maximal" in line else solves
        elif table is not None and (match := _MKL_SOLVE.match(line)):
            size, lda, align, *numbers = match.groups()
            row: Fields = {"size": whole(size), "lda": whole(lda), "align_kib": whole(align), "line": place}
            values = [number(text) for text in numbers[:4]]
            if table is summary:
                summary.append({**row, "mean_gflops": values[0], "max_gflops": values[1]})
                continue
            row |= dict(zip(("time_s", "gflops", "residual", "residual_norm"), values, strict=True))
            passed = _MKL_VERDICTS.get((numbers[4] or "").lower())
            if numbers[4] and passed is None:
                notes.warn(f"residual check {numbers[4]!r} is neither pass nor fail: ignored", place)
            solves.append({"benchmark": "linpack", **row, **facts, "passed": passed})
        elif verdict := _MKL_VERDICT.match(line):
            if verdict[1].upper() != "PASSED":
                notes.warn(f"residual checks {verdict[1]}: its results are wrong", place)
            table = None
        elif fact := _FACT.match(line):
            facts[fact["what"].lower()] = whole(fact["count"])
    return solves, summary, notes


def read_hpl(lines: Sequence[str]) -> tuple[list[Fields], list[Note]]:
    """The solves of HPL, and what its summary says."""
    solves: list[Fields] = []
    notes = Notes()
    for place, line in enumerate(lines, 1):
        if match := _HPL_SOLVE.match(line):
            variant, *sizes = match.groups()[:5]
            row: Fields = dict(zip(("size", "nb", "p", "q"), map(whole, sizes), strict=True))
            row |= {"time_s": number(match[6]), "gflops": number(match[7]), "variant": variant, "line": place}
            solves.append({"benchmark": "hpl", **row, "passed": None})
        elif solves and (check := _HPL_CHECK.match(line)):
            before = solves[-1]
            worst = [value for value in (before.get("residual_norm"), number(check["value"])) if value is not None]
            passed = check["verdict"] == "PASSED" and before["passed"] is not False
            before |= {"residual_norm": max(worst, default=None), "passed": passed}
        elif solves and (clock := _HPL_TIME.match(line)):
            solves[-1]["started" if clock["which"] == "start" else "ended"] = _clock(clock["time"])
        elif (count := _HPL_COUNT.match(line)) and count["count"].strip("0"):
            notes.warn(f"HPL says: {' '.join(line.split())}", place)
    return solves, notes


def read_progress(lines: Sequence[str]) -> list[Fields]:
    """The lines that Intel's HPL prints while it runs."""
    rows = []
    for match in filter(None, map(_PROGRESS.match, lines)):
        figures = {name: number(match[name]) for name in ("fraction", "kernel_mflops", "mflops")}
        rows.append({"host": match["host"], "column": whole(match["column"]), **figures})
    return rows


def is_damaged(line: str) -> bool:
    """Whether a line begins like a row of a table but is not one."""
    return bool(_ROW.match(line)) and not (_MKL_SOLVE.match(line) or _HPL_SOLVE.match(line))


def unfinished(solves: Sequence[Fields], lines: Sequence[str]) -> list[Note]:
    """A note where HPL began and did not end."""
    begun = [place for place, line in enumerate(lines, 1) if _HPL_BANNER.match(line)]
    if not begun or not solves or any(map(_HPL_END.match, lines)):
        return []
    asked = prod(len(match["values"].split()) for line in lines if (match := _HPL_ASKED.match(line)))
    if len(begun) == 1 and len(solves) < asked:
        return [Note(f"{len(solves)} of {asked} solves: the output was cut", len(lines), severity="warning")]
    return [Note("the output ends before the end of the tests: where it was cut, solves are missing", len(lines))]


def run_of(solve: Fields) -> Run:
    """One solve as the common table has it."""
    names = ("lda", "align_kib", "threads") if solve["benchmark"] == "linpack" else ("nb", "p", "q", "variant")
    settings = ", ".join(f"{name} {solve[name]}" for name in names if solve.get(name) is not None)
    figures = higher("performance", solve["gflops"], "GFlop/s"), lower("time", solve["time_s"], "s")
    return Run(f"n {solve['size']}", settings, figures, solve["passed"])


def about(solves: Sequence[Fields], progress: Sequence[Fields], lines: Sequence[str]) -> list[Note]:
    """Notes on the solves."""
    notes = Notes()
    for solve in [solve for solve in solves if solve["passed"] is False]:
        notes.warn(f"size {solve['size']}: the residual check failed, its result is wrong", solve["line"])
    for solve in [solve for solve in solves if None in (solve["time_s"], solve["gflops"])]:
        notes.warn(f"size {solve['size']}: no number for time or GFlops", solve["line"])
    unchecked = [solve for solve in solves if solve["passed"] is None]
    if unchecked:
        notes.say(f"{len(unchecked)} of {len(solves)} solves have no residual check", unchecked[0]["line"])
    if progress and not solves:
        done = progress[-1]["fraction"]
        share = "" if done is None else f", at {done:.1%} of the matrix"
        notes.warn(f"the run ended before its result{share}: only its progress is in the file", len(lines))
    known = (_MKL_SOLVE, _HPL_SOLVE, _PROGRESS, _HPL_TIME, _ORDINARY, _NUMBERS, _ERROR)
    every = [(place, line, is_damaged(line)) for place, line in enumerate(lines, 1) if line.strip()]
    rest = [(at, line) for at, line, damaged in every if not damaged and not any(one.match(line) for one in known)]
    notes += [*left_out(rest), *left_out([(at, line) for at, line, damaged in every if damaged], "warning")]
    said = [(place, line) for place, line, _ in every if _ERROR.match(line) and not _HPL_COUNT.match(line)]
    return notes + [Note(f"LINPACK says: {line.strip()}", place, severity="warning") for place, line in said[:5]]


def read(source: Source) -> Recording:
    """Reads the output of one or many runs of MKL's LINPACK or of HPL."""
    text = source.text().without_cut_number("nan")
    lines, notes = text.lines(), Notes(text.notes)
    mkl, summary, said = read_mkl(lines)
    hpl, more = read_hpl(lines)
    progress = read_progress(lines)
    notes += [*said, *more, *about([*mkl, *hpl], progress, lines), *unfinished(hpl, lines)]
    if summary and not mkl:
        notes.warn("the file has the summary, but not the solves", summary[0]["line"])
    solves = [
        {**solve, "repetition": repetition}
        for part in (mkl, hpl)
        for solve, repetition in zip(part, repetitions(map(run_of, part)), strict=True)
    ]
    details = {"solves": (solves, SOLVES), "summary": (summary, _SUMMARY), "progress": (progress, _PROGRESS_SCHEMA)}
    found = tables("hpl" if hpl else "linpack", [run_of(solve) for solve in solves], details)
    if not found:
        raise nothing(notes, "LINPACK")
    if mkl and hpl and "benchmark_results" in found:
        both = [tables(name, list(map(run_of, part)), {}) for name, part in (("linpack", mkl), ("hpl", hpl))]
        found["benchmark_results"] = pl.concat([one["benchmark_results"] for one in both if one])
    banner = next((match[1] for line in lines if (match := _HPL_BANNER.match(line))), None)
    meta = {"release": f"HPL {banner}"} if banner else {}
    meta |= {"host": hosts.pop()} if len(hosts := {row["host"] for row in progress if row["host"]}) == 1 else {}
    return Recording(FORMAT, source.name, found, {**meta, "samples": len(solves)}, tuple(notes))
