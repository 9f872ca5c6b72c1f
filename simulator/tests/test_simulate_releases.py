"""Captures in the manner of every release: what is known of it is there, and our reader reads it."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import compose
import polars as pl
import pytest
from sheet import CELL, VCPUS, Sheet, written

import esxparse as ex
import esxparse_simulator as simulate
from esxparse.errors import EsxparseError
from esxparse_simulator.esxtop.releases import counters_of, release_of
from esxparse_simulator.host import VirtualDisk, VsanDatastore

if TYPE_CHECKING:
    from pathlib import Path

RELEASES = ("3.5", "4.0", "4.1", "5.0", "5.1", "5.5", "6.0", "6.5", "6.7", "7.0", "8.0")
CONSOLE = "4.x or earlier (with a service console)"
GUESSED = {
    **dict.fromkeys(("3.5", "4.0", "4.1"), CONSOLE),
    **dict.fromkeys(("5.0", "5.1", "5.5", "6.0"), "6.0 or 5.x"),
    "6.5": "6.5",
    "6.7": "6.7 or later",
    **dict.fromkeys(("7.0", "8.0"), "7 or later"),
}
EXPECTED_NOTES = re.compile(
    r"trailing comma|columns repeated|without name and comma \(ESXi 6\.5 -a\)|yes or no in words|times are local"
    r"|first sample has no rates of disks"
)

STATE = re.compile(r"\\(?:.* Q Depth|Active Commands|Queued Commands|% Used|Load)$")

Instances = dict[str, dict[str, list[str]]]


def cells(line: str) -> list[str]:
    """Cells of any release, by a rule of this test's own: quoted runs, and bare runs between them."""
    return [quoted or bare.strip() for quoted, bare in re.findall(r'"([^"]*)"|([^",]+)', line.rstrip("\n"))]


def by_object(header: list[str]) -> Instances:
    """Object to instance to counters, in the order of the header; a nameless A/MPERF cell is its counter `-`."""
    found: Instances = {}
    name = instance = ""
    for cell in header[1:]:
        if cell != "-":
            _, _, _, head, counter = cell.split("\\")
            name, _, instance = head.partition("(")
        else:
            counter = "-"
        found.setdefault(name, {}).setdefault(instance, []).append(counter)
    return found


@pytest.fixture(scope="module")
def captures(busy_host_scenario: simulate.Scenario) -> dict[tuple[str, bool], str]:
    return {
        (release, every): written(busy_host_scenario, 3, release=release, all_counters=every)
        for release in RELEASES
        for every in (True, False)
    }


def test_all_releases_are_known() -> None:
    assert simulate.release_names() == RELEASES


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("release", RELEASES)
def test_our_reader_reads_every_cell(
    captures: dict[tuple[str, bool], str], release: str, every: bool, tmp_path: Path
) -> None:
    file = tmp_path / "capture.csv"
    file.write_text(captures[release, every])
    recording = ex.open(file)
    assert [note for note in recording.notes if not EXPECTED_NOTES.search(note.message)] == []
    header, *rows = captures[release, every].splitlines()
    names = cells(header)
    assert {len(cells(row)) for row in rows} == {len(names)}
    read = 0
    for table, frame in recording.tables.items():
        columns = [column for column in frame.collect().columns if column not in {"time", "instance"}]
        numbers = frame.select(columns).collect().select(pl.selectors.float())
        read += sum(numbers.select(pl.all().count()).row(0))
        assert not numbers.select(pl.any_horizontal(pl.all().is_nan().any())).item(), table
    # Rates of disks of the first sample are null, which prints 0.00 for all of them.
    first = dict(zip(names, cells(rows[0]), strict=True))
    unmeasured = [name for name in first if re.search(r"\\(?:Physical|Virtual) Disk", name) and not STATE.search(name)]
    assert {float(first[name]) for name in unmeasured} == {0.0}
    assert read == 3 * (len(names) - 1) - len(unmeasured)
    if every:
        assert recording.meta["release"] == GUESSED[release]


@pytest.mark.parametrize("release", RELEASES)
def test_a_group_is_the_sum_of_its_worlds(captures: dict[tuple[str, bool], str], release: str) -> None:
    header, *rows = map(cells, captures[release, True].splitlines())
    where = {name.split("\\", 3)[-1]: place for place, name in enumerate(header) if name.startswith("\\\\")}
    groups = {name for name in where if name.startswith("Group Cpu(") and name.endswith("\\% Run")}
    assert len(groups) == (13 if float(release) < 5.0 else 15 if float(release) <= 6.0 else 14)
    for row in rows:
        for group in groups:
            name = group.removeprefix("Group Cpu(").removesuffix(")\\% Run")
            worlds = [world.removesuffix("% Run") for world in where if world.startswith(f"Vcpu({name}:")]
            worlds = sorted({world.rpartition("\\")[0] for world in worlds})
            assert float(row[where[f"Group Cpu({name})\\Members"]]) == len(worlds)
            for counter in ("% Used", "% Run", "% Ready", "% CoStop", "% Wait", "Switches/sec"):
                members = sum(float(row[where[f"{world}\\{counter}"]]) for world in worlds)
                whole = float(row[where[f"Group Cpu({name})\\{counter}"]])
                assert abs(members - whole) <= (len(worlds) + 1) * CELL + 1e-9, (group, counter)
            for world in worlds:
                states = ("% Run", "% Ready", "% CoStop", "% Wait")
                total = sum(float(row[where[f"{world}\\{state}"]]) for state in states)
                assert abs(total - 100.0) <= 4 * CELL + 1e-9, world


def test_6_5_prints_what_a_real_6_5_prints(captures: dict[tuple[str, bool], str]) -> None:
    file = compose.real_data("esxtop", "esxi65_all_counters.csv")
    with file.open() as lines:
        real = by_object(cells(lines.readline()))
    ours = by_object(cells(captures["6.5", True].partition("\n")[0]))

    def kinds(objects: Instances) -> dict[str, list[tuple[str, ...]]]:
        """The different lists of counters of each object, states (P0, T3) by their letter, once each."""
        return {
            name: sorted({
                tuple(key for key, _ in groupby(re.sub(r"(?<=State [CPT])\d+", "", counter) for counter in counters))
                for counters in instances.values()
            })
            for name, instances in objects.items()
        }  # fmt: skip

    mine = kinds(ours)
    # the busy host has two NUMA nodes, an NFS volume and hyper-threading, the real one has not
    assert set(mine) - set(kinds(real)) == {"Numa Node", "Physical Disk NFS Volume"}
    for name, lists in kinds(real).items():
        if name == "Physical Cpu":
            assert lists == [("% Processor Time", "% Util Time")]
            assert mine[name] == [("% Processor Time", "% Util Time", "% Core Util Time")]
        else:
            assert mine[name] == lists, name


def test_6_5_objects_come_in_the_order_of_a_real_6_5(captures: dict[tuple[str, bool], str]) -> None:
    file = compose.real_data("esxtop", "esxi65_all_counters.csv")

    def steps(header: str) -> set[tuple[str, str]]:
        names = [name.split("\\")[3].partition("(")[0] for name in cells(header)[1:] if name != "-"]
        return set(pairwise(name for name, _ in groupby(names)))

    with file.open() as lines:
        real = steps(lines.readline())
    ours = steps(captures["6.5", True].partition("\n")[0])
    extra = {"Numa Node", "Physical Disk NFS Volume"}
    assert {step for step in ours - real if not extra & set(step)} <= {
        # of one adapter after another, and of a device that no world uses
        ("Physical Disk", "Physical Disk Adapter"),
        ("Physical Disk Adapter", "Physical Disk SCSI Device"),
        ("Physical Disk Partition", "Virtual Disk"),
    }


def test_4_1_has_the_counters_that_a_monitoring_tool_got(captures: dict[tuple[str, bool], str]) -> None:
    ours = by_object(cells(captures["4.1", True].partition("\n")[0]))
    for name, file in (("Memory", "esx4_memory_counters.txt"), ("Group Cpu", "esx4_group_cpu_counters.txt")):
        lines = compose.real_data("esxtop", file).read_text().splitlines()
        real = [line.partition("\t")[0] for line in lines if "\t" in line]
        first = next(iter(ours[name].values()))
        # the tool wrote / as _ and left out a leading "% "
        assert [counter.removeprefix("% ").replace("/", "_") for counter in first] == real


def test_5_5_has_the_counters_of_real_headers(captures: dict[tuple[str, bool], str]) -> None:
    lines = compose.real_data("esxtop", "header_cells_esxi5.txt").read_text().splitlines()
    real = by_object([line.strip('"') for line in lines])
    ours = by_object(cells(captures["5.5", True].partition("\n")[0]))
    (volume,) = real["Physical Disk NFS Volume"].values()
    assert ours["Physical Disk NFS Volume"]["backup-nfs)"] == volume
    assert ours["Physical Cpu Load"] == real["Physical Cpu Load"]
    assert len(ours["Virtual Disk"]["ledger-db)"]) == 7
    assert "VSAN" not in ours


def test_classic_esx_has_a_service_console(captures: dict[tuple[str, bool], str]) -> None:
    for release, group in (("3.5", "9:console"), ("4.1", "11:console")):
        ours = by_object(cells(captures[release, True].partition("\n")[0]))
        assert f"{group})" in ours["Group Cpu"]
        assert not any("hostd" in name for name in ours["Group Cpu"])
        assert ours["Memory"][""].count("Free MBytes") == 2
        assert "Interrupt Cookie" not in ours
        assert ("Interrupt Vector" in ours) == (release == "4.1")


def test_3_5_has_a_vmm_world_beside_each_vcpu(captures: dict[tuple[str, bool], str]) -> None:
    worlds = by_object(cells(captures["3.5", True].partition("\n")[0]))["Vcpu"]
    for vm, count in VCPUS.items():
        names = [world.split(":", 3)[3] for world in worlds if f":{vm}:" in world]
        assert names[:4] == ["vmware-vmx)", f"mks:{vm})", f"vcpu-0:{vm})", f"vmm0:{vm})"]
        assert len(names) == 2 + 2 * count


def test_machine_memory_holds_the_console_too(captures: dict[tuple[str, bool], str]) -> None:
    header, *rows = map(cells, captures["4.1", True].splitlines())
    names = [name.rpartition("\\")[2] for name in header]
    for row in rows:
        machine, *parts = (
            float(row[names.index(f"{part} MBytes")]) for part in ("Machine", "Console", "Kernel", "NonKernel", "Free")
        )
        assert abs(machine - sum(parts)) <= 2.5


def test_exclusive_affinity_is_a_text_from_7_on(captures: dict[tuple[str, bool], str]) -> None:
    sheet = Sheet(captures["7.0", True])
    place = sheet.where["Group Cpu", sheet.group("ledger-db")]["Exclusive Affinity"]
    assert {row[place] for row in sheet.rows} == {"N"}
    assert "Exclusive Affinity" not in captures["6.7", True]


def test_groups_of_idle_worlds_stand_alone_up_to_6_0(captures: dict[tuple[str, bool], str]) -> None:
    for release in RELEASES:
        groups = list(by_object(cells(captures[release, True].partition("\n")[0]))["Group Cpu"])
        assert groups[:2] == (["1:idle)", "2:system)"] if float(release) <= 6.0 else ["1:system)", "8:helper)"])


def test_only_what_is_asked_for_is_written(busy_host_scenario: simulate.Scenario) -> None:
    def heads(*only: str) -> list[str]:
        header = written(busy_host_scenario, 1, only=only).splitlines()[0]
        return [name.split("\\", 3)[3] for name in cells(header)[1:]]

    assert heads("Physical Cpu Load") == [f"Physical Cpu Load\\Cpu Load ({n} Minute Avg)" for n in (1, 5, 15)]
    assert heads("Free MBytes") == ["Memory\\Free MBytes", "Numa Node(0)\\Free MBytes", "Numa Node(1)\\Free MBytes"]
    assert len(heads("Group Cpu\\% Ready")) == 14
    mine = heads("Group Cpu(*:ledger-db)\\% *")
    assert len(mine) == 14
    assert all(":ledger-db)\\% " in name for name in mine)
    with pytest.raises(EsxparseError, match=r"nothing in the capture is called 'Nope'"):
        heads("% Ready", "Nope")


def test_what_is_left_out_changes_nothing_in_the_rest(busy_host_scenario: simulate.Scenario) -> None:
    whole, part = Sheet(written(busy_host_scenario, 2)), Sheet(written(busy_host_scenario, 2, only=["Group Cpu"]))
    vm = whole.group("ledger-db")
    assert part.column("Group Cpu", vm, "% Ready") == whole.column("Group Cpu", vm, "% Ready")
    assert part.where.keys() == {key for key in whole.where if key[0] == "Group Cpu"}


def test_local_times_and_their_bias_mean_the_same_instants(
    busy_host_scenario: simulate.Scenario, tmp_path: Path
) -> None:
    capture = simulate.capture(busy_host_scenario, samples=3)
    times = []
    for number, options in enumerate([{}, {"utc_offset": -420, "zone": "Pacific Daylight Time"}, {"utc_offset": 330}]):
        file = tmp_path / f"{number}.csv"
        simulate.write_esxtop(file, capture, only=["Physical Cpu Load"], **options)  # type: ignore[arg-type]
        times.append(ex.open(file).tables["physical_cpu_load"].collect()["time"].to_list())
    assert times[0] == times[1] == times[2]
    texts = [(tmp_path / f"{number}.csv").read_text() for number in (1, 2)]
    assert texts[0].startswith('"(PDH-CSV 4.0) (Pacific Daylight Time)(420)",')
    assert '\n"03/11/2026 02:00:00",' in texts[0]
    assert texts[1].startswith('"(PDH-CSV 4.0) (UTC+05:30)(-330)",')
    with pytest.raises(EsxparseError, match="Give less than a day"):
        next(simulate.esxtop_lines(capture, utc_offset=1440))


def test_the_host_goes_by_the_name_it_is_given(busy_host_scenario: simulate.Scenario) -> None:
    header = written(busy_host_scenario, 1, host="192.0.2.7").splitlines()[0]
    assert all(name.startswith("\\\\192.0.2.7\\") for name in cells(header)[1:])


def test_every_release_says_what_it_is_and_on_what_evidence() -> None:
    for name in RELEASES:
        release = release_of(name)
        assert release.title.endswith(f" {name}")
        assert release.counters["Memory"]


def test_a_line_that_is_no_counter_is_refused() -> None:
    with pytest.raises(EsxparseError, match="not a line of counters: 'x Ready'"):
        counters_of("x Ready", {})


def test_a_member_of_a_vsan_cluster_has_its_roles(busy_host_scenario: simulate.Scenario) -> None:
    first, *others = busy_host_scenario.vms
    local = busy_host_scenario.devices[0].name
    datastore = VsanDatastore(
        "vsanDatastore", "vmk0", (local,), read_ms=0.5, write_ms=0.9, service_ms=0.1, mb_per_s=900.0
    )
    on_it = replace(first, disks=(*first.disks, VirtualDisk("scsi3:0", "vsanDatastore", 0.5, 0.5)))
    scenario = replace(busy_host_scenario, vsan=(datastore,), vms=(on_it, *others))
    sheet = Sheet(written(scenario, 2))
    assert sheet.column("VSAN", None, "Enabled?") == [1.0, 1.0]
    assert sheet.instances("VSAN") == ["Client", "Owner", "CompMgr"]
    assert all(value > 0.0 for value in sheet.column("VSAN", "Client", "Avg Read Latency in ms"))
    # its own components: the VMkernel's world on the host's disk, which is not an idle world
    assert f"{local}-2097168" in sheet.instances("Physical Disk Per-Device-Per-World")
    assert "VSAN(" not in written(scenario, 1, release="5.5")
