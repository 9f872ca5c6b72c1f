"""elbencho: text, CSV, JSON and live CSV of phases."""

from __future__ import annotations

import pytest
from compose import figures, write

import esxparse as ex

SAMPLES = ex.datasets_dir() / "formats"


def test_units_of_1000_are_converted(tmp_path):
    text = (SAMPLES / "elbencho-results.txt").read_text().replace("Throughput MiB/s", "Throughput MB/s ")
    assert figures(ex.open(write(tmp_path, text)))["read", "throughput"][0] == pytest.approx(331e6 / 2**20)
