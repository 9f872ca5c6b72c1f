"""Evidence on the unit of a fio log from the files around it: other logs of the run, and outputs without a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from esxparse.errors import EsxparseError
from esxparse.formats.fio.log_clues import Clue, Mean, clue_of_run
from esxparse.formats.fio.log_facts import log_name
from esxparse.formats.fio.log_release import beginning, neighbours, outputs_near
from esxparse.formats.fio.output import is_output, parse_output
from esxparse.formats.source import resolve

if TYPE_CHECKING:
    import polars as pl

_MEANS = {"lat": "latency_mean_ms", "clat": "clat_mean_ms", "slat": "slat_mean_ms"}
_LARGEST = 16 << 20
"""Bytes of an output that is worth reading for its means."""


def mean_latencies(jobs: pl.DataFrame, source: str) -> list[Mean]:
    """The mean latencies in the table `jobs` of an output."""
    return [Mean(metric, value, source) for metric, column in _MEANS.items() for value in jobs[column] if value]


def _means_near(folder: Path) -> list[Mean]:
    every = ([mean for file in files for mean in _means_of(file)] for files in outputs_near(folder))
    return next(filter(None, every), [])


def _means_of(file: Path) -> list[Mean]:
    try:
        source = resolve(file)
        if not is_output(source.head) or file.stat().st_size >= _LARGEST:
            return []
        return mean_latencies(parse_output(source, file.name).tables["jobs"].collect(), file.name)
    except (EsxparseError, OSError):
        return []


def clue_beside(path: Path | None) -> Clue | None:
    """The strongest evidence in a log, the other logs in its directory, and outputs there or one directory up."""
    if path is None:
        return None
    own = log_name(path.name)
    # The logs of the same job first: a directory may have more than are worth reading.
    logs = neighbours(path.parent, lambda name: (name.base, name.number) == (own.base, own.number))
    logs += [file for file in neighbours(path.parent, lambda name: name.metric != "unknown") if file not in logs]
    named = ((file.name, beginning(file).decode(errors="replace")) for file in logs)
    return clue_of_run(named, _means_near(path.parent))
