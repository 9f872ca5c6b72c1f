"""Errors that users see: the mistake, its place, and advice."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from esxparse.locations import scrubbed

_LONGEST = 2000
"""Most characters of a message: names from files and answers of servers may be of any length."""
_END = 400


def bounded(text: str) -> str:
    """Return a message of bounded length: its beginning, and its end, which has the advice."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - _END - 5]} ... {text[-_END:]}"


class EsxparseError(Exception):
    """Bad input or a request that cannot be met; the message can be shown to a user as it is.

    Libraries and servers repeat URLs in their errors: the message never has a password or signature in it. Its length
    is bounded.
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(bounded(scrubbed(one)) if isinstance(one, str) else one for one in arguments))


class UnreadableError(EsxparseError):
    """A file cannot be opened at all: missing, a directory, no permission."""


class TooLargeError(UnreadableError):
    """Reading a file would take more memory than `memory_limit` allows."""


class UnknownFormatError(EsxparseError):
    """No reader recognises the file."""


class DamagedError(EsxparseError):
    """The format is known, but the file has nothing usable, or using it would mean guessing."""


class LossWarning(UserWarning):
    """Rows of a recording are missing from its tables, and so from all results."""


class MissingTableError(EsxparseError, KeyError):
    """A recording has no table of that name."""

    def __str__(self) -> str:
        # KeyError would print the repr of its argument, quotes and all.
        return str(self.args[0])


def nearest(word: object, known: Iterable[object], most: int = 1, alike: float = 0.6) -> list[str]:
    """Return the known names spelt most like a word, the nearest first; case, blanks and signs count little.

    >>> nearest("Rdy %", ["%RUN", "%RDY", "DAVG/cmd"]), nearest("warmpup", ["warmup", "measure"])
    (['%RDY'], ['warmup'])
    """
    from difflib import get_close_matches  # noqa: PLC0415  only for mistakes

    plain: dict[str, str] = {}
    for one in known:
        plain.setdefault(_plain(one), str(one))
    return [plain[one] for one in get_close_matches(_plain(word), plain, most, alike)]


def _plain(word: object) -> str:
    folded = str(word).casefold()
    return "".join(char for char in folded if char.isalnum()) or folded


def did_you_mean(word: object, known: Iterable[object], did: str = "did") -> str:
    """Return a question about the nearest name, with a blank behind it; empty if none is near.

    `did`: its first word, with a capital at the beginning of a sentence.

    >>> did_you_mean("used_mzh", ["used_mhz", "util_pct"]), did_you_mean("power", ["used_mhz"])
    ("did you mean 'used_mhz'? ", '')
    """
    near = nearest(word, known)
    return f"{did} you mean {near[0]!r}? " if near else ""


def choose_from(word: object, known: Iterable[object]) -> str:
    """Return a correction for a word: the nearest name, and all known ones.

    >>> choose_from("watt", ["watts", "joules"])
    "did you mean 'watts'? choose from watts, joules"
    """
    names = list(known)
    return f"{did_you_mean(word, names)}choose from {', '.join(map(str, names))}"


def check_known(what: str, word: str, known: Collection[str]) -> None:
    """Refuse an unknown word; `what` is the kind of thing, for the message."""
    if word not in known:
        raise EsxparseError(f"unknown {what} {word!r}: {choose_from(word, known)}")
