from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import esxparse as ex

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def busy_host_file() -> Path:
    return ex.datasets_dir() / "busy-host" / "busy-host.csv"


@pytest.fixture(scope="session")
def busy_host(busy_host_file: Path) -> ex.Recording:
    return ex.open(busy_host_file)
