"""The process of a report's kernel: `python -m esxparse.reports.standby NOTEBOOK`.

It imports Jupyter's kernel and the notebook's modules of esxparse, in parallel with the command that started it. Then
it reads the kernel's arguments as JSON from standard input and becomes that kernel. Without arguments it ends.
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
"""Modules of charts and recordings that are imported on first use."""


def _imported(notebook: str) -> Iterator[str]:
    """Yield the modules of esxparse that the cells of a notebook import; `from a import b` may mean a module `a.b`."""
    for cell in json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]:
        with suppress(SyntaxError):
            for node in ast.walk(ast.parse("".join(cell["source"]) if cell["cell_type"] == "code" else "")):
                if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "esxparse":
                    yield from (f"{node.module}.{one.name}" for one in node.names)


def prepare(notebook: str) -> None:
    """Import a notebook's modules; failures are ignored here, because the cell will report them."""
    # altair imports all of Jupyter's widgets if it finds them. Templates of others may show a widget.
    unused = ("anywidget", *FORMATS) if os.environ.get("ESXPARSE_REPORT") == "shipped" else ()
    with suppress(Exception), without(*unused):
        for name in (*_ALWAYS, *_imported(notebook)):
            with suppress(ImportError):
                import_module(name)


def become(*more: str) -> None:
    """Wait for the arguments, and become the kernel; `more`: additional arguments."""
    if arguments := sys.stdin.buffer.read():
        os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
        inherit()
        # Nobody needs the history of a report's cells, and their errors are in the notebook.
        quiet = ("--HistoryManager.enabled=False", "--Application.log_level=CRITICAL")
        kernelapp.launch_new_instance([*json.loads(arguments), *quiet, *more])


if __name__ == "__main__":
    prepare(sys.argv[1])
    become()
