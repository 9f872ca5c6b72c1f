"""A reader added as CONTRIBUTING shows it: one module and one entry of data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import esxparse as ex
from esxparse import formats
from esxparse.formats import registry

CONTRIBUTING = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
IOPING = b"""4 KiB <<< . (ext4 /dev/sda1 29.4 GiB): request=1 time=12.1 us (warmup)
4 KiB <<< . (ext4 /dev/sda1 29.4 GiB): request=2 time=1.25 ms

--- . (ext4 /dev/sda1 29.4 GiB) ioping statistics ---
1 requests completed in 1.25 ms, 4 KiB read, 800 iops, 3.12 MiB/s
"""


def shown(path):
    """The file that CONTRIBUTING shows under a path."""
    return re.search(rf"```\w+\n# {re.escape(path)}\n(.*?)```", CONTRIBUTING, re.DOTALL)[1]


@pytest.fixture
def with_ioping(tmp_path, monkeypatch):
    (tmp_path / "ioping.py").write_text(shown("esxparse/formats/ioping.py"), encoding="utf-8")
    data = tmp_path / "recognise.toml"
    known = registry._DATA.read_text(encoding="utf-8")
    data.write_text(f"{known}\n{shown('esxparse/formats/recognise.toml')}", encoding="utf-8")
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "_DATA", data)
    registry.readers.cache_clear()
    yield
    registry.readers.cache_clear()


@pytest.mark.usefixtures("with_ioping")
def test_a_reader_is_a_module_and_an_entry(tmp_path):
    path = tmp_path / "night.txt"
    path.write_bytes(IOPING)
    rec = ex.open(path)
    assert rec.format == "ioping"
    assert rec["requests"].collect().rows() == [(1, 0.0121), (2, 1.25)]
    path.write_bytes(IOPING[: IOPING.index(b" ms")])
    assert ex.open(path)["requests"].collect().height == 1


def test_without_its_entry_the_format_is_not_known(tmp_path):
    path = tmp_path / "night.txt"
    path.write_bytes(IOPING)
    with pytest.raises(ex.UnknownFormatError):
        ex.open(path)
