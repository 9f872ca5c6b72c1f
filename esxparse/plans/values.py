"""Inputs as people write them: numbers, ranges, names, each for all cases or for one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from esxparse.clock import DAY_AND_CLOCK
from esxparse.errors import EsxparseError, choose_from
from esxparse.plans.forms import Form, Input
from esxparse.recording import figure

ALL: Final = ""
"""The case of an input that applies to all cases."""
_CASE: Final = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_WHOLE_FROM: Final = 1000
"""Numbers from here on are shown without decimals."""
_RANGE: Final = re.compile(r"(.+?)\s*\.\.\s*(.+)")


@dataclass(frozen=True)
class Range:
    """A number that lies between two others."""

    low: float
    high: float

    def __str__(self) -> str:
        """Return the range in words; one number if both ends look the same.

        >>> str(Range(9680.0, 11169.0)), str(Range(26.08696, 26.08697))
        ('9,680 to 11,169', '26.1')
        """
        low, high = cell_text(self.low), cell_text(self.high)
        return low if low == high else f"{low} to {high}"

    @property
    def steps(self) -> tuple[float, float, float]:
        """Its ends and its middle, for the sensitivity table."""
        return self.low, (self.low + self.high) / 2, self.high


Value = float | str | Range


@dataclass(frozen=True)
class Known:
    """The value of an input, and its origin."""

    value: Value
    origin: str


def cell_text(value: object) -> str:
    """Return a value as tables show it: empty for None, yes or no, a number with its digits.

    >>> cell_text(None), cell_text(True), cell_text(102400), cell_text(112.625), cell_text(0.25), cell_text(3.787878)
    ('', 'yes', '102,400', '112.625', '0.25', '3.79')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:{DAY_AND_CLOCK}}"
    if not isinstance(value, int | float):
        return str(value)
    return f"{value:,g}" if abs(value) < _WHOLE_FROM and float(f"{value:g}") == value else figure(value)


def read(form: Form, name: str, raw: Any) -> dict[str, Value]:
    """Return the values of an input by case.

    Args:
        form: Of the planner.
        name: Of the input.
        raw: A number, a pair, text such as `0.10..0.30` or `routed=440`, a list of such texts, or a mapping of cases.

    Raises EsxparseError: The input does not allow it.
    """
    one = form.inputs[name]
    if isinstance(raw, Mapping):
        return {str(case): _value(form, name, one, value) for case, value in raw.items()}
    texts = raw if isinstance(raw, list) else [raw]
    found: dict[str, Value] = {}
    for text in texts:
        of_case = _CASE.fullmatch(text) if isinstance(text, str) else None
        case, value = (of_case[1], of_case[2]) if of_case else (ALL, text)
        if case in found:
            raise EsxparseError(f"{form.name}: {name} is given twice{_for(case)}: leave one out")
        found[case] = _value(form, name, one, value)
    return found


def _for(case: str) -> str:
    return f" for {case}" if case else ""


def _value(form: Form, name: str, one: Input, raw: Any) -> Value:
    """Return one value, checked.

    Raises EsxparseError: The input does not allow it.
    """
    if one.choices:
        if str(raw) not in one.choices:
            raise EsxparseError(f"{form.name}: {name} is {raw!r}: {choose_from(raw, one.choices)}")
        return str(raw)
    if one.name:
        return str(raw)
    limits = _limits(raw)
    for number in limits:
        if not _is_allowed(one, number):
            wanted = " ".join(part for part in ("a whole number" if one.whole else "a number", one.allowed) if part)
            source = f" ({one.source})" if one.source and one.allowed else ""
            raise EsxparseError(
                f"{form.name}: {name} is {raw!r}: give {wanted}{source}; it is: {one.meaning} [{one.unit}]"
            )
    low, high = limits[0], limits[-1]
    if low > high:
        raise EsxparseError(f"{form.name}: the range {raw!r} of {name} begins above its end: write LOW..HIGH")
    return low if low == high else Range(low, high)


def _limits(raw: Any) -> tuple[float, ...]:
    """Return the number, or both ends of the range; NaN for anything else."""
    parts: Sequence[Any] = (raw,)
    if isinstance(raw, str):
        between = _RANGE.fullmatch(raw.strip())
        parts = between.groups() if between else (raw,)
    elif isinstance(raw, tuple):
        parts = raw
    try:
        return tuple(float("nan") if isinstance(part, bool) else float(part) for part in parts) or (math.nan,)
    except (TypeError, ValueError):
        return (math.nan,)


def _is_allowed(one: Input, number: float) -> bool:
    return (
        math.isfinite(number)
        and (one.least is None or number >= one.least)
        and (one.above is None or number > one.above)
        and (one.most is None or number <= one.most)
        and not (one.whole and number % 1)
    )


def cases_of(form: Form, entered: Mapping[str, Iterable[str]], measured: Iterable[str]) -> list[str]:
    """Return the cases of inputs and recordings, else the published ones of an input that is not given.

    Without any there is one case, to which all inputs belong.

    `entered`: the cases of each input. `measured`: the cases of recordings.
    """
    sides = [*entered.values(), measured]
    found = list(dict.fromkeys(case for side in sides for case in side if case != ALL))
    if found:
        return found
    published = (one.published for name, one in form.inputs.items() if one.published and name not in entered)
    return list(next(published, None) or [ALL])


def complete(
    form: Form,
    cases: Sequence[str],
    entered: Mapping[str, Mapping[str, Value]],
    measured: Mapping[str, Mapping[str, Known]],
) -> dict[str, dict[str, Known]]:
    """Return the values of every case: the user's, else values from recordings, else documented constants.

    Args:
        form: Of the planner.
        cases: Their names.
        entered: The user's values by input and case.
        measured: Values from recordings, by case and input.

    Raises EsxparseError: Inputs are missing (the message lists all), or an input and its replacement are both given.
    """
    for name, one in form.inputs.items():
        if one.replaces and name in entered and one.replaces in entered:
            raise EsxparseError(f"{form.name}: give either {one.replaces} or {name}, not both")
    found = {case: _case(form, case, entered, measured) for case in cases}
    missing = {
        name: [case for case in cases if not _has(form, name, found[case])]
        for name in form.inputs
        if _needed(form, name)
    }
    lines = [_missing(form, name, without, cases) for name, without in missing.items() if without]
    if lines:
        count = f"{len(lines)} inputs are" if len(lines) > 1 else "1 input is"
        raise EsxparseError(f"{form.name}: {count} missing: {'; '.join(lines)}")
    return found


def _case(
    form: Form,
    case: str,
    entered: Mapping[str, Mapping[str, Value]],
    measured: Mapping[str, Mapping[str, Known]],
) -> dict[str, Known]:
    """Return the known values of one case."""
    found: dict[str, Known] = {}
    replaced = {one.replaces for name, one in form.inputs.items() if one.replaces and name in entered}
    for name, one in form.inputs.items():
        mine = entered.get(name, {})
        if case in mine or ALL in mine:
            found[name] = Known(mine.get(case, mine.get(ALL, "")), "given")
        elif taken := measured.get(case, {}).get(name) or measured.get(ALL, {}).get(name):
            if name not in replaced and one.replaces not in entered:
                found[name] = taken
        elif one.published and case in one.published and not mine:
            found[name] = Known(one.published[case], f"published: {one.source}")
        elif one.default is not None:
            found[name] = Known(one.default, f"constant: {one.source}")
    return found


def _needed(form: Form, name: str) -> bool:
    one = form.inputs[name]
    return not (one.optional or one.replaces)


def _has(form: Form, name: str, found: Mapping[str, Known]) -> bool:
    """Return whether an input or its replacement is known."""
    return name in found or any(one.replaces == name and other in found for other, one in form.inputs.items())


def _missing(form: Form, name: str, without: Sequence[str], cases: Sequence[str]) -> str:
    """Return a missing input in words."""
    one = form.inputs[name]
    instead = "".join(f" (or {other}, {it.unit})" for other, it in form.inputs.items() if it.replaces == name)
    of = f" for {', '.join(without)}" if len(without) < len(cases) else ""
    needs = f" ({one.needs})" if one.needs else ""
    about = f" [{one.unit or ' or '.join(one.choices)}]" if one.unit or one.choices else ""
    return f"{name}{about}{of}: {one.meaning}{instead}{needs}"
