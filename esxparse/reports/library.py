"""The report templates of esxparse and of other packages, with their metadata.

A package adds a template by an entry point of the group `esxparse.templates`. The entry's name is the template's; its
value is a module with the notebook NAME.ipynb beside it. The module is located, not imported.

A template is a notebook with a cell tagged `parameters`. Its metadata hold, under `esxparse`:

    title        str   for lists and as the report's title
    description  str   one or two sentences: the questions that the report answers
    formats      list  formats of recordings it can take, such as ["esxtop"]
    study        dict  for templates of studies: requirements for a study (`study.needs`)
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from esxparse.errors import EsxparseError, choose_from, did_you_mean
from esxparse.formats.opening import NAMES, Opening
from esxparse.reports.study import needs
from esxparse.shipped import templates_dir

GROUP: Final = "esxparse.templates"
"""Entry points of packages with templates."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a template: name, type as written, default as written, and the comment beside it."""

    name: str
    type: str
    default: str | None
    help: str


@dataclass(frozen=True, slots=True)
class Template:
    """A report template."""

    name: str
    title: str
    description: str
    formats: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    path: Path
    study: needs.Needs | None = None
    """Requirements for a study, if the template serves studies."""

    def has(self, name: str) -> bool:
        """Return whether it declares a parameter of that name."""
        return any(parameter.name == name for parameter in self.parameters)


def shipped() -> list[Template]:
    """Return the templates that come with esxparse, sorted by name."""
    return sorted((read(path) for path in templates_dir().glob("*.ipynb")), key=lambda one: one.name)


def needs_of_studies() -> dict[str, needs.Needs]:
    """Return the needs of the study templates that come with esxparse, by name."""
    return {one.name: one.study for one in shipped() if one.study is not None}


def templates() -> list[Template]:
    """Return all templates, including installed packages', sorted by name; other notebooks are left out."""
    return all_templates()[0]


def all_templates() -> tuple[list[Template], list[EsxparseError]]:
    """Return all templates, sorted by name, and the errors of invalid ones from other packages."""
    there = {one.name: one for one in shipped()}
    broken: list[EsxparseError] = []
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        try:
            there[point.name] = read(_notebook_of(point, there))
        except EsxparseError as error:
            whose = point.dist.name if point.dist else point.value
            broken.append(EsxparseError(f"template {point.name!r} of package {whose}: {error}"))
    return sorted(there.values(), key=lambda one: one.name), broken


def _notebook_of(point: EntryPoint, taken: Collection[str]) -> Path:
    if point.name in taken:
        raise EsxparseError("there is another template of that name")
    try:
        module = find_spec(point.value)
    except (ImportError, ValueError, AttributeError) as error:
        raise EsxparseError(f"module {point.value} cannot be found: {error}") from None
    folders = [Path(one) for one in (module.submodule_search_locations or [])] if module else []
    folders += [Path(module.origin).parent] if module and module.origin else []
    found = next((one / f"{point.name}.ipynb" for one in folders if (one / f"{point.name}.ipynb").is_file()), None)
    if found is None:
        raise EsxparseError(f"there is no {point.name}.ipynb in module {point.value}")
    return found


def find(template: str | Path) -> Template:
    """Return the template of that name, or the notebook at that path.

    `template`: name of a template that comes with esxparse, or path of a notebook (`.ipynb`).

    Raises EsxparseError: There is no such template; the message lists the known ones.
    """
    path = Path(template)
    if path.suffix == ".toml":
        raise EsxparseError(
            f"{template} is not a template: a template is a notebook. Copy the closest one (esxparse templates "
            "copy scaling our_scaling), change its cells, and pass our_scaling.ipynb"
        )
    if path.suffix == ".ipynb":
        if not path.is_file():
            msg = f"no template notebook at {path}: give a template name or the path of an .ipynb file"
            raise EsxparseError(msg)
        return read(path)
    there, broken = all_templates()
    known = {one.name: one for one in there}
    if str(template) not in known:
        mine = [error for error in broken if str(error).startswith(f"template {str(template)!r} of")]
        if mine:
            raise mine[0]
        msg = f"unknown template {str(template)!r}: {choose_from(template, known)}, or give the path of an .ipynb file"
        raise EsxparseError(msg)
    return known[str(template)]


def read(path: Path) -> Template:
    """Return the template from the metadata of the notebook at `path`."""
    try:
        notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        about = notebook.get("metadata", {}).get("esxparse", {})
        sources = [
            "".join(cell.get("source", ""))
            for cell in notebook["cells"]
            if "parameters" in cell.get("metadata", {}).get("tags", [])
        ]
        title, description = str(about.get("title", path.stem)), str(about.get("description", ""))
        formats = tuple(map(str, about.get("formats", ())))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        msg = f"{path} is not a Jupyter notebook ({type(error).__name__}: {error}): save it from Jupyter again"
        raise EsxparseError(msg) from error
    try:
        parameters = tuple(parameter for source in sources for parameter in _parameters(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise EsxparseError(f"the parameters cell of {path} is not valid Python: {error}") from error
    try:
        study = needs.read(about["study"]) if "study" in about else None
    except EsxparseError as error:
        raise EsxparseError(f"{path}: {error}") from None
    return Template(
        name=path.stem,
        title=title,
        description=description,
        formats=formats,
        parameters=parameters,
        path=path,
        study=study,
    )


_OR_NONE: Final = " | None"


def _parameters(source: str) -> Iterator[Parameter]:
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        _, _, comment = lines[(node.end_lineno or 1) - 1][node.end_col_offset or 0 :].partition("#")
        kind, default = ast.unparse(node.annotation), None if node.value is None else ast.unparse(node.value)
        if kind.endswith(_OR_NONE) and default == "None":
            # None means unset.
            kind, default = kind.removesuffix(_OR_NONE), None
        yield Parameter(node.target.id, kind, default, comment.strip())


_OPENING: Final = "opening"
"""The parameter for the options of `esxparse.open` that a template does not declare by name."""

_RECORDINGS: Final = frozenset({"capture", "captures", "lake", "study"})
_TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def values_of(
    template: Template, parameters: Mapping[str, Any], opening: Mapping[str, Any]
) -> tuple[Opening, dict[str, Any]]:
    """Return the options of `esxparse.open` from both sources, and the values of the template's other parameters."""
    declared = {parameter.name: parameter for parameter in template.parameters}
    texts = dict(opening)
    others: dict[str, Any] = {}
    for name, value in parameters.items():
        if name == _OPENING and template.has(_OPENING):
            texts |= _typed("dict", value, name)
        elif name in NAMES and (name in declared or template.has(_OPENING)):
            texts[name] = value
        elif name in declared and name not in _RECORDINGS:
            others[name] = _typed(declared[name].type, value, name)
        else:
            raise _unknown(template, name)
    options = Opening.of(texts)
    for name in options.said():
        if name not in declared and not template.has(_OPENING):
            raise _unknown(template, name)
    return options, others


def passed_on(template: Template, options: Opening) -> dict[str, Any]:
    """Return the options as parameters: declared ones by name, the others together."""
    texts = options.texts()
    declared = {name: texts.pop(name) for name in list(texts) if template.has(name)}
    return {**declared, **({_OPENING: texts} if texts else {})}


def _unknown(template: Template, name: str) -> EsxparseError:
    known = sorted({parameter.name for parameter in template.parameters} - {*_RECORDINGS, _OPENING})
    more = "options of esxparse.open" if template.has(_OPENING) else ""
    takes = ", ".join(known) + (f" and {more}" if known and more else more)
    return EsxparseError(
        f"template {template.name!r} has no parameter {name!r}: {did_you_mean(name, known)}it takes {takes or 'none'}"
    )


def _list(text: str) -> list[Any]:
    found = json.loads(text) if text.startswith("[") else [part.strip() for part in text.split(",") if part.strip()]
    return list(found)


_READ: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (lambda text: _TRUTHS[text.casefold()], "true or false"),
    "list": (_list, "a list: a,b,c or JSON"),
    "dict": (lambda text: dict(json.loads(text)), 'a JSON object: {"name": "value"}'),
}


def _typed(kind: str, value: Any, name: str) -> Any:
    """Convert text from the command line to the type that a parameter declares."""
    read, what = _READ.get(kind.partition("[")[0], (None, ""))
    wrong = EsxparseError(f"parameter {name} is {value!r}: it must be {what}")
    if kind == "dict" and not isinstance(value, (str, Mapping)):
        raise wrong
    if read is None or not isinstance(value, str):
        return value
    try:
        return read(value.strip())
    except (ValueError, KeyError, TypeError, RecursionError):
        raise wrong from None
