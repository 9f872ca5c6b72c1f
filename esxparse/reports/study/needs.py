"""The needs of a study template, from its notebook's metadata under `esxparse.study`.

    rank    int    its turn when `auto` looks for the template that fits, the lowest first
    needs   dict   requirements for the study, or the template is the wrong one
    fits    list   further requirements for `auto`, any one of them; without this list, only by name
    asks    list   parameters that only the user knows: prices, numbers of VMs. `auto` never takes such a template

Both `needs` and each of `fits` may have:

    sweep = true         a label with three numbers or more
    baseline = true      a baseline, or no baseline if false
    native = true        a baseline called native, bare-metal or physical
    rules, tolerances    whether [report] has them
    labels = [...]       a label of one of these names
    roles = [...]        files for one of these purposes
    values = [...]       the baseline's label has all these values
    apart = [...]        these labels do not identify the baseline
    workload = false     no files of a load generator or benchmark
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypedDict

from esxparse.errors import EsxparseError
from esxparse.studies.roles import BENCHMARKS, WORKLOADS
from esxparse.toml.checked import value_of
from esxparse.toml.document import Document, Problems

if TYPE_CHECKING:
    from esxparse.studies.expand import Run
    from esxparse.studies.study_file import Manifest

USUAL: Final = "study"
"""The template of a study if no other fits."""
_NATIVE: Final = frozenset({"native", "bare-metal", "physical"})


class Wanted(TypedDict, total=False):
    """Requirements for a study."""

    sweep: bool
    baseline: bool
    native: bool
    rules: bool
    tolerances: bool
    workload: bool
    labels: tuple[str, ...]
    roles: tuple[str, ...]
    values: tuple[str, ...]
    apart: tuple[str, ...]


@dataclass(frozen=True)
class Needs:
    """A template's requirements for studies."""

    rank: int = 0
    needs: Wanted = field(default_factory=Wanted)
    fits: tuple[Wanted, ...] = ()
    asks: tuple[str, ...] = ()


def read(found: Any) -> Needs:
    """Return the needs in a notebook's metadata.

    Raises EsxparseError: A key is unknown, or a value has the wrong type.
    """
    fits = found.get("fits", []) if isinstance(found, dict) else None
    if not isinstance(fits, list) or not all(isinstance(one, dict) for one in (found.get("needs", {}), *fits)):
        raise EsxparseError("esxparse.study of its metadata has rank (a whole number), needs, fits and asks, no more")
    # Metadata are JSON, whose lines are invisible in Jupyter.
    problems = Problems(Document("", ""))
    made: Needs | None = value_of(Needs, found, problems, "study")
    if made is None or problems:
        raise EsxparseError(f"esxparse.study of its metadata: {problems[0].message}")
    return made


def unmet(wanted: Mapping[str, Any], manifest: Manifest, runs: Sequence[Run]) -> str:
    """Return the first unmet requirement in words; "" if the study meets all."""
    facts = {
        "sweep": (bool(sweeps(runs)), "a label with three numbers or more"),
        "baseline": (bool(manifest.baseline), "a baseline"),
        "native": (bool(_NATIVE & set(map(str, manifest.baseline.values()))), "a baseline that is native"),
        "rules": (bool(manifest.report_section.rules), "rules in [report]"),
        "tolerances": (bool(manifest.report_section.tolerances), "tolerances in [report]"),
        "workload": (
            bool((WORKLOADS | BENCHMARKS) & {role for run in runs for role in run.files}),
            "files of a load generator or benchmark",
        ),
    }
    labels = {name for run in runs for name in run.labels}
    roles = {role for run in runs for role in run.files}
    values = {str(run.labels.get(name)) for run in runs for name in manifest.baseline}
    for key, required in wanted.items():
        if key in facts:
            there, what = facts[key]
            if there != required:
                return what if required else f"to do without {what}"
        elif key == "labels" and not labels & set(required):
            return f"a label {' or '.join(required)}"
        elif key == "roles" and not roles & set(required):
            return f"files of {' or '.join(required)}"
        elif key == "values" and not set(required) <= values:
            return f"a baseline among {' and '.join(required)}"
        elif key == "apart" and set(required) & set(manifest.baseline):
            return f"a baseline by another label than {' or '.join(required)}"
    return ""


def sweeps(runs: Iterable[Run]) -> list[str]:
    """Return the numeric labels with enough values for a curve, the longest sweep first."""
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


def check(name: str, wanted: Needs, manifest: Manifest, runs: Sequence[Run], every: Mapping[str, Needs]) -> None:
    """Check that a template serves a study.

    `name`, `wanted`: the template and its needs. `every`: the needs of all templates by name.

    Raises EsxparseError: The study does not meet a requirement; the message suggests a template that fits.
    """
    if what := unmet(wanted.needs, manifest, runs):
        labels = ", ".join(runs[0].labels) if runs else ""
        actual_labels = f"its labels are {labels}" if labels else "its runs have no labels"
        # Runs without files do not show which template fits.
        empty = [run for run in runs if not (run.files or run.values)]
        if reasons := [f"{run}: {problem.message}" for run in empty for problem in run.problems]:
            raise EsxparseError(f"{manifest.path}: template {name!r} needs {what}; {reasons[0]}")
        fits = fitting(manifest, runs, every)
        ending = f". Template {fits!r} fits" if fits != name else ""
        raise EsxparseError(f"{manifest.path}: template {name!r} needs {what}; {actual_labels}{ending}")


def fitting(manifest: Manifest, runs: Sequence[Run], every: Mapping[str, Needs]) -> str:
    """Return the template for a study: from its manifest, or else by its varied labels.

    `every`: the needs of all templates by name.
    """
    if manifest.report_section.shape:
        return manifest.report_section.shape
    for name, one in sorted(every.items(), key=lambda item: (item[1].rank, item[0])):
        if one.asks or unmet(one.needs, manifest, runs):
            continue
        if any(not unmet(more, manifest, runs) for more in one.fits):
            return name
    return USUAL
