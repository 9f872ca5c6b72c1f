"""Captures in UTF-16, and files whose parts have different encodings, to text.

PowerShell's `>` writes UTF-16, and its `>>` may append UTF-16 to a file in UTF-8: each part is decoded by its own
encoding. A missing or added byte in UTF-16 shifts all bytes after it by half a letter. Decoding continues with
the next whole letter, and a NUL marks the place: readers skip the row like any row with NUL bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from esxparse.formats.esxtop.grammar import MARK, MARKS, decoded
from esxparse.formats.esxtop.notes import Met
from esxparse.recording import Note

_LITTLE, _BIG = "utf-16-le", "utf-16-be"
_NARROW = "narrow"  # UTF-8 or Windows-1252
_BOMS = dict(zip((_NARROW, _LITTLE, _BIG), MARKS, strict=True))
_LINE_ENDS = {_LITTLE: b"\n\0", _BIG: b"\0\n"}
_BEGINS = r'"?(?:\(PDH-CSV |\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}[ T]\d|\d{1,2}:\d\d:\d\d)'
"""How a header or a row begins."""
_NARROW_LINE = re.compile(_BEGINS.encode())
# The same letters, each followed by a NUL. If UTF-16 has the high byte first, the first NUL is not included.
_WIDE_LINE = re.compile(
    rb'(?:"\0)?(?:'
    + "(PDH-CSV ".encode(_LITTLE).replace(b"(", rb"\(")
    + rb"|(?:\d\0){1,4}[/.-]\0(?:\d\0){1,2}[/.-]\0(?:\d\0){1,4}[ T]\0|(?:\d\0){1,2}:\0(?:\d\0){2}:\0(?:\d\0){2})"
)
_LETTERS = {_LITTLE: rb"(?:[^\0]\0){3}", _BIG: rb"(?:\0[^\0]){3}"}
"""Three letters, which no other encoding has."""
# The first of three letters whose bytes are the wrong way round.
_SHIFTED = {
    _LITTLE: re.compile(rb"(?:..)*?(?=" + _LETTERS[_BIG] + rb")", re.DOTALL),
    _BIG: re.compile(rb"(?:..)*?(?=" + _LETTERS[_LITTLE] + rb")", re.DOTALL),
}
_WIDE_LETTERS = re.compile(rb"(?:[^\0\n]\0){8}|(?:\0[^\0\n]){8}")
_MARKS_WITHIN = re.compile(r"^\ufeff", re.MULTILINE)


def is_wide(head: bytes) -> bool:
    """Return whether the first bytes of a capture have a part in UTF-16."""
    wide = head.startswith((_BOMS[_LITTLE], _BOMS[_BIG]))
    return wide or (b"\0" in head and _WIDE_LINE.search(head) is not None)


@dataclass
class _Decoded:
    """Text decoded so far."""

    texts: list[str] = field(default_factory=list)
    lines: int = 0
    shifted: Met = field(default_factory=Met)  # lines in which a byte of UTF-16 is missing or added
    foreign: bool = False  # whether some of it is neither UTF-8 nor UTF-16

    def add(self, part: bytes, encoding: str, *, last: bool) -> None:
        """Decode a part of the file."""
        if encoding == _NARROW:
            text, wrong = decoded(part)
            self.foreign |= wrong is not None
            self.texts.append(text)
            self.lines += text.count("\n")
            return
        lines = part.split(_LINE_ENDS[encoding])
        for number, line in enumerate(lines, 1):
            at_the_end = number == len(lines)
            if encoding == _LITTLE and len(line) % 2 and line.endswith(b"\r") and not at_the_end:
                # Sent as text by FTP: each byte of a line feed became two bytes.
                line = line[:-1]  # noqa: PLW2901
            text, shifted = _letters(line, encoding, cut=last and at_the_end)
            if shifted:
                self.shifted.add(self.lines + 1)
            self.texts.append(text if at_the_end else f"{text}\n")
            self.lines += self.texts[-1].count("\n")


def _letters(line: bytes, encoding: str, *, cut: bool) -> tuple[str, bool]:
    r"""Return the letters of a line, with a NUL where a byte is missing or added, and whether there is such a place.

    `cut`: whether the file may end within its last letter.

    >>> line = '"1.00","2.00"'.encode("utf-16-le")
    >>> _letters(line, "utf-16-le", cut=False), _letters(line[:9] + line[10:], "utf-16-le", cut=False)
    (('"1.00","2.00"', False), ('"1.0\x00","2.00"', True))
    """
    little = encoding == _LITTLE
    if len(line) % 2 == 0 and b"\0" not in line[not little :: 2]:
        return line.decode(encoding, errors="replace"), False
    at, damaged, parts = 0, False, []
    while found := _SHIFTED[encoding].match(line, at):
        place = found.end()
        # The byte before belongs to the first of the three, if that makes a letter.
        whole = place > at and (line[place - 1] != 0) == little
        good, at = (max(place - 2, at), place - 1) if whole else (place, place + 1)
        parts.append(line[found.start() : good].decode(encoding, errors="replace"))
        parts.append(_between("".join(parts[-2:]), line[good : place + 1], _WIDE_LINE.match(line, at + (not little))))
        damaged = True
    rest = line[at:]
    odd = len(rest) % 2
    parts.append(rest[: len(rest) - odd].decode(encoding, errors="replace"))
    if odd and not cut:
        parts.append("\0")
        damaged = True
    text = "".join(parts)
    # A header with a missing letter still identifies its columns.
    return (text.replace("\0", "\ufffd") if damaged and MARK.decode() in text else text), damaged


def _between(before: str, lost: bytes, following: re.Match[bytes] | None) -> str:
    """Return the replacement for bytes lost between whole letters: a line end if a line begins there, else a NUL."""
    ended = before.endswith("\r") or lost.startswith(b"\n")
    if following is None or not (ended or following[0].startswith(b'"')) or before.endswith(","):
        return "\0"
    return "\n" if before else ""


def _parts(content: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield encoding, first byte and end of each part of a file."""
    begin, encoding = 0, next((one for one, mark in _BOMS.items() if content.startswith(mark)), None)
    # Without a mark the file may also begin within a row.
    encoding = encoding or next((one for one, three in _LETTERS.items() if re.match(three, content)), _NARROW)
    while begin < len(content):
        begin += len(_BOMS[encoding]) if content.startswith(_BOMS[encoding], begin) else 0
        plain = encoding == _NARROW and b"\0" not in content[begin:]
        found = None if plain else (_WIDE_LINE if encoding == _NARROW else _NARROW_LINE).search(content, begin)
        following, end = _NARROW, len(content)
        if found and encoding != _NARROW:
            end = found.start()
        elif found:
            end = found.start()
            following = _LITTLE
            # Narrow text has no NUL before a line: the NUL is half of the line's first letter.
            if end > begin and content[end - 1] == 0:
                following, end = _BIG, end - 1
            if early := _WIDE_LETTERS.search(content, begin, end):
                # The beginning of the header is damaged: its line is also in this part.
                end = content.rfind(b"\n", begin, early.start()) + 1 or begin
                following = _LITTLE if content[end] else _BIG
        stop = end
        while end < len(content) and content.endswith(_BOMS[following], begin, stop):
            stop -= len(_BOMS[following])
        if begin < stop:
            yield encoding, begin, stop
        begin, encoding = end, following


def text_of_parts(content: bytes) -> tuple[str, list[Note]]:
    """Return the text of a capture, each part decoded by its own encoding, and notes on parts that are not UTF-8."""
    out, starts = _Decoded(), []
    marked = content.startswith((_BOMS[_LITTLE], _BOMS[_BIG]))
    for encoding, begin, end in _parts(content):
        starts.append((encoding, out.lines + 1))
        out.add(content[begin:end], encoding, last=end == len(content))
    notes = []
    if len(starts) > 1:
        parts = ", ".join(f"{'UTF-8' if one == _NARROW else 'UTF-16'} from line {line}" for one, line in starts)
        notes.append(Note(f"the file changes its encoding ({parts}): each part is decoded by its own", line=1))
    elif starts and starts[0][0] != _NARROW:
        notes.append(Note(f"the file is UTF-16{'' if marked else ' without a byte order mark'}: read as such", line=1))
    if out.foreign:
        notes.append(Note("not UTF-8: read as Windows-1252", line=1))
    met = out.shifted
    notes += met.note(f"a byte of UTF-16 is missing or was added in {met}: decoding goes on with the next whole letter")
    return _MARKS_WITHIN.sub("", "".join(out.texts)), notes
