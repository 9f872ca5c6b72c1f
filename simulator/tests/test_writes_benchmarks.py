"""Benchmarks as the simulator writes them: what goes in comes out of the readers."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from statistics import fmean

import compose
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse_simulator.measured import repeated
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers.benchmarks import (
    KERNELS,
    Processors,
    RedisTest,
    Size,
    linpack_text,
    netperf_text,
    redis_text,
    stream_text,
)

START = datetime(2014, 9, 1, 8, tzinfo=UTC)
quick = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
some_rates = st.lists(st.floats(0.01, 100_000), min_size=1, max_size=4)
kernels = st.tuples(*[st.floats(1.0, 1e6)] * 4)
problems = st.builds(
    Size,
    equations=st.integers(100, 100_000),
    gflops=st.lists(st.floats(0.1, 9e4), min_size=1, max_size=4).map(tuple),
)
names = ["SET", "GET", "PING_INLINE", "MSET (10 keys)", "LPUSH (needed to benchmark LRANGE)"]


@st.composite
def redis_tests(draw):
    rate = draw(st.floats(500, 400_000))
    # Of half an hour the progress alone is a megabyte.
    requests = draw(st.integers(1000, 1000 + round(60 * rate)))
    return RedisTest(
        draw(st.sampled_from(names)), rate, requests, draw(st.integers(1, 1000)), draw(st.integers(1, 4096))
    )


def opened(folder, content):
    return ex.open(compose.write(folder, content, "output.txt"))


def metric(rec, name="throughput"):
    return rec["benchmark_results"].collect().filter(metric=name)


@quick
@given(
    rates=some_rates,
    test=st.sampled_from(["TCP_STREAM", "TCP_MAERTS", "TCP_RR", "UDP_RR"]),
    seconds=st.floats(1, 36_000),
)
def test_netperf_rates_and_settings_come_back(tmp_path, rates, test, seconds):
    rec = opened(tmp_path, netperf_text(test, rates, seconds, "192.0.2.77"))
    found = metric(rec)
    assert found["test"].to_list() == [test] * len(rates)
    assert found["value"].to_list() == pytest.approx(rates, abs=0.0051, rel=1e-12)
    assert set(found["unit"]) == {"transactions/s" if test.endswith("_RR") else "Mbit/s"}
    assert not [note for note in rec.notes if note.severity == "warning" or "not part of a result" in note.message]
    row = rec["settings"].collect().row(0, named=True)
    assert row["elapsed_s"] == pytest.approx(seconds, abs=0.0051)
    assert row["destination"] == "192.0.2.77"


def test_netperfs_tables_have_the_columns_of_the_program():
    """Widths and blanks as nettest_bsd.c prints them."""
    banner, *titles, blank, row = netperf_text("TCP_STREAM", [9400.0], 10.0, "192.0.2.21").split("\n")[:7]
    start = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.21 () port 0 AF_INET"
    assert banner == f"{start} : demo"
    assert titles[3] == "bytes  bytes   bytes    secs.    10^6bits/sec  "
    assert (blank, row) == ("", " 87380  16384  16384    10.00    9400.00   ")
    lines = netperf_text("TCP_RR", [25000.0], 10.0).split("\n")
    assert lines[0].endswith("AF_INET : demo : first burst 0")
    assert lines[-3:] == ["16384  87380  1        1       10.00    25000.00   ", "16384  87380 ", ""]


@quick
@given(
    runs=st.lists(kernels, min_size=1, max_size=3),
    elements=st.integers(1000, 3_000_000_000),
    threads=st.integers(1, 512),
    seed=st.integers(0, 99),
)
def test_stream_rates_come_back(tmp_path, runs, elements, threads, seed):
    rec = opened(tmp_path, stream_text(runs, elements, threads, seed))
    assert rec.format == "stream"
    assert rec.meta["release"] == "5.10"
    assert not rec.notes
    found = rec["kernels"].collect()
    assert found["kernel"].to_list() == [*KERNELS] * len(runs)
    assert found["bandwidth_mb_per_s"].to_list() == pytest.approx([one for run in runs for one in run], abs=0.051)
    assert set(found["threads"]) == {threads}
    assert set(found["array_size"]) == {elements}
    assert set(found["valid"]) == {True}
    for row in found.to_dicts():
        assert row["time_min_s"] <= row["time_mean_s"] <= row["time_max_s"]
        moved = KERNELS[row["kernel"]] * 8 * elements / 1e6
        assert row["time_min_s"] == pytest.approx(moved / row["bandwidth_mb_per_s"], rel=0.06, abs=6e-7)


def shape(text):
    """The lines with every digit as 9, numbers of any length."""
    return [re.sub(r"[\d.]*\d(?:e-\d+)?", "9", line).replace(" ", "") for line in text.splitlines()]


def test_stream_has_the_lines_of_a_real_run():
    real = compose.real_data("misc", "stream.txt").read_text()
    ours = stream_text([(1.0, 2.0, 3.0, 4.0)], 80_000_000, 8, 1)
    assert shape(ours) == shape(real)
    widths = [[match.end() for match in re.finditer(r"\S+", line)] for line in ours.splitlines()[-7:-3]]
    assert widths == [[match.end() for match in re.finditer(r"\S+", line)] for line in real.splitlines()[-7:-3]]


@quick
@given(sizes=st.lists(problems, min_size=1, max_size=4, unique_by=lambda size: size.equations))
def test_linpack_results_come_back(tmp_path, sizes):
    rec = opened(tmp_path, linpack_text(sizes, START, Processors(2.7, 4, 32, 24), 1))
    assert rec.format == "linpack"
    assert not [note.message for note in rec.notes if note.severity == "warning"]
    found = rec["benchmark_results"].collect()
    expected = [value for size in sizes for value in size.gflops]
    assert found.filter(metric="performance")["value"].to_list() == pytest.approx(expected, abs=5.1e-5)
    assert set(found["valid"]) == {True}
    solves = rec["solves"].collect()
    assert solves["size"].to_list() == [size.equations for size in sizes for _ in size.gflops]
    for row in solves.to_dicts():
        n = row["size"]
        operations = 2 / 3 * n**3 + 2 * n**2
        assert row["time_s"] == pytest.approx(operations / row["gflops"] / 1e9, abs=6e-4, rel=1e-3)
    summary = rec["summary"].collect()
    assert summary["mean_gflops"].to_list() == pytest.approx([fmean(size.gflops) for size in sizes], abs=6e-5)
    assert summary["max_gflops"].to_list() == pytest.approx([max(size.gflops) for size in sizes], abs=6e-5)


def test_linpack_asks_for_the_memory_that_the_study_reports():
    """65K equations: 33.8 GB."""
    lines = linpack_text([Size(45_000, (480.0,)), Size(65_000, (500.0,))], START, Processors(), 1).split("\n")
    assert "Maximum memory requested that can be used=33801304096, at the size=65000" in lines


def test_linpack_rows_have_the_widths_of_the_program():
    lines = linpack_text([Size(1000, (19.1655,)), Size(25_000, (2887.7062,))], START, Processors(), 1).split("\n")
    at = lines.index("Size   LDA    Align. Time(s)    GFlops   Residual     Residual(norm) Check")
    assert lines[at - 2] == "=================== Timing linear equation system solver ==================="
    assert re.fullmatch(
        r"1000   1000   4      0\.035      19\.1655  \d\.\d{6}e-1[23] \d\.\d{6}e-02   pass", lines[at + 1]
    )
    assert "Number of equations to solve (problem size) : 1000  25000" in lines
    assert "Number of trials to run                     : 1     1    " in lines
    assert lines[2] == "Current date/time: Mon Sep  1 08:00:00 2014"


@quick
@given(runs=st.lists(redis_tests(), min_size=1, max_size=3, unique_by=lambda run: run.name))
def test_redis_rates_come_back(tmp_path, runs):
    rec = opened(tmp_path, redis_text(runs))
    assert rec.format == "redis_benchmark"
    assert not rec.notes
    found = metric(rec)
    assert found["test"].to_list() == [run.name for run in runs]
    for run, value in zip(runs, found["value"], strict=True):
        # The program divides by whole milliseconds, in single precision.
        assert value == pytest.approx(run.requests_per_s, abs=run.requests_per_s * (0.51 / run.run_ms + 1e-6) + 0.006)
        assert value == pytest.approx(run.requests * 1000 / run.run_ms, rel=1e-6, abs=0.006)


def test_redis_progress_is_a_line_at_the_start_and_one_every_251_ms():
    text = redis_text([RedisTest("SET", 50_000.0, requests=50_000)])
    assert text.startswith("SET: -nan\r" + "SET: 50000.00\r" * 3 + "====== SET ======\n")


def test_the_same_bytes_every_time():
    runs = [(1.0, 2.0, 3.0, 4.0)]
    assert stream_text(runs, 1000, 8, 8) == stream_text(runs, 1000, 8, 8)
    sizes = [Size(1000, (9.0,))]
    assert linpack_text(sizes, START, Processors(), 1) == linpack_text(sizes, START, Processors(), 1)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: netperf_text("TCP_STREAM", [-1.0], 10.0),
        lambda: netperf_text("TCP_STREAM", [float("nan")], 10.0),
        lambda: netperf_text("SCTP_STREAM", [1.0], 10.0),
        lambda: netperf_text("TCP_STREAM", [1.0], 10.0, "two words"),
        lambda: stream_text([(1, 2, 3, 0)], 1000, 8, 1),
        lambda: stream_text([(1, 2, float("inf"), 4)], 1000, 8, 1),
        lambda: stream_text([(1, 2, 3, 4)], 0, 8, 1),
        lambda: linpack_text([], START, Processors(), 1),
        lambda: linpack_text([Size(1000, ())], START, Processors(), 1),
        lambda: linpack_text([Size(1000, (-1.0,))], START, Processors(), 1),
        lambda: redis_text([]),
        lambda: redis_text([RedisTest("SET", 0.0)]),
        lambda: redis_text([RedisTest("SET", 1000.0, requests=0)]),
        lambda: repeated(Noise(1), "x", 0.0, 0.1, 3),
        lambda: repeated(Noise(1), "x", 1.0, 0.6, 3),
        lambda: repeated(Noise(1), "x", 1.0, 0.1, 0),
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(EsxparseError) as caught:
        wrong()
    assert "\n" not in str(caught.value)


@quick
@given(mean=st.floats(1e-6, 1e12), spread=st.floats(0, 0.5), count=st.integers(1, 20), seed=st.integers(0, 1000))
def test_repetitions_stay_within_the_spread_and_keep_the_mean(mean, spread, count, seed):
    values = repeated(Noise(seed), "any", mean, spread, count)
    assert fmean(values) == pytest.approx(mean, rel=1e-12)
    assert all(0 < value <= mean * (1 + 2 * spread) * (1 + 1e-12) for value in values)
