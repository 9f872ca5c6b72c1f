"""`esxparse templates`: the report templates and their parameters, and a new one to begin with."""

from __future__ import annotations

import argparse
from pathlib import Path

from esxparse.cli.output import add_force, fail
from esxparse.recording import printable


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "templates",
        help="list the report templates and their parameters, or begin one",
        description="Lists the report templates, those of installed packages too, with the parameters that "
        "`esxparse report -p` sets; `new` writes a small template to begin with (docs/templates.md).",
    )
    parser.set_defaults(run=run)
    actions = parser.add_subparsers(dest="action", metavar="list | new", help="what to do (default: list)")
    actions.add_parser("list", help="list the templates (default)")
    new = actions.add_parser("new", help="write NAME.ipynb, a template that works, to be changed")
    new.add_argument("name", metavar="NAME", help="letters, digits, - and _")
    new.add_argument("-o", "--output", default=".", metavar="DIR", help="directory (default: the current one)")
    add_force(new)


def run(options: argparse.Namespace) -> int:
    """Lists the templates, or writes a new one."""
    if options.action == "new":
        from esxparse.reports import starter  # noqa: PLC0415  not for --help

        written = starter.write(options.name, Path(options.output), replace=options.force)
        print(printable(f"{written}: esxparse report -t {written} CAPTURE -o report.html"))
        return 0
    from esxparse.reports.library import all_templates  # noqa: PLC0415  not for --help

    there, broken = all_templates()
    for template in there:
        print(printable(f"{template.name}: {template.title}"))
        print(printable(f"  {template.description}"))
        for parameter in template.parameters:
            default = "" if parameter.default is None else f" = {parameter.default}"
            print(printable(f"    {parameter.name}: {parameter.type}{default}   {parameter.help}"))
    for error in broken:
        fail(error)
    return 1 if broken else 0
