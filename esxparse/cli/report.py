"""`esxparse report`: a report on a capture."""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from esxparse.cli.output import add_force, add_opening, each, given_opening, warn
from esxparse.cli.progress import Progress
from esxparse.errors import EsxparseError, LossWarning
from esxparse.formats.names import recording_name
from esxparse.formats.opening import Options
from esxparse.recording import printable


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} should be NAME=VALUE")
    return name, value


def add_template(parser: argparse.ArgumentParser, default: str | None, usual: str) -> None:
    """Add the options for a template and its parameters; `usual` describes the default."""
    parser.add_argument(
        "-t",
        "--template",
        default=default,
        help=f"see `esxparse templates`; auto: by the inputs (default: {usual})",
    )
    parser.add_argument("--profile", metavar="NAME", help="thresholds profile: standard, strict or a .toml file")
    parser.add_argument(
        "-p",
        "--parameter",
        dest="parameters",
        metavar="NAME=VALUE",
        type=_assignment,
        action="append",
        default=[],
        help="another parameter of the template; may be repeated",
    )
    parser.add_argument(
        "--to", choices=("html", "ipynb", "pdf", "md"), help="form of the report (default: by its name, or html)"
    )
    parser.add_argument("--open", action="store_true", help="open what was written in the browser")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress and no file names")


def given_parameters(options: argparse.Namespace) -> dict[str, str]:
    """Return the values of the template's parameters, as given."""
    profile = {} if options.profile is None else {"profile": options.profile}
    events = getattr(options, "events", [])
    return {**dict(options.parameters), **profile, **({"events": json.dumps(events)} if events else {})}


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "report",
        help="run a report template on a capture and write an HTML file, a notebook, PDF or Markdown",
        description="Runs a report template on each capture and writes one HTML file that needs no network, or the "
        "executed notebook, a PDF (by Chromium or Chrome) or Markdown with the charts beside it.",
    )
    parser.add_argument(
        "captures", nargs="+", metavar="CAPTURE", help="a raw recording; a first word `auto` is --template auto"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the report (.html, .ipynb, .pdf or .md) or, with several captures, the directory of the reports, made if "
        "it is not there (default: the current directory, named after the capture); some templates make one report on "
        "all captures",
    )
    add_template(parser, None, "auto; host_health for compressed and remote CSV")
    parser.add_argument(
        "--events",
        metavar="FILE",
        action="append",
        default=[],
        help="tasks or steps with times (CSV), or a log of ESXi: marks in charts of host_health; may be repeated",
    )
    add_force(parser)
    add_opening(parser)
    parser.set_defaults(run=run)


@contextmanager
def _shown_losses() -> Iterator[None]:
    """Print losses of recordings as the other commands do; other warnings stay as they are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LossWarning)
        yield
    for one in caught:
        if issubclass(one.category, LossWarning):
            warn([str(one.message)])
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _subjects(options: argparse.Namespace, opening: Options) -> list[tuple[str, list[str]]]:
    """Return the template and the captures of each report: one, or all if the template takes several."""
    from esxparse.reports import find  # noqa: PLC0415  Jupyter is not for --help
    from esxparse.reports.pick import AUTO, grouped, usual  # noqa: PLC0415

    captures = list(dict.fromkeys(options.captures))
    if captures[0] == AUTO and len(captures) > 1 and not Path(AUTO).exists():
        options.template, captures = AUTO, captures[1:]
    options.template = options.template or usual(captures)
    if options.template == AUTO:
        return grouped(captures, opening)
    if find(options.template).has("captures"):
        return [(options.template, captures)]
    return [(options.template, [capture]) for capture in captures]


def _outputs(options: argparse.Namespace, subjects: list[tuple[str, list[str]]], ending: str) -> list[Path]:
    """Return the path of each report; equal names are distinguished by their directories."""
    names = [f"{recording_name(subjects[0][1][0])}.{ending}"]
    if len(subjects) > 1:
        from esxparse.reports.batch_items import unique_names  # noqa: PLC0415  polars, which a single report reads later

        names = [f"{name}.{ending}" for name in unique_names(subjects)]
    if options.output is None:
        return [Path(name) for name in names]
    output = Path(options.output).expanduser()
    if len(names) == 1 and not output.is_dir() and not options.output.endswith(("/", os.sep)):
        return [output]
    if output.suffix.lower() in {".html", ".ipynb", ".pdf", ".md"} and not output.is_dir():
        raise EsxparseError(f"{output} is the name of one report, but {len(names)} are made: name a directory for them")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EsxparseError(f"{output} cannot be made a directory: {error.strerror or error}") from None
    return [output / name for name in names]


def run(options: argparse.Namespace) -> int:
    """Write a report on each capture; go on after one that fails."""
    from esxparse.reports import lean, report  # noqa: PLC0415  Jupyter is not for --help
    from esxparse.reports.forms import form_of, requested_form  # noqa: PLC0415
    from esxparse.reports.outputs import show  # noqa: PLC0415

    lean.alone()
    to, opening = requested_form(options.to, given_opening(options))
    parameters = given_parameters(options)
    subjects = _subjects(options, opening)
    single = options.output if len(subjects) == 1 else None
    outputs = _outputs(options, subjects, form_of(single, to))
    failed = []

    def report_one(pair: tuple[tuple[str, list[str]], Path]) -> None:
        (template, captures), output = pair
        failed.append(output.name)
        with _shown_losses(), Progress(output.name, quiet=options.quiet) as progress:
            written = report(
                captures,
                template=template,
                output=output,
                parameters=parameters,
                progress=progress,
                replace=options.force,
                to=to,
                **opening,
            )
        failed.pop()
        if not options.quiet:
            print(printable(str(written)))
        if options.open:
            show(written)

    code = each(zip(subjects, outputs, strict=True), report_one)
    if failed and len(subjects) > 1:
        print(printable(f"{len(failed)} of {len(subjects)} failed: {', '.join(failed)}"), file=sys.stderr)
    return code
