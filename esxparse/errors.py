"""Errors that users see: what is wrong, where, and what to do."""

from __future__ import annotations


class EsxparseError(Exception):
    """Bad input or a request that cannot be met; the message is fit to show to a user as it is."""


class UnreadableError(EsxparseError):
    """A file cannot be opened at all: missing, a directory, no permission."""


class TooLargeError(UnreadableError):
    """Reading a file would take more memory than `memory_limit` allows."""


class UnknownFormatError(EsxparseError):
    """No reader recognises the file."""


class DamagedError(EsxparseError):
    """The format is known, but the file has nothing usable, or using it would mean guessing."""


class MissingTableError(EsxparseError, KeyError):
    """A recording has no table of that name."""

    def __str__(self) -> str:
        # KeyError would print the repr of its argument, quotes and all.
        return str(self.args[0])
