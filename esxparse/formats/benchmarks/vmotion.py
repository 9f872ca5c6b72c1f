r"""vMotions in a VM's log (vmware.log): duration of each, and how long the VM was stopped.

A vMotion goes through states: from 0 to 1 and up to 6 on the source, from 0 to 7 and up on the destination. It takes
from its first change of state to its last. The destination writes how long the VM was stopped: `Checkpoint_Unstun: vm
stopped for 403475 us`. The same line outside a vMotion belongs to a snapshot: it is counted in a note.
Source: Broadcom KB 436882 (how to identify the stun time of a vMotion) and KB 1010634 (the states); lines of ESXi 5, 6
and 7 as blogs print them. No complete log was available. Times are UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from esxparse.formats.benchmarks.table import Fields, Run, dated, figures_of, recording
from esxparse.formats.kit.notes import Notes, strange
from esxparse.formats.kit.numbers import whole
from esxparse.formats.kit.tables import data, schemas
from esxparse.formats.source import Source
from esxparse.recording import Recording, counted

FORMAT = "vmotion"

_Change = tuple[datetime, dict[str, str | None]]

_LINE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z)\b.{1,60}?"
    r"(?:MigrateSetState: Transitioning from state (?P<before>\d{1,3}) to (?P<state>\d{1,3})\b"
    r"|Checkpoint_Unstun: vm stopped for (?P<stopped>\d{1,12}) us"
    r"|(?P<failed>Migrate_SetFailure:))"
)
_EVENT = re.compile("MigrateSetState: Transitioning|Checkpoint_Unstun: vm stopped|Migrate_SetFailure:")
_DESTINATION = 7
"""States from this one on are the destination's."""


def _changes(lines: list[str]) -> tuple[list[_Change], list[tuple[int, str]]]:
    """Return the changes that the log records, and the lines of vMotions that the reader cannot use, numbered."""
    changes: list[_Change] = []
    damaged: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if found := _LINE.match(line):
            changes.append((datetime.fromisoformat(found["time"]).astimezone(UTC), found.groupdict()))
        elif _EVENT.search(line):
            damaged.append((number, line))
    return changes, damaged


def _vmotions(changes: list[_Change]) -> tuple[list[Fields], int]:
    """Return one row per vMotion, and how many times the VM was stopped outside of them."""
    rows: list[Fields] = []
    current: Fields | None = None
    others = 0
    for time, found in changes:
        if found["before"] == "0" and found["state"] != "0":
            state = whole(found["state"]) or 0
            side = "destination" if state >= _DESTINATION else "source"
            current = {"side": side, "start": time, "end": None, "stopped_ms": None, "failed": False}
            rows.append(current)
        elif current is None:
            others += found["stopped"] is not None
        elif found["stopped"] is not None:
            current["stopped_ms"] = int(found["stopped"]) / 1000
        elif found["failed"] is not None:
            current["failed"] = True
        else:
            current["end"] = time
            current = None if found["state"] == "0" else current
    return rows, others


def _run(row: dict[str, Any]) -> Run:
    took = (row["end"] - row["start"]).total_seconds() if row["end"] else None
    figures = figures_of({"duration_s": took, "stopped_ms": row["stopped_ms"]}, data(__file__)["figures"])
    return Run(row["side"], "", tuple(figures), valid=not row["failed"])


def read(source: Source) -> Recording:
    """Read the vMotions of a log; a log of a VM that was never moved raises."""
    text = source.text().without_cut_line()
    changes, damaged = _changes(text.lines())
    rows, others = _vmotions(changes)
    notes = Notes([*text.notes, *strange(damaged, "not a line of a vMotion as vmware.log writes it")])
    if others:
        notes.say(f"the VM was stopped {counted(others, 'time')} outside a vMotion, as for snapshots: left out")
    if open_ended := sum(row["end"] is None for row in rows):
        notes.warn(f"{counted(open_ended, 'vMotion')} without a second state: the log was cut, or the host failed")
    details = {"vmotions": dated(rows, schemas(__file__)["vmotions"], "start")}
    runs, measured = [_run(row) for row in rows], any(row["end"] or row["stopped_ms"] for row in rows)
    return recording(source, FORMAT, "vMotion", runs, details, {"samples": len(rows)}, notes, enough=measured)
