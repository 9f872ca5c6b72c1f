"""JSON of sysstat: `sadf -j`; iostat, mpstat and pidstat with `-o JSON`.

    {"sysstat": {"hosts": [{"nodename": "web-01", ..., "statistics": [{"timestamp": ..., "cpu-load": [...]}, ...],
      "restarts": [{"boot": {"date": ..., "time": ...}}]}]}}

Statistics are decoded one by one, so that the complete part of a cut document is read.
"""

from __future__ import annotations

import re

from esxparse.formats.kit.head import Head
from esxparse.formats.kit.objects import GIVEN_UP, NOT_A_NUMBER, Effort, Places, mapping
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.text import Text
from esxparse.formats.sysstat.objects import Document

_BEGIN = re.compile(r'\s*\{\s*"sysstat"\s*:')
_LIST = re.compile(r'"(statistics|restarts|comments)"\s*:\s*\[')
_FACT = re.compile(
    r'"(nodename|sysname|release|machine|number-of-cpus|file-date|date|timezone)"\s*:\s*(?:"([^"]*)"|(\d+))'
)
_STAMP = re.compile(r'"(?:timestamp|date)"\s*:\s*"([^"]*)"')
_NEXT = re.compile(r"[\s,]*")
_TOOLS = kinds(__file__, "tools")
_SAR = '"file-date"'


def begins(head: Head) -> bool:
    """Return whether a file begins like JSON of sysstat."""
    return _BEGIN.match(head.text[:200]) is not None


def tool_of(text: str) -> str:
    """Return the tool that wrote a document; `another tool` if it is unknown here."""
    if _SAR in text[:2000]:
        return "sar"
    return next((tool for tool, pattern in _TOOLS.items() if pattern.search(text)), "another tool")


def has_report(text: str) -> bool:
    """Return whether a document has a report."""
    return re.search(r'"statistics"\s*:\s*\[[\s,]*\{', text) is not None


def read(text: Text, document: Document) -> None:
    """Read all hosts into the document."""
    plain = NOT_A_NUMBER.sub("null", text.text)
    effort, places = Effort(plain), Places(plain)
    document.find_order([found[1] for found in _STAMP.finditer(plain)])
    at = 0
    while (found := _LIST.search(plain, at)) is not None:
        # Each host has its facts before its statistics, and none between its lists.
        if facts := {one[1]: one[2] or one[3] for one in _FACT.finditer(plain, at, found.start())}:
            document.begin_host(facts)
        at = _read_list(document, effort, places, found.end())
    if plain.count("{") > plain.count("}"):
        document.notes.warn("the document is not whole: what is there is read", places.last)
    document.end()


def _read_list(document: Document, effort: Effort, places: Places, at: int) -> int:
    """Read the members of a list, and return its end."""
    while True:
        found = _NEXT.match(effort.plain, at)
        begin = found.end() if found else at
        if effort.plain[begin : begin + 1] != "{":
            return begin
        try:
            one, at = effort.decode(begin)
        except (ValueError, RecursionError) as error:
            why = GIVEN_UP if effort.spent else "a report is damaged or cut: left out"
            document.notes.warn(why, *places.of(getattr(error, "pos", begin)))
            return len(effort.plain)
        document.add_report(mapping(one), places.line(begin))
