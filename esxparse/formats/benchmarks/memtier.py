"""memtier_benchmark (1.2 to 2.x): the text report, and the document of `--json-out-file`.

Tables
------
benchmark_results   see `esxparse.formats.benchmarks.table`: for each kind of command (`sets`, `gets`, `waits`,
                    `totals` ...) metrics `throughput`, `hits`, `misses` (per second), `bandwidth` (KiB/s as memtier's
                    `KB/sec`), `latency_mean`, `latency_min`, `latency_max`, `latency_p50`, `latency_p99` ... (ms).
                    Best, worst and averaged runs have that in `configuration`; `RUN #n` are repetitions
percentiles         one row per percentile (JSON): test, section, percentile (99.9 is 99.9 %), latency_ms
distribution        one row per step of the cumulative distribution: test, section, to_ms, cumulative_pct
series              one row per second and figure (JSON "Time-Serie"): section, test, elapsed_s, metric, value, unit;
                    metrics are those of benchmark_results, and `requests` of that second

Source: run_stats.cpp (print_*_column, print_json); `KB/sec` divides bytes by 1024.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from esxparse.formats.benchmarks.table import BETTER, Fields, Figure, Run, errors, lower, ordinary, recording
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.objects import GIVEN_UP, NOT_A_NUMBER, Effort, mapping
from esxparse.formats.kit.tables import data, schema
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "memtier"

_SECTION = re.compile(
    r"^\s*(?P<name>ALL STATS|BEST RUN RESULTS|WORST RUN RESULTS|AGGREGATED AVERAGE RESULTS(?: \(\d+ runs\))?|"
    r"RUN #\d+ RESULTS)\s*$"
)
_TITLES = re.compile(r"^\s*Type\s+Ops/sec\s+\S")
_DISTRIBUTION = re.compile(r"^\s*Type\s+<= msec\s+Percent")
_STEP = re.compile(r"^\s*+(?P<test>\S(?:.*\S)?)\s++(?P<ms>\d++(?:\.\d++)?)\s++(?P<share>\d++(?:\.\d++)?)\s*+$")
_SETTING = re.compile(
    r"^\s*(?P<count>\d+)\s+(?P<what>Threads|Connections per thread|Requests per (?:client|thread)|Seconds)\s*$",
    re.IGNORECASE,
)
_ORDINARY = ordinary("memtier")
_ERROR = re.compile(
    r"^\s*+(?:connection (?:error|dropped)|error|handle error|Connection refused|.*failed)", re.IGNORECASE
)

_METRICS: Mapping[str, tuple[str, str, str]] = data(__file__)
_PERCENTILE = re.compile(r"^p(?P<percentile>\d+(?:\.\d+)?)(?: latency)?$", re.IGNORECASE)
_NOT_TESTS = frozenset({"Runtime", "configuration", "run information", "CPU"})

_STEPS = schema("section test str, to_ms cumulative_pct f64")
_PERCENTILES = schema("section test str, percentile latency_ms f64")
_SERIES = schema("section test str, elapsed_s f64, metric str, value f64, unit str")


def figure(name: str, value: Any) -> Figure | None:
    """A number under its printed name, as the common table has it; None if the name is unknown."""
    if match := _PERCENTILE.match(name.strip()):
        return lower(f"latency_p{float(match['percentile']):g}", number(value), "ms")
    if name.strip().lower() not in _METRICS:
        return None
    metric, unit, better = _METRICS[name.strip().lower()]
    return Figure(metric, number(value), unit, BETTER[better])


def configured(settings: Mapping[str, Any], section: str) -> str:
    """The settings as text, and which run of several it is."""
    parts = [f"{count} {what}" for what, count in settings.items() if count is not None]
    name = section.upper()
    if "RUN RESULTS" in name or "AVERAGE" in name:
        parts.append(section.lower().replace(" results", ""))
    return ", ".join(parts)


def read_row(cells: list[str], titles: list[str]) -> tuple[str, tuple[Figure, ...]]:
    """A row of the table: the kind of command, and its figures; None if it has only dashes."""
    numbers = cells[1 - len(titles) :]
    figures = [one for title, cell in zip(titles[1:], numbers, strict=True) if (one := figure(title, cell))]
    measured = any(one.value for one in figures) or all(one.value is not None for one in figures)
    # The program prints zero and dashes for what it did not run.
    return " ".join(cells[: 1 - len(titles)]).lower(), tuple(figures) if measured else ()


def read_report(lines: list[str]) -> Fields:
    """The text report: runs, steps of distributions, errors, unknown lines."""
    found: Fields = {"runs": [], "distribution": [], "wrong": [], "rest": []}
    settings: dict[str, Any] = {}
    section, titles, steps = "ALL STATS", [""], False
    for place, line in enumerate(lines, 1):
        cells = line.split()
        if match := _SECTION.match(line):
            section, titles, steps = match["name"], [""], False
        elif setting := _SETTING.match(line):
            settings[setting["what"].lower()] = setting["count"]
        elif _TITLES.match(line) or _DISTRIBUTION.match(line):
            steps = bool(_DISTRIBUTION.match(line))
            titles = [""] if steps else re.split(r"\s{2,}", line.strip())
        elif steps and (step := _STEP.match(line)):
            row = {"to_ms": number(step["ms"]), "cumulative_pct": number(step["share"])}
            found["distribution"].append({"section": section, "test": step["test"].lower(), **row})
        elif len(titles) > 1 and len(cells) >= len(titles) and not _ORDINARY.match(line):
            test, figures = read_row(cells, titles)
            found["runs"] += [Run(test, configured(settings, section), figures)] if figures else []
        elif cells and not _ORDINARY.match(line):
            found["wrong" if _ERROR.match(line) else "rest"].append((place, line))
    return found


def read_kind(test: str, section: str, kind: Mapping[str, Any]) -> Fields:
    """One kind of command in a section of the document: figures, percentiles, seconds."""
    figures = [
        one for name, value in kind.items() if not isinstance(value, dict | list) and (one := figure(name, value))
    ]
    shared = {"section": section, "test": test}
    percentiles = [
        {**shared, "percentile": number(match["percentile"]), "latency_ms": number(value)}
        for name, value in mapping(kind.get("Percentile Latencies")).items()
        if (match := _PERCENTILE.match(name)) and None not in (number(match["percentile"]), number(value))
    ]
    metrics = {one.metric for one in figures}
    named = [(f"latency_p{row['percentile']:g}", row["latency_ms"]) for row in percentiles]
    figures += [lower(name, number(latency), "ms") for name, latency in named if name not in metrics]
    series = [
        {**shared, "elapsed_s": number(second), "metric": one.metric, "value": one.value, "unit": one.unit}
        for second, values in mapping(kind.get("Time-Serie")).items()
        for name, value in mapping(values).items()
        if not isinstance(value, dict | list) and (one := figure(name, value)) and one.value is not None
    ]
    # "Latency" and "Average Latency" are the same number.
    figures = list({one.metric: one for one in figures}.values())
    return {"figures": tuple(figures), "percentiles": percentiles, "series": series}


def read_document(document: Mapping[str, Any]) -> Fields:
    """The JSON document: runs, percentiles, distributions, series, facts."""
    found: Fields = {"runs": [], "distribution": [], "percentiles": [], "series": [], "meta": {}}
    about = {name.lower(): value for name, value in mapping(document.get("run information")).items()}
    settings = {name: about[name] for name in about if _SETTING.match(f"{about[name]} {name}")}
    for section, content in document.items():
        if section in _NOT_TESTS or not isinstance(content, dict):
            continue
        for name, kind in content.items():
            if isinstance(kind, list):
                found["distribution"] += [
                    {"section": section, "test": name.lower(), "to_ms": to, "cumulative_pct": number(step["percent"])}
                    for step in kind
                    if isinstance(step, dict) and (to := number(step.get("<=msec"))) is not None and "percent" in step
                ]
            elif name not in _NOT_TESTS and isinstance(kind, dict):
                parts = read_kind(name.lower(), section, kind)
                if any(one.value is not None for one in parts["figures"]):
                    found["runs"].append(Run(name.lower(), configured(settings, section), parts["figures"]))
                found["percentiles"] += parts["percentiles"]
                found["series"] += parts["series"]
        runtime = mapping(content.get("Runtime"))
        for key, name in (("start", "Start time"), ("end", "Finish time")):
            if (moment := number(runtime.get(name))) and 0 < moment < 1e14:  # noqa: PLR2004  the year 5138, in ms
                found["meta"].setdefault(key, datetime.fromtimestamp(moment / 1e3, UTC))
    return found


def parse(text: str) -> tuple[Mapping[str, Any], list[Note]]:
    """The document, repaired if it holds `nan` (not JSON) or was cut."""
    mended, many = NOT_A_NUMBER.subn("null", text[text.index("{") :])
    notes = Notes([Note(f"{many} numbers are nan or inf: left out")] if many else [])
    try:
        return mapping(json.JSONDecoder().raw_decode(mended)[0]), notes
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        notes.warn("the document is cut or damaged: its complete parts are read", line)
    document: dict[str, Any] = {}
    effort = Effort(mended)
    for match in re.finditer(r'"(?P<name>[^"\n]+)"\s*:\s*(?=\{)', mended):
        # Sections first, each kind of command by itself where a section is not whole.
        try:
            value, _ = effort.decode(match.end())
        except (ValueError, RecursionError):
            if effort.spent:
                notes.warn(GIVEN_UP)
                break
            continue
        if _SECTION.match(match["name"]) or match["name"] in _NOT_TESTS:
            document.setdefault(match["name"], value)
        elif isinstance(value, dict) and "Ops/sec" in value and not document.keys() - _NOT_TESTS - {"ALL STATS"}:
            document.setdefault("ALL STATS", {}).setdefault(match["name"], value)
    return document, notes


def read(source: Source) -> Recording:
    """Reads memtier_benchmark's report, or its JSON document."""
    text = source.text()
    notes = list(text.notes)
    if text.text.lstrip().startswith("{"):
        document, more = parse(text.text)
        found = {"wrong": [], "rest": [], **read_document(document)}
        notes += more
    else:
        text = text.without_cut_number("nan")
        found = {"percentiles": [], "series": [], "meta": {}, **read_report(text.lines())}
        notes = Notes([*text.notes, *errors(found["wrong"], "memtier_benchmark")])
    kinds = {"percentiles": _PERCENTILES, "distribution": _STEPS, "series": _SERIES}
    details = {name: (found[name], columns) for name, columns in kinds.items()}
    facts = {**found["meta"], "samples": len(found["runs"])}
    notes += left_out(found["rest"])
    runs = found["runs"]
    return recording(source, FORMAT, "memtier_benchmark", runs, details, facts, notes, enough=runs)
