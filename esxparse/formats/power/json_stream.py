"""JSON documents one after another in a text: with anything between them that has a time, or that is noise."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from esxparse.formats.effort import GIVEN_UP, Effort
from esxparse.formats.power.stamps import Stamp, stamp
from esxparse.recording import Note

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN = re.compile(r"\{|\[(?=\s*[{\]])")
_CONTENT = re.compile(r"\S")
_CHUNK = re.compile(r"[0-9a-fA-F]{1,8}")
_HEADER = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9-]{1,40}):\s(?P<value>.*)")
_HTTP = re.compile(r"HTTP/\d(?:\.\d)?\s+\d{3}.*")
_TOO_DEEP = "nested too deeply"


@dataclass(frozen=True)
class Document:
    """One JSON object, where it stood, and the time that stood before it."""

    content: dict[str, Any]
    line: int
    stamp: Stamp | None = None


@dataclass(frozen=True)
class Stream:
    """The documents of a text, and what was odd between them."""

    documents: tuple[Document, ...]
    problems: tuple[Note, ...]


def _starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def _place(starts: list[int], at: int) -> tuple[int, int]:
    line = bisect_right(starts, at)
    return line, at - starts[line - 1] + 1


def _next_document(text: str, starts: list[int], broken: int) -> int:
    """Where the next document may begin: on a line of its own, after one that is broken; the end if nowhere.

    What opens right after the opening of the broken one is a part of it, and no next one.
    """
    content = _CONTENT.search(text, broken + 1)
    after = content.end() if content else len(text)
    for line in range(bisect_left(starts, after), len(starts)):
        if _BEGIN.match(text, starts[line]):
            return starts[line]
    return len(text)


def _between(piece: str, line: int, noise: list[int]) -> Stamp | None:
    """The last time in the text between two documents; lines that are neither that nor known go to `noise`."""
    found = None
    headers = False
    for number, raw in enumerate(piece.split("\n"), line):
        text = raw.strip().strip(",")
        if not text:
            headers = False
            continue
        if _HTTP.fullmatch(text):
            headers = True
        elif (header := _HEADER.fullmatch(text)) and (headers or header["name"].lower() == "date"):
            if header["name"].lower() == "date":
                found = stamp(header["value"]) or found
        elif moment := stamp(text):
            found = moment
        elif not _CHUNK.fullmatch(text) and text != "]":
            noise.append(number)
    return found


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, dict):
                yield one


def documents(text: str) -> Stream:
    """Reads every JSON object of a text.

    A document that is broken is left out with a note that names the place, and reading goes on at the next one that
    begins a line.
    """
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    starts = _starts(text)
    found: list[Document] = []
    problems: list[Note] = []
    noise: list[int] = []
    effort = Effort(text)
    at = 0
    while begin := _BEGIN.search(text, at):
        if effort.spent:
            problems.append(Note(GIVEN_UP, *_place(starts, begin.start()), severity="warning"))
            at = len(text)
            break
        moment = _between(text[at : begin.start()], _place(starts, at)[0], noise)
        line = _place(starts, begin.start())[0]
        try:
            value, at = decoder.raw_decode(text, begin.start())
        except RecursionError as error:
            effort.failed(error, begin.start())
            problems.append(Note(f"no valid JSON: {_TOO_DEEP}", line, severity="warning"))
            at = _next_document(text, starts, begin.start())
        except ValueError as error:
            effort.failed(error, begin.start())
            place = _place(starts, error.pos) if isinstance(error, json.JSONDecodeError) else (line, 1)
            why = error.msg if isinstance(error, json.JSONDecodeError) else str(error).partition(";")[0]
            problems.append(Note(f"no valid JSON: {why}", *place, severity="warning"))
            at = _next_document(text, starts, begin.start())
        else:
            found += [Document(one, line, moment) for one in _objects(value)]
    _between(text[at:], _place(starts, at)[0], noise)
    if noise:
        message = f"{len(noise):,} lines between documents are neither JSON nor a time, and are left out"
        problems.append(Note(message, noise[0], severity="warning"))
    return Stream(tuple(found), tuple(problems))
