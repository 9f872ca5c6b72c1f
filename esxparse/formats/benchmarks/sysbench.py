"""sysbench text output (0.4, 0.5, 1.0, 1.1): cpu, memory, fileio, threads, mutex, oltp and other Lua tests.

`test` is `unknown` where the output does not tell (threads and mutex of 1.0 print nothing of themselves) and the
command is not in the file either. Checkpoint reports are runs of their own, with the time in `configuration`.
Source: sb_fileio.c, sb_memory.c, sysbench.c of 0.4.12 and 1.0.20: their `Mb`, `MB` and `MiB` are all 2**20 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from esxparse.formats.benchmarks.table import (
    BETTER,
    Fields,
    Figure,
    Run,
    errors,
    higher,
    lower,
    numbered,
    ordinary,
    recording,
    whose,
)
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number, scaled, whole
from esxparse.formats.kit.tables import data, schemas
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "sysbench"

_BANNER = re.compile(r"^\s*sysbench (?P<version>\d[\w.+-]*)(?: \(|:|$)")
_COMMAND = re.compile(
    r"\bsysbench\b.*?(?:--test=|\s)(?:\S*/)?(?P<test>cpu|memory|fileio|threads|mutex|oltp\w*|bulk_insert|select_\w+)"
    r"(?:\.lua)?\b.*\brun\b"
)
_CHECKPOINT = re.compile(r"^\s*\[\s*(?P<at>\d+)s\s*\] Checkpoint report:")
_INTERVAL = re.compile(r"^\s*\[\s*(?P<at>\d+(?:\.\d+)?)s\s*\] (?P<rest>.*\S)\s*$")
_BIN = re.compile(r"^\s*(?P<to>\d+\.\d+)\s+\|[* ]*\s(?P<count>\d+)\s*$")
_SIZES = {"": 1 / 2**20, "K": 1 / 2**10, "M": 1.0, "G": 2.0**10, "T": 2.0**20}
_N = r"(-?\d+(?:\.\d+)?)"
_VALUE = rf"(?P<value>{_N[1:-1]})"
_DATA = data(__file__)


def _patterns(table: str, number: str = _N) -> list[tuple[re.Pattern[str], Any]]:
    return [(re.compile(pattern.replace("<N>", number)), told) for pattern, told in _DATA[table].items()]


_LINES, _INTERVALS = _patterns("line"), _patterns("interval", _VALUE)
_TESTS, _SETTINGS = _patterns("test"), _patterns("setting")
_SHOWN: dict[str, str] = _DATA["shown"]

_PERCENTILE = re.compile(rf"^\s*(?:approx\.\s+)?(?P<which>\d+(?:\.\d+)?)(?:th|st|nd|rd)? percentile:\s*{_N}(?:ms)?\s*$")
_OLD_BANDWIDTH = re.compile(r"Total transferred \S+\s+\((?P<value>[\d.]+)(?P<size>[KMGT]?)i?[bB]/sec\)")
_QUERIES = re.compile(rf"^\s+(?P<kind>read|write|other|total):\s+{_N}\s*$")
_ORDINARY = ordinary("sysbench")
_END = re.compile(r"^\s*execution time \(avg/stddev\):")
_ERROR = re.compile(r"^\s*(?:\(last message.*)?(?:FATAL|ALERT|ERROR|error|PANIC|Segmentation|WARNING(?!: Both))\b")

_SCHEMAS = schemas(__file__)


def read_figures(line: str) -> list[Figure]:
    """The figures that a line of a report tells."""
    for pattern, figures in _LINES:
        if match := pattern.match(line):
            values = zip(figures, match.groups(), strict=True)
            return [Figure(metric, number(text), unit, BETTER[better]) for (metric, unit, better), text in values]
    if match := _PERCENTILE.match(line):
        return [lower(f"latency_p{float(match['which']):g}", number(match[2]), "ms")]
    if match := _OLD_BANDWIDTH.search(line):
        return [higher("total_bandwidth", scaled(number(match["value"]), _SIZES[match["size"]]), "MiB/s")]
    if match := _QUERIES.match(line):
        return [Figure(f"{match['kind']}_query_count", number(match[2]), "1")]
    return []


def read_interval(at: str, rest: str) -> list[Fields]:
    """The figures of one intermediate report."""
    rows = []
    for pattern, (metric, unit) in _INTERVALS:
        if match := pattern.search(rest):
            named = match.groupdict()
            value = number(named.pop("value"))
            name = metric.format(**{part: float(text) for part, text in named.items()})
            rows.append({"elapsed_s": number(at), "metric": name, "value": value, "unit": unit})
    return rows


def _started(place: int, **facts: str | None) -> Fields:
    parts: Fields = {"figures": [], "intervals": [], "histogram": [], "settings": {}}
    return {"line": place, **parts, "test": None, "ended": False, **facts}


def read_line(line: str, place: int, runs: list[Fields]) -> bool:
    """Adds what a line tells to the latest run, or to a new one; False if it holds no figure."""
    run = runs[-1]
    run["ended"] = run["ended"] or bool(_END.match(line))
    told = next((name for pattern, name in _TESTS if pattern.search(line)), None)
    run["test"] = run["test"] or told
    settings = _settings(line)
    run["settings"] |= settings
    if checkpoint := _CHECKPOINT.match(line):
        # What follows is a report of its own, and one for the whole run comes after.
        run["settings"]["checkpoint"] = checkpoint["at"]
        return True
    if interval := _INTERVAL.match(line):
        rows = read_interval(interval["at"], interval["rest"])
        run["intervals"] += rows
        return bool(rows)
    if step := _BIN.match(line):
        run["histogram"].append({"to_ms": number(step["to"]), "count": whole(step["count"])})
        return True
    figures = read_figures(line)
    if {one.metric for one in figures} & {one.metric for one in run["figures"]}:
        again = _started(place, release=run["release"], command=run["command"], test=run["test"])
        again["settings"] = {name: value for name, value in run["settings"].items() if name != "checkpoint"}
        runs.append(again)
    runs[-1]["figures"] += figures
    return bool(figures or told or settings)


def split(lines: Iterable[str]) -> tuple[list[Fields], list[tuple[int, str]], list[tuple[int, str]]]:
    """The runs of a file; error messages; unknown lines."""
    runs: list[Fields] = []
    wrong: list[tuple[int, str]] = []
    rest: list[tuple[int, str]] = []
    command = None
    for place, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if banner := _BANNER.match(line):
            runs.append(_started(place, release=banner["version"], command=command))
            command = None
        elif match := _COMMAND.search(line):
            command = match["test"]
        elif _ERROR.match(line):
            wrong.append((place, line))
        else:
            if not runs:
                runs.append(_started(place, release=None, command=command))
            if not read_line(line.rstrip(), place, runs) and not _ORDINARY.match(line):
                rest.append((place, line))
    return [run for run in runs if run["figures"] or run["intervals"] or run["release"]], wrong, rest


def _settings(line: str) -> dict[str, str]:
    found = {}
    for pattern, name in _SETTINGS:
        if match := pattern.match(line):
            found[name] = next(group for group in match.groups() if group is not None)
    return found


def run_of(run: Fields) -> Run:
    """One run as the common table has it."""
    settings = [shown.format(run["settings"][name]) for name, shown in _SHOWN.items() if name in run["settings"]]
    test = run["test"] if run["test"] and run["test"] != "oltp" else run["command"] or run["test"] or "unknown"
    return Run(test, ", ".join(settings), tuple(run["figures"]))


def read(source: Source) -> Recording:
    """Reads one or many runs of sysbench."""
    text = source.text().without_cut_number()
    found, wrong, rest = split(text.lines())
    notes = Notes([*text.notes, *errors(wrong, "sysbench")])
    for run in found:
        if not run["figures"]:
            notes.warn("a run without a report: it failed, or the file was cut", run["line"])
    runs = [run for run in found if run["figures"]]
    if runs and not runs[-1]["ended"] and "checkpoint" not in runs[-1]["settings"]:
        notes.say("the last report has no end: where the file was cut, figures are missing", runs[-1]["line"])
    intervals = numbered(found, "intervals")
    details = {
        "intervals": (intervals, _SCHEMAS["intervals"]),
        "histogram": (numbered(found, "histogram"), _SCHEMAS["histogram"]),
    }
    made = list(map(run_of, runs))
    if unknown := [run for run, one in zip(runs, made, strict=True) if one.test == "unknown"]:
        notes.say("the output does not name its test: it is called unknown", unknown[0]["line"])
    notes += left_out(rest)
    facts = {"samples": len(runs), **whose(found)}
    return recording(source, FORMAT, "sysbench", made, details, facts, notes, enough=runs or intervals)
