"""How many small changes of the code the tests notice: mutmut over what makes numbers; prints a table in markdown.

Changed are metrics/, the Python twin of the scanner and what knows the units of files (`[tool.mutmut]` in
pyproject.toml); each change, a mutant, is tried against the fast tests that run the changed function. A mutant that no
test notices survives. Survivors that change no answer are listed in `equivalent.toml`, each with its reason.
A run takes up where the last one ended: a function that was not touched is not tried again.
All of them take hours. `--sample N` tries and counts about N, of each module its part, drawn at random: the same ones
in every run with the same `--seed`, and a larger sample holds the smaller.
Run: `python benchmarks/mutation.py [--minutes N] [--sample N [--seed N]] [--survivors] [--show] [MODULE ...]`
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import sections

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT: Final = Path(__file__).parent.parent
MUTANTS: Final = ROOT / "mutants"
EQUIVALENT: Final = Path(__file__).parent / "equivalent.toml"
SURVIVED: Final = (0, 5, 33)
"""What mutmut notes: all tests passed; none was found; none runs the function."""
TIMEOUTS: Final = (-24, 24, 36, 152, 255)
CRATE: Final = MUTANTS / "mutants.out/outcomes.json"
FIRST: Final = "esxparse.metrics.power.*"
ENVIRONMENT: Final = {
    # As many mutants at a time as processors: one thread each.
    "POLARS_MAX_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # Looking for plugins takes longer than most tests; the one that is needed is named in pyproject.toml.
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


@dataclass(frozen=True)
class Mutant:
    """A change of a function, and what became of it."""

    name: str
    path: Path
    result: int | None

    @property
    def module(self) -> str:
        """Its path below the package."""
        return self.path.as_posix().removesuffix(".py").removeprefix("esxparse/")

    @property
    def function(self) -> str:
        """`name`, or `Class.name`."""
        return self.name.rpartition(".")[2].partition("__mutmut_")[0].removeprefix("x_").strip("xǁ").replace("ǁ", ".")


def mutants(modules: list[str]) -> list[Mutant]:
    """All that were made, of modules whose path holds one of the words."""
    found = []
    for meta in sorted(MUTANTS.rglob("*.py.meta")):
        path = meta.relative_to(MUTANTS).with_suffix("")
        if not modules or any(word in path.as_posix() for word in modules):
            results = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
            found += [Mutant(name, path, result) for name, result in results.items()]
    return found


def mutmut(names: list[str], seconds: float) -> None:
    """Tries the mutants of those names, for so long at most: what was tried is kept."""
    environment = os.environ | ENVIRONMENT
    command = [str(Path(sys.executable).parent / "mutmut"), "run", *names]
    with subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True) as running:
        try:
            running.wait(seconds)
        except subprocess.TimeoutExpired:
            print(f"\nstopped after {seconds / 60:.0f} minutes: run it again to go on")
            os.killpg(running.pid, signal.SIGTERM)


def change(mutant: Mutant) -> tuple[str, str]:
    """The lines that are taken out, and those that are put in."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant  # noqa: PLC0415 (its import reads the configuration)

    lines = get_diff_for_mutant(mutant.name, path=mutant.path).splitlines()[2:]
    out, into = ([line[1:].strip() for line in lines if line.startswith(sign)] for sign in "-+")
    return "\n".join(out), "\n".join(into)


@cache
def rules() -> list[dict[str, str]]:
    """Changes that are known to change no answer."""
    found: list[dict[str, str]] = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["equivalent"]
    return found


def kind_of(where: str, out: str, into: str) -> str:
    """Whether a change that no test noticed is a known one, or survived."""
    for rule in rules():
        if where.endswith(rule.get("where", "")) and rule["from"] in out and rule["to"] in into:
            return "equivalent"
    return "survived"


def row(name: str, counts: Counter[str]) -> str:
    """A line of a table; a score needs something that was tried."""
    tried = counts["noticed"] + counts["survived"] + counts["equivalent"]
    wanted = tried - counts["equivalent"]
    numbers = (counts["made"], tried, counts["noticed"], counts["equivalent"], counts["survived"])
    shares = (f"{counts['noticed'] / whole:.1%}" if whole else "-" for whole in (tried, wanted))
    return (
        f"| {name} | {' | '.join(map(str, numbers))} | {' | '.join(shares)} | {interval(counts['noticed'], wanted)} |"
    )


def interval(noticed: int, tried: int) -> str:
    """95 % interval of the share in all mutants, of which these are a sample (Wilson)."""
    if not tried:
        return "-"
    z, share = 1.96, noticed / tried
    middle, half = share + z * z / 2 / tried, z * math.sqrt(share * (1 - share) / tried + (z / 2 / tried) ** 2)
    low, high = ((middle + side * half) / (1 + z * z / tried) for side in (-1, 1))
    return f"{low:.1%} to {high:.1%}"


def tally(found: list[Mutant], *, show: bool) -> dict[str, Counter[str]]:
    """What became of the mutants of each module."""
    counts: dict[str, Counter[str]] = {}
    for mutant in found:
        count = counts.setdefault(mutant.module, Counter())
        count["made"] += 1
        if mutant.result is None:
            continue
        if mutant.result not in SURVIVED:
            count["noticed"] += 1
            count["timeout"] += mutant.result in TIMEOUTS
            continue
        out, into = change(mutant)
        kind = kind_of(f"{mutant.module}.{mutant.function}", out, into)
        count[kind] += 1
        if show and kind == "survived":
            print(f"{mutant.module} {mutant.function} {mutant.result}\n  - {out}\n  + {into}")
    return counts


def crate() -> dict[str, Counter[str]]:
    """The same of the native crate, where cargo-mutants was run; what does not compile is left out."""
    counts: dict[str, Counter[str]] = {}
    if not CRATE.exists():
        return counts
    kinds = {"CaughtMutant": "noticed", "Timeout": "noticed", "MissedMutant": "survived"}
    for outcome in json.loads(CRATE.read_text(encoding="utf-8"))["outcomes"]:
        if outcome["summary"] in kinds and outcome["scenario"] != "Baseline":
            count = counts.setdefault(f"native/{outcome['scenario']['Mutant']['file']}", Counter())
            count["made"] += 1
            count[kinds[outcome["summary"]]] += 1
    return counts


def table(counts: dict[str, Counter[str]]) -> list[str]:
    """A row for each module of which something was tried, and one for all metrics."""
    metrics = sum((count for name, count in counts.items() if name.startswith("metrics/")), Counter[str]())
    return [
        "| module | mutants | tried | noticed | equivalent | survived | of tried | that count | 95 % interval |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(row(f"`{name}`", count) for name, count in counts.items() if len(count) > 1),
        *([row("**all of `metrics/`**", metrics)] if len(metrics) > 1 else []),
    ]


def chosen(made: Iterable[tuple[str, str]], sample: int | None, seed: int) -> set[str]:
    """Names drawn from names and their modules: of each module its part, rounded up; all without a number."""
    modules = dict(made)
    if sample is None:
        return set(modules)
    sizes = Counter(modules.values())
    left = {module: math.ceil(size * sample / len(modules)) for module, size in sizes.items()}
    names = set()
    for name in sorted(modules, key=lambda one: hashlib.sha256(f"{seed} {one}".encode()).digest()):
        if left[modules[name]]:
            left[modules[name]] -= 1
            names.add(name)
    return names


def arguments(said: str | None) -> argparse.ArgumentParser:
    """What this and its twin for constants are asked in the same way."""
    parser = argparse.ArgumentParser(description=said, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="only modules whose path holds one of these words")
    parser.add_argument("--minutes", type=float, default=60, help="stop after that time (60)")
    parser.add_argument("--sample", type=int, metavar="N", help="about N mutants drawn at random, and no others")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--show", action="store_true", help="run nothing, print the changes that survived")
    return parser


def main() -> None:
    """Runs what is waiting, and writes the section."""
    parser = arguments(__doc__)
    parser.add_argument("--survivors", action="store_true", help="try those that survived again, nothing else")
    options = parser.parse_args()
    # The first run makes the mutants; mutmut wants a name to try, and takes all without one.
    if not options.show and not mutants([]):
        mutmut([FIRST], options.minutes * 60)
    names = chosen(((one.name, one.module) for one in mutants([])), options.sample, options.seed)

    def wanted() -> list[Mutant]:
        return [one for one in mutants(options.modules) if one.name in names]

    again = SURVIVED if options.survivors else (None,)
    waiting = [one.name for one in wanted() if one.result in again]
    if waiting and not options.show:
        mutmut(waiting, options.minutes * 60)
    counts = tally(wanted(), show=options.show)
    lines = table(counts | crate())
    print("\n".join(lines))
    if not options.modules:
        stopped = sum(count["timeout"] for count in counts.values())
        sections.put(
            "Mutants",
            [
                "Small changes of the code (mutmut), each tried against the fast tests that run the changed function.",
                *said(counts, options, len(mutants([]))),
                "Equivalent ones change no answer; `benchmarks/equivalent.toml` says why. They do not count.",
                f"{stopped} of the noticed ran until they were stopped.",
                "",
                *lines,
            ],
        )


def said(
    counts: dict[str, Counter[str]], options: argparse.Namespace, made: int, script: str = "mutation"
) -> list[str]:
    """What the table is of."""
    total = sum(counts.values(), Counter[str]())
    late = total["made"] - sum(total[kind] for kind in ("noticed", "survived", "equivalent"))
    lines = [f"All {made:,}; made by `make mutants`."]
    if options.sample:
        command = f"python benchmarks/{script}.py --sample {options.sample} --seed {options.seed}"
        lines = [f"A random sample, {total['made']:,} of {made:,}: `{command}`. All of them: `make mutants`."]
    if late:
        lines.append(f"{late:,} of these were not tried yet.")
    return lines


if __name__ == "__main__":
    main()
