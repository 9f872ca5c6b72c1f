"""Captures as Parquet and back."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import compose
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import esxparse as ex
from esxparse.cli import main
from esxparse.formats.esxtop import body, by_instance, read_by_instance
from esxparse.formats.source import resolve


def same(converted, capture):
    """Whether two recordings are one: facts, notes, tables, and the rows of each but for their order."""
    assert converted.format == capture.format
    assert converted.source == capture.source
    assert converted.meta == capture.meta
    assert converted.notes == capture.notes
    assert list(converted) == list(capture)
    for name in capture:
        keys = [key for key in ("time", "instance") if key in capture[name].collect_schema()]
        mine, theirs = (rec[name].sort(keys, maintain_order=True).collect() for rec in (converted, capture))
        assert_frame_equal(mine, theirs, check_exact=True)
    return True


def test_a_capture_comes_back_as_it_was(busy_host, busy_host_file, tmp_path):
    made = ex.convert(busy_host_file, tmp_path / "lake")
    assert made.folder == tmp_path / "lake" / "busy-host"
    assert made.tables == len(busy_host)
    assert made.rows == sum(busy_host[name].collect().height for name in busy_host)
    assert same(ex.open(made.folder), busy_host)
    assert same(ex.open(tmp_path / "lake"), busy_host)
    assert [one.name for one in (tmp_path / "lake").iterdir()] == ["busy-host"]


@pytest.mark.parametrize("aside", [1, 200_000, 10_000_000])
def test_it_makes_no_difference_how_much_is_put_aside_at_once(busy_host, busy_host_file, tmp_path, monkeypatch, aside):
    monkeypatch.setattr(body, "_ASIDE", aside)
    monkeypatch.setattr(body, "PIECE", 100_000)
    assert same(ex.open(ex.convert(busy_host_file, tmp_path).folder), busy_host)


def odd_capture(folder: Path) -> Path:
    """Cells with words, without numbers, and instances that lack a counter; a row cut in its last cell."""
    columns = [
        ("Group Memory(7:db)", "Memctl?"),
        ("Group Memory(9:web)", "Memctl?"),
        ("Group Memory(7:db)", "Numa Home Nodes"),
        ("Vcpu(7:db:8:vmx-vcpu-0:db)", "% Ready"),
        ("Vcpu(9:web:10:vmx-vcpu-0:web)", "% Used"),
        ("Memory", "Free MBytes"),
    ]
    rows = [["Y", "N", "0,1", "1.25", "2", "100"], ["N", "Y", "-nan", "", "3", "101"], ["1", "0", "1", "5", "6", "102"]]
    return compose.write(folder, compose.text(columns, rows).removesuffix('02"\n'), "odd.csv")


def test_words_holes_and_a_cut_row_come_back(tmp_path):
    capture = odd_capture(tmp_path)
    rec = ex.open(capture)
    assert len(rec.notes) > 1
    assert same(ex.open(ex.convert(capture, tmp_path / "lake").folder), rec)


def test_rows_of_an_instance_stand_together_in_time_order(busy_host_file, tmp_path):
    frame = ex.open(ex.convert(busy_host_file, tmp_path).folder)["vcpu"].collect()
    runs = frame["instance"].rle_id()
    assert runs.n_unique() == frame["instance"].n_unique()
    assert frame["group_id"].rle_id().n_unique() == frame["group_id"].n_unique()
    steps = frame.select(pl.col("time").diff().over("instance"))["time"].drop_nulls()
    assert steps.min().total_seconds() > 0


def test_columns_say_their_unit_and_names(busy_host_file, tmp_path):
    made = ex.convert(busy_host_file, tmp_path)
    file = pq.ParquetFile(made.folder / "vcpu.parquet")
    ready = file.schema_arrow.field("pct_ready").metadata
    assert ready == {b"unit": b"% of one core", b"counter": b"% Ready", b"screen": b"%RDY"}
    assert file.schema_arrow.field("instance").metadata is None
    assert file.metadata.row_group(0).column(3).compression == "ZSTD"


def test_where_it_came_from_stands_beside_it(busy_host_file, tmp_path):
    made = ex.convert(busy_host_file, tmp_path, every="30s")
    about = json.loads((made.folder / "recording.json").read_text())
    assert about["origin"]["sha256"] == hashlib.sha256(busy_host_file.read_bytes()).hexdigest()
    assert about["origin"]["bytes"] == busy_host_file.stat().st_size
    assert about["origin"]["options"] == {"every": "30s"}
    assert about["esxparse"] == ex.__version__
    assert ex.open(made.folder).meta["samples"] == 21


def test_a_window_of_what_was_converted(busy_host_file, tmp_path):
    made = ex.convert(busy_host_file, tmp_path)
    window = {"start": "2026-03-11T09:02", "end": "2026-03-11T09:03"}
    cut = ex.open(made.folder, **window)["memory"].collect()
    assert_frame_equal(cut, ex.open(busy_host_file, **window)["memory"].collect())
    with pytest.raises(ex.EsxparseError, match="nothing in the requested window"):
        ex.open(made.folder, start="2027-01-01")


@pytest.mark.parametrize("packed", ["gz", "bz2", "zip", "utf-16"])
def test_captures_in_other_clothes(busy_host, busy_host_file, tmp_path, packed):
    content = busy_host_file.read_bytes()
    file = tmp_path / f"busy-host.csv.{packed}"
    if packed == "zip":
        with zipfile.ZipFile(file, "w") as bundle:
            bundle.writestr("logs/busy-host.csv", content)
    elif packed == "utf-16":
        file = compose.write(tmp_path, content.decode().encode("utf-16"), "busy-host.csv")
    else:
        file.write_bytes({"gz": gzip, "bz2": bz2}[packed].compress(content))
    # UTF-16 comes of a spreadsheet or PowerShell, whose dates are in doubt.
    order = "mdy" if packed == "utf-16" else None
    made = ex.convert(file, tmp_path / "lake", date_order=order)
    assert made.folder.name == "busy-host"
    assert ex.convert(file, tmp_path / "lake", date_order=order).skipped
    back = ex.open(made.folder)
    assert_frame_equal(back["memory"].collect(), busy_host["memory"].collect())
    assert back["vcpu"].select(pl.col("pct_used").sum()).collect().item() == pytest.approx(
        busy_host["vcpu"].select(pl.col("pct_used").sum()).collect().item()
    )


@pytest.mark.search
def test_standard_input_is_converted(busy_host, busy_host_file, tmp_path):
    program = Path(sys.executable).parent / "esxparse"
    command = [program, "convert", "-", "-o", tmp_path / "lake", "--name", "night"]
    with busy_host_file.open("rb") as stream:
        subprocess.run(command, stdin=stream, check=True, capture_output=True)
    back = ex.open(tmp_path / "lake" / "night")
    assert back["vcpu"].collect().height == busy_host["vcpu"].collect().height


def test_what_is_there_is_not_made_again(busy_host_file, tmp_path):
    first = ex.convert(busy_host_file, tmp_path)
    assert not first.skipped
    stamp = (first.folder / "vcpu.parquet").stat().st_mtime_ns
    assert ex.convert(busy_host_file, tmp_path).skipped
    assert (first.folder / "vcpu.parquet").stat().st_mtime_ns == stamp
    other = ex.convert(busy_host_file, tmp_path, every="1m")
    assert not other.skipped
    assert ex.open(other.folder).meta["samples"] == 11


def test_what_an_older_layout_holds_is_said_and_made_again(tmp_path):
    """Disk rates of first samples were zeros in it."""
    file = compose.write(tmp_path, compose.text([("Memory", "Free MBytes")], [["100"], ["200"]]))
    made = ex.convert(file, tmp_path / "lake")
    assert ex.open(made.folder).notes == ex.open(file).notes
    record = made.folder / "recording.json"
    record.write_text(record.read_text().replace('"layout": 2,', ""))
    note = ex.open(made.folder).notes[-1]
    assert "convert the capture again" in note.message
    assert note.severity == "warning"
    assert not ex.convert(file, tmp_path / "lake").skipped
    assert ex.open(made.folder).notes == ex.open(file).notes


def test_what_is_damaged_is_made_again(busy_host, busy_host_file, tmp_path):
    made = ex.convert(busy_host_file, tmp_path)
    table = made.folder / "vcpu.parquet"
    table.write_bytes(table.read_bytes()[:-100])
    with pytest.raises(ex.DamagedError, match=r"vcpu\.parquet has .* bytes of .*: remove .* and convert"):
        ex.open(made.folder)
    assert not ex.convert(busy_host_file, tmp_path).skipped
    assert same(ex.open(made.folder), busy_host)
    (made.folder / "recording.json").write_text("{}")
    with pytest.raises(ex.DamagedError, match=r"recording\.json is not what `esxparse convert` writes"):
        ex.open(made.folder)
    assert not ex.convert(busy_host_file, tmp_path).skipped


def test_another_capture_of_the_same_name_is_refused(busy_host_file, tmp_path):
    ex.convert(busy_host_file, tmp_path / "lake")
    other = compose.write(tmp_path, compose.text([("Memory", "Free MBytes")], [["1"]]), "busy-host.csv")
    with pytest.raises(ex.EsxparseError, match=r"holds another recording, of .*: use another name"):
        ex.convert(other, tmp_path / "lake")
    assert ex.convert(other, tmp_path / "lake", name="other").tables == 1
    with pytest.raises(ex.UnreadableError, match="holds 2 recordings: name one, such as"):
        ex.open(tmp_path / "lake")
    assert ex.open(tmp_path / "lake", "other").meta["samples"] == 1


def test_a_directory_that_is_no_recording_is_left_alone(busy_host_file, tmp_path):
    (tmp_path / "busy-host").mkdir()
    (tmp_path / "busy-host" / "mine.txt").write_text("keep")
    with pytest.raises(ex.EsxparseError, match="exists and is not a recording"):
        ex.convert(busy_host_file, tmp_path)
    assert (tmp_path / "busy-host" / "mine.txt").read_text() == "keep"


KILLED = """
import os, signal, sys
import esxparse as ex
def stop(done, total, table):
    if done > 5:
        os.kill(os.getpid(), getattr(signal, sys.argv[3]))
ex.convert(sys.argv[1], sys.argv[2], progress=stop)
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_an_interrupted_run_leaves_no_recording_and_the_next_one_makes_it(busy_host, busy_host_file, tmp_path, name):
    lake = tmp_path / "lake"
    ended = subprocess.run([sys.executable, "-c", KILLED, busy_host_file, lake, name], capture_output=True, check=False)
    assert ended.returncode == -getattr(signal, name)
    with pytest.raises(ex.UnreadableError):
        ex.open(lake)
    assert same(ex.open(ex.convert(busy_host_file, lake).folder), busy_host)
    assert [one.name for one in lake.iterdir()] == ["busy-host"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"hello\n", "is not in a format esxparse reads"),
        (compose.text([("Memory", "Free MBytes")], []).encode(), "no row"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, capsys, content, message):
    file = compose.write(tmp_path, content)
    assert main(["convert", str(file), "-o", str(tmp_path / "lake")]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "lake").exists()


def test_the_command_says_what_it_wrote_and_goes_on_after_a_bad_file(busy_host_file, tmp_path, capsys):
    lake = str(tmp_path / "lake")
    assert main(["convert", str(tmp_path / "missing.csv"), str(busy_host_file), "-o", lake]) == 1
    told = capsys.readouterr()
    assert "missing.csv does not exist" in told.err
    assert "busy-host: 20 tables, 46,101 rows, 4.6 MB to" in told.out
    assert main(["convert", str(busy_host_file), "-o", lake]) == 0
    assert "already converted" in capsys.readouterr().out
    assert main(["info", lake]) == 0
    assert "esx-07.lab.example" in capsys.readouterr().out


def test_two_captures_of_one_name_are_refused_before_either_is_written(busy_host_file, tmp_path, capsys):
    assert main(["convert", str(busy_host_file), str(busy_host_file), "-o", str(tmp_path / "lake")]) == 1
    assert "several captures would be written to" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()


def test_the_output_cannot_be_a_file(busy_host_file, tmp_path):
    (tmp_path / "lake").write_text("a file")
    with pytest.raises(ex.EsxparseError, match="cannot be written: "):
        ex.convert(busy_host_file, tmp_path / "lake")


@pytest.mark.search
def test_a_report_on_what_was_converted_says_the_same(busy_host_file, busy_host_report, tmp_path):
    made = ex.convert(busy_host_file, tmp_path / "lake")
    again = ex.report(made.folder, output=tmp_path / "again.html")
    pages = [
        [line for line in page.read_text().splitlines() if "<td" in line or "<li" in line]
        for page in (busy_host_report, again)
    ]
    assert len(pages[0]) > 20
    assert pages[0] == pages[1]


def test_the_memory_limit_holds_for_conversions(tmp_path):
    file = compose.write(tmp_path, compose.text([(f"Group Cpu({n}:a)", "% Used") for n in range(200)], [["1"] * 200]))
    ex.convert(file, tmp_path / "lake", memory_limit="1MiB")
    with pytest.raises(ex.TooLargeError, match="memory_limit"):
        ex.convert(file, tmp_path / "other", memory_limit=8000)


def test_frames_are_of_about_the_size_asked_for(busy_host_file, tmp_path, monkeypatch):
    made = []
    original = by_instance.frames
    monkeypatch.setattr(by_instance, "frames", lambda *of: (made.append(one) or one for one in original(*of)))
    with (tmp_path / "aside").open("w+b") as aside:
        read_by_instance(resolve(busy_host_file), aside, budget=300_000)["vcpu"].collect()
    sizes = [frame.estimated_size() for frame in made]
    assert len(sizes) > 3
    assert max(sizes) < 400_000


def test_a_header_without_rows_behind_a_capture_is_a_warning_in_the_recording(tmp_path):
    first = compose.text([("Memory", "Free MBytes")], [["1"], ["2"]])
    second = compose.text([("Memory", "Free MBytes"), ("Memory", "Kernel MBytes")], []).splitlines()[0]
    file = compose.write(tmp_path, f"{first}{second}\n")
    done = subprocess.run(
        [sys.executable, "-m", "esxparse", "convert", file, "-o", tmp_path / "out"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    (converted,) = (tmp_path / "out").iterdir()
    assert [note.line for note in ex.open(converted).notes if "has no rows" in note.message] == [4]
    assert ex.open(converted)["memory"].collect()["free_mbytes"].to_list() == [1.0, 2.0]
