"""What the report on NUMA must show: VMs by their .vmx files against the nodes of their host."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from absolute.expected import capture
from absolute.manifest import runs

from page_oracle.arithmetic import value_words
from page_oracle.benchmarks import listed
from page_oracle.compare import Expected, Rows

if TYPE_CHECKING:
    from pathlib import Path

LOCAL_PCT = 80.0


def _vm(path: Path) -> dict[str, float]:
    keys = dict(re.findall(r'^(\S+) = "(.*)"', path.read_text(encoding="utf-8"), re.MULTILINE))
    return {"vcpus": float(keys["numvcpus"]), "memory": float(keys["memSize"])}


def _fit(run: dict) -> dict[str, float] | None:
    """The nodes of a host, and what the VMs of a run ask of one."""
    paths = run["files"].get("vmx", ([], ""))[0]
    if not paths:
        return None
    vms, about = [_vm(path) for path in paths], run["host"]
    esxtop = run["files"].get("esxtop", ([], ""))[0]
    memory = about.get("memory_mib") or capture(esxtop[0]).total("Memory", "Machine MBytes", [0])
    nodes, node = about["numa_nodes"], memory / about["numa_nodes"]
    cores = about["cores"] // nodes
    return {
        "nodes": float(nodes),
        "cores": float(cores),
        "memory": node,
        "vcpus": math.fsum(vm["vcpus"] for vm in vms),
        "wide": float(sum(vm["vcpus"] > cores for vm in vms)),
        "needed": float(math.ceil(max(vm["vcpus"] for vm in vms) / cores)),
        "headroom": node - max(vm["memory"] for vm in vms),
    }


def numa(study, found: Expected) -> None:
    """Each configuration has one run here."""
    fits = {tuple(run["labels"].items()): _fit(run) for run in runs(study.folder)}
    rows, needed, headroom, local, widest = {}, {}, {}, {}, []
    for key in study.configurations:
        labels, fit = dict(key), fits[key]
        named = tuple(_cell(labels.get(name)) for name in study.labels)
        words = ", ".join(str(one) for one in labels.values())
        measured = {
            head: (study.numbers(key, value) or [None])[0]
            for head, value in (("Memory local %", "numa_local_pct"), ("Ready per vCPU %", "ready_pct"))
        }
        rows[named] = measured if study.numbers(key, "numa_local_pct") else {}
        if measured["Memory local %"] is not None:
            local[words,] = {"value": measured["Memory local %"], "runs": 1}
        if fit:
            rows[named] |= {
                "Nodes of the machine": fit["nodes"], "Cores of a node": fit["cores"],
                "Memory of a node MiB": fit["memory"], "vCPUs of the VMs": fit["vcpus"], "Wide VMs": fit["wide"],
                "Nodes needed": fit["needed"], "Headroom MiB": fit["headroom"],
            }  # fmt: skip
            found.tables[0].values[named] |= {
                "NUMA nodes needed": fit["needed"], "Node memory less the largest VM's GiB": fit["headroom"] / 1024
            }  # fmt: skip
            needed[words,] = {"value": fit["needed"], "runs": 1}
            headroom[words,] = {"value": fit["headroom"], "runs": 1}
            said = ", ".join(value_words(name, one) for name, one in key)
            if fit["needed"] > 1:
                widest.append((f"{said}: ", fit["needed"], " nodes of ", fit["cores"], " cores"))
            if fit["headroom"] <= 0:
                over = -fit["headroom"] / 1024
                found.texts.append((f"{said}: a VM has ", over, " GiB more memory than a node: part of it is remote."))
    found.texts.append(listed("The widest VM has more vCPUs than a node has cores: ", widest))
    low = [one["value"] for one in local.values() if one["value"] < LOCAL_PCT]
    found.texts += [
        (f"{', '.join(words)}: only ", one["value"], " % of the VMs' memory is local.")
        for words, one in local.items()
        if one["value"] in low
    ]
    well = [one["value"] for one in local.values() if one["value"] >= LOCAL_PCT]
    found.texts.append(("In ", float(len(well)), " captures ", min(well), " % or more of the memory is local."))
    found.tables.append(Rows("VMs and nodes", tuple(study.labels), rows, ordered=False))
    titles = (
        "Nodes that the widest VM needs",
        "Memory of a node less the largest VM",
        "Memory that is local to its node",
    )
    gib = {"MiB": 1.0, "GiB": 1 / 1024}
    found.charts += [
        Rows(titles[0], ("place",), needed, ordered=False),
        Rows(titles[1], ("place",), headroom, ordered=False, scales=gib),
        Rows(titles[2], ("place",), local, ordered=False),
        Rows(titles[2], ("at",), {(LOCAL_PCT,): {}}, ordered=False),
    ]
    fit_one = [one for one in fits.values() if one and one["needed"] == 1 and one["headroom"] > 0]
    every = [one for one in fits.values() if one]
    words = " configurations fit one node with all vCPUs and all memory of their VMs."
    found.texts.append((float(len(fit_one)), " of ", float(len(every)), words))


def _cell(value: object) -> str:
    return "\N{EN DASH}" if value is None else str(value)
