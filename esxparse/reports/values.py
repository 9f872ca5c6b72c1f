"""Parameters of a template: what a caller said, as what the template declares."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from esxparse.errors import EsxparseError
from esxparse.formats.opening import NAMES, Opening

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from esxparse.reports.library import Template

_OPENING: Final = "opening"
"""The parameter through which a template gets the options of `esxparse.open` that it does not declare by name."""

_RECORDINGS: Final = frozenset({"capture", "captures"})
_TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def values_of(
    template: Template, given: Mapping[str, Any], opening: Mapping[str, Any]
) -> tuple[Opening, dict[str, Any]]:
    """The options of `esxparse.open`, wherever they were said, and the values of the template's other parameters."""
    declared = {parameter.name: parameter for parameter in template.parameters}
    said = dict(opening)
    others: dict[str, Any] = {}
    for name, value in given.items():
        if name == _OPENING and template.has(_OPENING):
            said |= _typed("dict", value, name)
        elif name in NAMES and (name in declared or template.has(_OPENING)):
            said[name] = value
        elif name in declared and name not in _RECORDINGS:
            others[name] = _typed(declared[name].type, value, name)
        else:
            raise _unknown(template, name)
    asked = Opening.of(said)
    for name in asked.said():
        if name not in declared and not template.has(_OPENING):
            raise _unknown(template, name)
    return asked, others


def passed_on(template: Template, asked: Opening) -> dict[str, Any]:
    """The options as parameters: those that the template declares by name, the others together."""
    texts = asked.texts()
    named = {name: texts.pop(name) for name in list(texts) if template.has(name)}
    return {**named, **({_OPENING: texts} if texts else {})}


def _unknown(template: Template, name: str) -> EsxparseError:
    known = sorted({parameter.name for parameter in template.parameters} - {*_RECORDINGS, _OPENING})
    more = "options of esxparse.open" if template.has(_OPENING) else ""
    takes = ", ".join(known) + (f" and {more}" if known and more else more)
    return EsxparseError(f"template {template.name!r} has no parameter {name!r}: it takes {takes or 'none'}")


def _truth(text: str) -> bool:
    return _TRUTHS[text.casefold()]


def _list(text: str) -> list[Any]:
    found = json.loads(text) if text.startswith("[") else [part.strip() for part in text.split(",") if part.strip()]
    return list(found)


_READ: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (_truth, "true or false"),
    "list": (_list, "a list: a,b,c or JSON"),
    "dict": (lambda text: dict(json.loads(text)), 'an object of JSON: {"name": "value"}'),
}


def _typed(kind: str, value: Any, name: str) -> Any:
    """A value of the type that a parameter declares, from the text that a command line has."""
    read, what = _READ.get(kind.partition("[")[0], (None, ""))
    if read is None or not isinstance(value, str):
        return value
    try:
        return read(value.strip())
    except (ValueError, KeyError, TypeError, RecursionError):
        raise EsxparseError(f"parameter {name} is {value!r}: it has to be {what}") from None
