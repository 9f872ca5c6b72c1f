"""Captures by URL, through fsspec."""

from __future__ import annotations

import gzip
import importlib
import sys

import pytest
from packing import CAPTURE, PLAIN, drain, refusal, tar_of, zip_of

from esxparse.formats.source import members, resolve

pytestmark = [pytest.mark.usefixtures("no_thread_is_left"), pytest.mark.needs("fsspec")]


@pytest.fixture
def fsspec():
    return importlib.import_module("fsspec")


@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_urls_are_read_as_files_are(tmp_path, fsspec, scheme):
    base = "memory://night" if scheme == "memory" else tmp_path.as_uri()
    files = {"a.csv": CAPTURE, "a.gz": gzip.compress(CAPTURE), "a.tgz": tar_of(PLAIN, "w:gz"), "a.zip": zip_of(PLAIN)}
    for name, data in files.items():
        with fsspec.open(f"{base}/{name}", "wb") as file:
            file.write(data)
        source = resolve(f"{base}/{name}")
        assert source.path is None
        assert drain(source) == (CAPTURE, None)
        assert drain(source) == (CAPTURE, None)
    assert resolve(f"{base}/a.csv").size == len(CAPTURE)
    assert resolve(f"{base}/a.csv").name == f"{base}/a.csv"
    assert members(f"{base}/a.tgz") == ["var/log/esxtop.csv"]
    assert drain(resolve(f"{base}/a.zip:var/log/esxtop.csv")) == (CAPTURE, None)
    assert "does not exist" in refusal(f"{base}/absent.csv")


@pytest.mark.usefixtures("fsspec")
def test_urls_of_no_known_kind():
    assert "cannot be read" in refusal("nosuch://a/b.csv")


def test_a_url_without_fsspec_names_what_to_install(monkeypatch):
    for name in ("fsspec", "fsspec.core"):
        monkeypatch.setitem(sys.modules, name, None)
    assert 'pip install "esxparse[remote]"' in refusal("s3://bucket/x.csv")


def test_messages_keep_passwords_and_signatures_to_themselves(monkeypatch):
    for name in ("fsspec", "fsspec.core"):
        monkeypatch.setitem(sys.modules, name, None)
    says = refusal("https://me:secret@host/x.csv?signature=abc")
    assert "https://***@host/x.csv?***" in says
    assert "secret" not in says
    assert "abc" not in says
