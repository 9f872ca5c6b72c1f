"""Rates, ratios and TLB misses from perf stat and vmkperf."""

from __future__ import annotations

import compose
import polars as pl
import pytest

import esxparse as ex
from esxparse.metrics import hardware_events as metric

PERF = """ Performance counter stats for 'perl tlbstress.pl':
{count:,} dTLB-load-misses # 0.000 M/sec
{instructions:,} instructions
{seconds:.9f} seconds time elapsed
"""


def recording(folder, name, text):
    return ex.open(compose.write(folder, text, name))


def test_the_study_of_mmu_modes_reads_back_as_rates_and_ratio(tmp_path):
    nested = recording(tmp_path, "nested", PERF.format(count=68456568, instructions=10**11, seconds=60.072490066))
    shadow = recording(tmp_path, "shadow", PERF.format(count=38750437, instructions=10**11, seconds=59.116399919))
    totals = [metric.totals(rec["events"], rec["runs"]) for rec in (nested, shadow)]
    (row,) = metric.compare(*totals).filter(pl.col("event") == "dTLB-load-misses").collect().to_dicts()
    assert (row["first_value"], row["second_value"]) == (68456568, 38750437)
    assert row["first_per_s"] == pytest.approx(68456568 / 60.07, rel=1e-4)
    assert row["second_per_s"] == pytest.approx(38750437 / 59.12, rel=1e-4)
    assert row["value_ratio"] == pytest.approx(1.7666, abs=1e-4)
    assert row["rate_ratio"] == pytest.approx(1.7385, abs=1e-4)
    misses = metric.tlb_misses(nested["events"]).collect().to_dicts()
    assert [(one["event_class"], one["per_1k_instructions"]) for one in misses] == [
        ("tlb_miss_load", pytest.approx(68456568 / 1e8))
    ]


def test_vmkperf_of_a_pinned_vm_compares_the_same_way(tmp_path):
    text = "tlb per second per cpu\n---\npcpu0 pcpu23\n{} {}\n{} {}\n"
    nested = recording(tmp_path, "nested", text.format(10, 4000, 30, 6000))
    shadow = recording(tmp_path, "shadow", text.format(10, 2000, 30, 2000))
    pinned = [metric.vmkperf_totals(rec["events"].filter(pl.col("pcpu") == 23)) for rec in (nested, shadow)]
    row = metric.compare(*pinned).collect().row(0, named=True)
    assert (row["first_per_s"], row["second_per_s"], row["rate_ratio"]) == (5000, 2000, 2.5)
    assert metric.vmkperf_totals(nested["events"]).collect()["per_s"].item() == 5020


def test_intervals_have_the_length_since_the_one_before(tmp_path):
    lines = [f"{end}.500000000,{count},,cycles,1,100.00,,\n" for end, count in ((0, 50), (1, 300), (3, 800))]
    rec = recording(tmp_path, "perf.csv", "".join(lines))
    rates = metric.per_second(rec["events"], rec["runs"]).collect()
    assert rates["seconds"].to_list() == [0.5, 1.0, 2.0]
    assert rates["per_s"].to_list() == [100, 300, 400]
    total = metric.totals(rec["events"], rec["runs"]).collect().row(0, named=True)
    assert (total["value"], total["seconds"], total["per_s"]) == (1150, 3.5, pytest.approx(1150 / 3.5))


def test_without_seconds_there_is_no_rate(tmp_path):
    rec = recording(tmp_path, "perf.csv", "5,,cycles,1,100.00,,\n")
    assert metric.per_second(rec["events"], rec["runs"]).collect()["per_s"].to_list() == [None]
    assert metric.totals(rec["events"], rec["runs"]).collect()["per_s"].to_list() == [None]


def test_each_kind_of_core_has_instructions_of_its_own(tmp_path):
    text = """ Performance counter stats for 'x' :

   1,000      cpu_core/instructions:u/
   4,000      cpu_atom/instructions:u/
      50      cpu_core/dTLB-load-misses:u/
      50      cpu_atom/dTLB-load-misses:u/
   <not supported>      cpu_atom/iTLB-load-misses:u/
   7.00 msec task-clock

   1.000000000 seconds time elapsed
"""
    rec = recording(tmp_path, "perf.txt", text)
    misses = metric.tlb_misses(rec["events"]).collect().to_dicts()
    assert [one["per_1k_instructions"] for one in misses] == [50.0, 12.5, None]
    assert metric.per_instruction(rec["events"]).collect()["per_instruction"].to_list()[-1] is None


def test_an_event_of_one_recording_alone_is_kept():
    one = pl.LazyFrame({"event": ["a", "b"], "value": [1.0, 2.0], "per_s": [1.0, 0.0]})
    other = pl.LazyFrame({"event": ["b", "c"], "value": [0.0, 3.0], "per_s": [0.0, 3.0]})
    rows = metric.compare(one, other).select("event", "first_value", "second_value", "value_ratio").collect().rows()
    assert rows == [("a", 1.0, None, None), ("b", 2.0, 0.0, None), ("c", None, 3.0, None)]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("cpu_core/dTLB-load-misses/u", "tlb_miss_load"), ("dtlb_load_misses.walk_completed", "tlb_miss_load"),
        ("dTLB-store-misses:u", "tlb_miss_store"), ("iTLB-load-misses", "tlb_miss_instruction"),
        ("tlb_misses", "tlb_miss_load"), ("inst_retired.any", "instructions"), ("cpu-cycles", "cycles"),
        ("dTLB-loads", None), ("iTLB-loads", None), ("branch-misses:k", "branch_miss"),
    ],
)  # fmt: skip
def test_events_have_classes(event, expected):
    assert metric.event_class(event) == expected
    frame = pl.DataFrame({"event": [event]})
    assert frame.select(metric._class(pl.col("event"))).item() == expected
