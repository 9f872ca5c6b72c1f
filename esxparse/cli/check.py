"""`esxparse check`: whether a recording can be believed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from esxparse.cli.output import (
    FOUND,
    add_crew,
    add_format,
    add_opening,
    each_on,
    given_crew,
    given_opening,
    path_for,
    warn,
)
from esxparse.cli.progress import Progress
from esxparse.formats.opening import Opening, Options

if TYPE_CHECKING:
    from esxparse.quality.results import Quality


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "check",
        help="check whether a recording can be believed: ranges, clocks, sums, counters that never change",
        description="Checks recordings against suites of expectations: pass, warn or fail, with the counter, entity, "
        "time and value at fault. docs/quality.md explains them.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a recording of any format")
    parser.add_argument("--suite", metavar="SUITE", help="a Great Expectations suite of your own (.json)")
    add_format(parser, "json", "html")
    parser.add_argument("--all", action="store_true", help="list expectations that are met, too")
    parser.add_argument("--together", action="store_true", help="the files are of one run: compare hosts and clocks")
    parser.add_argument(
        "--engine", choices=("esxparse", "gx"), default="esxparse", help="gx runs Great Expectations itself (slow)"
    )
    parser.add_argument("--data-docs", metavar="DIR", help="write the HTML pages of Great Expectations there")
    parser.add_argument(
        "--fail-on", choices=("fail", "warn"), help="exit with 3 if any expectation is as bad as that or worse"
    )
    parser.add_argument("--as", dest="format", metavar="NAME", help="read the files as this format (power_csv ...)")
    add_crew(parser)
    add_opening(parser, but=("format",))
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class _Job:
    files: Sequence[str]
    suite: str | None
    engine: Literal["esxparse", "gx"]
    opening: Options
    docs: Path | None
    label: str
    """Label of a progress line in this process; empty for none."""


def _checked(job: _Job) -> tuple[Quality, list[str]]:
    from esxparse.formats.registry import open_recording  # noqa: PLC0415  polars is not for --help
    from esxparse.quality.check import check, data_docs  # noqa: PLC0415

    opening = Opening.of(job.opening)
    with Progress(job.label, quiet=not job.label):
        recordings = [open_recording(file, opening) for file in job.files]
        if job.docs:
            data_docs(recordings, job.docs, job.suite)
        losses = [loss for rec in recordings for loss in rec.losses()]
        return check(recordings, job.suite, engine=job.engine), losses


def run(options: argparse.Namespace) -> int:
    """Check each file; go on after one that cannot be read."""
    statuses: set[str] = set()
    bad = {"fail": {"fail"}, "warn": {"fail", "warn"}}.get(options.fail_on, set())
    groups = [options.files] if options.together else [[file] for file in options.files]
    on_page: list[Quality] = []

    def tell(checked: tuple[Quality, list[str]]) -> None:
        found, losses = checked
        warn(losses)
        statuses.add(found.status)
        if options.shape == "json":
            print(found.json())
        elif options.shape == "html":
            on_page.append(found)
        else:
            name = f"{found.source}: " if len(groups) > 1 else ""
            print(f"{name}{found.text(every=options.all)}")

    opening, crew = given_opening(options), given_crew(options)
    folder = Path(path_for(crew, options.data_docs)) if options.data_docs else None
    jobs = [
        _Job(
            [path_for(crew, file) for file in files],
            options.suite,
            options.engine,
            opening,
            folder / str(number) if folder and groups[1:] else folder,
            "" if crew.elsewhere else f"checking {Path(files[0]).name}",
        )
        for number, files in enumerate(groups, 1)
    ]
    code = each_on(crew, jobs, [", ".join(files) for files in groups], _checked, tell)
    if on_page:
        from esxparse.reports.quality_page import page  # noqa: PLC0415  polars is not for --help

        print(page(on_page))
    return code or (FOUND if statuses & bad else 0)
