"""Counters as the vSphere API returns them: what `govc metric.sample` prints, or `esxparse collect vcenter` wrote.

The reader accepts `govc metric.sample -json` (keys in lower case, or in upper case as older releases write them) and
its text, if it was run with `-t`: without times it is refused. JSON has identifiers of objects, and no names.
Values are raw in JSON, so percentages are divided by 100; govc's text has them divided. Values and times are paired by
position. Rows are sorted by object, counter, instance and time.

A directory of `esxparse collect vcenter` opens as one recording, with tasks, events and the inventory of that time.
The number of vCPUs of a VM is from the inventory, or known if all instances of a counter add up to the whole.

Source: vSphere API, PerformanceManager ("2067 means 20.67% for percent units") and its objects; sample.go of govc
0.55, whose output for vcsim was read. Assumption: upper-case keys are otherwise the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Notes, reason
from esxparse.formats.kit.tables import schemas
from esxparse.formats.source import Source
from esxparse.formats.vcenter import columns, govc, rates, series
from esxparse.recording import Recording

FORMAT = "vcenter_api"


def read(source: Source) -> Recording:
    """Read what `govc metric.sample` printed."""
    text = source.text()
    notes = Notes(text.notes)
    is_json = text.text.lstrip()[:1] in {"{", "["}
    found = govc.of_objects(text.text, notes) if is_json else govc.of_lines(text.lines(), notes)
    tables, meta = counters(found, notes)
    return Recording(FORMAT, source.name, tables, meta, tuple(notes))


def counters(found: Iterable[series.Series], notes: Notes) -> tuple[dict[str, pl.LazyFrame], dict[str, Any]]:
    """Return tables `samples` and `cpu_waits` of series, and facts about their times.

    Raises:
        DamagedError: No series has a value.
    """
    samples = series.samples(found, notes)
    if not samples.height:
        raise DamagedError(f"no counter in it has a value{reason(notes)}: run the command again, for a time with values")
    waits, more = rates.waits(samples)
    notes += more
    times, intervals = samples["time"], samples["interval_s"].unique()
    meta = {"start": times.min(), "end": times.max(), "samples": times.n_unique()}
    meta |= {"interval": intervals.item()} if len(intervals) == 1 and not intervals.has_nulls() else {}
    return columns.tables({"samples": samples, "cpu_waits": waits}), meta
