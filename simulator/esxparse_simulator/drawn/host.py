"""What a drawn host is: the tables of a scenario, healthy and large enough for what its VMs ask for.

Draws are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import fsum
from typing import Any

import numpy as np

from esxparse_simulator.limits import check_number

Tree = dict[str, Any]

_FIRST = datetime(2026, 1, 5, tzinfo=UTC)
_DAYS = 250
_SPEEDS = (1000, 10_000, 25_000, 100_000)
_CORES = {"wide": 8, "crowded": 4}  # that a host has at least, by what a trouble needs
_MEDIA = {"flash": (0.2, 0.9, 0.03), "hybrid": (0.7, 3.5, 0.1)}  # milliseconds from, to, and of service
_MOST_VMS = 70
_FEWEST_VMS = 3


class Dice:
    """Draws, one after another, by a seed."""

    def __init__(self, seed: int) -> None:
        """Nothing drawn yet."""
        self._uniform = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 16]))).random

    def between(self, least: float, most: float) -> float:
        """A number, evenly spread."""
        return least + (most - least) * float(self._uniform())

    def near(self, least: float, most: float) -> float:
        """A number, nearer the least."""
        part = float(self._uniform())
        return round(least + (most - least) * part * part, 3)

    def chance(self, part: float) -> bool:
        """True for `part` of the draws."""
        return float(self._uniform()) < part

    def one(self, of: Sequence[Any]) -> Any:
        """One of these; tables with a `weight` by it."""
        weights = [each.get("weight", 1) if isinstance(each, dict) else 1 for each in of]
        left = self.between(0.0, fsum(weights))
        for each, weight in zip(of, weights, strict=True):
            left -= weight
            if left < 0.0:
                return each
        return of[-1]


def host_tree(has: Tree, dice: Dice, needs: set[str], seed: int, overrides: Mapping[str, float | None]) -> Tree:
    """The tables of a host that has what `needs` names; `overrides` replaces what is drawn of its samples."""
    drawn = {"samples": dice.one(has["samples"]), "interval": dice.one(has["intervals"])}
    tree: Tree = {
        "name": f"random-{seed}",
        "title": f"A host drawn at random, {seed}",
        "start": _FIRST + timedelta(seconds=int(dice.between(0, _DAYS * 86_400))),
        **{key: drawn[key] if value is None else value for key, value in overrides.items()},
        "seed": seed,
        "untidy": round(dice.between(0.7, 1.5), 2),
        "idle_worlds": int(dice.between(160, 520)),
    }
    for name in ("seed", "samples", "interval"):
        check_number(name, tree[name], "random host")
    tree["host"] = _hardware(has, dice, needs)
    _stores(tree, has, dice, needs)
    _vms(tree, has, dice, needs)
    _size(tree, dice)
    return tree


def stores_of(tree: Tree) -> dict[str, list[str]]:
    """Names of what VMs' disks can lie on, by kind; the local disk only where there is nothing else."""
    own = {disk for row in tree["vsan"] for disk in row["devices"]}
    stores = {
        "fc": [row["name"] for row in tree["device"][1:] if row["name"] not in own and "polled" not in row],
        "nfs": [row["name"] for row in tree["nfs"]],
        "vsan": [row["name"] for row in tree["vsan"]],
    }
    return stores if any(stores.values()) else stores | {"local": [tree["device"][0]["name"]]}


def _hardware(has: Tree, dice: Dice, needs: set[str]) -> Tree:
    fits = [
        row
        for row in has["hardware"]
        if row["sockets"] > (2 if "many" in needs else 1 if "nodes" in needs else 0)
        and (row["t_states"] > 1 or "t_states" not in needs)
        and row["sockets"] * row["cores_per_socket"] >= max(_CORES.get(need, 0) for need in (*needs, ""))
    ]
    row = {key: value for key, value in dice.one(fits).items() if key != "weight"}
    name = f"{dice.one(has['sites'])}-esx{int(dice.between(1, 40)):02}.corp.example"
    watts = int(row["idle_watts"] + 2.5 * row["sockets"] * row["cores_per_socket"] * row["core_watts"])
    if dice.chance(0.35) and "sleeps" not in needs:  # as its firmware has it: one clock, whatever is asked
        row |= {"policy": "high performance", "turbo_mhz": row["mhz"], "all_core_mhz": row["mhz"]}
    return {"name": name, **row, "memory_mb": 0, "kernel_mb": 0, "cap_watts": watts, "phase": []}


def _stores(tree: Tree, has: Tree, dice: Dice, needs: set[str]) -> None:
    kinds = {dice.one(has["storage"])} | (needs & {"fc", "nfs", "vsan"})
    block, media = f"{int(dice.between(2**40, 2**41)):x}", dice.one(["flash", "flash", "hybrid"])
    local = f"t10.ATA_____DISK{int(dice.between(100, 999))}_{block}_"
    tree["adapter"] = [{"name": "vmhba0", "queue_depth": dice.one([31, 255])}]
    tree["device"] = [_device(dice, "flash", local, ["vmhba0:C0:T0:L0"], 31, 2)]
    network, hbas = {"vmk": "vmk1"} if "fc" not in kinds else {}, []
    if kinds & {"fc", "iscsi"}:
        hbas = ["vmhba1", "vmhba2"] if "fc" in kinds else ["vmhba64"]
        tree["adapter"] += [{"name": hba, "queue_depth": 2048} for hba in hbas]
    for n in range(1, 2 + int(dice.near(1, 6)) if hbas else 1):
        paths = [f"{hba}:C0:T0:L{n}" for hba in hbas]
        tree["device"].append(_device(dice, media, f"naa.60060160{block}{n:013x}", paths, 64, 1) | network)
    volumes = range(int(dice.between(1, 3)) if "nfs" in kinds else 0)
    tree["nfs"] = [
        _media(dice, "hybrid") | {"name": f"nfs-{dice.one(['tier1', 'iso', 'home'])}-{n}", "vmk": "vmk1"}
        for n in volumes
    ]
    disks = [f"naa.5000c500{block}{n:04x}" for n in range(2 if "vsan" in kinds else 0)]
    tree["device"] += [_device(dice, "flash", disk, [f"vmhba0:C0:T{n + 2}:L0"], 128, 0) for n, disk in enumerate(disks)]
    vsan = _media(dice, "flash") | {"name": "vsanDatastore", "vmk": "vmk1", "devices": disks}
    tree["vsan"] = [vsan] if disks else []


def _device(dice: Dice, media: str, name: str, paths: list[str], depth: int, partitions: int) -> Tree:
    return _media(dice, media) | {"name": name, "paths": paths, "queue_depth": depth, "partitions": partitions}


def _media(dice: Dice, kind: str) -> Tree:
    least, most, service = _MEDIA[kind]
    read = dice.near(least, most)
    write, shared = round(read * dice.between(0.5, 1.2), 3), dice.near(0.1, 0.5)
    return {
        "read_ms": read,
        "write_ms": write,
        "service_ms": service,
        "mb_per_s": 800.0,
        "shared": shared,
        "phase": [],
    }


def _vms(tree: Tree, has: Tree, dice: Dice, needs: set[str]) -> None:
    """VMs until the host is as busy, and as full of vCPUs, as was drawn."""
    host = tree["host"]
    node_pcpus = host["cores_per_socket"] * host["threads_per_core"]
    pcpus = host["sockets"] * node_pcpus
    busy, crowd = dice.near(0.05, 0.6) * pcpus, 1.8 * pcpus if "crowded" in needs else 0.0
    taken, wide = [0.0] * host["sockets"], 0
    stores = [name for names in stores_of(tree).values() for name in names]
    odd = [name for name in has["odd_names"] if dice.chance(0.04)]
    vms = tree["vm"] = []
    while len(vms) < _FEWEST_VMS or (fsum(taken) < busy and len(vms) < _MOST_VMS) or wide < crowd:
        vm = _vm(dice, dice.one(has["kind"]), len(vms) + 1, node_pcpus, dice.one(stores))
        if wide + vm["vcpus"] > max(crowd, 3.0 * pcpus) and len(vms) >= _FEWEST_VMS:
            break
        vm |= {"name": odd.pop() if odd else vm["name"], "node": taken.index(min(taken))}
        taken[vm["node"]] += vm["vcpus"] * vm["load"]["cpu"] / 100.0
        wide += vm["vcpus"]
        vms.append(vm)
    # a crowd of VMs must not ask for more than the host can do
    part = min(1.0, 0.55 * pcpus / fsum(taken))
    for vm in vms:
        vm["load"]["cpu"] = round(vm["load"]["cpu"] * part, 2)


def _vm(dice: Dice, kind: Tree, number: int, most: int, store: str) -> Tree:
    size, name = dice.one(kind["memory_mb"]), dice.one(kind["names"])
    load = {key: dice.near(*value) for key, value in kind["load"].items()}
    used = size * dice.between(*kind["memory"])
    pattern = {
        key: dice.near(*value) if isinstance(value, list) else value
        for key, value in dice.one(kind["patterns"]).items()
    }
    return {
        "name": name.format(n=number),
        "vcpus": min(most, dice.one(kind["vcpus"])),
        "memory_mb": size,
        "switch": "vSwitch0",
        "disks": [{"slot": "scsi0:0", "target": store}],
        "load": load | {"used_mb": round(used, 1), "active_mb": round(used * dice.near(0.05, 0.5), 1)},
        "pattern": pattern | ({"offset": dice.between(0.0, 300.0)} if pattern else {}),
        "jitter": dice.near(0.1, 0.75),
        "cause": name.partition("{")[0] if dice.chance(0.5) else "",
        "phase": [],
    }


def _size(tree: Tree, dice: Dice) -> None:
    """Memory, storage and links with room for what the VMs ask for."""
    host, vms = tree["host"], tree["vm"]
    size = fsum(vm["memory_mb"] for vm in vms) * dice.between(1.15, 2.0) + 4096
    step = 4096 if size < 65_536 else 32_768
    host["memory_mb"] = step * (int(size / step) + 1)
    host["kernel_mb"] = int(1200 + 0.012 * host["memory_mb"])
    through = 0.0
    for store in (*tree["device"], *tree["nfs"], *tree["vsan"]):
        loads = [vm["load"] for vm in vms if vm["disks"][0]["target"] == store["name"]]
        commands = fsum(load["read_iops"] + load["write_iops"] for load in loads)
        kb = (load[f"{way}_iops"] * load.get(f"{way}_kb", 8.0) for load in loads for way in ("read", "write"))
        mb = fsum(kb) / 1024.0
        store["service_ms"] = round(min(store["service_ms"], 250.0 / max(1.0, commands)), 4)
        store["mb_per_s"] = round(max(store["mb_per_s"], 4.0 * mb), 1)
        through += mb
    ways = (
        max(load["tx_pps"] * load["tx_bytes"], load["rx_pps"] * load["rx_bytes"]) for load in (vm["load"] for vm in vms)
    )
    bits = (8.0 * fsum(ways), 8.0 * 2**20 * through)
    speeds = [
        max(dice.one([1000, 10_000, 10_000, 25_000]), next(speed for speed in _SPEEDS if speed * 1e6 > 4.0 * need))
        for need in bits
    ]
    tree["switch"] = [
        {
            "name": f"vSwitch{n}",
            "uplinks": [{"name": f"vmnic{2 * n + k}", "mbits": speed, "phase": []} for k in range(2)],
            "vmkernel": [f"vmk{n}"],
            "vmotion": n == 1,
        }
        for n, speed in enumerate(speeds)
    ]
