"""The lines of netperf output, told apart: banners, titles, results by their shape, interim results, histograms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from esxparse.formats.benchmarks import netperf_omni as omni
from esxparse.formats.benchmarks.table import Fields, Figure, Run, higher, listing, lower
from esxparse.formats.kit.numbers import number, times, whole
from esxparse.formats.kit.tables import data

BANNER = re.compile(
    r"^\s*(?:MIGRATED )?(?P<test>[A-Za-z][A-Za-z0-9 |/_-]{1,60}?) TEST(?: from .*?)? to\b\s*+(?P<to>\S++)?(?P<rest>.*)$"
)
_DATA = data(__file__)
_TESTS: dict[str, str] = _DATA["tests"]
_LONGEST_RESULT = 1000
_I, _F = r"(\d+)", r"(-?(?:\d+\.\d+|nan|inf))"
_CELLS = {"whole": _I, "decimal": _F}
_SHAPES = {
    name: re.compile(r"^\s*" + r"\s+".join(_CELLS[kind] for kind in kinds) + r"\s*$")
    for name, kinds in _DATA["shapes"].items()
}
RR_REMOTE = re.compile(rf"^\s*{_I}\s+{_I}\s*$")
UDP_RECEIVED = re.compile(rf"^\s*{_I}\s+{_F}\s+{_I}\s+{_F}(?:\s+{_F}\s+{_F})?\s*$")
FAMILY_NAMES = {"stream": "STREAM", "rr": "RR", "udp": "UDP_STREAM"}
TITLES = re.compile(
    r"^\s*(?:Recv\s+Send\s+Send\b|Socket\s+Socket\s+Message\s+Elapsed|Size\s+Size\s+Size\s+Time|"
    r"bytes\s+bytes\s+bytes\s+secs|Local\s+/Remote|Socket\s+Size\s+Request\s+Resp|Send\s+Recv\s+Size\s+Size|"
    r"bytes\s+bytes\s+bytes\s+bytes\s+secs|Socket\s+Message\s+Elapsed\s+Messages|Size\s+Size\s+Time\s+Okay|"
    r"bytes\s+bytes\s+secs)",
    re.IGNORECASE,
)
_OWN_TITLES = re.compile(
    r"^\s*(?:Recv\s+Send\s+Send\s*(?:Utilization.*)?$|Socket\s+Message\s+Elapsed\s+Messages|"
    r"Socket\s+Size\s+Request\s+Resp\.?\s+Elapsed)"
)
INTERIM = re.compile(
    r"Interim result:\s+(?P<value>\S+)\s+(?P<unit>\S+)\s+over\s+(?P<seconds>\S+)\s+seconds"
    r"(?:\s+ending at\s+(?P<end>\S+))?"
)
INTERIM_CSV = re.compile(r"^(?P<value>[\d.]+),(?P<unit>[\w^]+/s),(?P<seconds>[\d.]+),(?P<end>\d{9,}\.\d+)\s*$")
CONFIDENCE = re.compile(
    r"^\s*!!!\s+(?:Confidence intervals: )?(?P<what>Throughput|(?:Local|Remote) CPU util)\s*:\s*(?P<pct>\S+)"
)
WARNING = re.compile(r"^\s*!!!")
_HISTOGRAM = re.compile(r"^\s*(?P<row>(?:UNIT|TEN|HUNDRED)_(?:[NUM]?SEC))\s*:(?P<counts>[\s\d:]+)$")
_ROW_MS = {"NSEC": 1e-6, "USEC": 1e-3, "MSEC": 1.0, "SEC": 1e3}
_ROW_TIMES = {"UNIT": 1, "TEN": 10, "HUNDRED": 100}
_OVER = re.compile(r"^\s*>(?P<seconds>\d+)_SECS:\s*(?P<count>\d+)")
TOTAL = re.compile(r"^\s*HIST_TOTAL:\s*(?P<count>\d+)")
ERROR = re.compile(
    r"^\s*+(?:netperf:|netserver:|establish control|could not|recv_response|send_request|send_\w+:|recv_\w+:|\w+_send:|"
    r"udp_\w+:|.*(?:[Cc]onnection refused|[Cc]onnection reset|[Nn]o route to host|remote error|Message too long)|"
    r"Sorry,|catcher|shutdown_control|calibrate|resolve_\w+|getaddrinfo|WARNING)"
)
ORDINARY = re.compile(r"^\s*(?:Histogram of |Alignment\s+Offset|netperf |\$ |# |root@|Starting netserver)")
ALONE = re.compile(rf"^\s*{_F}\s*$")
_COMMAND = re.compile(r"^\s*(?:\S.{0,200}?[\s/])?netperf\s+(?P<options>-[A-Za-z].*)$")
_OPTION = re.compile(r"(?:^|\s)-(?P<name>[tHf])\s*(?P<value>[^\s,]+)")
_UNITS = {"k": "10^3bits/s", "m": "10^6bits/s", "g": "10^9bits/s", "K": "KBytes/s", "M": "MBytes/s", "G": "GBytes/s"}
_DEFAULT_UNIT = (1.0, "Mbit/s")
_TRANSACTIONS = (1.0, "transactions/s")


@dataclass(frozen=True)
class Banner:
    """What a banner says about a result that follows."""

    test: str
    destination: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Command:
    """What a command line says about a result that follows without a banner."""

    banner: Banner
    unit: str = ""
    """As netperf prints it."""


@dataclass
class Result:
    """One result: its row of the common table, and its other facts."""

    run: Run
    settings: Fields = field(default_factory=dict)
    fields: list[Fields] = field(default_factory=list)
    histogram: list[Fields] = field(default_factory=list)
    uncounted: int | None = None
    """The last line of its histogram, until the line with their sum."""


def is_command(line: str) -> bool:
    """Whether a line is a command that runs netperf."""
    return "netperf" in line and _COMMAND.match(line) is not None


def read_command(line: str, at: int) -> Command | None:
    """The test, destination and unit that a command line sets.

    >>> read_command("$ netperf -H 10.0.0.2,4 -t TCP_MAERTS -P 0 -f g", 3).banner
    Banner(test='TCP_MAERTS', destination='10.0.0.2', line=3)
    """
    if "netperf" not in line or not (match := _COMMAND.match(line)):
        return None
    own = match["options"].partition(" -- ")[0]
    options = {found["name"]: found["value"] for found in _OPTION.finditer(own)}
    test = options.get("t", "TCP_STREAM").upper()
    return Command(Banner(test, options.get("H"), at), _UNITS.get(options.get("f", ""), ""))


def is_titles(line: str) -> bool:
    """Whether a line is the first or second of the titles of a classic result."""
    return bool(_OWN_TITLES.match(line))


def is_in_columns(line: str) -> bool:
    """Whether there is nothing but several numbers on a line."""
    *cells, last = line.split() or [""]
    return bool(cells) and all(number(cell) is not None for cell in cells) and number(f"{last}0") is not None


def is_bare(lines: Sequence[str]) -> bool:
    """Whether all lines are results or parts of one (`-P 0`), or below commands single numbers too (`-v 0`)."""
    bare = [line for line in lines if not is_command(line)]
    alone = len(bare) < len(lines)
    return all(is_part(line) or (alone and ALONE.match(line)) for line in bare) and any(
        shape_of(line) or alone for line in bare
    )


def is_part(line: str) -> bool:
    """Whether a line of numbers is a result or a part of one."""
    return len(line) < _LONGEST_RESULT and bool(
        shape_of(line) or any(part.match(line) for part in (RR_REMOTE, UDP_RECEIVED))
    )


def shape_of(line: str) -> tuple[str, tuple[str, ...]] | None:
    """Which kind of result a line of numbers is, and its numbers."""
    for name, pattern in _SHAPES.items():
        if match := pattern.match(line):
            return name.removesuffix("_cpu"), match.groups()
    return None


def test_name(banner: str) -> str:
    """What `-t` calls the test of a banner."""
    name = " ".join(banner.upper().split())
    if name in _TESTS:
        return _TESTS[name]
    if name.startswith("OMNI"):
        return "OMNI"
    return name.replace("CONNECT/REQUEST/RESPONSE", "CRR").replace("REQUEST/RESPONSE", "RR").replace(" ", "_")


def _fits(banner: Banner, family: str | None) -> bool:
    """Whether a result of this kind can be the test that a banner announced; None is of any."""
    test = banner.test.removesuffix("_MANY")
    ends = {"udp": ("UDP_STREAM",), "rr": ("RR", "CC")}.get(family or "")
    if family is None or test == "OMNI" or ends:
        return ends is None or test == "OMNI" or test.endswith(ends)
    return not test.endswith(("RR", "CC", "UDP_STREAM"))


def take(waiting: list[Banner], used: Banner | None, family: str | None) -> Banner:
    """The banner of a result: the oldest that waits for such a one, as parallel runs print theirs before any result."""
    banner = next((one for one in waiting if _fits(one, family)), None)
    if banner:
        waiting.remove(banner)
        return banner
    return used if used and _fits(used, family) else Banner(FAMILY_NAMES[family] if family else "OMNI")


def _settled(banner: Banner, sizes: Mapping[str, int | None]) -> str:
    parts = [f"to {banner.destination}" if banner.destination else ""]
    parts += [
        f"{name.removesuffix('_bytes')} {sizes[name]}"
        for name in ("message_bytes", "request_bytes", "response_bytes")
        if sizes.get(name) is not None
    ]
    return listing(*parts)


def _used(names: Sequence[str], values: Sequence[str | None], unit: str) -> list[Figure]:
    """CPU utilisation and service demand; below zero means not measured."""
    return [
        lower(name, value, "%" if name.startswith("cpu") else unit)
        for name, text in zip(names, values, strict=False)
        if (value := number(text)) is not None and value >= 0
    ]


def read_classic(family: str, cells: Sequence[str], banner: Banner, unit: tuple[float, str] | None) -> Result:
    """A classic result from its first line of numbers."""
    names = _DATA["sizes"]["maerts" if banner.test.endswith("MAERTS") else family]
    settings: Fields = {"test": banner.test, "destination": banner.destination}
    settings |= {name: whole(cell) for name, cell in zip(names, cells, strict=False)}
    rest = list(cells[len(names) :])
    settings["elapsed_s"] = number(rest.pop(0))
    if family == "udp":
        settings |= {"messages_sent": whole(rest.pop(0)), "errors": whole(rest.pop(0))}
    factor, name = unit or (_TRANSACTIONS if family == "rr" else _DEFAULT_UNIT)
    figures = [higher("throughput", times(number(rest.pop(0)), factor), name)]
    if family == "udp":
        figures += _used(("cpu_local", "service_demand_local"), rest, "us/KB")
    else:
        uses = ("cpu_local", "cpu_remote", "service_demand_local", "service_demand_remote")
        figures += _used(uses, rest, "us/transaction" if family == "rr" else "us/KB")
    return Result(Run(banner.test, _settled(banner, settings), tuple(figures)), settings)


def read_received(result: Result, cells: Sequence[str | None], unit: tuple[float, str] | None) -> None:
    """Adds the second line of UDP_STREAM, what the other side received, to its result."""
    socket, _, messages, rate, *used = cells
    factor, name = unit or _DEFAULT_UNIT
    figures = [higher("throughput_received", times(number(rate), factor), name)]
    figures += _used(("cpu_remote", "service_demand_remote"), used, "us/KB")
    result.settings |= {"remote_recv_socket_bytes": whole(socket), "messages_received": whole(messages)}
    result.run = replace(result.run, figures=(*result.run.figures, *figures))


def read_omni(fields: Mapping[str, str], banner: Banner) -> Result:
    """An omni result from its fields."""
    unit = _TRANSACTIONS if banner.test.endswith(("RR", "CC")) else _DEFAULT_UNIT
    settings = listing(_settled(banner, {}), omni.configuration(fields))
    rows: list[Fields] = [{"field": name, "text": text, "value": number(text)} for name, text in fields.items()]
    return Result(Run(banner.test, settings, tuple(omni.figures(fields, unit))), {}, rows)


def read_interim(value: str, unit: str, seconds: str, end: str | None) -> Fields | None:
    """An interim result, where it says when it ended."""
    factor, name = omni.unit_of(unit) or _DEFAULT_UNIT
    rate, moment = number(value), number(end)
    if rate is None or moment is None or not 0 < moment < 1 << 33:
        return None
    time = datetime.fromtimestamp(moment, UTC)
    return {"time": time, "seconds": number(seconds), "throughput": rate * factor, "unit": name}


def read_bins(line: str) -> list[Fields]:
    """The bins of one line of a histogram."""
    if over := _OVER.match(line):
        return [{"from_ms": times(number(over["seconds"]), 1e3), "to_ms": None, "count": whole(over["count"])}]
    if not (match := _HISTOGRAM.match(line)):
        return []
    tens, unit = match["row"].split("_")
    width = _ROW_TIMES[tens] * _ROW_MS[unit]
    counts = [whole(text) for text in match["counts"].split(":")]
    # What is below ten of a unit is counted in the bins of the line above: the first bin of this one is always zero.
    return [
        {"from_ms": place * width, "to_ms": (place + 1) * width, "count": count}
        for place, count in enumerate(counts)
        if count is not None and (place or count or match["row"] == "UNIT_USEC")
    ]
