"""Numbers that a template's question needs and no file has: given by the user, or defaults, or missing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from esxparse.errors import EsxparseError, did_you_mean
from esxparse.reports.blocks import rounded
from esxparse.reports.study.shape import kind_of

if TYPE_CHECKING:
    from esxparse.reports.study.shape import Shape
    from esxparse.studies.asked import Asked

Origin = Literal["study.toml", "-p", "default", ""]
_KINDS: Final = {"str": "text", "int": "a whole number", "float": "a number"}


@dataclass(frozen=True)
class Input:
    """A parameter of a shape, its value, and who gave it; the origin is empty and the value None if nobody did."""

    name: str
    help: str
    value: Any
    origin: Origin


def resolve(shape: Shape | None, asked: Asked, given: Mapping[str, Any]) -> tuple[Input, ...]:
    """The parameters of a shape: from the command line, else from [report.inputs], else by default.

    `given`: what the command line or the notebook's cell sets, by name.

    Raises EsxparseError: A value is of another type or impossible, or the manifest's own template has no such input.
    """
    if shape is None:
        return ()
    if asked.shape == shape.name and (strange := sorted(set(asked.inputs) - set(shape.parameters))):
        near = did_you_mean(strange[0], shape.parameters)
        takes = ", ".join(shape.parameters) or "none"
        raise EsxparseError(f"study.toml: template {shape.name!r} has no input {strange[0]!r}: {near}it takes {takes}")
    made = []
    for name, parameter in shape.parameters.items():
        found: list[tuple[Any, Origin]] = [(given.get(name), "-p"), (asked.inputs.get(name), "study.toml")]
        found += [(parameter.get("default"), "default"), (None, "")]
        value, origin = next((value, origin) for value, origin in found if value is not None or not origin)
        if mistake := _mistake(parameter, value) if origin else "":
            raise EsxparseError(f"{origin}: {name} is {value!r}: it must be {mistake} ({parameter['help']})")
        made.append(Input(name, parameter["help"], value, origin))
    return tuple(made)


def _mistake(parameter: Mapping[str, Any], value: Any) -> str:
    """What a value must be and is not; nothing if it is sound."""
    kind = kind_of(parameter)
    if kind == "str":
        return "" if isinstance(value, str) else _KINDS[kind]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return _KINDS[kind]
    if kind == "int" and value != int(value):
        return _KINDS[kind]
    if "default" not in parameter and value <= 0:
        return f"{_KINDS[kind]} above 0"
    least = parameter.get("least", 0)
    return f"{_KINDS[kind]} of at least {least:g}" if value < least else ""


def missing(inputs: tuple[Input, ...]) -> set[str]:
    """The names of inputs that nobody gave."""
    return {one.name for one in inputs if not one.origin}


def refusal(inputs: tuple[Input, ...]) -> str:
    """What cannot be concluded, and how to give what it takes; nothing if no input is missing."""
    lacking = [one for one in inputs if not one.origin]
    if not lacking:
        return ""
    wanted = ", ".join(f"{one.name} ({one.help})" for one in lacking)
    how = f"[report.inputs] of study.toml, or with -p {lacking[0].name}=VALUE"
    return f"This page shows what was measured and draws no conclusion. No file has {wanted}: give them in {how}."


def origins(inputs: tuple[Input, ...]) -> list[str]:
    """Who gave which number, a sentence for each origin."""
    words: dict[Origin, str] = {"study.toml": "Given in study.toml", "-p": "Given with -p", "default": "By default"}
    made = []
    for origin, said in words.items():
        # The default is the first value of a label: it is not a number of ours.
        mine = [one for one in inputs if one.origin == origin and one.value != ""]
        told = [f"{one.name} = {_text(one.value)}" + (f" ({one.help})" if origin == "default" else "") for one in mine]
        made += [f"{said}: {', '.join(told)}."] if told else []
    return made


def _text(value: Any) -> str:
    return value if isinstance(value, str) else rounded(value)
