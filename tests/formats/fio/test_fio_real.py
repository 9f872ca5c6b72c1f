"""fio's outputs, real ones: files that people published, and runs of the fio on this machine.

Each number of `jobs` is computed again here, from the text of the file, by other means than the reader's.
"""

from __future__ import annotations

import json
import re
import subprocess

import compose
import polars as pl
import pytest

import esxparse as ex
from esxparse.errors import DamagedError

NAMES = {
    "bandwidth_mean_bytes_per_s": "bw_mean",
    "bandwidth_stddev_bytes_per_s": "bw_dev",
    "bandwidth_min_bytes_per_s": "bw_min",
    "bandwidth_max_bytes_per_s": "bw_max",
}
JSON = (
    "fio-2.1.4.json",
    "fio-3.13_error_then_json.txt",
    "fio-3.19.json",
    "fio-3.7_client_server.txt",
    "fio-3.x_results.json",
)


def opened(name):
    file = compose.real_data("fio", name)
    return ex.open(file), file.read_text()


def same(row, expected):
    """Every number of a row that is expected is there, and there is no other."""
    told = {name for name, value in row.items() if isinstance(value, (int, float)) and value is not None}
    wanted = {name: value for name, value in expected.items() if value is not None}
    assert told - {"document", "job_number"} == set(wanted)
    assert {name: row[name] for name in wanted} == pytest.approx(wanted, rel=1e-9)


def of_json(job, name, options):
    """The numbers of one direction of a job, from its JSON."""
    stats = job[name]
    new = "lat_ns" in stats
    unit, end = (1e6, "_ns") if new else (1e3, "")
    clat = stats[f"clat{end}"]
    found = {
        "group": job["groupid"],
        "error": job["error"],
        "ios": stats.get("total_ios"),
        "short_ios": stats.get("short_ios"),
        "dropped_ios": stats.get("drop_ios"),
        "total_bytes": stats["io_bytes"] * (1 if new else 1024),
        "runtime_s": stats["runtime"] / 1000,
        "iops": stats["iops"],
        "bandwidth_bytes_per_s": stats["bw_bytes"] if new else stats["bw"] * 1024,
        "usr_cpu_pct": job["usr_cpu"],
        "sys_cpu_pct": job["sys_cpu"],
        "context_switches": job["ctx"],
        "major_faults": job["majf"],
        "minor_faults": job["minf"],
        "queue_depth": int(options["iodepth"]) if options else None,
        "workers": int(options.get("numjobs", 1)) if options else None,
        "block_size_bytes": 4096 if options else None,
    }
    assert not options or options["bs"] == "4k"
    if stats["bw_max"]:
        found |= {column: stats[key] * 1024 for column, key in NAMES.items()}
    if stats.get("iops_max"):
        found |= {key: stats[key] for key in ("iops_mean", "iops_stddev", "iops_min", "iops_max")}
    for prefix, key in (("slat", "slat"), ("clat", "clat"), ("latency", "lat")):
        values = stats[key + end]
        if values["max"]:
            found |= {f"{prefix}_{name}_ms": values[name] / unit for name in ("mean", "stddev", "min", "max")}
    if clat.get("percentile"):
        columns = {"p50_ms": "50.000000", "p95_ms": "95.000000", "p99_ms": "99.000000", "p99_9_ms": "99.900000"}
        found |= {column: clat["percentile"][key] / unit for column, key in columns.items()}
    return found


@pytest.mark.parametrize("name", JSON)
def test_each_number_of_jobs_is_that_of_the_json(name):
    rec, text = opened(name)
    document = json.loads(text[text.index("\n{") if not text.startswith("{") else 0 :])
    rows = rec["jobs"].collect().to_dicts()
    common = document.get("global options", {})
    expected = [
        (job, direction, {} if job["jobname"] == "All clients" else {**common, **job.get("job options", {})})
        for job in document.get("jobs") or document["client_stats"]
        for direction in ("read", "write", "trim")
        if job[direction]["runtime"]
    ]
    assert [(row["job"], row["direction"]) for row in rows] == [(job["jobname"], name) for job, name, _ in expected]
    for row, one in zip(rows, expected, strict=True):
        same(row, of_json(*one))
        assert row["hostname"] == (one[0].get("hostname") if row["job"] != "All clients" else None)
        assert row["rw"] == one[2].get("rw")
    assert rec["percentiles"].collect().height == sum(
        len([key for key in values.get("percentile", {}) if float(key)])
        for job, direction, _ in expected
        for values in (job[direction].get("clat_ns") or job[direction]["clat"],)
    )
    disks = rec["disks"].collect().to_dicts() if "disks" in rec else []
    assert [(disk["disk"], disk["util_pct"]) for disk in disks] == [
        (disk["name"], disk["util"]) for disk in document.get("disk_util", [])
    ]
    shares = rec["latency_bins"].group_by("job_number").agg(pl.col("share_pct").sum()).sort("job_number").collect()
    for job, share in zip(document.get("jobs") or document["client_stats"], shares["share_pct"], strict=True):
        given = [job.get(key, {}) for key in ("latency_ns", "latency_us", "latency_ms")]
        assert share == pytest.approx(sum(sum(one.values()) for one in given))


def test_errors_before_the_json_are_noted_with_their_lines():
    rec, text = opened("fio-3.13_error_then_json.txt")
    lines = text.split("\n")
    for note in rec.notes[:2]:
        assert note.message == lines[note.line - 1]
    assert rec["jobs"].collect()["error"].to_list() == [42]


def test_each_number_of_jobs_is_that_of_the_terse_lines():
    rec, text = opened("fio-2.1.2_terse_v3.txt")
    rows = iter(rec["jobs"].collect().to_dicts())
    for line in text.splitlines():
        fields = line.split(";")
        for begin in (5, 46):
            block = fields[begin : begin + 41]
            percentiles = dict(field.split("%=") for field in block[12:32])
            numbers = [float(field.rstrip("%")) for field in block[:12] + block[32:]]
            latencies = {
                f"{prefix}_{name}_ms": numbers[place + offset] / 1000
                for prefix, place in (("slat", 4), ("clat", 8), ("latency", 12))
                for offset, name in enumerate(("min", "max", "mean", "stddev"))
            }
            expected = {
                "group": int(fields[3]),
                "error": int(fields[4]),
                "total_bytes": numbers[0] * 1024,
                "bandwidth_bytes_per_s": numbers[1] * 1024,
                "iops": numbers[2],
                "runtime_s": numbers[3] / 1000,
                "bandwidth_min_bytes_per_s": numbers[16] * 1024,
                "bandwidth_max_bytes_per_s": numbers[17] * 1024,
                "bandwidth_mean_bytes_per_s": numbers[19] * 1024,
                "bandwidth_stddev_bytes_per_s": numbers[20] * 1024,
                "p50_ms": int(percentiles["50.000000"]) / 1000,
                "p95_ms": int(percentiles["95.000000"]) / 1000,
                "p99_ms": int(percentiles["99.000000"]) / 1000,
                "p99_9_ms": int(percentiles["99.900000"]) / 1000,
                "usr_cpu_pct": float(fields[87].rstrip("%")),
                "sys_cpu_pct": float(fields[88].rstrip("%")),
                "context_switches": int(fields[89]),
                "major_faults": int(fields[90]),
                "minor_faults": int(fields[91]),
            }
            row = next(rows)
            assert (row["job"], row["direction"]) == (fields[2], "read" if begin == 5 else "write")
            same(row, expected | latencies)
    assert next(rows, None) is None
    (disk,) = rec["disks"].collect().to_dicts()
    assert [str(disk[name]) for name in ("disk", "read_ios", "write_ios", "in_queue_ms")] == [
        *fields[121:124],
        fields[128],
    ]


def test_each_number_of_jobs_is_that_of_the_normal_text():
    rec, text = opened("fio-2.0.15_normal.txt")
    total = re.search(r"issued\s+: total=r=(\d+)/w=(\d+).*short=r=(\d+)/w=(\d+)", text)
    cpu = re.search(r"usr=([\d.]+)%, sys=([\d.]+)%, ctx=(\d+), majf=(\d+), minf=(\d+)", text)
    parts = re.split(r"^  (?=read |write)", text.split("    lat (usec) : ")[0], flags=re.MULTILINE)[1:]
    rows = rec["jobs"].collect().to_dicts()
    assert [row["direction"] for row in rows] == ["read", "write"]
    for place, (row, part) in enumerate(zip(rows, parts, strict=True)):
        kib, per_second, iops, msec = map(
            float, re.search(r"io=(\d+)KB, bw=([\d.]+)KB/s, iops=(\d+) , runt= (\d+)m", part).groups()
        )
        expected = {
            "group": 0,
            "error": 0,
            "block_size_bytes": 16384,
            "queue_depth": 1,
            "workers": 1,
            "ios": int(total[place + 1]),
            "short_ios": int(total[place + 3]),
            "total_bytes": kib * 1024,
            "bandwidth_bytes_per_s": per_second * 1024,
            "iops": iops,
            "runtime_s": msec / 1000,
            "usr_cpu_pct": float(cpu[1]),
            "sys_cpu_pct": float(cpu[2]),
            "context_switches": int(cpu[3]),
            "major_faults": int(cpu[4]),
            "minor_faults": int(cpu[5]),
        }
        for column, label in (("clat_{}_ms", "clat"), ("latency_{}_ms", " lat"), ("bandwidth_{}_bytes_per_s", "bw")):
            line = next(one for one in part.split("\n") if re.match(rf"    {label} \(", one))
            numbers = {key: float(value) for key, value in re.findall(r"(\w+)=\s*([\d.]+)", line)}
            factor = 1024 if label == "bw" else 1 / 1000
            names = {"min": "min", "max": "max", "mean": "avg", "stddev": "stdev"}
            expected |= {column.format(name): numbers[key] * factor for name, key in names.items()}
        percentiles = dict(re.findall(r"([\d.]+)th=\[\s*(\d+)\]", part))
        columns = {"p50_ms": "50.00", "p95_ms": "95.00", "p99_ms": "99.00", "p99_9_ms": "99.90"}
        expected |= {column: int(percentiles[key]) / 1000 for column, key in columns.items()}
        same(row, expected)
    assert not rec.notes


def test_errors_alone_are_one_clear_error():
    file = compose.real_data("fio", "fio_error_only.txt")
    with pytest.raises(DamagedError) as failure:
        ex.open(file)
    assert file.read_text().strip().removeprefix("fio: ") in str(failure.value)
    assert "\n" not in str(failure.value)


JOBS = """\
[global]
size=4m
ioengine=psync
[stream]
rw=read
bs=64k
number_ios=600
[oltp]
stonewall
rw=randrw
bs=4k,8k
ioengine=libaio
iodepth=8
numjobs=2
number_ios=900
fsync=64
[unified]
stonewall
rw=randrw
bs=16k
number_ios=300
unified_rw_reporting=1
"""


@pytest.fixture(scope="module", params=["", "--group_reporting"], ids=["each", "grouped"])
def run(request, tmp_path_factory):
    """One run of fio, its output in three parts, a file each."""
    folder = tmp_path_factory.mktemp("fio")
    compose.write(folder, JOBS, "jobs.fio")
    logs = [f"--write_{name}_log=run" for name in ("bw", "iops", "lat")]
    command = ["fio", "--output-format=json+,normal,terse", "--terse-version=5", "--output=all.txt", *logs]
    command += [f"--directory={folder}", *filter(None, [request.param]), "jobs.fio"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    text = (folder / "all.txt").read_text()
    begin, end = re.search(r"^\{$", text, re.MULTILINE).start(), re.search(r"^\}$", text, re.MULTILINE).end()
    rest = (text[:begin] + text[end:]).split("\n")
    compose.write(folder, text[begin:end], "out.json")
    compose.write(folder, "\n".join(line for line in rest if line.startswith("5;")), "out.terse")
    compose.write(folder, "\n".join(line for line in rest if not line.startswith("5;")), "out.txt")
    return folder


def told(folder, name):
    rec = ex.open(folder / name)
    assert not [note for note in rec.notes if note.severity == "warning"]
    return rec, rec["jobs"].collect()


KEYS = ["job_number", "job", "group", "direction"]
MOMENTS = [f"{kind}_{name}_ms" for kind in ("slat", "clat", "latency") for name in ("mean", "stddev", "min", "max")]
SAMPLED = [f"iops_{name}" for name in ("mean", "min", "max", "stddev")]
SAMPLED += [f"bandwidth_{name}_bytes_per_s" for name in ("mean", "min", "max", "stddev")]


def agree(left, right, columns, *, rel=0.0, abs_=0.0):
    for column in columns:
        assert right[column].is_null().to_list() == left[column].is_null().to_list(), column
        expected = left[column].drop_nulls().to_list()
        assert right[column].drop_nulls().to_list() == pytest.approx(expected, rel=rel, abs=abs_), column


@pytest.mark.needs("fio")
def test_normal_and_json_of_one_run_agree(run):
    (_, exact), (rec, rounded) = told(run, "out.json"), told(run, "out.txt")
    assert rounded.select(KEYS).rows() == exact.select(KEYS).rows()
    same_ones = ["error", "rw", "ioengine", "queue_depth", "ios", "short_ios", "dropped_ios", "runtime_s"]
    same_ones += ["block_size_bytes", "context_switches", "minor_faults", "major_faults"]
    assert rounded.select(same_ones).rows() == exact.select(same_ones).rows()
    agree(exact, rounded, ["usr_cpu_pct", "sys_cpu_pct"], abs_=0.0051)
    # Four digits; whole IOPS.
    agree(exact, rounded, ["total_bytes", "bandwidth_bytes_per_s", "iops"], rel=1e-2, abs_=1)
    # Minima and maxima are cut to whole nanoseconds, microseconds or, on a busy machine, milliseconds.
    extremes = [name for name in MOMENTS if "min" in name or "max" in name]
    whole = {name: (rounded[name] >= 1) & (rounded[name] == rounded[name].floor()) for name in extremes}
    cut = [pl.when(whole[name]).then(pl.col(name).floor()).otherwise(name).alias(name) for name in extremes]
    agree(exact.with_columns(cut), rounded, extremes, rel=2e-3, abs_=1e-3)
    # The others have two decimals of these.
    agree(exact, rounded, [name for name in MOMENTS if "mean" in name or "stddev" in name], rel=2e-3, abs_=1e-5)
    # Whole MiB for minima and maxima where the mean is a GiB or so, else KiB.
    agree(exact, rounded, SAMPLED, rel=2e-3, abs_=1 << 20)
    # Whole microseconds, rounded up.
    agree(exact, rounded, ["p50_ms", "p95_ms", "p99_ms", "p99_9_ms"], rel=1e-2, abs_=1.1e-3)
    shares = [
        one["latency_bins"].filter(pl.col("source") == "distribution").collect()
        for one in (rec, ex.open(run / "out.json"))
    ]
    agree(shares[1], shares[0], ["job_number", "from_ms", "to_ms"])
    agree(shares[1], shares[0], ["share_pct"], abs_=0.0051)


@pytest.mark.needs("fio")
def test_terse_and_json_of_one_run_agree(run):
    (_, exact), (_, rounded) = told(run, "out.json"), told(run, "out.terse")
    exact = exact.filter(pl.col("direction") != "sync")
    assert rounded.select(KEYS).rows() == exact.select(KEYS).rows()
    agree(exact, rounded, ["error", "runtime_s", "context_switches", "minor_faults", "major_faults"])
    agree(exact, rounded, ["usr_cpu_pct", "sys_cpu_pct"], abs_=1e-6)
    agree(exact, rounded, ["total_bytes", "bandwidth_bytes_per_s"], abs_=1024)
    agree(exact, rounded, ["iops"], abs_=1)
    # Minima, maxima and percentiles are cut to microseconds, the others have six decimals of them.
    agree(exact, rounded, [name for name in MOMENTS if "min" in name or "max" in name], abs_=1e-3)
    agree(exact, rounded, [name for name in MOMENTS if "mean" in name or "stddev" in name], abs_=1e-8)
    agree(exact, rounded, ["p50_ms", "p95_ms", "p99_ms", "p99_9_ms"], abs_=1e-3)
    agree(exact, rounded, SAMPLED, abs_=1e-2)


@pytest.mark.needs("fio")
def test_the_bins_of_a_run_have_every_io_and_its_percentiles(run):
    rec, jobs = told(run, "out.json")
    bins = rec["latency_bins"].filter(pl.col("source") == "bins", pl.col("latency") == "clat").collect()
    for row in jobs.filter(pl.col("direction") != "sync").to_dicts():
        mine = bins.filter(pl.col("job_number") == row["job_number"], pl.col("direction") == row["direction"])
        assert mine["ios"].sum() == row["ios"]
        assert mine["from_ms"].min() <= row["clat_min_ms"] < row["clat_max_ms"] < mine["to_ms"].max()
        below = mine.filter(pl.col("from_ms") <= row["p99_ms"])["ios"].sum()
        assert below >= row["ios"] * 0.99


@pytest.mark.needs("fio")
def test_workers_of_a_run_are_its_numjobs(run):
    for name in ("out.json", "out.txt"):
        found = told(run, name)[1].select("job", "workers").unique().sort("job").rows()
        assert found == [("oltp", 2), ("stream", 1), ("unified", 1)]


@pytest.mark.needs("fio")
def test_one_file_with_all_three_has_each_job_once(run):
    rec, jobs = told(run, "all.txt")
    assert set(jobs["output"]) == {"json"}
    assert sum("left out: it repeats the json output" in note.message for note in rec.notes) == 2
