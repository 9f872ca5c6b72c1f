"""The bundled capture: as a recording, and its raw cells."""

from __future__ import annotations

import csv

import pytest

import esxparse as ex

BUSY = ex.datasets_dir() / "busy-host" / "busy-host.csv"


@pytest.fixture(scope="module")
def rec():
    return ex.open(BUSY)


@pytest.fixture(scope="module")
def raw():
    """The cells of the capture by column, read by the csv module."""
    with BUSY.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return {name: [row[at] for row in rows[1:]] for at, name in enumerate(rows[0])}
