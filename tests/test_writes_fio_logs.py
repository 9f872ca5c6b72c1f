"""What the writers of fio's logs write: read by our reader, by fio's own tools; the I/Os that the outputs tell of."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import compose
import fio_runs
import needs
import polars as pl
import pytest
from fio_runs import side
from hypothesis import HealthCheck, given, settings
from search import examples

import esxparse as ex
from esxparse_simulator.writers import fio_json, fio_logs

if TYPE_CHECKING:
    from esxparse_simulator.writers.fio_run import FioRun

FEW = settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LATENCIES = ("lat", "clat", "slat")
VERSIONS = ("fio-2.1.3", "fio-3.7", "fio-3.28", "fio-3.36")
TOOLS = Path("/usr/share/doc/fio")


def small(**more) -> FioRun:
    return fio_runs.run((side(900.0, 2.0), side(300.0, 4.0)), (side(50.0, 1.0), None), **{"seconds": 20.4} | more)


def folder_of(path: Path, run: FioRun, *, average: int | None, histogram: int | None = None) -> Path:
    """The output and logs of a run, as fio leaves them."""
    compose.write(path, fio_json.text(run, plus=run.modern), "out.json")
    for job in range(len(run.measured.workers)):
        for kind in ("bw", "iops", *LATENCIES):
            text = b"".join(fio_logs.lines(run, job, kind, log_avg_msec=average))
            compose.write(path, text, fio_logs.log_name("oltp", kind, job + 1))
        if histogram:
            text = b"".join(fio_logs.histogram_lines(run, job, log_hist_msec=histogram))
            compose.write(path, text, fio_logs.log_name("oltp", "clat_hist", job + 1))
    return path


def warnings(rec) -> list[str]:
    return [note.message for note in rec.notes if note.severity == "warning"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_log_of_each_io_has_the_ios_of_the_output(tmp_path, version):
    run = small(version=version)
    rec = ex.open(folder_of(tmp_path, run, average=None))
    assert warnings(rec) == []
    series = rec["series"].collect()
    for job in rec["jobs"].filter(pl.col("total_bytes") > 0).collect().to_dicts():
        own = series.filter(pl.col("job_number") == job["job_number"], pl.col("direction") == job["direction"])
        for metric, prefix in (("lat", "latency"), ("clat", "clat"), ("slat", "slat")):
            values = own.filter(pl.col("metric") == metric)["value"]
            place = job["job_number"] - 1
            assert len(values) == run.ios(getattr(run.measured.workers[place], job["direction"]))
            unit = 1 / run.unit_ms
            assert values.mean() == pytest.approx(job[f"{prefix}_mean_ms"], abs=unit)
            assert values.std() == pytest.approx(job[f"{prefix}_stddev_ms"], rel=0.02, abs=unit)
            assert (values.min(), values.max()) == pytest.approx((job[f"{prefix}_min_ms"], job[f"{prefix}_max_ms"]))
    assert series["elapsed_s"].max() <= 20.4


@FEW
@given(run=fio_runs.runs(versions=("fio-3.28",), most=1))
def test_the_same_line_of_each_log_is_the_same_io(run):
    if sum(run.ios(one) for one in run.sides(run.measured.workers[0]).values()) > 200_000:
        return
    kinds = ("clat", "lat", "bw", "iops") if run.ioengine == "psync" else ("clat", "lat", "bw", "iops", "slat")
    logs = {kind: b"".join(fio_logs.lines(run, 0, kind)).decode().splitlines() for kind in kinds}
    rows = {kind: [tuple(map(int, line.split(", "))) for line in text] for kind, text in logs.items()}
    for place, (time, clat, code, size, priority) in enumerate(rows["clat"]):
        slat = rows["slat"][place][1] if "slat" in rows else 0
        assert rows["lat"][place] == (time, pytest.approx(clat + slat, abs=1), code, size, 0)
        assert rows["bw"][place] == (time, size * 1_000_000 // max(clat, 1), code, size, 0)
        assert rows["iops"][place] == (time, 1, code, size, priority)
    times = [row[0] for row in rows["clat"]]
    assert times == sorted(times)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("average", [100, 1000])
def test_averages_have_the_means_of_the_run(tmp_path, version, average):
    run = small(version=version)
    rec = ex.open(folder_of(tmp_path, run, average=average))
    assert warnings(rec) == []
    series = rec["series"].collect()
    for job in rec["jobs"].filter(pl.col("total_bytes") > 0).collect().to_dicts():
        own = series.filter(pl.col("job_number") == job["job_number"], pl.col("direction") == job["direction"])
        wanted = {
            "bandwidth": job["bandwidth_bytes_per_s"],
            "iops": job["iops"],
            "lat": job["latency_mean_ms"],
            "clat": job["clat_mean_ms"],
        }
        for metric, value in wanted.items():
            found = own.filter(pl.col("metric") == metric)["value"]
            assert len(found) == 20.4 * 1000 // average + (average == 1000)
            assert found.mean() == pytest.approx(value, rel=0.03)
        lat, clat, slat = (own.filter(pl.col("metric") == metric)["value"] for metric in LATENCIES)
        assert (lat - clat - slat).abs().max() <= 2.1 / run.unit_ms
    assert series["elapsed_s"].max() == pytest.approx(20.4)
    assert set(series["block_size_bytes"]) == {0}


def test_an_interval_without_io_has_no_line():
    run = fio_runs.run((side(2.0, 3.0), None), seconds=10.0)
    text = b"".join(fio_logs.lines(run, 0, "iops", log_avg_msec=100)).decode()
    assert len(text.splitlines()) == 20
    assert {line.split(", ")[1] for line in text.splitlines()} == {"10"}


def test_a_histogram_log_has_the_bins_of_the_output(tmp_path):
    run = small(seconds=20.0)
    rec = ex.open(folder_of(tmp_path, run, average=1000, histogram=500))
    assert warnings(rec) == []
    jobs = json.loads((tmp_path / "out.json").read_text())["jobs"]
    for number, job in enumerate(jobs, 1):
        found = ex.open(tmp_path / f"oltp_clat_hist.{number}.log")["latency_bins"].collect()
        for direction in ("read", "write"):
            counted = found.filter(pl.col("direction") == direction)["ios"].to_list()
            assert counted == list(job[direction]["clat_ns"].get("bins", {}).values())
    lines = (tmp_path / "oltp_clat_hist.1.log").read_text().splitlines()
    assert {line.count(",") for line in lines} == {1856 + 2}


@pytest.mark.parametrize("coarseness", [1, 3, 6])
def test_coarser_histograms_have_the_same_ios(tmp_path, coarseness):
    run = small()
    text = b"".join(fio_logs.histogram_lines(run, 0, log_hist_msec=1000, coarseness=coarseness))
    rec = ex.open(compose.write(tmp_path, text, "oltp_clat_hist.1.log"))
    assert rec.meta["coarseness"] == coarseness
    # What came after the last whole second is in no line.
    assert rec["latency_bins"].collect()["ios"].sum() == pytest.approx(1200 * 20, abs=600)


def tool(name: str, folder: Path) -> list[str]:
    """A script of fio's documentation, ready to run."""
    packed = TOOLS / f"{name}.gz"
    if not packed.exists():
        needs.missing(str(packed))
    script = compose.write(folder, gzip.decompress(packed.read_bytes()), name)
    return [sys.executable, str(script)]


def said(command: list[str]) -> list[list[float]]:
    """The numbers a tool prints, line by line, without its headings."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    numbers = [line.replace(";", ",").split(",") for line in done.stdout.splitlines()]
    return [[float(cell) for cell in row] for row in numbers if row[0].strip().replace(".", "").isdigit()]


def test_fios_own_parser_of_logs_gives_the_averages_and_sums(tmp_path):
    script = tool("fiologparser.py", tmp_path)
    # It reads lines of four numbers, which fio wrote to 3.18.
    run = fio_runs.run((side(900.0, 2.0), None), (side(300.0, 4.0), None), seconds=20.0, version="fio-3.7")
    folder = folder_of(tmp_path, run, average=1000)
    rates = said([*script, "-s", *(str(folder / f"oltp_iops.{number}.log") for number in (1, 2))])
    assert len(rates) == 20
    assert sum(rate for _, rate in rates) / 20 == pytest.approx(1200, rel=0.005)
    latencies = said([*script, "-a", str(folder / "oltp_clat.1.log")])
    mean = ex.open(folder / "oltp_clat.1.log")["series"].collect()["value"].mean()
    assert sum(value for _, value in latencies) / len(latencies) / 1e6 == pytest.approx(mean, rel=0.01)


def test_fios_own_percentiles_of_histograms_are_those_of_the_run(tmp_path):
    script = tool("fio-histo-log-pctiles.py", tmp_path)
    run = fio_runs.run((side(5000.0, 2.0), None), seconds=20.0)
    folder = folder_of(tmp_path, run, average=1000, histogram=1000)
    command = [*script, "--fio-version", "3", "--time-quantum", "10", "--percentiles", "50", "95", "99", "--"]
    rows = said([*command, str(folder / "oltp_clat_hist.1.log")])
    told = json.loads((folder / "out.json").read_text())["jobs"][0]["read"]["clat_ns"]["percentile"]
    assert sum(row[1] for row in rows) == pytest.approx(100_000, abs=9)
    for row in rows:
        # It interpolates within a bin, in microseconds.
        wanted = [told[f"{percentile:f}"] / 1000 for percentile in (50, 95, 99)]
        assert row[2:5] == pytest.approx(wanted, rel=0.03)


def test_a_long_log_is_made_in_pieces():
    run = fio_runs.run((side(90_000.0, 0.3, shape="cached"), side(10_000.0, 0.2)), seconds=86_400.0)
    pieces = fio_logs.lines(run, 0, "lat")
    for _ in range(3):
        piece = next(pieces)
        assert 60_000 < piece.count(b"\n") < 66_000
        assert piece.endswith(b", 4096, 0\n")
    averages = fio_logs.lines(run, 0, "bw", log_avg_msec=10)
    assert next(averages).count(b"\n") == 1 << 16


@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_run_is_the_same_bytes(version):
    for average in (None, 500):
        one, same, other = (
            b"".join(fio_logs.lines(small(version=version, seed=seed), 0, "lat", log_avg_msec=average))
            for seed in (1, 1, 2)
        )
        assert one == same
        assert one != other


def test_what_fio_has_not_is_refused():
    old = small(version="fio-2.1.3")
    with pytest.raises(ex.EsxparseError, match="no histogram logs"):
        next(fio_logs.histogram_lines(old, 0, log_hist_msec=1000))
    with pytest.raises(ex.EsxparseError, match="not measured"):
        fio_logs.lines(small(ioengine="psync"), 0, "slat")
    with pytest.raises(ex.EsxparseError, match="log_avg_msec=1:"):
        fio_logs.lines(old, 0, "lat", log_avg_msec=1)
    with pytest.raises(ex.EsxparseError, match="not a log"):
        fio_logs.lines(old, 0, "mem")
    with pytest.raises(ex.EsxparseError, match="count them from 0"):
        next(fio_logs.lines(old, 7, "lat"))
    with pytest.raises(ex.EsxparseError, match="coarseness 9"):
        fio_logs.histogram_lines(small(), 0, log_hist_msec=1000, coarseness=9)
