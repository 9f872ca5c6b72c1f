"""RIBCL answers of HP iLO 1 to 5 with power readings, raw from the network or tidied.

`GET_POWER_READINGS`, `GET_POWER_CAP`, `GET_PWREG`, `GET_HOST_POWER_SAVER`, `GET_HOST_POWER`, and the power summary of
`GET_EMBEDDED_HEALTH`. A file may hold raw HTTP with chunk sizes in the middle of a tag, and any number of XML
documents.

Lines of `date` such as 04/05/26 have one order: a number above 12 shows it, or another time nearby. If nothing does,
the month comes first, with a warning; option `date_order` sets the order.
A time applies to the answers below it, until the next time, a new HTTP answer, or a second answer to a command.

Source: HP "Integrated Lights-Out scripting and command line guide"; answers recorded for python-hpilo.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Counted, left_out
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data, schemas
from esxparse.formats.opening import DateOrder
from esxparse.formats.power.log_dates import line_clock, with_year_first
from esxparse.formats.power.readings import (
    Reading,
    Stamp,
    by_time,
    cap,
    facts,
    is_of_power,
    number,
    stamp,
    tables,
    watts,
)
from esxparse.formats.source import Source
from esxparse.recording import Recording

FORMAT = "ribcl"

_SCHEMAS, _PATTERNS = schemas(__file__), kinds(__file__, "patterns")
_READINGS, _SETTINGS = data(__file__)["readings"], data(__file__)["settings"]
_EXCERPT_LENGTH = 120
"""Most characters of an iLO's message that are shown."""
_STATUS = 10
_CAP_ATTRIBUTES = ("POWER_CAP", "VALUE", "POWER", "CAP")


@dataclass(frozen=True)
class _Answer:
    """One XML document of an answer, its line, and its time."""

    xml: str
    line: int
    time: Stamp | None
    renewed: bool
    """Whether the time, or its absence, belongs to this document and not to an earlier one."""


@dataclass(frozen=True)
class _Clock:
    """The time that applies at a place in the file."""

    time: Stamp | None = None
    of_header: bool = False

    def after(self, between: str) -> _Clock:
        """Return the time after lines between documents: the time in them, or none if an answer begins without one."""
        if found := _time(between):
            return found
        # `date` may have been written once for several answers; the header of HTTP is of one answer.
        return _Clock() if self.of_header and _PATTERNS["http"].search(between) else self


def _without_chunks(text: str) -> tuple[str, list[int], list[int]]:
    """Return the text without lines of chunk sizes; places in it, and the number of lines removed before each."""
    pieces, places, removed = [], [0], [0]
    after = length = 0
    for match in _PATTERNS["chunk"].finditer(text):
        piece = text[after : match.start()]
        pieces.append(piece)
        length += len(piece)
        places.append(length)
        removed.append(removed[-1] + match[0].count("\n"))
        after = match.end()
    pieces.append(text[after:])
    return "".join(pieces), places, removed


def _answers(text: str, odd: Counted, rest: list[tuple[int, str]]) -> Iterator[_Answer]:
    """Yield the documents of a text, each with the time before it; lines between them go to `rest`."""
    plain, places, removed = _without_chunks(text)
    clock = _Clock()
    end = looked_to = counted_to = newlines = 0

    def line_of(at: int) -> int:
        return newlines + plain.count("\n", counted_to, at) + removed[bisect_right(places, at) - 1] + 1

    for close in _PATTERNS["close"].finditer(plain):
        begin = _PATTERNS["begin"].search(plain, max(end, looked_to), close.end())
        looked_to = close.end()
        if begin is None:
            continue
        start = begin.start()
        before, clock = clock, clock.after(plain[end:start])
        rest += _unknown(plain[end:start], line_of(end))
        opened = [match.start() for match in _PATTERNS["is_ribcl"].finditer(plain, start, close.end())]
        if len(opened) > 1 and "<!" not in plain[start : opened[-1]]:
            # Earlier documents were cut; the last one that begins is the one that ends here.
            odd.say("a document is cut, and left out", line_of(start))
            clock = clock.after(plain[start : opened[-1]])
            start = opened[-1]
        yield _Answer(plain[start : close.end()], line_of(start), clock.time, clock is not before)
        newlines += plain.count("\n", counted_to, start)
        counted_to, end = start, close.end()
    if cut := _PATTERNS["is_ribcl"].search(plain, end):
        odd.say("a document is cut, and left out", line_of(cut.start()))
    else:
        rest += _unknown(plain[end:], line_of(end))


def _unknown(between: str, line: int) -> Iterator[tuple[int, str]]:
    """Yield the lines between two documents that are neither an HTTP header nor a time."""
    for place, text in enumerate(map(str.strip, between.split("\n")), line):
        if text and not (_PATTERNS["http"].match(text) or _PATTERNS["header"].match(text) or stamp(text)):
            yield place, text


def _time(between: str) -> _Clock | None:
    """Return the time in the lines between two documents: an HTTP header, or a line of `date`."""
    found = None
    for line in between.split("\n"):
        text = line.strip()
        header = _PATTERNS["date"].match(text)
        if moment := stamp(header["date"] if header else text):
            found = _Clock(moment, header is not None)
    return found


def _parsed(answer: _Answer, odd: Counted) -> Element | None:
    try:
        root: Element = fromstring(answer.xml, forbid_dtd=True)
    except DefusedXmlException:
        what = "it declares entities or a document type, which no iLO does: refused"
        raise DamagedError(f"line {answer.line}: {what}") from None
    except (ParseError, ValueError, RecursionError) as error:
        why = str(error).partition(":")[0]
        odd.say(f"a document is not well-formed XML ({why}), and is left out", answer.line)
        return None
    for response in root.iter("RESPONSE"):
        status = response.get("STATUS", "0x0000")
        if not re.fullmatch(r"0x0*|0+", status):
            message = response.get("MESSAGE", "no message")
            excerpt = message if len(message) <= _EXCERPT_LENGTH else f"{message[:_EXCERPT_LENGTH]}..."
            odd.say(f"the iLO answered with error {status[:_STATUS]}: {excerpt}", answer.line)
    return root


def _value(element: Element) -> str:
    """Return the value of an element: its attribute VALUE, else its text; iLO quotes some texts."""
    return (element.get("VALUE") or element.text or "").strip().strip('"').strip()


def _readings(element: Element, source: str) -> Reading | None:
    row: Reading = {"source": source, "sensor": "system", "kind": "system"}
    for child in element.iter():
        if column := _READINGS.get(child.tag):
            row[column] = watts(f"{_value(child)} {child.get('UNIT', '')}".strip())
    return row if len(row) > len(("source", "sensor", "kind")) else None


def _settings(element: Element, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the names and values in an answer, with attributes as `ELEMENT.ATTRIBUTE`."""
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
            for name, value in (*element.items(), *_settings(element)):
                settings.append({"time": time, "source": element.tag, "setting": name, "value": value})
            if limit := _cap(element):
                rows.append({"source": element.tag, "sensor": "system", "kind": "system", "watts_cap": limit})
    return [row | {"time": time} for row in rows], settings


class _AnsweredCommands:
    """The commands answered since a time: a repeated command was sent later."""

    def __init__(self) -> None:
        self._known = False
        self._time: Stamp | None = None
        self._commands: set[str] = set()

    @property
    def lost(self) -> bool:
        """Whether the last answer has no time, but an earlier one had."""
        return self._known and self._time is None

    def time_of(self, answer: _Answer, root: Element) -> Stamp | None:
        """Return the time of an answer; None if the time above it is of an answer to the same command."""
        if answer.renewed:
            self._time, self._commands = answer.time, set()
            self._known = self._known or answer.time is not None
        commands = {element.tag for element in root} - {"RESPONSE"}
        if commands & self._commands:
            self._time = None
        self._commands |= commands
        return self._time


def read(source: Source, date_order: DateOrder | None = None) -> Recording:
    """Read the answers to one or many RIBCL commands; `date_order` applies to lines of time that do not show it."""
    text = source.text()
    lines, order_notes = with_year_first(text.text.split("\n"), line_clock, date_order)
    bad = Counted()
    odd = Counted()
    rows: list[Reading] = []
    settings: list[dict[str, Any]] = []
    release = None
    clock = _AnsweredCommands()
    rest: list[tuple[int, str]] = []
    for answer in _answers("\n".join(lines), bad, rest):
        if (root := _parsed(answer, bad)) is None:
            continue
        moment = clock.time_of(answer, root)
        if moment and not moment.set:
            odd.say("a time from a clock that was not set is left out", answer.line)
            moment = None
        if moment and moment.assumed:
            odd.say(moment.assumed, answer.line)
        release = root.get("VERSION") or release
        if root.find("LOGIN") is not None:
            odd.say("a command to an iLO, not its answer, is left out", answer.line)
            continue
        units = {one.get("UNIT", "") for one in root.iter() if one.tag in _READINGS}
        for unit in sorted(one for one in units if not is_of_power(one)):
            bad.say(f"readings in {unit!r}, which is not a unit of power: left out", answer.line)
        more, more_settings = _of_answer(root, moment.time if moment else None)
        if (more or more_settings) and clock.lost:
            bad.say("an answer has lost its time: the time before it belongs to another answer", answer.line)
        rows += more
        settings += more_settings
    power, notes = tables(rows, _SCHEMAS["power"])
    said_of_settings, more_notes = by_time("settings", settings, _SCHEMAS["settings"])
    power |= said_of_settings
    notes += more_notes
    if not power:
        why = next(iter([*bad, *odd]), "none of its answers has one")
        raise DamagedError(f"it has no power reading: {why}")
    meta = facts([*rows, *settings])
    if release:
        meta["release"] = f"RIBCL {release}" if number(release) is not None else release
    every = (*text.notes, *order_notes, *bad.notes("warning"), *odd.notes(), *notes, *left_out(rest))
    return Recording(FORMAT, source.name, power, meta, every)
