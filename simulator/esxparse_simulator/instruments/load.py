"""Load generators in the guests, and what the host saw of their disks: Iometer, fio, vscsiStats, tshark.

They watch the VMs whose names fit `vms` (`*`), on their disk number `disk` (0): what the model's disks gave them is
what they print. Options of all: `vms`, `disk`, `ramp` and `seconds` (the measured part: seconds of the capture),
`after` (seconds of the capture before the test began and `ramp` counts: several tests in one capture),
`access` (its name), `shape` of latencies (`measured.SHAPES`), `jobs` (workers that share what a VM got). Sizes, mix
and depth are those that the VMs asked for, unless `block_bytes`, `read_pct`, `random_pct` or `outstanding` (of one
worker) say otherwise.

With `keeps_outstanding` (true) a generator has as many I/Os under way all the time as its VM asked for, as Iometer has:
those that the guest, short of CPU, has not sent on wait there, so that Little's law holds for what it measured.

A machine that is not modelled is given with its results instead: `machine`, `read_iops` and `read_ms`, `write_iops` and
`write_ms` (each a number, or `{ mean = , spread = }`), `cpu_pct`, its `device` (/dev/sdb), and then `block_bytes`,
`outstanding` and `seconds`.

`tshark`: `protocol` is nfs or iscsi; `requests` of them, `rate_per_s`, `read_part` (0..1), `size_bytes`, `order`
(sequential or random, over `span_bytes`), `first_offset` (a file that begins off the blocks of the server: 512); the
trace begins `begins` seconds into the run (0). The server takes `response_ms`, or what the disks of the VMs showed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from fnmatch import fnmatchcase
from math import fsum
from typing import Any

import numpy as np

from esxparse_simulator.host import Load
from esxparse_simulator.instruments.model import Entry, Files, needed, single
from esxparse_simulator.limits import need
from esxparse_simulator.measured import Access, Distribution, Measured, Side, Worker
from esxparse_simulator.model.layout import Layout, over_vcpus
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.model.sample import Snapshot
from esxparse_simulator.writers import fio_json, fio_normal, iometer, packets, vscsistats
from esxparse_simulator.writers.fio import FioRun

_FIO = ("group_reporting", "ioengine", "sys_cpu_pct", "usr_cpu_pct")
_OPENED_S = 1.0  # the connection stands before the first request


class GuestIo:
    """What the VMs whose names fit `vms` got of their disk `disk` in ramp_s < second <= ramp_s + seconds.

    `vms` then has those VMs, in the order of the workers. Called with every snapshot, it keeps only sums.
    """

    def __init__(self, layout: Layout, vms: str, disk: int, ramp_s: float, seconds: float) -> None:
        self._layout = layout
        self._flows = [
            place
            for place, flow in enumerate(layout.flows)
            if flow.kind == "disk" and flow.disk == disk and fnmatchcase(layout.vms[flow.vm].name, vms)
        ]
        names = ", ".join(vm.name for vm in layout.vms)
        need(self._flows, f"no VM named {vms!r} has a disk {disk}: there are {names}.")
        self._places = [layout.flows[place].vm for place in self._flows]
        self.vms = tuple(layout.vms[place] for place in self._places)
        self.ramp_s, self.seconds = ramp_s, seconds
        self._samples = 0
        self._sums = np.zeros((5, len(self._flows)))

    def __call__(self, now: Snapshot) -> None:
        """Notes one sample, if it is of the measured part."""
        if not self.ramp_s < now.second <= self.ramp_s + self.seconds:
            return
        part = now.storage.flows.taken(self._flows)
        self._samples += 1
        read_ms, write_ms = part.driver_read + part.kernel_read, part.driver_write + part.kernel_write
        used = over_vcpus(self._layout, now.worlds.run)[self._places]
        self._sums += np.stack([part.reads, part.writes, part.reads * read_ms, part.writes * write_ms, used])

    def measured(self, access: Access, entry: Entry) -> Measured:
        """The measurement of `access`."""
        none = f"{access.name}: no sample of the capture is in the {self.seconds:g} s after {self.ramp_s:g} s."
        need(self._samples, none)

        def side(total: float, weighted_ms: float) -> Side | None:
            if total <= 0.0:
                return None
            latency = Distribution(weighted_ms / total, entry.text("shape", "disk"))
            return Side(total / self._samples, access.block_bytes, latency)

        workers = []
        for place, vm, sums in zip(self._flows, self.vms, self._sums.T.tolist(), strict=True):
            reads, writes, read_ms, write_ms, used = sums
            flow, sides = self._layout.flows[place], (side(reads, read_ms), side(writes, write_ms))
            workers.append(Worker(f"Worker {flow.disk + 1}", vm.name, str(flow.slot), *sides, used / self._samples))
        return Measured(access, entry.run.start, self.ramp_s, self.seconds, tuple(workers))


def watch_guests(layout: Layout | None, options: Mapping[str, Any]) -> GuestIo | None:
    """The observer of a load generator; none if its results are given."""
    if {"read_iops", "write_iops", "response_ms"} & set(options):
        return None
    layout = needed(layout, "a load generator")
    ramp = float(options.get("after", 0.0)) + float(options.get("ramp", 0.0))
    seconds = float(options.get("seconds", layout.scenario.samples * layout.scenario.interval - ramp))
    return GuestIo(layout, str(options.get("vms", "*")), int(options.get("disk", 0)), ramp, seconds)


def _measured(entry: Entry) -> Measured:
    """What the generators of one run measured, each VM's share split among its workers."""
    whole = _from_options(entry) if entry.watch is None else _watched(entry)
    jobs = int(entry.options.get("jobs", 1))
    if jobs == 1:
        return whole
    return replace(whole, workers=tuple(part for worker in whole.workers for part in _split(entry, worker, jobs)))


def _access(entry: Entry, size: int, read_pct: float, random_pct: float, outstanding: float) -> Access:
    unit = f"{size // 1024} KiB" if size % 1024 == 0 else f"{size} B"
    name = f"{unit}; {round(read_pct)}% Read; {'sequential' if random_pct < 100.0 else 'random'}"
    read_pct, random_pct = entry.number("read_pct", read_pct), entry.number("random_pct", random_pct)
    return Access(entry.text("access", name), size, read_pct, random_pct, int(entry.number("outstanding", outstanding)))


def _watched(entry: Entry) -> Measured:
    vm = entry.watch.vms[0]
    load: Load = vm.load
    size = int(
        entry.options.get("block_bytes", round(1024 * (load.read_kb if load.read_iops > 0.0 else load.write_kb)))
    )
    disk = vm.disks[int(entry.options.get("disk", 0))]
    reads, writes = load.read_iops * disk.reads, load.write_iops * disk.writes
    share = round(100.0 * reads / (reads + writes) if reads + writes > 0.0 else 100.0)
    found: Measured = entry.watch.measured(
        _access(entry, size, share, round(100.0 * (1.0 - load.sequential)), load.outstanding), entry
    )
    after = entry.number("after", 0.0)
    found = replace(found, start=found.start + timedelta(seconds=after), ramp_s=found.ramp_s - after)
    if entry.options.get("keeps_outstanding", False):
        workers = zip(found.workers, entry.watch.vms, strict=True)
        found = replace(found, workers=tuple(_kept(worker, each.load.outstanding) for worker, each in workers))
    return found


def _kept(worker: Worker, outstanding: float) -> Worker:
    """A worker whose I/Os wait in the guest for as long as it takes to have so many under way."""
    sides = [side for side in (worker.read, worker.write) if side]
    rate = fsum(side.iops for side in sides)
    waits = (1000.0 * outstanding - fsum(side.iops * side.latency.mean for side in sides)) / rate if rate else 0.0
    if waits <= 0.0:
        return worker
    read, write = (
        replace(side, latency=replace(side.latency, mean=side.latency.mean + waits)) if side else None
        for side in (worker.read, worker.write)
    )
    return replace(worker, read=read, write=write)


def _from_options(entry: Entry) -> Measured:
    size = int(entry.required("block_bytes"))
    sides: list[Side | None] = []
    for way in ("read", "write"):
        if f"{way}_iops" in entry.options:
            latency = entry.about(f"{way}_ms", entry.required(f"{way}_ms"))
            rate = entry.about(f"{way}_iops", entry.options[f"{way}_iops"])
            sides.append(Side(rate, size, Distribution(latency, entry.text("shape", "disk"))))
        else:
            sides.append(None)
    rates = [side.iops if side else 0.0 for side in sides]
    share = entry.number("read_pct", round(100.0 * rates[0] / max(1e-9, sum(rates))))
    access = _access(entry, size, share, entry.number("random_pct", 100.0), entry.required("outstanding"))
    cpu = entry.about("cpu_pct", entry.options.get("cpu_pct", 10.0))
    machine, device = entry.text("machine", "bench-01"), entry.text("device", "/dev/sdb")
    worker = Worker("Worker 1", machine, device, sides[0], sides[1], cpu)
    return Measured(access, entry.run.start, entry.number("ramp", 0.0), float(entry.required("seconds")), (worker,))


def _split(entry: Entry, worker: Worker, jobs: int) -> Iterator[Worker]:
    """As many workers as jobs, which together got what the one did; no two of them quite the same."""
    noise = Noise(entry.run.seed)
    weights = [noise.around(f"{entry.name}/{worker.manager}/job {n}", 1.0, 0.03) for n in range(jobs)]
    total = fsum(weights)
    for number, weight in enumerate(weights, 1):
        part = weight / total
        sides = [replace(side, iops=side.iops * part) if side else None for side in (worker.read, worker.write)]
        yield replace(worker, name=f"Worker {number}", read=sides[0], write=sides[1])


def _iometer(entries: list[Entry]) -> Files:
    """All runs that name the file are tests of one Iometer, one after another."""
    first = entries[0]
    yield (
        first.name,
        iometer.lines(
            [_measured(entry) for entry in entries],
            first.text("version", "1.1.0"),
            description=first.text("description", ""),
            processors=int(first.options.get("processors", 1)),
            seed=first.run.seed,
        ),
    )


def _vscsistats(entry: Entry) -> Iterator[bytes]:
    test = _measured(entry)
    numbered = enumerate(test.workers, 1)
    return vscsistats.lines([vscsistats.of_worker(test, one, 8192 + 417 * n, 8300 + 3 * n) for n, one in numbered])


def _fio(entry: Entry) -> Iterator[bytes]:
    """The output of one run, in the `form` asked for."""
    test, form = _measured(entry), entry.text("form", "json+")
    known = {"json", "json+", "normal"}
    need(form in known, f"file {entry.name}: no form {form!r}. There are: {', '.join(sorted(known))}.")
    job = entry.text("job", test.access.name)
    workers = tuple(replace(worker, name=job, disk=_device(worker.disk)) for worker in test.workers)
    more = {name: entry.options[name] for name in _FIO if name in entry.options}
    run = FioRun(replace(test, workers=workers), entry.text("version", "fio-3.7"), entry.run.seed, **more)
    text = fio_normal.text(run) if form == "normal" else fio_json.text(run, plus=form == "json+")
    yield text.encode()


def _device(slot: str) -> str:
    """The device file of a SCSI slot in a Linux guest: the first disk of the first controller is sda."""
    controller, found, unit = slot.removeprefix("scsi").partition(":")
    if slot.startswith("/") or not found:
        return slot
    return f"/dev/sd{chr(ord('a') + 4 * int(controller) + int(unit))}"


def _tshark(entry: Entry) -> Iterable[bytes]:
    shape = entry.text("shape", "disk")
    if entry.watch is None:
        latency = Distribution(float(entry.required("response_ms")), shape)
    else:
        sides = [side for worker in _measured(entry).workers for side in (worker.read, worker.write) if side]
        total = sum(side.iops for side in sides)
        latency = Distribution(sum(side.iops * side.latency.mean for side in sides) / total, shape)
    begin = entry.run.start + timedelta(seconds=entry.number("begins", 0.0))
    return packets.tshark_lines(packets.Trace(entry.required("protocol"), begin, tuple(_requests(entry, latency))))


def _requests(entry: Entry, latency: Distribution) -> Iterator[packets.Request]:
    noise, size = Noise(entry.run.seed), int(entry.required("size_bytes"))
    blocks, first = int(entry.required("span_bytes")) // size, int(entry.options.get("first_offset", 0))
    reads = entry.number("read_part", 1.0)
    gap = 1.0 / float(entry.required("rate_per_s"))
    random = entry.options.get("order", "sequential") == "random"
    for number in range(int(entry.required("requests"))):
        block = int(noise.uniform(f"{entry.name}/place") * blocks) if random else number % blocks
        yield packets.Request(
            at_s=_OPENED_S + number * gap,
            read=noise.uniform(f"{entry.name}/way") < reads,
            offset_bytes=first + block * size,
            size_bytes=size,
            response_ms=latency.quantile(noise.uniform(f"{entry.name}/response")),
        )


LOAD = {"fio": single(_fio), "iometer": _iometer, "tshark": single(_tshark), "vscsistats": single(_vscsistats)}
"""What writes a tool's files, by tool."""
