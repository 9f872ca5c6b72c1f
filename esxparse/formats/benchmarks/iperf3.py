"""iperf3 (3.0 to 3.1x): JSON (`-J`), its stream (`--json-stream`) and text, of clients and servers, many in a file.

Tables
------
benchmark_results   see `esxparse.formats.benchmarks.table`: test `tcp`, `udp`, `sctp`, with `_reverse` or `_bidir`;
                    metrics `throughput_sent`, `throughput_received` (Mbit/s; `throughput` where an old release does not
                    tell them apart; of `_bidir` also `..._reverse`), `retransmits`, `jitter` (ms), `lost` (%),
                    `cpu_local`, `cpu_remote` (%)
intervals           one row per stream and interval, and one for their sum: run (from 1), time (UTC, where every test
                    says when it began), start_s, elapsed_s, stream (`sum` or the socket's number), direction
                    (`forward`, `reverse`: the second half of `--bidir`), bytes, bits_per_s, retransmits, cwnd_bytes,
                    rtt_us, jitter_ms, lost_packets, packets, omitted (warm-up, `-O`)
streams             one row per stream and side at the end: run, stream, side (`sender`, `receiver`), direction, bytes,
                    bits_per_s, retransmits, mean_rtt_us, max_cwnd_bytes, jitter_ms, lost_packets, packets

Mbit is 10**6 bits. In text, `KBytes`, `MBytes`, `GBytes` are 2**10, 2**20, 2**30 bytes, and `Kbits` ... are powers
of 1000 (units.c); it rounds to three digits. A document with an `error` keeps what was measured before it.
Source: iperf_api.c, iperf_locale.c, units.c of 3.0.11, 3.7, 3.12 and 3.17; `--json-stream`: one event a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from esxparse.formats.benchmarks import iperf3_json
from esxparse.formats.benchmarks.iperf3_json import Test
from esxparse.formats.benchmarks.table import (
    Fields,
    Figure,
    Run,
    higher,
    listing,
    lower,
    numbered,
    ordinary,
    recording,
    whose,
)
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.notes import Notes, excerpt, left_out
from esxparse.formats.kit.numbers import number, scaled, times, whole
from esxparse.formats.kit.tables import schema
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "iperf3"

_BEGINS = re.compile(r"(?:Connecting to host (?P<host>\S+), port \d+|Accepted connection from (?P<peer>\S+), port \d+)")
_SIGN = re.compile(
    r"^\s*(?:Connecting to host \S+, port \d+|Server listening on \d+(?: \(test #\d+\))?\s*$|iperf3: |iperf Done\.|"
    r"Accepted connection from \S+, port \d+)"
)
_RELEASE = re.compile(r"^\s*(iperf 3\.\S+)")
_LINE = re.compile(
    r"\[\s*(?P<stream>\d+|SUM)\](?:\[(?P<role>[TR]X-[CS])\])?\s+(?P<start>\d+(?:\.\d+)?)-\s*(?P<end>\d+(?:\.\d+)?)\s+sec"
    r"\s+(?P<bytes>[\d.]+) (?P<bytes_unit>[KMGT]?Bytes)\s+(?P<rate>[\d.]+) (?P<rate_unit>[KMGT]?(?:bits|Bytes))/sec"
    r"(?P<rest>.*)$"
)
_UDP = re.compile(r"^\s+(?P<jitter>[\d.]+) ms\s+(?P<lost>-?\d+)/(?P<packets>\d+) \((?P<pct>[^)%]*)%\)")
_TCP = re.compile(
    r"^\s++(?P<retransmits>\d++)(?:\s++(?P<cwnd>[\d.]++) (?P<cwnd_unit>[KMGT]?Bytes))?\s*+"
    r"(?:\(omitted\)|sender)?\s*+$"
)
_DATAGRAMS = re.compile(r"^\s++(?P<packets>\d++)\s*+(?:\(omitted\)|sender)?\s*+$")
_SIDE = re.compile(r"\b(sender|receiver)\s*+$")
_TITLES = re.compile(r"\[ ID\](?:\[Role\])? Interval\s+Transfer\s+(?:Bitrate|Bandwidth)(?P<rest>.*)")
_SEPARATOR = re.compile(r"^\s*(?:- ){5,}")
_ERROR = re.compile(r"iperf3: (?:error|interrupt)\s*-?\s*(?P<what>.*)")
_CPU = re.compile(r"CPU Utilization: local/\w+ (?P<local>[\d.]+)% .*, remote/\w+ (?P<remote>[\d.]+)% ")
_SETTINGS = re.compile(
    r"Starting Test: protocol: (?P<protocol>\w+), (?P<streams>\d+) streams, (?P<block>\d+) byte blocks"
    r"(?:.*, (?P<seconds>\d+) second test)?"
)
_ORDINARY = ordinary("iperf3")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def _is_text(lines: Sequence[str]) -> bool:
    """Titles or results, and a line that only iperf3 prints; or its error."""
    own = any(_SIGN.match(line) or _BEGINS.search(line) for line in lines)
    return own and any(_TITLES.search(line) or _LINE.search(line) or _ERROR.search(line) for line in lines)


def _size(text: str | None, unit: str | None) -> float | None:
    """Bytes by 1024, bits by 1000."""
    value = number(text)
    if value is None or unit is None:
        return None
    power = _POWERS[unit.removesuffix("Bytes").removesuffix("bits")]
    return float(value * (1024 if unit.endswith("Bytes") else 1000) ** power)


def read_line(line: str, *, datagrams: bool) -> Fields | None:
    """A line of a stream or of their sum: an interval, or a side's account at the end."""
    if not (match := _LINE.search(line)):
        return None
    rest = match["rest"]
    side = _SIDE.search(rest)
    rate, size = _size(match["rate"], match["rate_unit"]), _size(match["bytes"], match["bytes_unit"])
    row: Fields = {"stream": match["stream"].lower(), "role": match["role"], "side": side[1] if side else None}
    row |= {"start_s": number(match["start"]), "elapsed_s": number(match["end"]), "omitted": "(omitted)" in rest}
    row["bytes"] = None if size is None else whole(round(size))
    row["bits_per_s"] = times(rate, 8 if match["rate_unit"].endswith("Bytes") else 1)
    if udp := _UDP.match(rest):
        row |= {"jitter_ms": number(udp["jitter"]), "lost_pct": number(udp["pct"])}
        row |= {"lost_packets": whole(udp["lost"]), "packets": whole(udp["packets"])}
    elif datagrams and (sent := _DATAGRAMS.match(rest)):
        row["packets"] = whole(sent["packets"])
    elif tcp := _TCP.match(rest):
        cwnd = _size(tcp["cwnd"], tcp["cwnd_unit"])
        row |= {"retransmits": whole(tcp["retransmits"]), "cwnd_bytes": None if cwnd is None else whole(round(cwnd))}
    return row


def _blocks(lines: Sequence[str]) -> list[tuple[int, list[tuple[int, str]]]]:
    """The lines of each test, numbered."""
    blocks: list[tuple[int, list[tuple[int, str]]]] = [(1, [])]
    has_result = False
    for place, line in enumerate(lines, 1):
        if has_result and _BEGINS.search(line):
            blocks.append((place, []))
            has_result = False
        has_result = has_result or bool(_LINE.search(line) or _ERROR.search(line))
        blocks[-1][1].append((place, line))
    return blocks


def _figures(summary: Sequence[Fields]) -> list[Figure]:
    """The summary of a test, from its sums, or from its only stream."""
    sums = [row for row in summary if row["stream"] == "sum"] or list(summary)
    figures = []
    for row in sums:
        tail = "_reverse" if row["direction"] == "reverse" else ""
        name = {"sender": "throughput_sent", "receiver": "throughput_received", None: "throughput"}[row["side"]]
        figures.append(higher(name + tail, scaled(row["bits_per_s"], 1e-6), "Mbit/s"))
        if row["side"] != "receiver" and row.get("retransmits") is not None:
            figures.append(lower(f"retransmits{tail}", row["retransmits"], "1"))
        if row["side"] != "sender" and row.get("jitter_ms") is not None:
            figures.append(lower(f"jitter{tail}", row["jitter_ms"], "ms"))
            figures.append(lower(f"lost{tail}", row["lost_pct"], "%"))
    return list({figure.metric: figure for figure in figures}.values())


def read_fact(line: str) -> Fields:
    """What a line says about the whole test."""
    if settings := _SETTINGS.search(line):
        return {name: value for name, value in settings.groupdict().items() if value}
    if cpu := _CPU.search(line):
        return {f"cpu_{side}": number(cpu[side]) for side in ("local", "remote")}
    if release := _RELEASE.match(line):
        return {"release": excerpt(release[1])}
    if error := _ERROR.search(line):
        return {"error": excerpt(error["what"])}
    return {"reverse": True} if "Reverse mode" in line else {}


def read_test(line: int, block: Sequence[tuple[int, str]]) -> tuple[Test, list[tuple[int, str]]]:
    """One test, and its unknown lines."""
    test = Test(Run("tcp", "", ()), line)
    rows: list[Fields] = []
    rest: list[tuple[int, str]] = []
    facts: Fields = {"protocol": "tcp"}
    titles: list[str] = []
    ended = datagrams = False
    for place, text in block:
        if row := read_line(text, datagrams=datagrams):
            # An old release ends with lines like those of intervals, below their own titles.
            rows.append({**row, "final": row["side"] is not None or (ended and len(titles) > 1)})
        elif title := _TITLES.search(text):
            datagrams = "Datagrams" in title["rest"]
            facts["protocol"] = "udp" if datagrams else facts["protocol"]
            titles.append(text)
        elif _SEPARATOR.search(text):
            ended = True
        elif fact := read_fact(text):
            facts |= fact
        elif text.strip() and not _ORDINARY.search(text) and not _BEGINS.search(text):
            rest.append((place, text))
    test.release, test.error = facts.get("release"), facts.get("error")
    _settle(test, rows, facts)
    return test, rest


def _settle(test: Test, rows: Sequence[Fields], facts: Fields) -> None:
    client = not any((row["role"] or "").endswith("S") for row in rows)
    for row in rows:
        # What the client sends is forward, whoever printed the line.
        forward = row["role"] in (None, "TX-C" if client else "RX-S")
        row["direction"] = "forward" if forward else "reverse"
    final = [row for row in rows if row["final"]]
    test.intervals = [row for row in rows if not row["final"]]
    test.streams = [{**row, "side": row["side"] or "sender"} for row in final if row["stream"] != "sum"]
    figures = _figures(final)
    figures += [lower(name, facts[name], "%") for name in ("cpu_local", "cpu_remote") if name in facts]
    bidir = "_bidir" if any(row["role"] for row in rows) else ""
    name = facts["protocol"].lower() + (bidir or ("_reverse" if facts.get("reverse") else ""))
    streams = len({row["stream"] for row in rows if row["stream"] != "sum" and row["direction"] == "forward"})
    settings = [f"{streams} streams" if streams else "", f"{facts['seconds']} s" if "seconds" in facts else ""]
    test.run = Run(name, listing(*settings, f"{facts['block']} bytes" if "block" in facts else ""), tuple(figures))


def read_text(lines: Sequence[str]) -> tuple[list[Test], list[tuple[int, str]]]:
    """The tests of a text, and its unknown lines."""
    read_tests = [read_test(line, block) for line, block in _blocks(lines)]
    rest = [line for _, left in read_tests for line in left]
    return [test for test, _ in read_tests if test.intervals or test.run.figures or test.error], rest


_SIGNS = re.compile(
    r'"version"\s*:\s*"iperf 3|"sum_sent"\s*:|"congestion_used"|"connecting_to"\s*:|"bits_per_second"\s*:'
)
_EVENT = re.compile(r'^[ \t]*\{\s*"event"\s*:\s*"(?:start|interval|end|error)"\s*,\s*"data"\s*:', re.MULTILINE)
_ERROR_ONLY = re.compile(r'"error"\s*:\s*"[^"]*(?:iperf|unable to|server|control|stream)', re.IGNORECASE)

_INTERVALS = schema(
    "run i64, time time, start_s elapsed_s f64, stream direction str, bytes i64, bits_per_s f64, "
    "retransmits cwnd_bytes i64, rtt_us jitter_ms f64, lost_packets packets i64, omitted bool"
)
_STREAMS = schema(
    "run i64, stream side direction str, bytes i64, bits_per_s f64, retransmits i64, mean_rtt_us f64, "
    "max_cwnd_bytes i64, jitter_ms f64, lost_packets packets i64"
)


def recognise(head: Head) -> bool:
    """By the keys of its document, by its events, or by the titles of its text with what only iperf3 prints."""
    text = head.text
    if _EVENT.search(text) and ('"interval"' in text or "iperf" in text or "bits_per_second" in text):
        return True
    if "{" in text and (_SIGNS.search(text) or ('"intervals"' in text and _ERROR_ONLY.search(text))):
        return True
    return _is_text(head.lines)


def read(source: Source) -> Recording:
    """Reads one or many tests of iperf3, whatever the mix of their forms."""
    content = source.text()
    found, notes, rest = iperf3_json.read(content.text)
    if not found and not notes:
        content = content.without_cut_number()
        notes = Notes([*content.notes])
        found, rest = read_text(content.lines())
    else:
        notes = Notes([*content.notes, *notes])
    for place, test in enumerate(found, 1):
        if test.error:
            notes.warn(f"test {place} failed: {test.error}", test.line)
        elif not test.run.figures:
            notes.warn(f"test {place} ended before its summary", test.line)
    tests = [vars(test) for test in found]
    intervals = numbered(tests, "intervals")
    dated = all(row.get("time") is not None for row in intervals)
    columns = {name: kind for name, kind in _INTERVALS.items() if dated or name != "time"}
    details = {"intervals": (intervals, columns), "streams": (numbered(tests, "streams"), _STREAMS)}
    starts = [test.start for test in found if test.start]
    facts = {"samples": len(found), **whose(tests), "start": min(starts, default=None)}
    notes += left_out(rest)
    return recording(source, FORMAT, "iperf3", [test.run for test in found], details, facts, notes)
