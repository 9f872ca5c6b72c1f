"""How much work a damaged JSON document is worth: reading stays linear in the file, however it is broken."""

from __future__ import annotations

import json

_PER_CHARACTER = 8
_AT_LEAST = 1 << 20
_TOO_DEEP = 20_000
"""What a document nested too deeply is counted as: the decoder does not say how far it came."""


class Effort:
    """Characters that may still be decoded in vain."""

    def __init__(self, text: str) -> None:
        self._left = _PER_CHARACTER * len(text) + _AT_LEAST

    def failed(self, error: Exception, begin: int) -> None:
        """Counts a document that begins at `begin` and could not be decoded."""
        self._left -= error.pos - begin + 1 if isinstance(error, json.JSONDecodeError) else _TOO_DEEP

    @property
    def spent(self) -> bool:
        """Whether no more is tried; what is left of the file is left out, and a note says so."""
        return self._left < 0


GIVEN_UP = "damaged in so many places that the rest is left out"
