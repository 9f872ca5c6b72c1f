"""`Power` of a BMC as a Redfish document: HPE iLO 4, 5 and 6, Dell iDRAC 9.

Evidence: real documents of an iLO 4 (key `Hp`, `href` links, addresses that end in a slash), of an iLO 5, of a later
one with `PowerMetric` (taken for iLO 6) and of an iDRAC 9. Assumptions: power supplies of iLO 4; an even load on all
supplies, at 94 % efficiency; that `PowerInputWatts` of iDRAC is what goes in, and its averages are of a minute.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from esxparse.errors import EsxparseError
from esxparse_simulator.writers.power_series import window

if TYPE_CHECKING:
    from datetime import datetime

    from esxparse_simulator.writers.power_series import Reading, Series

__all__ = [
    "Bmc",
    "Document",
    "Flavour",
    "check",
    "link",
    "power_document",
    "power_uri",
    "text",
]

Flavour = Literal["ilo4", "ilo5", "ilo6", "idrac9"]
Document = dict[str, Any]

ROOT = "/redfish/v1"
IDRAC = "System.Embedded.1"
_WINDOW_MIN = 20
_EFFICIENCY = 0.94
_POWER = {"ilo4": "#Power.1.0.1.Power", "ilo5": "#Power.v1_3_0.Power", "ilo6": "#Power.v1_7_1.Power"}


@dataclass(frozen=True, slots=True)
class Bmc:
    """A BMC and its server. `cap_watts` is a power cap where one is set; `mode` the power regulator's, as iLO names it.

    The regulator: `dyn` dynamic, `min` static low, `max` static high, `osc` left to the operating system.
    """

    flavour: Flavour = "ilo5"
    model: str = "ProLiant DL380 Gen10"
    serial: str = "ESX0000001"
    supplies: int = 2
    supply_watts: int = 800
    cap_watts: int | None = None
    mode: Literal["dyn", "min", "max", "osc"] = "osc"
    line_volts: int = 230

    @property
    def chassis(self) -> str:
        """The address of the chassis, without a slash behind it."""
        return f"{ROOT}/Chassis/{IDRAC if self.flavour == 'idrac9' else '1'}"

    @property
    def slash(self) -> str:
        """What addresses end in: iLO 4 has a slash."""
        return "/" if self.flavour == "ilo4" else ""


def check(bmc: Bmc) -> None:
    """Refuses what is no BMC."""
    if bmc.flavour not in get_args(Flavour):
        msg = f"a BMC of kind {bmc.flavour!r} is not written here: take one of {', '.join(get_args(Flavour))}"
        raise EsxparseError(msg)
    if bmc.supplies < 1 or bmc.supply_watts < 1 or (bmc.cap_watts is not None and bmc.cap_watts < 1):
        msg = (
            f"{bmc.model}: {bmc.supplies} supplies of {bmc.supply_watts} W, cap {bmc.cap_watts}: give 1 or more of each"
        )
        raise EsxparseError(msg)


def power_uri(bmc: Bmc) -> str:
    """The address of `Power`."""
    return f"{bmc.chassis}/Power{bmc.slash}"


def text(document: Document, *, indent: int | None = None) -> str:
    """A document as a BMC sends it, in one line; or indented, as people keep them."""
    if indent is None:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(document, ensure_ascii=False, indent=indent) + "\n"


def power_document(bmc: Bmc, readings: Series, now: datetime) -> Document:
    """`Power` at a time: watts now, and the average, least and most of the last 20 minutes (iDRAC: of the last one)."""
    check(bmc)
    last = readings.last(now)
    if bmc.flavour == "idrac9":
        return _idrac_power(bmc, readings, now, last)
    uri = power_uri(bmc)
    body: Document = {"Id": "Power", "Name": "PowerMetrics"}
    if bmc.flavour == "ilo4":
        return _ilo4_power(bmc, readings, now, last)
    body["Oem"] = {"Hpe": _hpe(bmc, last)}
    body["PowerControl"] = [
        {
            "@odata.id": f"{uri}#PowerControl/0",
            "MemberId": "0",
            "PowerCapacityWatts": bmc.supplies * bmc.supply_watts,
            "PowerConsumedWatts": round(last.watts),
            **({"PowerLimit": {"LimitInWatts": bmc.cap_watts}} if bmc.cap_watts else {}),
            "PowerMetrics": _metrics(readings, now, _WINDOW_MIN, last),
        }
    ]
    body["PowerSupplies"] = [_supply(bmc, readings, now, bay) for bay in range(bmc.supplies)]
    tag = zlib.crc32(text(body).encode())
    return {
        "@odata.context": f"{ROOT}/$metadata#Power.Power",
        "@odata.etag": f'W/"{tag:08X}"',
        "@odata.id": uri,
        "@odata.type": _POWER[bmc.flavour],
        **body,
    }


def _metrics(readings: Series, now: datetime, minutes: int, last: Reading) -> Document:
    """The window up to now; the last reading is in it, however it is cut."""
    over = window(readings, now, minutes * 60.0)
    low, high = round(min(over.minimum, last.watts)), round(max(over.maximum, last.watts))
    return {
        "AverageConsumedWatts": round(over.average),
        "IntervalInMin": minutes,
        "MaxConsumedWatts": high,
        "MinConsumedWatts": low,
    }


def _hpe(bmc: Bmc, last: Reading) -> Document:
    slow = ["SlowPowerMeter"] if bmc.flavour == "ilo6" else []
    names = ["PowerMeter", "FastPowerMeter", *slow, "FederatedGroupCapping"]
    block: Document = {
        "@odata.context": f"{ROOT}/$metadata#HpePowerMetricsExt.HpePowerMetricsExt",
        "@odata.type": f"#HpePowerMetricsExt.v2_{5 if bmc.flavour == 'ilo6' else 2}_0.HpePowerMetricsExt",
        "BrownoutRecoveryEnabled": True,
        "HasCpuPowerMetering": True,
        "HasDimmPowerMetering": True,
        "HasGpuPowerMetering": False,
        "HasPowerMetering": True,
        "HighEfficiencyMode": "Balanced",
        "Links": {name: link(f"{bmc.chassis}/Power/{name}") for name in names},
        "MinimumSafelyAchievableCap": None,
        "MinimumSafelyAchievableCapValid": False,
    }
    if bmc.flavour == "ilo6":
        block["PowerMetric"] = {
            "AmbTemp": round(last.inlet_celsius),
            "Cap": bmc.cap_watts or 0,
            "CpuCapLim": 100,
            "CpuMax": 0,
            "CpuPwrSavLim": 100,
            "CpuWatts": round(last.cpu_watts),
            "DimmWatts": round(last.dimm_watts),
            "GpuWatts": 0,
            "PrMode": bmc.mode,
            "PunCap": False,
            "UnachCap": False,
        }
    return block | {"SNMPPowerThresholdAlert": {"DurationInMin": 0, "ThresholdWatts": 0, "Trigger": "Disabled"}}


def _supply(bmc: Bmc, readings: Series, now: datetime, bay: int) -> Document:
    """A power supply of an iLO 5 or 6; each gives its share."""
    over = window(readings, now, _WINDOW_MIN * 60.0)
    share = _EFFICIENCY / bmc.supplies
    late = bmc.flavour == "ilo6"
    return {
        "@odata.id": f"{power_uri(bmc)}#PowerSupplies/{bay}",
        "FirmwareVersion": "1.02",
        "LastPowerOutputWatts": round(readings.last(now).watts * share),
        "LineInputVoltage": bmc.line_volts,
        "LineInputVoltageType": "ACHighLine",
        "Manufacturer": "HPE",
        "MemberId": str(bay),
        "Model": "865414-B21",
        "Name": "HpeServerPowerSupply",
        "Oem": {
            "Hpe": {
                **({} if late else {"@odata.context": f"{ROOT}/$metadata#HpeServerPowerSupply.HpeServerPowerSupply"}),
                "@odata.type": "#HpeServerPowerSupply.v2_0_0.HpeServerPowerSupply",
                "AveragePowerOutputWatts": round(over.average * share),
                "BayNumber": bay + 1,
                **({"Domain": "System"} if late else {}),
                "HotplugCapable": True,
                "MaxPowerOutputWatts": round(over.maximum * share),
                "Mismatched": False,
                "PowerSupplyStatus": {"State": "Ok"},
                "iPDUCapable": False,
            }
        },
        "PowerCapacityWatts": bmc.supply_watts,
        "PowerSupplyType": "AC",
        "SerialNumber": f"{bmc.serial}P{bay + 1}",
        "SparePartNumber": "866730-001",
        "Status": {"Health": "OK", "State": "Enabled"},
    }


def _ilo4_power(bmc: Bmc, readings: Series, now: datetime, last: Reading) -> Document:
    """As iLO 4 has it: everything of the first PowerControl stands a second time on top."""
    uri = power_uri(bmc)
    capacity = bmc.supplies * bmc.supply_watts
    # What is allocated is worked out at power-on: assumed to be what was most so far.
    allocated = min(capacity, round(max(one.high for one in readings.readings)))
    control = {
        "PowerAllocatedWatts": allocated,
        "PowerAvailableWatts": capacity - allocated,
        "PowerCapacityWatts": capacity,
        "PowerConsumedWatts": round(last.watts),
    }
    more = {
        "PowerLimit": {"LimitInWatts": bmc.cap_watts},
        "PowerMetrics": _metrics(readings, now, _WINDOW_MIN, last),
    }
    supplies = [
        {
            "FirmwareVersion": "1.00",
            "LastPowerOutputWatts": round(last.watts * _EFFICIENCY / bmc.supplies),
            "LineInputVoltage": bmc.line_volts,
            "LineInputVoltageType": "ACHighLine",
            "Model": "720478-B21",
            "Name": "HpServerPowerSupply",
            "Oem": {
                "Hp": {
                    "@odata.type": "#HpServerPowerSupply.1.0.0.HpServerPowerSupply",
                    "BayNumber": bay + 1,
                    "HotplugCapable": True,
                    "Type": "HpServerPowerSupply.1.0.0",
                }
            },
            "PowerCapacityWatts": bmc.supply_watts,
            "PowerSupplyType": "AC",
            "SerialNumber": f"{bmc.serial}P{bay + 1}",
            "SparePartNumber": "754377-001",
            "Status": {"Health": "OK", "State": "Enabled"},
        }
        for bay in range(bmc.supplies)
    ]
    own = ("FastPowerMeter", "FederatedGroupCapping", "PowerMeter")
    return {
        "@odata.context": f"{ROOT}/$metadata#Chassis/Members/1/Power$entity",
        "@odata.id": uri,
        "@odata.type": _POWER[bmc.flavour],
        "Id": "Power",
        "Name": "PowerMetrics",
        "Oem": {
            "Hp": {
                "@odata.type": "#HpPowerMetricsExt.1.2.0.HpPowerMetricsExt",
                "SNMPPowerThresholdAlert": {"DurationInMin": 0, "ThresholdWatts": 0, "Trigger": "Disabled"},
                "Type": "HpPowerMetricsExt.1.2.0",
                "links": {name: {"href": f"{bmc.chassis}/Power/{name}/"} for name in own},
            }
        },
        **control,
        "PowerControl": [{**control, **more, "PowerRequestedWatts": allocated}],
        **more,
        "PowerRequestedWatts": allocated,
        "PowerSupplies": supplies,
        "Type": "PowerMetrics.0.11.0",
        "links": {"self": {"href": uri}},
    }


def _idrac_power(bmc: Bmc, readings: Series, now: datetime, last: Reading) -> Document:
    uri = power_uri(bmc)
    context = f"{ROOT}/$metadata#Power.Power"
    capacity = bmc.supplies * bmc.supply_watts
    supplies = [
        {
            "@odata.context": context,
            "@odata.id": f"{uri}/PowerSupplies/PSU.Slot.{slot}",
            "@odata.type": "#Power.v1_5_0.PowerSupply",
            "EfficiencyPercent": _EFFICIENCY,
            "FirmwareVersion": "00.1B.53",
            "HotPluggable": True,
            "LastPowerOutputWatts": None,
            "LineInputVoltage": bmc.line_volts,
            "LineInputVoltageType": "AC240V",
            "Manufacturer": "Dell",
            "MemberId": f"PSU.Slot.{slot}",
            "Model": f"PWR SPLY,{bmc.supply_watts}W,RDNT",
            "Name": f"PS{slot} Status",
            "PowerCapacityWatts": bmc.supply_watts,
            "PowerInputWatts": round(last.watts / bmc.supplies),
            "PowerOutputWatts": round(last.watts * _EFFICIENCY / bmc.supplies),
            "PowerSupplyType": "AC",
            "SerialNumber": f"{bmc.serial}P{slot}",
            "Status": {"Health": "OK", "State": "Enabled"},
        }
        for slot in range(1, bmc.supplies + 1)
    ]
    return {
        "@odata.context": context,
        "@odata.id": uri,
        "@odata.type": "#Power.v1_5_0.Power",
        "Description": "Power",
        "Id": "Power",
        "Name": "Power",
        "PowerControl": [
            {
                "@odata.context": context,
                "@odata.id": f"{uri}/PowerControl",
                "@odata.type": "#Power.v1_4_0.PowerControl",
                "MemberId": "PowerControl",
                "Name": "System Power Control",
                "PowerAllocatedWatts": capacity,
                "PowerAvailableWatts": 0,
                "PowerCapacityWatts": capacity,
                "PowerConsumedWatts": round(last.watts),
                "PowerLimit": {
                    "CorrectionInMs": 0,
                    "LimitException": "HardPowerOff",
                    "LimitInWatts": bmc.cap_watts,
                },
                "PowerMetrics": _metrics(readings, now, 1, last),
                "PowerRequestedWatts": capacity,
                "RelatedItem": [link(bmc.chassis), link(f"{ROOT}/Systems/{IDRAC}")],
                "RelatedItem@odata.count": 2,
            }
        ],
        "PowerControl@odata.count": 1,
        "PowerSupplies": supplies,
        "PowerSupplies@odata.count": len(supplies),
        "Redundancy": [],
        "Redundancy@odata.count": 0,
    }


def link(uri: str) -> Document:
    """A link to another document."""
    return {"@odata.id": uri}
