"""numactl, /proc/cpuinfo and lscpu: composed, real, and damaged."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import compose
import needs
import pytest
from compose import opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex

MANY = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rows(rec, table):
    return rec[table].collect().to_dicts()


def warnings(rec):
    return [note for note in rec.notes if note.severity == "warning"]


def numactl(nodes, distances, width=0):
    """What numactl prints of nodes (CPUs, size, free), its lists wrapped after `width` words."""
    lines = [f"available: {len(nodes)} nodes (0-{len(nodes) - 1})"]
    for node, (cpus, size, free) in enumerate(nodes):
        lines += [
            f"node {node} cpus: {' '.join(map(str, cpus))}",
            f"node {node} size: {size} MB",
            f"node {node} free: {free} MB",
        ]
    if distances:
        lines += ["node distances:", "node   " + "   ".join(str(node) for node in range(len(nodes)))]
        lines += [f"  {node}:  " + "  ".join(map(str, row)) for node, row in enumerate(distances)]
    if width:
        words = ([line.split() if not re.search("size|free|avail|dist", line) else [line]] for line in lines)
        lines = [" ".join(one[at : at + width]) for (one,) in words for at in range(0, max(len(one), 1), width)]
    return "\n".join(lines) + "\n"


def test_numactl_of_eight_nodes_in_wrapped_lines():
    path = compose.real_data("misc", "numactl_8node_wrapped.txt")
    rec = ex.open(path)
    text = path.read_text()
    lists = re.findall(r"node (\d) cpus: ([\d\s]+)\n(?=node)", text)
    assert [(row["node"], row["cpus"]) for row in rows(rec, "nodes")] == [
        (int(node), [int(cpu) for cpu in cpus.split()]) for node, cpus in lists
    ]
    for key in ("size", "free"):
        printed = [int(size) for size in re.findall(rf"node \d {key}: (\d+) MB", text)]
        assert [row[f"{key}_mib"] for row in rows(rec, "nodes")] == printed
    matrix = [[int(word) for word in line.split()[1:]] for line in text.splitlines()[-8:]]
    assert [(row["node"], row["to_node"], row["distance"]) for row in rows(rec, "distances")] == [
        (a, b, matrix[a][b]) for a in range(8) for b in range(8)
    ]
    sizes = [row["size_mib"] for row in rows(rec, "nodes")]
    assert rec.meta == {"numa_nodes": 8, "threads": 160, "memory_bytes": sum(sizes) << 20}
    assert not rec.notes


@MANY
@given(data=st.data(), nodes=st.integers(1, 12), width=st.sampled_from([0, 4, 20]))
def test_what_numactl_writes_is_read_back(tmp_path, data, nodes, width):
    cpus = data.draw(st.lists(st.lists(st.integers(0, 999), max_size=30), min_size=nodes, max_size=nodes))
    sizes = data.draw(st.lists(st.integers(0, 10**7), min_size=nodes, max_size=nodes))
    distances = [[10 + abs(a - b) for b in range(nodes)] for a in range(nodes)]
    rec = opened(
        tmp_path, numactl([(one, size, size // 2) for one, size in zip(cpus, sizes, strict=True)], distances, width)
    )
    assert [(row["cpus"], row["size_mib"], row["free_mib"]) for row in rows(rec, "nodes")] == [
        (one, size, size // 2) for one, size in zip(cpus, sizes, strict=True)
    ]
    assert [row["distance"] for row in rows(rec, "distances")] == [one for row in distances for one in row]


def output(folder, name, *command):
    program = shutil.which(command[0])
    done = subprocess.run([program, *command[1:]], capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"})
    return ex.open(compose.write(folder, done.stdout, name))


@pytest.mark.needs("lscpu", "numactl")
def test_numactl_lscpu_and_cpuinfo_of_this_machine_agree(tmp_path):
    if not Path("/proc/cpuinfo").exists():
        needs.missing("/proc/cpuinfo")
    recordings = {
        "cpuinfo": ex.open(compose.write(tmp_path, Path("/proc/cpuinfo").read_bytes(), "cpuinfo")),
        "numactl": output(tmp_path, "numactl", "numactl", "--hardware"),
        **{
            f"lscpu{option}": output(tmp_path, f"lscpu{option}", "lscpu", *option.split())
            for option in ("", "-J", "-e", "-p")
        },
        "lscpu-J-e": output(tmp_path, "lscpu-J-e", "lscpu", "-J", "-e"),
    }
    assert {name: rec.meta["threads"] for name, rec in recordings.items()} == dict.fromkeys(recordings, os.cpu_count())
    assert rows(recordings["numactl"], "nodes")[0]["size_mib"] > 0
    assert rows(recordings["lscpu"], "caches") == rows(recordings["lscpu-J"], "caches")
    assert recordings["lscpu"].meta == recordings["lscpu-J"].meta
    assert rows(recordings["lscpu-e"], "processors") == rows(recordings["lscpu-J-e"], "processors")
    assert not [note for rec in recordings.values() for note in warnings(rec)]
