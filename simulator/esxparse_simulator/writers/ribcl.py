"""RIBCL answers of HP iLO 2, 3 and 4 to GET_POWER_READINGS: many XML documents after one another, as they come.

A reply is one document for each element of the command, most of them saying no error, one with the readings. iLO 3 and
4 send it by HTTP in chunks whose sizes stay in a raw recording; iLO 2 sends it bare, and says no time.

Evidence: raw replies of an iLO 3 recorded for python-hpilo (line ends, chunks, headers), and the readings of an iLO 2.
The averages are of the last 24 hours (HP's scripting guide), of iLO 4 of the last 20 minutes. Assumptions: that window
of iLO 4; RIBCL 2.22 and plain line ends of iLO 2; the `Server` header of iLO 4; where chunks are cut. `dates` puts a
line of `date` before replies of an iLO 2, as a loop of a shell would.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Literal, get_args

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.power_series import later, window

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from esxparse_simulator.writers.power_series import Series, Window

__all__ = ["Generation", "Polls", "lines", "reply"]

Generation = Literal["ilo2", "ilo3", "ilo4"]

_WINDOW_S = {"ilo2": 86_400.0, "ilo3": 86_400.0, "ilo4": 1200.0}
_SERVER = {"ilo3": "Allegro-Software-RomPager/4.62", "ilo4": "HP-iLO-Server/1.30"}
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LARGEST = 511
"""Bytes of a chunk: what the iLO has by then is sent."""
_BEFORE, _AFTER = 4, 2
"""Documents that say no error, around the readings."""


@dataclass(frozen=True, slots=True)
class Polls:
    """How an iLO was asked: from when (UTC), every how many seconds, how often."""

    start: datetime
    interval_s: float = 300.0
    count: int = 1
    generation: Generation = "ilo3"
    dates: bool = True


def lines(polls: Polls, readings: Series) -> Iterator[bytes]:
    """Reply after reply.

    Raises:
        EsxparseError: The times are none, or there is no such iLO.
    """
    if polls.start.tzinfo is None or polls.interval_s <= 0.0 or polls.count < 1:
        msg = f"{polls.count} polls every {polls.interval_s:g} s: give a start in UTC, 1 poll or more, more than 0 s"
        raise EsxparseError(msg)
    for number in range(polls.count):
        now = later(polls.start, number * polls.interval_s).astimezone(UTC)
        if polls.generation == "ilo2" and polls.dates:
            day = f"{_DAYS[now.weekday()]} {_MONTHS[now.month - 1]} {now.day:2d}"
            yield f"{day} {now:%H:%M:%S} UTC {now.year}\n".encode()
        yield reply(readings, now, polls.generation)


def reply(readings: Series, now: datetime, generation: Generation = "ilo3") -> bytes:
    """A whole reply.

    Raises:
        EsxparseError: There is no such iLO.
    """
    if generation not in get_args(Generation):
        msg = f"an iLO of kind {generation!r} is not written here: take one of {', '.join(get_args(Generation))}"
        raise EsxparseError(msg)
    over = window(readings, now, _WINDOW_S[generation])
    present = readings.last(now).watts
    quiet = _document(generation, "\r\n", "")
    answer = _document(generation, "\n", _readings(present, over))
    if generation == "ilo2":
        return (quiet * _BEFORE + answer + quiet * _AFTER).encode()
    chunks = [quiet * 2, *_cut(quiet * 2 + answer + quiet), quiet]
    when = now.astimezone(UTC)
    head = (
        "HTTP/1.1 200 OK",
        "Content-Type: text/xml",
        f"Date: {_DAYS[when.weekday()]}, {when.day:02d} {_MONTHS[when.month - 1]} {when.year} {when:%H:%M:%S} GMT",
        "Cache-Control: no-cache",
        "Expires: Thu, 26 Oct 1995 00:00:00 GMT",
        "Transfer-Encoding: chunked",
        f"Server: {_SERVER[generation]}",
        "Connection: close",
        "",
    )
    sent = "".join(f"{line}\r\n" for line in head)
    sent += "".join(f"{len(chunk):03x}\r\n{chunk}\r\n" for chunk in chunks)
    return f"{sent}0\r\n\r\n".encode()


def _cut(content: str) -> list[str]:
    return [content[at : at + _LARGEST] for at in range(0, len(content), _LARGEST)]


def _document(generation: Generation, first: str, body: str) -> str:
    version = "2.22" if generation == "ilo2" else "2.23"
    return (
        f'<?xml version="1.0"?>{first}<RIBCL VERSION="{version}">\n'
        "<RESPONSE\n    STATUS=\"0x0000\"\n    MESSAGE='No error'\n     />\n"
        f"{body}</RIBCL>\n"
    )


def _readings(present: float, over: Window) -> str:
    values = {
        "PRESENT": present,
        "AVERAGE": over.average,
        "MAXIMUM": max(over.maximum, present),
        "MINIMUM": min(over.minimum, present),
    }
    rows = "".join(f'<{name}_POWER_READING VALUE="{round(one)}" UNIT="Watts"/>\r\n' for name, one in values.items())
    return f"<GET_POWER_READINGS>\r\n{rows}</GET_POWER_READINGS>\r\n"
