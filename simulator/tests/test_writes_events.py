"""Counters of hardware events, written: perf stat of old releases and vmkperf, read back by our readers."""

from __future__ import annotations

import compose
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse_simulator.writers.events import VERSIONS, Event, Poll, Run, perf_text, poll_lines, poll_rates

MANY = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = (
    "cycles", "instructions", "branches", "branch-misses", "dTLB-loads", "dTLB-load-misses", "page-faults",
    "cache-references", "cache-misses", "stalled-cycles-frontend", "L1-dcache-load-misses",
)  # fmt: skip
WORK = Run(
    "./work --all",
    (10.0,),
    (
        Event("task-clock", (8000.0,), "msec"),
        Event("cycles", (24_000_000_000,)),
        Event("instructions", (36_000_000_000,), running_pct=66.61),
        Event("stalled-cycles-backend", (12_000_000_000,)),
        Event("branches", (5_000_000_000,)),
        Event("branch-misses", (50_000_000,)),
        Event("dTLB-loads", (1_000_000_000,)),
        Event("dTLB-load-misses", (2_500_000,)),
        Event("LLC-loads", (), state="not supported"),
        Event("LLC-load-misses", (), state="not counted", running_pct=0.0),
    ),
)


def opened(folder, content, kind="perf_stat"):
    rec = ex.open(compose.write(folder, content, "counts.txt"))
    assert rec.format == kind
    assert not [str(note) for note in rec.notes if note.severity == "warning"]
    return rec


def events(rec):
    return rec["events"].collect().to_dicts()


@st.composite
def runs(draw):
    repeated = draw(st.integers(1, 4))
    elapsed = draw(st.lists(st.floats(0.01, 5000), min_size=repeated, max_size=repeated, unique=True))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    counts = st.lists(st.integers(0, 10**13), min_size=repeated, max_size=repeated).map(tuple)
    found = [Event(name, draw(counts), running_pct=draw(st.sampled_from([100.0, 83.31, 50.0, 0.4]))) for name in names]
    if draw(st.booleans()):
        clock = st.lists(st.floats(1.0, 1e7), min_size=repeated, max_size=repeated).map(tuple)
        found.insert(0, Event("task-clock", draw(clock), "msec"))
    return Run("perl stress.pl", tuple(elapsed), tuple(found))


@MANY
@given(run=runs(), version=st.sampled_from(VERSIONS))
def test_every_count_comes_back(tmp_path, run, version):
    rec = opened(tmp_path, perf_text(run, version))
    rows = events(rec)
    assert len(rows) == len(run.events)
    for event, row in zip(run.events, rows, strict=True):
        mean = sum(event.counts) / len(event.counts)
        assert row["event"].removesuffix("-msecs") == event.name
        assert row["value"] == pytest.approx(mean, abs=0.5 if not event.unit else 0.005, rel=1e-12)
        told = 100.0 if row["counted_pct"] is None else row["counted_pct"]
        assert told == pytest.approx(event.running_pct, abs=0.011)
        if len(event.counts) > 1 and row["stddev_pct"] is not None and mean:
            squares = sum((one - mean) ** 2 for one in event.counts)
            error = (squares / (len(event.counts) - 1) / len(event.counts)) ** 0.5
            assert row["stddev_pct"] == pytest.approx(100 * error / mean, abs=0.0051)
    (one,) = rec["runs"].collect().to_dicts()
    assert (one["command"], one["repetitions"] or 1) == (run.command, len(run.elapsed_s))
    assert one["elapsed_s"] == pytest.approx(sum(run.elapsed_s) / len(run.elapsed_s), rel=1e-2)


@pytest.mark.parametrize("version", VERSIONS)
def test_metrics_follow_from_the_counts(tmp_path, version):
    rec = opened(tmp_path, perf_text(WORK, version))
    rows = {row["event"].removesuffix("-msecs"): row for row in events(rec)}
    old = version == "2.6.32"
    assert rows["task-clock"]["metric_value"] == pytest.approx(0.8)
    assert rows["instructions"]["metric_value"] == pytest.approx(1.5)
    assert rows["cycles"]["metric_value"] == pytest.approx(3000.0 if old else 3.0)
    assert rows["dTLB-load-misses"]["metric_value"] == pytest.approx(0.312 if old else 0.25, abs=0.001)
    assert rows["branch-misses"]["metric_value"] == pytest.approx(6.25 if old else 1.0)
    assert rows["branches"]["metric_value"] == pytest.approx(625.0)
    assert rows["LLC-loads"]["state"] == ("not counted" if old else "not supported")
    assert rows["LLC-load-misses"]["state"] == "not counted"
    if not old:
        stalled = [row for row in rec["metrics"].collect().to_dicts() if "stalled" in str(row["metric_unit"])]
        assert [round(row["metric_value"], 2) for row in stalled] == [0.33]
    assert rows["instructions"]["counted_pct"] == 66.61


def test_the_published_counts_are_as_published(tmp_path):
    nested = Run("perl tlbstress.pl", (60.072490066,), (Event("dTLB-load-misses", (68_456_568,)),))
    shadow = Run("perl tlbstress.pl", (59.116399919,), (Event("dTLB-load-misses", (38_750_437,)),))
    content = perf_text(nested, "2.6.32") + perf_text(shadow, "2.6.32")
    squeezed = [" ".join(line.split()) for line in content.splitlines() if line.strip()]
    assert squeezed == [
        "Performance counter stats for 'perl tlbstress.pl':",
        "68456568 dTLB-load-misses # 0.000 M/sec",
        "60.072490066 seconds time elapsed",
        "Performance counter stats for 'perl tlbstress.pl':",
        "38750437 dTLB-load-misses # 0.000 M/sec",
        "59.116399919 seconds time elapsed",
    ]
    rec = opened(tmp_path, content)
    assert [row["value"] for row in events(rec)] == [68_456_568, 38_750_437]
    assert rec["runs"].collect()["elapsed_s"].to_list() == [60.072490066, 59.116399919]


@st.composite
def polled(draw):
    pcpus = draw(st.integers(1, 200))
    row = st.lists(st.floats(0, 1e9), min_size=pcpus, max_size=pcpus)
    rows = draw(st.lists(row, min_size=1, max_size=6))
    return Poll(draw(st.from_regex(r"[a-z][a-z_0-9]{1,15}", fullmatch=True)), pcpus, draw(st.integers(1, 600))), rows


@MANY
@given(polled=polled())
def test_every_rate_comes_back(tmp_path, polled):
    poll, rows = polled
    rec = opened(tmp_path, b"".join(poll_lines(poll, rows)), "vmkperf")
    table = rec["events"].collect()
    assert table["rate_per_s"].to_list() == [float(f"{one:.2f}") for row in rows for one in row]
    assert table["pcpu"].to_list() == list(range(poll.pcpus)) * len(rows)
    assert set(table["event"]) == {poll.event}
    assert rec.meta.get("interval") == poll.interval_s
    assert table["count"].null_count() == table.height


def test_other_pcpus_may_wander_further_than_the_pinned_one():
    others, pinned = zip(*poll_rates(Poll("e", 2, 1, 50), {1: 1000.0}, 100.0, 0.01, 0.4, 3), strict=True)
    assert max(pinned) - min(pinned) < 21.0
    assert max(others) - min(others) > 60.0
    assert sum(others) == pytest.approx(5000.0)


def test_a_pinned_pcpu_has_the_mean_it_was_given(tmp_path):
    poll, busy = Poll("tlb_misses", 24, 5, 12), {23: 4_812_000.0}
    found = poll_rates(poll, busy, 5000.0, 0.3, 0.3, 7)
    assert found == poll_rates(poll, busy, 5000.0, 0.3, 0.3, 7)
    assert found != poll_rates(poll, busy, 5000.0, 0.3, 0.3, 8)
    content = b"".join(poll_lines(poll, found))
    assert content.startswith(b"~ # vmkperf poll tlb_misses -i 5 -n 12\n")
    rec = opened(tmp_path, content, "vmkperf")
    assert (rec.meta["pcpus"], rec.meta["samples"], rec.meta["interval"]) == (24, 12, 5.0)
    table = rec["events"].collect()
    means = table.group_by("pcpu").agg(pl.col("rate_per_s").mean()).sort("pcpu")["rate_per_s"].to_list()
    assert means[23] == pytest.approx(4_812_000.0, abs=0.005)
    assert means[:23] == pytest.approx([5000.0] * 23, abs=0.005)
    assert table["rate_per_s"].n_unique() > 200


def test_the_layout_is_that_of_the_printed_poll():
    _, title, dashes, names, first, second = b"".join(
        poll_lines(Poll("tlbmisses", 24), [[28622.0] * 24, [0.5] * 24])
    ).splitlines()
    assert title == b"tlbmisses per second per cpu"
    assert dashes == b"-" * 22
    assert names.split() == [f"pcpu{n}".encode() for n in range(24)]
    assert first == b"28622.00 " * 24
    assert second == b"0.50 " * 24


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: perf_text(Run("x", (), WORK.events)),
        lambda: perf_text(Run("x", (1.0,), ())),
        lambda: perf_text(Run("x", (0.0,), WORK.events)),
        lambda: perf_text(Run("x", (1.0, 1.0), (Event("cycles", (1, 2)),))),
        lambda: perf_text(Run("x", (1.0, 2.0), (Event("cycles", (1,)),))),
        lambda: perf_text(Run("x", (1.0,), (Event("cycles", (-1,)),))),
        lambda: perf_text(Run("x", (1.0,), (Event("cycles", (1,), running_pct=0.0),))),
        lambda: perf_text(WORK, "7.99"),
        lambda: list(poll_lines(Poll("two words", 2), [])),
        lambda: list(poll_lines(Poll("e", 0), [])),
        lambda: list(poll_lines(Poll("e", 2, 0), [])),
        lambda: poll_rates(Poll("e", 2, 1, 0), {}, 0.0, 0.3, 0.3, 0),
        lambda: poll_rates(Poll("e", 2), {2: 1.0}, 0.0, 0.3, 0.3, 0),
        lambda: poll_rates(Poll("e", 2), {}, 0.0, 0.5, 0.3, 0),
        lambda: poll_rates(Poll("e", 2), {}, 0.0, 0.3, 0.5, 0),
        lambda: poll_rates(Poll("e", 2), {0: -1.0}, 0.0, 0.3, 0.3, 0),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(wrong):
    with pytest.raises(EsxparseError, match=r"^[^\n]+$"):
        wrong()
