"""iperf3 (3.0 to 3.1x): JSON (`-J`), its stream (`--json-stream`) and text, of clients and servers, many in a file.

Mbit is 10**6 bits. In text, `KBytes`, `MBytes`, `GBytes` are 2**10, 2**20, 2**30 bytes, and `Kbits` ... are powers
of 1000 (units.c); iperf3 rounds to three digits. A document with an `error` keeps earlier measurements.
Source: iperf_api.c, iperf_locale.c, units.c of 3.0.11, 3.7, 3.12 and 3.17; `--json-stream`: one event a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import Match

from esxparse.formats.benchmarks import iperf3_json
from esxparse.formats.benchmarks.printed import Lines, Part, Report
from esxparse.formats.benchmarks.table import Fields, Figure, dated, higher, lower, recording, settings_of, whose
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes, excerpt, left_out
from esxparse.formats.kit.numbers import number, scaled, times, whole
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data, known, schemas, typed
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "iperf3"

_SCHEMAS, _LINES = schemas(__file__), Lines(__file__)
_REST, _SIGNS = kinds(__file__, "rest"), kinds(__file__, "signs")
_SETTING_TEMPLATES = data(__file__)["shown"]
_SIDE = re.compile(r"\b(sender|receiver)\s*+$")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def recognise(head: Head) -> bool:
    """Return whether a head has keys of the document, events, or text titles and words that only iperf3 prints."""
    text = head.text
    if _SIGNS["event"].search(text) and ('"interval"' in text or "iperf" in text or "bits_per_second" in text):
        return True
    if "{" in text and (_SIGNS["document"].search(text) or ('"intervals"' in text and _SIGNS["error"].search(text))):
        return True
    own = any(_SIGNS["text"].match(line) or _LINES["begins"].search(line) for line in head.lines)
    results = [_LINES[kind] for kind in ("titles", "result", "failed")]
    return own and any(pattern.search(line) for line in head.lines for pattern in results)


def _size(text: str | None) -> float | None:
    """Return the size in a text such as `1.10 GBytes`: bytes with factors of 1024, bits with factors of 1000."""
    cell, _, unit = (text or "").partition(" ")
    power = _POWERS[unit.removesuffix("Bytes").removesuffix("bits")]
    return times(number(cell), (1024.0 if unit.endswith("Bytes") else 1000.0) ** power)


def _bytes(text: str | None) -> int | None:
    size = _size(text)
    return None if size is None else whole(round(size))


@_LINES.reads("begins")
def _begins(report: Report, _: Match[str]) -> None:
    if report.run.facts.get("has_result"):
        report.begin()


@_LINES.reads("first")
def _first(report: Report, _: Match[str]) -> bool:
    if not report.runs:
        report.begin().line = 1
    return False


@_LINES.reads("result")
def _result(report: Report, found: Match[str]) -> None:
    """Add a line of a stream or of their sum: an interval, or a side's totals at the end."""
    facts, rest = report.run.facts, found["rest"]
    side = _SIDE.search(rest)
    row: Fields = found.groupdict() | {"stream": found["stream"].lower(), "side": side[1] if side else None}
    row |= {"omitted": "(omitted)" in rest, "bytes": _bytes(found["bytes"])}
    row["bits_per_s"] = times(_size(found["rate"]), 8 if found["rate"].endswith("Bytes") else 1)
    kind = "datagrams" if facts.get("datagrams") and _REST["datagrams"].match(rest) else "tcp"
    if end := _REST["udp"].match(rest) or _REST[kind].match(rest):
        row |= end.groupdict()
    if "cwnd_bytes" in row:
        row["cwnd_bytes"] = _bytes(row["cwnd_bytes"])
    # An old release ends with lines like interval lines, below their own titles.
    row["final"] = row["side"] is not None or ("ended" in facts and facts.get("titles", 0) > 1)
    report.run.rows["results"].append(typed(row, _SCHEMAS["intervals"]))
    facts["has_result"] = True


@_LINES.reads("titles")
def _titles(report: Report, found: Match[str]) -> None:
    facts, datagrams = report.run.facts, "Datagrams" in found["rest"]
    facts |= {"datagrams": datagrams, "titles": facts.get("titles", 0) + 1} | ({"protocol": "udp"} if datagrams else {})


@_LINES.reads("separator", "settings", "cpu", "release", "reverse")
def _facts(report: Report, found: Match[str]) -> None:
    report.run.facts |= known(found.groupdict())


@_LINES.reads("failed")
def _failed(report: Report, found: Match[str]) -> None:
    report.run.facts |= {"error": excerpt(found["error"]), "has_result": True}


def _figures(summary: Sequence[Fields]) -> list[Figure]:
    """Return the summary of a test, from its sums, or from its only stream."""
    figures = []
    for row in [row for row in summary if row["stream"] == "sum"] or summary:
        tail = "_reverse" if row["direction"] == "reverse" else ""
        name = {"sender": "throughput_sent", "receiver": "throughput_received", None: "throughput"}[row["side"]]
        figures.append(higher(name + tail, scaled(row["bits_per_s"], 1e-6), "Mbit/s"))
        if row["side"] != "receiver" and row.get("retransmits") is not None:
            figures.append(lower(f"retransmits{tail}", row["retransmits"], "1"))
        if row["side"] != "sender" and row.get("jitter_ms") is not None:
            figures.append(lower(f"jitter{tail}", row["jitter_ms"], "ms"))
            figures.append(lower(f"lost{tail}", number(row["lost_pct"]), "%"))
    return list({figure.metric: figure for figure in figures}.values())


def _settle(test: Part) -> None:
    """Sort the lines of a test into intervals and streams, and take its figures from them."""
    rows, facts = test.rows["results"], test.facts
    client = not any((row["role"] or "").endswith("S") for row in rows)
    for row in rows:
        # Data sent by the client is forward, whichever side printed the line.
        forward = row["role"] in (None, "TX-C" if client else "RX-S")
        row["direction"] = "forward" if forward else "reverse"
    final = [row for row in rows if row["final"]]
    test.rows["intervals"] = [row for row in rows if not row["final"]]
    test.rows["streams"] = [{**row, "side": row["side"] or "sender"} for row in final if row["stream"] != "sum"]
    test.figures = _figures(final)
    test.figures += [lower(name, number(facts[name]), "%") for name in ("cpu_local", "cpu_remote") if name in facts]
    bidir = "_bidir" if any(row["role"] for row in rows) else ""
    facts["test"] = facts.get("protocol", "tcp").lower() + (bidir or ("_reverse" if facts.get("reverse") else ""))
    streams = len({row["stream"] for row in rows if row["stream"] != "sum" and row["direction"] == "forward"})
    facts["configuration"] = settings_of({**facts, "streams": streams or None}, _SETTING_TEMPLATES)


def read_text(lines: Sequence[str]) -> Report:
    """Return the tests of a text."""
    report = _LINES.read(lines)
    for test in report.runs:
        _settle(test)
    report.runs = [test for test in report.runs if test.rows["intervals"] or test.figures or test.facts.get("error")]
    return report


def read(source: Source) -> Recording:
    """Read one or many tests of iperf3, whatever the mix of their forms."""
    content = source.text()
    report = iperf3_json.read(content.text)
    if not report.runs and not report.remarks:
        content = content.without_cut_number()
        report = read_text(content.lines())
    notes = Notes([*content.notes, *report.remarks])
    for place, test in enumerate(report.runs, 1):
        if test.facts.get("error"):
            notes.warn(f"test {place} failed: {test.facts['error']}", test.line)
        elif not test.figures:
            notes.warn(f"test {place} ended before its summary", test.line)
    details = report.details(_SCHEMAS)
    details["intervals"] = dated(*details["intervals"])
    facts = [test.facts for test in report.runs]
    starts = [test["start"] for test in facts if test.get("start")]
    meta = {"samples": len(facts), **whose(facts), "start": min(starts, default=None)}
    notes += left_out(report.kept["unknown"])
    return recording(source, FORMAT, "iperf3", [test.measured() for test in report.runs], details, meta, notes)
