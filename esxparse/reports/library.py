"""The report templates that come with esxparse, and what each says about itself.

A template is a notebook with a cell tagged `parameters`. Its metadata hold, under `esxparse`:

    title        str   for lists and as the report's title
    description  str   one or two sentences: what the report answers
    formats      list  formats of recordings it can take, such as ["esxtop"]
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esxparse.errors import EsxparseError
from esxparse.shipped import templates_dir

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a template can be given: name, type as written, default as written, and the comment beside it."""

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

    def has(self, name: str) -> bool:
        """Whether it declares a parameter of that name."""
        return any(parameter.name == name for parameter in self.parameters)


def templates() -> list[Template]:
    """All templates that come with esxparse, sorted by name."""
    return [read(path) for path in sorted(templates_dir().glob("*.ipynb"))]


def find(template: str | Path) -> Template:
    """The template of that name, or the notebook at that path.

    Args:
        template: Name of a template that comes with esxparse, or path of a notebook (`.ipynb`).

    Raises:
        EsxparseError: There is none; the message lists those there are.
    """
    path = Path(template)
    if path.suffix == ".ipynb":
        if not path.is_file():
            msg = f"no template notebook at {path}: give the name of a template or the path of an .ipynb file"
            raise EsxparseError(msg)
        return read(path)
    known = {one.name: one for one in templates()}
    if str(template) not in known:
        msg = f"unknown template {str(template)!r}: there is {', '.join(known)}; a path of an .ipynb file works too"
        raise EsxparseError(msg)
    return known[str(template)]


def read(path: Path) -> Template:
    """What the notebook at `path` says about itself."""
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
    return Template(
        name=path.stem,
        title=title,
        description=description,
        formats=formats,
        parameters=parameters,
        path=path,
    )


def _parameters(source: str) -> Iterator[Parameter]:
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        _, _, comment = lines[(node.end_lineno or 1) - 1][node.end_col_offset or 0 :].partition("#")
        default = None if node.value is None else ast.unparse(node.value)
        yield Parameter(node.target.id, ast.unparse(node.annotation), default, comment.strip())
