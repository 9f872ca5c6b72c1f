"""vdbench: files of an output and the directory of all of them."""

from __future__ import annotations

import datetime as dt
import re
import shutil

import pytest
import studies
from compose import figures, write

import esxparse as ex
from esxparse.cli import main

SAMPLES = ex.datasets_dir() / "formats"
# Titles of 5.04.06 have one column of maxima, those of 5.04.07 two.
OLD = """\
18:11:38.002 Starting RD=rd1; I/O rate: 500; elapsed=3; For loops: None

Mar 08, 2019  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%
                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth sys+u   sys
18:11:39.061         1     501.00     1.96    4096  60.00    0.900    0.800    1.050    7.500    0.200   0.4   3.1   1.2
18:11:40.014         2     499.00     1.95    4096  60.00    0.910    0.810    1.060    6.500    0.210   0.4   3.1   1.2
18:11:41.011         3     500.00     1.95    4096  60.00    0.920    0.820    1.070    5.500    0.220   0.4   3.1   1.2
18:11:41.020   avg_2-3     499.50     1.95    4096  60.00    0.915    0.815    1.065    6.500    0.215   0.4   3.1   1.2
"""


def opened(tmp_path, text):
    rec = ex.open(write(tmp_path, text, "summary.html"))
    assert rec.format == "vdbench"
    return rec


@pytest.fixture
def output(tmp_path):
    folder = tmp_path / "output"
    folder.mkdir()
    for path in SAMPLES.glob("vdbench-*.html"):
        shutil.copy(path, folder / path.name.removeprefix("vdbench-"))
    return folder


def test_a_summary_has_every_interval_with_its_time_in_utc_and_the_warm_up_marked():
    rec = ex.open(SAMPLES / "vdbench-summary.html")
    rows = rec["intervals"].collect()
    printed = re.findall(r"^(\S+)\s+(\d+)\s+([\d.]+)\s", (SAMPLES / "vdbench-summary.html").read_text(), re.MULTILINE)
    assert rows["iops"].to_list() == [float(iops) for _, _, iops in printed]
    assert rows["warm_up"].to_list() == 2 * [True, False, False, False, False, False]
    # 23:59:53.011 of a clock one hour east of UTC; the second run is past midnight there.
    assert rows["time"][0] == dt.datetime(2026, 11, 22, 22, 59, 53, 11000, tzinfo=dt.UTC)
    assert rows["time"].is_sorted()
    assert rows["elapsed_s"].to_list() == pytest.approx(2 * [second + 0.011 for second in range(1, 7)])
    assert rec["runs"].collect()["started"].to_list() == [
        dt.datetime(2026, 11, 22, 22, 59, 52, tzinfo=dt.UTC),
        dt.datetime(2026, 11, 22, 23, 0, 2, tzinfo=dt.UTC),
    ]


def test_the_average_is_vdbench_s_own_and_mb_are_mib():
    found = figures(ex.open(SAMPLES / "vdbench-totals.html"), "configuration")
    first = "I/O rate: Controlled MAX; elapsed=6; For loops: xfersize=4k threads=8"
    assert found[first, "iops"] == (5200.0, "1/s")
    assert found[first, "throughput"] == (pytest.approx(5200 * 4096 / 2**20, abs=0.005), "MiB/s")
    assert found[first, "latency_mean"] == (1.071, "ms")
    assert found[first, "latency_max"] == (15.5, "ms")
    assert found["I/O rate: 2000; elapsed=6; For loops: xfersize=4k threads=16", "iops"] == (2600.0, "1/s")


def test_a_directory_is_one_recording_of_all_its_files(output):
    (output / "errorlog.html").write_text("<title>Vdbench output/errorlog.html</title><pre>\n")
    (output / "own.html").write_text("<p>notes</p>\n")
    shutil.copy(output / "summary.html", output / "logfile.html")
    rec = ex.open(output)
    rows = rec["intervals"].collect()
    assert rows["scope"].to_list() == 12 * ["total"] + 12 * ["sd"]
    assert set(rows.filter(scope="sd")["name"]) == {"sd1"}
    # The flat file has four decimals, only the summary has both maxima, and both are one row.
    first = rows.row(0, named=True)
    assert (first["mib_per_s"], first["read_max_ms"], first["requested_bytes"]) == (4.6875, 6.0, 4096.0)
    assert first["time"] == dt.datetime(2026, 11, 22, 22, 59, 53, 12000, tzinfo=dt.UTC)
    assert rec["averages"].collect().filter(scope="total")["response_ms"].to_list() == [1.0705, 1.1405]
    assert rec["skew"].collect().filter(kind="sd", run=2)["iops"].to_list() == [1300.0, 1300.0]
    assert (
        rec["parameters"].collect().filter(kind="wd")["parameters"].item() == "sd=sd*,xfersize=4k,rdpct=70,seekpct=100"
    )
    assert rec["histogram"].collect()["run"].unique().sort().to_list() == [1, 2]
    assert [note.message for note in rec.notes] == ["not read: own.html"]
    assert rec.meta["samples"] == 12
    assert main(["info", str(output)]) == 0


def test_runs_of_a_flat_file_with_other_settings_are_no_repetitions(tmp_path):
    rates = ex.open(SAMPLES / "vdbench-flatfile.html")["benchmark_results"].filter(metric="iops").collect()
    assert rates["configuration"].to_list() == ["xfersize=4096 threads=8", "xfersize=4096 threads=16 iorate=2000"]
    assert rates["repetition"].to_list() == [1, 1]
    study = studies.computed(tmp_path, f'[[run]]\nvdbench = "{SAMPLES / "vdbench-flatfile.html"}"\n')
    found = {name: value for name, value in studies.rows(study)[0].items() if "_iops" in name}
    assert sorted(found.values()) == [2600.0, 5200.0]


def test_units_of_1000_are_converted_and_a_decimal_comma_is_read(tmp_path):
    text = OLD.replace("1024**2", "1000**2")
    rows = opened(tmp_path, text)["intervals"].collect()
    assert rows["mib_per_s"][0] == pytest.approx(1.96e6 / 2**20)
    assert rows["mb_per_s"][0] == 1.96
    comma = re.sub(r"(?<=\s)(\d+)\.(\d+)(?=\s)", r"\1,\2", OLD)
    assert opened(tmp_path, comma)["intervals"].collect()["iops"].to_list() == [501.0, 499.0, 500.0]
