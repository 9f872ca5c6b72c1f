"""A whole Redfish service of a BMC with power readings: HPE iLO 4, 5 and 6, Dell iDRAC 9.

Service root, systems, chassis, thermal, `Power`, and of iLO the histories `FastPowerMeter` (20 minutes of 10 s),
`PowerMeter` (24 hours of 5 minutes) and, from iLO 6 on, `SlowPowerMeter` (a week of hours); each by its address. All
readings come from one series, so that what two documents say of one time agrees. `mockup` lays the documents out as
files, as static Redfish servers take them.

Evidence for what has readings: see `redfish_power`. Assumptions: all of the root, systems, chassis and thermal
documents, which hold what clients need and no more; there are no sessions and no accounts in them.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from esxparse_simulator.writers.redfish_meters import histories, meter_document
from esxparse_simulator.writers.redfish_power import (
    ROOT,
    Bmc,
    Document,
    Flavour,
    check,
    link,
    power_document,
    power_uri,
    text,
)

if TYPE_CHECKING:
    from datetime import datetime

    from esxparse_simulator.writers.power_series import Reading, Series

__all__ = [
    "Bmc",
    "Document",
    "Flavour",
    "documents",
    "histories",
    "meter_document",
    "mockup",
    "power_document",
    "power_uri",
    "text",
]


def documents(bmc: Bmc, readings: Series, now: datetime) -> dict[str, Document]:
    """Every document of the BMC at a time, by address.

    Raises:
        EsxparseError: There is no such BMC.
    """
    check(bmc)
    chassis, slash = bmc.chassis, bmc.slash
    identity = chassis.rpartition("/")[2]
    system = f"{ROOT}/Systems/{identity}{slash}"
    maker = "Dell Inc." if bmc.flavour == "idrac9" else "HPE"
    found: dict[str, Document] = {
        f"{ROOT}/": {
            **_odata("ServiceRoot", f"{ROOT}/", _typed(bmc, "ServiceRoot", "1_5_1", "1.0.0")),
            "Chassis": link(f"{ROOT}/Chassis{slash}"),
            "Id": "RootService",
            "Name": "Root Service",
            "RedfishVersion": "1.0.0" if bmc.flavour == "ilo4" else "1.6.0",
            "Systems": link(f"{ROOT}/Systems{slash}"),
            "UUID": _uuid(bmc),
        },
        f"{ROOT}/Systems{slash}": _collection("ComputerSystem", f"{ROOT}/Systems{slash}", system),
        system: {
            **_odata("ComputerSystem", system, _typed(bmc, "ComputerSystem", "1_10_0", "1.0.1")),
            "Id": identity,
            "Links": {"Chassis": [link(chassis + slash)]},
            "Manufacturer": maker,
            "Model": bmc.model,
            "Name": "Computer System",
            "PowerState": "On",
            "SerialNumber": bmc.serial,
            "Status": {"Health": "OK", "State": "Enabled"},
            "SystemType": "Physical",
            "UUID": _uuid(bmc),
        },
        f"{ROOT}/Chassis{slash}": _collection("Chassis", f"{ROOT}/Chassis{slash}", chassis + slash),
        chassis + slash: _chassis(bmc, identity, system, maker),
        f"{chassis}/Thermal{slash}": _thermal(bmc, readings.last(now)),
        power_uri(bmc): power_document(bmc, readings, now),
    }
    for name in histories(bmc):
        found[f"{chassis}/Power/{name}{slash}"] = meter_document(bmc, readings, now, name)
    return found


def mockup(bmc: Bmc, readings: Series, now: datetime) -> dict[str, str]:
    """Files of all documents, by path below one directory: `Chassis/1/Power/index.json` and so on."""
    paths = {uri.removeprefix(ROOT).strip("/"): one for uri, one in documents(bmc, readings, now).items()}
    return {f"{path}/index.json".lstrip("/"): text(one, indent=2) for path, one in paths.items()}


def _typed(bmc: Bmc, name: str, new: str, old: str) -> str:
    return f"#{name}.{old}.{name}" if bmc.flavour == "ilo4" else f"#{name}.v{new}.{name}"


def _odata(name: str, uri: str, kind: str) -> Document:
    return {"@odata.context": f"{ROOT}/$metadata#{name}.{name}", "@odata.id": uri, "@odata.type": kind}


def _collection(name: str, uri: str, member: str) -> Document:
    return {
        **_odata(f"{name}Collection", uri, f"#{name}Collection.{name}Collection"),
        "Members": [link(member)],
        "Members@odata.count": 1,
        "Name": f"{name} Collection",
    }


def _chassis(bmc: Bmc, identity: str, system: str, maker: str) -> Document:
    uri = bmc.chassis + bmc.slash
    old = {
        "Type": "Chassis.1.0.0",
        "links": {
            "ComputerSystem": [{"href": system}],
            "PowerMetrics": {"href": power_uri(bmc)},
            "ThermalMetrics": {"href": f"{bmc.chassis}/Thermal/"},
            "self": {"href": uri},
        },
    }
    return {
        **_odata("Chassis", uri, _typed(bmc, "Chassis", "1_10_2", "1.0.0")),
        "ChassisType": "RackMount",
        "Id": identity,
        "Links": {"ComputerSystems": [link(system)]},
        "Manufacturer": maker,
        "Model": bmc.model,
        "Name": "Computer System Chassis",
        "Power": link(power_uri(bmc)),
        "PowerState": "On",
        "SerialNumber": bmc.serial,
        "Status": {"Health": "OK", "State": "Enabled"},
        "Thermal": link(f"{bmc.chassis}/Thermal{bmc.slash}"),
        **(old if bmc.flavour == "ilo4" else {}),
    }


def _thermal(bmc: Bmc, last: Reading) -> Document:
    uri = f"{bmc.chassis}/Thermal{bmc.slash}"
    name = "System Board Inlet Temp" if bmc.flavour == "idrac9" else "01-Inlet Ambient"
    return {
        **_odata("Thermal", uri, _typed(bmc, "Thermal", "1_4_0", "1.1.0")),
        "Id": "Thermal",
        "Name": "Thermal",
        "Temperatures": [
            {
                "@odata.id": f"{uri}#Temperatures/0",
                "MemberId": "0",
                "Name": name,
                "PhysicalContext": "Intake",
                "ReadingCelsius": round(last.inlet_celsius),
                "SensorNumber": 1,
                "Status": {"Health": "OK", "State": "Enabled"},
                "UpperThresholdCritical": 42,
                "UpperThresholdFatal": 50,
            }
        ],
    }


def _uuid(bmc: Bmc) -> str:
    """The same for the same serial number."""
    digits = "".join(f"{zlib.crc32(f'{bmc.serial} {part}'.encode()):08x}" for part in range(4))
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
