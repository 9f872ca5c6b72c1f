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


def warnings(rec):
    return [note for note in rec.notes if note.severity == "warning"]


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


def test_parts_of_each_object(tmp_path):
    device = "t10.ATA_____DISK__-7"
    columns = [
        ("Physical Cpu(0)", "% Util Time"),
        ("Physical Cpu(_Total)", "% Util Time"),
        ("PCPU Power State(PCPU 3)", "%C-State C0"),
        ("Power", "Power Usage Now Watts"),
        ("Power(2)", "P-State MHZ"),
        ("Numa Node(1)", "Free MBytes"),
        ("Interrupt Cookie(0xff)", "Interrupts/second"),
        ("Interrupt Cookie(0xff:CPU1)", "Interrupts/second"),
        (f"Physical Disk Per-Device-Per-World({device}-32806)", "Reads/sec"),
        (f"Physical Disk Partition({device}-5)", "Reads/sec"),
        ("Physical Disk(vmhba0)", "Adapter Q Depth"),
        ("Physical Disk(vmhba0:vmhba0:C0:T2:L0)", "Reads/sec"),
        ("Network Port(vSwitch0:33554435:Shadow of vmnic0)", "Packets Received/sec"),
        ("Vcpu(28:a:b:480221:vmx-vcpu-1:a:b)", "% Ready"),
        ("Vcpu(1398610:ouranos:473737:PVSCSI-473729:0)", "% Ready"),
        ("Group Memory(1423953:esxtop.516910)", "Memctl?"),
    ]
    rec = opened(tmp_path, compose.text(columns, [["1"] * len(columns)]))

    def parts(name):
        return table(rec, name).drop("time", "instance", pl.selectors.float()).rows()

    assert parts("physical_cpu") == [(0,), (None,)]
    assert parts("pcpu_power_state") == [(3,)]
    assert parts("power") == [(None,), (2,)]
    assert parts("numa_node") == [(1,)]
    assert parts("interrupt_cookie") == [("0xff", None), ("0xff", 1)]
    assert parts("physical_disk_per_device_per_world") == [(device, 32806)]
    assert parts("physical_disk_partition") == [(device, 5)]
    assert parts("physical_disk") == [("vmhba0", None), ("vmhba0", "vmhba0:C0:T2:L0")]
    assert parts("network_port") == [("vSwitch0", 33554435, None, "Shadow of vmnic0")]
    # Without Group Cpu to tell, a name with a colon is parsed by its world id.
    assert parts("vcpu") == [(28, "a:b", 480221, "vmx-vcpu-1:a:b"), (1398610, "ouranos", 473737, "PVSCSI-473729:0")]
    assert parts("group_memory") == [(1423953, "esxtop.516910")]


def test_parentheses_in_counters_and_objects_without_instances(tmp_path):
    columns = [
        ("Memory", "Memory Overcommit (1 Minute Avg)"),
        ("Network Port(vSwitch0:1:vmk0)", "Average Packet Size  Transmitted (Bytes)"),
        ("Network Port(vSwitch0:1:vmk0)", "Link Speed (Mb/s)"),
        ("Group Cpu(1:system)", "Effective Min (MHz)"),
        ("VSAN", "Enabled?"),
    ]
    rec = opened(tmp_path, compose.text(columns, [["0.78", "64.00", "1000", "9", "0"]]))
    assert table(rec, "memory").drop("time").rows() == [(None, 0.78)]
    ports = table(rec, "network_port")
    assert ports["average_packet_size_transmitted_bytes"].item() == 64.0
    assert ports["link_speed_mb_per_s"].item() == 1000.0
    assert table(rec, "group_cpu")["effective_min_mhz"].item() == 9.0
    assert table(rec, "vsan")["enabled"].item() == 0.0


def test_unknown_objects_and_counters_are_kept(tmp_path):
    columns = [
        ("Quantum Bus(q0:left)", "Entangled? %/sec"),
        ("Quantum Bus(q0:left)", "Time"),
        ("Memory", "Qubits (free)"),
    ]
    rec = opened(tmp_path, compose.text(columns, [["1.50", "2", "3"]]))
    assert table(rec, "quantum_bus").drop("time").to_dicts() == [
        {"instance": "q0:left", "entangled_pct_per_sec": 1.5, "time_2": 2.0}
    ]
    assert table(rec, "memory")["qubits_free"].item() == 3.0


def test_interleaved_and_repeated_objects_and_counters_only_some_have(tmp_path):
    columns = [
        ("Memory", "Free MBytes"),
        ("Group Cpu(1:system)", "% Used"),
        ("Vcpu(1:system:65537:idle1)", "% Used"),
        ("Group Cpu(2:vm)", "% Used"),
        ("Group Cpu(2:vm)", "% VmWait"),
        ("Vcpu(2:vm:70000:vmx-vcpu-0:vm)", "% Used"),
        ("Memory", "Kernel State"),
    ]
    rows = [[f"{n + 10 * sample}" for n in range(7)] for sample in range(3)]
    rec = opened(tmp_path, compose.text(columns, rows))
    groups = table(rec, "group_cpu")
    assert groups.select("group", "pct_used", "pct_vmwait").rows() == [
        ("system", 1.0, None),
        ("vm", 3.0, 4.0),
        ("system", 11.0, None),
        ("vm", 13.0, 14.0),
        ("system", 21.0, None),
        ("vm", 23.0, 24.0),
    ]
    assert groups["pct_vmwait"].null_count() == 3
    assert table(rec, "memory").select("free_mbytes", "kernel_state").rows() == [(0.0, 6.0), (10.0, 16.0), (20.0, 26.0)]
    assert rec.notes == ()


def test_columns_met_twice_are_both_kept(tmp_path):
    columns = [
        ("Memory", "Free MBytes"),
        ("Group Cpu(1:a)", "% Used"),
        ("Memory", "Free MBytes"),
        ("Group Cpu(1:a)", "% Used"),
        ("Group Cpu(2:b)", "% Used"),
        ("Memory", "Free  MBytes"),
    ]
    rec = opened(tmp_path, compose.text(columns, [["4878", "1", "57", "2", "3", "9"]]))
    assert table(rec, "memory").drop("time", "instance").to_dicts() == [
        {"free_mbytes": 4878.0, "free_mbytes_2": 57.0, "free_mbytes_3": 9.0}
    ]
    assert table(rec, "group_cpu").select("pct_used", "pct_used_2").rows() == [(1.0, 2.0), (3.0, None)]
    (note,) = rec.notes
    assert "repeated, such as" in note.message
    assert (note.line, note.column) == (1, 4)


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


def test_broken_power_state_cells_of_esxi_65(tmp_path):
    power = [("%C-State C0", "8.93"), ("%T-State T7", "0.00")]
    names = [compose.path(f"PCPU Power State(PCPU {pcpu})", name) for pcpu in range(3) for name, _ in power]
    quoted = [f'"{name}"' for name in names]
    header = f'"{compose.STAMP}",{quoted[0]},{quoted[1]},   -{quoted[2]},{quoted[3]},   -{quoted[4]},{quoted[5]},   -'
    line = '"04/24/2018 10:49:12","8.01","0.00",    68.5"8.02","0.00",    73.9"8.03","0.25",    77.6'
    dash = '"04/24/2018 10:49:17","8.01","0.00",   -"8.02","0.00",   100"8.03","0.25",   -'
    rec = opened(tmp_path, f"{header}\n{line}\n{dash}\n")
    states = table(rec, "pcpu_power_state").select("pcpu", "pct_c_state_c0", "pct_t_state_t7", "pct_of_aperf_per_mperf")
    assert states.rows() == [
        (0, 8.01, 0.0, 68.5),
        (1, 8.02, 0.0, 73.9),
        (2, 8.03, 0.25, 77.6),
        (0, 8.01, 0.0, None),
        (1, 8.02, 0.0, 100.0),
        (2, 8.03, 0.25, None),
    ]
    assert rec.meta["release"] == "6.5"
    assert [(note.line, note.column, note.severity) for note in rec.notes] == [(1, 4, "info"), (3, 4, "warning")]


def test_text_flags_and_blanks(tmp_path):
    columns = [
        ("Group Memory(1:a)", "Numa Home Nodes"),
        ("Group Memory(2:b)", "Numa Home Nodes"),
        ("Group Memory(1:a)", "Memctl?"),
        ("Group Memory(2:b)", "Memctl?"),
        ("Group Memory(1:a)", "Numa % Local"),
        ("Group Memory(2:b)", "Numa % Local"),
    ]
    rec = opened(
        tmp_path, compose.text(columns, [["0", "0,1", "Yes", "N", "-", ""], ["1", "0,1", "y", "0", "98", "nan"]])
    )
    memory = table(rec, "group_memory")
    assert memory["numa_home_nodes"].to_list() == [0.0, None, 1.0, None]
    assert memory["numa_home_nodes_text"].to_list() == [None, "0,1", None, "0,1"]
    assert memory["memctl"].to_list() == [1.0, 0.0, 1.0, 0.0]
    assert memory["numa_pct_local"].to_list() == [None, None, 98.0, None]
    assert memory["numa_pct_local"].null_count() == 3
    assert "memctl_text" not in memory.columns
    kinds = {note.message.split(" (first")[0]: (note.line, note.column) for note in rec.notes}
    assert kinds == {
        "3 cells with yes or no in words: read as 1 and 0": (2, 4),
        "3 cells without a number: null": (2, 6),
        "2 cells with text, as the counter has it: kept in the column with _text after its name": (2, 3),
    }


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


def test_hosts_with_dots_and_addresses(tmp_path):
    header = f'"{compose.STAMP}","{compose.path("Memory", "Free MBytes", host="192.168.18.5")}"'
    assert opened(tmp_path, f"{header}\n{compose.row(0, ['1'])}\n").meta["host"] == "192.168.18.5"


@pytest.mark.parametrize(
    ("columns", "release"),
    [
        ([("Vcpu(1:idle:32769:idle1)", "% Used")], "6.0 or 5.x"),
        ([("Vcpu(1:system:65544:idle0)", "% Used"), ("Vcpu(1:system:65537:idle1)", "% Used")], "6.5"),
        ([("Vcpu(1:system:2097152:idle0)", "% Used")], "6.7 or later"),
        ([("PCPU Power State(PCPU 0)", "% of aperf/mperf")], "6.7 or later"),
        ([("Group Cpu(1:a)", "Exclusive Affinity")], "7 or later"),
        ([("Memory", "Console MBytes")], "4.x or earlier (with a service console)"),
        ([("Memory", "Free MBytes")], None),
    ],
)
def test_the_release_is_guessed_with_its_evidence(tmp_path, columns, release):
    rec = opened(tmp_path, compose.text(columns, [["1"] * len(columns)]))
    assert rec.meta["release"] == release
    assert rec.meta["release_evidence"]


def test_text_before_the_header(tmp_path):
    content = compose.text([("Memory", "Free MBytes")], [["1"], ["2"]])
    glued = opened(tmp_path, "no termcap entry for a `xterm-256color' terminal" + content, "a.csv")
    chatter = opened(tmp_path, "Enter username: root\nPassword:\n" + content, "b.csv")
    marked = opened(tmp_path, "\ufeff" + content, "c.csv")
    for rec in (glued, chatter, marked):
        assert table(rec, "memory")["free_mbytes"].to_list() == [1.0, 2.0]
    assert "xterm" in glued.notes[0].message
    assert "username" in chatter.notes[0].message
    assert marked.notes == ()


def test_names_that_are_not_utf8(tmp_path):
    content = compose.text([("Group Cpu(1:caf\xe9)", "% Used")], [["1"]]).encode("cp1252")
    rec = opened(tmp_path, content)
    assert table(rec, "group_cpu")["group"].to_list() == ["café"]
    assert "UTF-8" in rec.notes[0].message


def test_quotes_doubled_by_another_program_are_taken_back(tmp_path):
    rec = opened(tmp_path, compose.text([('Group Cpu(1:say ""hi"")', "% Used")], [["1"]]))
    assert table(rec, "group_cpu")["group"].to_list() == ['say "hi"']
    assert "doubled quotes" in rec.notes[0].message


def test_an_instance_with_a_backslash_is_still_found(tmp_path):
    rec = opened(tmp_path, compose.text([("Group Cpu(1:a\\b)", "% Used"), ("Memory", "Free MBytes")], [["1", "2"]]))
    assert table(rec, "group_cpu")["group"].to_list() == ["a\\b"]
    assert table(rec, "memory")["free_mbytes"].to_list() == [2.0]


def test_a_header_of_several_hosts_is_refused(tmp_path):
    names = [compose.path("Memory", "Free MBytes", host) for host in ("esx-a", "esx-b")]
    header = ",".join(f'"{cell}"' for cell in [compose.STAMP, *names])
    with pytest.raises(ex.EsxparseError, match=r"2 hosts stand side by side \(esx-a, esx-b\)"):
        opened(tmp_path, f"{header}\n{compose.row(0, ['1', '2'])}\n")


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
