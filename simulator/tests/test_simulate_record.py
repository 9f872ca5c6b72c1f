"""Experiments done: every tool's file, what it agrees with, and what is refused."""

from __future__ import annotations

import bz2
import tomllib
from datetime import UTC, datetime

import polars as pl
import pytest

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse_simulator.experiment import load_experiment, parse_experiment
from esxparse_simulator.instruments import INSTRUMENTS
from esxparse_simulator.recorder import record

HOST = """
base = "busy-host"
name = "lab"
title = "Two runs of a host"
seed = 11
samples = 25
"""
NO_HOST = 'name = "lab"\ntitle = "No host"\nstart = 2026-03-11T09:00:00Z\nseed = 11\n'
GIVEN = """
[[file]]
tool = "linpack"
name = "linpack.txt"
repetitions = 3
sizes = [{ equations = 45000, gflops = { mean = 430.0, spread = 0.003 } }]
[[file]]
tool = "stream"
name = "stream.txt"
copy = 48000.0
scale = 48500.0
add = 53000.0
triad = { mean = 53100.0, spread = 0.01 }
repetitions = 2
[[file]]
tool = "redis_benchmark"
name = "redis.txt"
tests = [{ name = "SET", requests_per_s = 120000.0, requests = 1000000 }]
[[file]]
tool = "netperf"
name = "netperf.txt"
test = "TCP_RR"
round_trip_us = 30.0
[[file]]
tool = "results"
name = "users.csv"
labels = ["servers", "repetition"]
metrics = [{ name = "users" }]
repetitions = 2
rows = [{ servers = "one", users = { mean = 2000.0, spread = 0.01 } }]
[[file]]
tool = "activities"
name = "remote.csv"
stretches = [{ name = "typing", seconds = 60, volume_mb = 21 }]
[[file]]
tool = "tshark"
name = "nfs.txt"
protocol = "nfs"
requests = 50
rate_per_s = 50.0
size_bytes = 1024
span_bytes = 4194304
response_ms = 20.0
[[file]]
tool = "fio"
name = "fio.json"
read_iops = 70000.0
read_ms = 1.8
block_bytes = 4096
outstanding = 16
seconds = 60
jobs = 8
[[file]]
tool = "ribcl"
name = "power.xml"
watts = 170.0
seconds = 1800
[[file]]
tool = "vmkperf"
name = "vmkperf.txt"
event = "DTLB_MISS"
pcpus = 24
polls = 10
busy = { 23 = 1.1e6 }
[[file]]
tool = "perf"
name = "perf.txt"
command = "stress"
elapsed_s = [60.07]
events = [{ name = "dTLB-load-misses", counts = [68456568] }]
[[file]]
tool = "numactl"
name = "numa.txt"
sockets = 2
cores = 6
nodes = 2
memory_mb = [49142, 49152]
[[file]]
tool = "cpuinfo"
name = "cpuinfo.txt"
sockets = 2
cores = 6
[[file]]
tool = "vmx"
name = "guest.vmx"
vcpus = 12
"""
WATCHED = """
[[file]]
tool = "esxtop"
name = "lab.csv.bz2"
only = ["Physical Cpu", "Virtual Disk", "Power", "Group Cpu", "Vcpu"]
[[file]]
tool = "iometer"
name = "iometer.csv"
vms = "ledger-db"
disk = 1
ramp = 60
block_bytes = 8192
[[file]]
tool = "vscsistats"
name = "vscsistats.csv"
vms = "ledger-db"
disk = 1
ramp = 60
[[file]]
tool = "ribcl"
name = "power.xml"
interval_s = 5.0
"""


def parsed(text):
    return parse_experiment(tomllib.loads(text))


@pytest.fixture
def lab(tmp_path):
    (tmp_path / "lab.toml").write_text(HOST + WATCHED)
    return load_experiment(tmp_path / "lab.toml")


def test_every_tool_that_needs_no_host_writes_what_its_reader_opens(tmp_path):
    record(parsed(NO_HOST + GIVEN), tmp_path)
    formats = {path.name: ex.open(path).format for path in tmp_path.iterdir()}
    assert formats == {
        "linpack.txt": "linpack",
        "stream.txt": "stream",
        "redis.txt": "redis_benchmark",
        "netperf.txt": "netperf",
        "users.csv": "results_csv",
        "remote.csv": "results_csv",
        "nfs.txt": "packets",
        "fio.json": "fio",
        "power.xml": "ribcl",
        "vmkperf.txt": "vmkperf",
        "perf.txt": "perf_stat",
        "numa.txt": "numactl",
        "cpuinfo.txt": "cpuinfo",
        "guest.vmx": "vmx",
    }


def test_the_tests_of_this_file_ask_for_every_tool():
    asked = {spec["tool"] for spec in tomllib.loads(NO_HOST + GIVEN)["file"] + tomllib.loads(HOST + WATCHED)["file"]}
    assert asked == {*INSTRUMENTS, "esxtop"}


def test_iometer_and_esxtop_tell_of_the_same_disk(lab, tmp_path):
    record(lab, tmp_path / "out")
    capture = ex.open(tmp_path / "out" / "lab.csv.bz2")
    begin = datetime(2026, 3, 11, 9, tzinfo=UTC)
    disk = (
        capture["virtual_disk"]
        .filter(vm="ledger-db", disk="scsi1:0")
        .filter((pl.col("time") - begin).dt.total_seconds() > 60)
    )
    host = disk.select(
        reads=pl.col("reads_per_sec").mean(),
        ms=(pl.col("reads_per_sec") * pl.col("average_millisec_per_read")).sum() / pl.col("reads_per_sec").sum(),
    ).collect()
    guest = ex.open(tmp_path / "out" / "iometer.csv")["results"].filter(row_type="WORKER").collect()
    assert guest["read_iops"].item() == pytest.approx(host["reads"].item(), rel=1e-3)
    # esxtop prints milliseconds with two decimals
    assert guest["read_latency_mean_ms"].item() == pytest.approx(host["ms"].item(), abs=0.006)


def test_a_generator_that_keeps_its_ios_under_way_finds_littles_law_where_its_guest_is_short_of_cpu(tmp_path):
    under_way = {}
    for name, option in (("as-sent", "block_bytes = 8192"), ("kept", "keeps_outstanding = true")):
        (tmp_path / f"{name}.toml").write_text(HOST + WATCHED.replace("block_bytes = 8192", option))
        record(load_experiment(tmp_path / f"{name}.toml"), tmp_path / name)
        worker = (
            ex.open(tmp_path / name / "iometer.csv")["results"].filter(row_type="WORKER").collect().row(0, named=True)
        )
        in_flight = [worker[f"{way}_iops"] * worker[f"{way}_latency_mean_ms"] / 1000 for way in ("read", "write")]
        under_way[name] = sum(in_flight) / worker["queue_depth"]
    assert under_way["as-sent"] < 0.9
    assert under_way["kept"] == pytest.approx(1, rel=1e-3)


def test_the_power_meter_reads_what_the_host_takes(lab, tmp_path):
    record(lab, tmp_path / "out")
    capture, meter = (ex.open(tmp_path / "out" / name) for name in ("lab.csv.bz2", "power.xml"))
    watts = meter["power"].collect()["watts"]
    seen = capture["power"].collect()["power_usage_now_watts"].drop_nulls()
    assert watts.mean() == pytest.approx(seen.mean(), rel=0.01)


def test_the_same_experiment_gives_the_same_bytes(lab, tmp_path):
    both = []
    for name in ("one", "two"):
        record(lab, tmp_path / name)
        both.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert both[0] == both[1]


def test_a_file_of_any_tool_is_compressed_by_its_name(tmp_path):
    plain = parsed(NO_HOST + '[[file]]\ntool = "netperf"\nname = "n.txt"\nmbit_per_s = 9400.0\n')
    packed = parsed(NO_HOST + '[[file]]\ntool = "netperf"\nname = "n.txt.bz2"\nmbit_per_s = 9400.0\n')
    record(plain, tmp_path)
    record(packed, tmp_path)
    assert bz2.decompress((tmp_path / "n.txt.bz2").read_bytes()) == (tmp_path / "n.txt").read_bytes()
    assert ex.open(tmp_path / "n.txt.bz2").format == "netperf"


def test_one_run_near_a_value_is_not_moved_to_it(tmp_path):
    row = 'rows = [{ test = "a", p99 = { around = 200.0, spread = 0.05 }, mean = { mean = 100.0, spread = 0.05 } }]\n'
    head = '[[file]]\ntool = "results"\nname = "r.csv"\nlabels = ["test"]\n'
    metrics = 'metrics = [{ name = "p99" }, { name = "mean" }]\n'
    record(parsed(NO_HOST + head + metrics + row), tmp_path)
    found = dict(ex.open(tmp_path / "r.csv")["benchmark_results"].select("metric", "value").collect().iter_rows())
    assert found["mean"] == 100.0
    assert found["p99"] != 200.0
    assert found["p99"] == pytest.approx(200.0, rel=0.05)


def test_progress_is_told_sample_by_sample(lab, tmp_path):
    told = []
    record(lab, tmp_path / "out", progress=lambda done, total, what: told.append((done, total, what)))
    assert [done for done, _, _ in told] == list(range(1, 26))
    assert {total for _, total, _ in told} == {25}


def test_what_is_said_of_captures_counts_before_the_scenario(lab, tmp_path):
    written = record(lab, tmp_path / "out", capture={"release": "6.5", "only": ["Memory"], "compress": "gz"})
    names = [file.path.name for file in written]
    assert names[0] == "lab.csv.gz"
    assert {"iometer.csv", "vscsistats.csv", "power.xml"} == set(names[1:])
    rec = ex.open(tmp_path / "out" / "lab.csv.gz")
    assert list(rec.tables) == ["memory"]


def test_a_run_without_files_of_its_own_writes_none_where_others_do(tmp_path):
    text = """
    [[run]]
    platform = ["native", "vm"]
    [[file]]
    tool = "perf"
    name = { by = "platform", at = { vm = "vm.txt" }, other = "" }
    command = "c"
    elapsed_s = { by = "platform", at = { vm = [1.0] } }
    events = [{ name = "cycles", counts = [10] }]
    """
    record(parsed(NO_HOST + text), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["vm.txt"]


def test_truths_are_written_with_times_of_day(tmp_path):
    (tmp_path / "t.toml").write_text(
        'base = "busy-host"\nname = "bad"\nsamples = 2\n'
        '[[truth]]\ntrouble = "cpu.contention"\nwhere = "vm \\"orders\\""\n'
        'start = 120\nend = 215.0\nshows = ["% Ready"]\n'
    )
    record(load_experiment(tmp_path / "t.toml"), tmp_path / "out")
    (truth,) = tomllib.loads((tmp_path / "out" / "truth.toml").read_text())["truth"]
    assert truth["start"] == datetime(2026, 3, 11, 9, 2, tzinfo=UTC)
    assert truth["end"] == datetime(2026, 3, 11, 9, 3, 35, tzinfo=UTC)
    assert (truth["where"], truth["files"], truth["shows"]) == ('vm "orders"', ["bad.csv"], ["% Ready"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[file]]\ntool = "iozone"\nname = "a"\n', r"file a: no tool 'iozone'. There are: activities, "),
        ('[[file]]\ntool = "linpack"\nname = "a"\nflops = 1\n', r"file a: linpack has no 'flops'. Known: cores, "),
        ('[[file]]\ntool = "iometer"\nname = "a"\n', "watches a host, and the scenario has none"),
        ('[[file]]\ntool = "esxtop"\nname = "a"\n', "esxtop watches a host, and the scenario has none"),
        ('[[file]]\ntool = "stream"\nname = "a"\nscale = 1.0\n', "file a: copy is missing"),
        ("", "there is nothing to write"),
        (
            '[[run]]\nx = [1, 2]\n[[file]]\ntool = "perf"\nname = "a"\ncommand = "c"\nelapsed_s = [1.0]\nevents = []\n',
            "2 runs would write it",
        ),
    ],
)
def test_what_cannot_be_written_is_one_line_and_leaves_no_file(tmp_path, text, message):
    with pytest.raises(EsxparseError, match=message):
        record(parsed(NO_HOST + text), tmp_path / "out")
    assert not list(tmp_path.rglob("*.*"))


def test_a_directory_that_is_a_file_is_one_line(lab, tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(EsxparseError, match=r"cannot write .*out: File exists"):
        record(lab, tmp_path / "out")
