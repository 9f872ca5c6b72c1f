"""`esxparse diagnose`: what troubles a host, in a sentence and with the evidence."""

from __future__ import annotations

import argparse
from pathlib import Path

from esxparse.cli.output import add_opening, each, given_opening
from esxparse.cli.progress import Progress
from esxparse.formats.opening import Opening

_OF_OTHERS = ("format", "time_column", "value_column")
"""Options of opening that no capture of esxtop needs."""
_FOUND = 3


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "diagnose",
        help="say what troubles a host, since when, why, and what speaks against it",
        description="Diagnoses captures of esxtop, and studies, whose runs are compared as experiments: verdicts, "
        "evidence for and against, and what could not be judged.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="an esxtop capture, or a study.toml")
    parser.add_argument(
        "--format", dest="shape", choices=("table", "json", "md"), default="table", help="how to print it"
    )
    parser.add_argument("--profile", default="standard", help="limits: standard, strict, or a .toml file")
    parser.add_argument(
        "--fail-on", choices=("critical", "warning"), help="exit with 3 if any finding is as bad as that or worse"
    )
    add_opening(parser, but=_OF_OTHERS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Diagnoses each file; goes on after one that cannot be read."""
    from esxparse.diagnosis.diagnose import diagnose  # noqa: PLC0415  polars is not for --help
    from esxparse.diagnosis.findings import SEVERITIES  # noqa: PLC0415
    from esxparse.formats.registry import open_recording  # noqa: PLC0415
    from esxparse.studies import study  # noqa: PLC0415

    severities: set[str] = set()
    bad = SEVERITIES[: SEVERITIES.index(options.fail_on) + 1] if options.fail_on else ()
    many = len(options.files) > 1

    def one(numbered: tuple[int, str]) -> None:
        number, file = numbered
        with Progress(f"diagnosing {Path(file).name}") as progress:
            is_study = file.endswith(".toml")
            opening = Opening.of(given_opening(options))
            opened = study(file, progress=progress) if is_study else open_recording(file, opening)
            found = diagnose(opened, options.profile)
        severities.update(finding.severity for finding in found)
        if options.shape == "json":
            print(found.json())
        elif options.shape == "md":
            print(found.markdown())
        else:
            print(f"{chr(10) if number else ''}{found.source + ': ' if many else ''}{found.text()}")

    code = each(enumerate(options.files), one)
    return code or (_FOUND if severities & set(bad) else 0)
