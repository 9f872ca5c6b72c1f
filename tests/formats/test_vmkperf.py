"""vmkperf poll and read, composed: any number of PCPUs, several events in a file, damage."""

from __future__ import annotations

import compose
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples
from strategies_of_text import damaged, reads_or_refuses

import esxparse as ex
from esxparse.errors import DamagedError
from esxparse.formats.kit.head import Head
from esxparse.formats.registry import reader_of

MANY = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def block(event, polls, *, title="{} per second per cpu", command=""):
    names = " ".join(f"pcpu{number}" for number in range(len(polls[0])))
    lines = [
        title.format(event),
        "-" * 22,
        names,
        *(" ".join(f"{value:.2f}" for value in poll) + " " for poll in polls),
    ]
    return (f"{command}\n" if command else "") + "\n".join(lines) + "\n"


def opened(folder, text):
    return ex.open(compose.write(folder, text, "vmkperf.txt"))


def rows(rec, *columns):
    return rec["events"].collect().select(columns).rows()


def test_a_poll_gives_rates_by_time_and_pcpu(tmp_path):
    text = block("tlb_misses", [(100, 2.5), (300, 4)], command="~ # vmkperf poll tlb_misses -i 5 -n 2")
    rec = opened(tmp_path, text)
    assert rows(rec, "poll", "elapsed_s", "pcpu", "event", "rate_per_s", "count") == [
        (1, 5.0, 0, "tlb_misses", 100.0, None),
        (1, 5.0, 1, "tlb_misses", 2.5, None),
        (2, 10.0, 0, "tlb_misses", 300.0, None),
        (2, 10.0, 1, "tlb_misses", 4.0, None),
    ]
    assert (rec.meta["pcpus"], rec.meta["events"], rec.meta["interval"]) == (2, ("tlb_misses",), 5.0)
    assert not rec.notes


def test_without_the_command_line_the_interval_is_not_known(tmp_path):
    rec = opened(tmp_path, block("inst", [(1, 2)]))
    assert rows(rec, "elapsed_s", "rate_per_s") == [(None, 1.0), (None, 2.0)]
    assert "interval" not in rec.meta


def test_several_events_and_reads_stand_in_one_file(tmp_path):
    text = block("a", [(1, 2)]) + block("b", [(3, 4, 5)]) + block("c", [(6e9, 7)], title="{}", command="vmkperf read c")
    rec = opened(tmp_path, text)
    assert rows(rec, "block", "pcpu", "event", "rate_per_s", "count") == [
        (1, 0, "a", 1, None), (1, 1, "a", 2, None),
        (2, 0, "b", 3, None), (2, 1, "b", 4, None), (2, 2, "b", 5, None),
        (3, 0, "c", None, 6e9), (3, 1, "c", None, 7),
    ]  # fmt: skip


def test_lines_a_terminal_wrapped_are_put_together(tmp_path):
    polls = [tuple(float(cpu + 100 * poll) for cpu in range(24)) for poll in range(3)]
    wrapped = "\n".join(
        "\n".join(" ".join(words[at : at + 7]) for at in range(0, len(words), 7)) if len(words) > 7 else line
        for line in block("tlb", polls).split("\n")
        for words in [line.split()]
    )
    rec = opened(tmp_path, wrapped)
    assert rec.meta["pcpus"] == 24
    assert [value for (value,) in rows(rec, "rate_per_s")] == [value for poll in polls for value in poll]
    assert not rec.notes


def test_a_line_that_is_not_whole_is_left_out_and_told_of(tmp_path):
    rec = opened(tmp_path, block("tlb", [(1, 2, 3), (4, 5, 6)])[: -len("6.00 \n") - 1])
    assert [value for (value,) in rows(rec, "rate_per_s")] == [1, 2, 3]
    assert [note.severity for note in rec.notes] == ["info", "warning"]


def test_a_title_alone_is_one_clear_error(tmp_path):
    with pytest.raises(DamagedError, match="no complete line of vmkperf numbers"):
        opened(tmp_path, block("tlb", [(1, 2)]).rsplit("\n", 2)[0])


def test_the_poll_of_the_study_is_read(tmp_path):
    # The layout of the blog's capture of 24 PCPUs, with other numbers.
    polls = [tuple(1000.0 * cpu + poll for cpu in range(24)) for poll in (0, 1)]
    text = block("tlbmisses", polls, command="~ # vmkperf poll tlb_misses -i 1 -n 2")
    rec = opened(tmp_path, text)
    frame = rec["events"].collect()
    assert frame.height == 48
    assert frame.filter(pcpu=23)["rate_per_s"].to_list() == [23000.0, 23001.0]
    assert frame["elapsed_s"].unique().sort().to_list() == [1.0, 2.0]


@MANY
@given(
    polls=st.integers(1, 40).flatmap(
        lambda cpus: st.lists(st.lists(st.integers(0, 10**9), min_size=cpus, max_size=cpus), min_size=1, max_size=4)
    ),
    width=st.sampled_from([0, 5, 80]),
)
def test_what_is_written_is_read_back(tmp_path, polls, width):
    text = block("event", polls)
    if width:
        head, *lines = text.split("\n")
        words = (
            "\n".join(" ".join(line.split()[at : at + width]) for at in range(0, len(line.split()), width))
            for line in lines
        )
        text = "\n".join([head, *words])
    rec = opened(tmp_path, text)
    assert [value for (value,) in rows(rec, "rate_per_s")] == [value for poll in polls for value in poll]


@MANY
@given(
    damage=damaged(block("tlb", [(1, 2, 3)] * 3, command="# vmkperf poll tlb -i 2") + block("b", [(9, 8)], title="{}"))
)
def test_damage_gives_a_recording_or_one_clear_line(tmp_path, damage):
    assert reader_of("vmkperf").recognise(Head(damage)) in {True, False}
    assert reads_or_refuses(compose.write(tmp_path, damage, "damaged"), "vmkperf")


def lines_of(*numbers, names="pcpu0 pcpu1 pcpu2 "):
    return "\n".join(["# vmkperf poll tlb -i 5", "tlb per second per cpu", "-" * 5, names, *numbers]) + "\n"


def test_a_damaged_poll_moves_no_other(tmp_path):
    rec = opened(tmp_path, lines_of("10 11 12 ", "20 21 ", "30 31 32 ", "40 41 42 43", "50 51 52 "))
    found = rec["events"].filter(pcpu=0).select("poll", "elapsed_s", "rate_per_s").collect().rows()
    assert found == [(1, 5, 10), (3, 15, 30), (5, 25, 50)]
    assert [note.line for note in rec.notes if note.severity == "warning"] == [6, 8]


def test_what_is_left_of_two_polls_is_not_one(tmp_path):
    rec = opened(tmp_path, lines_of("10.00 11.00 ", "20.00", "30.00 ", "40.00 41.00 ", names="pcpu0 pcpu1 "))
    assert rows(rec, "poll", "rate_per_s") == [(1, 10), (1, 11), (4, 40), (4, 41)]
    assert [note.line for note in rec.notes] == [6, 7]


def test_numbers_that_wrap_below_names_that_do_not_are_put_together(tmp_path):
    rec = opened(tmp_path, lines_of("10.00 11.00 12.00", "1000000000.00 1100000000.00", "1200000000.00", "30 31 32"))
    assert rows(rec, "poll", "rate_per_s")[3:] == [(2, 1e9), (2, 1.1e9), (2, 1.2e9), (3, 30), (3, 31), (3, 32)]
    assert not rec.notes


def test_a_wrapped_poll_that_lost_a_line_leaves_the_others(tmp_path):
    polls = [("1 2", "3"), ("4",), ("7 8", "9")]
    text = lines_of("pcpu2", *(line for poll in polls for line in poll), names="pcpu0 pcpu1")
    rec = opened(tmp_path, text)
    assert rows(rec, "poll", "rate_per_s") == [(1, 1), (1, 2), (1, 3), (3, 7), (3, 8), (3, 9)]
    assert len(rec.notes) == 1


def test_wrapped_polls_of_lines_of_one_length_are_left_out_where_a_line_is_lost(tmp_path):
    whole = lines_of("pcpu2 pcpu3", "1 2", "3 4", "5 6", "7 8", names="pcpu0 pcpu1")
    assert len(rows(opened(tmp_path, whole), "rate_per_s")) == 8
    with pytest.raises(DamagedError, match="which one is unknown"):
        opened(tmp_path, whole.replace("3 4\n", ""))


def test_a_rate_that_touches_the_end_of_the_file_is_not_read(tmp_path):
    rec = opened(tmp_path, lines_of("1.00 2.00 ", "3.00 48112", names="pcpu0 pcpu1").rstrip("\n"))
    assert rows(rec, "rate_per_s") == [(1,), (2,)]
    (note,) = rec.notes
    assert "its last number may be cut" in note.message
