"""The dataset of the talk's second case study: its figures, and the way to the partition step by step."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import alignment

study = partial(studied.study, "case-alignment")


@cache
def writes(machine: str) -> pl.LazyFrame:
    """All WRITE requests of the traces, random and sequential."""
    traces = sorted(ex.datasets.folder("case-alignment").glob(f"{machine}-large-*-write-*.tshark.tsv"))
    return pl.concat([ex.open(path)["nfs"].with_columns(trace=pl.lit(path.name)) for path in traces])


def aligned(machine: str, boundary: int) -> float:
    return alignment.shares(writes(machine), [boundary]).collect()["aligned_requests_pct"].item()


@pytest.mark.search
def test_the_diagnosis_is_the_published_one():
    (found,) = ex.diagnose(study())
    assert found.trouble == "storage.misaligned"
    assert found.severity == "critical"
    assert found.against == ()


def test_offsets_tell_of_a_partition_that_begins_at_sector_63():
    shifted = alignment.remainders(writes("esx"), 1024).collect()
    assert shifted.select("remainder_bytes", "requests_pct").rows() == [(63 * 512 % 1024, 100.0)]
    assert writes("esx").select(pl.col("offset_bytes").min()).collect().item() >= 63 * 512
    assert alignment.remainders(writes("native"), 1024).collect()["remainder_bytes"].to_list() == [0]


def test_alignment_alone_does_not_tell_native_from_esx_at_4_kb():
    """1 KB never fills a block of 4 KB: three of four aligned writes begin inside one, and none covers it."""
    assert aligned("native", 4096) == pytest.approx(25, abs=5)
    ends = pl.col("offset_bytes") + pl.col("size_bytes") - 1
    crossing = (pl.col("offset_bytes") // 4096 != ends // 4096).mean() * 100
    assert writes("esx").select(crossing).collect().item() == pytest.approx(25, abs=5)
    assert writes("native").select(crossing).collect().item() == 0
