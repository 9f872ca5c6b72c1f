"""vmkperf poll, composed: any number of PCPUs, lines wrapped anywhere."""

from __future__ import annotations

from compose import opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search import examples

MANY = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def block(polls):
    names = " ".join(f"pcpu{number}" for number in range(len(polls[0])))
    lines = [" ".join(f"{value:.2f}" for value in poll) + " " for poll in polls]
    return "\n".join(["event per second per cpu", "-" * 22, names, *lines]) + "\n"


@MANY
@given(
    polls=st.integers(1, 40).flatmap(
        lambda cpus: st.lists(st.lists(st.integers(0, 10**9), min_size=cpus, max_size=cpus), min_size=1, max_size=4)
    ),
    width=st.sampled_from([0, 5, 80]),
)
def test_what_is_written_is_read_back(tmp_path, polls, width):
    text = block(polls)
    if width:
        head, *lines = text.split("\n")
        words = (
            "\n".join(" ".join(line.split()[at : at + width]) for at in range(0, len(line.split()), width))
            for line in lines
        )
        text = "\n".join([head, *words])
    rec = opened(tmp_path, text)
    assert rec["events"].collect()["rate_per_s"].to_list() == [value for poll in polls for value in poll]
