"""Slices: what is opened again is exactly the part that was asked for, and nothing is lost on the way."""

from __future__ import annotations

import argparse
import gzip
import io
import os
import re
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import compose
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import esxparse as ex
from esxparse.cli import slice as command
from esxparse.formats.esxtop import scan_twin, slicing, times
from esxparse.formats.esxtop.slicing import slice_capture

COLUMNS = [("Memory", "Free MBytes"), ("Group Cpu(1:a)", "% Used"), ("Group Cpu(2:b)", "% Used")]
ROWS = [["100", "1.25", "2.00"], ["200", "1.50", "2.25"], ["300", "1.75", "2.50"]]
WHOLE = compose.text(COLUMNS, ROWS)


def numbers(frame):
    """Rows with a number, by table columns: an instance without any of the counters has no row in a slice."""
    frame = frame.collect() if isinstance(frame, pl.LazyFrame) else frame
    counters = [name for name, dtype in frame.schema.items() if dtype == pl.Float64]
    return frame.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in counters))


def assert_same(part, whole, *, keep=None, counters=None, tables=None):
    """`part` is `whole` cut to instances that `keep` keeps, counters for which `counters` holds, and some tables."""
    for name in whole.tables:
        frame = whole[name].collect()
        values = [column for column, dtype in frame.schema.items() if dtype == pl.Float64]
        wanted = [column for column in values if counters is None or counters(name, column)]
        if keep is not None:
            frame = frame.filter(pl.Series([text is not None and keep(text) for text in frame["instance"]]))
        frame = numbers(frame.drop(column for column in values if column not in wanted)) if wanted else frame.clear()
        if frame.is_empty() and name in part:
            assert numbers(part[name]).is_empty()
            continue
        if frame.is_empty() or (tables is not None and name not in tables):
            assert name not in part
            continue
        got = numbers(part[name])
        there = [column for column in frame.columns if column in got.columns or frame[column].null_count() == 0]
        assert_frame_equal(got.select(there), frame.select(there), check_row_order=False, check_exact=True)
        assert set(got.columns) <= set(frame.columns)


def sliced(tmp_path, content, **asked):
    file = compose.write(tmp_path, content, "whole.csv") if isinstance(content, (str, bytes)) else content
    output = tmp_path / "part.csv"
    done = slice_capture(file, output, **asked)
    part = ex.open(output)
    assert (part.meta["columns"], part.meta["samples"]) == (done.columns, done.samples)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.endswith(".part")) == []
    return ex.open(file), part, done


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
    mine = {slicing.layout.split_owner(owner)[1] for owner, _ in columns[7 * number : 7 * number + 7]}
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


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("trailing", ["", ","])
def test_line_ends_and_trailing_commas(tmp_path, ending, trailing):
    content = "".join(line + trailing + ending for line in WHOLE.splitlines())
    whole, part, _ = sliced(tmp_path, content)
    assert_same(part, whole)
    assert (tmp_path / "part.csv").read_bytes() == WHOLE.encode()


def test_what_a_spreadsheet_saved_is_quoted_again(tmp_path):
    content = WHOLE.replace('"', "").replace("03/02/2026 08:00:0", "3/20/2026 08:0").replace("2.25", "")
    whole, part, _ = sliced(tmp_path, content, tables=["group_cpu"])
    assert_same(part, whole, tables=["group_cpu"])
    assert (tmp_path / "part.csv").read_text().splitlines()[2] == '"03/20/2026 08:05:00","1.50",""'


def test_text_before_the_header_and_other_scripts(tmp_path):
    content = b'Enter password: \r\n\xef\xbb\xbf"' + compose.text([("Group Cpu(1:caf\xe9)", "% Used")], [["1"]]).encode(
        "cp1252"
    ).removeprefix(b'"')
    whole, part, done = sliced(tmp_path, content)
    assert_same(part, whole)
    assert part["group_cpu"].collect()["group"].to_list() == ["café"]
    assert "password" in done.notes[0].message
    assert part.notes == ()


def test_columns_keep_their_hosts(tmp_path):
    names = [compose.path("Memory", "Free MBytes", host) for host in ("esx-a", "esx-b", "esx-a")]
    header = ",".join(f'"{cell}"' for cell in [compose.STAMP, *names])
    content = f"{header}\n{compose.row(0, ['1', '2', '3'])}\n"
    slice_capture(compose.write(tmp_path, content), tmp_path / "part.csv")
    assert (tmp_path / "part.csv").read_text() == content


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


STAMPS = [
    "03/02/2026 08:00:05",
    "3/2/2026 8:00",
    "03/02/2026 08:00:05.25",
    "04/24/2018 10:49:12.123456",
    "02/30/2026 08:00:05",
    "13/02/2026 08:00:05",
    "03/02/2026 24:00:00",
    "03/02/2026 08:00:60",
    "03/02/1026 08:00:05",
    " 03/02/2026 08:00:05 ",
    "03/02/2026 08:00:05,x",
    "03/02/2026 8:0",
    "2026-03-02 08:00:05",
    "",
]


@pytest.mark.parametrize("form", ['"{}","1"', "{},1", '"{}"', "{}", '"{}'])
@pytest.mark.parametrize("stamp", STAMPS)
def test_times_of_rows_are_those_of_the_reader(stamp, form):
    line = form.format(stamp).encode()
    assert slicing._time(line, timedelta(minutes=-60)) == times.parse([times.stamp_text(line)], -60)[0]


# --- Damage


def damaged():
    lines = WHOLE.splitlines()
    short, long = lines[2].rpartition(",")[0], lines[3] + ',"9"'
    timeless = lines[2].replace("03/02/2026", "13/40/2026")
    unclosed = lines[2].removesuffix('"')
    return [
        WHOLE[:-4],
        WHOLE[:-3],
        WHOLE[:-1],
        WHOLE[: WHOLE.rindex('"2.50"') - 1],
        "\n".join([lines[0], lines[1], short, long, lines[3]]) + "\n",
        "\n\n".join(lines) + "\n\n\n",
        "\n".join([lines[0], timeless, lines[3], "", "x"]) + "\n",
        "\n".join([*lines[:2], unclosed, lines[3]]) + "\n",
        WHOLE.replace("2.25", "-nan").replace('"1.75"', '"yes"').replace('"300"', '"a"b"'),
        WHOLE + compose.text(list(reversed(COLUMNS)), ROWS),
        WHOLE[:-9] + compose.text(list(reversed(COLUMNS)), ROWS),
        WHOLE.replace('"2.50"\n', "2.5"),
        "\n".join([*(line + "," for line in lines[:2]), lines[2].replace('"1.50",', "") + ",", lines[3] + ","]),
    ]


@pytest.mark.parametrize("content", damaged())
def test_what_the_reader_leaves_out_is_left_out_and_said(tmp_path, content):
    whole, part, done = sliced(tmp_path, content)
    assert_same(part, whole)
    assert part.meta["samples"] == whole.meta["samples"]
    told = [
        note
        for note in whole.notes
        if note.severity == "warning" and re.search("left out|closed|kept apart", note.message)
    ]
    said = [note for note in done.notes if note.severity == "warning"]
    assert [(note.line, note.message.split(":")[0]) for note in said] == [
        (note.line, note.message.split(":")[0]) for note in told
    ] or [note.line for note in said] == [note.line for note in told]


@given(st.integers(len(WHOLE.splitlines()[0]) + 1, len(WHOLE)))
@settings(deadline=None, max_examples=100)
def test_cut_at_any_byte(tmp_path_factory, length):
    folder = tmp_path_factory.mktemp("cut")
    file = compose.write(folder, WHOLE[:length])
    try:
        whole = ex.open(file)
    except ex.DamagedError:
        with pytest.raises(ex.DamagedError, match=re.escape(str(file))):
            slice_capture(file, folder / "part.csv")
        assert list(folder.iterdir()) == [file]
        return
    slice_capture(file, folder / "part.csv")
    part, uncut = ex.open(folder / "part.csv"), ex.open(compose.write(folder, WHOLE, "uncut.csv"))
    for table, column in (("memory", "free_mbytes"), ("group_cpu", "pct_used")):
        got, read, right = (rec[table].collect()[column].to_list() for rec in (part, whole, uncut))
        assert len(got) == len(read)
        for mine, readers, uncut_one in zip(got, read, right, strict=False):
            assert mine in (None, uncut_one)
            assert readers in (None, mine)


pieces = st.lists(st.sampled_from([b'"', b",", b" ", b"-", b"1", b"2.5", b"x", b'","', b'"7.25"', b"\t"]), max_size=14)


@given(pieces)
@settings(deadline=None, max_examples=1000)
def test_cells_are_those_of_the_scanner(parts):
    line = b"".join(parts)
    if line:
        starts, ends = slicing._bounds(line)
        assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == list(scan_twin._cells(line))


def test_a_capture_that_was_started_again_and_another_after_it(tmp_path):
    other = compose.text(list(reversed(COLUMNS)), ROWS)
    for content in (WHOLE + WHOLE + other, WHOLE + WHOLE[:-9] + other):
        whole, part, done = sliced(tmp_path, content, tables=["group_cpu"])
        assert_same(part, whole, tables=["group_cpu"])
        assert part.meta["samples"] == whole.meta["samples"] > 4
        assert any("stands again 1 times" in note.message and note.line == 5 for note in done.notes)
        assert any("other columns begins here" in note.message for note in done.notes)
        slice_capture(tmp_path / "whole.csv", tmp_path / "second.csv", segment=2, counters=["Free MBytes"])
        second = ex.open(tmp_path / "second.csv")
        assert list(second.tables) == ["memory"]
        assert second["memory"].collect().equals(ex.open(tmp_path / "whole.csv", segment=2)["memory"].collect())
    for segment in (0, 3):
        with pytest.raises(ex.EsxparseError, match=f"segment {segment}"):
            slice_capture(tmp_path / "whole.csv", tmp_path / "third.csv", segment=segment)


def test_dates_of_a_spreadsheet_that_nothing_tells(tmp_path):
    file = compose.write(tmp_path, WHOLE.replace('"', "").encode("utf-16"))
    with pytest.raises(ex.EsxparseError, match="date_order="):
        slice_capture(file, tmp_path / "part.csv")
    slice_capture(file, tmp_path / "part.csv", date_order="dmy")
    assert_same(ex.open(tmp_path / "part.csv"), ex.open(file, date_order="dmy"))


# --- Any selection

names = st.text(st.characters(exclude_characters='\\\n\r\x00"', exclude_categories=["Cs"]), min_size=1, max_size=6)
values = st.sampled_from(["0.00", "-1", "12.34", "", "-nan", "100", "1,5"])


@given(st.lists(names, min_size=1, max_size=4), st.integers(1, 4), st.data())
@settings(deadline=None, max_examples=100)
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


# --- What cannot be met


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tables": ["vcpus"]}, 'no table or object of the capture is called "vcpus"; there are vcpu'),
        ({"vms": ["ledger"]}, 'no VM of the capture is called "ledger"; there are ledger-db'),
        ({"instances": ["^nothing$"]}, 'no instance of the capture matches "^nothing$"; there are'),
        ({"instances": ["("]}, 'instance "(" is no regular expression'),
        ({"counters": ["%RDYY"]}, 'no counter is called "%RDYY"; the nearest are "%RDY"'),
        ({"counters": ["Rebuild Queue"]}, "no counter is called"),
        ({"tables": ["memory"], "counters": ["%RDY"]}, "table memory; counter %RDY"),
        ({"start": "2031-01-01"}, "no sample in the window asked for (from 2031-01-01T00:00:00)"),
        ({"start": "yesterday"}, "start 'yesterday' is no time"),
        ({"every": "soon"}, "every 'soon' is no length of time"),
    ],
)
def test_what_selects_nothing_is_one_error_and_leaves_nothing(tmp_path, busy_host_file, asked, said):
    with pytest.raises(ex.EsxparseError) as error:
        slice_capture(busy_host_file, tmp_path / "part.csv", **asked)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_counter_that_was_not_captured(tmp_path):
    with pytest.raises(ex.EsxparseError, match=r'holds "%RDY" \("% Ready" of group_cpu\).*there are % Used'):
        slice_capture(compose.write(tmp_path, WHOLE), tmp_path / "part.csv", counters=["%RDY"])


def test_a_value_that_adds_nothing_is_told(tmp_path):
    _, _, done = sliced(tmp_path, WHOLE, tables=["group_cpu"], counters=["% Used", "Free MBytes"])
    assert [note.message for note in done.notes] == [
        'nothing of counter "Free MBytes" is among what else was asked for'
    ]


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        (b"", ex.DamagedError, "empty"),
        (b"time,value\n1,2\n", ex.UnknownFormatError, "no esxtop capture"),
        (WHOLE.splitlines()[0].encode(), ex.DamagedError, "no rows"),
        ('"(PDH-CSV 4.0) (UTC)(0)"\n', ex.DamagedError, "without a single column"),
    ],
)
def test_files_that_hold_nothing(tmp_path, content, error, said):
    file = compose.write(tmp_path, content)
    with pytest.raises(error, match=said) as raised:
        slice_capture(file, tmp_path / "part.csv")
    assert str(file) in str(raised.value)
    assert list(tmp_path.iterdir()) == [file]


# --- Files


def test_the_capture_itself_is_never_written_over(tmp_path):
    file = compose.write(tmp_path, WHOLE)
    (tmp_path / "link.csv").symlink_to(file)
    os.link(file, tmp_path / "hard.csv")
    for output in (file, tmp_path / "link.csv", tmp_path / "hard.csv"):
        with pytest.raises(ex.EsxparseError, match="written over the capture"):
            slice_capture(file, output)
    with file.open("ab") as itself, pytest.raises(ex.EsxparseError, match="written over the capture"):
        slice_capture(file, itself)
    assert file.read_text() == WHOLE


def test_an_error_leaves_the_old_output_as_it_was(tmp_path):
    file, output = compose.write(tmp_path, WHOLE), tmp_path / "part.csv"
    output.write_text("old")

    def stop(*_):
        raise KeyboardInterrupt

    wide = compose.write(tmp_path, WHOLE + "\n" * 40, "wide.csv")
    slicing_step, slicing._STEP = slicing._STEP, 1
    try:
        with pytest.raises(KeyboardInterrupt):
            slice_capture(wide, output, progress=stop)
    finally:
        slicing._STEP = slicing_step
    assert sorted(path.name for path in tmp_path.iterdir()) == ["capture.csv", "part.csv", "wide.csv"]
    assert output.read_text() == "old"
    output.chmod(0o600)
    slice_capture(file, output)
    assert output.read_text() == WHOLE
    assert stat.S_IMODE(output.stat().st_mode) == 0o600


def test_a_compressed_capture_and_one_that_is_cut(tmp_path):
    whole = gzip.compress(WHOLE.encode())
    file = compose.write(tmp_path, whole, "whole.csv.gz")
    assert slice_capture(file, tmp_path / "part.csv").notes == ()
    assert (tmp_path / "part.csv").read_text() == WHOLE
    with pytest.raises(ex.EsxparseError, match="written over the capture"):
        slice_capture(file, file)
    done = slice_capture(compose.write(tmp_path, whole[:-4], "cut.csv.gz"), tmp_path / "part.csv")
    assert any("what came before is read" in note.message for note in done.notes)


def test_a_place_that_cannot_be_written(tmp_path):
    file = compose.write(tmp_path, WHOLE)
    for output in (tmp_path / "none" / "part.csv", tmp_path):
        with pytest.raises(ex.EsxparseError, match="cannot write"):
            slice_capture(file, output)


def test_streams_need_no_seeking(tmp_path, busy_host_file):
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(busy_host_file.read_bytes())
        os._exit(0)
    os.close(writing)
    out = io.BytesIO()
    with os.fdopen(reading, "rb") as pipe:
        slice_capture(pipe, out, tables=["memory"])
    slice_capture(busy_host_file, tmp_path / "part.csv", tables=["memory"])
    assert out.getvalue() == (tmp_path / "part.csv").read_bytes()


# --- The command


def run(*arguments):
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    options = parser.parse_args(["slice", *map(str, arguments)])
    return options.run(options)


def test_the_command(tmp_path, capsys, busy_host_file):
    output = tmp_path / "small.csv"
    asked = ["--vm", "ledger-db", "--counter", "%RDY", "%USED", "--every", "30s", "--start", "2000-01-01"]
    assert run(busy_host_file, "-o", output, *asked) == 0
    part = ex.open(output)
    said = capsys.readouterr()
    assert said.out == f"{output}: {part.meta['columns']:,} columns, {part.meta['samples']} samples\n"
    assert said.err == ""
    assert part.meta["interval"] == 30.0
    assert set(part.tables) == {"group_cpu", "vcpu"}


def test_the_command_says_what_was_odd_and_what_failed(tmp_path, capsys):
    file = compose.write(tmp_path, WHOLE[:-8])
    assert run(file, "-o", tmp_path / "small.csv", "-q") == 0
    assert capsys.readouterr() == ("", "esxparse: line 4, column 3: the last row is cut after 3 of 4 cells: left out\n")
    assert run(file, "-o", tmp_path / "other.csv", "--vm", "x") == 1
    assert capsys.readouterr().err.startswith('esxparse: no VM of the capture is called "x"; there are a, b')
    assert run(tmp_path / "none.csv", "-o", tmp_path / "other.csv") == 1
    assert capsys.readouterr().err == f"esxparse: {tmp_path / 'none.csv'} does not exist\n"
    assert not (tmp_path / "other.csv").exists()


PIPED = """
import argparse, sys
from esxparse.cli import slice
parser = argparse.ArgumentParser()
slice.add(parser.add_subparsers())
options = parser.parse_args(["slice", *sys.argv[1:]])
sys.exit(options.run(options))
"""


def test_the_command_between_pipes(busy_host_file):
    done = subprocess.run(
        [sys.executable, "-c", PIPED, "-", "-o", "-", "--table", "Memory"],
        input=busy_host_file.read_bytes(),
        capture_output=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 122
    assert b"Group Cpu" not in lines[0]
    assert done.stderr.startswith(b"standard output: ")
