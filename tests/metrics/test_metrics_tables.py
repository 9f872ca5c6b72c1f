"""The whole answer of functions that give tables: every column by its name, and numbers worked out by hand."""

from __future__ import annotations

import polars as pl
import pytest

from esxparse.metrics import (
    alignment,
    hardware_events,
    io_profile,
    memory,
    mmu,
    numa,
    remote,
    storage_laws,
    workers,
)


def table(columns, *rows, **types):
    return pl.LazyFrame(rows, schema=columns.split(), orient="row", schema_overrides=types)


def dicts(columns, *rows):
    return [dict(zip(columns.split(), row, strict=True)) for row in rows]


REQUESTS = table(
    "operation direction offset_bytes size_bytes latency_ms",
    ("WRITE", "write", 0, 12_288, 20.0),
    ("WRITE", "write", 32_256, 4096, None),
    ("READ", "read", 512, 300, 1.0),
    ("READ", "read", 4096, None, 3.0),
    ("COMMIT", None, 0, 1, 5.0),
    (None, "read", 0, 1, 7.0),
    ("READ", "read", None, 700, None),
    ("COPY", "write", 1, 1, None),
)
TRACE = table(
    "time target lun direction offset_bytes size_bytes",
    (3, "b", 1, "read", 200, 50),
    (1, "b", 1, "read", 0, 100),
    (2, "b", 1, "read", 100, 100),
    (4, "b", 1, "read", 100, 100),
    (5, "a", 2, "write", 8, 8),
    (6, "a", 2, None, 16, 8),
    (7, "a", 2, "write", None, 8),
)
# Intervals of run 1 that are not in their order; a run that took 4 s; one of which nothing is known; one of no length.
EVENTS = table(
    "run event value elapsed_s",
    (1, "cycles", 40.0, 3.0),
    (1, "cycles", 10.0, 1.0),
    (2, "cycles", 8.0, None),
    (3, "cycles", 9.0, None),
    (4, "cycles", 5.0, 0.0),
    (5, "cycles", 6.0, 2.0),
)
PIECES = table(
    "run event value unit elapsed_s aggregate cgroup pmu",
    (1, "instructions", None, None, 1.0, "S0", "a", None),
    (1, "instructions", 100.0, None, 1.0, "S0", "a", None),
    (1, "instructions:u", 900.0, None, 1.0, "S0", "a", None),
    *(
        (1, "dTLB-load-misses", 50.0, None, *where)
        for where in [
            (1.0, "S0", "a", None),
            (2.0, "S0", "a", None),
            (1.0, "S1", "a", None),
            (1.0, "S0", "b", None),
            (1.0, "S0", "a", "cpu_core"),
            (9.0, "S0", "a", None),
            (0.0, "S0", "a", None),
        ]
    ),
    (1, "instructions", 200.0, None, 2.0, "S0", "a", None),
    (1, "instructions", 400.0, None, 1.0, "S1", "a", None),
    (1, "instructions", 800.0, None, 1.0, "S0", "b", None),
    (1, "instructions", 1.0, None, 1.0, "S0", "a", "cpu_core"),
    (1, "instructions", 0.0, None, 0.0, "S0", "a", None),
    (1, "task-clock", 7.0, "msec", 1.0, "S0", "a", None),
    aggregate=pl.String,
    pmu=pl.String,
    unit=pl.String,
)
# Aggregates and intervals of run 1 are added up, runs are averaged; nothing was counted of b; c has no seconds.
COUNTED = table(
    "run event aggregate value elapsed_s",
    (2, "z", "x", 100.0, 1.0),
    (1, "z", "x", 10.0, 1.0),
    (1, "z", "y", 20.0, 1.0),
    (1, "z", "x", 30.0, 3.0),
    (1, "z", "y", None, 3.0),
    (1, "b", "x", None, 1.0),
    (9, "c", "x", 5.0, None),
)
WHOSE = "sample world_group_id handle_id disk vm"
DISK = (1, 7, 8192, "scsi0:0", "db")
LENGTHS = [(None, 512, 1), (512, 4095, 2), (4095, 4096, 4), (4096, 8191, 8), (8191, 12_288, 16), (12_288, None, 32)]
HISTOGRAMS = table(
    f"{WHOSE} histogram direction from to count",
    *(
        (*DISK, "io_length", direction, low, high, count * times)
        for direction, times in (("all", 3), ("read", 2), ("write", 1))
        for low, high, count in LENGTHS
    ),
    *(
        (*DISK, "seek_distance", "all", *one)
        for one in [
            (None, -129, 1),
            (-129, -128, 2),
            (-128, -1, 4),
            (0, 1, 8),
            (1, 2, 16),
            (2, 128, 32),
            (128, 129, 64),
            (129, None, 128),
        ]
    ),
    *((*DISK, "seek_distance_of_16", "all", *one) for one in [(0, 1, 3), (1, 2, 1)]),
    *((1, 7, 1, "scsi0:1", "web", "io_length", "all", 0, 512, count) for count in (0, 0)),
)
GROUP_MEMORY = table(
    "time group_id memory_size_mbytes memory_granted_size_mbytes memory_consumed_size_mbytes touched_mbytes "
    "memctl_mbytes memctl_target_mbytes swapped_mbytes swap_read_mbytes_per_sec swap_written_mbytes_per_sec "
    "used_compressed_memory_mbytes compression_mbytes_per_sec decompression_mbytes_per_sec shared_mbytes "
    "shared_saved_mbytes overhead_mbytes numa_local_memory_mbytes numa_remote_memory_mbytes numa_pct_local",
    (5, 3, *range(1, 16), 60.0, 60.0, 50.0),
    (5, 99, *range(101, 116), 1.0, 3.0, 25.0),
    (5, 2, *range(201, 216), 0.0, 0.0, 0.0),
)
VM_MEMORY = (
    "time group_id vm size_mib granted_mib consumed_mib active_mib balloon_mib balloon_target_mib swapped_mib "
    "swap_in_mib_per_s swap_out_mib_per_s compressed_mib zip_mib_per_s unzip_mib_per_s shared_mib shared_saved_mib "
    "overhead_mib numa_local_mib numa_remote_mib numa_local_pct"
)
SWEEP = table(
    "kind block_size_bytes iops bandwidth_bytes_per_s latency_mean_ms latency_max_ms",
    ("read", 8192, 300.0, 6e6, 1.0, 4.0),
    ("read", 4096, 300.0, 7e6, 4.0, 90.0),
    ("read", 512, 200.0, 7e6, None, None),
    ("read", 4097, 999.0, 1e6, 0.0, 5.0),
    ("write", None, 50.0, 2e6, 3.0, 1.0),
)
BOUNDS = "kind tests small_iops small_block_size_bytes mb_per_s mb_block_size_bytes latency_mean_ms latency_max_ms"
ACTIVE = table(
    "elapsed_s activity kb_per_s",
    (10.0, "typing", 4.0),
    (20.0, "typing", 8.0),
    (50.0, "video", 100.0),
    (81.0, "video", 50.0),
    (91.0, None, None),
    (91.0, None, 10.0),
)

CASES = {
    "alignment.shares": (
        lambda: alignment.shares(REQUESTS, [1, 512, 4096]),
        dicts(
            "operation boundary_bytes requests aligned aligned_requests_pct aligned_bytes_pct",
            ("COPY", 1, 1, 1, 100, 100),
            ("COPY", 512, 1, 0, 0, 0),
            ("COPY", 4096, 1, 0, 0, 0),
            ("READ", 1, 2, 2, 100, 100),
            ("READ", 512, 2, 2, 100, 100),
            ("READ", 4096, 2, 1, 50, 0),
            ("WRITE", 1, 2, 2, 100, 100),
            ("WRITE", 512, 2, 2, 100, 100),
            ("WRITE", 4096, 2, 1, 50, 75),
        ),
    ),
    "alignment.remainders": (
        lambda: alignment.remainders(
            table("operation offset_bytes", *(("WRITE", one) for one in (4396, 200, 100, 8492)), ("READ", 4096))
        ),
        dicts(
            "operation remainder_bytes requests requests_pct",
            ("READ", 0, 1, 100),
            ("WRITE", 300, 2, 50),
            ("WRITE", 100, 1, 25),
            ("WRITE", 200, 1, 25),
        ),
    ),
    "alignment.remainders of 1 byte": (
        lambda: alignment.remainders(REQUESTS.filter(pl.col("operation") == "COPY"), 1),
        dicts("operation remainder_bytes requests requests_pct", ("COPY", 0, 1, 100)),
    ),
    "alignment.latency": (
        lambda: alignment.latency(REQUESTS),
        dicts(
            "operation requests unanswered mean_ms p50_ms p95_ms p99_ms max_ms bytes",
            ("COMMIT", 1, 0, 5, 5, 5, 5, 5, 1),
            ("COPY", 0, 1, None, None, None, None, None, 0),
            ("READ", 2, 1, 2, 2, 2.9, 2.98, 3, 300),
            ("WRITE", 1, 1, 20, 20, 20, 20, 20, 12_288),
        ),
    ),
    "alignment.sequential": (
        lambda: alignment.sequential(TRACE),
        dicts(
            "target lun direction requests sequential sequential_pct",
            ("a", 2, "write", 1, 0, None),
            ("b", 1, "read", 4, 2, 200 / 3),
        ),
    ),
    "hardware_events.per_second": (
        lambda: hardware_events.per_second(EVENTS, table("run elapsed_s", (1, 77), (2, 4))),
        dicts(
            "run event value elapsed_s seconds per_s",
            (1, "cycles", 40, 3, 2, 20),
            (1, "cycles", 10, 1, 1, 10),
            (2, "cycles", 8, None, 4, 2),
            (3, "cycles", 9, None, None, None),
            (4, "cycles", 5, 0, 0, None),
            (5, "cycles", 6, 2, 2, 3),
        ),
    ),
    "hardware_events.per_instruction": (
        lambda: hardware_events.per_instruction(PIECES).select("event", "instructions", "per_instruction"),
        dicts(
            "event instructions per_instruction",
            ("instructions", 100, None),
            ("instructions", 100, 1),
            ("instructions:u", 100, 9),
            *(("dTLB-load-misses", of, of and 50 / of) for of in (100, 200, 400, 800, 1, None)),
            ("dTLB-load-misses", 0, None),
            *(("instructions", of, 1) for of in (200, 400, 800, 1)),
            ("instructions", 0, None),
            ("task-clock", 100, None),
        ),
    ),
    "hardware_events.tlb_misses": (
        lambda: hardware_events.tlb_misses(
            PIECES.filter(pl.col("elapsed_s") == 2).drop("unit", "aggregate", "cgroup", "pmu")
        ),
        dicts(
            "run event value elapsed_s instructions event_class per_1k_instructions",
            (1, "dTLB-load-misses", 50, 2, 200, "tlb_miss_load", 250),
        ),
    ),
    "hardware_events.totals": (
        lambda: hardware_events.totals(COUNTED, table("run elapsed_s", (1, 77.0))),
        dicts("event value seconds per_s", ("c", 5, None, None), ("z", 80, 2, 40)),
    ),
    "hardware_events.vmkperf_totals": (
        lambda: hardware_events.vmkperf_totals(
            table(
                "block poll event rate_per_s",
                (2, 1, "tlb", 7.0),
                (1, 1, "tlb", 1.0),
                (1, 1, "tlb", 2.0),
                (1, 2, "tlb", 5.0),
                (1, 3, "tlb", None),
                (1, 1, "a", 4.0),
            )
        ),
        dicts("event value seconds per_s", ("a", None, None, 4), ("tlb", None, None, 5)),
    ),
    "hardware_events.compare": (
        lambda: hardware_events.compare(
            table("event value per_s", ("b", 6.0, 3.0), ("a", 1.0, 8.0), ("d", 2.0, 0.0)),
            table("event value per_s", ("c", 3.0, 3.0), ("b", 1.0, 2.0), ("d", 0.0, 0.0)),
        ),
        dicts(
            "event first_value second_value value_ratio first_per_s second_per_s rate_ratio",
            ("a", 1, None, None, 8, None, None),
            ("b", 6, 1, 6, 3, 2, 1.5),
            ("c", None, 3, None, None, 3, None),
            ("d", 2, 0, None, 0, 0, None),
        ),
    ),
    "io_profile.size_mix": (
        lambda: io_profile.size_mix(HISTOGRAMS.filter(pl.col("direction") == "read")),
        dicts(
            f"{WHOSE} direction from_bytes to_bytes commands share_pct",
            *((*DISK, "read", low, high, 2 * count, 100 * count / 63) for low, high, count in LENGTHS),
        ),
    ),
    "io_profile.read_share": (
        lambda: io_profile.read_share(HISTOGRAMS),
        dicts(
            f"{WHOSE} reads writes read_pct",
            (*DISK, 126, 63, 200 / 3),
            (1, 7, 1, "scsi0:1", "web", 0, 0, None),
        ),
    ),
    # near: -128 < d <= -1, 1 < d <= 2, 2 < d <= 128
    "io_profile.sequential_share": (
        lambda: io_profile.sequential_share(HISTOGRAMS),
        dicts(
            f"{WHOSE} direction commands sequential_pct near_pct random_pct interleaved_sequential_pct",
            (*DISK, "all", 255, 800 / 255, 5200 / 255, 19_500 / 255, 75),
        ),
    ),
    # no multiple of 4096 below 4096 and in 4097..8191; 8192..12288 holds two among others
    "io_profile.alignment_hints": (
        lambda: io_profile.alignment_hints(HISTOGRAMS.filter(pl.col("direction") != "read")),
        dicts(
            f"{WHOSE} direction commands multiple_pct no_multiple_pct unknown_pct",
            (*DISK, "all", 189, 400 / 63, 1100 / 63, 4800 / 63),
            (*DISK, "write", 63, 400 / 63, 1100 / 63, 4800 / 63),
            (1, 7, 1, "scsi0:1", "web", "all", 0, None, None, None),
        ),
    ),
    "memory.vms": (
        lambda: memory.vms(GROUP_MEMORY, table("group_id vm", (2, "b"), (3, "a"))),
        dicts(VM_MEMORY, (5, 3, "a", *range(1, 16), 60, 60, 50), (5, 2, "b", *range(201, 216), 0, 0, None)),
    ),
    "mmu.compare_modes": (
        lambda: mmu.compare_modes(
            table("event value per_s", ("tlb_misses", 6.0, 3.0), ("cycles", 1.0, 1.0)),
            table("event value per_s", ("tlb_misses", 2.0, 2.0), ("cycles", 1.0, 1.0)),
        ),
        dicts(
            "event event_class nested_misses shadow_misses misses_ratio nested_per_s shadow_per_s rate_ratio",
            ("tlb_misses", "tlb_miss_load", 6, 2, 3, 3, 2, 1.5),
        ),
    ),
    "numa.node_size": (
        lambda: numa.node_size(table("cpus size_mib", ([0, 1, 2, 3, 4, 5], 300), ([6, 7, 8, 9], 400), ([], 5)), 2),
        dicts("nodes cores_per_node node_memory_mib", (2, 2, 300)),
    ),
    "numa.node_size of single CPUs": (
        lambda: numa.node_size(table("cpus size_mib", ([0], 300), ([1], 200))),
        dicts("nodes cores_per_node node_memory_mib", (2, 1, 200)),
    ),
    "numa.locality of less than a MiB": (
        lambda: numa.locality(table("vm numa_local_mib numa_remote_mib", ("db", 0.5, 0.125))),
        dicts("vm samples local_pct min_local_pct max_remote_mib below_samples", ("db", 1, 80, 80, 0.125, 0)),
    ),
    "numa.locality": (
        lambda: numa.locality(
            table(
                "vm numa_local_mib numa_remote_mib",
                ("web", 80.0, 20.0),
                ("db", 0.5, 0.5),
                ("db", 0.0, 0.0),
                ("db", 6.0, 3.0),
            )
        ),
        dicts(
            "vm samples local_pct min_local_pct max_remote_mib below_samples",
            ("db", 2, 65, 50, 3, 2),
            ("web", 1, 80, 80, 20, 0),
        ),
    ),
    # Steps of 10, 30, 31 and 10 s: the usual is 20, so that the first sample counts 20.
    "remote.by_activity": (
        lambda: remote.by_activity(ACTIVE),
        dicts(
            "activity samples duration_s volume_mb mean_kb_per_s peak_kb_per_s of_volume_pct",
            ("typing", 2, 30, 0.16, 16 / 3, 8, 16 / 4.81),
            ("video", 2, 61, 4.55, 4550 / 61, 100, 455 / 4.81),
            (None, 1, 10, 0.1, 10, 10, 10 / 4.81),
        ),
    ),
    "storage_laws.check_outstanding": (
        lambda: storage_laws.check_outstanding(
            table(
                "iops gavg_ms active queued",
                *((iops, 2.0, 8.0, 2.0) for iops in (4500.0, 4499.0, 5501.0)),
                (1000.0, 1.0, -0.5, 1.0),
            ).cast(pl.Float64)
        ),
        dicts(
            "iops gavg_ms active queued outstanding_by_law outstanding_pct outstanding_agrees",
            (4500, 2, 8, 2, 9, 90, True),
            (4499, 2, 8, 2, 8.998, 89.98, False),
            (5501, 2, 8, 2, 11.002, 110.02, False),
            (1000, 1, -0.5, 1, 1, 200, False),
        ),
    ),
    "storage_laws.upper_bounds": (
        lambda: storage_laws.upper_bounds(SWEEP, by=["kind"]),
        dicts(
            BOUNDS,
            ("read", 4, 300, 4096, 7, 512, 1500 / 1599, 90),
            ("write", 1, None, None, 2, None, 3, 1),
        ),
    ),
    "storage_laws.upper_bounds of all": (
        lambda: storage_laws.upper_bounds(SWEEP, small_bytes=8192),
        dicts(BOUNDS.removeprefix("kind "), (5, 999, 4097, 7, 512, 1650 / 1649, 90)),
    ),
    "storage_laws.mean_and_peak": (
        lambda: storage_laws.mean_and_peak(table("cpu_pct", (0,), (1,), (2,), (None,), (0,)), ["cpu_pct"]),
        dicts("resource samples mean p95 peak peak_to_mean", ("cpu_pct", 4, 0.75, 1.85, 2, 8 / 3)),
    ),
    "storage_laws.mean_and_peak by run": (
        lambda: storage_laws.mean_and_peak(table("run x", ("b", 0), ("a", 0.5), ("a", 1.5)), ["x"], by=["run"]),
        dicts(
            "run resource samples mean p95 peak peak_to_mean",
            ("b", "x", 1, 0, 0, 0, None),
            ("a", "x", 2, 1, 1.45, 1.5, 1.5),
        ),
    ),
    # Reads are known to have been done where the release has no count of them.
    "workers.median_read_latency": (
        lambda: workers.median_read_latency(
            table(
                "test row_type read_iops read_latency_mean_ms",
                (2, "WORKER", 1.0, 4.0),
                (1, "WORKER", 0.5, 1.0),
                (1, "WORKER", None, 2.0),
                (1, "WORKER", 9.0, 6.0),
                (1, "ALL", 9.0, 9.0),
            )
        ),
        dicts("test workers median_read_latency_ms", (1, 3, 2), (2, 1, 4)),
    ),
}


@pytest.mark.parametrize(("answer", "expected"), CASES.values(), ids=CASES)
def test_the_whole_answer(answer, expected):
    frame = answer()
    assert isinstance(frame, pl.LazyFrame)
    got = frame.collect()
    assert got.columns == list(expected[0])
    assert got.to_dicts() == [pytest.approx(row) for row in expected]
