"""The counter catalogue: its data, its look-ups and the naming rule, against the names of real captures."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter as Tally
from typing import TYPE_CHECKING

import compose
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import esxparse as ex
from esxparse.counters import UNITS, UnknownCounterError, column_name, counter, lookup, table_name
from esxparse.counters.catalogue import objects, placed_counters
from esxparse.counters.model import BETTER, FAMILY_MARK, OVER_INSTANCES, OVER_TIME, RELEASES, VIEWS, Counter
from esxparse.errors import EsxparseError

if TYPE_CHECKING:
    from pathlib import Path

PLACED = [found for placed in placed_counters() for found in placed]
HEADER_PATH = re.compile(r"^\\\\[^\\]+\\(?P<object>[^(\\]+)(?:\(.*\))?\\(?P<counter>[^\\]+)$")


@pytest.fixture(scope="module")
def real_esxtop() -> Path:
    return compose.real_data("esxtop")


def header_names(cells: list[str]) -> set[tuple[str, str]]:
    """(object, counter) of every path among header cells."""
    matches = map(HEADER_PATH.match, cells)
    return {(match["object"], match["counter"]) for match in matches if match}


def missing(names: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Names whose column the catalogue does not know, or knows as something else."""

    def known(object_name: str, batch: str) -> bool:
        found = lookup(table_name(object_name), column_name(batch))
        return found is not None and (found.batch, found.objects[0]) == (batch, object_name)

    return {(object_name, batch) for object_name, batch in names if not known(object_name, batch)}


# ---- real captures ----------------------------------------------------------------------------------------


def test_every_counter_of_a_real_65_capture_of_all_fields_is_in_the_catalogue(real_esxtop: Path) -> None:
    with (real_esxtop / "esxi65_all_counters.csv").open(encoding="utf-8", errors="replace") as file:
        cells = re.findall(r'"([^"]*)"', file.readline())
    names = header_names(cells)
    assert len(cells) == 17_426
    assert len(names) > 300
    assert missing(names) == set()
    not_said_of_65 = {(o, b) for o, b in names if "6.5" not in counter(b, object=o).releases}
    assert not_said_of_65 == set()


@pytest.mark.parametrize("name", ["header_cells_esxi5.txt", "header_cells_other_hosts.txt"])
def test_every_counter_of_other_real_headers_is_in_the_catalogue(real_esxtop: Path, name: str) -> None:
    text = (real_esxtop / name).read_text(encoding="utf-8", errors="replace")
    names = header_names(re.findall(r'"([^"]*)"', text))
    assert names
    assert missing(names) == set()


def test_every_counter_of_a_header_resaved_by_a_spreadsheet_is_in_the_catalogue(real_esxtop: Path) -> None:
    cells = (real_esxtop / "excel_resaved.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    names = header_names(cells)
    assert names
    assert missing(names) == set()


@pytest.mark.parametrize(
    ("name", "object_name"),
    [("esx4_group_cpu_counters.txt", "Group Cpu"), ("esx4_memory_counters.txt", "Memory")],
)
def test_every_counter_of_esx4_lists_is_in_the_catalogue(real_esxtop: Path, name: str, object_name: str) -> None:
    lines = (real_esxtop / name).read_text(encoding="utf-8").splitlines()[1:]
    # The lists leave `% ` out and print `_sec` for `/sec`.
    listed = [line.split("\t")[0].replace("_sec", "/sec") for line in lines if "\t" in line]
    ours = {found.batch.removeprefix("% ") for found in PLACED if found.objects[0] == object_name}
    assert len(listed) > 20
    assert set(listed) - ours == set()
    twice = {batch for batch, times in Tally(listed).items() if times == 2}
    assert twice == {found.batch for found in PLACED if found.objects[0] == object_name and found.occurrence == 2}


# ---- the data ---------------------------------------------------------------------------------------------


def problems(found: Counter, batch_names_of_table: set[str]) -> list[str]:
    """What is wrong with one entry, seen under one of its objects."""
    weighted = "weighted mean" in (found.over_time, found.over_instances)
    checks = {
        "unit": found.unit in UNITS,
        "over_time": found.over_time in OVER_TIME,
        "over_instances": found.over_instances in OVER_INSTANCES,
        "better": found.better in BETTER,
        "view": found.view in VIEWS,
        "releases": set(found.releases) <= set(RELEASES),
        "releases in order": found.releases == tuple(name for name in RELEASES if name in found.releases),
        "objects": set(found.objects) <= set(objects()),
        "source": bool(found.source.strip()),
        "no release and no word of it": bool(found.releases)
        or "seen in no capture" in found.source
        # Names another tool reads are evidence of a kind: the source says which kind.
        or found.source.startswith("read by another tool"),
        "one sentence": re.fullmatch(r"[A-Z][^\n]*[^.]\.", found.meaning) is not None
        and re.search(r"[.!?] [A-Z]", found.meaning) is None,
        "weight given exactly when used": weighted == (found.weight is not None),
        "weight in the same object": found.weight is None or found.weight in batch_names_of_table,
        "weight is something else": found.weight != found.batch,
        "family mark only at the end": all(
            FAMILY_MARK not in name.removesuffix(FAMILY_MARK) for name in (found.batch, found.screen)
        ),
        "id cannot be combined": found.unit not in {"id", "text", "flag"}
        or (found.over_time, found.over_instances) == ("last", "none"),
        "rates add up to no sum over time": found.over_time != "sum" or found.unit == "count",
    }
    return [name for name, fine in checks.items() if not fine]


def batch_names(table: str) -> set[str]:
    return {found.batch for found in PLACED if found.table == table}


@pytest.mark.parametrize("found", PLACED, ids=lambda found: f"{found.table}.{found.column}")
def test_every_entry_is_sound(found: Counter) -> None:
    assert problems(found, batch_names(found.table)) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"unit": "furlongs"}, "unit"),
        ({"over_time": "average"}, "over_time"),
        ({"over_instances": "average"}, "over_instances"),
        ({"better": "lower"}, "better"),
        ({"view": "z"}, "view"),
        ({"releases": ("5.5",)}, "releases"),
        ({"releases": ("6.5", "4.x")}, "releases in order"),
        ({"releases": ()}, "no release and no word of it"),
        ({"source": " "}, "source"),
        ({"meaning": "Two sentences. Not one."}, "one sentence"),
        ({"meaning": "no end"}, "one sentence"),
        ({"weight": None}, "weight given exactly when used"),
        ({"weight": "Packets/sec"}, "weight in the same object"),
        ({"unit": "id"}, "id cannot be combined"),
        ({"over_time": "sum"}, "rates add up to no sum over time"),
    ],
)
def test_the_checks_of_the_data_can_fail(change: dict[str, object], problem: str) -> None:
    sound = counter("DAVG/cmd")
    fields = {name: getattr(sound, name) for name in Counter.__slots__}
    assert problem in problems(Counter(**(fields | change)), batch_names(sound.table))


def test_no_counter_is_described_twice() -> None:
    times = Tally((found.batch, found.objects[0], found.occurrence) for found in PLACED)
    assert [name for name, n in times.items() if n > 1] == []


def test_no_two_counters_of_a_table_share_a_column() -> None:
    times = Tally((found.table, found.column) for found in PLACED)
    assert [name for name, n in times.items() if n > 1] == []


def test_no_two_counters_of_a_table_share_a_screen_name() -> None:
    times = Tally((found.table, found.screen) for found in PLACED if found.screen)
    assert [name for name, n in times.items() if n > 1] == []


def test_every_object_has_a_screen_and_at_least_one_counter() -> None:
    assert {entry["view"] for entry in objects().values()} == set(VIEWS)
    assert {found.objects[0] for found in PLACED} == set(objects())


# ---- look-ups ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "table", "column", "unit"),
    [
        ("%RDY", "group_cpu", "pct_ready", "% of one core"),
        ("% rdy ", "group_cpu", "pct_ready", "% of one core"),
        ("% Ready", "group_cpu", "pct_ready", "% of one core"),
        ("pct_ready", "group_cpu", "pct_ready", "% of one core"),
        ("%USED", "group_cpu", "pct_used", "% of one core"),
        ("%USD", "physical_disk_scsi_device", "pct_used", "%"),
        ("DAVG/cmd", "physical_disk_scsi_device", "average_driver_millisec_per_command", "ms"),
        ("gavg/RD", "physical_disk_scsi_device", "average_guest_millisec_per_read", "ms"),
        ("MBREAD/s", "physical_disk_scsi_device", "mbytes_read_per_sec", "MiB/s"),
        ("LAT/wr", "virtual_disk", "average_millisec_per_write", "ms"),
        ("POWER", "group_cpu", "power_usage_watts", "W"),
        ("Power Usage", "power", "power_usage_now_watts", "W"),
        ("PCPU USED(%)", "physical_cpu", "pct_processor_time", "% of nominal"),
        ("% Processor Time", "physical_cpu", "pct_processor_time", "% of nominal"),
        ("N%L", "group_memory", "numa_pct_local", "%"),
        ("NWLD", "group_cpu", "members", "count"),
        ("AMIN", "group_cpu", "alloc_min", "MHz"),
        ("ZERO", "group_memory", "zero_mbytes", "MiB"),
        ("Free MBytes", "memory", "free_mbytes", "MiB"),
        ("COSMEM free", "memory", "free_mbytes_2", "MiB"),
        ("PSZTX", "network_port", "average_packet_size_transmitted_bytes", "bytes"),
        ("Average Packet Size Transmitted (Bytes)", "network_port", "average_packet_size_transmitted_bytes", "bytes"),
        ("LQLEN", "physical_disk_scsi_device", "device_q_depth", "commands"),
        ("%C6", "pcpu_power_state", "pct_c_state_c6", "% of time"),
        ("%P-State P15", "pcpu_power_state", "pct_p_state_p15", "% of time"),
        ("pct_t_state_t7", "pcpu_power_state", "pct_t_state_t7", "% of time"),
        ("%A/MPERF", "pcpu_power_state", "pct_of_aperf_per_mperf", "%"),
        ("TIME/int", "interrupt_cookie", "processing_time_microsec_per_interrupt", "us"),
    ],
)
def test_a_counter_answers_to_every_name(name: str, table: str, column: str, unit: str) -> None:
    found = counter(name)
    assert (found.table, found.column, found.unit) == (table, column, unit)


@pytest.mark.parametrize(
    ("name", "object_name", "table", "view"),
    [
        ("MBREAD/s", "Virtual Disk", "virtual_disk", "v"),
        ("DAVG/cmd", "physical_disk_adapter", "physical_disk_adapter", "d"),
        ("DAVG/cmd", None, "physical_disk_scsi_device", "u"),
        ("GAVG/cmd", "physical_disk_nfs_volume", "physical_disk_nfs_volume", "u"),
        ("%RDY", "vcpu", "vcpu", "c"),
        ("AMIN", "group_memory", "group_memory", "m"),
        ("% Used", "physical_disk_scsi_device", "physical_disk_scsi_device", "u"),
        ("% Processor Time", "numa_node", "numa_node", "c"),
    ],
)
def test_object_picks_among_counters_of_one_name(name: str, object_name: str | None, table: str, view: str) -> None:
    found = counter(name, object=object_name)
    assert (found.table, found.view) == (table, view)
    assert found.tables[0] == table
    assert len(set(found.tables)) == len(found.tables)


def test_every_name_of_every_counter_finds_it_under_its_object() -> None:
    for found in PLACED:
        names = [found.screen, found.column, *found.aliases] + ([found.batch] if found.occurrence == 1 else [])
        for name in filter(None, names):
            again = counter(name, object=found.table)
            assert (again.table, again.column) == (found.table, found.column), name


def test_every_column_is_looked_up_as_itself() -> None:
    for found in PLACED:
        column = found.column.replace(FAMILY_MARK, "3")
        again = lookup(found.table, column)
        assert again is not None
        assert (again.table, again.column, again.unit) == (found.table, column, found.unit)


@pytest.mark.parametrize(("table", "column"), [("vcpu", "world"), ("memory", "pct_ready"), ("none_such", "pct_ready")])
def test_lookup_knows_no_keys_and_no_other_tables(table: str, column: str) -> None:
    assert lookup(table, column) is None


def test_lookup_takes_a_repeated_column_for_the_same_counter() -> None:
    found = lookup("vcpu", "pct_ready_2")
    assert found is not None
    assert (found.screen, found.column) == ("%RDY", "pct_ready_2")


@pytest.mark.parametrize(
    ("wrong", "right"), [("%RDYY", "%RDY"), ("DAVG", "DAVG/cmd"), ("MBREADS", "MBREAD/s"), ("swapwait", "% Swap Wait")]
)
def test_an_unknown_name_raises_with_the_three_nearest(wrong: str, right: str) -> None:
    with pytest.raises(UnknownCounterError) as caught:
        counter(wrong)
    message = str(caught.value)
    quoted = re.findall(r'"([^"]*)"', message)
    assert isinstance(caught.value, EsxparseError)
    assert quoted[0] == wrong
    assert right in quoted[1:]
    assert len(quoted) == 4
    assert len({counter(name).column for name in quoted[1:]}) == 3
    assert "catalogue()" in message


def test_nearest_names_are_of_the_object_asked_for() -> None:
    with pytest.raises(UnknownCounterError) as caught:
        counter("MBREADS", object="virtual_disk")
    for name in re.findall(r'"([^"]*)"', str(caught.value))[1:]:
        assert counter(name, object="virtual_disk").table == "virtual_disk"


def test_a_name_under_the_wrong_object_says_where_it_is() -> None:
    with pytest.raises(UnknownCounterError, match=r"not a counter of memory; ask for one of group_cpu, vcpu"):
        counter("%RDY", object="memory")


def test_an_unknown_object_names_the_nearest_tables() -> None:
    with pytest.raises(UnknownCounterError, match="nearest are virtual_disk"):
        counter("%RDY", object="virtual_disks")


@pytest.mark.parametrize("name", ["", " ", "\\", "%C", "%C-1", "%C007", "日本語"])
def test_names_that_are_none_raise_too(name: str) -> None:
    with pytest.raises(UnknownCounterError):
        counter(name)


# ---- use --------------------------------------------------------------------------------------------------


def test_expr_selects_the_column() -> None:
    frame = pl.LazyFrame({"pct_ready": [1.0, 2.0], "pct_used": [3.0, 4.0]})
    assert frame.select(counter("%RDY").expr.max()).collect().item() == 2.0


def test_expr_of_a_family_selects_all_its_members_and_nothing_else() -> None:
    frame = pl.LazyFrame({"pct_c_state_c0": [1.0], "pct_c_state_c10": [2.0], "pct_c_state_cx": [3.0]})
    assert frame.select(counter("%Cx").expr).collect_schema().names() == ["pct_c_state_c0", "pct_c_state_c10"]


def test_weights_are_columns_of_the_same_table() -> None:
    davg = counter("DAVG/rd")
    assert davg.weight_column == "reads_per_sec"
    assert lookup(davg.table, davg.weight_column) == counter("READS/s")
    assert counter("%RDY").weight_column is None


def test_rows_that_repeat_others_are_named() -> None:
    assert "VM's own row" in counter("LAT/rd").total_rows
    assert "_Total" in counter("PCPU UTIL(%)").total_rows
    assert counter("%RDY").total_rows == ""


def test_representations_say_what_and_where_and_escape_html() -> None:
    found = counter("%RDY", object="vcpu")
    assert repr(found) == "Counter('%RDY', vcpu.pct_ready, '% of one core')"
    page = found._repr_html_()
    assert "%MLMTD is included" in page
    assert "VM&#x27;s" in page
    fields = {name: getattr(found, name) for name in Counter.__slots__}
    for name in ("batch", "screen", "meaning", "source", "total_rows"):
        assert "<script>" not in Counter(**(fields | {name: "<script>alert(1)</script>"}))._repr_html_()


def test_a_look_up_imports_no_polars() -> None:
    program = "import sys, esxparse.counters as c; c.counter('%RDY'); sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# ---- the naming rule --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batch", "column"),
    [
        ("% Ready", "pct_ready"),
        ("%C-State C0", "pct_c_state_c0"),
        ("Link Up?", "link_up"),
        ("Link Speed (Mb/s)", "link_speed_mb_per_s"),
        ("Average MilliSec/Read", "average_millisec_per_read"),
        ("Average Guest MilliSec/Command", "average_guest_millisec_per_command"),
        ("Interrupts/second", "interrupts_per_second"),
        ("Average Packet Size  Transmitted (Bytes)", "average_packet_size_transmitted_bytes"),
        ("Effective Min (MHz)", "effective_min_mhz"),
        ("% of aperf/mperf", "pct_of_aperf_per_mperf"),
        ("Memory Overcommit (1 Minute Avg)", "memory_overcommit_1_minute_avg"),
        ("Größe 日本語 (1)", "größe_日本語_1"),
        ("???", "counter"),
        ("", "counter"),
    ],
)
def test_columns_are_named_by_one_rule(batch: str, column: str) -> None:
    assert column_name(batch) == column


def test_tables_are_named_by_the_same_rule() -> None:
    assert table_name("Physical Disk Per-Device-Per-World") == "physical_disk_per_device_per_world"
    assert [table_name(name) for name in ("PCPU Power State", "VSAN", "?")] == ["pcpu_power_state", "vsan", "object"]


@given(st.text(st.characters() | st.sampled_from("%?/ _-()\\\"'"), max_size=40))
@example("İ%ß?")
def test_any_text_makes_a_usable_name(text: str) -> None:
    for rule in (column_name, table_name):
        name = rule(text)
        assert name
        assert name == rule(text)
        assert rule(name) == name
        assert all(character.isalnum() or character == "_" for character in name)
        assert not name.startswith("_")
        assert not name.endswith("_")
        assert "__" not in name
        assert name == name.lower()


# ---- RDMA devices -----------------------------------------------------------------------------------------

RDMA_UNITS = {
    "Packets Transmitted/sec": "1/s",
    "Mega Bits Transmitted/sec": "Mibit/s",
    "Packets Received/sec": "1/s",
    "Mega Bits Received/sec": "Mibit/s",
}


def test_rdma_devices_have_units_and_are_ranked_by_the_names_of_their_headers(tmp_path: Path) -> None:
    owners = ["RDMA Device(vmrdma0:nmlx5_rdma:Active)", "RDMA Device(vmrdma1:nmlx5_rdma:Active)"]
    columns = [(owner, name) for owner in owners for name in RDMA_UNITS]
    cells = [["100.00", "80.00", "50.00", "40.00", "1.00", "0.50", "2.00", "0.25"]] * 3
    rec = ex.open(compose.write(tmp_path, compose.text(columns, cells)))
    for place, (name, unit) in enumerate(RDMA_UNITS.items()):
        found = lookup("rdma_device", column_name(name))
        assert found is not None
        assert (found.batch, found.unit) == (name, unit)
        assert found.meaning
        for spelling in (name, found.screen, found.column):
            ranked = rec.top(spelling, table="rdma_device")
            assert ranked["instance"].to_list() == [one[len("RDMA Device(") : -1] for one in owners]
            assert ranked["mean"].to_list() == [float(cells[0][place]), float(cells[0][place + 4])]
            assert set(ranked["unit"]) == {unit}
    # Without ports of switches, no table has to be named.
    assert rec.top("Mega Bits Received/sec")["mean"].to_list() == [40.0, 0.25]
