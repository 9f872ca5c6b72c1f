"""Hosts of any size, for benchmarks and for trying what reads captures: many VMs of four kinds, all of them healthy."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from esxparse.errors import EsxparseError
from esxparse_simulator.esxtop.columns import blocks
from esxparse_simulator.esxtop.groups import groups_of
from esxparse_simulator.esxtop.releases import release_of
from esxparse_simulator.experiment import Experiment, FileSpec, Run
from esxparse_simulator.host import (
    Adapter,
    Device,
    Host,
    Load,
    Nic,
    Pattern,
    Scenario,
    Switch,
    VirtualDisk,
    Vm,
)
from esxparse_simulator.limits import check_number
from esxparse_simulator.model.layout import layout_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_DATABASE = Load(
    cpu=18.0,
    io_bound=0.5,
    read_iops=180.0,
    write_iops=70.0,
    used_mb=14_000.0,
    active_mb=3_600.0,
    tx_pps=900.0,
    rx_pps=800.0,
    tx_bytes=640.0,
    timers=250.0,
)
_WEB = Load(cpu=11.0, read_iops=4.0, write_iops=12.0, used_mb=3_300.0, active_mb=900.0, tx_pps=2_400.0, rx_pps=2_600.0)
_BATCH = Load(cpu=22.0, read_iops=30.0, write_iops=25.0, read_kb=64.0, used_mb=6_500.0, active_mb=1_800.0)
_IDLE = Load(cpu=0.8, write_iops=0.8, used_mb=1_500.0, active_mb=60.0, rx_pps=2.2)

_KINDS = (
    ("db", 4, 16_384, 2, _DATABASE, Pattern("diurnal", depth=0.4)),
    ("web", 2, 4_096, 1, _WEB, Pattern("bursty", period=600.0, depth=0.8)),
    ("batch", 4, 8_192, 1, _BATCH, Pattern("batch", period=900.0, depth=0.9, busy=0.4)),
    ("old", 1, 2_048, 1, _IDLE, Pattern()),
)
"""Name, vCPUs, memory, virtual disks, load and pattern of each kind of VM."""

_VMS_PER_LUN = 10
_VMS_PER_UPLINK = 40
_FEWEST_COLUMNS = 2_000


def large_host(columns: int = 100_000, *, seed: int = 1, samples: int = 60, interval: float = 5.0) -> Scenario:
    """A host whose capture of all counters has about `columns` columns (at least those, at most one VM more).

    Raises:
        EsxparseError: fewer columns than a host without VMs has; a seed, samples or an interval that cannot be.
    """
    for name, value in (("seed", seed), ("samples", samples), ("interval", interval)):
        check_number(name, value, "large host")
    if columns < _FEWEST_COLUMNS:
        message = f"{columns} columns are too few for a host. Ask for {_FEWEST_COLUMNS:,} or more."
        raise EsxparseError(message)
    few, enough = 1, 2
    while column_count(_host(enough, seed, samples, interval)) < columns:
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        if column_count(_host(middle, seed, samples, interval)) < columns:
            few = middle
        else:
            enough = middle
    return _host(enough, seed, samples, interval)


def large_experiment(columns: int, *, seed: int = 1, samples: int = 60, interval: float = 5.0) -> Experiment:
    """One capture of `large_host`, `large-host.csv`.

    Raises:
        EsxparseError: as `large_host`.
    """
    scenario = large_host(columns, seed=seed, samples=samples, interval=interval)
    file = FileSpec("esxtop", "large-host.csv", {})
    run = Run({}, scenario.start, scenario.seed, scenario, (file,), ())
    return Experiment("large-host", scenario.title, (run,))


def column_count(scenario: Scenario, *, release: str = "6.7", all_counters: bool = True) -> int:
    """How many columns a capture of the scenario has, the time among them."""
    layout, how = layout_of(scenario), release_of(release)
    made = blocks(layout, how, groups_of(layout, how), all_counters=all_counters)
    return 1 + sum(len(block.counters) for block in made)


def _host(vms: int, seed: int, samples: int, interval: float) -> Scenario:
    guests = tuple(_vms(vms))
    cores = max(4, -(-vms // 8))
    return Scenario(
        name=f"large-{vms}",
        title=f"{vms} virtual machines of four kinds",
        start=datetime(2026, 3, 11, 9, tzinfo=UTC),
        samples=samples,
        interval=interval,
        seed=seed,
        host=Host(
            name="esx-large.lab.example",
            sockets=2,
            cores_per_socket=cores,
            threads_per_core=2,
            mhz=2600,
            turbo_mhz=3300,
            all_core_mhz=2900,
            p_states_mhz=(2601, 2600, 2200, 1800, 1200),
            t_states=4,
            memory_mb=int(1.25 * sum(vm.memory_mb for vm in guests)) + 16_384,
            kernel_mb=4_096,
            idle_watts=12.0 * 2 * cores,
            core_watts=13.5,
            cap_watts=60 * 2 * cores,
        ),
        adapters=(Adapter("vmhba0", 255), Adapter("vmhba1", 2048), Adapter("vmhba2", 2048)),
        devices=(_local(), *(_lun(n) for n in range(_luns(vms)))),
        switches=tuple(_switches(vms)),
        vms=guests,
    )


def _luns(vms: int) -> int:
    return -(-vms // _VMS_PER_LUN)


def _local() -> Device:
    name = "t10.ATA_____LABDISK_240G_BOOT________________________LB24000107__"
    return Device(
        name=name,
        paths=("vmhba0:C0:T0:L0",),
        queue_depth=31,
        partitions=2,
        read_ms=0.25,
        write_ms=0.40,
        service_ms=0.05,
        mb_per_s=450.0,
    )


def _lun(number: int) -> Device:
    return Device(
        name=f"naa.6000097000012007000153303{number:07x}",
        paths=(f"vmhba1:C0:T0:L{number + 1}", f"vmhba2:C0:T0:L{number + 1}"),
        queue_depth=64,
        partitions=1,
        read_ms=0.9,
        write_ms=0.6,
        service_ms=0.1,
        mb_per_s=900.0,
    )


def _switches(vms: int) -> Iterator[Switch]:
    number = 0
    for switch in range(2):
        uplinks = max(2, -(-vms // (2 * _VMS_PER_UPLINK)))
        nics = tuple(Nic(f"vmnic{number + n}", 25_000) for n in range(uplinks))
        yield Switch(f"vSwitch{switch}", nics, (f"vmk{switch}",))
        number += uplinks


def _vms(count: int) -> Iterator[Vm]:
    luns = [_lun(n).name for n in range(_luns(count))]
    for number in range(count):
        kind, vcpus, memory_mb, disks, load, pattern = _KINDS[number % len(_KINDS)]
        targets = [luns[(number + n) % len(luns)] for n in range(disks)]
        yield Vm(
            name=f"{kind}-{number:04}",
            vcpus=vcpus,
            memory_mb=memory_mb,
            # by fours, so that both nodes get all kinds
            node=number // len(_KINDS) % 2,
            switch=f"vSwitch{number % 2}",
            disks=tuple(
                VirtualDisk(f"scsi0:{n}", target, 1.0 / disks, 1.0 / disks) for n, target in enumerate(targets)
            ),
            load=load,
            pattern=replace(pattern, offset=37.0 * number),
        )
