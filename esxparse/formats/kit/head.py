"""The beginning of a file: read once, looked at by every reader."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from esxparse.formats.kit.text import decode

HEAD = 1 << 20
"""Bytes in which a file must show its format."""


@dataclass(frozen=True)
class Head:
    """The first bytes of a file."""

    content: bytes
    name: str = ""

    @cached_property
    def text(self) -> str:
        """The text it is, whatever the bytes; the end may be cut."""
        return decode(self.content).text

    @cached_property
    def folded(self) -> str:
        """The text in lower case."""
        return self.text.lower()

    def holds(self, *words: str) -> bool:
        """Whether one of the words, in lower case, stands in it, whatever its case there.

        Looking for a word takes a thousandth of the time that a pattern takes, and most files are of another reader.

        >>> Head(b"Performance Counter Stats").holds("counter stats"), Head(b"{}").holds("counter stats")
        (True, False)
        """
        # Members of a bundle are asked for all words of all readers: a loop takes half the time of `any`.
        folded = self.folded
        for word in words:  # noqa: SIM110  as said
            if word in folded:
                return True
        return False
