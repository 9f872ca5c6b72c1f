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

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Notes, reason
from esxparse.formats.kit.tables import Row, schemas
from esxparse.formats.source import Source, resolve
from esxparse.formats.vcenter import collection, columns, govc, history, rates, series
from esxparse.recording import Recording

if TYPE_CHECKING:
    import polars as pl

FORMAT = "vcenter_api"

_SCHEMAS = schemas(__file__)


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
        raise DamagedError(
            f"no counter in it has a value{reason(notes)}: run the command again, for a time with values"
        )
    waits, more = rates.waits(samples)
    notes += more
    times, intervals = samples["time"], samples["interval_s"].unique()
    meta = {"start": times.min(), "end": times.max(), "samples": times.n_unique()}
    meta |= {"interval": intervals.item()} if len(intervals) == 1 and not intervals.has_nulls() else {}
    return columns.tables({"samples": samples, "cpu_waits": waits}), meta


def recognise_directory(path: Path) -> bool:
    """Return whether a directory is of `esxparse collect vcenter`."""
    return collection.is_collection(path)


def read_directory(path: Path) -> Recording:
    """Read a directory of `esxparse collect vcenter`: counters, tasks, events and the inventory."""
    notes = Notes()
    meta = collection.facts(path, notes)
    inventory = collection.inventory(path, notes)
    vcpus = {f"VirtualMachine-{row.get('vm_id')}": row.get("vcpus") for row in inventory.get("inventory_vm", [])}
    try:
        tables, times = counters(_collected(path, vcpus, notes), notes)
    except DamagedError as error:
        # Tasks, events and the inventory are useful without counters.
        notes.warn(str(error))
        tables, times = {}, {}
    rows: dict[str, list[Row]] = {"tasks": [], "events": []}
    for file in history.history_files(path):
        text = resolve(file).text()
        tasks, events = history.of_objects(text.text, notes)
        rows = {"tasks": rows["tasks"] + tasks, "events": rows["events"] + events}
        notes += [replace(note, message=f"{file.name}: {note.message}") for note in text.notes]
    more = collection.typed({**rows, **inventory}, _SCHEMAS)
    if not tables and not more:
        raise DamagedError(f"nothing in it can be read{reason(notes)}: collect again")
    return Recording(FORMAT, str(path), {**tables, **more}, {**meta, **times}, tuple(notes))


def _collected(path: Path, vcpus: Mapping[str, int | None], notes: Notes) -> Iterator[series.Series]:
    """Yield the series of the file of counters, with the vCPUs of VMs.

    Raises:
        DamagedError: The file is missing.
    """
    file = path / collection.COUNTERS
    if not file.is_file():
        raise DamagedError(f"{file} is missing: collect again")
    text = resolve(file).text()
    notes += text.notes
    for one in govc.of_objects(text.text, notes):
        known = vcpus.get(one.entity_id or "")
        yield replace(one, vcpus=known) if isinstance(known, int) else one
