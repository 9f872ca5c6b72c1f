"""Numbers for a template's question that no file has: set by the user, defaults, or missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from esxparse.errors import EsxparseError, did_you_mean
from esxparse.reports.blocks import rounded

if TYPE_CHECKING:
    from esxparse.studies.report_section import ReportSection

Origin = Literal["study.toml", "-p", "default", ""]
_KINDS: Final = {str: "text", int: "a whole number", float: "a number"}


@dataclass(frozen=True)
class Input:
    """A parameter of a template that only the user knows, unless it has a default.

    >>> Input("hosts", int, None, "hosts that draw what the measured one does").default is None
    True
    """

    name: str
    kind: type[int | float | str]
    value: Any
    """The value in the parameters cell, or None; after `resolve`, possibly from study.toml, or the default."""
    help: str
    default: Any = None
    least: float = 0.0
    """The smallest value; without a default it must be above 0."""
    most: float = math.inf
    origin: Origin = ""
    """Source of the value; empty for an unknown value, which is None."""


def resolve(inputs: Sequence[Input], section: ReportSection, template: str = "") -> tuple[Input, ...]:
    """Return the inputs of a template: from the command line, else from [report.inputs], else by default.

    `inputs`: with the values of the notebook's parameters cell. `template`: its name.

    Raises EsxparseError: A value has the wrong type or is impossible, or the manifest's own template has no such
    input.
    """
    names = [one.name for one in inputs]
    if template and section.shape == template and (strange := sorted(set(section.inputs) - set(names))):
        near = did_you_mean(strange[0], names)
        takes = ", ".join(names) or "none"
        raise EsxparseError(f"study.toml: template {template!r} has no input {strange[0]!r}: {near}it takes {takes}")
    made = []
    for one in inputs:
        found: list[tuple[Any, Origin]] = [(one.value, "-p"), (section.inputs.get(one.name), "study.toml")]
        found += [(one.default, "default"), (None, "")]
        value, origin = next((value, origin) for value, origin in found if value is not None or not origin)
        if mistake := _mistake(one, value) if origin else "":
            raise EsxparseError(f"{origin}: {one.name} is {value!r}: it must be {mistake} ({one.help})")
        made.append(replace(one, value=value, origin=origin))
    return tuple(made)


def _mistake(one: Input, value: Any) -> str:
    """Return the requirement that a value violates; "" if it is valid."""
    if one.kind is str:
        return "" if isinstance(value, str) else _KINDS[str]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return _KINDS[one.kind]
    if one.kind is int and value != int(value):
        return _KINDS[int]
    if one.default is None and value <= 0:
        return f"{_KINDS[one.kind]} above 0"
    if value > one.most:
        return f"{_KINDS[one.kind]} of at most {one.most:g}"
    return f"{_KINDS[one.kind]} of at least {one.least:g}" if value < one.least else ""


def missing(inputs: Sequence[Input]) -> set[str]:
    """Return the names of inputs without a value."""
    return {one.name for one in inputs if not one.origin}


def refusal(inputs: Sequence[Input]) -> str:
    """Explain that missing inputs prevent a conclusion, and how to set them; "" if no input is missing."""
    lacking = [one for one in inputs if not one.origin]
    if not lacking:
        return ""
    wanted = ", ".join(f"{one.name} ({one.help})" for one in lacking)
    how = f"[report.inputs] of study.toml, or with -p {lacking[0].name}=VALUE"
    return f"This page shows what was measured and draws no conclusion. No file has {wanted}: give them in {how}."


def origins(inputs: Sequence[Input]) -> list[str]:
    """Return the source of each number, one sentence per source."""
    words: dict[Origin, str] = {"study.toml": "Given in study.toml", "-p": "Given with -p", "default": "By default"}
    made = []
    for origin, source in words.items():
        # The default of a label is its first value: the user did not set a number.
        mine = [one for one in inputs if one.origin == origin and one.value != ""]
        settings = [
            f"{one.name} = {_text(one.value)}" + (f" ({one.help})" if origin == "default" else "") for one in mine
        ]
        made += [f"{source}: {', '.join(settings)}."] if settings else []
    return made


def _text(value: Any) -> str:
    return value if isinstance(value, str) else rounded(value)
