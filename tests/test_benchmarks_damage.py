"""Whatever happens to a file of a benchmark: it is read, or there is one clear error."""

from __future__ import annotations

import pytest
from compose import write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.formats.benchmarks import iperf3, linpack, memtier, netperf, redis_benchmark, results, stream, sysbench
from esxparse.formats.kit.head import Head
from esxparse.formats.kit.numbers import whole
from esxparse.formats.registry import reader_of

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
}
SAMPLES = sorted(path for path in (ex.datasets_dir() / "formats").iterdir() if path.name.partition("-")[0] in READERS)


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
