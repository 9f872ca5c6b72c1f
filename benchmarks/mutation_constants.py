"""Mutants of what `mutmut run` leaves alone: tables of names and units, limits and patterns outside of functions.

So for metrics/; of the scanner's twin and of what knows the units of files the functions too, which only a few tests
are about. mutmut's operators make the mutants (of texts the first kind alone). Each is compiled in a process that was
forked from one that has imported the libraries and nothing of ours, and tried against the test files named here.
Run: `python benchmarks/mutation_constants.py [--minutes N] [--sample N [--seed N]] [--show] [MODULE ...]`
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import libcst as cst
import mutation
import sections
from mutmut.mutation.file_mutation import create_mutations, deep_replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT: Final = mutation.ROOT
SELECTED: Final = ROOT / "tests/mutants.txt"
KEPT: Final = mutation.MUTANTS / "constants.json"
LONGEST_S: Final = 300
SHARED_TESTS: Final = {
    "_lag": ("lag", "power_join"),
    "_ratios": ("ratios", "ratio"),
    "_resolution": ("ratio", "ratios"),
    "_samples": ("host", "storage"),
    "_series": ("steady",),
    "energy": ("energy", "power_join"),
    "host_cpu": ("host",),
    "interval": ("ratio",),
    "memory": ("host",),
    "power": ("host",),
    "power_intervals": ("power_join",),
    "scalability_law": ("scaling", "scalability_law"),
}
OUTSIDE_ONLY: Final = ("metrics/", "power/resources")
"""Modules whose functions `mutmut run` takes, or whose functions do much besides units."""
READERS: Final = {
    "esxparse/formats/esxtop/scan_twin.py": ("scanner",),
    "esxparse/formats/fio/log_facts.py": ("fio_log_units",),
    "esxparse/formats/iometer/columns.py": ("iometer",),
    "esxparse/formats/power/resources.py": ("power_redfish",),
    "esxparse/formats/power/readings.py": ("power_texts", "power_redfish"),
    "esxparse/formats/topology/cpuinfo.py": ("topology_linux", "topology_vmware"),
}


@dataclass(frozen=True)
class Constant:
    """A module with one thing changed."""

    path: Path
    source: str
    out: str
    into: str

    @property
    def module(self) -> str:
        """As it is imported."""
        return ".".join(self.path.with_suffix("").parts)

    @property
    def where(self) -> str:
        """As `equivalent.toml` names it."""
        return str(self.path).removeprefix("esxparse/").removesuffix(".py")

    @property
    def key(self) -> str:
        """What is kept of it."""
        return hashlib.sha256(f"{self.path}\n{self.source}".encode()).hexdigest()


def constants(path: Path) -> Iterator[Constant]:
    """Every mutant that `mutmut run` does not make; what only types read is left out."""
    code = (ROOT / path).read_text(encoding="utf-8")
    module, mutations, _, _ = create_mutations(str(path), code)
    texts: set[int] = set()
    for one in mutations:
        if one.contained_by_top_level_function is not None and any(part in str(path) for part in OUTSIDE_ONLY):
            continue
        if isinstance(one.original_node, cst.SimpleString):
            if id(one.original_node) in texts:
                continue
            texts.add(id(one.original_node))
        changed = deep_replace(module, one.original_node, one.mutated_node)
        source = cst.ensure_type(changed, cst.Module).code
        lines = [line for line in difflib.ndiff(code.splitlines(), source.splitlines()) if line[0] in "-+"]
        out, into = ("\n".join(line[2:].strip() for line in lines if line[0] == sign) for sign in "-+")
        if not any(word in out for word in ("Literal[", "TypeVar(", "__all__", "TYPE_CHECKING")):
            yield Constant(path, source, out, into)


class _Changed(importlib.machinery.SourceFileLoader):
    """Loads a module from a text in the place of its file."""

    def __init__(self, constant: Constant) -> None:
        super().__init__(constant.module, str(ROOT / constant.path))
        self.source = constant.source

    def get_code(self, fullname: str) -> Any:
        return compile(self.source, self.get_filename(fullname), "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, constant: Constant) -> None:
        self.constant = constant

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> Any:
        del path, target
        if fullname != self.constant.module:
            return None
        return importlib.util.spec_from_loader(fullname, _Changed(self.constant))


def tests_of(path: Path) -> list[str]:
    """The test files of a module, and its doctests."""
    stem = path.stem
    if path.parent.name == "metrics":
        names = (*(f"metrics_{name}" for name in (*SHARED_TESTS.get(stem, (stem,)), "tables")), stem)
    else:
        names = READERS[str(path)]
    found = (sorted((ROOT / "tests").rglob(f"test_{name}.py")) for name in names)
    return [str(file.relative_to(ROOT)) for files in found for file in files]


def try_one(constant: Constant | None, path: Path) -> int:
    """Forks a process that runs the tests with the change; gives its number."""
    pid = os.fork()
    if pid:
        return pid
    # Not the parent's output; and no way back into it.
    try:
        signal.alarm(LONGEST_S)
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        if constant:
            sys.meta_path.insert(0, _Finder(constant))
        import pytest  # noqa: PLC0415 (imported already)

        slow = [one for one in SELECTED.read_text(encoding="utf-8").split() if one.startswith("--deselect")]
        base = [
            "-x",
            "-q",
            "-p",
            "_hypothesis_pytestplugin",
            "-p",
            "no:cacheprovider",
            "--override-ini=addopts=",
            *slow,
        ]
        code = int(pytest.main([*base, "--hypothesis-profile=mutants", *tests_of(path)]))
        if code == 0 and path.parent.name == "metrics":
            code = int(pytest.main([*base, "tests/mutants_doctests.py", "-k", f"metrics.{path.stem}."]))
            code = 0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else code
    except BaseException:  # noqa: BLE001 (whatever it is, the change was noticed)
        code = 1
    os._exit(code)


def warm_up() -> None:
    """Imports what takes long, and nothing that is changed."""
    for name in ("numpy", "polars", "pytest", "hypothesis.strategies", "scipy.stats", "_hypothesis_pytestplugin"):
        importlib.import_module(name)
    os.environ.update(mutation.ENVIRONMENT)


def run(waiting: list[Constant], kept: dict[str, int], seconds: float) -> None:
    """Tries them, as many at a time as there are processors; notes what became of each."""
    end = time.monotonic() + seconds
    running: dict[int, Constant] = {}
    for constant in waiting:
        if time.monotonic() > end:
            print("stopped: run it again to go on")
            break
        if len(running) >= (os.cpu_count() or 1):
            _finish(running, kept)
        running[try_one(constant, constant.path)] = constant
    while running:
        _finish(running, kept)


def _finish(running: dict[int, Constant], kept: dict[str, int]) -> None:
    pid, status = os.wait()
    kept[running.pop(pid).key] = os.waitstatus_to_exitcode(status)
    KEPT.write_text(json.dumps(kept), encoding="utf-8")


def main() -> None:
    options = mutation.arguments(__doc__).parse_args()
    os.chdir(ROOT)
    paths = sorted(Path("esxparse/metrics").glob("*.py")) + [Path(name) for name in READERS]
    paths = [path for path in paths if path.stem != "__init__" and tests_of(path)]
    if options.modules:
        paths = [path for path in paths if any(word in path.as_posix() for word in options.modules)]
    KEPT.parent.mkdir(exist_ok=True)
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    made = [one for path in paths for one in constants(path)]
    names = mutation.chosen(((one.key, one.where) for one in made), options.sample, options.seed)
    every = [one for one in made if one.key in names]
    if not options.show:
        warm_up()
        for path in sorted({one.path for one in every}):
            pid = try_one(None, path)
            if os.waitpid(pid, 0)[1]:
                sys.exit(f"the tests of {path} fail without any change")
        run([one for one in every if kept.get(one.key, 0) == 0], kept, options.minutes * 60)
    counts: dict[str, Counter[str]] = {}
    for one in every:
        count = counts.setdefault(one.where, Counter())
        count["made"] += 1
        if one.key not in kept:
            continue
        kind = "noticed" if kept[one.key] else mutation.kind_of(one.where, one.out, one.into)
        count[kind] += 1
        if options.show and kind == "survived":
            print(f"{one.path}\n  - {one.out}\n  + {one.into}")
    lines = mutation.table(counts)
    print("\n".join(lines))
    if not options.modules:
        said = [
            "The same for what stands outside of functions (tables of names and units, limits, patterns), and for all",
            "of what reads numbers and their units.",
            *mutation.said(counts, options, len(made), "mutation_constants"),
        ]
        sections.put("Mutants of tables, and of readers of numbers", [*said, "", *lines])


if __name__ == "__main__":
    main()
