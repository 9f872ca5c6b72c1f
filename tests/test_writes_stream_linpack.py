"""STREAM and LINPACK as the simulator writes them: what goes in comes out of the readers."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from statistics import fmean

import compose
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse_simulator.model.noise import Noise
from esxparse_simulator.writers import linpack, stream
from esxparse_simulator.writers.linpack import Host, Size
from esxparse_simulator.writers.repetitions import repeated
from esxparse_simulator.writers.stream import KERNELS, Machine, Rates

START = datetime(2014, 9, 1, 8, tzinfo=UTC)
quick = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
rates = st.builds(Rates, *[st.floats(1.0, 1e6)] * 4)
machines = st.builds(
    Machine,
    array_elements=st.integers(1000, 3_000_000_000),
    threads=st.integers(1, 512),
    times=st.integers(2, 100),
    element_bytes=st.sampled_from([4, 8]),
)
problems = st.builds(
    Size,
    equations=st.integers(100, 100_000),
    gflops=st.lists(st.floats(0.1, 9e4), min_size=1, max_size=4).map(tuple),
    align_kib=st.sampled_from([1, 4]),
)


def opened(folder, content):
    return ex.open(compose.write(folder, content, "output.txt"))


def warnings(rec):
    return [note.message for note in rec.notes if note.severity == "warning"]


@quick
@given(runs=st.lists(rates, min_size=1, max_size=3), machine=machines, seed=st.integers(0, 99))
def test_stream_rates_come_back(tmp_path, runs, machine, seed):
    rec = opened(tmp_path, stream.text(runs, machine, seed))
    assert rec.format == "stream"
    assert rec.meta["release"] == "5.10"
    assert not rec.notes
    found = rec["kernels"].collect()
    expected = [getattr(run, name) for run in runs for name in KERNELS]
    assert found["kernel"].to_list() == [*KERNELS] * len(runs)
    assert found["bandwidth_mb_per_s"].to_list() == pytest.approx(expected, abs=0.051)
    assert set(found["threads"]) == {machine.threads}
    assert set(found["array_size"]) == {machine.array_elements}
    assert set(found["valid"]) == {True}
    arrays = {"copy": 2, "scale": 2, "add": 3, "triad": 3}
    for row in found.to_dicts():
        assert row["time_min_s"] <= row["time_mean_s"] <= row["time_max_s"]
        moved = arrays[row["kernel"]] * machine.element_bytes * machine.array_elements / 1e6
        assert row["time_min_s"] == pytest.approx(moved / row["bandwidth_mb_per_s"], rel=0.06, abs=6e-7)


def test_stream_in_four_ways_of_running_it(tmp_path):
    """64 threads, arrays of 2 * 10**9 elements; a VM takes 2 to 3 %."""
    big, native = Machine(2_000_000_000, 64), Rates(83_000.0, 84_100.0, 92_300.0, 92_900.0)
    runs = stream.runs(Noise(5), "native", native, 0.01, 4)
    found = opened(tmp_path, stream.text(runs, big))["benchmark_results"].collect()
    for name in KERNELS:
        kernel = found.filter(test=name)
        assert kernel["repetition"].to_list() == [1, 2, 3, 4]
        assert kernel["value"].mean() == pytest.approx(getattr(native, name), abs=0.05)
        assert kernel["value"].n_unique() == 4
    assert set(found["configuration"]) == {"2000000000 elements, 64 threads"}


def shape(text):
    """The lines with every digit as 9, numbers of any length."""
    return [re.sub(r"[\d.]*\d(?:e-\d+)?", "9", line).replace(" ", "") for line in text.splitlines()]


def test_stream_has_the_lines_of_a_real_run():
    real = compose.real_data("misc", "stream.txt").read_text()
    ours = stream.text([Rates(1.0, 2.0, 3.0, 4.0)])
    assert shape(ours) == shape(real)
    widths = [[match.end() for match in re.finditer(r"\S+", line)] for line in ours.splitlines()[-7:-3]]
    assert widths == [[match.end() for match in re.finditer(r"\S+", line)] for line in real.splitlines()[-7:-3]]


@quick
@given(sizes=st.lists(problems, min_size=1, max_size=4, unique_by=lambda size: size.equations), script=st.booleans())
def test_linpack_results_come_back(tmp_path, sizes, script):
    rec = opened(tmp_path, linpack.text(sizes, START, Host(2.7, 4, 32, 24), script=script))
    assert rec.format == "linpack"
    assert not warnings(rec)
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


def test_linpack_of_the_two_published_sizes(tmp_path):
    """45K and 65K, several trials each, 1-2 % and less than 1 % of variation."""
    noise = Noise(2)
    small = Size(45_000, repeated(noise, "45K", 480.0, 0.015, 5), align_kib=1)
    large = Size(65_000, repeated(noise, "65K", 500.0, 0.008, 5), align_kib=1)
    text = linpack.text([small, large], START, script=True)
    found = opened(tmp_path, text)["benchmark_results"].collect().filter(metric="performance")
    means = found.group_by("test", maintain_order=True).agg(pl.col("value").mean())
    assert means["test"].to_list() == ["n 45000", "n 65000"]
    assert means["value"].to_list() == pytest.approx([480.0, 500.0], abs=1e-4)
    # What the second size takes is what the study reports: 33.8 GB.
    assert "used=33801301024, at the size=65000" in text


def test_linpack_rows_have_the_widths_of_the_program():
    lines = linpack.text([Size(1000, (19.1655,)), Size(25_000, (2887.7062,), lda=25_008)], START).split("\n")
    at = lines.index("Size   LDA    Align. Time(s)    GFlops   Residual     Residual(norm) Check")
    assert lines[at - 2] == "=================== Timing linear equation system solver ==================="
    assert re.fullmatch(
        r"1000   1000   4      0\.035      19\.1655  \d\.\d{6}e-1[23] \d\.\d{6}e-02   pass", lines[at + 1]
    )
    assert re.fullmatch(
        r"25000  25008  4      3\.608      2887\.7062 \d\.\d{6}e-1\d \d\.\d{6}e-02   pass", lines[at + 2]
    )
    assert "Number of equations to solve (problem size) : 1000  25000" in lines
    assert "Number of trials to run                     : 1     1    " in lines
    assert lines[2] == "Current date/time: Mon Sep  1 08:00:00 2014"
    assert "Maximum memory requested that can be used=5002104256, at the size=25000" in lines


def test_the_same_bytes_every_time():
    assert stream.text([Rates(1, 2, 3, 4)], seed=8) == stream.text([Rates(1, 2, 3, 4)], seed=8)
    assert linpack.text([Size(1000, (9.0,))], START) == linpack.text([Size(1000, (9.0,))], START)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: stream.text([]),
        lambda: stream.text([Rates(1, 2, 3, 0)]),
        lambda: stream.text([Rates(1, 2, float("inf"), 4)]),
        lambda: stream.text([Rates(1, 2, 3, 4)], Machine(times=1)),
        lambda: stream.text([Rates(1, 2, 3, 4)], Machine(array_elements=0)),
        lambda: linpack.text([], START),
        lambda: linpack.text([Size(1000, ())], START),
        lambda: linpack.text([Size(1000, (-1.0,))], START),
        lambda: linpack.text([Size(0, (1.0,))], START),
        lambda: linpack.text([Size(1000, (1.0,), lda=999)], START),
        lambda: linpack.text([Size(1000, (1.0,))], START.replace(tzinfo=None)),
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
