"""`esxparse diagnose`: a host's troubles, in a sentence and with the evidence."""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

from esxparse.cli.output import (
    FOUND,
    add_crew,
    add_format,
    add_opening,
    each_on,
    given_crew,
    given_opening,
    in_shape,
    path_for,
    warn,
)
from esxparse.cli.progress import Progress
from esxparse.formats.opening import Opening, Options
from esxparse.recording import Recording

_OF_OTHERS = ("format", "time_column", "value_column")
"""Options of opening that esxtop captures never need."""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "diagnose",
        help="report problems of a host: since when, why, and the evidence for and against",
        description="Diagnoses captures of esxtop, and studies, whose runs are compared as experiments: verdicts, "
        "evidence for and against, and the checks that were not possible.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="an esxtop capture, or a study.toml")
    add_format(parser, "json", "md")
    parser.add_argument("--profile", default="standard", help="limits: standard, strict, or a .toml file")
    parser.add_argument(
        "--fail-on", choices=("critical", "warning"), help="exit with 3 if any finding is as bad as that or worse"
    )
    parser.add_argument(
        "--inventory", metavar="DIR", help="of esxparse collect vcenter: snapshots, limits and tasks become evidence"
    )
    add_crew(parser)
    add_opening(parser, but=_OF_OTHERS)
    parser.set_defaults(run=run)


def _diagnosed(job: tuple[str, str, str, str | None, Options, str]) -> tuple[str, str, set[str], list[str]]:
    """Return a file's source, its diagnosis in the requested shape, the severities in it, and its losses.

    The last item of `job` is the label of a progress line in this process, empty for none.
    """
    from esxparse.diagnosis.diagnose import diagnose  # noqa: PLC0415  polars is not for --help
    from esxparse.formats.registry import open_recording  # noqa: PLC0415
    from esxparse.studies import study  # noqa: PLC0415

    file, shape, profile, inventory, options, label = job
    with Progress(label, quiet=not label) as progress:
        opening = Opening.of(options)
        opened = study(file, progress=progress) if file.endswith(".toml") else open_recording(file, opening)
        found = diagnose(opened, profile, inventory=None if inventory is None else _inventory(inventory))
    losses = opened.losses() if isinstance(opened, Recording) else []
    return found.source, in_shape(found, shape), {finding.severity for finding in found}, losses


@cache
def _inventory(path: str) -> Recording:
    """Return the inventory for all captures that this process diagnoses: opening it takes seconds."""
    from esxparse.formats.registry import open_recording  # noqa: PLC0415  polars is not for --help

    return open_recording(path)


def run(options: argparse.Namespace) -> int:
    """Diagnose each file; go on after one that cannot be read."""
    from esxparse.diagnosis.findings import SEVERITIES  # noqa: PLC0415  polars is not for --help

    severities: set[str] = set()
    bad = SEVERITIES[: SEVERITIES.index(options.fail_on) + 1] if options.fail_on else ()
    heads = iter(["", *["\n"] * len(options.files)]) if len(options.files) > 1 else None

    def tell(found: tuple[str, str, set[str], list[str]]) -> None:
        source, text, grades, losses = found
        warn(losses)
        severities.update(grades)
        print(f"{next(heads)}{source}: {text}" if heads and options.shape == "table" else text)

    opening, crew = given_opening(options), given_crew(options)
    labels = ["" if crew.elsewhere else f"diagnosing {Path(file).name}" for file in options.files]
    inventory = None if options.inventory is None else path_for(crew, options.inventory)
    jobs = [
        (path_for(crew, file), options.shape, options.profile, inventory, opening, label)
        for file, label in zip(options.files, labels, strict=True)
    ]
    code = each_on(crew, jobs, options.files, _diagnosed, tell)
    return code or (FOUND if severities & set(bad) else 0)
