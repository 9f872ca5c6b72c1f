"""TOML that people write, checked against dataclasses: each problem has its line and a correction.

A dataclass or a TypedDict lists the keys of a table with their types. Beside plain types they may have

    Annotated[float, Meta(gt=0)]     limits of msgspec
    Annotated[str, Key("if")]        another name in the file
    Annotated[float, Read(seconds)]  a function that takes value and key and makes the value, or raises EsxparseError

An object may check itself: its method `mistakes` yields pairs of a place and the mistake in it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Final,
    NamedTuple,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec
from msgspec import inspect

from esxparse.errors import EsxparseError, nearest
from esxparse.toml.document import Document, Problems

Made = TypeVar("Made")

INT64: Final = range(-(1 << 63), 1 << 63)
"""The whole numbers that fit in a column."""
Text = Annotated[str, msgspec.Meta(min_length=1)]
Number = int | float
"""A number that stays whole if it is written so."""
_LONGEST: Final = 60
_BARE: Final = re.compile(r"[\w.-]+")


class Key(NamedTuple):
    """The name of a field in the file."""

    name: str


class Read(NamedTuple):
    """The function that turns a value of the file into a field's."""

    function: Callable[[Any, str], Any]


def _prose(value: Any, key: str) -> str:
    """Return a text with its lines joined."""
    if not isinstance(value, str) or not value:
        raise EsxparseError(f"{key} is {written(value)}; write text")
    return " ".join(value.split())


Prose = Annotated[str, Read(_prose)]


def read(file: Document | Path | Traversable, kind: type[Made]) -> Made:
    """Make an object from a file.

    Raises EsxparseError: The file cannot be read, is not TOML, or something in it is wrong; the first problem.
    """
    document = file if isinstance(file, Document) else Document.read(file)
    return checked(document, kind, document.tables)


def checked(document: Document, kind: type[Made], tables: Mapping[str, Any], *place: str | int) -> Made:
    """Make an object from the tables at a place of a file.

    Raises EsxparseError: Something in it is wrong; the first problem.
    """
    problems = Problems(document)
    made: Made = value_of(kind, tables, problems, *place)
    if problems:
        raise problems.first()
    return made


def value_of(kind: Any, value: Any, problems: Problems, *place: str | int) -> Any:  # noqa: PLR0911  one for each kind
    """Return a value of the file as a type requires it; None after adding its mistakes to the problems."""
    origin, inner = get_origin(kind), get_args(kind)
    if read := next((one for one in inner[1:] if isinstance(one, Read)), None):
        try:
            return read.function(value, str(place[-1]))
        except EsxparseError as error:
            return problems.add(str(error), *place)
    if origin is Annotated and any(isinstance(one, Key) for one in inner[1:]):
        return value_of(inner[0], value, problems, *place)
    if dataclasses.is_dataclass(kind) or is_typeddict(kind):
        return _table(kind, value, problems, *place)
    if origin is Mapping and isinstance(value, dict):
        return {key: value_of(inner[1], one, problems, *place, key) for key, one in value.items()}
    if origin is tuple and isinstance(value, list) and inner[1:] == (...,):
        return tuple(value_of(inner[0], one, problems, *place, number) for number, one in enumerate(value))
    return _plain(kind, value, problems, *place)


def _table(kind: Any, value: Any, problems: Problems, *place: str | int) -> Any:
    """Return a dataclass, or the table that a TypedDict describes, without keys that have problems."""
    if not isinstance(value, dict):
        return _refuse(kind, value, problems, *place)
    before = len(problems)
    types, needed = _keys(kind)
    check_names(value, types, problems, *place)
    found = {}
    for key, one in value.items():
        if key in types:
            count = len(problems)
            made = value_of(types[key][1], one, problems, *place, key)
            if len(problems) == count:
                found[types[key][0]] = made
    for key in needed:
        if key not in value:
            problems.add(f"{key} is missing; write {key} = ... ({_wanted(inspect.type_info(types[key][1]))})", *place)
    if not all(types[key][0] in found for key in needed):
        return None
    made = kind(**found)
    if len(problems) == before and hasattr(made, "mistakes"):
        for inner, mistake in made.mistakes():
            problems.add(mistake, *place, *inner)
    return made


@cache
def _keys(kind: Any) -> tuple[dict[str, tuple[str, Any]], tuple[str, ...]]:
    """Return the field and the type of each key in the file, and the keys that are required."""
    types = {}
    for field, hint in get_type_hints(kind, include_extras=True).items():
        name = next((one.name for one in get_args(hint)[1:] if isinstance(one, Key)), field)
        types[name] = (field, hint)
    if is_typeddict(kind):
        return types, tuple(key for key in types if key in kind.__required_keys__)
    lacking = dataclasses.MISSING
    needed = {one.name for one in dataclasses.fields(kind) if one.default is one.default_factory is lacking}
    return types, tuple(key for key, (field, _) in types.items() if field in needed)


def check_names(names: Iterable[str], known: Iterable[str], problems: Problems, *place: str | int) -> None:
    """Add the unknown keys of a table to the problems."""
    there = sorted(known)
    for name in names:
        if name not in there:
            problems.add(f"unknown key {written(name)}; use {choose(name, there)}", *place, name)


def choose(word: object, known: Iterable[str]) -> str:
    """Return a correction for a word: `one of ...`, and the nearest.

    >>> choose("warmpup", ["warmup", "measure"])
    'one of warmup, measure (did you mean "warmup"?)'
    """
    there = list(known)
    return f"one of {', '.join(there)}{guess(word, there)}"


def guess(word: object, known: Iterable[object]) -> str:
    """Return the known name nearest to a word, as a question with a blank before it; empty if none is near.

    >>> guess("warmpup", ["warmup", "measure"])
    ' (did you mean "warmup"?)'
    """
    near = nearest(word, known)
    return f' (did you mean "{near[0]}"?)' if near else ""


def written(value: Any) -> str:
    r"""Return a value as the file has it, in one line, cut to a length that fits in a message.

    >>> print(written(["a", True]), written("one\nline"))
    ["a", true] "one\nline"
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:  # Python prints no number of thousands of digits.
        return "a number of thousands of digits"
    text = text if text.isprintable() else json.dumps(value, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _key_text(key: str) -> str:
    return key if _BARE.fullmatch(key) else written(key)


def _plain(kind: Any, value: Any, problems: Problems, *place: str | int) -> Any:
    """Return a value without keys of its own."""
    if kind is Any:
        return value
    key = _key_text(next(one for one in reversed(place) if isinstance(one, str)))
    if isinstance(value, float) and not math.isfinite(value):
        return problems.add(f"{key} is {value}; write a finite number", *place)
    if isinstance(value, int) and value not in INT64:
        return problems.add(f"{key} is {written(value)}; write a whole number that fits in 64 bits", *place)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return _refuse(kind, value, problems, *place)


def _refuse(kind: Any, value: Any, problems: Problems, *place: str | int) -> None:
    """Add a problem for a value that does not fit its type."""
    names = [_key_text(one) for one in place if isinstance(one, str)]
    header = f"[{'.'.join(names)}]"
    info = inspect.type_info(kind)
    wanted = _wanted(info)
    if wanted == _TABLE:
        wanted = f"{_TABLE}: {header if isinstance(place[-1], str) else f'[{header}]'} above its keys"
    elif isinstance(info, inspect.VarTupleType) and _wanted(info.item_type) == _TABLE:
        wanted = f"[{header}] above each"
    elif isinstance(info, inspect.LiteralType):
        wanted += guess(value, info.values)
    what = _TABLE if isinstance(value, dict) else written(value)
    problems.add(f"{names[-1]} is {what}; write {wanted}", *place)


_TABLE: Final = "a table"


def _wanted(info: inspect.Type) -> str:  # noqa: PLR0911  one for each type
    """Return the expected value for a type, in words."""
    match info:
        case inspect.Metadata():
            described = (info.extra_json_schema or {}).get("description")
            return described or _wanted(info.type)
        case inspect.UnionType():
            words = [_wanted(one) for one in info.types if not isinstance(one, inspect.NoneType)]
            return " or ".join(one for one in words if not (one == "a whole number" and "a number" in words))
        case inspect.LiteralType():
            return " or ".join(map(written, info.values))
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() | inspect.FloatType():
            whole = isinstance(info, inspect.IntType) or info.multiple_of == 1
            least = " above 0" if info.gt == 0 else " from 0" if info.ge == 0 else ""
            return f"a {'whole ' if whole else ''}number{least}"
        case inspect.VarTupleType():
            return "a list"
        case inspect.StrType():
            return "text"
    return _TABLE
