"""Directories and bundles of several files: one recording, with a column that names the file of each row."""

from __future__ import annotations

import shutil
import tarfile
import zipfile

import compose
import polars as pl
import pytest

import esxparse as ex
from esxparse.formats import directory
from esxparse.reports.storage_benchmark.gather import gather

FORMATS = ex.datasets_dir() / "formats"
KINDS = {
    "diskspd": "diskspd-2.1.txt",
    "iometer": "iometer-1.1.0.csv",
    "redfish": "redfish-ilo5-power.json",
    "netperf": "netperf-classic.txt",
    "iostat": "iostat-extended.txt",
    "perf_stat": "perf-plain.txt",
    "vmkperf": "vmkperf-poll.txt",
}


def put(folder, *names, sample="netperf-classic.txt"):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(FORMATS / sample, folder / name)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_one_format_are_one_recording(tmp_path, kind):
    put(tmp_path, "run10.txt", "run2.txt", "later/run1.txt", sample=KINDS[kind])
    rec, one = ex.open(tmp_path), ex.open(FORMATS / KINDS[kind])
    assert rec.format == kind
    assert list(rec.meta["files"]) == ["later/run1.txt", "run2.txt", "run10.txt"]
    assert set(rec) == set(one)
    for name in rec:
        frame = rec[name].collect()
        assert frame.columns == ["file", *one[name].collect().columns]
        assert frame["file"].unique(maintain_order=True).to_list() == list(rec.meta["files"])
        part = frame.filter(pl.col("file") == "later/run1.txt").drop("file")
        assert part.equals(one[name].collect())
    assert len(rec.notes) == 3 * len(one.notes)
    assert all(note.message.startswith(("later/run1.txt: ", "run2.txt: ", "run10.txt: ")) for note in rec.notes)


def test_a_bundle_is_read_as_the_directory_in_it(tmp_path):
    folder = put(tmp_path / "runs", "run10.txt", "run2.txt", sample="diskspd-2.1.txt")
    with tarfile.open(tmp_path / "runs.tgz", "w:gz") as bundle:
        bundle.add(folder, "runs")
    zipped = shutil.make_archive(str(tmp_path / "runs"), "zip", folder)
    wanted = ex.open(folder)["jobs"].collect()
    assert ex.open(zipped)["jobs"].collect().equals(wanted)
    packed = ex.open(tmp_path / "runs.tgz")
    assert packed["jobs"].collect().drop("file").equals(wanted.drop("file"))
    assert list(packed.meta["files"]) == ["runs/run2.txt", "runs/run10.txt"]
    assert packed.source == str(tmp_path / "runs.tgz")


def test_a_bundle_of_a_run_of_fio_is_read_as_its_directory_is(tmp_path):
    folder = tmp_path / "fio"
    folder.mkdir()
    for name in ("fio-json-plus.json", "fio-mixed_lat.1.log"):
        shutil.copy(FORMATS / name, folder)
    wanted = ex.open(folder)
    rec = ex.open(shutil.make_archive(str(tmp_path / "run"), "zip", folder))
    assert rec["jobs"].collect().equals(wanted["jobs"].collect())
    assert rec["series"].collect().equals(wanted["series"].collect())


def test_each_file_is_a_recording_for_those_who_compute_with_one(tmp_path):
    put(tmp_path, "run10.txt", "run2.txt", sample="iostat-extended.txt")
    one = ex.open(FORMATS / "iostat-extended.txt")
    two = directory.each(ex.open(tmp_path))
    assert [rec.source for rec in two] == [str(tmp_path / "run2.txt"), str(tmp_path / "run10.txt")]
    for rec in two:
        assert rec.meta == one.meta
        assert rec.notes == one.notes
        assert all(rec[name].collect().equals(one[name].collect()) for name in one)
    assert directory.each(one) == [one]


def test_a_report_compares_the_files_of_a_directory(tmp_path):
    put(tmp_path, "a.txt", "b.txt", sample="diskspd-2.1.txt")
    gathered = gather([tmp_path])
    assert len(gathered.recordings) == 2
    tests = gathered.results.collect()["test"].to_list()
    assert {test[:3] for test in tests} == {"a: ", "b: "}


def test_of_several_formats_one_is_chosen(tmp_path):
    put(tmp_path, "a.txt", "b.txt")
    put(tmp_path, "host.txt", sample="lscpu-host.txt")
    with pytest.raises(ex.UnreadableError, match=r"several formats \(2 netperf, 1 lscpu\): choose one with format="):
        ex.open(tmp_path)
    rec = ex.open(tmp_path, format="netperf")
    assert list(rec.meta["files"]) == ["a.txt", "b.txt"]
    assert [note.message for note in rec.notes if "not read" in note.message] == ["not read: host.txt (lscpu)"]


def test_a_format_that_only_a_name_tells_is_asked_for(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("When,Outlet\n2026-03-02 08:00:00,100\n2026-03-02 08:00:10,110\n")
    rec = ex.open(tmp_path, format="power_csv", time_column="When", value_column="Outlet")
    assert rec["power"].collect()["watts"].to_list() == [100, 110, 100, 110]


def test_what_cannot_be_read_is_noted(tmp_path):
    put(tmp_path, "a.txt", ".hidden.txt")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "notes.txt").write_text("nothing\n")
    (tmp_path / "cut.gz").write_bytes(b"\x1f\x8b\x08\0")
    (tmp_path / "b.txt").write_text(
        "MIGRATED TCP STREAM TEST from 0.0.0.0 port 0 AF_INET to 10.0.0.1 () port 0 AF_INET\n"
    )
    rec = ex.open(tmp_path)
    assert list(rec.meta["files"]) == ["a.txt"]
    said = [str(note) for note in rec.notes if note.severity == "warning"]
    assert [message.partition(":")[0] for message in said] == ["b.txt", "cut.gz", "empty.txt"]
    assert any(note.message == "not read: notes.txt" for note in rec.notes)
    for name in ("a.txt",):
        (tmp_path / name).unlink()
    with pytest.raises(ex.DamagedError, match=r"nothing can be read of its 1 file: b\.txt"):
        ex.open(tmp_path)


def test_captures_of_esxtop_stay_recordings_of_their_own(tmp_path):
    capture = compose.text([("Memory", "Free MBytes")], [["1"], ["2"]])
    compose.write(tmp_path, capture, "esx10.csv")
    compose.write(tmp_path, capture, "esx2.csv")
    with pytest.raises(
        ex.UnreadableError, match=r"is a directory of 2 esxtop: name a capture in it, such as esx2\.csv"
    ):
        ex.open(tmp_path)


def test_a_window_is_of_all_files(tmp_path):
    power = "Time,Watts\n{day} 08:00:00,100\n{day} 09:00:00,110\n"
    for day in ("2026-03-02", "2026-03-03"):
        (tmp_path / f"{day}.csv").write_text(power.format(day=day))
    rec = ex.open(tmp_path, start="2026-03-03T08:30")
    assert rec["power"].collect().rows(named=True)[0]["file"] == "2026-03-03.csv"
    assert rec["power"].collect().height == 1


def test_the_memory_limit_is_of_all_files(tmp_path):
    put(tmp_path, *(f"{number}.txt" for number in range(30)), sample="perf-plain.txt")
    size = (FORMATS / "perf-plain.txt").stat().st_size
    with pytest.raises(ex.TooLargeError, match=r"the tables of its first \d+ files take"):
        ex.open(tmp_path, memory_limit=size * 33)


def test_members_that_no_disk_can_hold_beside_each_other_are_noted(tmp_path):
    sample = (FORMATS / "netperf-classic.txt").read_bytes()
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as bundle:
        for name in ("run", "run/inner.txt", "n" * 300 + ".txt", "last.txt"):
            bundle.writestr(name, sample)
    rec = ex.open(tmp_path / "runs.zip")
    assert list(rec.meta["files"]) == ["last.txt", "run"]
    assert sum("cannot be unpacked" in note.message for note in rec.notes) == 2


def test_a_directory_of_too_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "MOST_FILES", 2)
    put(tmp_path, "a.txt", "b.txt", "c.txt")
    with pytest.raises(ex.UnreadableError, match="more than 2 files: name a recording"):
        ex.open(tmp_path)


def test_an_option_that_does_not_apply_is_refused_once(tmp_path):
    put(tmp_path, "a.txt", "b.txt")
    with pytest.raises(ex.EsxparseError, match=rf"^{tmp_path} is read as netperf.*which has no option segment"):
        ex.open(tmp_path, segment=2)
