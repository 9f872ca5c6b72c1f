"""Sentences of cases, filled with the values of a spell. Unknown values are left out, never shown as a question mark.

A text consists of clauses that end with `;` or `.`, and a clause of parts between commas. A part with a missing value
is left out. The rest of its clause goes too if it is the first part, or if a conclusion follows it (`: `).
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import Final

Values = Mapping[str, float | str | None]

_CLAUSE: Final = re.compile(r"(?<=[;.]) (?=\S)")
_BRACKET: Final = re.compile(r" ?\(([^()]*)\)")
_PART: Final = re.compile(r", (?![^()]*\))")
_CONCLUSION: Final = ": "


def fill_text(text: str, values: Values) -> str:
    """Fill a text with values, without the parts whose values are missing.

    Args:
        text: A sentence or several, with {names} and formats: `{kavg_ms:.2f}`.
        values: The value of each name; None if the capture does not have it.

    Returns:
        The text, empty if nothing is left of it.

    >>> verdict = "{active} of {depth} commands are active, {queued} wait; KAVG {kavg:.2f} ms (before {before:.2f})."
    >>> fill_text(verdict, {"active": 32, "depth": 32, "queued": None, "kavg": 8.0, "before": None})
    '32 of 32 commands are active; KAVG 8.00 ms.'
    """
    clauses = _CLAUSE.split(text.strip())
    kept = [known for clause in clauses if (known := _known_part(clause, values))]
    if not kept:
        return ""
    filled = _Words().vformat(" ".join(kept), (), values)
    if filled.endswith(";"):
        filled = filled.removesuffix(";") + ("." if text.rstrip().endswith(".") else "")
    return filled[0].upper() + filled[1:] if text.lstrip()[0].isupper() else filled


def whole(text: str, values: Values) -> bool:
    """Return whether the first clause of a text has all its values."""
    return bool(_known_part(_CLAUSE.split(text.strip())[0], values))


def _known_part(clause: str, values: Values) -> str:
    """Return the known part of a clause, with its full stop or semicolon."""
    if not _is_missing(clause, values):
        return clause
    clause = _BRACKET.sub(lambda found: _known_bracket(found, values), clause)
    end = clause[-1] if clause[-1] in ".;" else ""
    parts = _PART.split(clause.removesuffix(end))
    known = [not _is_missing(part, values) for part in parts]
    concluded = any(_CONCLUSION in part and not all(known[: at + 1]) for at, part in enumerate(parts))
    if not known[0] or concluded:
        return ""
    return ", ".join(part for part, is_known in zip(parts, known, strict=True) if is_known) + end


def _known_bracket(found: re.Match[str], values: Values) -> str:
    known = [part for part in found[1].split(", ") if not _is_missing(part, values)]
    return f" ({', '.join(known)})" if known else ""


def _is_missing(text: str, values: Values) -> bool:
    """Return whether a value in the text is missing."""
    return any(values.get(name, "") is None for _, name, _, _ in string.Formatter().parse(text) if name)


class _Words(string.Formatter):
    """A formatter with three digits for numbers without a format."""

    def format_field(self, value: object, format_spec: str) -> str:
        return f"{value:.3g}" if isinstance(value, float) and not format_spec else format(value, format_spec)
