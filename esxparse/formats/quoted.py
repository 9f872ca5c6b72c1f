"""Documents about a tool quote its output: a manual, a script, a test. They are no recordings of it.

What decides is how many lines of a file its reader had no use for, as its notes say (`Note.unused`).
"""

from __future__ import annotations

import re

from esxparse.errors import UnknownFormatError
from esxparse.formats.kit.head import HEAD
from esxparse.formats.source import Source
from esxparse.recording import Recording

_MOST = 0.9
"""Share of unused lines that no recording has: what schedulers and launchers print around a result is less."""
_TOGETHER = ((1 / 3, 0.12), (0.1, 0.25))
"""Shares of unused lines, and of lines that a person wrote (source, markup, sentences), that no recording has."""
_FEWEST = 5
"""Fewer such lines are a remark."""

_BY_PEOPLE = re.compile(
    r"""(?mx)^[^\S\n]*+(?:
    \#!|\#include\b|//|/\*|<!--|```|~~~|\#{1,6}\ [A-Z]|[-*+]\ [A-Za-z`\[]|"{3}|'{3}|@\w+$|\)(?:\ ->.*)?:?$
    |(?:import|from|package|func|def|class|fn|use|public|private|static|const|let|var|return|raise|assert|for|while|if|else
       |elif|fi|done|do|case|esac|try|except|exit|echo|export|local|with|type|yield)\b(?!\ *[:=])
    |[\w.]+\([^\n]*\)[:;,]?$
    |[^;\n]*[\w)\]"'];$|[^\n]*\ \\$
    |(?:[A-Za-z][\w'-]*+[.,:;]?\ +){6}[^\n]*[a-z]{2}[.,:;`)]?$)"""
)


def refuse(rec: Recording, source: Source, title: str) -> None:
    """Refuses a file that quotes a recording.

    Raises:
        UnknownFormatError: It is one.
    """
    unused = sum(note.unused for note in rec.notes)
    if not unused or len(source.head.content) == HEAD:
        return
    text = source.head.text
    lines = sum(1 for line in text.split("\n") if line.strip())
    written = sum(1 for _ in _BY_PEOPLE.finditer(text))
    by_people = any(unused > other * lines and written > own * lines for other, own in _TOGETHER)
    if unused > _MOST * lines or (written >= _FEWEST and by_people):
        raise UnknownFormatError(
            f"{source.name} quotes {title}: most of its lines are something else. Copy the output to a file of its "
            f"own, or open it with format={rec.format!r}"
        )
