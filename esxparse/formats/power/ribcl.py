"""RIBCL answers of HP iLO 1 to 5 with power readings, as they come off the wire or tidied.

`GET_POWER_READINGS`, `GET_POWER_CAP`, `GET_PWREG`, `GET_HOST_POWER_SAVER_STATUS`, and the power summary of
`GET_EMBEDDED_HEALTH`. A file may hold raw HTTP with chunk sizes in the middle of a tag, and any number of XML
documents.

Tables
------
power           one row per answer
    time            datetime, UTC: the HTTP `Date` of the answer, or a line of `date` before it; no such column without
    source          str  the command answered: `GET_POWER_READINGS` ...
    sensor          str  `system`
    kind            str  `system`
    watts           f64  W now
    watts_average, watts_minimum, watts_maximum  f64  W; HP: over the last 24 hours (iLO 2, 3), or 20 minutes
    watts_cap       f64  W allowed, null where the cap is off
    interval_s      f64  always null: RIBCL does not say
power_undated   the same, of answers without a time where others have one
settings        time (where every answer has one), source, setting, value (as text): caps, alerts, power regulator

Source: HP "Integrated Lights-Out scripting and command line guide"; answers recorded for python-hpilo.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, ParseError

import polars as pl
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from esxparse.errors import DamagedError
from esxparse.formats.power.readings import cap, counted, facts, number, tables, watts
from esxparse.formats.power.stamps import Stamp, stamp
from esxparse.formats.text import beginning, read_text
from esxparse.formats.window import TIME
from esxparse.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Iterator

    from esxparse.formats.power.readings import Reading
    from esxparse.formats.source import Source

FORMAT = "ribcl"
TITLE = "RIBCL answers of HP iLO (XML, raw HTTP)"
OPTIONS: frozenset[str] = frozenset()

_IS_RIBCL = re.compile(r"<RIBCL\b", re.IGNORECASE)
_CHUNK = re.compile(r"(?:\A|\n)[0-9a-fA-F]{1,8}[ \t]*\n")
_BEGIN = re.compile(r"<\?xml|<!DOCTYPE|<RIBCL\b", re.IGNORECASE)
_CLOSE = re.compile(r"</RIBCL\s*>", re.IGNORECASE)
_DATE = re.compile(r"Date:\s*(?P<date>.+)", re.IGNORECASE)
_READINGS = {
    "PRESENT_POWER_READING": "watts",
    "AVERAGE_POWER_READING": "watts_average",
    "MINIMUM_POWER_READING": "watts_minimum",
    "MAXIMUM_POWER_READING": "watts_maximum",
}
_SETTINGS = ("GET_POWER_CAP", "GET_PWREG", "GET_HOST_POWER_SAVER_STATUS", "GET_HOST_POWER_STATUS")
_CAP_ATTRIBUTES = ("POWER_CAP", "VALUE", "POWER", "CAP")


@dataclass(frozen=True)
class _Answer:
    """One XML document of an answer, its line, and the time it was given."""

    xml: str
    line: int
    time: Stamp | None


def recognise(head: bytes) -> bool:
    """An XML element `RIBCL`."""
    return bool(_IS_RIBCL.search(beginning(head)))


def _without_chunks(text: str) -> tuple[str, list[int], list[int]]:
    """The text without the lines of chunk sizes; places in it, and how many lines were taken out before each."""
    pieces, places, removed = [], [0], [0]
    after = length = 0
    for match in _CHUNK.finditer(text):
        piece = text[after : match.start()]
        pieces.append(piece)
        length += len(piece)
        places.append(length)
        removed.append(removed[-1] + match[0].count("\n"))
        after = match.end()
    pieces.append(text[after:])
    return "".join(pieces), places, removed


def _answers(text: str, odd: dict[str, list[int]]) -> Iterator[_Answer]:
    """The documents of a text, each with the time that stood before it."""
    plain, places, removed = _without_chunks(text)
    time = None
    end = counted_to = newlines = 0

    def line_of(at: int) -> int:
        return newlines + plain.count("\n", counted_to, at) + removed[bisect_right(places, at) - 1] + 1

    for close in _CLOSE.finditer(plain):
        begin = _BEGIN.search(plain, end, close.end())
        if begin is None:
            continue
        start = begin.start()
        opened = [match.start() for match in _IS_RIBCL.finditer(plain, start, close.end())]
        if len(opened) > 1 and "<!" not in plain[start : opened[-1]]:
            # What began before was cut; the last one that begins is the one that ends here.
            odd.setdefault("a document is cut, and left out", []).append(line_of(start))
            start = opened[-1]
        time = _time(plain[end:start]) or time
        yield _Answer(plain[start : close.end()], line_of(start), time)
        newlines += plain.count("\n", counted_to, start)
        counted_to, end = start, close.end()
    if cut := _IS_RIBCL.search(plain, end):
        odd.setdefault("a document is cut, and left out", []).append(line_of(cut.start()))


def _time(between: str) -> Stamp | None:
    """The time in the lines between two documents: an HTTP header, or a line of `date`."""
    found = None
    for line in between.split("\n"):
        text = line.strip()
        header = _DATE.match(text)
        found = stamp(header["date"] if header else text) or found
    return found


def _parsed(answer: _Answer, odd: dict[str, list[int]]) -> Element | None:
    try:
        root: Element = fromstring(answer.xml, forbid_dtd=True)
    except DefusedXmlException:
        msg = f"line {answer.line}: it declares entities or a document type, which no iLO does: refused"
        raise DamagedError(msg) from None
    except (ParseError, ValueError, RecursionError) as error:
        why = str(error).partition(":")[0]
        odd.setdefault(f"a document is no well-formed XML ({why}), and is left out", []).append(answer.line)
        return None
    for response in root.iter("RESPONSE"):
        status = response.get("STATUS", "0x0000")
        if not re.fullmatch(r"0x0*|0+", status):
            message = f"the iLO answered with error {status}: {response.get('MESSAGE', 'no message')}"
            odd.setdefault(message, []).append(answer.line)
    return root


def _value(element: Element) -> str:
    """What an element says: its attribute VALUE, else its text; iLO quotes some texts."""
    return (element.get("VALUE") or element.text or "").strip().strip('"').strip()


def _readings(element: Element, source: str) -> Reading | None:
    row: Reading = {"source": source, "sensor": "system", "kind": "system"}
    for child in element.iter():
        if column := _READINGS.get(child.tag):
            row[column] = watts(f"{_value(child)} {child.get('UNIT', '')}".strip())
    return row if len(row) > len(("source", "sensor", "kind")) else None


def _settings(element: Element, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Names and values of what an answer says, attributes as `ELEMENT.ATTRIBUTE`."""
    for child in element:
        name = prefix + child.tag
        yield from ((name if key in {"VALUE", child.tag} else f"{name}.{key}", value) for key, value in child.items())
        if text := (child.text or "").strip().strip('"').strip():
            yield name, text
        yield from _settings(child, f"{name}.")


def _cap(element: Element) -> float | None:
    for child in element.iter():
        if child.tag in {"POWER_CAP", "PCAP"}:
            values = [_value(child), *(child.get(name, "") for name in _CAP_ATTRIBUTES)]
            return next((found for value in values if (found := cap(value))), None)
    return None


def _of_answer(root: Element, time: Any) -> tuple[list[Reading], list[dict[str, Any]]]:
    rows: list[Reading] = []
    settings = []
    for element in root:
        found = _readings(element, element.tag)
        rows += [found] if found else []
        if element.tag in _SETTINGS:
            for name, value in _settings(element):
                settings.append({"time": time, "source": element.tag, "setting": name, "value": value})
            if limit := _cap(element):
                rows.append({"source": element.tag, "sensor": "system", "kind": "system", "watts_cap": limit})
    return [row | {"time": time} for row in rows], settings


def read(source: Source) -> Recording:
    """Reads the answers to one or many RIBCL commands."""
    text = read_text(source)
    bad: dict[str, list[int]] = {}
    odd: dict[str, list[int]] = {}
    rows: list[Reading] = []
    settings: list[dict[str, Any]] = []
    release = None
    for answer in _answers(text.text, bad):
        root = _parsed(answer, bad)
        if root is None:
            continue
        moment = answer.time
        if moment and not moment.set:
            odd.setdefault("a time from a clock that was not set is left out", []).append(answer.line)
            moment = None
        if moment and moment.assumed:
            odd.setdefault(moment.assumed, []).append(answer.line)
        release = root.get("VERSION") or release
        if root.find("LOGIN") is not None:
            odd.setdefault("a command to an iLO, not its answer, is left out", []).append(answer.line)
            continue
        more, said = _of_answer(root, moment.time if moment else None)
        rows += more
        settings += said
    power, notes = tables(rows)
    if settings:
        dated = all(row["time"] is not None for row in settings)
        schema = ({"time": TIME} if dated else {}) | dict.fromkeys(("source", "setting", "value"), pl.String)
        power["settings"] = pl.LazyFrame([{name: row[name] for name in schema} for row in settings], schema=schema)
    if not power:
        why = next(iter([*bad, *odd]), "none of its answers has one")
        msg = f"no power reading in it: {why}"
        raise DamagedError(msg)
    meta = facts([*rows, *settings])
    if release:
        meta["release"] = f"RIBCL {release}" if number(release) is not None else release
    every = (*text.notes, *counted(bad, "warning"), *counted(odd), *notes)
    return Recording(FORMAT, source.name, power, meta, every)
