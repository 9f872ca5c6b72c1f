"""`esxparse templates`: the report templates and their parameters."""

from __future__ import annotations

import argparse


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "templates",
        help="list the report templates and their parameters",
        description="Lists the report templates and the parameters that `esxparse report -p` sets.",
    )
    parser.set_defaults(run=run)


def run(_options: argparse.Namespace) -> int:
    """Lists the templates."""
    from esxparse.reports import templates  # noqa: PLC0415  nbformat is not for --help

    for template in templates():
        print(f"{template.name}: {template.title}")
        print(f"  {template.description}")
        for parameter in template.parameters:
            print(f"    {parameter.name}: {parameter.type} = {parameter.default}   {parameter.help}")
    return 0
