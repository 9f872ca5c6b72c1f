"""One file: plain or compressed, whole, cut or damaged, and what is said of it."""

from __future__ import annotations

import gzip
import pickle
import sys
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packing import CAPTURE, COMPRESS, SMALL, TITLES, drain, put, refusal, zip_of, zstd_compress
from search import examples

from esxparse.formats.source import resolve

pytestmark = pytest.mark.usefixtures("no_thread_is_left")

VARIED = b"".join(b'"03/02/2026 08:00:00","%d.%02d"\n' % (n * n * 7919 % 999983, n * n * n % 97) for n in range(60_000))


def test_a_plain_file_is_read_as_it_lies_there(tmp_path):
    path = put(tmp_path, "night.csv", CAPTURE)
    source = resolve(path)
    assert (source.name, source.size, source.compression, source.path) == (str(path), len(CAPTURE), None, path)
    with source.open() as stream:
        assert stream.fileno() > 0
    assert drain(source) == (CAPTURE, None)


@pytest.mark.usefixtures("deflate_by")
@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_compressed_files_are_told_by_their_content(tmp_path, title, parts):
    size = len(CAPTURE) // parts + 1
    data = b"".join(COMPRESS[title](CAPTURE[at : at + size]) for at in range(0, len(CAPTURE), size))
    source = resolve(put(tmp_path, "night.csv", data))
    assert (source.compression, source.path, source.size) == (title, None, None)
    assert drain(source) == (CAPTURE, None)
    assert drain(source) == (CAPTURE, None)
    assert drain(pickle.loads(pickle.dumps(source))) == (CAPTURE, None)  # noqa: S301  our own bytes


@pytest.mark.parametrize("title", TITLES)
def test_padding_is_passed_over_and_other_bytes_after_the_data_are_told(tmp_path, title):
    data = COMPRESS[title](CAPTURE)
    assert drain(resolve(put(tmp_path, "x", data + bytes(512)))) == (CAPTURE, None)
    content, why = drain(resolve(put(tmp_path, "y", data + b"login: something else")))
    assert content == CAPTURE
    assert "something else follows: left out" in why


def test_an_empty_capture_in_gzip_is_empty_and_not_damaged(tmp_path):
    assert drain(resolve(put(tmp_path, "x.gz", gzip.compress(b"")))) == (b"", None)


@pytest.mark.usefixtures("deflate_by")
@settings(deadline=None, max_examples=examples(60))
@given(cut=st.integers(0, len(SMALL)))
def test_a_gzip_cut_anywhere_gives_what_is_there_and_says_so(tmp_path_factory, cut):
    path = put(tmp_path_factory.mktemp("cut"), "x.gz", SMALL[:cut])
    first = len(gzip.compress(CAPTURE[:1500]))
    if cut >= 3 and not zlib.decompressobj(31).decompress(SMALL[:cut]):
        assert "gzip data is cut after 0 bytes" in refusal(path)
        return
    content, why = drain(resolve(path))
    if cut < 3:
        assert content == SMALL[:cut]
        return
    assert CAPTURE[:2000].startswith(content)
    assert (why is None) == (cut in {first, len(SMALL)})
    if cut >= first:
        assert len(content) >= 1500
    if why and "is cut" in why:
        assert f"{len(content):,} bytes" in why


@pytest.mark.usefixtures("deflate_by")
@pytest.mark.parametrize("title", TITLES)
def test_a_large_file_cut_in_the_middle_gives_about_half(tmp_path, title):
    data = COMPRESS[title](VARIED)
    content, why = drain(resolve(put(tmp_path, "x", data[: len(data) // 2])))
    assert why == f"{title} data is cut after {len(content):,} bytes of content"
    assert VARIED.startswith(content)
    assert len(content) > len(VARIED) / 4


@pytest.mark.usefixtures("deflate_by")
@pytest.mark.parametrize("title", TITLES)
def test_damage_in_the_middle_ends_the_content_and_is_told(tmp_path, title):
    data = bytearray(b"".join(COMPRESS[title](CAPTURE) for _ in range(8)))
    middle = len(data) // 2 + 5000
    data[middle : middle + 400] = bytes(400)
    content, why = drain(resolve(put(tmp_path, "x", bytes(data))))
    assert content.startswith(CAPTURE * 3)
    assert f"{title} data cannot be decompressed beyond {len(content):,} bytes of content" in why


@pytest.mark.usefixtures("deflate_by")
def test_a_wrong_check_sum_is_told(tmp_path):
    data = bytearray(gzip.compress(CAPTURE))
    data[-6] ^= 1
    content, why = drain(resolve(put(tmp_path, "x.gz", bytes(data))))
    assert CAPTURE.startswith(content)
    assert len(content) > len(CAPTURE) / 2
    assert "may be wrong" in why


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (SMALL[:9], "gzip data is cut after 0 bytes of content: copy it again"),
        (gzip.compress(gzip.compress(CAPTURE)), "compressed twice (gzip in gzip)"),
        (b"7z\xbc\xaf'\x1c" + bytes(100), "packed by 7-Zip"),
        (gzip.compress(b"Rar!\x1a\x07" + bytes(100)), "packed by RAR"),
        (gzip.compress(zip_of({"a.csv": CAPTURE})), "is a zip compressed by gzip: decompress it first"),
    ],
    ids=["cut", "twice", "7-Zip", "RAR", "zip"],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(tmp_path, data, says):
    assert says in refusal(put(tmp_path, "x.gz", data))


@pytest.mark.parametrize(("name", "says"), [("absent.csv", "does not exist"), (".", "is a directory")])
def test_paths_that_are_no_files(tmp_path, name, says):
    assert says in refusal(tmp_path / name)


def test_a_path_with_a_nul(tmp_path):
    assert "cannot be read" in refusal(f"{tmp_path}/a\0b")


@pytest.mark.needs("zstd")
def test_zstd_without_its_library_names_what_to_install(tmp_path, monkeypatch):
    data = zstd_compress(CAPTURE)
    for name in ("backports", "backports.zstd", "compression", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    assert 'pip install "esxparse[compressed]"' in refusal(put(tmp_path, "x", data))
