"""What `esxparse collect power` writes while it polls a BMC: JSON lines.

A first line about the collector, then the histories, `Power` every interval, the histories again every 15 minutes and
at the end; for polls that failed a line with the error. Evidence: `esxparse.collect.polling`. Assumptions: an answer
takes 0.1 to 0.3 s; documents of one poll are asked for one after another.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from esxparse.errors import EsxparseError
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers.power_series import later, stamp
from esxparse_simulator.writers.redfish_meters import histories, meter_document
from esxparse_simulator.writers.redfish_power import Bmc, power_document, power_uri

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from datetime import datetime

    from esxparse_simulator.writers.power_series import Series

__all__ = ["Polling", "lines"]

_HISTORY_EVERY_S = 900.0
_ROUND_TRIP_S = 0.2


@dataclass(frozen=True, slots=True)
class Polling:
    """How a BMC was polled: from when (UTC), every how many seconds, how long.

    `gaps` are times in which nothing answered, seconds from the start: (from, to). `bmc_ahead_s` is what the clock of
    the BMC is ahead of the collector's.
    """

    start: datetime
    interval_s: float = 10.0
    duration_s: float = 3600.0
    url: str = "https://ilo-01.lab.example"
    gaps: tuple[tuple[float, float], ...] = ()
    bmc_ahead_s: float = 0.0
    version: str = "0.1.0"
    """Of the collector."""
    bmc: Bmc = field(default_factory=Bmc)


def lines(polling: Polling, readings: Series, seed: int = 0) -> Iterator[bytes]:
    """The file, one line after another.

    Raises:
        EsxparseError: The times are none, or there is no such BMC.
    """
    if polling.start.tzinfo is None or polling.interval_s <= 0.0 or polling.duration_s <= 0.0:
        msg = (
            f"polls every {polling.interval_s:g} s for {polling.duration_s:g} s: give a start in UTC, and more than 0 s"
        )
        raise EsxparseError(msg)
    if any(not 0.0 <= since < until for since, until in polling.gaps):
        msg = f"gaps {polling.gaps}: give seconds from the start, (from, to)"
        raise EsxparseError(msg)
    noise = Noise(seed)
    yield _line(
        {
            "time": stamp(polling.start, "milliseconds"),
            "collector": "esxparse collect power",
            "version": polling.version,
            "url": polling.url,
            "interval_s": polling.interval_s,
        }
    )
    fetched = 0.0
    after = yield from _histories(polling, readings, 0.0, noise)
    polls = int(polling.duration_s / polling.interval_s + 1e-9) + 1
    for number in range(polls):
        at = number * polling.interval_s
        if _silent(polling, at):
            moment = stamp(later(polling.start, at), "milliseconds")
            uri = power_uri(polling.bmc)
            yield _line({"time": moment, "uri": uri, "error": f"{uri}: no answer in time"})
            continue
        # The first poll comes when the histories have been fetched.
        after = yield from _document(polling, readings, power_uri(polling.bmc), max(at, after), noise)
        if after - fetched >= _HISTORY_EVERY_S:
            after = yield from _histories(polling, readings, after, noise)
            fetched = after
    if not _silent(polling, after):
        yield from _histories(polling, readings, max(after, polling.duration_s), noise)


def _silent(polling: Polling, at: float) -> bool:
    return any(since <= at < until for since, until in polling.gaps)


def _histories(polling: Polling, readings: Series, at: float, noise: Noise) -> Generator[bytes, None, float]:
    for name in histories(polling.bmc):
        at = yield from _document(
            polling, readings, f"{polling.bmc.chassis}/Power/{name}{polling.bmc.slash}", at, noise
        )
    return at


def _document(polling: Polling, readings: Series, uri: str, at: float, noise: Noise) -> Generator[bytes, None, float]:
    """One document; when the next one can be asked for, in seconds from the start."""
    took = round(_ROUND_TRIP_S * (0.5 + noise.uniform("round trip")), 4)
    moment = later(polling.start, at + took / 2.0)
    there = later(moment, polling.bmc_ahead_s)
    name = uri.rstrip("/").rpartition("/")[2]
    bmc = polling.bmc
    document = power_document(bmc, readings, moment) if name == "Power" else meter_document(bmc, readings, moment, name)
    yield _line(
        {
            "time": stamp(moment, "milliseconds"),
            "uri": uri,
            "round_trip_s": took,
            "bmc_time": stamp(there),
            "document": document,
        }
    )
    return at + took


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
