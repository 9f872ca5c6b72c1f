"""What the report on power must show: of a capture of esxtop, of an export of a meter, or of Redfish."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from absolute.capture import MIB

from page_oracle.arithmetic import drawn, highest, lowest, mean, median, plus, quantile, span
from page_oracle.compare import Expected, Rows
from page_oracle.host import DEVICE, VOLUME, Host
from page_oracle.host_charts import clocks_and_states

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HOURS = 8760
PARTS = {"CpuWatts": "CPUs", "DimmWatts": "Memory", "GpuWatts": "GPUs", "FanWatts": "Fans"}


@dataclass
class Sensor:
    """Readings of a sensor, and what its BMC says of a period."""

    name: str
    kind: str
    ms: list[int]
    watts: list[float]
    more: dict[str, float | None] = field(default_factory=dict)

    @property
    def steps(self) -> list[float]:
        return [(after - before) / 1000 for before, after in zip(self.ms, self.ms[1:], strict=False)]

    @property
    def near(self) -> list[bool]:
        """Whether the next reading follows without a gap: within three usual distances."""
        usual = median([one for one in self.steps if one > 0]) or 0.0
        return [step <= 3 * usual for step in self.steps]

    @property
    def covered(self) -> float:
        return sum(step for step, near in zip(self.steps, self.near, strict=True) if near)

    @property
    def joules(self) -> float:
        """By the trapezoid between readings."""
        pairs = zip(self.watts, self.watts[1:], self.steps, self.near, strict=False)
        return math.fsum((before + after) / 2 * step for before, after, step, near in pairs if near)

    @property
    def average(self) -> float:
        return self.joules / self.covered


def expected(path: Path) -> Expected:
    """The page of `power_profile` on one file."""
    if path.suffix == ".jsonl":
        sensors, load, extra = _redfish(path)
    elif path.read_text(encoding="utf-8").startswith('"(PDH-CSV'):
        sensors, load, extra = _capture(path)
    else:
        sensors, load, extra = _export(path), {}, []
    found = Expected(tiles=_tiles(sensors, load))
    found.tables = [_sensors(sensors), _energy(sensors), _per_unit(load)]
    found.charts = [*_over_time(sensors), *_load_charts(load), *extra]
    if slope := _line(load):
        text = "One point per interval, power and load averaged over it; line: +"
        found.texts = [(text, slope[0], " W per % util (correlation ", slope[2], ")")]
    found.may = [(f"Measured by: {load.get('name')}; the axis does not start at 0",)]
    found.may += [(f"Load: {load.get('what')}; the axis does not start at 0",)]
    found.may += [
        (f"{word}: {one.name}{end}",)
        for one in sensors
        for word in ("Sensor", "Measured by")
        for end in ("", "; the axis does not start at 0")
    ]
    found.may += [(f"Of {one.name}; part of the host's power",) for one in sensors]
    found.may.append(
        ("Energy, by the trapezoidal rule between readings; gaps longer than 3 typical intervals are left out",)
    )
    return found


def _capture(path: Path) -> tuple[list[Sensor], dict, list[Rows]]:
    host = Host(path)
    watts = host.column("Power", "Power Usage Now Watts")
    cap = lowest(host.column("Power", "Power Usage Cap Watts")) or None
    sensor = Sensor("esxtop", "whole host", host.ms, watts, {"Cap W": cap})
    disks = [disk for disk in host.disks.values() if disk.of in {DEVICE, VOLUME} and disk.serves]
    clock = _nominal(host)
    used = host.column("Physical Cpu", "% Processor Time", "_Total")
    load = {
        "name": "esxtop",
        "what": "Host util",
        "ms": host.ms,
        "watts": watts,
        "util": host.column("Physical Cpu", "% Util Time", "_Total"),
        "used": used,
        "GHz of CPU work": [one / 100 * len(host.pcpus) * clock / 1000 for one in used] if clock else None,
        "1,000 I/Os per second": [None if one is None else one / 1000 for one in plus(*(disk.iops for disk in disks))],
        "MB per second of storage": [None if one is None else one * MIB for one in plus(*(disk.mib for disk in disks))],
    }
    return [sensor], load, clocks_and_states(host)


def _nominal(host: Host) -> float | None:
    """The clock of the first P-state; one of a single MHz more than the next stands for turbo."""
    clocks = sorted({one for name in host.objects["Power"] for one in host.column("Power", "P-State MHZ", name) if one})
    if len(clocks) > 1 and clocks[-1] - clocks[-2] == 1:
        return clocks[-2]
    return clocks[-1] if clocks else None


def _export(path: Path) -> list[Sensor]:
    """Outlets of a meter's export with a decimal comma."""
    text = path.read_text(encoding="utf-8").splitlines()
    _, *rows = csv.reader(text[1:], delimiter=";")
    found: dict[str, Sensor] = {}
    counters: dict[str, list[float]] = {}
    for outlet, time, watts, kwh in rows:
        one = found.setdefault(outlet, Sensor(outlet, "whole host", [], []))
        one.ms.append(_ms(time.replace(" ", "T")))
        one.watts.append(_comma(watts))
        counters.setdefault(outlet, []).append(_comma(kwh))
    return list(found.values())


def _comma(text: str) -> float:
    return float(text.replace(".", "").replace(",", "."))


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).astimezone(UTC).timestamp() * 1000)


def _redfish(path: Path) -> tuple[list[Sensor], dict, list[Rows]]:
    found: dict[str, Sensor] = {}
    about: dict[str, list] = {"ms": [], "AmbTemp": [], "CpuAvgFreq": [], "CpuUtil": [], **{one: [] for one in PARTS}}
    for line in path.read_text(encoding="utf-8").splitlines():
        poll = json.loads(line)
        document = poll.get("document", {})
        if "PowerControl" not in document:
            continue
        at = _ms(poll["time"])
        for control in document["PowerControl"]:
            name = f"PowerControl {control['MemberId']}"
            one = found.setdefault(name, Sensor(name, "whole host", [], []))
            one.ms.append(at)
            one.watts.append(control["PowerConsumedWatts"])
            period = control["PowerMetrics"]
            one.more["BMC's average W"] = period["AverageConsumedWatts"]
            for word, statistic, of in (
                ("minimum", lowest, "MinConsumedWatts"),
                ("maximum", highest, "MaxConsumedWatts"),
            ):
                one.more[f"BMC's {word} W"] = statistic([one.more.get(f"BMC's {word} W"), period[of]])
            one.more["BMC's period s"] = 60.0 * period["IntervalInMin"]
        for supply in document["PowerSupplies"]:
            name = f"{supply['Name']} {supply['MemberId']} output"
            one = found.setdefault(name, Sensor(name, "power supply", [], []))
            one.ms.append(at)
            one.watts.append(supply["LastPowerOutputWatts"])
            own = supply.get("Oem", {}).get("Hpe", {})
            one.more["BMC's average W"] = own.get("AveragePowerOutputWatts")
            one.more["BMC's maximum W"] = highest([one.more.get("BMC's maximum W"), own.get("MaxPowerOutputWatts")])
        metric = document["Oem"]["Hpe"]["PowerMetric"]
        about["ms"].append(at)
        for key in about.keys() - {"ms"}:
            about[key].append(metric.get(key))
    main = next(iter(found.values()))
    load = {
        "name": main.name,
        "what": "CPU utilisation, reported by the BMC",
        "ms": main.ms,
        "watts": main.watts,
        "util": about["CpuUtil"],
    }
    pieces = {
        "Component": {word: about[one] for one, word in PARTS.items() if any(about[one])},
        "Inlet temperature": {main.name: about["AmbTemp"]},
        "CPU frequency, reported by the BMC": {main.name: about["CpuAvgFreq"]},
        "CPU utilisation, reported by the BMC": {main.name: about["CpuUtil"]},
    }
    return list(found.values()), load, [_lines(title, about["ms"], series) for title, series in pieces.items()]


def _lines(title: str, ms: Sequence[int], series: dict[str, list]) -> Rows:
    points = drawn(ms, series, "value")
    return Rows(
        title,
        ("label", "time"),
        {
            key: {"value": one["value"], "low": one["value_min"], "high": one["value_max"]}
            for key, one in points.items()
        },
        ordered=False,
    )


def _tiles(sensors: Sequence[Sensor], load: dict) -> dict:
    """Of the sensor that stands for the host; outlets of one export are added up."""
    main = sensors[0]
    outlets = [one for one in sensors if one.kind == "whole host"]
    if len(outlets) > 1:
        name = f"sum of {len(outlets)}: {', '.join(one.name for one in outlets)}"
        main = Sensor(
            name, main.kind, main.ms, [math.fsum(row) for row in zip(*(one.watts for one in outlets), strict=True)]
        )
    kwh, over = main.joules / 3.6e6, span(main.covered)
    readings = sum(len(one.watts) for one in outlets)
    made: dict = {
        "Mean power": ((main.average, " W"), (f"{main.name}, over {over}",)),
        "Lowest to highest": ((lowest(main.watts), " to ", highest(main.watts), " W"), (float(readings), " readings")),
        "Energy": ((kwh, " kWh"), (f"in {over}",)),
        "A year like this": ((main.average * HOURS / 1000, " kWh"), (f"if all 8,760 h were like these {over}",)),
    }
    if cap := main.more.get("Cap W"):
        made["Power cap"] = ((cap, " W"), ("highest reading: ", 100 * highest(main.watts) / cap, " % of it"))
    if load:
        cost = math.fsum(load["watts"]) / math.fsum(load["util"])
        made["Watts per % of util"] = ((cost,), ("at ", mean(load["util"]), " % on average"))
    return made


def _sensors(sensors: Sequence[Sensor]) -> Rows:
    rows = {
        (one.name,): {
            "Measures": (one.kind,),
            "Readings": float(len(one.watts)),
            "Mean W": mean(one.watts) if one.kind else None,
            "Lowest W": lowest(one.watts),
            "Highest W": highest(one.watts),
            **{
                head: one.more.get(head)
                for head in ("BMC's average W", "BMC's minimum W", "BMC's maximum W", "BMC's period s", "Cap W")
            },
        }
        for one in sensors
    }
    return Rows("Sensors", ("Sensor",), rows)


def _energy(sensors: Sequence[Sensor]) -> Rows:
    rows = {
        (one.name,): {
            "Readings": float(len(one.watts)),
            "Covered": (span(one.covered),),
            "Gaps": float(one.near.count(False)),
            "Mean W": one.average,
            "Energy kWh": one.joules / 3.6e6,
            "A year like this kWh": one.average * HOURS / 1000,
        }
        for one in sensors
    }
    return Rows("Energy, by the trapezoidal rule", ("Sensor",), rows)


def _per_unit(load: dict) -> Rows:
    """All the watts over the work of the same intervals; those without such work do not count."""
    rows = {}
    works = {"% of host util": load.get("util")}
    works |= {name: load.get(name) for name in ("GHz of CPU work", "1,000 I/Os per second", "MB per second of storage")}
    for name, work in works.items():
        pairs = (
            [(watts, done) for watts, done in zip(load["watts"], work, strict=True) if watts and done] if work else []
        )
        if pairs:
            each = [watts / done for watts, done in pairs]
            rows[name,] = {
                "Intervals": float(len(pairs)),
                "Mean work": mean(done for _, done in pairs),
                "Mean power W": mean(watts for watts, _ in pairs),
                "Power per unit of work W": math.fsum(one for one, _ in pairs) / math.fsum(done for _, done in pairs),
                "5th percentile W": quantile(each, 0.05),
                "95th percentile W": quantile(each, 0.95),
            }
    return Rows("Power per unit of work", ("Work",), rows)


def _over_time(sensors: Sequence[Sensor]) -> list[Rows]:
    titles = {"whole host": "Power of the whole host", "power supply": "Power of the power supplies"}
    made = []
    for kind, title in titles.items():
        own = [one for one in sensors if one.kind == kind]
        points: dict = {}
        for one in own:
            label = _brief(one.name)
            points |= _lines(title, one.ms, {label: one.watts}).values
            if cap := one.more.get("Cap W"):
                made.append(Rows(title, ("text",), {(f"cap {cap:,g} W",): {"at": cap}}, ordered=False))
        made.append(Rows(title, ("label", "time"), points, ordered=False))
    return made


def _brief(name: str) -> str:
    """A legend has room for 22 letters."""
    return name if len(name) <= 22 else f"{name[:9]}\N{HORIZONTAL ELLIPSIS}{name[-12:]}"


def _line(load: dict) -> tuple[float, float, float] | None:
    """Slope, height at 0 and correlation of the straight line through power against load, by least squares."""
    if not load or len(load["ms"]) < 10 or len(set(load["util"])) < 5:
        return None
    x, y = load["util"], load["watts"]
    over, up = mean(x), mean(y)
    apart = math.fsum((one - over) * (other - up) for one, other in zip(x, y, strict=True))
    wide, high = (math.fsum((one - middle) ** 2 for one in column) for column, middle in ((x, over), (y, up)))
    return apart / wide, up - apart / wide * over, apart / math.sqrt(wide * high)


def _load_charts(load: dict) -> list[Rows]:
    if not load:
        return []
    dots = {
        (at,): {"watts": w, "util_pct": u} for at, w, u in zip(load["ms"], load["watts"], load["util"], strict=True)
    }
    made = [
        _lines("Power and load", load["ms"], {load["name"]: load["watts"]}),
        Rows("Power against load", ("time",), dots, ordered=False),
        _marks(load),
    ]
    both = (
        {"Util (not halted)": load["util"], "Used (work, at nominal clock)": load["used"]}
        if "used" in load
        else {load["what"]: load["util"]}
    )
    made.append(_lines("Load", load["ms"], both))
    if line := _line(load):
        ends = {(round(at, 3),): {"watts": line[1] + line[0] * at} for at in (min(load["util"]), max(load["util"]))}
        made.append(Rows("Power against load", ("util_pct",), ends, ordered=False))
    if work := load.get("GHz of CPU work"):
        each = zip(load["ms"], load["util"], load["watts"], work, strict=True)
        points = {(at,): {"util_pct": u, "watts_per_unit": w / done} for at, u, w, done in each}
        made.append(Rows("Watts per GHz of CPU work", ("time",), points, ordered=False))
    return made


def _marks(load: dict) -> Rows:
    """The mean of the twentieth of the samples with the lowest load, and with the highest."""
    ordered = sorted(zip(load["util"], load["watts"], strict=True), key=lambda pair: pair[0])
    count = max(1, round(len(ordered) * 0.05))
    found = {}
    for place, part, words in (
        ("low", ordered[:count], ("lowest load", "idle")),
        ("high", ordered[-count:], ("highest load", "full load")),
    ):
        util, watts = mean(u for u, _ in part), mean(w for _, w in part)
        extreme = util <= 5 if place == "low" else util >= 95
        found[place, f"{words[extreme]}: {watts:,.0f} W at {util:.0f} %"] = {"util_pct": util, "watts": watts}
    return Rows("Power against load", ("place", "text"), found, ordered=False)
