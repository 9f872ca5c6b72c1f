"""Patterns of file names: `{vms}` matches a label, `*` and `?` any text without a slash."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Formatter
from typing import Any, Final

from esxparse.errors import EsxparseError
from esxparse.formats.names import natural
from esxparse.toml.checked import INT64

_WILD: Final = re.compile(r"([*?])")
_HUGE: Final = re.compile(r"\d{3}")
_NAME: Final = re.compile(r"[^\W\d]\w*")
WILDCARD: Final = "*"
"""Prefix of the names of wildcards: `*1` is the first in a pattern."""


def _pieces(pattern: str) -> list[tuple[str, str | None, str]]:
    """Return pieces of text, each with the placeholder and format after it."""
    try:
        found = [(text, name, spec or "") for text, name, spec, _ in Formatter().parse(pattern)]
    except ValueError as error:
        raise EsxparseError(f"pattern {pattern!r}: {error}; write {{{{ and }}}} for literal braces") from None
    for _, name, _ in found:
        if name is not None and not _NAME.fullmatch(name):
            raise EsxparseError(f"pattern {pattern!r}: {{{name}}} is not a valid label name")
    if any(_HUGE.search(spec) for _, _, spec in found):
        raise EsxparseError(f"pattern {pattern!r}: too long for a file name")
    return found


def filled(pattern: str, labels: Mapping[str, Any]) -> str:
    """Fill the values of labels into a pattern; unknown labels stay, to be found from file names.

    >>> filled("{filter}-{vms:02d}vm-{run}.csv", {"filter": "default", "vms": 4})
    'default-04vm-{run}.csv'
    """
    parts = []
    for text, name, spec in _pieces(pattern):
        parts.append(literal(text))
        if name is None:
            continue
        if name not in labels:
            parts.append(f"{{{name}:{spec}}}" if spec else f"{{{name}}}")
            continue
        try:
            value = format(labels[name], spec)
        except (ValueError, TypeError) as error:
            raise EsxparseError(f"pattern {pattern!r}: {name} is {labels[name]!r}: {error}") from None
        parts.append(literal(value))
    return "".join(parts)


def unknown(pattern: str) -> tuple[str, ...]:
    """Return placeholders and wildcards of a pattern, in their order.

    >>> unknown("{filter}-*.csv")
    ('filter', '*1')
    """
    names: list[str] = []
    wild = 0
    for text, name, _ in _pieces(pattern):
        for _ in _WILD.findall(text):
            wild += 1
            names.append(f"{WILDCARD}{wild}")
        names += [name] if name else []
    return tuple(dict.fromkeys(names))


def plain(pattern: str) -> str:
    """Return the file name of a pattern without placeholders and wildcards."""
    return "".join(text for text, _, _ in _pieces(pattern))


def _expression(pattern: str) -> re.Pattern[str]:
    seen: set[str] = set()
    parts = []
    wild = 0
    for text, name, _ in _pieces(pattern):
        for piece in _WILD.split(text):
            if _WILD.fullmatch(piece):
                wild += 1
                parts.append(f"(?P<_wild{wild}>[^/]{'*' if piece == '*' else ''})")
            else:
                parts.append(re.escape(piece))
        if name:
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>[^/]+)")
            seen.add(name)
    return re.compile("".join(parts))


def literal(text: str) -> str:
    """Return the pattern that matches exactly this text."""
    return text.replace("{", "{{").replace("}", "}}")


def broad(pattern: str) -> str:
    """Replace each placeholder, or several adjacent ones, by a wildcard.

    >>> broad("{filter}-{vms:02d}vm-?.csv")
    '*-*vm-?.csv'
    """
    return re.sub(r"\*+", "*", "".join(text + ("*" if name else "") for text, name, _ in _pieces(pattern)))


def matches(pattern: str, folder: Path) -> list[tuple[dict[str, str], Path]]:
    """Return the files below `folder` that match a pattern, with its placeholder and wildcard values, in order.

    If a name can be read in several ways, the first placeholder takes the most: `a-b-2` by `{name}-{vms}` is `a-b`,
    `2`.
    """
    expression = _expression(pattern)
    parts = re.split(r"(?<=/)", broad(pattern))
    fixed = 0
    while fixed < len(parts) - 1 and not _WILD.search(parts[fixed]):
        fixed += 1
    base, below = "".join(parts[:fixed]), "".join(parts[fixed:])
    found = []
    below = below.replace("[", "[[]")
    for path in sorted((folder / base).glob(below), key=lambda path: natural(path.as_posix())):
        rest = path.relative_to(folder / base).as_posix()
        match = expression.fullmatch(base + rest)
        if match:
            placeholders = {name.replace("_wild", WILDCARD): text for name, text in match.groupdict().items()}
            found.append((placeholders, path))
    return found


def are_numbers(texts: Iterable[str]) -> bool:
    """Return whether all texts are whole numbers that fit a column.

    >>> are_numbers(["2", "16"]), are_numbers(["4", "64k"]), are_numbers(["9" * 19])
    (True, False, False)
    """
    return all(text.isdecimal() and text.isascii() and int(text) in INT64 for text in texts)
