"""Whatever happens to a file of a benchmark: it is read, or there is one clear error."""

from __future__ import annotations

import importlib
import pkgutil

import polars as pl
import pumps
import pytest
from compose import write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.formats import benchmarks, hcibench, turbostat, vcenter, vdbench
from esxparse.formats.benchmarks import (
    elbencho,
    hpcc,
    ioping,
    iperf3,
    linpack,
    memtier,
    netperf,
    ntttcp,
    redis_benchmark,
    results,
    stream,
    sysbench,
)
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.numbers import whole
from esxparse.formats.registry import reader_of
from esxparse.studies.roles import BENCHMARKS

READERS = {
    "netperf": netperf,
    "iperf3": iperf3,
    "stream": stream,
    "linpack": linpack,
    "hpl": linpack,
    "redis": redis_benchmark,
    "memtier": memtier,
    "sysbench": sysbench,
    "results": results,
    "ioping": ioping,
    "hpcc": hpcc,
    "elbencho": elbencho,
    "ntttcp": ntttcp,
    "turbostat": turbostat,
    "vcenter": vcenter,
    "vdbench": vdbench,
    "hcibench": hcibench,
}
SAMPLES = sorted(path for path in (ex.datasets_dir() / "formats").iterdir() if path.name.partition("-")[0] in READERS)


def test_every_benchmark_is_damaged_and_has_a_role_in_studies():
    modules = {one.name for one in pkgutil.iter_modules(benchmarks.__path__)}
    modules -= {"table", "printed", "iperf3_json", "netperf_omni", "netperf_text"}
    forgotten = modules - {module.__name__.rpartition(".")[2] for module in READERS.values()}
    assert not forgotten, f"add {forgotten} to READERS"
    readers = (importlib.import_module(f"{benchmarks.__name__}.{name}") for name in modules)
    assert {one.FORMAT for one in readers} <= BENCHMARKS, "add it to studies/roles.toml"


def damaged(content, draw):
    """Bytes of a sample that something happened to."""
    lines = content.split(b"\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(content) - 1)))
        kind = draw(st.sampled_from(["cut", "nul", "drop", "twice", "splice", "number", "head"]))
        if kind == "cut":
            content = content[:at]
        elif kind == "head":
            content = content[at:]
        elif kind == "nul":
            content = content[:at] + b"\0" * draw(st.integers(1, 40)) + content[at + 10 :]
        elif kind == "splice":
            content = content[:at] + draw(st.binary(min_size=1, max_size=12)) + content[at:]
        elif kind == "number":
            odd = draw(
                st.sampled_from(
                    [b"nan", b"-inf", b"9" * 400, b"1e999", b"", b"-1", b"0x1f", b"1_0", b"null", b"{", b"[]"]
                )
            )
            digit = next((place for place in range(at, len(content)) if content[place : place + 1].isdigit()), at)
            content = content[:digit] + odd + content[digit + 1 :]
        else:
            lines = content.split(b"\n")
            place = draw(st.integers(0, len(lines) - 1))
            lines[place : place + 1] = [] if kind == "drop" else [lines[place]] * 2
            content = b"\n".join(lines)
    return content


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_is_read_or_told(sample, data, tmp_path):
    content = damaged(sample.read_bytes(), data.draw)
    reader = READERS[sample.name.partition("-")[0]]
    assert reader_of(reader.FORMAT).recognise(Head(content)) in (True, False)
    try:
        rec = ex.open(write(tmp_path, content), format=reader.FORMAT)
    except ex.EsxparseError as error:
        told = str(error)
    else:
        told = ""
        assert all(rec[name].collect().height > 0 for name in rec)
    assert "\n" not in told


@pytest.mark.parametrize(
    "sample",
    # Progress that was overwritten has carriage returns of its own.
    [path for path in SAMPLES if b"\r" not in path.read_bytes()],
    ids=lambda path: path.name,
)
def test_line_ends_and_marks_of_other_systems_change_nothing(sample, tmp_path):
    text = sample.read_bytes().decode()
    plain = ex.open(sample)
    for content in (text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16")):
        other = ex.open(write(tmp_path, content))
        assert other.format == plain.format
        for name in plain:
            assert other[name].collect().equals(plain[name].collect()), name


ONCE_HUNG = {
    "blank lines after a call of NTttcp": (b"ntttcp\n", b"\n", b"", 60_000),
    "blank lines after a histogram of vdbench": (b"min(ms)\n", b"\n", b"", 16_000),
    "a title of vdbench": (b"<title>Vdbench ", b"output", b"\n10:00:00.000 Starting RD=a\n", 8_000),
    "titles of a histogram of vdbench": (b"   min(ms) <  max(ms)  count\n", b"histogram.", b"\n", 16_000),
    "calls of NTttcp": (b"#####  Totals:  #####\n\n   Bytes(MEG)    realtime(s)\n", b"ntttcp ", b"\n", 8_000),
    "usage of HCIBench": (b"R_LATENCY  = 1 ms\nIOPS = 1 IO/s\nCPU USAGE  = ", b" 22.5", b"\n", 16_000),
    "a target of ioping": (b"4 KiB <<< a: request=1 time=1 us\n", b"4 KiB <<< ", b"\n", 8_000),
    "digits of ioping": (b"4 KiB <<< a: request=1 time=1 us\n", b"4", b"\n", 64_000),
    "a label of elbencho": (
        b"OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n=========== ====\nWRITE       Elapsed",
        b" ",
        b"x\n",
        32_000,
    ),
}


@pytest.mark.parametrize("name", ONCE_HUNG)
def test_what_once_hung_is_read_in_linear_time(tmp_path, name):
    begin, part, end, many = ONCE_HUNG[name]
    power = pumps.exponent(tmp_path / "x", lambda times: begin + part * times + end, many)
    assert power <= pumps.STEEPEST


@pytest.mark.parametrize("odd", ["[]", "{}", "[1]", "-1", "1.5", "true", '"x"'])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("elbencho-results.json", '"night"'),
        ("ioping-objects.json", '"read"'),
        ("ioping-objects.json", '"."'),
    ],
)
def test_a_value_of_another_kind_breaks_nothing(tmp_path, name, value, odd):
    text = (ex.datasets_dir() / "formats" / name).read_text()
    assert value in text
    rec = ex.open(write(tmp_path, text.replace(value, odd), name))
    assert rec["benchmark_results"].collect().height


@given(st.binary(max_size=400))
def test_recognise_takes_any_bytes(head):
    assert all(reader_of(reader.FORMAT).recognise(Head(head)) in (True, False) for reader in set(READERS.values()))


MKL = (
    "Intel(R) Optimized LINPACK Benchmark data\n\n"
    "Size   LDA    Align. Time(s)    GFlops   Residual     Residual(norm) Check\n"
)
SOLVE = "30000  30000  4      61.500    292.7051 8.100000e-10 3.204025e-02   pass\n"
HPL = (
    "T/V                N    NB     P     Q               Time                 Gflops\n"
    "WR11C2R4       30000   192     1     2              61.50              2.9271e+02\n"
)
STREAM = (
    "STREAM version $Revision: 5.10 $\nArray size = 80000000 (elements)\n"
    "Function    Best Rate MB/s  Avg time     Min time     Max time\n"
    "Copy:          60001.5     0.021500     0.021300     0.021900\n"
)
REDIS = (
    '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"'
    '\n"SET","90000.00","0.301","0.102","0.303","0.504","0.705","1.206"\n'
)
OWN = "# esxparse benchmark results\nhost,vm,opm\n"
BANNER = "MIGRATED {} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.9 () port 0 AF_INET\n"
TITLES = (
    "Recv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\n"
    "bytes  bytes   bytes    secs.    10^6bits/sec\n\n"
)
CUT = "the last line has no line end, so its last number may be cut"
SYSBENCH = "sysbench 1.0.20 (using system LuaJIT 2.1.0)\n\n    events per second:   100.50\n"
IPERF3 = (
    "Connecting to host 192.0.2.9, port 5201\n[ ID] Interval           Transfer     Bitrate         Retr\n"
    "- - - - - - - - - - - - - - - - - - - - - - - - -\n[ ID] Interval           Transfer     Bitrate         Retr\n"
    "[  5]   0.00-10.00  sec  1.10 GBytes   945 Mbits/sec"
)
MEMTIER = "ALL STATS\nType        Ops/sec      Latency       KB/sec\nSets       1000.25      1.50000      ---\n"


def opened(tmp_path, text):
    return ex.open(write(tmp_path, text))


def values(rec, metric):
    return rec["benchmark_results"].filter(metric=metric).collect()["value"].to_list()


def warnings(rec):
    return [(note.line, note.message) for note in rec.notes if note.severity == "warning"]


def test_a_row_of_results_with_a_lost_or_a_gained_cell_is_left_out(tmp_path):
    rec = opened(tmp_path, OWN + "a,one,2400\na,32847\na,two,1,200\na,three,2500\n")
    assert values(rec, "opm") == [2400, 2500]
    message = "{} cells where 3 are expected: the row is left out"
    assert warnings(rec) == [(4, message.format(2)), (5, message.format(4))]


def test_separators_at_the_end_of_rows_of_results_are_no_cells(tmp_path):
    rows = "a,one,2400,\na,two,2500,\na,2600,\n"
    for text in (OWN + rows, OWN.replace("opm\n", "opm,\n") + rows):
        rec = opened(tmp_path, text)
        assert values(rec, "opm") == [2400, 2500]
        assert [line for line, _ in warnings(rec)] == [5]


def test_a_row_of_stream_with_a_lost_cell_is_left_out(tmp_path):
    rec = opened(tmp_path, STREAM + "Triad:          0.031828     0.026334     0.037149\n")
    assert values(rec, "bandwidth") == [60001.5]
    assert any(line == 5 and "Triad: 0.031828" in message for line, message in warnings(rec))


def test_a_row_of_redis_csv_with_a_lost_cell_is_left_out(tmp_path):
    rec = opened(tmp_path, REDIS + '"GET","91000.00","0.102","0.303","0.504","0.705","1.206"\n')
    assert rec["benchmark_results"].collect()["test"].unique().to_list() == ["SET"]
    assert [line for line, _ in warnings(rec)] == [3]


@pytest.mark.parametrize(
    "row",
    [
        SOLVE.replace("  4  ", "  "),
        SOLVE.replace("30000  30000", "30000"),
        SOLVE.replace("61.500", ""),
        SOLVE.replace("292.7051 8.100000e-10 3.204025e-02", ""),
    ],
)
def test_a_row_of_linpack_with_lost_cells_is_told(row, tmp_path):
    rec = opened(tmp_path, MKL + SOLVE + row + SOLVE)
    assert values(rec, "performance") == [292.7051] * 2
    assert [line for line, _ in warnings(rec)] == [5]


def test_a_linpack_check_of_which_the_end_is_lost_tells_nothing(tmp_path):
    rec = opened(tmp_path, MKL + SOLVE + SOLVE.rstrip()[:-2])
    assert rec["solves"].collect()["passed"].to_list() == [True, None]
    assert warnings(rec) == [(5, "residual check 'pa' is neither pass nor fail: ignored")]


def test_a_netperf_result_whose_banner_was_lost_is_not_taken_for_one_more_of_the_test_before(tmp_path):
    row = " 87380  16384  16384    10.00    {}\n"
    text = BANNER.format("TCP STREAM") + TITLES + row.format("4000.50") + TITLES + row.format("3000.25")
    rec = opened(tmp_path, text)
    frame = rec["benchmark_results"].collect()
    assert frame["test"].to_list() == ["TCP_STREAM", "STREAM"]
    assert frame["configuration"].to_list() == ["to 192.0.2.9, message 16384", "message 16384"]
    assert [line for line, message in warnings(rec) if "column titles without a banner" in message] == [8]


@pytest.mark.parametrize(
    ("text", "metric", "kept"),
    [
        (MKL + SOLVE + SOLVE[: SOLVE.index("92.7051")], "performance", [292.7051]),
        (MKL + SOLVE + SOLVE[: SOLVE.index("92.7051")], "time", [61.5, 61.5]),
        (HPL + HPL.split("\n")[1][: -len(".9271e+02")], "performance", [292.71]),
        (STREAM + "Triad:  60", "bandwidth", [60001.5]),
        (OWN + "a,one,2400\na,two,25", "opm", [2400]),
        (OWN.replace("vm,opm", "opm,vm") + "a,2400,one-1\na,2500,two-1", "opm", [2400]),
        ("THROUGHPUT=94.50\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=1", "elapsed", []),
        (BANNER.format("TCP STREAM") + TITLES + 2 * "\n 87380  16384  16384    10.00    40.5", "throughput", [40.5]),
        (SYSBENCH + "    total number of events:              22", "event_count", []),
        (REDIS + '"GET","91', "throughput", [90000]),
        (IPERF3 + "   12", "retransmits", []),
        (MEMTIER + "Totals     5000.25      1.50000       350.", "bandwidth", []),
    ],
)
def test_a_number_that_touches_the_end_of_a_file_without_a_line_end_is_not_read(text, metric, kept, tmp_path):
    rec = opened(tmp_path, text)
    assert values(rec, metric) == kept
    assert any(line == text.count("\n") + 1 and message.startswith(CUT) for line, message in warnings(rec))


def test_the_last_solve_of_linpack_keeps_what_is_before_the_cut(tmp_path):
    rec = opened(tmp_path, MKL + SOLVE + SOLVE[: SOLVE.index("e-02")])
    last = rec["solves"].collect().row(1, named=True)
    assert (last["gflops"], last["residual"], last["residual_norm"]) == (292.7051, 8.1e-10, None)
    assert warnings(rec)[0][1].startswith(CUT)


def test_a_file_without_a_line_end_that_ends_in_no_number_is_read_to_its_end(tmp_path):
    rec = opened(tmp_path, MKL + SOLVE.rstrip())
    assert values(rec, "performance") == [292.7051]
    assert not warnings(rec)


@pytest.mark.parametrize(("text", "number"), [("0" * 5000 + "12", 12), ("-" + "0" * 5000 + "1", -1), ("9" * 25, None)])
def test_whole_numbers_of_any_length_are_read_or_are_none(text, number):
    assert whole(text) == number


HEAD = "N      :   20000    40000\nNB     :     192\nP      :       2\nQ      :       4\nPFACT  :   Right\n"


@pytest.mark.parametrize(
    ("head", "solves", "end", "said"),
    [
        (HEAD, 1, "", [("warning", "1 of 2 solves: the output was cut")]),
        (HEAD, 2, "", [("info", "the output ends before the end of the tests")]),
        ("", 1, "", [("info", "the output ends before the end of the tests")]),
        (HEAD, 2, "End of Tests.\n", []),
    ],
)
def test_hpl_that_ends_before_all_its_solves_says_so(tmp_path, head, solves, end, said):
    banner = "HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018\n"
    row = "WR11C2R4       20000   192     2     4              47.15             1.1313e+02\n"
    check = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   3.10442150e-03 ...... PASSED\n"
    rec = opened(tmp_path, banner + head + (row + check) * solves + end)
    assert [(note.severity, note.message[: len(text)]) for note in rec.notes for _, text in said] == said


def test_a_report_of_sysbench_without_its_end_says_so(tmp_path):
    whole = (ex.datasets_dir() / "formats" / "sysbench-oltp.txt").read_text()
    cut = whole[: whole.rindex("Threads fairness")]
    assert not [note for note in opened(tmp_path, whole).notes if "has no end" in note.message]
    assert [note.line for note in opened(tmp_path, cut).notes if "the last report has no end" in note.message]


@pytest.mark.parametrize("kept", [True, False])
def test_a_last_number_with_the_decimals_of_those_above_is_whole(tmp_path, kept):
    whole = (ex.datasets_dir() / "formats" / "memtier-report.txt").read_text().rstrip("\n")
    text = whole[: whole.index("\n", whole.index("Totals"))].rstrip()
    text = text if kept else text[:-1]
    rec = opened(tmp_path, text)
    totals = rec["benchmark_results"].filter(pl.col("test") == "totals", pl.col("metric") == "bandwidth").collect()
    assert totals.height == kept
    assert bool(warnings(rec)) != kept


def test_a_last_line_of_words_without_an_end_is_noted(tmp_path):
    rec = opened(tmp_path, "Architecture:  x86_64\nCPU(s):        4\nThread(s) per core: 2\nModel name:   Intel(R) Xe")
    assert [note.line for note in rec.notes if "no line end" in note.message] == [4]
    assert not warnings(rec)
