"""How claims about bundled studies hold: two measurements of one thing agree, and a difference is shown or not.

The cells of `runs` follow from raw files that are made again to the byte and from tests/absolute, and the published
figures have a test of their own. What these tests add is what a person concludes from them.
"""

from __future__ import annotations

import polars as pl
import pytest
import studied
from test_datasets import STUDIES

NOT_STEADY = {"baseline": 1, "iser": 6, "linerate": 3, "power": 6, "raid-pool": 5}
"""Studies with loads that do not hold still, or are too small to tell: notes about that."""
ADVISED = {"numa": 5}
"""Studies with VMs whose configuration gets advice."""
WARM = "sap_iq_warm_throughput_queries_per_h"
RANDOM_WRITES = {"machine": "esx", "disk": "large", "op": "write", "pattern": "random"}
LARGE = ["read-512k", "write-512k"]
SMALL = ["randread-4k", "randwrite-4k", "randrw-4k"]

AGREEING = [
    # What the guest measured and what the host saw of the same I/O.
    ("baseline", {"phase": "sweep", "depth": 32}, "gavg_ms", "latency_mean_ms", 0.01),
    ("iser", {"test": "max-read-iops"}, "gavg_ms", "latency_mean_ms", 0.01),
    ("vaio", {"vms": 32}, "gavg_ms", "latency_mean_ms", 0.01),
    # Ten commands a second of the host's logs are among the fewest, those of 512 KB.
    ("protocols", {"protocol": ["fc", "swiscsi", "hwiscsi"]}, "gavg_ms", "latency_mean_ms", 0.04),
    ("case-readahead", {"disk": "lun", "size": 256}, "wire_read_p50_ms", "latency_mean_ms", 0.1),
    (
        "case-alignment",
        {"disk": "large", "op": "write", "pattern": "random"},
        "wire_write_p50_ms",
        "latency_mean_ms",
        0.15,
    ),
    # Little's law.
    ("baseline", {"phase": "sweep"}, "outstanding_by_law", "depth", 0.06),
    ("docker", {"profile": "randread"}, "outstanding_by_law", 8 * 16, 0.02),
    ("iser", {"test": "max-read-iops"}, "outstanding_by_law", "outstanding", 0.03),
    # A job computes between its I/Os: somewhat less than one of each is under way.
    ("pmem", {}, "outstanding_by_law", 7.7, 0.04),
    # A VM with a single I/O under way never has less in flight than one, now and then more.
    ("vaio", {}, "outstanding_by_law", "outstanding", 0.06),
    ("vsan", {}, "outstanding_by_law", "outstanding", 0.03),
    # A router sends what it receives.
    ("replication", {"design": "routed"}, "rx_mbit_per_s", "tx_mbit_per_s", 0.05),
    ("dense", {}, "vms_running", "vms", 0),
    ("dense", {}, "vcpus_running", "vms", 0),
]

VERDICTS = [
    ("case-alignment", "iops", RANDOM_WRITES, "lower"),
    ("case-alignment", "iops", {"machine": "native", "pattern": "random"}, "no difference shown"),
    # An idle host is not part of an I/O's cost: with it, random writes would look twice as dear.
    ("case-alignment", "used_above_idle_cycles_per_io", RANDOM_WRITES, "no difference shown"),
    ("case-readahead", "mb_per_s", {"machine": "native", "size": [256, 512]}, "no difference shown"),
    ("docker", "iops", {"profile": "randread", "platform": "vm"}, "lower"),
    ("docker", "iops", {"profile": ["randwrite", "mixed"], "platform": "vm"}, "no difference shown"),
    ("iser", "read_iops", {"test": "max-read-iops", "protocol": "iser"}, "higher"),
    ("iser", "write_iops", {"test": "max-write-iops", "protocol": "iser"}, "higher"),
    ("iser", "read_mb_per_s", {"test": "max-read-throughput", "protocol": "iser"}, "higher"),
    # Three repetitions do not show it.
    ("iser", "write_mb_per_s", {"test": "max-write-throughput", "protocol": "iser"}, "no difference shown"),
    ("iser", "used_cycles_per_io", {"protocol": "iser"}, "lower"),
    ("mmu", "tlb_miss_load_per_s", {"tool": "perf", "mode": "nested"}, "higher"),
    ("pmem", "mb_per_s", {"platform": "vm", "test": SMALL}, "lower"),
    ("pmem", "mb_per_s", {"platform": "vm", "test": LARGE}, "no difference shown"),
    ("power", "watts", {"policy": "dynamic"}, "lower"),
    ("power", "ready_pct", {"policy": "dynamic"}, "higher"),
    ("protocols", "used_cycles_per_io", {"release": "3.5", "protocol": "swiscsi"}, "lower"),
    *(
        ("raid-pool", column, {"test": "vmmark storage", "storage": "pool"}, "no difference shown")
        for column in ("gavg_read_ms", "gavg_write_ms", "iops")
    ),
    ("sapiq", WARM, {"mode": "network-transfer"}, "higher"),
    ("vaio", "used_pct_of_core_per_1k_iops", {"filter": "iofilter"}, "higher"),
    # One VM alone is limited by its vCPU.
    ("vaio", "iops", {"filter": "iofilter", "vms": 1}, "higher"),
    ("vaio", "iops", {"filter": "iofilter", "vms": [2, 4, 8, 16, 32]}, "no difference shown"),
    ("vaio", "median_read_latency_ms", {"filter": "iofilter", "vms": 1}, "lower"),
    ("vaio", "median_read_latency_ms", {"filter": "iofilter", "vms": [2, 4, 8, 16, 32]}, "no difference shown"),
    # The guest's kernel counts these, whatever the freeze mode.
    ("vpmc", "page_faults_per_s", {"session": "events", "is_baseline": False}, "no difference shown"),
    ("vpmc", "task_clock_per_s", {"session": "events", "is_baseline": False}, "no difference shown"),
    ("vpmc", "instructions_per_cycle", {"session": "events", "mode": "shadow", "freeze": "hybrid"}, "lower"),
]

RESULTS = [
    ("docker", {"test": "n 45000", "platform": "vm"}, "no difference shown"),
    ("docker", {"test": "n 65000", "platform": "vm"}, "worse"),
    ("docker", {"test": "copy", "platform": "vm", "metric": "bandwidth"}, "worse"),
    ("docker", {"test": "TCP_STREAM", "platform": "vm-docker", "metric": "throughput"}, "no difference shown"),
    ("docker", {"test": "SET", "platform": "vm-docker-hostnet", "metric": "throughput"}, "worse"),
    ("docker", {"test": "SET", "platform": "native-docker", "metric": "throughput"}, "worse"),
    ("raid-pool", {"storage": "pool", "unit": "ms"}, "no difference shown"),
    ("spark", {"place": "cloud"}, "no difference shown"),
    ("vcenter", {"release": "6.7"}, "better"),
]


def with_labels(rows: pl.LazyFrame, labels: dict[str, object]) -> pl.DataFrame:
    """The rows with these labels, of which a list gives several."""
    wanted = [pl.col(name).is_in(value if isinstance(value, list) else [value]) for name, value in labels.items()]
    found = rows.filter(*wanted).collect()
    assert found.height, labels
    return found


@pytest.mark.parametrize("name", STUDIES)
def test_every_run_is_computed_and_notes_are_of_loads_that_do_not_hold_still(name):
    study = studied.study(name)
    assert study.runs.collect()["gap"].null_count() == study.runs.collect().height
    unsteady = [note for note in study.notes if "not shown to be steady" in str(note) or "too noisy" in str(note)]
    assert len(unsteady) == NOT_STEADY.get(name, 0)
    assert len(study.notes) == len(unsteady) + ADVISED.get(name, 0)


@pytest.mark.parametrize(("name", "labels", "column", "other", "tolerance"), AGREEING)
def test_two_measurements_of_one_thing_agree(name, labels, column, other, tolerance):
    rows = with_labels(studied.study(name).runs, labels).drop_nulls(column)
    expected = rows[other].to_list() if isinstance(other, str) else [other] * rows.height
    assert rows[column].to_list() == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize(("name", "column", "labels", "verdict"), VERDICTS)
def test_a_difference_between_runs_is_shown_or_not(name, column, labels, verdict):
    rows = with_labels(studied.study(name).compare(column), labels).drop_nulls("ratio")
    assert set(rows["verdict"]) == {verdict}


@pytest.mark.parametrize(("name", "labels", "verdict"), RESULTS)
def test_a_difference_between_results_is_shown_or_not(name, labels, verdict):
    assert set(with_labels(studied.study(name).virtual_to_native(), labels)["verdict"]) == {verdict}
