r"""redis-benchmark and valkey-benchmark: text (2.x to 8.x, with `\r` progress or without), `-q`, `--csv` old and new.

Source: redis-benchmark.c, showLatencyReport, of 2.8, 5.0, 6.2 and 7.0; CSV latencies are milliseconds.
"""

from __future__ import annotations

from re import Match

from esxparse.formats.benchmarks.printed import Lines, Part, Report
from esxparse.formats.benchmarks.table import Run, figures_of, recording, repetitions, settings_of
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.tables import data, known, schemas, typed
from esxparse.formats.kit.text import cells_of
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "redis_benchmark"

_DATA, _SCHEMAS, _LINES = data(__file__), schemas(__file__), Lines(__file__)
_CSV_LATENCIES = {
    f"{name}_latency_ms": f"latency_{'mean' if name == 'avg' else name}"
    for name in ("avg", "min", "p50", "p95", "p99", "max")
}
_CSV_WIDTHS = frozenset({2, 2 + len(_CSV_LATENCIES)})
"""Cells of a row before Redis 6.2, and from 6.2 on."""
_BY_PERCENTILE = "Latency by percentile distribution:"
_SUMMARY = ["avg", "min", "p50", "p95", "p99", "max"]


@_LINES.reads("csv_titles")
def _csv_titles(report: Report, _: Match[str]) -> None:
    report.coming["titles"] = [cell.strip(' "').lower() for cell in report.line.split(",")]


@_LINES.reads("csv_row")
def _csv_row(report: Report, _: Match[str]) -> bool:
    """Read one row of `--csv`: the test, its rate and its latencies."""
    titles, cells = report.coming.get("titles"), cells_of(report.line)
    # If a cell was lost or added, no cell is certain to be below its own title.
    if len(cells) not in ({len(titles)} if titles else _CSV_WIDTHS):
        return False
    row = dict(zip(titles or ("test", "rps"), cells, strict=False))
    if (rate := number(row.get("rps"))) is None or "test" not in row:
        return False
    latencies = {metric: row.get(name) for name, metric in _CSV_LATENCIES.items()}
    report.begin(test=row["test"], throughput=rate, **latencies)
    return True


@_LINES.reads("title", "quiet")
def _begin(report: Report, found: Match[str]) -> None:
    report.begin(**found.groupdict())


@_LINES.reads_in_run("fact", "rate")
def _fact(report: Report, found: Match[str]) -> None:
    """Add settings or the rate from a line to the latest test."""
    report.run.facts |= known(typed(found.groupdict(), _SCHEMAS["tests"]))
    report.under = ""


@_LINES.reads_in_run("latencies")
def _latencies(report: Report, found: Match[str]) -> bool:
    if report.under.split() != _SUMMARY:
        return False
    _fact(report, found)
    return True


@_LINES.reads_in_run("percent")
def _percent(report: Report, found: Match[str]) -> None:
    """Add `99.9% <= 2.7 milliseconds` to `percentiles` or `distribution`."""
    share, latency, count = found.groups()
    if report.under == _BY_PERCENTILE:
        report.run.rows["percentiles"].append({"percentile": share, "latency_ms": latency, "count": count})
    else:
        row = {"to_ms": latency, "cumulative_pct": share, "cumulative_count": count}
        report.run.rows["distribution"].append(row)


@_LINES.reads("heading")
def _heading(report: Report, _: Match[str]) -> bool:
    report.under = report.line.strip()
    return False


def run_of(test: Part) -> Run:
    """Return one test for the common table."""
    figures = figures_of(test.facts, _DATA["figures"])
    return Run(test.facts["test"], settings_of(test.facts, _DATA["shown"]), tuple(figures))


def read(source: Source) -> Recording:
    """Read one or many runs of redis-benchmark."""
    text = source.text()
    # A CSV cell without its closing quotation mark is not whole, so nothing replaces its number.
    text = text.without_cut_number("" if _LINES["damaged"].match(text.lines()[-1]) else "nan")
    report = _LINES.read(text.lines())
    notes = Notes([*text.notes, *report.notes("redis-benchmark")])
    for test in report.runs:
        if number(test.facts.get("throughput")) is None:
            notes.warn(f"{test.facts['test']} has no rate: the run ended early", test.line)
    notes += left_out(report.kept["unknown"])
    report.runs = tests = [test for test in report.runs if number(test.facts.get("throughput")) is not None]
    runs = list(map(run_of, tests))
    shared = [{"test": run.test, "repetition": again} for run, again in zip(runs, repetitions(runs), strict=True)]
    for test in tests:
        test.rows["tests"] = [test.facts] if test.facts.get("requests") is not None else []
    details = report.details(_SCHEMAS, shared)
    return recording(source, FORMAT, "redis-benchmark", runs, details, {"samples": len(tests)}, notes, enough=tests)
