"""Mutants that change what a reader of a page is shown: a median for a mean, another column, a boundary moved by one.

`mutation.py` takes metrics/ and every small change. This takes what lies between the metrics and the page, and the
changes that people make by mistake. Each mutant is written into a copy of the tree. There the tests run that reach its
lines, of the files that `responsible.toml` lists for its module, the quickest first, until one fails. Pages are made in
processes of their own, where nobody sees which lines run: tests that make one, and those that `responsible.toml` names,
always run.
Same table, same list of equivalent mutants.
Run: `python benchmarks/mutation_meaning.py [--minutes N] [--sample N [--seed N]] [--show] [MODULE ...]`
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Final

import mutation
import sections
from reaching import PAGES, RESPONSIBLE, WORKERS, files_of, reached, tests_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = mutation.ROOT
TREES: Final = mutation.MUTANTS / "trees"
KEPT: Final = mutation.MUTANTS / "meaning.json"
MUTANTS: Final = mutation.MUTANTS

SWAPPED: Final = {
    "mean": "median", "median": "mean", "sum": "mean", "max": "min", "min": "max", "first": "last", "last": "first",
    "head": "tail", "tail": "head", "mean_horizontal": "max_horizontal", "max_horizontal": "min_horizontal",
    "min_horizontal": "max_horizontal", "sum_horizontal": "max_horizontal", "any_horizontal": "all_horizontal",
    "all_horizontal": "any_horizontal", "any": "all", "all": "any", "arg_max": "arg_min", "arg_min": "arg_max",
    "top_k": "bottom_k", "bottom_k": "top_k", "cum_sum": "cum_max", "floor": "ceil", "ceil": "floor", "std": "var",
    "is_null": "is_not_null", "is_not_null": "is_null", "n_unique": "count",
}  # fmt: skip
"""Functions and methods that are taken for one another."""
OPERATORS: Final = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Mult: "/", ast.Div: "*", ast.Add: "-", ast.Sub: "+", ast.And: "or", ast.Or: "and",
}  # fmt: skip
WORDS: Final = {"left": "inner", "inner": "left", "full": "left", "semi": "anti", "anti": "semi", "backward": "forward"}
"""How tables are joined."""
UNITS: Final = {100: 1, 1000: 1024, 1024: 1000, 1e6: 2**20, 2**20: 10**6, 60: 3600, 3600: 60, 0.95: 0.5, 0.5: 0.95}
"""Factors and shares that are taken for one another. Other numbers are left alone: most are sizes in pixels."""
SIGN: Final = re.compile(rb"[<>=!]=|[<>*/+-]|\b(?:and|or)\b")
SUFFIX: Final = re.compile(r"[a-z0-9_]*(_[a-z0-9]+)")


@dataclass(frozen=True)
class Mutant:
    """A module with one expression changed."""

    path: Path
    line: int
    start: int
    end: int
    text: str
    source: str

    @property
    def where(self) -> str:
        """The module, as the tables of mutants print it."""
        return str(self.path).removeprefix("esxparse/").removesuffix(".py")

    @property
    def key(self) -> str:
        """Its name in the file of results."""
        return hashlib.sha256(f"{self.path}\n{self.changed}".encode()).hexdigest()

    @property
    def changed(self) -> str:
        """The whole module after the change."""
        data = self.source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()

    @property
    def lines(self) -> tuple[str, str]:
        """The line before and after."""
        return self.source.splitlines()[self.line - 1].strip(), self.changed.splitlines()[self.line - 1].strip()


class _Code:
    """The bytes of a module, and where its nodes are."""

    def __init__(self, source: str) -> None:
        self.data = source.encode()
        self.offsets = list(accumulate(map(len, self.data.splitlines(keepends=True)), initial=0))

    def start(self, node: ast.expr) -> int:
        return self.offsets[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr) -> int:
        return self.offsets[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)


def mutants(path: Path) -> Iterator[Mutant]:
    """Every change to the expressions of a module."""
    source = (ROOT / path).read_text(encoding="utf-8")
    code, tree = _Code(source), ast.parse(source)
    ignored = _not_code(tree)
    columns = sorted({text for text in _texts(tree, ignored) if SUFFIX.fullmatch(text)})
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and id(node) not in ignored:
            for start, end, new in _changes(node, code, columns):
                yield Mutant(path, code.data[:start].count(b"\n") + 1, start, end, new, source)


def _changes(node: ast.expr, code: _Code, columns: list[str]) -> Iterator[tuple[int, int, str]]:
    """The bytes to replace for each change to one expression, and their replacement."""
    start, end = code.start(node), code.end(node)
    if isinstance(node, ast.Attribute | ast.Name):
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        if name in SWAPPED and isinstance(node.ctx, ast.Load):
            yield end - len(name), end, SWAPPED[name]
    elif isinstance(node, ast.Constant):
        yield from ((start, end, new) for new in _constants(node.value, columns))
    elif isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp):
        left, operator, right = _operation(node)
        sign = SIGN.search(code.data, code.end(left), code.start(right))
        if sign and type(operator) in OPERATORS and not _joins_texts(node):
            yield *sign.span(), OPERATORS[type(operator)]


def _operation(node: ast.Compare | ast.BinOp | ast.BoolOp) -> tuple[ast.expr, ast.AST, ast.expr]:
    """The first two operands of an operation, and what stands between them."""
    if isinstance(node, ast.Compare):
        return node.left, node.ops[0], node.comparators[0]
    if isinstance(node, ast.BoolOp):
        return node.values[0], node.op, node.values[1]
    return node.left, node.op, node.right


def _joins_texts(node: ast.expr) -> bool:
    """Whether an operation puts texts or lists together: any other operator fails at once."""
    joined = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
    return isinstance(node, ast.BinOp) and any(
        isinstance(one, joined) or (isinstance(one, ast.Constant) and isinstance(one.value, str))
        for one in (node.left, node.right)
    )


def _constants(value: object, columns: list[str]) -> Iterator[str]:
    """What a constant is mistaken for."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value in UNITS:
        yield repr(UNITS[value])
    elif isinstance(value, str) and value in WORDS:
        yield f'"{WORDS[value]}"'
    elif isinstance(value, str) and value in columns:
        # The next column of the same unit: the mistake that no type and no unit gives away.
        suffix = SUFFIX.fullmatch(value)
        alike = [one for one in columns if suffix and one.endswith(suffix[1]) and one != value]
        yield from (f'"{one}"' for one in [*(one for one in alike if one > value), *alike][:1])


def _texts(tree: ast.AST, ignored: set[int]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in ignored:
            yield node.value


def _not_code(tree: ast.AST) -> set[int]:
    """Nodes that compute nothing: docstrings, annotations, lists of public names."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.append(node.value)
        if isinstance(node, ast.FunctionDef):
            parts.append(node.returns)
        if isinstance(node, ast.arg | ast.AnnAssign):
            parts.append(node.annotation)
        if isinstance(node, ast.Assign) and any(
            isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets
        ):
            parts.append(node.value)
        if isinstance(node, ast.Raise | ast.JoinedStr):
            parts.append(node)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            parts.extend(node.decorator_list)
        found.update(id(inner) for part in parts if part for inner in ast.walk(part))
    return found


def tree(number: int) -> Path:
    """A copy of what git knows and of the compiled scanner, for one worker."""
    place = TREES / str(number)
    shutil.rmtree(place, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)  # noqa: S607
    names = [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).exists()]
    names += [str(path.relative_to(ROOT)) for path in (ROOT / "esxparse").glob("_native*.so")]
    for name in names:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, place / name)
    return place


class Tries:
    """Tests in a copy of the tree, one after another, in forks of one process."""

    def __init__(self, number: int, files: list[str]) -> None:
        self.place = tree(number)
        environment = os.environ | mutation.ENVIRONMENT
        environment |= {"PYTHONPATH": f"{self.place}:{self.place / 'simulator'}"}
        del environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
        simulated = self.place / "simulated"
        simulated.mkdir()
        # Bytecode of the tree and of tests, once; none of mutants, which may have the time and size of another.
        subprocess.run([sys.executable, "-m", "compileall", "-q", "esxparse", "simulator"], cwd=self.place, check=True)
        collect = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-n", "0", "-p", "no:cacheprovider", *files]
        subprocess.run(collect, cwd=self.place, env=environment, stdout=subprocess.DEVNULL, check=True)
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).parent / "forked.py")],
            cwd=self.place,
            env=environment | {"PYTHONDONTWRITEBYTECODE": "1", "SIMULATED": str(simulated)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def status(self, tests: list[str]) -> int:
        """The exit status of the tests; those that take too long have noticed something."""
        if not tests or self.process.stdin is None or self.process.stdout is None:
            return 0
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header", "--hypothesis-profile=mutants"]
        # Neither other doctests, nor the choice of quick tests: slow pages may be the ones responsible.
        options += ["--override-ini=addopts=", *(["--doctest-modules"] if tests[0].startswith("esxparse/") else [])]
        self.process.stdin.write(json.dumps([*options, *tests]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


def run(waiting: list[Mutant], kept: dict[str, int], seconds: float) -> None:
    """Tries the mutants, one in each copy of the tree at a time, and keeps what became of them."""
    files = files_of(one.path for one in waiting)
    seen = reached(files)
    places: Queue[Tries] = Queue()
    for number in range(min(WORKERS, len(waiting))):
        places.put(Tries(number, [*files, PAGES.partition("::")[0]]))
    end = time.monotonic() + seconds

    def one(mutant: Mutant) -> None:
        if time.monotonic() > end:
            return
        if mutation.kind_of(mutant.where, *mutant.lines) == "equivalent":
            kept[mutant.key] = 0
            return
        tries = places.get()
        target = tries.place / mutant.path
        target.write_text(mutant.changed, encoding="utf-8")
        kept[mutant.key] = tries.status(tests_of(mutant, seen))
        target.write_text(mutant.source, encoding="utf-8")
        places.put(tries)
        KEPT.write_text(json.dumps(dict(kept)), encoding="utf-8")

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(one, waiting))


def main() -> None:
    """Tries what was not tried yet, and writes the section."""
    options = mutation.arguments(__doc__).parse_args()
    paths = sorted(path.relative_to(ROOT) for prefix in RESPONSIBLE for path in ROOT.glob(f"esxparse/{prefix}*.py"))
    paths += sorted(path.relative_to(ROOT) for prefix in RESPONSIBLE for path in ROOT.glob(f"esxparse/{prefix}/*.py"))
    paths = [
        path for path in dict.fromkeys(paths) if not options.modules or any(w in str(path) for w in options.modules)
    ]
    made = [one for path in paths for one in mutants(path)]
    names = mutation.chosen(((one.key, one.where) for one in made), options.sample, options.seed)
    every = list({one.key: one for one in made if one.key in names}.values())
    KEPT.parent.mkdir(exist_ok=True)
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    if not options.show:
        # Modules in turns, so that a run that is stopped has tried some of each.
        waiting = sorted((one for one in every if one.key not in kept), key=lambda one: one.key)
        run(waiting, kept, options.minutes * 60)
    counts: dict[str, Counter[str]] = {}
    for one in every:
        count = counts.setdefault(one.where, Counter())
        count["made"] += 1
        if one.key in kept:
            out, into = one.lines
            kind = "noticed" if kept[one.key] else mutation.kind_of(one.where, out, into)
            count[kind] += 1
            if options.show and kind == "survived":
                print(f"{one.path}:{one.line}\n  - {out}\n  + {into}")
    lines = mutation.table(counts | {"**all**": sum(counts.values(), Counter[str]())})
    print("\n".join(lines))
    if not options.modules:
        introduction = (
            "Changes of meaning (a median for a mean, another column of the same unit, a boundary, a join, a unit)."
        )
        sections.put(
            "Mutants of what people read",
            [introduction, *mutation.said(counts, options, len(made), "mutation_meaning"), "", *lines],
        )


if __name__ == "__main__":
    main()
