"""The forms of a report: which one is asked for, and what a notebook that was run becomes in each."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from esxparse.errors import EsxparseError
from esxparse.recording import printable
from esxparse.reports.blocks import VEGALITE_MIME
from esxparse.target import PAGE_MARK, Target, target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nbformat import NotebookNode

    from esxparse.formats.opening import Options

FORMS: Final = ("html", "ipynb", "pdf", "md")
MARK: Final = b"esxparse report"
"""In the first or last lines of every report that is no page."""

OF_BATCH: Final = "of-batch"
"""Tag of the cell that a batch adds for its index."""

_ENDINGS: Final = {".htm": "html", ".markdown": "md", **{f".{form}": form for form in FORMS}}
_NEAR: Final = 4096


def asked(to: str | None, opening: Options) -> tuple[str | None, Options]:
    """The form that is asked for, and the options of `esxparse.open`: `format` may say either.

    Raises EsxparseError: They name two forms.
    """
    form = opening.get("format")
    if form not in FORMS:
        return to, opening
    if to not in {None, form}:
        raise EsxparseError(f"a report cannot be written as {to} and as {form}: leave one of them out")
    rest: Any = {name: value for name, value in opening.items() if name != "format"}
    return form, rest


def form_of(output: str | Path | None, to: str | None) -> str:
    """The form of a report: the one asked for, or by the ending of the output's name; "html" of any other.

    Raises EsxparseError: There is no such form, or the name ends in that of another.
    """
    if to is not None and to not in FORMS:
        raise EsxparseError(f"a report cannot be written as {to!r}: choose from {', '.join(FORMS)}")
    said = _ENDINGS.get(Path(output).suffix.lower()) if output is not None else None
    if to and said and to != said:
        raise EsxparseError(f"{printable(str(output))} is named as {said}, but {to} is asked for: leave one out")
    return to or said or "html"


def place(output: str | Path, form: str, inputs: Iterable[str | Path], *, replace: bool) -> Target:
    """A checked place for a report, and for the pictures beside it.

    Raises EsxparseError: As `target`; or a PDF is asked for where no browser is.
    """
    found = target(output, inputs, replace=replace, ours=is_report)
    if form == "pdf":
        from esxparse.reports import pdf  # noqa: PLC0415  the others need no browser

        pdf.browser()
    if form == "md" and not found.special:
        from esxparse.reports import markdown  # noqa: PLC0415  beautifulsoup

        markdown.check(found, replace=replace)
    return found


def is_report(path: Path) -> bool:
    """Whether there is a report that esxparse wrote, in any form, or a table of a study."""
    with path.open("rb") as file:
        first = file.read(_NEAR)
        file.seek(max(0, path.stat().st_size - _NEAR))
        return PAGE_MARK in first or MARK in first or MARK in file.read()


def write(notebook: NotebookNode, form: str, where: Target, runtime: Callable[[], str]) -> None:
    """Writes a notebook that was run.

    `runtime`: gives the script that draws charts in a page.
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
    """Opens a report in the browser.

    Raises EsxparseError: There is none.
    """
    if not webbrowser.open(path.resolve().as_uri()):
        raise EsxparseError(f"no browser could be started: open {printable(str(path))} yourself")


def _notebook(notebook: NotebookNode) -> bytes:
    """The notebook with its outputs; each chart also as a picture, for viewers that do not draw it."""
    from esxparse.reports import pictures  # noqa: PLC0415  vl_convert

    made: dict[str, Any] = json.loads(json.dumps(notebook))
    made["cells"] = [cell for cell in made["cells"] if OF_BATCH not in cell["metadata"].get("tags", [])]
    for cell in made["cells"]:
        for output in cell.get("outputs", []):
            spec = output.get("data", {}).get(VEGALITE_MIME)
            if spec is not None:
                output["data"]["image/png"] = pictures.png(spec)
    # What wrote it stands first, where it is looked for.
    about = {"generator": MARK.decode(), **made.pop("metadata")}
    return (json.dumps({"metadata": about, **made}, indent=1, ensure_ascii=False) + "\n").encode()
