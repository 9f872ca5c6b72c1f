"""XML of sysstat (`sadf -x`): the objects of its JSON, as elements with attributes.

<host nodename="web-01"> ... <statistics><timestamp date="2026-11-22" time="20:42:24" utc="1" interval="1">
<cpu-load><cpu number="all" usr="52.04" .../></cpu-load> ...
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, iterparse

from esxparse.formats.kit.head import Head
from esxparse.formats.kit.objects import Places
from esxparse.formats.kit.tables import Row
from esxparse.formats.kit.text import Text
from esxparse.formats.sysstat.objects import Document
from esxparse.formats.sysstat.tables import in_json

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_BEGIN = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE\s+sysstat\b[^>]*>\s*)?<sysstat\b")
_DECLARED = re.compile(r"\s*<\?xml[^>]*>")
_REPORT = re.compile(r"<(?:timestamp|boot|comment)\b")
_RENAMED = {
    "cpu": {"number": "cpu"},
    "disk-device": {"dev": "disk-device"},
    "filesystem": {"fsname": "filesystem", "mountp": "mountpoint"},
    "fchost": {"name": "fchost"},
}
"""Attributes with another name in JSON, by element."""
_ABOUT = frozenset({"per", "unit"})
"""Attributes on units, as in JSON."""


def begins(head: Head) -> bool:
    """Return whether a file begins like XML of sysstat."""
    return _BEGIN.match(head.text[:2000]) is not None


def read(text: Text, document: Document) -> None:
    """Read all hosts into the document."""
    places = Places(text.text)
    begun = (places.line(found.start()) for found in _REPORT.finditer(text.text))
    facts: dict[str, str] = {}
    # The text is already decoded, whatever the declaration states.
    source = io.BytesIO(_DECLARED.sub("", text.text, count=1).encode())
    try:
        for event, element in iterparse(source, events=("start", "end")):
            name = _name(element)
            if event == "start":
                if name == "host":
                    facts = dict(element.attrib)
                elif name == "statistics":
                    document.begin_host(facts)
            elif name in {"timestamp", "boot", "comment"}:
                key = "timestamp" if name == "timestamp" else name
                document.add_report({key: dict(element.attrib), **_content(element)}, next(begun, 1))
                element.clear()
            elif name in {"release", "number-of-cpus"}:
                facts[name] = (element.text or "").strip()
    except ParseError as error:
        line, column = error.position
        document.notes.warn(f"the document is not whole: what is there is read ({error.msg})", line, column + 1)
    except DefusedXmlException:
        document.notes.warn("it declares entities, which sadf does not: what follows them is left out")
    document.end()


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _content(report: Element) -> dict[str, Any]:
    """Return the measurements of a report, in the form of JSON."""
    found: dict[str, Any] = {}
    for name, row in _rows(report, ""):
        found.setdefault(name, []).append(row)
    return found


def _rows(above: Element, group: str) -> Iterator[tuple[str, Row]]:
    """Yield the rows below an element, each with its JSON name: of its element or of one above it."""
    for element in above:
        name = _name(element)
        inner = list(element)
        if not inner and not element.attrib:
            # A value of the row above.
            continue
        known = name if in_json(name) or not in_json(group) else group
        renamed = _RENAMED.get(name, {})
        row = {renamed.get(key, key): text for key, text in element.attrib.items() if key not in _ABOUT}
        row |= {_name(part): (part.text or "").strip() for part in inner if not part.attrib and not len(part)}
        if name == "io":
            # All disks: reads, writes and discards are elements of their own.
            yield known, row | {key: text for part in inner for key, text in part.attrib.items()}
            continue
        if row:
            yield known, row
        yield from _rows(element, known)
