"""The report on storage benchmarks, and its charts."""

from __future__ import annotations

import csv
import json
import subprocess

import fio_outputs
import polars as pl
import pytest
from templated import shown

import esxparse as ex
from esxparse.charts import latency, workload
from esxparse.cli import main
from esxparse.reports.storage_benchmark import gather

SAMPLES = ex.datasets_dir() / "formats"


def sweep(**columns):
    rows = {
        "test": [f"t{n}" for n in range(6)],
        "direction": ["read"] * 6,
        "pattern": ["random"] * 3 + ["sequential"] * 3,
        "block_size_bytes": [4096, 16384, 1048576] * 2,
        "outstanding": [1, 8, 32] * 2,
        "workers": [1, 1, 2] * 2,
        "iops": [100.0, 300.0, 200.0, 150.0, 400.0, 350.0],
        "bandwidth_bytes_per_s": [4e5, 4.8e6, 2e8, 6e5, 6.4e6, 3.5e8],
        "latency_mean_ms": [10.0, 26.6, 160.0, 6.6, 20.0, 91.0],
    }
    return pl.LazyFrame(rows | columns)


def values(chart, field):
    """What a chart draws of a field, in all its layers."""
    spec = chart.to_dict()
    return [row[field] for rows in spec["datasets"].values() for row in rows if field in row]


def test_a_sweep_over_block_sizes_is_a_line_for_each_pattern():
    spec = workload.by_block_size(sweep(), "bandwidth_bytes_per_s").to_dict()
    x = spec["layer"][0]["encoding"]["x"]
    assert x["scale"]["domain"] == ["4 KiB", "16 KiB", "1 MiB"]
    assert spec["layer"][0]["encoding"]["y"]["title"] == "MB per second (10⁶ bytes)"
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["random read", "sequential read"]
    assert max(values(workload.by_block_size(sweep(), "bandwidth_bytes_per_s"), "bandwidth_bytes_per_s")) == 350


def test_where_a_point_was_run_twice_the_better_run_is_drawn_and_said():
    twice = pl.concat([sweep(), sweep(iops=[1.0] * 6)])
    chart = workload.by_block_size(twice, "iops")
    assert min(values(chart, "iops")) == 100
    assert "the run with the most IOPS" in chart.to_dict()["title"]["subtitle"][0]


def test_recordings_that_are_sweeps_are_compared_and_those_that_are_points_are_joined():
    same_size = {"block_size_bytes": [4096] * 6}
    both = pl.concat([sweep(recording=["before"] * 6, **same_size), sweep(recording=["after"] * 6, **same_size)])
    assert "before, random read, 4 KiB" in values(workload.by_outstanding(both, "iops"), "label")
    points = sweep(recording=[f"run {n}" for n in range(6)], **same_size)
    assert set(values(workload.by_outstanding(points, "iops"), "label")) == {
        "random read, 4 KiB",
        "sequential read, 4 KiB",
    }


def test_a_latency_whose_unit_is_a_guess_says_so_beside_its_job(tmp_path):
    (tmp_path / "run_lat.1.log").write_text("".join(f"{second}000, 90000, 0, 0\n" for second in range(1, 9)))
    (tmp_path / "run_iops.1.log").write_text("".join(f"{second}000, 90, 0, 0\n" for second in range(1, 9)))
    series = gather.gather([tmp_path]).series.collect()
    assert set(series["job"].unique()) == {"run", "run (unit guessed)"}
    assert set(series.filter(pl.col("metric") == "iops")["job"]) == {"run"}
    chart = workload.over_time(series.lazy(), "lat")
    assert set(values(chart, "label")) == {"run (unit guessed) read"}
    read = fio_outputs.direction(4000, new=True, mean=round(90_000 / 1.1))
    output = fio_outputs.document(fio_outputs.job("run", new=True, read=read), release="fio-3.7")
    (tmp_path / "out.json").write_text(output)
    assert set(gather.gather([tmp_path]).series.collect()["job"]) == {"run"}


def test_repetitions_are_one_test_and_settings_are_series_of_their_own(tmp_path):
    for name in ("plain-1", "plain-2", "tuned-1", "tuned-2"):
        copy = (ex.datasets_dir() / "baseline" / "randread-4k-32.json").read_bytes()
        (tmp_path / f"{name}.json").write_bytes(copy)
    found = gather.gather(sorted(tmp_path.iterdir()))
    means = found.means.collect()
    assert found.results.collect().height == 4
    assert means["test"].to_list() == ["plain: randread", "tuned: randread"]
    assert means["setting"].to_list() == ["plain", "tuned"]
    assert means["iops"].to_list() == [pytest.approx(found.results.collect()["iops"][0])] * 2
    # Depths are no repetitions.
    assert gather.repetitions(["randread-4k-1", "randread-4k-32"]) == {}
    # One is not repeated, and repetitions count from 1.
    assert gather.repetitions(["tuned-1", "plain", "other-2", "other-3"]) == {}


def test_nothing_to_compare_is_no_chart():
    one = sweep().head(1)
    assert workload.by_block_size(one, "iops") is None
    assert workload.by_outstanding(one, "iops") is None
    assert workload.latency_against_iops(one) is None
    assert workload.heat(one) is None
    assert workload.tests(one.head(0), "iops") is None
    empty = pl.LazyFrame(schema={"label": pl.String, "percentile": pl.Float64, "latency_ms": pl.Float64})
    assert latency.percentiles(empty) is None


def test_the_heat_map_sums_directions_and_takes_the_best_test():
    grid = pl.LazyFrame(
        {
            "test": ["a", "a", "b", "c"],
            "direction": ["read", "write", "read", "read"],
            "outstanding": [1, 1, 8, 8],
            "workers": [1, 1, 2, 1],
            "iops": [10.0, 5.0, 40.0, 30.0],
        }
    )
    cells = {(row["depth"], row["workers"]): row["iops"] for row in _rows(workload.heat(grid)) if "depth" in row}
    assert cells == {(1, 1): 15.0, (4, 2): 40.0, (8, 1): 30.0}


def _rows(chart):
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_each_nine_of_a_percentile_takes_the_same_room():
    table = pl.LazyFrame({"label": ["x"] * 3, "percentile": [90.0, 99.0, 99.9], "latency_ms": [1.0, 2.0, 9.0]})
    places = values(latency.percentiles(table), "at")
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], rel=1e-3)


def test_fine_bins_are_put_together_and_no_share_is_lost():
    fine = pl.LazyFrame(
        {
            "label": ["x"] * 200,
            "from_ms": [0.1 + n / 100 for n in range(200)],
            "to_ms": [0.11 + n / 100 for n in range(200)],
            "share_pct": [0.5] * 200,
        }
    )
    rows = [row for row in _rows(latency.distribution(fine)) if "high" in row]
    assert len(rows) < 20
    assert sum(row["share_pct"] for row in rows) == pytest.approx(100)


def test_a_recording_of_another_kind_is_refused_in_one_line(busy_host_file, tmp_path, capsys):
    output = tmp_path / "x.html"
    assert main(["report", str(busy_host_file), "-t", "storage_benchmark", "-o", str(output)]) == 1
    error = capsys.readouterr().err
    assert "reads fio, iometer, diskspd, vscsistats" in error
    assert error.count("\n") == 1
    assert not output.exists()


@pytest.mark.search
@pytest.mark.needs("fio")
def test_the_report_on_the_directory_of_a_real_run(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    shared = ["--ioengine=psync", "--size=1m", f"--filename={tmp_path / 'file'}", "--bs=4k", "--stonewall"]
    logs = ["--write_iops_log=run", "--write_lat_log=run", "--log_avg_msec=10", "--runtime=1", "--time_based"]
    jobs = ["--name=first", "--rw=randread", *shared, *logs, "--name=second", "--rw=randwrite", *shared, *logs]
    output = ["--output-format=json+", "--output=out.json"]
    subprocess.run(["fio", *output, *jobs], cwd=run, check=True, capture_output=True)  # noqa: S607
    page = ex.report([run], template="storage_benchmark", output=tmp_path / "run.html").read_text()
    assert "IOPS over time" in page
    assert "Mean latency over time, ms" in page


def tiles(found):
    """The tiles of the summary: name -> (value as printed, what is below it)."""
    lines = [
        line.partition(": ") for line in shown("storage_benchmark", "shown = tiles(", found=found).text.splitlines()
    ]
    return {name: tuple(rest.rstrip(")").split(" (", 1)) for name, _, rest in lines}


def printed(value, digits=0):
    return f"{value:,.{digits}f}"


@pytest.mark.parametrize(("name", "rate"), [("iometer-1.1.0.csv", "MBps (Decimal)"), ("iometer-2006.csv", "MBps")])
def test_the_headline_of_iometer_is_its_best_test(name, rate):
    titles, runs = [], []
    for cells in csv.reader((SAMPLES / name).read_text().splitlines()):
        titles = cells if cells[0] == "'Target Type" else titles
        runs += [dict(zip(titles, cells, strict=False))] if cells[0] == "ALL" else []
    found = tiles(gather.gather([SAMPLES / name]))
    unit = 1.0 if "Decimal" in rate else 2**20 / 1e6
    assert found["Tests"][0] == str(len(runs))
    assert found["Most IOPS"][0] == printed(max(float(run["IOps"]) for run in runs))
    assert found["Highest bandwidth"][0] == printed(max(float(run[rate]) for run in runs) * unit, 1) + " MB/s"


def fio_file(path, *jobs):
    path.write_text(fio_outputs.timed(*jobs))
    return path


def test_runs_of_one_job_name_in_a_directory_are_not_added_up(tmp_path):
    rates = [400 + 7 * place for place in range(12)]
    for place, iops in enumerate(rates):
        fio_file(tmp_path / f"{place:02}.json", ("rand", 0, 100 * place, 60, iops, 1 << place // 3))
    found = gather.gather([tmp_path])
    assert tiles(found)["Tests"][0] == "12"
    assert tiles(found)["Most IOPS"] == (printed(max(rates)), "rand, 8 outstanding, run 3")
    assert sorted(found.results.collect()["iops"]) == sorted(rates)
    bars = values(workload.tests(found.means, "latency_mean_ms"), "latency_mean_ms")
    assert sorted(bars) == [pytest.approx((1_000_000 + rate) * 1.1 / 1e6, abs=0.001) for rate in rates]
    assert len(set(values(workload.tests(found.means, "iops"), "label"))) == 12
    medians = found.percentiles.filter(percentile=50.0).collect()
    assert medians.group_by("label").len()["len"].to_list() == [1] * 12
    assert sorted(medians["latency_ms"]) == [pytest.approx(1 + rate / 1e6) for rate in rates]


@pytest.mark.parametrize(
    ("jobs", "most", "below"),
    [
        # One group: `b` began when `a` was done, `c` beside it.
        ([("a", 0, 0, 30, 900, 1), ("b", 0, 40, 30, 500, 1), ("c", 0, 40, 30, 300, 1)], 900, "a"),
        # A background job runs beside each of two others in turn.
        (
            [("back", 0, 0, 120, 100, 1), ("b", 0, 0, 50, 500, 1), ("c", 0, 60, 50, 700, 1)],
            800,
            "back and 1 other at the same time",
        ),
        # stonewall begins a new group; the next begins in the millisecond in which this one ends.
        ([("a", 0, 0, 30, 900, 1), ("b", 1, 30, 30, 800, 1)], 900, "a"),
        # new_group begins one without waiting.
        ([("a", 0, 0, 30, 900, 1), ("b", 1, 0.001, 30, 800, 1)], 1700, "a and 1 other at the same time"),
        # Workers of one job.
        ([("a", 0, 0, 30, 900, 1), ("a", 0, 0.002, 30, 900, 1)], 1800, "a"),
        # One job file that names a section twice, with stonewall.
        ([("a", 0, 0, 30, 900, 1), ("a", 1, 31, 30, 950, 4)], 950, "a, 4 outstanding"),
    ],
)
def test_only_jobs_that_ran_at_the_same_time_are_added_up(tmp_path, jobs, most, below):
    found = gather.gather([fio_file(tmp_path / "run.json", *jobs)])
    assert tiles(found)["Most IOPS"] == (printed(most), below)


def test_without_times_jobs_of_one_group_ran_together_and_groups_one_after_another(tmp_path):
    jobs = [("a", 0, 0, 30, 900, 1), ("b", 0, 0, 30, 100, 1), ("c", 1, 0, 30, 950, 1)]
    document = json.loads(fio_outputs.timed(*jobs))
    for job in document["jobs"]:
        del job["job_start"]
    (tmp_path / "old.json").write_text(json.dumps(document))
    assert tiles(gather.gather([tmp_path / "old.json"]))["Most IOPS"] == (
        "1,000",
        "a and 1 other at the same time",
    )


@pytest.mark.needs("fio")
def test_the_headline_of_a_real_run_in_which_jobs_waited_for_each_other(tmp_path):
    common = "[global]\nioengine=psync\nsize=1m\nrw=randread\nbs=4k\ntime_based\nruntime=1\n"
    stanzas = [("one", 300, ""), ("one", 500, "stonewall\n"), ("two", 200, "")]
    parts = [f"[{name}]\nfilename={tmp_path}/{name}.bin\nrate_iops={rate}\n{more}" for name, rate, more in stanzas]
    (tmp_path / "jobs.fio").write_text(common + "".join(parts))
    command = ["fio", "--output-format=json", f"--output={tmp_path}/run.json", str(tmp_path / "jobs.fio")]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    first, second, third = (job["read"]["iops"] for job in json.loads((tmp_path / "run.json").read_text())["jobs"])
    assert tiles(gather.gather([tmp_path / "run.json"]))["Most IOPS"][0] == printed(max(first, second + third))


def test_time_spans_of_diskspd_are_tests_of_their_own(tmp_path):
    text = (SAMPLES / "diskspd-2.0.21.xml").read_text()
    begin, end = text.index("<TimeSpan>", text.index("</Profile>")), text.rindex("</TimeSpan>") + len("</TimeSpan>")
    slower = text[begin:end].replace("<TestTimeSeconds>60.00<", "<TestTimeSeconds>120.00<")
    assert slower != text[begin:end]
    (tmp_path / "two.xml").write_text(text[:end] + slower + text[end:])
    one, two = (tiles(gather.gather([path])) for path in (SAMPLES / "diskspd-2.0.21.xml", tmp_path / "two.xml"))
    assert (one["Tests"][0], two["Tests"][0]) == ("1", "2")
    assert two["Most IOPS"] == one["Most IOPS"]


def test_a_distribution_is_that_of_one_test_of_iometer():
    bins = gather.gather([SAMPLES / "iometer-1.1.0.csv"]).bins.collect()
    assert bins["label"].n_unique() == 4
    assert bins.group_by("label").agg(pl.col("share_pct").sum())["share_pct"].to_list() == [pytest.approx(100)] * 4


def test_bars_of_one_name_are_never_stacked():
    spec = workload.tests(sweep(test=["same"] * 6), "latency_mean_ms").to_dict()
    assert spec["layer"][0]["encoding"]["x"]["stack"] is False


def test_the_heat_map_does_not_add_reads_of_one_test_to_writes_of_another():
    grid = pl.LazyFrame(
        {
            "test": ["reads", "writes", "b", "c"],
            "direction": ["read", "write", "read", "read"],
            "outstanding": [1, 1, 8, 8],
            "workers": [1, 1, 2, 1],
            "iops": [10.0, 15.0, 40.0, 30.0],
        }
    )
    assert {row["iops"] for row in _rows(workload.heat(grid)) if row.get("depth") == 1} == {15.0}
