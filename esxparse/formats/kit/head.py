"""The beginning of a file: read once, looked at by every reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from esxparse.formats.kit.text import decode

HEAD = 1 << 20
"""Bytes in which a file must show its format."""


_LARGE = 1 << 14
"""Characters from which words are looked for all at once."""


@dataclass(frozen=True)
class Head:
    """The first bytes of a file."""

    content: bytes
    name: str = ""
    _known: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)
    """Words that were looked for, and whether they stand in it."""

    @cached_property
    def text(self) -> str:
        """The text it is, whatever the bytes; the end may be cut."""
        return decode(self.content).text

    @cached_property
    def folded(self) -> str:
        """The text in lower case."""
        return self.text.lower()

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text."""
        return self.text.split("\n")

    def look_for(self, words: Sequence[str]) -> None:
        """Looks for words, in lower case, in one go: `holds` knows them then. Of a large text that takes a fifth."""
        folded = self.folded
        large = len(folded) >= _LARGE
        self._known.update({word: word in folded for word in words if not large or len(word) == 1})
        if not large:
            return
        # Imported where a large file needs it: the help of the command line does not.
        import polars as pl  # noqa: PLC0415

        wanted = [word for word in words if len(word) > 1]
        found = set(pl.Series([folded]).str.extract_many(wanted, overlapping=True)[0].unique())
        self._known.update({word: word in found for word in wanted})

    def holds(self, *words: str) -> bool:
        """Return whether one of the words, in lower case, stands in it, whatever its case there.

        Looking for a word takes a thousandth of the time that a pattern takes, and most files are of another reader.

        >>> Head(b"Performance Counter Stats").holds("counter stats"), Head(b"{}").holds("counter stats")
        (True, False)
        """
        # Members of a bundle are asked for all words of all readers: a loop takes half the time of `any`.
        known = self._known
        for word in words:
            there = known.get(word)
            if there or (there is None and word in self.folded):
                return True
        return False

    def near(self, words: Sequence[str]) -> str:
        r"""Return the lines that hold one of the words: what a pattern of one line is looked for in.

        >>> Head(b"Rate MB/s\nnone\nthe rates").near(["rate"])
        'Rate MB/s\nthe rates'
        """
        text, folded = self.text, self.folded
        if len(text) != len(folded):
            # Some capital letters become two small ones.
            return text
        spans: set[tuple[int, int]] = set()
        for word in words:
            at = folded.find(word) if self.holds(word) else -1
            while at >= 0:
                end = folded.find("\n", at)
                end = len(folded) if end < 0 else end
                spans.add((folded.rfind("\n", 0, at) + 1, end))
                at = folded.find(word, end)
        return "\n".join(text[begin:end] for begin, end in sorted(spans))
