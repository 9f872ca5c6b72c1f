"""The dataset of the study of SAP IQ on Virtual SAN: throughput of two modes, and why the one is faster."""

from __future__ import annotations

from functools import cache

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import storage

WARM = "sap_iq_warm_throughput_queries_per_h"
COLD = "sap_iq_cold_throughput_queries_per_h"
MODES = ("storage-transfer", "network-transfer")


@cache
def study():
    return studied.study("sapiq")


@cache
def network_transfer(column: str):
    """A column with network-transfer against storage-transfer."""
    return study().compare(column).filter(pl.col("mode") == "network-transfer").collect().row(0, named=True)


@cache
def guest_disk(mode: str) -> pl.DataFrame:
    """The virtual disk of the captured node over one run, warm-up and all; s since its begin."""
    rec = ex.open(ex.datasets.folder("sapiq") / f"{mode}-1.csv.bz2")
    disks = storage.virtual_disks(rec["virtual_disk"]).collect()
    return disks.with_columns((pl.col("time") - pl.col("time").min()).dt.total_seconds().alias("second"))


def test_all_runs_are_steady_once_the_cache_is_warm():
    runs = study().runs.collect()
    assert study().notes == ()
    assert runs["gap"].null_count() == runs.height == 6
    assert set(runs["samples"]) == {27}
    assert set(runs["steady"]) == {"steady"}


def test_three_repetitions_show_the_bump():
    found = network_transfer(WARM)
    assert found["runs"] == 3
    assert found["verdict"] == "higher"
    assert 1.05 < found["ratio_low"] < found["ratio_high"] < 1.15


def test_both_modes_are_faster_once_the_cache_is_warm():
    runs = study().runs.select(pl.col(WARM) / pl.col(COLD)).collect().to_series()
    assert runs.min() > 1.5


def test_the_io_is_read_heavy_and_reads_get_short_as_the_cache_fills():
    for mode in MODES:
        disk = guest_disk(mode)
        warm, cold = disk.filter(pl.col("second") > 360), disk.filter(pl.col("second") < 80)
        assert warm["reads_per_sec"].sum() / warm["commands_per_sec"].sum() > 0.9
        assert cold["average_millisec_per_read"].mean() == pytest.approx(9.9, abs=0.2)
        assert warm["average_millisec_per_read"].mean() < 1.0
        steps = disk.filter(pl.col("second") <= 340)["average_millisec_per_read"].diff().drop_nulls()
        assert steps.max() < 0.2
        assert steps.min() < -1.0


def test_network_transfer_writes_next_to_nothing():
    """Each byte that the guest writes is two on the cluster's disks: writes have a mirror."""
    assert network_transfer("host_write_mb_per_s")["ratio"] < 0.1
    runs = study().runs.filter(pl.col("mode") == "storage-transfer").select("host_write_mb_per_s").collect()
    guest = guest_disk("storage-transfer").filter(pl.col("second") > 360)["mbytes_written_per_sec"].mean()
    assert runs.to_series().mean() == pytest.approx(2 * guest * 1.048576, rel=0.02)


def test_a_query_reads_as_much_in_either_mode():
    """Less the intermediate results that storage-transfer reads back: as many bytes as it writes."""
    read = {}
    for mode in MODES:
        warm = guest_disk(mode).filter(pl.col("second") > 360)
        moved = warm.select((pl.col("mbytes_read_per_sec") - pl.col("mbytes_written_per_sec")).mean()).item()
        rate = study().runs.filter(pl.col("mode") == mode).select(pl.col(WARM).mean()).collect().item()
        read[mode] = moved * studied.here("sapiq")["nodes"] * 3600 / rate
    assert read["network-transfer"] == pytest.approx(read["storage-transfer"], rel=0.02)
