"""Published incidents as small captures in esxtop's grammar, with the counters that their sources give and no others.

An incident is a TOML file (id, class, expect_not, [[counters]] with screen, entity and values). Figures that are no
counters of esxtop (of a guest, a log, a shell) make no column: such an incident is not scored. Where a source gives one
figure of an object in two states, the capture changes from the one to the other half way.
"""

from __future__ import annotations

import math
import re
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

import esxparse as ex

SAMPLES: Final = 60
CLASSES: Final = {
    "alignment": ["storage.misaligned*"],
    "costop-io": ["cpu.costop_io", "storage.snapshot"],
    "cpu-contention": ["cpu.contention", "cpu.noisy_neighbour"],
    "cpu-limit": ["cpu.limit"],
    "guest-side": ["guest.*", "harmless.turbo"],
    "harmless": ["harmless.*", ""],
    "measurement-artefact": ["capture.*", "harmless.*", ""],
    "mem-limit": ["memory.limit"],
    "mem-balloon": ["memory.balloon"],
    "mem-swap": ["memory.swap"],
    "nfs": ["storage.nfs_slow"],
    "numa-remote": ["numa.remote", "numa.wide_vm"],
    "other:iops-limit": ["storage.iops_limit"],
    "other:numa-action-affinity": ["numa.migrations"],
    "other:routed-path": ["network.routed"],
    "power-policy": ["power.*"],
    "stale-swap": ["harmless.stale_swap"],
    "storage-abort": ["storage.aborts", "storage.path_flapping"],
    "storage-array": ["storage.array_slow", "storage.read_ahead"],
    "storage-queue": ["storage.queue_*"],
    "vmkernel-overhead": ["cpu.system"],
}
"""The troubles that are right for a class; "" is that nothing is told but what is harmless."""
_NEVER: Final = {
    "costop-oversized": ["cpu.costop"],
    "net-drop-rx": ["network.receive_drops"],
    "rx ring exhaustion": ["network.receive_drops"],
    "net-drop-tx": ["network.transmit_drops", "network.line_rate"],
    "net-link": ["network.line_rate", "network.speed", "network.duplex"],
    "nfs server fault": ["storage.nfs_slow"],
    "guest-side CPU saturation": ["guest.cpu_bound"],
}
_WHY: Final = {
    "corosync-udp-rmem": "its figures are the guest's: packets sent and received, of which the port drops none",
    "iops-limit-100-acts-as-10": "commands/s alone have a figure; of QAVG the source says that it is high",
    "limit-on-overcommitted-host": "%USED alone, which falls where less is asked for as well; no %MLMTD, no %RDY",
    "replication-routed-440mbit": "half of a line's rate, flat, is no trouble by itself; the route is in no counter",
}
"""What keeps an incident from being told."""
_WORD: Final = re.compile(
    r"[ _](?:high|low|peak|usual|max|min_exclusive|worst range|about|99th percentile range|vm\d)\b.*|_[a-zG].*$"
)
_COUNTERS: Final[dict[str, tuple[str, str, float]]] = {
    "NWLD": ("Group Cpu", "Members", 1),
    "%USED": ("Group Cpu", "% Used", 1),
    "%RUN": ("Group Cpu", "% Run", 1),
    "%SYS": ("Group Cpu", "% System", 1),
    "%WAIT": ("Group Cpu", "% Wait", 1),
    "%RDY": ("Group Cpu", "% Ready", 1),
    "%IDLE": ("Group Cpu", "% Idle", 1),
    "%OVRLP": ("Group Cpu", "% Overlap", 1),
    "%CSTP": ("Group Cpu", "% CoStop", 1),
    "%MLMTD": ("Group Cpu", "% Max Limited", 1),
    "%SWPWT": ("Group Cpu", "% Swap Wait", 1),
    "CPU Ready %": ("Vcpu", "% Ready", 1),
    "CPU Ready (5 min) %": ("Vcpu", "% Ready", 1),
    "Peak vCPU Ready %": ("Vcpu", "% Ready", 1),
    "Peak vCPU Ready (20 s) %": ("Vcpu", "% Ready", 1),
    "Peak vCPU Co-stop %": ("Vcpu", "% CoStop", 1),
    "CPU Contention (LAT_C) %": ("Vcpu", "% CPU Latency", 1),
    "LAT_C %": ("Vcpu", "% CPU Latency", 1),
    "Memory Contention (LAT_M) %": ("Vcpu", "% Memory Latency", 1),
    "LAT_M %": ("Vcpu", "% Memory Latency", 1),
    "VM Wait %": ("Vcpu", "% VmWait", 1),
    "CPU Usage %": ("Vcpu", "% Used", 1),
    "Usage %": ("Vcpu", "% Used", 1),
    "Net Run %": ("Vcpu", "% Run", 1),
    "Effective Limit GB": ("Group Memory", "Alloc Max", 1024),
    "Granted GB": ("Group Memory", "Memory Granted Size MBytes", 1024),
    "Consumed GB": ("Group Memory", "Memory Consumed Size MBytes", 1024),
    "Balloon %": ("Group Memory", "Memctl MBytes", 163.84),
    "Swapped MB": ("Group Memory", "Swapped MBytes", 1),
    "Compressed MB": ("Group Memory", "Used Compressed Memory MBytes", 1),
    "Swap In Rate KBps": ("Group Memory", "Swap Read MBytes/sec", 1 / 1024),
    "SWCUR": ("Group Memory", "Swapped MBytes", 1),
    "SWTGT": ("Group Memory", "Swap Target MBytes", 1),
    "NMIG": ("Group Memory", "Numa Rebalance Count Delta", 1),
    "NRMEM": ("Group Memory", "Numa Remote Memory MBytes", 1),
    "NLMEM": ("Group Memory", "Numa Local Memory MBytes", 1),
    "N%L": ("Group Memory", "Numa % Local", 1),
    "AQLEN": ("Disk", "Adapter Q Depth", 1),
    "CMDS/s": ("Disk", "Commands/sec", 1),
    "READS/s": ("Disk", "Reads/sec", 1),
    "WRITES/s": ("Disk", "Writes/sec", 1),
    "Reads/sec": ("Disk", "Reads/sec", 1),
    "MBREAD/s": ("Disk", "MBytes Read/sec", 1),
    "MBWRTN/s": ("Disk", "MBytes Written/sec", 1),
    "Average Guest MilliSec/Read": ("Disk", "Average Guest MilliSec/Read", 1),
    "LAT/rd": ("Disk", "Average MilliSec/Read", 1),
    "LAT/wr": ("Disk", "Average MilliSec/Write", 1),
    "PCPU USED(%)": ("Physical Cpu", "% Processor Time", 1),
    "PCPU UTIL(%)": ("Physical Cpu", "% Util Time", 1),
    "PCPU USED AVG": ("Physical Cpu", "% Processor Time", 1),
    "PCPU UTIL AVG": ("Physical Cpu", "% Util Time", 1),
    "CORE UTIL AVG": ("Physical Cpu", "% Core Util Time", 1),
    "MbTX/s": ("Network Port", "MBits Transmitted/sec", 1 / 1.048576),
    "%DRPRX": ("Network Port", "% Received Packets Dropped", 1),
    "%DRPTX": ("Network Port", "% Outbound Packets Dropped", 1),
} | {
    f"{part}/{what}": ("Disk", f"Average {long} MilliSec/{name}", 1)
    for part, long in {"GAVG": "Guest", "DAVG": "Driver", "KAVG": "Kernel", "QAVG": "Queue"}.items()
    for what, name in {"cmd": "Command", "rd": "Read", "wr": "Write"}.items()
}
"""Figures of the sources as esxtop's object and counter, and what makes the one of the other."""


def columns(incident: dict[str, Any]) -> dict[str, list[float]]:
    r"""The columns of an incident's capture by `object(instance)\\counter`; none where no figure is esxtop's."""
    made: dict[str, list[float]] = {}
    object_of: dict[str, str] = {}
    found = re.search(r"(\d+)[ -]v?CPU", str(incident.get("environment", {})) + incident["id"])
    vcpus = int(found[1]) if found else 1
    for number, block in enumerate(incident.get("counters", [])):
        if block["entity"].startswith("host power"):
            first, then = ([float(watts)] * SAMPLES for watts in block["values"].values())
            made["Power(_Total)\\Power Usage Now Watts"] = _after(first, then)
        if block["screen"] in {"guest", "vsish", "shell", "vmkernel.log", "p/iLO"}:
            continue
        ranges: dict[str, list[float]] = {}
        for key, value in block["values"].items():
            if key == "series_time" or isinstance(value, str):
                continue
            base = key if key in _COUNTERS else _WORD.sub("", key)
            # "More than 0", without a figure, is something.
            figures = [100.0] if key.endswith("min_exclusive") else value if isinstance(value, list) else [value]
            ranges.setdefault(base, []).extend(figures)
        for base, values in ranges.items():
            factor = 1024.0 if any(key.startswith(base) and "_GB" in key for key in block["values"]) else 1.0
            if base in _COUNTERS:
                of, counter, scale = _COUNTERS[base]
                series = _series([value * scale * factor for value in values], "series_time" in block["values"])
                for place in _places(of, block, number, vcpus):
                    column = f"{place}\\{counter}"
                    same = object_of.setdefault(column, _object(block)) == _object(block)
                    made[column] = _after(made.get(column, series), series) if same else series
    return made


def _object(block: dict[str, Any]) -> str:
    """What a block's figures are of, without the state that it was in then."""
    return str(block["entity"]).partition(",")[0]


def _after(first: list[float], then: list[float]) -> list[float]:
    """One figure for half of the capture and the other from there on; anything else is told by the later block."""
    steady = len(set(first)) == len(set(then)) == 1
    return first[: SAMPLES // 2] + then[SAMPLES // 2 :] if steady else then


def _series(values: list[float], told: object) -> list[float]:
    """A figure all the time; of a range what swings through it; a series as it is told, with quiet before and after."""
    if told:
        quiet = (SAMPLES - len(values)) // 2
        return [0.0] * quiet + values + [0.0] * (SAMPLES - quiet - len(values))
    low, high = min(values), max(values)
    return [low + (high - low) * (0.5 + 0.5 * math.sin(one / 3)) for one in range(SAMPLES)]


def _places(of: str, block: dict[str, Any], number: int, vcpus: int) -> list[str]:
    """The instances that a block of figures is of."""
    entity = str(block["entity"])
    if of == "Disk":
        return [_disk(entity, block["screen"])]
    if of == "Physical Cpu":
        return ["Physical Cpu(_Total)"]
    if of == "Network Port":
        uplink = "traffic" in entity or "routed" in entity
        return ["Network Port(vSwitch0:33554434:vmnic0)" if uplink else "Network Port(vSwitch0:33554440:1001:vm-a)"]
    return _worlds(of, entity, block["screen"], number, vcpus)


def _disk(entity: str, screen: str) -> str:
    name = re.sub(r"[^\w.:]+", "_", entity.split(",", maxsplit=1)[0].split(" (", maxsplit=1)[0])
    if screen == "v" or "scsi" in entity:
        found = f"Virtual Disk({re.sub(r'[^a-zA-Z0-9]+', '-', entity.split(' scsi', maxsplit=1)[0])}:scsi0:0)"
    elif "Volume" in entity or entity.startswith("same"):
        found = "Physical Disk NFS Volume(NFS_Datastore)"
    elif "NFS" in entity:
        found = f"Physical Disk NFS Volume({name})"
    elif re.fullmatch(r"vmhba\d+", name):
        found = f"Physical Disk Adapter({name})"
    else:
        found = f"Physical Disk SCSI Device({name})"
    return found


def _worlds(of: str, entity: str, screen: str, number: int, vcpus: int) -> list[str]:
    """A group of the host, a world, or the vCPUs of a VM."""
    if entity == "host" or "helper worlds" in entity or "other 15" in entity or entity.startswith("world idle"):
        return []
    if group := re.match(r"group (\w+)", entity):
        return [f"{of}({('idle', 'system', 'helper', 'drivers').index(group[1]) + 1}:{group[1]})"]
    if world := re.match(r"world (\S+)|(vmx-vcpu-\d+)", entity):
        return [f"Vcpu(7:vm-a:{80 + number}:{world[1] or world[2] + ':vm-a'})"]
    several = screen == "m" or ("VM" in entity and number > 0)
    place = number if several and not entity.startswith(("same", "VM at", "VM, 20")) else 0
    gid, vm = 7 + place, f"vm-{'abcdefghij'[place]}"
    if of == "Group Memory":
        return [f"Group Memory({gid}:{vm})"]
    return [f"Vcpu({gid}:{vm}:{gid}{one}:vmx-vcpu-{one}:{vm})" for one in range(vcpus)]


def write(path: Path, made: dict[str, list[float]]) -> None:
    """Write a capture of these columns, a sample every five seconds."""
    names = [f"\\\\host\\{name}" for name in made]
    lines = [",".join(f'"{name}"' for name in ["(PDH-CSV 4.0) (UTC)(0)", *names])]
    for one in range(SAMPLES):
        seconds = 5 * one
        stamp = f"06/01/2026 10:{seconds // 60:02}:{seconds % 60:02}"
        lines.append(",".join(f'"{cell}"' for cell in [stamp, *(f"{values[one]:.2f}" for values in made.values())]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def matches(trouble: str, patterns: list[str]) -> bool:
    """Whether a trouble is one of those that patterns name."""
    return any(fnmatchcase(trouble, pattern) for pattern in patterns)


def forbidden(incident: dict[str, Any]) -> list[str]:
    """The troubles that may not be told at warning or above."""
    found = []
    for text in incident.get("expect_not", []):
        word = next((key for key in [*_NEVER, *CLASSES] if text.startswith(key)), "")
        found += _NEVER.get(word) or [one for one in CLASSES.get(word, []) if one]
    return found


class Row(NamedTuple):
    """How an incident was judged."""

    id: str
    kind: str
    """Its class."""
    right: bool | None
    """Whether the accepted class came first; None where no figure is a counter of esxtop."""
    wrong: list[str]
    """What `expect_not` forbids, and was told at warning or above."""
    found: str


def scored(folder: Path, scratch: Path) -> list[Row]:
    """Every incident of a folder."""
    rows = []
    for file in sorted(folder.glob("*.toml")):
        incident = tomllib.loads(file.read_text(encoding="utf-8"))
        made = columns(incident)
        if not made:
            rows.append(Row(incident["id"], incident["class"], None, [], "no counters of esxtop"))
            continue
        path = scratch / f"{incident['id']}.csv"
        write(path, made)
        found = ex.diagnose(ex.open(path))
        told = [one.trouble for one in found if one.severity != "info"]
        first = told[0] if told else next((one.trouble for one in found), "")
        wanted = CLASSES[incident["class"]]
        right = matches(first, wanted) or ("" in wanted and not told)
        wrong = [one for one in told if matches(one, forbidden(incident))]
        words = ", ".join(f"{one.trouble} ({one.severity} {one.confidence:.2f})" for one in found[:3]) or "nothing"
        rows.append(Row(incident["id"], incident["class"], right, wrong, words))
    return rows


def incident_table(rows: list[Row]) -> list[str]:
    """The score of incidents, as Markdown."""
    judged = [one for one in rows if one.right is not None]
    right = sum(bool(one.right) for one in judged)
    missed = [f"* {one.id}: {_WHY.get(one.id, 'not explained yet')}" for one in judged if not one.right]
    clean = sum(not one.wrong for one in judged)
    return [
        f"{len(judged)} of {len(rows)} have figures that are counters of esxtop. The accepted class was first in",
        f"{right} ({100 * right / max(1, len(judged)):.0f} %); nothing of `expect_not` is told in {clean}.",
        "",
        "| incident | class | right | found |",
        "|---|---|---|---|",
        *(
            f"| {one.id} | {one.kind} | {'' if one.right is None else 'yes' if one.right else '**no**'} | {one.found} |"
            for one in rows
        ),
        "",
        "What keeps the others from being told:",
        "",
        *missed,
    ]
