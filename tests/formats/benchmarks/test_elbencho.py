"""elbencho: text, CSV, JSON and live CSV of phases."""

from __future__ import annotations

import datetime as dt

import pytest
from compose import write

import esxparse as ex

SAMPLES = ex.datasets_dir() / "formats"


def results(rec):
    rows = rec["benchmark_results"].collect().rows(named=True)
    return {(row["test"], row["metric"]): (row["value"], row["unit"]) for row in rows}


def test_text_has_both_ends_of_a_phase_and_its_latencies():
    rec = ex.open(SAMPLES / "elbencho-results.txt")
    found = results(rec)
    assert found["write", "iops"] == (502.0, "1/s")
    assert found["write", "throughput"] == (62.0, "MiB/s")
    assert found["write", "latency_mean"] == (7.94, "ms")
    assert found["write", "latency_min"] == (0.312, "ms")
    assert found["rmfiles", "entries"] == (111.0, "1/s")
    phases = rec["phases"].collect()
    assert phases.filter(operation="write")["elapsed_s"].to_list() == [62.105, 65.236]
    assert phases["done"].to_list() == ["first", "last"] * 3
    assert phases["started"][0] == dt.datetime(2026, 11, 22, 15, 27, 22, tzinfo=dt.UTC)
    assert rec["percentiles"].collect().select("percentile", "at_most_ms").rows()[-1] == (99.9, 131.072)
    assert rec["histogram"].collect()["count"].to_list() == [320, 16100, 16020, 328]
    assert rec.notes == ()


def test_csv_has_reads_beside_writes():
    rec = ex.open(SAMPLES / "elbencho-results.csv")
    found = results(rec)
    assert found["write", "iops"] == (1941.0, "1/s")
    assert found["write", "iops_read_mix"] == (1038.0, "1/s")
    assert found["write", "latency_mean"] == (9.383, "ms")
    assert found["write", "read_mix_io_latency_mean"] == (2.311, "ms")
    assert found["mkdirs", "entry_latency_max"] == (1.378, "ms")
    assert ("mkdirs", "iops") not in found
    assert rec["benchmark_results"].collect()["configuration"][0].startswith("label night, path type dir, hosts 1")
    assert [note.message for note in rec.notes] == ["times without a zone are taken as UTC"]


def test_json_has_bytes_that_become_mib():
    rec = ex.open(SAMPLES / "elbencho-results.json")
    found = results(rec)
    assert found["write", "throughput"] == (500.0, "MiB/s")
    assert found["read", "time"] == (2.048, "s")
    assert found["read", "latency_max"] == (3.12, "ms")
    assert rec["phases"].collect()["mib"].to_list() == [4000.0, 4096.0, 4080.0, 4096.0]
    assert rec["histogram"].collect().row(1) == (1, "write", "io", 1.024, 31000)


def test_live_csv_is_a_series_in_utc():
    live = ex.open(SAMPLES / "elbencho-live.csv")["live"].collect()
    assert live["time"][0] == dt.datetime(2026, 11, 22, 15, 40, 9, 651000, tzinfo=dt.UTC)
    assert live.select("elapsed_s", "rank", "mib_per_s", "io_latency_us").rows() == [
        (1.0, "Total", 500.0, 998.0),
        (2.0, "Total", 500.0, 1001.0),
    ]


def test_units_of_1000_are_converted(tmp_path):
    text = (SAMPLES / "elbencho-results.txt").read_text().replace("Throughput MiB/s", "Throughput MB/s ")
    assert results(ex.open(write(tmp_path, text)))["read", "throughput"][0] == pytest.approx(331e6 / 2**20)


def test_a_mix_in_text_keeps_reads_apart(tmp_path):
    text = (
        "OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n"
        "=========== ================    ==========   =========\n"
        "RWMIX70     Elapsed time     :      1.000s      1.001s\n"
        "            IOPS write       :         300         301\n"
        "            IOPS read        :         700         701\n"
        "            IOPS total       :        1000        1002\n"
        "            MiB/s write      :          30          30\n"
        "            IO rd latency    : [ min=1us avg=2.5ms max=1.5s ]\n"
        "            IO wr latency    : [ min=2us avg=3ms max=2s ]\n---\n"
    )
    rec = ex.open(write(tmp_path, text))
    found = results(rec)
    assert (found["rwmix70", "iops"][0], found["rwmix70", "iops_read_mix"][0]) == (301.0, 701.0)
    assert rec["latencies"].collect().select("of", "mean_ms", "max_ms").rows() == [
        ("read_mix io", 2.5, 1500.0),
        ("io", 3.0, 2000.0),
    ]
    assert rec.notes == ()


@pytest.mark.parametrize(
    ("name", "change", "warning"),
    [
        ("results.csv", (",night,dir,1,1,8", ",night,dir,1,8"), "cells where the titles are"),
        ("results.json", ('"first_done":{', '"first_done":{{'), "an object is cut or damaged: left out"),
        ("live.csv", ("+0100,night,WRITE,1000", ",night,WRITE"), "a line that is cut or damaged: left out"),
    ],
)
def test_what_is_damaged_is_told(tmp_path, name, change, warning):
    text = (SAMPLES / f"elbencho-{name}").read_text().replace(*change, 1)
    rec = ex.open(write(tmp_path, text, name))
    told = [note.message for note in rec.notes if note.severity == "warning"]
    assert len(told) == 1
    assert warning in told[0]
