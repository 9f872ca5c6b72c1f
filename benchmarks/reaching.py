"""Which tests are responsible for a change: those of some files that run its lines, and those that make pages.

`responsible.toml` has the files. Coverage tells which test runs which line, once for each test file.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Protocol

import mutation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT: Final = mutation.ROOT
MUTANTS: Final = mutation.MUTANTS
RESPONSIBLE: Final[dict[str, list[str]]] = tomllib.loads(
    (Path(__file__).parent / "responsible.toml").read_text(encoding="utf-8")
)
REACHED: Final = MUTANTS / "reached"
PAGES: Final = "tests/published/test_golden_pages.py::test_the_report_of_"
WORKERS: Final = int(os.environ.get("MUTANT_WORKERS", "2"))
MOST_S: Final = 40.0
"""Processor seconds of tests, measured with coverage, that a mutant is tried against: of slower ones nobody knows."""


class Change(Protocol):
    """A module with one expression changed."""

    @property
    def path(self) -> Path:
        """The module."""

    @property
    def line(self) -> int:
        """Where it is changed."""

    @property
    def source(self) -> str:
        """The whole module before."""

    @property
    def where(self) -> str:
        """The module without its package."""


def _listed(path: Path) -> list[str]:
    """What `responsible.toml` has for a module: the entry of the longest prefix."""
    name = str(path).removeprefix("esxparse/")
    return RESPONSIBLE[max((prefix for prefix in RESPONSIBLE if name.startswith(prefix)), key=len)]


def _is_page(name: str) -> bool:
    return name.partition("[")[0] in {"recordings", "a_study", "a_lake"}


def file_named(name: str) -> str:
    """The path of a test file, whatever its folder in tests/ is."""
    return str(next((ROOT / "tests").rglob(f"test_{name}.py")).relative_to(ROOT))


def files_of(paths: Iterable[Path]) -> list[str]:
    """The test files that are responsible for modules."""
    return sorted({file_named(one) for path in paths for one in _listed(path) if not _is_page(one)})


def pages_of(path: Path) -> list[str]:
    """The tests of finished pages that are responsible for a module: `recordings[fio]`, `a_study[power]`."""
    return [f"{PAGES}{one}" for one in _listed(path) if _is_page(one)]


def reached(files: list[str]) -> dict[str, Any]:
    """By module and line the tests that ran it, and the processor time of each test; kept beside the mutants.

    A test file that was changed since it was last run is run again. After a change of the package remove REACHED.
    """
    REACHED.mkdir(parents=True, exist_ok=True)
    seen: dict[str, Any] = {"lines": {}, "seconds": {}}
    with ThreadPoolExecutor(WORKERS) as pool:
        for found in pool.map(_reached_by, files):
            seen["seconds"] |= found["seconds"]
            for module, lines in found["lines"].items():
                known = seen["lines"].setdefault(module, {})
                for line, tests in lines.items():
                    known.setdefault(line, set()).update(tests)
    return seen


def _reached_by(file: str) -> dict[str, Any]:
    """The same of one test file."""
    now, kept = hashlib.sha256((ROOT / file).read_bytes()).hexdigest(), REACHED / f"{Path(file).stem}.json"
    found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    if found.get("hash") != now:
        with TemporaryDirectory() as place:
            part = Path(place, "part.json")
            environment = os.environ | {"POLARS_MAX_THREADS": "1", "REACHED": str(part)}
            command = [sys.executable, "-m", "coverage", "run", "--source=esxparse", f"--data-file={place}/coverage"]
            command += ["-m", "pytest", "-p", "tests.reached", "-q", "-n", "0", "-p", "no:cacheprovider", file]
            subprocess.run([*command, "--hypothesis-profile=mutants"], cwd=ROOT, env=environment, check=True)
            found = {"hash": now} | json.loads(part.read_text(encoding="utf-8"))
        kept.write_text(json.dumps(found), encoding="utf-8")
    return found


def tests_of(mutant: Change, seen: Mapping[str, Any]) -> list[str]:
    """The module's own examples, the tests that run the lines of a mutant, quickest first, and those of its pages."""
    lines = seen["lines"].get(str(mutant.path), {})
    span = _statement(mutant)
    files = files_of([mutant.path])
    ran = {test for line in span for test in lines.get(str(line), ())}
    found = [test for test in ran if test.partition("::")[0] in files]
    if not found and ran == {""}:
        # It runs when the module is imported: every test sees it.
        found = [test for test in seen["seconds"] if test.partition("::")[0] in files]
    if mutant.where.startswith(("reports/", "charts/")):
        found = [*{*found, *(test for test in makers(seen) if test.partition("::")[0] in files)}]
    quickest = sorted(found, key=lambda test: seen["seconds"].get(test, 0.0))
    took = accumulate(seen["seconds"].get(test, 0.0) for test in quickest)
    own = [str(mutant.path)] if ">>>" in mutant.source else []
    return own + [test for test, total in zip(quickest, took, strict=True) if total <= MOST_S] + pages_of(mutant.path)


def makers(seen: Mapping[str, Any]) -> set[str]:
    """The tests that make a page: nobody sees which lines its process runs."""
    kernel = "esxparse/reports/kernel.py"
    lines = (ROOT / kernel).read_text(encoding="utf-8").splitlines()
    started = next(number for number, line in enumerate(lines, 1) if "process = launch(" in line)
    return set(seen["lines"].get(kernel, {}).get(str(started), ()))


def _statement(mutant: Change) -> range:
    """The lines of the statement that is changed, without the statements inside it."""
    spans = [
        range(node.lineno, node.body[0].lineno if hasattr(node, "body") else (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(ast.parse(mutant.source))
        if isinstance(node, ast.stmt)
    ]
    return min((span for span in spans if mutant.line in span), key=len)
