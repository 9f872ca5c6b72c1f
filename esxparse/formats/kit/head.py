"""The beginning of a file, read once for all readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from esxparse.formats.kit.text import decode

HEAD = 1 << 20
"""Bytes in which a file must show its format."""


_LARGE = 1 << 14
"""Characters of text from which all words are searched for at once."""


@dataclass(frozen=True)
class Head:
    """The first bytes of a file."""

    content: bytes
    name: str = ""
    _known: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)
    """Words already searched for, and whether the text has them."""

    @cached_property
    def text(self) -> str:
        """The bytes as text; the end may be cut."""
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
        """Search for words, in lower case, all at once for `holds`; in a large text this takes a fifth of the time."""
        folded = self.folded
        large = len(folded) >= _LARGE
        self._known.update({word: word in folded for word in words if not large or len(word) == 1})
        if not large:
            return
        # Imported only for large files: the command line's help does not need it.
        import polars as pl  # noqa: PLC0415

        wanted = [word for word in words if len(word) > 1]
        found = set(pl.Series([folded]).str.extract_many(wanted, overlapping=True)[0].unique())
        self._known.update({word: word in found for word in wanted})

    def holds(self, *words: str) -> bool:
        """Return whether the text has one of the words, which are in lower case; case does not matter.

        A word search takes a thousandth of the time of a pattern search, and most files belong to another reader.

        >>> Head(b"Performance Counter Stats").holds("counter stats"), Head(b"{}").holds("counter stats")
        (True, False)
        """
        # Members of a bundle are searched for all words of all readers: a loop takes half the time of `any`.
        known = self._known
        for word in words:
            there = known.get(word)
            if there or (there is None and word in self.folded):
                return True
        return False

    def near(self, words: Sequence[str]) -> str:
        r"""Return the lines with one of the words, to search them with a pattern of one line.

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
