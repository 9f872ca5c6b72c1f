r"""redis-benchmark and valkey-benchmark: text (2.x to 8.x, with `\r` progress or without), `-q`, `--csv` old and new.

Tables
------
benchmark_results   see `esxparse.formats.benchmarks.table`: metrics `throughput` (requests/s) and, where printed,
                    `latency_mean`, `latency_min`, `latency_p50`, `latency_p95`, `latency_p99`, `latency_max` (ms)
tests               one row per test and run: test, repetition, requests, duration_s, clients, payload_bytes,
                    keep_alive, threads (those of text output)
percentiles         one row per printed percentile: test, repetition, percentile (99.9 is 99.9 %), latency_ms, count
                    (requests up to there)
distribution        one row per step of the cumulative distribution: test, repetition, to_ms, cumulative_pct,
                    cumulative_count (null before Redis 6.2); old output has whole milliseconds

Source: redis-benchmark.c, showLatencyReport, of 2.8, 5.0, 6.2 and 7.0; CSV latencies are milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from esxparse.formats.benchmarks.table import Fields, Run, errors, higher, lower, ordinary, recording, repetitions
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number, whole
from esxparse.formats.kit.tables import schema
from esxparse.formats.kit.text import cells_of
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "redis_benchmark"

_LATENCIES = {"avg": "latency_mean", **{name: f"latency_{name}" for name in ("min", "p50", "p95", "p99", "max")}}
_TITLE = re.compile(r"^\s*=+ (?P<title>.+?) =+\s*$")
_CSV_TITLES = re.compile(r'^\s*"?test"?,"?rps"?(?:,|\s*$)', re.IGNORECASE)
_CSV_ROW = re.compile(r'^\s*"(?:[^"]|"")+"(?:,"[^"]*")+\s*$')
_CSV_WIDTHS = frozenset({2, 2 + len(_LATENCIES)})
"""Cells of a row before Redis 6.2, and since."""
_CSV_BEGINNING = re.compile(r'^\s*"[^"]+",')
_QUIET = re.compile(
    r"^\s*(?P<title>\S.*?): (?P<rps>[\d.]+|-?nan|inf) requests per second(?:, p50=(?P<p50>\S+) msec)?\s*$"
)
_PROGRESS = re.compile(r"^\s*.*: (?:rps=\S+ \(overall|-?[\d.]+$|-?nan$)|^\s*\S.*: -?[\d.]+\s*$")
_PLAIN_RATE = re.compile(r"^\s*(?:throughput summary: )?(?P<rps>[\d.]+|-?nan|inf) requests per second\s*$")
_PERCENT = re.compile(
    r"^\s*(?P<share>[\d.]+)% <= (?P<ms>[\d.]+) milliseconds(?: \(cumulative count (?P<count>\d+)\))?\s*$"
)
_BY_PERCENTILE = "Latency by percentile distribution:"
_SUMMARY = re.compile(r"^\s*avg\s+min\s+p50\s+p95\s+p99\s+max\s*$")
_SETTINGS = re.compile(
    r"^\s*(?:(?P<requests>\d+) requests completed in (?P<duration_s>[\d.]+) seconds|(?P<clients>\d+) parallel clients|"
    r"(?P<payload_bytes>\d+) bytes payload|keep alive: (?P<keep_alive>\d+)|threads: (?P<threads>\d+))"
)
_SHOWN = {
    "clients": "{} clients",
    "payload_bytes": "{} bytes",
    "keep_alive": "keep alive {}",
    "requests": "{} requests",
    "threads": "{} threads",
}
_ORDINARY = ordinary("redis_benchmark")
_ERROR = re.compile(
    r"^\s*(?:Could not connect|Error\b|ERROR\b|WARNING|Writing to socket|Server closed|\(error\)|Invalid|Timeout|"
    r"Cluster .*(?:fail|error))",
    re.IGNORECASE,
)

_TESTS = schema("test str, repetition requests i64, duration_s f64, clients payload_bytes keep_alive threads i64")
_PERCENTILES = schema("test str, repetition i64, percentile latency_ms f64, count i64")
_DISTRIBUTION = schema("test str, repetition i64, to_ms cumulative_pct f64, cumulative_count i64")


def read_csv(line: str, titles: Sequence[str]) -> Fields | None:
    """One row of `--csv`: the test, its rate and its latencies."""
    cells = cells_of(line)
    # With a cell lost or gained, none is known to stand under its own title.
    if len(cells) not in ({len(titles)} if titles else _CSV_WIDTHS):
        return None
    named = dict(zip(titles or ("test", "rps"), cells, strict=False))
    rate = number(named.get("rps"))
    if rate is None or "test" not in named:
        return None
    latencies = {f"{name}_latency_ms": metric for name, metric in _LATENCIES.items()}
    values = {metric: number(named[name]) for name, metric in latencies.items() if name in named}
    return {"test": named["test"], "throughput": rate, **values}


def read_setting(line: str) -> Fields:
    """The settings a line of a text report tells."""
    match = _SETTINGS.match(line)
    told = match.groupdict().items() if match else ()
    return {name: number(text) if name == "duration_s" else whole(text) for name, text in told if text is not None}


def read_percent(line: str, *, by_percentile: bool) -> Fields | None:
    """A line `99.9% <= 2.7 milliseconds`, as a row of `percentiles` or of `distribution`."""
    if not (match := _PERCENT.match(line)):
        return None
    share, latency, count = number(match["share"]), number(match["ms"]), whole(match["count"])
    if by_percentile:
        return {"percentile": share, "latency_ms": latency, "count": count}
    return {"to_ms": latency, "cumulative_pct": share, "cumulative_count": count}


def _started(test: str, place: int) -> Fields:
    return {"test": test, "line": place, "percentiles": [], "distribution": []}


@dataclass
class Found:
    """What the lines of a file hold."""

    tests: list[Fields] = field(default_factory=list)
    wrong: list[tuple[int, str]] = field(default_factory=list)
    rest: list[tuple[int, str]] = field(default_factory=list)
    damaged: list[tuple[int, str]] = field(default_factory=list)
    """Incomplete rows of CSV."""
    titles: list[str] = field(default_factory=list)
    """Of the latest CSV."""


def begin(line: str, place: int, found: Found) -> bool:
    """Whether a line begins a test, or is one whole."""
    if _CSV_TITLES.match(line):
        found.titles = [cell.strip(' "').lower() for cell in line.split(",")]
    elif _CSV_ROW.match(line) and (row := read_csv(line, found.titles)):
        found.tests.append({**_started("", place), **row})
    elif _CSV_BEGINNING.match(line):
        found.damaged.append((place, line))
    elif match := _TITLE.match(line):
        found.tests.append(_started(match["title"], place))
    elif not _PLAIN_RATE.match(line) and (quiet := _QUIET.match(line)):
        rates = {"throughput": number(quiet["rps"]), "latency_p50": number(quiet["p50"])}
        found.tests.append({**_started(quiet["title"], place), **rates})
    else:
        return False
    return True


def go_on(line: str, before: str, test: Fields) -> bool:
    """Whether a line tells more of a test; `before` is the heading it stands under."""
    if setting := read_setting(line):
        test |= setting
    elif percent := read_percent(line, by_percentile=before == _BY_PERCENTILE):
        test["percentiles" if before == _BY_PERCENTILE else "distribution"].append(percent)
    elif rate := _PLAIN_RATE.match(line):
        test["throughput"] = number(rate["rps"])
    elif _SUMMARY.match(before) and len(cells := line.split()) == len(_LATENCIES):
        test |= dict(zip(_LATENCIES.values(), map(number, cells), strict=True))
    else:
        return False
    return True


def split(lines: Iterable[str]) -> Found:
    """The tests of a file; error messages; unknown lines."""
    found = Found()
    heading = ""
    for place, line in enumerate(lines, 1):
        if not line.strip() or begin(line, place, found):
            continue
        if found.tests and go_on(line, heading, found.tests[-1]):
            heading = heading if _PERCENT.match(line) else ""
            continue
        heading = line.strip()
        if _ERROR.match(line):
            found.wrong.append((place, line))
        elif not (_ORDINARY.match(line) or _PROGRESS.match(line) or _SUMMARY.match(line)):
            found.rest.append((place, line))
    return found


def run_of(found: Fields) -> Run:
    """One test as the common table has it."""
    text = ", ".join(shown.format(found[name]) for name, shown in _SHOWN.items() if found.get(name) is not None)
    figures = [higher("throughput", found.get("throughput"), "requests/s")]
    figures += [lower(name, found.get(name), "ms") for name in _LATENCIES.values()]
    return Run(found["test"], text, tuple(figures))


def read(source: Source) -> Recording:
    """Reads one or many runs of redis-benchmark."""
    text = source.text()
    # A cell of a row of CSV is not whole without its quotation mark: there is no place to keep.
    text = text.without_cut_number("" if _CSV_BEGINNING.match(text.lines()[-1]) else "nan")
    found = split(text.lines())
    notes = Notes([*text.notes, *errors(found.wrong, "redis-benchmark"), *left_out(found.damaged, "warning")])
    whole = [test for test in found.tests if test.get("throughput") is not None]
    for test in found.tests:
        if test.get("throughput") is None:
            notes.warn(f"{test['test']} has no rate: the run ended early", test["line"])
    notes += left_out(found.rest)
    runs = [run_of(test) for test in whole]
    tests = [{**test, "repetition": again} for test, again in zip(whole, repetitions(runs), strict=True)]
    details = {"tests": ([test for test in tests if test.get("requests") is not None], _TESTS)}
    for name, columns in (("percentiles", _PERCENTILES), ("distribution", _DISTRIBUTION)):
        rows = [{**row, "test": test["test"], "repetition": test["repetition"]} for test in tests for row in test[name]]
        details[name] = rows, columns
    return recording(source, FORMAT, "redis-benchmark", runs, details, {"samples": len(whole)}, notes, enough=whole)
