"""numactl, /proc/cpuinfo and .vmx, written: our readers, the guests of an article, and what is refused."""

from __future__ import annotations

import re

import compose
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse_simulator.writers.machines import Topology, VmFile, cpuinfo_lines, numactl_text, vmx_text

MANY = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SIGNS = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"])
NAMES = st.text(SIGNS, min_size=1, max_size=30).filter(str.strip)


def cpus_of(machine, node):
    return [place.cpu for place in machine.places() if place.node == node]


def opened(folder, content, kind):
    rec = ex.open(compose.write(folder, content, "host.txt"))
    assert rec.format == kind
    assert not rec.notes
    return rec


@st.composite
def machines(draw):
    sockets, cores, threads = draw(st.integers(1, 8)), draw(st.integers(1, 12)), draw(st.sampled_from([1, 2, 4]))
    nodes = draw(st.sampled_from([n for n in range(1, 17) if sockets * cores % n == 0]))
    memory = draw(st.lists(st.integers(1, 1 << 22), min_size=nodes, max_size=nodes))
    return Topology(
        sockets,
        cores,
        threads,
        nodes,
        tuple(memory),
        draw(st.sampled_from([(), tuple(size // 2 for size in memory)])),
    )


@MANY
@given(machine=machines())
def test_numactl_gives_nodes_and_distances_back(tmp_path, machine):
    rec = opened(tmp_path, numactl_text(machine), "numactl")
    nodes = rec["nodes"].collect().to_dicts()
    assert [row["cpus"] for row in nodes] == [cpus_of(machine, node) for node in range(machine.nodes)]
    assert [row["size_mib"] for row in nodes] == list(machine.memory_mb)
    assert [row["free_mib"] for row in nodes] == list(machine.free_mb or [0] * machine.nodes)
    assert [tuple(row.values()) for row in rec["distances"].collect().to_dicts()] == [
        (node, to, 10 if node == to else 20) for node in range(machine.nodes) for to in range(machine.nodes)
    ]
    assert (rec.meta["threads"], rec.meta["numa_nodes"]) == (len(machine.places()), machine.nodes)
    assert rec.meta["memory_bytes"] == sum(machine.memory_mb) << 20


@MANY
@given(machine=machines())
def test_cpuinfo_gives_every_processor_back(tmp_path, machine):
    rec = opened(tmp_path, b"".join(cpuinfo_lines(machine)), "cpuinfo")
    rows = rec["processors"].collect().to_dicts()
    assert [row["processor"] for row in rows] == list(range(len(machine.places())))
    if machine.cores * machine.threads > 1:
        assert [(row["socket"], row["core"]) for row in rows] == [(one.socket, one.core) for one in machine.places()]
        assert len({row["apicid"] for row in rows}) == len(machine.places())
        assert rec.meta["sockets"] == machine.sockets
        assert rec.meta["cores"] == machine.sockets * machine.cores
    assert (rec.meta["threads"], rec.meta["mhz"]) == (len(machine.places()), 2670.0)
    assert {row["cache_bytes"] for row in rows} == {12288 << 10}


@MANY
@given(
    name=NAMES,
    sockets=st.integers(1, 16),
    cores=st.integers(1, 16),
    hardware=st.integers(3, 21),
    limit=st.sampled_from([None, 4, 8]),
)
def test_a_vmx_gives_the_vm_back(tmp_path, name, sockets, cores, hardware, limit):
    vm = VmFile(
        name,
        sockets * cores,
        8192,
        cores,
        hardware,
        max_per_virtual_node=limit,
        affinity=(22, 23),
        mmu="software",
        vpmc=True,
        freeze_mode="vcpu",
    )
    rec = opened(tmp_path, vmx_text(vm), "vmx")
    meta = rec.meta
    assert (meta["name"], meta["numvcpus"], meta["memsize_mib"]) == (name, vm.vcpus, 8192)
    assert (meta["cores_per_socket"], meta["sockets"], meta["hardware"]) == (cores, sockets, str(hardware))
    assert meta["cpu_affinity"] == "22,23"
    keys = {row["key"]: row["value"] for row in rec["settings"].collect().to_dicts()}
    assert keys.get("numa.vcpu.maxPerVirtualNode") == (None if limit is None else str(limit))
    assert (keys["monitor.virtual_mmu"], keys["vpmc.enable"], keys["vpmc.freezeMode"]) == ("software", "TRUE", "vcpu")


def test_the_guests_of_the_article_are_as_printed():
    uma = Topology(2, 2, memory_mb=(1023,), free_mb=(898,))
    assert numactl_text(uma).splitlines()[:4] == [
        "available: 1 nodes (0-0)", "node 0 cpus: 0 1 2 3", "node 0 size: 1023 MB", "node 0 free: 898 MB",
    ]  # fmt: skip
    numa = Topology(2, 6, nodes=2, memory_mb=(511, 511), free_mb=(439, 462))
    assert numactl_text(numa).splitlines()[:7] == [
        "available: 2 nodes (0-1)",
        "node 0 cpus: 0 1 2 3 4 5", "node 0 size: 511 MB", "node 0 free: 439 MB",
        "node 1 cpus: 6 7 8 9 10 11", "node 1 size: 511 MB", "node 1 free: 462 MB",
    ]  # fmt: skip
    physical = re.findall(rb"physical id\t: (\d)", b"".join(cpuinfo_lines(numa)))
    assert physical == [b"0"] * 6 + [b"1"] * 6


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Topology(0, 1),
        lambda: Topology(99, 99),
        lambda: Topology(1, 3, nodes=2, memory_mb=(1, 1)),
        lambda: Topology(1, 2, nodes=2),
        lambda: Topology(1, 1, memory_mb=(1,), free_mb=(2,)),
        lambda: vmx_text(VmFile("", 1)),
        lambda: vmx_text(VmFile("a", 3, cores_per_socket=2)),
        lambda: vmx_text(VmFile("a", hardware_version=99)),
        lambda: vmx_text(VmFile("a", max_per_virtual_node=0)),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(wrong):
    with pytest.raises(EsxparseError, match=r"^[^\n]+$"):
        wrong()
