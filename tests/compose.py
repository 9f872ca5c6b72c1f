"""Captures composed for tests, cell by cell, and files written and opened."""

from __future__ import annotations

import os
from pathlib import Path

import needs
import pytest

import esxparse as ex

STAMP = "(PDH-CSV 4.0) (UTC)(0)"


def path(owner: str, counter: str, host: str = "esx-01.example.com") -> str:
    r"""`\\host\owner\counter`."""
    return rf"\\{host}\{owner}\{counter}"


def row(second: int, values: list[str]) -> str:
    stamp = f"03/02/2026 08:{second // 60:02d}:{second % 60:02d}"
    return ",".join(f'"{cell}"' for cell in [stamp, *values])


def text(columns: list[tuple[str, str]], rows: list[list[str]], *, stamp: str = STAMP, step: int = 5) -> str:
    """A capture, with a line end after the last row."""
    header = ",".join(f'"{cell}"' for cell in [stamp, *(path(*column) for column in columns)])
    lines = [header, *(row(step * number, values) for number, values in enumerate(rows))]
    return "\n".join(lines) + "\n"


def write(folder: Path, content: str | bytes, name: str = "capture.csv") -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def opened(folder: Path, content: str | bytes, name: str = "capture.csv", **options: object) -> ex.Recording:
    """What is read of a file with this content."""
    return ex.open(write(folder, content, name), **options)


def figures(rec: ex.Recording, name: str = "test") -> dict[tuple[str, str], tuple[float, str]]:
    """Test, or another name, and metric of each figure of a benchmark: its value and unit."""
    rows = rec["benchmark_results"].collect().rows(named=True)
    return {(row[name], row["metric"]): (row["value"], row["unit"]) for row in rows}


def real_data(*parts: str) -> Path:
    """A real file kept outside the repository, below $ESXPARSE_REAL_DATA."""
    root = os.environ.get("ESXPARSE_REAL_DATA")
    if not root:
        pytest.skip("needs real captures: set ESXPARSE_REAL_DATA to their directory")
    file = Path(root, *parts)
    if not file.exists():
        needs.missing(str(file))
    return file
