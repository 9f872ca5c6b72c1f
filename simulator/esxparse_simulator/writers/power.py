"""RIBCL answers of HP iLO 3 and 4 to GET_POWER_READINGS: many XML documents after one another, as they come.

A reply is one document for each element of the command, most of them saying no error, one with the readings, sent by
HTTP in chunks whose sizes stay in a raw recording.

Evidence: raw replies of an iLO 3 recorded for python-hpilo (line ends, chunks, headers). The averages are of the last
24 hours (HP's scripting guide), of iLO 4 of the last 20 minutes. Assumptions: that window of iLO 4, its `Server`
header, and where chunks are cut.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from math import fsum

from esxparse_simulator.limits import need

_WINDOW_S = {"ilo3": 86_400.0, "ilo4": 1200.0}
_SERVER = {"ilo3": "Allegro-Software-RomPager/4.62", "ilo4": "HP-iLO-Server/1.30"}
_CHUNK = 511
"""Bytes of a chunk: what the iLO has by then is sent."""


@dataclass(frozen=True, slots=True)
class Readings:
    """Times and watts in order; each is the mean of the span from the time before, the first as long as the second."""

    times: tuple[datetime, ...]
    watts: tuple[float, ...]

    def last(self, at: float) -> float:
        """The last reading at a time (seconds since 1970); before the first, that one."""
        return self.watts[max(0, bisect_right(self.times, at, key=_seconds) - 1)]

    def window(self, end: float, length_s: float) -> tuple[float, float, float]:
        """Mean, least and most watts over so many seconds up to `end`, as far as there are readings."""
        begin = end - length_s
        first = bisect_right(self.times, begin, key=_seconds)
        last = bisect_left(self.times, end, key=_seconds)
        found = []
        for place in range(first, min(last, len(self.times) - 1) + 1):
            seconds = min(end, _seconds(self.times[place])) - max(begin, self._begin(place))
            if seconds > 0.0:
                found.append((seconds, self.watts[place]))
        found = found or [(1.0, self.last(end))]
        average = fsum(weight * watts for weight, watts in found) / fsum(weight for weight, _ in found)
        low, high = min(watts for _, watts in found), max(watts for _, watts in found)
        return min(max(average, low), high), low, high

    def _begin(self, place: int) -> float:
        if place:
            return _seconds(self.times[place - 1])
        step = _seconds(self.times[1]) - _seconds(self.times[0]) if len(self.times) > 1 else 10.0
        return _seconds(self.times[0]) - step


def _seconds(time: datetime) -> float:
    return time.timestamp()


def ribcl_lines(
    readings: Readings, start: datetime, interval_s: float, count: int, generation: str = "ilo3"
) -> Iterator[bytes]:
    """`count` replies, one every `interval_s` seconds."""
    need(generation in _WINDOW_S, f"an iLO of kind {generation!r} is not written here: take one of ilo3, ilo4")
    times = interval_s > 0.0 and count > 0
    need(times, f"{count} polls every {interval_s:g} s: give 1 poll or more, more than 0 s")
    for number in range(count):
        yield ribcl_reply(readings, start + timedelta(seconds=number * interval_s), generation)


def ribcl_reply(readings: Readings, now: datetime, generation: str = "ilo3") -> bytes:
    """A whole reply."""
    at = _seconds(now)
    present, (average, low, high) = readings.last(at), readings.window(at, _WINDOW_S[generation])
    values = {"PRESENT": present, "AVERAGE": average, "MAXIMUM": max(high, present), "MINIMUM": min(low, present)}
    rows = "".join(f'<{name}_POWER_READING VALUE="{round(one)}" UNIT="Watts"/>\r\n' for name, one in values.items())
    quiet = _document("\r\n", "")
    body = quiet * 2 + _document("\n", f"<GET_POWER_READINGS>\r\n{rows}</GET_POWER_READINGS>\r\n") + quiet
    chunks: Sequence[str] = [quiet * 2, *(body[at : at + _CHUNK] for at in range(0, len(body), _CHUNK)), quiet]
    head = (
        "HTTP/1.1 200 OK",
        "Content-Type: text/xml",
        f"Date: {format_datetime(now.astimezone(UTC), usegmt=True)}",
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


def _document(first: str, body: str) -> str:
    return (
        f'<?xml version="1.0"?>{first}<RIBCL VERSION="2.23">\n'
        "<RESPONSE\n    STATUS=\"0x0000\"\n    MESSAGE='No error'\n     />\n"
        f"{body}</RIBCL>\n"
    )
