"""Replies of the Esxtop service: the published grammar, and counters that go on from reply to reply."""

from __future__ import annotations

import re

import esxparse_simulator as simulate
from esxparse_simulator.writers.esxtop_api import replies, write_replies

LINE = re.compile(r"\|(?P<type>\w+)\|(?P<values>(?:[^|\n]*\|)+)")
COUNTS = re.compile(
    r"(?:Used|Sys|CoStop|Halt|CoreHalt|Elapsed)TimeInUsec|NumOf(?:Send|Recv)(?:Packets|Bytes)|Swap(?:Read|Wrtn)InKB"
)


def values(reply):
    """Type and values of each line of counters."""
    found = [LINE.fullmatch(line) for line in reply.partition("==COUNTER-VALUE==\n")[2].splitlines()]
    return [(match["type"], match["values"].split("|")[:-1]) for match in found]


def test_every_line_has_the_fields_of_its_type_and_counters_never_fall():
    info, fetched = replies(simulate.capture(simulate.busy_host(), samples=4))
    fields = {match["type"]: match["values"].split("|")[:-1] for match in map(LINE.fullmatch, info.splitlines())}
    before = {}
    for reply in fetched:
        assert reply.startswith("==NUM-OF-OBJ==\n|Server|")
        for kind, row in values(reply):
            assert len(row) == len(fields[kind])
            for field, value in zip(fields[kind], row, strict=True):
                name, _, what = field.partition(",")
                assert what in {"STR", "CSTR"} or value.isdecimal(), (kind, field, value)
                if COUNTS.fullmatch(name):
                    key = (kind, row[0] if kind != "PMem" else "", name)
                    assert int(value) >= before.get(key, 0)
                    before[key] = int(value)
    # Worlds, PCPUs, ports, and what the host swapped.
    assert len(before) == 83 * 3 + 16 * 4 + 20 * 4 + 2


def test_the_topology_has_as_many_children_as_it_says():
    _, (reply,) = replies(simulate.capture(simulate.busy_host()), 1)
    lines = re.findall(r"^\|(\w+)\|(.*)\|$", reply.partition("==COUNTER-VALUE==")[0], re.MULTILINE)
    counts = dict.fromkeys(("SchedGroup", "CPUClient", "NetPortset", "NetPort"), 0)
    for _, properties in lines:
        for name, _, number in (one.partition(",") for one in properties.split("|")):
            if name in counts:
                counts[name] += int(number)
    assert counts == {name: sum(kind == name for kind, _ in lines) for name in counts}
    clients = {re.search(r"CPUClientID,(\d+)", properties)[1] for kind, properties in lines if kind == "CPUClient"}
    assert clients == {row[0] for kind, row in values(reply) if kind == "VCPU"}


def test_replies_are_written_one_by_one(tmp_path):
    info, fetched = replies(simulate.capture(simulate.busy_host()), 2)
    write_replies(tmp_path, info, fetched)
    assert [file.name for file in sorted(tmp_path.iterdir())] == [
        "counterinfo.txt",
        "fetchstats-0001.txt",
        "fetchstats-0002.txt",
    ]
    assert (tmp_path / "fetchstats-0002.txt").read_text() == fetched[1]
