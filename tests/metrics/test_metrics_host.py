"""Physical CPUs, memory and power of the host, and the memory of its VMs."""

from __future__ import annotations

import polars as pl
import pytest

from esxparse.errors import EsxparseError
from esxparse.metrics import host, host_cpu, memory, power


def physical_cpu() -> pl.LazyFrame:
    """Four PCPUs of two hyper-threaded cores and their `_Total`, two samples."""
    return pl.LazyFrame(
        {
            "time": [0] * 5 + [1] * 5,
            "instance": ["0", "1", "2", "3", "_Total"] * 2,
            "pcpu": [0, 1, 2, 3, None] * 2,
            "pct_processor_time": [70.0, 60.0, 2.0, 0.0, 33.0, 120.0, 0.0, 0.0, 0.0, 30.0],
            "pct_util_time": [90.0, 80.0, 5.0, 1.0, 44.0, 40.0, 40.0, 40.0, 40.0, 40.0],
            "pct_core_util_time": [99.0, 99.0, 6.0, 6.0, 52.5, 40.0, 40.0, 40.0, 40.0, 40.0],
        }
    )


def test_used_and_util_stay_apart() -> None:
    got = host_cpu.pcpu(physical_cpu()).collect()
    assert got.columns == ["time", "pcpu", "used_pct", "util_pct", "core_util_pct"]
    assert got.row(5) == (1, 0, 120.0, 40.0, 40.0)
    assert got.row(4) == (0, None, 33.0, 44.0, 52.5)


def test_default_fields_without_util_give_null_util() -> None:
    old = physical_cpu().select("time", "pcpu", "pct_processor_time")
    got = host_cpu.pcpu(old).collect()
    assert got["util_pct"].null_count() == 10
    assert host_cpu.imbalance(got.lazy()).collect().is_empty()
    assert host_cpu.imbalance(got.lazy(), "used_pct").collect().height == 2


def test_imbalance_leaves_the_total_out() -> None:
    got = host_cpu.imbalance(host_cpu.pcpu(physical_cpu())).collect()
    assert got.columns == ["time", "pcpus", "mean_pct", "min_pct", "max_pct", "spread_pct", "busiest_pcpu"]
    # (90 + 80 + 5 + 1) / 4 = 44, as _Total says; 90 - 1 = 89
    assert got.row(0) == (0, 4, 44.0, 1.0, 90.0, 89.0, 0)
    assert got.row(1) == (1, 4, 40.0, 40.0, 40.0, 0.0, 0)


def test_imbalance_of_work_is_another_question() -> None:
    got = host_cpu.imbalance(host_cpu.pcpu(physical_cpu()), "used_pct").collect()
    # mean 120 / 4, and no word of the even load that util shows
    assert got.row(1) == (1, 4, 30.0, 0.0, 120.0, 120.0, 0)


def test_imbalance_refuses_other_measures() -> None:
    with pytest.raises(EsxparseError, match=r"unknown measure 'pct_used': choose from used_pct, util_pct"):
        host_cpu.imbalance(host_cpu.pcpu(physical_cpu()), "pct_used")  # type: ignore[arg-type]


def host_memory() -> pl.LazyFrame:
    return pl.LazyFrame(
        {
            "time": [0, 1],
            "instance": pl.Series([None, None], dtype=pl.String),
            "memory_overcommit_1_minute_avg": [0.25, 0.26],
            "machine_mbytes": [32763.0] * 2,
            "kernel_mbytes": [724.0] * 2,
            "nonkernel_mbytes": [26660.0] * 2,
            "free_mbytes": [4878.0, 900.0],
            "kernel_minfree_mbytes": [1907.0] * 2,
            "kernel_state": [0.0, 1.0],
            "pshare_savings_mbytes": [1664.0] * 2,
            "swap_used_mbytes": [0.0, 12.0],
            "swap_mbytes_read_per_sec": [0.5, 0.25],
            "swap_mbytes_write_per_sec": [0.0, 3.0],
            "total_compressed_mbytes": [0.0, 6.0],
            "memctl_current_mbytes": [0.0, 512.0],
        }
    )


def test_host_memory_under_short_names() -> None:
    got = memory.host(host_memory(), release="6.5").collect()
    assert got.columns == [
        "time",
        "machine_mib",
        "vmkernel_mib",
        "other_mib",
        "free_mib",
        "minfree_mib",
        "balloon_mib",
        "swap_used_mib",
        "compressed_mib",
        "pshare_saved_mib",
        "swap_in_mib_per_s",
        "swap_out_mib_per_s",
        "state",
        "state_name",
        "overcommit",
    ]
    assert got.row(1) == (
        1, 32763.0, 724.0, 26660.0, 900.0, 1907.0, 512.0, 12.0, 6.0, 1664.0, 0.25, 3.0, 1.0, "clear", 0.26,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("6.5", ["high", "clear", "soft", "hard", "low", None]),
        ("6.0", ["high", "clear", "soft", "hard", "low", None]),
        ("ESXi 6.7 or later", ["high", "clear", "soft", "hard", "low", None]),
        ("8.0 U2", ["high", "clear", "soft", "hard", "low", None]),
        ("ESXi 5.5", ["high", "soft", "hard", "low", None, None]),
        ("ESX 4.1", ["high", "soft", "hard", "low", None, None]),
        ("3.5", ["high", "soft", "hard", "low", None, None]),
        (None, ["high", None, None, None, "low", None]),
        ("unknown", ["high", None, None, None, "low", None]),
    ],
)
def test_the_number_of_the_state_means_another_thing_in_each_release(
    release: str | None, names: list[str | None]
) -> None:
    table = pl.LazyFrame({"time": range(6), "kernel_state": [0.0, 1.0, 2.0, 3.0, 4.0, None]})
    assert memory.host(table, release).collect()["state_name"].to_list() == names


def test_classic_esx_prints_the_service_consoles_swap_first() -> None:
    table = pl.LazyFrame(
        {
            "time": [0],
            "free_mbytes": [4878.0],
            "free_mbytes_2": [57.0],
            "swap_mbytes_read_per_sec": [9.0],
            "swap_mbytes_write_per_sec": [8.0],
            "swap_mbytes_read_per_sec_2": [1.0],
            "swap_mbytes_write_per_sec_2": [2.0],
        }
    )
    got = memory.host(table, "4.1").collect().row(0, named=True)
    assert (got["free_mib"], got["swap_in_mib_per_s"], got["swap_out_mib_per_s"]) == (4878.0, 1.0, 2.0)


def test_a_capture_without_memory_counters_has_null_columns() -> None:
    got = memory.host(pl.LazyFrame({"time": [0]})).collect()
    assert all(value is None for name, value in got.row(0, named=True).items() if name != "time")
    assert got["state_name"].dtype == pl.String


VMS = pl.LazyFrame({"group_id": [1423953, 1302698], "vm": ["poseidon", "styx"], "vcpus": [2, 1]})


def group_memory() -> pl.LazyFrame:
    return pl.LazyFrame(
        {
            "time": [0] * 3,
            "group_id": [529, 1302698, 1423953],
            "group": ["init.65759", "styx", "poseidon"],
            "memory_size_mbytes": [4.0, 1024.0, 6222.84],
            "memctl_mbytes": [0.0, 0.0, 1230.57],
            "swapped_mbytes": [0.0, 0.0, 102.52],
            "used_compressed_memory_mbytes": [0.0, 0.0, 7.0],
            "compressed_memory_mbytes": [0.0, 0.0, 99.0],
            "numa_local_memory_mbytes": [0.0, 768.0, 0.0],
            "numa_remote_memory_mbytes": [0.0, 256.0, 0.0],
            "numa_pct_local": [0.0, 75.0, 0.0],
        }
    )


def test_nought_per_cent_local_of_nothing_is_no_measurement() -> None:
    assert memory.vms(group_memory(), VMS).collect()["numa_local_pct"].to_list() == [75.0, None]
    without_sizes = group_memory().drop("numa_local_memory_mbytes", "numa_remote_memory_mbytes")
    assert memory.vms(without_sizes, VMS).collect()["numa_local_pct"].to_list() == [75.0, 0.0]


def test_power_of_the_host_without_its_p_states() -> None:
    table = pl.LazyFrame(
        {
            "time": [0, 0, 1, 1],
            "p_state": [None, 0, None, 0],
            "power_usage_now_watts": [170.0, None, 230.0, None],
            "power_usage_cap_watts": [0.0, None, 500.0, None],
            "p_state_mhz": [None, 2400.0, None, 2400.0],
        }
    )
    assert power.host(table).collect().rows() == [(0, 170.0, None), (1, 230.0, 500.0)]


def test_a_host_without_a_meter_draws_null_and_not_nothing() -> None:
    table = pl.LazyFrame(
        {"time": [0], "p_state": pl.Series([None], dtype=pl.Int64), "power_usage_now_watts": [0.0]},
    )
    assert power.host(table).collect().rows() == [(0, None, None)]


def level(*rows: tuple[int, str, float], **columns: object) -> pl.LazyFrame:
    """A level of the storage stack: time, instance, commands per second."""
    frame = pl.LazyFrame(rows, schema=["time", "instance", "commands_per_sec"], orient="row")
    return frame.with_columns(**{name: pl.lit(value, pl.String) for name, value in columns.items()})


def disks(tables: dict[str, pl.LazyFrame]) -> pl.LazyFrame:
    """The rows of disks that are there."""
    rows = host.disks(tables)
    assert rows is not None
    return rows


def test_io_of_the_host_is_of_one_level_of_its_disks_and_of_nfs_volumes() -> None:
    adapter, nfs = level((0, "vmhba0", 70.0)), level((0, "nfs1", 5.0))
    device = level((0, "naa.1", 40.0), (0, "naa.2", 30.0))
    both = {"physical_disk_adapter": adapter, "physical_disk_scsi_device": device, "physical_disk_nfs_volume": nfs}
    assert [table.collect().height for table in host.disk_tables(both)] == [2, 1]
    rows = host.disks(both)
    assert rows is not None
    assert rows.collect()["device"].to_list() == ["naa.1", "naa.2", "nfs1"]
    assert rows.collect()["left_out"].to_list() == [None] * 3
    total = host.io(rows)
    assert total.collect()["iops"].to_list() == [75.0]
    assert [table.collect().height for table in host.disk_tables({"physical_disk_nfs_volume": nfs})] == [1]
    for table in ("physical_disk_adapter", "physical_disk_path", "physical_disk"):
        alone = host.io(disks({table: adapter}))
        assert alone.collect()["iops"].to_list() == [70.0]


def test_rows_of_the_paths_of_a_disk_count_its_commands_once() -> None:
    with_paths = pl.concat([level((0, "naa.1", 40.0), path=None), level((0, "naa.1:p", 40.0), path="vmhba0:C0:T0:L0")])
    total = host.io(disks({"physical_disk": with_paths}))
    assert total.collect()["iops"].to_list() == [40.0]


def test_without_disks_or_cpus_there_is_nothing_to_tell() -> None:
    assert (host.disks({}), host.cpu({}), host.nominal_mhz({})) == (None,) * 3
    assert host.disk_tables({"memory": level((0, "x", 1.0))}) == []


def test_a_sample_without_a_number_is_null_and_two_of_one_time_are_two() -> None:
    device = level((0, "a", None), (1, "a", 10.0), (1, "b", 1.0), (1, "a", 20.0), (1, "b", 2.0))  # type: ignore[arg-type]
    total = host.io(disks({"physical_disk": device}))
    assert total.select("time", "_place", "iops").collect().rows() == [(0, 0, None), (1, 0, 11.0), (1, 1, 22.0)]


def test_what_is_left_out_has_its_means_over_the_samples() -> None:
    device = level((0, "cd", 0.25), (0, "z", 0.25), (0, "naa.1", 40.0), (1, "cd", 0.75), (1, "z", 0.75))
    failing = pl.when(pl.col("instance") != "naa.1").then(pl.col("commands_per_sec") * 2)
    device = device.with_columns(failing.alias("failed_commands_per_sec"))
    apart = host.left_out(disks({"physical_disk": device}))
    assert apart.collect().rows() == [("cd", "every command fails", 0.5, 1.0), ("z", "every command fails", 0.5, 1.0)]
    total = host.io(disks({"physical_disk": device}))
    assert total.select("iops", "left_out_iops").collect().rows() == [(40.0, 0.5), (0.0, 1.5)]


def test_cpu_of_the_host_is_its_total_where_there_is_one() -> None:
    with_total = host.cpu({"physical_cpu": physical_cpu()})
    assert with_total is not None
    assert with_total.collect().rows() == [(0, 0, 33.0, 44.0, 52.5), (1, 0, 30.0, 40.0, 40.0)]
    pcpus = host.cpu({"physical_cpu": physical_cpu().filter(pl.col("pcpu").is_not_null())})
    assert pcpus is not None
    # (70 + 60 + 2 + 0) / 4 and so on
    assert pcpus.collect().rows() == [(0, 0, 33.0, 44.0, 52.5), (1, 0, 30.0, 40.0, 40.0)]
    assert pcpus.collect().columns == ["time", "_place", "used_pct", "util_pct", "core_util_pct"]


@pytest.mark.parametrize(
    ("mhz", "nominal"),
    [
        ([2601.0, 2600.0, 1200.0], 2600.0),
        # 2 MHz apart are two P-states, and one P-state is the nominal one.
        ([2602.0, 2600.0, 1200.0], 2602.0),
        ([2600.0], 2600.0),
        ([0.0, None], None),
        # 0.5 MHz is a P-state's frequency as well as any.
        ([0.5], 0.5),
    ],
)
def test_the_nominal_clock_is_the_highest_p_state_but_for_turbo(mhz: list[float | None], nominal: float | None) -> None:
    states = pl.LazyFrame(
        {"p_state": range(len(mhz)), "p_state_mhz": mhz}, schema_overrides={"p_state_mhz": pl.Float64}
    )
    assert host.nominal_mhz({"power": states}) == nominal
    assert host.nominal_mhz({"power": states.drop("p_state")}) is None
    assert host.nominal_mhz({"power": states.drop("p_state_mhz")}) is None


def test_a_p_state_that_was_seen_lower_once_counts_by_its_highest() -> None:
    seen = pl.LazyFrame({"p_state": [0, 0, 1], "p_state_mhz": [2601.0, 2599.0, 2600.0]})
    assert host.nominal_mhz({"power": seen}) == 2600.0
