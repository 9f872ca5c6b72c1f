"""`esxparse plan`: planners, which answer from inputs and refuse to guess."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from esxparse.cli.output import add_opening, add_shapes, given_opening, place_of, put, warn
from esxparse.plans.forms import NAMES, Form, Input, form

if TYPE_CHECKING:
    from esxparse.recording import Recording
    from esxparse.studies import Study

_OF_CASE: Final = re.compile(r"([^=/\\:?]+)=(.+)")
_OF_OTHERS: Final = ("format",)
"""Options of opening whose names have another meaning here."""


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser, with a subcommand for each planner."""
    parser = subparsers.add_parser(
        "plan",
        help="plan replication, power, links, consolidation, arrays and slots from your numbers",
        description="Answers a question from inputs that you give, or that a recording shows; lists what is missing "
        "and guesses nothing (docs/plan.md).",
    )
    planners = parser.add_subparsers(dest="planner", metavar="NAME", required=True, help="the question to answer")
    for name in NAMES:
        _add_planner(planners, form(name))
    parser.set_defaults(run=run)


def _add_planner(planners: argparse._SubParsersAction[argparse.ArgumentParser], one: Form) -> None:
    cases = "Any input takes NAME=VALUE for one of several cases, which are compared, and a number takes LOW..HIGH."
    parser = planners.add_parser(one.name, help=one.question, description=f"{one.question} {cases}")
    for name, it in one.inputs.items():
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            dest=f"input_{name}",
            nargs="+",
            metavar="NAME" if it.name else "VALUE",
            help=_help(it),
        )
    if one.recordings:
        parser.add_argument(
            "--from", dest="recordings", nargs="+", metavar="FILE", help=f"take inputs from {one.recordings}"
        )
    add_shapes(parser)
    if one.recordings:
        add_opening(parser, but=_OF_OTHERS)


def _help(one: Input) -> str:
    """Return an input in a line: its meaning, unit, allowed values and default."""
    default = "the published ones" if one.published else f"{one.default}" if one.default is not None else ""
    parts = [
        f"{one.meaning} [{one.unit}]" if one.unit else one.meaning,
        one.allowed,
        f"default: {default} ({one.source})" if default else "",
        f"in place of --{one.replaces}" if one.replaces else "",
        one.needs,
    ]
    return "; ".join(part for part in parts if part).replace("%", "%%")


def run(options: argparse.Namespace) -> int:
    """Answer, and print or write the answer."""
    from esxparse.plan import PLANNERS  # noqa: PLC0415  polars is not for --help

    planner = PLANNERS[options.planner]
    files = [_case_and_file(text) for text in getattr(options, "recordings", None) or ()]
    place = place_of(options, [file for _, file in files])
    recordings = {case: _opened(file, options) for case, file in files}
    inputs = {name: getattr(options, f"input_{name}") for name in planner.form.inputs}
    put(planner(**inputs, recordings=recordings or None), options, place)
    return 0


def _case_and_file(text: str) -> tuple[str, str]:
    """Return the case of a recording, empty for all, and its file: `saving=ilo.xml`."""
    # A URL has characters before its first equals sign that cases never have.
    of_case = None if Path(text).exists() else _OF_CASE.fullmatch(text)
    return (of_case[1], of_case[2]) if of_case else ("", text)


def _opened(file: str, options: argparse.Namespace) -> Recording | Study:
    """Open the recording or the study of a file; warn about losses of a recording."""
    from esxparse.formats.opening import Opening  # noqa: PLC0415  polars is not for --help
    from esxparse.formats.registry import open_recording  # noqa: PLC0415
    from esxparse.studies import study  # noqa: PLC0415

    if file.endswith(".toml"):
        return study(file)
    opened = open_recording(file, Opening.of(given_opening(options)))
    warn(opened.losses())
    return opened
