"""The files of a run, opened: its load generators, its capture cut to the measured span, the facts of its host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import polars as pl

from esxparse.errors import EsxparseError
from esxparse.formats import directory
from esxparse.formats.registry import open_recording
from esxparse.formats.window import filtered
from esxparse.recording import Recording
from esxparse.studies import capture, facts, fio_logs, loads
from esxparse.studies.entries import WindowSpec
from esxparse.studies.expand import Run, RunFiles
from esxparse.studies.roles import ROLES, WORKLOADS, role_of
from esxparse.studies.span import Span, measured

Kept = dict[str, tuple[Any, tuple[Recording, ...]]]
"""By role the files that were opened last, with what was asked for, and their recordings."""


CUT: Final = frozenset({"power", "packets", "guest"})
"""Files beside the capture and the load generator that are cut to the measured span."""


@dataclass(frozen=True)
class Opened:
    """A run whose files were opened; nothing was computed yet."""

    run: Run
    recordings: Mapping[str, tuple[Recording, ...]]
    """By role: load generators (their one test), files on the hardware, and the capture, whole."""
    tables: Mapping[str, pl.LazyFrame] = field(default_factory=dict)
    """Those of the capture, cut to the measured span."""
    span: Span | None = None
    left: WindowSpec | None = None
    """The window of the run where `span` is not it: what is left to do for files that can be cut by themselves."""
    lost: bool = False
    """Whether the window could not be applied to what it is counted by: which part of other files counts is unknown."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()
    """What the run lacks, and why."""
    against: tuple[str, ...] = ()
    """Facts of the host on which files and manifest disagree."""
    notes: tuple[str, ...] = ()
    """What is worth knowing of its files."""
    kept: Kept = field(default_factory=dict)
    """Recordings that the next run may share."""


@contextmanager
def collected(gaps: list[str]) -> Iterator[None]:
    """Continues after what cannot be read or computed, and records why."""
    try:
        yield
    except (EsxparseError, OSError) as error:
        gaps.append(str(error))
    except OverflowError:
        gaps.append("the measured span lies beyond the year 9999: change window or clock")
    except pl.exceptions.PolarsError as error:
        gaps.append(f"it could not be computed: {str(error).splitlines()[0]}")


def recordings(role: str, files: RunFiles, kept: Kept) -> tuple[Recording, ...]:
    """The recordings of a role; those of the run before where they are the same files."""
    asked = files.paths, files.spec.opening
    if role not in kept or kept[role][0] != asked:
        kept.pop(role, None)
        kept[role] = asked, _recordings(role, files)
    return kept[role][1]


def recording(role: str, files: RunFiles, kept: Kept) -> Recording:
    """The recording of a role that has one file."""
    if len(files.paths) != 1:
        msg = f"{role} takes one file per run, and {len(files.paths):,} are given: keep one, or make one run per file"
        raise EsxparseError(msg)
    return recordings(role, files, kept)[0]


def warned(recs: Iterable[Recording]) -> list[str]:
    """The recordings' notes on unusable data, each with its file."""
    return [f"{rec.source}: {note}" for rec in recs for note in rec.notes if note.severity == "warning"]


def _recordings(role: str, files: RunFiles) -> tuple[Recording, ...]:
    opening = files.spec.opening
    if role == "results_csv" and not opening.format:
        # Nothing in such a file tells what it is; the manifest does.
        opening = replace(opening, format=role)
    numbers = capture.needed() if ROLES[role] == ROLES["esxtop"] else None
    found = []
    for path in files.paths:
        rec = open_recording(path, opening, numbers=numbers)
        if rec.format not in ROLES[role]:
            right = role_of(rec.format)
            hint = f": name it as {right} = ..." if right else ", which studies do not use"
            raise EsxparseError(f"{role}: {rec.source} is a recording of {rec.format}{hint}")
        found += directory.each(rec)
    return tuple(found)


def open_run(run: Run, kept: Kept) -> Opened:
    """Opens what the measured span and the host facts need, and finds both."""
    gaps = [str(problem) for problem in run.problems]
    if run.unusable:
        return Opened(run, {}, gaps=tuple(gaps), kept=kept)
    found: dict[str, tuple[Recording, ...]] = {}
    with collected(gaps):
        found |= _loads(run, kept)
    told = []
    if "hardware" in run.files:
        with collected(gaps):
            found["hardware"] = recordings("hardware", run.files["hardware"], kept)
            told += [("hardware", facts.of_hardware(rec)) for rec in found["hardware"]]
    tables: dict[str, pl.LazyFrame] = {}
    own: Span | None = None
    span: Span | None = None
    with collected(gaps):
        own = _own_span(run, found)
    if "esxtop" in run.files:
        with collected(gaps):
            rec = recording("esxtop", run.files["esxtop"], kept)
            shown = facts.of_capture(rec)
            # What P-states tell of the frequency is an inference; what a file on the hardware says is not.
            inferred = {name: shown.pop(name) for name in ("mhz",) if name in shown}
            told = [("esxtop", shown), *told, ("the P-states in esxtop", inferred)]
            found["esxtop"] = (rec,)
            meta = rec.meta
            # Where the files that should tell the span are not right, that was said.
            if not (run.window.span and own is None and gaps):
                span = measured(run.window, meta["start"], meta["end"], meta.get("interval"), own)
                tables = filtered(rec.tables, span.inside())
    elif own is not None and _counts_from(run, found):
        with collected(gaps):
            of = next(f"the run of {role}" for role in found if role in WORKLOADS)
            span = measured(run.window, own.start, own.end, None, own, of=of)
    left = run.window if span is None and run.window != WindowSpec() else None
    lost = left is not None and ("esxtop" in run.files or (own is not None and _counts_from(run, found)))
    if span is None and not lost:
        span = own
    known, against = facts.together([*told, ("the manifest", run.host)])
    notes = warned(rec for group in found.values() for rec in group)
    return Opened(run, found, tables, span, left, lost, known, tuple(gaps), tuple(against), tuple(notes), kept)


def _counts_from(run: Run, found: Mapping[str, Sequence[Recording]]) -> bool:
    """Whether, without a capture, the window is counted from the load generator's own run.

    It is for logs of fio, and for the files beside its results unless the window says itself from when to when.
    """
    window = run.window
    counted = window != WindowSpec() and not window.start and not window.end
    beside = counted and not CUT.isdisjoint(run.files)
    return beside or any(map(fio_logs.has_logs, found.get("fio", ())))


def _loads(run: Run, kept: Kept) -> dict[str, tuple[Recording, ...]]:
    """The run's load generator, its files cut to the one test asked for."""
    roles = [role for role in run.files if role in WORKLOADS]
    if len(roles) > 1:
        raise EsxparseError(f"it has results of {' and '.join(roles)}, so its throughput is ambiguous: keep one")
    return {
        role: tuple(loads.chosen(rec, run.files[role].spec.test) for rec in recordings(role, run.files[role], kept))
        for role in roles
    }


def _own_span(run: Run, found: Mapping[str, Sequence[Recording]]) -> Span | None:
    """From when to when the load generators measured, all of them, on the capture's clock."""
    wanted = run.window.span
    if wanted and wanted not in run.files:
        raise EsxparseError(f"the window is the span of {wanted}, but the run has no {wanted} file")
    groups = {role: group for role, group in found.items() if role in WORKLOADS and wanted in {None, role}}
    spans = [
        loads.own_span(rec, run.files[role].spec.clock)
        for role, group in groups.items()
        for rec in [rec for rec in group if loads.has_results(rec)] or group
    ]
    known = [span for span in spans if span]
    if not known or len(known) < len(spans):
        return None
    return Span(min(span.start for span in known), max(span.end for span in known))


def try_others(run: Run, kept: Kept) -> list[str]:
    """Problems with the files that `open_run` does not open: power readings, events, benchmarks."""
    gaps: list[str] = []
    if run.unusable:
        return gaps
    for role, files in run.files.items():
        if role not in WORKLOADS | {"esxtop", "hardware"}:
            with collected(gaps):
                recordings(role, files, kept)
    return gaps
