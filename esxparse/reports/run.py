"""Run a template on recordings and write the report: papermill for the notebook, `export` for the page."""

from __future__ import annotations

import logging
import os
import re
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from esxparse.diagnosis import thresholds
from esxparse.errors import EsxparseError
from esxparse.reports.library import Template, find
from esxparse.reports.opening import opened
from esxparse.whole import whole_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nbformat import NotebookNode

    from esxparse.recording import Recording

START_TIMEOUT_S: Final = 90
"""How long a kernel may take to answer; a cold disk and a busy machine are slow."""

CELL_TIMEOUT_S: Final = 3600
"""How long one cell may run: a kernel that was killed for lack of memory never answers."""

_LONGEST_REASON: Final = 300

_OPENING: Final = ("start", "end", "date_order", "segment", "time_column", "value_column")
"""Parameters that a template hands on to `esxparse.open`, which refuses bad ones before a kernel is started."""

_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")


def report(
    captures: str | Path | Sequence[str | Path],
    template: str | Path = "host_health",
    output: str | Path = "report.html",
    parameters: Mapping[str, Any] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Path:
    """Run `template` on a capture and write one self-contained HTML file.

    Args:
        captures: Path of the capture; a sequence is handed to templates that declare a parameter `captures`.
        template: Name of a template that comes with esxparse, or path of a notebook.
        output: Path of the HTML file. It is replaced in one step when the report is complete, and untouched otherwise.
        parameters: Values for the template's other parameters: strings, numbers, booleans, lists, dicts.
        progress: Called with (steps done, steps in all, what is done now).

    Returns:
        Path of the file written.

    Raises:
        EsxparseError: The capture cannot be read, there is no such template or parameter, the output's directory is
            missing, or a cell failed. Nothing is written then.
    """
    chosen = find(template)
    paths = [captures] if isinstance(captures, str | Path) else list(captures)
    values = _values(chosen, paths, parameters or {})
    target = _target(output)
    opening: dict[str, Any] = {name: values[name] for name in _OPENING if values.get(name)}
    for path in paths:
        _check(chosen, opened(path, **opening), values)
    step = _steps(progress)
    bundle: list[str] = []
    # Making the bundle takes more than a second, which the kernel needs for its own start.
    runtime = threading.Thread(target=lambda: bundle.append(_runtime()), daemon=True)
    with tempfile.TemporaryDirectory(prefix="ex-") as home:
        runtime.start()
        notebook = _execute(chosen, values, Path(home), step)
        runtime.join()
        step(len(notebook.cells), len(notebook.cells) + 1, "writing the page")
        from esxparse.reports.export import to_html  # noqa: PLC0415 - pulls in nbconvert

        page = to_html(notebook, runtime=bundle[0] if bundle else None)
        _write(target, page)
    step(len(notebook.cells) + 1, len(notebook.cells) + 1, "done")
    return target


def _runtime() -> str:
    from esxparse.reports.export import vega_runtime  # noqa: PLC0415

    return vega_runtime()


def _steps(progress: Callable[[int, int, str], None] | None) -> Callable[[int, int, str], None]:
    return progress if progress is not None else lambda _done, _total, _what: None


def _values(template: Template, paths: Sequence[str | Path], given: Mapping[str, Any]) -> dict[str, Any]:
    if not paths:
        msg = "no capture given: name at least one file"
        raise EsxparseError(msg)
    known = {parameter.name for parameter in template.parameters}
    unknown = [name for name in given if name not in known]
    if unknown:
        msg = (
            f"template {template.name!r} has no parameter {unknown[0]!r}: "
            f"it takes {', '.join(sorted(known - {'capture', 'captures'})) or 'none'}"
        )
        raise EsxparseError(msg)
    # The kernel works in a directory of its own, so relative paths would lead nowhere.
    absolute = [str(Path(path).resolve()) for path in paths]
    if "captures" in known:
        return {**given, "captures": absolute}
    if len(absolute) > 1:
        msg = f"template {template.name!r} takes one capture, and {len(absolute)} were given: run it once for each"
        raise EsxparseError(msg)
    return {**given, "capture": absolute[0]}


def _check(template: Template, rec: Recording, values: Mapping[str, Any]) -> None:
    """Refuse what the template would fail on, before a kernel is started for it."""
    if template.formats and rec.format not in template.formats:
        msg = f"template {template.name!r} reads {', '.join(template.formats)}, and {rec.source} is {rec.format}"
        raise EsxparseError(msg)
    if "profile" in values:
        thresholds.load(str(values["profile"]))


def _target(output: str | Path) -> Path:
    target = Path(output).expanduser()
    if target.is_dir():
        msg = f"{target} is a directory: give the name of a file, such as {target / 'report.html'}"
        raise EsxparseError(msg)
    folder = target.resolve().parent
    if not folder.is_dir():
        msg = f"cannot write {target}: there is no directory {folder}; make it first"
        raise EsxparseError(msg)
    if not os.access(folder, os.W_OK):
        msg = f"cannot write {target}: no permission to write in {folder}"
        raise EsxparseError(msg)
    return target


def _execute(
    template: Template, values: Mapping[str, Any], home: Path, step: Callable[[int, int, str], None]
) -> NotebookNode:
    # papermill and what it rests on take half a second to import.
    import nbformat  # noqa: PLC0415
    import papermill  # noqa: PLC0415
    from papermill.exceptions import PapermillExecutionError  # noqa: PLC0415

    from esxparse.reports import kernel  # noqa: PLC0415

    logging.getLogger("papermill").setLevel(logging.ERROR)
    notebook = nbformat.read(template.path, as_version=4)  # type: ignore[no-untyped-call]
    title = "starting"

    def on_cell_start(cell: NotebookNode, cell_index: int) -> None:
        nonlocal title
        if cell.cell_type == "markdown":
            title = _heading(cell.source) or title
        step(cell_index, len(notebook.cells) + 2, title)

    work = home / "work"
    work.mkdir()
    try:
        done: NotebookNode = papermill.execute_notebook(
            str(template.path),
            str(home / "run.ipynb"),
            parameters=dict(values),
            kernel_name=kernel.NAME,
            language="python",
            progress_bar=False,
            log_output=False,
            start_timeout=START_TIMEOUT_S,
            execution_timeout=CELL_TIMEOUT_S,
            cwd=str(work),
            request_save_on_cell_execute=False,
            kernel_manager_class=kernel.manager_class(home, {"ESXPARSE_REPORT": template.name}),
            shutdown_kernel="immediate",
            on_cell_start=on_cell_start,
        )
    except PapermillExecutionError as error:
        msg = f"template {template.name!r} failed in section {title!r}: {_failure(error.ename, error.evalue)}"
        raise EsxparseError(msg) from error
    # Whatever else goes wrong between here and the kernel (it dies, a cell never ends, an output is no valid notebook
    # data) is one line to the user too; the cause hangs on it for whoever debugs a template.
    except Exception as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        msg = f"template {template.name!r} could not be run (section {title!r}): {first[:_LONGEST_REASON]}"
        raise EsxparseError(msg) from error
    return done


def _failure(name: str, value: str) -> str:
    text = " ".join(_ANSI.sub("", value).split())
    # Errors of esxparse are written for the user and need no class name in front.
    return text if name.endswith("Error") and name in _OWN else f"{name}: {text[:_LONGEST_REASON]}"


def _own(base: type[Exception]) -> frozenset[str]:
    return frozenset({base.__name__}).union(*(_own(child) for child in base.__subclasses__()))


_OWN: Final = _own(EsxparseError)


def _heading(source: str) -> str:
    for line in source.splitlines():
        if line.startswith("#"):
            return line.lstrip("# ").strip()
    return ""


def _write(target: Path, page: str) -> None:
    """Put `page` at `target` in one step: a reader sees the old file or the new one."""
    try:
        with whole_file(target) as file:
            file.write(page.encode())
    except OSError as error:
        msg = f"cannot write {target}: {error.strerror or error}"
        raise EsxparseError(msg) from error
