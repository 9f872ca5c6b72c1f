"""Captures compressed and put into bundles for tests, and what becomes of them when they are read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import tarfile
import zipfile

import pytest

from esxparse.errors import EsxparseError
from esxparse.formats.read_ahead import problem
from esxparse.formats.source import resolve

CAPTURE = b'"(PDH-CSV 4.0) (UTC)(0)","\\\\esx\\Memory\\Free MBytes"\n' + b"".join(
    b'"03/02/2026 08:%02d:%02d","%d.%02d"\n' % (n // 60 % 60, n % 60, n * 7919 % 9973, n % 97) for n in range(9000)
)
OTHER = CAPTURE.replace(b"esx", b"two")
SMALL = gzip.compress(CAPTURE[:1500]) + gzip.compress(CAPTURE[1500:2000])
PLAIN = {"readme.txt": b"nothing", "var/log/esxtop.csv": CAPTURE, "var/log/vmkernel.log": b"x" * 3000}


def zstd_compress(data):
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415
    else:
        from backports import zstd  # noqa: PLC0415
    return zstd.compress(data)


COMPRESS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd_compress}
TITLES = [pytest.param(title, marks=pytest.mark.needs("zstd")) if title == "zstd" else title for title in COMPRESS]


def drain(source):
    with source.open() as stream:
        content = stream.read()
        return content, problem(stream)


def put(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def tar_of(files, mode="w"):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return file.getvalue()


def zip_of(files, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return file.getvalue()


def refusal(where, member=None):
    with pytest.raises(EsxparseError) as caught:
        drain(resolve(where, member))
    return str(caught.value)
