"""What the writers of fio's outputs write: read by our reader, by fio's own tools, beside fio itself."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import compose
import fio_runs
import polars as pl
import pytest
from fio_runs import side
from hypothesis import HealthCheck, given, settings
from search import examples

import esxparse as ex
from esxparse_simulator.writers import fio_json, fio_normal
from esxparse_simulator.writers.fio_latency import bin_middle, bin_of

if TYPE_CHECKING:
    from esxparse_simulator.writers.fio import FioRun

MANY = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MIDDLES = {bin_middle(index) for index in range(29 * 64)}


def read(folder, text):
    return ex.open(compose.write(folder, text, "output.txt"))


def expected(run: FioRun) -> list[tuple[str, int, int, float]]:
    """Direction, I/Os, block size, mean latency in ms: of each row that the output should have."""
    found = [
        (name, run.ios(one), one.block_bytes, one.latency.mean)
        for worker in run.measured.workers
        for name, one in run.sides(worker).items()
    ]
    if not run.group_reporting:
        return found
    # All jobs of these runs are alike.
    return [(name, ios * len(run.measured.workers), size, mean) for name, ios, size, mean in dict.fromkeys(found)]


def written(run: FioRun) -> str:
    return fio_json.text(run) if run.modern else fio_normal.text(run)


@MANY
@given(run=fio_runs.runs(versions=("fio-3.7",)))
def test_json_gives_back_what_went_in(tmp_path, run):
    rec = read(tmp_path, fio_json.text(run, plus=True))
    jobs = rec["jobs"].collect()
    assert [note for note in rec.notes if note.severity == "warning"] == []
    assert rec.meta["release"] == run.version
    wanted = expected(run)
    assert len(jobs) == len(wanted)
    seconds = run.runtime_ms / 1000
    for row, (direction, ios, size, mean) in zip(jobs.to_dicts(), wanted, strict=True):
        assert (row["direction"], row["runtime_s"], row["error"]) == (direction, seconds, 0)
        assert row["latency_mean_ms"] == pytest.approx(mean, rel=1e-5, abs=1e-5)
        assert row["latency_mean_ms"] == pytest.approx(row["clat_mean_ms"] + (row["slat_mean_ms"] or 0), abs=2e-5)
        assert row["latency_min_ms"] <= row["p50_ms"] * 1.02
        assert row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"] <= row["p99_9_ms"] <= row["clat_max_ms"] * 1.02 + 1e-3
        assert (row["ios"], row["total_bytes"]) == (ios, ios * size)
        assert row["iops"] == pytest.approx(ios / seconds, abs=1e-6)
        assert row["bandwidth_bytes_per_s"] == ios * size * 1000 // run.runtime_ms
        assert (row["rw"], row["ioengine"]) == (run.rw, run.ioengine)
        assert row["queue_depth"] == run.measured.access.outstanding
    bins = rec["latency_bins"].filter(pl.col("source") == "bins").collect()
    assert bins["ios"].sum() == sum(ios for _, ios, _, _ in wanted)
    shares = rec["latency_bins"].filter(pl.col("source") == "distribution").collect()
    for share in shares.group_by("job_number").agg(pl.col("share_pct").sum())["share_pct"]:
        assert share == pytest.approx(100, abs=0.4)


@MANY
@given(run=fio_runs.runs(versions=("fio-2.1.3",)))
def test_normal_output_gives_back_what_went_in(tmp_path, run):
    seconds = run.runtime_ms / 1000
    rec = read(tmp_path, fio_normal.text(run))
    assert [note for note in rec.notes if note.severity == "warning"] == []
    jobs = rec["jobs"].collect().to_dicts()
    wanted = expected(run)
    assert [row["direction"] for row in jobs] == [direction for direction, *_ in wanted]
    for row, (_, ios, size, mean) in zip(jobs, wanted, strict=True):
        assert row["runtime_s"] == seconds
        assert row["latency_mean_ms"] == pytest.approx(mean, rel=6e-3, abs=0.006)
        assert abs(row["iops"] - ios / seconds) <= 1 + 6e-3 * ios / seconds
        assert row["bandwidth_bytes_per_s"] == pytest.approx(ios * size / seconds, rel=6e-3, abs=1025)
        assert row["total_bytes"] == pytest.approx(ios * size, rel=6e-3, abs=1025)
    disks = rec["disks"].collect()
    assert disks["disk"].to_list() == ["sdb"]
    assert disks["read_ios"][0] == sum(run.ios(one.read) for one in run.measured.workers if one.read)


@pytest.mark.parametrize("group", [False, True])
def test_both_outputs_tell_the_same(tmp_path, group):
    runs = [fio_runs.run(version=version, group_reporting=group) for version in ("fio-2.1.3", "fio-3.7")]
    columns = ["iops", "clat_max_ms", "p99_ms", "latency_stddev_ms", "usr_cpu_pct", "context_switches", "minor_faults"]
    old, new = (read(tmp_path, written(run))["jobs"].collect().select(columns).rows() for run in runs)
    for row, other in zip(old, new, strict=True):
        assert other == pytest.approx(row, rel=2e-2, abs=6e-3)


def document(run: FioRun) -> dict:
    return json.loads(fio_json.text(run, plus=True))


@MANY
@given(run=fio_runs.runs(versions=("fio-3.7",)))
def test_bins_are_legal_and_agree_with_all_that_is_made_of_them(run):
    for job in document(run)["jobs"]:
        total = 0
        for name in ("read", "write"):
            one = job[name]
            clat = one["clat_ns"]
            bins = {int(middle): count for middle, count in clat.get("bins", {}).items()}
            assert set(bins) <= MIDDLES
            assert list(bins) == sorted(bins)
            assert sum(bins.values()) == one["total_ios"]
            total += one["total_ios"]
            if not bins:
                continue
            middles = [bin_middle(bin_of(clat[end], 29)) for end in ("min", "max")]
            assert middles == [min(bins), max(bins)]
            mean = sum(middle * count for middle, count in bins.items()) / one["total_ios"]
            assert mean == pytest.approx(clat["mean"], rel=0.008, abs=1)
            for percentile, value in clat["percentile"].items():
                below = sum(count for middle, count in bins.items() if middle < value)
                wanted = float(percentile) / 100 * one["total_ios"]
                assert below < wanted <= below + bins[value] + 1e-6
            assert one["lat_ns"]["mean"] == pytest.approx(clat["mean"] + one["slat_ns"]["mean"], abs=1e-4)
            assert clat["min"] <= one["lat_ns"]["min"] <= one["lat_ns"]["max"]
            assert one["bw_min"] <= one["bw_mean"] <= one["bw_max"]
        depths = job["iodepth_level"]
        assert sum(depths.values()) == pytest.approx(100, abs=0.7)
        assert total > 0


def test_a_group_is_the_sum_of_its_jobs():
    run = fio_runs.run((side(5000, 2.0), side(900, 3.0)), (side(700, 9.0, shape="flash"), None))
    jobs = document(run)["jobs"]
    (group,) = document(replace(run, group_reporting=True))["jobs"]
    for name in ("read", "write"):
        counted = Counter()
        for job in jobs:
            counted.update(job[name]["clat_ns"].get("bins", {}))
        assert group[name]["clat_ns"].get("bins", {}) == dict(sorted(counted.items(), key=lambda one: int(one[0])))
        for key in ("io_bytes", "total_ios", "bw_min", "bw_max", "bw_samples", "iops_samples"):
            assert group[name][key] == sum(job[name][key] for job in jobs)
        weights = [job[name]["total_ios"] for job in jobs]
        means = [job[name]["lat_ns"]["mean"] for job in jobs]
        weighted = sum(mean * weight for mean, weight in zip(means, weights, strict=True)) / sum(weights)
        assert group[name]["lat_ns"]["mean"] == pytest.approx(weighted)
    for key in ("ctx", "minf"):
        assert group[key] == sum(job[key] for job in jobs)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": "fio-9"}, "not a version"),
        ({"sides": (side(100, 0.002), None)}, "not above that of submission"),
        ({"seconds": 0.0}, "time above 0"),
        ({"sides": (side(-4, 1.0), None)}, "I/Os per second"),
        ({"sides": (side(0.0, 1.0), None)}, "no whole I/O"),
        ({"sides": (side(100, 0.0), None), "ioengine": "psync"}, "latency 0.0 ms"),
    ],
)
def test_what_no_fio_can_have_measured_is_refused(change, said):
    sides = [change.pop("sides")] if "sides" in change else []
    with pytest.raises(ex.EsxparseError, match=said):
        fio_json.text(fio_runs.run(*sides, **change))


def test_a_version_refuses_what_it_has_not():
    run = fio_runs.run(version="fio-2.1.3")
    with pytest.raises(ex.EsxparseError, match="as normal output only"):
        fio_json.text(run)
    with pytest.raises(ex.EsxparseError, match="as JSON only"):
        fio_normal.text(fio_runs.run())
    naive = replace(run, measured=replace(run.measured, start=fio_runs.START.replace(tzinfo=None)))
    with pytest.raises(ex.EsxparseError, match="time zone"):
        fio_normal.text(naive)


def test_the_same_run_is_the_same_bytes_and_a_seed_changes_rates_alone():
    for version in fio_runs.VERSIONS:
        one, other = fio_runs.run(version=version), fio_runs.run(version=version, seed=2)
        assert written(one) == written(fio_runs.run(version=version)) != written(other)
    assert document(one)["jobs"][0]["read"].keys() == document(other)["jobs"][0]["read"].keys()
    assert document(one)["jobs"][0]["write"]["runtime"] == document(other)["jobs"][0]["write"]["runtime"]
