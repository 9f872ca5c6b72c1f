"""Run a template on recordings and write the report: papermill for the notebook, `export` for the page."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from esxparse import locations
from esxparse.errors import EsxparseError, LossWarning
from esxparse.locations import is_url, public
from esxparse.reports import forms, kernel, lean, outputs
from esxparse.reports.blocks import NOTEBOOK_ONLY
from esxparse.reports.library import find, needs_of_studies, passed_on, values_of
from esxparse.reports.pick import AUTO, picked, reading, usual
from esxparse.reports.study import needs
from esxparse.shipped import templates_dir

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager
    from nbformat import NotebookNode

    from esxparse.formats.opening import Opening, Options
    from esxparse.reports.library import Template

START_TIMEOUT_S: Final = 90
"""Longest start of a kernel; a cold disk and a busy machine are slow."""

CELL_TIMEOUT_S: Final = 3600
"""Longest run of one cell: a kernel killed for lack of memory never answers."""

_LONGEST_REASON: Final = 300
_EXTRA: Final = (
    "altair",
    "ipykernel",
    "jinja2",
    "markdownify",
    "mistune",
    "papermill",
    "platformdirs",
    "psutil",
    "vl_convert",
)
"""The packages of the extra `report`, by their import names."""

_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")


def report(
    captures: str | Path | Sequence[str | Path],
    template: str | Path | None = None,
    output: str | Path = "report.html",
    parameters: Mapping[str, Any] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    *,
    replace: bool = True,
    to: str | None = None,
    show: bool = False,
    **opening: Unpack[Options],
) -> Path:
    """Run `template` on a capture and write one self-contained HTML file, or the report in another form.

    Args:
        captures: As for `esxparse.open`; a sequence is for templates that declare a parameter `captures`.
        template: Name of a template that comes with esxparse, path of a notebook, or "auto": by the captures' formats.
            None: "auto", but `host_health` for compressed and remote CSV without a check.
        output: Path of the report; its ending sets the form: `.html`, `.ipynb` (the finished notebook), `.pdf` (by
            Chromium or Chrome) or `.md` (with the charts as SVG in `NAME_files` beside it). The file is replaced in one
            step when the report is complete, and untouched otherwise.
        parameters: Values for the template's other parameters: numbers, booleans, lists, dicts, or their text. Options
            of `esxparse.open` may be included.
        progress: Called with (steps done, steps in all, current step).
        replace: Whether to replace an existing file. An input is never replaced, a report always.
        to: The form, if the ending does not set it: "html", "ipynb", "pdf" or "md".
        show: Whether to open the report in the browser.
        opening: Options of `esxparse.open`: `start`, `date_order` and the rest.

    Returns:
        Path of the file written.

    Raises EsxparseError: The capture cannot be read, the template or parameter does not exist, the output may not be
    written, a cell failed, or the extra `report` is not installed. Nothing is written then.
    """
    paths = [public(os.fspath(one)) for one in ([captures] if isinstance(captures, (str, os.PathLike)) else captures)]
    order = Order(paths, template, output, parameters or {}, opening, replace=replace, to=to)
    path, _ = made(order, progress)
    if show:
        outputs.show(path)
    return path


@dataclass(frozen=True)
class Order:
    """The order of a report: see the arguments of `report`."""

    paths: Sequence[str | Path]
    template: str | Path | None
    output: str | Path
    parameters: Mapping[str, Any]
    opening: Options
    replace: bool = True
    to: str | None = None
    last: str = ""
    """Source of a cell that runs after all others and is not on the page."""


def made(
    order: Order,
    progress: Callable[[int, int, str], None] | None = None,
    launch: Callable[[Path, dict[str, str], Path], Any] = kernel.launched,
) -> tuple[Path, NotebookNode]:
    """Make a report as `report` does; return its path and the finished notebook.

    `launch`: as for `kernel.started`.
    """
    need_extra()
    step, paths = progress or (lambda _done, _total, _what: None), order.paths
    to, opening = forms.requested_form(order.to, order.opening)
    template = order.template or usual(paths)
    chosen = find(picked(paths, opening) if template == AUTO else template)
    options, others = values_of(chosen, order.parameters, opening)
    inputs = [*paths, chosen.path]
    if "profile" in others:
        inputs.append(others["profile"])
        if str(others["profile"]).lower().endswith(".toml"):
            # The kernel works in another directory.
            others["profile"] = str(Path(others["profile"]).absolute())
    if "events" in others:
        others["events"] = [_local(str(one)) for one in others["events"]]
        inputs += others["events"]
    form = forms.form_of(order.output, to)
    place = outputs.place(order.output, form, inputs, replace=order.replace)
    # A kernel takes a second to start and import the template's modules: meanwhile this process imports its own, and
    # checks the recordings.
    whose = "shipped" if chosen.path.parent == templates_dir() else "own"
    environment = {"ESXPARSE_REPORT": whose, **locations.environment(map(str, paths))}
    with kernel.started(chosen.path, environment, launch) as manager:
        from esxparse.reports.recordings import Inputs  # noqa: PLC0415

        with Inputs(paths) as openable, ThreadPoolExecutor(1) as beside:
            _check(chosen, openable.paths, options, others)
            values = {**others, **passed_on(chosen, options), **openable.parameter(chosen)}
            runtime = beside.submit(_page_parts) if form in {"html", "pdf"} else None
            done = _execute(chosen, values, manager, step, order.last)
    total = len(done.cells) + 1
    step(total - 1, total, "writing the report")
    outputs.write(done, form, place, lambda: runtime.result() if runtime else "")
    step(total, total, "done")
    return place.path, done


def _local(path: str) -> str:
    """Return the absolute path of a file, because the kernel works in another directory; reject URLs with secrets."""
    if is_url(path):
        raise EsxparseError(f"{public(path)}: events are read from files on this machine: download it first")
    return str(Path(path).absolute())


def _page_parts() -> str:
    """Return the script that draws charts, while other modules of the page are imported."""
    from esxparse.charts.runtime import vega_runtime  # noqa: PLC0415
    from esxparse.reports import export  # noqa: F401, PLC0415

    return vega_runtime()


def need_extra() -> None:
    """Raise EsxparseError if the extra `report` is not installed."""
    lacking = [name for name in _EXTRA if find_spec(name) is None]
    if lacking:
        msg = f'reports need {", ".join(lacking)}, which is not installed: pip install "esxparse[report]"'
        raise EsxparseError(msg)


def _check(template: Template, paths: Sequence[str], options: Opening, values: Mapping[str, Any]) -> None:
    """Raise EsxparseError for inputs on which the template would fail, before any of it runs."""
    from esxparse.reports.recordings import input_of, opened_all  # noqa: PLC0415

    name = input_of(template, paths[0])
    if len(paths) > 1 and name == "lake":
        raise EsxparseError(f"a report is on one lake, but {len(paths)} inputs were given: run it once per lake")
    if len(paths) > 1 and name != "captures":
        msg = f"template {template.name!r} takes one capture, but {len(paths)} were given: run it once per capture"
        raise EsxparseError(msg)
    if name == "study":
        from esxparse.studies.study_file import load  # noqa: PLC0415

        manifest = load(paths[0])
        if template.study is not None:
            from esxparse.studies.expand import expand  # noqa: PLC0415

            runs = expand(manifest, outside=bool(values.get("outside")))
            needs.check(template.name, template.study, manifest, runs, needs_of_studies())
        return
    if name == "lake":
        from esxparse.lakes import lake  # noqa: PLC0415

        _ = lake(paths[0]).captures
    for rec in () if name == "lake" else opened_all(paths, options=options.texts()):  # type: ignore[arg-type]
        if template.formats and rec.format not in template.formats:
            fitting = reading({rec.format})
            hint = f": take {fitting}" if fitting else ""
            msg = f"template {template.name!r} reads {', '.join(template.formats)}, but {rec.source} is {rec.format}"
            raise EsxparseError(msg + hint)
        for loss in rec.losses():
            warnings.warn(loss, LossWarning, stacklevel=4)
    _check_files(values)


def _check_files(values: Mapping[str, Any]) -> None:
    """Read the files in parameters."""
    from esxparse.diagnosis import rules  # noqa: PLC0415
    from esxparse.formats.events import in_order, read_events  # noqa: PLC0415

    if "profile" in values:
        rules.load(str(values["profile"]))
    if values.get("events"):
        in_order([read_events(one) for one in values["events"]])


def _execute(
    template: Template,
    values: Mapping[str, Any],
    kernels: type[AsyncKernelManager],
    step: Callable[[int, int, str], None],
    last: str,
) -> NotebookNode:
    # papermill and its dependencies take half a second to import; pyarrow is only for its optional stores.
    with lean.without("pyarrow", *lean.FORMATS) if lean.is_alone() else nullcontext():
        import nbformat  # noqa: PLC0415
        from papermill import iorw  # noqa: PLC0415
        from papermill.engines import papermill_engines  # noqa: PLC0415
        from papermill.exceptions import PapermillExecutionError  # noqa: PLC0415
        from papermill.execute import raise_for_execution_errors  # noqa: PLC0415
        from papermill.parameterize import parameterize_notebook  # noqa: PLC0415

    from esxparse.reports import manager  # noqa: PLC0415

    for name in ("papermill", "traitlets"):
        # They print that a kernel ended, which their error reports too.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        todo = nbformat.reads(template.path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]
        nbformat.validate(todo)
    except Exception as error:
        # nbformat raises its own errors, and errors of schema checkers.
        msg = f"{template.path} is not a Jupyter notebook ({str(error).splitlines()[0]}): save it from Jupyter again"
        raise EsxparseError(msg) from error
    if last:
        todo.cells.append(nbformat.v4.new_code_cell(last, metadata={"tags": [NOTEBOOK_ONLY, forms.OF_BATCH]}))  # type: ignore[no-untyped-call]
    title = "starting"

    def on_cell_start(cell: NotebookNode, cell_index: int) -> None:
        nonlocal title
        if cell.cell_type == "markdown":
            title = _heading(cell.source) or title
        step(cell_index, len(todo.cells) + 2, title)

    try:
        # Like papermill.execute_notebook, which also spends half a second on writing the notebook to nowhere.
        ready = parameterize_notebook(
            iorw.load_notebook_node(todo), dict(values), kernel_name=manager.NAME, language="python"
        )
        done: NotebookNode = papermill_engines.execute_notebook_with_engine(
            None,
            ready,
            kernel_name=manager.NAME,
            progress_bar=False,
            log_output=False,
            start_timeout=START_TIMEOUT_S,
            execution_timeout=CELL_TIMEOUT_S,
            kernel_manager_class=kernels,
            shutdown_kernel="immediate",
            on_cell_start=on_cell_start,
        )
        raise_for_execution_errors(done, None)
    except PapermillExecutionError as error:
        msg = f"template {template.name!r} failed in section {title!r}: {_failure(error.ename, error.evalue)}"
        raise EsxparseError(msg) from error
    # Any other failure up to the kernel (it dies, a cell never ends, an output is not valid notebook data) is one line
    # to the user too; the cause stays attached for debugging a template.
    except Exception as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        msg = f"template {template.name!r} could not run (section {title!r}): {first[:_LONGEST_REASON]}"
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
