"""The opened files of a run: its load generators, its capture cut to the measured span, the facts of its host."""

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
"""By role the request and the recordings of the files opened last."""


CUT: Final = frozenset({"power", "packets", "guest"})
"""Roles of further files that are cut to the measured span."""


@dataclass(frozen=True)
class Opened:
    """A run with opened files, before any computation."""

    run: Run
    recordings: Mapping[str, tuple[Recording, ...]]
    """By role: load generators (their chosen test), files on the hardware, and the whole capture."""
    tables: Mapping[str, pl.LazyFrame] = field(default_factory=dict)
    """Tables of the capture, cut to the measured span."""
    span: Span | None = None
    left: WindowSpec | None = None
    """The window of the run if it is not yet in `span`: it then applies to each file by its own times."""
    lost: bool = False
    """Whether the window could not be applied, so that the measured part of other files is unknown."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    gaps: tuple[str, ...] = ()
    """Missing data of the run, with reasons."""
    against: tuple[str, ...] = ()
    """Facts of the host on which files and manifest disagree."""
    notes: tuple[str, ...] = ()
    """Notes on its files."""
    kept: Kept = field(default_factory=dict)
    """Recordings that the next run may share."""


@contextmanager
def collected(gaps: list[str]) -> Iterator[None]:
    """Continue after an error in reading or computing, and record it in `gaps`."""
    try:
        yield
    except (EsxparseError, OSError) as error:
        gaps.append(str(error))
    except OverflowError:
        gaps.append("the measured span lies beyond the year 9999: change window or clock")
    except pl.exceptions.PolarsError as error:
        gaps.append(f"it could not be computed: {str(error).splitlines()[0]}")


def recordings(role: str, files: RunFiles, kept: Kept) -> tuple[Recording, ...]:
    """Return the recordings of a role; reuse the previous run's if the files are the same."""
    key = files.paths, files.spec.opening
    if role not in kept or kept[role][0] != key:
        kept.pop(role, None)
        kept[role] = key, _recordings(role, files)
    return kept[role][1]


def recording(role: str, files: RunFiles, kept: Kept) -> Recording:
    """Return the recording of a role that has one file."""
    if len(files.paths) != 1:
        msg = f"{role} takes one file per run, and {len(files.paths):,} are given: keep one, or make one run per file"
        raise EsxparseError(msg)
    return recordings(role, files, kept)[0]


def warned(recs: Iterable[Recording]) -> list[str]:
    """Return the recordings' notes on unusable data, each with its file."""
    return [f"{rec.source}: {note}" for rec in recs for note in rec.notes if note.severity == "warning"]


def _recordings(role: str, files: RunFiles) -> tuple[Recording, ...]:
    opening = files.spec.opening
    if role == "results_csv" and not opening.format:
        # The file itself does not show its format; the manifest does.
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
    """Open the files needed for the measured span and the host facts, and find both."""
    gaps = [str(problem) for problem in run.problems]
    if run.unusable:
        return Opened(run, {}, gaps=tuple(gaps), kept=kept)
    found: dict[str, tuple[Recording, ...]] = {}
    with collected(gaps):
        found |= _loads(run, kept)
    fact_sources = []
    if "hardware" in run.files:
        with collected(gaps):
            found["hardware"] = recordings("hardware", run.files["hardware"], kept)
            fact_sources += [("hardware", facts.of_hardware(rec)) for rec in found["hardware"]]
    tables: dict[str, pl.LazyFrame] = {}
    own: Span | None = None
    span: Span | None = None
    with collected(gaps):
        own = _own_span(run, found)
    if "esxtop" in run.files:
        with collected(gaps):
            rec = recording("esxtop", run.files["esxtop"], kept)
            capture_facts = facts.of_capture(rec)
            # The frequency inferred from P-states ranks below a file on the hardware.
            inferred = {name: capture_facts.pop(name) for name in ("mhz",) if name in capture_facts}
            fact_sources = [("esxtop", capture_facts), *fact_sources, ("the P-states in esxtop", inferred)]
            found["esxtop"] = (rec,)
            meta = rec.meta
            # An error in the files that define the span was already recorded.
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
    known, against = facts.together([*fact_sources, ("the manifest", run.host)])
    notes = warned(rec for group in found.values() for rec in group)
    return Opened(run, found, tables, span, left, lost, known, tuple(gaps), tuple(against), tuple(notes), kept)


def _counts_from(run: Run, found: Mapping[str, Sequence[Recording]]) -> bool:
    """Return whether, without a capture, the window is counted from the load generator's own run.

    This is so for logs of fio, and for files beside its results unless the window has a start or end.
    """
    window = run.window
    counted = window != WindowSpec() and not window.start and not window.end
    beside = counted and not CUT.isdisjoint(run.files)
    return beside or any(map(fio_logs.has_logs, found.get("fio", ())))


def _loads(run: Run, kept: Kept) -> dict[str, tuple[Recording, ...]]:
    """Return the run's load generator, its files cut to the chosen test."""
    roles = [role for role in run.files if role in WORKLOADS]
    if len(roles) > 1:
        raise EsxparseError(f"it has results of {' and '.join(roles)}, so its throughput is ambiguous: keep one")
    return {
        role: tuple(loads.chosen(rec, run.files[role].spec.test) for rec in recordings(role, run.files[role], kept))
        for role in roles
    }


def _own_span(run: Run, found: Mapping[str, Sequence[Recording]]) -> Span | None:
    """Return the time in which all load generators measured, on the capture's clock."""
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
    """Return problems with the files that `open_run` does not open: power readings, events, benchmarks."""
    gaps: list[str] = []
    if run.unusable:
        return gaps
    for role, files in run.files.items():
        if role not in WORKLOADS | {"esxtop", "hardware"}:
            with collected(gaps):
                recordings(role, files, kept)
    return gaps
