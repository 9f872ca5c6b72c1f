"""What a report on a fleet makes of findings and captures, worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace

import polars as pl
import pytest

from esxparse.reports.fleet import gather


def at(minute):
    return None if minute is None else datetime(2026, 3, 2, 8, minute, tzinfo=UTC)


def findings(*rows):
    """Rows: host, trouble, severity, kind, name, first and last minute."""
    names = ("host", "trouble", "severity", "kind", "name", "start", "end")
    filled = [(*row[:5], at(row[5]), at(row[6])) for row in rows]
    kinds = {name: pl.Datetime("us", "UTC") if name in {"start", "end"} else pl.String for name in names}
    return pl.DataFrame(filled, schema=kinds, orient="row").with_columns(
        title=pl.format("Title of {}", "trouble"),
        likelihood=pl.when(pl.col("trouble") == "cpu.sure").then(pl.lit("likely")).otherwise(pl.lit("weak")),
        basis=pl.lit("Confidence 0.4"),
        verdict=pl.format("{} of {}", "trouble", "host"),
        next=pl.format("look at {}", "name"),
    )


FOUND = findings(
    ("h1", "storage.slow", "warning", "device", "naa.1", 5, 9),
    ("h3", "storage.slow", "critical", "device", "naa.1", 7, 8),
    ("h2", "storage.slow", "critical", "device", "naa.2", 1, 3),
    ("h2", "storage.slow", "critical", "device", "naa.1", 0, 3),
    ("h1", "cpu.limit", "critical", "vm", "db", 2, 3),
    ("h1", "cpu.limit", "critical", "vm", "web", 1, 3),
    ("h1", "memory.swap", "warning", "vm", "db", 2, 3),
    ("h2", "memory.swap", "warning", "vm", "app", 3, 4),
    ("h3", "memory.swap", "warning", "vm", "app", 3, 4),
)


def test_troubles_are_ordered_by_the_hosts_on_which_they_are_critical_and_told_of_the_first():
    rows = gather.by_trouble(FOUND).to_dicts()
    assert [(row["trouble"], row["critical"], row["hosts"], row["names"]) for row in rows] == [
        ("storage.slow", 2, 3, ["h2", "h3", "h1"]),
        ("cpu.limit", 1, 1, ["h1"]),
        ("memory.swap", 0, 3, ["h1", "h2", "h3"]),
    ]
    # The first of the critical ones: by host, then by time.
    assert (rows[0]["verdict"], rows[0]["next"], rows[0]["start"]) == ("storage.slow of h2", "look at naa.1", at(0))
    assert (rows[1]["next"], rows[1]["start"]) == ("look at web", at(1))
    assert (rows[1]["title"], rows[1]["likelihood"], rows[1]["basis"]) == (
        "Title of cpu.limit",
        "weak",
        "Confidence 0.4",
    )


def test_of_troubles_of_as_many_hosts_the_likely_one_comes_first():
    sure = ("h1", "cpu.sure", "critical", "vm", "web", 1, 2)
    ranked = gather.by_trouble(pl.concat([FOUND, findings(sure)]))["trouble"].to_list()
    assert ranked == ["storage.slow", "cpu.sure", "cpu.limit", "memory.swap"]


def test_objects_of_one_name_on_several_hosts_are_one_but_for_local_ones():
    local = [(f"h{host}", "storage.slow", "warning", "device", "mpx.vmhba0:C0:T0:L0", 1, 2) for host in (1, 2)]
    nfs = [(f"h{host}", "nfs.slow", "warning", "nfs", "backup", 1, 2) for host in (1, 2)]
    rows = gather.same_object(pl.concat([FOUND, findings(*local, *nfs)])).to_dicts()
    assert [tuple(row.values()) for row in rows] == [
        ("device", "naa.1", 3, "h1, h2, h3", "Title of storage.slow"),
        ("nfs", "backup", 2, "h1, h2", "Title of nfs.slow"),
    ]


def test_spells_that_follow_each_other_without_a_gap_are_one_time():
    rows = gather.same_time(
        findings(
            ("h1", "storage.slow", "warning", "device", "a", 0, 10),
            ("h2", "storage.slow", "warning", "device", "a", 3, 4),
            ("h3", "storage.slow", "critical", "device", "a", 10, 12),  # begins as the first ends
            ("h1", "storage.slow", "warning", "device", "a", 13, 14),  # after a gap, alone
            ("h1", "storage.slow", "warning", "device", "a", 20, 21),
            ("h2", "storage.slow", "warning", "device", "b", 21, 25),
            ("h1", "storage.slow", "warning", "device", "b", None, 25),
            ("h1", "cpu.limit", "critical", "vm", "a", 0, 10),  # within a host
            ("h2", "cpu.limit", "critical", "vm", "a", 0, 10),
        )
    ).to_dicts()
    assert [tuple(row[name] for name in ("trouble", "start", "end", "hosts", "names")) for row in rows] == [
        ("storage.slow", at(0), at(12), 3, "h1, h2, h3"),
        ("storage.slow", at(20), at(25), 2, "h1, h2"),
    ]


@dataclass
class Lake:
    """What `Fleet` asks of a lake."""

    captures: list
    since: datetime | None = None
    until: datetime | None = None
    held: list = field(default_factory=list)


def capture(host, first, last, **more):
    return SimpleNamespace(host=host, span=(at(first), at(last)), tables={}, meta={}, format="esxtop", **more)


def fleet(lake, said=()):
    return gather.Fleet(lake, said, FOUND, *[pl.DataFrame()] * 5)


CAPTURES = [
    capture("b", 5, 9),
    capture("a", 0, 10),
    capture("a", 10, 20),  # from where the one before ends
    capture("a", 12, 15),  # within it
    capture("a", 21, 30),
    capture("b", None, None),
]


def test_time_that_several_captures_cover_is_one_span():
    assert fleet(Lake(CAPTURES)).spans == [("a", at(0), at(20)), ("a", at(21), at(30)), ("b", at(5), at(9))]
    part = fleet(Lake(CAPTURES, at(7), at(25)))
    assert part.spans == [("a", at(7), at(20)), ("a", at(21), at(25)), ("b", at(7), at(9))]
    assert part.hosts == ["a", "b"]


@pytest.mark.parametrize("order", [1, -1])
def test_a_host_is_judged_as_far_as_its_fullest_capture_lets(order):
    said = [
        (CAPTURES[1], {"findings": [], "judged": 30, "of": 40}),
        (CAPTURES[2], {"findings": [], "judged": 10, "of": 40}),
        (CAPTURES[0], {"quality": {}}),
    ]
    assert fleet(Lake(CAPTURES), said[::order]).judged == {"a": 0.75}
