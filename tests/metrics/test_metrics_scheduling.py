"""Per-vCPU scheduling numbers, worked out by hand, and the laws of ms against percent."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from cells import columns_of
from compose import real_data
from hypothesis import given
from hypothesis import strategies as st

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse.metrics import inventory, scheduling

START = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
TIMES = [START, START + timedelta(seconds=5)]
VMS = pl.LazyFrame({"group_id": [1423953, 1302698], "vm": ["poseidon", "styx"], "vcpus": [2, 1]})
COLUMNS = [
    "time",
    "group_id",
    "vm",
    "vcpus",
    "ready_pct",
    "max_limited_pct",
    "contention_pct",
    "costop_pct",
    "swap_wait_pct",
    "used_pct",
    "run_pct",
    "system_pct",
    "overlap_pct",
    "lat_c_pct",
    "lat_m_pct",
    "ready_from",
]


def group_cpu() -> pl.LazyFrame:
    return pl.LazyFrame(
        {
            "time": pl.Series([TIMES[0]] * 3 + [TIMES[1]] * 3, dtype=pl.Datetime("us", "UTC")),
            "instance": ["1:system", "1423953:poseidon", "1302698:styx"] * 2,
            "group_id": [1, 1423953, 1302698] * 2,
            "group": ["system", "poseidon", "styx"] * 2,
            "members": [150.0, 9.0, 8.0] * 2,
            "pct_used": [135.0, 56.0, 20.0, 134.0, 60.0, 21.0],
            "pct_run": [13500.0, 86.0, 22.0, 13400.0, 90.0, 23.0],
            "pct_ready": [3.0, 39.3, 12.0, 4.0, 20.0, 7.5],
            "pct_max_limited": [0.0, 0.0, 4.0, 0.0, 20.02, 0.0],
            "pct_costop": [0.0, 7.0, 0.0, 0.0, 0.0, 0.0],
            "pct_swap_wait": [0.0, 0.0, 1.5, 0.0, 0.0, 0.0],
            "pct_system": [1.0, 2.0, 0.5, 1.0, 2.0, 0.5],
            "pct_overlap": [1.0, 1.0, 0.25, 1.0, 1.0, 0.25],
            "pct_cpu_latency": [1.0, 44.0, 15.0, 1.0, 21.0, 8.0],
            "pct_memory_latency": [0.0, 3.0, 0.5, 0.0, 0.0, 0.0],
        }
    )


def test_group_values_are_divided_by_the_vcpus() -> None:
    got = scheduling.per_vcpu(group_cpu(), VMS).collect()
    assert got.columns == COLUMNS
    assert got.select("time", "vm", "vcpus").rows() == [
        (TIMES[0], "poseidon", 2),
        (TIMES[0], "styx", 1),
        (TIMES[1], "poseidon", 2),
        (TIMES[1], "styx", 1),
    ]
    # 39.3/2; 12; 20/2; 7.5
    assert got["ready_pct"].to_list() == [19.65, 12.0, 10.0, 7.5]
    # 0; 4; 20.02/2; 0
    assert got["max_limited_pct"].to_list() == [0.0, 4.0, 10.01, 0.0]
    # 19.65-0; 12-4; 10-10.01 is under 0; 7.5-0
    assert got["contention_pct"].to_list() == [19.65, 8.0, 0.0, 7.5]
    # 7/2
    assert got["costop_pct"].to_list() == [3.5, 0.0, 0.0, 0.0]
    assert got["swap_wait_pct"].to_list() == [0.0, 1.5, 0.0, 0.0]
    # 56/2; 20; 60/2; 21
    assert got["used_pct"].to_list() == [28.0, 20.0, 30.0, 21.0]
    # 86/2; 22; 90/2; 23
    assert got["run_pct"].to_list() == [43.0, 22.0, 45.0, 23.0]
    assert got["system_pct"].to_list() == [1.0, 0.5, 1.0, 0.5]
    assert got["overlap_pct"].to_list() == [0.5, 0.25, 0.5, 0.25]
    # 44/2; 15; 21/2; 8
    assert got["lat_c_pct"].to_list() == [22.0, 15.0, 10.5, 8.0]
    assert got["lat_m_pct"].to_list() == [1.5, 0.5, 0.0, 0.0]


def test_counters_a_capture_lacks_are_null_columns() -> None:
    got = scheduling.per_vcpu(group_cpu().drop("pct_max_limited", "pct_costop"), VMS).collect()
    assert got.columns == COLUMNS
    for lacking in ("max_limited_pct", "contention_pct", "costop_pct"):
        assert got[lacking].dtype == pl.Float64
        assert got[lacking].null_count() == 4
    assert got["ready_pct"].to_list() == [19.65, 12.0, 10.0, 7.5]


def test_nothing_is_read_before_collect() -> None:
    assert isinstance(scheduling.per_vcpu(group_cpu(), VMS), pl.LazyFrame)
    assert isinstance(scheduling.each_vcpu(vcpu()), pl.LazyFrame)


def vcpu() -> pl.LazyFrame:
    """Worlds of one VM of two vCPUs and one daemon, as esxtop splits the group of `group_cpu` up."""
    return pl.LazyFrame(
        {
            "time": [TIMES[0]] * 4,
            "group_id": [1423953, 1423953, 1423953, 529],
            "group": ["poseidon", "poseidon", "poseidon", "init.65759"],
            "world_id": [480213, 480221, 480223, 65759],
            "world": ["vmx", "vmx-vcpu-0:poseidon", "vmx-vcpu-1:poseidon", "init"],
            "pct_ready": [0.3, 36.0, 3.0, 0.0],
            "pct_max_limited": [0.0, 1.0, 0.0, 0.0],
            "pct_vmwait": [100.0, 12.0, 0.0, None],
        }
    )


def test_each_vcpu_shows_what_the_mean_over_vcpus_hides() -> None:
    got = scheduling.each_vcpu(vcpu()).collect()
    assert got.select("vm", "world_id", "vcpu", "ready_pct", "contention_pct", "vm_wait_pct").rows() == [
        ("poseidon", 480221, 0, 36.0, 35.0, 12.0),
        ("poseidon", 480223, 1, 3.0, 3.0, 0.0),
    ]
    assert got["costop_pct"].null_count() == 2


PERCENT = st.floats(min_value=0.0, max_value=100.0, allow_nan=False)


@given(ready=PERCENT, share=st.floats(min_value=0.0, max_value=1.0), vcpus=st.integers(min_value=1, max_value=128))
def test_contention_and_limit_make_up_ready(ready: float, share: float, vcpus: int) -> None:
    group = pl.LazyFrame({"time": [0], "group_id": [7], "pct_ready": [ready], "pct_max_limited": [ready * share]})
    found = pl.LazyFrame({"group_id": [7], "vm": ["x"], "vcpus": [vcpus]})
    row = scheduling.per_vcpu(group, found).collect().row(0, named=True)
    assert row["contention_pct"] >= 0
    assert math.isclose(row["contention_pct"] + row["max_limited_pct"], row["ready_pct"], abs_tol=1e-9)


@given(ready=PERCENT, limited=PERCENT)
def test_contention_is_never_negative_nor_above_ready(ready: float, limited: float) -> None:
    frame = pl.LazyFrame({"ready_pct": [ready], "max_limited_pct": [limited]})
    assert 0 <= frame.select(scheduling.contention()).collect().item() <= ready


@pytest.mark.parametrize(
    ("ms", "interval_s", "vcpus", "pct"),
    [
        (400, 20, 1, 2.0),  # the power study: 2 % = 400 ms in real-time charts
        (200, 20, 1, 1.0),
        (2_000, 20, 1, 10.0),  # 10 % per vCPU in each of vCenter's charts
        (30_000, 300, 1, 10.0),
        (180_000, 1_800, 1, 10.0),
        (720_000, 7_200, 1, 10.0),
        (8_640_000, 86_400, 1, 10.0),
        (5_000, 20, 4, 6.25),  # (5000 / 20000) x 100 = 25 % of the VM, / 4 vCPUs
        (0, 20, 8, 0.0),
    ],
)
def test_ms_and_percent_as_published(ms: float, interval_s: float, vcpus: int, pct: float) -> None:
    assert scheduling.ms_to_pct(ms, interval_s, vcpus) == pytest.approx(pct)
    assert scheduling.pct_to_ms(pct, interval_s, vcpus) == pytest.approx(ms)


@given(
    pct=PERCENT,
    interval_s=st.floats(min_value=0.1, max_value=86_400, allow_nan=False),
    vcpus=st.integers(min_value=1, max_value=256),
)
def test_there_and_back_is_the_same(pct: float, interval_s: float, vcpus: int) -> None:
    ms = scheduling.pct_to_ms(pct, interval_s, vcpus)
    assert scheduling.ms_to_pct(ms, interval_s, vcpus) == pytest.approx(pct, abs=1e-12)


def test_expressions_go_through_the_same_arithmetic() -> None:
    frame = pl.LazyFrame({"ms": [400.0, 5000.0], "vcpus": [1, 4]})
    got = frame.select(
        scheduling.ms_to_pct(pl.col("ms"), 20, pl.col("vcpus")).alias("pct"),
        scheduling.pct_to_ms(2.0, 20, pl.col("vcpus")).alias("two_percent"),
    ).collect()
    assert got["pct"].to_list() == [2.0, 6.25]
    assert got["two_percent"].to_list() == [400.0, 1600.0]


@pytest.mark.parametrize("interval_s", [0, -20, math.nan, math.inf])
def test_an_interval_that_is_no_interval_is_refused(interval_s: float) -> None:
    for convert in (scheduling.ms_to_pct, scheduling.pct_to_ms):
        with pytest.raises(EsxparseError, match="positive number of seconds"):
            convert(1.0, interval_s)


@pytest.mark.parametrize("vcpus", [0, -1, math.nan])
def test_less_than_one_vcpu_is_refused(vcpus: float) -> None:
    with pytest.raises(EsxparseError, match="vCPUs must be 1 or more"):
        scheduling.ms_to_pct(400, 20, vcpus)


def test_the_waits_of_a_vm_are_those_of_its_vcpus_and_its_use_is_its_groups() -> None:
    got = scheduling.per_vcpu(group_cpu(), VMS, vcpu()).collect()
    first = got.row(0, named=True)
    # (36 + 3) / 2 and (1 + 0) / 2, where the group's sum says 39.3 / 2: the vmx waited too.
    assert (first["ready_pct"], first["max_limited_pct"], first["contention_pct"]) == (19.5, 0.5, 19.0)
    assert (first["used_pct"], first["run_pct"], first["system_pct"]) == (28.0, 43.0, 1.0)
    # Counters that only the group has are the group's.
    assert first["costop_pct"] == 3.5
    assert first["ready_from"] == "vCPU worlds"
    # Another VM, and another sample, that the worlds do not tell of: the group, and it says so.
    assert got.select("ready_pct", "ready_from").rows()[1:] == [(12.0, "group"), (10.0, "group"), (7.5, "group")]
    assert got.columns == COLUMNS


def test_a_vcpu_that_is_missing_makes_the_group_stand_in() -> None:
    def of(number: int) -> tuple[float, float, str]:
        worlds = vcpu().filter(pl.col("world_id") != number)
        row = scheduling.per_vcpu(group_cpu(), VMS, worlds).collect().row(0, named=True)
        return row["ready_pct"], row["max_limited_pct"], row["ready_from"]

    assert of(480213) == (19.5, 0.5, "vCPU worlds")  # the vmx is no vCPU
    for world in (480221, 480223):
        assert of(world) == (19.65, 0.0, "group")


def test_of_a_vm_that_has_left_the_host_nobody_tells_waits() -> None:
    """It was told as one whose group stands in for its vCPUs."""
    waits = ["pct_ready", "pct_max_limited", "pct_costop", "pct_swap_wait", "pct_overlap"]
    left = [
        frame.with_columns(pl.lit(None, pl.Float64).alias(name) for name in waits if name in frame)
        for frame in (group_cpu().collect(), vcpu().collect())
    ]
    got = scheduling.per_vcpu(left[0].lazy(), VMS, left[1].lazy()).collect()
    assert got.select("ready_pct", "ready_from").unique().rows() == [(None, None)]


def test_a_damaged_cell_of_a_vcpu_makes_the_group_stand_in_for_ready_and_its_limit() -> None:
    damaged = vcpu().with_columns(
        pct_max_limited=pl.when(pl.col("world_id") != 480223).then("pct_max_limited"),
        pct_swap_wait=pl.lit(0.25),
    )
    row = scheduling.per_vcpu(group_cpu(), VMS, damaged).collect().row(0, named=True)
    assert (row["ready_pct"], row["max_limited_pct"], row["ready_from"]) == (19.65, 0.0, "group")
    assert row["swap_wait_pct"] == 0.25


def test_vms_of_one_name_keep_their_own_worlds() -> None:
    group = pl.LazyFrame({"time": [0, 0], "group_id": [1, 2], "pct_ready": [50.0, 5.0]})
    worlds = pl.LazyFrame(
        {
            "time": [0, 0, 0],
            "group_id": [1, 2, 2],
            "group": ["web"] * 3,
            "world_id": [10, 20, 21],
            "world": ["vmx-vcpu-0:web", "vmx-vcpu-0:web", "vmx-vcpu-1:web"],
            "pct_ready": [40.0, 1.0, 3.0],
        }
    )
    got = scheduling.per_vcpu(group, inventory.vms(worlds), worlds).collect()
    assert got.select("group_id", "vm", "vcpus", "ready_pct").rows() == [(1, "web", 1, 40.0), (2, "web", 2, 2.0)]


@pytest.mark.parametrize(
    ("told", "waits"),
    [
        ([1.0, 0.5, 2.0, 0.5], ("vCPU worlds", 2.0)),
        # Half of a vCPU's time is not all of it.
        ([1.0, None, 2.0, 0.5], ("group", 4.5)),
        ([None, 0.5, 2.0, 0.5], ("group", 4.5)),
    ],
)
def test_the_two_worlds_of_a_vcpu_of_esx_4_add_up(told: list[float | None], waits: tuple[str, float]) -> None:
    group = pl.LazyFrame({"time": [0], "group_id": [9], "pct_ready": [9.0]})
    worlds = pl.LazyFrame(
        {
            "time": [0] * 4,
            "group_id": [9] * 4,
            "group": ["old"] * 4,
            "world_id": [1, 2, 3, 4],
            "world": ["vmm0:old", "vcpu-0:old", "vmm1:old", "vcpu-1:old"],
            "pct_ready": told,
        }
    )
    row = scheduling.per_vcpu(group, inventory.vms(worlds), worlds).collect().row(0, named=True)
    assert (row["vcpus"], row["ready_from"], row["ready_pct"]) == (2, *waits)


def test_samples_of_one_time_keep_their_own_waits() -> None:
    group = pl.LazyFrame({"time": [0, 0], "group_id": [9, 9], "pct_ready": [3.0, 8.0]})
    worlds = pl.LazyFrame(
        {
            "time": [0, 0],
            "group_id": [9, 9],
            "group": ["db"] * 2,
            "world_id": [1, 1],
            "world": ["vmx-vcpu-0:db"] * 2,
            "pct_ready": [2.0, 7.0],
        }
    )
    assert scheduling.per_vcpu(group, inventory.vms(worlds), worlds).collect()["ready_pct"].to_list() == [2.0, 7.0]


def test_the_lowest_vcpus_that_a_part_of_a_capture_lacks_are_counted_all_the_same() -> None:
    worlds = pl.LazyFrame({"group_id": [9], "group": ["db"], "world": ["vmx-vcpu-3:db"]})
    assert inventory.vms(worlds).collect()["vcpus"].item() == 4


def test_the_real_vms_wait_as_their_vcpus_do() -> None:
    path = real_data("esxtop", "esxi65_all_counters.csv")
    cells = columns_of(path, "Vcpu")
    own = {
        instance.split(":")[1]: values["% Ready"]
        for instance, values in cells.items()
        if "vmx-vcpu-0" in instance and not any("vmx-vcpu-1:" + instance.split(":")[1] in one for one in cells)
    }
    assert {"styx", "ananke"} <= set(own)
    rec = ex.open(path)
    got = scheduling.per_vcpu(rec["group_cpu"], inventory.vms(rec["vcpu"]), rec["vcpu"]).collect()
    for vm, values in own.items():
        assert got.filter(vm=vm).sort("time")["ready_pct"].to_list() == pytest.approx(values), vm
    # By the group it looked three times as long.
    assert max(columns_of(path, "Group Cpu")["1302698:styx"]["% Ready"]) > 2 * max(own["styx"])


def test_waits_have_the_same_last_digit_every_time(busy_host):
    """A sum depends on the order of its parts: rounded means lie half-way between decimals, and pages would differ."""
    vms = inventory.vms(busy_host["vcpu"])
    waits = scheduling.per_vcpu(busy_host["group_cpu"], vms, busy_host["vcpu"])
    first = waits.collect()
    assert all(waits.collect().equals(first) for _ in range(10))
