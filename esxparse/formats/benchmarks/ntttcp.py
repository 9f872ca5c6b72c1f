"""NTttcp of Windows (5.2 to 5.4) and for Linux (1.x): text, XML (`-xml`, `-x`), JSON (`-O`); senders and receivers.

"MB" and "KB" are 2**20 and 2**10 bytes (34,243 "MEG" are 547,888 buffers of 64 KiB). "mbps" in the XML for
Linux is 8 times such MB, so Mbit are computed from MB/s instead. Linux prints `Gbps` of 10**9.
Source: util.c and throughputmanagement.c of ntttcp-for-linux; published output of Windows' 5.28 to 5.40.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from re import Match

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, iterparse

from esxparse.errors import DamagedError
from esxparse.formats.benchmarks.printed import Lines, Part, Report
from esxparse.formats.benchmarks.table import Fields, Run, figures_of, recording, whose
from esxparse.formats.kit.notes import Counted, Notes
from esxparse.formats.kit.numbers import number, times, whole
from esxparse.formats.kit.objects import each_object, listed, mapping
from esxparse.formats.kit.patterns import meanings
from esxparse.formats.kit.tables import data, schemas
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "ntttcp"

_DATA, _SCHEMAS = data(__file__), schemas(__file__)
_LINES, _SAYS = Lines(__file__), meanings(__file__, "says")
_ROOT = re.compile(r"<ntttcp(?P<role>[rs])\b")
_ROLES = {"s": "send", "r": "receive"}
_SPAN = re.compile(r"=+")
_ALWAYS_ZERO = re.compile(
    r"frame_bytes|buffers(?:_per_s)?|bytes_per_completion|interrupts_per_s|dpcs_per_s|packets_per_(?:dpc|interrupt)|errors"
)
"""Names that NTttcp for Linux writes into its XML and JSON without measuring them."""
_MBIT = {"bps": 1e-6, "Kbps": 1e-3, "Mbps": 1.0, "Gbps": 1e3}
_LONGEST = 2000
"""Most characters of a line that are read: lines of the program are shorter."""


@_LINES.reads("any")
def _says(report: Report, _: Match[str]) -> bool:
    """Find facts about the next run in any line."""
    for pattern, facts in _SAYS:
        if found := pattern.search(report.line):
            report.coming |= found.groupdict() | facts
    return False


@_LINES.reads("totals")
def _totals(report: Report, found: Match[str]) -> None:
    """Begin a run, with the threads above its totals."""
    threads = report.coming.pop("threads", [])
    run = report.begin(**{"role": "receive" if found["linux"] else None, **report.coming}, totals={})
    run.rows["threads"] = threads
    report.coming = {name: value for name, value in report.coming.items() if name == "release"}
    report.under = []


def _mbit(found: Match[str]) -> float | None:
    return times(number(found["value"]), _MBIT[found["unit"]])


@_LINES.reads("thread")
def _thread(report: Report, found: Match[str]) -> None:
    report.coming.setdefault("threads", []).append({**found.groupdict(), "mbit_per_s": _mbit(found)})


@_LINES.reads_in_run("total")
def _total(report: Report, found: Match[str]) -> None:
    """Add a total of Linux."""
    if field := _DATA["linux"].get(found["label"].strip().lower()):
        value = _mbit(found) if found["unit"].endswith("bps") else number(found["value"])
        report.run.facts["totals"][field["column"]] = value


@_LINES.reads("error")
def _error(report: Report, found: Match[str]) -> None:
    report.kept["error"].append((report.place, found["text"].strip()))


@_LINES.reads("underline")
def _underline(report: Report, _: Match[str]) -> None:
    """Take titles from above each piece of the underline."""
    if report.place == 1:
        return
    pieces = (report.lines[report.place - 2][span.start() : span.end()] for span in _SPAN.finditer(report.line))
    report.under = [" ".join(piece.split()).lower() for piece in pieces]


@_LINES.reads("row")
def _row(report: Report, _: Match[str]) -> None:
    """Add a row below titles: a thread before the totals, a part of the totals after them."""
    titles, cells = report.under, report.line.split()
    values = [number(cell) for cell in cells]
    if titles and (len(values) != len(titles) or None in values):
        if cells[0][0].isdecimal():
            report.keep("odd")
        report.under = []
    elif titles:
        pairs = zip(titles, values, strict=True)
        known = [(_DATA["text"][title], value) for title, value in pairs if title in _DATA["text"]]
        row = {one["column"]: times(value, one.get("factor", 1)) for one, value in known}
        if titles[0] == "thread":
            report.coming.setdefault("threads", []).append({"thread": cells[0], **row})
        elif report.runs:
            report.run.facts["totals"] |= row


def read_text(lines: Sequence[str]) -> Report:
    """Return the runs of text, of Windows or Linux."""
    report = _LINES.read([line[:_LONGEST] for line in lines])
    odd = Counted()
    for place, _ in report.kept["odd"]:
        odd.skip("a row with other columns than its titles, left out", place)
    report.remarks = Notes([*report.notes("NTttcp"), *odd.notes("warning")])
    return report


def _leaf(tag: str, metric: str | None, text: str | None, into: Fields) -> None:
    """Add an element with its metric to totals or a thread."""
    if field := _DATA["xml"].get(f"{tag} {metric}" if metric else tag):
        value = number((text or "").replace(" us", "").replace(" bps", "").strip())
        into[field["column"]] = times(value, field.get("factor", 1))


def read_xml(text: str) -> Report:
    """Return the runs of XML documents, one after another; the last may have no end."""
    report, line = Report(), 1
    begins = [*_ROOT.finditer(text)]
    for place, begin in enumerate(begins):
        end = begins[place + 1].start() if place + 1 < len(begins) else len(text)
        line += text.count("\n", begins[place - 1].start() if place else 0, begin.start())
        span = text[begin.start() : end]
        report.place = line
        run = report.begin(role=_ROLES[begin["role"]])
        try:
            _of_document(span[: span.rfind(">") + 1], run)
        except DefusedXmlException:
            raise DamagedError(f"line {line}: declares entities, which NTttcp never does: refused as unsafe") from None
        except ParseError as error:
            report.remarks.warn(
                f"not XML from here on ({error.msg}): what is complete before it is read", line + error.position[0] - 1
            )
    return report


def _of_document(text: str, run: Part) -> None:
    stack: list[str] = []
    thread: Fields = {}
    for event, element in iterparse(io.BytesIO(text.encode()), ("start", "end"), forbid_dtd=True):
        if event == "start":
            stack.append(element.tag)
            if len(stack) == 1:
                run.facts |= {"host": element.get("computername"), "release": element.get("version")}
            continue
        stack.pop()
        parent = stack[-1] if stack else ""
        if element.tag == "thread":
            run.rows["threads"].append({"thread": whole(element.get("index")), **thread})
            thread = {}
        elif parent == "thread":
            _leaf(element.tag, element.get("metric"), element.text, thread)
        elif parent == "parameters":
            run.facts.setdefault("parameters", {})[element.tag] = (element.text or "").strip()
        elif len(stack) == 1:
            _leaf(element.tag, element.get("metric"), element.text, run.facts.setdefault("totals", {}))
        if not stack:
            return


def read_json(text: str) -> Report:
    """Return the runs of JSON documents, which have the content of the XML."""
    report = Report()
    for line, one in each_object(text, report.remarks):
        report.place = line
        for role, name in _ROLES.items():
            if document := mapping(one.get(f"ntttcp{role}")):
                run = report.begin(role=name, host=document.get("-computername"), release=document.get("-version"))
                parameters = mapping(document.get("parameters"))
                run.facts["parameters"] = {key: str(value) for key, value in parameters.items()}
                run.facts["totals"] = _leaves(document)
                run.rows["threads"] = [
                    {"thread": whole(each.get("-index")), **_leaves(each)}
                    for each in map(mapping, listed(document.get("thread")))
                ]
    return report


def _of_linux(run: Part) -> None:
    """Remove values that Linux's XML and JSON do not measure from a run; its CPU is the sum over CPUs."""
    if not str(run.facts.get("release")).endswith("linux"):
        return
    totals = run.facts.get("totals", {})
    for row in (totals, *run.rows["threads"]):
        for name in [name for name, value in row.items() if not value and _ALWAYS_ZERO.fullmatch(name)]:
            del row[name]
    if "cpu_pct" in totals:
        totals["busy_pct"] = totals.pop("cpu_pct")


def _leaves(document: Fields) -> Fields:
    found: Fields = {}
    for name, value in document.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and "#text" in one:
                _leaf(name, one.get("-metric"), str(one["#text"]), found)
            elif isinstance(one, (str, int, float)):
                _leaf(name, None, str(one), found)
    return found


def run_of(run: Part) -> Run:
    """Return a run for the common table."""
    facts, threads = run.facts, len(run.rows["threads"])
    udp = facts.get("udp") or facts.get("parameters", {}).get("udp") == "True"
    figures = figures_of(facts.get("totals", {}), _DATA["figures"])
    test = f"{'udp_' if udp else ''}{facts['role'] or 'unknown'}"
    return Run(test, f"{threads} threads" if threads else "", tuple(figures))


def read(source: Source) -> Recording:
    """Read one or many runs of NTttcp."""
    text = source.text().without_cut_line()
    if _ROOT.search(text.text):
        report = read_xml(text.text)
    elif text.text.lstrip().startswith("{"):
        report = read_json(text.text)
    else:
        report = read_text(text.lines())
    notes = Notes([*text.notes, *report.remarks])
    measured: Fields = {}
    for place, run in enumerate(report.runs, 1):
        _of_linux(run)
        totals = run.facts.get("totals", {})
        if totals.get("mbit_per_s") is None:
            notes.warn(f"run {place} has no throughput: it was stopped, or the file was cut", run.line)
        run.rows["totals"] = [{**run.facts, **totals}] if totals else []
        run.rows["parameters"] = [
            {"name": name, "value": value} for name, value in run.facts.get("parameters", {}).items()
        ]
        measured |= totals
    details = report.details(_SCHEMAS)
    rows, columns = details["totals"]
    order = ["run", "host", "role", "release", *measured]
    details["totals"] = rows, {name: columns[name] for name in order}
    facts = {**whose(run.facts for run in report.runs), "samples": len(report.runs)}
    made, enough = list(map(run_of, report.runs)), rows or details["threads"][0]
    return recording(source, FORMAT, "NTttcp", made, details, facts, notes, enough=enough)
