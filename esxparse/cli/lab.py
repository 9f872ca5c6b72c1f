"""`esxparse lab`: JupyterLab on a notebook with the explorer on a capture."""

from __future__ import annotations

import argparse
from pathlib import Path

from esxparse.recording import printable


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "lab",
        help="explore recordings in JupyterLab",
        description="Writes a notebook with the explorer on a recording, on two over each other or on a study, and "
        "starts JupyterLab on it. A notebook of theirs that is there already is opened as it is.",
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="one or two recordings or a study.toml; else the bundled one"
    )
    parser.add_argument(
        "--events",
        metavar="FILE",
        action="append",
        default=[],
        help="tasks or a log, as notes in charts; may be repeated",
    )
    parser.add_argument("-o", "--output", metavar="NOTEBOOK", type=Path, help="the notebook, FILE.ipynb unless named")
    parser.add_argument("--no-start", action="store_true", help="only write the notebook")
    parser.add_argument(
        "--jupyter",
        metavar="OPTION",
        action="append",
        default=[],
        help="an option for JupyterLab, as --jupyter=--port=9999 or --jupyter=--no-browser; may be given several times",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the notebook and become JupyterLab."""
    from esxparse.explorer.lab import prepare, start  # noqa: PLC0415  nbformat is not for --help

    notebook, made = prepare(options.files, options.output, options.events)
    print(f"{printable(str(notebook))}: {'written' if made else 'there already, opened as it is'}")
    if not options.no_start:
        start(notebook, options.jupyter)
    return 0
