"""Bundles that are unsafe, encrypted, damaged or cut."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packing import CAPTURE, OTHER, PLAIN, drain, put, refusal, tar_of, zip_of
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse.formats import archives
from esxparse.formats.source import members, resolve

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

UNSAFE = ("../out.csv", "a/../../out.csv", "/etc/out.csv", "..\\out.csv", "C:\\out.csv", "\\\\server\\out.csv")


@pytest.mark.parametrize("name", UNSAFE)
def test_names_that_lead_out_are_refused_by_name(tmp_path, name):
    for packed, data in {"a.tar": tar_of({name: CAPTURE}), "a.zip": zip_of({name: CAPTURE})}.items():
        path = put(tmp_path, packed, data)
        assert members(path) == []
        says = refusal(path)
        assert "its name points outside the bundle" in says
        assert archives.printable_name(name) in says
        assert "its name points outside the bundle" in refusal(path, archives.printable_name(name))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "a.zip"]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (tarfile.SYMTYPE, "a link"),
        (tarfile.LNKTYPE, "a link"),
        (tarfile.CHRTYPE, "a device or pipe"),
        (tarfile.BLKTYPE, "a device or pipe"),
        (tarfile.FIFOTYPE, "a device or pipe"),
    ],
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind, says):
    target = put(tmp_path, "target.csv", OTHER)
    info = tarfile.TarInfo("esxtop.csv")
    info.type, info.linkname = kind, str(target)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.addfile(info)
    path = put(tmp_path, "a.tar", file.getvalue())
    assert f"esxtop.csv: {says}" in refusal(path)
    assert f"esxtop.csv: {says}" in refusal(path, "esxtop.csv")


def test_links_in_a_zip_are_refused(tmp_path):
    info = zipfile.ZipInfo("esxtop.csv")
    info.create_system, info.external_attr = 3, 0o120777 << 16
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(info, "/etc/passwd")
    assert "esxtop.csv: a link" in refusal(put(tmp_path, "a.zip", file.getvalue()))


def test_an_encrypted_zip_is_refused(tmp_path):
    data = bytearray(zip_of({"a.csv": CAPTURE}))
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path = put(tmp_path, "a.zip", bytes(data))
    assert "a.csv: encrypted" in refusal(path)


def test_a_method_of_zip_that_is_not_read(tmp_path):
    path = put(tmp_path, "a.zip", zip_of({"a.csv": CAPTURE}, zipfile.ZIP_LZMA))
    assert "a.csv: compressed by lzma" in refusal(path)


def test_a_zip_whose_content_is_not_what_its_sum_says(tmp_path):
    data = zip_of({"a.csv": CAPTURE}, zipfile.ZIP_STORED)
    content, why = drain(resolve(put(tmp_path, "a.zip", data.replace(b"esx", b"esy", 1))))
    assert len(content) == len(CAPTURE)
    assert "checksum" in why


def test_a_damaged_entry_of_a_zip_leaves_the_others(tmp_path):
    data = zip_of({"a.csv": CAPTURE, "b.csv": OTHER})
    second = data.index(b"PK\x03\x04", 1)
    path = put(tmp_path, "a.zip", data[:second] + b"XX" + data[second + 2 :])
    assert members(path) == ["a.csv"]
    assert "b.csv: damaged" in refusal(path, "b.csv")


def test_a_zip_that_is_cut_gives_its_first_file(tmp_path):
    data = zip_of({"a.csv": CAPTURE, "b.csv": OTHER})
    source = resolve(put(tmp_path, "a.zip", data[: len(data) // 4]))
    assert "its directory is missing" in source.problem
    content, why = drain(source)
    assert CAPTURE.startswith(content)
    assert len(content) > 1000
    assert "deflate data is cut" in why


@pytest.mark.parametrize("damage", [lambda packed: packed[:12], lambda packed: packed[:10] + b"\xff" * 3000])
def test_members_that_were_passed_over_are_named(tmp_path, damage):
    path = put(tmp_path, "a.tar", tar_of({"day1.csv.gz": damage(gzip.compress(CAPTURE)), "day2.csv": CAPTURE}))
    source = resolve(path)
    assert source.name == f"{path}:day2.csv"
    assert "day1.csv.gz (" in source.problem
    told = [note.message for note in ex.open(path).notes if note.severity == "warning"]
    assert any("skipped in the bundle" in message and "day1.csv.gz" in message for message in told)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_tar_that_is_cut_gives_what_is_there(tmp_path, mode):
    data = tar_of({"a.txt": b"x", "b.csv": CAPTURE}, mode)
    source = resolve(put(tmp_path, "a.tar", data[: len(data) // 2]))
    assert "cut" in source.problem
    content, why = drain(source)
    assert CAPTURE.startswith(content)
    assert len(content) > len(CAPTURE) / 4
    assert "cut" in why


@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_damaged_bundles_end_in_content_or_in_an_error_of_ours(tmp_path_factory, data):
    whole = data.draw(st.sampled_from([tar_of(PLAIN), tar_of(PLAIN, "w:gz"), zip_of(PLAIN)]))
    damaged = bytearray(whole)
    for place in data.draw(st.lists(st.integers(0, 2000), min_size=1, max_size=4)):
        damaged[place % len(damaged)] = data.draw(st.integers(0, 255))
    damaged = damaged[: data.draw(st.integers(1, len(damaged)))]
    path = put(tmp_path_factory.mktemp("damaged"), "x", bytes(damaged))
    try:
        members(path)
        drain(resolve(path))
    except EsxparseError:
        pass
