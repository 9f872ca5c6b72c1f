"""Limits of rules in the expressions of cases: `warn('disk.davg')`, `critical('disk.davg')`, `floor('disk.davg')`.

A reference is the number that the profile sets for the rule, so an expression may use a multiple or a share of it:
`davg_ms >= 0.5 * warn('disk.davg')`. Anything over 0 passes a limit of 0 (`Rule.passes`); its reference is the
smallest number above 0, so `>=` and `<` mean the same here as in the rule. A limit that the rule does not have is
NULL: comparisons with it are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from esxparse.diagnosis.rules import Rule
from esxparse.toml.checked import guess

LIMITS: Final = ("warn", "critical", "floor")
_REFERENCE: Final = re.compile(rf"\b({'|'.join(LIMITS)})\(\s*'([^']*)'\s*\)")
_CALL: Final = re.compile(rf"\b({'|'.join(LIMITS)})\s*\(")
_ABOVE_ZERO: Final = "0.000000001"
_UNKNOWN: Final = "CAST(NULL AS DOUBLE)"


class Reference(NamedTuple):
    """One limit of a rule."""

    limit: str
    rule: str

    def __str__(self) -> str:
        return f"{self.limit}('{self.rule}')"


def found(text: str) -> list[Reference]:
    """Return the references of an expression, in order.

    >>> [str(one) for one in found("davg_ms >= 0.5 * warn('disk.davg')")]
    ["warn('disk.davg')"]
    """
    return [Reference(*one) for one in _REFERENCE.findall(text)]


def filled(text: str, rules: Mapping[str, Rule]) -> str:
    """Replace the references by the limits of a profile.

    >>> from esxparse.diagnosis.rules import load
    >>> filled("davg_ms >= 0.5 * warn('disk.davg')", load("standard"))
    'davg_ms >= 0.5 * 20.0'
    """
    return _REFERENCE.sub(lambda match: _number(rules[match[2]], match[1]), text)


def blank(text: str) -> str:
    """Put a number in place of each reference, for callers that read only the names in an expression."""
    return _REFERENCE.sub("1", text)


def mistakes(text: str, rules: Mapping[str, Rule]) -> Iterator[str]:
    """Yield references to limits that do not exist, and calls that are not written as references."""
    if wrong := _CALL.search(_REFERENCE.sub("", text)):
        yield f"has {wrong[1]}(...), which takes a rule in single quotes; write {wrong[1]}('cpu.ready')"
    for one in found(text):
        if one.rule not in rules:
            yield f'has no rule "{one.rule}"; write one of esxparse rules list{guess(one.rule, rules)}'
        elif getattr(rules[one.rule], one.limit) is None:
            yield f'reads "{one.limit}" of the rule {one.rule}, which has none; use another limit or add it'


def _number(rule: Rule, limit: str) -> str:
    value = getattr(rule, limit)
    if value is None:
        return _UNKNOWN
    if value == 0 and limit != "floor" and rule.direction == "above":
        return _ABOVE_ZERO
    return f"({value:f})" if value < 0 else repr(float(value))
