"""Slices: what is opened again is exactly the part that was asked for, and nothing is lost on the way."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import compose
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples
from slices import COLUMNS, ROWS, assert_same, sliced

import esxparse as ex
from esxparse.formats.esxtop import layout
from esxparse.formats.esxtop.slice import slice_capture


def test_a_slice_of_everything_is_the_capture_byte_for_byte(tmp_path, busy_host_file):
    output = tmp_path / "all.csv"
    done = slice_capture(busy_host_file, output)
    assert output.read_bytes() == busy_host_file.read_bytes()
    assert done.notes == ()


def test_tables_by_their_names_and_their_objects(tmp_path, busy_host_file):
    whole, part, _ = sliced(tmp_path, busy_host_file, tables=["vcpu", "Group Cpu"])
    assert list(part.tables) == ["group_cpu", "vcpu"]
    assert_same(part, whole, tables=["vcpu", "group_cpu"])


def test_a_screen_name_keeps_the_counter_of_every_table(tmp_path, busy_host_file):
    whole, part, _ = sliced(
        tmp_path, busy_host_file, counters=["%RDY", "% Used", "average_driver_millisec_per_command"]
    )
    names = {"pct_ready", "pct_used", "average_driver_millisec_per_command"}
    assert_same(part, whole, counters=lambda _, column: column in names)
    assert {"vcpu", "group_cpu", "physical_disk_scsi_device"} <= set(part.tables)


def test_a_screen_name_is_no_name_of_a_capture(tmp_path, busy_host_file):
    """%USED is CPU; `% Used` is also what a capture calls the share of a device's queue (%USD on the screen)."""
    _, part, _ = sliced(tmp_path, busy_host_file, counters=["%USED"])
    assert set(part.tables) == {"group_cpu", "vcpu"}
    for name in ("% Used", "pct_used"):
        _, part, _ = sliced(tmp_path, busy_host_file, counters=[name])
        assert "physical_disk_scsi_device" in part


def test_a_family_of_counters(tmp_path):
    columns = [("PCPU Power State(PCPU 0)", f"%{kind}-State {kind}{n}") for kind in "CP" for n in range(3)]
    whole, part, _ = sliced(tmp_path, compose.text(columns, [list("123456")]), counters=["%C1", "%Px"])
    wanted = {"pct_c_state_c1", "pct_p_state_p0", "pct_p_state_p1", "pct_p_state_p2"}
    assert_same(part, whole, counters=lambda _, column: column in wanted)


def test_instances_by_regular_expression(tmp_path, busy_host_file):
    whole, part, _ = sliced(tmp_path, busy_host_file, instances=[r"^vmnic\d$|:vmnic\d+$", r"ledger-db$"])
    assert_same(part, whole, keep=lambda text: bool(re.search(r":vmnic\d+$|ledger-db$", text)))


def test_all_kinds_have_to_be_met(tmp_path, busy_host_file):
    whole, part, _ = sliced(tmp_path, busy_host_file, tables=["vcpu"], instances=["vmx-vcpu-0"], counters=["%CSTP"])
    assert_same(
        part,
        whole,
        keep=lambda text: "vmx-vcpu-0" in text,
        counters=lambda table, column: (table, column) == ("vcpu", "pct_costop"),
    )


def test_a_vm_with_all_that_is_its_own(tmp_path, busy_host_file):
    whole, part, _ = sliced(tmp_path, busy_host_file, vms=["ledger-db"])
    assert part.meta["vms"] == ("ledger-db",)
    of_vm = whole["vcpu"].filter(pl.col("group") == "ledger-db").collect()
    assert set(part["vcpu"].collect()["world_id"]) == set(of_vm["world_id"])
    assert set(part["group_memory"].collect()["group"]) == {"ledger-db"}
    assert set(part["virtual_disk"].collect()["vm"]) == {"ledger-db"}
    assert set(part["network_port"].collect()["client"]) == {"ledger-db"}
    # Ports and devices count for a world of the VM that only the names of others speak of.
    (world,) = set(part["network_port"].collect()["world_id"])
    assert f"NetWorld-VM-{world}" in set(of_vm["world"])
    devices = whole["physical_disk_per_device_per_world"].filter(pl.col("world_id") == world).collect()
    assert devices.height
    assert part["physical_disk_per_device_per_world"].collect().equals(devices)
    for table in ("memory", "physical_cpu", "power", "physical_disk_adapter"):
        assert table not in part


def test_the_host_is_kept_beside_a_vm(tmp_path, busy_host_file):
    whole, part, _ = sliced(tmp_path, busy_host_file, vms=["ledger-db"], counters=["%RDY"], keep_host=True)
    for table in ("memory", "physical_cpu", "physical_cpu_load", "power"):
        assert part[table].collect().equals(whole[table].collect())
    assert set(part["group_cpu"].collect().columns) - {"time", "instance", "group_id", "group"} == {"pct_ready"}


HOSTILE = [
    "plain",
    "a(b)c)",
    "(",
    "db:1:2",
    "a,b",
    'say "hi"',
    'x","y',
    "日本語 (1)",
    "a:scsi0:0",
    "-",
    "5:6:7",
    "^.*$",
]


def hostile():
    columns = []
    for number, vm in enumerate(HOSTILE):
        gid, world = 100 + number, 2100000 + number
        columns += [(f"Group Cpu({gid}:{vm})", "% Ready"), (f"Group Cpu({gid}:{vm})", "% Used")]
        columns += [(f"Vcpu({gid}:{vm}:{world}:vmx-vcpu-0:{vm})", "% Ready")]
        columns += [(f"Virtual Disk({vm})", "Reads/sec"), (f"Virtual Disk({vm}:scsi0:1)", "Reads/sec")]
        columns += [(f"Network Port(vSwitch0:{33554440 + number}:{world}:{vm})", "Packets Received/sec")]
        columns += [(f"Physical Disk Per-Device-Per-World(naa.6-{world})", "Reads/sec")]
    return columns, compose.text(columns, [[f"{n}.25" for n in range(len(columns))]] * 2)


@pytest.mark.parametrize("vm", HOSTILE)
def test_a_vm_of_any_name(tmp_path, vm):
    columns, content = hostile()
    whole, part, done = sliced(tmp_path, content, vms=[vm])
    number = HOSTILE.index(vm)
    mine = {layout.split_owner(owner)[1] for owner, _ in columns[7 * number : 7 * number + 7]}
    assert done.notes == ()
    assert part.meta["vms"] == (vm,)
    assert_same(part, whole, keep=lambda text: text in mine)


def test_two_vms_of_one_name_and_ports_by_world_not_by_name(tmp_path):
    columns = [
        *[(f"Vcpu({gid}:{vm}:{gid}0:vmx-vcpu-0:{vm})", "% Ready") for gid, vm in ((1, "db"), (2, "db"), (3, "web"))],
        ("Network Port(s:1:10:db)", "Packets Received/sec"),
        ("Network Port(s:2:20:db.eth0)", "Packets Received/sec"),
        ("Network Port(s:3:30:db)", "Packets Received/sec"),
        ("Network Port(s:4:99:db.eth1)", "Packets Received/sec"),
        ("Network Port(s:5:db)", "Packets Received/sec"),
    ]
    _, part, _ = sliced(tmp_path, compose.text(columns, [["1"] * len(columns)]), vms=["db"])
    assert part["vcpu"].collect()["group_id"].to_list() == [1, 2]
    assert part["network_port"].collect()["port_id"].to_list() == [1, 2, 4]


def test_a_vm_where_no_worlds_were_captured(tmp_path):
    columns = [("Group Memory(7:db)", "Memctl?"), ("Virtual Disk(db:scsi0:0)", "Reads/sec"), ("Memory", "Free MBytes")]
    columns += [("Network Port(s:4:99:db)", "Packets Received/sec"), ("Virtual Disk(web)", "Reads/sec")]
    _, part, _ = sliced(tmp_path, compose.text(columns, [["1"] * 5]), vms=["db"])
    assert list(part.tables) == ["group_memory", "virtual_disk", "network_port"]


def test_names_that_need_their_group_to_be_parsed_are_told(tmp_path):
    _, _, done = sliced(tmp_path, hostile()[1], tables=["vcpu"])
    assert any("keep group_cpu" in note.message for note in done.notes)


def test_the_second_column_of_a_name_is_not_kept_without_the_first(tmp_path):
    columns = [("Memory", "Free MBytes"), ("Memory", "Swap MBytes"), ("Memory", "Free MBytes")]
    whole, part, _ = sliced(tmp_path, compose.text(columns, [["1", "2", "3"]]), counters=["free_mbytes_2"])
    assert_same(part, whole, counters=lambda _, column: column.startswith("free"))


A_MPERF = (
    f'"{compose.STAMP}",'
    + ",   -".join(
        ",".join(f'"{compose.path(f"PCPU Power State(PCPU {n})", c)}"' for c in ("%C-State C0", "%C-State C1"))
        for n in (0, 1)
    ).replace('-"', '-"')
    + ',   -\n"04/24/2018 10:49:12","8.01","91.99",    73.1"8.93","87.67",    73.3\n'
    + '"04/24/2018 10:49:17","8.02","91.98",   -"8.94","87.66",    68.5\n'
).replace('",   -"', '",   -"')


def test_the_broken_cells_of_65_become_columns_with_names(tmp_path):
    whole, part, _ = sliced(tmp_path, A_MPERF)
    assert_same(part, whole)
    lines = (tmp_path / "part.csv").read_text().splitlines()
    assert lines[0].endswith(r'\PCPU Power State(PCPU 1)\% of aperf/mperf"')
    assert lines[1] == '"04/24/2018 10:49:12","8.01","91.99","73.1","8.93","87.67","73.3"'
    assert lines[2] == '"04/24/2018 10:49:17","8.02","91.98","-","8.94","87.66","68.5"'
    assert part.notes != whole.notes


def test_the_broken_cells_of_65_alone(tmp_path):
    whole, part, _ = sliced(tmp_path, A_MPERF, counters=["%A/MPERF"], start="2018-04-24T10:49:15")
    assert part["pcpu_power_state"].collect()["pct_of_aperf_per_mperf"].to_list() == [None, 68.5]
    assert whole.meta["samples"] == 2


# --- Time


def test_a_window_of_time_has_both_ends(tmp_path, busy_host_file):
    whole = ex.open(busy_host_file)
    start, end = whole.meta["start"] + timedelta(seconds=60), whole.meta["start"] + timedelta(seconds=90)
    asked = {"start": start.isoformat(), "end": end}
    _, part, _ = sliced(tmp_path, busy_host_file, tables=["memory"], **asked)
    assert (part.meta["start"], part.meta["end"], part.meta["samples"]) == (start, end, 7)
    assert part["memory"].collect().equals(ex.open(busy_host_file, **asked)["memory"].collect())


def test_the_clock_of_the_capture_stays_and_bounds_are_utc(tmp_path):
    content = compose.text(COLUMNS, ROWS, stamp="(PDH-CSV 4.0) (CET)(-60)")
    _, part, _ = sliced(tmp_path, content, start="2026-03-02T07:00:05", end=datetime(2026, 3, 2, 7, 0, 5, tzinfo=UTC))
    assert part.meta["start"] == part.meta["end"] == datetime(2026, 3, 2, 7, 0, 5, tzinfo=UTC)
    assert (tmp_path / "part.csv").read_text().splitlines()[1].startswith('"03/02/2026 08:00:05"')


def test_every_keeps_the_first_sample_of_each_period_as_open_does(tmp_path, busy_host_file):
    for every in ("5s", "7s", "30s", "1m", timedelta(hours=1)):
        _, part, _ = sliced(tmp_path, busy_host_file, tables=["memory"], every=every, start="2000-01-01")
        expected = ex.open(busy_host_file, every=every)["memory"].collect()
        assert part["memory"].collect().equals(expected)


# --- Any selection

names = st.text(st.characters(exclude_characters='\\\n\r\x00"', exclude_categories=["Cs"]), min_size=1, max_size=6)
values = st.sampled_from(["0.00", "-1", "12.34", "", "-nan", "100", "vmnic4"])


@given(st.lists(names, min_size=1, max_size=4), st.integers(1, 4), st.data())
@settings(deadline=None, max_examples=examples(100))
def test_opening_a_slice_is_selecting_from_the_opened_capture(tmp_path_factory, groups, samples, data):
    columns = [("Memory", "Free MBytes"), ("Power(1)", "P-State MHZ")]
    for gid, name in enumerate(groups):
        columns += [(f"Group Cpu({gid}:{name})", c) for c in ("% Used", "% Ready", "% VmWait")[: gid + 1]]
        columns += [(f"Vcpu({gid}:{name}:{gid}7:vmx-vcpu-0:{name})", c) for c in ("% Ready", "% Used")]
    columns = data.draw(st.permutations(columns))
    rows = [[data.draw(values) for _ in columns] for _ in range(samples)]
    folder = tmp_path_factory.mktemp("any")
    file = compose.write(folder, compose.text(columns, rows))
    tables = data.draw(st.lists(st.sampled_from(["memory", "group_cpu", "vcpu", "power"]), max_size=3, unique=True))
    counters = data.draw(st.lists(st.sampled_from(["pct_used", "pct_ready", "free_mbytes"]), max_size=2, unique=True))
    patterns = data.draw(st.lists(st.sampled_from(["^0:", "^1:", "vmx", "."]), max_size=2, unique=True))
    try:
        slice_capture(file, folder / "part.csv", tables=tables, counters=counters, instances=patterns)
    except ex.EsxparseError:
        assert list(folder.iterdir()) == [file]
        return
    whole, part = ex.open(file), ex.open(folder / "part.csv")

    def texts_apart(rec):
        # Parts of an instance may be told by groups that were not kept, which has its own note and test.
        keep = {n: f.select("time", "instance", pl.selectors.float()) for n, f in rec.tables.items()}
        return ex.Recording(rec.format, rec.source, keep)

    assert_same(
        texts_apart(part),
        texts_apart(whole),
        keep=(lambda text: any(re.search(pattern, text) for pattern in patterns)) if patterns else None,
        counters=(lambda _, column: column in counters) if counters else None,
        tables=tables or None,
    )
