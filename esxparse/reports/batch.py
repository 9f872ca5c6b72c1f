"""`ex.batch`: a report on each of many inputs, an index of them, and all their findings in one table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl

from esxparse import fleet
from esxparse.errors import EsxparseError
from esxparse.fleet import Crew
from esxparse.formats import memory as sizes
from esxparse.formats.opening import Opening, Options, period
from esxparse.locations import carried, legible, public
from esxparse.recording import counted, printable
from esxparse.reports import batch_state
from esxparse.reports.batch_items import Item, Plan, plan
from esxparse.reports.forms import form_of, is_report, requested_form
from esxparse.reports.index import page
from esxparse.reports.library import find, values_of
from esxparse.reports.outputs import place
from esxparse.reports.pick import AUTO
from esxparse.reports.run import need_extra
from esxparse.target import target
from esxparse.version import __version__
from esxparse.whole import Scratch, claimed, sha256

_REASON: Final = 400
_TEXT: Final = ("item", "template", "page", "inputs", "host", "failed", "item_verdict")
_FINDING: Final = ("id", "trouble", "severity", "confidence", "kind", "name", "start", "end", "verdict", "next")


@dataclass(frozen=True)
class Batch:
    """The result of a batch."""

    index: Path
    """Path of the page that links to all others."""
    summary: pl.DataFrame
    """One row per finding, and one for each item without findings: `item`, `template`, `page`, `inputs`, `host`,
    `failed` (the reason, else null), `item_verdict`; of the finding `id`, `trouble`, `severity`, `confidence` (0 to
    1), `kind`, `name`, `start`, `end` (UTC), `verdict`, `next`."""
    items: int
    reused: int
    """Items with a finished page from an earlier batch."""
    failed: dict[str, str]
    """Reasons by item."""
    left_out: tuple[tuple[str, str], ...]
    """Files in directories that are not items, with the reason."""
    losses: tuple[str, ...] = ()
    """Notes on rows missing from recordings, and so from their reports."""


def batch(
    inputs: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    jobs: int | None = None,
    on: str | None = None,
    template: str | Path = AUTO,
    parameters: Mapping[str, Any] | None = None,
    timeout: str | float = "10m",
    memory: str | int = "4GiB",
    progress: Callable[[int, int, str, str], None] | None = None,
    opening: Options | None = None,
    to: str | None = None,
    trust: bool = False,
) -> Batch:
    """Make a report on each input, and `index.html` and `summary.parquet` of all; a failure does not stop the others.

    A finished page that is still valid (same inputs, template, parameters and version) is not made again. So an
    interrupted batch resumes.

    Args:
        inputs: Recordings, directories of them, studies, or manifests of batches (`batch_items`). For a lake, the
            template `before_after` makes a page for each host.
        output: Directory; created if missing.
        jobs: Reports at a time; by default, the number of processors.
        on: A Dask cluster that makes the reports, `dask://scheduler:8786`; its workers see the same paths.
        template: Name or path, or "auto": by the kind of inputs.
        parameters: Values of the templates' other parameters.
        timeout: Longest duration of a report: seconds, or text such as `10m`.
        memory: Most bytes for a report (`4GiB`, or a number), including its kernel.
        progress: Called with (items done, items in all, names in progress, latest failure or "").
        opening: Options of `esxparse.open`.
        to: The form of the reports: "html", "ipynb", "pdf" or "md"; the index is always an HTML page.
        trust: Whether a manifest may use notebooks as templates: their code runs.

    Raises EsxparseError: A manifest, template or bound is wrong, the directory cannot be written, another batch is
    writing there, or the process that makes the reports was killed.
    """
    need_extra()
    sources = [public(os.fspath(one)) for one in ([inputs] if isinstance(inputs, (str, os.PathLike)) else inputs)]
    folder = Path(output).expanduser().absolute()
    span = period(f"{timeout}s" if str(timeout).replace(".", "", 1).isdecimal() else str(timeout), "timeout")
    if span is None:
        raise EsxparseError("timeout is empty: write it as 10m")
    bounds: dict[str, Any] = {"seconds": span.total_seconds(), "memory": sizes.limit(memory, "memory")}
    crew = Crew(on=on)
    workers = jobs if jobs is not None else os.cpu_count() or 1
    if workers < 1:
        raise EsxparseError(f"jobs is {workers}: give a number above 0")
    bounds["workers"] = workers
    to, opening = requested_form(to, opening or {})
    form = form_of(None, to)
    options: Any = Opening.of(opening).texts()
    states = folder / batch_state.FOLDER
    try:
        states.mkdir(parents=True, exist_ok=True)
        with claimed(states) as mine:
            if not mine:
                raise EsxparseError(f"another batch is writing to {folder}: wait for it, or choose another directory")
            planned = partial(plan, sources, str(template), parameters or {}, options, output=folder, trust=trust)
            return _batch(sources, folder, planned, options, form, bounds, crew, progress)
    except OSError as error:
        raise EsxparseError(f"{folder} cannot be written: {error.strerror or error}") from None


def _batch(
    sources: Sequence[str | Path],
    folder: Path,
    planned_with: Callable[..., Plan],
    options: Any,
    form: str,
    bounds: dict[str, Any],
    crew: Crew,
    progress: Callable[[int, int, str, str], None] | None,
) -> Batch:
    states = folder / batch_state.FOLDER
    kept = {path.stem: batch_state.read(path) for path in sorted(states.glob("*.json"))}
    paths = [str(one) for one in sources if not Path(one).is_dir()]
    index = target(folder / "index.html", paths, replace=False, ours=is_report)
    # Only a directory with an index of ours has a table of ours.
    table = target(folder / "summary.parquet", paths, replace=index.path.exists())
    known = {_key(state): name for name, state in kept.items() if "inputs" in state}
    planned = planned_with(known=known)
    results: dict[str, dict[str, Any]] = {}
    todo: list[tuple[Item, dict[str, Any]]] = []
    for item in planned.items:
        where = folder / f"{item.name}.{form}"
        try:
            job = _job(item, options, where, states)
            place(where, form, item.inputs, replace=False)
        except EsxparseError as error:
            results[item.name] = {"why": _reason(str(error))}
            continue
        if batch_state.holds(kept.get(item.name, {}), job["asked"], item.inputs, where):
            results[item.name] = kept[item.name]
        else:
            todo.append((item, job))
    reused = sum("why" not in one for one in results.values())
    seen = progress or (lambda _done, _total, _now, _failed: None)
    total = len(planned.items)
    for name, state in results.items():
        if "why" in state:
            seen(len(results), total, "", f"{name}: {state['why']}")
    working: dict[int, str] = {}
    jobs = [job for _, job in todo]
    for event in _events_by(crew, jobs, bounds) if crew.elsewhere else _events(jobs, bounds):
        item = todo[event["job"]][0]
        if "began" in event:
            working[event["job"]] = item.name
        else:
            working.pop(event["job"], None)
            results[item.name] = event.get("result") or {"why": _reason(event["why"])}
        why = f"{item.name}: {results[item.name]['why']}" if "why" in results.get(item.name, {}) else ""
        seen(len(results), total, ", ".join(working.values()), why)
    failed = {item.name: results[item.name]["why"] for item in planned.items if "why" in results[item.name]}
    for name in failed.keys() & kept.keys():
        # The page of an earlier batch does not answer the current request.
        (states / f"{name}.json").unlink(missing_ok=True)
        (folder / f"{name}.{form}").unlink(missing_ok=True)
    summary = _summary(planned.items, results, form)
    with table.open() as file:
        summary.write_parquet(file)
    index.write(page(planned.items, results, planned.left_out, form).encode())
    losses = (loss for state in results.values() for loss in state.get("facts", {}).get("losses", ()))
    return Batch(index.path, summary, total, reused, failed, planned.left_out, tuple(dict.fromkeys(losses)))


def _reason(text: str) -> str:
    return legible(text[:_REASON])


def _key(state: Mapping[str, Any]) -> tuple[Any, ...]:
    return Item(tuple(state["inputs"]), state["template"], state["parameters"]).key


def _job(item: Item, options: Any, where: Path, states: Path) -> dict[str, Any]:
    """Return the orders of a worker; raise EsxparseError for an item that cannot work."""
    if item.why:
        raise EsxparseError(item.why)
    chosen = find(item.template)
    values_of(chosen, item.parameters, options)
    request = {
        "inputs": list(item.inputs),
        "template": item.template,
        "parameters": dict(item.parameters),
        "opening": options,
        "template_sha256": sha256(chosen.path),
        "version": __version__,
    }
    state = str(states / f"{item.name}.json")
    return {
        **request,
        "asked": request,
        "output": str(where),
        "state": state,
        "notebook": str(chosen.path),
    }


def _events(jobs: list[dict[str, Any]], bounds: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of the process that makes the reports; that process ends with this one."""
    if not jobs:
        return
    locations = carried(one for job in jobs for one in job["inputs"])
    orders = {"jobs": jobs, "notebooks": sorted({job["notebook"] for job in jobs}), "locations": locations, **bounds}
    left = len(jobs)
    # In a session of its own, it ends with this process or its input, not with a key on the terminal. Its temporary
    # files are below ours, so nothing of a killed process stays.
    with (
        Scratch() as folder,
        subprocess.Popen(
            [sys.executable, "-m", "esxparse.reports.batch_queue"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(folder)},
            start_new_session=True,
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None  # noqa: PT018, S101  they are pipes
        process.stdin.write(json.dumps(orders).encode() + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            event = json.loads(line)
            left -= "began" not in event
            yield event
        process.stdin.close()
    if left:
        msg = f"the process that makes the reports ended ({process.returncode}) before {left} of them: run it again"
        raise EsxparseError(f"{msg}; what is finished is kept")


def _made(order: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """Make one report, in a process of its own with the bounds of all; return its last event."""
    job, bounds = order
    return list(_events([job], bounds | {"workers": 1}))[-1]


def _events_by(crew: Crew, jobs: list[dict[str, Any]], bounds: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the same events, for reports made elsewhere."""
    for done in fleet.run(_made, [(job, bounds) for job in jobs], crew):
        yield {**(done.result or {"why": done.why}), "job": done.place}


def _summary(items: Sequence[Item], results: Mapping[str, dict[str, Any]], form: str) -> pl.DataFrame:
    rows = []
    for item in items:
        state = results[item.name]
        facts = state.get("facts", {})
        made = "why" not in state
        of_item = {
            "item": item.name,
            "template": item.template,
            "page": f"{item.name}.{form}" if made else None,
            "inputs": legible("; ".join(item.inputs)),
            "host": facts.get("host") or None,
            "failed": state.get("why"),
            "item_verdict": facts.get("verdict"),
        }
        for one in facts.get("findings", []) or [{}]:
            entity = one.get("entity", {})
            rows.append(of_item | {key: one.get(key, entity.get(key)) for key in _FINDING})
    schema = dict.fromkeys((*_TEXT, *_FINDING), pl.String) | {"confidence": pl.Float64}
    times = [pl.col(name).str.to_datetime(time_unit="us", time_zone="UTC") for name in ("start", "end")]
    return pl.DataFrame(rows, schema=schema).with_columns(times)


def ending(done: Batch) -> str:
    """Return the last line for the terminal."""
    count = len(done.failed)
    if not count:
        return f"{counted(done.items, 'report')}: {done.index}"
    return printable(f"{count} of {done.items} failed: {', '.join(done.failed)}; {done.index}")
