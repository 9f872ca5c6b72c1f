"""The doctests of what `make mutants` changes, as tests of their own: mutmut hides them from pytest's collector.

A mutated file holds each function many times, docstring included, behind one that has its name and belongs to mutmut.
So docstrings are taken from the source, and run with the names of the imported module.
"""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLAGS = doctest.ELLIPSIS
MUTATED = (*sorted((ROOT / "esxparse/metrics").glob("*.py")), ROOT / "esxparse/formats/fio/options.py")


def documented(path: Path) -> list[tuple[str, str, str]]:
    """Module, name and docstring of all that has examples."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    found = [(getattr(node, "name", "module"), node) for node in ast.walk(tree) if isinstance(node, kinds)]
    return [
        (module, name, text)
        for name, node in found
        if "__mutmut" not in name and (text := ast.get_docstring(node)) and ">>>" in text
    ]


@pytest.mark.parametrize(
    ("module", "name", "text"),
    [pytest.param(*one, id=f"{one[0]}.{one[1]}") for path in MUTATED for one in documented(path)],
)
def test_doctest(module: str, name: str, text: str) -> None:
    names = dict(vars(importlib.import_module(module)))
    examples = doctest.DocTestParser().get_doctest(text, names, name, module, 0)
    assert doctest.DocTestRunner(optionflags=FLAGS).run(examples).failed == 0
