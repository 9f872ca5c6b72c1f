"""`esxparse templates`: list the report templates and their parameters, begin or copy one."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from esxparse.cli.output import add_force, fail
from esxparse.recording import printable

if TYPE_CHECKING:
    from esxparse.reports.library import Parameter


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "templates",
        help="list the report templates and their parameters, or begin or copy one",
        description="Lists the report templates, also of installed packages, with the parameters that "
        "`esxparse report -p` sets; `new` writes a small template to begin with, `copy` one of these under a name of "
        "your own (docs/templates.md).",
    )
    parser.set_defaults(run=run)
    actions = parser.add_subparsers(dest="action", metavar="list | new | copy", help="what to do (default: list)")
    actions.add_parser("list", help="list the templates (default)")
    new = actions.add_parser("new", help="write NAME.ipynb, a template that works, to be changed")
    copy = actions.add_parser("copy", help="write NAME.ipynb, a copy of a template, to be changed")
    copy.add_argument("template", metavar="TEMPLATE", help="name of a template, or path of a notebook")
    for action in (new, copy):
        action.add_argument("name", metavar="NAME", help="letters, digits, - and _")
        action.add_argument("-o", "--output", default=".", metavar="DIR", help="directory (default: the current one)")
        add_force(action)


def _described(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f" = {parameter.default}"
    return f"{parameter.name}: {parameter.type}{default}   {parameter.help}"


def run(options: argparse.Namespace) -> int:
    """List the templates, or write a new one or a copy."""
    if options.action in {"new", "copy"}:
        from esxparse.reports import starter  # noqa: PLC0415  not for --help
        from esxparse.reports.library import read  # noqa: PLC0415

        folder, force = Path(options.output), options.force
        if options.action == "new":
            written = starter.write(options.name, folder, replace=force)
        else:
            written = starter.copy(options.template, options.name, folder, replace=force)
        source = "study.toml" if read(written).has("study") else "CAPTURE"
        print(printable(f"{written}: esxparse report -t {written} {source} -o report.html"))
        return 0
    from esxparse.reports.library import all_templates  # noqa: PLC0415  not for --help

    there, broken = all_templates()
    counts = Counter(parameter for template in there for parameter in template.parameters)
    for template in there:
        shared = ", ".join(one.name for one in template.parameters if counts[one] > 1)
        print(printable(f"{template.name}: {template.title}"))
        print(printable(f"  {template.description}"))
        for own in template.parameters:
            if counts[own] == 1:
                print(printable(f"    {_described(own)}"))
        if shared:
            print(printable(f"    {shared}: see below"))
    print("Parameters of several templates:")
    for parameter in (one for one, count in counts.items() if count > 1):
        print(printable(f"    {_described(parameter)}"))
    for error in broken:
        fail(error)
    return 1 if broken else 0
