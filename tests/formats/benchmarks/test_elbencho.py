"""elbencho: text, CSV, JSON and live CSV of phases."""

from __future__ import annotations

import pytest
from compose import write

import esxparse as ex

SAMPLES = ex.datasets_dir() / "formats"


def results(rec):
    rows = rec["benchmark_results"].collect().rows(named=True)
    return {(row["test"], row["metric"]): (row["value"], row["unit"]) for row in rows}


def test_units_of_1000_are_converted(tmp_path):
    text = (SAMPLES / "elbencho-results.txt").read_text().replace("Throughput MiB/s", "Throughput MB/s ")
    assert results(ex.open(write(tmp_path, text)))["read", "throughput"][0] == pytest.approx(331e6 / 2**20)
