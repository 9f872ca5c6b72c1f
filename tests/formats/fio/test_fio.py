"""Composed outputs of fio: how each release prints known numbers, and the notes on damaged outputs."""

from __future__ import annotations

import contextlib
import gc
from datetime import UTC, datetime

import compose
import fio_outputs as fio
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
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


@pytest.mark.parametrize("spelt", ["nan", "-nan", "inf", "1.#QNAN0", "-1.#IND", "NaN", '"x"', "null"])
def test_what_is_no_number_leaves_its_cell_empty(tmp_path, spelt):
    text = fio.document(fio.job("a", read=fio.direction(10)), fio.job("b", read=fio.direction(10)))
    text = text.replace('"usr_cpu" : 1.5', f'"usr_cpu" : {spelt}', 1)
    frame = jobs(tmp_path, text)
    assert frame["usr_cpu_pct"].to_list() == [None, 1.5]


@pytest.mark.parametrize("huge", ["9" * 30, "1e999", "18446744073709551615", "9" * 5000])
def test_numbers_too_large_for_their_column_are_noted(tmp_path, huge):
    text = fio.document(fio.job(read=fio.direction(10)), fio.job("b", read=fio.direction(20)))
    rec = read(tmp_path, text.replace('"total_ios" : 10', f'"total_ios" : {huge}'))
    assert rec["jobs"].collect()["ios"].to_list()[-1] == 20
    assert any(note.severity == "warning" for note in rec.notes)


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
