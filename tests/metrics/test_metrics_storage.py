"""Latencies weighted by commands, against arithmetic by hand and against counting every command."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esxparse.metrics import storage

LATENCY_COLUMNS = [
    "time",
    "device",
    "iops",
    "read_iops",
    "write_iops",
    "read_mib_per_s",
    "write_mib_per_s",
    "gavg_ms",
    "davg_ms",
    "kavg_ms",
    "qavg_ms",
    "active",
    "queued",
    "good_iops",
    "failed_per_s",
    "gavg_all_ms",
]
SSD = "t10.ATA_____DREVO_X1_SSD____________________________TW1770103538________"


def scsi_devices() -> pl.LazyFrame:
    """Two devices over three samples: one busy at first, idle at last; one never used."""
    return pl.LazyFrame(
        {
            "time": [0, 0, 1, 1, 2, 2],
            "instance": [SSD, "mpx.vmhba0:C0:T5:L0"] * 3,
            "active_commands": [4.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            "queued_commands": [2.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            "commands_per_sec": [300.0, 0.0, 100.0, 0.0, 0.0, 0.0],
            "reads_per_sec": [200.0, 0.0, 90.0, 0.0, 0.0, 0.0],
            "writes_per_sec": [100.0, 0.0, 10.0, 0.0, 0.0, 0.0],
            "mbytes_read_per_sec": [10.0, 0.0, 3.0, 0.0, 0.0, 0.0],
            "mbytes_written_per_sec": [4.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            "average_driver_millisec_per_command": [1.0, 0.0, 5.0, 0.0, 0.0, 0.0],
            "average_kernel_millisec_per_command": [0.0, 0.0, 4.0, 0.0, 0.0, 0.0],
            "average_guest_millisec_per_command": [1.0, 0.0, 9.0, 0.0, 0.0, 0.0],
            "average_queue_millisec_per_command": [0.0, 0.0, 2.0, 0.0, 0.0, 0.0],
        }
    )


def test_latency_names_the_counters_and_drops_what_was_not_measured() -> None:
    got = storage.latency(scsi_devices()).collect()
    assert got.columns == LATENCY_COLUMNS
    ssd = got.filter(pl.col("device") == SSD)
    assert ssd["gavg_ms"].to_list() == [1.0, 9.0, None]
    # 0.00 ms of the kernel with 300 commands is a measurement; without commands it is none
    assert ssd["kavg_ms"].to_list() == [0.0, 4.0, None]
    assert ssd["iops"].to_list() == [300.0, 100.0, 0.0]
    assert ssd["read_mib_per_s"].to_list() == [10.0, 3.0, 0.0]
    assert ssd["queued"].to_list() == [2.0, 0.0, 0.0]


def test_summary_weights_by_commands() -> None:
    got = storage.summary(storage.latency(scsi_devices())).collect()
    assert got["device"].to_list() == ["mpx.vmhba0:C0:T5:L0", SSD]
    ssd = got.row(1, named=True)
    # (300 x 1 + 100 x 9) / 400 = 3, where the plain mean of 1, 9 would say 5 and that of 1, 9, 0 would say 3.33
    assert ssd["gavg_ms"] == 3.0
    # (300 x 1 + 100 x 5) / 400
    assert ssd["davg_ms"] == 2.0
    # (300 x 0 + 100 x 4) / 400
    assert ssd["kavg_ms"] == 1.0
    # (100 x 2) / 400
    assert ssd["qavg_ms"] == 0.5
    # 400 / 3 samples, the idle one counted
    assert ssd["mean_iops"] == pytest.approx(400 / 3)
    assert ssd["max_iops"] == 300.0
    # 14, 4 and 0 MB/s read and written
    assert ssd["mean_mib_per_s"] == pytest.approx(6.0)
    # over the busy samples 1 and 9: 1 + 0.95 x 8
    assert ssd["p95_gavg_ms"] == pytest.approx(8.6)
    assert ssd["max_gavg_ms"] == 9.0
    assert (ssd["samples"], ssd["busy_samples"], ssd["max_queued"]) == (3, 2, 2.0)


def test_a_device_that_did_nothing_has_no_latency() -> None:
    unused = storage.summary(storage.latency(scsi_devices())).collect().row(0, named=True)
    for name in ("gavg_ms", "davg_ms", "kavg_ms", "qavg_ms", "p95_gavg_ms", "max_gavg_ms"):
        assert unused[name] is None
    assert (unused["mean_iops"], unused["busy_samples"], unused["samples"]) == (0.0, 0, 3)


def test_quiet_samples_can_be_left_out_of_the_peaks() -> None:
    got = storage.summary(storage.latency(scsi_devices()), busy_above=100.0).collect().row(1, named=True)
    assert (got["max_gavg_ms"], got["p95_gavg_ms"], got["busy_samples"]) == (1.0, 1.0, 1)
    assert got["gavg_ms"] == 3.0


def test_one_slow_command_among_twenty() -> None:
    # VMware KB 309140: 19 commands of 1 ms and one of 500 ms in a sample are shown as 25.95 ms
    table = pl.LazyFrame(
        {
            "time": [0, 1],
            "instance": ["naa.6"] * 2,
            "commands_per_sec": [20.0, 1980.0],
            "average_guest_millisec_per_command": [25.95, 1.0],
        }
    )
    got = storage.summary(storage.latency(table)).collect()
    # (20 x 25.95 + 1980 x 1) / 2000 = (519 + 1980) / 2000
    assert got["gavg_ms"].item() == pytest.approx(1.2495)


def test_a_command_that_rounds_to_no_rate_keeps_its_latency() -> None:
    table = pl.LazyFrame(
        {
            "time": [0, 1],
            "instance": ["naa.6"] * 2,
            "commands_per_sec": [0.0, 0.0],
            "average_guest_millisec_per_command": [3.5, 0.0],
            "average_kernel_millisec_per_command": [0.0, 0.0],
        }
    )
    got = storage.latency(table).collect()
    assert got["gavg_ms"].to_list() == [3.5, None]
    assert got["kavg_ms"].to_list() == [0.0, None]


def test_nfs_volumes_have_guest_latency_only() -> None:
    nfs = scsi_devices().select(
        "time",
        pl.lit("datastore3-nfs").alias("instance"),
        "commands_per_sec",
        "mbytes_read_per_sec",
        "mbytes_written_per_sec",
        "average_guest_millisec_per_command",
    )
    rows = storage.latency(nfs.filter(pl.int_range(pl.len()) % 2 == 0)).collect()
    assert rows.columns == LATENCY_COLUMNS
    got = storage.summary(rows.lazy()).collect().row(0, named=True)
    assert (got["device"], got["gavg_ms"], got["davg_ms"], got["kavg_ms"]) == ("datastore3-nfs", 3.0, None, None)


def test_a_capture_without_latencies_still_has_rates() -> None:
    bare = scsi_devices().select("time", "instance", "commands_per_sec")
    got = storage.summary(storage.latency(bare)).collect().row(1, named=True)
    assert (got["max_iops"], got["gavg_ms"], got["mean_mib_per_s"], got["busy_samples"]) == (300.0, None, None, 0)


@given(
    samples=st.lists(
        st.tuples(
            st.integers(min_value=0, max_value=50), st.integers(min_value=1, max_value=1000).map(lambda n: n / 10)
        ),
        min_size=1,
        max_size=20,
    )
)
def test_the_weighted_mean_is_the_mean_over_all_commands(samples: list[tuple[int, float]]) -> None:
    every_command = [ms for commands, ms in samples for _ in range(commands)]
    table = pl.LazyFrame(
        {
            "time": range(len(samples)),
            "instance": ["naa.6"] * len(samples),
            "commands_per_sec": [float(commands) for commands, _ in samples],
            "average_guest_millisec_per_command": [ms if commands else 0.0 for commands, ms in samples],
        }
    )
    got = storage.summary(storage.latency(table)).collect()["gavg_ms"].item()
    if every_command:
        assert got == pytest.approx(sum(every_command) / len(every_command))
        assert min(every_command) - 1e-9 <= got <= max(every_command) + 1e-9
    else:
        assert got is None


def test_the_rows_of_vms_do_not_repeat_their_disks() -> None:
    table = pl.LazyFrame(
        {
            "vm": ["ouranos"] * 3 + ["SQL02 (df09cdf2)"] * 2,
            "disk": [None, "scsi0:0", "scsi2:0", None, "scsi0:0"],
            "commands_per_sec": [30.0, 10.0, 20.0, 5.0, 5.0],
        }
    )
    got = storage.virtual_disks(table).collect()
    assert got["commands_per_sec"].sum() == 35.0
    assert got["disk"].to_list() == ["scsi0:0", "scsi2:0", "scsi0:0"]


@pytest.mark.parametrize(
    ("failed", "reads", "writes", "good"),
    [
        # 110 commands, 60 read, 40 write, 10 do neither. Failed reads and writes are known: 8 + 1.
        (12.0, 8.0, 1.0, 91.0),
        # Not known: 12 failed, and up to 10 of them were of the others.
        (12.0, None, None, 98.0),
        (12.0, None, 5.0, 95.0),
        (5.0, None, None, 100.0),
        (500.0, None, None, 0.0),
        (None, None, None, 100.0),
    ],
)
def test_good_commands_read_or_write_and_do_not_fail(
    failed: float | None, reads: float | None, writes: float | None, good: float
) -> None:
    row = {"time": 0, "instance": "naa.6", "commands_per_sec": 110.0, "reads_per_sec": 60.0, "writes_per_sec": 40.0}
    more = {"failed_commands_per_sec": failed, "failed_reads_per_sec": reads, "failed_writes_per_sec": writes}
    got = storage.latency(pl.LazyFrame([row | more], schema_overrides=dict.fromkeys(more, pl.Float64))).collect()
    assert got["good_iops"].item() == pytest.approx(good)
    assert got["failed_per_s"].item() == failed
