"""memtier_benchmark (1.2 to 2.x): the text report, and the document of `--json-out-file`.

Source: run_stats.cpp (print_*_column, print_json); `KB/sec` divides bytes by 1024.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from re import Match
from typing import Any

from esxparse.formats.benchmarks.printed import Lines, Report
from esxparse.formats.benchmarks.table import Figure, figures_of, lower, recording
from esxparse.formats.kit.notes import Notes, left_out
from esxparse.formats.kit.numbers import number
from esxparse.formats.kit.objects import GIVEN_UP, NOT_A_NUMBER, Effort, mapping
from esxparse.formats.kit.tables import data, schemas
from esxparse.formats.source import Source
from esxparse.recording import Note, Recording

FORMAT = "memtier"

_LINES, _FIGURES = Lines(__file__), data(__file__)["figures"]
_PERCENTILE = re.compile(r"^p(?P<percentile>\d+(?:\.\d+)?)(?: latency)?$", re.IGNORECASE)
_NOT_TESTS = frozenset({"Runtime", "configuration", "run information", "CPU"})


def figures_by_name(values: Mapping[str, Any]) -> list[Figure]:
    """Return figures for the common table from numbers by printed name; unknown names are skipped."""
    figures = []
    for name, value in values.items():
        if match := _PERCENTILE.match(name.strip()):
            figures.append(lower(f"latency_p{float(match['percentile']):g}", number(value), "ms"))
        elif kind := _FIGURES.get(name.strip().lower()):
            figures += figures_of({"": value}, {"": kind})
    return figures


def configured(settings: Mapping[str, Any], section: str) -> str:
    """Return the settings as text, including which of several runs it is."""
    parts = [f"{count} {what}" for what, count in settings.items() if count is not None]
    name = section.upper()
    if "RUN RESULTS" in name or "AVERAGE" in name:
        parts.append(section.lower().replace(" results", ""))
    return ", ".join(parts)


@_LINES.reads("section")
def _section(report: Report, found: Match[str]) -> None:
    report.coming["section"], report.under = found["name"], ""


@_LINES.reads("setting")
def _setting(report: Report, found: Match[str]) -> None:
    report.coming.setdefault("settings", {})[found["what"].lower()] = found["count"]


@_LINES.reads("titles")
def _titles(report: Report, _: Match[str]) -> None:
    report.under = re.split(r"\s{2,}", report.line.strip())


@_LINES.reads("distribution")
def _distribution(report: Report, _: Match[str]) -> None:
    report.under = "steps"


@_LINES.reads("step")
def _step(report: Report, found: Match[str]) -> bool:
    if report.under != "steps":
        return False
    row = {**found.groupdict(), "test": found["test"].lower()}
    report.rows["distribution"].append({"section": report.coming.get("section", "ALL STATS"), **row})
    return True


@_LINES.reads("row")
def _row(report: Report, _: Match[str]) -> bool:
    """Add a row of the table: the kind of command, and its figures."""
    titles, cells = report.under, report.line.split()
    if not isinstance(titles, list) or not 1 < len(titles) <= len(cells):
        return False
    test, numbers = " ".join(cells[: 1 - len(titles)]).lower(), cells[1 - len(titles) :]
    figures = [one for title, cell in zip(titles[1:], numbers, strict=True) for one in figures_by_name({title: cell})]
    # The program prints zero and dashes for commands that it did not run.
    if any(one.value for one in figures) or (figures and all(one.value is not None for one in figures)):
        _add(report, test, report.coming.get("section", "ALL STATS"), figures)
    return True


def _add(report: Report, test: str, section: str, figures: Sequence[Figure]) -> None:
    configuration = configured(report.coming.get("settings", {}), section)
    report.begin(test=test, configuration=configuration).figures += figures


def read_kind(report: Report, test: str, section: str, kind: Mapping[str, Any]) -> None:
    """Add one kind of command in a section of the document: figures, percentiles, seconds."""
    shared = {"section": section, "test": test}
    figures = figures_by_name({name: value for name, value in kind.items() if not isinstance(value, dict | list)})
    metrics = {one.metric for one in figures}
    for name, value in mapping(kind.get("Percentile Latencies")).items():
        match, latency = _PERCENTILE.match(name), number(value)
        if match and latency is not None:
            percentile = number(match["percentile"])
            report.rows["percentiles"].append({**shared, "percentile": percentile, "latency_ms": latency})
            figures += [one for one in figures_by_name({name: value}) if one.metric not in metrics]
    for second, values in mapping(kind.get("Time-Serie")).items():
        each = {name: value for name, value in mapping(values).items() if not isinstance(value, dict | list)}
        measured = [one for one in figures_by_name(each) if one.value is not None]
        report.rows["series"] += [{**shared, "elapsed_s": second, **vars(one)} for one in measured]
    if any(one.value is not None for one in figures):
        # "Latency" and "Average Latency" are the same number.
        _add(report, test, section, list({one.metric: one for one in figures}.values()))


def read_document(document: Mapping[str, Any]) -> Report:
    """Return the content of the JSON document: runs, percentiles, distributions, series, times."""
    report = Report()
    about = {name.lower(): value for name, value in mapping(document.get("run information")).items()}
    settings = {name: value for name, value in about.items() if _LINES["setting"].match(f"{value} {name}")}
    report.coming["settings"] = settings
    for section, content in document.items():
        if section in _NOT_TESTS or not isinstance(content, dict):
            continue
        for name, kind in content.items():
            if isinstance(kind, list):
                report.rows["distribution"] += [
                    {"section": section, "test": name.lower(), "to_ms": to, "cumulative_pct": number(step["percent"])}
                    for step in kind
                    if isinstance(step, dict) and (to := number(step.get("<=msec"))) is not None and "percent" in step
                ]
            elif name not in _NOT_TESTS and isinstance(kind, dict):
                read_kind(report, name.lower(), section, kind)
        runtime = mapping(content.get("Runtime"))
        for key, name in (("start", "Start time"), ("end", "Finish time")):
            if (moment := number(runtime.get(name))) and 0 < moment < 1e14:  # noqa: PLR2004  the year 5138, in ms
                report.coming.setdefault(key, datetime.fromtimestamp(moment / 1e3, UTC))
    return report


def parse(text: str) -> tuple[Mapping[str, Any], list[Note]]:
    """Return the document, repaired if it holds `nan` (not JSON) or was cut."""
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
        # Sections first; if a section is not whole, each of its kinds of commands by itself.
        try:
            value, _ = effort.decode(match.end())
        except (ValueError, RecursionError):
            if effort.spent:
                notes.warn(GIVEN_UP)
                break
            continue
        if _LINES["section"].match(match["name"]) or match["name"] in _NOT_TESTS:
            document.setdefault(match["name"], value)
        elif isinstance(value, dict) and "Ops/sec" in value and not document.keys() - _NOT_TESTS - {"ALL STATS"}:
            document.setdefault("ALL STATS", {}).setdefault(match["name"], value)
    return document, notes


def read(source: Source) -> Recording:
    """Read memtier_benchmark's report, or its JSON document."""
    text = source.text()
    if text.text.lstrip().startswith("{"):
        document, repairs = parse(text.text)
        report = read_document(document)
    else:
        text, repairs = text.without_cut_number("nan"), []
        report = _LINES.read(text.lines())
    notes = Notes([*text.notes, *repairs, *report.notes("memtier_benchmark"), *left_out(report.kept["unknown"])])
    runs = [run.measured() for run in report.runs]
    details = report.details(schemas(__file__))
    facts = {"start": report.coming.get("start"), "end": report.coming.get("end"), "samples": len(runs)}
    return recording(source, FORMAT, "memtier_benchmark", runs, details, facts, notes, enough=runs)
