"""Documents about a tool that quote its output: a manual, a script, a test. They are not recordings of the tool.

Three things decide, for all readers alike. First, how many lines the reader did not use, according to its notes
(`Note.unused`). Second, how many lines a person wrote, whatever the reader made of them. Third, whether the file is
source code.
"""

from __future__ import annotations

from esxparse.errors import UnknownFormatError
from esxparse.formats.enclosed import is_enclosed
from esxparse.formats.kit.head import HEAD
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.source import Source
from esxparse.recording import Recording

_MOST = 0.9
"""Share of unused lines that no recording has: text of schedulers and launchers around a result is less."""
_TOGETHER = ((1 / 3, 0.12), (0.1, 0.25))
"""Shares of unused lines, and of lines by a person (source, markup, sentences), that no recording has together."""
_OPENED = 0.15
"""Share of unused lines that no recording with a line that opens a quotation has."""
_FEWEST = 5
"""Fewest written lines that count: fewer are a remark."""
_BEGINNING = 1 << 16
"""Characters that are examined if the reader used every line: this takes a tenth of a second per MiB."""
_FIRST = 3
"""Lines at the beginning that show whether a person or a tool wrote the file."""
_DEFINITIONS = 3
"""Definitions that make a file source code: launchers print commands, and tools print errors, but neither defines."""

_PAGES = frozenset({"vdbench", "hcibench"})
_PATTERNS = kinds(__file__, "patterns")


def _without_free_text(text: str, rec: Recording) -> str:
    """Replace the lines that the reader used as values: a command may have any lines."""
    free = frozenset[int]().union(*(note.free_text for note in rec.notes))
    if not free:
        return text
    lines = enumerate(text.split("\n"), 1)
    return "\n".join("." if at in free and line.strip() else line for at, line in lines)


def refuse(rec: Recording, source: Source, title: str, name: str, *, recognised: bool) -> None:
    """Refuse a file that quotes a recording.

    `name`: the option `format` that reads it nevertheless. `recognised`: whether its head is of the format. If not,
    setting the format does not prevent the refusal.

    Raises:
        UnknownFormatError: The file is a quotation.
    """
    if len(source.head.content) == HEAD:
        return
    skipped = sum(note.unused for note in rec.notes)
    judged = _without_free_text(source.head.text, rec)
    text = judged if skipped else judged[:_BEGINNING]
    lines = [line for line in text.split("\n") if line.strip()]
    count = len(lines)
    written = sum(1 for _ in _PATTERNS["by_people"].finditer(text))
    # A reader may take a line by a person for a value. But a file that begins as its tool does quotes nothing: such
    # lines belong to a command that it shows.
    unused = max(skipped, written) if any(map(_PATTERNS["by_people"].match, lines[:_FIRST])) else skipped
    by_people = written >= _FEWEST and any(unused > other * count and written > own * count for other, own in _TOGETHER)
    opened = unused > _OPENED * count and _PATTERNS["opens"].search(text) is not None
    defines = sum(1 for _ in _PATTERNS["defines"].finditer(text)) >= _DEFINITIONS
    # Packets have any bytes.
    packets = b"\0" in source.head.content
    enclosed = not packets and is_enclosed(source.head.text, judged, is_page=rec.format in _PAGES)
    if unused > _MOST * count or by_people or opened or defines or enclosed:
        if not recognised:
            raise UnknownFormatError(f"{source.name} is a text or program, not {title}: leave the format out")
        raise UnknownFormatError(
            f"{source.name} quotes {title} in a text or program. Copy the output to a file of its own, or open it "
            f"with format={name!r}"
        )
