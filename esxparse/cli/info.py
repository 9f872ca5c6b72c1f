"""`esxparse info`: describe a file on one screen."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from esxparse.cli.output import add_opening, each, given_opening, warn
from esxparse.cli.progress import Progress
from esxparse.formats.opening import Opening
from esxparse.recording import Recording, printable

_NOTES = 12
_WIDTH = 100
_LABEL = 9


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "info",
        help="describe a file: host, time span, VMs, tables, anomalies",
        description="Describes each file: format, host, time span, VMs, tables and anomalies.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a raw recording")
    add_opening(parser)
    parser.set_defaults(run=run)


def _entry(label: str, text: str) -> str:
    return textwrap.fill(
        printable(text),
        width=_WIDTH,
        initial_indent=f"  {label:<{_LABEL}} ",
        subsequent_indent=" " * (_LABEL + 3),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _tables(recording: Recording) -> str:
    """Return the tables, with the number of instances if the format has instances, else of rows."""
    sizes = recording.meta.get("objects")
    counted = "instances"
    if not sizes:
        import polars as pl  # noqa: PLC0415  not for --help

        sizes = {name: frame.select(pl.len()).collect().item() for name, frame in recording.tables.items()}
        counted = "rows"
    tables = ", ".join(f"{name} ({sizes[name]:,})" if name in sizes else name for name in recording.tables)
    return f"{tables}   ({counted})"


def describe(recording: Recording) -> str:
    """Return the facts, tables and notes of a recording, as text."""
    facts = [(name, text) for name, text in recording.facts() if name != "file"]
    lines = [printable(recording.source), *(_entry(name, text) for name, text in facts)]
    lines.append(_entry("tables", _tables(recording)))
    notes = sorted(recording.notes, key=lambda note: not note.rows)
    lines += [_entry("warning" if note.severity == "warning" else "note", str(note)) for note in notes[:_NOTES]]
    if len(recording.notes) > _NOTES:
        lines.append(_entry("", f"and {len(recording.notes) - _NOTES} more notes"))
    return "\n".join(lines)


def run(options: argparse.Namespace) -> int:
    """Describe each file; go on after one that cannot be read."""
    from esxparse.formats.registry import open_recording  # noqa: PLC0415  polars is not for --help

    def describe_one(numbered: tuple[int, str]) -> None:
        number, file = numbered
        with Progress(f"reading {Path(file).name}"):
            rec = open_recording(file, Opening.of(given_opening(options)), numbers=())
            text = describe(rec)
        print(f"\n{text}" if number else text)
        warn(rec.losses())

    return each(enumerate(options.files), describe_one)
