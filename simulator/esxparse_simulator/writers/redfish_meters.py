"""The power histories of an iLO as Redfish documents: FastPowerMeter, PowerMeter, SlowPowerMeter.

20 minutes of 10 s, 24 hours of 5 minutes, and from iLO 6 on a week of hours.

Evidence: the properties of PowerDetail in HPE's resource definitions of iLO 4 and 5, and their order in the types of a
client; that iLO 6 has CpuWatts, DimmWatts and GpuWatts. Assumptions: the versions of the types, `Name`; that old
samples stand first, but in iLO 4 last; that the sums of a meter are over its own samples; the week of SlowPowerMeter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.power_series import history, stamp
from esxparse_simulator.writers.redfish_power import ROOT, Bmc, Document, check

if TYPE_CHECKING:
    from datetime import datetime

    from esxparse_simulator.writers.power_series import Series, Span

__all__ = ["histories", "meter_document"]

_METERS = {"FastPowerMeter": (10, 1200), "PowerMeter": (300, 86_400), "SlowPowerMeter": (3600, 604_800)}
"""Seconds between samples, and seconds they reach back."""
_METER = {
    "ilo4": "#HpPowerMeter.1.1.0.HpPowerMeter",
    "ilo5": "#HpePowerMeter.v2_0_1.HpePowerMeter",
    "ilo6": "#HpePowerMeter.v2_1_0.HpePowerMeter",
}


def histories(bmc: Bmc) -> tuple[str, ...]:
    """The names of the meters with histories that this BMC has."""
    if bmc.flavour == "idrac9":
        return ()
    return tuple(_METERS) if bmc.flavour == "ilo6" else ("FastPowerMeter", "PowerMeter")


def meter_document(bmc: Bmc, readings: Series, now: datetime, name: str) -> Document:
    """A history: samples of the power meter `name` up to a time, and the average, least and most of them."""
    check(bmc)
    if name not in histories(bmc):
        msg = f"{bmc.flavour} has no {name}: it has {', '.join(histories(bmc)) or 'no history'}"
        raise EsxparseError(msg)
    samples = history(readings, now, *_METERS[name])
    detail = [_detail(bmc, one) for one in samples]
    # Whole watts are what the samples say; the sums have to follow from those.
    averages = [one["Average"] for one in detail]
    uri = f"{bmc.chassis}/Power/{name}{bmc.slash}"
    kind = _METER[bmc.flavour]
    context = kind.lstrip("#") if bmc.flavour == "ilo4" else ".".join(kind.lstrip("#").split(".")[::2])
    return {
        "@odata.context": f"{ROOT}/$metadata#{context}",
        "@odata.id": uri,
        "@odata.type": kind,
        "Average": round(sum(averages) / len(averages)) if averages else 0,
        "Id": name,
        "Maximum": max((one["Peak"] for one in detail), default=0),
        "Minimum": min((one["Minimum"] for one in detail), default=0),
        "Name": name,
        "PowerDetail": detail[::-1] if bmc.flavour == "ilo4" else detail,
        "Samples": len(detail),
        **({"Type": "HpPowerMeter.1.1.0", "links": {"self": {"href": uri}}} if bmc.flavour == "ilo4" else {}),
    }


def _detail(bmc: Bmc, one: Span) -> Document:
    parts = {"CpuWatts": round(one.cpu_watts), "DimmWatts": round(one.dimm_watts), "GpuWatts": 0}
    return {
        "AmbTemp": round(one.inlet_celsius),
        "Average": round(one.watts.average),
        "Cap": bmc.cap_watts or 0,
        "CpuAvgFreq": round(one.cpu_mhz),
        "CpuCapLim": 100,
        "CpuMax": 0,
        "CpuPwrSavLim": 100,
        "CpuUtil": round(one.cpu_util_pct),
        **(parts if bmc.flavour != "ilo4" else {}),
        "Minimum": round(one.watts.minimum),
        "Peak": round(one.watts.maximum),
        "PrMode": bmc.mode,
        "PunCap": False,
        "Time": stamp(one.end),
        "UnachCap": False,
    }
