"""numactl, /proc/cpuinfo and .vmx, written: our readers, the numactl and the kernel here, and what is refused."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import compose
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse_simulator.writers import cpuinfo, numactl, vmx
from esxparse_simulator.writers.topology import Topology

MANY = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SIGNS = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"])
NAMES = st.text(SIGNS, min_size=1, max_size=30).filter(str.strip)


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
    far = draw(st.integers(11, 99))
    rows = tuple(tuple(10 if at == to else far + abs(at - to) for to in range(nodes)) for at in range(nodes))
    return Topology(
        sockets,
        cores,
        threads,
        nodes,
        tuple(memory),
        draw(st.sampled_from([(), tuple(size // 2 for size in memory)])),
        draw(st.sampled_from([(), rows])),
        draw(st.sampled_from(["last", "next"])),
    )


@MANY
@given(machine=machines(), version=st.sampled_from(["2.0.5", "2.0.14"]))
def test_numactl_gives_nodes_and_distances_back(tmp_path, machine, version):
    rec = opened(tmp_path, numactl.text(machine, version), "numactl")
    nodes = rec["nodes"].collect().to_dicts()
    assert [row["cpus"] for row in nodes] == [machine.cpus_of(node) for node in range(machine.nodes)]
    assert [row["size_mb"] for row in nodes] == list(machine.memory_mb)
    assert [row["free_mb"] for row in nodes] == list(machine.free_mb or [0] * machine.nodes)
    assert [tuple(row.values()) for row in rec["distances"].collect().to_dicts()] == [
        (node, to, machine.distance(node, to)) for node in range(machine.nodes) for to in range(machine.nodes)
    ]
    assert (rec.meta["threads"], rec.meta["numa_nodes"]) == (machine.cpus, machine.nodes)
    assert rec.meta["memory_bytes"] == sum(machine.memory_mb) << 20


@MANY
@given(machine=machines(), version=st.sampled_from(["2.6.32", "6.1"]))
def test_cpuinfo_gives_every_processor_back(tmp_path, machine, version):
    rec = opened(tmp_path, b"".join(cpuinfo.lines(machine, version=version)), "cpuinfo")
    rows = rec["processors"].collect().to_dicts()
    assert [row["processor"] for row in rows] == list(range(machine.cpus))
    if version == "6.1" or machine.cores * machine.threads > 1:
        assert [(row["socket"], row["core"]) for row in rows] == [(one.socket, one.core) for one in machine.places()]
        assert len({row["apicid"] for row in rows}) == machine.cpus
        assert rec.meta["sockets"] == machine.sockets
        assert rec.meta["cores"] == machine.sockets * machine.cores
    assert (rec.meta["threads"], rec.meta["mhz"]) == (machine.cpus, 2670.0)
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
    vm = vmx.Vm(
        name,
        sockets * cores,
        8192,
        cores,
        hardware,
        max_per_virtual_node=limit,
        autosized_per_node=limit,
        affinity=(22, 23),
        mmu="software",
        vpmc=True,
        freeze_mode="vcpu",
        more=(("sched.cpu.latencySensitivity", 'a|"b'),),
    )
    rec = opened(tmp_path, vmx.text(vm), "vmx")
    meta = rec.meta
    assert (meta["name"], meta["numvcpus"], meta["memsize_mb"]) == (name, vm.vcpus, 8192)
    assert (meta["cores_per_socket"], meta["sockets"], meta["hardware"]) == (cores, sockets, str(hardware))
    assert meta["cpu_affinity"] == "22,23"
    keys = {row["key"]: row["value"] for row in rec["settings"].collect().to_dicts()}
    assert keys.get("numa.vcpu.maxPerVirtualNode") == (None if limit is None else str(limit))
    assert (keys["monitor.virtual_mmu"], keys["vpmc.enable"], keys["vpmc.freezeMode"]) == ("software", "TRUE", "vcpu")
    assert keys["sched.cpu.latencySensitivity"] == 'a|"b'


def test_the_guests_of_the_article_are_as_printed():
    uma = Topology(2, 2, memory_mb=(1023,), free_mb=(898,))
    assert numactl.text(uma, "2.0.5").splitlines()[:4] == [
        "available: 1 nodes (0-0)", "node 0 cpus: 0 1 2 3", "node 0 size: 1023 MB", "node 0 free: 898 MB",
    ]  # fmt: skip
    numa = Topology(2, 6, nodes=2, memory_mb=(511, 511), free_mb=(439, 462))
    assert numactl.text(numa, "2.0.5").splitlines()[:7] == [
        "available: 2 nodes (0-1)",
        "node 0 cpus: 0 1 2 3 4 5", "node 0 size: 511 MB", "node 0 free: 439 MB",
        "node 1 cpus: 6 7 8 9 10 11", "node 1 size: 511 MB", "node 1 free: 462 MB",
    ]  # fmt: skip
    physical = re.findall(rb"physical id\t: (\d)", b"".join(cpuinfo.lines(numa, version="2.6.32")))
    assert physical == [b"0"] * 6 + [b"1"] * 6


@pytest.mark.needs("numactl")
def test_the_numactl_here_prints_the_same_byte_by_byte(tmp_path):
    program = shutil.which("numactl")
    real = subprocess.run([program, "--hardware"], capture_output=True, text=True, check=True).stdout
    rec = ex.open(compose.write(tmp_path, real, "here.txt"))
    nodes = rec["nodes"].collect().to_dicts()
    if any(row["cpus"] is None or row["size_mb"] is None for row in nodes) or "distances" not in rec.tables:
        pytest.skip("a machine without NUMA")
    count, cpus = len(nodes), rec.meta["threads"]
    spread = [row["distance"] for row in rec["distances"].collect().to_dicts()]
    machine = Topology(
        1, cpus, 1, count, tuple(row["size_mb"] for row in nodes), tuple(row["free_mb"] for row in nodes),
        tuple(tuple(spread[at * count : (at + 1) * count]) for at in range(count)),
    )  # fmt: skip
    ours = numactl.text(machine)
    if [row["cpus"] for row in nodes] == [machine.cpus_of(node) for node in range(count)]:
        assert ours == real
    assert [re.sub(r"[\d ]+", "0", line) for line in ours.splitlines()] == [
        re.sub(r"[\d ]+", "0", line) for line in real.splitlines()
    ]


def test_an_eight_node_host_is_the_real_one_but_for_its_wraps():
    real = compose.real_data("misc", "numactl_8node_wrapped.txt").read_text()
    sizes = tuple(int(one) for one in re.findall(r"size: (\d+)", real))
    free = tuple(int(one) for one in re.findall(r"free: (\d+)", real))
    rows = re.findall(r"^ *\d+:([ \d]+)$", real, re.MULTILINE)
    distances = tuple(tuple(int(one) for one in row.split()) for row in rows)
    ours = numactl.text(Topology(8, 10, 2, 8, sizes, free, distances))
    assert ours.split() == real.split()


def test_cpuinfo_has_the_keys_of_the_kernel_here_in_its_order():
    if platform.machine() != "x86_64" or not Path("/proc/cpuinfo").exists():
        pytest.skip("no x86 Linux")
    real = [line.partition(":")[0] for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()]
    first = b"".join(cpuinfo.lines(Topology(1, 2))).decode().split("\n\n")[0]
    ours = [line.partition(":")[0] for line in first.splitlines()]
    assert [key for key in real if key in ours] == [key for key in ours if key in real]
    assert len(set(ours) - set(real)) <= 1
    assert set(real) - set(ours) <= {"TLB size\t", "vmx flags\t"}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Topology(0, 1),
        lambda: Topology(99, 99),
        lambda: Topology(1, 3, nodes=2, memory_mb=(1, 1)),
        lambda: Topology(1, 2, nodes=2),
        lambda: Topology(1, 1, memory_mb=(1,), free_mb=(2,)),
        lambda: Topology(1, 1, distances=((10, 20),)),
        lambda: Topology(1, 1, distances=((20,),)),
        lambda: numactl.text(Topology(1, 1), "1.0"),
        lambda: list(cpuinfo.lines(Topology(1, 1), version="4.4")),
        lambda: list(cpuinfo.lines(Topology(1, 1), cpuinfo.Model(mhz=0.0))),
        lambda: vmx.text(vmx.Vm("", 1)),
        lambda: vmx.text(vmx.Vm("a", 3, cores_per_socket=2)),
        lambda: vmx.text(vmx.Vm("a", hardware_version=99)),
        lambda: vmx.text(vmx.Vm("a", max_per_virtual_node=0)),
        lambda: vmx.text(vmx.Vm("a", more=(("no key", "x"),))),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(wrong):
    with pytest.raises(EsxparseError, match=r"^[^\n]+$"):
        wrong()
