"""The text of a file that is read whole, in any encoding."""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass

from esxparse.formats.kit.notes import Notes
from esxparse.recording import Note

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SHOWS = 256
"""Bytes within which UTF-16 text of tools has a zero."""

_HALF = re.compile(
    r"(?<!\\)\\u(?:[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u)[dD][c-fC-F][0-9a-fA-F]{2})"
)
"""Half of a character in JSON, which text must not contain."""

_NUMBER = re.compile(r"(?<![\w.])(?:[-+]?(?:\d[\d.]*(?:[eE][-+]?\d*)?|\.\d*|0[xX][0-9a-fA-F]*)|(?<!\S)[-+])\Z")
"""A number at the end of a text without a line end. If digits are missing, the rest is another valid number."""
_CLOSED = ("}", "]", ">")
"""The last character of JSON and XML."""
_ABOVE = 3
_LONGEST = 100
"""Characters at the end that are checked: a number is shorter."""


@dataclass(frozen=True)
class Text:
    """The text of a file, and notes on its bytes."""

    text: str
    """With one newline for each line end."""
    notes: tuple[Note, ...] = ()

    def lines(self) -> list[str]:
        """Return the lines, without their ends; line 1 is the first."""
        return self.text.split("\n")

    @property
    def unfinished(self) -> int | None:
        """The number of the last line if it has no line end."""
        if self.text.endswith("\n"):
            return None
        before, _, last = self.text.rpartition("\n")
        return before.count("\n") + ("\n" in self.text) + 1 if last.strip() else None

    def without_cut_line(self) -> Text:
        r"""Return the text without its last line if that line has no end and ends in a number.

        >>> Text("MHz: 2394.375\nMHz: 23").without_cut_line().text
        'MHz: 2394.375\n'
        """
        before, newline, last = self.text.rpartition("\n")
        if not may_be_cut(last) or _is_printed_whole(before, last):
            return self._noted()
        return Text(before + newline, (*self.notes, self.cut_note()))

    def without_cut_number(self, instead: str = "") -> Text:
        """Return the text with `instead` in place of a number at its very end."""
        begin = self.text.rfind("\n") + 1
        found = _NUMBER.search(self.text, begin)
        if found is None or _is_printed_whole(self.text[: max(begin - 1, 0)], self.text[begin:]):
            return self._noted()
        return Text(self.text[: found.start()] + instead, (*self.notes, self.cut_note("that number is left out")))

    def _noted(self) -> Text:
        """Return the text, with a note if its last line has no end and may be incomplete."""
        line = self.unfinished
        if line is None or self.text[-_LONGEST:].rstrip().endswith(_CLOSED):
            return self
        note = Note("the last line has no line end: if the file was cut, the line is incomplete", line)
        return Text(self.text, (*self.notes, note))

    def cut_note(self, what: str = "left out") -> Note:
        """Return the warning about a number at the very end."""
        return cut_note(self.text.count("\n") + 1, what)


def cut_note(line: int, what: str = "left out") -> Note:
    """Return the warning about a number at the very end of a file, in its last line."""
    return Note(f"the last line has no line end, so its last number may be cut: {what}", line, severity="warning")


def _is_printed_whole(before: str, last: str) -> bool:
    """Return whether a number at the end has as many decimals, two or more, as the lines above: none is missing."""
    ends = [line.rstrip().rpartition(".")[2] for line in before.rstrip().rsplit("\n", _ABOVE)[-_ABOVE:]]
    above = {len(decimals) for decimals in ends if decimals.isdecimal()}
    decimals = last.rpartition(".")[2]
    return decimals.isdecimal() and "." in last and above == {len(decimals)} and len(decimals) > 1


def may_be_cut(line: str) -> bool:
    """Return whether a line without an end has a number at its end that may have lost digits.

    >>> may_be_cut("3.00 48112"), may_be_cut("Watts | 25."), may_be_cut("214 Watts"), may_be_cut("flags: sse2")
    (True, True, False, False)
    """
    return bool(_NUMBER.search(line[-_LONGEST:].removesuffix(",")))


def decode(content: bytes) -> Text:
    r"""Return the text of `content`: UTF-8, UTF-16 with its mark, or else Windows-1252.

    >>> decode("caf\u00e9\r\n".encode("utf-16")).text
    'café\n'
    """
    notes = Notes()
    mark, encoding = next(((mark, name) for mark, name in _MARKS if content.startswith(mark)), (b"", "utf-8"))
    if encoding != "utf-8" and b"\0" not in content[:_SHOWS]:
        notes.warn("begins with the mark of UTF-16 but is not UTF-16: the mark is left out", 1)
        content, mark, encoding = content[len(mark) :], b"", "utf-8"
    try:
        text = content[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        if encoding == "utf-8":
            text = content.decode("cp1252", errors="replace")
            notes.say("not UTF-8: read as Windows-1252", line)
        else:
            text = content[len(mark) :].decode(encoding, errors="replace")
            notes.warn(f"not valid {encoding}: invalid bytes are shown as \ufffd")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        notes.warn(f"{text.count(chr(0)):,} NUL characters left out: part of the file was lost", line)
        text = text.replace("\0", "")
    # Searching for one character takes a tenth of the time of longer texts.
    if "\\" in text and ("\\ud" in text or "\\uD" in text) and (halves := list(_HALF.finditer(text))):
        line = text.count("\n", 0, halves[0].start()) + 1
        notes.warn(f"{len(halves):,} unpaired surrogates ({halves[0][0]}): shown as \ufffd", line)
        text = _HALF.sub(r"\\ufffd", text)
    if "\r" in text:
        # Copied twice as text, lines end with two carriage returns.
        text = text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")
    return Text(text, tuple(notes))


def cells_of(line: str, delimiter: str = ",") -> list[str]:
    """Return the cells of a line of CSV, without blanks around them; empty if one is too long for the csv module."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]
    except csv.Error:
        return []
