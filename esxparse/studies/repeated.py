"""Detection of repetitions: they have separate recordings, as parts of one recording are too similar.

Runs with the same labels are parts of one recording if they share

- a file whose figures cover the whole measurement (a load generator's test, a benchmark, perf, vmkperf, vscsiStats);
- a file that is cut to the measured span (a capture, power readings, packets), unless each run also has a separate
  capture or load and the spans do not overlap: one capture over three runs of fio is three runs.

Files with equal bytes are the same under any name. Copies that were compressed differently are recognised by their
figures: the same span, and equal values in every column.
"""

from __future__ import annotations

import filecmp
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from esxparse.recording import Note
from esxparse.studies.columns import COLUMNS, FACTS
from esxparse.studies.expand import Run
from esxparse.studies.opened import CUT
from esxparse.studies.roles import BENCHMARKS, WHOLE, WORKLOADS

Row = Mapping[str, Any]
File = tuple[Any, ...]


_CUT: Final = CUT | {"esxtop"}
_DATED: Final = WORKLOADS | _CUT
"""Roles with times in their files: equal bytes mean a copy, while two short tables may be equal by chance."""
_OWN: Final = WORKLOADS | BENCHMARKS | {"esxtop"}
_ENOUGH: Final = 5
"""This many identical figures are no coincidence."""


def recordings(runs: Sequence[Run], rows: Sequence[Row]) -> tuple[list[int | None], list[Note]]:
    """Return the first run number of each run's recording, and notes on runs that share a recording.

    None for a run that was not computed.
    """
    numbers = [None if run.unusable else run.number for run in runs]
    notes: list[Note] = []
    alike: dict[tuple[Any, ...], list[int]] = {}
    for place, run in enumerate(runs):
        if run.unusable:
            continue
        labels = tuple((type(value) is bool, value) for value in run.labels.values())
        alike.setdefault(labels, []).append(place)
    for places in alike.values():
        files = _files([runs[place] for place in places]) if len(places) > 1 else []
        for later, place in enumerate(places):
            first = next(
                (
                    before
                    for before, other in enumerate(places[:later])
                    if _one((files[before], rows[other]), (files[later], rows[place]))
                ),
                None,
            )
            if first is not None:
                numbers[place] = numbers[places[first]]
        notes += _notes_on_parts([runs[place] for place in places], [numbers[place] for place in places])
    return numbers, notes


def _notes_on_parts(runs: Sequence[Run], numbers: Sequence[int | None]) -> Iterator[Note]:
    for number in dict.fromkeys(numbers):
        some = [run for run, own in zip(runs, numbers, strict=True) if own == number]
        if len(some) > 1:
            run_numbers = ", ".join(str(run.number) for run in some[:-1]) + f" and {some[-1].number}"
            message = (
                f"runs {run_numbers} are parts of one recording, not repetitions: they count as one; "
                "add a label that distinguishes them, or record again"
            )
            yield Note(message, some[-1].line, severity="warning")


def _files(runs: Sequence[Run]) -> list[dict[str, frozenset[File]]]:
    """Return the files of each run by role, each as its path, the part that is read, and the chosen test."""
    known: list[Path] = []

    def identity(role: str, path: str) -> str:
        here = Path(path)
        if role not in _DATED or not here.is_file():
            return path
        for other in known:
            if other == here or (
                other.stat().st_size == here.stat().st_size and filecmp.cmp(other, here, shallow=False)
            ):
                return str(other)
        known.append(here)
        return path

    found = []
    for run in runs:
        by_role = {}
        for role, files in run.files.items():
            part = (files.spec.opening.member, files.spec.opening.segment)
            test = files.spec.test if role in WHOLE else None
            by_role[role] = frozenset((identity(role, path), *part, test) for path in files.paths)
        found.append(by_role)
    return found


def _one(first: tuple[Mapping[str, frozenset[File]], Row], second: tuple[Mapping[str, frozenset[File]], Row]) -> bool:
    (files, row), (others, other) = first, second
    shared = {role for role in files.keys() & others.keys() if files[role] & others[role]}
    if shared & WHOLE or _same_figures(row, other):
        return True
    if not shared & _CUT:
        return False
    apart = (files.keys() & others.keys() & _OWN) - shared
    return not apart or _overlap(row, other)


def _overlap(row: Row, other: Row) -> bool:
    """Return whether two measured spans overlap; True if either is unknown."""
    start, end, other_start, other_end = (one.get(name) for one in (row, other) for name in ("start", "end"))
    if start is None or end is None or other_start is None or other_end is None:
        return True
    return bool(start < other_end and other_start < end)


def _same_figures(row: Row, other: Row) -> bool:
    if row.get("start") is None or (row["start"], row["end"]) != (other.get("start"), other.get("end")):
        return False
    names = {name for name in row if name in COLUMNS and name not in FACTS and isinstance(row[name], float)}
    return len(names) >= _ENOUGH and all(_same(row[name], other.get(name)) for name in names)


def _same(one: float, other: float | None) -> bool:
    """Return whether two figures are equal, whatever the order of their sums."""
    return other is not None and math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)
