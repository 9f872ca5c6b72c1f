"""Does an experiment: every run, every file, in one pass of each run's host."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

from esxparse.errors import EsxparseError
from esxparse.target import target as target_of
from esxparse_simulator.esxtop.visible import Watch
from esxparse_simulator.esxtop.writer import put, write_esxtop
from esxparse_simulator.experiment import Experiment, FileSpec, Run
from esxparse_simulator.instruments import INSTRUMENTS, Entry
from esxparse_simulator.limits import known, need
from esxparse_simulator.model.engine import capture as capture_of

Plans = list[tuple[Run, tuple[FileSpec, ...]]]

_ESXTOP = "esxtop"
_ESXTOP_OPTIONS = frozenset({"release", "all_counters", "only", "host", "utc_offset", "zone"})
_TRUTH = "truth.toml"


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written: where, its size before compression, by which tool."""

    path: Path
    bytes: int
    tool: str


def record(
    experiment: Experiment,
    folder: str | os.PathLike[str],
    *,
    capture: Mapping[str, Any] | None = None,
    replace: bool = True,
    inputs: Sequence[str | os.PathLike[str]] = (),
    progress: Callable[[int, int, str], None] | None = None,
) -> list[Written]:
    """Writes everything that an experiment records into `folder`, which is made where it is missing.

    A scenario without `[[file]]` gives its captures, named for it. Files appear when they are complete. Truths go to
    `truth.toml`.

    Args:
        experiment: What is done.
        folder: Where it goes.
        capture: Options of esxtop's files before those of the scenario, and `compress` (gz or bz2).
        replace: Whether files that are there may be replaced.
        inputs: What the scenario was read from: never replaced.
        progress: Called with samples done, samples in all, and the file that is being written.

    Raises:
        EsxparseError: An unknown tool or option, or a directory that cannot be written; what was complete stays.
    """
    target = Path(folder)
    plans, names = _plans(experiment, capture or {})

    def check(path: Path) -> None:
        if path.parent.is_dir():
            target_of(path, inputs, replace=replace)

    for name in names:
        check(target / name)
    total = sum(run.scenario.samples for run, _ in plans if run.scenario)
    done = 0
    entries: dict[str, list[tuple[str, Entry]]] = {}
    watches: dict[int, Watch] = {}
    written: list[Written] = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for run, specs in plans:

            def step(_: object, what: str = specs[0].name) -> None:
                nonlocal done
                done += 1
                if progress:
                    progress(done, total, what)

            written += _one(run, specs, target, entries, watches, step)
        for mine in entries.values():
            written += _write(mine, target, check)
        written += _truths(plans, watches, target / _TRUTH)
    except OSError as error:
        where = error.filename or target
        msg = f"cannot write {where}: {error.strerror}. Check that the directory may be written."
        raise EsxparseError(msg) from error
    return written


def _plans(experiment: Experiment, capture: Mapping[str, Any]) -> tuple[Plans, Iterable[str]]:
    """The runs with the files of each, and the names of all files, checked before anything is written.

    Tools and options are known, and no file is written over another.
    """
    silent = not any(run.files for run in experiment.runs)
    plans = [(run, _default_files(experiment, run) if silent else run.files) for run in experiment.runs]
    plans = [(run, tuple(_with(spec, capture) for spec in specs)) for run, specs in plans if specs]
    writers: dict[str, list[str]] = {}
    for run, specs in plans:
        if run.truths:
            writers[_TRUTH] = ["truth"]
        for spec in specs:
            known(spec.tool, {_ESXTOP, *INSTRUMENTS}, f"file {spec.name}: no tool {spec.tool!r}")
            options = _ESXTOP_OPTIONS if spec.tool == _ESXTOP else INSTRUMENTS[spec.tool].options
            for name in sorted(spec.options):
                known(name, options, f"file {spec.name}: {spec.tool} has no {name!r}", "Known")
            writers.setdefault(spec.name, []).append(spec.tool)
    for name, tools in writers.items():
        # Tools that put runs together share a file on purpose.
        alone = len(tools) == 1 or (len(set(tools)) == 1 and tools[0] != _ESXTOP)
        who = " and ".join(sorted(set(tools))) if len(set(tools)) > 1 else f"{len(tools)} captures"
        need(alone, f"file {name}: {who} would be written to it. Give them names of their own, with the run's labels.")
    return plans, writers


def _default_files(experiment: Experiment, run: Run) -> tuple[FileSpec, ...]:
    nothing = f"scenario {experiment.name} has neither a [host] nor a [[file]]: there is nothing to write. Add one."
    need(run.scenario, nothing)
    labels = "".join(f"-{value}" for value in run.labels.values())
    return (FileSpec(_ESXTOP, f"{experiment.name}{labels}.csv", {}),)


def _with(spec: FileSpec, capture: Mapping[str, Any]) -> FileSpec:
    """The file with what was said of captures."""
    if spec.tool != _ESXTOP or not capture:
        return spec
    ending = f".{capture['compress']}" if "compress" in capture else ""
    name = f"{spec.name.removesuffix('.gz').removesuffix('.bz2')}{ending}" if ending else spec.name
    shared = {option: value for option, value in capture.items() if option != "compress"}
    return replaced(spec, name=name, options={**spec.options, **shared})


def _one(
    run: Run,
    specs: Iterable[FileSpec],
    target: Path,
    entries: dict[str, list[tuple[str, Entry]]],
    watches: dict[int, Watch],
    step: Callable[[Any], None],
) -> list[Written]:
    """The captures of one run, written; what its other files need, noted in `entries`."""
    made = capture_of(run.scenario) if run.scenario else None
    watching = []
    captures = [spec for spec in specs if spec.tool == _ESXTOP]
    for spec in specs:
        if spec.tool != _ESXTOP:
            put_up = INSTRUMENTS[spec.tool].watch
            watch = put_up(made.layout if made else None, spec.options) if put_up else None
            watching += [watch] if watch else []
            entries.setdefault(spec.name, []).append((spec.tool, Entry(run, spec.name, spec.options, watch)))
    if made is None:
        for spec in captures:
            need(False, f"file {spec.name}: esxtop watches a host, and the scenario has none. Add a [host].")
        return []
    if run.without and captures:
        truths = [truth for truth in run.truths if truth.get("trouble") in run.without]
        watches[run.seed] = Watch(made.layout, truths, captures[0].options)
        watching.append(watches[run.seed])
    made = replaced(made, observers=(*watching, step))
    written = []
    for number, spec in enumerate(captures):
        # every pass gives the same snapshots; observers need but one
        path = _below(target, spec.name)
        size = write_esxtop(path, made if number == 0 else replaced(made, observers=()), **spec.options)
        written.append(Written(path, size, _ESXTOP))
    if not captures and watching:
        for _ in made:
            pass
    return written


def _write(mine: list[tuple[str, Entry]], target: Path, check: Callable[[Path], object]) -> list[Written]:
    tool = mine[0][0]
    made = [(_below(target, path), parts) for path, parts in INSTRUMENTS[tool].write([entry for _, entry in mine])]
    for path, _ in made:
        check(path)
    return [Written(path, put(path, parts), tool) for path, parts in made]


def _below(target: Path, name: str) -> Path:
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _truths(plans: Plans, watches: Mapping[int, Watch], path: Path) -> list[Written]:
    lines = []
    for run, specs in plans:
        labels = {f"label_{name}": value for name, value in run.labels.items()}
        without = {trouble: capture_of(scenario) for trouble, scenario in run.without.items()}
        seen = iter(watches[run.seed].visibility(without) if run.seed in watches else ())
        for truth in run.truths:
            entry: dict[str, Any] = {"files": [spec.name for spec in specs], **labels}
            more = next(seen, {}) if truth.get("trouble") in run.without else {}
            # the capture may have been asked for otherwise than drawn
            written = {key: value for key, value in specs[0].options.items() if key in truth}
            for key, value in {**truth, **written, **more}.items():
                at = key in {"start", "end", "visible"} and isinstance(value, int | float)
                entry[key] = run.start + timedelta(seconds=value) if at else value
            head = entry.pop("is", "truth")
            lines += [f"[[{head}]]", *(f"{key} = {_toml(value)}" for key, value in entry.items()), ""]
    return [Written(path, put(path, ["\n".join(lines).encode()]), "truth")] if lines else []


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if hasattr(value, "astimezone"):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return repr(value)
