"""Load generators in the guests, and what the host saw of their disks: Iometer, fio, vscsiStats.

They watch the VMs whose names fit `vms` (`*`), on their disk number `disk` (0): what the model's disks gave them is
what they print. Options of all: `vms`, `disk`, `ramp` and `seconds` (the measured part: seconds of the capture),
`after` (seconds of the capture before the test began and `ramp` counts: several tests in one capture),
`access` (its name), `shape` of latencies (`distribution.SHAPES`), `jobs` (workers that share what a VM got). Sizes, mix
and depth are those that the VMs asked for, unless `block_bytes`, `read_pct`, `random_pct` or `outstanding` (of one
worker) say otherwise.

With `keeps_outstanding` (true) a generator has as many I/Os under way all the time as its VM asked for, as Iometer has:
those that the guest, short of CPU, has not sent on wait there, so that Little's law holds for what it measured.

A machine that is not modelled is given with its results instead: `machine`, `read_iops` and `read_ms`, `write_iops` and
`write_ms` (each a number, or `{ mean = , spread = }`), `cpu_pct`, its `device` (/dev/sdb), and then `block_bytes`,
`outstanding` and `seconds`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from math import fsum
from typing import TYPE_CHECKING, Any

from esxparse_simulator.distribution import Distribution
from esxparse_simulator.instruments.model import Entry, Instrument, about, asked, form_of, needed, one_run
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.observe import GuestIo
from esxparse_simulator.results import Access, Measured, Side, Worker
from esxparse_simulator.writers import fio_json, fio_logs, fio_normal, fio_run, fio_terse, iometer, vscsistats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from esxparse_simulator.host import Load, Vm
    from esxparse_simulator.model.layout import Layout

__all__ = ["INSTRUMENTS", "measured"]

_WATCHED = frozenset(
    {
        "access",
        "after",
        "block_bytes",
        "cpu_pct",
        "device",
        "disk",
        "jobs",
        "keeps_outstanding",
        "machine",
        "outstanding",
        "ramp",
        "random_pct",
        "read_iops",
        "read_ms",
        "read_pct",
        "seconds",
        "shape",
        "vms",
        "write_iops",
        "write_ms",
    }
)


_GIVEN = frozenset({"read_iops", "write_iops"})


def watch(layout: Layout | None, options: Mapping[str, Any]) -> GuestIo | None:
    """The observer of a load generator; none where its results are given."""
    if _GIVEN & set(options):
        return None
    layout = needed(layout, "a load generator")
    span = layout.scenario.samples * layout.scenario.interval
    ramp = float(options.get("after", 0.0)) + float(options.get("ramp", 0.0))
    seconds = float(options.get("seconds", span - ramp))
    return GuestIo(layout, str(options.get("vms", "*")), int(options.get("disk", 0)), ramp, seconds)


def measured(entry: Entry) -> Measured:
    """What the generators of one run measured, each VM's share split among its workers."""
    whole = _given(entry) if entry.watch is None else _watched(entry)
    jobs = int(entry.options.get("jobs", 1))
    if jobs == 1:
        return whole
    return replace(whole, workers=tuple(part for worker in whole.workers for part in _split(entry, worker, jobs)))


def _watched(entry: Entry) -> Measured:
    vm = entry.watch.vms[0]
    load = vm.load
    size = int(entry.options.get("block_bytes", _size(load)))
    reads, writes = _parts(vm, int(entry.options.get("disk", 0)))
    share = 100.0 * reads / (reads + writes) if reads + writes > 0.0 else 100.0
    access = Access(
        name=str(entry.options.get("access", _access_name(size, round(share), load.sequential))),
        block_bytes=size,
        read_pct=float(entry.options.get("read_pct", round(share))),
        random_pct=float(entry.options.get("random_pct", round(100.0 * (1.0 - load.sequential)))),
        outstanding=int(entry.options.get("outstanding", load.outstanding)),
    )
    found: Measured = entry.watch.measured(
        access, entry.run.start, shape=str(entry.options.get("shape", "disk")), read_bytes=size, write_bytes=size
    )
    after = float(entry.options.get("after", 0.0))
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


def _given(entry: Entry) -> Measured:
    size = int(asked(entry, "block_bytes"))
    sides: list[Side | None] = []
    for way in ("read", "write"):
        if f"{way}_iops" not in entry.options:
            sides.append(None)
            continue
        latency = about(entry, f"{way}_ms", asked(entry, f"{way}_ms"))
        rate = about(entry, f"{way}_iops", entry.options[f"{way}_iops"])
        sides.append(Side(rate, size, Distribution(latency, str(entry.options.get("shape", "disk")))))
    rates = [side.iops if side else 0.0 for side in sides]
    share = float(entry.options.get("read_pct", round(100.0 * rates[0] / max(1e-9, sum(rates)))))
    random = float(entry.options.get("random_pct", 100.0))
    access = Access(
        name=str(entry.options.get("access", _access_name(size, round(share), 1.0 - random / 100.0))),
        block_bytes=size,
        read_pct=share,
        random_pct=random,
        outstanding=int(asked(entry, "outstanding")),
    )
    machine = str(entry.options.get("machine", "bench-01"))
    cpu = about(entry, "cpu_pct", entry.options.get("cpu_pct", 10.0))
    worker = Worker("Worker 1", machine, str(entry.options.get("device", "/dev/sdb")), sides[0], sides[1], cpu)
    ramp, seconds = float(entry.options.get("ramp", 0.0)), float(asked(entry, "seconds"))
    return Measured(access, entry.run.start, ramp, seconds, (worker,))


def _split(entry: Entry, worker: Worker, jobs: int) -> Iterator[Worker]:
    """As many workers as jobs, which together got what the one did; no two of them quite the same."""
    noise = Noise(entry.run.seed)
    weights = [noise.around(f"{entry.name}/{worker.manager}/job {n}", 1.0, 0.03) for n in range(jobs)]
    total = fsum(weights)
    for number, weight in enumerate(weights, 1):
        part = weight / total
        sides = [replace(side, iops=side.iops * part) if side else None for side in (worker.read, worker.write)]
        yield replace(worker, name=f"Worker {number}", read=sides[0], write=sides[1])


def _parts(vm: Vm, disk: int) -> tuple[float, float]:
    return vm.load.read_iops * vm.disks[disk].reads, vm.load.write_iops * vm.disks[disk].writes


def _size(load: Load) -> int:
    return round(1024 * (load.read_kb if load.read_iops > 0.0 else load.write_kb))


def _access_name(size: int, read_pct: int, sequential: float) -> str:
    unit = f"{size // 1024} KiB" if size % 1024 == 0 else f"{size} B"
    order = "sequential" if sequential > 0.0 else "random"
    return f"{unit}; {read_pct}% Read; {order}"


def _iometer(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """All runs that name the file are tests of one Iometer, one after another."""
    first = entries[0]
    tests = [measured(entry) for entry in entries]
    yield (
        first.name,
        iometer.lines(
            tests,
            asked(first, "version", "1.1.0"),
            description=str(first.options.get("description", "")),
            utc_offset_minutes=int(first.options.get("utc_offset_minutes", 0)),
            processors=int(first.options.get("processors", 1)),
            seed=first.run.seed,
        ),
    )


def _vscsistats(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    (first,) = one_run(entries)
    test = measured(first)
    disks = [
        vscsistats.of_worker(
            test, worker, world_group_id=8192 + 417 * number, handle_id=8300 + 3 * number, disk=worker.disk
        )
        for number, worker in enumerate(test.workers, 1)
    ]
    yield first.name, vscsistats.lines(disks, asked(first, "form", "csv"))


def _fio(entries: list[Entry]) -> Iterator[tuple[str, Iterator[bytes]]]:
    """The output of one run, in the `form` asked for, and the `logs` of each job beside it."""
    (entry,) = one_run(entries)
    test = measured(entry)
    job = str(entry.options.get("job", test.access.name))
    workers = tuple(replace(worker, name=job, disk=_device(worker.disk)) for worker in test.workers)
    run = fio_run.FioRun(
        replace(test, workers=workers),
        version=asked(entry, "version", "fio-3.28"),
        seed=entry.run.seed,
        **{name: entry.options[name] for name in _FIO if name in entry.options},
    )
    yield entry.name, iter([_FIO_FORMS[form_of(entry, _FIO_FORMS, "json+")](run).encode()])
    stem = entry.name.rpartition(".")[0] or entry.name
    for kind in entry.options.get("logs", ()):
        for number in range(len(workers)):
            name = fio_logs.log_name(stem, kind, number + 1)
            yield name, fio_logs.lines(run, number, kind, log_avg_msec=entry.options.get("log_avg_msec"))


def _device(slot: str) -> str:
    """The device file of a SCSI slot in a Linux guest: the first disk of the first controller is sda."""
    controller, found, unit = slot.removeprefix("scsi").partition(":")
    if slot.startswith("/") or not found:
        return slot
    return f"/dev/sd{chr(ord('a') + 4 * int(controller) + int(unit))}"


_FIO = frozenset({"ioengine", "group_reporting", "slat_us", "usr_cpu_pct", "sys_cpu_pct", "rate_spread"})
_FIO_FORMS: dict[str, Callable[[fio_run.FioRun], str]] = {
    "json": fio_json.text,
    "json+": lambda run: fio_json.text(run, plus=True),
    "terse": fio_terse.text,
    "normal": fio_normal.text,
}
INSTRUMENTS: dict[str, Instrument] = {
    "iometer": Instrument(_WATCHED | {"version", "description", "utc_offset_minutes", "processors"}, watch, _iometer),
    "fio": Instrument(_WATCHED | _FIO | {"form", "job", "log_avg_msec", "logs", "version"}, watch, _fio),
    "vscsistats": Instrument(_WATCHED | {"form"}, watch, _vscsistats),
}
