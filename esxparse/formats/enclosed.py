"""Files that consist mostly of a quotation: a test, a manual or a mail with a whole recording in it.

A quotation is between two marks. Otherwise each of its lines is indented, has a prefix, or is a text in quotation
marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import islice, takewhile

from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data

_EDGE = 24
"""Most lines before and after a quotation in a file that consists mostly of it."""
_LONGEST = 500
"""Most characters of a line that begins a quotation."""

_MARKS, _PAGE = data(__file__)["marks"], data(__file__)["page"]
_PATTERNS = kinds(__file__, "patterns")
_CLOSES = {'#"': '"#'}


def is_enclosed(text: str, judged: str, *, is_page: bool = False) -> bool:
    """Return whether most lines are of one quotation, which begins and ends near the ends of the text.

    `judged` has no lines of free text, so none of them opens a quotation. The line that closes it may look like one.
    `is_page`: whether the tool itself prints a page.
    """
    first = [line.rstrip()[:_LONGEST] for line in islice(filter(str.strip, StringIO(judged)), _EDGE)]
    marked = list(_marked(first, _MARKS if is_page else (*_MARKS, _PAGE)))
    if not marked and not any(map(_begins_run, ["", *first], first)):
        # Few files begin like a quotation: the others need no further checks.
        return False
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    spans = [*((place, _last_mark(lines, place, closes)) for place, closes in marked), *_runs(lines)]
    return any(last >= len(lines) - _EDGE and last - place > len(lines) / 2 for place, last in spans)


def _marked(first: Sequence[str], marks: Sequence[tuple[str, str]]) -> Iterator[tuple[int, re.Pattern[str]]]:
    """Yield the places of marks that begin a quotation, and the pattern of the line that ends each."""
    text = "\n".join(first)
    for begins, ends in marks:
        if found := re.search(begins, text, re.MULTILINE | re.IGNORECASE if "begin_" in begins else re.MULTILINE):
            mark = _CLOSES.get(found[1], found[1])
            yield text.count("\n", 0, found.end()), re.compile(ends.format(re.escape(mark)) if mark else ends)


def _last_mark(lines: Sequence[str], place: int, closes: re.Pattern[str]) -> int:
    return next((at for at in range(len(lines) - 1, place, -1) if closes.fullmatch(lines[at])), place)


def _begins_run(above: str, line: str) -> re.Pattern[str] | None:
    """Return the pattern of the lines of a quotation, if one begins below a line."""
    if (found := _PATTERNS["prefix"].match(line)) is not None and not above.lstrip().startswith(found["prefix"]):
        # Comments of vdbench begin with a star, too.
        is_comment = found["prefix"] != "*" or above.lstrip().startswith("/*")
        return re.compile(rf"\s*{re.escape(found['prefix'])}.*") if is_comment else None
    if _PATTERNS["literal"].fullmatch(line) and _PATTERNS["above_literals"].fullmatch(above):
        return _PATTERNS["literal"]
    if (found := _PATTERNS["above_indented"].fullmatch(above)) is not None:
        # perf begins each line with a blank.
        indent = found["indent"] + ("  " if found["sentence"] else " ")
        return re.compile(rf"(?:{indent}|\t).*") if line.startswith((indent, "\t")) else None
    return None


def _runs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the quotations without marks: the places of the line above each, and of its last line."""
    for place, line in enumerate(lines[:_EDGE]):
        if (each := _begins_run(lines[place - 1] if place else "", line)) is not None:
            yield place - 1, place - 1 + sum(1 for _ in takewhile(each.fullmatch, lines[place:]))
