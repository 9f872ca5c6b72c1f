"""Tasks and events of a vCenter: JSON of `govc tasks`, `govc events` and `esxparse collect vcenter`, text of govc."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from esxparse.errors import DamagedError
from esxparse.formats.kit.notes import Counted, Notes, left_out
from esxparse.formats.kit.numbers import whole
from esxparse.formats.kit.objects import each_object, mapping, mappings
from esxparse.formats.kit.stamps import in_utc, of_zone, unused_zone

Row = dict[str, Any]

TASKS: Final = "tasks.json"
EVENTS: Final = "events.json"
"""Files of `esxparse collect vcenter`."""

_LINE: Final = re.compile(
    r"\[[A-Z][a-z]{2} (?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] \[(?P<category>\w+)\]"
    r"(?: \[(?P<key>\d+)\])?(?: \[(?P<event>[\w.]+)\])? (?P<message>.*)"
)
_OBJECT: Final = re.compile(r"==> (?P<kind>\w+):(?P<id>\S+) <==")
_TITLES: Final = re.compile(r"Task\s+Target\s+Initiator\s+Queued\s+Started\s+Completed\s+Result\s*")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ABOVE: Final = 20


def history_files(folder: Path) -> list[Path]:
    """Return the files with tasks and events in a directory of `esxparse collect vcenter`."""
    return [file for name in (TASKS, EVENTS) if (file := folder / name).is_file()]


def is_history(text: str, lines: Sequence[str]) -> bool:
    """Return whether a file has tasks or events as govc or `esxparse collect vcenter` writes them."""
    if text.lstrip()[:1] in {"{", "["} and re.search(r'(?i)"(?:createdTime|queueTime|tasks)"\s*:', text):
        return True
    return any(_LINE.match(line) or _TITLES.fullmatch(line) for line in islice(lines, _ABOVE))


def history(text: str, lines: Sequence[str], zone: str | None) -> tuple[list[Row], list[Row], Notes]:
    """Return the rows of tables `tasks` and `events`, and notes on what is left out.

    Raises:
        DamagedError: It is the text of `govc tasks`, which has no dates.
    """
    notes = Notes()
    if any(_LINE.match(line) for line in islice(lines, _ABOVE)):
        return [], _of_lines(lines, zone, notes), notes
    if any(_TITLES.fullmatch(line) for line in islice(lines, _ABOVE)):
        raise DamagedError("the text of govc tasks has times without dates: run govc tasks again with -json")
    tasks, events = of_objects(text, notes)
    if zone:
        notes.warn(unused_zone(zone))
    return tasks, events, notes


def of_objects(text: str, notes: Notes) -> tuple[list[Row], list[Row]]:
    """Return the rows of tables `tasks` and `events` in JSON."""
    tasks: list[Row] = []
    events: list[Row] = []
    odd = Counted()
    for line, document in each_object(text, notes):
        found = lowered(document)
        several = mappings(found["tasks"]) if "tasks" in found else [document]
        for one in map(lowered, several):
            row = _event(one) if "createdtime" in one else _task(one)
            if row["time"] is None:
                odd.skip("neither a task nor an event with a time: left out", line)
            elif "createdtime" in one:
                events.append(row)
            else:
                tasks.append(row)
    notes += odd.notes("warning")
    return tasks, events


def lowered(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with its keys in lower case: releases of govc differ in it."""
    return {name.lower(): value for name, value in found.items()}


def _task(one: Mapping[str, Any]) -> Row:
    started, queued = instant(one.get("starttime")), instant(one.get("queuetime"))
    reason, error = lowered(mapping(one.get("reason"))), lowered(mapping(one.get("error")))
    return {
        "time": started or queued,
        "queued": queued,
        "started": started,
        "completed": instant(one.get("completetime")),
        "task": _text(one.get("name")) or _text(one.get("descriptionid")) or "task",
        "state": _text(one.get("state")),
        "error": _text(error.get("localizedmessage")),
        "user": _text(reason.get("username")),
        "task_id": _text(one.get("key")),
        **_entity(one),
    }


def _event(one: Mapping[str, Any]) -> Row:
    return {
        "time": instant(one.get("createdtime")),
        "event": _text(one.get("type")),
        "category": _text(one.get("category")),
        "user": _text(one.get("username")),
        "host": _text(one.get("host")),
        "message": _text(one.get("message")),
        "event_id": whole(one.get("key")),
        "chain_id": whole(one.get("chainid")),
        **_entity(one),
    }


def _entity(one: Mapping[str, Any]) -> Row:
    reference = lowered(mapping(one.get("entity")))
    kind, value = reference.get("type"), reference.get("value")
    if isinstance(named := one.get("object"), str):
        # govc writes it if several objects are listed.
        kind, _, value = named.partition(":")
    return {"entity": _text(one.get("entityname")), "entity_id": f"{kind}-{value}" if kind and value else None}


def _text(value: Any) -> str | None:
    return " ".join(value.split()) or None if isinstance(value, str) else None


def instant(value: Any) -> datetime | None:
    """Return a time of ISO 8601 in UTC; without a zone it is UTC. None for anything else.

    >>> instant("2026-11-24T08:33:40+01:00").isoformat(), instant("9999-12-31T23:59:59-23:59"), instant(5)
    ('2026-11-24T07:33:40+00:00', None, None)
    """
    try:
        time = datetime.fromisoformat(value)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def _of_lines(lines: Sequence[str], zone: str | None, notes: Notes) -> list[Row]:
    """Return the events in the text of `govc events`, whose times are by the clock of its machine."""
    rows: list[Row] = []
    rest: list[tuple[int, str]] = []
    entity_id = None
    for place, line in enumerate(lines, 1):
        if named := _OBJECT.fullmatch(line.strip()):
            entity_id = f"{named['kind']}-{named['id']}"
            continue
        match = _LINE.fullmatch(line)
        time = _clock(match["time"], zone) if match else None
        if match is None or time is None:
            rest += [(place, line)] if line.strip() else []
            continue
        facts = {name: match[name] for name in ("event", "category", "message")}
        rows.append({"time": time, **facts, "event_id": whole(match["key"]), "entity_id": entity_id})
    notes.say(of_zone(zone))
    notes += left_out(rest, "warning")
    return rows


def _clock(text: str, zone: str | None) -> datetime | None:
    try:
        # The names of months are those of the C locale, whatever the locale of this process is.
        month = _MONTHS.index(text[:3]) + 1
        return in_utc(datetime.strptime(f"{month:02} {text[4:]}", "%m %d %H:%M:%S %Y"), zone)  # noqa: DTZ007  a zone follows
    except ValueError:
        return None
