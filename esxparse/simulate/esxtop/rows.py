"""What esxtop prints for each block of columns: counter names to values, from a `Snapshot`.

One function per table of counters, named for it. Counters a function does not give are printed as zero. -1 is "no
limit" or "not applicable", -3 "normal" shares, as in real captures. Group values are sums over the group's worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import fsum
from typing import TYPE_CHECKING, cast

from esxparse.simulate.esxtop.disk_rows import DISK_TABLES
from esxparse.simulate.esxtop.memory_rows import MEMORY_TABLES

if TYPE_CHECKING:
    from esxparse.simulate.model.cpu import WorldTimes
    from esxparse.simulate.model.engine import Capture, Snapshot
    from esxparse.simulate.esxtop.columns import Key
    from esxparse.simulate.host import Nic
    from esxparse.simulate.model.network import PortTraffic
    from esxparse.simulate.model.worlds import Group

__all__ = ["values"]

Values = Mapping[str, float]
_MHZ_HELD = 48  # of entitlement for a world that asks for nothing


def values(key: Key, snapshot: Snapshot, of: Capture) -> Values:
    """Values of the block `key` in `snapshot`, by counter name."""
    return _TABLES[key[0]](key, snapshot, of)


def _cpu_load(_key: Key, now: Snapshot, _of: Capture) -> Values:
    spans = ("1", "5", "15")
    return {f"Cpu Load ({span} Minute Avg)": value for span, value in zip(spans, now.cpu_load, strict=True)}


def _cpu_used(key: Key, now: Snapshot, _of: Capture) -> Values:
    return {"% Processor Time": _pcpu(key, [pcpu.used for pcpu in now.pcpus])}


def _cpu_util(key: Key, now: Snapshot, _of: Capture) -> Values:
    return {"% Util Time": _pcpu(key, [pcpu.util for pcpu in now.pcpus])}


def _cpu_core(key: Key, now: Snapshot, _of: Capture) -> Values:
    return {"% Core Util Time": _pcpu(key, [pcpu.core_util for pcpu in now.pcpus])}


def _pcpu(key: Key, column: list[float]) -> float:
    return column[cast("int", key[1])] if key[1] is not None else fsum(column) / len(column)


def _power(_key: Key, now: Snapshot, of: Capture) -> Values:
    return {"Power Usage Now Watts": now.watts, "Power Usage Cap Watts": float(of.scenario.host.cap_watts)}


def _p_state(key: Key, _now: Snapshot, of: Capture) -> Values:
    return {"P-State MHZ": float(of.scenario.host.p_states_mhz[cast("int", key[1])])}


def _nothing(_key: Key, _now: Snapshot, _of: Capture) -> Values:
    return {}


def _group_cpu(key: Key, now: Snapshot, of: Capture) -> Values:
    group = _group(key, of)
    worlds = [now.worlds[world.number] for world in group.worlds]
    vcpus = [now.worlds[world.number] for world in group.worlds if world.kind == "vcpu"]
    vm = group.vm
    limit = vm.cpu_limit_mhz if vm else None
    return {
        **_times(worlds),
        "Members": float(len(worlds)),
        "% VmWait": fsum(times.wait - times.idle for times in vcpus),
        "Alloc Min": float(vm.cpu_reservation_mhz) if vm else 0.0,
        "Alloc Max": float(limit) if limit else -1.0,
        "Alloc Shares": -3.0 if vm else 500.0 if group.gid == 1 else 1000.0,
        "Alloc Min Limited": -1.0 if vm or group.own else 0.0,
        "Effective Min (MHz)": float(_MHZ_HELD * len(worlds)),
        "Timers/sec": (vm.load.timers * (1.0 + fsum(times.run for times in vcpus) / 100.0)) if vm else 0.0,
        "Power Usage Watts": now.vm_watts.get(group.gid, 0.0),
    }


def _vcpu(key: Key, now: Snapshot, of: Capture) -> Values:
    times = now.worlds[cast("int", key[2])]
    vcpu = any(world.number == key[2] and world.kind == "vcpu" for world in _group(key, of).worlds)
    return {
        **_times([times]),
        "% VmWait": times.wait - times.idle,
        "Alloc Max": -1.0,
        "Alloc Shares": 1000.0,
        "Alloc Min Limited": -1.0 if vcpu else 0.0,
        "Effective Min (MHz)": 0.0 if times.idler else float(_MHZ_HELD),
        "Physical Cpu": float(times.pcpu),
    }


def _times(worlds: Iterable[WorldTimes]) -> dict[str, float]:
    rows = list(worlds)
    return {
        "% Used": fsum(row.used for row in rows),
        "% Run": fsum(row.run for row in rows),
        "% System": fsum(row.system for row in rows),
        "% Wait": fsum(row.wait for row in rows),
        "% Ready": fsum(row.ready for row in rows),
        "% Idle": fsum(row.idle for row in rows),
        "% Overlap": fsum(row.overlap for row in rows),
        "% CoStop": fsum(row.costop for row in rows),
        "% Max Limited": fsum(row.max_limited for row in rows),
        "% Swap Wait": fsum(row.swap_wait for row in rows),
        "Switches/sec": fsum(row.switches for row in rows),
        "Migrates/sec": fsum(row.migrates for row in rows),
        "Quantum Expires/sec": fsum(row.expires for row in rows),
        "Wakeups/sec": fsum(row.wakeups for row in rows),
        "% CPU Latency": fsum(row.latency for row in rows),
        "% Memory Latency": fsum(row.swap_wait for row in rows),
        "% Demand": fsum(row.demand for row in rows),
    }


def _network_port(key: Key, now: Snapshot, of: Capture) -> Values:
    kind, name = key[1], key[2]
    if kind == "uplink":
        return {**_link(_nic(str(name), of)), **_port(now.uplinks[str(name)])}
    if kind == "vmk":
        return _port(now.vmk_ports[str(name)])
    return _port(now.vm_ports[cast("int", name)]) if kind == "vm" else {}


def _link(nic: Nic) -> dict[str, float]:
    return {"Link Up?": 1.0, "Link Speed (Mb/s)": float(nic.mbits), "Full Duplex?": 1.0}


def _port(port: PortTraffic) -> dict[str, float]:
    return {
        "Packets Transmitted/sec": port.tx,
        "MBits Transmitted/sec": port.tx_mbits,
        "Average Packet Size  Transmitted (Bytes)": float(int(port.tx_bytes)),
        "Packets Received/sec": port.rx,
        "MBits Received/sec": port.rx_mbits,
        "Average Packet Size  Received (Bytes)": float(int(port.rx_bytes)),
        "% Received Packets Dropped": port.rx_dropped_pct,
        "Multicast Packets Received/sec": port.multicast,
        "Broadcast Packets Received/sec": port.broadcast,
    }


def _interrupt(key: Key, now: Snapshot, _of: Capture) -> Values:
    vector = now.interrupts[cast("int", key[1])]
    rate = vector.total if key[2] is None else vector.rates[cast("int", key[2])]
    return {
        "Interrupts/second": rate,
        "Processing Time MicroSec/Interrupt": vector.microseconds if rate > 0.0 else 0.0,
    }


def _pcpu_power(key: Key, now: Snapshot, _of: Capture) -> Values:
    power = now.pcpus[cast("int", key[1])].power
    states = {f"%C-State C{n}": value for n, value in enumerate(power.c_states)}
    states |= {f"%P-State P{n}": value for n, value in enumerate(power.p_states)}
    return {**states, "%T-State T0": 100.0, "% of aperf/mperf": 100.0 * power.clock}


def _group(key: Key, of: Capture) -> Group:
    return next(group for group in of.groups if group.gid == key[1])


def _nic(name: str, of: Capture) -> Nic:
    return next(nic for switch in of.scenario.switches for nic in switch.uplinks if nic.name == name)


_TABLES: dict[str, Callable[[Key, Snapshot, Capture], Values]] = {
    **DISK_TABLES,
    **MEMORY_TABLES,
    "Physical Cpu Load": _cpu_load,
    "Physical Cpu/used": _cpu_used,
    "Physical Cpu/util": _cpu_util,
    "Physical Cpu/core": _cpu_core,
    "Power": _power,
    "Power/p-state": _p_state,
    "VSAN": _nothing,
    "Group Cpu": _group_cpu,
    "Vcpu": _vcpu,
    "Network Port": _network_port,
    "Interrupt Cookie": _interrupt,
    "PCPU Power State": _pcpu_power,
}
