"""fio's logs: every number of real ones, every layout, damage, bins of every release."""

from __future__ import annotations

from datetime import UTC, datetime

import compose
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.formats.fio import log_lines, logs
from esxparse.formats.fio.log_facts import log_name
from esxparse.formats.kit.head import Head

DIRECTIONS = ("read", "write", "trim", "sync")
REAL_FACTOR = {"bw": 1024, "iops": 1, "lat": 1e-6, "clat": 1e-6, "slat": 1e-6}
METRIC = {"bw": "bandwidth", "iops": "iops", "lat": "lat", "clat": "clat", "slat": "slat"}


def log(folder, lines, name="job_clat.1.log"):
    return compose.write(folder, "".join(f"{line}\n" for line in lines), name)


def series(path):
    return ex.open(path)["series"].collect()


def lower(index):
    """The smallest latency of a bin, computed as fio does, bin by bin."""
    if index < 128:
        return index
    bits = index // 64 - 1
    return (1 << (bits + 6)) + (index % 64 << bits)


@pytest.mark.parametrize("kind", REAL_FACTOR)
def test_every_number_of_a_real_log(kind):
    path = compose.real_data("fio", f"fio-3.7_{kind}.1.log")
    expected = [[int(cell) for cell in line.split(",")] for line in path.read_text().splitlines()]
    found = series(path)
    assert found.columns == ["elapsed_s", "job", "job_number", "metric", "direction", "value", "block_size_bytes"]
    assert found["elapsed_s"].to_list() == [row[0] / 1000 for row in expected]
    assert found["value"].to_list() == pytest.approx([row[1] * REAL_FACTOR[kind] for row in expected])
    assert found["direction"].to_list() == [DIRECTIONS[row[2]] for row in expected]
    assert found["block_size_bytes"].to_list() == [row[3] for row in expected]
    assert set(found["metric"]) == {METRIC[kind]}
    assert set(found["job"]) == {"fio-3.7"}
    assert set(found["job_number"]) == {1}


def test_every_number_of_a_real_histogram():
    path = compose.real_data("fio", "fio-3.7_clat_hist.1.log")
    (line,) = path.read_text().splitlines()
    time, direction, size, *counts = (int(cell) for cell in line.split(","))
    rec = ex.open(path)
    found = rec["latency_bins_series"].collect()
    filled = {index: count for index, count in enumerate(counts) if count}
    assert found["ios"].to_list() == list(filled.values())
    assert found["from_ms"].to_list() == pytest.approx([lower(index) / 1e6 for index in filled])
    assert found["to_ms"].to_list() == pytest.approx([lower(index + 1) / 1e6 for index in filled])
    assert set(found["elapsed_s"]) == {time / 1000}
    assert set(found["direction"]) == {DIRECTIONS[direction]}
    assert set(found["block_size_bytes"]) == {size}
    # This one counts 10**20 I/Os: what fio sent from its memory is no count, and nothing is computed from it.
    assert sum(counts) > 1 << 64
    assert list(rec) == ["latency_bins_series"]
    assert any(f"{max(counts):,} I/Os in a bin" in note.message for note in rec.notes)


LAYOUTS = {
    "fio 2 to 3.18": ("2000, 81234, 1, 8192", {"block_size_bytes": 8192}),
    "with an offset, to 3.18": ("2000, 81234, 1, 8192, 40960", {"block_size_bytes": 8192, "offset_bytes": 40960}),
    "from 3.19": ("2000, 81234, 1, 8192, 1", {"block_size_bytes": 8192, "priority": 1}),
    "log_prio": ("2000, 81234, 1, 8192, 0x2003", {"block_size_bytes": 8192, "priority": 0x2003}),
    "log_offset": ("2000, 81234, 1, 8192, 40960, 0", {"offset_bytes": 40960, "priority": 0}),
    "log_offset, log_prio": ("2000, 81234, 1, 8192, 40960, 0x4001", {"offset_bytes": 40960, "priority": 0x4001}),
    "log_max_value=2": ("2000, 81234, 99000, 1, 0, 0", {"value_max": 0.099, "priority": 0}),
    "log_max_value=2, an I/O each": ("2000, 81234, 0, 1, 8192, 0", {"value_max": None, "block_size_bytes": 8192}),
    "log_max_value=2, log_offset": ("2000, 81234, 99000, 1, 0, 0, 0", {"value_max": 0.099, "offset_bytes": 0}),
    "log_issue_time": (
        "2000, 81234, 1, 8192, 40960, 0, 1999900000",
        {"offset_bytes": 40960, "priority": 0, "issued_s": 1.9999},
    ),
    "log_issue_time, no offset": ("2000, 81234, 1, 8192, 0, 1999900000", {"priority": 0, "issued_s": 1.9999}),
    "all": (
        "2000, 81234, 0, 1, 8192, 40960, 0x0000, 1999900000",
        {"offset_bytes": 40960, "priority": 0, "issued_s": 1.9999},
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_layout(tmp_path, name):
    line, expected = LAYOUTS[name]
    (row,) = series(log(tmp_path, [line])).to_dicts()
    assert row["elapsed_s"] == 2
    assert row["value"] == pytest.approx(0.081234)
    assert row["direction"] == "write"
    for column, value in expected.items():
        assert row[column] == (value if value is None else pytest.approx(value)), column


def test_a_fifth_number_that_is_small_at_first_and_large_later_is_an_offset(tmp_path):
    lines = [f"{second}, 90000, 0, 4096, 0" for second in range(12_000)]
    found = series(log(tmp_path, [*lines, "12000, 90000, 0, 4096, 4096"]))
    assert "priority" not in found.columns
    assert found["offset_bytes"].to_list()[-2:] == [0, 4096]


def test_times_since_1970(tmp_path):
    path = log(tmp_path, ["1700000000123, 5000, 0, 4096, 0", "1700000001123, 6000, 2, 4096, 0"])
    rec = ex.open(path)
    found = rec["series"].collect()
    assert found.schema["time"] == pl.Datetime("us", "UTC")
    assert found["time"][0] == datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC)
    assert rec.meta["end"] == datetime(2023, 11, 14, 22, 13, 21, 123000, tzinfo=UTC)
    assert found["direction"].to_list() == ["read", "trim"]
    assert ex.open(path, start="2023-11-14T22:13:21")["series"].collect().height == 1


@pytest.mark.parametrize(
    ("name", "lines", "unit", "guessed"),
    [
        ("a_lat.1.log", ["500, 900000, 0, 0", "1000, 900000, 0, 0"], "ns", True),
        ("a_lat.1.log", ["500, 900, 0, 0", "1000, 900, 0, 0"], "us", True),
        ("a_slat.1.log", ["500, 3000, 0, 0"], "ns", True),
        ("a_slat.1.log", ["500, 4, 0, 0"], "us", True),
        # One in flight: the sum of the latencies is the time that went by.
        ("a_clat.1.log", [f"{time}, 9900, 0, 4096" for time in range(10, 1000, 10)], "us", True),
        ("a_clat.1.log", [f"{time // 100}, 9900, 0, 4096" for time in range(10, 10_000)], "ns", True),
        ("a_clat.1.log", ["500, 900, 0, 0, 0"], "ns", False),
        ("a_bw.1.log", ["500, 900, 0, 0", "1000, 900, 0, 0"], "KiB/s", False),
        ("a_bw.1.log", [f"{time}, 900, 0, 4096" for time in range(100)], "kB/s", False),
        ("a_bw.1.log", ["500, 900, 0, 4096", "1000, 900, 0, 4096", "1500, 900, 0, 4096"], "KiB/s", True),
        ("a_iops.1.log", ["500, 900, 0, 0"], "IOPS", False),
        ("a_iops.1.log", ["500, 1, 0, 4096"], "I/Os", False),
        ("a_iops.1.log", ["500, 6915, 0, 4096", "1000, 6990, 0, 4096"], "IOPS", False),
    ],
)
def test_units_and_what_tells_them(tmp_path, name, lines, unit, guessed):
    rec = ex.open(log(tmp_path, lines, name))
    assert rec.meta["unit"] == unit
    assert rec.meta["unit_evidence"]
    assert any("guess" in note.message for note in rec.notes) == guessed
    factor = {"ns": 1e-6, "us": 1e-3, "KiB/s": 1024, "kB/s": 1000}.get(unit, 1)
    assert rec["series"].collect()["value"][0] == pytest.approx(int(lines[0].split(", ")[1]) * factor)


def test_an_output_without_results_is_a_hint(tmp_path):
    path = log(tmp_path, ["500, 900, 0, 0"], "a_lat.1.log")
    compose.write(tmp_path, '{ "fio version" : "fio-3.1", "jobs" : [] }', "result.json")
    rec = ex.open(path)
    assert (rec.meta["unit"], rec.meta["guessed_units"]) == ("ns", ["ns"])
    assert rec.meta["unit_evidence"] == "release 3.1 in result.json, perhaps of another run"
    assert "result.json: no job or log prefix a in it" in rec.notes[0].message
    compose.write(tmp_path, '{ "fio version" : "fio-2.16", "jobs" : [] }', "older.json")
    assert "older.json" not in ex.open(path).meta["unit_evidence"]


def test_a_name_without_a_metric(tmp_path):
    rec = ex.open(log(tmp_path, ["500, 900, 0, 0", "1000, 800, 1, 0"], "numbers.txt"))
    assert rec["series"].collect()["metric"].unique().to_list() == ["unknown"]
    assert rec["series"].collect()["value"].to_list() == [900, 800]
    assert "the metric is unknown" in rec.notes[0].message


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("randread_bw.1.log", ("randread", "bw", 1, None)),
        ("a/b_c_lat.12.log", ("b_c", "lat", 12, None)),
        ("run.tgz:x/job_clat_hist.3.log.gz", ("job", "clat_hist", 3, None)),
        ("shared_iops.log", ("shared", "iops", None, None)),
        ("job_slat.2.log.host-7.lab", ("job", "slat", 2, "host-7.lab")),
        ("agg-read_bw.log", ("agg-read", "bw", None, None)),
        ("whatever.log", ("whatever", "unknown", None, None)),
        ("C:\\runs\\x_clat.4.log", ("x", "clat", 4, None)),
    ],
)
def test_names(name, parts):
    found = log_name(name)
    assert (found.base, found.metric, found.number, found.host) == parts


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"time,value\n1,2\n",
        b"1,2,0,4096\n3,4,0,4096\n",
        b"1, 2, 7, 4096\n3, 4, 9, 4096\n",
        b"1, 2, 0\n",
        b"1.5, 2, 0, 4096\n",
        b"1, 2, 0, 4096\nall of this is text\nand this\n",
        b"10, 20, 1, 1\n11, 20, 2, 2\n12, 20, 3, 3\n",
        b"fio version 2 iolog\n/dev/sda add\n",
        b"\xff\xfe\x00",
        b"1, 0, 4096" + b", 0" * 150 + b"\n",
    ],
)
def test_what_is_no_log(head):
    assert not logs.recognise(Head(head))


def test_a_beginning_may_end_within_a_line():
    assert logs.recognise(Head(b"1, 2, 0, 4096\n2, 3, 0, 40"))
    assert logs.recognise(Head("1, 2, 0, 4096\r\n2, 3, 0, 4096\r\n".encode("utf-16")))
    assert logs.recognise(Head(b"501, 0, 4096" + b", 0" * 1000))


def test_damaged_lines_are_told_and_left_out(tmp_path):
    lines = [f"{second}, {second + 5}, 0, 4096, 0" for second in range(1, 101)]
    for place, text in {
        20: "21, 26",
        40: "\0\0\0\0\0",
        60: "61, 66, 0, 4096, 0, 0",
        61: "62, 6x, 0, 4096, 0",
        70: "71, 76, 9, 4096, 0",
        80: "",
    }.items():
        lines[place] = text
    rec = ex.open(log(tmp_path, lines))
    found = rec["series"].collect()
    gone = {21, 41, 61, 62, 71, 81}
    assert found["elapsed_s"].to_list() == [second / 1000 for second in range(1, 101) if second not in gone]
    (told,) = [note for note in rec.notes if note.severity == "warning"]
    assert told.line == 21
    assert "5 lines left out (lines 21, 41, 61, 62, 71)" in told.message
    assert any(note.line == 81 and "blank" in note.message for note in rec.notes)


def test_lines_are_counted_over_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(log_lines, "PIECE", 1000)
    lines = [f"{second}, {second + 5}, 0, 4096, 0" for second in range(5000)]
    lines[3210] = "cut"
    rec = ex.open(log(tmp_path, lines))
    assert rec["series"].collect().height == 4999
    assert [note.line for note in rec.notes if note.severity == "warning"] == [3211]


def test_a_log_cut_in_its_last_line(tmp_path):
    rec = ex.open(compose.write(tmp_path, "1, 5, 0, 4096, 0\n2, 6, 0, 40", "x_lat.1.log"))
    assert rec["series"].collect().height == 1
    assert any(note.severity == "warning" and note.line == 2 for note in rec.notes)


@pytest.mark.parametrize("fifth", ["0", "0x2003"])
def test_a_last_number_that_no_line_end_shows_to_be_whole_is_not_read(tmp_path, fifth):
    lines = f"1, 5, 0, 4096, {fifth}\n2, 6, 0, 4096, {fifth}"
    rec = ex.open(compose.write(tmp_path, lines, "y_lat.1.log"))
    assert rec["series"].collect()["elapsed_s"].to_list() == [0.001]
    (told,) = [note for note in rec.notes if note.severity == "warning"]
    assert told.line == 2
    assert "no line end" in told.message
    with pytest.raises(ex.DamagedError, match="nothing to read"):
        ex.open(compose.write(tmp_path, "1, 5, 0, 4096, 0", "z_lat.1.log"))


def test_large_block_sizes_windows_line_ends_and_other_encodings(tmp_path):
    text = "1, 50, 0, 8589934592, 0\r\n2, 60, 1, 8589934592, 0\r\n"
    for name, content in {"a_lat.1.log": text.encode(), "b_lat.1.log": text.encode("utf-16")}.items():
        found = series(compose.write(tmp_path, content, name))
        assert found["block_size_bytes"].to_list() == [8589934592] * 2


@pytest.mark.parametrize(("groups", "unit"), [(29, 1e-6), (19, 1e-3)])
@pytest.mark.parametrize("coarseness", [0, 1, 3, 6])
def test_bins_of_each_release_and_coarseness(tmp_path, groups, unit, coarseness):
    number = groups * 64 >> coarseness
    counts = [index % 3 for index in range(number)]
    cells = ", ".join(map(str, counts))
    rec = ex.open(log(tmp_path, [f"1000, 0, 4096, {cells}", f"2000, 1, 4096, {cells}"], "x_clat_hist.1.log"))
    found = rec["latency_bins_series"].collect().filter(pl.col("direction") == "read")
    filled = [index for index in range(number) if counts[index]]
    stride = 1 << coarseness
    assert found["from_ms"].to_list() == pytest.approx([lower(index * stride) * unit for index in filled])
    ends = [None if index == number - 1 else lower((index + 1) * stride) * unit for index in filled]
    assert [end for end in found["to_ms"] if end is not None] == pytest.approx([end for end in ends if end is not None])
    assert found["to_ms"].null_count() == ends.count(None)
    assert rec["latency_bins"].collect()["ios"].sum() == 2 * sum(counts)


def test_a_damaged_histogram(tmp_path):
    row = ", ".join(["3"] * 1856)
    lines = [f"{second * 1000}, 0, 4096, {row}" for second in range(30)]
    rec = ex.open(log(tmp_path, [*lines[:20], "20000, 0, 4096, 3, 3", *lines[21:]], "x_clat_hist.1.log"))
    assert rec["latency_bins_series"].collect()["elapsed_s"].n_unique() == 29
    assert rec.notes[0].line == 21
    assert rec["latency_bins"].collect()["ios"].to_list() == [29 * 3] * 1856
    wild = lines[5].replace(", 3", f", {1 << 50}", 1)
    rec = ex.open(log(tmp_path, [*lines[:5], wild, *lines[6:]], "x_clat_hist.1.log"))
    assert rec["latency_bins_series"].collect()["ios"].max() == 1 << 50
    assert rec["latency_bins"].collect()["ios"].to_list() == [29 * 3] * 1856


def test_a_histogram_without_the_end_of_its_only_line_is_refused(tmp_path):
    # 58 bins would be those of a coarser log.
    with pytest.raises(ex.DamagedError, match="nothing to read"):
        ex.open(compose.write(tmp_path, "1000, 0, 4096" + ", 3" * 58, "x_clat_hist.1.log"))
    rows = [f"{second}000, 0, 4096{', 3' * 1856}" for second in (1, 2)]
    rec = ex.open(compose.write(tmp_path, "\n".join(rows), "y_clat_hist.1.log"))
    assert rec["latency_bins_series"].collect()["elapsed_s"].unique().to_list() == [1.0]
    assert [(note.line, note.severity) for note in rec.notes] == [(2, "warning")]


def test_a_histogram_that_counted_nothing(tmp_path):
    with pytest.raises(ex.DamagedError, match="counts an I/O"):
        ex.open(log(tmp_path, ["1000, 0, 4096" + ", 0" * 1856], "x_clat_hist.1.log"))


ROWS = st.lists(
    st.tuples(
        st.integers(0, 10**9),
        st.integers(-(1 << 62), 1 << 62),
        st.integers(0, 3),
        st.sampled_from([512, 4096, 1 << 20]),
        st.integers(0, 1 << 50),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_what_is_written_is_read(tmp_path, rows):
    found = series(log(tmp_path, [", ".join(map(str, row)) for row in rows], "x_iops.1.log"))
    read = found.select("elapsed_s", "value", pl.col("direction").cast(pl.String), "block_size_bytes", "offset_bytes")
    expected = [(row[0] / 1000, float(row[1]), DIRECTIONS[row[2]], row[3], row[4]) for row in rows]
    assert read.rows() == expected
