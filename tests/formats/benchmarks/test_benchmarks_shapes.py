"""Shapes of benchmark output that the programs print, written here with numbers of our own."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import polars as pl
import pytest
from compose import write

import esxparse as ex


def table(rec, name="benchmark_results"):
    return rec[name].collect()


def figures(rec):
    """Test, repetition and metric to value and unit."""
    frame = table(rec)
    keys = zip(frame["test"], frame["repetition"], frame["metric"], strict=True)
    return dict(zip(keys, zip(frame["value"], frame["unit"], strict=True), strict=True))


def messages(rec, severity="warning"):
    return [note.message for note in rec.notes if note.severity == severity]


def sample(name):
    return ex.open(ex.datasets_dir() / "formats" / name)


BANNER = "MIGRATED {} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.9 () port 0 AF_INET\n"
STREAM = (
    "Recv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\n"
    "bytes  bytes   bytes    secs.    {}\n\n"
)


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("10^6bits/sec", 1),
        ("10^3bits/sec", 1e-3),
        ("10^9bits/sec", 1e3),
        ("KBytes/sec", 8 * 2**10 / 1e6),
        ("MBytes  /s", 8 * 2**20 / 1e6),
        ("GBytes/sec", 8 * 2**30 / 1e6),
    ],
)
def test_netperf_throughput_is_mbit_whatever_f_says(unit, factor, tmp_path):
    text = BANNER.format("TCP STREAM") + STREAM.format(unit) + " 87380  16384  16384    10.00     125.50\n"
    rec = ex.open(write(tmp_path, text))
    assert figures(rec)["TCP_STREAM", 1, "throughput"] == (pytest.approx(125.5 * factor), "Mbit/s")


def test_netperf_classic_tests():
    rec = sample("netperf-classic.txt")
    found = figures(rec)
    assert found["TCP_STREAM", 1, "cpu_remote"] == (14.07, "%")
    assert found["TCP_STREAM", 1, "service_demand_local"] == (1.033, "us/KB")
    assert found["TCP_RR", 1, "throughput"] == (18455.31, "transactions/s")
    assert found["UDP_STREAM", 1, "throughput"] == (8846.53, "Mbit/s")
    assert found["UDP_STREAM", 1, "throughput_received"] == (8715.68, "Mbit/s")
    udp = table(rec, "settings").row(3, named=True)
    assert (udp["messages_sent"], udp["messages_received"], udp["errors"]) == (7512340, 7401222, 0)
    interim = table(rec, "intervals")
    assert interim["time"][0] == datetime(2026, 3, 2, 8, 0, 1, 250000, tzinfo=UTC)
    assert interim["throughput"].to_list() == [9371.15, 9402.87]


def test_netperf_banners_of_parallel_runs_wait_for_their_results(tmp_path):
    one = BANNER.format("TCP STREAM")
    two = one.replace("192.0.2.9", "192.0.2.10")
    row = " 87380  16384  16384    10.00    {}\n"
    text = one + two + STREAM.format("10^6bits/sec") + row.format("4000.50") + STREAM.format("10^6bits/sec")
    rec = ex.open(write(tmp_path, text + row.format("4100.25")))
    assert table(rec, "settings")["destination"].to_list() == ["192.0.2.9", "192.0.2.10"]
    assert table(rec)["value"].to_list() == [4000.5, 4100.25]


def _banner(test, to):
    return f"MIGRATED {test} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to {to} () port 0 AF_INET : demo\n"


_STREAM = (
    "Recv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\n"
    "bytes  bytes   bytes    secs.    10^6bits/sec\n\n 87380  16384  16384    10.00    9390.42\n"
)
_KEYS = "THROUGHPUT=94.1\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=10.00\n"


@pytest.mark.parametrize("result", [_STREAM, _KEYS])
def test_netperf_a_run_without_a_result_gives_its_banner_to_no_other(result, tmp_path):
    text = (
        _banner("UDP REQUEST/RESPONSE", "a") + _banner("TCP MAERTS", "b") + result + _banner("TCP STREAM", "c") + result
    )
    rec = ex.open(write(tmp_path, text + _banner("TCP STREAM", "d")))
    rows = rec["benchmark_results"].filter(pl.col("metric") == "throughput").collect()
    assert rows["test"].to_list() == ["TCP_MAERTS", "TCP_STREAM"]
    assert rows["configuration"].str.head(4).to_list() == ["to b", "to c"]
    lost = [note for note in rec.notes if "has a banner and no result" in note.message]
    assert [(note.message.split()[0], note.severity) for note in lost] == [
        ("UDP_RR", "warning"),
        ("TCP_STREAM", "warning"),
    ]


@pytest.mark.parametrize(("name", "test"), [("SCTP 1-TO-MANY STREAM", "SCTP_STREAM_MANY"), ("TCP IPV6 STREAM", None)])
def test_netperf_tests_with_a_digit_in_their_name(name, test, tmp_path):
    rec = ex.open(write(tmp_path, _banner(name, "192.0.2.1") + _STREAM))
    (row,) = rec["settings"].collect().to_dicts()
    assert (row["test"], row["destination"]) == (test or name.replace(" ", "_"), "192.0.2.1")
    assert not rec.notes


def test_netperf_results_of_parallel_runs_end_in_any_order(tmp_path):
    rr = "16384  87380  1        1       10.00    18455.31\n16384  87380\n"
    text = _banner("TCP STREAM", "a") + _banner("TCP REQUEST/RESPONSE", "b") + rr + _STREAM
    rec = ex.open(write(tmp_path, text))
    assert rec["settings"].select("test", "destination").collect().rows() == [("TCP_RR", "b"), ("TCP_STREAM", "a")]


def test_netperf_a_histogram_that_ends_before_its_sum_is_noted(tmp_path):
    rows = "Histogram of request/response times\nUNIT_USEC     :    0:    0:    0:    7:    1:    0:    0:    0:    0\n"
    whole = ex.open(write(tmp_path, _banner("TCP STREAM", "a") + _STREAM + rows + "HIST_TOTAL:      8\n"))
    cut = ex.open(write(tmp_path, _banner("TCP STREAM", "a") + _STREAM + rows))
    assert not [note for note in whole.notes if note.severity == "warning"]
    (note,) = [note for note in cut.notes if note.severity == "warning"]
    assert (note.line, "before the sum" in note.message) == (9, True)


def test_netperf_without_banner_and_titles(tmp_path):
    text = " 87380  16384  16384    10.00    9000.10\n 87380  16384  16384    10.00    9100.20\n"
    rec = ex.open(write(tmp_path, text))
    assert figures(rec)["STREAM", 2, "throughput"] == (9100.2, "Mbit/s")
    assert "-P 0" in messages(rec, "info")[0]
    rec = ex.open(write(tmp_path, "16384  87380  1  1  10.00  5000.50\n16384  87380\n"))
    assert figures(rec)["RR", 1, "throughput"] == (5000.5, "transactions/s")


def test_netperf_cpu_figures_below_zero_were_not_measured(tmp_path):
    row = " 87380  16384  16384    10.00      142.22   -1.00   5.50   -1.000  0.678\n"
    rec = ex.open(write(tmp_path, BANNER.format("TCP MAERTS") + STREAM.format("10^6bits/s") + row))
    assert {key[2] for key in figures(rec)} == {"throughput", "cpu_remote", "service_demand_remote"}
    assert table(rec, "settings")["remote_send_socket_bytes"][0] == 16384


def test_netperf_confidence_that_was_not_reached_is_told(tmp_path):
    warning = (
        "!!! WARNING\n!!! Desired confidence was not achieved within the specified iterations.\n"
        "!!! Confidence intervals: Throughput      : 6.700%\n!!!                       Local CPU util  : 0.000%\n\n"
    )
    row = " 87380  16384  16384    10.00    40.23\n"
    rec = ex.open(write(tmp_path, BANNER.format("TCP STREAM") + warning + STREAM.format("10^6bits/sec") + row))
    assert messages(rec) == ["the requested confidence was not reached: throughput is known to 6.700%"]


def test_netperf_error_among_results(tmp_path):
    failed = BANNER.format("UDP STREAM") + "send_data: data send error: errno 90: Message too long\n"
    row = " 87380  16384  16384    10.00    40.23\n"
    rec = ex.open(write(tmp_path, failed + BANNER.format("TCP STREAM") + STREAM.format("10^6bits/sec") + row))
    assert table(rec)["test"].to_list() == ["TCP_STREAM"]
    assert "Message too long" in messages(rec)[0]
    with pytest.raises(ex.DamagedError, match=r"without a result.*Message too long"):
        ex.open(write(tmp_path, failed))


def test_netperf_omni_in_columns(tmp_path):
    text = (
        "OMNI Send TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.9 () port 0 AF_INET : nodelay\n"
        "Throughput Throughput  Stddev       Local  \n           Units       Latency      CPU    \n"
        "                       Microseconds Util   \n                                    %      \n"
        "25220.39   10^6bits/s  23.82        30.31  \n"
    )
    found = figures(ex.open(write(tmp_path, text)))
    assert found["OMNI", 1, "throughput"] == (25220.39, "Mbit/s")
    assert found["OMNI", 1, "latency_stddev"] == (23.82, "us")
    assert found["OMNI", 1, "cpu_local"] == (30.31, "%")


def test_netperf_key_values_of_several_runs(tmp_path):
    one = "THROUGHPUT={}\nTHROUGHPUT_UNITS=Trans/s\nP99_LATENCY=120\nELAPSED_TIME=10.00\n"
    found = figures(ex.open(write(tmp_path, one.format("5000.1") + one.format("5100.2"))))
    assert found["OMNI", 1, "throughput"] == (5000.1, "transactions/s")
    assert found["OMNI", 2, "throughput"] == (5100.2, "transactions/s")
    assert found["OMNI", 2, "latency_p99"] == (120.0, "us")


def test_iperf3_event_stream():
    rec = sample("iperf3-stream.jsonl")
    found = figures(rec)
    assert found["udp", 1, "throughput_received"] == (49.938624, "Mbit/s")
    assert found["udp", 1, "jitter"] == (0.021, "ms")
    assert found["udp", 1, "lost"] == (0.12741804702883, "%")
    assert table(rec, "intervals").filter(stream="sum")["packets"].to_list() == [4316, 4317]


def test_iperf3_document_with_an_error_keeps_its_intervals(tmp_path):
    part = {"start": 0, "end": 1.0, "seconds": 1.0, "bytes": 1000, "bits_per_second": 8000.0, "omitted": False}
    document = {
        "start": {"version": "iperf 3.9", "test_start": {"protocol": "TCP"}},
        "intervals": [{"streams": [{"socket": 5, **part}], "sum": part}],
        "end": {},
        "error": "control socket has closed unexpectedly",
    }
    rec = ex.open(write(tmp_path, json.dumps(document)))
    assert table(rec, "intervals")["bits_per_s"].to_list() == [8000.0, 8000.0]
    assert messages(rec) == ["test 1 failed: control socket has closed unexpectedly"]


def test_iperf3_cut_document_keeps_the_intervals_before_the_cut(tmp_path):
    content = (ex.datasets_dir() / "formats" / "iperf3-bidir.json").read_bytes()
    rec = ex.open(write(tmp_path, content[: content.index(b'"end":\t{') if b'"end":\t{' in content else 3500]))
    assert table(rec, "intervals").height == 6
    assert any("cut" in message for message in messages(rec))


def test_iperf3_documents_one_after_another_are_repetitions(tmp_path):
    content = (ex.datasets_dir() / "formats" / "iperf3-bidir.json").read_text()
    rec = ex.open(write(tmp_path, f"$ iperf3 -J\n{content}{content}"))
    assert table(rec)["repetition"].unique().to_list() == [1, 2]
    assert table(rec, "intervals")["run"].unique().to_list() == [1, 2]


def test_iperf3_old_udp_document_has_one_sum(tmp_path):
    total = {"bits_per_second": 1e6, "jitter_ms": 0.5, "lost_packets": 1, "packets": 100, "lost_percent": 1.0}
    document = {"start": {"version": "iperf 3.1.3", "test_start": {"protocol": "UDP"}}, "end": {"sum": total}}
    found = figures(ex.open(write(tmp_path, json.dumps(document))))
    assert found == {
        ("udp", 1, "throughput"): (1.0, "Mbit/s"),
        ("udp", 1, "jitter"): (0.5, "ms"),
        ("udp", 1, "lost"): (1.0, "%"),
    }


def test_iperf3_text_in_bytes(tmp_path):
    text = (
        "Connecting to host 192.0.2.9, port 5201\nReverse mode, remote host 192.0.2.9 is sending\n"
        "[  4] local 192.0.2.8 port 50000 connected to 192.0.2.9 port 5201\n"
        "[ ID] Interval           Transfer     Bandwidth\n"
        "[  4]   0.00-1.00   sec  10.0 MBytes  10.0 MBytes/sec                  \n"
        "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
        "[ ID] Interval           Transfer     Bandwidth       Retr\n"
        "[  4]   0.00-1.00   sec  10.0 MBytes  10.0 MBytes/sec    7             sender\n"
        "[  4]   0.00-1.00   sec  10.0 MBytes  10.0 MBytes/sec                  receiver\n\niperf Done.\n"
    )
    rec = ex.open(write(tmp_path, text))
    assert figures(rec)["tcp_reverse", 1, "throughput_sent"] == (10 * 2**20 * 8 / 1e6, "Mbit/s")
    assert figures(rec)["tcp_reverse", 1, "retransmits"] == (7.0, "1")
    assert table(rec, "intervals")["bytes"].to_list() == [10 << 20]
    assert not rec.notes


def test_iperf3_text_that_failed(tmp_path):
    text = "iperf3: error - unable to connect to server: Connection refused\n"
    with pytest.raises(ex.DamagedError, match="Connection refused"):
        ex.open(write(tmp_path, text))


def test_redis_old_and_new():
    rec = sample("redis-old.txt")
    assert figures(rec)["SET", 1, "throughput"] == (76335.88, "requests/s")
    steps = table(rec, "distribution").filter(test="SET")
    assert steps.select("to_ms", "cumulative_pct").rows() == [(1.0, 92.61), (2.0, 99.9), (3.0, 100.0)]
    old = figures(sample("redis-old.csv"))
    assert old["LPUSH (needed to benchmark LRANGE)", 1, "throughput"] == (77881.62, "requests/s")
    report = table(sample("redis-report.txt"), "percentiles")
    assert report.filter(test="SET", percentile=99.902).height == 1


def test_redis_runs_one_after_another_are_repetitions(tmp_path):
    text = "SET: 50000.00 requests per second\nGET: 60000.00 requests per second\n\n" * 3
    rec = ex.open(write(tmp_path, text))
    assert table(rec).filter(test="GET")["repetition"].to_list() == [1, 2, 3]


def test_redis_run_that_ended_before_its_rate(tmp_path):
    text = (ex.datasets_dir() / "formats" / "redis-old.txt").read_text()
    rec = ex.open(write(tmp_path, text[: text.rindex("81967")]))
    assert messages(rec) == ["GET has no rate: the run ended early"]
    assert table(rec)["test"].to_list() == ["SET"]


def test_redis_that_could_not_connect(tmp_path):
    with pytest.raises(ex.DamagedError, match="Connection refused"):
        ex.open(write(tmp_path, "Could not connect to Redis at 127.0.0.1:6379: Connection refused\n"))


def test_memtier_report_and_document():
    found = figures(sample("memtier-report.txt"))
    assert found["gets", 1, "hits"] == (74101.2, "1/s")
    assert found["sets", 1, "latency_p99.9"] == (4.319, "ms")
    assert found["totals", 1, "bandwidth"] == (6922.53, "KiB/s")
    assert not any(test == "waits" for test, _, _ in found)
    rec = sample("memtier-document.json")
    assert figures(rec)["gets", 1, "latency_p99"] == (1.183, "ms")
    assert figures(rec)["gets", 1, "latency_mean"] == (0.398, "ms")
    seconds = table(rec, "series").filter(metric="requests")
    assert seconds.select("elapsed_s", "value").rows() == [(0.0, 900.0), (1.0, 920.0)]


def test_memtier_runs_best_and_worst_are_told_apart(tmp_path):
    head = "Type         Ops/sec     Hits/sec   Misses/sec      Latency       KB/sec \n"
    row = "Totals       {}.00         0.00         0.00      1.00000       10.00 \n\n"
    sections = ("BEST RUN RESULTS", "WORST RUN RESULTS", "AGGREGATED AVERAGE RESULTS (2 runs)")
    text = "\n".join(f"{name}\n{'=' * 20}\n{head}{row.format(n)}" for n, name in enumerate(sections, 5))
    frame = table(ex.open(write(tmp_path, text))).filter(metric="throughput")
    assert frame["configuration"].to_list() == ["best run", "worst run", "aggregated average (2 runs)"]
    assert frame["value"].to_list() == [5.0, 6.0, 7.0]


def test_memtier_document_with_nan_is_no_json_and_read(tmp_path):
    text = (ex.datasets_dir() / "formats" / "memtier-document.json").read_text()
    rec = ex.open(write(tmp_path, text.replace('"Hits/sec": 0.00', '"Hits/sec": -nan', 1)))
    assert ("sets", 1, "hits") not in figures(rec)
    assert any("nan" in message for message in messages(rec, "info"))


def test_sysbench_of_all_ages():
    mixed = figures(sample("sysbench-mixed.txt"))
    assert {test for test, _, _ in mixed} == {"cpu", "memory", "threads", "fileio"}
    oltp = figures(sample("sysbench-oltp.txt"))
    assert oltp["oltp", 1, "transactions"] == (816.11, "1/s")
    assert oltp["oltp", 1, "read_query_count"] == (228564.0, "1")
    old = figures(sample("sysbench-old.txt"))
    assert old["fileio", 1, "requests"] == (961.35, "1/s")
    assert old["fileio", 1, "total_bandwidth"] == (15.021, "MiB/s")
    assert old["fileio", 1, "latency_p95"] == (27.72, "ms")
    intervals = table(sample("sysbench-oltp.txt"), "intervals").filter(elapsed_s=10.0)
    assert dict(intervals.select("metric", "value").rows()) == {
        "threads": 4.0,
        "transactions": 812.33,
        "queries": 16250.11,
        "reads": 11375.21,
        "writes": 3250.14,
        "other_operations": 1624.76,
        "latency_p95": 6.55,
        "errors": 0.1,
        "reconnects": 0.0,
    }


@pytest.mark.parametrize(
    ("words", "metric"),
    [
        ("lat (ms,99%): 4.90", "latency_p99"),
        ("lat (ms, 99.9%): 4.90", "latency_p99.9"),
        ("latency (ms,50%): 4.90", "latency_p50"),
        ("response time: 4.90ms (75%)", "latency_p75"),
    ],
)
def test_sysbench_intervals_name_their_percentile(tmp_path, words, metric):
    text = f"sysbench 1.0.20 (using bundled LuaJIT 2.1.0)\n[ 10s ] thds: 4 tps: 812.33 {words} err/s: 0.10\n"
    found = dict(table(ex.open(write(tmp_path, text)), "intervals").select("metric", "value").rows())
    assert found == {"threads": 4.0, "transactions": 812.33, metric: 4.9, "errors": 0.1}


def test_sysbench_intervals_of_0_5(tmp_path):
    text = (
        "sysbench 0.5:  multi-threaded system evaluation benchmark\n"
        "[  48s] threads: 64, tps: 13813.00, reads: 138138.96, writes: 2.50, response time: 4.90ms (95%), "
        "errors: 0.00, reconnects:  0.00\n"
    )
    found = table(ex.open(write(tmp_path, text)), "intervals")
    assert found["metric"].to_list()[:4] == ["threads", "transactions", "reads", "writes"]
    assert found["value"].to_list()[:4] == [64.0, 13813.0, 138138.96, 2.5]


def test_sysbench_fatal_error(tmp_path):
    text = "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)\n\nFATAL: Cannot open file 'test_file.0' errno = 2\n"
    with pytest.raises(ex.DamagedError, match="Cannot open file"):
        ex.open(write(tmp_path, text))


def test_every_reader_gives_the_same_table():
    names = [path for path in (ex.datasets_dir() / "formats").iterdir() if path.stem.partition("-")[0] in READERS]
    schemas = {str(ex.open(path)["benchmark_results"].collect_schema()) for path in names}
    assert len(names) > 15
    assert len(schemas) == 1
    every = pl.concat([ex.open(path)["benchmark_results"] for path in names]).collect()
    assert every.select(pl.exclude("higher_is_better", "valid").null_count()).row(0) == (0,) * 7


READERS = {"netperf", "iperf3", "stream", "linpack", "hpl", "redis", "memtier", "sysbench", "results"}


def test_stream_between_bars(tmp_path):
    text = (
        "| Function | Avg MB/s | Best MB/s | Min time (ms) | Avg time (ms) |\n|---|---|---|---|---|\n"
        "| Copy | 18000.5 | 18514.5 | 231.979 | 242.368 |\n| Scale: | 18000.0 | 18333.8 | 234.265 | 244.441 |\n"
    )
    rec = ex.open(write(tmp_path, text))
    rows = rec["kernels"].select("kernel", "bandwidth_mb_per_s", "time_min_s", "time_mean_s").collect().rows()
    assert rows == [("copy", 18514.5, pytest.approx(0.231979), pytest.approx(0.242368)),
                    ("scale", 18333.8, pytest.approx(0.234265), pytest.approx(0.244441))]  # fmt: skip
    mean = ex.open(write(tmp_path, "| Function | Avg GB/s |\n| Triad | 18.5 |\n"))
    assert mean["kernels"].collect().select("kernel", "bandwidth_mb_per_s").rows() == [("triad", 18500.0)]


def test_iperf3_begins_at_its_millisecond(tmp_path):
    document = json.loads((ex.datasets_dir() / "formats" / "iperf3-bidir.json").read_text())
    document["start"]["timestamp"] = {"timesecs": 1772438400, "timemillisecs": 1772438400250}
    rec = ex.open(write(tmp_path, json.dumps(document)))
    assert rec.meta["start"] == datetime(2026, 3, 2, 8, 0, 0, 250_000, tzinfo=UTC)


def test_memtier_s_version_of_its_document_is_no_setting():
    rec = ex.open(ex.datasets_dir() / "formats" / "memtier-document.json")
    assert not rec["benchmark_results"].filter(pl.col("configuration").str.contains("version")).collect().height
