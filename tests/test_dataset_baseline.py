"""The dataset of the pre-deployment checklist: each of its questions, answered from the recordings."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest

import esxparse as ex
from esxparse.metrics import io_profile, storage_laws, workload

FOLDER = ex.datasets.folder("baseline")


@cache
def study():
    return ex.datasets.load("baseline")


@cache
def run(pattern: str, size_kib: int, depth: int) -> dict[str, object]:
    """The row of one run of the sweep."""
    return study().runs.filter(pattern=pattern, size_kib=size_kib, depth=depth).collect().row(0, named=True)


@cache
def vmkernel_us_per_io() -> float:
    """VMkernel time of a command: %SYS of the VM's vCPUs, and what the world of its adapter ran."""
    rec = ex.open(FOLDER / "cached-4k-64.csv.bz2")
    mine = rec["vcpu"].filter(group="bench-fio")
    system = mine.filter(pl.col("world").str.contains("vmx-vcpu")).select(pl.col("pct_system")).collect()
    adapter = mine.filter(pl.col("world").str.starts_with("PVSCSI")).select(pl.col("pct_run")).collect()
    samples = rec.meta["samples"]
    busy_pct = (system["pct_system"].sum() + adapter["pct_run"].sum()) / samples
    iops = rec["virtual_disk"].filter(pl.col("disk").is_not_null()).select(pl.col("commands_per_sec").mean())
    return busy_pct / 100 * 1e6 / iops.collect().item()


@cache
def histograms(vm: str) -> pl.LazyFrame:
    return ex.open(FOLDER / f"{vm}.vscsistats.csv")["histograms"]


@cache
def database_iops() -> pl.DataFrame:
    rec = ex.open(FOLDER / "workload.csv.bz2")
    rows = rec["virtual_disk"].filter(pl.col("vm") == "erp-db", pl.col("disk").is_not_null())
    return storage_laws.mean_and_peak(rows.select(iops="commands_per_sec"), ["iops"]).collect()


@cache
def computed() -> dict[str, float]:
    fio = pl.concat([sweep_of(path.name) for path in sorted(FOLDER.glob("*.json"))])
    bounds = storage_laws.upper_bounds(fio.lazy()).collect().row(0, named=True)
    sizes = io_profile.size_mix(histograms("erp-db")).filter(direction="all").collect()
    backup = io_profile.sequential_share(histograms("backup-01")).filter(direction="all").collect()
    peak = database_iops().row(0, named=True)
    return {
        "small_iops": bounds["small_iops"],
        "large_mb_per_s": bounds["mb_per_s"],
        "cached_ms": run("cached", 4, 1)["latency_mean_ms"],
        "random_read_ms": run("randread", 4, 1)["latency_mean_ms"],
        "vmkernel_us_per_io": vmkernel_us_per_io(),
        "database_read_pct": io_profile.read_share(histograms("erp-db")).collect()["read_pct"].item(),
        "database_size_kib": sizes.sort("share_pct", descending=True)["to_bytes"][0] / 1024,
        "backup_sequential_pct": backup["sequential_pct"].item(),
        "database_peak_to_mean": peak["peak"] / peak["mean"],
    }


def sweep_of(name: str) -> pl.DataFrame:
    rec = ex.open(FOLDER / name)
    return workload.results("fio", rec.tables).collect()


def test_the_sweep_is_steady_and_the_workload_is_not():
    runs = study().runs.collect()
    assert runs.height == 24
    assert runs["gap"].null_count() == 24
    assert runs.filter(phase="sweep")["steady"].unique().to_list() == ["steady"]
    (note,) = study().notes
    assert "pattern=production" in str(note)
    assert "not shown to be steady" in str(note)


def test_guest_and_host_tell_of_the_same_response_times():
    sweep = study().runs.filter(phase="sweep", depth=32).collect()
    assert (sweep["gavg_ms"] / sweep["latency_mean_ms"]).to_list() == pytest.approx([1.0] * 20, rel=0.01)


def test_littles_law_holds_in_every_run_of_the_sweep():
    for row in study().runs.filter(phase="sweep").collect().rows(named=True):
        assert row["outstanding_by_law"] == pytest.approx(row["depth"], rel=0.06)


def test_small_ios_are_bound_by_commands_and_large_ones_by_bytes():
    for pattern in ("read", "write"):
        small, large = run(pattern, 4, 32), run(pattern, 1024, 32)
        assert small["iops"] > 20 * large["iops"]
        assert large["mb_per_s"] > 10 * small["mb_per_s"]


def test_the_worst_response_time_is_far_from_the_mean():
    assert run("randread", 4, 32)["latency_max_ms"] > 10 * run("randread", 4, 32)["latency_mean_ms"]


def test_reads_at_random_wait_for_the_disks_and_writes_do_not():
    assert run("randread", 4, 32)["latency_mean_ms"] > 2.5 * run("randwrite", 4, 32)["latency_mean_ms"]
    assert run("randwrite", 4, 32)["iops"] == pytest.approx(run("write", 4, 32)["iops"], rel=0.02)
