"""vmkperf output, written: our reader, the poll an article printed, and what is refused."""

from __future__ import annotations

import compose
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex
from esxparse.errors import EsxparseError
from esxparse_simulator.writers.vmkperf import Poll, poll_lines, rates, read_text, start_text

MANY = settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def opened(folder, content):
    rec = ex.open(compose.write(folder, content, "vmkperf.txt"))
    assert rec.format == "vmkperf"
    assert not rec.notes
    return rec


@st.composite
def polled(draw):
    pcpus = draw(st.integers(1, 200))
    row = st.lists(st.floats(0, 1e9), min_size=pcpus, max_size=pcpus)
    rows = draw(st.lists(row, min_size=1, max_size=6))
    return Poll(draw(st.from_regex(r"[a-z][a-z_0-9]{1,15}", fullmatch=True)), pcpus, draw(st.integers(1, 600))), rows


@MANY
@given(polled=polled(), command=st.booleans())
def test_every_rate_comes_back(tmp_path, polled, command):
    poll, rows = polled
    rec = opened(tmp_path, b"".join(poll_lines(poll, rows, command=command)))
    table = rec["events"].collect()
    assert table["rate_per_s"].to_list() == [float(f"{one:.2f}") for row in rows for one in row]
    assert table["pcpu"].to_list() == list(range(poll.pcpus)) * len(rows)
    assert set(table["event"]) == {poll.event}
    assert rec.meta.get("interval") == (poll.interval_s if command else None)
    assert table["count"].null_count() == table.height


@MANY
@given(counts=st.lists(st.integers(0, 2**48), min_size=1, max_size=64), command=st.booleans())
def test_every_count_of_read_comes_back(tmp_path, counts, command):
    table = opened(tmp_path, read_text("tlb_misses", counts, command=command))["events"].collect()
    assert table["count"].to_list() == counts
    assert set(table["event"]) == {"tlb_misses"}
    assert table["rate_per_s"].null_count() == table.height


def test_other_pcpus_may_wander_further_than_the_pinned_one():
    found = rates(Poll("e", 2, 1), 50, {1: 1000.0}, background=100.0, spread=0.01, background_spread=0.4, seed=3)
    others, pinned = zip(*found, strict=True)
    assert max(pinned) - min(pinned) < 21.0
    assert max(others) - min(others) > 60.0
    assert sum(others) == pytest.approx(5000.0)


def test_a_pinned_pcpu_has_the_mean_it_was_given(tmp_path):
    poll = Poll("tlb_misses", 24, 5, 12)
    found = rates(poll, 12, {23: 4_812_000.0}, background=5000.0, seed=7)
    assert found == rates(poll, 12, {23: 4_812_000.0}, background=5000.0, seed=7)
    assert found != rates(poll, 12, {23: 4_812_000.0}, background=5000.0, seed=8)
    content = start_text("tlb_misses", 0xCB, 0x10).encode() + b"".join(poll_lines(poll, found))
    assert content.startswith(b"~ # vmkperf start tlb_misses -e 0xcb -u 0x10\n~ # vmkperf poll tlb_misses -i 5 -n 12\n")
    rec = opened(tmp_path, content)
    assert (rec.meta["pcpus"], rec.meta["samples"], rec.meta["interval"]) == (24, 12, 5.0)
    table = rec["events"].collect()
    means = table.group_by("pcpu").agg(pl.col("rate_per_s").mean()).sort("pcpu")["rate_per_s"].to_list()
    assert means[23] == pytest.approx(4_812_000.0, abs=0.005)
    assert means[:23] == pytest.approx([5000.0] * 23, abs=0.005)
    assert table["rate_per_s"].n_unique() > 200


def test_the_layout_is_that_of_the_printed_poll():
    title, dashes, names, first, second = b"".join(
        poll_lines(Poll("tlbmisses", 24), [[28622.0] * 24, [0.5] * 24], command=False)
    ).splitlines()
    assert title == b"tlbmisses per second per cpu"
    assert dashes == b"-" * 22
    assert names.split() == [f"pcpu{n}".encode() for n in range(24)]
    assert first == b"28622.00 " * 24
    assert second == b"0.50 " * 24


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: list(poll_lines(Poll("two words", 2), [])),
        lambda: list(poll_lines(Poll("e", 0), [])),
        lambda: list(poll_lines(Poll("e", 2, 0), [])),
        lambda: list(poll_lines(Poll("e", 2), [(1.0,)])),
        lambda: list(poll_lines(Poll("e", 1), [(-1.0,)])),
        lambda: read_text("e", []),
        lambda: read_text("e", [-1]),
        lambda: rates(Poll("e", 2), 0, {}),
        lambda: rates(Poll("e", 2), 1, {2: 1.0}),
        lambda: rates(Poll("e", 2), 1, {}, spread=0.5),
        lambda: rates(Poll("e", 2), 1, {}, background_spread=0.5),
        lambda: rates(Poll("e", 2), 1, {0: -1.0}),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(wrong):
    with pytest.raises(EsxparseError, match=r"^[^\n]+$"):
        wrong()
