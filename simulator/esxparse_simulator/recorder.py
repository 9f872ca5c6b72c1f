"""Does an experiment: every run, every file, in one pass of each run's host."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as replaced
from datetime import UTC, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esxparse.errors import EsxparseError
from esxparse.target import target as target_of
from esxparse_simulator.esxtop.writer import write_esxtop
from esxparse_simulator.experiment import FileSpec
from esxparse_simulator.instruments import INSTRUMENTS, Entry
from esxparse_simulator.model.engine import capture as capture_of
from esxparse_simulator.output import put
from esxparse_simulator.variables import ScenarioError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from esxparse_simulator.experiment import Experiment, Run
    from esxparse_simulator.instruments import Instrument
    from esxparse_simulator.model.engine import Capture

__all__ = ["Written", "record"]

_ESXTOP = "esxtop"
_ESXTOP_OPTIONS = {"release", "all_counters", "only", "host", "utc_offset", "zone"}
TRUTH = "truth.toml"


@dataclass(frozen=True, slots=True)
class Written:
    """A file that was written: where, its size, by which tool."""

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
    """Writes everything that an experiment records into `folder`, which is made where it is not there.

    A scenario without `[[file]]` gives its captures, named for it. `capture` has options of esxtop's files, which count
    before those that the scenario says, and `compress` (gz or bz2). Files appear when they are complete. A file that is
    there is replaced where `replace` allows it, and one of the `inputs`, from which the scenario was read, never. Where
    the scenario says truths, they are written as `truth.toml`. `progress` is called with samples done, samples in all,
    and the name of the file that is being written.

    Raises:
        EsxparseError: A tool that is not known, options it does not have, or a directory that cannot be written; what
            was complete before stays.
    """
    target = Path(folder)
    silent = not any(run.files for run in experiment.runs)
    plans = [(run, _default_files(experiment, run) if silent else run.files) for run in experiment.runs]
    plans = [(run, tuple(_with(spec, capture or {}) for spec in specs)) for run, specs in plans if specs]
    for _, specs in plans:
        _check(specs)
    _check_names(plans)

    check = _guard(inputs, replace=replace)
    for name in _names_written(plans):
        check(target / name)
    total = sum(run.scenario.samples for run, _ in plans if run.scenario)
    done = 0
    entries: dict[str, list[tuple[FileSpec, Entry]]] = {}
    written: list[Written] = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        for run, specs in plans:

            def step(_: object, what: str = specs[0].name) -> None:
                nonlocal done
                done += 1
                if progress:
                    progress(done, total, what)

            written += _one(run, specs, target, entries, step)
        for mine in entries.values():
            written += _write(mine, target, check)
        truths = [line for run, specs in plans for line in _truths(run, specs)]
        if truths:
            path = target / TRUTH
            written.append(Written(path, put(path, ["\n".join(truths).encode()]), "truth"))
    except OSError as error:
        where = error.filename or target
        msg = f"cannot write {where}: {error.strerror}. Check that the directory may be written."
        raise EsxparseError(msg) from error
    return written


def _default_files(experiment: Experiment, run: Run) -> tuple[FileSpec, ...]:
    if run.scenario is None:
        msg = f"scenario {experiment.name} has neither a [host] nor a [[file]]: there is nothing to write. Add one."
        raise ScenarioError(msg)
    labels = "".join(f"-{value}" for value in run.labels.values())
    return (FileSpec(_ESXTOP, f"{experiment.name}{labels}.csv", {}),)


def _with(spec: FileSpec, capture: Mapping[str, Any]) -> FileSpec:
    """The file with what was said of captures."""
    if spec.tool != _ESXTOP or not capture:
        return spec
    ending = f".{capture['compress']}" if "compress" in capture else ""
    name = f"{spec.name.removesuffix('.gz').removesuffix('.bz2')}{ending}" if ending else spec.name
    said = {option: value for option, value in capture.items() if option != "compress"}
    return replaced(spec, name=name, options={**spec.options, **said})


def _check(specs: Iterable[FileSpec]) -> None:
    for spec in specs:
        if spec.tool != _ESXTOP and spec.tool not in INSTRUMENTS:
            known = ", ".join(sorted({_ESXTOP, *INSTRUMENTS}))
            msg = f"file {spec.name}: no tool {spec.tool!r}. There are: {known}."
            raise ScenarioError(msg)
        options = _ESXTOP_OPTIONS if spec.tool == _ESXTOP else INSTRUMENTS[spec.tool].options
        unknown = sorted(set(spec.options) - options)
        if unknown:
            msg = f"file {spec.name}: {spec.tool} has no {unknown[0]!r}. Known: {', '.join(sorted(options))}."
            raise ScenarioError(msg)


def _check_names(plans: Iterable[tuple[Run, Iterable[FileSpec]]]) -> None:
    """Refuses files that would be written over each other; tools that put runs together share one on purpose.

    Raises:
        ScenarioError: There are.
    """
    writers: dict[str, list[str]] = {}
    for run, specs in plans:
        if run.truths:
            writers[TRUTH] = ["truth"]
        for spec in specs:
            writers.setdefault(spec.name, []).append(spec.tool)
    for name, tools in writers.items():
        if len(tools) > 1 and (len(set(tools)) > 1 or tools[0] == _ESXTOP):
            who = " and ".join(sorted(set(tools))) if len(set(tools)) > 1 else f"{len(tools)} captures"
            msg = f"file {name}: {who} would be written to it. Give them names of their own, with the run's labels."
            raise ScenarioError(msg)


def _guard(inputs: Sequence[str | os.PathLike[str]], *, replace: bool) -> Callable[[Path], None]:
    """What refuses a file that may not be written; directories that are not there yet are made."""

    def check(path: Path) -> None:
        if path.parent.is_dir():
            target_of(path, inputs, replace=replace)

    return check


def _names_written(plans: Iterable[tuple[Run, Iterable[FileSpec]]]) -> list[str]:
    """Names of the files that are known before they are written; some tools write more, beside these."""
    names = []
    for run, specs in plans:
        names += [spec.name for spec in specs] + ([TRUTH] if run.truths else [])
    return list(dict.fromkeys(names))


def _one(
    run: Run,
    specs: Iterable[FileSpec],
    target: Path,
    entries: dict[str, list[tuple[FileSpec, Entry]]],
    step: Callable[[Any], None],
) -> list[Written]:
    """The captures of one run, written; what its other files need, noted in `entries`."""
    made = capture_of(run.scenario) if run.scenario else None
    watching = []
    captures = []
    for spec in specs:
        if spec.tool == _ESXTOP:
            captures.append(spec)
            continue
        put_up = INSTRUMENTS[spec.tool].watch
        watch = put_up(made.layout if made else None, spec.options) if put_up else None
        if watch:
            watching.append(watch)
        entries.setdefault(spec.name, []).append((spec, Entry(run, spec.name, spec.options, watch)))
    if made is None:
        if captures:
            msg = f"file {captures[0].name}: esxtop watches a host, and the scenario has none. Add a [host]."
            raise ScenarioError(msg)
        return []
    made = replaced(made, observers=(*watching, step))
    written = []
    for number, spec in enumerate(captures):
        # every pass gives the same snapshots; observers need but one
        path = _below(target, spec.name)
        size = write_esxtop(path, made if number == 0 else replaced(made, observers=()), **spec.options)
        written.append(Written(path, size, _ESXTOP))
    if not captures and watching:
        _pass(made)
    return written


def _pass(made: Capture) -> None:
    for _ in made:
        pass


def _write(mine: list[tuple[FileSpec, Entry]], target: Path, check: Callable[[Path], object]) -> list[Written]:
    tool = mine[0][0].tool
    instrument: Instrument = INSTRUMENTS[tool]
    made = [(_below(target, path), parts) for path, parts in instrument.write([entry for _, entry in mine])]
    for path, _ in made:
        check(path)
    return [Written(path, put(path, parts), tool) for path, parts in made]


def _below(target: Path, name: str) -> Path:
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _truths(run: Run, specs: Iterable[FileSpec]) -> list[str]:
    lines = []
    for truth in run.truths:
        told: dict[str, Any] = {"files": [spec.name for spec in specs], **_labels(run.labels)}
        for key, value in truth.items():
            at = key in {"start", "end"} and isinstance(value, int | float)
            told[key] = run.start + timedelta(seconds=value) if at else value
        lines += ["[[truth]]", *(f"{key} = {_toml(value)}" for key, value in told.items()), ""]
    return lines


def _labels(labels: Mapping[str, Any]) -> dict[str, Any]:
    return {f"label_{name}": value for name, value in labels.items()}


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
