"""Rates, ratios and TLB misses from perf stat and vmkperf."""

from __future__ import annotations

import compose
import polars as pl
import pytest

import esxparse as ex
from esxparse.metrics import hardware_events as metric


def recording(folder, name, text):
    return ex.open(compose.write(folder, text, name))


def test_intervals_have_the_length_since_the_one_before(tmp_path):
    lines = [f"{end}.500000000,{count},,cycles,1,100.00,,\n" for end, count in ((0, 50), (1, 300), (3, 800))]
    rec = recording(tmp_path, "perf.csv", "".join(lines))
    rates = metric.per_second(rec["events"], rec["runs"]).collect()
    assert rates["seconds"].to_list() == [0.5, 1.0, 2.0]
    assert rates["per_s"].to_list() == [100, 300, 400]
    total = metric.totals(rec["events"], rec["runs"]).collect().row(0, named=True)
    assert (total["value"], total["seconds"], total["per_s"]) == (1150, 3.5, pytest.approx(1150 / 3.5))


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
