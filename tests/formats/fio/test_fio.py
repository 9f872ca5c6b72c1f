"""fio's outputs, composed: what each release prints of known numbers, and what is said of damaged ones."""

from __future__ import annotations

import contextlib
import gc
import json
from datetime import UTC, datetime

import compose
import fio_outputs as fio
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import DamagedError
from esxparse.formats.fio.options import size, sizes
from esxparse.formats.kit.head import Head
from esxparse.formats.registry import reader_of

MANY = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read(folder, text):
    return ex.open(compose.write(folder, text, "output.txt"))


def jobs(folder, text):
    return read(folder, text)["jobs"].collect()


def test_a_job_of_fio_3_is_told_in_milliseconds_and_bytes(tmp_path):
    options = {"rw": "randrw", "bs": "4k,8k", "iodepth": "16"}
    text = fio.document(
        fio.job("oltp", options=options, read=fio.direction(5000), write=fio.direction(300, size=8192, mean=120_000)),
        **{"global options": {"ioengine": "libaio", "numjobs": "4", "bs": "64k"}},
    )
    rec = read(tmp_path, text)
    row, other = rec["jobs"].collect().to_dicts()
    assert (row["document"], row["job_number"], row["job"], row["direction"]) == (1, 1, "oltp", "read")
    assert (row["rw"], row["ioengine"], row["queue_depth"], row["workers"]) == ("randrw", "libaio", 16, 4)
    assert (row["block_size_bytes"], other["block_size_bytes"]) == (4096, 8192)
    assert (row["ios"], row["total_bytes"], row["runtime_s"], row["iops"]) == (5000, 5000 * 4096, 2.0, 2500.0)
    assert row["bandwidth_bytes_per_s"] == 5000 * 4096 / 2
    assert row["bandwidth_mean_bytes_per_s"] == pytest.approx(5000 * 4096 / 2)
    assert row["clat_mean_ms"] == pytest.approx(0.08)
    assert row["clat_max_ms"] == pytest.approx(0.72)
    assert row["latency_mean_ms"] == pytest.approx(0.088)
    assert row["slat_min_ms"] == pytest.approx(0.004)
    assert row["p50_ms"] == pytest.approx(0.08)
    assert row["p99_9_ms"] == pytest.approx(0.159840)
    assert other["clat_mean_ms"] == pytest.approx(0.12)
    assert row["end"] == datetime(2026, 3, 7, 8, 0, 0, 250_000, tzinfo=UTC)
    assert rec.meta["release"] == "fio-3.36"
    assert rec["disks"].collect().row(0)[2:6] == ("sdq", "device", 7, 9)
    assert {row["option"]: row["value"] for row in rec["options"].collect().to_dicts()} == {
        "rw": "randrw", "bs": "4k,8k", "iodepth": "16", "ioengine": "libaio", "numjobs": "4",
    }  # fmt: skip
    assert not rec.notes


def test_fio_2_gives_the_same_numbers_from_microseconds_and_kib(tmp_path):
    new = jobs(tmp_path, fio.document(fio.job(read=fio.direction(5000, mean=80_000))))
    old = jobs(
        tmp_path, fio.document(fio.job(new=False, read=fio.direction(5000, mean=80, new=False)), release="fio-2.1.7")
    )
    same = ["total_bytes", "bandwidth_bytes_per_s", "iops", "runtime_s", "latency_mean_ms", "clat_max_ms", "p50_ms"]
    assert old.select(same).row(0) == pytest.approx(new.select(same).row(0))
    assert old["ios"][0] is None


def test_a_direction_that_was_asked_for_has_a_row_though_it_did_nothing(tmp_path):
    frame = jobs(tmp_path, fio.document(fio.job(options={"rw": "rw"}, read=fio.direction(10))))
    assert frame["direction"].to_list() == ["read", "write"]
    idle = frame.row(1, named=True)
    assert (idle["ios"], idle["total_bytes"], idle["latency_mean_ms"], idle["iops_min"]) == (0, 0, None, None)


def test_a_job_without_any_io_is_kept_and_noted(tmp_path):
    rec = read(tmp_path, fio.document(fio.job("idle", new=False), release="fio-2.2.10"))
    assert rec["jobs"].collect().select("job", "direction", "ios").rows() == [("idle", "all", None)]
    assert any("no I/O was done by idle" in note.message for note in rec.notes)


def test_a_job_that_only_read_has_done_io(tmp_path):
    rec = read(tmp_path, fio.document(fio.job("vol0", options={"rw": "rw"}, read=fio.direction(1_000_000))))
    assert [note.message for note in rec.notes] == ["no write was done by vol0"]


def test_logs_below_the_directory_of_a_run_are_of_it(tmp_path):
    (tmp_path / "out.json").write_text(fio.document(fio.job("a", read=fio.direction(5)), release="fio-2.2.10"))
    for name in ("host1", "host2", "deep/er"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        kind = "bw" if name == "deep/er" else "clat"
        (tmp_path / "logs" / name / f"a_{kind}.1.log").write_text("1000, 9, 0, 0\n2000, 8, 0, 0\n")
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "out.json").write_text(fio.document(fio.job("b", read=fio.direction(5))))
    rec = ex.open(tmp_path)
    told = rec["series"].select("job", "metric").unique(maintain_order=True).collect().rows()
    assert sorted(told) == [("a", "bandwidth"), ("logs/host1/a", "clat"), ("logs/host2/a", "clat")]
    assert rec["series"].filter(pl.col("metric") == "clat").collect()["value"].to_list() == [0.009, 0.008] * 2
    assert rec["jobs"].collect()["job"].to_list() == ["a"]
    assert [note.message for note in rec.notes if "own" in note.message] == ["runs of their own, not read: before"]


def test_the_documents_of_a_directory_are_counted(tmp_path):
    for n in range(3):
        (tmp_path / f"{n}.json").write_text(fio.document(fio.job(f"a{n}", read=fio.direction(5 + n))))
    assert ex.open(tmp_path).meta["documents"] == 3


def test_unified_reporting_is_direction_all_and_fsync_is_sync(tmp_path):
    text = fio.document(
        fio.job("both", options={"rw": "randwrite"}, mixed=fio.direction(12)),
        fio.job("log", write=fio.direction(9), sync={"total_ios": 3, "lat_ns": fio.latency(500_000, percentiles=True)}),
    )
    frame = jobs(tmp_path, text)
    assert frame.select("job", "direction", "ios").rows() == [
        ("both", "all", 12),
        ("log", "write", 9),
        ("log", "sync", 3),
    ]
    assert frame["latency_mean_ms"][2] == pytest.approx(0.5)
    assert frame["p99_ms"][2] == pytest.approx(0.99)


@pytest.mark.parametrize(("new", "unit"), [(True, 1e-6), (False, 1e-3)])
def test_bins_have_the_edges_that_fio_counts_in(tmp_path, new, unit):
    bins = {5: 1, 127: 2, 129: 3, 257 + 1: 4, 8256: 5}
    read_stats = fio.direction(15, new=new, bins=bins)
    rec = read(tmp_path, fio.document(fio.job(new=new, read=read_stats), release="fio-3.1" if new else "fio-2.20"))
    found = rec["latency_bins"].filter(pl.col("source") == "bins").collect()
    edges = [(5, 6), (127, 128), (128, 130), (256, 260), (8192, 8320)]
    assert found["from_ms"].to_list() == pytest.approx([low * unit for low, _ in edges])
    assert found["to_ms"].to_list() == pytest.approx([high * unit for _, high in edges])
    assert found["ios"].to_list() == [1, 2, 3, 4, 5]
    shares = rec["latency_bins"].filter(pl.col("source") == "distribution").collect()
    first_us = 1e-3 if new else 0.0
    assert shares.filter(pl.col("to_ms") == 2e-3)["from_ms"].item() == first_us
    assert shares.filter(pl.col("to_ms").is_null()).select("from_ms", "share_pct").row(0) == (2000.0, 0.01)


def test_counts_of_bins_are_whole_numbers_or_left_out(tmp_path):
    bins = {5: True, 127: 2.5, 128: "4", 129: 3.0, 258: None}
    rec = read(tmp_path, fio.document(fio.job(read=fio.direction(7, bins=bins))))
    found = rec["latency_bins"].filter(pl.col("source") == "bins").collect()
    assert found["ios"].to_list() == [4, 3]
    assert [note.severity for note in rec.notes if "3 " in note.message] == ["warning"]


def test_servers_of_a_client_are_told_apart_and_their_sum_is_named(tmp_path):
    servers = [{**fio.job("j", read=fio.direction(10)), "hostname": name, "port": 8765} for name in ("a1", "b2")]
    total = {**fio.job("All clients", read=fio.direction(20)), "hostname": "b2", "port": 8765}
    rec = read(tmp_path, "<a1> Starting 1 process\n" + fio.document(*servers, total, key="client_stats"))
    assert rec["jobs"].collect().select("job", "hostname").rows() == [("j", "a1"), ("j", "b2"), ("All clients", None)]
    assert rec.meta["host"] == "a1, b2"


def test_documents_with_text_before_between_and_after_are_all_read(tmp_path):
    one = fio.document(fio.job("one", read=fio.direction(5)))
    two = fio.document(fio.job("two", error=5, write=fio.direction(6)))
    text = f"fio: this platform has no O_DIRECT\nnote: queue\n{one}hello {two}fio: pid=7, err=5/file:a.c:1, error=bad\n"
    rec = read(tmp_path, text)
    assert rec["jobs"].collect().select("document", "job").rows() == [(1, "one"), (2, "two")]
    said = {note.message: note for note in rec.notes}
    assert said["fio: this platform has no O_DIRECT"].line == 1
    assert said["job two failed: error 5; its numbers are kept"].severity == "warning"
    assert any("err=5/file:a.c:1" in message for message in said)
    assert any("2 lines not read, not fio output" in message for message in said)


@pytest.mark.parametrize("where", [0.45, 0.62, 0.8])
def test_of_a_cut_document_the_whole_jobs_are_kept_and_the_place_is_named(tmp_path, where):
    whole = fio.document(*[fio.job(f"j{n}", read=fio.direction(10 + n)) for n in range(5)])
    cut = whole[: int(len(whole) * where)]
    rec = read(tmp_path, cut)
    names = [f"j{n}" for n in range(cut.count('"jobname"') - 1)]
    assert rec["jobs"].collect()["job"].to_list()[: len(names)] == names
    (note,) = [note for note in rec.notes if note.severity == "warning"]
    assert abs(note.line - (cut.count("\n") + 1)) <= 1
    assert note.column
    assert "the JSON is cut" in note.message


def test_a_damaged_job_costs_only_itself(tmp_path):
    whole = fio.document(*[fio.job(f"j{n}", read=fio.direction(10 + n)) for n in range(4)])
    place = whole.index('"j1"')
    rec = read(tmp_path, whole[: place + 40] + '"}}]' + whole[place + 300 :])
    assert rec["jobs"].collect()["job"].to_list() == ["j0", "j2", "j3"]
    assert rec["disks"].collect().height == 1
    assert any(note.severity == "warning" and note.line for note in rec.notes)


@pytest.mark.parametrize("spelt", ["nan", "-nan", "inf", "1.#QNAN0", "-1.#IND", "NaN", '"x"', "null"])
def test_what_is_no_number_leaves_its_cell_empty(tmp_path, spelt):
    text = fio.document(fio.job("a", read=fio.direction(10)), fio.job("b", read=fio.direction(10)))
    text = text.replace('"usr_cpu" : 1.5', f'"usr_cpu" : {spelt}', 1)
    frame = jobs(tmp_path, text)
    assert frame["usr_cpu_pct"].to_list() == [None, 1.5]


def test_decimal_commas_and_lines_of_errors_inside_a_document_are_mended(tmp_path):
    text = fio.document(fio.job("a", read=fio.direction(10)), fio.job("b", read=fio.direction(10)))
    text = text.replace('"sys_cpu" : 4.25', '"sys_cpu" : 4,25').replace(
        '      "ctx"', 'fio: io_u error\n      "ctx"', 1
    )
    assert jobs(tmp_path, text)["sys_cpu_pct"].to_list() == [4.25, 4.25]


@pytest.mark.parametrize("huge", ["9" * 30, "1e999", "18446744073709551615", "9" * 5000])
def test_numbers_too_large_for_their_column_are_noted(tmp_path, huge):
    text = fio.document(fio.job(read=fio.direction(10)), fio.job("b", read=fio.direction(20)))
    rec = read(tmp_path, text.replace('"total_ios" : 10', f'"total_ios" : {huge}'))
    assert rec["jobs"].collect()["ios"].to_list()[-1] == 20
    assert any(note.severity == "warning" for note in rec.notes)


def test_a_document_that_was_written_anew_is_read_too(tmp_path):
    document = json.loads(fio.document(fio.job("a", options={"rw": "read"}, read=fio.direction(10))))
    again = json.dumps({"when": "today", "runs": [document]}, sort_keys=True)
    assert jobs(tmp_path, again)["job"].to_list() == ["a"]
    assert jobs(tmp_path, json.dumps(document["jobs"]))["ios"].to_list() == [10]


def test_normal_output_of_fio_2(tmp_path):
    rec = read(tmp_path, fio.NORMAL_2)
    reads, writes = rec["jobs"].collect().to_dicts()
    assert (reads["job"], reads["error"], reads["workers"], reads["queue_depth"]) == ("log", 5, 3, 16)
    assert (reads["block_size_bytes"], writes["block_size_bytes"], reads["ioengine"]) == (8192, 4096, "libaio")
    assert (reads["total_bytes"], writes["total_bytes"]) == (80 << 20, 1 << 30)
    assert (reads["bandwidth_bytes_per_s"], writes["bandwidth_bytes_per_s"]) == (20 << 20, 256 << 20)
    assert (reads["iops"], writes["iops"]) == (2560.0, 65_500.0)
    assert (reads["ios"], writes["ios"], writes["short_ios"], writes["dropped_ios"]) == (10240, 262144, 2, 3)
    assert (reads["slat_mean_ms"], reads["clat_mean_ms"], reads["latency_max_ms"]) == (0.0065, 11.25, 1844.0)
    assert writes["clat_max_ms"] == pytest.approx(12.3)
    assert (reads["bandwidth_min_bytes_per_s"], writes["bandwidth_max_bytes_per_s"]) == (7 << 10, 300 << 20)
    assert (reads["p50_ms"], reads["p95_ms"], reads["p99_9_ms"], writes["p50_ms"]) == (10.0, 25.0, 255.0, None)
    assert (reads["errors"], reads["context_switches"], reads["sys_cpu_pct"]) == (12, 311, 4.25)
    bins = rec["latency_bins"].collect()
    assert bins.select("from_ms", "to_ms", "share_pct").rows() == [
        (0.02, 0.05, 0.5), (0.05, 0.1, 10.0), (0.1, 0.25, 80.0), (1.0, 2.0, 9.0), (2000.0, None, 0.5),
    ]  # fmt: skip
    disks = rec["disks"].collect().select("disk", "scope", "write_ios", "util_pct").rows()
    assert disks == [("dm-3", "device", 9, 12.5), ("dm-3", "members", 6, 50.0), ("sdq", "device", 6, 50.0)]
    assert rec["groups"].collect()["runtime_max_s"].to_list() == [4.0, 4.001]
    assert [note.severity for note in rec.notes] == ["warning"]
    assert "Input/output error" in rec.notes[0].message


def test_a_job_that_was_started_and_has_no_result_is_noted(tmp_path):
    rec = read(
        tmp_path, fio.NORMAL_2.replace("fio-2.1.9", "late: (g=1): rw=read, bs=4K-4K/4K-4K/4K-4K, iodepth=1\nfio-2.1.9")
    )
    assert any("job late was started and has no result" in note.message for note in rec.notes)


MIXED = """\
t: (g=0): rw=randrw, bs=4K-4K/4K-4K/4K-4K, ioengine=libaio, iodepth=1
fio-2.1.9
t: (groupid=0, jobs=1): err= 0: pid=7: Mon Mar  2 08:00:00 2026
  read : io=400KB, bw=200KB/s, iops=50, runt=  2000msec
    slat (usec): min=1, max=3, avg= 2.0, stdev= 0.5
    clat (msec): min=1, max=30, avg=10.0, stdev= 2.0
    clat percentiles (msec):
     | 50.00th=[   10], 99.00th=[   25],
     | 99.90th=[   29]
  write: io=800KB, bw=400KB/s, iops=100, runt=  2000msec
    slat (usec): min=2, max=6, avg= 4.0, stdev= 1.0
    clat (msec): min=2, max=60, avg=20.0, stdev= 4.0
    clat percentiles (msec):
     | 50.00th=[   20], 99.00th=[   50],
     | 99.90th=[   59]
  cpu          : usr=1.00%, sys=2.00%, ctx=3, majf=0, minf=4
     issued    : total=r=100/w=200/d=0, short=r=0/w=0/d=0
Run status group 0 (all jobs):
   READ: io=400KB, aggrb=200KB/s, minb=200KB/s, maxb=200KB/s, mint=2000msec, maxt=2000msec
"""


@pytest.mark.parametrize(("gone", "kept", "numbers"), [("write:", "read", (10.0, 10.0)), ("read :", "write", (20, 20))])
def test_latencies_below_a_direction_that_is_lost_are_nobodys(tmp_path, gone, kept, numbers):
    lines = MIXED.splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if line.lstrip().startswith(gone))
    rec = read(tmp_path, "".join([*lines[:place], *lines[place + 1 :]]))
    (row,) = rec["jobs"].collect().to_dicts()
    assert (row["direction"], row["clat_mean_ms"], row["p50_ms"]) == (kept, *numbers)
    assert rec["percentiles"].collect().select("direction", "percentile").rows() == [
        (kept, 50.0),
        (kept, 99.0),
        (kept, 99.9),
    ]
    (told,) = rec.notes
    assert (told.line, told.severity) == (place + 1, "warning")
    assert "first line is missing" in told.message


def test_a_job_whose_first_line_is_lost_is_not_taken_for_the_one_before(tmp_path):
    lines = MIXED.splitlines(keepends=True)
    other = [line.replace("10.0", "77.0").replace("minf=4", "minf=9") for line in lines[3:17]]
    rec = read(tmp_path, "".join([*lines[:17], *other, *lines[17:]]))
    assert rec["jobs"].collect().select("clat_mean_ms", "minor_faults").rows() == [(10.0, 4), (20.0, 4)]
    assert [(note.line, "second time" in note.message) for note in rec.notes] == [(18, True)]


def test_percentiles_whose_head_is_lost_are_left_out(tmp_path):
    rec = read(tmp_path, MIXED.replace("    clat percentiles (msec):\n", "", 1))
    assert set(rec["percentiles"].collect()["direction"]) == {"write"}
    assert [(note.line, note.severity) for note in rec.notes] == [(7, "warning")]


def test_a_number_at_the_very_end_may_be_cut_and_is_not_read(tmp_path):
    rec = read(tmp_path, MIXED[: MIXED.index("99.00th=[   50]") + len("99.00th=[   5")])
    writes = rec["percentiles"].collect().filter(pl.col("direction") == "write")
    assert writes["percentile"].to_list() == [50.0]
    assert [(note.line, note.severity) for note in rec.notes if "may be cut" in note.message] == [(14, "warning")]


def test_numbers_that_no_float_holds_leave_their_cell_empty(tmp_path):
    rec = read(tmp_path, MIXED.replace("maxb=200KB/s", f"maxb={'9' * 400}KB/s"))
    assert rec["groups"].collect()["bandwidth_max_bytes_per_s"].to_list() == [None]
    assert "too large" in rec.notes[0].message
    blocks = [fio.terse_direction(1000), fio.terse_direction(2000)]
    line = fio.terse("t", blocks).replace(";99.000000%=", f";{'9' * 400}%=", 1)
    assert "9" * 400 in line
    rec = read(tmp_path, line + "\n")
    assert rec["jobs"].collect()["ios"].len() == 2
    assert any("too large" in note.message for note in rec.notes)


TERSE = {
    "v3": (3, ["read", "write"], {}),
    "v4": (4, ["read", "write", "trim"], {}),
    "v5": (5, ["read", "write", "trim"], {}),
    "v2": (2, ["read", "write", "trim"], {}),
    "v2 without percentiles": (2, ["read", "write"], {"percentiles": False}),
    "v2 of 2.0.0": (2, ["read", "write"], {"percentiles": False, "iops": False}),
    "unified": (3, ["all"], {}),
    "v3 both": (3, ["read", "write", "all"], {}),
    "v4 both": (4, ["read", "write", "trim", "all"], {}),
}


@pytest.mark.parametrize(("version", "directions", "shape"), TERSE.values(), ids=TERSE)
def test_terse_output(tmp_path, version, directions, shape):
    blocks = [fio.terse_direction(1000 * place, version=version, **shape) for place in range(1, len(directions) + 1)]
    tail = ";sdq;7;9;0;1;3;4;6;12.50%;slaves;5;6;1;2;3;4;8;50.00%;12;5" if version > 2 else ";12;5;my words"
    rec = read(tmp_path, fio.terse("t", blocks, version=version, tail=tail) + "\n")
    frame = rec["jobs"].collect()
    assert frame["direction"].to_list() == directions
    last = frame.row(-1, named=True)
    ios = 1000 * len(directions)
    assert (last["total_bytes"], last["runtime_s"], last["errors"]) == (ios * 4096, 2.0, 12)
    old = shape.get("iops") is False
    assert (last["iops"], last["bandwidth_bytes_per_s"]) == (
        None if old else ios / 2,
        ios * 2 * (1000 if old else 1024),
    )
    assert (last["slat_min_ms"], last["clat_max_ms"]) == (0.003, 1.0)
    assert (last["latency_mean_ms"], last["latency_stddev_ms"]) == pytest.approx((0.106, 0.0265))
    assert last["bandwidth_max_bytes_per_s"] == ios * 3 * 1024
    assert last["p99_ms"] == (0.099 if shape.get("percentiles", True) else None)
    assert last["iops_max"] == (ios if version == 5 else None)
    shares = rec["latency_bins"].collect().select("from_ms", "to_ms", "share_pct").rows()
    assert shares == [(0.002, 0.004, 1.5), (1.0, 2.0, 98.49), (2000.0, None, 0.01)] or len(shares) == 3
    if version > 2:
        rows = rec["disks"].collect().select("disk", "scope", "in_queue_ms", "util_pct").rows()
        assert rows == [("sdq", "device", 6, 12.5), ("sdq", "members", 8, 50.0)]


def test_a_cut_terse_line_is_named_and_the_others_are_kept(tmp_path):
    line = fio.terse("t", [fio.terse_direction(10), fio.terse_direction(20)])
    rec = read(tmp_path, f"{line}\n{line[:600]}\n")
    assert rec["jobs"].collect().height == 2
    assert [(note.line, note.severity) for note in rec.notes] == [(2, "warning")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fio: pid=3, err=5/file:x.c:9, func=f, error=Input/output error\n", "error=Input/output error"),
        (fio.document(fio.job(read=fio.direction(3)))[:300], "line"),
        (fio.document(), "no fio results"),
        ('{"jobname" : 3', "no complete fio job"),
        ('{"fio version" : "fio-3.1", "jobs" : 7}', "no fio results"),
        ("j: (g=0): rw=read, bs=4K-4K/4K-4K/4K-4K, ioengine=sync, iodepth=1\nfio-2.0.7\n", "started and has no result"),
    ],
)
def test_what_holds_no_result_is_one_clear_error(tmp_path, text, said):
    with pytest.raises(DamagedError, match=said) as failure:
        read(tmp_path, text)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_other_encodings_and_line_ends(tmp_path, encoding):
    text = fio.document(fio.job("m\u00fcller", read=fio.direction(3))).replace("\\u00fc", "\u00fc")
    file = compose.write(tmp_path, text.replace("\n", "\r\n").encode(encoding))
    assert ex.open(file)["jobs"].collect()["job"].to_list() == ["m\u00fcller"]


def test_sizes_of_options():
    assert size("1.5m") == 3 << 19
    assert size("4kib", "1000") == size("4K") == 4096
    assert size("many") is None
    assert sizes({"rw": "rw", "bs": "8k,,"}) == {"read": 8192, "write": 4096, "trim": 4096, "all": None}
    assert sizes({"rw": "read", "bs": ",8k"})["read"] == 4096
    assert sizes({"rw": "read", "bsrange": "4k-4k"})["all"] == 4096
    assert sizes({"rw": "read", "kb_base": "1000", "bs": "4k"})["read"] == 4000
    assert sizes({"rw": "read", "bs": "4k", "kb_base": "1000"})["read"] == 4096
    assert set(sizes({"rw": "read", "bs": "4k", "bssplit": "4k/50:8k/50"}).values()) == {None}


@MANY
@given(
    ios=st.lists(st.integers(1, 10**12), min_size=1, max_size=4),
    mean=st.integers(10, 10**12),
    new=st.booleans(),
)
def test_numbers_that_are_written_are_read_back(tmp_path, ios, mean, new):
    written = [fio.job(f"j{n}", new=new, read=fio.direction(count, new=new, mean=mean)) for n, count in enumerate(ios)]
    frame = jobs(tmp_path, fio.document(*written, release="fio-3.2" if new else "fio-2.3"))
    unit = 1e-6 if new else 1e-3
    assert frame["total_bytes"].to_list() == [count * 4096 for count in ios]
    assert frame["clat_mean_ms"].to_list() == pytest.approx([mean * unit] * len(ios))
    assert frame["iops"].to_list() == pytest.approx([count / 2 for count in ios])


SAMPLES = [
    fio.document(fio.job("a", options={"rw": "read"}, read=fio.direction(3, bins={900: 3})), fio.job("b")).encode(),
    fio.NORMAL_2.encode(),
    "\n".join([fio.terse("t", [fio.terse_direction(9), fio.terse_direction(0)])] * 3).encode(),
]


def opened(file):
    """The recording, or the message of the error."""
    try:
        return ex.open(file, format="fio")
    except ex.EsxparseError as error:
        return str(error)


@MANY
@given(data=st.data())
def test_whatever_the_damage_there_is_a_recording_or_one_error(tmp_path, data):
    content = bytearray(data.draw(st.sampled_from(SAMPLES)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content)))
        kind = data.draw(st.sampled_from(["cut", "nul", "bytes", "delete", "repeat"]))
        length = data.draw(st.integers(1, 200))
        if kind == "cut":
            del content[place:]
        elif kind == "nul":
            content[place:place] = bytes(length)
        elif kind == "bytes":
            content[place : place + 3] = data.draw(st.binary(max_size=20))
        elif kind == "delete":
            del content[place : place + length]
        else:
            content[place:place] = content[place : place + length]
    rec = opened(compose.write(tmp_path, bytes(content)))
    if isinstance(rec, str):
        assert "\n" not in rec
        return
    assert rec["jobs"].collect().height > 0
    assert all(frame.collect().height for frame in rec.tables.values())


@MANY
@given(st.binary(max_size=300))
def test_recognising_never_fails(head):
    assert reader_of("fio").recognise(Head(head)) in (True, False)


def test_other_formats_are_not_claimed():
    for head in (
        b"",
        b"time,value\n1,2\n",
        b'"(PDH-CSV 4.0) (UTC)(0)"',
        b'{"jobs": []}',
        b"2;3;4\n",
        b"the fio: tool\n",
    ):
        assert not reader_of("fio").recognise(Head(head))


@pytest.mark.parametrize(
    ("sound", "odd"),
    [
        ('"900": 3', '"900": 3'),
        ('"900": 3', '"900": 3.5'),
        ('"900": 3', '"9e2": 3'),
        ('"900": 3', '"900": -3, "1000": 4'),
        ('"900": 3', f'"900": {1 << 70}'),
        ('"900": 3', '"900": {"a": 1}'),
        ('"900": 3', '"900": nan'),
        ('{"900": 3}', "{}"),
        ('{"900": 3}', "0"),
        ('{"900": 3}', "[1, 2]"),
        ('"timestamp": 1772870400', f'"timestamp": {"1" * 4200}'),
        ('"jobname": "b"', '"jobname": "\\"bins\\": {", "x": "\\"jobname\\""'),
        ('"job options": {', '"x": ["{", 1e3], "job options": {"bins": "{1}",'),
    ],
)
def test_bins_set_aside_are_read_as_any_other_value_is(tmp_path, monkeypatch, sound, odd):
    one, other = (fio.job(name, options={"rw": "read"}, read=fio.direction(3, bins={900: 3})) for name in "ab")
    text = " ".join(fio.document(one, other).replace(" : ", ": ").split()).replace('{ "900": 3 }', '{"900": 3}')
    assert sound in text
    text = text.replace(sound, odd)
    read_at_once = read(tmp_path, text)
    monkeypatch.setattr("esxparse.formats.fio.output.Counts.of", lambda content: (bytes(content), []))
    with_care = read(tmp_path, text)
    assert read_at_once.notes == with_care.notes
    for name in with_care:
        assert read_at_once[name].collect().equals(with_care[name].collect()), name


def test_normal_output_without_its_write_half_is_cut(tmp_path):
    text = (ex.datasets_dir() / "formats" / "fio-normal.txt").read_text()
    whole, begin = read(tmp_path, text), text.index("  write: IOPS")
    assert not [note for note in whole.notes if note.severity == "warning"]
    cut = read(tmp_path, text[:begin])
    assert cut["jobs"].collect()["direction"].to_list() == ["read"]
    (note,) = [note for note in cut.notes if "ends before its line on the CPU" in note.message]
    assert (note.severity, note.line) == ("warning", text[:begin].count("\n") + 1)


@pytest.mark.parametrize("text", [fio.document(fio.job("a", read=fio.direction(3))), "{}"])
def test_the_collector_of_garbage_is_at_work_again_after_reading(tmp_path, text):
    with contextlib.suppress(ex.EsxparseError):
        read(tmp_path, text)
    assert gc.isenabled()


def test_lines_and_columns_of_damage_are_those_of_the_file_after_bins_were_taken_out(tmp_path, monkeypatch):
    bins = {20_000 + 256 * place: place + 1 for place in range(100)}
    whole, cut = (fio.job(name, read=fio.direction(5_050, bins=bins)) for name in "ab")
    text = fio.document(whole, cut)
    end = text.rindex('"jobname"') + 300
    rec = read(tmp_path, text[:end])
    (note,) = [note for note in rec.notes if "the JSON is cut" in note.message]
    assert note.line == text[:end].count("\n") + 1
    assert rec["latency_bins"].collect()["ios"].sum() == 5_050
    monkeypatch.setattr("esxparse.formats.fio.output.Counts.of", lambda content: (bytes(content), []))
    assert read(tmp_path, text[:end]).notes == rec.notes
