"""The forms of a report: the requested one, and whether a file is a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from esxparse.errors import EsxparseError
from esxparse.recording import printable
from esxparse.target import PAGE_MARK

if TYPE_CHECKING:
    from esxparse.formats.opening import Options

FORMS: Final = ("html", "ipynb", "pdf", "md")
MARK: Final = b"esxparse report"
"""Mark in the first or last lines of every report that is not an HTML page."""

OF_BATCH: Final = "of-batch"
"""Tag of the cell that a batch adds for its index."""

_ENDINGS: Final = {".htm": "html", ".markdown": "md", **{f".{form}": form for form in FORMS}}
_NEAR: Final = 4096


def requested_form(to: str | None, opening: Options) -> tuple[str | None, Options]:
    """Return the requested form, and the options of `esxparse.open`: `format` may be either.

    Raises EsxparseError: They request two different forms.
    """
    form = opening.get("format")
    if form not in FORMS:
        return to, opening
    if to not in {None, form}:
        raise EsxparseError(f"a report cannot be written as {to} and as {form}: leave one of them out")
    rest: Any = {name: value for name, value in opening.items() if name != "format"}
    return form, rest


def form_of(output: str | Path | None, to: str | None) -> str:
    """Return the form of a report: the requested one, or by the ending of the output's name; "html" without one.

    Raises EsxparseError: The form is unknown, or the name has the ending of another form or an unknown ending.
    """
    if to is not None and to not in FORMS:
        raise EsxparseError(f"a report cannot be written as {to!r}: choose from {', '.join(FORMS)}")
    ending = "" if output is None or Path(output).is_dir() else Path(output).suffix.lower()
    by_ending = _ENDINGS.get(ending)
    if to and by_ending and to != by_ending:
        raise EsxparseError(f"{printable(str(output))} is named as {by_ending}, but {to} is asked for: leave one out")
    if ending and not (to or by_ending):
        forms = f"{', '.join(f'.{form}' for form in FORMS[:-1])} or .{FORMS[-1]}"
        raise EsxparseError(f"{printable(str(output))}: a report is {forms}: name it so, or say which by --to")
    return to or by_ending or "html"


def is_report(path: Path) -> bool:
    """Return whether a file is a report by esxparse, in any form, or a table of a study."""
    with path.open("rb") as file:
        first = file.read(_NEAR)
        file.seek(max(0, path.stat().st_size - _NEAR))
        return PAGE_MARK in first or MARK in first or MARK in file.read()
