"""TLB misses by mode, what they can cost, and advice that does not claim more than was shown."""

from __future__ import annotations

import math
import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esxparse.errors import EsxparseError
from esxparse.metrics import mmu

COUNT = st.floats(1, 1e9)
SECONDS = st.floats(1, 1e4)


def totals(**rates):
    return pl.LazyFrame(
        {"event": list(rates), "value": [60.0 * one for one in rates.values()], "per_s": list(rates.values())}
    )


@given(misses=COUNT, seconds=SECONDS)
def test_runs_hold_rates_and_times(misses, seconds):
    found = mmu.runs([misses, misses], [seconds, seconds])
    assert found.per_s == pytest.approx((misses / seconds,) * 2)
    assert found.work_s == (seconds, seconds)


@given(rate=COUNT, mhz=st.floats(500, 5000), cycles=st.floats(1, 500), cpus=st.integers(1, 64))
def test_the_share_of_walks_is_cycles_over_cycles(rate, mhz, cycles, cpus):
    share = mmu.walk_share_pct(rate, mhz, cycles, cpus)
    assert share == pytest.approx(100 * rate * cycles / (mhz * 1e6) / cpus)


def test_only_tlb_events_are_compared_and_those_asked_for():
    nested = totals(tlb_misses=200.0, cycles=5.0, raw_cb10=9.0)
    shadow = totals(tlb_misses=100.0, cycles=5.0, raw_cb10=3.0)
    got = mmu.compare_modes(nested, shadow).collect()
    assert got.select("event", "event_class", "rate_ratio").rows() == [("tlb_misses", "tlb_miss_load", 2.0)]
    more = (
        mmu.compare_modes(nested, shadow, events=["raw_cb10"]).select("event", "event_class", "misses_ratio").collect()
    )
    assert more.rows() == [("raw_cb10", None, 3.0), ("tlb_misses", "tlb_miss_load", 2.0)]


def test_a_mode_without_misses_has_no_ratio():
    got = mmu.compare_modes(totals(tlb_misses=200.0), totals(tlb_misses=0.0)).collect()
    assert got["rate_ratio"].item() is None
    assert got["nested_per_s"].item() == 200
    advised = mmu.advice(mmu.Runs((5e6,)), mmu.Runs((0.0,)), mhz=2400)
    assert (advised.rate_ratio, advised.mode) == (None, "undecided")


REPEATED = [60.0, 60.2, 59.9, 60.1]


def advised(nested_s, shadow_s, misses=2e8):
    return mmu.advice(
        mmu.runs([misses] * len(nested_s), nested_s), mmu.runs([misses / 2] * len(shadow_s), shadow_s), mhz=2400
    )


def test_the_times_of_repetitions_decide():
    shadow = advised(REPEATED, [one * 0.95 for one in REPEATED])
    assert (shadow.mode, shadow.shown) == ("shadow", True)
    assert shadow.time_interval is not None
    assert shadow.time_interval.low > 1
    nested = advised([one * 0.95 for one in REPEATED], REPEATED)
    assert (nested.mode, nested.shown) == ("nested", True)
    same = advised(REPEATED, list(reversed(REPEATED)))
    assert (same.mode, same.shown) == ("either", False)
    assert same.reasons[1] == "equal within 2 % (+0 % [-0.537, +0.54]): either mode will do"


def test_no_evidence_is_no_evidence_of_equality():
    """The published misreading: -14.3 % [-137, +419] was called "either mode will do"."""
    found = advised([60.0, 30.0, 90.0], [70.0, 35.0, 105.0])
    assert (found.mode, found.shown) == ("undecided", False)
    assert found.reasons[1].startswith("the data do not show which is faster (-14.3 %")
    assert re.search(r": about \d+ runs of each \(\d+ to .*\) would show 14.3 %$", found.reasons[1])
    assert "either" not in found.reasons[1]
    slightly = advised([60.0, 61.5, 58.5], [60.0, 61.0, 59.0])
    assert slightly.mode == "undecided"


def test_times_that_scatter_beyond_a_ratio_are_undecided():
    found = advised([50.0, 51.0, 52.0], [1.0, 100.0, 1.5])
    assert (found.mode, found.time_interval) == ("undecided", None)
    assert "[" not in found.reasons[1]


def test_twice_the_misses_do_not_outweigh_a_shorter_time():
    found = advised([58.0, 58.1, 57.9], [60.0, 60.1, 59.9])
    assert found.rate_ratio == pytest.approx(2 * 60 / 58, rel=0.01)
    assert found.mode == "nested"


def test_single_runs_make_a_suspicion_and_no_interval():
    found = advised([60.0], [59.0])
    assert (found.mode, found.shown, found.time_interval) == ("shadow", False, None)
    assert "repeat both" in found.reasons[1]
    assert advised([59.0], [60.0]).mode == "nested"
    assert advised([60.0], [60.0]).mode == "undecided"
    assert advised([60.0, 60.1], [59.0]).time_interval is None


def test_a_suspicion_asks_for_repetitions():
    why = advised([60.0], [59.0]).reasons[1]
    assert why == "the data do not show which is faster (+1.69 %): one run may be chance, repeat both"


def test_few_misses_do_not_matter():
    found = advised([60.0], [59.0], misses=1e6)
    assert found.nested_walk_pct[1] < mmu.MATTERS_PCT
    assert (found.mode, found.large_pages) == ("either", False)
    assert "hardly matters" in found.reasons[1]


def test_polls_time_no_work_and_say_so():
    found = mmu.advice(mmu.Runs((5_000_000.0,)), mmu.Runs((2_500_000.0,)), mhz=2400)
    assert (found.mode, found.shown, found.time_ratio, found.large_pages) == ("shadow", False, None, True)
    assert "time the same work" in found.reasons[1]
    # 5 million a second x 40 to 300 cycles of 2,400 million
    assert found.nested_walk_pct == pytest.approx((8.333, 62.5), rel=1e-3)
    assert found.shadow_walk_pct == pytest.approx((2.083, 10.417), rel=1e-3)
    assert found.reasons[0] == (
        "page walks take 8.3 to 62.5 % of the CPU with nested paging, 2.1 to 10.4 % with shadow page tables"
    )


@settings(deadline=None)
@given(nested=st.lists(SECONDS, min_size=1, max_size=4), shadow=st.lists(SECONDS, min_size=1, max_size=4))
def test_nothing_is_shown_without_repetitions(nested, shadow):
    found = advised([max(nested)], shadow)
    assert not found.shown
    assert found.mode in {"nested", "shadow", "either", "undecided"}
    assert len(found.reasons) == 2


@pytest.mark.parametrize(("misses", "seconds"), [([], []), ([1.0], []), ([1.0], [1.0, 2.0])])
def test_counts_without_their_times_are_refused(misses, seconds):
    with pytest.raises(EsxparseError, match="one of each for every repetition"):
        mmu.runs(misses, seconds)


@pytest.mark.parametrize("bad", [0, -1, math.nan])
def test_zero_times_and_frequencies_are_refused(bad):
    with pytest.raises(EsxparseError, match="time above 0"):
        mmu.per_second(1, bad)
    with pytest.raises(EsxparseError, match="CPUs to run on"):
        mmu.walk_share_pct(1, bad, 100)


def test_advice_needs_runs_of_both_modes():
    with pytest.raises(EsxparseError, match="no runs with shadow paging"):
        mmu.advice(mmu.Runs((1.0,)), mmu.Runs(()), mhz=2400)
    with pytest.raises(EsxparseError, match="no runs with nested paging"):
        mmu.advice(mmu.Runs(()), mmu.Runs((1.0,)), mhz=2400)
