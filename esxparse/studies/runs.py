"""`runs`: one row per run, with its labels and every metric that its files allow.

Runs that share a file are computed one after another, so that it is read once; two such groups run at a time. All
processors scan a capture, then one queries it for as long: two at a time keep all processors busy.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

import polars as pl

from esxparse import fleet
from esxparse.errors import EsxparseError
from esxparse.fleet import Crew
from esxparse.locations import legible
from esxparse.metrics import cpu_cost, energy, steady, units
from esxparse.quality.results import Quality, joined
from esxparse.recording import Note, printable
from esxparse.studies import baseline, repeated
from esxparse.studies.columns import COLUMNS, COSTS, FACTS, LAST, METRICS, SPAN
from esxparse.studies.expand import Run
from esxparse.studies.opened import Kept, open_run
from esxparse.studies.roles import WORKLOADS
from esxparse.studies.row import Row, row_of
from esxparse.studies.study_file import Manifest

Computed = tuple[Row, list[pl.DataFrame], list[Note]]


AT_ONCE: Final = 2
_COST_NEEDS: Final = {"cpus": "the host's number of CPUs", "mhz": "the host's CPU frequency"}


def groups(runs: Sequence[Run]) -> list[list[int]]:
    """Return places of runs that read the same file, together, in the order of the first.

    The shared file is the capture or the load generator's output, whichever more runs share; without both, the first
    file.
    """
    reads = [
        [files.paths for role, files in run.files.items() if role == "esxtop" or role in WORKLOADS]
        or [files.paths for files in run.files.values()][:1]
        for run in runs
    ]
    shared = Counter(paths for one in reads for paths in one)
    found: dict[object, list[int]] = {}
    for place, one in enumerate(reads):
        found.setdefault(max(one, key=lambda paths: shared[paths], default=place), []).append(place)
    return list(found.values())


def _computed(runs: Sequence[Run], idle: dict[str, Row] | None = None) -> list[Computed]:
    """Compute runs that share a file."""
    kept: Kept = {}
    known: dict[str, Row] = {} if idle is None else idle
    return [row_of(open_run(run, kept), known) for run in runs]


def _rows_by(crew: Crew, runs: Sequence[Run], progress: Callable[[int, int, str], None] | None) -> list[Computed]:
    """Compute the same as `rows_of`, by a crew."""
    every = groups(runs)
    found: dict[int, Computed] = {}
    with closing(fleet.run(_computed, [[runs[place] for place in group] for group in every], crew)) as ended:
        for done in ended:
            if done.why:
                raise EsxparseError(done.why_of(str(runs[every[done.place][0]])))
            found |= zip(every[done.place], done.result, strict=True)
            if progress:
                progress(len(found), len(runs), str(runs[every[done.place][0]]))
    return [found[place] for place in range(len(runs))]


def rows_of(
    runs: Sequence[Run], progress: Callable[[int, int, str], None] | None = None, crew: Crew | None = None
) -> list[Computed]:
    """Return the columns, figures and notes of each run (`row.row_of`), in the order of the runs."""
    if crew is not None and crew.elsewhere:
        return _rows_by(crew, runs, progress)
    idle: dict[str, Row] = {}
    found: dict[int, Computed] = {}

    waiting: deque[tuple[list[int], Future[list[Computed]]]] = deque()
    left = deque(groups(runs))
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        while left or waiting:
            while left and len(waiting) <= AT_ONCE:
                group = left.popleft()
                waiting.append((group, pool.submit(_computed, [runs[place] for place in group], idle)))
            group, future = waiting.popleft()
            if progress:
                progress(len(found), len(runs), str(runs[group[0]]))
            found |= zip(group, future.result(), strict=True)
    finally:
        # An interrupted study does not wait for the next captures.
        pool.shutdown(cancel_futures=True)
    return [found[place] for place in range(len(runs))]


_NO_COLUMNS: Final = frozenset({"_gaps", "_against", "_quality", "esxtop_watts"})
"""Keys of a row that are only for this module."""
_LARGEST: Final = 2**63 - 1
_FROM_CAPTURE: Final = ("iops", "mb_per_s", "throughput_from")
_LABEL_TYPES: Final[dict[frozenset[type], Any]] = {
    frozenset({int}): pl.Int64,
    frozenset({float}): pl.Float64,
    frozenset({int, float}): pl.Float64,
    frozenset({bool}): pl.Boolean,
    frozenset({str}): pl.String,
}


def table_of(
    manifest: Manifest,
    runs: Sequence[Run],
    progress: Callable[[int, int, str], None] | None = None,
    crew: Crew | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame | None, list[Note], Quality]:
    """Return the rows of all runs, the figures of their benchmarks, notes, and the quality of their files."""
    for name in runs[0].labels if runs else ():
        if name in COLUMNS or not name:
            what = "the name of a column of the results: give it another" if name else "no name: name it"
            raise EsxparseError(f"{manifest.path}: the label {name!r} has {what}")
    computed = rows_of(runs, progress, crew)
    rows = [row for row, _, _ in computed]
    figures = [frame for _, frames, _ in computed for frame in frames]
    notes = [note for _, _, row_notes in computed for note in row_notes]
    frame, about = _assembled(manifest, runs, rows)
    quality = joined(manifest.path, [(str(run), row["_quality"]) for run, row in zip(runs, rows, strict=True)])
    quality_notes = [Note(f"data quality: {one}", severity="warning") for one in quality.failed]
    joint = pl.concat(figures, how="diagonal_relaxed") if figures else None
    return frame, joint, [*notes, *about, *quality_notes], quality


def _assembled(manifest: Manifest, runs: Sequence[Run], rows: Sequence[Row]) -> tuple[pl.DataFrame, list[Note]]:
    """Return the table of the rows, with columns computed from whole columns, and notes on the table."""
    labels, notes = label_columns(runs)
    marks = baseline.marked(manifest.baseline, runs)
    first = {
        "run": pl.Series("run", [run.number for run in runs], pl.Int64),
        **labels,
        "repetition": pl.Series("repetition", [run.repetition for run in runs], pl.Int64),
        "is_baseline": pl.Series("is_baseline", marks, pl.Boolean),
    }
    own = _own_columns(runs, rows)
    figures = dict.fromkeys(name for row in rows for name in row if name not in COLUMNS and name not in _NO_COLUMNS)
    extra = [name for name in figures if name and name not in labels]
    notes += [
        Note(f"the figure {name!r} has {'the name of a label' if name else 'no name'}: left out", severity="warning")
        for name in figures
        if name not in extra
    ]
    schema = {name: COLUMNS[name].type for name in [*SPAN, *FACTS, *own]} | dict.fromkeys(extra, pl.Float64)
    frame = pl.DataFrame(
        [
            *first.values(),
            *(pl.Series(name, [row.get(name) for row in rows], kind, strict=False) for name, kind in schema.items()),
        ]
    )
    frame = _with_costs(frame.lazy())
    gaps = [printable("; ".join(row["_gaps"])) or None for row in rows]
    notes += [
        Note(f"{fact} is not known: no CPU cost; give it in [host]", severity="warning") for fact in _unknown(frame)
    ]
    of, repeat_notes = repeated.recordings(runs, rows)
    notes += repeat_notes
    last = [
        pl.Series("recording", of, pl.Int64),
        pl.Series("files", [row["files"] and printable(row["files"]) for row in rows], pl.String),
        pl.Series("gap", gaps, pl.String),
    ]
    frame = frame.with_columns(last).select(
        *first, *SPAN, *FACTS, *(name for name in METRICS if name in frame.columns), *extra, *LAST
    )
    notes += _too_short(rows)
    notes += disagreements((run, row["_against"]) for run, row in zip(runs, rows, strict=True))
    notes += baseline.complaints(manifest, runs)
    return frame, [*notes, *_mixed_units(frame)]


def disagreements(contradictions: Iterable[tuple[Run, Iterable[str]]]) -> list[Note]:
    """Return host facts on which files and manifest disagree, each once with its runs."""
    found: dict[str, list[int]] = {}
    for run, against in contradictions:
        for message in against:
            found.setdefault(message, []).append(run.number)
    return [
        Note(f"{message} (run {', '.join(map(str, numbers))})", severity="warning")
        for message, numbers in found.items()
    ]


def label_columns(runs: Sequence[Run]) -> tuple[dict[str, pl.Series], list[Note]]:
    """Return a column for each label; mixed types, and integers beyond 64 bits, become text, with a note."""
    found: dict[str, pl.Series] = {}
    notes = []
    for name in runs[0].labels if runs else ():
        values = [run.labels[name] for run in runs]
        kinds = frozenset(type(value) for value in values if value is not None)
        kind = _LABEL_TYPES.get(kinds)
        if kind is None and kinds and len(kinds) > 1:
            there = {type(value): run for run, value in zip(runs, values, strict=True) if value is not None}
            examples = " and ".join(f"{run.labels[name]!r} (line {run.line})" for run in there.values())
            notes.append(Note(f"the label {name} is {examples}: it is kept as text; use one type", severity="warning"))
            kind = pl.String
        elif int in kinds and any(isinstance(value, int) and abs(value) > _LARGEST for value in values):
            notes.append(Note(f"the label {name} has numbers beyond 64 bits: it is kept as text", severity="warning"))
            kind = pl.String
        if kind == pl.String:
            values = [None if value is None else legible(value) for value in values]
        found[name] = pl.Series(name, values, kind)
    return found, notes


def _own_columns(runs: Sequence[Run], rows: Iterable[Row]) -> list[str]:
    """Return the columns that these runs' kinds of files provide: missing data are nulls, not missing columns."""
    roles = {role for run in runs for role in run.files}
    present = {name for row in rows for name in row}
    has = (
        roles | ({"workload"} if roles & WORKLOADS else set()) | ({"events"} if roles & {"perf", "vmkperf"} else set())
    )
    power = {"power"} & roles or ({"power"} if "watts" in present else set())
    columns = []
    for name, column in METRICS.items():
        by_hand = name in _FROM_CAPTURE and "esxtop" in roles
        if by_hand or name in present or (column.needs and column.needs in has | power):
            columns.append(name)
    return columns


def _with_costs(frame: pl.LazyFrame) -> pl.DataFrame:
    """Add computed columns: CPU costs, power per I/O."""
    there = frame.collect_schema().names()
    if {"watts", "iops"} <= set(there):
        each = frame.with_columns((pl.col("iops") / pl.col("load_hosts")).alias("_iops_of_host"))
        joules = pl.col("watts_per_unit").alias("joules_per_io")
        frame = each.pipe(energy.watts_per_unit, "_iops_of_host").with_columns(joules).select(there)
    if "host_used_pct" in there:
        inputs = ("idle_used_pct", "idle_util_pct")
        costed = frame.drop(name for name in there if name in COSTS and name not in inputs)
        frame = costed.pipe(cpu_cost.cost, "used").pipe(cpu_cost.cost, "util").select(there)
    return frame.collect()


def _unknown(frame: pl.DataFrame) -> list[str]:
    """Return facts that runs with CPU use miss for a CPU cost: the first one of each run."""
    if "host_used_pct" not in frame.columns:
        return []
    missing = pl.coalesce(pl.when(pl.col(fact).is_null()).then(pl.lit(phrase)) for fact, phrase in _COST_NEEDS.items())
    return sorted(frame.filter(pl.col("host_used_pct").is_not_null()).select(missing).to_series().drop_nulls().unique())


def _too_short(rows: Sequence[Row]) -> list[Note]:
    short = sum(row.get("steady") == steady.TOO_FEW for row in rows)
    message = f"{short} of {len(rows)} runs have too few samples to check for drift (column steady): measure longer"
    return [Note(message)] if short else []


def _mixed_units(frame: pl.DataFrame) -> list[Note]:
    """Return notes on figures that have different units in different runs."""
    found: dict[tuple[str, str], list[str]] = {}
    problem = "are one figure in several units, in separate columns: convert them to one unit"
    for name in frame.columns:
        if frame[name].null_count() == frame.height:
            continue
        try:
            unit = units.unit_of(name)
        except EsxparseError:
            continue
        found.setdefault((name.removesuffix(unit), units.UNITS[unit].kind), []).append(name)
    return [
        Note(
            # `in_unit` converts minutes to hours, which would be the wrong way round for counts per minute.
            f"unit mismatch: {' and '.join(names)} {problem}"
            f"{'' if figure.endswith('_per_') else ' (metrics.units.in_unit)'} before comparing",
            severity="warning",
        )
        for (figure, _), names in found.items()
        if len(names) > 1
    ]
