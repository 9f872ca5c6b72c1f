"""A notebook with the explorer on recordings, and JupyterLab on it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NoReturn

from esxparse.errors import EsxparseError
from esxparse.explorer.app import explore
from esxparse.formats.events import read_events
from esxparse.formats.names import STANDARD_INPUT
from esxparse.locations import is_url, public
from esxparse.reading import as_recording
from esxparse.recording import printable
from esxparse.shipped import datasets_dir
from esxparse.studies import study
from esxparse.studies.study_file import SUFFIX
from esxparse.target import target

_MOST: Final = 2
_NOTEBOOK: Final = ".ipynb"
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>#|$&~])")
"""Characters with a meaning in Markdown."""
_CELLS: Final = (
    "# {title}\n\nRun the cells from the top (Shift+Enter). The explorer's *Copy code* gives what it shows as a cell.",
    "import esxparse as ex\n\nrec = ex.open({first!r})\nrec",
    "ex.explore(rec{other}{events})",
    "rec.findings()",
    'rec.top("%RDY")',
)
_OF_STUDY: Final = (
    "# {title}\n\nRun the cells from the top (Shift+Enter).",
    "import esxparse as ex\n\nstudy = ex.study({first!r})\nstudy",
    "ex.explore(study)",
    "study.runs.collect()",
)


def prepare(
    files: Sequence[str | os.PathLike[str]], notebook: Path | None = None, events: Sequence[str] = ()
) -> tuple[Path, bool]:
    """Write the notebook; return its path, and whether it was made: an existing one stays as it is.

    `files`: a recording, two that are drawn over each other, or a study's manifest; by default the bundled recording.
    `notebook`: the path to write. `events`: tables of tasks or logs, whose events are notes in the charts.

    Raises EsxparseError: There are more, one cannot be read or is not on this machine, the notebook cannot be written,
    or the existing one belongs to other recordings.
    """
    if len(files) > _MOST:
        raise EsxparseError(f"the explorer shows one recording or two over each other, not {len(files)}")
    for one in (*files, *events):
        if is_url(os.fspath(one)) or one == STANDARD_INPUT:
            raise EsxparseError(
                f"{public(os.fspath(one))} cannot be read again later: write it to a file and open that"
            )
    there = [Path(one) for one in files] or [datasets_dir() / "busy-host" / "busy-host.csv"]
    name = there[0].absolute().name
    path = notebook or Path(f"{Path(name).stem}{_NOTEBOOK}")
    if path.suffix.lower() != _NOTEBOOK:
        raise EsxparseError(f"{printable(str(path))} is not the name of a notebook: end it in {_NOTEBOOK}")
    of = [str(one.resolve()) for one in there]
    if path.is_file():
        if (others := _recordings(path)) not in (None, of):
            raise EsxparseError(f"{path} is the notebook of {' and '.join(others)}: name another with -o NOTEBOOK")
        return path, False
    for one in events:
        read_events(one)
    place = target(path, of)
    fields = {
        "title": _SPECIAL.sub(r"\\\1", printable(name)),
        "first": of[0],
        "other": f", ex.open({of[1]!r})" if len(of) > 1 else "",
        "events": f", events={[str(Path(one).resolve()) for one in events]!r}" if events else "",
    }
    sources = _sources(there)
    place.write(json.dumps(_notebook([source.format(**fields) for source in sources], of), indent=1).encode())
    return path, True


def _sources(files: Sequence[Path]) -> Sequence[str]:
    """Return the cells of a notebook on these files; reads the files to check them."""
    if manifests := [one for one in files if one.suffix == SUFFIX]:
        if len(files) > 1:
            raise EsxparseError(f"{printable(str(manifests[0]))} is a study: explore it alone")
        study(manifests[0])
        return _OF_STUDY
    first, *_ = [as_recording(one) for one in files]
    return _CELLS if "group_cpu" in first else _CELLS[:3]


def _recordings(notebook: Path) -> list[str] | None:
    """Return the recordings that a notebook was made for; None if it is not ours, or does not list them."""
    try:
        made: list[str] = json.loads(notebook.read_bytes())["metadata"]["esxparse"]["recordings"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return made


def _notebook(sources: Sequence[str], recordings: Sequence[str]) -> dict[str, Any]:
    words, *code = sources
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "id": "about", "metadata": {}, "source": words}]
    cells += [
        {"cell_type": "code", "id": f"cell-{at}", "metadata": {}, "execution_count": None, "outputs": [], "source": one}
        for at, one in enumerate(code)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "esxparse": {"recordings": recordings}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def present(path: str) -> None:
    """Show a file that was opened in JupyterLab: progress, then the explorer, or the error."""
    from IPython.display import Pretty, clear_output, display  # noqa: PLC0415  (only in a kernel)

    name = printable(Path(path).name)
    # None outside a notebook.
    handle = display(Pretty(f"Reading {name} ..."), display_id=True)  # type: ignore[no-untyped-call]

    def tell(done: int, runs: int, run: str) -> None:
        if handle is not None:
            handle.update(Pretty(f"Reading {name}: run {done + 1} of {runs}, {printable(run)} ..."))  # type: ignore[no-untyped-call]

    try:
        view = explore(study(path, progress=tell) if Path(path).suffix == SUFFIX else path)
    except EsxparseError as error:
        sys.stdout.write(f"{error}\n")
        return
    clear_output(wait=True)  # type: ignore[no-untyped-call]
    display(view)  # type: ignore[no-untyped-call]


def start(notebook: Path, more: Sequence[str] = ()) -> NoReturn:
    """Become JupyterLab on that notebook, started with `more` options of its own.

    Raises EsxparseError: JupyterLab is not installed.
    """
    if find_spec("jupyterlab") is None:
        raise EsxparseError("JupyterLab is not installed: pip install 'esxparse[lab]'")
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", str(notebook.absolute()), *more])  # noqa: S606 (no shell)
