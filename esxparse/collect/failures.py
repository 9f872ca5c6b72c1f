"""Failures of a server that a collector logs in to, and the reasons behind exceptions of the libraries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from esxparse import toml
from esxparse.errors import EsxparseError

REASONS: Final = toml.beside(__file__, "reasons.toml")


class NoAnswerError(EsxparseError):
    """A failed request; the next may succeed."""


class CutError(NoAnswerError):
    """The connection or the answer was lost: the same request may succeed."""


class RefusedError(EsxparseError):
    """The server rejects the account; retrying could lock it."""


class UntrustedError(EsxparseError):
    """The certificate of the server cannot be verified."""


class ForbiddenError(EsxparseError):
    """The account may not read or do this."""


class MissingError(EsxparseError):
    """The server does not have it."""


def reason(error: BaseException, *tables: Mapping[str, str]) -> str | None:
    """Return the first reason whose sign is in the text of an exception or of its causes; None if no sign is."""
    text = " ".join(f"{type(one).__name__}: {one}" for one in _chain(error))
    return next((found for table in tables for sign, found in table.items() if sign in text), None)


def untrusted(error: BaseException) -> bool:
    """Return whether an exception or one of its causes is about a certificate that cannot be verified."""
    return any("certificate verify failed" in str(one).replace("_", " ").lower() for one in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
