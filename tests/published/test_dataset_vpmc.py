"""The dataset of virtual performance counters: what was printed, and what each freeze mode counts."""

from __future__ import annotations

from functools import partial

import polars as pl
import pytest
import studied

from esxparse.metrics import ratio

study = partial(studied.study, "vpmc")


def test_the_freeze_mode_changes_how_much_worse_nested_paging_looks():
    rows = ratio.ratios(
        study().runs.filter(pl.col("session") == "events"),
        "tlb_misses_load",
        ["freeze", "mode"],
        {"mode": "shadow"},
        within=["freeze"],
    ).filter(mode="nested")
    found = {row["freeze"]: row for row in rows.collect().to_dicts()}
    assert found["guest"]["ratio"] == pytest.approx(1.90, abs=0.01)
    assert found["hybrid"]["ratio"] == pytest.approx(1.77, abs=0.01)
    assert found["hybrid"]["ratio_high"] < found["guest"]["ratio_low"]
