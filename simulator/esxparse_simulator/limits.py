"""What the numbers and words of a scenario may be, checked before anything is simulated."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from importlib.resources import files
from math import inf, isfinite
from typing import Any, Final

from esxparse.errors import EsxparseError, did_you_mean

_LIMITS: Final = tomllib.loads((files("esxparse_simulator") / "limits.toml").read_text(encoding="utf-8"))
_MOST: Final = _LIMITS["most"]
_NUMBERS: Final = {"int", "float", "int | None"}
_WORD: Final = re.compile(r"['\"]([^'\"]+)['\"]")


class ScenarioError(EsxparseError):
    """A scenario that asks for something the simulator cannot do."""


def need(ok: object, message: str) -> None:
    """Raises `ScenarioError` with the message unless `ok`."""
    if not ok:
        raise ScenarioError(message)


def known(name: str, names: Iterable[str], message: str, lead: str = "There are") -> None:
    """Raises `ScenarioError` with the message, the nearest name and all names unless `name` is one of them."""
    if name not in (there := sorted(names)):
        raise ScenarioError(f"{message}. {did_you_mean(name, there, 'Did')}{lead}: {', '.join(there)}.")


def positive(name: str, value: float) -> float:
    """The value, checked to be a finite number above 0."""
    need(isfinite(value) and value > 0.0, f"{name} must be a number above 0, not {value!r}: change it")
    return value


def check_number(name: str, value: Any, place: str) -> None:
    """Raises `ScenarioError` for a value that is not a finite number in its range."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    need(number, f"{place}: {name} = {value!r} is not a number. Give one.")
    above_zero, any_sign = name in _LIMITS["above_zero"], name in _LIMITS["any_sign"]
    most = _MOST.get(name, inf)
    least = -most if any_sign else 0.0
    allowed = "above 0" if above_zero else "0 or more" if not any_sign else "a number"
    upto = f", {most:g} at most" if isfinite(most) else ""
    need(
        isfinite(value) and least <= value <= most and (value != 0 or not above_zero),
        f"{place}: {name} = {value!r} cannot be. Give a number {allowed}{upto}.",
    )
    if name in _LIMITS["whole"]:
        need(value == int(value), f"{place}: {name} = {value!r} is not a whole number. Give one.")


def check_row(row: Mapping[str, Any], kind: type[Any], place: str) -> None:
    """Raises `ScenarioError` for numbers out of range, unknown words, and texts in place of lists."""
    for field in fields(kind):
        if field.name not in row:
            continue
        value, annotation = row[field.name], str(field.type)
        where = f"{place}: {field.name} = {value!r}"
        if annotation in _NUMBERS:
            check_number(field.name, value, place)
        elif annotation.startswith("Literal"):
            known = _WORD.findall(annotation)
            need(value in known, f"{where} is not known. Give one of {', '.join(known)}.")
        elif annotation in {"tuple[str, ...]", "tuple[int, ...]"}:
            texts = annotation.startswith("tuple[str")
            listed = isinstance(value, list | tuple) and not (texts and not all(isinstance(one, str) for one in value))
            need(listed, f"{where} is not a list of {'texts' if texts else 'numbers'}. Write it in brackets.")
            for number in () if texts else value:
                check_number(field.name, number, place)
            empty = field.name == "p_states_mhz" and not value
            need(not empty, f"{place}: p_states_mhz is empty. Give the clocks of the P-states, the highest first.")
