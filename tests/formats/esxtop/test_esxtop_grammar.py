"""Everything the grammar of esxtop captures allows, and what other releases and programs make of it."""

from __future__ import annotations

import datetime as dt

import compose
import numpy as np
import polars as pl
import pytest
from compose import opened
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

import esxparse as ex

HOSTILE = [
    "plain",
    "web 01 (blue)",
    "a(b)c)",
    "(",
    "db:1:2",
    "a,b",
    'say "hi"',
    '"',
    'x","y',
    "日本語 (1)",
    "<script>alert(1)</script>",
    "naïve.é",
    "100% sure?",
    "a:scsi0:0",
    "dots.and.dots",
    "-",
    "5:6:7",
    "' or 1=1",
]


def table(rec, name):
    return rec[name].collect()


def test_names_of_every_kind_come_back_as_they_were(tmp_path):
    columns = []
    for number, vm in enumerate(HOSTILE):
        gid, world = 100 + number, 2100000 + number
        columns += [(f"Group Cpu({gid}:{vm})", "% Ready"), (f"Group Cpu({gid}:{vm})", "% Used")]
        columns += [(f"Vcpu({gid}:{vm}:{world}:vmx-vcpu-0:{vm})", "% Ready")]
        columns += [(f"Virtual Disk({vm})", "Reads/sec"), (f"Virtual Disk({vm}:scsi0:1)", "Reads/sec")]
        columns += [(f"Network Port(vSwitch0:{33554440 + number}:{world}:{vm})", "Packets Received/sec")]
    values = [f"{number}.25" for number in range(len(columns))]
    rec = opened(tmp_path, compose.text(columns, [values, values]))
    assert rec.notes == ()
    assert list(rec.meta["vms"]) == HOSTILE
    assert rec.meta["columns"] == len(columns) + 1

    groups = table(rec, "group_cpu").head(len(HOSTILE))
    assert groups["group"].to_list() == HOSTILE
    assert groups["group_id"].to_list() == list(range(100, 100 + len(HOSTILE)))
    assert groups["pct_ready"].to_list() == [6 * n + 0.25 for n in range(len(HOSTILE))]
    worlds = table(rec, "vcpu").head(len(HOSTILE))
    assert worlds["group"].to_list() == HOSTILE
    assert worlds["world"].to_list() == [f"vmx-vcpu-0:{vm}" for vm in HOSTILE]
    assert worlds["world_id"].to_list() == list(range(2100000, 2100000 + len(HOSTILE)))
    disks = table(rec, "virtual_disk").head(2 * len(HOSTILE))
    assert disks["vm"].to_list() == [vm for vm in HOSTILE for _ in range(2)]
    assert disks["disk"].to_list() == [None, "scsi0:1"] * len(HOSTILE)
    ports = table(rec, "network_port").head(len(HOSTILE))
    assert ports["client"].to_list() == HOSTILE
    assert ports["world_id"].to_list() == list(range(2100000, 2100000 + len(HOSTILE)))
    assert set(ports["switch"]) == {"vSwitch0"}


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
@pytest.mark.parametrize("trailing", ["", ","])
def test_line_ends_and_trailing_commas(tmp_path, ending, trailing):
    lines = compose.text(
        [("Memory", "Free MBytes"), ("Memory", "Kernel State")], [["1", "2"], ["3", "4.50"]]
    ).splitlines()
    content = (trailing + (ending or "\n")).join(lines) + trailing + ending
    rec = opened(tmp_path, content)
    assert table(rec, "memory").select("free_mbytes", "kernel_state").rows() == [(1.0, 2.0), (3.0, 4.5)]
    assert [note.message.partition(":")[0] for note in rec.notes] == (["trailing comma"] if trailing else [])
    assert rec.meta["columns"] == 3


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("word", ["True", "no", "ON", " y "])
def test_yes_and_no_in_a_counter_of_numbers_are_texts(tmp_path, word, lazy):
    columns = [
        ("Network Port(vSwitch0:1:a)", "Packets Transmitted/sec"),
        ("Network Port(vSwitch0:1:a)", "Link Up?"),
        ("Quantum Bus(q0)", "Is Warm?"),
        ("Quantum Bus(q0)", "Coupled"),
        ("Quantum Bus(q0)", "Spins"),
    ]
    rows = [["7.50", "Yes", word, word, "3"], [word, "No", "1", word, word], ["9.25", "1", word, word, "4"]]
    rec = ex.open(compose.write(tmp_path, compose.text(columns, rows)), lazy=lazy)
    port, bus = table(rec, "network_port"), table(rec, "quantum_bus")
    number = float(word.strip().lower() != "no")
    assert port["packets_transmitted_per_sec"].to_list() == [7.5, None, 9.25]
    assert port["packets_transmitted_per_sec_text"].to_list() == [None, word.strip(), None]
    assert port["link_up"].to_list() == [1.0, 0.0, 1.0]
    assert bus["is_warm"].to_list() == [number, 1.0, number]
    assert bus["coupled"].to_list() == [number] * 3
    assert bus["spins"].to_list() == [3.0, None, 4.0]
    (note,) = [note for note in rec.notes if note.severity == "warning"]
    assert note.message.startswith("2 cells with text: null in the counter's column")
    assert (note.line, note.column) == (3, 2)


@pytest.mark.parametrize(
    ("stamp", "utc"),
    [
        ("(PDH-CSV 4.0) (UTC)(0)", dt.datetime(2026, 3, 2, 8, 0, tzinfo=dt.UTC)),
        ("(PDH-CSV 4.0) (SE Asia Standard Time)(-420)", dt.datetime(2026, 3, 2, 1, 0, tzinfo=dt.UTC)),
        ("(PDH-CSV 4.0) (Eastern Standard Time)(300)", dt.datetime(2026, 3, 2, 13, 0, tzinfo=dt.UTC)),
    ],
)
def test_a_bias_is_added_to_local_time(tmp_path, stamp, utc):
    rec = opened(tmp_path, compose.text([("Memory", "Free MBytes")], [["1"]], stamp=stamp))
    assert rec.meta["start"] == utc
    assert rec["memory"].collect_schema()["time"] == pl.Datetime("us", "UTC")
    assert any("bias" in note.message for note in rec.notes) == (utc.hour != 8)


names = st.text(st.characters(exclude_characters="\\\n\r\x00", exclude_categories=["Cs"]), min_size=1, max_size=12)
values = st.one_of(st.just("0.00"), st.integers(-1, 10**6).map(str), st.decimals(0, 10**5, places=2).map(str))


@given(
    st.dictionaries(
        names,
        st.lists(st.sampled_from(["% Used", "% Ready", "% VmWait"]), min_size=1, unique=True),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 4),
    st.data(),
)
@settings(deadline=None, max_examples=examples(150))
def test_any_names_any_counters_any_values(tmp_path_factory, groups, samples, draw):
    columns = [(f"Group Cpu({gid}:{name})", c) for gid, (name, cs) in enumerate(groups.items()) for c in cs]
    columns = draw.draw(st.permutations(columns))
    rows = [[draw.draw(values) for _ in columns] for _ in range(samples)]
    content = compose.text(columns, rows)
    if any(',"\\\\' in name or '"' in name for name in groups):
        # A doubled quote may be taken back as another program's: what it reads as is tested above.
        groups = {}
    rec = opened(tmp_path_factory.mktemp("any"), content)
    frame = table(rec, "group_cpu")
    assert frame.height == samples * len({owner for owner, _ in columns})
    numbers = frame.select(pl.selectors.float()).to_numpy().ravel()
    got = sorted(numbers[~np.isnan(numbers)].tolist())
    assert got == sorted(float(value) for row in rows for value in row)
    for name in groups:
        assert name in frame["group"].to_list()
