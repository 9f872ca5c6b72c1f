"""The dataset of the study of Virtual SAN 6.0: five access specifications scale linearly with hosts and disk groups."""

from __future__ import annotations

from functools import partial

import polars as pl
import pytest
import studied

from esxparse.metrics import storage_laws

study = partial(studied.study, "vsan")
runs = partial(studied.runs, "vsan")


def test_no_workload_leaves_the_line():
    left = study().leaves_linear("hosts", "iops").filter(disk_groups=1).collect()
    assert left["linear_up_to"].to_list() == [16] * 10
    assert left["leaves_at"].null_count() == 10


def test_the_bounds_of_a_cluster_are_those_of_its_specifications():
    sixteen = (
        study().runs.filter(hosts=16, type="all-flash").with_columns(bandwidth_bytes_per_s=pl.col("mb_per_s") * 1e6)
    )
    bounds = storage_laws.upper_bounds(sixteen).collect().row(0, named=True)
    assert bounds["small_iops"] == runs().filter(hosts=16, type="all-flash", spec="4k-read")["iops"].item()
    assert bounds["mb_per_s"] == pytest.approx(
        runs().filter(hosts=16, type="all-flash", spec="256k-seq-read")["mb_per_s"].item()
    )
