"""The process of a report's kernel: `python -m esxparse.reports.standby NOTEBOOK`.

It imports Jupyter's kernel and what the notebook takes of esxparse, then reads the kernel's arguments as JSON from
standard input and becomes that kernel: all of it beside the command that started it. Without arguments it ends.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Final

from ipykernel import kernelapp

from esxparse.locations import inherit
from esxparse.reports.lean import FORMATS, without

_ALWAYS: Final = ("altair", "esxparse.charts.marks", "esxparse.formats.registry")
"""What charts and recordings take, which is imported when it is first used."""


def _imported(notebook: str) -> Iterator[str]:
    """The modules of esxparse that the cells of a notebook import; `from a import b` may name a module `a.b`."""
    for cell in json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]:
        with suppress(SyntaxError):
            for node in ast.walk(ast.parse("".join(cell["source"]) if cell["cell_type"] == "code" else "")):
                if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "esxparse":
                    yield from (f"{node.module}.{one.name}" for one in node.names)


def prepare(notebook: str) -> None:
    """Imports what a notebook will; what cannot be read or imported fails in its cell, which says so."""
    # altair looks for Jupyter's widgets, and imports all of them. Templates of others may show one.
    unused = ("anywidget", *FORMATS) if os.environ.get("ESXPARSE_REPORT") == "shipped" else ()
    with suppress(Exception), without(*unused):
        for name in (*_ALWAYS, *_imported(notebook)):
            with suppress(ImportError):
                import_module(name)


def become(*more: str) -> None:
    """Waits for the arguments, and becomes the kernel; `more`: arguments after those."""
    if arguments := sys.stdin.buffer.read():
        os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
        inherit()
        # Nobody asks for the history of a report's cells, and what fails in them is in the notebook.
        quiet = ("--HistoryManager.enabled=False", "--Application.log_level=CRITICAL")
        kernelapp.launch_new_instance([*json.loads(arguments), *quiet, *more])


if __name__ == "__main__":
    prepare(sys.argv[1])
    become()
