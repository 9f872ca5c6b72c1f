"""The text output of iperf3."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from esxparse.formats.benchmarks.iperf3_json import Test
from esxparse.formats.benchmarks.table import Fields, Figure, Run
from esxparse.formats.kit.notes import excerpt
from esxparse.formats.kit.numbers import number, whole

if TYPE_CHECKING:
    from collections.abc import Sequence


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
_ORDINARY = re.compile(
    r"^\s*(?:-{5,}|Server listening|\[\s*\d+\] local |Reverse mode|iperf Done|Test Complete|Time:|Cookie:|TCP MSS|"
    r"Linux |Control connection|(?:snd|rcv)_tcp_congestion|\[\s*\d+\] \((?:sender|receiver) stat|Target Bitrate)"
)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def recognise(lines: Sequence[str]) -> bool:
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
    match = _LINE.search(line)
    if not match:
        return None
    rest = match["rest"]
    side = _SIDE.search(rest)
    rate = _size(match["rate"], match["rate_unit"])
    size = _size(match["bytes"], match["bytes_unit"])
    row: Fields = {
        "stream": match["stream"].lower(),
        "role": match["role"],
        "start_s": number(match["start"]),
        "elapsed_s": number(match["end"]),
        "bytes": None if size is None else whole(round(size)),
        "bits_per_s": None if rate is None else rate * (8 if match["rate_unit"].endswith("Bytes") else 1),
        "side": side[1] if side else None,
        "omitted": "(omitted)" in rest,
    }
    if udp := _UDP.match(rest):
        row |= {"jitter_ms": number(udp["jitter"]), "lost_pct": number(udp["pct"])}
        row |= {"lost_packets": whole(udp["lost"]), "packets": whole(udp["packets"])}
    elif datagrams and (sent := _DATAGRAMS.match(rest)):
        row["packets"] = whole(sent["packets"])
    elif tcp := _TCP.match(rest):
        cwnd = _size(tcp["cwnd"], tcp["cwnd_unit"])
        row |= {
            "retransmits": whole(tcp["retransmits"]),
            "cwnd_bytes": None if cwnd is None else whole(round(cwnd)),
        }
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
        rate = row["bits_per_s"]
        figures.append(Figure(name + tail, None if rate is None else rate / 1e6, "Mbit/s", higher_is_better=True))
        if row["side"] != "receiver" and row.get("retransmits") is not None:
            figures.append(Figure(f"retransmits{tail}", row["retransmits"], "1", higher_is_better=False))
        if row["side"] != "sender" and row.get("jitter_ms") is not None:
            figures.append(Figure(f"jitter{tail}", row["jitter_ms"], "ms", higher_is_better=False))
            figures.append(Figure(f"lost{tail}", row["lost_pct"], "%", higher_is_better=False))
    return list({figure.metric: figure for figure in figures}.values())


def read_fact(line: str) -> Fields:
    """What a line says of the whole test."""
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
    """One test, and the lines of it that nobody reads."""
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
    figures += [
        Figure(name, facts.get(name), "%", higher_is_better=False)
        for name in ("cpu_local", "cpu_remote")
        if name in facts
    ]
    bidir = "_bidir" if any(row["role"] for row in rows) else ""
    name = facts["protocol"].lower() + (bidir or ("_reverse" if facts.get("reverse") else ""))
    streams = len({row["stream"] for row in rows if row["stream"] != "sum" and row["direction"] == "forward"})
    settings = [f"{streams} streams" if streams else "", f"{facts['seconds']} s" if "seconds" in facts else ""]
    settings += [f"{facts['block']} bytes" if "block" in facts else ""]
    test.run = Run(name, ", ".join(part for part in settings if part), tuple(figures))


def read(lines: Sequence[str]) -> tuple[list[Test], list[tuple[int, str]]]:
    """The tests of a text, and the lines of it that nobody reads."""
    read_tests = [read_test(line, block) for line, block in _blocks(lines)]
    rest = [line for _, left in read_tests for line in left]
    return [test for test, _ in read_tests if test.intervals or test.run.figures or test.error], rest
