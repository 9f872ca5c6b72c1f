"""The errors a user of esxparse can meet: what is wrong, where, and what to do about it."""

from __future__ import annotations


class EsxparseError(Exception):
    """Bad input or a request that cannot be met; the message is fit to show to a user as it is."""


class UnreadableError(EsxparseError):
    """A file cannot be opened at all: missing, a directory, no permission."""


class TooLargeError(UnreadableError):
    """Reading a file would take more memory than `memory_limit` allows."""


class UnknownFormatError(EsxparseError):
    """A file was read and no reader recognises it."""


class DamagedError(EsxparseError):
    """A file is of a known format and holds nothing that can be used, or cannot be used without guessing."""


class MissingTableError(EsxparseError, KeyError):
    """A recording has no table of that name."""

    def __str__(self) -> str:
        # KeyError would print the repr of its argument, quotes and all.
        return str(self.args[0])
