"""JSON documents one after another in a text: with anything between them that has a time, or that is noise."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from esxparse.formats.kit.objects import GIVEN_UP, Effort, Places, mappings
from esxparse.formats.power.stamps import Stamp, stamp
from esxparse.recording import Note

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


def documents(text: str) -> Stream:
    """Reads every JSON object of a text.

    A document that is broken is left out with a note that names the place, and reading goes on at the next one that
    begins a line.
    """
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    places = Places(text)
    found: list[Document] = []
    problems: list[Note] = []
    noise: list[int] = []
    effort = Effort(text)
    at = 0
    while begin := _BEGIN.search(text, at):
        if effort.spent:
            problems.append(Note(GIVEN_UP, *places.of(begin.start()), severity="warning"))
            at = len(text)
            break
        moment = _between(text[at : begin.start()], places.line(at), noise)
        line = places.line(begin.start())
        try:
            value, at = decoder.raw_decode(text, begin.start())
        except RecursionError as error:
            effort.failed(error, begin.start())
            problems.append(Note(f"no valid JSON: {_TOO_DEEP}", line, severity="warning"))
            at = _next_document(text, places.starts, begin.start())
        except ValueError as error:
            effort.failed(error, begin.start())
            place = places.of(error.pos) if isinstance(error, json.JSONDecodeError) else (line, 1)
            why = error.msg if isinstance(error, json.JSONDecodeError) else str(error).partition(";")[0]
            problems.append(Note(f"no valid JSON: {why}", *place, severity="warning"))
            at = _next_document(text, places.starts, begin.start())
        else:
            every = [value] if isinstance(value, dict) else mappings(value)
            found += [Document(one, line, moment) for one in every]
    _between(text[at:], places.line(at), noise)
    if noise:
        message = f"{len(noise):,} lines between documents are neither JSON nor a time, and are left out"
        problems.append(Note(message, noise[0], severity="warning"))
    return Stream(tuple(found), tuple(problems))
