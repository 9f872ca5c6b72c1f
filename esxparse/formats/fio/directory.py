"""The directory of a fio run: its outputs and logs as one recording."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from esxparse.errors import DamagedError, EsxparseError
from esxparse.formats import esxtop
from esxparse.formats.fio import logs
from esxparse.formats.fio.log_clues import open_logs
from esxparse.formats.fio.log_facts import log_name
from esxparse.formats.fio.log_neighbours import find_outputs, weigh
from esxparse.formats.fio.log_outputs import KnownRelease, Output, common_release, compared_output
from esxparse.formats.fio.output import Parsed, is_output, parse_output
from esxparse.formats.fio.tables import ALL_CLIENTS, BEST_FIRST
from esxparse.formats.kit.notes import Notes
from esxparse.formats.source import Source, resolve
from esxparse.recording import Note, Recording, first_few

_FILES = 2_000
"""Most files that are examined in a directory."""
_DEEPEST = 2
"""Levels of directories below the logs' directory."""
_LISTED = 10

_COMPARED = ("iops", "bandwidth_bytes_per_s")
_TOLERANCE = 0.03
"""Normal output has three digits."""
_RELEASE = re.compile(r"(\d{1,4})\.(\d{1,4})")
_SUMMARIES = ("latency_bins", "percentiles")


@dataclass(frozen=True)
class _File:
    """A file of the directory, and its kind."""

    path: Path
    kind: str
    """output, log, empty or other."""
    source: Source | None = None


@dataclass(frozen=True)
class _Output:
    """An output that was read."""

    name: str
    parsed: Parsed

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """The jobs in it."""
        return self.parsed.tables["jobs"].collect()


def _files(folder: Path) -> list[_File]:
    """Return the files of a directory."""
    try:
        paths = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith(".")]
    except OSError:
        return []
    return [_looked_at(path) for path in paths[:_FILES]]


def _below(folder: Path, deep: int = _DEEPEST) -> tuple[list[_File], list[Path]]:
    """Return the logs in the directories below one, and the directories that are runs of their own."""
    logs: list[_File] = []
    runs: list[Path] = []
    for inner in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        files = _files(inner)
        if any(file.kind == "output" for file in files):
            runs.append(inner)
        else:
            further, more = _below(inner, deep - 1) if deep else ([], [])
            logs += [*(file for file in files if file.kind == "log"), *further]
            runs += more
    return logs, runs


def _looked_at(path: Path) -> _File:
    try:
        source = resolve(path)
        head = source.head
    except EsxparseError:
        return _File(path, "other")
    if not head.content:
        return _File(path, "empty")
    if is_output(head):
        return _File(path, "output", source)
    return _File(path, "log" if logs.recognise(head) else "other", source)


def recognise_directory(path: Path) -> bool:
    """Return whether a directory holds output or logs of fio, and no esxtop capture."""
    files = _files(path)
    if not any(file.kind in {"output", "log"} for file in files):
        return False
    return not any(file.source and esxtop.recognise(file.source.head) for file in files if file.kind == "other")


def _of(file: str, notes: Iterable[Note]) -> list[Note]:
    return [replace(note, message=f"{file}: {note.message}") for note in notes]


def _refused(file: str, error: EsxparseError) -> Note:
    message = str(error)
    return Note(message if file in message else f"{file}: {message}", severity="warning")


def _read_outputs(files: Sequence[_File]) -> tuple[list[_Output], list[Note]]:
    outputs, notes = [], []
    for file in files:
        if file.kind != "output" or file.source is None:
            continue
        try:
            parsed = parse_output(file.source, file.path.name)
        except EsxparseError as error:
            notes.append(_refused(file.path.name, error))
            continue
        outputs.append(_Output(file.path.name, parsed))
    return sorted(outputs, key=lambda one: BEST_FIRST.index(one.parsed.output)), notes


def _rates(output: _Output) -> pl.DataFrame:
    jobs = output.jobs.filter((pl.col("direction") != "sync") & pl.col("iops").is_not_null())
    return jobs.group_by("job", "direction", maintain_order=True).agg(pl.col(*_COMPARED).sum())


def _differences(best: _Output, other: _Output) -> list[str] | None:
    """Return the disagreements of two outputs of one run; None if they have different jobs."""
    first, second = _rates(best), _rates(other)
    both = first.join(second, on=["job", "direction"], suffix="_other", maintain_order="left")
    if not both.height or both.height < second.height:
        return None
    found = []
    for row in both.iter_rows(named=True):
        for column in _COMPARED:
            one, two = row[column], row[f"{column}_other"]
            if one and two and abs(one - two) > _TOLERANCE * max(abs(one), abs(two)) + 1:
                found.append(f"{column} of {row['job']} {row['direction']}: {one:,.0f} and {two:,.0f}")
    return found


def _of_one_run(outputs: Sequence[_Output]) -> tuple[list[_Output], list[Note]]:
    """Return the outputs, without those that repeat another one in another format."""
    kept: list[_Output] = []
    notes = Notes()
    for output in outputs:
        compared = ((best, _differences(best, output)) for best in kept if best.parsed.output != output.parsed.output)
        same = next(((best, found) for best, found in compared if found is not None), None)
        if same is None:
            kept.append(output)
            continue
        best, found = same
        if found:
            notes.warn(f"{output.name}: disagrees with {best.name}, which is used: {found[0]}")
        else:
            what = f"{output.parsed.output} output of the run in {best.name}"
            notes.say(f"{output.name}: {what}: they agree, {best.name} is used")
    return kept, notes


def _tables_of(outputs: Sequence[_Output]) -> dict[str, pl.LazyFrame]:
    """Return the tables of all outputs, with consecutive numbers of documents."""
    tables: dict[str, list[pl.LazyFrame]] = {}
    before = 0
    for output in outputs:
        for name, frame in output.parsed.tables.items():
            tables.setdefault(name, []).append(frame.with_columns(pl.col("document") + before))
        before += int(output.parsed.meta.get("documents") or 1)
    return {name: pl.concat(frames, how="diagonal_relaxed") for name, frames in tables.items()}


def _compared(outputs: Sequence[_Output]) -> list[Output]:
    """Return the outputs of the directory, to compare with its logs."""
    found = []
    for one in outputs:
        releases = _RELEASE.findall(str(one.parsed.meta.get("release") or ""))
        known = common_release(KnownRelease((int(major), int(minor)), one.name) for major, minor in releases)
        found.append(compared_output(one.name, known.release if known else None, one.parsed.tables))
    return found


def _job_names(outputs: Sequence[_Output], numbers: Sequence[int]) -> tuple[dict[int, str], list[str]]:
    """Return the job of each log number, as far as known, and the names of all jobs."""
    if len(outputs) != 1:
        return {}, []
    jobs = outputs[0].jobs.filter(pl.col("job") != ALL_CLIENTS)
    jobs = jobs.select("document", "job_number", "job").unique(maintain_order=True)
    names = jobs["job"].unique(maintain_order=True).to_list()
    if jobs["document"].n_unique() != 1 or jobs.height < max(numbers, default=0):
        return {}, names
    return dict(zip(jobs["job_number"].to_list(), jobs["job"].to_list(), strict=True)), names


def _resolved(base: str, number: int | None, by_number: dict[int, str], names: Sequence[str]) -> str:
    """Return the job of a log with that name and number."""
    if base in names:
        return base
    if number is not None and number in by_number:
        return by_number[number]
    return names[0] if len(names) == 1 else base


def _read_logs(folder: Path, files: Sequence[_File], outputs: Sequence[_Output]) -> tuple[list[Recording], list[Note]]:
    found = [file for file in files if file.kind == "log"]
    often = Counter(file.path.name for file in found)
    logged = [log_name(file.path.name) for file in found]
    by_number, names = _job_names(outputs, [one.number for one in logged if one.number is not None])
    together = open_logs((file.path.name, file.source.head.text) for file in found if file.source)
    own, above = _compared(outputs), [folder.resolve().parent]
    evidence = {
        base: weigh(base, together, [*own, *find_outputs(above, base)]) for base in {name.base for name in logged}
    }
    recordings: list[Recording] = []
    notes = Notes()
    for file, name in zip(found, logged, strict=True):
        if file.source is None:
            continue
        place = file.path.relative_to(folder)
        try:
            rec = logs.read(file.source, evidence[name.base])
        except EsxparseError as error:
            notes.append(_refused(str(place), error))
            continue
        job = _resolved(name.base, name.number, by_number, names)
        if names and job not in names:
            notes.say(f"{place}: the output does not say which job the log belongs to: it is called {job}")
        if often[place.name] > 1:
            # Logs kept in a directory per host or turn have the same names.
            job = (place.parent / job).as_posix()
        tables = {table: frame.with_columns(pl.lit(job).alias("job")) for table, frame in rec.tables.items()}
        recordings.append(replace(rec, tables=tables, meta={**rec.meta, "job": job}))
        notes += _of(file.path.name, rec.notes)
    return recordings, notes


def _together(recordings: Sequence[Recording]) -> dict[str, pl.LazyFrame]:
    """Return the tables of all logs; if only some have the time of day, tables of the others end in `_elapsed`."""
    frames: dict[str, list[pl.LazyFrame]] = {}
    dated = any("start" in rec.meta for rec in recordings)
    for rec in recordings:
        for name, frame in rec.tables.items():
            apart = dated and "start" not in rec.meta and name not in _SUMMARIES
            frames.setdefault(f"{name}_elapsed" if apart else name, []).append(frame)
    return {name: pl.concat(found, how="diagonal") for name, found in frames.items()}


def _left_over(files: Sequence[_File]) -> list[Note]:
    notes = Notes()
    for kind, description in (("empty", "empty"), ("other", "not from fio, not read")):
        names = [file.path.name for file in files if file.kind == kind]
        if names:
            notes.say(f"{description}: {first_few(names, _LISTED)}")
    return notes


def _meta(outputs: Sequence[_Output], recordings: Sequence[Recording]) -> dict[str, Any]:
    metas = [one.parsed.meta for one in outputs]
    every = [*metas, *(rec.meta for rec in recordings)]
    releases = sorted({str(meta["release"]) for meta in metas if meta.get("release")})
    return {
        **(metas[0] if metas else {}),
        "release": ", ".join(releases) or None,
        "outputs": [one.name for one in outputs],
        "documents": sum(int(meta.get("documents") or 1) for meta in metas),
        "logs": len(recordings),
        "units": {rec.source: rec.meta["unit"] for rec in recordings},
        "guessed_units": sorted({unit for rec in recordings for unit in rec.meta.get("guessed_units", ())}),
        "start": min((meta["start"] for meta in every if meta.get("start")), default=None),
        "end": max((meta["end"] for meta in every if meta.get("end")), default=None),
    }


def read_directory(path: Path) -> Recording:
    """Read the directory of a run."""
    below, runs = _below(path)
    files = [*_files(path), *below]
    read, unread = _read_outputs(files)
    outputs, repeated = _of_one_run(read)
    recordings, of_logs = _read_logs(path, files, outputs)
    if not outputs and not recordings:
        why = f": {unread[0].message}" if unread else ""
        msg = f"{path}: it has no usable fio output or log{why}"
        raise DamagedError(msg)
    from_logs = _together(recordings)
    from_outputs = _tables_of(outputs)
    of_outputs = [note for one in outputs for note in _of(one.name, one.parsed.notes)]
    several = Notes()
    if len(outputs) > 1:
        several.say(f"{len(outputs)} outputs of different runs: {first_few([one.name for one in outputs], _LISTED)}")
    if runs:
        several.say(f"runs of their own, not read: {first_few([str(run.relative_to(path)) for run in runs], _LISTED)}")
    notes = Notes([*unread, *of_outputs, *repeated, *several, *of_logs, *_left_over(files)])
    return Recording(logs.FORMAT, str(path), {**from_logs, **from_outputs}, _meta(outputs, recordings), tuple(notes))
