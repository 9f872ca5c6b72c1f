"""NTttcp of Windows (5.2 to 5.4) and for Linux (1.x): text, XML (`-xml`, `-x`), JSON (`-O`); senders and receivers.

Tables
------
benchmark_results   see `esxparse.formats.benchmarks.table`: test `send`, `receive`, `unknown` (text of Windows does not
                    say), `udp_send` ...; metrics `throughput` (Mbit/s, 10**6 bits), `retransmits`, `errors`,
                    `packets_sent`, `packets_received`, `cpu` (% of all CPUs), `cpu_busy` (% of one CPU, the sum over
                    all: Linux), `cycles_per_byte`, `rtt` (us)
totals              one row per run: run (from 1), host, role, release, and duration_s, bytes, mbit_per_s, frame_bytes,
                    buffers, buffers_per_s, cycles_per_byte, dpcs_per_s, packets_per_dpc, interrupts_per_s,
                    packets_per_interrupt, packets_sent, packets_received, retransmits, errors, cpu_pct, busy_pct,
                    user_pct, system_pct, idle_pct, iowait_pct, softirq_pct, cpus, cpu_mhz, rtt_us ... that it has
threads             one row per thread: run, thread, duration_s, mbit_per_s, bytes_per_completion
parameters          one row per parameter (XML, JSON): run, name, value

"MB" and "KB" are 2**20 and 2**10 bytes there (34,243 "MEG" are 547,888 buffers of 64 KiB), and "mbps" of the XML for
Linux is 8 times such MB: Mbit are made of MB/s instead. Linux prints `Gbps` of 10**9.
Source: util.c and throughputmanagement.c of ntttcp-for-linux; published output of Windows' 5.28 to 5.40.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, iterparse

from esxparse.errors import DamagedError
from esxparse.formats.benchmarks.table import BETTER, Fields, Figure, Run, errors, numbered, recording, whose
from esxparse.formats.kit.notes import Counted, Notes
from esxparse.formats.kit.numbers import number, times, whole
from esxparse.formats.kit.objects import each_object, listed, mapping
from esxparse.formats.kit.tables import data, schema
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "ntttcp"

_DATA = data(__file__)
_ROOT = re.compile(r"<ntttcp(?P<role>[rs])\b")
_ROLES = {"s": "send", "r": "receive"}
_UNDERLINE = re.compile(r"=+(?:\s+=+)+\s*")
_SPAN = re.compile(r"=+")
_INFO = re.compile(r"\d\d:\d\d:\d\d (?P<level>INFO|ERR |DBG |ERROR|WARN)\s*: ?(?P<text>.*)")
_FACT = re.compile(r"(?P<label>[^:\t]+)(?:\t\s*)?:\s*(?P<value>-?[\d.]+)\s*(?P<unit>[KMG]?bps|MHz|seconds|%|us|)")
_THREAD = re.compile(r"(?P<thread>\d+)\s+(?P<time>[\d.]+)\s+(?P<value>[\d.]+)(?P<unit>[KMG]?bps)")
_RELEASE = re.compile(r"(?:Copyright Version|NTTTCP for Linux) (?P<release>[\d.]+)")
_CALL = r"^.*\bntttcp\S* .*(?<!\S)"
_SAYS: tuple[tuple[re.Pattern[str], str, Any], ...] = (
    (re.compile(rf"{_CALL}-s(?!\S)|Starting sender|connections (?:tested|created)", re.IGNORECASE), "role", "send"),
    (re.compile(rf"{_CALL}-r(?!\S)", re.IGNORECASE), "role", "receive"),
    (re.compile(rf"{_CALL}-u(?!\S)|^protocol:\s+UDP", re.IGNORECASE), "udp", True),
)
_ALWAYS_ZERO = re.compile(
    r"frame_bytes|buffers(?:_per_s)?|bytes_per_completion|interrupts_per_s|dpcs_per_s|packets_per_(?:dpc|interrupt)|errors"
)
"""What NTttcp for Linux writes into its XML and JSON without measuring it."""
_MBIT = {"bps": 1e-6, "Kbps": 1e-3, "Mbps": 1.0, "Gbps": 1e3}
_LONGEST = 2000
"""Characters of a line that are read: all that the program prints has fewer."""
_WHOLE = schema("run i64, host role release str")
_THREADS = schema("run thread i64, duration_s mbit_per_s bytes_per_completion f64")
_PARAMETERS = schema("run i64, name value str")


def _started(**facts: Any) -> Fields:
    run: Fields = {"role": None, "host": None, "release": None, "udp": False}
    return {**run, "totals": {}, "threads": [], "parameters": {}, **facts}


def _facts(line: str) -> Fields:
    """What a line says of the run to come."""
    found: Fields = {name: value for pattern, name, value in _SAYS if pattern.search(line)}
    release = _RELEASE.search(line)
    return {**found, **({"release": release["release"]} if release else {})}


def read_text(lines: Sequence[str]) -> tuple[list[Fields], Notes]:
    """The runs of text, of Windows or Linux."""
    runs: list[Fields] = []
    facts: Fields = {}
    wrong: list[tuple[int, str]] = []
    titles: list[str] = []
    odd = Counted()
    lines = [line[:_LONGEST] for line in lines]
    for place, line in enumerate(lines, 1):
        info = _INFO.match(line)
        text = info["text"].strip() if info else line.strip()
        facts |= _facts(line)
        if text.startswith("#####") and "Totals" in text:
            runs.append(_started(line=place, **facts))
            runs[-1]["role"] = runs[-1]["role"] or ("receive" if info else None)
            facts, titles = {name: value for name, value in facts.items() if name == "release"}, []
        elif info:
            wrong += [(place, text)] if info["level"].startswith("ERR") else []
            _of_info(text, runs, facts)
        elif _UNDERLINE.fullmatch(text) and place > 1:
            titles = [_above(lines[place - 2], span) for span in _SPAN.finditer(line)]
        elif titles and text and not _of_row(text.split(), titles, runs, facts):
            if text[0].isdecimal():
                odd.skip("a row with other columns than its titles, left out", place)
            titles = []
    return runs, Notes([*errors(wrong, "NTttcp"), *odd.notes("warning")])


def _of_info(text: str, runs: list[Fields], facts: Fields) -> None:
    """Adds what a line of Linux says: of a thread before the totals, of the totals after them."""
    if thread := _THREAD.fullmatch(text):
        row = {"thread": whole(thread["thread"]), "duration_s": number(thread["time"]), "mbit_per_s": _mbit(thread)}
        facts.setdefault("threads", []).append(row)
    elif runs and (fact := _FACT.fullmatch(text)) and (told := _DATA["linux"].get(fact["label"].strip().lower())):
        runs[-1]["totals"][told["column"]] = _mbit(fact) if fact["unit"].endswith("bps") else number(fact["value"])


def _mbit(match: re.Match[str]) -> float | None:
    return times(number(match["value"]), _MBIT[match["unit"]])


def _above(line: str, span: re.Match[str]) -> str:
    """The title above a piece of underline."""
    return " ".join(line[span.start() : span.end()].split()).lower()


def _of_row(cells: list[str], titles: list[str], runs: list[Fields], facts: Fields) -> bool:
    """Adds a row below titles: of a thread before the totals, of the totals after them."""
    values = [number(cell) for cell in cells]
    if len(values) != len(titles) or None in values:
        return False
    row = {
        told["column"]: times(value, told.get("factor", 1))
        for title, value in zip(titles, values, strict=True)
        if (told := _DATA["text"].get(title))
    }
    if titles[0] == "thread":
        facts.setdefault("threads", []).append({"thread": whole(cells[0]), **row})
    elif runs:
        runs[-1]["totals"] |= row
    return True


def _leaf(tag: str, metric: str | None, text: str | None, into: Fields) -> None:
    """Adds an element with its metric to totals or a thread."""
    if told := _DATA["xml"].get(f"{tag} {metric}" if metric else tag):
        value = number((text or "").replace(" us", "").replace(" bps", "").strip())
        into[told["column"]] = times(value, told.get("factor", 1))


def read_xml(text: str) -> tuple[list[Fields], Notes]:
    """The runs of XML documents, one after another; the last may have no end."""
    notes = Notes()
    runs, line = [], 1
    begins = [*_ROOT.finditer(text)]
    for place, begin in enumerate(begins):
        end = begins[place + 1].start() if place + 1 < len(begins) else len(text)
        line += text.count("\n", begins[place - 1].start() if place else 0, begin.start())
        span = text[begin.start() : end]
        runs.append(_started(role=_ROLES[begin["role"]], line=line))
        try:
            _of_document(span[: span.rfind(">") + 1], runs[-1])
        except DefusedXmlException:
            raise DamagedError(f"line {line}: declares entities, which NTttcp never does: refused as unsafe") from None
        except ParseError as error:
            notes.warn(
                f"not XML from here on ({error.msg}): what is complete before it is read", line + error.position[0] - 1
            )
    return runs, notes


def _of_document(text: str, run: Fields) -> None:
    stack: list[str] = []
    thread: Fields = {}
    for event, element in iterparse(io.BytesIO(text.encode()), ("start", "end"), forbid_dtd=True):
        if event == "start":
            stack.append(element.tag)
            if len(stack) == 1:
                run["host"], run["release"] = element.get("computername"), element.get("version")
            continue
        stack.pop()
        parent = stack[-1] if stack else ""
        if element.tag == "thread":
            run["threads"].append({"thread": whole(element.get("index")), **thread})
            thread = {}
        elif parent == "thread":
            _leaf(element.tag, element.get("metric"), element.text, thread)
        elif parent == "parameters":
            run["parameters"][element.tag] = (element.text or "").strip()
        elif len(stack) == 1:
            _leaf(element.tag, element.get("metric"), element.text, run["totals"])
        if not stack:
            return


def read_json(text: str) -> tuple[list[Fields], Notes]:
    """The runs of JSON documents, which hold what the XML does."""
    notes, runs = Notes(), []
    for line, one in each_object(text, notes):
        for role, name in _ROLES.items():
            if document := mapping(one.get(f"ntttcp{role}")):
                host, release = document.get("-computername"), document.get("-version")
                runs.append(_started(role=name, host=host, release=release, line=line))
                runs[-1]["parameters"] = {key: str(value) for key, value in mapping(document.get("parameters")).items()}
                runs[-1]["threads"] = [
                    {"thread": whole(each.get("-index")), **_leaves(each)}
                    for each in map(mapping, listed(document.get("thread")))
                ]
                runs[-1]["totals"] = _leaves(document)
    return runs, notes


def _of_linux(run: Fields) -> None:
    """Takes from a run what the XML and JSON of Linux do not measure; its CPU is the sum over CPUs."""
    if not str(run["release"]).endswith("linux"):
        return
    for row in (run["totals"], *run["threads"]):
        for name in [name for name, value in row.items() if not value and _ALWAYS_ZERO.fullmatch(name)]:
            del row[name]
    if "cpu_pct" in run["totals"]:
        run["totals"]["busy_pct"] = run["totals"].pop("cpu_pct")


def _leaves(document: Fields) -> Fields:
    found: Fields = {}
    for name, value in document.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and "#text" in one:
                _leaf(name, one.get("-metric"), str(one["#text"]), found)
            elif isinstance(one, (str, int, float)):
                _leaf(name, None, str(one), found)
    return found


def run_of(run: Fields) -> Run:
    """A run as the common table has it."""
    figures = tuple(
        Figure(metric, run["totals"].get(column), unit, BETTER[better])
        for column, (metric, unit, better) in _DATA["figures"].items()
    )
    udp = run["udp"] or run["parameters"].get("udp") == "True"
    threads = len(run["threads"])
    return Run(f"{'udp_' if udp else ''}{run['role'] or 'unknown'}", f"{threads} threads" if threads else "", figures)


def _rows(runs: Sequence[Fields]) -> Iterator[Fields]:
    for place, run in enumerate(runs, 1):
        yield {"run": place, "host": run["host"], "role": run["role"], "release": run["release"], **run["totals"]}


def read(source: Source) -> Recording:
    """Reads one or many runs of NTttcp."""
    text = source.text().without_cut_line()
    if _ROOT.search(text.text):
        runs, notes = read_xml(text.text)
    elif text.text.lstrip().startswith("{"):
        runs, notes = read_json(text.text)
    else:
        runs, notes = read_text(text.lines())
    notes[:0] = text.notes
    for place, run in enumerate(runs, 1):
        _of_linux(run)
        if run["totals"].get("mbit_per_s") is None:
            notes.warn(f"run {place} has no throughput: it was stopped, or the file was cut", run["line"])
    rows = [row for row in _rows(runs) if len(row) > len(_WHOLE)]
    each = numbered(runs, "threads")
    given = [
        {"run": place, "name": name, "value": value}
        for place, run in enumerate(runs, 1)
        for name, value in run["parameters"].items()
    ]
    measured = dict.fromkeys((name for row in rows for name in row if name not in _WHOLE), _THREADS["duration_s"])
    totals = rows, {**_WHOLE, **measured}
    details = {"totals": totals, "threads": (each, _THREADS), "parameters": (given, _PARAMETERS)}
    facts, made = {**whose(runs), "samples": len(runs)}, list(map(run_of, runs))
    return recording(source, FORMAT, "NTttcp", made, details, facts, notes, enough=rows or each)
