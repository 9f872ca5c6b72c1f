"""Kinds of lines in netperf output: banners, titles, results by their shape, interim results, histograms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from esxparse.formats.benchmarks import netperf_omni as omni
from esxparse.formats.benchmarks.printed import Lines, Part
from esxparse.formats.benchmarks.table import Fields, Figure, higher, listing, lower, settings_of
from esxparse.formats.kit.numbers import number, times, whole
from esxparse.formats.kit.tables import data, schemas, typed

_DATA, LINES = data(__file__), Lines(__file__)
SCHEMAS = schemas(str(Path(__file__).with_name("netperf.py")))
_LONGEST_RESULT = 1000
FAMILY_NAMES = {"stream": "STREAM", "rr": "RR", "udp": "UDP_STREAM"}
_ROW_MS = {"NSEC": 1e-6, "USEC": 1e-3, "MSEC": 1.0, "SEC": 1e3}
_ROW_TIMES = {"UNIT": 1, "TEN": 10, "HUNDRED": 100}
_OPTION = re.compile(r"(?:^|\s)-(?P<name>[tHf])\s*(?P<value>[^\s,]+)")
_UNITS = {"k": "10^3bits/s", "m": "10^6bits/s", "g": "10^9bits/s", "K": "KBytes/s", "M": "MBytes/s", "G": "GBytes/s"}
_DEFAULT_UNIT = (1.0, "Mbit/s")
_TRANSACTIONS = (1.0, "transactions/s")


def _shape(family: str) -> re.Pattern[str]:
    """Return the pattern of a line of numbers: whole ones in columns of whole numbers, else decimal ones."""
    integers = {name for name, kind in SCHEMAS["settings"].items() if kind.is_integer()}
    decimal = _DATA["parts"]["F"]
    cells = r"\s+".join(r"(\d+)" if name in integers else decimal for name in _DATA["numbers"][family])
    more = "".join(rf"\s+{decimal}" for _ in _DATA["cpu"].get(family, ()))
    return re.compile(rf"^\s*{cells}(?:{more})?\s*$")


SHAPES = {family: _shape(family) for family in _DATA["numbers"]}


@dataclass(frozen=True)
class Banner:
    """The content of a banner, about a result that follows."""

    test: str
    destination: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Command:
    """The content of a command line, about a result that follows without a banner."""

    banner: Banner
    unit: str = ""
    """As netperf prints it."""


def is_command(line: str) -> bool:
    """Return whether a line is a command that runs netperf."""
    return "netperf" in line and LINES["command"].match(line) is not None


def read_command(options: str, at: int) -> Command:
    """Return the test, destination and unit in the options of a command.

    >>> read_command("-H 10.0.0.2,4 -t TCP_MAERTS -P 0 -f g", 3).banner
    Banner(test='TCP_MAERTS', destination='10.0.0.2', line=3)
    """
    own = options.partition(" -- ")[0]
    values = {found["name"]: found["value"] for found in _OPTION.finditer(own)}
    test = values.get("t", "TCP_STREAM").upper()
    return Command(Banner(test, values.get("H"), at), _UNITS.get(values.get("f", ""), ""))


def is_titles(line: str) -> bool:
    """Return whether a line is the first or second of the titles of a classic result."""
    return bool(LINES["first_titles"].match(line))


def is_in_columns(line: str) -> bool:
    """Return whether a line consists of several numbers."""
    *cells, last = line.split() or [""]
    return bool(cells) and all(number(cell) is not None for cell in cells) and number(f"{last}0") is not None


def is_bare(lines: Sequence[str]) -> bool:
    """Return whether all lines are results or parts of one (`-P 0`), or single numbers below commands (`-v 0`)."""
    bare = [line for line in lines if not is_command(line)]
    alone = len(bare) < len(lines)
    return all(is_part(line) or (alone and LINES["alone"].match(line)) for line in bare) and any(
        shape_of(line) or alone for line in bare
    )


def is_part(line: str) -> bool:
    """Return whether a line of numbers is a result or a part of one."""
    return len(line) < _LONGEST_RESULT and bool(
        shape_of(line) or any(SHAPES[part].match(line) for part in ("remote", "received"))
    )


def shape_of(line: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the kind of result in a line of numbers, and its numbers."""
    found = ((family, SHAPES[family].match(line)) for family in FAMILY_NAMES)
    return next(((family, match.groups()) for family, match in found if match), None)


def test_name(banner: str) -> str:
    """Return the `-t` name of the test in a banner."""
    name = " ".join(banner.upper().split())
    if name in _DATA["tests"]:
        return str(_DATA["tests"][name])
    if name.startswith("OMNI"):
        return "OMNI"
    return name.replace("CONNECT/REQUEST/RESPONSE", "CRR").replace("REQUEST/RESPONSE", "RR").replace(" ", "_")


def _fits(banner: Banner, family: str | None) -> bool:
    """Return whether a result of this kind fits the test of a banner; None fits any."""
    test = banner.test.removesuffix("_MANY")
    ends = {"udp": ("UDP_STREAM",), "rr": ("RR", "CC")}.get(family or "")
    if family is None or test == "OMNI" or ends:
        return ends is None or test == "OMNI" or test.endswith(ends)
    return not test.endswith(("RR", "CC", "UDP_STREAM"))


def take(waiting: list[Banner], used: Banner | None, family: str | None) -> Banner:
    """Return the banner of a result: the oldest waiting one that fits, as parallel runs print banners first."""
    banner = next((one for one in waiting if _fits(one, family)), None)
    if banner:
        waiting.remove(banner)
        return banner
    return used if used and _fits(used, family) else Banner(FAMILY_NAMES[family] if family else "OMNI")


def _fields_of(family: str, cells: Sequence[str | None]) -> Fields:
    """Return the numbers of a line by name."""
    names = [*_DATA["numbers"][family], *_DATA["cpu"].get("stream" if family == "maerts" else family, ())]
    return typed(dict(zip(names, cells, strict=True)), SCHEMAS["settings"])


def _figures(values: Fields, unit: tuple[float, str], demand: str) -> list[Figure]:
    """Return throughput, CPU utilisation and service demand; negative CPU figures mean not measured."""
    figures = []
    for name, value in ((name, number(value)) for name, value in values.items()):
        if name.startswith("throughput"):
            figures.append(higher(name, times(value, unit[0]), unit[1]))
        elif name.startswith(("cpu", "service_demand")) and value is not None and value >= 0:
            figures.append(lower(name, value, "%" if name.startswith("cpu") else demand))
    return figures


def read_classic(family: str, cells: Sequence[str], banner: Banner, at: int, unit: tuple[float, str] | None) -> Part:
    """Return a classic result from its first line of numbers."""
    values = _fields_of("maerts" if banner.test.endswith("MAERTS") and family == "stream" else family, cells)
    settings: Fields = {"test": banner.test, "destination": banner.destination, **values}
    unit = unit or (_TRANSACTIONS if family == "rr" else _DEFAULT_UNIT)
    facts = {"test": banner.test, "configuration": settings_of(settings, _DATA["shown"])}
    figures = _figures(values, unit, "us/transaction" if family == "rr" else "us/KB")
    result = Part(at, facts, figures)
    result.rows["settings"].append(settings)
    return result


def read_below(family: str, result: Part, cells: Sequence[str | None], unit: tuple[float, str] | None) -> None:
    """Add the second line of a result: sizes of the other side, and the throughput received there by UDP_STREAM."""
    values = _fields_of(family, cells)
    result.figures += _figures(values, unit or _DEFAULT_UNIT, "us/KB")
    # Both lines have the time: keep the first.
    result.rows["settings"][0] |= {name: value for name, value in values.items() if name != "elapsed_s"}


def read_omni(fields: Mapping[str, str], banner: Banner, at: int) -> Part:
    """Return an omni result from its fields."""
    unit = _TRANSACTIONS if banner.test.endswith(("RR", "CC")) else _DEFAULT_UNIT
    settings = settings_of(vars(banner), _DATA["shown"])
    facts = {"test": banner.test, "configuration": listing(settings, omni.configuration(fields))}
    result = Part(at, facts, omni.figures(fields, unit))
    result.rows["fields"] = [{"field": name, "text": text, "value": text} for name, text in fields.items()]
    return result


def read_interim(value: str, unit: str, seconds: str, end: str | None) -> Fields | None:
    """Return an interim result, if it has an end time."""
    factor, name = omni.unit_of(unit) or _DEFAULT_UNIT
    rate, moment = number(value), number(end)
    if rate is None or moment is None or not 0 < moment < 1 << 33:
        return None
    time = datetime.fromtimestamp(moment, UTC)
    return {"time": time, "seconds": number(seconds), "throughput": rate * factor, "unit": name}


def read_bins(line: str) -> list[Fields]:
    """Return the bins of one line of a histogram."""
    if over := LINES["last_bin"].match(line):
        return [{"from_ms": times(number(over["seconds"]), 1e3), "to_ms": None, "count": whole(over["count"])}]
    if not (match := LINES["bins"].match(line)):
        return []
    tens, unit = match["row"].split("_")
    width = _ROW_TIMES[tens] * _ROW_MS[unit]
    counts = [whole(text) for text in match["counts"].split(":")]
    # Values below ten units are counted in the bins of the line above: the first bin of this line is always zero.
    return [
        {"from_ms": place * width, "to_ms": (place + 1) * width, "count": count}
        for place, count in enumerate(counts)
        if count is not None and (place or count or match["row"] == "UNIT_USEC")
    ]
