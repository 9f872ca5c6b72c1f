"""The grammar of a simulated capture: lines, cells, objects and their order, release by release."""

from __future__ import annotations

import csv
import io
import re
import time
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

import pytest
from sheet import VCPUS, Sheet, written

if TYPE_CHECKING:
    from pathlib import Path

    import esxparse_simulator as simulate


def test_every_line_is_quoted_cells_and_line_feeds(busy_host_file: Path) -> None:
    lines = busy_host_file.read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert len(lines) == 122
    assert all(re.fullmatch(rb'"[^"]*"(,"[^"]*")*', line) for line in lines)
    assert lines[0].startswith(b'"(PDH-CSV 4.0) (UTC)(0)","\\\\esx-07.lab.example\\Memory\\Memory Overcommit (1 Minute')
    assert len({line.count(b'","') for line in lines}) == 1


def test_times_step_by_the_interval(busy_host_sheet: Sheet) -> None:
    times = [row[0] for row in busy_host_sheet.rows]
    assert times[:2] == ["03/11/2026 09:00:00", "03/11/2026 09:00:05"]
    assert times[-1] == "03/11/2026 09:10:00"
    assert len(set(times)) == 121


def test_cells_are_whole_numbers_or_two_decimals_and_a_column_keeps_to_one(busy_host_sheet: Sheet) -> None:
    kinds = []
    for column in zip(*(row[1:] for row in busy_host_sheet.rows), strict=True):
        whole = all(re.fullmatch(r"\d+|-1|-3", cell) for cell in column)
        kinds.append(whole or all(re.fullmatch(r"\d+\.\d\d", cell) for cell in column))
    assert all(kinds)


def test_objects_come_in_the_order_of_a_real_capture(busy_host_sheet: Sheet) -> None:
    objects = [cell.split("\\")[3].partition("(")[0] for cell in busy_host_sheet.header[1:]]
    runs = [name for name, _ in groupby(objects)]
    assert runs[:7] == ["Memory", "Physical Cpu Load", "Physical Cpu", "Memory", "Numa Node", "Power", "VSAN"]
    assert runs[-4:] == ["Virtual Disk", "Network Port", "Interrupt Cookie", "PCPU Power State"]
    assert runs[7:36] == ["Group Cpu", "Vcpu"] * 14 + ["Group Memory"]
    assert len(set(busy_host_sheet.header)) == len(busy_host_sheet.header)


def test_each_group_is_followed_by_its_own_worlds(busy_host_sheet: Sheet) -> None:
    current = ""
    for cell in busy_host_sheet.header[1:]:
        name, _, instance = cell.split("\\")[3].partition("(")
        if name == "Group Cpu":
            current = instance[:-1]
        elif name == "Vcpu":
            assert instance.startswith(f"{current}:")


def test_only_vms_have_vm_wait_in_their_group(busy_host_sheet: Sheet) -> None:
    having = {
        instance
        for instance in busy_host_sheet.instances("Group Cpu")
        if "% VmWait" in busy_host_sheet.where["Group Cpu", instance]
    }
    assert having == {busy_host_sheet.group(vm) for vm in VCPUS}


def test_every_view_is_there(busy_host_sheet: Sheet) -> None:
    rows = Counter(name for name, _ in busy_host_sheet.where)
    assert rows["Interrupt Cookie"] == 9 * (1 + 16)
    assert rows["PCPU Power State"] == 16
    assert rows["Numa Node"] == 2
    assert rows["Physical Disk NFS Volume"] == 1
    assert {"vSwitch0:33554435:Shadow of vmnic0", "vSwitch0:33554438:vmk0"} <= set(
        busy_host_sheet.instances("Network Port")
    )
    assert any(re.fullmatch(r"\d+:hostd\.\d+", instance) for instance in busy_host_sheet.instances("Group Cpu"))


def test_6_5_breaks_its_aperf_cells_as_the_real_one_does(busy_host_scenario: simulate.Scenario) -> None:
    header, row = written(busy_host_scenario, 1, release="6.5").splitlines()
    assert header.count('",   -"\\\\') == 15
    assert header.endswith('",   -')
    assert "aperf" not in header
    assert len(re.findall(r'",   [ \d]\d\d\.\d"', row)) == 15
    assert re.search(r'",   [ \d]\d\d\.\d$', row)
    assert len(re.findall(r'"[^"]*"', header)) == len(re.findall(r'"[^"]*"', row))
    assert ":65537:idle1" in header


def test_6_7_has_an_ordinary_aperf_column_and_its_own_world_ids(busy_host_sheet: Sheet) -> None:
    assert len(busy_host_sheet.column("PCPU Power State", "PCPU 15", "% of aperf/mperf")) == 121
    assert "1:system:2097153:idle1" in busy_host_sheet.instances("Vcpu")


def test_default_fields_are_fewer_and_end_in_a_comma(busy_host_scenario: simulate.Scenario) -> None:
    text = written(busy_host_scenario, 2, all_counters=False)
    assert all(line.endswith('",') for line in text.splitlines())
    sheet = Sheet(text)
    assert sheet.header[-1] == ""
    assert all(len(row) == len(sheet.header) and row[-1] == "" for row in sheet.rows)
    objects = {name for name, _ in sheet.where}
    assert objects.isdisjoint({"Power", "VSAN", "PCPU Power State"})
    assert "% CPU Latency" not in sheet.where["Group Cpu", sheet.group("ledger-db")]
    full = Sheet(written(busy_host_scenario, 2))
    everywhere = {key: set(counters) for key, counters in full.where.items()}
    assert all(set(counters) <= everywhere[key] for key, counters in sheet.where.items())


# What other viewers make of a header, as their own code does it: each has to find every column, under its own name.


def esxplot(header: list[str]) -> dict[str, int]:
    """esxplot: labels split at every backslash, two empty parts first, columns with fewer than four left out."""
    tree: dict[str, int] = {}
    for place, label in enumerate(header[1:], 1):
        parts = label.split("\\")
        if len(parts) >= 4:
            tree["/".join(parts[2:])] = place
    return tree


def esx_doctor(header: list[str]) -> dict[tuple[str, str, str], int]:
    """esx-doctor: object to the first parenthesis, instance to the last, the counter is what follows."""
    columns = {}
    for place, label in enumerate(header[1:], 1):
        parts = label.split("\\")
        if not label.startswith("\\\\") or len(parts) < 5:
            continue
        first, last = parts[3].find("("), parts[3].rfind(")")
        named = last > first >= 0
        instance = parts[3][first + 1 : last] if named else "Global"
        columns[parts[3][:first] if first >= 0 else parts[3], instance, "\\".join(parts[4:])] = place
    return columns


def react_viewer(header: list[str]) -> dict[tuple[str, ...], int]:
    """react-esxtop-viewer: parts at backslashes, the first parenthesis and, by the object, at a colon."""
    tree: dict[tuple[str, ...], int] = {}
    plain = re.compile("Average Packet Size|Link Speed|Memory Overcommit|Cpu Load|Effective Min")
    for place, label in enumerate(header):
        if not place or not label:
            continue
        parts: list[str] = []
        for segment in filter(None, label.split("\\")):
            head, bracket, rest = segment.partition("(")
            parts += [head, rest.removesuffix(")")] if bracket and not plain.search(segment) else [segment]
        colons = {"Vcpu": 2}.get(parts[1], 1 if parts[1] in _SPLIT else 0)
        split: list[str] = []
        for part in parts:
            pieces = part.split(":", colons) if colons else [part]
            joined = [":".join(pieces[:-1]), pieces[-1]] if len(pieces) > colons >= 1 else [part]
            split += joined
        tree[tuple(split)] = place
    return tree


_SPLIT = {"Virtual Disk", "Network Port", "Interrupt Cookie", "Physical Disk"}


@pytest.mark.parametrize("release", ["5.5", "6.0", "6.7", "7.0", "8.0"])
def test_other_viewers_find_every_column(busy_host_scenario: simulate.Scenario, release: str) -> None:
    header = next(csv.reader(io.StringIO(written(busy_host_scenario, 1, release=release))))
    columns = [place for place, name in enumerate(header) if place and name]
    assert sorted(esxplot(header).values()) == columns
    doctor = esx_doctor(header)
    assert sorted(doctor.values()) == columns
    assert {instance for name, instance, _ in doctor if name == "Virtual Disk"} >= {"web 01 (blue) v2.1:scsi0:0"}
    assert sorted(react_viewer(header).values()) == columns


def test_other_viewers_find_duplicate_names_of_classic_esx_once(busy_host_scenario: simulate.Scenario) -> None:
    header = next(csv.reader(io.StringIO(written(busy_host_scenario, 1, release="4.1"))))
    columns = [place for place, name in enumerate(header) if place and name]
    assert len(columns) - len(esxplot(header)) == 3


def test_other_viewers_read_every_row(busy_host_scenario: simulate.Scenario) -> None:
    """esxplot throws rows away that are shorter than the header by more than one, and needs two samples."""
    header, *rows = csv.reader(io.StringIO(written(busy_host_scenario, 3, release="6.0", all_counters=False)))
    assert len(rows) == 3
    assert all(len(row) == len(header) for row in rows)
    for row in rows:
        time.strptime(row[0], "%m/%d/%Y %H:%M:%S")
        assert all(cell == "" or float(cell) >= -3.0 for cell in row[1:])
