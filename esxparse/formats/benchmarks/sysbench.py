"""sysbench text output (0.4, 0.5, 1.0, 1.1): cpu, memory, fileio, threads, mutex, oltp and other Lua tests.

`test` is `unknown` if neither the output (threads and mutex of 1.0 do not print their names) nor a command in the
file shows it. Checkpoint reports are runs of their own, with the time in `configuration`.
Source: sb_fileio.c, sb_memory.c, sysbench.c of 0.4.12 and 1.0.20: their `Mb`, `MB` and `MiB` are all 2**20 bytes.
"""

from __future__ import annotations

import re
from re import Match

from esxparse.formats.benchmarks.printed import Lines, Part, Report, facts_in, figures_in
from esxparse.formats.benchmarks.table import Figure, Run, higher, recording, settings_of, whose
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number, scaled
from esxparse.formats.kit.patterns import meanings
from esxparse.formats.kit.tables import data, schemas
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "sysbench"

_DATA, _SCHEMAS = data(__file__), schemas(__file__)
_LINES = Lines(__file__)
_FIGURES, _INTERVALS, _TESTS = (meanings(__file__, section) for section in ("figures", "intervals", "tests"))
_FACTS = [re.compile(pattern) for pattern in _DATA["facts"]["patterns"]]
_OLD_BANDWIDTH = re.compile(r"Total transferred \S+\s+\((?P<value>[\d.]+)(?P<size>[KMGT]?)i?[bB]/sec\)")
_SIZES = {"": 1 / 2**20, "K": 1 / 2**10, "M": 1.0, "G": 2.0**10, "T": 2.0**20}


@_LINES.reads("banner")
def _begin(report: Report, found: Match[str]) -> None:
    report.begin(release=found["version"], command=report.coming.pop("command", None))


@_LINES.reads("first")
def _first(report: Report, _: Match[str]) -> bool:
    """Begin a run that has no banner."""
    if not report.runs:
        report.begin(release=None, **report.coming)
    return False


@_LINES.reads("command")
def _command(report: Report, found: Match[str]) -> None:
    report.coming |= found.groupdict()


@_LINES.reads("end", "checkpoint")
def _fact(report: Report, found: Match[str]) -> None:
    """Record the end of a report, or a checkpoint: its report comes next, followed by one of the whole run."""
    report.run.facts |= found.groupdict()


@_LINES.reads("histogram")
def _bin(report: Report, found: Match[str]) -> None:
    report.run.rows["histogram"].append(found.groupdict())


@_LINES.reads("interval")
def _interval(report: Report, found: Match[str]) -> bool:
    figures = [
        figure
        for pattern, meaning in _INTERVALS
        if (part := pattern.search(found["rest"]))
        for figure in figures_in(part, meaning)
    ]
    report.run.rows["intervals"] += [{"elapsed_s": found["at"], **vars(figure)} for figure in figures]
    return bool(figures)


def read_figures(line: str) -> list[Figure]:
    """Return the figures on a line of a report."""
    if old := _OLD_BANDWIDTH.search(line):
        return [higher("total_bandwidth", scaled(number(old["value"]), _SIZES[old["size"]]), "MiB/s")]
    found = ((pattern.match(line), meaning) for pattern, meaning in _FIGURES)
    return next((figures_in(match, meaning) for match, meaning in found if match), [])


@_LINES.reads("report")
def _of_report(report: Report, _: Match[str]) -> bool:
    """Add figures and facts to the latest run; a figure that the run already has begins another one."""
    run, line = report.run, report.line
    test = next((name for pattern, name in _TESTS if pattern.search(line)), None)
    facts = facts_in(line, _FACTS)
    run.facts |= {"test": run.facts.get("test") or test, **facts}
    figures = read_figures(line)
    if {one.metric for one in figures} & {one.metric for one in run.figures}:
        same = {name: value for name, value in run.facts.items() if name not in {"checkpoint", "ended"}}
        run = report.begin(**same)
    run.figures += figures
    return bool(figures or test or facts)


def run_of(run: Part) -> Run:
    """Return one run for the common table."""
    test, command = run.facts.get("test"), run.facts.get("command")
    name = test if test and test != "oltp" else command or test or "unknown"
    return Run(name, settings_of(run.facts, _DATA["shown"]), tuple(run.figures))


def read(source: Source) -> Recording:
    """Read one or many runs of sysbench."""
    text = source.text().without_cut_number()
    report = _LINES.read(text.lines())
    notes = Notes([*text.notes, *report.notes("sysbench")])
    report.runs = [run for run in report.runs if run.figures or run.rows["intervals"] or run.facts["release"]]
    for run in report.runs:
        if not run.figures:
            notes.warn("a run without a report: it failed, or the file was cut", run.line)
    runs = [run for run in report.runs if run.figures]
    if runs and not runs[-1].facts.keys() & {"ended", "checkpoint"}:
        notes.say("the last report has no end: if the file was cut, figures are missing", runs[-1].line)
    made = list(map(run_of, runs))
    if unknown := [run for run, one in zip(runs, made, strict=True) if one.test == "unknown"]:
        notes.say("the output does not name its test: it is called unknown", unknown[0].line)
    notes += left_out(report.kept["unknown"])
    details = report.details(_SCHEMAS)
    facts = {"samples": len(runs), **whose(run.facts for run in report.runs)}
    return recording(source, FORMAT, "sysbench", made, details, facts, notes, enough=runs or details["intervals"][0])
