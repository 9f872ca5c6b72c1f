"""No module imports itself by way of others.

Imports in functions and under TYPE_CHECKING count. The public face, which loads what it exports when it is
used and names it for type checkers, needs no exception: no module below imports `esxparse` itself.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name

import pytest
from checkout import ROOT

PACKAGES = [ROOT / "esxparse", ROOT / "simulator" / "esxparse_simulator"]


def modules(packages):
    """Each module's name and its file."""
    return {
        ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): file
        for package in packages
        for file in sorted(package.rglob("*.py"))
    }


def imports(name, file, known):
    """The known modules that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            source = resolve_name("." * node.level + (node.module or ""), package)
            # `from a import b` imports the module a.b if there is one, and otherwise needs a itself.
            found |= {inner if (inner := f"{source}.{alias.name}") in known else source for alias in node.names}
    return found & known.keys()


def circle(packages):
    """The modules of one circle, in order of import; empty if there is none."""
    known = modules(packages)
    above = {name: imports(name, file, known) for name, file in known.items()}
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return []


def test_no_circle():
    found = circle(PACKAGES)
    assert not found, " imports ".join(found)


@pytest.mark.parametrize(
    "line", ["from pack import a", "def late():\n    import pack.a", "if TYPE_CHECKING:\n    from pack.a import x"]
)
def test_finds_a_circle(tmp_path, line):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("import pack.b\n")
    (package / "b.py").write_text(line + "\n")
    assert sorted(set(circle([package]))) == ["pack.a", "pack.b"]
