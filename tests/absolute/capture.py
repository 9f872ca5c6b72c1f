"""Numbers of the host from the raw cells of a capture of esxtop: `"\\\\host\\object(instance)\\counter"` by sample."""

from __future__ import annotations

import bz2
import csv
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MIB = 2**20 / 10**6
WORLD_OF_VCPU = re.compile(r":(?:vmx-)?vcpu-\d+:")
LATENCIES = {"gavg_ms": "Guest", "davg_ms": "Driver", "kavg_ms": "Kernel"}
DISKS = ("Physical Disk SCSI Device", "Physical Disk Adapter")


class Capture:
    """Cells of a capture by (object, instance, counter), and the times of its samples."""

    def __init__(self, path: Path) -> None:
        text = bz2.decompress(path.read_bytes()) if path.suffix == ".bz2" else path.read_bytes()
        header, *lines = csv.reader(text.decode().splitlines())
        self.times = [datetime.strptime(line[0], "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC) for line in lines]
        self.lines = lines
        self.places: dict[tuple[str, str], dict[str, int]] = {}
        self.objects: dict[str, set[str]] = {}
        for place, cell in enumerate(header):
            match = re.fullmatch(r"\\\\[^\\]+\\([^\\(]+)(?:\((.*)\))?\\([^\\]+)", cell)
            if match:
                of, instance, counter = match[1], match[2] or "", match[3]
                self.objects.setdefault(of, set()).add(instance)
                self.places.setdefault((of, counter), {})[instance] = place

    def cells(self, of: str, counter: str, instance: str, samples: list[int]) -> list[float]:
        place = self.places[of, counter][instance]
        return [float(self.lines[sample][place]) for sample in samples]

    def total(self, of: str, counter: str, samples: list[int], only: str = "") -> float | None:
        """The mean over samples of the sum over instances; `only` is a pattern for these."""
        names = [name for name in self.places.get((of, counter), ()) if re.search(only, name)]
        if not names or not samples:
            return None
        return sum(sum(self.cells(of, counter, name, samples)) for name in names) / len(samples)


def figures(capture: Capture, start: datetime, end: datetime, wrong: str = "") -> dict[str, float | None]:
    """The columns of `runs` that the capture gives for `start < time <= end`; `wrong` names a mistake to make."""
    if wrong == "warm-up kept":
        start = capture.times[0]
    first = capture.times[0]
    inside = [at for at, time in enumerate(capture.times) if start < time <= end or time == start == first]
    found = {
        "host_used_pct": capture.total("Physical Cpu", "% Processor Time", inside, "^_Total$"),
        "host_util_pct": capture.total("Physical Cpu", "% Util Time", inside, "^_Total$"),
        **_disks(capture, [at for at in inside if at], wrong),
        **_ports(capture, inside),
        "dropped_packets_per_s": _dropped(capture, inside),
        "ready_pct": _ready(capture, inside, wrong),
        "costop_pct": _costop(capture, inside),
        "numa_local_pct": _local(capture, inside),
        "esxtop_watts": capture.total("Power", "Power Usage Now Watts", inside, "^$"),
    }
    if wrong == "used for util" and found["host_util_pct"] is not None:
        found["host_util_pct"] = found["host_used_pct"]
    return found


def _disks(capture: Capture, inside: list[int], wrong: str) -> dict[str, float | None]:
    """Rates and latency of all devices and NFS volumes. The first sample of a capture has no rates: it is not here."""
    objects = [
        *[of for of in DISKS if of in capture.objects][:1],
        *capture.objects.keys() & {"Physical Disk NFS Volume"},
    ]
    rates = [[capture.total(of, f"{name}/sec", inside) for of in objects] for name in
             ("Commands", "MBytes Read", "MBytes Written")]  # fmt: skip
    iops, read, written = (sum(rate) if rate and None not in rate else None for rate in rates)
    mega = 1.0 if wrong == "MiB for MB" else MIB
    return {
        "host_iops": iops,
        "host_read_mb_per_s": None if read is None else read * mega,
        "host_write_mb_per_s": None if written is None else written * mega,
        **{name: _latency(capture, objects, part, inside, wrong) for name, part in LATENCIES.items()},
    }


def _latency(capture: Capture, objects: list[str], part: str, inside: list[int], wrong: str) -> float | None:
    """A mean weighted by commands."""
    waited = commands = latencies = busy = 0.0
    for of in objects:
        for name in capture.places.get((of, f"Average {part} MilliSec/Command"), ()):
            each = zip(
                capture.cells(of, f"Average {part} MilliSec/Command", name, inside),
                capture.cells(of, "Commands/sec", name, inside),
                strict=True,
            )
            for latency, rate in each:
                waited += latency * rate
                commands += rate
                latencies += latency
                busy += latency > 0 or rate > 0
    if wrong == "unweighted latency" and busy:
        return latencies / busy
    return waited / commands if commands else None


def _ports(capture: Capture, inside: list[int]) -> dict[str, float | None]:
    """Traffic of the uplinks; esxtop's Mbit are 2**20 bits."""
    found = {}
    for way, word in (("tx", "Transmitted"), ("rx", "Received")):
        bits = capture.total("Network Port", f"MBits {word}/sec", inside, r":vmnic\d+$")
        found[f"{way}_mbit_per_s"] = None if bits is None else bits * MIB
        found[f"{way}_packets_per_s"] = capture.total("Network Port", f"Packets {word}/sec", inside, r":vmnic\d+$")
    return found


def _dropped(capture: Capture, inside: list[int]) -> float | None:
    """Packets dropped at the ports of VMs: passed x share / (100 - share), of both ways."""
    whole = None
    for way, share in (("Transmitted", "Outbound"), ("Received", "Received")):
        for name in capture.places.get(("Network Port", f"% {share} Packets Dropped"), ()):
            if not re.match(r"[^:]*:\d+:\d+:", name):
                continue
            dropped = capture.cells("Network Port", f"% {share} Packets Dropped", name, inside)
            passed = capture.cells("Network Port", f"Packets {way}/sec", name, inside)
            each = [rate * pct / (100 - pct) for rate, pct in zip(passed, dropped, strict=True) if pct < 100]
            whole = (whole or 0.0) + sum(each) / len(inside)
    return whole


def _costop(capture: Capture, inside: list[int]) -> float | None:
    """%CSTP of all vCPUs by their number, from their own worlds."""
    worlds = [name for name in capture.objects.get("Vcpu", ()) if WORLD_OF_VCPU.search(name)]
    whole = capture.total("Vcpu", "% CoStop", inside, WORLD_OF_VCPU.pattern)
    return None if whole is None else whole / len(worlds)


def _local(capture: Capture, inside: list[int]) -> float | None:
    """The share of the VMs' memory that is on their home node, by their memory."""
    vms = {name.split(":")[0] for name in capture.objects.get("Vcpu", ()) if WORLD_OF_VCPU.search(name)}
    groups = [name for name in capture.objects.get("Group Memory", ()) if name.split(":")[0] in vms]
    if not groups or ("Group Memory", "Numa Local Memory MBytes") not in capture.places:
        return None
    near, far = (
        sum(sum(capture.cells("Group Memory", f"Numa {where} Memory MBytes", name, inside)) for name in groups)
        for where in ("Local", "Remote")
    )
    return 100 * near / (near + far) if near + far else None


def _ready(capture: Capture, inside: list[int], wrong: str) -> float | None:
    """%RDY of all vCPUs by their number; from their own worlds, else from the groups of the VMs.

    The limit's part is inside %RDY, so both are of the same: where only the groups tell it, ready time is theirs too.
    """
    worlds = [name for name in capture.objects.get("Vcpu", ()) if WORLD_OF_VCPU.search(name)]
    if not worlds:
        return None
    ready = capture.total("Vcpu", "% Ready", inside, WORLD_OF_VCPU.pattern)
    of_groups = ("Group Cpu", "% Max Limited") in capture.places and ("Vcpu", "% Max Limited") not in capture.places
    if ready is None or of_groups:
        vms = "|".join(sorted({re.escape(name.split(":")[0]) for name in worlds}))
        ready = capture.total("Group Cpu", "% Ready", inside, f"^({vms}):")
    if ready is None or wrong == "ready not per vCPU":
        return ready
    return ready / len(worlds)
