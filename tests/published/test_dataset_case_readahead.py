"""The dataset of the talk's first case study: its figures, and the way to the array step by step."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import studied

import esxparse as ex
from esxparse.metrics import ratio

study = partial(studied.study, "case-readahead")
runs = partial(studied.runs, "case-readahead")

LARGE = [256, 512]


@cache
def of_cached(value: str) -> pl.DataFrame:
    """The LUN against the cached one, size by size."""
    esx = runs().lazy().filter(machine="esx")
    return ratio.ratios(esx, value, ["disk", "size"], {"disk": "cached"}).filter(disk="lun").sort("size").collect()


def test_the_diagnosis_is_the_published_one():
    (found,) = ex.diagnose(study())
    assert found.trouble == "storage.read_ahead"
    assert found.severity == "critical"
    assert found.against == ()


def test_it_is_the_lun_beyond_128_kb_that_is_slow_and_nothing_else():
    slow = of_cached("mb_per_s").filter(pl.col("ratio") < 0.9)
    assert slow["size"].to_list() == LARGE
    assert slow["ratio"].max() < 0.6
    assert (slow["verdict"] == "lower").all()
