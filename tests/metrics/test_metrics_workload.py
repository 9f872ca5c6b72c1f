"""What storage workloads reported, in one vocabulary."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

import esxparse as ex
from esxparse.metrics import workload

SAMPLES = ex.datasets_dir() / "formats"


def results(name):
    rec = ex.open(SAMPLES / name)
    return workload.results(rec.format, rec.tables).collect()


@pytest.mark.parametrize(
    "name",
    ["fio-json-plus.json", "fio-normal.txt", "fio-terse-v5.txt", "iometer-1.1.0.csv", "diskspd-2.1.txt"],
)
def test_every_program_gives_the_same_columns(name):
    frame = results(name)
    assert dict(frame.schema) == workload.COLUMNS
    assert frame.height > 0
    assert (frame["iops"] > 0).all()
    assert set(frame["direction"]) <= {"read", "write", "trim", "all"}


def test_numbers_of_fio_are_those_of_the_file():
    document = json.loads((SAMPLES / "fio-json-plus.json").read_text())
    (job,) = (one for one in document["jobs"] if one["jobname"] == "oltp")
    row = (
        results("fio-json-plus.json").filter(pl.col("test") == "oltp", pl.col("direction") == "read").row(0, named=True)
    )
    assert row["iops"] == pytest.approx(job["read"]["iops"])
    assert row["bandwidth_bytes_per_s"] == pytest.approx(job["read"]["bw_bytes"])
    assert row["latency_mean_ms"] == pytest.approx(job["read"]["lat_ns"]["mean"] / 1e6)
    assert row["p99_ms"] == pytest.approx(job["read"]["clat_ns"]["percentile"]["99.000000"] / 1e6)
    assert row["outstanding"] == int(job["job options"]["iodepth"])
    assert row["pattern"] == "random"


def test_workers_of_one_job_are_one_test_whose_latency_is_weighted():
    document = json.loads((SAMPLES / "fio-json-plus.json").read_text())
    workers = [one["write"] for one in document["jobs"] if one["jobname"] == "log"]
    assert len(workers) == 2
    row = results("fio-json-plus.json").filter(pl.col("test") == "log").row(0, named=True)
    ios = [one["total_ios"] for one in workers]
    weighted = sum(one["lat_ns"]["mean"] * count for one, count in zip(workers, ios, strict=True)) / sum(ios) / 1e6
    assert row["latency_mean_ms"] == pytest.approx(weighted)
    assert row["iops"] == pytest.approx(sum(one["iops"] for one in workers))
    assert row["outstanding"] == 2
    assert row["p99_ms"] is None


def jobs(**columns):
    row = {
        "document": 1,
        "job": "j",
        "hostname": None,
        "direction": "read",
        "rw": "read",
        "ioengine": "libaio",
        "block_size_bytes": 4096,
        "queue_depth": 32,
        "workers": 1,
        "ios": 10,
        "iops": 10.0,
        "bandwidth_bytes_per_s": 40960.0,
        "latency_mean_ms": 1.0,
        "latency_max_ms": 2.0,
    }
    return pl.LazyFrame([{**row, **columns}], schema_overrides={"hostname": pl.String})


def test_a_synchronous_engine_has_one_io_under_way_whatever_its_depth():
    assert workload.from_fio(jobs(ioengine="psync", workers=4)).collect()["outstanding"].item() == 4
    assert workload.from_fio(jobs(workers=4)).collect()["outstanding"].item() == 128


def test_the_sum_of_all_clients_and_idle_directions_are_no_tests():
    assert workload.from_fio(jobs(job="All clients")).collect().is_empty()
    assert workload.from_fio(jobs(ios=0, iops=0.0)).collect().is_empty()
    named = workload.from_fio(jobs(hostname="vm-1")).collect()
    assert named["test"].to_list() == ["j on vm-1"]


def test_outstanding_ios_of_iometer_are_those_of_all_its_targets():
    whole = {
        "run": 1,
        "row_type": "ALL",
        "access_spec": "4K mix",
        "workers": 2,
        "disks": 4,
        "queue_depth": 16,
        "read_iops": 700.0,
        "write_iops": 300.0,
        "read_latency_mean_ms": 1.5,
        "write_latency_mean_ms": 2.5,
        "read_errors": 0,
        "write_errors": 1,
    }
    specs = {"run": 1, "access_spec": "4K mix", "size_bytes": 4096, "share_pct": 100.0, "random_pct": 70.0}
    found = workload.from_iometer(pl.LazyFrame([whole]), pl.LazyFrame([specs])).collect()
    assert found["direction"].to_list() == ["read", "write"]
    assert found["outstanding"].to_list() == [64, 64]
    assert found["pattern"].to_list() == ["70 % random"] * 2
    assert found["latency_mean_ms"].to_list() == [1.5, 2.5]
    assert found["errors"].to_list() == [0, 1]


def test_a_recording_without_tests_is_one_clear_error():
    rec = ex.open(SAMPLES / "fio-mixed_lat.1.log")
    with pytest.raises(ex.EsxparseError, match="logs only, without job results"):
        workload.results(rec.format, rec.tables)
    with pytest.raises(ex.EsxparseError, match="no storage workload"):
        workload.results("esxtop", {"memory": pl.LazyFrame()})


def test_esxtop_says_the_same_in_the_same_words(busy_host):
    frame = workload.host_side(busy_host["virtual_disk"]).collect()
    raw = busy_host["virtual_disk"].filter(pl.col("disk").is_not_null()).collect()
    reads = frame.filter(pl.col("direction") == "read")
    assert reads.height == raw.height
    assert reads["iops"].sum() == pytest.approx(raw["reads_per_sec"].sum())
    assert reads["bandwidth_bytes_per_s"].sum() == pytest.approx(raw["mbytes_read_per_sec"].sum() * 2**20)
    assert frame.filter(pl.col("iops") == 0, pl.col("latency_mean_ms") == 0).is_empty()


def test_a_guest_log_is_laid_on_the_samples_of_the_host():
    start = datetime(2026, 3, 2, 8, tzinfo=UTC)
    times = pl.Series([start + timedelta(seconds=5 * n) for n in range(3)], dtype=pl.Datetime("us", "UTC"))
    host = pl.LazyFrame({"time": times, "name": "db:scsi0:0", "direction": "read", "iops": [9.0, 11.0, 12.0]})
    logged = pl.LazyFrame(
        {
            "time": [start + timedelta(seconds=n) for n in range(1, 11)],
            "metric": "iops",
            "direction": "read",
            "value": [10.0] * 5 + [20.0] * 5,
        },
        schema_overrides={"time": pl.Datetime("us", "UTC")},
    )
    joined = workload.beside_host(logged, host).collect()
    assert joined["time"].to_list() == times[1:].to_list()
    assert joined["guest_iops"].to_list() == [10.0, 20.0]
    assert joined["guest_latency_ms"].to_list() == [None, None]


def test_a_size_is_that_of_all_workers_and_done_is_what_had_ios():
    one, other = jobs().collect(), jobs(block_size_bytes=8192).collect()
    assert workload.from_fio(one.lazy()).collect()["block_size_bytes"].to_list() == [4096]
    assert workload.from_fio(pl.concat([one, one]).lazy()).collect()["block_size_bytes"].to_list() == [4096]
    assert workload.from_fio(pl.concat([one, other]).lazy()).collect()["block_size_bytes"].to_list() == [None]
    # A few I/Os of a long run have a rate that rounds to 0.
    assert workload.from_fio(jobs(ios=1, iops=0.0)).collect().height == 1
    assert workload.from_fio(jobs(iops=0.5).drop("ios")).collect().height == 1


def test_a_test_of_iometer_whose_specification_is_missing_stays():
    whole = {"run": 1, "row_type": "ALL", "access_spec": "4K", "queue_depth": 1, "read_iops": 5.0, "write_iops": 0.0}
    other = {"run": 1, "access_spec": "8K", "size_bytes": 8192, "share_pct": 100.0, "random_pct": 0.0}
    found = workload.from_iometer(pl.LazyFrame([whole]), pl.LazyFrame([other])).collect()
    assert found.select("test", "block_size_bytes", "pattern", "iops").rows() == [("4K", None, None, 5.0)]


def diskspd_total(**columns):
    row = {"run": 1, "timespan": 2, "direction": "read", "level": "total", "ios": 1, "iops": 0.1, "random_pct": 100.0}
    rest = {"bandwidth_bytes_per_s": 409.6, "block_size_bytes": 4096, "queue_depth": 8, "workers": 2}
    return {**row, **rest, "latency_mean_ms": 3.0, **columns}


def test_percentiles_of_diskspd_are_those_of_all_targets():
    rows = [diskspd_total(), diskspd_total(direction="write", ios=0), diskspd_total(direction="all")]
    rows += [diskspd_total(level="target")]
    table = pl.DataFrame(
        [
            {"run": 1, "timespan": 2, "direction": "read", "target": target, "percentile": at, "latency_ms": at + plus}
            for target, plus in (("d:", 100.0), (None, 1.0))
            for at in (50.0, 90.0, 95.0, 99.0, 99.9)
        ]
    )
    for percentiles, wanted in ((table.lazy(), [51.0, 96.0, 100.0, 100.9]), (None, [None] * 4)):
        tables = {"jobs": pl.LazyFrame(rows), **({} if percentiles is None else {"percentiles": percentiles})}
        found = workload.results("diskspd", tables).collect()
        assert found.select("test", "direction", "pattern", "outstanding").rows() == [("run 1.2", "read", "random", 16)]
        assert found.select("p50_ms", "p95_ms", "p99_ms", "p99_9_ms").row(0) == tuple(wanted)


def test_the_host_side_is_sorted_and_names_its_directions():
    table = pl.LazyFrame(
        {
            "time": [1, 0, 0],
            "instance": ["a", "b", "a"],
            "reads_per_sec": [1.0, 2.0, 3.0],
            "writes_per_sec": [4.0, 5.0, 6.0],
            "failed_reads_per_sec": [0.0, 0.5, 9.0],
            "mbytes_written_per_sec": [1.0, 2.0, 3.0],
        }
    )
    found = workload.host_side(table).collect()
    order = ("time", "name", "direction", "iops", "good_iops", "bandwidth_bytes_per_s")
    assert found.select(order).rows() == [
        (0, "a", "read", 3.0, 0.0, None),
        (0, "a", "write", 6.0, 6.0, 3 * 2**20),
        (0, "b", "read", 2.0, 1.5, None),
        (0, "b", "write", 5.0, 5.0, 2 * 2**20),
        (1, "a", "read", 1.0, 1.0, None),
        (1, "a", "write", 4.0, 4.0, 2**20),
    ]
