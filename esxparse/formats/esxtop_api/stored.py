"""The files that hold replies of a host's Esxtop service: as esxparse collects them, as scripts save them.

collected   JSON lines of `esxparse collect vsphere`: a header, then each reply with the client's clock, and gaps
texts       replies as they came, one after another or in files beside each other; nothing has a time
csv         `"Timestamp","SampleNumber","RawData"` of Azure's Get-EsxtopData, in local time and without `CounterInfo`

Source of the last two: Get-allesxtopstats by K. Hensler; Get-EsxtopData of Azure VMware Solution.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Any, Final

from esxparse.errors import DamagedError
from esxparse.formats.esxtop_api.grammar import TOPOLOGY, VALUES, Info, counted_us, counter_info
from esxparse.formats.kit.notes import Counted, Notes, excerpt
from esxparse.formats.opening import zone_of

COLLECTED: Final = "esxtop over the vSphere API"
"""The value of `what` in the header of a collected file."""
VERSION: Final = 1
"""The version of collected files that is written and read."""
_CSV_HEAD: Final = re.compile(r'\s*"?Timestamp"?\s*[,;]\s*"?SampleNumber"?\s*[,;]\s*"?RawData"?\s*(?:\n|$)')
_CELL: Final = re.compile(r'(?P<cell>"(?:[^"]++|"")*"|[^",;\n]*+)(?P<end>[,;\n]|\Z)')


@dataclass(frozen=True)
class Reply:
    """A reply of `FetchStats`: its place in the file, when it came by the client's clock, and its fields."""

    text: str
    line: int
    time: datetime | None = None
    info: Info | None = None
    own_lines: bool = False
    """Whether each of its lines is a line of the file."""


@dataclass
class Stored:
    """What a file holds: the replies in their order, facts of its header, notes."""

    replies: list[Reply] = field(default_factory=list)
    info: Info | None = None
    """The first reply of `CounterInfo` in the file."""
    latest: Info | None = None
    """The last one so far: each session has its own."""
    facts: dict[str, Any] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    foreign: bool = False
    """Whether the last header is of another host than the first."""

    def add(self, reply: Reply) -> None:
        """Add a reply that has values."""
        if VALUES not in reply.text:
            self.notes.warn(f"a reply of FetchStats without {VALUES}: left out", reply.line)
        else:
            self.replies.append(reply)


def read(text: str, zone: str | None) -> Stored:
    """Return what a file holds; `zone`: the zone of times without one.

    Raises:
        DamagedError: It holds no reply that can be used.
    """
    if text.lstrip().startswith("{"):
        return _collected(text)
    if _CSV_HEAD.match(text):
        return _csv(text, zone)
    return _texts(text)


def _collected(text: str) -> Stored:
    found = Stored()
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
        except (ValueError, RecursionError):
            what = "the last line is cut" if number == len(lines) else "a line that is not valid JSON"
            found.notes.warn(f"{what}: left out", number)
            continue
        if isinstance(one, dict):
            _entry(found, one, number)
        else:
            found.notes.warn("a line that is no JSON object: left out", number)
    return found


def _entry(found: Stored, one: dict[str, Any], line: int) -> None:
    if one.get("what") == COLLECTED:
        _header(found, one, line)
    elif found.foreign:
        return
    elif "gap" in one:
        spell = f"from {one.get('before')} to {one.get('after')}"
        found.notes.warn(f"{spell} no samples were collected ({one['gap']}): rates of the next one span it", line)
    elif one.get("operation") == "CounterInfo":
        found.latest = counter_info(str(one.get("reply"))) or found.latest
        found.info = found.info or found.latest
    elif one.get("operation") == "FetchStats":
        time = _middle(one.get("before"), one.get("after"))
        if time is None:
            found.notes.warn("a reply of FetchStats without the time before and after it: left out", line)
        else:
            found.add(Reply(str(one.get("reply")), line, time, found.latest))
    elif one.get("operation") != "FreeStats":
        found.notes.warn(f"an unknown entry, left out: {excerpt(json.dumps(one))!r}", line)


def _header(found: Stored, one: dict[str, Any], line: int) -> None:
    if found.facts:
        found.foreign = one.get("host") != found.facts.get("host")
        if found.foreign:
            hosts = f"{excerpt(str(one.get('host')))}, not of {excerpt(str(found.facts.get('host')))}"
            found.notes.warn(f"the samples from here on are of {hosts}: left out. Split the file", line)
            return
        found.notes.say("a second header: the collection was appended to another one", line)
    found.facts = found.facts or one
    version = one.get("version")
    if version != VERSION:
        what = f"version {version!r} of this file is unknown: read as version {VERSION}"
        found.notes.warn(f"{what}. A newer esxparse may read more of it", line)
    skew = one.get("skew")
    if isinstance(skew, (int, float)) and abs(skew) >= 1:
        way = "ahead of" if skew > 0 else "behind"
        found.notes.say(f"the host's clock is {abs(skew):g} s {way} the client's, whose times these are", line)


def _middle(before: Any, after: Any) -> datetime | None:
    """Return the time in the middle of a call; the time on one side of it if the other is unknown."""
    ends = [time for time in (_moment(before), _moment(after)) if time is not None]
    return ends[0] + (ends[-1] - ends[0]) / 2 if ends else None


def _moment(text: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _texts(text: str) -> Stored:
    found = Stored()
    before, *replies = text.split(TOPOLOGY)
    found.info = counter_info(before) or None
    line = before.count("\n") + 1
    for reply in replies:
        found.add(Reply(TOPOLOGY + reply, line, own_lines=True))
        line += reply.count("\n")
    if not text.endswith("\n") and replies:
        found.notes.say("the last line has no line end: if the file was cut, values are missing", line)
    return found


def _csv(text: str, zone: str | None) -> Stored:
    found = Stored()
    clock: tzinfo = zone_of(zone) if zone else UTC
    for line, row in _rows(text, found.notes):
        if len(row) < 3:  # noqa: PLR2004  time, number, reply
            found.notes.skip(",".join(row), line, "warning")
            continue
        stamp, _, reply, *_ = row
        try:
            time = datetime.fromisoformat(stamp.strip())
        except ValueError:
            found.notes.warn(f"{excerpt(stamp)!r} is not a time (yyyy-MM-dd HH:mm:ss): left out", line)
            continue
        time = (time.replace(tzinfo=clock) if time.tzinfo is None else time).astimezone(UTC)
        found.add(Reply(reply.replace("\r\n", "\n"), line, time, own_lines=True))
    if not zone:
        found.notes.say("the times have no zone: read as UTC. Set the zone if they are local times", 1)
    return found


def _rows(text: str, notes: Notes) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows below the header, each with its first line. The csv module limits the length of a cell."""
    at, line, begin = 0, 1, 1
    row: list[str] = []
    while at < len(text):
        found = _CELL.match(text, at)
        if found is None:
            notes.warn("a cell without its closing quotation mark: the rest is left out", line)
            return
        cell = found["cell"]
        row.append(cell[1:-1].replace('""', '"') if cell.startswith('"') else cell)
        line += found[0].count("\n")
        at = found.end()
        if found["end"] not in {",", ";"}:
            if begin > 1 and any(row):
                yield begin, row
            row, begin = [], line


def in_order(replies: Sequence[Reply], notes: Notes) -> list[Reply]:
    """Return the replies by time, without those that are there twice."""
    if any(one.time is None for one in replies):
        return _without_repeats(replies, notes)
    replies = _forward(replies, notes)
    ordered = sorted(replies, key=lambda one: one.time or datetime.min.replace(tzinfo=UTC))
    if ordered != list(replies):
        moved = next(one for one, other in zip(replies, ordered, strict=True) if one is not other)
        notes.say("samples are not in the order of time: sorted", moved.line)
    return _without_repeats(ordered, notes)


def _forward(replies: Sequence[Reply], notes: Notes) -> Sequence[Reply]:
    """Return the replies with later times if the client's clock was set back while the host counted on."""
    times = [one.time for one in replies if one.time is not None]
    back = [False, *(after < before for before, after in pairwise(times))]
    # Most steps of a file with the newest sample first go back.
    if not any(back) or 2 * sum(back) > max(len(back), 2):
        return replies
    counts = [counted_us(one.text, one.info or {}) for one in replies]
    moved: list[Reply] = []
    offset, latest = timedelta(), times[0]
    for place, (one, time) in enumerate(zip(replies, times, strict=True)):
        last, count = counts[place - 1], counts[place]
        if back[place] and last is not None and count is not None and count > last:
            ahead = latest + timedelta(microseconds=count - last) - time - offset
            what = f"the client's clock was set back by {ahead.total_seconds():.0f} s between two samples"
            notes.warn(f"{what}: times from here on are by the clock before that, by the host's count", one.line)
            offset += ahead
        latest = time + offset
        moved.append(replace(one, time=latest))
    return moved


def _without_repeats(replies: Iterable[Reply], notes: Notes) -> list[Reply]:
    kept: list[Reply] = []
    repeated = Counted()
    for one in replies:
        before = kept[-1] if kept else None
        if before is not None and before.text == one.text:
            repeated.say("the same reply as the one before: left out", one.line)
        elif before is not None and one.time is not None and before.time == one.time:
            repeated.say("a second sample at the same time: left out", one.line)
        else:
            kept.append(one)
    notes += repeated.notes("warning")
    return kept


def with_info(found: Stored, info: Info | None) -> list[Reply]:
    """Return the replies, each with the fields of its values: `info` if the file does not say.

    Raises:
        DamagedError: No reply has values, or nothing says what they mean.
    """
    fallback = found.info or info
    if found.replies and fallback is None:
        raise DamagedError(
            "has values, but no reply of CounterInfo, which names them: fields differ between releases. Save the reply "
            "of CounterInfo of this host, or of another of the same build, and set counter_info to that file"
        )
    if not found.replies:
        what = "only names the fields (CounterInfo)" if found.info else "holds no reply of FetchStats"
        raise DamagedError(f"{what}: no values. Open the file with the reply of FetchStats")
    return [replace(one, info=one.info or fallback) for one in found.replies]
