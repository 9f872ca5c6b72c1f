"""Commands that fail, and devices that do little else, are told apart from I/O that somebody waits for.

The truth is taken from the cells of a capture by plain arithmetic.
"""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest
from cells import START, capture, columns_of, disk
from compose import real_data
from hypothesis import given
from hypothesis import strategies as st
from templated import alone

import esxparse as ex
from esxparse.metrics import host, storage
from esxparse.studies import capture as of_capture

OPTICAL = {
    "iops": [0.38, 0.60, 0.40],
    "reads": [0.0] * 3,
    "writes": [0.0] * 3,
    "gavg": [31.98, 25.91, 40.0],
    "davg": [31.92, 25.86, 39.9],
}
BUSY = {
    "iops": [1000.0, 1000.0, 100.0],
    "reads": [600.0, 600.0, 60.0],
    "writes": [400.0, 400.0, 40.0],
    "gavg": [1.0, 2.0, 9.0],
    "davg": [0.8, 1.5, 8.0],
    "mib_read": [10.0, 20.0, 3.0],
    "mib_written": [1.0, 2.0, 0.0],
}


def at(sample):
    return START + timedelta(seconds=5 * sample)


def row_of(path):
    return of_capture.metrics(ex.open(path).tables, "6.5")


def summary_of(path, table="physical_disk_scsi_device"):
    rows = storage.summary(storage.latency(ex.open(path)[table])).collect().rows(named=True)
    return {row["device"]: row for row in rows}


@pytest.mark.parametrize("counters", ["all counters", "default fields"])
def test_an_optical_drive_that_fails_everything_makes_no_mean(tmp_path, counters):
    optical = OPTICAL | ({"failed": [0.76, 1.0, 0.8]} if counters == "all counters" else {})
    both = disk("naa.6", **BUSY) | disk("mpx.vmhba0:C0:T5:L0", **optical)
    with_it, without = row_of(capture(tmp_path, both)), row_of(capture(tmp_path, disk("naa.6", **BUSY), "alone.csv"))
    # (1000 x 1 + 1000 x 2 + 100 x 9) / 2100
    assert with_it["gavg_ms"] == pytest.approx(3900 / 2100)
    assert with_it["davg_ms"] == pytest.approx((800 + 1500 + 800) / 2100)
    for name in ("host_iops", "host_read_mb_per_s", "host_write_mb_per_s", "gavg_ms", "davg_ms"):
        assert with_it[name] == pytest.approx(without[name]), name
    assert with_it["host_iops"] == pytest.approx(700)
    assert with_it["left_out_iops"] == pytest.approx(1.38 / 3)
    why = "every command fails" if counters == "all counters" else "few or no reads and writes"
    assert with_it["left_out_devices"] == f"mpx.vmhba0:C0:T5:L0 ({why})"
    assert without["left_out_devices"] is None
    assert without["left_out_iops"] == 0


def test_the_table_of_devices_lists_it_apart_with_its_reason(tmp_path):
    both = disk("naa.6", **BUSY) | disk("mpx.vmhba0:C0:T5:L0", failed=[0.76, 1.0, 0.8], **OPTICAL)
    rec = ex.open(capture(tmp_path, both))
    text = alone("host_health", "host_health.devices", per_device=storage.summary(rec["device"], by="instance")).text
    serving, apart = text.split("Left out above")
    assert "mpx" not in serving
    assert "naa.6" not in apart
    gavg = (0.38 * 31.98 + 0.60 * 25.91 + 0.40 * 40.0) / 1.38
    # Commands, failed commands, and the latency of all of them, as printed.
    assert f"{1.38 / 3:.2f}" in apart
    assert f"{2.56 / 3:.2f}" in apart
    assert f"{gavg:.2f}" in apart
    assert "every command fails" in apart


def test_a_disk_with_some_failed_commands_under_load_stays_in_by_its_good_ones(tmp_path):
    failed = {"failed": [0.0, 900.0, 0.0], "failed_reads": [0.0, 600.0, 0.0], "failed_writes": [0.0, 300.0, 0.0]}
    row = summary_of(capture(tmp_path, disk("naa.6", **BUSY, **failed)))["naa.6"]
    # (1000 x 1 + 100 x 2 + 100 x 9) / 1200: 900 of the second sample's commands failed.
    assert row["gavg_ms"] == pytest.approx(2100 / 1200)
    assert row["gavg_all_ms"] == pytest.approx(3900 / 2100)
    assert (row["left_out"], row["mean_iops"]) == (None, 700.0)
    assert row["failed_per_s"] == pytest.approx(300)


def test_failed_commands_count_where_failed_reads_and_writes_are_not_told(tmp_path):
    row = summary_of(capture(tmp_path, disk("naa.6", **BUSY, failed=[0.0, 900.0, 0.0])))["naa.6"]
    assert row["gavg_ms"] == pytest.approx(2100 / 1200)


def test_where_nothing_tells_reads_and_writes_failed_commands_are_the_only_sign(tmp_path):
    quiet = {"iops": [10.0, 10.0], "gavg": [30.0, 40.0], "failed": [10.0, 10.0]}
    busy = {"iops": [90.0, 10.0], "gavg": [1.0, 11.0], "failed": [0.0, 5.0]}
    path = capture(tmp_path, disk("cd", **quiet) | disk("naa.6", **busy))
    # (90 x 1 + 5 x 11) / 95
    assert row_of(path)["gavg_ms"] == pytest.approx(145 / 95)
    assert summary_of(path)["cd"]["left_out"] == "every command fails"


def test_an_adapter_is_freed_of_other_commands_by_its_reads_and_writes(tmp_path):
    mixed = {
        "iops": [13.16, 17.67],
        "reads": [8.96, 8.43],
        "writes": [3.81, 8.63],
        "gavg": [1.25, 1.08],
        "gavg_read": [0.37, 0.16],
        "gavg_write": [0.27, 0.25],
    }
    path = capture(tmp_path, disk("vmhba0", "Physical Disk Adapter", **mixed))
    total = 8.96 * 0.37 + 3.81 * 0.27 + 8.43 * 0.16 + 8.63 * 0.25
    assert row_of(path)["gavg_ms"] == pytest.approx(total / (8.96 + 3.81 + 8.43 + 8.63))


def test_a_command_or_two_of_rounding_is_no_other_command(tmp_path):
    row = {"iops": [12.78], "reads": [8.96], "writes": [3.81], "gavg": [0.34], "gavg_read": [9.0], "gavg_write": [9.0]}
    assert summary_of(capture(tmp_path, disk("naa.6", **row)))["naa.6"]["gavg_ms"] == pytest.approx(0.34)


def test_a_device_that_mostly_fails_is_told_from_one_that_serves(tmp_path):
    mostly = {"iops": [100.0], "reads": [50.0], "writes": [50.0], "gavg": [5.0], "failed": [91.0]}
    half = {"iops": [100.0], "reads": [50.0], "writes": [50.0], "gavg": [5.0], "failed": [60.0]}
    found = summary_of(capture(tmp_path, disk("a", **mostly) | disk("b", **half)))
    assert (found["a"]["left_out"], found["b"]["left_out"]) == ("most commands fail", None)


def test_a_tenth_of_good_commands_is_enough_to_serve():
    def reason(good):
        rows = pl.LazyFrame({"iops": [100.0], "good_iops": [good], "failed_per_s": [100.0 - good]})
        return rows.select(storage.left_out()).collect().item()

    assert (reason(10.0), reason(9.99)) == (None, "most commands fail")


def test_what_was_not_measured_is_in_no_mean():
    """The first sample of a capture has no rates: they are null, and so is the host's sum."""
    table = pl.LazyFrame(
        {
            "time": [at(0), at(0), at(1), at(1)],
            "instance": ["naa.1", "naa.2"] * 2,
            "commands_per_sec": [None, None, 90.0, 10.0],
            "mbytes_read_per_sec": [None, None, 1.0, 1.0],
            "mbytes_written_per_sec": [None, None, 0.0, 0.0],
            "average_guest_millisec_per_command": [0.0, None, 1.0, 11.0],
        }
    )
    disks = host.disks({"physical_disk_scsi_device": table})
    assert disks is not None
    rows = host.io(disks).collect()
    assert rows["iops"].to_list() == [None, 100.0]
    assert rows["read_mb_per_s"].to_list() == [None, 2 * 1.048576]
    row = of_capture.metrics({"physical_disk_scsi_device": table}, None)
    assert (row["host_iops"], row["gavg_ms"]) == (100.0, 2.0)
    summary = storage.summary(storage.latency(table)).collect()
    assert summary["busy_samples"].to_list() == [1, 1]
    assert summary["mean_iops"].to_list() == [90.0, 10.0]


RATES = st.integers(0, 5000).map(lambda n: n / 100)


@given(
    st.lists(st.tuples(RATES, RATES, st.integers(0, 3000).map(lambda n: n / 100)), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(2, 200), st.integers(1, 9000)), min_size=12, max_size=12),
    st.booleans(),
)
def test_a_device_that_only_fails_changes_no_mean(disks, optical, tells):
    """Whatever the load of the others: means and totals are theirs, and what was left out is stated."""
    good = {
        "time": [at(number) for number in range(len(disks))],
        "instance": ["naa.6"] * len(disks),
        "commands_per_sec": [reads + writes for reads, writes, _ in disks],
        "reads_per_sec": [reads for reads, _, _ in disks],
        "writes_per_sec": [writes for _, writes, _ in disks],
        "average_guest_millisec_per_command": [ms if reads + writes else 0.0 for reads, writes, ms in disks],
    }
    rates = [rate / 100 for rate, _ in optical[: len(disks)]]
    bad = {
        "time": good["time"],
        "instance": ["cd"] * len(disks),
        "commands_per_sec": rates,
        "reads_per_sec": [0.0] * len(disks),
        "writes_per_sec": [0.0] * len(disks),
        "average_guest_millisec_per_command": [ms / 10 for _, ms in optical[: len(disks)]],
    }
    if tells:
        good["failed_commands_per_sec"] = [0.0] * len(disks)
        bad["failed_commands_per_sec"] = [2 * rate for rate in rates]
    frame = pl.concat([pl.LazyFrame(good), pl.LazyFrame(bad)])
    found = of_capture.metrics({"physical_disk_scsi_device": frame}, None)
    done = [reads + writes for reads, writes, _ in disks]
    assert found["host_iops"] == pytest.approx(sum(done) / len(done))
    assert found["left_out_iops"] == pytest.approx(sum(rates) / len(rates))
    if sum(done):
        mean = sum(rate * ms for rate, (_, _, ms) in zip(done, disks, strict=True)) / sum(done)
        assert found["gavg_ms"] == pytest.approx(mean)
    else:
        assert found["gavg_ms"] is None


def test_the_real_host_has_the_latency_of_its_disks():
    path = real_data("esxtop", "esxi65_all_counters.csv")
    cells = columns_of(path, "Physical Disk SCSI Device")
    optical = cells.pop("mpx.vmhba0:C0:T5:L0")
    assert sum(optical["Failed Commands/sec"]) >= sum(optical["Commands/sec"]) > 0
    pairs = [
        (rate, ms)
        for disk_ in cells.values()
        for rate, ms in zip(disk_["Commands/sec"], disk_["Average Guest MilliSec/Command"], strict=True)
    ]
    mean = sum(rate * ms for rate, ms in pairs) / sum(rate for rate, _ in pairs)
    assert 0.25 < mean < 0.28
    row = row_of(path)
    assert row["gavg_ms"] == pytest.approx(mean)
    assert row["left_out_devices"] == "mpx.vmhba0:C0:T5:L0 (every command fails)"
    # The levels below see the same: the path tells the drive apart, the adapter its reads and writes.
    for level in ("physical_disk_path", "physical_disk_adapter"):
        alone = of_capture.metrics({level: ex.open(path)[level]}, "6.5")
        assert alone["gavg_ms"] == pytest.approx(mean, abs=0.01), level
