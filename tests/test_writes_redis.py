"""redis-benchmark as the simulator writes it: what goes in comes out, and the lines are those of a real run."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import time
from statistics import fmean

import compose
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse_simulator.distribution import SHAPES, Distribution
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers import redis_benchmark
from esxparse_simulator.writers.redis_benchmark import Test as Run
from esxparse_simulator.writers.redis_counts import counted, old_counts

quick = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
forms = [(version, form) for version in ("2.8", "7.0") for form in ("text", "quiet", "csv")]
shapes = st.sampled_from(sorted(SHAPES))
names = ["SET", "GET", "PING_INLINE", "MSET (10 keys)", "LPUSH (needed to benchmark LRANGE)"]


@st.composite
def run_of(draw):
    rate, clients = draw(st.floats(500, 400_000)), draw(st.integers(1, 1000))
    most = clients * 1000 / rate
    latency = draw(st.none() | st.builds(Distribution, st.floats(most / 5, most), shapes))
    return Run(
        draw(st.sampled_from(names)),
        rate,
        # Of half an hour the progress alone is a megabyte.
        requests=draw(st.integers(1000, 1000 + round(60 * rate))),
        clients=clients,
        payload_bytes=draw(st.integers(1, 4096)),
        latency_ms=latency,
        threads=draw(st.integers(0, 8)),
    )


tests = st.lists(run_of(), min_size=1, max_size=3, unique_by=lambda run: run.name)


def opened(folder, content):
    return ex.open(compose.write(folder, content, "redis.txt"))


def metric(rec, name="throughput"):
    return rec["benchmark_results"].collect().filter(metric=name)


@quick
@given(runs=tests, form=st.sampled_from(forms))
def test_rates_and_latencies_come_back_in_every_form(tmp_path, runs, form):
    rec = opened(tmp_path, redis_benchmark.text(runs, *form))
    assert rec.format == "redis_benchmark"
    assert not rec.notes
    found = metric(rec)
    assert found["test"].to_list() == [run.name for run in runs]
    for run, value in zip(runs, found["value"], strict=True):
        # The program divides by whole milliseconds, in single precision.
        assert value == pytest.approx(run.requests_per_s, abs=run.requests_per_s * (0.51 / run.run_ms + 1e-6) + 0.006)
        assert value == pytest.approx(run.requests * 1000 / run.run_ms, rel=1e-6, abs=0.006)
    if form in {("7.0", "csv"), ("7.0", "text")}:
        means = metric(rec, "latency_mean")["value"].to_list()
        assert means == pytest.approx([run.latency.mean for run in runs], abs=6e-4)
        ordered = [metric(rec, f"latency_{name}")["value"].to_list() for name in ("min", "p50", "p95", "p99", "max")]
        assert all(list(values) == sorted(values) for values in zip(*ordered, strict=True))


@quick
@given(run=run_of())
def test_the_text_says_settings_and_counts_all_requests(tmp_path, run):
    rec = opened(tmp_path, redis_benchmark.text([run], "7.0"))
    row = rec["tests"].collect().row(0, named=True)
    assert (row["requests"], row["clients"], row["payload_bytes"]) == (run.requests, run.clients, run.payload_bytes)
    assert row["duration_s"] == pytest.approx(run.run_ms / 1000, abs=0.0051, rel=1e-6)
    assert row["threads"] == (run.threads or None)
    percentiles, cumulative = rec["percentiles"].collect(), rec["distribution"].collect()
    assert percentiles["count"].to_list() == sorted(percentiles["count"])
    assert percentiles["latency_ms"].to_list() == sorted(percentiles["latency_ms"])
    assert percentiles["count"][-1] == cumulative["cumulative_count"][-1] == run.requests
    assert cumulative["cumulative_pct"][-1] == 100
    shares = (cumulative["cumulative_count"] / run.requests * 100).to_list()
    assert cumulative["cumulative_pct"].to_list() == pytest.approx(shares, abs=5.1e-4)


@quick
@given(mean=st.floats(0.02, 400), shape=shapes, requests=st.integers(100, 1_000_000))
def test_counts_have_about_the_mean_and_the_percentiles_of_their_distribution(mean, shape, requests):
    latency = Distribution(mean, shape)
    counts = counted(latency, requests)
    assert counts.total == requests
    assert counts.lowest_ms <= mean + 0.008
    for share in (50.0, 95.0):
        exact = latency.quantile(share / 100)
        # A bin is 8 us, or a thousandth; a percentile is that of a whole request.
        low, high = (latency.quantile(max(0.0, min(1.0, share / 100 + step / requests))) for step in (-1.5, 1.5))
        assert low - 0.008 - exact / 1000 <= counts.at(share) <= high + 0.008 + exact / 1000
    old = list(old_counts(latency, requests))
    assert [part for part, _ in old] == sorted(part for part, _ in old)
    assert f"{old[-1][0]:.2f}" == "100.00"


def test_old_text_counts_the_first_of_each_millisecond():
    """Of 1000 requests half are below a millisecond: the 501st is the first that takes one."""
    lines = list(old_counts(Distribution(1.0, "cached"), 1000))
    below = round(1000 * Distribution(1.0, "cached").share_below(1.0))
    assert lines[0] == (pytest.approx((below + 1) / 10, abs=1e-4), 1)


def test_five_runs_of_the_published_study(tmp_path):
    """1000 clients, SET of one byte, five runs: a VM reaches 98 % of native with host networking in a container."""
    run = Run("SET", 100_000.0, requests=10_000_000, clients=1000, payload_bytes=1)
    runs = redis_benchmark.runs(Noise(4), "native", run, 0.02, 5)
    files = [opened(tmp_path, redis_benchmark.text([one])) for one in runs]
    rates = [metric(rec)["value"].item() for rec in files]
    assert fmean(rates) == pytest.approx(100_000, rel=1e-5)
    assert len(set(rates)) == 5
    together = opened(tmp_path, "".join(redis_benchmark.text([one]) for one in runs))
    assert metric(together)["repetition"].to_list() == [1, 2, 3, 4, 5]


@pytest.fixture
def server():
    """The port of a Redis server of our own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd="/") as run:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield str(port)
        run.terminate()


PROGRESS = r"\S+: rps=9 \(overall: 9\) avg_msec=9 \(overall: 9\)"


def shape(text):
    """What is left of lines without their numbers; of lines of equal shape one, the progress between left out."""
    wiped = re.sub(r"-?nan|inf", "9", text)
    lines = [re.sub(r" +", " ", re.sub(r"\d[\d.]*", "9", line)) for line in re.split(r"[\r\n]", wiped)]
    lines = [line for line in lines if line != " " and not re.fullmatch(PROGRESS, line)]
    return [line for place, line in enumerate(lines) if not place or line != lines[place - 1]]


@pytest.mark.needs("redis-server", "redis-benchmark")
@pytest.mark.parametrize(("form", "options"), [("text", []), ("quiet", ["-q"]), ("csv", ["--csv"])])
def test_lines_are_those_of_a_real_run(server, form, options):
    command = ["redis-benchmark", "-p", server, "-n", "5000", "-c", "20", "-t", "set,get", *options]
    real = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    runs = [Run(name, 50_000.0, requests=5000, clients=20) for name in ("SET", "GET")]
    ours = redis_benchmark.text(runs, "7.0", form)
    assert shape(ours) == shape(real)
    # How many reports of its progress there are depends on how fast it is; the first comes at the start.
    first = [re.sub(r"-?nan|inf|\d[\d.]*", "9", re.split(r"[\r\n]", text)[1]) for text in (ours, real)]
    assert all(form == "csv" or re.fullmatch(PROGRESS, line) for line in first)


def test_progress_is_wiped_as_the_program_does():
    run = Run("SET", 50_000.0, requests=50_000)
    pieces = redis_benchmark.text([run], "7.0", "quiet").split("\r")
    assert pieces[0] == " "
    for line, wipe in zip(pieces[1:-1:2], pieces[2:-1:2], strict=True):
        assert len(wipe) == len(line) + 1
    assert len(pieces) == 1 + 2 * 4 + 1
    assert redis_benchmark.text([run], "2.8", "quiet") == (
        "SET: -nan\r" + "SET: 50000.00\r" * 3 + "SET: 50000.00 requests per second\n\n"
    )


def test_the_same_bytes_every_time():
    run = Run("GET", 12_345.0)
    assert redis_benchmark.text([run], "7.0") == redis_benchmark.text([run], "7.0")


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ([], (), "at least one"),
        ([Run("SET", 0.0)], (), "rate of SET"),
        ([Run("SET", 1000.0, requests=0)], (), "requests of SET"),
        ([Run("SET", 1000.0, clients=1, latency_ms=Distribution(2.0))], (), "cannot reach"),
        ([Run("SET", 1000.0, latency_ms=Distribution(-2.0))], (), "latency"),
        ([Run('S"T', 1000.0)], (), "called"),
        ([Run("SET", 1000.0)], ("9.9",), "9.9"),
        ([Run("SET", 1000.0)], ("7.0", "json"), "json"),
    ],
)
def test_what_makes_no_sense_is_refused(runs, options, message):
    with pytest.raises(EsxparseError, match=message) as caught:
        redis_benchmark.text(runs, *options)
    assert "\n" not in str(caught.value)
