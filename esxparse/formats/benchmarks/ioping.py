r"""ioping (0.6 to 1.3): requests, periodic and final statistics, raw statistics (`-B`, `-p`, `-P`), JSON (`-J`).

Tables
------
benchmark_results   see `esxparse.formats.benchmarks.table`: test `read`, `write` or `read-write` (`-G`), `unknown`
                    where the file does not say; metrics `iops` (1/s), `throughput` (MiB/s), `latency_mean`,
                    `latency_min`, `latency_max`, `latency_mdev` (ms), of requests that count: without warm-up
requests            one row per request: run (from 1), request (from 1), time (UTC, only of JSON), operation (`read`,
                    `write`), bytes, latency_ms, counted (false for the warm-up, and beyond `-t`, `-T`)
intervals           one row per raw or periodic statistics, the last of a run too: run, requests, busy_s (sum of their
                    times), iops, bytes_per_s, min_ms, mean_ms, max_ms, mdev_ms, generated (requests), generated_s

`-I` prints times of any form and without a year: they are not read. A file that is only raw lines (`-B`) is known by
them: the rate of a line is its number of requests by their time.
Source: ioping.c 1.3 (print_statistics, dump_statistics, json_*), ioping.1; KiB, MiB are powers of 1024, `k` is 1000.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from esxparse.formats.benchmarks.table import Fields, Run, errors, higher, listing, lower, numbered, recording
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import POWERS, number, scaled, times, whole
from esxparse.formats.kit.objects import each_object, mapping
from esxparse.formats.kit.tables import distinct, schema
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "ioping"

_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3, "min": 6e4, "hour": 3.6e6, "day": 8.64e7}
_TIME = r"(?P<{0}>\d[\d.]*) (?P<{0}_unit>ns|us|ms|sec|s|min|hour|day)\b"
_REQUEST = re.compile(
    r"(?P<size>\d[\d.]*) (?P<unit>[KMGTP]?i?B|bytes|[KMGT]b?) (?P<way><<<|>>>|<>>?|from|to) (?P<target>.+?):"
    r" (?:request|seq)=(?P<request>\d+) time=" + _TIME.format("time") + r"(?: \((?P<mark>\w+)\))?"
)
_TITLE = re.compile(r"--- (?P<target>.+) ioping statistics ---")
_COMPLETED = re.compile(
    r"(?P<requests>\d[\d.]*) ?(?P<many>[kMGTP]?) ?requests completed in " + _TIME.format("time") + r"(?P<rest>.*)"
)
_GENERATED = re.compile(
    r"generated (?P<requests>\d[\d.]*) ?(?P<many>[kMGTP]?) ?requests in " + _TIME.format("time") + r".*"
)
_SIDES = re.compile(r"min/avg/max/mdev = " + " / ".join(_TIME.format(name) for name in ("min", "mean", "max", "mdev")))
_RATE = re.compile(r"(?P<rate>\d[\d.]*) ?(?P<many>[kMGTP]?) iops")
_BYTES = re.compile(r"(?P<size>\d[\d.]*) (?P<many>[KMGTPkmgtp]?)(?:iB|B|b)?/s")
_DONE = re.compile(r"\d \w*(?:iB)? (?P<operation>read|written)\b")
_RAW = re.compile(r"\d+(?: \d+){7}(?: \d+ \d+)?")
_DIGITS = re.compile(r"\d+(?: \d+)+")
_JSON = re.compile(r'"(?:io|stat|load)"\s*:\s*\{\s*"(?:request|count)"\s*:')
_WAYS = {"<<<": "read", "from": "read", ">>>": "write", "to": "write", "read": "read", "written": "write"}
_ERROR = re.compile(r"ioping: |.*(?:request failed|Input/output error)")

_LONGEST = 2000
"""Characters of a line that are read: all that the program prints has fewer."""

_REQUESTS = schema("run request i64, time time, operation str, bytes i64, latency_ms f64, counted bool")
_INTERVALS = schema(
    "run requests i64, busy_s iops bytes_per_s min_ms mean_ms max_ms mdev_ms f64, generated i64, generated_s f64"
)


def _told(line: str) -> bool:
    """Whether the numbers of a raw line are those of ioping: rate, extremes and mean are of one kind."""
    values = [int(cell) for cell in line.split()] if _RAW.fullmatch(line) and len(line) < 400 else []  # noqa: PLR2004
    if not values or not values[0] or not values[1]:
        return False
    requests, took, rate, _, least, mean, most, *_ = values
    return least <= mean <= most <= took and abs(rate - requests * 10**9 // took) <= 1


def recognise(head: Head) -> bool:
    """A request, the title of statistics, raw statistics from the first line on, or objects of `-J`."""
    if not head.holds("request=", "ioping statistics", '"ignored"', '"mdev"'):
        return _told(head.text.partition("\n")[0].strip())
    if head.text.lstrip().startswith("["):
        return bool(_JSON.search(head.text))
    return any(_REQUEST.search(line) or _TITLE.fullmatch(line.strip()) for line in _short(head.text.split("\n")))


def _short(lines: Sequence[str]) -> list[str]:
    return [line[:_LONGEST] for line in lines]


def _ms(match: re.Match[str], name: str = "time") -> float | None:
    return scaled(match[name], _MS[match[f"{name}_unit"]])


def _many(match: re.Match[str], name: str, base: int) -> float | None:
    return times(number(match[name]), base ** POWERS[match["many"].lower()])


def _raw(line: str) -> Fields:
    """A line of raw statistics: nanoseconds, bytes."""
    requests, took, rate, size, *sides = line.split()
    row: Fields = {name: scaled(cell, 1e-6) for name, cell in zip(_SIDES_MS, sides, strict=False)}
    row |= {"requests": whole(requests), "busy_s": scaled(took, 1e-9), "iops": number(rate)}
    generated: list[Any] = [*sides[4:], None, None]
    more = {"generated": whole(generated[0]), "generated_s": scaled(generated[1], 1e-9)}
    return {**row, "bytes_per_s": number(size), **more}


def _empty(target: str | None = None) -> Fields:
    shared: Fields = {"target": target, "size": None, "operation": None, "closed": False, "before_title": None}
    return {"requests": [], "intervals": [], **shared}


def _counted(count: object) -> int | None:
    """A number of requests, which is rounded where it has a `k`."""
    return whole(round(count)) if isinstance(count, float) else None


def _of_text(line: str, run: Fields) -> bool:
    """Adds what a line of a summary says to the last interval of a run."""
    text = line.strip()
    if done := _COMPLETED.fullmatch(text):
        rate, size = _RATE.search(done["rest"]), _BYTES.search(done["rest"])
        operation = _DONE.search(done["rest"])
        run["operation"] = run["operation"] or (_WAYS[operation["operation"]] if operation else None)
        row: Fields = {"requests": _counted(_many(done, "requests", 1000)), "busy_s": scaled(_ms(done), 1e-3)}
        row["iops"] = _many(rate, "rate", 1000) if rate else None
        run["intervals"].append({**row, "bytes_per_s": _many(size, "size", 1024) if size else None})
    elif made := _GENERATED.fullmatch(text):
        more = {"generated": _counted(_many(made, "requests", 1000)), "generated_s": scaled(_ms(made), 1e-3)}
        run["intervals"][-1:] = [{**row, **more} for row in run["intervals"][-1:]]
    elif sides := _SIDES.fullmatch(text):
        more = {f"{name}_ms": _ms(sides, name) for name in ("min", "mean", "max", "mdev")}
        run["intervals"][-1:] = [{**row, **more} for row in run["intervals"][-1:]]
        run["closed"] = True
    else:
        return False
    return True


def read_text(lines: Sequence[str]) -> tuple[list[Fields], Notes]:
    """The runs of a text: requests and statistics; notes on lines that are neither."""
    runs: list[Fields] = []
    wrong: list[tuple[int, str]] = []
    rest: list[tuple[int, str]] = []
    damaged: list[tuple[int, str]] = []
    for place, line in enumerate(_short(lines), 1):
        if request := _REQUEST.search(line):
            _start(runs, request["target"], whole(request["request"]))
            size = POWERS[request["unit"][0].lower()] if request["unit"][0] in "KMGTP" else 0
            operation = _WAYS.get(request["way"])
            row: Fields = {"request": whole(request["request"]), "operation": operation, "latency_ms": _ms(request)}
            row["bytes"] = _counted((number(request["size"]) or 0.0) * 1024.0**size)
            runs[-1]["requests"].append({**row, "counted": request["mark"] is None})
        elif title := _TITLE.fullmatch(line.strip()):
            _start(runs, title["target"], None)
            runs[-1]["before_title"] = len(runs[-1]["intervals"])
        elif _RAW.fullmatch(line.strip()):
            _start(runs, None, None)
            runs[-1]["intervals"].append(_raw(line))
        elif _DIGITS.fullmatch(line.strip()):
            damaged.append((place, line))
        elif _ERROR.match(line):
            wrong.append((place, line))
        elif line.strip() and not (runs and _of_text(line, runs[-1])):
            rest.append((place, line))
    return runs, Notes([*errors(wrong, "ioping"), *left_out(damaged, "warning"), *left_out(rest)])


def _start(runs: list[Fields], target: str | None, request: int | None) -> None:
    """Begins a run where another one has ended: after its statistics, at request 1, or with another target."""
    last = runs[-1] if runs else None
    again = last is not None and request is not None and last["requests"] and request <= last["requests"][-1]["request"]
    other = last is not None and None not in (target, last["target"]) and target != last["target"]
    if last is None or again or other or (last["closed"] and target is not None):
        runs.append(_empty(target))
    runs[-1]["target"] = runs[-1]["target"] or target


def read_objects(text: str) -> tuple[list[Fields], Notes]:
    """The run that the objects of `-J` are of; the end may be missing."""
    run, notes = _empty(), Notes()
    for line, one in each_object(text, notes):
        where, done, load = mapping(one.get("target")), mapping(one.get("stat")), mapping(one.get("load"))
        path, operation = where.get("path"), mapping(one.get("io")).get("operation")
        run["target"] = run["target"] or (path if isinstance(path, str) else None)
        if io := mapping(one.get("io")):
            moment = number(one.get("timestamp"))
            row: Fields = {"request": whole(io.get("request")), "bytes": whole(io.get("size"))}
            row["time"] = datetime.fromtimestamp(moment, UTC) if moment and 0 < moment < 1e11 else None  # noqa: PLR2004
            row["operation"] = operation if operation in ("read", "write") else None
            row |= {"latency_ms": scaled(io.get("time"), 1e-6), "counted": not io.get("ignored")}
            run["requests"].append(row)
        elif done:
            row = {name: scaled(done.get(key), 1e-6) for name, key in _SIDES_MS.items()}
            row |= {"requests": whole(done.get("count")), "busy_s": scaled(done.get("time"), 1e-9)}
            row |= {"iops": number(done.get("iops")), "bytes_per_s": number(done.get("bps"))}
            more = {"generated": whole(load.get("count")), "generated_s": scaled(load.get("time"), 1e-9)}
            run["intervals"].append({**row, **more})
        else:
            notes.warn("neither a request nor statistics: left out", line)
    return [run] if run["requests"] or run["intervals"] else [], notes


_SIDES_MS = {"min_ms": "min", "mean_ms": "avg", "max_ms": "max", "mdev_ms": "mdev"}


def run_of(run: Fields) -> Run:
    """A run as the common table has it: its last statistics are of the whole, below a title if it has one."""
    operations = {row["operation"] for row in run["requests"]} - {None}
    test = "read-write" if len(operations) > 1 else next(iter(operations), run["operation"]) or "unknown"
    sizes = {row["bytes"] for row in run["requests"]}
    parts = [f"{size} bytes" for size in sorted(sizes - {None})] if distinct(sizes) == 1 else []
    # If those below the title cannot be read, the last ones are of an interval.
    last: Fields = next(reversed(run["intervals"][run["before_title"] or 0 :]), {})
    figures = [
        higher("iops", last.get("iops"), "1/s"),
        higher("throughput", scaled(last.get("bytes_per_s"), 2**-20), "MiB/s"),
        *(lower(f"latency_{name}", last.get(f"{name}_ms"), "ms") for name in ("mean", "min", "max", "mdev")),
    ]
    return Run(test, listing(*parts, run["target"]), tuple(figures))


def read(source: Source) -> Recording:
    """Reads the output of one or many runs."""
    text = source.text().without_cut_line()
    if text.text.lstrip().startswith(("[", "{")):
        runs, notes = read_objects(text.text)
    else:
        runs, notes = read_text(text.lines())
    notes[:0] = text.notes
    for place, run in enumerate(runs, 1):
        if not run["intervals"]:
            notes.warn(f"run {place} has no statistics: it was killed, or the file was cut")
    rows, intervals = numbered(runs, "requests"), numbered(runs, "intervals")
    # A column of times has one in every row.
    dated = all(row.get("time") for row in rows)
    columns = {name: kind for name, kind in _REQUESTS.items() if dated or name != "time"}
    details = {"requests": (rows, columns), "intervals": (intervals, _INTERVALS)}
    facts = {"samples": len(rows) or len(intervals)}
    return recording(source, FORMAT, "ioping", list(map(run_of, runs)), details, facts, notes)
