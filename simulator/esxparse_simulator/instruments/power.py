"""Power meters of the host: what a BMC answers, asked once or all along.

They watch the host's watts, or are given them: `watts` (a number, or `{ mean = , spread = }`) every `reading_s` seconds
for `seconds`. Tools: `redfish_poll` (the lines that `esxparse collect power` writes), `redfish` (one document, or with
`form = "mockup"` a directory that a Redfish server can serve), `ribcl` (replies of iLO 2 to 4).
"""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from esxparse_simulator.instruments.model import Entry, Instrument, asked, needed, one_run
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.observe import Watts
from esxparse_simulator.writers import power_series, redfish, redfish_poll, ribcl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from esxparse_simulator.model.layout import Layout

__all__ = ["INSTRUMENTS"]

_GIVEN = frozenset({"watts", "seconds", "reading_s"})
_BMC = frozenset(field.name for field in fields(redfish.Bmc))


def _watch(layout: Layout | None, options: Mapping[str, Any]) -> Watts | None:
    if "watts" in options:
        return None
    needed(layout, "a power meter")
    return Watts()


def _series(entry: Entry) -> power_series.Series:
    if entry.watch is None:
        return power_series.series(list(_given(entry)))
    return power_series.series(
        [
            power_series.Reading(time, watts, cpu_util_pct=util, cpu_mhz=mhz)
            for time, watts, util, mhz in entry.watch.readings
        ]
    )


def _given(entry: Entry) -> Iterator[power_series.Reading]:
    value = entry.options["watts"]
    mean, spread = (value["mean"], value.get("spread", 0.0)) if isinstance(value, dict) else (value, 0.0)
    step = float(entry.options.get("reading_s", 10.0))
    noise = Noise(entry.run.seed)
    for number in range(1, round(float(asked(entry, "seconds")) / step) + 1):
        moment = entry.run.start + timedelta(seconds=number * step)
        yield power_series.Reading(moment, noise.around(f"{entry.name}/watts", float(mean), float(spread)))


def _bmc(entry: Entry) -> redfish.Bmc:
    return redfish.Bmc(**{name: entry.options[name] for name in _BMC if name in entry.options})


def _poll(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    readings = _series(entry)
    polling = redfish_poll.Polling(
        start=entry.run.start,
        interval_s=float(entry.options.get("interval_s", 10.0)),
        duration_s=float(entry.options.get("seconds", _length(entry))),
        bmc_ahead_s=float(entry.options.get("bmc_ahead_s", 0.0)),
        bmc=_bmc(entry),
    )
    yield entry.name, redfish_poll.lines(polling, readings, seed=entry.run.seed)


def _length(entry: Entry) -> float:
    if entry.watch is None:
        return float(asked(entry, "seconds"))
    readings = entry.watch.readings
    return float((readings[-1][0] - readings[0][0]).total_seconds())


def _redfish(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    readings = _series(entry)
    bmc, now = _bmc(entry), entry.run.start + timedelta(seconds=_length(entry))
    if entry.options.get("form", "power") == "mockup":
        for path, text in redfish.mockup(bmc, readings, now).items():
            yield f"{entry.name}/{path}", iter([text.encode()])
    else:
        yield entry.name, iter([redfish.text(redfish.power_document(bmc, readings, now), indent=2).encode()])


def _ribcl(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (entry,) = one_run(entries)
    readings = _series(entry)
    step = float(entry.options.get("interval_s", 300.0))
    polls = ribcl.Polls(
        start=entry.run.start + timedelta(seconds=min(step, _length(entry))),
        interval_s=step,
        count=int(entry.options.get("count", max(1, int(_length(entry) / step)))),
        generation=entry.options.get("generation", "ilo3"),
    )
    yield entry.name, ribcl.lines(polls, readings)


INSTRUMENTS: dict[str, Instrument] = {
    "redfish": Instrument(_GIVEN | _BMC | {"form"}, _watch, _redfish),
    "redfish_poll": Instrument(_GIVEN | _BMC | {"interval_s", "bmc_ahead_s"}, _watch, _poll),
    "ribcl": Instrument(_GIVEN | {"interval_s", "count", "generation"}, _watch, _ribcl),
}
