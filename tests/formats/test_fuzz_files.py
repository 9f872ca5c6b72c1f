"""A few mutated files of all formats, the same in every run; `make fuzz` tries many more."""

from __future__ import annotations

import sys

from checkout import ROOT

sys.path.insert(0, str(ROOT / "fuzz"))

import files
import pytest


@pytest.mark.search
def test_mutated_files_of_all_formats_are_read_or_refused_by_errors_of_ours():
    ended, wrong = files.run(500_000, 120, 10)
    assert sum(ended.values()) == 120
    assert not wrong
