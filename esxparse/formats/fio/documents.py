"""JSON documents in a text with other content: found, read piece by piece, and salvaged if damaged.

fio writes errors and progress beside the JSON, and in client mode the text of its servers. A capture may also end
anywhere. Documents are therefore not parsed as a whole: their jobs are decoded one after another. The jobs before and
after a damaged place are kept, and at most one job is held as Python objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from esxparse.formats.fio.tables import Counts
from esxparse.formats.kit.objects import GIVEN_UP, Effort, listed

DOCUMENT = re.compile(r'\{\s*"fio version"\s*:')
"""The beginning of a document: every fio writes `fio version` first."""

_TOO_DEEP = "nested too deeply"
LISTS = ("jobs", "client_stats", "disk_util")
_RESUME = re.compile(
    r'(?P<job>\{\s*"jobname"\s*:)|"(?P<list>jobs|client_stats|disk_util)"\s*:\s*\[|' + DOCUMENT.pattern
)
_SKIP = re.compile(r"[ \t\n\r]*(?:(?<=\n)(?:fio: |<\S+> )[^\n]*(?:\n[ \t\n\r]*|$))*")
# The replacements have the same length, so that places stay the same.
_NOT_A_NUMBER = re.compile(
    r"(?<=[:\s\[,])-?(?:nan|inf(?:inity)?|1\.#(?:QNAN|SNAN|INF|IND)\d*)(?=[\s,\]}])", re.IGNORECASE
)
_TOO_LONG = re.compile(r"(?<=[:\s\[,])-?\d{400,}(?=[\s,\]}])")
"""A whole number that is larger than any other kind of number can be."""
_DECIMAL_COMMA = re.compile(r"(?<=: )(-?\d+),(?=\d)")
_CHATTER = re.compile(r"^(?:fio: |<\S+> |Jobs: )[^\n]*$", re.MULTILINE)


@dataclass(frozen=True)
class Piece:
    """A part of a document: a member of its top level, or one element of one of its lists."""

    kind: str
    """The member's name, `damage` with a message, or `end`."""
    value: Any
    at: int
    """Its beginning in the text; for `end`, the place after the document."""


class Content(Effort):
    """A text without its bins: the objects have numbers that refer to them."""

    def __init__(self, text: str, bins: Sequence[Counts] = ()) -> None:
        super().__init__(text)

        def put_back(found: dict[str, Any]) -> dict[str, Any]:
            if type(number := found.get("bins")) is int and 0 <= number < len(bins):
                found["bins"] = bins[number]
            return found

        self.decoder = json.JSONDecoder(strict=False, object_hook=put_back if bins else None)


def mended(text: str) -> str:
    """Return printf-style JSON as valid JSON: `-nan`, `1.#INF`, `0,5`, lines of other output in between."""
    text = _NOT_A_NUMBER.sub(lambda match: "NaN".ljust(len(match[0])), text)
    text = _TOO_LONG.sub(lambda match: "1e999".ljust(len(match[0])), text)
    text = _DECIMAL_COMMA.sub(r"\1.", text)
    return _CHATTER.sub(lambda match: " " * len(match[0]), text)


def _skip(text: str, at: int) -> int:
    match = _SKIP.match(text, at)
    return match.end() if match else at


def _failed(error: Exception, at: int) -> json.JSONDecodeError:
    if isinstance(error, json.JSONDecodeError):
        return error
    reason = _TOO_DEEP if isinstance(error, RecursionError) else str(error)
    return json.JSONDecodeError(reason, "", at)


def _decode(content: Content, at: int) -> tuple[Any, int]:
    """Return the JSON value at a place and its end; mended only if it is not JSON as it is."""
    text = content.text
    try:
        return content.decoder.raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        first = _failed(error, at)
    following = _RESUME.search(text, at + 1)
    rest = text[at : following.start() if following else len(text)]
    again = mended(rest)
    if again != rest:
        try:
            value, length = content.decoder.raw_decode(again)
        except (ValueError, RecursionError):
            pass
        else:
            return value, at + length
    raise first


def _expect(text: str, at: int, wanted: str) -> str:
    if text[at : at + 1] in wanted and at < len(text):
        return text[at]
    reason = "the text ends" if at >= len(text) else f"expected one of {' '.join(wanted)}"
    raise json.JSONDecodeError(reason, "", at)


def _elements(content: Content, at: int, kind: str) -> Iterator[Piece]:
    """Yield the elements of a list, from after its bracket or from one of its elements; then `end`."""
    text = content.plain
    at = _skip(text, at)
    while text[at : at + 1] != "]":
        begin = at
        value, at = _decode(content, at)
        yield Piece(kind, value, begin)
        at = _skip(text, at)
        if _expect(text, at, ",]") == ",":
            at = _skip(text, at + 1)
    yield Piece("end", None, at + 1)


def _members(content: Content, at: int, kind: str | None) -> Iterator[Piece]:
    """Yield the members of a document from one of them on, or from an element of `kind` if given; then `end`."""
    text = content.plain
    while True:
        if kind is None:
            if _expect(text, at, '"}') == "}":
                yield Piece("end", None, at + 1)
                return
            begin = at
            name, at = _decode(content, at)
            at = _skip(text, at)
            _expect(text, at, ":")
            at = _skip(text, at + 1)
            if name in LISTS and text[at : at + 1] == "[":
                kind, at = name, at + 1
        if kind is None:
            value, at = _decode(content, at)
            yield Piece(name, value, begin)
        else:
            for piece in _elements(content, at, kind):
                if piece.kind == "end":
                    at = piece.at
                else:
                    yield piece
        kind = None
        at = _skip(text, at)
        if _expect(text, at, ",}") == ",":
            at = _skip(text, at + 1)


def walk(start: int, content: Content) -> Iterator[Piece]:
    """Yield the pieces of the document that begins at `start`, in order; after damage, from the next whole place."""
    text = content.plain
    at, kind, jobs = _skip(text, start + 1), None, "jobs"
    while True:
        last = at
        try:
            for piece in _members(content, at, kind):
                last = max(last, piece.at)
                jobs = piece.kind if piece.kind in LISTS[:2] else jobs
                yield piece
                if piece.kind == "end":
                    return
        except json.JSONDecodeError as error:
            yield Piece("damage", error.msg, min(error.pos, len(text)))
            place = max(error.pos, last + 1)
            content.failed(error if error.msg != _TOO_DEEP else RecursionError(), at)
        if content.spent:
            yield Piece("damage", GIVEN_UP, place)
        following = None if content.spent else _RESUME.search(text, place)
        if following is None:
            yield Piece("end", None, len(text))
            return
        at = following.start()
        if following["job"]:
            kind = jobs
        elif following["list"]:
            kind = None
        else:
            yield Piece("end", None, at)
            return


_ANY_JSON = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_DEEPEST = 5


def _results(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield documents of fio in JSON that another program wrote, from the outside in; jobs alone are a document."""
    if isinstance(value, dict):
        if any(isinstance(value.get(name), list) for name in LISTS[:2]):
            yield value
        elif "jobname" in value:
            yield {"jobs": [value]}
        elif depth < _DEEPEST:
            for inner in value.values():
                yield from _results(inner, depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        if value and all(isinstance(one, dict) and "jobname" in one for one in value):
            yield {"jobs": value}
            return
        for inner in value:
            yield from _results(inner, depth + 1)


def rewritten(content: Content) -> Iterator[tuple[int, list[Piece]]]:
    """Yield start and pieces of each document in rewritten JSON (sorted keys, wrapped, jobs alone)."""
    at, text = 0, content.plain
    while match := _ANY_JSON.search(text, at):
        start = match.end()
        try:
            value, at = _decode(content, start)
        except json.JSONDecodeError as error:
            yield start, [Piece("damage", error.msg, min(error.pos, len(text))), Piece("end", None, len(text))]
            return
        for document in _results(value):
            pieces = [Piece(name, inner, start) for name, inner in document.items() if name not in LISTS]
            pieces += [Piece(name, inner, start) for name in LISTS for inner in listed(document.get(name))]
            yield start, [*pieces, Piece("end", None, at)]
