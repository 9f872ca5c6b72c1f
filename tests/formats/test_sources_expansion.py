"""Content that grows absurdly when it is decompressed, and idle captures that only seem to."""

from __future__ import annotations

import gzip
import io
import tarfile
from functools import cache

import pytest
from packing import CAPTURE, COMPRESS, TITLES, drain, put, refusal, tar_of, zip_of

from esxparse.formats import bundle, decompress
from esxparse.formats.source import resolve

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
ZEROS = bytes(12 << 20)


@cache
def bomb(title):
    return COMPRESS[title](ZEROS)


@pytest.fixture
def small_bombs(monkeypatch):
    """What may expand without limit is a tenth of what it is, and so are the bombs."""
    monkeypatch.setattr(decompress, "FREE", decompress.FREE // 10)


@pytest.mark.usefixtures("deflate_by", "small_bombs")
@pytest.mark.parametrize("title", TITLES)
def test_absurd_expansion_is_refused(tmp_path, title):
    path = put(tmp_path, "x", bomb(title))
    assert "over 1000 times" in refusal(path)


@pytest.mark.usefixtures("small_bombs")
def test_absurd_expansion_inside_a_bundle_is_refused(tmp_path):
    head = CAPTURE[:1000]
    assert "over 1000 times" in refusal(put(tmp_path, "a.tgz", gzip.compress(tar_of({"a.csv": head + 4 * ZEROS}))))
    assert "over 1000 times" in refusal(put(tmp_path, "a.zip", zip_of({"a.csv": head + 4 * ZEROS})))
    # Two levels that each stay within the bounds.
    inner = gzip.compress(head + 4 * ZEROS)
    assert "over 1000 times" in refusal(put(tmp_path, "b.tgz", gzip.compress(tar_of({"a.csv.gz": inner}))))


def test_a_capture_of_idle_rows_is_not_taken_for_a_bomb(tmp_path):
    row = b'"03/02/2026 08:00:00"' + b',"0.00"' * 4000 + b"\n"
    content = b"".join(row.replace(b"08:00:00", b"08:%02d:%02d" % (n // 60, n % 60)) for n in range(3000))
    assert len(content) > decompress.FREE
    assert drain(resolve(put(tmp_path, "x.gz", gzip.compress(content)))) == (content, None)


def test_a_header_of_a_tar_cannot_ask_for_memory(tmp_path):
    file = io.BytesIO()
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    file.write(info.tobuf(tarfile.USTAR_FORMAT if info.size < 8**11 else tarfile.GNU_FORMAT))
    file.write(bytes(1 << 20))
    path = put(tmp_path, "x.tar", file.getvalue())
    assert "holds no capture" in refusal(path)
    assert "absurdly long" in resolve_problem(path)


def resolve_problem(path):
    file, raw = path.open("rb"), None
    with file:
        raw = decompress.Raw(file, "x")
        list(bundle.look_through(file, raw, raw, (), None))
    return raw.problem
