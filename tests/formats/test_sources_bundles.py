"""Bundles: which file in them is meant, and how one is named."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

import pytest
from packing import CAPTURE, COMPRESS, OTHER, PLAIN, TITLES, drain, put, refusal, tar_of, zip_of, zstd_compress

from esxparse.formats.source import members, resolve

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

TAR_MODES = {"w": "tar", "w:gz": "gzip, tar", "w:xz": "xz, tar", "w:bz2": "bzip2, tar"}


@pytest.mark.parametrize("mode", TAR_MODES)
def test_the_one_capture_of_a_tar_is_meant(tmp_path, mode):
    path = put(tmp_path, "vm-support", tar_of(PLAIN, mode))
    source = resolve(path)
    assert source.name == f"{path}:var/log/esxtop.csv"
    assert source.compression == TAR_MODES[mode]
    assert source.problem is None
    assert drain(source) == (CAPTURE, None)
    assert drain(source) == (CAPTURE, None)
    assert members(path) == ["var/log/esxtop.csv"]


@pytest.mark.needs("zstd")
def test_a_tar_in_zstd(tmp_path):
    path = put(tmp_path, "x", zstd_compress(tar_of(PLAIN)))
    assert drain(resolve(path)) == (CAPTURE, None)


@pytest.mark.usefixtures("deflate_by")
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_the_one_capture_of_a_zip_is_meant(tmp_path, method):
    path = put(tmp_path, "x", zip_of(PLAIN, method))
    assert drain(resolve(path)) == (CAPTURE, None)
    assert resolve(path).compression.startswith("zip, ")


@pytest.mark.parametrize("title", TITLES)
def test_members_may_be_compressed_themselves(tmp_path, title):
    packed = COMPRESS[title](CAPTURE)
    for name, data in {"a.tgz": tar_of({"x/esxtop.csv.z": packed}, "w:gz"), "a.zip": zip_of({"c": packed})}.items():
        source = resolve(put(tmp_path, name, data))
        assert source.compression.endswith(title)
        assert drain(source) == (CAPTURE, None)


def test_of_several_captures_one_has_to_be_named(tmp_path):
    files = {**PLAIN, "second.csv.gz": gzip.compress(OTHER)}
    for name, data in {"a.tgz": tar_of(files, "w:gz"), "a.zip": zip_of(files)}.items():
        path = put(tmp_path, name, data)
        assert members(path) == ["var/log/esxtop.csv", "second.csv.gz"]
        says = refusal(path)
        assert f"{path} holds 2 captures" in says
        assert f"{path}:var/log/esxtop.csv" in says
        assert "second.csv.gz" in says
        assert drain(resolve(path, "second.csv.gz")) == (OTHER, None)
        assert drain(resolve(f"{path}:second.csv.gz")) == (OTHER, None)
        assert drain(resolve(f"{path}:var/log/esxtop.csv")) == (CAPTURE, None)
        assert "holds no third.csv" in refusal(path, "third.csv")


def test_a_bundle_without_captures(tmp_path):
    path = put(tmp_path, "a.tgz", tar_of({"a": b"1", "b": b"2"}, "w:gz"))
    assert members(path) == []
    assert "holds no capture" in refusal(path)
    assert "holds no capture" in refusal(put(tmp_path, "a.zip", zip_of({})))


def test_a_member_of_what_is_no_bundle(tmp_path):
    path = put(tmp_path, "a.csv", CAPTURE)
    assert "is not a bundle" in refusal(path, "b.csv")
    assert "is not a bundle" in refusal(f"{path}:b.csv")
    assert members(path) == []


def test_a_file_with_a_colon_in_its_name_is_that_file(tmp_path):
    put(tmp_path, "a.tar", tar_of(PLAIN))
    path = put(tmp_path, "a.tar:night.csv", OTHER)
    assert drain(resolve(path)) == (OTHER, None)


def test_members_of_one_name_are_told_apart(tmp_path):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for data in (CAPTURE, OTHER):
            info = tarfile.TarInfo("./a.csv")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    path = put(tmp_path, "a.tar", file.getvalue())
    assert members(path) == ["a.csv", "a.csv#2"]
    assert drain(resolve(path, "a.csv#2")) == (OTHER, None)


def test_utf_16_captures_are_found(tmp_path):
    data = CAPTURE.decode().encode("utf-16")
    assert members(put(tmp_path, "a.tar", tar_of({"a.csv": data}))) == ["a.csv"]


def test_an_archive_in_an_archive_is_looked_into_once(tmp_path):
    one = tar_of(PLAIN, "w:gz")
    two = zip_of({"host-1.tgz": one, "note.txt": b"x"})
    path = put(tmp_path, "all.zip", two)
    assert members(path) == ["host-1.tgz:var/log/esxtop.csv"]
    assert drain(resolve(path)) == (CAPTURE, None)
    assert drain(resolve(f"{path}:host-1.tgz:var/log/esxtop.csv")) == (CAPTURE, None)
    assert drain(resolve(path, "host-1.tgz")) == (CAPTURE, None)
    deep = tar_of({"a.tar": tar_of({"b.tar": tar_of(PLAIN)})})
    assert "archives nested three deep" in refusal(put(tmp_path, "deep.tar", deep))
    assert "a zip inside an archive" in refusal(put(tmp_path, "zips.tar", tar_of({"all.zip": two})))


def test_names_that_do_not_print_are_escaped(tmp_path):
    name = "a\x1b]0;t\x07\udcff.csv"
    path = put(tmp_path, "a.tar", tar_of({name: CAPTURE}))
    (found,) = members(path)
    assert found.isprintable()
    found.encode()
    assert drain(resolve(path, found)) == (CAPTURE, None)
