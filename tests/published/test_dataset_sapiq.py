"""The dataset of the study of SAP IQ on Virtual SAN: throughput of two modes, and why the one is faster."""

from __future__ import annotations

from functools import cache, partial

import polars as pl
import pytest
import studied

import esxparse as ex
from esxparse.metrics import storage

study = partial(studied.study, "sapiq")

WARM = "sap_iq_warm_throughput_queries_per_h"
MODES = ("storage-transfer", "network-transfer")


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
