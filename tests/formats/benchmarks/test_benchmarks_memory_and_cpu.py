"""STREAM, MKL LINPACK, HPL, and tables of results of one's own."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from compose import write
from hypothesis import given
from hypothesis import strategies as st

import esxparse as ex
from esxparse.formats.benchmarks import linpack, stream
from esxparse.formats.kit.marks import Marks

FORMATS = ex.datasets_dir() / "formats"


def warnings(rec):
    return [note.message for note in rec.notes if note.severity == "warning"]


def results(rec):
    return rec["benchmark_results"].collect()


def test_stream_runs_are_repetitions_of_their_configuration():
    frame = results(ex.open(FORMATS / "stream-runs.txt")).filter(test="triad")
    assert frame["repetition"].to_list() == [1, 2, 1]
    assert frame["value"].to_list() == [66001.7, 65990.4, 43555.2]
    assert frame["configuration"].to_list()[1:] == ["80000000 elements, 8 threads", "80000000 elements, 4 threads"]


def test_stream_whose_validation_failed_is_marked(tmp_path):
    text = (FORMATS / "stream-runs.txt").read_text()
    wrong = "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)"
    rec = ex.open(write(tmp_path, text.replace("Solution Validates: avg error", f"{wrong}\navg error", 1)))
    assert results(rec).filter(test="copy")["valid"].to_list() == [False, True, True]
    assert warnings(rec) == ["run 1 failed validation: its rates are those of wrong results"]


def test_stream_cut_in_its_table(tmp_path):
    text = (FORMATS / "stream-runs.txt").read_text()
    rec = ex.open(write(tmp_path, text[: text.rindex("Add:")]))
    assert "run 3 has no add, triad" in warnings(rec)[0]
    assert rec["kernels"].filter(pl.col("run") == 3).collect()["valid"].to_list() == [None, None]


def test_stream_without_results(tmp_path):
    with pytest.raises(ex.DamagedError, match="STREAM output without a result"):
        ex.open(write(tmp_path, "STREAM version $Revision: 5.10 $\nArray size = 100 (elements)\n"))


def test_babelstream(tmp_path):
    text = (
        "BabelStream\nVersion: 4.0\nImplementation: OpenMP\nRunning kernels 100 times\n\n"
        "Function    GBytes/sec  Min (sec)   Max         Average     \n"
        "Copy        100.500     0.00500     0.00700     0.00600     \n"
        "Dot         120.250     0.00400     0.00600     0.00500     \n"
    )
    rec = ex.open(write(tmp_path, text))
    columns = ("kernel", "bandwidth_mb_per_s", "time_min_s", "time_max_s", "time_mean_s")
    assert rec["kernels"].select(columns).collect().rows() == [
        ("copy", 100500.0, 0.005, 0.007, 0.006),
        ("dot", 120250.0, 0.004, 0.006, 0.005),
    ]


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
    report = stream.read_report(lines)
    assert [tuple(row["bandwidth_mb_per_s"] for row in run.rows["kernels"]) for run in report.runs] == runs
    assert all(run.facts["valid"] for run in report.runs)
    assert not report.kept["damaged"]


def test_mkl_linpack():
    rec = ex.open(FORMATS / "linpack-mkl.txt")
    solves = rec["solves"].collect()
    assert solves.select("size", "lda", "align_kib", "time_s", "gflops", "passed").rows() == [
        (2000, 2000, 4, 0.052, 102.7, True),
        (2000, 2000, 4, 0.051, 104.73, True),
        (5000, 5008, 4, 0.61, 136.71, True),
        (10000, 10000, 4, 4.31, 154.72, True),
    ]
    assert solves["repetition"].to_list() == [1, 2, 1, 1]
    mean = solves.group_by("size").agg(pl.col("gflops").mean()).sort("size")["gflops"].to_list()
    assert rec["summary"].collect()["mean_gflops"].to_list() == pytest.approx(mean)


def test_mkl_linpack_that_failed_its_check(tmp_path):
    text = (FORMATS / "linpack-mkl.txt").read_text()
    rec = ex.open(write(tmp_path, text.replace("pass\n", "FAIL\n", 1).replace("PASSED", "FAILED")))
    assert results(rec).filter(metric="performance")["valid"].to_list() == [False, True, True, True]
    assert len(warnings(rec)) == 2


def test_mkl_linpack_of_old_releases_has_no_check_column(tmp_path):
    text = (FORMATS / "linpack-mkl.txt").read_text().replace(" Check\n", "\n").replace("   pass\n", "\n")
    rec = ex.open(write(tmp_path, text))
    assert rec["solves"].collect()["passed"].null_count() == 4


def test_hpl():
    rec = ex.open(FORMATS / "hpl-netlib.txt")
    solves = rec["solves"].collect()
    assert solves.select("variant", "size", "nb", "p", "q", "gflops").rows() == [
        ("WR11C2R4", 20000, 192, 2, 4, 113.13),
        ("WR11C2R2", 20000, 192, 2, 4, 111.08),
    ]
    assert solves["started"][0] == datetime(2026, 3, 2, 8, 10)  # noqa: DTZ001  the host's own clock
    frame = results(rec).filter(metric="performance")
    assert set(frame["unit"]) == {"GFlop/s"}
    assert frame["valid"].to_list() == [True, True]


def test_hpl_that_failed_one_of_three_checks(tmp_path):
    text = (FORMATS / "hpl-netlib.txt").read_text()
    check = "||Ax-b||_oo / ( eps * ||A||_1  * N        ) =   {} ...... {}\n"
    three = check.format("0.0012000", "PASSED") + check.format("99.5", "FAILED") + check.format("0.001", "PASSED")
    begin = text.index("||Ax-b||")
    rec = ex.open(write(tmp_path, text[:begin] + three + text[text.index("\n", begin) + 1 :]))
    solves = rec["solves"].collect()
    assert solves.select("passed", "residual_norm").rows()[0] == (False, 99.5)
    assert "the residual check failed" in warnings(rec)[0]


def test_hpl_that_was_told_nonsense(tmp_path):
    text = (FORMATS / "hpl-netlib.txt").read_text()
    rec = ex.open(write(tmp_path, text.replace("0 tests skipped", "3 tests skipped")))
    assert warnings(rec) == ["HPL says: 3 tests skipped because of illegal input values."]


@given(st.integers(1, 10**6), st.floats(0.01, 9e4), st.floats(0.001, 1e5))
def test_numbers_written_as_linpack_writes_them_are_read_back(size, seconds, gflops):
    line = f"WR11C2R4 {size:10d} {192:5d} {2:5d} {4:5d} {seconds:18.2f} {gflops:18.4e}"
    (solve,) = linpack.read_report([line]).rows["hpl"]
    assert (solve["size"], solve["time_s"], solve["gflops"]) == (size, float(f"{seconds:.2f}"), float(f"{gflops:.4e}"))
    titles = "Size   LDA    Align. Time(s)    GFlops   Residual     Residual(norm) Check"
    row = f"{size:<6d} {size:<6d} {4:<5d}  {seconds:<10.3f} {gflops:<8.4f} {1e-12:.6e} {3e-2:.6e}   pass"
    (solve,) = linpack.read_report([titles, row]).rows["linpack"]
    assert (solve["size"], solve["time_s"], solve["gflops"]) == (size, float(f"{seconds:.3f}"), float(f"{gflops:.4f}"))


def own(tmp_path, text, **options):
    return ex.open(write(tmp_path, text), format="results_csv", **options)


def rows(rec):
    return results(rec).select("test", "configuration", "repetition", "metric", "value", "unit").rows()


def test_two_columns_without_titles(tmp_path):
    rec = own(tmp_path, "native,18450.5\nvirtual,17210\nvirtual,17300\n")
    assert rows(rec) == [
        ("native", "", 1, "value", 18450.5, ""),
        ("virtual", "", 1, "value", 17210.0, ""),
        ("virtual", "", 2, "value", 17300.0, ""),
    ]


def test_titles_units_and_decimal_commas(tmp_path):
    rec = own(tmp_path, "# night run\nsystem;vms;value [ms]\nnative;one;1.234,5\nvirtual;two;8,25\n")
    assert rows(rec) == [
        ("native", "vms=one", 1, "value", 1234.5, "ms"),
        ("virtual", "vms=two", 1, "value", 8.25, "ms"),
    ]
    assert results(rec)["higher_is_better"].to_list() == [False, False]


def test_rates_are_better_when_higher_and_comments_decide(tmp_path):
    assert results(own(tmp_path, "a,opm\nx,5\n"))["higher_is_better"].to_list() == [True]
    assert results(own(tmp_path, "a,thing\nx,5\n"))["higher_is_better"].to_list() == [None]
    assert results(own(tmp_path, "# higher_is_better: no\na,opm\nx,5\n"))["higher_is_better"].to_list() == [False]


def test_value_and_time_columns(tmp_path):
    text = "when,test,clients,response [ms]\n2026-03-02T08:00:00Z,web,10,12.5\n2026-03-02 09:00:00+01:00,web,20,13.5\n"
    frame = results(own(tmp_path, text, value_column="response", time_column="when"))
    assert frame["time"].to_list() == [datetime(2026, 3, 2, 8, tzinfo=UTC)] * 2
    assert frame["value"].to_list() == [12.5, 13.5]
    assert frame["configuration"].to_list() == ["clients=10", "clients=20"]
    with pytest.raises(ex.EsxparseError, match="there is no column 'nonsense' for the results"):
        own(tmp_path, text, value_column="nonsense")


def test_cells_that_are_no_numbers_are_noted(tmp_path):
    rec = own(tmp_path, "test,value\na,1\nb,failed\nc,3\n")
    assert results(rec)["test"].to_list() == ["a", "c"]
    assert [(note.line, note.column, note.severity) for note in rec.notes] == [(3, 2, "warning")]


@pytest.mark.parametrize("text", ["# only a comment\n", "test,value\n", "a,b\nc,d\n", "\n\n"])
def test_tables_without_a_number(text, tmp_path):
    with pytest.raises(ex.DamagedError):
        own(tmp_path, text)


def test_nothing_is_taken_for_results_that_does_not_say_so(tmp_path):
    with pytest.raises(ex.UnknownFormatError):
        ex.open(write(tmp_path, "test,value\na,1\n"))


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


def test_a_date_in_an_order_that_only_its_writer_knows_is_left_out_with_the_reason(tmp_path):
    file = tmp_path / "own.csv"
    file.write_text("when,test,opm\n2026-03-11 09:00,a,1\n11.03.26 09:00,b,2\n")
    rec = ex.open(file, format="results_csv", time_column="when")
    (note,) = [note for note in rec.notes if note.severity == "warning"]
    assert "order of day, month and year in '11.03.26 09:00' is not known" in note.message
    assert "write it as 2026-03-11T09:02" in note.message


def test_three_decimals_in_a_file_of_our_own_form_are_decimals(tmp_path):
    file = tmp_path / "memory.csv"
    file.write_text("# esxparse benchmark results\ntest,repetition,memory [GB]\nvpxd,1,16.384\nvpxd,2,17.152\n")
    assert ex.open(file)["benchmark_results"].collect()["value"].to_list() == [16.384, 17.152]
    # The same numbers as a spreadsheet of another locale saves them show nothing.
    file.write_text("# esxparse benchmark results\ntest;repetition;memory [GB]\nvpxd;1;16.384\nvpxd;2;17.152\n")
    with pytest.raises(ex.EsxparseError, match="set decimal="):
        ex.open(file)
