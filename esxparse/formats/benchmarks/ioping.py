r"""ioping (0.6 to 1.3): requests, periodic and final statistics, raw statistics (`-B`, `-p`, `-P`), JSON (`-J`).

`-I` prints times of any form and without a year: they are not read. A file of only raw lines (`-B`) is recognised
because the rate of a line is its number of requests by their time.
Source: ioping.c 1.3 (print_statistics, dump_statistics, json_*), ioping.1; KiB, MiB are powers of 1024, `k` is 1000.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from re import Match
from typing import Any

from esxparse.formats.benchmarks.printed import Lines, Part, Report
from esxparse.formats.benchmarks.table import Fields, Run, dated, figures_of, listing, recording
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import POWERS, number, scaled, times, whole
from esxparse.formats.kit.objects import each_object, mapping
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data, distinct, schemas
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "ioping"

_LINES, _PATTERNS = Lines(__file__), kinds(__file__, "patterns")
_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3, "min": 6e4, "hour": 3.6e6, "day": 8.64e7}
_WAYS = {"<<<": "read", "from": "read", ">>>": "write", "to": "write", "read": "read", "written": "write"}
_LONGEST = 2000
"""Most characters of a line that are read: lines of the program are shorter."""


def _agrees(line: str) -> bool:
    """Return whether the numbers of a raw line fit ioping: its rate, extremes and mean agree."""
    values = [int(cell) for cell in line.split()] if _LINES["raw"].match(line) and len(line) < 400 else []  # noqa: PLR2004
    if not values or not values[0] or not values[1]:
        return False
    requests, took, rate, _, least, mean, most, *_ = values
    return least <= mean <= most <= took and abs(rate - requests * 10**9 // took) <= 1


def recognise(head: Head) -> bool:
    """Return whether a head has a request, title of statistics, raw statistics on its first line, or `-J` objects."""
    if not head.holds("request=", "ioping statistics", '"ignored"', '"mdev"'):
        return _agrees(head.text.partition("\n")[0].strip())
    if head.text.lstrip().startswith("["):
        return bool(_PATTERNS["json"].search(head.text))
    lines = [line[:_LONGEST] for line in head.text.split("\n")]
    return any(_LINES["request"].search(line) or _LINES["title"].match(line) for line in lines)


def duration_ms(text: str) -> float | None:
    """Return the milliseconds of a text such as `1.5 us`."""
    value, unit = text.split(" ")
    return scaled(value, _MS[unit])


def _many(text: str, base: int) -> float | None:
    """Return a number that may end in `k`, `M` ..., powers of `base`."""
    letter = text[-1:].strip("0123456789. ").lower()
    return times(number(text.rstrip("kKmMgGtTpP ")), base ** POWERS[letter])


def _counted(count: object) -> int | None:
    """Return a number of requests, rounded if it has a `k`."""
    return whole(round(count)) if isinstance(count, float) else None


def _seconds(nanoseconds: object) -> float | None:
    return scaled(nanoseconds, 1e-9)


def _milliseconds(nanoseconds: object) -> float | None:
    return scaled(nanoseconds, 1e-6)


_STATISTICS: Mapping[str, Callable[[object], float | None]] = {
    "requests": whole,
    "busy_s": _seconds,
    "iops": number,
    "bytes_per_s": number,
    **dict.fromkeys(("min_ms", "mean_ms", "max_ms", "mdev_ms"), _milliseconds),
    "generated": whole,
    "generated_s": _seconds,
}
"""Raw statistics in order."""


def statistics(cells: Iterable[object]) -> Fields:
    """Return a row of `intervals` from raw statistics."""
    return {name: read_cell(cell) for (name, read_cell), cell in zip(_STATISTICS.items(), cells, strict=False)}


def _begin(report: Report, target: str | None, request: int | None) -> Part:
    """Return the latest run, or begin one: after statistics, at request 1, or with another target."""
    last = report.run if report.runs else None
    if last is not None:
        rows, before = last.rows["requests"], last.facts["target"]
        again = request is not None and rows and request <= rows[-1]["request"]
        other = None not in (target, before) and target != before
        if again or other or (last.facts.get("closed") and target is not None):
            last = None
    run = last or report.begin(target=target)
    run.facts["target"] = run.facts["target"] or target
    return run


@_LINES.reads("request")
def _request(report: Report, found: Match[str]) -> None:
    request, unit = whole(found["request"]), found["unit"][0]
    size = (number(found["size"]) or 0.0) * 1024.0 ** (POWERS[unit.lower()] if unit in "KMGTP" else 0)
    row: Fields = {"request": request, "operation": _WAYS.get(found["way"]), "latency_ms": duration_ms(found["time"])}
    row |= {"bytes": _counted(size), "counted": found["mark"] is None}
    _begin(report, found["target"], request).rows["requests"].append(row)


@_LINES.reads("title")
def _title(report: Report, found: Match[str]) -> None:
    run = _begin(report, found["target"], None)
    run.facts["before_title"] = len(run.rows["intervals"])


@_LINES.reads("raw")
def _raw(report: Report, _: Match[str]) -> None:
    _begin(report, None, None).rows["intervals"].append(statistics(report.line.split()))


@_LINES.reads_in_run("completed")
def _completed(report: Report, found: Match[str]) -> None:
    rate, size, done = (_PATTERNS[name].search(found["rest"]) for name in ("rate", "size", "operation"))
    if done and not report.run.facts.get("operation"):
        report.run.facts["operation"] = _WAYS[done["operation"]]
    row: Fields = {
        "requests": _counted(_many(found["requests"], 1000)),
        "busy_s": scaled(duration_ms(found["time"]), 1e-3),
    }
    row["iops"] = _many(rate["rate"], 1000) if rate else None
    report.run.rows["intervals"].append({**row, "bytes_per_s": _many(size["size"], 1024) if size else None})


@_LINES.reads_in_run("generated")
def _generated(report: Report, found: Match[str]) -> None:
    for row in report.run.rows["intervals"][-1:]:
        row["generated"] = _counted(_many(found["requests"], 1000))
        row["generated_s"] = scaled(duration_ms(found["time"]), 1e-3)


@_LINES.reads_in_run("sides")
def _sides(report: Report, found: Match[str]) -> None:
    report.run.facts["closed"] = True
    for row in report.run.rows["intervals"][-1:]:
        row |= {name: duration_ms(text) for name, text in found.groupdict().items()}


def read_objects(text: str) -> Report:
    """Return the run that the objects of `-J` describe; the end may be missing."""
    report = Report()
    run = report.begin(target=None)
    for line, one in each_object(text, report.remarks):
        io, done, load = (mapping(one.get(name)) for name in ("io", "stat", "load"))
        path, operation = mapping(one.get("target")).get("path"), io.get("operation")
        run.facts["target"] = run.facts["target"] or (path if isinstance(path, str) else None)
        if io:
            moment = number(one.get("timestamp"))
            row: Fields = {"request": whole(io.get("request")), "bytes": whole(io.get("size"))}
            row["time"] = datetime.fromtimestamp(moment, UTC) if moment and 0 < moment < 1e11 else None  # noqa: PLR2004
            row["operation"] = operation if operation in ("read", "write") else None
            row |= {"latency_ms": scaled(io.get("time"), 1e-6), "counted": not io.get("ignored")}
            run.rows["requests"].append(row)
        elif done:
            cells: list[Any] = [
                done.get(name) for name in ("count", "time", "iops", "bps", "min", "avg", "max", "mdev")
            ]
            run.rows["intervals"].append(statistics([*cells, load.get("count"), load.get("time")]))
        else:
            report.remarks.warn("neither a request nor statistics: left out", line)
    report.runs = [run] if run.rows["requests"] or run.rows["intervals"] else []
    return report


def run_of(run: Part) -> Run:
    """Return a run for the common table: its last statistics, below a title if any, cover the whole run."""
    requests, intervals = run.rows["requests"], run.rows["intervals"]
    operations = {row["operation"] for row in requests} - {None}
    test = "read-write" if len(operations) > 1 else next(iter(operations), run.facts.get("operation")) or "unknown"
    sizes = {row["bytes"] for row in requests}
    parts = [f"{size} bytes" for size in sorted(sizes - {None})] if distinct(sizes) == 1 else []
    # If statistics below the title cannot be read, the last ones cover only an interval.
    last: Fields = next(reversed(intervals[run.facts.get("before_title", 0) :]), {})
    values = {**last, "mib_per_s": scaled(last.get("bytes_per_s"), 2**-20)}
    figures = figures_of(values, data(__file__)["figures"])
    return Run(test, listing(*parts, run.facts["target"]), tuple(figures))


def read(source: Source) -> Recording:
    """Read the output of one or many runs."""
    text = source.text().without_cut_line()
    if text.text.lstrip().startswith(("[", "{")):
        report = read_objects(text.text)
    else:
        report = _LINES.read([line[:_LONGEST] for line in text.lines()])
    unknown = left_out(report.kept["unknown"])
    notes = Notes([*text.notes, *report.remarks, *report.notes("ioping"), *unknown])
    for place, run in enumerate(report.runs, 1):
        if not run.rows["intervals"]:
            notes.warn(f"run {place} has no statistics: it was killed, or the file was cut")
    details = report.details(schemas(__file__))
    details["requests"] = dated(*details["requests"])
    facts = {"samples": len(details["requests"][0]) or len(details["intervals"][0])}
    return recording(source, FORMAT, "ioping", list(map(run_of, report.runs)), details, facts, notes)
