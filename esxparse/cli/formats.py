"""`esxparse formats`: the formats that can be opened, with their needs and tables."""

from __future__ import annotations

import argparse


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "formats",
        help="list the formats and their tables",
        description="Lists the formats, with the programs they need and their tables; for each NAME, also the columns.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a format to describe: its tables, columns and units")
    parser.add_argument("--markdown", action="store_true", help="print the page of the documentation")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List or describe formats."""
    from esxparse.formats.catalogue import catalogue, described, page  # noqa: PLC0415  polars is not for --help

    if options.markdown:
        print(page(), end="")
        return 0
    for one in map(described, options.names):
        print(f"{one.name}: {one.title}\n\n{one.text}\n")
    for one in () if options.names else catalogue():
        print(f"{one.name}: {one.title}")
        print(f"    tables: {', '.join(one.tables) or 'one per object'}")
        for label, items in (("options", one.options), ("needs", one.needs)):
            if items:
                print(f"    {label}: {', '.join(items)}")
    return 0
