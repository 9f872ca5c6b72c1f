"""Telling VMs, vCPUs, helpers and idle loops apart by the names real hosts give their worlds."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import inventory

if TYPE_CHECKING:
    from collections.abc import Sequence

# group_id, group, world_id, world, kind: names as ESXi 6.5 writes them, then ESX 4's.
WORLDS = [
    (1, "system", 65537, "idle1", "idle"),
    (1, "system", 65544, "idle0", "idle"),
    (1, "system", 65546, "NetEventWorld", "system"),
    (1, "system", 65953, "tq:NetHealthcheck", "system"),
    (8, "helper", 65600, "fsWorker", "system"),
    (529, "init.65759", 65759, "init", "system"),
    (1456647, "esxtop.489844", 489844, "esxtop", "system"),
    (1423953, "poseidon", 480213, "vmx", "vm helper"),
    (1423953, "poseidon", 480215, "NetWorld-VM-480214", "vm helper"),
    (1423953, "poseidon", 480214, "vmast.480214", "vm helper"),
    (1423953, "poseidon", 480218, "vmx-vthread-6", "vm helper"),
    (1423953, "poseidon", 480233, "vmx-vthread-6:poseidon", "vm helper"),
    (1423953, "poseidon", 480219, "vmx-mks:poseidon", "vm helper"),
    (1423953, "poseidon", 480220, "vmx-svga:poseidon", "vm helper"),
    (1423953, "poseidon", 480221, "vmx-vcpu-0:poseidon", "vcpu"),
    (1423953, "poseidon", 480223, "vmx-vcpu-1:poseidon", "vcpu"),
    (1423953, "poseidon", 480222, "PVSCSI-480214:0", "vm helper"),
    (1302698, "styx", 444774, "vmx-vcpu-0:styx", "vcpu"),
    (1302698, "styx", 444775, "LSI-444768:0", "vm helper"),
    (20, "classic", 1041, "vmm0:classic", "vcpu"),
    (20, "classic", 1042, "vmm1:classic", "vcpu"),
    (20, "classic", 1043, "vcpu-0:classic", "vcpu"),
    (20, "classic", 1044, "vcpu-1:classic", "vcpu"),
    (20, "classic", 1045, "mks:classic", "vm helper"),
    (20, "classic", 1040, "vmware-vmx", "vm helper"),
]


def worlds_frame(rows: Sequence[tuple[int | None, str, int, str, str]], samples: int = 2) -> pl.LazyFrame:
    repeated = [(sample, *row) for sample in range(samples) for row in rows]
    return pl.LazyFrame(
        repeated,
        schema={
            "time": pl.Int64,
            "group_id": pl.Int64,
            "group": pl.String,
            "world_id": pl.Int64,
            "world": pl.String,
            "wanted": pl.String,
        },
        orient="row",
    )


def test_every_world_of_real_hosts_has_its_kind() -> None:
    kinds = worlds_frame(WORLDS).with_columns(inventory.world_kind()).collect()
    wrong = kinds.filter(pl.col("kind") != pl.col("wanted")).unique().select("world", "kind", "wanted").rows()
    assert wrong == []
    assert kinds["kind"].null_count() == 0


def test_vms_are_groups_with_vcpu_worlds_and_vmm_counts_once() -> None:
    assert inventory.vms(worlds_frame(WORLDS)).collect().rows() == [
        (20, "classic", 2),
        (1423953, "poseidon", 2),
        (1302698, "styx", 1),
    ]


def test_vms_have_the_columns_of_the_contract() -> None:
    assert dict(inventory.vms(worlds_frame(WORLDS)).collect_schema()) == {
        "group_id": pl.Int64,
        "vm": pl.String,
        "vcpus": pl.Int64,
    }


@pytest.mark.parametrize("empty", [WORLDS[:7], []])
def test_a_capture_without_vms_has_an_empty_list(empty: Sequence[tuple[int | None, str, int, str, str]]) -> None:
    assert inventory.vms(worlds_frame(empty)).collect().is_empty()


def test_two_vms_of_one_name_stay_two() -> None:
    rows: Sequence[tuple[int | None, str, int, str, str]] = [
        (7, "web", 70, "vmx-vcpu-0:web", ""),
        (9, "web", 90, "vmx-vcpu-0:web", ""),
        (9, "web", 91, "vmx-vcpu-1:web", ""),
    ]
    assert inventory.vms(worlds_frame(rows)).collect().rows() == [(7, "web", 1), (9, "web", 2)]


@pytest.mark.parametrize(
    "name", ["idle", "idle0", "vmx", "vmast.12", "system", "vcpu-7:x", "vmm3:x", "日本語 (1)", "a:b"]
)
def test_a_vm_may_be_called_anything(name: str) -> None:
    rows: Sequence[tuple[int | None, str, int, str, str]] = [
        (7, name, 70, "vmx", ""),
        (7, name, 71, f"vmx-mks:{name}", ""),
        (7, name, 72, f"vmx-vcpu-0:{name}", ""),
        (7, name, 73, f"vmx-vcpu-1:{name}", ""),
        (1, "system", 65537, "idle1", ""),
    ]
    frame = worlds_frame(rows, samples=1)
    assert inventory.vms(frame).collect().rows() == [(7, name, 2)]
    kinds = frame.select(inventory.world_kind()).collect().to_series().to_list()
    assert kinds == ["vm helper", "vm helper", "vcpu", "vcpu", "idle"]


@given(name=st.text(min_size=1, max_size=20), vcpus=st.integers(min_value=1, max_value=20))
def test_vcpus_are_counted_whatever_the_name(name: str, vcpus: int) -> None:
    rows: Sequence[tuple[int | None, str, int, str, str]] = [
        (7, name, 70 + number, f"vmx-vcpu-{number}:{name}", "") for number in range(vcpus)
    ]
    assert inventory.vms(worlds_frame(rows)).collect().rows() == [(7, name, vcpus)]


def test_worlds_without_a_group_id_do_not_make_one_vm_together() -> None:
    rows: Sequence[tuple[int | None, str, int, str, str]] = [
        (None, "?", 70, "vmx-vcpu-0:x", ""),
        (None, "?", 71, "something", ""),
    ]
    frame = worlds_frame(rows, samples=1)
    assert inventory.vms(frame).collect().is_empty()
    assert frame.select(inventory.world_kind()).collect().to_series().to_list() == ["vcpu", "system"]


def test_helpers_of_a_vm_without_vcpu_worlds_are_known_by_name() -> None:
    rows: Sequence[tuple[int | None, str, int, str, str]] = [
        (7, "off", 70, "vmx", ""),
        (7, "off", 71, "vmast.480214", ""),
        (7, "off", 72, "vmxnet-worker", ""),
    ]
    kinds = worlds_frame(rows, samples=1).select(inventory.world_kind()).collect().to_series().to_list()
    assert kinds == ["vm helper", "vm helper", "system"]


def test_only_kinds_keeps_all_columns_and_says_which() -> None:
    kept = inventory.only_kinds(worlds_frame(WORLDS, samples=1), "vcpu", "idle").collect()
    assert kept["kind"].to_list() == ["idle"] * 2 + ["vcpu"] * 7
    assert kept.columns == ["time", "group_id", "group", "world_id", "world", "wanted", "kind"]


def test_only_kinds_refuses_what_it_does_not_know() -> None:
    with pytest.raises(EsxparseError, match=r"unknown kind of world 'vm'.*'vm helper'"):
        inventory.only_kinds(worlds_frame(WORLDS), "vm")
    with pytest.raises(EsxparseError, match="no kind of world given"):
        inventory.only_kinds(worlds_frame(WORLDS))


def test_only_vms_keeps_order_and_drops_system_groups() -> None:
    found = inventory.vms(worlds_frame(WORLDS))
    groups = pl.LazyFrame(
        {
            "time": [0, 0, 0, 1, 1, 1],
            "group_id": [1, 1423953, 1302698] * 2,
            "pct_used": [135.0, 5.0, 6.0, 134.0, 7.0, 8.0],
        }
    )
    assert inventory.only_vms(groups, found).collect().rows() == [
        (0, 1423953, 5.0, "poseidon"),
        (0, 1302698, 6.0, "styx"),
        (1, 1423953, 7.0, "poseidon"),
        (1, 1302698, 8.0, "styx"),
    ]


def test_the_package_loads_nothing_until_it_is_touched() -> None:
    code = (
        "import sys, esxparse.metrics as m; assert 'polars' not in sys.modules; "
        "m.scheduling.per_vcpu; assert 'esxparse.metrics.storage' not in sys.modules; "
        "assert {'numa', 'storage'} < set(dir(m)) and not any(name[0] == '_' for name in dir(m))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_package_has_no_other_attributes() -> None:
    from esxparse import metrics  # noqa: PLC0415 - the module's own __getattr__ is what is tested

    with pytest.raises(AttributeError, match="nonsense"):
        _ = metrics.nonsense
