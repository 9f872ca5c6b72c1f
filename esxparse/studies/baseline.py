"""The baseline of a study: its runs, and whether each run has exactly one baseline to be divided by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from esxparse.recording import Note
from esxparse.studies.expand import Run
from esxparse.studies.study_file import Manifest

_SHOWN = 4


def text(baseline: Mapping[str, Any]) -> str:
    """Return the baseline as text for tables.

    >>> text({"filter": "default"})
    'filter=default'
    """
    return ", ".join(f"{name}={value}" for name, value in baseline.items())


def marked(baseline: Mapping[str, Any], runs: Sequence[Run]) -> list[bool | None]:
    """Return whether each run belongs to the baseline; None without a baseline."""
    if not baseline:
        return [None] * len(runs)
    return [all(run.labels.get(name) == value for name, value in baseline.items()) for run in runs]


def within(manifest: Manifest, labels: Sequence[str]) -> list[str]:
    """Return the labels that a run shares with its baseline: the axis, or else all labels outside the baseline."""
    shared = manifest.axis or labels
    return [name for name in shared if name not in manifest.baseline and name in labels]


def complaints(manifest: Manifest, runs: Sequence[Run]) -> list[Note]:
    """Return problems of the axis and the baseline that show in the runs."""
    labels = list(runs[0].labels) if runs else []
    notes = [
        *_twice(runs, labels),
        *(
            Note(f"the axis {name!r} is not a label of any run", severity="warning")
            for name in manifest.axis
            if name not in labels
        ),
    ]
    if not manifest.baseline:
        return notes
    line = manifest.baseline_line
    strange = [name for name in manifest.baseline if name not in labels]
    if strange:
        return [*notes, Note(f"the baseline's {strange[0]!r} is not a label of any run", line, severity="warning")]
    base = [run for run, mark in zip(runs, marked(manifest.baseline, runs), strict=True) if mark]
    if not base:
        seen = "; ".join(f"{name} is {_values(runs, name)}" for name in manifest.baseline)
        message = f"no run matches the baseline {text(manifest.baseline)}: {seen}"
        return [*notes, Note(message, line, severity="warning")]
    shared = within(manifest, labels)
    others = [name for name in labels if name not in shared]
    by_point: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
    for run in base:
        point = tuple(run.labels[name] for name in shared)
        by_point.setdefault(point, set()).add(tuple(run.labels[name] for name in others))
    for point, found in by_point.items():
        if len(found) > 1:
            where = text(dict(zip(shared, point, strict=True)))
            differ = [name for place, name in enumerate(others) if len({one[place] for one in found}) > 1]
            differences = "; ".join(f"{name} is {_values(base, name)}" for name in differ)
            message = (
                f"the baseline {text(manifest.baseline)} is not unique{' at ' + where if where else ''}: "
                f"{differences}; specify it in baseline, or add {differ[0]} to axis"
            )
            return [*notes, Note(message, line, severity="warning")]
    return notes


def _twice(runs: Sequence[Run], labels: Sequence[str]) -> list[Note]:
    seen: dict[tuple[Any, ...], Run] = {}
    notes = []
    for run in runs:
        key = (run.repetition, *((type(run.labels[name]) is bool, run.labels[name]) for name in labels))
        first = seen.setdefault(key, run)
        if first is not run:
            message = f"{run} is repetition {run.repetition}, and so is run {first.number}: give them different numbers"
            notes.append(Note(message, run.line, severity="warning"))
    return notes


def _values(runs: Sequence[Run], name: str) -> str:
    values = list(dict.fromkeys(repr(run.labels.get(name)) for run in runs))
    return ", ".join(values[:_SHOWN]) + (" ..." if len(values) > _SHOWN else "")
