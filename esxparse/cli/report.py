"""`esxparse report`: a capture to one HTML file."""

from __future__ import annotations

import argparse
from pathlib import Path

from esxparse.cli.output import Progress, add_force, add_opening, each, given_opening
from esxparse.errors import EsxparseError
from esxparse.recording import printable


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} should be NAME=VALUE")
    return name, value


def add_template(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds the options that name a template and its parameters."""
    parser.add_argument(
        "-t", "--template", default=default, help="see `esxparse templates`; auto: by the inputs (default: %(default)s)"
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
    parser.add_argument("-q", "--quiet", action="store_true", help="print no progress and no file names")


def given_parameters(options: argparse.Namespace) -> dict[str, str]:
    """Values of the template's parameters, as given."""
    return {**dict(options.parameters), **({} if options.profile is None else {"profile": options.profile})}


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "report",
        help="run a report template on a capture and write an HTML file",
        description="Runs a report template on each capture and writes one HTML file that needs no network.",
    )
    parser.add_argument(
        "captures", nargs="+", metavar="CAPTURE", help="a raw recording; a first word `auto` is --template auto"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the HTML file or, with several captures, the directory for one NAME.html each (default: the current "
        "directory, named after the capture); some templates make one report on all captures",
    )
    add_template(parser, "host_health")
    add_force(parser)
    add_opening(parser)
    parser.set_defaults(run=run)


def _subjects(options: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """The template and the captures of each report: one, or all if the template takes several."""
    from esxparse.reports import find  # noqa: PLC0415  Jupyter is not for --help
    from esxparse.reports.pick import AUTO, grouped  # noqa: PLC0415

    captures = options.captures
    if captures[0] == AUTO and len(captures) > 1 and not Path(AUTO).exists():
        options.template, captures = AUTO, captures[1:]
    if options.template == AUTO:
        return grouped(captures, given_opening(options))
    if find(options.template).has("captures"):
        return [(options.template, captures)]
    return [(options.template, [capture]) for capture in captures]


def _outputs(options: argparse.Namespace, subjects: list[tuple[str, list[str]]]) -> list[Path]:
    from esxparse.formats.names import recording_name  # noqa: PLC0415  asyncio is not for --help

    names = [f"{recording_name(captures[0])}.html" for _, captures in subjects]
    if options.output is None:
        return [Path(name) for name in names]
    output = Path(options.output)
    if len(names) == 1 and not output.is_dir():
        return [output]
    if not output.is_dir():
        raise EsxparseError(f"{output} is not a directory: several captures need one; create it with `mkdir {output}`")
    same = sorted({name for name in names if names.count(name) > 1})
    if same:
        raise EsxparseError(f"several captures would be written to {output / same[0]}: run the reports one at a time")
    return [output / name for name in names]


def run(options: argparse.Namespace) -> int:
    """Writes a report on each capture; goes on after one that fails."""
    from esxparse.reports import report  # noqa: PLC0415  Jupyter is not for --help

    parameters = given_parameters(options)
    subjects = _subjects(options)

    def report_one(pair: tuple[tuple[str, list[str]], Path]) -> None:
        (template, captures), output = pair
        with Progress(output.name, quiet=options.quiet) as progress:
            written = report(
                captures,
                template=template,
                output=output,
                parameters=parameters,
                progress=progress,
                replace=options.force,
                **given_opening(options),
            )
        if not options.quiet:
            print(printable(str(written)))

    return each(zip(subjects, _outputs(options, subjects), strict=True), report_one)
