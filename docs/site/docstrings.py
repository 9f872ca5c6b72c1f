"""Docstrings as the site shows them: doctests and tables of words keep their lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import griffe

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = re.compile(r"^\S+(?:,? \S+)*(?: \.\.\.)?  +\S")
UNDERLINED = re.compile(r"^([A-Z][\w ]*)\n-{3,}$", re.MULTILINE)
FEWEST = 2


class Readable(griffe.Extension):
    """Puts fences around doctests and aligned columns."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Changes the docstring of an object."""
        if obj.docstring:
            obj.docstring.value = readable(obj.docstring.value)


def readable(text: str) -> str:
    """A docstring as Markdown."""
    return "\n\n".join(shown(block) for block in blocks(UNDERLINED.sub(r"**\1**\n", text)))


def blocks(text: str) -> Iterator[str]:
    """Its paragraphs; a doctest that follows on text is one of its own."""
    for block in re.split(r"\n{2,}", text):
        before, mark, doctest = f"\n{block}".partition("\n>>> ")
        if before.strip():
            yield before.removeprefix("\n")
        if mark:
            yield f">>> {doctest}"


def shown(block: str) -> str:
    """A paragraph, in a fence if its lines have a meaning."""
    if block.startswith(">>> "):
        return f"```pycon\n{block}\n```"
    lines = block.split("\n")
    if sum(bool(COLUMNS.match(line)) for line in lines) >= FEWEST and not block.startswith(("```", "Args:", "    ")):
        return f"```text\n{block}\n```"
    return block
