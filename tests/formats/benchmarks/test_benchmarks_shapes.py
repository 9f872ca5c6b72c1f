"""Shapes of benchmark output that the programs print, written here with numbers of our own."""

from __future__ import annotations

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


def test_iperf3_documents_one_after_another_are_repetitions(tmp_path):
    content = (ex.datasets_dir() / "formats" / "iperf3-bidir.json").read_text()
    rec = ex.open(write(tmp_path, f"$ iperf3 -J\n{content}{content}"))
    assert table(rec)["repetition"].unique().to_list() == [1, 2]
    assert table(rec, "intervals")["run"].unique().to_list() == [1, 2]


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


def test_every_reader_gives_the_same_table():
    names = [path for path in (ex.datasets_dir() / "formats").iterdir() if path.stem.partition("-")[0] in READERS]
    schemas = {str(ex.open(path)["benchmark_results"].collect_schema()) for path in names}
    assert len(names) > 15
    assert len(schemas) == 1
    every = pl.concat([ex.open(path)["benchmark_results"] for path in names]).collect()
    assert every.select(pl.exclude("higher_is_better", "valid").null_count()).row(0) == (0,) * 7


READERS = {"netperf", "iperf3", "stream", "linpack", "hpl", "redis", "memtier", "sysbench", "results"}
