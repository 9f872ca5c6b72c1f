"""Redfish resources to readings: `Power`, the OEM meters of HPE, `EnvironmentMetrics`, `MetricReport` and the like.

Each function takes one resource, as a JSON object, and adds its rows for table `power`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from esxparse.formats.kit.notes import Counted
from esxparse.formats.kit.numbers import times
from esxparse.formats.kit.objects import mapping, mappings
from esxparse.formats.kit.patterns import kinds
from esxparse.formats.kit.tables import data, picked
from esxparse.formats.power.readings import Reading, Stamp, cap, kind_of, number, stamp, step, watts

_HISTORY_STEP_S = {"FastPowerMeter": 10.0, "PowerMeter": 300.0}
"""Default steps, if the samples' times do not show them; HPE: 20 minutes of 10 s samples, 24 hours of 5 min ones."""

_COLUMNS, _PATTERNS = data(__file__), kinds(__file__, "patterns")
_MINUTE_S = 60.0


@dataclass
class Found:
    """The collected content of one file's resources."""

    readings: list[Reading] = field(default_factory=list)
    capacity: list[dict[str, Any]] = field(default_factory=list)
    summary: list[dict[str, Any]] = field(default_factory=list)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    odd: Counted = field(default_factory=Counted)
    """Remarks on documents."""
    bad: Counted = field(default_factory=Counted)
    """Warnings about unusable data."""

    def say(self, message: str, line: int, *, bad: bool = False) -> None:
        """Add a message, once for all its lines."""
        (self.bad if bad else self.odd).say(message, line)


def _text(*values: Any) -> str:
    """Return the first of the values that is a number, or text that is not blank."""
    for value in values:
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    return ""


def uri_of(resource: dict[str, Any]) -> str:
    """Return the resource's stated address, else its type or name."""
    links = mapping(mapping(resource.get("links")).get("self"))
    context = _text(resource.get("@odata.type"), resource.get("Type")).lstrip("#").partition(".")[0]
    return _text(resource.get("@odata.id"), links.get("href"), context, resource.get("Id"), "document").rstrip("/")


def _when(value: Any, found: Found, line: int, *, what: str) -> Any:
    """Return a time in a document, or None, with a note if it is odd."""
    if value is None:
        return None
    moment: Stamp | None = stamp(value)
    if moment is None:
        found.say(f"{what} without a readable time: {str(value)[:30]!r}", line, bad=_text(value) not in {"", "N/A"})
        return None
    if not moment.set:
        found.say(
            f"{what} from a clock that was not set ({moment.time:%Y-%m-%d}): their time is left out", line, bad=True
        )
        return None
    if moment.assumed:
        found.say(moment.assumed, line)
    return moment.time


def _reading(resource: dict[str, Any], name: str) -> float | None:
    """Return the number of a sensor excerpt such as `PowerWatts: {Reading: 374}`, or of a plain number."""
    value = resource.get(name)
    return number(mapping(value).get("Reading")) if isinstance(value, dict) else number(value)


def _power_control(control: dict[str, Any], source: str, place: int) -> Reading:
    name = _text(control.get("Name"), f"PowerControl {_text(control.get('MemberId'), place)}")
    metrics = mapping(control.get("PowerMetrics"))
    context = _text(control.get("PhysicalContext"))
    kind = kind_of(f"{name} {context}")
    return {
        "source": source,
        "sensor": name,
        "kind": "system" if kind == "supply" else kind,
        "watts": watts(control.get("PowerConsumedWatts")),
        "watts_average": watts(metrics.get("AverageConsumedWatts")),
        "watts_minimum": watts(metrics.get("MinConsumedWatts", metrics.get("MinIntervalConsumedWatts"))),
        "watts_maximum": watts(metrics.get("MaxConsumedWatts", metrics.get("MaxIntervalConsumedWatts"))),
        "watts_cap": cap(mapping(control.get("PowerLimit")).get("LimitInWatts")),
        "interval_s": times(number(metrics.get("IntervalInMin")), _MINUTE_S),
    }


def _capacity(control: dict[str, Any], source: str, sensor: str) -> Iterator[dict[str, Any]]:
    allocation = mapping(control.get("Allocation"))
    values = {
        "capacity_watts": watts(control.get("PowerCapacityWatts", control.get("CapacityWatts"))),
        "allocated_watts": watts(control.get("PowerAllocatedWatts", allocation.get("AllocatedWatts"))),
        "requested_watts": watts(control.get("PowerRequestedWatts", allocation.get("RequestedWatts"))),
        "available_watts": watts(control.get("PowerAvailableWatts")),
    }
    if any(value is not None for value in values.values()):
        yield {"source": source, "sensor": sensor, **values}


def _supply(supply: dict[str, Any], source: str, place: int) -> Iterator[Reading]:
    oem = mapping(mapping(supply.get("Oem")).get("Hpe") or mapping(supply.get("Oem")).get("Hp"))
    member = _text(supply.get("MemberId"), oem.get("BayNumber"), place)
    name = _text(supply.get("Name"), "power supply")
    sensor = name if member and member in name else f"{name} {member}"
    output = watts(supply.get("LastPowerOutputWatts"))
    output = watts(supply.get("PowerOutputWatts")) if output is None else output
    shared = {"source": source, "kind": "supply"}
    yield {
        **shared,
        "sensor": f"{sensor} output",
        "watts": output,
        "watts_average": watts(oem.get("AveragePowerOutputWatts")),
        "watts_maximum": watts(oem.get("MaxPowerOutputWatts")),
    }
    yield {**shared, "sensor": f"{sensor} input", "watts": watts(supply.get("PowerInputWatts"))}


def power(resource: dict[str, Any], source: str, found: Found) -> None:
    """Add readings of `Power` of Redfish 1.x, or of `PowerMetrics` of iLO 4 before it."""
    controls = mappings(resource.get("PowerControl"))
    if not controls and "PowerConsumedWatts" in resource:
        controls = [{"Name": "PowerControl 0", **{k: v for k, v in resource.items() if k.startswith("Power")}}]
    rows = [_power_control(control, source, place) for place, control in enumerate(controls)]
    names = [row["sensor"] for row in rows]
    for place, row in enumerate(rows):
        if names.count(row["sensor"]) > 1:
            row["sensor"] = f"{row['sensor']} {_text(controls[place].get('MemberId'), place)}"
        found.capacity += _capacity(controls[place], source, row["sensor"])
    oem = mapping(resource.get("Oem"))
    block = mapping(mapping(oem.get("Hpe") or oem.get("Hp")).get("PowerMetric"))
    if rows and block:
        rows[0] |= picked(block, _COLUMNS["detail"], watts) | picked(block, _COLUMNS["beside"], number)
        rows[0]["watts_cap"] = rows[0]["watts_cap"] or cap(block.get("Cap"))
    found.readings += rows
    for place, supply in enumerate(mappings(resource.get("PowerSupplies"))):
        found.readings += _supply(supply, source, place)


def meter(resource: dict[str, Any], source: str, found: Found, line: int) -> None:
    """Add readings of HPE's `PowerMeter`, `FastPowerMeter`, `SlowPowerMeter`: a history with a time per sample."""
    name = _text(resource.get("Id"), resource.get("Name"), source.rpartition("/")[2], "PowerMeter")
    samples = mappings(resource.get("PowerDetail"))
    times = [_when(sample.get("Time"), found, line, what=f"samples of {name}") for sample in samples]
    apart = step(times) or _HISTORY_STEP_S.get(name)
    whose: Reading = {"own_time": True, "source": source, "sensor": name, "kind": "system", "interval_s": apart}
    for sample, time in zip(samples, times, strict=True):
        numbers = picked(sample, _COLUMNS["sample"] | _COLUMNS["detail"], watts)
        numbers |= picked(sample, _COLUMNS["beside"], number)
        found.readings.append({"time": time, **whose, **numbers, "watts_cap": cap(sample.get("Cap"))})
    promised = number(resource.get("Samples"))
    if promised is not None and promised != len(samples):
        found.say(f"{name} says it has {promised:g} samples; there are {len(samples)}", line, bad=True)
    summed = picked(resource, _COLUMNS["summary"], watts)
    found.summary.append({"source": source, "sensor": name, **summed, "samples": len(samples)})


def environment(resource: dict[str, Any], source: str, found: Found) -> None:
    """Add readings of `EnvironmentMetrics` of a chassis, a processor, a DIMM ..."""
    limit = mapping(resource.get("PowerLimitWatts"))
    part = re.search(r"/(Processors|Memory|Drives|PCIeDevices|Controllers|Accelerators|GPU)", source, re.IGNORECASE)
    temperature = mapping(resource.get("TemperatureCelsius"))
    inlet = re.search(r"inlet|ambient|intake", str(temperature.get("DataSourceUri")), re.IGNORECASE)
    joules, kilowatt_hours = _reading(resource, "EnergyJoules"), _reading(resource, "EnergykWh")
    if joules is None and kilowatt_hours is not None:
        joules = kilowatt_hours * 3_600_000
    found.readings.append(
        {
            "source": source,
            "sensor": _text(resource.get("Name"), "EnvironmentMetrics"),
            "kind": "part" if part else "system",
            "watts": watts(_reading(resource, "PowerWatts")),
            **picked(mapping(resource.get("PowerWatts")), _COLUMNS["sensor"], watts),
            "watts_cap": cap(limit.get("SetPoint", limit.get("Reading"))),
            "inlet_celsius" if inlet else "temperature_celsius": number(temperature.get("Reading")),
            "energy_joules": joules,
        }
    )


def supply_metrics(resource: dict[str, Any], source: str, found: Found, line: int) -> None:
    """Add readings of `PowerSupplyMetrics`: input and output of one supply."""
    name = re.search(r"/PowerSupplies/([^/]+)", source)
    sensor = f"power supply {name[1]}" if name else _text(resource.get("Name"), "power supply")
    there = False
    for side in ("Input", "Output"):
        value = watts(_reading(resource, f"{side}PowerWatts"))
        there |= value is not None
        row = {"source": source, "sensor": f"{sensor} {side.lower()}", "kind": "supply", "watts": value}
        found.readings.append(row)
    if not there:
        found.say("PowerSupplyMetrics without a reading: the sensors are only linked", line)


def sensor(resource: dict[str, Any], source: str, found: Found, line: int) -> None:
    """Add a reading of a `Sensor` in watts."""
    name = _text(resource.get("Name"), resource.get("Id"), "Sensor")
    found.readings.append(
        {
            "time": _when(resource.get("ReadingTime"), found, line, what=name),
            "source": source,
            "sensor": name,
            "kind": kind_of(name),
            "watts": watts(resource.get("Reading")),
            **picked(resource, _COLUMNS["sensor"], watts),
        }
    )


def _metric_column(name: str) -> str:
    """Return the column of `power` for a metric of this name; empty if it is not in watts."""
    if not _PATTERNS["is_watts"].search(name) or _PATTERNS["no_watts"].search(name):
        return ""
    words = {word.lower() for word in _PATTERNS["word"].findall(name)}
    return next((f"watts_{column}" for word, column in _COLUMNS["statistics"].items() if word in words), "watts")


def report(resource: dict[str, Any], source: str, found: Found, line: int) -> None:
    """Add the watts of a `MetricReport` to `power`, and all of it to `metrics`."""
    for metric in mappings(resource.get("MetricValues")):
        where = _text(metric.get("MetricProperty"))
        path, _, fragment = where.partition("#")
        name = _text(metric.get("MetricId"), fragment.rpartition("/")[2], path.rpartition("/")[2], "metric")
        time = _when(metric.get("Timestamp", resource.get("Timestamp")), found, line, what="metrics")
        text = metric.get("MetricValue")
        reading = {"value": number(text), "text": None if text is None else str(text)}
        found.metrics.append({"time": time, "source": source, "metric": name, "property": where, **reading})
        column = _metric_column(name) or _metric_column(fragment.rpartition("/")[2])
        value = watts(text)
        if not column or value is None:
            continue
        oem = mapping(mapping(metric.get("Oem")).get("Dell"))
        label = _text(oem.get("Label"), oem.get("ContextID"))
        extra = label or (path.rpartition("/")[2] if path else "")
        sensor = name if not extra or extra == name else f"{name} {extra}"
        row = {
            "time": time,
            "own_time": True,
            "source": source,
            "sensor": sensor,
            "kind": kind_of(sensor),
            column: value,
        }
        found.readings.append(row)


def _is_of(content: dict[str, Any], *types: str) -> bool:
    type_name = str(content.get("@odata.type"))
    return any(type_name.startswith(f"#{one}.") for one in types)


def _is_power(content: dict[str, Any]) -> bool:
    return "PowerConsumedWatts" in content or any(
        isinstance(content.get(name), list) for name in ("PowerControl", "PowerSupplies")
    )


def _is_supply(content: dict[str, Any]) -> bool:
    return not content.keys().isdisjoint({"InputPowerWatts", "OutputPowerWatts"}) or _is_of(
        content, "PowerSupplyMetrics"
    )


def _is_watt_sensor(content: dict[str, Any]) -> bool:
    return str(content.get("ReadingUnits")) in {"W", "Watts"} and "Reading" in content


def _error(content: dict[str, Any], source: str, found: Found, line: int) -> None:
    found.say(f"{source}: the BMC answered with an error: {error_text(content)}", line, bad=True)


def _subsystem(content: dict[str, Any], source: str, found: Found, _: int) -> None:
    found.capacity += _capacity(content, source, _text(content.get("Name"), "PowerSubsystem"))


def _members(content: dict[str, Any], _: str, found: Found, line: int) -> None:
    for member in mappings(content["Members"]):
        resource(member, uri_of(member), found, line)


_KINDS: tuple[tuple[Callable[[dict[str, Any]], bool], Callable[[dict[str, Any], str, Found, int], None]], ...] = (
    (lambda content: isinstance(content.get("error"), dict), _error),
    (lambda content: isinstance(content.get("PowerDetail"), list), meter),
    (lambda content: isinstance(content.get("MetricValues"), list), report),
    (_is_power, lambda content, source, found, _: power(content, source, found)),
    (_is_supply, supply_metrics),
    (
        lambda content: "PowerWatts" in content or _is_of(content, "EnvironmentMetrics"),
        lambda content, source, found, _: environment(content, source, found),
    ),
    (lambda content: _is_of(content, "PowerSubsystem"), _subsystem),
    (_is_watt_sensor, sensor),
    (lambda content: any(len(member) > 1 for member in mappings(content.get("Members"))), _members),
)
"""The test for each kind of resource, and its reader; the first match counts."""


def resource(content: dict[str, Any], source: str, found: Found, line: int) -> None:
    """Read any Redfish resource, recognised by its properties, with a note if it has no power readings."""
    for fits, gather in _KINDS:
        if fits(content):
            gather(content, source, found, line)
            return
    found.say(f"{source} has no power readings", line)


def error_text(content: dict[str, Any]) -> str:
    """Return the message of a Redfish error."""
    error = mapping(content.get("error"))
    info = error.get("@Message.ExtendedInfo")
    first = mapping(info[0]) if isinstance(info, list) and info else mapping(info)
    return _text(
        first.get("Message"), first.get("MessageId"), error.get("message"), error.get("code"), "no reason given"
    )
