"""The dataset of the study of iSCSI against iSER: its published figures, and what its runs show."""

from __future__ import annotations

from functools import cache, partial

import pytest
import studied

import esxparse as ex
from esxparse.metrics import ratio

study = partial(studied.study, "iser")

TESTS = {
    "read_iops": ("max-read-iops", "read_iops"),
    "write_iops": ("max-write-iops", "write_iops"),
    "read_mbps": ("max-read-throughput", "read_mb_per_s"),
    "write_mbps": ("max-write-throughput", "write_mb_per_s"),
}
"""What the study calls a result: the test, and its column among the runs."""


@cache
def compared(test: str, column: str):
    """The rows of one test by protocol."""
    rows = study().compare(column).collect().filter(test=test).to_dicts()
    return {row["protocol"]: row for row in rows}


@pytest.mark.parametrize("what", ["read_iops", "write_iops", "read_mbps"])
def test_a_percentage_of_is_a_hundred_more_than_a_percentage_over(what):
    test, column = TESTS[what]
    rows = compared(test, column)
    assert rows["iser"]["verdict"] == "higher"
    assert rows["iser"]["change_pct"] == pytest.approx(studied.here("iser")[f"{what}_of_iscsi"] - 100)
    of = ex.datasets.published("iser").filter(figure=f"{what}_of_iscsi")["value"].item()
    published = ex.datasets.published("iser").filter(figure=f"iser_{what}")["value"].item()
    base = ex.datasets.published("iser").filter(figure=f"iscsi_{what}")["value"].item()
    assert round(100 + ratio.percent_change(published, base), 2) == of
