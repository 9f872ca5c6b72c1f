"""The text of a file that is read whole: what tools print, and what people saved it as."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from esxparse.formats import memory
from esxparse.formats.source import problem
from esxparse.recording import Note

if TYPE_CHECKING:
    from esxparse.formats.source import Source

_PIECE = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SHOWS = 256
"""Bytes in which text of UTF-16 that tools print has a zero."""

_HALF = re.compile(
    r"(?<!\\)\\u(?:[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u)[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""Half of a character in JSON: no text may hold it."""


@dataclass(frozen=True)
class Text:
    """The text of a file, and what was odd about its bytes."""

    text: str
    """With line ends as one newline each."""
    notes: tuple[Note, ...] = ()

    def lines(self) -> list[str]:
        """The lines, without their ends; line 1 is the first."""
        return self.text.split("\n")


def decode(content: bytes) -> Text:
    r"""The text of `content`: UTF-8, UTF-16 with its mark, or else Windows-1252.

    >>> decode("caf\u00e9\r\n".encode("utf-16")).text
    'café\n'
    """
    notes = []
    mark, encoding = next(((mark, name) for mark, name in _MARKS if content.startswith(mark)), (b"", "utf-8"))
    if encoding != "utf-8" and b"\0" not in content[:_SHOWS]:
        notes.append(Note("begins with the mark of UTF-16, and is not: the mark is left out", 1, severity="warning"))
        content, mark, encoding = content[len(mark) :], b"", "utf-8"
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        if encoding == "utf-8":
            text = content.decode("cp1252", errors="replace")
            notes.append(Note("not UTF-8: read as Windows-1252", line=line))
        else:
            text = content[len(mark) :].decode(encoding, errors="replace")
            notes.append(Note(f"not whole {encoding}: what is none is shown as \ufffd", severity="warning"))
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        notes.append(
            Note(f"{text.count(chr(0)):,} NUL characters left out: part of the file was lost", line, severity="warning")
        )
        text = text.replace("\0", "")
    if "\\ud" in text or "\\uD" in text:
        halves = list(_HALF.finditer(text))
        if halves:
            line = text.count("\n", 0, halves[0].start()) + 1
            message = f"{len(halves):,} halves of characters ({halves[0][0]}) are no text: shown as \ufffd"
            notes.append(Note(message, line, severity="warning"))
            text = _HALF.sub(r"\\ufffd", text)
    # Copied twice as text, lines end with two carriage returns.
    text = text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    return Text(text, tuple(notes))


def read_text(source: Source) -> Text:
    """The whole text of a source; a note says where its content ended before its time.

    Raises:
        TooLargeError: It is too long for the memory limit.
    """
    with source.open() as stream:
        pieces = memory.bounded(iter(lambda: stream.read(_PIECE), b""), source.memory_limit)
        cut = problem(stream) or source.problem
    text = decode(b"".join(pieces))
    if not cut:
        return text
    return Text(text.text, (Note(f"{cut}: what came before is read", severity="warning"), *text.notes))


@lru_cache(maxsize=4)
def beginning(head: bytes) -> str:
    """The text a file begins with, for `recognise`: never an error, whatever the bytes.

    All readers ask for the same beginning, one after the other: it is decoded once.
    """
    return decode(head).text


def marked(head: bytes, *marks: str) -> bool:
    """Whether one of the marks, in lower case, stands in the text a file begins with, whatever its case there.

    A reader asks for the words that its patterns cannot do without before it tries them: to look for a word takes a
    thousandth of the time that a pattern takes, and most files are of another reader.

    >>> marked(b"Performance Counter Stats", "counter stats"), marked(b"{}", "counter stats")
    (True, False)
    """
    text = _folded(head)
    return any(mark in text for mark in marks)


@lru_cache(maxsize=4)
def _folded(head: bytes) -> str:
    return beginning(head).lower()
