"""Nodes: what fits, what a guest sees, and how local memory was."""

from __future__ import annotations

import compose
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse.metrics import numa

SMALL = st.integers(1, 128)
MIB = st.floats(1, 1e6)


@settings(deadline=None)
@given(vcpus=SMALL, cores=SMALL, memory=MIB, node=MIB)
def test_scalar_and_table_agree(vcpus, cores, memory, node):
    fit = numa.node_fit(vcpus, memory, cores, node)
    table = pl.LazyFrame({"vcpus": [vcpus], "memory_mib": [memory]})
    assert numa.node_fits(table, cores, node).collect().to_dicts() == [
        {"vcpus": vcpus, "memory_mib": memory, **fit._asdict()}
    ]
    assert fit.fits == (fit.vcpus_fit and fit.memory_fits)
    assert fit.wide == (fit.nodes > 1)
    assert (fit.nodes - 1) * cores < vcpus <= fit.nodes * cores


def test_a_vm_as_large_as_the_cores_fits_and_one_as_large_as_the_memory_does_not():
    assert numa.node_fit(6, 100, 6, 101).fits
    assert numa.node_fit(6, 100, 6, 100) == (False, True, False, False, 1, 0)


def test_unknown_sizes_are_null():
    got = numa.node_fits(pl.LazyFrame({"vm": ["a"], "vcpus": [4]}), 8, 1000).collect().row(0, named=True)
    assert (got["vcpus_fit"], got["fits"], got["memory_headroom_mib"]) == (True, None, None)
    large = numa.node_fits(pl.LazyFrame({"vm": ["a"], "vcpus": [9]}), 8, 1000).collect().row(0, named=True)
    assert (large["wide"], large["fits"]) == (True, False)


@pytest.mark.parametrize(
    ("settings", "exposed", "nodes", "per_node"),
    [
        ({"release": "4.1"}, False, 1, 12),
        ({"hardware": 7}, False, 1, 12),
        ({"vcpus": 8}, False, 1, 8),
        ({"vcpus": 9}, True, 2, 5),
        ({}, True, 2, 6),
        ({"cpu_hot_add": True}, False, 1, 12),
        ({"cores_per_node": 12}, False, 1, 12),
        ({"cores_per_node": 5}, True, 3, 4),
        ({"cores_per_socket": 4}, True, 3, 4),
        ({"cores_per_socket": 12}, False, 1, 12),
        ({"cores_per_socket": 4, "release": "ESXi 6.5 or later"}, True, 2, 6),
        ({"cores_per_socket": 4, "release": "6.7", "follow_cores_per_socket": True}, True, 3, 4),
        ({"max_per_virtual_node": 4}, True, 3, 4),
        ({"max_per_virtual_node": 8}, True, 2, 8),
        ({"vcpus": 8, "vcpu_min": 8}, True, 2, 4),
        ({"vcpu_min": 13}, False, 1, 12),
        ({"vcpus": 6, "max_per_virtual_node": 2}, True, 3, 2),
        ({"vcpus": 6, "max_per_virtual_node": 2, "vcpu_min": 9}, False, 1, 6),
        ({"vcpus": 8, "max_per_virtual_node": 4}, False, 1, 8),
        ({"vcpus": 7, "max_per_virtual_node": 3}, True, 3, 3),
        ({"vcpus": 6, "max_per_virtual_node": 3}, False, 1, 6),
        ({"vcpus": 5, "max_per_virtual_node": 2}, True, 3, 2),
        ({"vcpus": 4, "max_per_virtual_node": 2}, False, 1, 4),
        ({"vcpus": 3, "max_per_virtual_node": 1}, True, 3, 1),
        ({"vcpus": 2, "vcpu_min": 1, "cores_per_node": 1}, True, 2, 1),
    ],
)
def test_what_a_guest_sees_by_release_and_settings(settings, exposed, nodes, per_node):
    defaults = {"vcpus": 12, "hardware": 8, "release": "5.0", "cores_per_node": 6}
    assert numa.vnuma(**(defaults | settings))[:3] == (exposed, nodes, per_node)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"cpu_hot_add": True}, "CPU hot add is on, which disables virtual NUMA"),
        ({"hardware": 7}, "hardware version 7, and it takes 8"),
        ({"release": "4.1"}, "release 4.1 exposes no NUMA; it takes 5.0"),
        ({"max_per_virtual_node": 4}, "nodes by numa.vcpu.maxPerVirtualNode"),
        ({"cores_per_socket": 4}, "nodes by cpuid.coresPerSocket"),
        ({}, "nodes by cores of the host's nodes, evenly"),
        ({"cores_per_node": 12}, "one node holds it all (cores of the host's nodes, evenly)"),
    ],
)
def test_an_answer_says_what_it_rests_on(settings, why):
    assert numa.vnuma(**({"vcpus": 12, "hardware": 8, "release": "5.0", "cores_per_node": 6} | settings)).why == why


def test_where_article_and_guide_differ_the_answer_says_so():
    disputed = numa.vnuma(6, 8, "5.0", cores_per_node=6, max_per_virtual_node=2)
    assert "the article's word, not the guide's" in disputed.why
    assert "article" not in numa.vnuma(12, 8, "5.0", cores_per_node=6, max_per_virtual_node=2, vcpu_min=9).why


@given(
    vcpus=SMALL,
    cores=st.integers(1, 32),
    socket=st.integers(1, 32),
    release=st.sampled_from(["4.0", "4.1", "5.0", "5.5", "6.0", "6.5", "7.0", "8.0"]),
    most=st.none() | st.integers(1, 16),
)
def test_nodes_hold_all_vcpus(vcpus, cores, socket, release, most):
    seen = numa.vnuma(vcpus, 11, release, cores_per_node=cores, cores_per_socket=socket, max_per_virtual_node=most)
    assert seen.exposed == (seen.nodes > 1)
    assert seen.nodes * seen.vcpus_per_node >= vcpus
    assert (seen.nodes - 1) * seen.vcpus_per_node < vcpus
    assert seen.why


def test_advice_by_release():
    wide = numa.node_fit(12, 1000, cores_per_node=6, node_memory_mib=5000)
    hidden = numa.vnuma(12, 7, "4.1", cores_per_node=6)
    (before,) = numa.advice("4.0", wide)
    (split,) = numa.advice("4.1", wide, hidden)
    assert "no home node" in before
    assert "does not see" in split
    assert numa.advice("5.0", wide, numa.vnuma(12, 8, "5.0", cores_per_node=6)) == ()
    (sockets,) = numa.advice("5.0", numa.node_fit(24, 1000, 6, 5000), numa.VirtualNuma(True, 2, 12, ""))
    assert "sees 2 nodes and the host needs 4" in sockets
    (memory,) = numa.advice("6.7", numa.node_fit(4, 9000, 6, 5000))
    assert "less memory" in memory
    assert numa.advice("4.0", numa.node_fit(4, 1000, 6, 5000)) == ()


@pytest.mark.parametrize("bad", [0, -2])
def test_less_than_one_is_refused(bad):
    with pytest.raises(EsxparseError, match="vcpus must be 1 or more"):
        numa.node_fit(bad, 1, 1, 1)
    for place, what in enumerate(("vcpus", "memory_mib", "cores_per_node", "node_memory_mib")):
        with pytest.raises(EsxparseError, match=f"^{what} must be 1 or more"):
            numa.node_fit(*(bad if place == one else 1 for one in range(4)))
    with pytest.raises(EsxparseError, match="vcpus must be 1 or more"):
        numa.vnuma(bad, 8, "5.0", cores_per_node=6)
    with pytest.raises(EsxparseError, match="cores_per_node must be 1 or more"):
        numa.node_fits(pl.LazyFrame({"vcpus": [1]}), bad, 1)
    with pytest.raises(EsxparseError, match="threads_per_core must be 1 or more"):
        numa.node_size(pl.LazyFrame({"cpus": [[0]], "size_mib": [1]}), bad)


@pytest.mark.parametrize(
    "what", ["vcpus", "hardware", "cores_per_node", "cores_per_socket", "max_per_virtual_node", "vcpu_min"]
)
@pytest.mark.parametrize("bad", [0, -2])
def test_every_number_that_shapes_what_a_guest_sees_is_1_or_more(what, bad):
    with pytest.raises(EsxparseError, match=f"^{what} must be 1 or more, not {bad}$"):
        numa.vnuma(**({"vcpus": 12, "hardware": 8, "release": "5.0", "cores_per_node": 6} | {what: bad}))


def test_a_release_without_a_number_is_refused():
    with pytest.raises(EsxparseError, match="release 'newest' has no number"):
        numa.vnuma(12, 8, "newest", cores_per_node=6)


def test_locality_is_weighted_by_memory_and_empty_samples_do_not_count():
    table = pl.LazyFrame(
        {
            "vm": ["db", "db", "db", "web", "one-node"],
            "numa_local_mib": [3000.0, 100.0, 0.0, 50.0, 0.0],
            "numa_remote_mib": [0.0, 900.0, 0.0, None, 0.0],
        }
    )
    got = {one["vm"]: one for one in numa.locality(table).collect().to_dicts()}
    assert got["db"] == {
        "vm": "db",
        "samples": 2,
        "local_pct": 77.5,
        "min_local_pct": 10.0,
        "max_remote_mib": 900.0,
        "below_samples": 1,
    }
    assert (got["web"]["samples"], got["web"]["local_pct"]) == (0, None)
    assert (got["one-node"]["samples"], got["one-node"]["below_samples"]) == (0, 0)
    assert numa.locality(table, below_pct=5.0).collect()["below_samples"].sum() == 0


def test_a_guest_that_prints_its_nodes_is_what_was_foretold(tmp_path):
    lines = ["available: 2 nodes (0-1)"]
    for node, cpus in ((0, "0 1 2 3 4 5"), (1, "6 7 8 9 10 11")):
        lines += [f"node {node} cpus: {cpus}", f"node {node} size: 511 MB", f"node {node} free: 439 MB"]
    lines += ["node distances:", "node   0   1", "  0:  10  20", "  1:  20  10"]
    rec = ex.open(compose.write(tmp_path, "\n".join(lines) + "\n", "numactl.txt"))
    nodes, cores, _ = numa.node_size(rec["nodes"]).collect().row(0)
    seen = numa.vnuma(12, 8, "5.0", cores_per_node=6, cores_per_socket=6)
    assert (seen.nodes, seen.vcpus_per_node) == (nodes, cores) == (2, 6)
