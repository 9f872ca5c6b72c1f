"""Real files and real programs: each number compared with one read from the raw text in another way."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

import polars as pl
import pytest
from compose import real_data, write

import esxparse as ex


def values(rec, metric):
    """Test to value, of one metric."""
    frame = rec["benchmark_results"].filter(pl.col("metric") == metric).collect()
    return dict(zip(frame["test"], frame["value"], strict=True))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, check=True, timeout=60, **options).stdout


def test_a_real_stream_run():
    file = real_data("misc", "stream.txt")
    rec = ex.open(file)
    rows = re.findall(r"^(\w+): +(\S+) +(\S+) +(\S+) +(\S+)$", file.read_text(), re.MULTILINE)
    kernels = rec["kernels"].collect()
    times = ("bandwidth_mb_per_s", "time_mean_s", "time_min_s", "time_max_s")
    assert kernels.select("kernel", *times).rows() == [(row[0].lower(), *map(float, row[1:])) for row in rows]
    assert values(rec, "bandwidth") == {row[0].lower(): float(row[1]) for row in rows}
    assert kernels["valid"].to_list() == [True] * 4
    assert kernels["array_size"][0] == 1 << 28
    # MB is 10**6 bytes: copy moves two arrays of eight-byte numbers.
    moved = 2 * 8 * (1 << 28) / kernels["time_min_s"][0] / 1e6
    assert moved == pytest.approx(kernels["bandwidth_mb_per_s"][0], rel=1e-5)
    assert not rec.notes


def test_a_real_hpl_run():
    file = real_data("misc", "hpl_intel.txt")
    text = file.read_text()
    rec = ex.open(file)
    (line,) = [line.split() for line in text.split("\n") if line.startswith("WC00")]
    (solve,) = rec["solves"].collect().to_dicts()
    assert [solve["variant"], *(str(solve[name]) for name in ("size", "nb", "p", "q"))] == line[:5]
    assert (solve["time_s"], solve["gflops"]) == (float(line[5]), float(line[6]))
    assert solve["residual_norm"] == float(re.search(r"=\s+(\S+) \.+ PASSED", text)[1])
    assert solve["passed"] is True
    assert (solve["ended"] - solve["started"]).total_seconds() == pytest.approx(solve["time_s"], abs=1)
    # 10**9 operations a second: two thirds of the cube, and the square.
    n = solve["size"]
    assert (2 / 3 * n**3 + 1.5 * n**2) / solve["time_s"] / 1e9 == pytest.approx(solve["gflops"], rel=1e-3)
    check_progress(rec, text)
    assert [note.severity for note in rec.notes] == ["info", "info"]


def check_progress(rec, text):
    numbers = [re.findall(r"=\s*([\d.]+)", line) for line in text.split("\n") if ": Column=" in line]
    progress = rec["progress"].collect()
    assert progress.drop("host").rows() == [(int(row[0]), *map(float, row[1:])) for row in numbers]


def test_a_real_linpack_run_that_ended_before_its_result_keeps_its_progress():
    file = real_data("misc", "linpack_mkl.txt")
    rec = ex.open(file)
    check_progress(rec, file.read_text())
    assert "benchmark_results" not in rec
    assert any("ended before its result, at 99.5%" in note.message for note in rec.notes)


def test_a_real_netperf_result_wrapped_by_a_mail_program():
    file = real_data("misc", "netperf_omni.txt")
    rec = ex.open(file)
    text = file.read_text()
    paragraph = text.split("\n\n")[0].split("Throughput,", 1)[1]
    titles, numbers = paragraph.rsplit("\n", 1)
    raw = dict(zip(("Throughput," + titles).replace("\n", " ").split(","), numbers.split(","), strict=True))
    fields = rec["fields"].collect()
    assert dict(zip(fields["field"], fields["text"], strict=True)) == raw
    assert values(rec, "throughput") == {"UDP_RR": float(raw["Throughput"])}
    for metric, title in (("p50", "50th"), ("p90", "90th"), ("p99", "99th")):
        assert values(rec, f"latency_{metric}") == {"UDP_RR": float(raw[f"{title} Percentile Latency Microseconds"])}
    assert values(rec, "latency_min") == {"UDP_RR": float(raw["Minimum Latency Microseconds"])}
    assert values(rec, "latency_max") == {"UDP_RR": float(raw["Maximum Latency Microseconds"])}
    assert values(rec, "latency_stddev") == {"UDP_RR": float(raw["Stddev Latency Microseconds"])}
    counts = [int(count) for row in re.findall(r"_[UM]?SEC +:(.*)", text) for count in row.split(":")]
    bins = rec["histogram"].collect()
    assert bins["count"].sum() == sum(counts) == int(re.search(r"HIST_TOTAL:\s+(\d+)", text)[1])
    (median,) = bins.filter((pl.col("from_ms") <= 0.442) & (pl.col("to_ms") > 0.442) & (pl.col("count") > 0))["count"]
    assert str(median) in text
    assert not rec.notes


def test_a_real_redis_benchmark_with_latencies():
    file = real_data("misc", "redis_benchmark.csv")
    rec = ex.open(file)
    rows = [json.loads(f"[{line}]") for line in file.read_text(encoding="utf-8-sig").split("\n")[1:] if line]
    metrics = ("throughput", *(f"latency_{name}" for name in ("mean", "min", "p50", "p95", "p99", "max")))
    for place, metric in enumerate(metrics, 1):
        assert values(rec, metric) == {row[0]: float(row[place]) for row in rows}, metric
    assert rec["benchmark_results"].collect().height == len(rows) * len(metrics)
    assert ["no line end" in note.message for note in rec.notes] == [True]


@contextmanager
def redis_server(folder):
    port = str(free_port())
    command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", int(port))) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture(scope="module")
def redis_port(tmp_path_factory):
    with redis_server(tmp_path_factory.mktemp("redis")) as port:
        yield port


@pytest.mark.needs("redis-server", "redis-benchmark")
def test_redis_benchmark_text(redis_port, tmp_path):
    content = run("redis-benchmark", "-p", redis_port, "-n", "2000", "-c", "10", "-t", "set,get")
    rec = ex.open(write(tmp_path, content, "text.txt"))
    text = content.decode()
    rates = [float(rate) for rate in re.findall(r"throughput summary: (\S+) requests", text)]
    assert values(rec, "throughput") == dict(zip(("SET", "GET"), rates, strict=True))
    summaries = re.findall(r"p99 +max\n\s+([\d. ]+)\n", text)
    assert list(values(rec, "latency_p99").values()) == [float(line.split()[4]) for line in summaries]
    steps = re.findall(r"^([\d.]+)% <= ([\d.]+) milliseconds \(cumulative count (\d+)\)", text, re.MULTILINE)
    printed = rec["percentiles"].collect().height + rec["distribution"].collect().height
    assert printed == len(steps)
    assert rec["tests"].collect().select("requests", "clients").rows() == [(2000, 10)] * 2
    assert not rec.notes


@pytest.mark.needs("redis-server", "redis-benchmark")
def test_redis_benchmark_csv_and_quiet(redis_port, tmp_path):
    content = run("redis-benchmark", "-p", redis_port, "-n", "2000", "-t", "set,lpush", "--csv")
    rec = ex.open(write(tmp_path, content, "out.csv"))
    rows = [line.replace('"', "").split(",") for line in content.decode().split("\n") if line][1:]
    assert values(rec, "throughput") == {row[0]: float(row[1]) for row in rows}
    content = run("redis-benchmark", "-p", redis_port, "-n", "2000", "-t", "ping", "-q")
    rec = ex.open(write(tmp_path, content, "quiet.txt"))
    rates = re.findall(r"(\w+): ([\d.]+) requests per second", content.decode())
    assert values(rec, "throughput") == {name: float(rate) for name, rate in rates}
    assert not rec.notes


def iperf3(*options):
    program = shutil.which("iperf3")
    port = str(free_port())
    server = subprocess.Popen([program, "-s", "-1", "-p", port], stdout=subprocess.PIPE)
    try:
        for attempt in range(40):
            client = subprocess.run(
                [program, "-c", "127.0.0.1", "-p", port, "-t", "1", *options],
                capture_output=True,
                check=False,
                timeout=60,
            )
            # With -J a client that cannot connect says so in its document, and ends with 0.
            if (client.returncode == 0 and b'"error"' not in client.stdout) or attempt == 39:
                return client.stdout
            time.sleep(0.1)
    finally:
        server.terminate()
        server.communicate(timeout=10)
    raise AssertionError


@pytest.mark.needs("iperf3")
@pytest.mark.parametrize("options", [["-P", "2"], ["-R"], ["--bidir"], ["-u", "-b", "5M"]], ids=" ".join)
def test_iperf3_json(options, tmp_path):
    content = iperf3("-J", *options)
    document = json.loads(content)
    rec = ex.open(write(tmp_path, content, "iperf3.json"))
    end = document["end"]
    assert list(values(rec, "throughput_sent").values()) == [end["sum_sent"]["bits_per_second"] / 1e6]
    assert list(values(rec, "throughput_received").values()) == [end["sum_received"]["bits_per_second"] / 1e6]
    assert list(values(rec, "cpu_remote").values()) == [end["cpu_utilization_percent"]["remote_total"]]
    intervals = rec["intervals"].collect()
    raw = [stream for interval in document["intervals"] for stream in interval["streams"]]
    streams = intervals.filter(pl.col("stream") != "sum")
    assert streams["bytes"].to_list() == [stream["bytes"] for stream in raw]
    assert streams["bits_per_s"].to_list() == [stream["bits_per_second"] for stream in raw]
    if "--bidir" in options:
        assert set(streams["direction"]) == {"forward", "reverse"}
        reverse = document["end"]["sum_received_bidir_reverse"]["bits_per_second"] / 1e6
        assert list(values(rec, "throughput_received_reverse").values()) == [reverse]
    assert rec.meta["start"].timestamp() == document["start"]["timestamp"]["timesecs"]
    assert not rec.notes


@pytest.mark.needs("iperf3")
def test_iperf3_text(tmp_path):
    content = iperf3("-P", "2", "-f", "m")
    rec = ex.open(write(tmp_path, content, "iperf3.txt"))
    lines = content.decode().split("\n")
    for side, metric in (("sender", "throughput_sent"), ("receiver", "throughput_received")):
        (line,) = [line for line in lines if line.startswith("[SUM]") and line.rstrip().endswith(side)]
        assert list(values(rec, metric).values()) == [float(re.search(r"([\d.]+) Mbits/sec", line)[1])]
    assert not rec.notes


@pytest.mark.needs("sysbench")
@pytest.mark.parametrize("test", ["cpu", "memory"])
def test_sysbench(test, tmp_path):
    content = run("sysbench", test, "--time=1", "--threads=2", "run", cwd=tmp_path)
    rec = ex.open(write(tmp_path, content, "sysbench.txt"))
    text = content.decode()
    rate = re.search(r"events per second: +(\S+)|MiB transferred \((\S+) MiB/sec\)", text)
    metric = {"cpu": "events", "memory": "memory_bandwidth"}[test]
    assert values(rec, metric) == {test: float(next(group for group in rate.groups() if group))}
    assert values(rec, "latency_p95") == {test: float(re.search(r"95th percentile: +(\S+)", text)[1])}
    assert values(rec, "event_count") == {test: float(re.search(r"number of events: +(\S+)", text)[1])}
    assert not rec.notes
