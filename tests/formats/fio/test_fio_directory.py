"""The directory of a fio run: output and logs as one recording, jobs and units told by the output."""

from __future__ import annotations

import json
import shutil
import subprocess

import compose
import numpy as np
import polars as pl
import pytest

import esxparse as ex
from esxparse.formats.fio import histogram

pytestmark = pytest.mark.needs("fio")

SHARED = ["--size=1m", "--ioengine=sync", "--runtime=1", "--time_based", "--rate_iops=400"]
JOBS = {"alpha": ["--rw=randrw", "--bs=4k"], "beta": ["--rw=write", "--bs=16k"]}
LOGS = [*(f"--write_{kind}_log={{name}}" for kind in ("bw", "iops", "lat", "hist")), "--log_hist_msec=100"]


def fio(folder, options, jobs=None, form="json+", output="out.json"):
    words = ["fio", f"--directory={folder}", f"--output-format={form}", f"--output={folder / output}"]
    for name, own in (jobs or JOBS).items():
        words += [f"--name={name}", *own, *SHARED, *(option.format(name=name) for option in options)]
    subprocess.run(words, check=True, capture_output=True, timeout=60, cwd=folder)
    for data in folder.glob("*.[0-9].0"):
        data.unlink()
    return folder


@pytest.fixture(scope="module")
def averaged(tmp_path_factory):
    return fio(tmp_path_factory.mktemp("averaged"), [*LOGS, "--log_avg_msec=100"])


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """All logs of a run named alike, in three formats of output, each in a file."""
    folder = tmp_path_factory.mktemp("named")
    options = ["--write_lat_log=night", "--log_offset=1", "--log_unix_epoch=1"]
    fio(folder, options, form="json+,normal,terse", output="all.txt")
    text = (folder / "all.txt").read_text()
    start, end = text.index("{"), text.rindex("\n}") + 2
    (folder / "a.json").write_text(text[start:end])
    rest = text[:start] + text[end:]
    terse = [line for line in rest.splitlines() if line.startswith("3;fio-")]
    (folder / "c.terse").write_text("\n".join(terse) + "\n")
    (folder / "b.txt").write_text("\n".join(line for line in rest.splitlines() if line not in terse) + "\n")
    (folder / "all.txt").unlink()
    return folder


def series(path):
    return ex.open(path)["series"].collect()


def jobs_of(folder, name="out.json"):
    return json.loads((folder / name).read_text())["jobs"]


@pytest.mark.search
def test_a_run_is_one_recording(averaged):
    rec = ex.open(averaged)
    assert rec.format == "fio"
    assert {"series", "jobs", "percentiles", "latency_bins", "latency_bins_series", "percentiles_series"} <= set(rec)
    assert rec.meta["release"]
    assert not [note for note in rec.notes if note.severity == "warning"]
    # The release is told by the output: nothing is guessed.
    assert not any("guess" in note.message for note in rec.notes)
    series = rec["series"].collect()
    assert dict(series.select("job", "job_number").unique().iter_rows()) == {"alpha": 1, "beta": 2}
    assert set(series["metric"]) == {"bandwidth", "iops", "lat", "clat"}
    assert any("slat" in note.message and note.message.startswith("empty") for note in rec.notes)


def test_averages_are_those_of_the_logs_and_within_the_range_of_the_output(averaged):
    series = ex.open(averaged)["series"].collect()
    for job in jobs_of(averaged):
        for log, metric, unit in (("bw", "bandwidth", 1024), ("iops", "iops", 1), ("lat", "lat", 1e-6)):
            lines = (averaged / f"{job['jobname']}_{log}.{1 + (job['jobname'] == 'beta')}.log").read_text().splitlines()
            cells = [line.split(", ") for line in lines]
            for place, direction in enumerate(("read", "write")):
                own = series.filter(job=job["jobname"], direction=direction, metric=metric).sort("elapsed_s")["value"]
                expected = [int(cell[1]) * unit for cell in cells if int(cell[2]) == place]
                assert own.to_list() == pytest.approx(expected, rel=1e-9)
                assert bool(len(own)) == bool(job[direction]["total_ios"])
                if metric == "lat" and len(own):
                    # fio rounds each average to a whole ns. No load on the machine moves one beyond these.
                    assert job[direction]["lat_ns"]["min"] - 1 <= own.min() * 1e6
                    assert own.max() * 1e6 <= job[direction]["lat_ns"]["max"] + 1


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """Two runs of one job each in a directory, with logs as fio before 3.19 wrote them: without a priority."""
    folder = tmp_path_factory.mktemp("two")
    for name, own in JOBS.items():
        fio(folder, ["--write_lat_log={name}"], jobs={name: own}, form="json", output=f"{name}.json")
    for log in folder.glob("*_lat.1.log"):
        rows = [line.split(", ") for line in log.read_text().splitlines()]
        assert {len(row) for row in rows} == {5}
        log.write_text("".join(", ".join(row[:4]) + "\n" for row in rows))
    return folder


@pytest.mark.search
def test_each_of_two_runs_in_a_directory_has_the_unit_of_its_own_output(two_runs):
    whole = series(two_runs)
    assert set(whole["job"]) == set(JOBS)
    for name in JOBS:
        rec = ex.open(two_runs / f"{name}_lat.1.log")
        assert (rec.meta["unit"], rec.meta["guessed_units"]) == ("ns", [])
        assert f"{name}.json" in rec.meta["unit_evidence"]
        rows = [line.split(", ") for line in (two_runs / f"{name}_lat.1.log").read_text().splitlines()]
        expected = sorted(int(row[1]) / 1e6 for row in rows)
        assert sorted(rec["series"].collect()["value"]) == pytest.approx(expected, rel=1e-9)
        together = whole.filter(job=name, metric="lat")
        assert sorted(together["value"]) == pytest.approx(expected, rel=1e-9)
        (job,) = jobs_of(two_runs, f"{name}.json")
        assert together.height == sum(job[direction]["total_ios"] for direction in ("read", "write"))
    assert not [note for note in ex.open(two_runs).notes if "a guess" in note.message]


def test_three_outputs_of_one_run_and_logs_of_one_name(named):
    rec = ex.open(named)
    assert rec.meta["outputs"] == ["a.json"]
    assert set(rec["jobs"].collect()["output"]) == {"json"}
    said = " ".join(note.message for note in rec.notes)
    assert "b.txt: normal output of the run in a.json" in said
    assert "c.terse: terse output of the run in a.json" in said
    assert not [note for note in rec.notes if note.severity == "warning"]
    series = rec["series"].collect()
    assert dict(series.select("job", "job_number").unique().iter_rows()) == {"alpha": 1, "beta": 2}
    for job in jobs_of(named, "a.json"):
        own = series.filter((pl.col("job") == job["jobname"]) & (pl.col("metric") == "lat"))
        for direction in ("read", "write"):
            values = own.filter(pl.col("direction") == direction)["value"]
            assert len(values) == job[direction]["total_ios"]
            if len(values):
                assert values.mean() == pytest.approx(job[direction]["lat_ns"]["mean"] / 1e6, rel=1e-4)
    # Joined as the user would: Enum and text agree.
    both = rec["jobs"].join(rec["series"].with_columns(pl.col("direction").cast(pl.String)), on=["job", "direction"])
    assert both.collect().height == series.height


def test_outputs_that_do_not_agree(named, tmp_path):
    shutil.copytree(named, tmp_path / "run")
    document = json.loads((tmp_path / "run" / "a.json").read_text())
    for job in document["jobs"]:
        job["write"]["iops"] *= 3
    (tmp_path / "run" / "a.json").write_text(json.dumps(document, indent=2))
    warnings = [note.message for note in ex.open(tmp_path / "run").notes if note.severity == "warning"]
    assert any("b.txt: disagrees with a.json" in message and "iops of" in message for message in warnings)


def test_several_runs_are_kept_apart_by_document(averaged, tmp_path):
    (tmp_path / "one.json").write_text((averaged / "out.json").read_text())
    (tmp_path / "two.json").write_text((averaged / "out.json").read_text())
    rec = ex.open(tmp_path)
    assert sorted(set(rec["jobs"].collect()["document"])) == [1, 2]
    assert any("2 outputs" in note.message for note in rec.notes)


def test_group_reporting_leaves_the_name_of_the_log(tmp_path):
    jobs = {"many": ["--rw=randread", "--bs=4k", "--numjobs=2", "--group_reporting"]}
    fio(tmp_path, ["--write_lat_log=night", "--log_avg_msec=200"], jobs)
    series = ex.open(tmp_path)["series"].collect()
    assert set(series["job"]) == {"many"}
    assert set(series["job_number"]) == {1, 2}


def test_one_log_for_all_jobs(tmp_path):
    fio(tmp_path, ["--write_lat_log=night", "--per_job_logs=0"])
    rec = ex.open(tmp_path)
    series = rec["series"].collect()
    assert series["job_number"].null_count() == series.height
    assert set(series["job"]) == {"night"}
    assert any("does not say which job" in note.message for note in rec.notes)


def test_logs_alone(tmp_path):
    compose.write(tmp_path, "100, 9000, 0, 0, 0\n200, 8000, 0, 0, 0\n", "x_lat.1.log")
    compose.write(tmp_path, "1700000000000, 70, 0, 0, 0\n", "x_bw.1.log")
    rec = ex.open(tmp_path)
    assert rec["series"].collect()["metric"].to_list() == ["bandwidth"]
    assert rec["series_elapsed"].collect()["value"].to_list() == pytest.approx([0.009, 0.008])


def test_units_of_fio_2_are_told_by_its_output(tmp_path):
    compose.write(tmp_path, "100, 900000, 0, 0\n200, 800000, 0, 0\n", "x_clat.1.log")
    document = {
        "fio version": "fio-2.16",
        "jobs": [{"jobname": "x", "groupid": 0, "error": 0, "read": {"io_bytes": 4, "iops": 10.0, "runtime": 1000}}],
    }
    compose.write(tmp_path, json.dumps(document, indent=2), "out.json")
    rec = ex.open(tmp_path)
    assert rec["series"].collect()["value"].to_list() == pytest.approx([900, 800])


def test_damaged_parts_are_told_and_the_others_kept(averaged, tmp_path):
    shutil.copytree(averaged, tmp_path / "run")
    text = (tmp_path / "run" / "out.json").read_text()
    (tmp_path / "run" / "out.json").write_text(text[:200])
    (tmp_path / "run" / "readme.txt").write_text("what was measured\n")
    rec = ex.open(tmp_path / "run")
    assert "series" in rec
    assert any("out.json" in note.message and note.severity == "warning" for note in rec.notes)
    assert any("not read: readme.txt" in note.message for note in rec.notes)
    # Without an output the sums of the histograms are theirs.
    assert rec["latency_bins"].collect()["ios"].sum() > 0


def test_what_is_no_directory_of_a_run(tmp_path):
    with pytest.raises(ex.EsxparseError, match="is a directory"):
        ex.open(tmp_path)
    compose.write(tmp_path, "nothing\n", "notes.txt")
    with pytest.raises(ex.EsxparseError, match="is a directory"):
        ex.open(tmp_path)
    compose.write(tmp_path, "100, 9000, 0, 0, 0\n", "x_lat.1.log")
    assert ex.open(tmp_path).format == "fio"
    capture = compose.text([("Memory", "Free MBytes")], [["1"], ["2"]])
    compose.write(tmp_path, capture, "esxtop.csv")
    with pytest.raises(ex.EsxparseError, match="is a directory"):
        ex.open(tmp_path)


def test_a_directory_with_nothing_usable(tmp_path):
    compose.write(tmp_path, "fio: file:filesetup.c:1, func=open, error=No such file or directory\n", "out.json")
    with pytest.raises(ex.DamagedError, match="no usable fio output or log"):
        ex.open(tmp_path)


@pytest.fixture(scope="module")
def each(tmp_path_factory):
    """A run with a line for each I/O, times since 1970 and full histograms."""
    kinds = [option.replace("{name}", "j") for option in LOGS]
    return fio(tmp_path_factory.mktemp("each"), [*kinds, "--log_offset=1", "--log_unix_epoch=1"])


@pytest.mark.search
def test_means_of_a_real_run_are_those_of_its_output(each):
    jobs = json.loads((each / "out.json").read_text())["jobs"]
    for number, job in enumerate(jobs, 1):
        for kind, key in (("lat", "lat_ns"), ("clat", "clat_ns")):
            found = series(each / f"j_{kind}.{number}.log")
            for direction in ("read", "write"):
                values = found.filter(pl.col("direction") == direction)["value"]
                assert len(values) == job[direction]["total_ios"]
                if len(values):
                    assert values.mean() == pytest.approx(job[direction][key]["mean"] / 1e6, rel=1e-4)
        rates = series(each / f"j_bw.{number}.log")
        latencies = series(each / f"j_clat.{number}.log")
        assert rates["offset_bytes"].to_list() == latencies["offset_bytes"].to_list()
        # A log of each I/O has its size by its latency.
        exact = latencies["block_size_bytes"] / (latencies["value"] / 1000)
        assert (exact - rates["value"]).is_between(-1, 1000).all()
    ended = json.loads((each / "out.json").read_text())["timestamp"]
    assert -1 < ended - rates["time"][-1].timestamp() < 5


def test_a_histogram_of_a_real_run_has_its_percentiles(each):
    jobs = json.loads((each / "out.json").read_text())["jobs"]
    rec = ex.open(each / "j_clat_hist.2.log")
    bins = {int(middle): count for middle, count in jobs[1]["write"]["clat_ns"]["bins"].items()}
    counted = rec["latency_bins"].collect()
    # The log ends with the last whole interval.
    assert 0.5 * sum(bins.values()) < counted["ios"].sum() <= sum(bins.values())
    for start, end, ios in counted.select("from_ms", "to_ms", "ios").iter_rows():
        within = [count for middle, count in bins.items() if start * 1e6 - 0.5 <= middle < end * 1e6 - 0.5]
        assert ios <= sum(within)
    told = jobs[1]["write"]["clat_ns"]["percentile"]
    found = dict(rec["percentiles"].collect().select("percentile", "latency_ms").iter_rows())
    # Of a few hundred I/Os the last tenth is missing: the middle may move by a few bins of 1.6 %.
    assert found[50.0] == pytest.approx(told["50.000000"] / 1e6, rel=0.15)


def test_percentiles_are_those_of_fio_where_the_log_has_all_of_the_bins(each, tmp_path):
    jobs = json.loads((each / "out.json").read_text())["jobs"]
    for job, direction, code in ((jobs[0], "read", 0), (jobs[1], "write", 1)):
        told = job[direction]["clat_ns"]
        edges = histogram.lower_edge(np.arange(1857))
        counts = np.zeros(1856, dtype=int)
        for middle, count in told["bins"].items():
            counts[np.searchsorted(edges, int(middle), side="right") - 1] = count
        cells = ", ".join(map(str, counts))
        rec = ex.open(compose.write(tmp_path, f"1000, {code}, 4096, {cells}\n", f"{direction}_clat_hist.1.log"))
        found = dict(rec["percentiles"].collect().select("percentile", "latency_ms").iter_rows())
        expected = {float(name): value / 1e6 for name, value in told["percentile"].items()}
        assert found == pytest.approx(expected)
