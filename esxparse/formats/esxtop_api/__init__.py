"""esxtop through the vSphere API: the replies of a host's Esxtop service (`CounterInfo`, `FetchStats`).

Tables
------
As a batch capture of esxtop has them (format `esxtop`, which is also the format of the recording), for every column
whose counter is known: memory, physical_cpu, numa_node, group_cpu, vcpu, group_memory, network_port. Rates, and
everything else that takes two samples, are null in the first sample, and after a restart.

    raw_...  one table for each type of object, such as raw_SchedGroup: `time` and every field by its own name, as the
             host sent it; most numbers count up from some start

Files: JSON lines of `esxparse collect vsphere`; the replies as texts, together or in files beside each other (in the
same directory, or with the reply of CounterInfo set as `counter_info`); the CSV of Azure's Get-EsxtopData. Replies
have no time: without a clock beside them, samples begin on `date`, or end when the file was last written; their
distance is the host's count of time.

`meta`: host, server, build and release if the file has them; guessed_columns (`table.column`); unmapped (`Type.field`,
only in the raw tables); the rest as format esxtop has it.

Source: see `mapping.toml` beside this module. Nothing here was tried on a real host: whatever no source states is a
guess, and a note lists the guessed columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date as Day  # noqa: N812  the option is called date
from pathlib import Path
from typing import Final

import polars as pl

from esxparse.errors import DamagedError
from esxparse.formats.esxtop import FORMAT as ESXTOP
from esxparse.formats.esxtop.times import interval
from esxparse.formats.esxtop_api import beside, stored
from esxparse.formats.esxtop_api.clock import Undated, clock_of
from esxparse.formats.esxtop_api.derive import Derived, derive, mapping, with_time
from esxparse.formats.esxtop_api.grammar import LINE, SAMPLE, Objects
from esxparse.formats.kit.notes import Notes
from esxparse.formats.source import Source, resolve
from esxparse.recording import Note, Recording, counted, first_few

FORMAT = "esxtop_api"

_SHOWN: Final = 12


def read(
    source: Source, *, counter_info: str | None = None, zone: str | None = None, date: Day | None = None
) -> Recording:
    """Read replies of the Esxtop service.

    Args:
        source: The file.
        counter_info: A file with the reply of CounterInfo, if it is neither in the file nor beside it.
        zone: The zone of times without one.
        date: The day of the first sample, if nothing has a time.

    Raises:
        DamagedError: No reply has values, or nothing says what they mean.
    """
    text = source.text()
    found = stored.read(text.text, zone)
    found.notes = Notes([*text.notes, *found.notes])
    del text
    info = found.info
    if counter_info:
        info = beside.info_in(counter_info)
    elif info is None and found.replies:
        info, name = beside.info_beside(source)
        if info is not None:
            found.notes.say(f"fields from CounterInfo in {name}")
    return _recording(source.name, stored.with_info(found, info), found, date, Path(source.where))


def recognise_directory(path: Path) -> bool:
    """Return whether a directory has one reply of CounterInfo, and replies of FetchStats without it."""
    return beside.texts_in(path) is not None


def read_directory(
    path: Path, *, counter_info: str | None = None, zone: str | None = None, date: Day | None = None
) -> Recording:
    """Read the replies in the files of a directory, in the order of their names; options as `read` has them."""
    texts = beside.texts_in(path)
    if texts is None:
        raise DamagedError(f"{path} has no reply of CounterInfo with replies of FetchStats beside it")
    found = stored.Stored(info=beside.info_in(counter_info) if counter_info else texts.info)
    for file in texts.files:
        text = resolve(file).text()
        one = stored.read(text.text, zone)
        found.replies += one.replies
        found.notes += [replace(note, message=f"{file.name}: {note.message}") for note in (*text.notes, *one.notes)]
    return _recording(str(path), stored.with_info(found, None), found, date, texts.files[-1])


def _recording(
    name: str, replies: Sequence[stored.Reply], found: stored.Stored, date: Day | None, file: Path
) -> Recording:
    notes = found.notes
    replies = stored.in_order(replies, notes)
    objects = Objects(notes)
    for sample, one in enumerate(replies):
        objects.add(sample, one.text, one.info or {}, one.line, own_lines=one.own_lines)
    # The texts may be most of the memory.
    found.replies.clear()
    replies = [replace(one, text="", info=None) for one in replies]
    frames = objects.frames()
    if not frames:
        raise DamagedError("its replies have no values that fit their CounterInfo: is it of another release?")
    clock = clock_of(replies, frames, Undated(date, file), notes)
    made = derive(objects, frames, clock, notes)
    raw = {f"raw_{kind}": with_time(frame, clock).lazy() for kind, frame in frames.items()}
    unmapped = _unmapped(frames, made)
    notes += _about(made, unmapped)
    facts = found.facts
    meta = {
        "host": facts.get("host") or beside.host_of(file.name),
        "server": facts.get("server"),
        "start": clock.times.min(),
        "end": clock.times.max(),
        "interval": interval(clock.times),
        "samples": len(replies),
        "columns": 1 + sum(_cells(frame) for frame in made.tables.values()),
        "objects": {table: frame["instance"].n_unique() for table, frame in made.tables.items()},
        "vms": made.vms,
        "pcpus": frames["LCPU"]["LCPUID"].n_unique() if "LCPUID" in frames.get("LCPU", pl.DataFrame()) else None,
        "release": facts.get("release"),
        "release_evidence": "as the API states it" if facts.get("release") else "no reply has it",
        "build": facts.get("build"),
        "guessed_columns": _guessed(made),
        "unmapped": unmapped,
    }
    tables = {table: frame.lazy() for table, frame in made.tables.items()}
    return Recording(ESXTOP, name, {**tables, **raw}, meta, tuple(notes))


def _cells(frame: pl.DataFrame) -> int:
    """Return the columns that a batch capture has for a table: each counter of each instance."""
    counters = sum(kind == pl.Float64 for kind in frame.dtypes)
    return counters * frame["instance"].n_unique()


def _guessed(made: Derived) -> tuple[str, ...]:
    return tuple(name for name, column in made.columns.items() if column.certainty == "guess")


def _unmapped(frames: Mapping[str, pl.DataFrame], made: Derived) -> tuple[str, ...]:
    """Return the fields that no column needs, as `Type.field`."""
    objects = {one.name: one for one in mapping()}
    used = {f"{one.object}.{name}" for one in objects.values() for name in one.keys}
    used |= {
        f"{objects[name.partition('.')[0]].object}.{one}"
        for name, column in made.columns.items()
        for one in column.fields
    }
    every = (f"{kind}.{name}" for kind, frame in frames.items() for name in frame.columns if name not in {SAMPLE, LINE})
    return tuple(name for name in every if name not in used)


def _about(made: Derived, unmapped: Sequence[str]) -> list[Note]:
    """Return the notes on guesses, and on fields without a column."""
    found = []
    if guessed := _guessed(made):
        what = f"{counted(len(guessed), 'column')} computed by a formula that no source states"
        found.append(Note(f"{what}: {first_few(guessed, _SHOWN)}"))
    if unmapped:
        what = f"{counted(len(unmapped), 'field')} without a known column, only in the raw tables"
        found.append(Note(f"{what}: {first_few(unmapped, _SHOWN)}"))
    return found
