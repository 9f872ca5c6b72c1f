"""STREAM, MKL LINPACK, HPL, and tables of results of one's own."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import esxparse as ex
from esxparse.formats.benchmarks import linpack, stream
from esxparse.formats.kit.marks import Marks

FORMATS = ex.datasets_dir() / "formats"


RATES = st.floats(0.1, 1e7).map(lambda value: round(value, 1))


@given(st.lists(st.tuples(RATES, RATES, RATES, RATES), min_size=1, max_size=4))
def test_rates_written_as_stream_writes_them_are_read_back(runs):
    titles = "Function    Best Rate MB/s  Avg time     Min time     Max time"
    names = ("Copy:", "Scale:", "Add:", "Triad:")
    lines = []
    for run in runs:
        lines += ["STREAM version $Revision: 5.10 $", titles]
        lines += [
            f"{name:12}{rate:12.1f}  {1:11.6f}  {1:11.6f}  {1:11.6f}" for name, rate in zip(names, run, strict=True)
        ]
        lines += ["-" * 61, "Solution Validates: avg error less than 1.000000e-13 on all three arrays"]
    report = stream.LINES.read(lines)
    assert [tuple(row["bandwidth_mb_per_s"] for row in run.rows["kernels"]) for run in report.runs] == runs
    assert all(run.facts["valid"] for run in report.runs)
    assert not report.kept["damaged"]


def test_the_summary_of_mkl_linpack_has_the_means_of_its_solves():
    rec = ex.open(FORMATS / "linpack-mkl.txt")
    solves = rec["solves"].collect()
    mean = solves.group_by("size").agg(pl.col("gflops").mean()).sort("size")["gflops"].to_list()
    assert rec["summary"].collect()["mean_gflops"].to_list() == pytest.approx(mean)


@given(st.integers(1, 10**6), st.floats(0.01, 9e4), st.floats(0.001, 1e5))
def test_numbers_written_as_linpack_writes_them_are_read_back(size, seconds, gflops):
    line = f"WR11C2R4 {size:10d} {192:5d} {2:5d} {4:5d} {seconds:18.2f} {gflops:18.4e}"
    (solve,) = linpack.LINES.read([line]).rows["hpl"]
    assert (solve["size"], solve["time_s"], solve["gflops"]) == (size, float(f"{seconds:.2f}"), float(f"{gflops:.4e}"))
    titles = "Size   LDA    Align. Time(s)    GFlops   Residual     Residual(norm) Check"
    row = f"{size:<6d} {size:<6d} {4:<5d}  {seconds:<10.3f} {gflops:<8.4f} {1e-12:.6e} {3e-2:.6e}   pass"
    (solve,) = linpack.LINES.read([titles, row]).rows["linpack"]
    assert (solve["size"], solve["time_s"], solve["gflops"]) == (size, float(f"{seconds:.3f}"), float(f"{gflops:.4f}"))


@given(st.floats(-1e9, 1e9).map(lambda value: round(value, 3)))
def test_a_number_is_read_back_from_any_way_to_write_it(value):
    assert Marks().number(str(value)) == value
    assert Marks().number(f"{value:,.3f}") == value
    assert Marks(",").number(f"{value:,.3f}".replace(",", " ").replace(".", ",").replace(" ", ".")) == value


def test_results_of_a_locale_are_at_their_scale_or_refused(tmp_path):
    file = tmp_path / "own.csv"
    file.write_text("test;opm\na;4.096\nb;5.120\n")
    with pytest.raises(ex.EsxparseError, match=r"'4.096' \(line 2, column 2\) is 4.096 or 4096.*decimal="):
        ex.open(file, format="results_csv")
    rec = ex.open(file, format="results_csv", decimal="comma")
    assert rec["benchmark_results"].collect()["value"].to_list() == [4096.0, 5120.0]
    file.write_text("test;opm\na;4.096\nb;0,5\n")
    assert ex.open(file, format="results_csv")["benchmark_results"].collect()["value"].to_list() == [4096.0, 0.5]
