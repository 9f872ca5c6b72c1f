"""esxtop through the API: one host as a batch capture and as replies, arithmetic on raw replies, files of scripts."""

from __future__ import annotations

import re
from dataclasses import replace

import api_replies
import compose
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import esxparse as ex
import esxparse_simulator as simulate
from esxparse.reports import pick
from esxparse_simulator.host import Phase

SAMPLES = 30
WHOLE, HUNDREDTHS = 0.5, 0.005
"""Half of the last digit of numbers that a capture prints without and with decimals."""
KILOBYTE = 0.5 / 1024
"""Half of what a reply counts memory in, in MBytes."""
PRINTED_WHOLE = re.compile(r"^(?!numa_).*mbytes$|numa_pct_local|members|kernel_state|watts|numa_rebalance")
INTERVAL_S = 5.0

UNMAPPED = {
    "memory": [],
    "physical_cpu": [],
    "numa_node": ["pct_processor_time"],
    "vcpu": [
        *("pct_run", "pct_wait", "pct_vmwait", "pct_ready", "pct_idle", "pct_overlap", "pct_max_limited"),
        *("pct_swap_wait", "switches_per_sec", "migrates_per_sec", "quantum_expires_per_sec", "wakeups_per_sec"),
        *("alloc_min", "alloc_max", "alloc_shares", "alloc_min_limited", "pct_cpu_latency", "pct_memory_latency"),
        *("pct_demand", "effective_min_mhz", "physical_cpu"),
    ],
    "network_port": [
        *("link_up", "link_speed_mb_per_s", "full_duplex", "pct_outbound_packets_dropped"),
        *("pct_received_packets_dropped", "actions_posted_per_sec", "multicast_packets_transmitted_per_sec"),
        *("multicast_packets_received_per_sec", "broadcast_packets_transmitted_per_sec"),
        "broadcast_packets_received_per_sec",
    ],
}
"""Columns of a batch capture that no published field gives: whoever finds one's field shortens this list."""
UNMAPPED_TABLES = {
    *("physical_cpu_load", "power", "vsan", "physical_disk", "physical_disk_adapter", "physical_disk_scsi_device"),
    *("physical_disk_path", "physical_disk_per_device_per_world", "physical_disk_partition"),
    *("physical_disk_nfs_volume", "virtual_disk", "interrupt_cookie", "pcpu_power_state"),
}


@pytest.fixture(scope="module")
def host():
    return api_replies.replies_of(simulate.busy_host(), SAMPLES)


@pytest.fixture(scope="module")
def collected(host, tmp_path_factory):
    return host.opened(tmp_path_factory.mktemp("collected"))


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    file = tmp_path_factory.mktemp("batch") / "capture.csv"
    simulate.write_esxtop(file, simulate.capture(simulate.busy_host(), samples=SAMPLES))
    return ex.open(file)


def counters(frame):
    return [name for name, kind in frame.schema.items() if kind == pl.Float64]


def own_tables(rec):
    return [name for name in rec if not name.startswith("raw_")]


def value(rec, table, column, sample, **keys):
    """A cell of a table: of the row of a sample, by number, with these keys."""
    frame = rec[table].collect()
    frame = frame.filter(pl.col("time") == frame["time"].unique().sort()[sample], **keys)
    return frame[column].item()


def test_every_mapped_column_is_that_of_a_batch_capture_of_the_same_host(collected, batch):
    compared = 0
    for table in own_tables(collected):
        mine, printed = collected[table].collect(), batch[table].collect()
        # esxtop has measured CPUs before it prints its first sample; replies have no rate by then.
        both = mine.filter(pl.col("time") > mine["time"].min()).join(
            printed, on=["time", "instance"], suffix="_printed", nulls_equal=True
        )
        assert both.height >= (SAMPLES - 1) * mine["instance"].n_unique()
        for name in (one for one in mine.columns if one not in {"time", "instance"}):
            own, expected = both[name], both[f"{name}_printed"]
            if name not in counters(mine):
                assert own.equals(expected), name
                continue
            error = (WHOLE if PRINTED_WHOLE.search(name) else HUNDREDTHS) + KILOBYTE
            allowed = pl.Series([error]).new_from_index(0, both.height)
            if name.startswith("packets"):
                # A counter has whole packets at both ends of an interval.
                allowed += 1 / INTERVAL_S
            elif name.startswith("average_packet"):
                packets = both[f"packets_{name.split('_')[3]}_per_sec"] * INTERVAL_S
                allowed = 1.0 + expected * 2.0 / packets.clip(1)
            assert own.null_count() == 0, name
            assert ((own - expected).abs() <= allowed + 1e-9).all(), (table, name)
            compared += 1
    assert compared == 24 + 3 + 1 + 5 + 3 + 4 + 6


def test_what_is_not_mapped_is_known(collected, batch):
    for table, missing in UNMAPPED.items():
        there = collected[table].collect_schema().names()
        assert [name for name in batch[table].collect_schema().names() if name not in there] == missing
    assert set(batch) - set(collected) == UNMAPPED_TABLES


def field(info, reply, kind, number, name):
    """A value of a raw reply, by the order of the fields in CounterInfo: of the object with that id."""
    names = [one.split(",")[0] for one in re.search(rf"^\|{kind}\|(.*)\|$", info, re.MULTILINE)[1].split("|")]
    (line,) = [line for line in reply.split("\n") if re.match(rf"\|{kind}\|{number}\b", line)]
    return int(line.split("|")[2:-1][names.index(name)])


def test_cells_by_arithmetic_on_the_raw_replies(host, collected):
    before, after = host.fetched[3:5]

    def grown(kind, number, name):
        return field(host.info, after, kind, number, name) - field(host.info, before, kind, number, name)

    elapsed = grown("LCPU", 3, "ElapsedTimeInUsec")
    assert elapsed == 5_000_000
    used = grown("LCPU", 3, "UsedTimeInUsec") / elapsed * 100
    assert value(collected, "physical_cpu", "pct_processor_time", 4, pcpu=3) == pytest.approx(used, abs=1e-9)
    halted = grown("LCPU", 3, "HaltTimeInUsec") / elapsed
    assert value(collected, "physical_cpu", "pct_util_time", 4, pcpu=3) == pytest.approx(100 * (1 - halted), abs=1e-9)
    world = int(re.search(r"\|VCPU\|(\d+)\|vmx-vcpu-2:analytics-8way\|", after)[1])
    costop = grown("VCPU", world, "CoStopTimeInUsec") / elapsed * 100
    assert costop > 0
    assert value(collected, "vcpu", "pct_costop", 4, world_id=world) == pytest.approx(costop, abs=1e-9)
    port = int(re.search(r"\|NetPort\|(\d+)\|vmnic0\|", after)[1])
    megabits = grown("NetPort", port, "NumOfSendBytes") * 8 / 2**20 / 5
    assert value(collected, "network_port", "mbits_transmitted_per_sec", 4, port_id=port) == pytest.approx(megabits)
    free = int(re.search(r"\|PMem\|(?:[^|]*\|){4}(\d+)", after)[1]) / 1024
    assert value(collected, "memory", "free_mbytes", 4) == pytest.approx(free)


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("busy-host", "cpu.costop"),
        *(
            pytest.param(*one, marks=pytest.mark.search)
            for one in (("balloon", "memory.balloon"), ("numa-remote", "numa.remote"), ("wide-vm", "numa.wide_vm"))
        ),
    ],
)
def test_a_diagnosis_finds_the_same_where_both_can_judge(tmp_path, name, trouble):
    scenario = simulate.load_scenario(name)
    collected = api_replies.replies_of(scenario, 40).opened(tmp_path)
    simulate.write_esxtop(tmp_path / "capture.csv", simulate.capture(scenario, samples=40))
    batch = ex.open(tmp_path / "capture.csv")
    columns = {table: collected[table].collect_schema().names() for table in own_tables(collected)}
    same_fields = {
        table: batch[table].select(pl.col(names) if table != "physical_cpu" else pl.all())
        for table, names in columns.items()
    }
    mine, printed = (
        [(one.trouble, one.severity, one.entity, one.start, one.verdict) for one in ex.diagnose(later(rec))]
        for rec in (collected, replace(batch, tables=same_fields))
    )
    assert mine == printed
    assert [one[0] for one in mine] == [trouble]


def test_a_diagnosis_says_what_it_could_not_judge_and_which_evidence_is_a_guess(collected):
    (finding,) = ex.diagnose(collected)
    (doubt,) = [one for one in finding.against if "in doubt" in one]
    assert "vcpu.pct_costop" in doubt
    assert doubt.endswith("by a formula that no source states")
    missing = "\n".join(one["reason"] for one in ex.diagnose(collected).not_judged)
    assert {"%RDY", "GAVG/cmd", "%DRPRX", "%C0"} <= set(re.findall(r"%?[A-Z]\w*(?:/\w+)?", missing))


def test_the_first_sample_without_rates_is_no_fault_and_the_report_is_that_of_a_host(collected):
    assert {one.status for one in ex.check(collected)} <= {"pass", "not judged"}
    assert pick.picked([collected.source]) == "host_health"


def later(rec):
    """The recording without its first sample."""
    start = rec.meta["start"]
    return replace(rec, tables={name: frame.filter(pl.col("time") > start) for name, frame in rec.tables.items()})


def test_guesses_are_marked_and_fields_without_a_column_are_kept(collected):
    assert {"vcpu.pct_used", "group_cpu.pct_costop", "network_port.mbits_received_per_sec"} <= set(
        collected.meta["guessed_columns"]
    )
    assert "physical_cpu.pct_util_time" not in collected.meta["guessed_columns"]
    assert any("formula that no source states" in note.message for note in collected.notes)
    assert "SchedGroup.HomeNodes" in collected.meta["unmapped"]
    raw = collected["raw_LCPU"].collect()
    assert raw.columns[:4] == ["time", "LCPUID", "CPUHz", "UsedTimeInUsec"]
    assert raw.height == SAMPLES * collected.meta["pcpus"]


def test_a_field_of_another_release_is_taken_by_its_name_and_order_does_not_matter(host, tmp_path):
    short = replace(host, fetched=host.fetched[:2], times=host.times[:2])
    info = short.info.replace(
        "UsedTimeInUsec,U64|SysTimeInUsec,U64|CoStopTimeInUsec,U64|",
        "CoStopTimeInUsec,U64|Mood,ENUM|ReadyTimeInUsec,S64|SysTimeInUsec,U64|UsedTimeInUsec,U64|",
    )
    fetched = tuple(
        re.sub(r"(\|VCPU\|\d+\|[^|]*)\|(\d+)\|(\d+)\|(\d+)\|", rf"\1|\4|calm|{place * 500_000}|\3|\2|", reply)
        for place, reply in enumerate(short.fetched)
    )
    rec = replace(short, info=info, fetched=fetched).opened(tmp_path)
    plain = short.opened(tmp_path)
    columns = ["time", "instance", "pct_used", "pct_system", "pct_costop"]
    assert rec["vcpu"].select(columns).collect().equals(plain["vcpu"].select(columns).collect())
    assert rec["vcpu"].collect()["pct_ready"].drop_nulls().unique().to_list() == [10.0]
    assert "vcpu.pct_ready" in rec.meta["guessed_columns"]
    assert rec["raw_VCPU"].collect()["Mood"].unique().to_list() == ["calm"]


def warnings(rec):
    return [note for note in rec.notes if note.severity == "warning"]


def test_a_file_that_is_cut_gives_its_whole_samples(host, tmp_path):
    text = "\n".join([*host.lines(), ""]).encode()
    rec = compose.opened(tmp_path, text[:-200], "cut.jsonl")
    assert rec.meta["samples"] == SAMPLES - 1
    (note,) = warnings(rec)
    assert note.line == SAMPLES + 2
    assert "cut" in note.message


def test_repeated_lines_count_once_and_foreign_line_ends_change_nothing(host, collected, tmp_path):
    lines = host.lines()
    again = host.opened(tmp_path, [*lines[:5], lines[4], *lines[5:]])
    assert "same reply" in warnings(again)[0].message
    reply = host.fetched[2].replace("|VCPU|", "|VCPU|1|twice|0|0|0|\n|VCPU|1|twice|9|9|9|\n|VCPU|", 1)
    twice = replace(host, fetched=(*host.fetched[:2], reply, *host.fetched[3:])).opened(tmp_path)
    assert any("with the id of another" in note.message for note in warnings(twice))
    windows = replace(host, fetched=tuple(one.replace("\n", "\r\n") for one in host.fetched)).opened(tmp_path)
    for table in own_tables(collected):
        assert again[table].collect().equals(collected[table].collect())
        assert windows[table].collect().equals(collected[table].collect())


def test_groups_of_groups_have_no_row_of_their_own(host, collected, tmp_path):
    line = re.search(r"\|SchedGroup\|8\|helper\|.*\n", host.fetched[1])[0]
    parent = line.replace("|8|helper|", "|4|host/user|")
    rec = host.changed(1, line, line + parent).opened(tmp_path)
    assert rec["group_cpu"].collect().equals(collected["group_cpu"].collect())
    assert rec["raw_SchedGroup"].filter(GroupName="host/user").collect().height == 1
    assert any("1 row of groups without worlds" in note.message for note in rec.notes)


@pytest.mark.parametrize("name", ["ledger, db", "a (b): c", "데이터\u2028베이스", "vmx-vcpu-0:x"])
def test_names_of_vms_may_hold_anything_but_a_bar(host, collected, tmp_path, name):
    renamed = replace(host, fetched=tuple(reply.replace("ledger-db", name) for reply in host.fetched[:3]))
    rec = replace(renamed, times=host.times[:3]).opened(tmp_path)
    assert name in rec.meta["vms"]
    assert not warnings(rec)
    mine = rec["group_cpu"].filter(group=name).collect()["pct_used"].to_list()
    assert mine == collected["group_cpu"].filter(group="ledger-db").collect()["pct_used"][:3].to_list()


def test_a_line_with_other_values_than_fields_is_left_out_and_noted(host, tmp_path):
    line = re.search(r"\|VCPU\|\d+\|vmx-vcpu-1:ledger-db\|", host.fetched[4])[0]
    rec = host.changed(4, line, line.replace("-db", "|db")).opened(tmp_path)
    (note,) = warnings(rec)
    assert "line of VCPU has 6 values for 5 fields" in note.message
    world = rec["vcpu"].filter(world="vmx-vcpu-1:ledger-db").collect()["pct_used"]
    # Its sample has no row, and the next one nothing to compare with.
    assert world.len() == SAMPLES - 1
    assert world.is_null().arg_true().to_list() == [0, 4]


def test_a_vm_that_leaves_has_rows_until_then(tmp_path):
    scenario = simulate.busy_host()
    leaving = replace(scenario.vms[2], phases=(Phase(20.0, 1e6, {"gone": 1.0}),))
    scenario = replace(scenario, vms=(*scenario.vms[:2], leaving, *scenario.vms[3:]))
    rec = api_replies.replies_of(scenario, 8).opened(tmp_path)
    gone, stayed = (rec["group_cpu"].filter(group=vm.name).collect() for vm in scenario.vms[2:4])
    assert 0 < gone.height < stayed.height == 8
    assert gone["time"].max() < rec.meta["end"]
    assert stayed["pct_used"].null_count() == 1
    assert not warnings(rec)


def test_a_counter_that_falls_and_a_host_that_restarts_have_no_rate_of_that_interval(host, tmp_path):
    world = re.search(r"\|VCPU\|\d+\|vmx-vcpu-0:files-02\|\d+", host.fetched[3])[0]
    again = host.changed(3, world, f"{world.rpartition('|')[0]}|5")
    rec = again.opened(tmp_path)
    assert "VCPU.UsedTimeInUsec fell 1 time" in warnings(rec)[0].message
    used = rec["vcpu"].filter(world="vmx-vcpu-0:files-02").collect()["pct_used"]
    assert used.is_null().arg_true().to_list()[:2] == [0, 3]
    restarted = tuple(
        re.sub(r"(?<=\|)1000\d{9}(?=\|)", lambda found: found[0][4:], reply) if place >= 6 else reply
        for place, reply in enumerate(host.fetched)
    )
    rec = replace(host, fetched=restarted).opened(tmp_path)
    assert "restarted" in warnings(rec)[0].message
    for table, column in (("physical_cpu", "pct_util_time"), ("network_port", "packets_received_per_sec")):
        empty = rec[table].group_by("time").agg(pl.col(column).is_null().all()).sort("time").collect()[column]
        assert empty.arg_true().to_list() == [0, 6]


def test_ten_samples_with_a_gap_span_it_and_say_so(host, tmp_path):
    lines = host.lines()
    gap = '{"gap": "the session was cut", "before": "2026-03-11T09:00:20Z", "after": "2026-03-11T09:00:35Z"}'
    rec = host.opened(tmp_path, [*lines[:7], gap, lines[1], *lines[9:14]])
    assert rec.meta["samples"] == 10
    (note,) = warnings(rec)
    assert note.line == 8
    assert "the session was cut" in note.message
    elapsed = 3 * 5_000_000
    grown = [field(host.info, host.fetched[place], "LCPU", 0, "UsedTimeInUsec") for place in (4, 7)]
    expected = (grown[1] - grown[0]) / elapsed * 100
    assert value(rec, "physical_cpu", "pct_processor_time", 5, pcpu=0) == pytest.approx(expected, abs=1e-9)


@pytest.fixture
def texts(host, tmp_path):
    """The first replies as scripts save them: CounterInfo in one file, values in others."""
    (tmp_path / "fields.txt").write_text(host.info)
    for place, reply in enumerate(host.fetched[:3], 1):
        (tmp_path / f"fetchstats-{place}.txt").write_text(reply)
    (tmp_path / "all.log").write_text("".join(host.fetched[:3]))
    return tmp_path


def test_replies_in_files_give_the_same_tables_at_other_times(collected, texts):
    (texts / "all.log").unlink()
    rec = ex.open(texts, date="2026-03-11")
    assert rec.meta["samples"] == 3
    assert f"{rec.meta['start']:%F %T}" == "2026-03-11 00:00:00"
    assert rec.meta["interval"] == 5.0
    for table in own_tables(collected):
        rows = collected[table].collect()
        rows = rows.filter(pl.col("time").is_in(rows["time"].unique().sort()[:3].implode())).drop("time")
        assert_frame_equal(rec[table].collect().drop("time"), rows)


def test_values_without_their_fields_are_refused_until_a_file_names_them(texts):
    lone = texts / "alone"
    lone.mkdir()
    values = (texts / "all.log").rename(lone / "all.log")
    with pytest.raises(ex.EsxparseError, match=r"no reply of CounterInfo, .* set counter_info to that file"):
        ex.open(values)
    rec = ex.open(values, counter_info=str(texts / "fields.txt"), date="2026-03-11")
    assert rec["vcpu"].collect()["pct_used"].drop_nulls().len() > 0
    collected = ex.datasets_dir() / "formats" / "esxtop-api-host.jsonl"
    assert "vcpu" in ex.open(values, counter_info=str(collected))
    with pytest.raises(ex.EsxparseError, match="is no reply of CounterInfo"):
        ex.open(values, counter_info=str(values))
    with pytest.raises(ex.EsxparseError, match="only names the fields"):
        ex.open(texts / "fields.txt")


def test_azures_csv_needs_the_fields_and_a_zone(host, collected, texts):
    rows = [
        f'"{time:%Y-%m-%d %H:%M:%S}","{place}","{reply}"\r\n'
        for place, (time, reply) in enumerate(zip(host.times[:3], host.fetched[:3], strict=True), 1)
    ]
    file = texts / "esxtop_esx-07_20260311_090000.csv"
    file.write_text('"Timestamp","SampleNumber","RawData"\r\n' + "".join(rows))
    rec = ex.open(file, zone="+01:00")
    assert rec.meta["host"] == "esx-07"
    assert f"{rec.meta['start']:%H:%M}" == "08:00"
    assert value(rec, "memory", "free_mbytes", 2) == value(collected, "memory", "free_mbytes", 2)
    file.write_bytes(file.read_bytes()[:-100])
    rec = ex.open(file)
    assert rec.meta["samples"] == 2
    assert {"closing quotation mark", "no zone"} <= {
        word for note in rec.notes for word in ("closing quotation mark", "no zone") if word in note.message
    }
