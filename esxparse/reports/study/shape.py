"""Shapes of studies: what is asked of a study of that kind, as data, in templates/NAME.toml.

A shape makes a template of its own of the study notebook: `esxparse report -t scaling`. Its file says

    title, description    as every template does
    question              what is asked where the manifest asks nothing
    example               the bundled study that it is shown on
    rank                  its turn when `auto` looks for the shape that fits, the lowest first
    method, limits        sentences for the report's end
    [needs]               what the study must have (`lacks`), or the template is the wrong one
    [[fits]]              what it must have beside that for `auto` to take it, one of several; none: never by itself
    [parameters.NAME]     what `-p NAME=VALUE` or [report.inputs] of a manifest sets: help, and a default or a type
                          ("int", "float", "str"). Without a default it is an input: nothing is concluded until the
                          user gives it, and `auto` never takes the shape. of: the label whose first value it is by
                          default; least: the smallest value, 0 if not written
    [tables]              tables that follow from the study (`esxparse.studies.derived`)
    [[answer]]            sql, text: a sentence for each row, with its columns in braces; none where one of them is null
    [[chart]]             style, x, by: a value as Study.plot draws it; or points: sql with _x, _y and perhaps
                          _low, _high, _linear, _panel, _runs; title, unit, place, level, said, relative
    [[table]]             sql, caption, columns (name = "Head [unit]")
    follow                which sentences come after those: loads, values; "own" says where those stand, if not first

Of answers, charts and tables `each` makes one for each value reported on, `better` only of those where that is better;
`has` makes it only where runs have numbers in these columns, `when` only where the study has these: rules, tolerances,
sweep, units, baseline, results, figures, or does not ("no rules").

`$name` stands for a parameter, or for `sweep`, `units` (the other number that varies), `swept`, `number`, `unit_words`
(words for them: VMs, number of VMs, vCPUs), `base` and `base_value` (the
baseline's label and its value), `tolerances`, and of each value `value`, `name`, `unit`. In SQL it is the name of a
column, and in quotation marks ('$name') a text; lists (`labels`; `by`, all but the sweep; `others`, without `units`
too) are columns with a comma before each. Sentences know the same names, in braces, and `who`, the labels that tell the
rows apart, and `labels_told`, all of them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from esxparse import toml
from esxparse.errors import EsxparseError
from esxparse.shipped import templates_dir
from esxparse.studies.roles import BENCHMARKS, WORKLOADS

if TYPE_CHECKING:
    from esxparse.studies.expand import Run
    from esxparse.studies.study_file import Manifest

_HOLE: Final = re.compile(r"\$(\w+)")
_TEXT: Final = re.compile(r"'\$(\w+)'")
_WANTED: Final = {"title": str, "description": str, "question": str, "example": str, "rank": int}
_KEYS: Final = frozenset({*_WANTED, "follow", "method", "limits", "needs", "fits", "parameters", "tables"})
_ITEMS: Final = ("answer", "chart", "table")


@dataclass(frozen=True)
class Shape:
    """A kind of study, and what its report says."""

    name: str
    path: Path
    title: str
    description: str
    question: str
    example: str
    rank: int
    needs: Mapping[str, Any]
    fits: Sequence[Mapping[str, Any]]
    parameters: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, Any]
    answer: Sequence[Mapping[str, Any]]
    chart: Sequence[Mapping[str, Any]]
    table: Sequence[Mapping[str, Any]]
    follow: Sequence[str] = ("loads", "values")
    method: Sequence[str] = ()
    limits: Sequence[str] = ()


def shapes() -> list[Shape]:
    """Those that come with esxparse, in the order in which `auto` tries them."""
    return sorted((read(path) for path in templates_dir().glob("*.toml")), key=lambda one: (one.rank, one.name))


def read(path: Path) -> Shape:
    """The shape that a file tells.

    Raises EsxparseError: It cannot be read, or something in it is missing or unknown.
    """
    try:
        found = toml.parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise EsxparseError(f"{path}: {error}") from None
    for key, kind in _WANTED.items():
        if not isinstance(found.get(key), kind):
            raise EsxparseError(f"{path}: {key} must be {'text' if kind is str else 'a whole number'}")
    if strange := sorted(set(found) - {*_KEYS, *_ITEMS}):
        raise EsxparseError(f"{path}: unknown key {strange[0]!r}")
    for name, one in found.get("parameters", {}).items():
        if "help" not in one or ("default" in one) == ("type" in one):
            raise EsxparseError(f"{path}: parameter {name} must have help, and either a default or a type")
    empty: dict[str, Any] = {"needs": {}, "fits": [], "parameters": {}, "tables": {}}
    return Shape(path.stem, path, **{**empty, **{name: [] for name in _ITEMS}, **found})


def named(name: str) -> Shape | None:
    """The shape of that name; None where no shape is asked for.

    Raises EsxparseError: There is none of that name.
    """
    if not name:
        return None
    path = templates_dir() / f"{name}.toml"
    if not re.fullmatch(r"\w+", name) or not path.is_file():
        told = ", ".join(one.name for one in shapes())
        raise EsxparseError(f"there is no shape {name!r} of studies: choose from {told}")
    return read(path)


def kind_of(parameter: Mapping[str, Any]) -> str:
    """The type of a shape's parameter: its `type`, if it has no default."""
    return str(parameter.get("type") or type(parameter["default"]).__name__)


def given(shape: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a shape's parameters that a notebook sets, among its variables."""
    found = named(shape)
    return {name: variables[name] for name in found.parameters if variables.get(name) is not None} if found else {}


def example(name: str) -> str:
    """The bundled study that a template is shown on."""
    found = named(name)
    return found.example if found else "iser"


def lacks(wanted: Mapping[str, Any], manifest: Manifest, runs: Sequence[Run]) -> str:
    """What a study lacks of what is wanted, in words; nothing if it has all.

    sweep = true         a label with three numbers or more
    baseline = true      a baseline, or none where false
    native = true        a baseline called native, bare-metal or physical
    rules, tolerances    whether [report] has them
    labels = [...]       a label of one of these names
    roles = [...]        files for one of these purposes
    values = [...]       the baseline's label has all these values
    apart = [...]        these labels do not identify the baseline
    workload = false     no files of a load generator or benchmark
    """
    said = {
        "sweep": (bool(sweeps(runs)), "a label with three numbers or more"),
        "baseline": (bool(manifest.baseline), "a baseline"),
        "native": (bool(_NATIVE & set(map(str, manifest.baseline.values()))), "a baseline that is native"),
        "rules": (bool(manifest.asked.rules), "rules in [report]"),
        "tolerances": (bool(manifest.asked.tolerances), "tolerances in [report]"),
        "workload": (
            bool((WORKLOADS | BENCHMARKS) & {role for run in runs for role in run.files}),
            "files of a load generator or benchmark",
        ),
    }
    labels = {name for run in runs for name in run.labels}
    roles = {role for run in runs for role in run.files}
    values = {str(run.labels.get(name)) for run in runs for name in manifest.baseline}
    for key, asked in wanted.items():
        if key in said:
            there, what = said[key]
            if there != asked:
                return what if asked else f"to do without {what}"
        elif key == "labels" and not labels & set(asked):
            return f"a label {' or '.join(asked)}"
        elif key == "roles" and not roles & set(asked):
            return f"files of {' or '.join(asked)}"
        elif key == "values" and not set(asked) <= values:
            return f"a baseline among {' and '.join(asked)}"
        elif key == "apart" and set(asked) & set(manifest.baseline):
            return f"a baseline by another label than {' or '.join(asked)}"
    return ""


_NATIVE: Final = frozenset({"native", "bare-metal", "physical"})


def sweeps(runs: Iterable[Run]) -> list[str]:
    """The labels that are numbers of which there are enough for a curve, the longest sweep first."""
    from esxparse.charts.reduce import SWEEP  # noqa: PLC0415  polars is not for --help

    seen: dict[str, set[Any]] = {}
    for run in runs:
        for name, value in run.labels.items():
            seen.setdefault(name, set()).add(value)
    found = {
        name: values - {None}
        for name, values in seen.items()
        if name != "repetition" and all(isinstance(one, int | float) or one is None for one in values)
    }
    return sorted((name for name in found if len(found[name]) >= SWEEP), key=lambda name: -len(found[name]))


def check(shape: Shape, manifest: Manifest, runs: Sequence[Run]) -> None:
    """Refuses a study of another shape.

    Raises EsxparseError: It lacks what the shape needs; the message names a template that fits.
    """
    if what := lacks(shape.needs, manifest, runs):
        labels = ", ".join(runs[0].labels) if runs else ""
        told = f"its labels are {labels}" if labels else "its runs have no labels"
        raise EsxparseError(
            f"{manifest.path}: template {shape.name!r} needs {what}; {told}. Template {fitting(manifest, runs)!r} fits"
        )


def fitting(manifest: Manifest, runs: Sequence[Run]) -> str:
    """The name of the template for a study: what its manifest says, or else told from what was varied."""
    if manifest.asked.shape:
        return manifest.asked.shape
    for one in shapes():
        if not lacks(one.needs, manifest, runs) and any(not lacks(more, manifest, runs) for more in one.fits):
            return one.name
    return "study"


def filled(told: Any, names: Mapping[str, Any], *, sql: bool = False) -> Any:
    r"""What is told with `$name` replaced; a text that is one such name becomes what it stands for.

    Raises EsxparseError: A name stands for nothing.

    >>> filled({"args": ["$sweep", 2]}, {"sweep": "vms"})
    {'args': ['vms', 2]}
    >>> filled("SELECT $sweep, $price FROM a WHERE b = '$base'", {"sweep": "a b", "price": 2, "base": "o'k"}, sql=True)
    'SELECT "a b", 2 FROM a WHERE b = \'o\'\'k\''
    """
    if isinstance(told, Mapping):
        return {filled(key, names): filled(value, names, sql=key == "sql") for key, value in told.items()}
    if isinstance(told, list):
        made = [filled(one, names) for one in told]
        return [one for some in made for one in (some if isinstance(some, list) else [some])]
    if not isinstance(told, str):
        return told
    whole = _HOLE.fullmatch(told)
    if whole and not sql:
        return _known(names, whole[1])
    if sql:
        told = _TEXT.sub(lambda hole: _literal(_known(names, hole[1])), told)
    return _HOLE.sub(lambda hole: _written(_known(names, hole[1]), sql=sql), told)


def holes(told: Any) -> set[str]:
    """The names in what is told.

    >>> sorted(holes({"sql": "SELECT $sweep", "args": ["$value"]}))
    ['sweep', 'value']
    """
    if isinstance(told, Mapping):
        return set().union(*map(holes, told.values()), *map(holes, told))
    if isinstance(told, list):
        return set().union(*map(holes, told))
    return set(_HOLE.findall(told)) if isinstance(told, str) else set()


def _known(names: Mapping[str, Any], name: str) -> Any:
    if name not in names:
        raise EsxparseError(f"${name} of the template stands for nothing in this study")
    return names[name]


def _literal(value: Any) -> str:
    """A value in SQL: text in quotation marks, a number as it is."""
    if isinstance(value, int | float):
        return str(value).upper() if isinstance(value, bool) else f"{value!r}"
    return "'" + str(value).replace("'", "''") + "'"


def _written(value: Any, *, sql: bool) -> str:
    if isinstance(value, int | float):
        return f"{value:.15g}"
    if not sql:
        return str(value)
    if isinstance(value, list):
        return "".join(f", {_written(one, sql=True)}" for one in value)
    return '"' + str(value).replace('"', '""') + '"'
