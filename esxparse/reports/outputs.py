"""The outputs of a finished notebook in each form of a report."""

from __future__ import annotations

import json
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esxparse.errors import EsxparseError
from esxparse.recording import printable
from esxparse.reports.blocks import CHART_MIME, VEGALITE_MIME, chart
from esxparse.reports.forms import MARK, OF_BATCH, is_report
from esxparse.target import Target, target

if TYPE_CHECKING:
    from nbformat import NotebookNode


def place(output: str | Path, form: str, inputs: Iterable[str | Path], *, replace: bool) -> Target:
    """Return a checked place for a report, and for the pictures beside it.

    Raises EsxparseError: See `target`; or a PDF is requested but there is no browser.
    """
    found = target(output, inputs, replace=replace, ours=is_report)
    if form == "pdf":
        from esxparse.reports import pdf  # noqa: PLC0415  the others need no browser

        pdf.browser()
    if form == "md" and not found.special:
        from esxparse.reports import markdown  # noqa: PLC0415  beautifulsoup

        markdown.check(found, replace=replace)
    return found


def write(notebook: NotebookNode, form: str, where: Target, runtime: Callable[[], str]) -> None:
    """Write a finished notebook.

    `runtime`: returns the script that draws charts in a page.
    """
    if form == "md":
        from esxparse.reports import markdown  # noqa: PLC0415  beautifulsoup

        markdown.write(notebook, where)
    elif form == "ipynb":
        where.write(_notebook(notebook))
    else:
        from esxparse.reports.export import to_html  # noqa: PLC0415  jinja

        page = to_html(notebook, runtime=runtime())
        if form == "pdf":
            from esxparse.reports import pdf  # noqa: PLC0415  the others need no browser

            where.write(pdf.printed(page) + b"\n%" + MARK + b"\n")
        else:
            where.write(page.encode())


def show(path: Path) -> None:
    """Open a report in the browser.

    Raises EsxparseError: No browser could be started.
    """
    if not webbrowser.open(path.resolve().as_uri()):
        raise EsxparseError(f"no browser could be started: open {printable(str(path))} yourself")


def _notebook(notebook: NotebookNode) -> bytes:
    """Return the notebook with its outputs; each chart also as a picture, for viewers that cannot draw it."""
    from esxparse.reports import pictures  # noqa: PLC0415  vl_convert

    made: dict[str, Any] = json.loads(json.dumps(notebook))
    made["cells"] = [cell for cell in made["cells"] if OF_BATCH not in cell["metadata"].get("tags", [])]
    for cell in made["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if spec := chart(data):
                data.pop(CHART_MIME, None)
                data |= {VEGALITE_MIME: spec, "image/png": pictures.png(spec)}
    # The generator comes first, within the bytes that `is_report` reads.
    about = {"generator": MARK.decode(), **made.pop("metadata")}
    return (json.dumps({"metadata": about, **made}, indent=1, ensure_ascii=False) + "\n").encode()
