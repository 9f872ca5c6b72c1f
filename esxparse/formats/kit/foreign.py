"""Numbers that a tool does not write: a spreadsheet or another locale changed their marks.

A number pattern would stop in the middle of `1.234,5` and find 1.234. Readers of tools with one form of numbers
therefore get a text without such numbers. Each of their characters becomes a question mark, and a warning lists them.

`1.234` alone may be a number with three decimals, unless the tool prints a whole number in its place. Tools that write
JSON write numbers without quotes. Numbers in strings are read with the marks that all of them show, or left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from esxparse.errors import EsxparseError
from esxparse.formats.kit.marks import COMMA, Marks, is_ambiguous, marks_of, settles
from esxparse.recording import Note, counted

_BLANKS = "\u00a0\u202f\u2009"
_BEGIN = r"(?<![\w.,/'\u2019])(?<!\d:)(?<!\w-)"
_END = r"(?:[eE][+-]?\d+)?(?!\d|[^\W\d_]\d|[.,:/'\u2019]\d|,\S)"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_ADDRESS = rf"(?:{_BYTE}\.){{3}}{_BYTE}(?![\d.])"
_POINTED = rf"(?!{_ADDRESS})[1-9]\d{{0,2}}(?:\.\d{{3}}){{2,}}"
_PARTED = r"[1-9]\d{0,2}(?:,\d{3}){2,}"
_GROUPED = (
    rf"\d{{1,3}}(?:[{_BLANKS}'\u2019]\d{{3}})+(?:[.,]\d+)?",
    r"\d{1,3}(?:\.\d{3})+,\d+|\d{1,3}(?:,\d{3})+\.\d+",
    _POINTED,
    _PARTED,
)
_SPACED = r"(?:(?<=[^\d]:)[ \t]+|(?<=[=>\[();\"])[ \t]*)\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?![ \t]*[\d.]|[,:]\d)"
"""Digits in groups with blanks, after a label: elsewhere they may be separate numbers."""
_WITH_COMMA = r"(?:\d{1,3}[ ])?\d+,\d+"
_WITH_POINT = r"\d+\.\d+"
_THOUSANDS = {mark: rf"[1-9]\d{{0,2}}{re.escape(mark)}\d{{3}}" for mark in ".,"}
_BLANK_GROUPS = r"(?<!\d )[1-9]\d{0,2}(?: \d{3})+(?! ?\d)"
_MARKED = re.compile(rf"\d[,'\u2019{_BLANKS}]\d|\.\d{{3}}\.\d|\d \d{{3}}")
_POINTS = re.compile(rf"{_BEGIN}(?:\d+\.(?!\d{{3}}(?!\d))\d+|{_PARTED}){_END}(?!%=)")
_COMMAS = re.compile(rf"{_BEGIN}(?:\d+,(?!\d{{3}}(?!\d))\d+|{_POINTED}){_END}(?!%=)")
"""Numbers that show the decimal mark: three digits after a mark may be thousands, and fio has labels `1.000000%=`."""
_COMMAND = (
    r"^(?:\[[^\]\n]{1,80}\][#$]|[^\s#$]{1,80}[\w~)/]\s?[#$]|\$|\+{1,4}(?= [A-Za-z./])) [^\n]*$"
    r"|^[^\n]*[ \t]--?[A-Za-z][^\n]*$"
)
"""A command after a prompt, as `set -x` prints it, or with an option: `0,11` is a list in it."""
_JSON = re.compile(r"\s*(?:\{|\[\s*\{)")
_STRING = re.compile(rf'"(?<=[:\[,\s]")(?P<value>[+-]?\d[\d.,\'\u2019 {_BLANKS}]*(?:[eE][+-]?\d+)?)"(?!\s*:)')
_KEY = re.compile(r'"(?P<key>[^"\\\n]*)"\s*:\s*\Z')
_LONGEST_KEY = 120
_MARK = re.compile(rf"[.,'\u2019 {_BLANKS}]")
_NAMES = re.compile(
    r"(?:name|version|release|revision|model|serial|part|number|list|cores|cpus|zones|hosts?|id)\Z", re.IGNORECASE
)
"""Keys of JSON with strings that are not measurements: a version may be `2.101`, and a list `0,1`."""
_OPTIONS = re.compile(r'"[^"\n]*options"\s*:\s*\{[^{}]*\}')
"""Objects of JSON with the user's own text: the tool has read it, whatever the locale."""


@dataclass(frozen=True)
class Form:
    """How a tool writes numbers."""

    local: bool = False
    """Whether the tool uses the decimal mark of its locale, otherwise a point. Thousands have no separator."""
    keep: str = ""
    """A pattern of other text that looks like such a number, such as a list; in JSON, of the keys of such text."""
    integers: str = ""
    """A pattern of the text before a whole number: if `1.234` or `1 234` follows, the whole file has groups."""
    json: bool = False
    """Whether only strings of JSON are judged: the reader handles the marks of all locales in its other text."""


def leave_out(text: str, form: Form) -> tuple[str, list[Note]]:
    """Replace the numbers that the tool does not write, and warn about them."""
    if form.json or _JSON.match(text):
        return _of_strings(text, form)
    groups = _groups(text, form)
    if not (groups or _MARKED.search(text)):
        return text, []
    kept = f"{form.keep or '(?!)'}|{_COMMAND}"
    judged = re.sub(f"(?m){kept}", "", text)
    points, commas = (sum(1 for _ in pattern.finditer(judged)) for pattern in (_POINTS, _COMMAS))
    if form.local:
        other = [_WITH_POINT if commas > points else _WITH_COMMA]
    else:
        other = [_WITH_COMMA, *([_THOUSANDS["."]] if commas > points else [])]
    other += groups
    pattern = re.compile(rf"(?m)(?P<kept>{kept})|{_SPACED}|{_BEGIN}(?:{'|'.join([*_GROUPED, *other])}){_END}")
    found: list[re.Match[str]] = []

    def hide(match: re.Match[str]) -> str:
        if match["kept"] is not None:
            return match[0]
        found.append(match)
        return "?" * len(match[0])

    hidden = pattern.sub(hide, text)
    if not found:
        return text, []
    line = text.count("\n", 0, found[0].start()) + 1
    return hidden, [note(len(found), found[0][0].strip(), line)]


def _groups(text: str, form: Form) -> list[str]:
    """Return patterns of grouped numbers, one for each mark that groups a number meant to be whole."""
    if not form.integers:
        return []
    # Most files have no such number at all, which is five times faster to check.
    there = [pattern for pattern in (*_THOUSANDS.values(), _BLANK_GROUPS) if re.search(rf"{pattern}(?!\d)", text)]
    return [pattern for pattern in there if re.search(rf"(?m)(?:{form.integers}){pattern}(?!\d){_END}", text)]


def _of_strings(text: str, form: Form) -> tuple[str, list[Note]]:
    """Return a JSON text with numbers in strings as JSON writes them, without ambiguous numbers."""
    kept = re.compile(form.keep or "(?!)")
    found = []
    for match in _STRING.finditer(text):
        key = _KEY.search(text[max(0, match.start() - _LONGEST_KEY) : match.start()])
        name = key["key"] if key else ""
        if _MARK.search(match["value"]) and not _NAMES.search(name) and not kept.fullmatch(name):
            found.append((match, name))
    written = [one.span() for one in _OPTIONS.finditer(text)] if found else []
    found = [one for one in found if not any(start < one[0].start() < end for start, end in written)]
    if not found:
        return text, []
    first: dict[str, int] = {}
    for match, _ in found:
        first.setdefault(match["value"], match.start())

    def where(value: str) -> tuple[int, int]:
        at = first[value]
        return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)

    try:
        marks = marks_of(first, where)
    except EsxparseError:
        marks = None
    instead = {value: marks.plain(value) if marks else _hidden(value) for value in first}
    pieces, end = [], 0
    for match, _ in found:
        pieces += [text[end : match.start("value")], instead[match["value"]]]
        end = match.end("value")
    if marks:
        return "".join([*pieces, text[end:]]), list(marks.notes)
    gone = [(match, name) for match, name in found if "?" in instead[match["value"]]]
    value, name = gone[0][0]["value"], gone[0][1]
    return "".join([*pieces, text[end:]]), [note(len(gone), value, where(value)[0], name)]


def _hidden(value: str) -> str:
    """Return a number as JSON writes it; question marks if it has a decimal comma, or may have one."""
    return "?" * len(value) if is_ambiguous(value) or settles(value) == COMMA else Marks().plain(value)


def note(count: int, first: str, line: int, of: str = "") -> Note:
    """Return the warning about numbers that are left out; `of` is the key of the first."""
    example = f"{first!r} of {of!r}" if of else repr(first)
    message = (
        f"{counted(count, 'number')} with marks of another locale, such as {example}, left out: record with LC_ALL=C, "
        "or save the file with decimal points and without thousands separators"
    )
    return Note(message, line, severity="warning")
